//! The places for which rules deny or escalate: what a view has to leave out, and what has to be named.
//!
//! Decides nothing: whatever else such a rule asks for, it counts here, so this may be too much and is
//! never too little.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_types::{CanonicalPath, Role, ServerName};

use crate::effect::Effect;
use crate::rule::Rule;

/// The places for which rules deny or escalate one role with the tools of one server.
///
/// A place that an earlier rule allows as a whole is none; neither is the root, which is everywhere.
#[derive(Debug, Default)]
pub struct Restricted {
    places: Vec<CanonicalPath>,
    known: HashSet<PathBuf>,
}

impl Restricted {
    /// Returns the places.
    pub fn places(&self) -> &[CanonicalPath] {
        &self.places
    }

    /// Returns whether `path` is such a place, or lies in one.
    pub fn holds(&self, path: &CanonicalPath) -> bool {
        is_in(&self.known, path.as_path())
    }

    pub(super) fn of(rules: &[Rule], server: &ServerName, role: Role) -> Self {
        let (mut open, mut restricted) = (HashSet::new(), Self::default());
        let of_role = rules.iter().filter(|it| it.is_relevant_to(role));
        for rule in of_role.filter(|rule| rule.is_about(server.as_str())) {
            let Some(place) = rule.place() else { continue };
            let path = place.as_path();
            match rule.effect {
                Effect::Allow if rule.asks_only_for_place() => _ = open.insert(path.to_owned()),
                Effect::Allow => {}
                Effect::Escalate | Effect::Deny => {
                    let is_narrow = place.parent().is_some() && !is_in(&open, path);
                    if is_narrow && restricted.known.insert(path.to_owned()) {
                        restricted.places.push(place.clone());
                    }
                }
            }
        }
        restricted
    }

    pub(super) fn of_all<'a>(
        rules: &[Rule],
        servers: impl Iterator<Item = &'a ServerName>,
    ) -> HashMap<ServerName, HashMap<Role, Arc<Self>>> {
        let mut all: HashMap<ServerName, HashMap<Role, Arc<Self>>> = HashMap::new();
        for server in servers {
            if all.contains_key(server) {
                continue;
            }
            let roles = [Role::ReadPath, Role::WritePath, Role::DeletePath];
            let roles = roles.map(|role| (role, Arc::new(Self::of(rules, server, role))));
            all.insert(server.clone(), roles.into_iter().collect());
        }
        all
    }
}

fn is_in(places: &HashSet<PathBuf>, path: &Path) -> bool {
    !places.is_empty() && path.ancestors().any(|above| places.contains(above))
}
