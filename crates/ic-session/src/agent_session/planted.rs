//! What an agent plants for the host to execute: put back while the agent stands still, and asked about once its
//! turn is over.
//!
//! ```text
//! once a second, before each request to the model, and at the end ─▶ as it was ─▶ go on
//!                                └─▶ not ─▶ stop the cage ─▶ put back, kept in quarantine/ ─▶ go on
//! end of the turn ─▶ told and recorded ─▶ "keep it?" with the difference ─▶ installed, or it stays put back
//! ```
//!
//! What counts, and how it is put back, is known in `ic_backend::planted`.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ic_backend::agent_looks::Mended;
use ic_backend::planted::PutBack;
use ic_backend::{AgentCage, AgentLooks, AgentProcess, AgentWatch, Witness as _};
use ic_confine::{EXIT_SHIFTED_ASLEEP, Renewals};
use ic_types::{Object, chain};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::look_first::Waiting;

/// How often the host looks for what the agent planted.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often something is put back in one turn; an agent that goes on after that is ended.
const PUT_BACK_MAX: usize = 5;

/// What was put back in a turn so far.
#[derive(Debug, Default)]
pub(super) struct Planted {
    pub(super) done: PutBack,
    n_times: usize,
    /// Who looks after the agent that runs, or ran last.
    looks: Option<Arc<AgentLooks>>,
}

impl Planted {
    pub(super) fn look_after(&mut self, looks: AgentLooks) {
        self.looks = Some(Arc::new(looks));
    }
}

impl Shared {
    /// Keeps what was seen before the agent starts; returns where, so that what is planted is put back even if
    /// this process is killed.
    pub(super) fn announce(&self, cage: &AgentCage) -> Option<PathBuf> {
        match self.watch.announce(cage, self.broker.judge()) {
            Ok(look) => look,
            Err(error) => {
                self.news.notice(&format!(
                    "if this process is killed, what the agent plants meanwhile is not put back: {}",
                    chain(&error)
                ));
                None
            }
        }
    }

    /// Returns who looks after an agent that was started.
    pub(super) fn looks(
        &self,
        cage: &Arc<AgentCage>,
        agent: (&AgentProcess, Option<Renewals>),
    ) -> AgentLooks {
        AgentLooks::new(cage, (self.broker.judge(), self.directory.quarantine()), agent)
    }

    /// Waits for the end of the agent, or brings it about; says whether it had to be ended because of what it
    /// planted.
    pub(super) async fn end_of(
        &self,
        process: &mut AgentProcess,
        cut: &CancellationToken,
        planted: &mut Planted,
    ) -> (std::io::Result<ExitStatus>, bool) {
        let Some(looks) = planted.looks.clone() else { return (process.stop().await, false) };
        let mut requests = self.parts.look_first.hold_up();
        loop {
            // Each goes on once what was found is put back.
            let mut waiting = Vec::new();
            let has_planted = tokio::select! {
                status = process.wait() => return (status, false),
                () = cut.cancelled() => false,
                () = Self::planted(&looks, &mut requests, &mut waiting) => true,
            };
            if !has_planted {
                return (process.stop().await, false);
            }
            let mended = self.mend_meanwhile(&looks).await;
            planted.n_times += usize::from(mended.as_ref().is_some_and(|it| it.is_planted));
            match mended.filter(|_| planted.n_times <= PUT_BACK_MAX) {
                Some(mended) => {
                    self.tell_unsure(&mended);
                    planted.done.add(mended.done);
                }
                // It may have ended while we looked.
                None => match process.stop().await {
                    Ok(status) if status.code() == Some(0) => return (Ok(status), false),
                    status => return (status, true),
                },
            }
        }
    }

    /// Says at once that something is put back that may be the user's own.
    fn tell_unsure(&self, mended: &Mended) {
        let names: Vec<String> = mended.unsure.iter().map(|path| format!("`{path}`")).collect();
        if !names.is_empty() {
            self.news.notice(&format!(
                "{} changed while {} ran, which could have written it in that moment, so it is put back as it was; \
                 you are asked at the end of the turn whether to keep the new version",
                names.join(", "),
                self.parts.adapter.title()
            ));
        }
    }

    /// Returns once something that the host executes is not as it was.
    async fn planted(
        looks: &Arc<AgentLooks>,
        requests: &mut mpsc::Receiver<Waiting>,
        waiting: &mut Vec<Waiting>,
    ) {
        let mut pause = LOOK_EVERY;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = looks.news() => {}
                Some(request) = requests.recv() => waiting.push(request),
            }
            // One look is enough for all that wait by now.
            while let Ok(request) = requests.try_recv() {
                waiting.push(request);
            }
            let (looks, is_request) = (Arc::clone(looks), !waiting.is_empty());
            let began = Instant::now();
            let look = tokio::task::spawn_blocking(move || match is_request {
                true => looks.differs_while_still(),
                false => looks.differs(),
            });
            if look.await.unwrap_or(true) {
                return;
            }
            waiting.clear();
            // In a large workspace a look takes a while, and must not be all that is done.
            pause = LOOK_EVERY.max(began.elapsed() * 10);
        }
    }

    /// Puts back what was planted while everything in the cage stands still; none if it does not.
    async fn mend_meanwhile(&self, looks: &Arc<AgentLooks>) -> Option<Mended> {
        let looking = Arc::clone(looks);
        let mended = tokio::task::spawn_blocking(move || looking.mend()).await.ok().flatten()?;
        if let Err(error) = self.watch.keep(looks, self.broker.judge()) {
            // What was seen before says more than is needed, and nothing less.
            self.news.notice(&chain(&error));
        }
        Some(mended)
    }

    /// Puts back what is planted now that nothing of the agent runs, and tells of all of it.
    pub(super) async fn settle(
        &self,
        cage: &Arc<AgentCage>,
        code: Option<i32>,
        planted: &mut Planted,
    ) {
        let (held, judge) = (Arc::clone(cage), Arc::clone(self.broker.judge()));
        let (quarantine, looks) = (self.directory.quarantine(), planted.looks.clone());
        let is_users = code == Some(i32::from(EXIT_SHIFTED_ASLEEP));
        let settling = tokio::task::spawn_blocking(move || match looks {
            Some(looks) => looks.settle(is_users),
            // No agent ran, but its git may have been made ready.
            None => held.settle(&judge, &quarantine),
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
