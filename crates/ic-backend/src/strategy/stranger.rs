//! A server that is not ours: it sees what it sees, and a call about anything else is answered with the line
//! of the servers file that would show it.

use std::collections::HashSet;

use ic_confine::Access;
use ic_inventory::servers_file::PathKey;
use ic_judge::{Judge, Judged};
use ic_policy::{Annotation, ResolvedCall};
use ic_servers::filesystem::Rights;
use ic_types::{Json, Object, ServerName};

use super::{Case, Strategy};
use crate::backend::NoPlan;
use crate::one_shot::OneShot;
use crate::server::Live;

/// How a stranger serves.
pub(super) struct Stranger;

impl Strategy for Stranger {
    fn adjust(&self, judge: &Judge, call: &ResolvedCall, judged: &mut Vec<Judged>) {
        let annotation = judge.policy.annotation(call.server(), call.tool());
        if !annotation.is_some_and(Annotation::is_draft) {
            return;
        }
        // A guess that was sent as it came need not be a path at all.
        let sent = texts(call.sent());
        judged.retain(|it| it.path.as_path().to_str().is_some_and(|path| sent.contains(path)));
        // Guessed as wide as can be: that it cannot write is for its cage to say, if it tries.
        for it in judged {
            it.rights = Rights::READ;
        }
    }

    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan> {
        let name = case.permit.call().server();
        match case.lacking {
            None => Ok(None),
            Some(lacking) => Err(NoPlan::Unseen(why_unseen(name, case.live, lacking))),
        }
    }
}

/// Returns the texts among what is sent, at any depth.
fn texts(sent: &Object) -> HashSet<&str> {
    let (mut texts, mut rest) = (HashSet::new(), sent.iter().map(|(_, it)| it).collect::<Vec<_>>());
    while let Some(json) = rest.pop() {
        match json {
            Json::String(text) => drop(texts.insert(text.as_str())),
            Json::Array(items) => rest.extend(items),
            Json::Object(object) => rest.extend(object.iter().map(|(_, it)| it)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
    texts
}

/// Says which line of the servers file would show a server what a call is about.
fn why_unseen(server: &ServerName, live: Option<&Live>, judged: &Judged) -> String {
    let path = &judged.path;
    let kept = live.and_then(|live| live.sight.kept());
    if let Some(covered) =
        kept.and_then(|kept| kept.covering(path).filter(|it| kept.is_foreign(it)))
    {
        return format!(
            "`{covered}` has other names (hard links) outside of what the server `{server}` may write, or \
             holds files that do, so it is read-only for it; use the built-in filesystem server, which \
             replaces a file and leaves its other names as they are"
        );
    }
    if let Some(covered) = kept.and_then(|kept| kept.covering(path)) {
        return format!(
            "programs on this machine run `{covered}` or take orders from it, so it is read-only for the \
             server `{server}`; use the built-in filesystem or git server, which asks for approval"
        );
    }
    let (key, line) = match judged.access() {
        Access::Read => (PathKey::AllowRead, path.clone()),
        // To make or replace an entry, the directory has to be written.
        Access::Write => (PathKey::AllowWrite, path.parent().unwrap_or_else(|| path.clone())),
    };
    let key = key.as_str();
    format!(
        "the call is allowed, but `{path}` is not in the cage of the server `{server}` with the \
         right to {rights}; the user can add \"{line}\" to `{server}.{key}` in the servers file",
        rights = judged.rights,
    )
}
