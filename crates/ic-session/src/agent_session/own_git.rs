//! The agent's own git: made ready before a turn, and taken over after it.
//!
//! ```text
//! user's .git ─ refs, HEAD, index ─▶ agent-git/git ─ shown as .git ─▶ the agent
//! user's .git ◀─ our git server, judged ◀─ pack, refs, index ◀─ a script in the cage, once the agent has ended
//! ```
//!
//! What is in a commit is not known here, and neither is what counts.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use ic_backend::agent_git::{COLLECT, GitState, SIFT, Sifted};
use ic_backend::{AgentCage, AgentGit, Caged, CagedProgram, Collected, Witness as _};
use ic_broker::broker::Flight;
use ic_resolve::RealDisk;
use ic_types::{Json, Object, chain, locked};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::calls::{call_fate, reply_text, summary};
use crate::news::{CallFate, CallNews};

/// How long git may take in the cage, and how long a takeover may take after a turn that was cancelled.
const GIT_MAX: Duration = Duration::from_mins(2);
const CANCELLED_MAX: Duration = Duration::from_secs(10);
/// Brings refs that the user moved into the agent's git directory, and marks files that are read-only here, so
/// that git does not try to change them.
const PREPARE: &str = r#"
top=$1; patterns=$2; shift 2
cd "$top" || exit 3
if test -n "$patterns"; then
  mkdir -p .git/info && printf %s "$patterns" > .git/info/sparse-checkout || exit 6
fi
git update-ref --no-deref --stdin || exit 4
if test $# -gt 0; then
  git ls-files -z -- "$@" | git update-index -z --skip-worktree --stdin || exit 5
fi
"#;

/// What is known of the agent's own git.
#[derive(Debug, Default)]
pub(super) struct OwnGit {
    /// Whether a turn of this process has made it ready.
    is_ready: bool,
    /// Branches and tags that came from the agent.
    ours: BTreeSet<String>,
    /// Whether a rebase, a merge or the like of the agent's is under way.
    is_under_way: bool,
    /// What was offered last; the same is not offered twice.
    offered: Option<String>,
    /// Whether the person knows which repositories the agent has not.
    is_closed_told: bool,
}

impl Shared {
    /// Shows the agent a git directory of its own, if the workspace is a repository.
    pub(super) async fn ready_git(
        &self,
        cage: &mut AgentCage,
        cut: &CancellationToken,
    ) -> Option<AgentGit> {
        let git = AgentGit::of(self.broker.judge(), &self.directory.agent_git(), &RealDisk);
        let Some(git) = git else {
            self.tell_closed(cage);
            self.tell_absent(cage);
            return None;
        };
        let mut git = git.owned_by(self.parts.backend.owner());
        if let Err(why) = self.sift(&mut git, cage).await {
            self.news.notice(&format!("the agent has no git in this turn: {why}"));
        }
        let is_there = cage.with_git(&git);
        self.tell_closed(cage);
        if !is_there {
            return None;
        }
        let is_first = !std::mem::replace(&mut locked(&self.own_git).is_ready, true);
        if is_first && git.is_made() {
            // The host may have been killed before it could take anything over.
            if let Some(collected) = self.collect_git(&git, cage).await {
                self.take_over_git(&git, &collected, cut).await;
            }
        }
        let is_under_way = locked(&self.own_git).is_under_way;
        let fresh = git
            .look()
            .and_then(|now| git.refresh(&now, is_under_way).map_err(|error| chain(&error)));
        let fresh = match fresh {
            Ok(fresh) => fresh,
            Err(why) => {
                self.news.notice(&format!("the agent has no git in this turn: {why}"));
                cage.without_git(&git);
                return None;
            }
        };
        let hidden = cage.hidden_in(git.top());
        let hidden = hidden.iter().map(|path| path.as_path().to_owned());
        let kept: Vec<_> = cage.read_only_in(git.top()).into_iter().chain(hidden).collect();
        let is_marked = fresh.has_new_index && !kept.is_empty();
        if is_marked || !fresh.updates.is_empty() {
            let kept = if fresh.has_new_index { kept } else { Vec::new() };
            let patterns = OsString::from(git.patterns().unwrap_or_default());
            let kept = kept.iter().map(|path| self.parts.backend.seen(path).into_os_string());
            let words = std::iter::once(patterns).chain(kept);
            let prepared = self.in_cage(cage, &git, (PREPARE, words.collect()), fresh.updates);
            if let Err(why) = prepared.await {
                self.news.log(&format!("the agent's own git is not up to date: {why}"));
            }
        }
        Some(git)
    }

    /// Sifts the user's objects, if something in the tree is hidden: the agent's git has the rest.
    async fn sift(&self, git: &mut AgentGit, cage: &AgentCage) -> Result<(), String> {
        let hidden = cage.hidden_in(git.top());
        let was_sifted = git.was_sifted();
        let bounds = &self.broker.judge().bounds;
        // Our git server takes nothing over into a repository that has something protected in it.
        if hidden.iter().any(|path| bounds.protects(path).is_some()) {
            return Ok(());
        }
        if hidden.is_empty() && !was_sifted || !cage.lets_commit(git) {
            return Ok(());
        }
        if git.is_made() && !was_sifted {
            return Err("the policy hides something since the session began; a new session has it"
                .to_owned());
        }
        let sieve = git.sieve(&hidden).ok_or("git cannot be told what the policy hides")?;
        let (now, base) = (git.look()?, git.base());
        let sifted = if let Some(sifted) = sieve.last(&now, base.as_ref()) {
            sifted
        } else {
            let input = sieve.prepare(git, &now, base.as_ref()).map_err(|error| chain(&error))?;
            let directory = sieve.directory().to_owned().into_os_string();
            let words = sieve.words().map(OsString::from);
            let words = std::iter::once(directory).chain(words).collect();
            let said = self.in_cage(&cage.sifting(&sieve), git, (SIFT, words), input).await?;
            let said = String::from_utf8(said).map_err(|_| "what git lists is not text")?;
            let sifted = Sifted::read(&said)?;
            sieve.made(&said, &now, base.as_ref()).map_err(|error| chain(&error))?;
            sifted
        };
        let kept = cage.read_only_in(git.top());
        git.sift(&sieve, sifted, (&now, &kept));
        Ok(())
    }

    /// Says once which repositories the agent cannot see, and why.
    fn tell_closed(&self, cage: &AgentCage) {
        if cage.closed().is_empty()
            || std::mem::replace(&mut locked(&self.own_git).is_closed_told, true)
        {
            return;
        }
        for (repository, hidden) in cage.closed() {
            self.news.notice(&format!(
                "`{repository}` is hidden from the agent, since its history may hold `{hidden}`, which the policy \
                 hides; the agent's own git does not work there"
            ));
        }
    }

    /// Says once that the agent's own git cannot be used in this workspace, and why.
    fn tell_absent(&self, cage: &AgentCage) {
        let is_told = std::mem::replace(&mut locked(&self.own_git).is_closed_told, true);
        let why = AgentGit::why_not(self.broker.judge(), &RealDisk);
        let why = why.filter(|_| !is_told && cage.closed().is_empty());
        if let Some(why) = why {
            self.news.notice(&format!(
                "the agent's own git cannot commit here: {why}. It has IronCurtain's git tools"
            ));
        }
    }

    /// Lists and packs what the agent's own git has, in its cage; nothing of the agent may run.
    pub(super) async fn collect_git(&self, git: &AgentGit, cage: &AgentCage) -> Option<Collected> {
        let known = git.base().as_ref().map(GitState::known).unwrap_or_default();
        let output = self.in_cage(cage, git, (COLLECT, Vec::new()), known).await;
        let collected = output.and_then(|output| {
            Collected::read(&output).map_err(|why| format!("what it lists cannot be used: {why}"))
        });
        let told = |why: &String| {
            self.news.notice(&format!(
                "the agent's own git could not be looked at, so nothing of it was taken over: {why}"
            ));
        };
        collected.inspect_err(told).ok()
    }

    /// Takes over what the agent did with its own git, and says so.
    pub(super) async fn take_over_git(
        &self,
        git: &AgentGit,
        collected: &Collected,
        cut: &CancellationToken,
    ) {
        let ours = {
            let mut own = locked(&self.own_git);
            own.is_under_way = collected.is_under_way();
            own.ours.clone()
        };
        let Some((arguments, incoming)) = git.offer(collected, &ours) else { return };
        let mut offered = String::new();
        Json::write_canonical_object(&mut offered, &incoming);
        if locked(&self.own_git).offered.replace(offered.clone()) == Some(offered) {
            return;
        }
        let was_there = git.base().as_ref().map(GitState::names).unwrap_or_default();
        self.offer_git((arguments, incoming), cut).await;
        // Whatever was taken over is the same on both sides now.
        if let Ok(now) = git.look() {
            let new = now.names().difference(&was_there).cloned().collect::<Vec<_>>();
            locked(&self.own_git).ours.extend(new);
            git.agree(&now).unwrap_or_else(|error| self.news.notice(&chain(&error)));
        }
    }

    async fn offer_git(&self, (arguments, incoming): (Object, Object), cut: &CancellationToken) {
        let shown = summary(&arguments);
        let cancel = CancellationToken::new();
        let (asks, is_asked) = watch::channel(false);
        let flight = Flight::new(cancel.clone(), CancellationToken::new(), None, None);
        let taking = self.broker.take_over(arguments, incoming, flight.telling(asks.clone()));
        let reply = tokio::select! {
            reply = taking => reply,
            () = async { cut.cancelled().await; tokio::time::sleep(CANCELLED_MAX).await } => {
                cancel.cancel();
                None
            }
        };
        let Some(reply) = reply else {
            self.news.notice(
                "nothing was taken over from the agent's own git: the git server is not there, or the turn \
                 was cancelled",
            );
            return;
        };
        // Whoever asks says so twice: when it begins and when it is over.
        let fate = call_fate(&reply, is_asked.has_changed().unwrap_or(false));
        drop(asks);
        match &fate {
            CallFate::Done | CallFate::Approved => {
                self.news
                    .notice(&format!("taken over from the agent's git: {}", reply_text(reply)));
            }
            CallFate::Failed(why) | CallFate::Refused(why) => self.news.notice(&format!(
                "not taken over from the agent's git: {why}. What it did stays in the session"
            )),
            CallFate::Cancelled => {}
        }
        self.news.called(CallNews { call: "git.git_commit".to_owned(), arguments: shown, fate });
    }

    /// Runs a script in the cage, where the agent's git directory is `.git`; returns what it wrote.
    async fn in_cage(
        &self,
        cage: &AgentCage,
        git: &AgentGit,
        (script, words): (&str, Vec<OsString>),
        input: String,
    ) -> Result<Vec<u8>, String> {
        let top = git.top().as_path();
        let seen = self.parts.backend.seen(top);
        let fixed = ["-c", script, "git"].map(OsString::from);
        let fixed = fixed.into_iter().chain([seen.into_os_string()]);
        let variables = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ];
        let program = CagedProgram {
            program: "/bin/sh".into(),
            arguments: fixed.chain(words).collect(),
            environment: variables.map(|(name, value)| (name.into(), value.into())).into(),
            directory: top.to_owned(),
            grace: Duration::ZERO,
        };
        let caged = self.parts.backend.start(cage, program, None).await;
        let caged = caged.map_err(|error| chain(&error))?;
        let Caged { mut stdin, mut stdout, mut stderr, mut process, doors: _doors, .. } = caged;
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let feeding = async {
            stdin.write_all(input.as_bytes()).await.ok();
            stdin.shutdown().await.ok();
            drop(stdin);
        };
        let bytes_max = Collected::BYTES_MAX as u64;
        let (mut stdout, mut stderr) = ((&mut stdout).take(bytes_max), (&mut stderr).take(4096));
        let reading = async {
            let reading = (stdout.read_to_end(&mut output), stderr.read_to_end(&mut complaint));
            // What cannot be read is not there, and is missed below.
            let (_, _, ()) = tokio::join!(reading.0, reading.1, feeding);
            process.wait().await
        };
        let status = tokio::time::timeout(GIT_MAX, reading).await;
        let status = status.map_err(|_| "git took too long".to_owned())?;
        let status = status.map_err(|error| chain(&error))?;
        let complaint = String::from_utf8_lossy(&complaint);
        match status.code() {
            Some(0) => Ok(output),
            code => Err(format!("git ended with {code:?}: {}", complaint.trim())),
        }
    }
}
