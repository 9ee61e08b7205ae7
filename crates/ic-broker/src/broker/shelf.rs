//! What servers have besides tools: lists of resources, templates and prompts, and whose a URI is.
//!
//! Only of servers whose annotations name the method that such a list is for. What is listed is text of
//! strangers; nothing is called here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ic_mcp::meta;
use ic_types::{Json, Object, ServerName};

use super::Broker;
use crate::locked;
use crate::method::CallMethod;
use crate::server::{Asking, Live, Server};

/// How long one server may take to list what it has.
const LIST_MAX: Duration = Duration::from_secs(10);
/// How many entries one server may list, in how many pages, and in how many bytes.
const ENTRIES_MAX: usize = 1000;
const PAGES_MAX: usize = 100;
const BYTES_MAX: usize = 1 << 20;
/// How many URIs are remembered.
const KNOWN_MAX: usize = 16 << 10;

/// A list of something that servers have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ListKind {
    Resources,
    Templates,
    Prompts,
}

/// Whose the URIs are that were listed; `None` if several servers list one.
pub(super) type Known = HashMap<String, Option<ServerName>>;

impl ListKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// Returns the member of the result that holds the list.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    fn serves(self) -> CallMethod {
        match self {
            Self::Resources | Self::Templates => CallMethod::ReadResource,
            Self::Prompts => CallMethod::GetPrompt,
        }
    }

    /// Returns the member of an entry that says which it is.
    fn key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
            Self::Prompts => "name",
        }
    }
}

impl Broker {
    /// Returns whether any server may be asked for `method`.
    pub(crate) fn offers(&self, method: CallMethod) -> bool {
        self.servers.keys().any(|server| method.is_known(&self.judge, server))
    }

    /// Lists what all servers have of a kind.
    pub(crate) async fn list_of(&self, kind: ListKind) -> Vec<Json> {
        let mut listed = Vec::new();
        for (server, entry) in self.entries(kind).await {
            let name = entry.get("name").and_then(Json::as_str).unwrap_or_default();
            let name = format!("{server}__{name}");
            let mut offered = entry;
            offered.insert("name", name);
            listed.push(Json::Object(offered));
        }
        listed
    }

    /// Finds the one server whose resource a URI is.
    pub(crate) async fn owner_of(&self, uri: &str, method: CallMethod) -> Option<ServerName> {
        let mut named = self.servers.keys().filter(|server| method.is_known(&self.judge, server));
        if let (Some(only), None) = (named.next(), named.next()) {
            return Some(only.clone());
        }
        let known = |broker: &Self| locked(&broker.shelf).get(uri).cloned();
        if let Some(owner) = known(self) {
            return owner;
        }
        self.entries(ListKind::Resources).await;
        if let Some(owner) = known(self) {
            return owner;
        }
        // SECURITY: where two would fit, neither is taken: a server could pass for another.
        let templates = self.entries(ListKind::Templates).await;
        let fits = |entry: &Object| {
            let template = entry.get("uriTemplate").and_then(Json::as_str).unwrap_or_default();
            let literal = template.split('{').next().unwrap_or_default();
            template == uri || (!literal.is_empty() && uri.starts_with(literal))
        };
        let mut owners: Vec<&ServerName> =
            templates.iter().filter(|(_, entry)| fits(entry)).map(|(server, _)| server).collect();
        owners.dedup();
        match owners.as_slice() {
            [owner] => Some((*owner).clone()),
            _ => None,
        }
    }

    /// Returns the server that a name with a prefix belongs to, and the name without it.
    pub(crate) fn unprefixed(&self, name: &str) -> Option<(ServerName, String)> {
        self.servers.keys().find_map(|server| {
            let rest = name.strip_prefix(server.as_str())?.strip_prefix("__")?;
            Some((server.clone(), rest.to_owned()))
        })
    }

    /// Asks the servers for their entries; whoever cannot be asked has none.
    async fn entries(&self, kind: ListKind) -> Vec<(ServerName, Object)> {
        let mut all = Vec::new();
        for (name, server) in &self.servers {
            if !kind.serves().is_known(&self.judge, name) {
                continue;
            }
            let listing = tokio::time::timeout(LIST_MAX, self.entries_of(server, kind));
            let entries = listing.await.ok().flatten().unwrap_or_default();
            if kind == ListKind::Resources {
                self.remember(name, &entries);
            }
            all.extend(entries.into_iter().map(|entry| (name.clone(), entry)));
        }
        all
    }

    fn remember(&self, server: &ServerName, entries: &[Object]) {
        let mut known = locked(&self.shelf);
        for uri in entries.iter().filter_map(|entry| entry.get("uri").and_then(Json::as_str)) {
            let has_room = known.len() < KNOWN_MAX;
            match known.get_mut(uri) {
                Some(owner) if owner.as_ref() == Some(server) => {}
                Some(owner) => *owner = None,
                None if has_room => {
                    known.insert(uri.to_owned(), Some(server.clone()));
                }
                None => {}
            }
        }
    }

    async fn entries_of(&self, server: &Arc<Server>, kind: ListKind) -> Option<Vec<Object>> {
        let live = server.live().await.ok()?;
        // SECURITY: a server of which nothing is trusted has no other way to speak either.
        let tools = live.tools();
        let is_withheld = tools.iter().all(|offer| offer.withheld.is_some());
        if (is_withheld && tools.iter().next().is_some())
            || live.introduction.capabilities.get(kind.serves().capability()).is_none()
        {
            return None;
        }
        let mut entries = Vec::new();
        let (mut cursor, mut n_bytes): (Option<Json>, usize) = (None, 0);
        for _ in 0..PAGES_MAX {
            let page = page(&live, kind, cursor.take(), &self.stop).await?;
            for (key, value) in page.into_entries() {
                match (key.as_str(), value) {
                    (key, Json::Array(listed)) if key == kind.member() => {
                        for entry in listed {
                            n_bytes += entry.to_string().len();
                            match entry {
                                Json::Object(entry) if entry.get(kind.key()).is_some() => {
                                    entries.push(entry);
                                }
                                _ => {}
                            }
                        }
                    }
                    ("nextCursor", next @ Json::String(_)) => cursor = Some(next),
                    _ => {}
                }
            }
            if ENTRIES_MAX < entries.len() || BYTES_MAX < n_bytes {
                return None;
            }
            if cursor.is_none() {
                return Some(entries);
            }
        }
        None
    }
}

async fn page(
    live: &Live,
    kind: ListKind,
    cursor: Option<Json>,
    stop: &tokio_util::sync::CancellationToken,
) -> Option<Object> {
    let asking = Asking { progress: None, caller: None, cancel: stop, limit: LIST_MAX };
    let written = |out: &mut String, envelope: Object| {
        let mut params = Object::new();
        if let Some(cursor) = cursor {
            params.insert("cursor", cursor);
        }
        if !envelope.is_empty() {
            params.insert(meta::META, envelope);
        }
        Json::write_object(out, &params);
    };
    match live.connection.ask(kind.method(), written, asking).await {
        Ok(Ok(Json::Object(page))) => Some(page),
        Ok(_) | Err(_) => None,
    }
}
