//! Resources that clients follow: the server is told when nobody follows one any more.
//!
//! Whether a client may follow a resource was decided before; what changes is passed on elsewhere.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use ic_mcp::{Id, ProtocolVersion, request_line};
use ic_types::{Json, Object};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::Connection;
use crate::locked;

/// One client follows a resource; dropped when it does not any more.
#[derive(Debug)]
pub struct Following {
    connection: Weak<Connection>,
    /// What the server calls it.
    uri: String,
}

impl Connection {
    /// Notes that one more client follows a resource, which the server is told of next.
    pub(crate) fn follow(self: &Arc<Self>, uri: String) -> Following {
        *locked(&self.followed).entry(uri.clone()).or_default() += 1;
        Following { connection: Arc::downgrade(self), uri }
    }

    /// Notes that one client less follows a resource; returns whether that was the last.
    fn leave(&self, uri: &str) -> bool {
        let mut followed = locked(&self.followed);
        let Some(count) = followed.get_mut(uri) else { return false };
        *count = count.saturating_sub(1);
        let is_last = *count == 0;
        if is_last {
            followed.remove(uri);
        }
        is_last
    }

    /// Nobody waits for the answer: whoever followed it hears nothing more either way.
    fn send_unsubscribe(&self, place: mpsc::Permit<'_, String>, uri: &str) {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut params = Object::new();
        params.insert("uri", uri);
        locked(&self.table).expect_for_nobody(number);
        let written = |out: &mut String| Json::write_object(out, &params);
        place.send(request_line(&Id::number(number), "resources/unsubscribe", written));
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let Some(connection) = self.connection.upgrade() else { return };
        let has_envelopes = ProtocolVersion::NEWEST_INITIALIZED < connection.version();
        if !connection.leave(&self.uri) || has_envelopes {
            return;
        }
        if let Ok(place) = connection.outbox.try_reserve() {
            return connection.send_unsubscribe(place, &self.uri);
        }
        // It takes its time to read; without a runtime everything ends anyway.
        let Ok(runtime) = Handle::try_current() else { return };
        let (connection, uri) = (Arc::clone(&connection), std::mem::take(&mut self.uri));
        runtime.spawn(async move {
            let over = connection.over.clone();
            if let Some(Ok(place)) = over.run_until_cancelled(connection.outbox.reserve()).await
                && !locked(&connection.followed).contains_key(&uri)
            {
                connection.send_unsubscribe(place, &uri);
            }
        });
    }
}
