//! What happens to servers besides calls: noted, and announced to clients where they care.
//!
//! A server's own words go to the session's log and nowhere else.

use std::sync::Weak;

use ic_types::{Json, Object, ServerName};
use tokio::sync::mpsc;

use super::Broker;
use crate::server::{News, ServerNews};

/// Something that clients are told.
#[derive(Clone, Debug)]
pub enum Announcement {
    /// The list of tools is not what it was.
    ToolsChanged,
    /// A server's message for the client's log.
    Log(Object),
}

/// Deals with news until the session ends.
pub(super) async fn deal(
    broker: Weak<Broker>,
    mut news: mpsc::Receiver<(ServerName, ServerNews)>,
    stop: tokio_util::sync::CancellationToken,
) {
    loop {
        let next = tokio::select! {
            next = news.recv() => next,
            // What servers say while they are being ended is of no use to anybody.
            () = stop.cancelled() => return,
        };
        let (Some((server, news)), Some(broker)) = (next, broker.upgrade()) else { return };
        broker.hear(&server, news).await;
    }
}

impl Broker {
    async fn hear(&self, server: &ServerName, news: ServerNews) {
        match news {
            ServerNews::Up(live) => {
                let mut event = self.event("server-up", server);
                event.insert("name", live.introduction.name.as_str());
                event.insert("version", live.introduction.version.as_str());
                event.insert("protocol", live.introduction.protocol.as_str());
                event.insert("confined", live.confinement.to_string());
                let table = live.tools();
                let withheld = table.iter().filter(|offer| offer.withheld.is_some());
                let withheld: Vec<Json> =
                    withheld.map(|offer| Json::from(offer.tool.name.as_str())).collect();
                if !withheld.is_empty() {
                    self.witness.notice(&format!(
                        "{} tools of the server `{server}` are withheld; look at them with \
                         `ironcurtain servers trust {server}`",
                        withheld.len()
                    ));
                    event.insert("withheld", withheld);
                }
                for unusable in &table.unusable {
                    self.witness.notice(&format!("server `{server}`: {unusable}"));
                }
                self.keep(event);
                self.announce_list().await;
            }
            ServerNews::Down(why) => {
                self.witness.notice(&format!("server `{server}`: {why}"));
                let mut event = self.event("server-down", server);
                event.insert("reason", why);
                self.keep(event);
            }
            ServerNews::Recorded(n_tools) => {
                self.witness.notice(&format!(
                    "server `{server}` is new: its identity and its {n_tools} tools were recorded; \
                     what changes later is withheld until `ironcurtain servers trust {server}`"
                ));
                let mut event = self.event("server-recorded", server);
                event.insert("tools", n_tools as u64);
                self.keep(event);
            }
            ServerNews::ToolsChanged => self.list_again(server).await,
            ServerNews::Said(News::Log(params)) => {
                // Nobody may be listening.
                self.announcements.send(Announcement::Log(params)).ok();
            }
            ServerNews::Said(News::Refused(method)) => {
                let reason = format!("the server `{server}` asked for something it may not have");
                self.record_refused_request(&method, &reason);
            }
            ServerNews::Said(News::ToolsChanged) => {}
            ServerNews::Wrote(line) => self.witness.server_wrote(server, &line),
        }
    }

    async fn list_again(&self, name: &ServerName) {
        let Some(server) = self.servers.get(name) else { return };
        let Some(live) = server.running() else { return };
        if let Err(error) = server.list_again(&live).await {
            live.connection.end(&format!("its tools cannot be listed again: {error}"));
            return;
        }
        self.announce_list().await;
    }

    /// Tells clients if the list of tools is not what they were given.
    async fn announce_list(&self) {
        if self.is_list_outdated().await {
            // Nobody may be listening.
            self.announcements.send(Announcement::ToolsChanged).ok();
        }
    }

    fn event(&self, what: &str, server: &ServerName) -> Object {
        let mut event = Object::new();
        event.insert("event", what);
        event.insert("server", server.as_str());
        event
    }

    fn keep(&self, event: Object) {
        if let Err(error) = self.record_event(event) {
            self.witness.notice(&crate::chain(&error));
        }
    }
}
