//! Our git server: trees that it takes over, remotes that it reaches, and what a push would send.
//!
//! It says beforehand which files that the host executes would change, and which it would read, change or
//! remove at places that rules are about; doing just that is a call of its own, judged and recorded.
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
use std::time::Duration;

use ic_judge::{Judged, Weight};
use ic_mcp::{Outcome, meta};
use ic_policy::{Push, ResolvedCall};
use ic_resolve::RealDisk;
use ic_servers::filesystem::Rights;
use ic_servers::git::{TAKEOVER, reaches_out};
use ic_types::{CanonicalPath, Json, Object, Role};
use tokio_util::sync::CancellationToken;

use super::{Case, Made, Strategy, unseen};
use crate::backend::{Brought, Next, NoPlan};
use crate::one_shot::OneShot;
use crate::plan::paths_of;
use crate::reach::{self, Talk};
use crate::server::{Asking, Inquiry, NoErrand, Server, Unanswered};

/// The rule that is named where a takeover is refused whatever the policy says.
const RULE: &str = "structural-host-executes";
/// How many names one takeover may have.
const NAMES_MAX: usize = 1000;
/// How long it may take to list what a push would send; a person waits for it.
const PREVIEW_MAX: Duration = Duration::from_secs(20);
/// How many lines a person is shown, and how long one is.
const LINES_MAX: usize = 400;
const LINE_CHARS_MAX: usize = 400;

/// How repositories are served.
pub(super) struct Repositories;

impl Strategy for Repositories {
    /// A call of it is never light: the configuration of a repository may hold thousands of URLs.
    fn weight(&self, arguments: &Object) -> Weight {
        match Weight::of(arguments) {
            Weight::Light => Weight::Unknown,
            weight => weight,
        }
    }

    fn changes_files(&self, tool: &str) -> bool {
        !reaches_out(tool)
    }

    /// Nobody but us writes while git takes files into its index.
    fn stills_others(&self, tool: &str) -> bool {
        !reaches_out(tool)
    }

    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan> {
        let (call, bounds) = (case.permit.call(), &case.judge.bounds);
        let tool = call.tool().as_str();
        let planned = if reaches_out(tool) {
            // SECURITY: the server that runs anyway reaches nobody, so no call can use another's reach.
            let (policy, role) = (&case.judge.policy, Role::GitRemoteUrl);
            let allowed = reach::of_call(call, role, policy, case.config).map_err(unseen)?;
            let talk = Talk::of_call(call, role);
            OneShot::plan_far(case.judged, bounds, &RealDisk, (allowed, talk))
        } else if case.lacking.is_none() && !case.is_apart {
            return Ok(None);
        } else if tool == "git_worktree" {
            OneShot::plan_making(case.judged, bounds, &RealDisk)
        } else {
            // SECURITY: a working tree and its repository in two directories of the view; whether the one
            // may be used from the other was judged for this call, and the server that runs cannot know it.
            OneShot::plan_git(case.judged, bounds, &RealDisk)
        };
        planned.map(Some).map_err(unseen)
    }

    fn terms(
        &self,
        server: &Server,
        call: &ResolvedCall,
        agreed: Option<&Brought>,
    ) -> Option<(&'static str, Object)> {
        // A clone makes its tree where none was, and was judged as that.
        if call.tool().as_str() == "git_clone" {
            return None;
        }
        let agreed = agreed.map(|it| it.digest.as_str());
        let mut terms = server.judge().terms(call, agreed);
        terms.insert("shared", server.others_write_at(&paths_of(call)));
        Some((TAKEOVER, terms))
    }

    fn next(&self, made: &Made, outcome: &Result<Outcome, Unanswered>) -> Option<Next> {
        let Ok(Ok(Json::Object(result))) = outcome else { return None };
        let Some(Json::Object(structured)) = result.get("structuredContent") else { return None };
        let Some(Json::Object(takeover)) = structured.get(TAKEOVER) else { return None };
        let Some(Json::Array(paths)) = takeover.get("paths") else { return None };
        let digest = takeover.get("digest").and_then(Json::as_str)?.to_owned();
        let paths: Option<Vec<CanonicalPath>> =
            paths.iter().map(|it| CanonicalPath::new(it.as_str()?).ok()).collect();
        let (paths, ruled) = (paths?, ruled(takeover)?);
        if !(1..=NAMES_MAX).contains(&(paths.len() + ruled.len())) {
            return None;
        }
        let because = format!(
            "nothing was done: it would change {} files that the host executes, and concerns {} that \
             rules are about",
            paths.len(),
            ruled.len()
        );
        Some(Next {
            arguments: made.asked.clone(),
            brought: Some(Brought { paths, ruled, digest }),
            because,
            rule: RULE,
            refusal: None,
            too_many: |_| "the repository changes faster than it can be asked about".to_owned(),
        })
    }
}

/// Reads what the server names for rules.
fn ruled(takeover: &Object) -> Option<Vec<(Role, CanonicalPath)>> {
    let Some(Json::Array(ruled)) = takeover.get("ruled") else { return Some(Vec::new()) };
    let named = ruled.iter().map(|it| {
        let Json::Object(it) = it else { return None };
        let text = |name: &str| it.get(name).and_then(Json::as_str);
        Some((text("role")?.parse().ok()?, CanonicalPath::new(text("path")?).ok()?))
    });
    named.collect()
}

/// Lists the commits and files that a push would send, by object id; nothing if the call is no push.
///
/// Our git server works it out, in a cage of its own that shows the repository to be read and reaches
/// nobody. It changes nothing and decides nothing: what is bound is the object ids, and if the list
/// cannot be had the person is told so. Its lines are text of strangers.
pub(crate) async fn push_preview(
    server: &Arc<Server>,
    call: &ResolvedCall,
    cancel: &CancellationToken,
) -> Vec<String> {
    let Some(Push::Refs(refs)) = call.push() else { return Vec::new() };
    if refs.iter().all(|it| it.new.is_none()) {
        return Vec::new();
    }
    let mut params = Object::new();
    params.insert("path", call.sent().get("path").cloned().unwrap_or(Json::Null));
    let refs = match call.resolved_json() {
        Json::Object(mut resolved) => resolved.remove(Push::KEY),
        _ => None,
    };
    params.insert("refs", refs.unwrap_or(Json::Null));
    let listed = previewed(server, call, params, cancel);
    let listed = match tokio::time::timeout(PREVIEW_MAX, listed).await {
        Ok(listed) => listed,
        Err(_) => Err(format!("it took longer than {} s", PREVIEW_MAX.as_secs())),
    };
    match listed {
        Ok(text) => {
            let line = |line: &str| line.chars().take(LINE_CHARS_MAX).collect();
            text.lines().take(LINES_MAX).map(line).collect()
        }
        Err(why) => vec![format!("the commits and files could not be listed: {why}")],
    }
}

async fn previewed(
    server: &Arc<Server>,
    call: &ResolvedCall,
    mut params: Object,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let mut judged = Judged::of(call);
    for it in &mut judged {
        // SECURITY: nobody has approved anything yet.
        it.rights = Rights::READ;
    }
    let one_shot = OneShot::plan_git(&judged, &server.judge().bounds, &RealDisk);
    let one_shot = one_shot.map_err(|fault| fault.to_string())?;
    let errand = server.start_once(&one_shot, cancel).await.map_err(|error| match error {
        NoErrand::Cancelled => "cancelled".to_owned(),
        NoErrand::Unshowable(why) | NoErrand::Failed(why) => why,
    })?;
    let write = |out: &mut String, envelope: Object| {
        if !envelope.is_empty() {
            params.insert(meta::META, envelope);
        }
        Json::write_object(out, &params);
    };
    let asking = Asking { progress: None, caller: None, cancel, limit: PREVIEW_MAX };
    let outcome = errand.connection.inquire(Inquiry::PushPreview, write, asking).await;
    errand.end("the preview is done");
    match outcome {
        Ok(Ok(result)) => text_of(&result),
        Ok(Err(error)) => Err(error.message),
        Err(unanswered) => Err(unanswered.to_string()),
    }
}

/// Returns the text of a result; one that says that it failed is an error.
fn text_of(result: &Json) -> Result<String, String> {
    let Json::Object(result) = result else { return Err("no answer".to_owned()) };
    let text = match result.get("content") {
        Some(Json::Array(blocks)) => blocks.iter().find_map(|block| match block {
            Json::Object(block) => block.get("text")?.as_str(),
            _ => None,
        }),
        _ => None,
    };
    match (text, result.get("isError")) {
        (Some(text), None | Some(Json::Bool(false))) => Ok(text.to_owned()),
        (Some(text), _) => Err(text.to_owned()),
        (None, _) => Err("no answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_about_a_repository_is_never_light() {
        let few = Object::new();
        let mut many = Object::new();
        many.insert("a", vec![Json::Null; 1000]);
        assert_eq!(Repositories.weight(&few), Weight::Unknown);
        assert_eq!(Repositories.weight(&many), Weight::Heavy);
    }
}
