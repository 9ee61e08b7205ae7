//! Who serves a call that may be made: the server that runs, one that is started for it, or nobody.
//!
//! The view follows the judgement: what the long-lived filesystem server does not hold is served by
//! one that holds exactly what was judged. A server that is not ours sees what it sees; a call about
//! anything else is answered with the line that would show it. Nothing is judged here.

use std::collections::HashSet;
use std::sync::Arc;

use ic_audit::{Recorded, Redactor};
use ic_backend::one_shot::OneShot;
use ic_backend::planted::PutBack;
use ic_backend::reach::{self, Origin, Talk};
use ic_backend::server::{Connection, Errand, Live, NoErrand, Server};
use ic_backend::sight::Sight;
use ic_confine::{Access, Confinement};
use ic_inventory::servers_file::PathKey;
use ic_judge::Judged;
use ic_policy::{Annotation, Permit};
use ic_resolve::RealDisk;
use ic_servers::filesystem::Rights;
use ic_servers::git::reaches_out;
use ic_types::{Json, Object, Role};
use tokio_util::sync::CancellationToken;

use super::aside::Weight;
use super::kept::Watched;
use super::{Broker, Found};
use crate::refusal::{Refusal, RefusalKind};

/// The rule that is named where a server does not see what a call is about.
const RULE: &str = "confinement-view";

/// Who serves a call.
pub(super) enum Service {
    /// The server that runs anyway.
    Standing(Arc<Live>, Option<Watched>),
    /// One that was started for this call.
    Errand(Box<Errand>),
}

/// A call that is to be served.
pub(super) struct Wanted<'a> {
    pub(super) permit: &'a Permit,
    /// What it is about.
    pub(super) judged: Vec<Judged>,
    pub(super) weight: Weight,
}

/// What the server that runs lacks for a call.
struct Lacking {
    judged: Vec<Judged>,
    /// The first path that it does not hold, or not with these rights.
    path: Option<Judged>,
    /// Whether it holds the paths in more than one directory.
    is_apart: bool,
}

/// A call that nobody serves.
pub(super) enum NoService {
    /// It is answered instead.
    Refused(Refusal),
    /// Nobody wants an answer any more.
    Cancelled,
    /// Something had to be put back first, and the server was ended.
    PutBack(PutBack),
}

impl Broker {
    /// Finds out who serves the call of `permit`, and starts a server for it if need be.
    pub(super) async fn service(
        &self,
        Wanted { permit, mut judged, weight }: Wanted<'_>,
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
        let call = permit.call();
        let annotation = self.judge.policy.annotation(call.server(), call.tool());
        if annotation.is_some_and(Annotation::is_draft) && !server.is_ours() {
            // A guess that was sent as it came need not be a path at all.
            let sent = texts(call.sent());
            judged.retain(|it| it.path.as_path().to_str().is_some_and(|path| sent.contains(path)));
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
        let sees = Arc::clone(&live);
        let Lacking { judged, path: lacking, is_apart } =
            self.aside.run(weight, move || Lacking::of(judged, &sees.sight)).await;
        // SECURITY: a working tree and its repository in two directories of the view; whether the one
        // may be used from the other was judged for this call, and the server that runs cannot know it.
        let is_apart = server.is_git() && is_apart;
        // The server that runs leaves out what rules close; a call that they were asked about sees it.
        let is_opened = server.is_filesystem() && self.judge.opens_closed(call);
        if lacking.is_none() && !is_far && !is_apart && !is_opened {
            let watched = Watched::begin(self, server, &live).await?;
            return Ok(Service::Standing(live, watched));
        }
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
            let named = judged.iter().map(|it| &it.path);
            let mut closed = self.judge.closed_beneath(call.server(), named);
            closed.retain(|place| !self.judge.is_opened(call, place));
            OneShot::plan(tool, &judged, bounds, &RealDisk).map(|it| it.leaving_out(closed))
        } else if server.is_git() && tool == "git_worktree" {
            OneShot::plan_making(&judged, bounds, &RealDisk)
        } else if server.is_git() {
            OneShot::plan_git(&judged, bounds, &RealDisk)
        } else {
            let reason = lacking.map_or_else(String::new, |it| unseen(server, &live, &it));
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

impl Lacking {
    fn of(judged: Vec<Judged>, sight: &Sight) -> Self {
        let path = sight.lacks(&judged, &RealDisk).cloned();
        let is_apart = !sight.holds_together(&judged);
        Self { judged, path, is_apart }
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
fn unseen(server: &Server, live: &Live, judged: &Judged) -> String {
    let path = &judged.path;
    if let Some(covered) = live.sight.kept().and_then(|kept| kept.covering(path)) {
        return format!(
            "programs on this machine run `{covered}` or take orders from it, so it is read-only for the \
             server `{}`; use the built-in filesystem or git server, which asks for approval",
            server.name
        );
    }
    let (key, line) = match judged.access() {
        Access::Read => (PathKey::AllowRead, path.clone()),
        // To make or replace an entry, the directory has to be written.
        Access::Write => (PathKey::AllowWrite, path.parent().unwrap_or_else(|| path.clone())),
    };
    let key = key.as_str();
    format!(
        "the call is allowed, but `{path}` is not in the cage of the server `{name}` with the \
         right to {rights}; the user can add \"{line}\" to `{name}.{key}` in the servers file",
        rights = judged.rights,
        name = server.name,
    )
}

impl Service {
    /// Returns what holds the server.
    pub(super) fn confinement(&self) -> Confinement {
        match self {
            Self::Standing(live, _) => live.confinement,
            Self::Errand(errand) => errand.confinement(),
        }
    }

    /// Returns the connection over which it is asked.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        match self {
            Self::Standing(live, _) => &live.connection,
            Self::Errand(errand) => &errand.connection,
        }
    }

    /// Lets a server that was started for this call ask for what the call changes.
    ///
    /// SECURITY: nothing is carried out before this, and there is no proof before the record.
    pub(super) fn warrant(&self, recorded: &Recorded) {
        match self {
            Self::Standing(..) => {}
            Self::Errand(errand) => errand.warrant(recorded),
        }
    }

    /// Returns what hides the secrets that were lent to it, if any were.
    pub(super) fn mask(&self) -> Option<Redactor> {
        match self {
            Self::Standing(..) => None,
            Self::Errand(errand) => errand.mask(),
        }
    }

    /// Takes what has to be looked at once the call is over.
    pub(super) fn watched(&mut self) -> Option<Watched> {
        match self {
            Self::Standing(_, watched) => watched.take(),
            Self::Errand(_) => None,
        }
    }

    /// Lets go of the server; one that was started for this call ends.
    pub(super) fn end(self) {
        match self {
            Self::Standing(..) => {}
            Self::Errand(errand) => errand.end("the call is done"),
        }
    }
}
