//! Keeps what third-party servers may write, and the host executes, as it was.
//!
//! ```text
//! look ─▶ as it was ─▶ go on
//!   ├──▶ not, and the server slept since the last look: the user's own; the server is started anew
//!   └──▶ not ─▶ quiet: no such server starts, all that write there are ended ─▶ put back, recorded
//! ```
//!
//! A server is looked after from before it is started until nothing of it is left: also between calls,
//! and after one that was taken back. What counts and how it is put back is in `planted`; whether a
//! person wants to keep it is asked by the broker.

mod announced;
mod glance;
mod left;
mod still;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ic_audit::AuditLog;
use ic_confine::{Asleep, Sleep, StandingStill};
use ic_home::FileError;
use ic_judge::Judge;
use ic_resolve::RealDisk;
use ic_types::{CanonicalPath, ServerName};
use tokio::sync::{OwnedRwLockReadGuard, RwLock, RwLockWriteGuard};
use tokio_util::sync::CancellationToken;

use super::Live;
use crate::locked;
use crate::planted::{Keepable, Kept, PutBack, Rules, Settled, Survey, last_look, put_back};
use crate::witness::Witness;
pub(crate) use announced::Announced;
use glance::{Glance, Glanced};
pub(crate) use still::Stillness;

/// How often it is looked whether a server that is not asleep is let to itself.
pub(super) const PATROL_EVERY: Duration = Duration::from_secs(1);
/// How often starts that are under way are ended.
const HURRY_EVERY: Duration = Duration::from_millis(50);
/// Why servers are ended.
const ENDED: &str = "files that programs on this machine run were changed, and are put back";

/// What the servers of a session that may write where the host looks have in common.
pub(crate) struct Warden {
    pub(crate) judge: Arc<Judge>,
    pub(crate) log: Arc<AuditLog>,
    pub(crate) witness: Arc<dyn Witness>,
    /// Where what a server planted is kept.
    pub(crate) quarantine: PathBuf,
    announced: Announced,
    /// Shared while a server is started; alone while something is put back.
    quiet: Arc<RwLock<()>>,
    /// Shared while a server is started, or what it did meanwhile is put back; alone while none may be.
    starts: Arc<RwLock<()>>,
    running: Mutex<Vec<Weak<Live>>>,
    /// Ends the starts that are under way.
    hurry: Mutex<CancellationToken>,
}

/// A running server that is looked after.
#[derive(Debug)]
pub(crate) struct Guarded {
    kept: Arc<Kept>,
    sleep: Option<Sleep>,
    /// Cancelled when nothing of the server is left.
    stopped: CancellationToken,
    /// Held while somebody looks.
    looking: Arc<tokio::sync::Mutex<()>>,
    n_calls: AtomicUsize,
    /// How many looks have to come without warning, because the server woke up while somebody looked.
    n_unannounced: Arc<AtomicUsize>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How it was when somebody looked last.
    survey: Arc<Survey>,
    /// How the server slept before that.
    asleep: Option<Asleep>,
    /// The server was ended, and what it did is put back.
    is_settled: bool,
    /// What was put back, until a call of the server tells of it.
    done: Option<PutBack>,
}

/// When somebody looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    Before,
    After,
    /// At any other time.
    Meanwhile,
    /// At any other time, and also if the server slept.
    Aside,
}

impl Moment {
    fn is_of_no_call(self) -> bool {
        matches!(self, Self::Meanwhile | Self::Aside)
    }
}

/// What came of a look.
#[derive(Debug)]
pub(crate) enum Looked {
    Same,
    /// The server was ended, and has to be started anew, for this reason.
    Anew(String),
    /// The server was ended, and this was put back.
    PutBack(PutBack),
}

/// A start that is under way, during which nothing is put back.
pub(super) struct Starting {
    shared: OwnedRwLockReadGuard<()>,
    begun: OwnedRwLockReadGuard<()>,
    /// Cancelled if somebody has to put something back.
    pub(super) hurry: CancellationToken,
}

impl Starting {
    /// Lets something be put back; as long as what is returned is held, git takes nothing in.
    pub(super) fn failed(self) -> OwnedRwLockReadGuard<()> {
        drop(self.shared);
        self.begun
    }
}

/// Somebody whose doings are put back.
struct Party {
    kept: Arc<Kept>,
    before: Arc<Survey>,
    name: ServerName,
    live: Option<Arc<Live>>,
}

impl Warden {
    pub(crate) fn new(
        (judge, log): (Arc<Judge>, Arc<AuditLog>),
        witness: Arc<dyn Witness>,
        (quarantine, locks): (PathBuf, PathBuf),
    ) -> Self {
        let (quiet, starts, running, hurry) = Default::default();
        let announced = Announced::new(locks);
        Self { judge, log, witness, quarantine, announced, quiet, starts, running, hurry }
    }

    /// Tells other sessions where a server may write that is about to be started, and what was seen there;
    /// returns where the latter is kept.
    pub(super) fn announce(&self, name: &ServerName, kept: &Kept) -> Result<PathBuf, FileError> {
        self.announced.tell(kept.ground.roots())?;
        let look = kept.look.get_or_init(|| self.announced.new_look()).clone();
        self.keep_look(name, kept, &kept.at_start)?;
        Ok(look)
    }

    /// Returns whether servers of another session may write at `paths`.
    pub(super) fn others_write_at(&self, paths: &[CanonicalPath]) -> bool {
        self.announced.others_write_at(paths)
    }

    /// Waits until nothing is put back, and keeps it so.
    pub(super) async fn begin_start(&self) -> Starting {
        let begun = Arc::clone(&self.starts).read_owned().await;
        let shared = Arc::clone(&self.quiet).read_owned().await;
        let hurry = locked(&self.hurry).clone();
        Starting { shared, begun, hurry }
    }

    /// Looks after a server that runs from now on.
    pub(super) fn register(&self, live: &Arc<Live>) {
        let mut running = locked(&self.running);
        running.retain(|it| 0 < it.strong_count());
        running.push(Arc::downgrade(live));
    }

    /// Ends the starts that are under way, and lets no other begin.
    async fn quiet(&self) -> RwLockWriteGuard<'_, ()> {
        let mut alone = std::pin::pin!(self.quiet.write());
        loop {
            // Also those that begin before we wait.
            std::mem::take(&mut *locked(&self.hurry)).cancel();
            if let Ok(alone) = tokio::time::timeout(HURRY_EVERY, &mut alone).await {
                return alone;
            }
        }
    }

    /// Looks at what `live` may write.
    pub(crate) async fn look(&self, live: &Arc<Live>, moment: Moment) -> Looked {
        let Some(guarded) = &live.guarded else { return Looked::Same };
        let _looking = guarded.looking.lock().await;
        if let Some(done) = locked(&guarded.state).done.take() {
            return Looked::PutBack(done);
        }
        if locked(&guarded.state).is_settled || guarded.stopped.is_cancelled() {
            return match moment {
                Moment::Before => Looked::Anew(live.connection.why_over_text().to_string()),
                Moment::After | Moment::Meanwhile | Moment::Aside => Looked::Same,
            };
        }
        let (before, slept) = {
            let state = locked(&guarded.state);
            (Arc::clone(&state.survey), state.asleep.clone())
        };
        let glance = Glance {
            judge: Arc::clone(&self.judge),
            kept: Arc::clone(&guarded.kept),
            sleep: guarded.sleep.clone(),
            n_unannounced: Arc::clone(&guarded.n_unannounced),
            before: Arc::clone(&before),
            slept: slept.clone(),
        };
        if moment == Moment::After {
            glance.doze().await;
        }
        let looking = tokio::task::spawn_blocking(move || glance.look(moment));
        let (glanced, survey) = match looking.await {
            Ok(None) => return Looked::Same,
            Ok(Some(Glanced { survey: Ok(survey), asleep, after, still })) => {
                ((asleep, after, still), Arc::new(survey))
            }
            // SECURITY: what cannot be looked at may be anything.
            Ok(Some(Glanced { survey: Err(_), still, .. })) => {
                return Box::pin(self.mended(live, (moment, still))).await;
            }
            Err(_) => return Box::pin(self.mended(live, (moment, None))).await,
        };
        let (asleep, after, still) = glanced;
        let is_same = !before.differs(&survey, &Settled::default());
        // SECURITY: nothing of the server ran from before the last look until after this one.
        let is_users = after.is_some() && after == slept;
        if !is_same && !is_users {
            return Box::pin(self.mended(live, (moment, still))).await;
        }
        if !survey.is_written_alike(&before) {
            let kept = self.keep_look(live.connection.server(), &guarded.kept, &survey);
            // What was seen before says more than is needed, and nothing less.
            kept.unwrap_or_else(|error| self.witness.notice(&crate::chain(&error)));
        }
        let state = State { survey: Arc::clone(&survey), asleep, is_settled: false, done: None };
        *locked(&guarded.state) = state;
        match guarded.kept.uncovered(&survey) {
            Some(path) => Looked::Anew(Self::end(live, (&path, still)).await),
            None => Looked::Same,
        }
    }

    /// Puts back what a server did; if a call of it is under way, that is who tells of it.
    async fn mended(
        &self,
        live: &Arc<Live>,
        (moment, still): (Moment, Option<StandingStill>),
    ) -> Looked {
        // SECURITY: asked to end, it could hide what it did.
        if let Some(still) = Self::hold(live, still).await {
            still.kill();
        }
        let done = self.mend_live(live, Settled::default()).await;
        match &live.guarded {
            _ if done.is_empty() => Looked::Anew(ENDED.to_owned()),
            Some(guarded) if moment.is_of_no_call() && guarded.has_calls() => {
                locked(&guarded.state).done = Some(done);
                Looked::Same
            }
            Some(_) | None => Looked::PutBack(done),
        }
    }

    /// Ends a server for which something is not covered.
    async fn end(live: &Live, (path, still): (&CanonicalPath, Option<StandingStill>)) -> String {
        let why = format!(
            "`{path}` appeared or was replaced, and programs on this machine run it or take orders from \
             it; it becomes read-only for this server"
        );
        // SECURITY: asked to end, it could write there until it is over.
        let still = Self::hold(live, still).await;
        live.connection.end(&why);
        if let Some(still) = still {
            still.kill();
        }
        why
    }

    /// Stops a server, unless it stands still; what cannot be stopped is ended as any other.
    async fn hold(live: &Live, still: Option<StandingStill>) -> Option<StandingStill> {
        let sleep = live.guarded.as_ref().and_then(|it| it.sleep.clone());
        match (still, sleep) {
            (None, Some(sleep)) => {
                tokio::task::spawn_blocking(move || sleep.hold()).await.ok().flatten()
            }
            (still, _) => still,
        }
    }

    /// Deals with a server of which nothing is left; `has_slept` says that somebody outside replaced what
    /// is covered, and that it did nothing since.
    pub(super) async fn ended(&self, live: &Arc<Live>, has_slept: bool) -> Option<PutBack> {
        let guarded = live.guarded.as_ref()?;
        guarded.stopped.cancel();
        if locked(&guarded.state).is_settled {
            return None;
        }
        let users = || match has_slept {
            true => Settled::of_user(guarded.kept.covered()),
            false => Settled::default(),
        };
        let (judge, kept, settled) = (Arc::clone(&self.judge), Arc::clone(&guarded.kept), users());
        let before = Arc::clone(&locked(&guarded.state).survey);
        let looking = tokio::task::spawn_blocking(move || {
            let after = Survey::of(&kept.ground, &judge, &RealDisk, Some(&before));
            after.map(|after| before.differs(&after, &settled))
        });
        if let Ok(Ok(false)) = looking.await {
            locked(&guarded.state).is_settled = true;
            last_look::forget(&guarded.kept);
            return None;
        }
        let done = self.mend_live(live, users()).await;
        if done.is_empty() {
            return None;
        }
        if guarded.has_calls() {
            // The call that is under way tells of it, and asks.
            locked(&guarded.state).done = Some(done);
            return None;
        }
        Some(done)
    }

    /// Ends everybody who may write there, and puts back what they did; returns what `live` did.
    async fn mend_live(&self, live: &Arc<Live>, settled: Settled) -> PutBack {
        let Some(guarded) = &live.guarded else { return PutBack::default() };
        let quiet = self.quiet().await;
        if locked(&guarded.state).is_settled {
            return locked(&guarded.state).done.take().unwrap_or_default();
        }
        let parties = self.stop(&guarded.kept, Some(live)).await;
        let done = self.put_all_back(parties, settled, None).await.0;
        drop(quiet);
        done
    }

    /// Puts back what a server did while it was started; it must have ended.
    pub(super) async fn mend_unborn(&self, name: &ServerName, kept: &Arc<Kept>) -> PutBack {
        let quiet = self.quiet().await;
        let mut parties = self.stop(kept, None).await;
        let (kept, before) = (Arc::clone(kept), Arc::clone(&kept.at_start));
        parties.insert(0, Party { kept, before, name: name.clone(), live: None });
        let done = self.put_all_back(parties, Settled::default(), None).await.0;
        drop(quiet);
        done
    }

    /// Installs what a person wants to keep; returns what is installed, and what is not.
    pub(crate) async fn install(&self, keepable: Keepable) -> (Vec<CanonicalPath>, Vec<String>) {
        let quiet = self.quiet().await;
        let mut parties = Vec::new();
        for kept in keepable.grounds() {
            parties.extend(self.stop(&kept, None).await);
        }
        let installed = self.put_all_back(parties, Settled::default(), Some(keepable)).await.1;
        drop(quiet);
        installed
    }

    /// Ends all servers that may write on a ground; `first` comes first.
    async fn stop(&self, ground: &Kept, first: Option<&Arc<Live>>) -> Vec<Party> {
        let mut lives: Vec<Arc<Live>> = first.into_iter().cloned().collect();
        for live in locked(&self.running).iter().filter_map(Weak::upgrade) {
            let overlaps =
                live.guarded.as_ref().is_some_and(|it| it.kept.ground.overlaps(&ground.ground));
            if overlaps && !lives.iter().any(|it| Arc::ptr_eq(it, &live)) {
                lives.push(live);
            }
        }
        for live in &lives {
            live.connection.end(ENDED);
        }
        let mut parties = Vec::new();
        for live in lives {
            let Some(guarded) = &live.guarded else { continue };
            guarded.stopped.cancelled().await;
            let mut state = locked(&guarded.state);
            if !std::mem::replace(&mut state.is_settled, true) {
                let (kept, before) = (Arc::clone(&guarded.kept), Arc::clone(&state.survey));
                drop(state);
                let name = live.connection.server().clone();
                parties.push(Party { kept, before, name, live: Some(live) });
            }
        }
        parties
    }

    /// Puts back what the parties did, and records it; then installs what is to be kept. Returns what was
    /// put back for the first of them; the others tell of theirs themselves.
    async fn put_all_back(
        &self,
        parties: Vec<Party>,
        mut settled: Settled,
        keepable: Option<Keepable>,
    ) -> (PutBack, (Vec<CanonicalPath>, Vec<String>)) {
        let (judge, quarantine) = (Arc::clone(&self.judge), self.quarantine.clone());
        let putting = tokio::task::spawn_blocking(move || {
            let dones: Vec<_> = parties
                .into_iter()
                .map(|party| {
                    let how = (Rules::of(&judge), quarantine.as_path());
                    let done = put_back(&party.kept, &party.before, how, &mut settled);
                    last_look::forget(&party.kept);
                    (party, done)
                })
                .collect();
            (dones, keepable.map(|it| it.install()).unwrap_or_default())
        });
        let (dones, installed) = match putting.await {
            Ok(done) => done,
            Err(error) => {
                let failed = vec![error.to_string()];
                let done = PutBack { failed: failed.clone(), ..PutBack::default() };
                return (done, (Vec::new(), failed));
            }
        };
        let mut first = None;
        for (party, done) in dones {
            if !done.is_empty() {
                self.record(&party.name, &done);
            }
            match (&first, party.live) {
                (None, _) => first = Some(done),
                (Some(_), Some(live)) if !done.is_empty() => {
                    if let Some(guarded) = &live.guarded {
                        locked(&guarded.state).done = Some(done);
                    }
                }
                (Some(_), _) => {}
            }
        }
        (first.unwrap_or_default(), installed)
    }
}

impl Guarded {
    pub(super) fn new(kept: Arc<Kept>, sleep: Option<Sleep>) -> Self {
        let survey = Arc::clone(&kept.at_start);
        let state = State { survey, asleep: None, is_settled: false, done: None };
        Self {
            kept,
            sleep,
            stopped: CancellationToken::new(),
            looking: Arc::default(),
            n_calls: AtomicUsize::new(0),
            n_unannounced: Arc::default(),
            state: Mutex::new(state),
        }
    }

    /// Counts a call that begins.
    pub(crate) fn begin_call(&self) {
        self.n_calls.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a call that is over.
    pub(crate) fn end_call(&self) {
        self.n_calls.fetch_sub(1, Ordering::AcqRel);
    }

    fn has_calls(&self) -> bool {
        0 < self.n_calls.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for Warden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Warden").finish_non_exhaustive()
    }
}
