//! Passes on what the session announces, as far as a client wants to hear it.
//!
//! Announcements are dropped where a client is slow; answers to what it asked never come this way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ic_backend::levels::Level;
use ic_broker::broker::Announcement;
use ic_mcp::notification_line;
use ic_types::{Json, Object};
use tokio::sync::broadcast;

use super::Outbox;
use super::calls::Subscribed;
use crate::locked;

/// One client that listens.
pub(super) struct Listener {
    pub(super) announcements: broadcast::Receiver<Announcement>,
    pub(super) outbox: Outbox,
    pub(super) level: Arc<Mutex<Level>>,
    /// The resources of which the client wants to hear.
    pub(super) subscribed: Arc<Mutex<Subscribed>>,
    /// A client of the newest revision is told nothing that it did not ask for.
    pub(super) is_enveloped: Arc<AtomicBool>,
}

impl Listener {
    /// Passes on announcements until there are no more.
    pub(super) async fn pass_on(mut self) {
        loop {
            let line = match self.announcements.recv().await {
                Ok(_) if self.is_enveloped.load(Ordering::Relaxed) => continue,
                Ok(Announcement::ToolsChanged) => {
                    notification_line("notifications/tools/list_changed", &Object::new())
                }
                Ok(Announcement::Log(params)) => {
                    let level = params.get("level").and_then(Json::as_str).and_then(Level::of);
                    match level {
                        Some(level) if *locked(&self.level) <= level => {
                            notification_line("notifications/message", &params)
                        }
                        _ => continue,
                    }
                }
                Ok(Announcement::ListChanged(method)) => notification_line(method, &Object::new()),
                Ok(Announcement::ResourceUpdated(uri)) => {
                    if !locked(&self.subscribed).contains_key(&uri) {
                        continue;
                    }
                    let mut params = Object::new();
                    params.insert("uri", uri);
                    notification_line("notifications/resources/updated", &params)
                }
                // A client that is slow misses some of it.
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            };
            // Announcements never hold up answers.
            self.outbox.send_if_there_is_room(line);
        }
    }
}
