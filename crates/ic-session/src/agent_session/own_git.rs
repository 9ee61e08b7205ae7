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

use ic_backend::agent_git::{COLLECT, GitState};
use ic_backend::{AgentCage, AgentGit, Caged, CagedProgram, Collected, Witness as _};
use ic_resolve::RealDisk;
use ic_types::{Json, Object, chain, locked};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
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
top=$1; shift
cd "$top" || exit 3
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
}

impl Shared {
    /// Shows the agent a git directory of its own, if the workspace is a repository.
    pub(super) async fn ready_git(
        &self,
        cage: &mut AgentCage,
        cut: &CancellationToken,
    ) -> Option<AgentGit> {
        let git = AgentGit::of(self.broker.judge(), &self.directory.agent_git(), &RealDisk)?;
        if !cage.with_git(&git) {
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
        let kept = cage.read_only_in(git.top());
        let is_marked = fresh.has_new_index && !kept.is_empty();
        if is_marked || !fresh.updates.is_empty() {
            let kept = if fresh.has_new_index { kept } else { Vec::new() };
            let words = kept.into_iter().map(OsString::from);
            let prepared = self.in_cage(cage, &git, (PREPARE, words.collect()), fresh.updates);
            if let Err(why) = prepared.await {
                self.news.log(&format!("the agent's own git is not up to date: {why}"));
            }
        }
        Some(git)
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
        let taking = self.broker.take_over(arguments, incoming, cancel.clone());
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
        let fate = call_fate(&reply);
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
        let fixed = ["-c", script, "git"].map(OsString::from);
        let fixed = fixed.into_iter().chain([OsString::from(top)]);
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
        let caged = cage.start(&self.parts.launcher, program).await;
        let caged = caged.map_err(|error| chain(&error))?;
        let Caged { mut stdin, mut stdout, mut stderr, mut process, doors: _doors } = caged;
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let feeding = async {
            stdin.write_all(input.as_bytes()).await.ok();
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
