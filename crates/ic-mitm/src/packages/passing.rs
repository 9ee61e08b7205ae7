//! An answer of a registry on its way back: passed on as it comes, measured, and written down at its end.
//!
//! Nothing of it is looked at.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as _, Bytes, Frame, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use super::{AskedPackage, PackageEnded, PackageLedger};
use crate::limits;
use crate::relay::Cut;
use crate::upstream::Lease;

/// Until the next bytes of an answer come.
const IDLE: Duration = Duration::from_mins(2);

/// A request that is under way; what came of it is written down when this is dropped.
#[derive(Debug)]
pub(super) struct Open {
    ledger: Arc<dyn PackageLedger>,
    asked: AskedPackage,
    begun: Instant,
    status: Option<u16>,
    n_bytes: u64,
    failed: Option<String>,
    _permit: OwnedSemaphorePermit,
}

/// An answer on its way.
#[derive(Debug)]
pub struct Passing {
    body: Incoming,
    open: Open,
    lease: Lease,
    idle: Pin<Box<Sleep>>,
    is_over: bool,
}

impl Open {
    pub(super) fn new(
        ledger: &Arc<dyn PackageLedger>,
        asked: AskedPackage,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            asked,
            begun: Instant::now(),
            status: None,
            n_bytes: 0,
            // Until it is known otherwise.
            failed: Some("nobody waited for the answer".to_owned()),
            _permit: permit,
        }
    }

    pub(super) fn answered(&mut self, status: u16) {
        self.status = Some(status);
    }

    pub(super) fn fail(&mut self, why: impl Into<String>) {
        self.failed = Some(why.into());
    }

    /// Notes that all of it has come.
    pub(super) fn finish(&mut self) {
        self.failed = None;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let ended = PackageEnded {
            status: self.status,
            n_bytes: self.n_bytes,
            duration: self.begun.elapsed(),
            failed: self.failed.take(),
        };
        self.ledger.ended(&self.asked, &ended);
    }
}

impl Passing {
    pub(super) fn new(body: Incoming, open: Open, lease: Lease) -> Self {
        Self { body, open, lease, idle: Box::pin(tokio::time::sleep(IDLE)), is_over: false }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.idle.as_mut().reset(Instant::now() + IDLE);
                    // What comes behind a body is dropped.
                    let Ok(bytes) = frame.into_data() else { continue };
                    self.open.n_bytes = self.open.n_bytes.saturating_add(bytes.len() as u64);
                    if limits::ANSWER_BYTES_MAX < self.open.n_bytes {
                        return self.cut(Cut::new("the answer does not come to an end"));
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Poll::Ready(Some(Err(_))) => return self.cut(Cut::new("the answer breaks off")),
                Poll::Ready(None) => {
                    self.is_over = true;
                    self.open.finish();
                    self.lease.finish();
                }
                Poll::Pending if self.idle.as_mut().poll(cx).is_ready() => {
                    return self.cut(Cut::new("nothing more came for too long"));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn cut(&mut self, cut: Cut) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.is_over = true;
        self.open.fail(cut.to_string());
        Poll::Ready(Some(Err(cut)))
    }
}
