//! The order of calls, for a server that takes them one by one.
//!
//! Each call waits for the one before it, however that ends. What a call does is not known here.

use std::sync::Mutex;

use tokio::sync::oneshot;

use crate::locked;

/// The calls of one server, in order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// What the last call signals when it is done.
    last: Mutex<Option<Before>>,
}

/// A place in the order of calls; dropped when the call is done, or is taken back.
#[derive(Debug)]
pub struct Turn {
    before: Option<Before>,
    done: Option<oneshot::Sender<Option<Before>>>,
}

/// The call before: resolves when it is done; if it was taken back, to the one that it waited for.
#[derive(Debug)]
struct Before(oneshot::Receiver<Option<Before>>);

impl Turns {
    /// Takes the next place.
    pub(super) fn take(&self) -> Turn {
        let (done, after) = oneshot::channel();
        Turn { before: locked(&self.last).replace(Before(after)), done: Some(done) }
    }
}

impl Turn {
    /// Waits until the call before is done; may be dropped and called again.
    pub async fn come(&mut self) {
        while let Some(Before(before)) = &mut self.before {
            // An error is the other end being dropped, which is an end too.
            self.before = before.await.ok().flatten();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut before = self.before.take();
        // Calls that were taken back one after another must not make a chain without end.
        while let Some(Before(waiting)) = &mut before {
            match waiting.try_recv() {
                Ok(next) => before = next,
                Err(oneshot::error::TryRecvError::Closed) => before = None,
                Err(oneshot::error::TryRecvError::Empty) => break,
            }
        }
        // Whoever comes next waits for the one that we waited for; nobody may come.
        if let Some(done) = self.done.take() {
            done.send(before).ok();
        }
    }
}
