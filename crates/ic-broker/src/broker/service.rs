//! Who serves a call that may be made: the server that runs, one that is started for it, or nobody.
//!
//! The view follows the judgement: what the long-lived filesystem server does not hold is served by
//! one that holds exactly what was judged. A server that is not ours sees what it sees; a call about
//! anything else is answered with the line that would show it. Nothing is judged here.

use std::path::Path;
use std::sync::Arc;

use ic_audit::{Recorded, Redactor};
use ic_confine::{Access, Confinement};
use ic_policy::{Annotation, Permit};
use ic_resolve::RealDisk;
use ic_servers::filesystem::Rights;
use ic_servers::git::reaches_out;
use ic_types::{Json, Object, Role};
use tokio_util::sync::CancellationToken;

use super::{Broker, Found};
use crate::one_shot::OneShot;
use crate::reach::{self, Origin, Talk};
use crate::refusal::{Refusal, RefusalKind};
use crate::server::{Connection, Errand, Live, NoErrand, Server};
use crate::servers_file::PathKey;
use crate::sight::Judged;

/// The rule that is named where a server does not see what a call is about.
const RULE: &str = "confinement-view";

/// Who serves a call.
pub(super) enum Service {
    /// The server that runs anyway.
    Standing(Arc<Live>),
    /// One that was started for this call.
    Errand(Box<Errand>),
}

/// A call that nobody serves.
pub(super) enum NoService {
    /// It is answered instead.
    Refused(Refusal),
    /// Nobody wants an answer any more.
    Cancelled,
}

impl Broker {
    /// Finds out who serves the call of `permit`, and starts a server for it if need be.
    pub(super) async fn service(
        &self,
        permit: &Permit,
        found: &Found,
        cancel: &CancellationToken,
    ) -> Result<Service, NoService> {
        let server = &found.server;
        if server.is_fetch() {
            return self.reaching(permit, server, cancel).await;
        }
        let live = standing(server, found.live.clone(), cancel).await?;
        if let Some(refusal) = found.why_not_sent(&live) {
            return Err(NoService::Refused(refusal));
        }
        if let Some(path) = live.sight.appeared(&RealDisk) {
            // SECURITY: nothing covers it in the cage that runs; in the next one something will.
            let why = format!("`{path}` appeared, which this server must not see");
            live.connection.end(&why);
            let reason = format!("the server `{}` is started anew: {why}; try again", server.name);
            let refusal = Refusal::structural(RefusalKind::Denied, "server-unavailable", reason);
            return Err(NoService::Refused(refusal));
        }
        let mut judged = Judged::of(permit.call());
        let call = permit.call();
        let annotation = self.judge.policy.annotation(call.server(), call.tool());
        if annotation.is_some_and(Annotation::is_draft) && !server.is_ours() {
            // A guess that was sent as it came need not be a path at all.
            judged.retain(|it| is_sent(call.sent(), it.path.as_path()));
            // Guessed as wide as can be: that it cannot write is for its cage to say, if it tries.
            for it in &mut judged {
                it.rights = Rights::READ;
            }
        }
        let refused = |kind, rule, reason: String| {
            NoService::Refused(Refusal::structural(kind, rule, reason))
        };
        let (tool, bounds) = (permit.call().tool().as_str(), &self.judge.bounds);
        // SECURITY: the server that runs anyway reaches nobody, so no call can use another's reach.
        let is_far = server.is_git() && reaches_out(tool);
        let lacking = live.sight.lacks(&judged, &RealDisk);
        // SECURITY: a working tree and its repository in two directories of the view; whether the one
        // may be used from the other was judged for this call, and the server that runs cannot know it.
        let is_apart = server.is_git() && !live.sight.holds_together(&judged);
        let lacking = match lacking {
            None if !is_far && !is_apart => return Ok(Service::Standing(live)),
            lacking => lacking,
        };
        let one_shot = if is_far {
            let allowed = reach::of_call(
                permit.call(),
                Role::GitRemoteUrl,
                &self.judge.policy,
                server.config(),
            )
            .map_err(|fault| refused(RefusalKind::Confinement, RULE, fault.to_string()))?;
            let talk = Talk::of_call(permit.call(), Role::GitRemoteUrl);
            OneShot::plan_far(&judged, bounds, &RealDisk, (allowed, talk))
        } else if server.is_filesystem() {
            OneShot::plan(tool, &judged, bounds, &RealDisk)
        } else if server.is_git() && tool == "git_worktree" {
            OneShot::plan_making(&judged, bounds, &RealDisk)
        } else if server.is_git() {
            OneShot::plan_git(&judged, bounds, &RealDisk)
        } else {
            let reason = lacking.map_or_else(String::new, |it| unseen(server, it));
            return Err(refused(RefusalKind::Confinement, RULE, reason));
        };
        let one_shot =
            one_shot.map_err(|fault| refused(RefusalKind::Confinement, RULE, fault.to_string()))?;
        errand(server, &one_shot, cancel).await
    }

    /// Starts our fetch server for one call, with the judged host and nothing else within its reach.
    async fn reaching(
        &self,
        permit: &Permit,
        server: &Arc<Server>,
        cancel: &CancellationToken,
    ) -> Result<Service, NoService> {
        let refused = |reason: String| {
            NoService::Refused(Refusal::structural(RefusalKind::Confinement, RULE, reason))
        };
        let (call, policy, config) = (permit.call(), &self.judge.policy, server.config());
        let reach = reach::of_call(call, Role::FetchUrl, policy, config)
            .map_err(|fault| refused(fault.to_string()))?;
        let origin = Origin::of_call(call, policy, config).ok_or_else(|| {
            refused(format!("the entry of the server `{}` forbids this host", server.name))
        })?;
        errand(server, &OneShot::plan_fetch(reach, origin), cancel).await
    }
}

/// Starts a server for one call.
async fn errand(
    server: &Arc<Server>,
    one_shot: &OneShot,
    cancel: &CancellationToken,
) -> Result<Service, NoService> {
    match server.start_once(one_shot, cancel).await {
        Ok(errand) => Ok(Service::Errand(Box::new(errand))),
        Err(NoErrand::Cancelled) => Err(NoService::Cancelled),
        Err(NoErrand::Unshowable(why)) => {
            Err(NoService::Refused(Refusal::structural(RefusalKind::Confinement, RULE, why)))
        }
        Err(NoErrand::Failed(why)) => {
            let reason =
                format!("the server `{}` cannot be started for this call: {why}", server.name);
            let (kind, rule) = (RefusalKind::Denied, "server-unavailable");
            Err(NoService::Refused(Refusal::structural(kind, rule, reason)))
        }
    }
}

/// Returns the server that stands ready; one whose tools were known may have waited for this call.
async fn standing(
    server: &Arc<Server>,
    live: Option<Arc<Live>>,
    cancel: &CancellationToken,
) -> Result<Arc<Live>, NoService> {
    if let Some(live) = live {
        return Ok(live);
    }
    match cancel.run_until_cancelled(server.live()).await {
        Some(Ok(live)) => Ok(live),
        Some(Err(unavailable)) => {
            let (rule, reason) = ("server-unavailable", unavailable.to_string());
            let refusal = Refusal::structural(RefusalKind::Denied, rule, reason);
            Err(NoService::Refused(refusal))
        }
        None => Err(NoService::Cancelled),
    }
}

/// Returns whether a path is among the texts that are sent.
fn is_sent(sent: &Object, path: &Path) -> bool {
    fn holds(json: &Json, path: &str) -> bool {
        match json {
            Json::String(text) => text == path,
            Json::Array(items) => items.iter().any(|it| holds(it, path)),
            Json::Object(object) => object.iter().any(|(_, it)| holds(it, path)),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }
    path.to_str().is_some_and(|path| sent.iter().any(|(_, it)| holds(it, path)))
}

/// Says which line of the servers file would show a server what a call is about.
fn unseen(server: &Server, judged: &Judged) -> String {
    let path = &judged.path;
    let (key, line) = match judged.access() {
        Access::Read => (PathKey::AllowRead, path.clone()),
        // To make or replace an entry, the directory has to be written.
        Access::Write => (PathKey::AllowWrite, path.parent().unwrap_or_else(|| path.clone())),
    };
    let key = key.as_str();
    format!(
        "the call is allowed, but `{path}` is not in the cage of the server `{name}` with the right \
         to {rights}; a person can add \"{line}\" to `{name}.{key}` in the servers file",
        rights = judged.rights,
        name = server.name,
    )
}

impl Service {
    /// Returns what holds the server.
    pub(super) fn confinement(&self) -> Confinement {
        match self {
            Self::Standing(live) => live.confinement,
            Self::Errand(errand) => errand.confinement(),
        }
    }

    /// Returns the connection over which it is asked.
    pub(super) fn connection(&self) -> &Connection {
        match self {
            Self::Standing(live) => &live.connection,
            Self::Errand(errand) => &errand.connection,
        }
    }

    /// Lets a server that was started for this call ask for what the call changes.
    ///
    /// SECURITY: nothing is carried out before this, and there is no proof before the record.
    pub(super) fn warrant(&self, recorded: &Recorded) {
        match self {
            Self::Standing(_) => {}
            Self::Errand(errand) => errand.warrant(recorded),
        }
    }

    /// Returns what hides the secrets that were lent to it, if any were.
    pub(super) fn mask(&self) -> Option<Redactor> {
        match self {
            Self::Standing(_) => None,
            Self::Errand(errand) => errand.mask(),
        }
    }

    /// Lets go of the server; one that was started for this call ends.
    pub(super) fn end(self) {
        match self {
            Self::Standing(_) => {}
            Self::Errand(errand) => errand.end("the call is done"),
        }
    }
}
