//! What happens to servers besides calls: noted, and announced to clients where they care.
//!
//! A server's own words go to the session's log and nowhere else.

use std::sync::{Arc, Weak};

use ic_backend::server::{News, ServerNews, Up};
use ic_types::{Json, JsonLimits, Object, ServerName, counted};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Broker;
use super::kept::ask_apart;

/// How many tools that cannot be used are named to a person.
const UNUSABLE_SHOWN_MAX: usize = 5;

/// Something that clients are told.
#[derive(Clone, Debug)]
pub enum Announcement {
    /// The list of tools is not what it was.
    ToolsChanged,
    /// A server's message for the client's log.
    Log(Object),
    /// A list of something else than tools is not what it was; with the notification that says so.
    ListChanged(&'static str),
    /// A resource is not what it was.
    ResourceUpdated(String),
}

/// Deals with news until the session ends.
pub(super) async fn deal(
    broker: Weak<Broker>,
    mut news: mpsc::Receiver<(ServerName, ServerNews)>,
    mut words: mpsc::Receiver<(ServerName, ServerNews)>,
    stop: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            biased;
            next = news.recv() => next,
            // What has happened by then is dealt with; what servers say while they are being ended
            // is of no use to anybody.
            () = stop.cancelled() => return,
            next = words.recv() => next,
        };
        let (Some((server, news)), Some(broker)) = (next, broker.upgrade()) else { return };
        if let ServerNews::Said(News::ListChanged(method)) = &news {
            broker.shelf.changed(&server, method);
        }
        match news {
            // One about which a person is asked must not hold up the news of others.
            ServerNews::Planted(done) => {
                let tasks = broker.tasks.clone();
                if let Some(server) = broker.servers.get(&server).map(Arc::clone) {
                    tasks.spawn(ask_apart(broker, server, done));
                }
            }
            other => broker.hear(&server, other).await,
        }
    }
}

impl Broker {
    async fn hear(&self, server: &ServerName, news: ServerNews) {
        match news {
            ServerNews::Up(up) => {
                let event = self.met(server, &up);
                self.keep(event);
                self.announce_list().await;
            }
            ServerNews::Down(why) => {
                self.notice(&format!("server `{server}`: {why}"));
                let mut event = event("server-down", server);
                event.insert("reason", why);
                self.keep(event);
            }
            ServerNews::Recorded(n_tools) => {
                self.witness.notice(&format!(
                    "server `{server}` is new: its identity and its {} were recorded; \
                     what changes later is withheld until `ironcurtain servers trust {server}`",
                    counted(n_tools, "tool", "tools")
                ));
                let mut event = event("server-recorded", server);
                event.insert("tools", n_tools as u64);
                self.keep(event);
            }
            // SECURITY: a server whose tools are all withheld has no other way to speak either.
            ServerNews::Said(News::Log(_) | News::ListChanged(_) | News::ResourceUpdated(_))
                if !self.has_trusted_tool(server) => {}
            ServerNews::Said(News::Log(params)) => {
                let text = self.redactor.mask_own_keys(Json::Object(params).to_string());
                if let Ok(Json::Object(params)) = Json::parse(text.as_bytes(), JsonLimits::CALL) {
                    // Nobody may be listening.
                    self.announcements.send(Announcement::Log(params)).ok();
                }
            }
            ServerNews::Said(News::ListChanged(method)) => {
                self.announcements.send(Announcement::ListChanged(method)).ok();
            }
            ServerNews::Said(News::ResourceUpdated(uri)) => {
                self.announcements.send(Announcement::ResourceUpdated(uri)).ok();
            }
            ServerNews::Said(News::Refused(method, why)) => {
                let reason = format!("the server `{server}` is refused this: {why}");
                self.record_refused_request(&method, &reason);
            }
            ServerNews::Listed => self.announce_list().await,
            // Dealt with elsewhere.
            ServerNews::Planted(_) | ServerNews::Said(News::ToolsChanged) => {}
            ServerNews::Wrote(line) => {
                self.witness.server_wrote(server, &self.redactor.mask_own_keys(line));
            }
        }
    }

    /// Tells a person which tools of a server that is up are not offered; returns what is written down.
    fn met(&self, server: &ServerName, up: &Up) -> Object {
        let mut event = event("server-up", server);
        event.insert("name", up.introduction.name.as_str());
        event.insert("version", up.introduction.version.as_str());
        event.insert("protocol", up.introduction.protocol.as_str());
        event.insert("confined", up.confinement.to_string());
        let table = &up.tools;
        let withheld = table.iter().filter(|offer| offer.withheld.is_some());
        let withheld: Vec<Json> =
            withheld.map(|offer| Json::from(offer.tool.name.as_str())).collect();
        if !withheld.is_empty() {
            self.witness.notice(&format!(
                "withheld: {} of the server `{server}`; look at the difference with \
                 `ironcurtain servers trust {server}`",
                counted(withheld.len(), "tool", "tools")
            ));
            event.insert("withheld", withheld);
        }
        for unusable in table.unusable.iter().take(UNUSABLE_SHOWN_MAX) {
            self.notice(&format!("server `{server}`: {unusable}"));
        }
        if let Some(n_more @ 1..) = table.unusable.len().checked_sub(UNUSABLE_SHOWN_MAX) {
            let more = counted(n_more, "more tool", "more tools");
            self.notice(&format!("server `{server}`: {more} cannot be used"));
        }
        event
    }

    /// Tells a person something that may hold a server's own words.
    fn notice(&self, text: &str) {
        self.witness.notice(&self.redactor.mask_own_keys(text.to_owned()));
    }

    /// Tells clients if the list of tools is not what they were given.
    async fn announce_list(&self) {
        if self.is_list_outdated().await {
            // Nobody may be listening.
            self.announcements.send(Announcement::ToolsChanged).ok();
        }
    }

    fn has_trusted_tool(&self, server: &ServerName) -> bool {
        let table = self.servers.get(server).and_then(|server| server.tools());
        table.is_some_and(|table| table.has_trusted())
    }

    fn keep(&self, event: Object) {
        if let Err(error) = self.record_event(event) {
            self.witness.notice(&crate::chain(&error));
        }
    }
}

fn event(what: &str, server: &ServerName) -> Object {
    let mut event = Object::new();
    event.insert("event", what);
    event.insert("server", server.as_str());
    event
}
