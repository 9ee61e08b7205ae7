//! An answer on its way back: passed on as it comes, masked, measured, and written down at its end.
//!
//! Nothing is buffered but what could be the beginning of the key.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use ic_model::Cost;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use crate::gate::Gate;
use crate::ledger::{Asked, Ended};
use crate::limits;
use crate::mask::Mask;
use crate::meter::Meter;
use crate::packages::Passing;
use crate::upstream::Lease;

/// What is answered.
#[derive(Debug)]
pub enum Reply {
    /// Words of our own.
    Own(Full<Bytes>),
    /// An answer of the provider.
    Relay(Box<Relay>),
    /// An answer of a package registry.
    Package(Box<Passing>),
}

/// An answer that does not come to its end; the connection to the agent is cut.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Cut(&'static str);

/// A request that is under way; what it took is written down when this is dropped.
#[derive(Debug)]
pub struct Open {
    gate: Arc<Gate>,
    asked: Asked,
    /// The model, as the provider knows it.
    model: Option<String>,
    begun: Instant,
    status: Option<u16>,
    meter: Option<Meter>,
    n_bytes: u64,
    failed: Option<String>,
    _permit: OwnedSemaphorePermit,
}

/// An answer on its way.
#[derive(Debug)]
pub struct Relay {
    body: Incoming,
    mask: Mask,
    open: Open,
    lease: Lease,
    idle: Pin<Box<Sleep>>,
    is_over: bool,
}

impl Cut {
    pub(crate) fn new(why: &'static str) -> Self {
        Self(why)
    }
}

impl Open {
    /// Begins to wait for an answer.
    pub(crate) fn new(
        gate: Arc<Gate>,
        asked: Asked,
        model: Option<String>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            gate,
            asked,
            model,
            begun: Instant::now(),
            status: None,
            meter: None,
            n_bytes: 0,
            // Until it is known otherwise.
            failed: Some("the agent did not wait for the answer".to_owned()),
            _permit: permit,
        }
    }

    /// Notes that there is an answer, and how it is measured.
    pub(crate) fn answered(&mut self, status: u16, meter: Option<Meter>) {
        (self.status, self.meter) = (Some(status), meter);
    }

    /// Notes that there will be no whole answer.
    pub(crate) fn fail(&mut self, why: impl Into<String>) {
        self.failed = Some(why.into());
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Cut> {
        self.n_bytes = self.n_bytes.saturating_add(bytes.len() as u64);
        if limits::ANSWER_BYTES_MAX < self.n_bytes {
            return Err(Cut("the answer does not come to an end"));
        }
        if let Some(meter) = &mut self.meter {
            meter.feed(bytes);
        }
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let is_success = self.status.is_some_and(|it| (200..300).contains(&it));
        let metered = match (&mut self.meter, &self.model) {
            (Some(meter), Some(_)) => Some(meter.finish(self.asked.n_bytes, is_success)),
            _ => None,
        };
        let cost = match (metered, &self.model) {
            (Some(metered), Some(model)) => self.gate.account().charge(model, metered.usage),
            _ => Cost::ZERO,
        };
        let ended = Ended {
            status: self.status,
            usage: metered.map(|it| it.usage),
            is_estimated: metered.is_some_and(|it| it.is_estimated),
            cost,
            n_bytes: self.n_bytes,
            duration: self.begun.elapsed(),
            failed: self.failed.take(),
        };
        self.gate.ledger().ended(&self.asked, &ended);
    }
}

impl Relay {
    /// Begins to pass on a body.
    pub(crate) fn new(body: Incoming, mask: Mask, open: Open, lease: Lease) -> Self {
        let idle = Box::pin(tokio::time::sleep(limits::IDLE));
        Self { body, mask, open, lease, idle, is_over: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.idle.as_mut().reset(Instant::now() + limits::IDLE);
                    // What comes behind a body is dropped.
                    let Ok(bytes) = frame.into_data() else { continue };
                    if let Err(cut) = self.open.take(&bytes) {
                        return self.cut(cut);
                    }
                    let masked = self.mask.feed(&bytes);
                    if !masked.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(masked.into()))));
                    }
                }
                Poll::Ready(Some(Err(_))) => return self.cut(Cut("the answer breaks off")),
                Poll::Ready(None) => {
                    self.is_over = true;
                    self.open.failed = None;
                    self.lease.finish();
                    let rest = self.mask.finish();
                    if !rest.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(rest.into()))));
                    }
                }
                Poll::Pending => {
                    if self.idle.as_mut().poll(cx).is_ready() {
                        return self.cut(Cut("nothing more came for too long"));
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn cut(&mut self, cut: Cut) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.is_over = true;
        self.open.fail(cut.0);
        Poll::Ready(Some(Err(cut)))
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut *self {
            Self::Own(body) => {
                Pin::new(body).poll_frame(cx).map(|it| it.map(|it| it.map_err(|no| match no {})))
            }
            Self::Relay(relay) => relay.poll(cx),
            Self::Package(passing) => passing.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_end_stream(),
            Self::Relay(relay) => relay.is_over,
            Self::Package(passing) => passing.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => body.size_hint(),
            Self::Relay(_) | Self::Package(_) => SizeHint::default(),
        }
    }
}
