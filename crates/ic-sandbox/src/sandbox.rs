//! The sandbox: a worker for each run, and one more that is ready.
//!
//! ```text
//! run ─▶ take the spare (or start one) ─▶ run ─▶ kill ─▶ start the next spare behind the caller's back,
//!                                                        unless no run will come
//! ```
//!
//! It does not know what is said to a worker; that is `run`.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ic_confine::{Hold, Launcher};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::Calls;
use crate::limits::{ARGUMENTS_BYTES_MAX, Limits, RUN_BYTES_MAX};
use crate::process::{Start, Worker};
use crate::run::{self, Ended, Given, Outcome, Run, Script};
use crate::wire::RunOrder;

/// Runs scripts.
///
/// Nothing is shared between two sandboxes, nor between two runs of one. Runs may overlap.
#[derive(Debug)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

/// How a sandbox starts its workers.
#[derive(Clone, Debug)]
pub struct SandboxSpec {
    /// Starts this program again.
    pub launcher: Launcher,
    /// The arguments with which this program calls [`worker::run`](crate::worker::run), which gets
    /// whatever follows them.
    pub arguments: Vec<OsString>,
    /// What holds the workers; [`cage`](crate::cage) is meant for them. They tighten themselves in
    /// any case.
    pub hold: Hold,
    /// What a run may cost.
    pub limits: Limits,
}

#[derive(Debug)]
struct Inner {
    start: Start,
    limits: Limits,
    spare: Mutex<Spare>,
    /// Told when the spare that was coming has come, or will not.
    came: Notify,
    /// Every process and every run; nothing is left when these are over.
    tasks: TaskTracker,
    closed: CancellationToken,
}

/// The worker for the next run.
#[derive(Debug)]
enum Spare {
    None,
    Coming,
    Ready(Box<Worker>),
}

impl Sandbox {
    /// Makes a sandbox; nothing is started yet.
    pub fn new(spec: SandboxSpec) -> Self {
        let SandboxSpec { launcher, arguments, hold, limits } = spec;
        Self {
            inner: Arc::new(Inner {
                start: Start::new(launcher, arguments, hold, &limits),
                limits,
                spare: Mutex::new(Spare::None),
                came: Notify::new(),
                tasks: TaskTracker::new(),
                closed: CancellationToken::new(),
            }),
        }
    }

    /// Starts a spare worker in the background, unless there is one; a run does that at its end.
    pub fn prepare(&self) {
        self.inner.replace();
    }

    /// Returns the number of the process that guards the spare worker, once that is ready.
    pub fn spare(&self) -> Option<u32> {
        match &*self.inner.lock() {
            Spare::Ready(worker) => worker.process.id(),
            Spare::None | Spare::Coming => None,
        }
    }

    /// Runs `script`, whose calls `calls` serves, until it has ended or `cancel` is cancelled.
    pub async fn run(&self, script: &Script, calls: &dyn Calls, cancel: &CancellationToken) -> Run {
        let _counted = self.inner.tasks.token();
        let run = self.inner.run(script, calls, cancel).await;
        self.inner.replace();
        run
    }

    /// Runs `script` like [`run`](Self::run), and starts no spare for a run that will not come.
    pub async fn run_last(
        &self,
        script: &Script,
        calls: &dyn Calls,
        cancel: &CancellationToken,
    ) -> Run {
        let _counted = self.inner.tasks.token();
        self.inner.run(script, calls, cancel).await
    }

    /// Ends all runs and all workers, and returns when nothing of them is left. May be called again.
    pub async fn close(&self) {
        self.inner.closed.cancel();
        drop(self.inner.take());
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A spare that is still coming must not be kept by a sandbox that is gone.
        self.inner.closed.cancel();
    }
}

impl Inner {
    async fn run(&self, script: &Script, calls: &dyn Calls, cancel: &CancellationToken) -> Run {
        let catalogue = tokio::select! {
            biased;
            () = cancel.cancelled() => return Run::none(Ended::Cancelled),
            () = self.closed.cancelled() => return Run::none(Ended::Cancelled),
            catalogue = calls.catalogue() => catalogue,
        };
        if let Some(ended) = refused(script) {
            return Run::none(ended);
        }
        let order = RunOrder::write(script, &catalogue, self.limits.calls_max);
        if RUN_BYTES_MAX < order.len() {
            let why = "the descriptions of all tools together are too long".to_owned();
            return Run::none(Ended::NotStarted { why });
        }
        let given = Given {
            order: order.as_bytes(),
            catalogue: &catalogue,
            calls,
            cancel,
            closed: &self.closed,
            limits: &self.limits,
        };
        let spare = tokio::select! {
            biased;
            () = cancel.cancelled() => return Run::none(Ended::Cancelled),
            () = self.closed.cancelled() => return Run::none(Ended::Cancelled),
            spare = self.take_soon() => spare,
        };
        if let Some(mut spare) = spare
            && spare.is_waiting().await
            && let Outcome::Over(run) = run::run(&mut spare, &given).await
        {
            return run;
        }
        // There was no spare, or it died before it read the script.
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => return Run::none(Ended::Cancelled),
            () = self.closed.cancelled() => return Run::none(Ended::Cancelled),
            started = self.start.worker(&self.tasks) => started,
        };
        let mut worker = match started {
            Ok(worker) => worker,
            Err(why) => return Run::none(Ended::NotStarted { why }),
        };
        match run::run(&mut worker, &given).await {
            Outcome::Over(run) => run,
            Outcome::NeverStarted => Run::none(run::of_code(worker.process.end().await)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the spare, if there is one; one that is coming is there sooner than one that is not.
    async fn take_soon(&self) -> Option<Box<Worker>> {
        let came = self.came.notified();
        let is_coming = matches!(*self.lock(), Spare::Coming);
        if is_coming {
            came.await;
        }
        self.take()
    }

    /// Takes the spare, if it is ready.
    fn take(&self) -> Option<Box<Worker>> {
        let mut spare = self.lock();
        match std::mem::replace(&mut *spare, Spare::None) {
            Spare::Ready(worker) => Some(worker),
            Spare::None => None,
            Spare::Coming => {
                *spare = Spare::Coming;
                None
            }
        }
    }

    /// Starts a spare in the background, unless there is one.
    fn replace(self: &Arc<Self>) {
        let mut spare = self.lock();
        if self.closed.is_cancelled() || !matches!(*spare, Spare::None) {
            return;
        }
        *spare = Spare::Coming;
        drop(spare);
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            let started = tokio::select! {
                biased;
                () = inner.closed.cancelled() => None,
                // If it cannot be started, the next run finds out why.
                started = inner.start.worker(&inner.tasks) => started.ok(),
            };
            let mut spare = inner.lock();
            *spare = match started {
                // Whoever closes has looked for a spare already, or does so after us.
                Some(worker) if !inner.closed.is_cancelled() => Spare::Ready(Box::new(worker)),
                Some(_) | None => Spare::None,
            };
            drop(spare);
            inner.came.notify_waiters();
        });
    }
}

/// Says why a script is not even sent.
fn refused(script: &Script) -> Option<Ended> {
    let n_bytes: usize = script.arguments.iter().map(String::len).sum();
    let message = match () {
        () if ic_typescript::BYTES_MAX < script.source.len() => format!(
            "SyntaxError: the script takes {} bytes, and at most {} are read",
            script.source.len(),
            ic_typescript::BYTES_MAX
        ),
        () if ARGUMENTS_BYTES_MAX < n_bytes => format!(
            "RangeError: the arguments take {n_bytes} bytes, and at most {ARGUMENTS_BYTES_MAX} are \
             passed on"
        ),
        () => return None,
    };
    Some(Ended::Threw { message, line: None, column: None, stack: String::new() })
}
