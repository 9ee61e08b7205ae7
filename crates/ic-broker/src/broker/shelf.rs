//! What servers have besides tools: lists of resources, templates and prompts, and whose a URI is.
//!
//! Only of servers whose annotations name the method that such a list is for. What is listed is text of
//! strangers; nothing is called here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_backend::backend::Backend;
use ic_backend::listing::{LIST_MAX, ListKind};
use ic_judge::method::CallMethod;
use ic_types::{Json, Object, ServerName};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::Broker;
use super::lists::{Entries, House, Lists};
use crate::locked;

/// How long others are waited for once somebody has what is asked for: they may have it too.
const GRACE: Duration = Duration::from_secs(2);
/// How many URIs are remembered.
const KNOWN_MAX: usize = 16 << 10;

/// Whose the URIs are that were listed.
type Known = HashMap<String, Owner>;

/// Whose something is.
#[derive(Clone, Debug)]
enum Owner {
    One(ServerName),
    /// Several servers say that they have it.
    Several,
}

/// What is known of what servers have.
pub(super) struct Shelf {
    known: Mutex<Known>,
    lists: BTreeMap<ServerName, Arc<Lists>>,
}

impl Owner {
    /// SECURITY: where there are two, neither is taken: a server could pass for another.
    fn sole(self) -> Option<ServerName> {
        match self {
            Self::One(server) => Some(server),
            Self::Several => None,
        }
    }
}

impl Shelf {
    pub(super) fn new(servers: &BTreeMap<ServerName, Arc<dyn Backend>>, house: &House) -> Self {
        let lists = servers
            .iter()
            .map(|(name, server)| (name.clone(), Lists::new(Arc::clone(server), house.clone())));
        Self { known: Mutex::default(), lists: lists.collect() }
    }

    /// Notes that a server said by this notification that a list changed.
    pub(super) fn changed(&self, server: &ServerName, notification: &str) {
        let Some(lists) = self.lists.get(server) else { return };
        for kind in ListKind::ALL.into_iter().filter(|kind| kind.changed() == notification) {
            lists.forget(kind);
        }
    }

    /// Returns whose a URI is that was listed.
    fn known(&self, uri: &str) -> Option<Owner> {
        locked(&self.known).get(uri).cloned()
    }

    fn remember(&self, server: &ServerName, entries: &[Object]) {
        let mut known = locked(&self.known);
        for uri in entries.iter().filter_map(|entry| entry.get("uri").and_then(Json::as_str)) {
            let has_room = known.len() < KNOWN_MAX;
            match known.get_mut(uri) {
                Some(Owner::One(owner)) if owner == server => {}
                Some(owner) => *owner = Owner::Several,
                None if has_room => {
                    known.insert(uri.to_owned(), Owner::One(server.clone()));
                }
                None => {}
            }
        }
    }
}

impl Broker {
    /// Returns whether any server may be asked for `method`.
    pub fn offers(&self, method: CallMethod) -> bool {
        self.servers.keys().any(|server| method.is_known(&self.judge, server))
    }

    /// Lists what all servers have of a kind; whoever cannot be asked has nothing.
    pub async fn list_of(&self, kind: ListKind) -> Vec<Json> {
        let until = Instant::now() + LIST_MAX;
        // All are asked before any is waited for.
        let asked: Vec<_> =
            self.lists(kind).map(|(server, lists)| (server, lists, lists.ask(kind))).collect();
        let mut listed = Vec::new();
        for (server, lists, asked) in asked {
            let entries = lists.wait(kind, asked, until).await;
            if kind == ListKind::Resources {
                self.shelf.remember(server, &entries);
            }
            for entry in entries.iter() {
                let name = entry.get("name").and_then(Json::as_str).unwrap_or_default();
                let mut offered = entry.clone();
                offered.insert("name", format!("{server}__{name}"));
                listed.push(Json::Object(offered));
            }
        }
        listed
    }

    /// Finds the one server whose resource a URI is.
    pub async fn owner_of(&self, uri: &str, method: CallMethod) -> Option<ServerName> {
        let mut named = self.servers.keys().filter(|server| method.is_known(&self.judge, server));
        if let (Some(only), None) = (named.next(), named.next()) {
            return Some(only.clone());
        }
        if let Some(owner) = self.shelf.known(uri) {
            return owner.sole();
        }
        match self.owner_by_known_templates(uri) {
            Some(owner) => Some(owner),
            None => self.owner_by_asking(uri).await,
        }
    }

    /// Finds the owner of a URI that no server lists, if all have listed what they have.
    fn owner_by_known_templates(&self, uri: &str) -> Option<ServerName> {
        let mut owners = BTreeSet::new();
        for (server, lists) in self.lists(ListKind::Templates) {
            let has_said_all =
                lists.is_silent(ListKind::Resources) || lists.last(ListKind::Resources).is_some();
            match lists.last(ListKind::Templates) {
                Some(templates) if has_said_all => {
                    if has_fitting(&templates, uri) {
                        owners.insert(server);
                    }
                }
                None if has_said_all && lists.is_silent(ListKind::Templates) => {}
                Some(_) | None => return None,
            }
        }
        sole(owners).cloned()
    }

    /// Asks all servers side by side for what they have.
    ///
    /// One that hangs holds up nobody else's resource for longer than the [`GRACE`], and that once.
    async fn owner_by_asking(&self, uri: &str) -> Option<ServerName> {
        let until = Instant::now() + LIST_MAX;
        let (mut asking, mut all_asked) = (JoinSet::new(), Vec::new());
        for (server, lists) in self.lists(ListKind::Resources) {
            for kind in [ListKind::Resources, ListKind::Templates] {
                let asked = lists.ask(kind);
                all_asked.push((lists, kind, asked.clone()));
                let (server, lists) = (server.clone(), Arc::clone(lists));
                asking.spawn(async move { (server, kind, lists.wait(kind, asked, until).await) });
            }
        }
        let mut owners = BTreeSet::new();
        let mut until = None;
        loop {
            let next = match until {
                None => asking.join_next().await,
                Some(until) => timeout_at(until, asking.join_next()).await.unwrap_or(None),
            };
            match next {
                Some(Ok((server, ListKind::Resources, entries))) => {
                    self.shelf.remember(&server, &entries);
                }
                Some(Ok((server, _, templates))) => {
                    if has_fitting(&templates, uri) {
                        owners.insert(server);
                    }
                }
                Some(Err(_)) => {}
                None => break,
            }
            if until.is_none() && (self.shelf.known(uri).is_some() || !owners.is_empty()) {
                until = Some(Instant::now() + GRACE);
            }
        }
        for (lists, kind, asked) in all_asked {
            lists.wait_no_more(kind, asked);
        }
        match self.shelf.known(uri) {
            Some(owner) => owner.sole(),
            // SECURITY: where two would fit, neither is taken: a server could pass for another.
            None => sole(owners),
        }
    }

    /// Returns the server that a name with a prefix belongs to, and the name without it.
    pub fn unprefixed(&self, name: &str) -> Option<(ServerName, String)> {
        self.servers.keys().find_map(|server| {
            let rest = name.strip_prefix(server.as_str())?.strip_prefix("__")?;
            Some((server.clone(), rest.to_owned()))
        })
    }

    /// Returns the lists of the servers that may be asked for one of a kind, in order.
    fn lists(&self, kind: ListKind) -> impl Iterator<Item = (&ServerName, &Arc<Lists>)> {
        let lists = self.shelf.lists.iter();
        lists.filter(move |(server, _)| kind.serves().is_known(&self.judge, server))
    }
}

fn has_fitting(templates: &Entries, uri: &str) -> bool {
    templates.iter().any(|entry| {
        let template = entry.get("uriTemplate").and_then(Json::as_str).unwrap_or_default();
        let literal = template.split('{').next().unwrap_or_default();
        template == uri || (!literal.is_empty() && uri.starts_with(literal))
    })
}

fn sole<T>(owners: BTreeSet<T>) -> Option<T> {
    let mut owners = owners.into_iter();
    match (owners.next(), owners.next()) {
        (owner, None) => owner,
        (_, Some(_)) => None,
    }
}
