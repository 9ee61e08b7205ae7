//! Trees that git takes over: our git server says beforehand which files that the host executes would
//! change, and which it would read, change or remove at places that rules are about; doing just that is
//! a call of its own, judged and recorded.
//!
//! ```text
//! git_merge ─judge─▶ record ─▶ forward with terms ─▶ "these names would change" (nothing was done)
//!                                                       │
//!   git_merge with the names among its values ─judge─▶ ask ─▶ record ─▶ forward, agreed to ─▶ done
//! ```
//!
//! What would change is found out by the server (`ic-servers`, `git/takeover.rs`); whether it may is
//! decided by the policy and a person, as for any other call.

use std::sync::Arc;

use ic_audit::Entry;
use ic_backend::server::{Server, Unanswered};
use ic_mcp::Outcome;
use ic_policy::Permit;
use ic_servers::git::TAKEOVER;
use ic_types::{CanonicalPath, Digest, Json, Object, Role};

use super::hops::{HOPS_MAX, came_of};
use super::kept::paths_of;
use super::{Asked, Broker, Flight, Found, Reply};
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// The rule that is named where a takeover is refused whatever the policy says.
const RULE: &str = "structural-host-executes";
/// How many names one takeover may have.
const NAMES_MAX: usize = 1000;

/// A change that git would make, and that has to be agreed to.
#[derive(Clone, Debug)]
pub(super) struct Brought {
    /// What would change of files that the host executes.
    pub(super) paths: Vec<CanonicalPath>,
    /// What would be read, changed or removed at places that rules are about.
    pub(super) ruled: Vec<(Role, CanonicalPath)>,
    /// By what the server knows it again.
    digest: String,
}

/// A call of our git server under way, to be made again if it takes over what has to be judged.
pub(super) struct Tree {
    asked: Asked,
    n_hops: usize,
}

impl Tree {
    /// Notes a call, if it is one of our git server; `meta` then says what may be taken over.
    pub(super) fn of(
        broker: &Broker,
        (server, permit): (&Server, &Permit),
        (name, meta): (&str, &mut Object),
        (flight, n_hops): (&Flight, usize),
    ) -> Option<Self> {
        // A clone makes its tree where none was, and was judged as that.
        if !server.is_git() || permit.call().tool().as_str() == "git_clone" {
            return None;
        }
        let arguments = permit.call().asked().arguments.clone();
        let asked = Asked { name: name.to_owned(), arguments, meta: meta.clone() };
        let agreed = flight.brought.as_ref().map(|it| it.digest.as_str());
        let mut terms = broker.judge.terms(permit.call(), agreed);
        terms.insert("shared", server.others_write_at(&paths_of(permit.call())));
        meta.insert(TAKEOVER, terms);
        Some(Self { asked, n_hops })
    }

    /// Returns the call once more with what it would change, if the server did nothing for that.
    pub(super) fn next(self, outcome: &Result<Outcome, Unanswered>) -> Option<(Self, Brought)> {
        let Ok(Ok(Json::Object(result))) = outcome else { return None };
        let Some(Json::Object(structured)) = result.get("structuredContent") else { return None };
        let Some(Json::Object(takeover)) = structured.get(TAKEOVER) else { return None };
        let Some(Json::Array(paths)) = takeover.get("paths") else { return None };
        let digest = takeover.get("digest").and_then(Json::as_str)?.to_owned();
        let paths: Option<Vec<CanonicalPath>> =
            paths.iter().map(|it| CanonicalPath::new(it.as_str()?).ok()).collect();
        let (paths, ruled) = (paths?, ruled(takeover)?);
        let is_some = (1..=NAMES_MAX).contains(&(paths.len() + ruled.len()));
        is_some.then_some((self, Brought { paths, ruled, digest }))
    }
}

/// Reads what a server names for rules.
fn ruled(takeover: &Object) -> Option<Vec<(Role, CanonicalPath)>> {
    let Some(Json::Array(ruled)) = takeover.get("ruled") else { return Some(Vec::new()) };
    let named = ruled.iter().map(|it| {
        let Json::Object(it) = it else { return None };
        let text = |name: &str| it.get(name).and_then(Json::as_str);
        Some((text("role")?.parse().ok()?, CanonicalPath::new(text("path")?).ok()?))
    });
    named.collect()
}

impl Broker {
    /// Records that a call would change what has to be judged first, and makes that call.
    pub(super) async fn take_over(
        &self,
        (tree, brought): (Tree, Brought),
        entry: Entry,
        repetition: Digest,
        (found, flight): (Found, Flight),
    ) -> Reply {
        let Tree { asked, n_hops } = tree;
        let id = self.request_id();
        let (n_paths, n_ruled) = (brought.paths.len(), brought.ruled.len());
        let reason = format!(
            "nothing was done: it would change {n_paths} files that the host executes, and concerns \
             {n_ruled} that rules are about, which is the request {id}"
        );
        if let Err(error) = self.log.note(Entry { reason: Some(Arc::from(reason)), ..entry }) {
            return self.unrecorded(&error);
        }
        let reply = if HOPS_MAX <= n_hops {
            let reason = "the repository changes faster than it can be asked about";
            let refusal = Refusal::structural(RefusalKind::Denied, RULE, reason);
            self.refuse(&asked, &refusal, Some(found.names()), &id)
        } else {
            let flight = Flight { brought: Some(brought), ..flight };
            Box::pin(self.serve(asked, found, flight, (&id, n_hops + 1))).await
        };
        if let Some(came) = came_of(&reply) {
            locked(&self.breaker).remember(repetition, came, self.clock.now());
        }
        reply
    }
}
