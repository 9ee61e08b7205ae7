//! A complete look at what the agent may have planted, before each request to its model.
//!
//! ```text
//! request ─▶ gate ─▶ LookFirst ─▶ the turn looks, with the cage stopped, and puts back ─▶ the request goes on
//! ```
//!
//! What is looked for, and how it is put back, is not known here.

use std::pin::Pin;
use std::sync::Mutex;

use ic_mitm::Before;
use ic_types::locked;
use tokio::sync::{mpsc, oneshot};

/// How many requests wait for a look.
const WAITING_MAX: usize = 256;

/// A request that waits for a look, and goes on when this is dropped.
pub(super) type Waiting = oneshot::Sender<()>;

/// Holds up requests to a model until somebody has looked; while nobody looks, they go on.
#[derive(Debug, Default)]
pub struct LookFirst(Mutex<Option<mpsc::Sender<Waiting>>>);

impl LookFirst {
    /// Begins to hold up requests; what comes out of it is each of them, until it is dropped.
    pub(super) fn hold_up(&self) -> mpsc::Receiver<Waiting> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        *locked(&self.0) = Some(sender);
        receiver
    }
}

impl Before for LookFirst {
    fn request(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let looks = locked(&self.0).clone();
        Box::pin(async move {
            let Some(looks) = looks else { return };
            let (done, looked) = oneshot::channel();
            // Where nobody looks any more, the turn is over, and the look at its end is made in any case.
            if looks.send(done).await.is_ok() {
                looked.await.ok();
            }
        })
    }
}
