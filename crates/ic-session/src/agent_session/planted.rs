//! What an agent plants for the host to execute: put back while the agent stands still, and asked about once its
//! turn is over.
//!
//! ```text
//! once a second, and at the end ─▶ as it was ─▶ go on
//!                                └─▶ not ─▶ stop the cage ─▶ put back, kept in quarantine/ ─▶ go on
//! end of the turn ─▶ told and recorded ─▶ "keep it?" with the difference ─▶ installed, or it stays put back
//! ```
//!
//! What counts, and how it is put back, is known in `ic_backend::planted`.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ic_backend::planted::PutBack;
use ic_backend::{AgentCage, AgentWatch, Witness as _};
use ic_confine::{ChildHandle, EXIT_SHIFTED_ASLEEP, Launcher};
use ic_types::{Object, chain};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;

/// How often the host looks for what the agent planted.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often something is put back in one turn; an agent that goes on after that is ended.
const PUT_BACK_MAX: usize = 5;

/// What was put back in a turn so far.
#[derive(Debug, Default)]
pub(super) struct Planted {
    pub(super) done: PutBack,
    n_times: usize,
}

impl Shared {
    /// Returns what starts the agent: its guard puts back what was planted if this process is killed.
    pub(super) fn guarded_launcher(&self, cage: &AgentCage) -> Launcher {
        match self.watch.announce(cage, self.broker.judge()) {
            Ok(Some(look)) => self.parts.launcher.settling(look),
            Ok(None) => self.parts.launcher.clone(),
            Err(error) => {
                self.news.notice(&format!(
                    "if this process is killed, what the agent plants meanwhile is not put back: {}",
                    chain(&error)
                ));
                self.parts.launcher.clone()
            }
        }
    }

    /// Waits for the end of the agent, or brings it about; says whether it had to be ended because of what it
    /// planted.
    pub(super) async fn end_of(
        &self,
        process: &mut ChildHandle,
        cage: &Arc<AgentCage>,
        cut: &CancellationToken,
        planted: &mut Planted,
    ) -> (std::io::Result<ExitStatus>, bool) {
        loop {
            let has_planted = tokio::select! {
                status = process.wait() => return (status, false),
                () = cut.cancelled() => false,
                () = self.planted(cage) => true,
            };
            if !has_planted {
                return (process.stop().await, false);
            }
            planted.n_times += 1;
            let done = self.put_back_meanwhile(process, cage).await;
            match done.filter(|_| planted.n_times <= PUT_BACK_MAX) {
                Some(done) => planted.done.add(done),
                None => return (process.stop().await, true),
            }
        }
    }

    /// Returns once something was planted for the host to execute.
    async fn planted(&self, cage: &Arc<AgentCage>) {
        let mut pause = LOOK_EVERY;
        loop {
            tokio::time::sleep(pause).await;
            let (cage, judge) = (Arc::clone(cage), Arc::clone(self.broker.judge()));
            let began = Instant::now();
            let look = tokio::task::spawn_blocking(move || cage.has_planted(&judge));
            if look.await.unwrap_or(true) {
                return;
            }
            // In a large workspace a look takes a while, and must not be all that is done.
            pause = LOOK_EVERY.max(began.elapsed() * 10);
        }
    }

    /// Puts back what was planted while everything in the cage stands still; none if it does not.
    async fn put_back_meanwhile(
        &self,
        process: &ChildHandle,
        cage: &Arc<AgentCage>,
    ) -> Option<PutBack> {
        let sleep = process.sleep().ok()?;
        let (cage, judge) = (Arc::clone(cage), Arc::clone(self.broker.judge()));
        let quarantine = self.directory.quarantine();
        let putting = tokio::task::spawn_blocking(move || {
            // SECURITY: what runs meanwhile could write again behind our back.
            let still = sleep.hold()?;
            let done = cage.settle(&judge, &quarantine).unwrap_or_default();
            drop(still);
            Some(done)
        });
        putting.await.ok().flatten()
    }

    /// Puts back what is planted now that nothing of the agent runs, and tells of all of it.
    pub(super) async fn settle(
        &self,
        cage: &Arc<AgentCage>,
        code: Option<i32>,
        planted: &mut Planted,
    ) {
        let (held, judge) = (Arc::clone(cage), Arc::clone(self.broker.judge()));
        let quarantine = self.directory.quarantine();
        let is_users = code == Some(i32::from(EXIT_SHIFTED_ASLEEP));
        let settling = tokio::task::spawn_blocking(move || match is_users {
            true => held.settle_after_shift(&judge, &quarantine),
            false => held.settle(&judge, &quarantine),
        });
        match settling.await {
            Ok(Some(done)) => planted.done.add(done),
            Ok(None) => {}
            // SECURITY: it is not known to be as it was, so what was seen at first is kept for the next start.
            Err(error) => {
                self.news.notice(&format!("what the agent planted was not looked at: {error}"));
                return;
            }
        }
        AgentWatch::forget(cage);
        if planted.done.is_nothing() {
            return;
        }
        let told = planted.done.told_of_agent(self.parts.adapter.title());
        self.news.notice(&told);
        self.record_put_back(&told);
    }

    /// Asks whether to keep what was put back, and says what came of it.
    pub(super) async fn ask_about(&self, planted: &Planted, cut: &CancellationToken) {
        if planted.done.is_nothing() || cut.is_cancelled() {
            return;
        }
        let name = self.watch.name();
        let said = self.broker.ask_to_keep_of_agent(name, &planted.done, cut.clone()).await;
        self.news.notice(&said);
    }

    fn record_put_back(&self, told: &str) {
        let mut event = Object::new();
        event.insert("event", "put_back");
        event.insert("agent", self.parts.adapter.name());
        event.insert("detail", told);
        // A log that cannot be written to lets no further call through.
        self.broker.record_event(event).ok();
    }
}
