//! The tools `git_fetch` and `git_pull`: commits of another machine, brought into a repository.
//!
//! ```text
//! remote ─▶ quarantine (checked by git) ─▶ packs copied ─▶ refs/remotes/<name>/… and tags, by us
//! ```
//!
//! A branch of the remote becomes a ref of the remote here and nothing else; what `git_pull` joins is
//! a number.

use std::fmt::Write as _;

use super::arguments::Arguments;
use super::fault::Fault;
use super::judged::{JudgedRemote, Way};
use super::names::RefName;
use super::quarantine::{Quarantine, set_shallow};
use super::refs::{self, FORMAT, Following, Refs};
use super::run::{Run, Said};
use super::transfer::Transfer;
use super::{Reaching, history};

/// What a fetch brought.
pub(super) struct Fetched {
    pub(super) remote: JudgedRemote,
    pub(super) refs: Refs,
    following: Following,
}

/// What is wanted besides the branches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    pub(super) tags: bool,
    pub(super) depth: Option<u64>,
    pub(super) prune: bool,
}

pub(super) fn fetch(
    run: &Run<'_>,
    reaching: &Reaching<'_>,
    arguments: Arguments<'_>,
) -> Result<String, Fault> {
    let wanted = Wanted {
        tags: arguments.flag("tags"),
        depth: arguments.whole("depth"),
        prune: arguments.flag("prune"),
    };
    let fetched = bring(run, reaching, arguments.text("remote"), None, wanted)?;
    fetched.told(run, wanted)
}

pub(super) fn pull(
    run: &Run<'_>,
    reaching: &Reaching<'_>,
    arguments: Arguments<'_>,
) -> Result<String, Fault> {
    let current = current_branch(run)?;
    let branch = match (arguments.text("branch"), &current) {
        (Some(branch), _) => RefName::new(branch)?,
        (None, Some(current)) => upstream(run, current)?,
        (None, None) => {
            return Err(Fault::Not(
                "no branch is checked out: name the `branch` to pull, or check one out".to_owned(),
            ));
        }
    };
    let wanted = Wanted::default();
    let fetched = bring(run, reaching, arguments.text("remote"), Some(&branch), wanted)?;
    let Some(id) = fetched.refs.branches.get(branch.as_str()).cloned() else {
        return Err(Fault::Revision {
            text: branch.as_str().to_owned(),
            reason: "is not a branch of the remote",
        });
    };
    let url = fetched.remote.url.clone();
    let told = fetched.told(run, wanted)?;
    let joined = match (arguments.flag("rebase"), arguments.flag("fastForwardOnly")) {
        (true, _) => history::rebase_onto(run, &id)?,
        (false, is_forward_only) => {
            let message = format!("Merge branch '{}' of {url}", branch.as_str());
            history::join(run, &id, &message, is_forward_only)?
        }
    };
    Ok(format!("{told}\n{joined}"))
}

/// Returns the branch of the remote that a branch here follows.
fn upstream(run: &Run<'_>, current: &str) -> Result<RefName, Fault> {
    let merged = run.repository.settings.iter().rev().find(|it| {
        it.section == "branch" && it.subsection.as_deref() == Some(current) && it.key == "merge"
    });
    let name = merged.and_then(|it| it.value.strip_prefix("refs/heads/")).unwrap_or(current);
    RefName::new(name)
}

/// Returns the branch that is checked out, if one is.
pub(super) fn current_branch(run: &Run<'_>) -> Result<Option<String>, Fault> {
    let said = run.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"], b"")?;
    let name = said.output.trim();
    Ok((said.code == Some(0) && !name.is_empty()).then(|| name.to_owned()))
}

/// Brings branches of a remote into the repository: all that are followed, or one.
fn bring(
    run: &Run<'_>,
    reaching: &Reaching<'_>,
    remote: Option<&str>,
    only: Option<&RefName>,
    wanted: Wanted,
) -> Result<Fetched, Fault> {
    let repository = run.repository;
    let branch = current_branch(run)?;
    let settings = &repository.settings;
    let judged = reaching.judged()?;
    let remote = JudgedRemote::find(settings, branch.as_deref(), remote, Way::Fetch, &judged)?;
    let configured = match &remote.name {
        Some(name) => Following::of(settings, name),
        None => Following::all(),
    };
    let asked = only.map_or_else(|| configured.clone(), Following::one);
    let known = refs::known(run, &["refs/heads", "refs/tags", "refs/remotes"])?;
    let mut ids: Vec<String> = known.into_values().collect();
    ids.sort_unstable();
    ids.dedup();
    let quarantine = Quarantine::of(run.scratch, repository, &ids)?;
    let before = quarantine.shallow()?;
    let refs = into_quarantine(run, reaching, (&quarantine, &remote), &asked, wanted)?;
    // The way there may have been long.
    repository.check_again()?;
    quarantine.bring_over(repository.common())?;
    let after = quarantine.shallow()?;
    if after != before {
        set_shallow(repository.common(), after.as_deref())?;
    }
    Ok(Fetched { remote, refs, following: configured })
}

/// Talks to the remote, and returns what it has.
fn into_quarantine(
    run: &Run<'_>,
    reaching: &Reaching<'_>,
    (quarantine, remote): (&Quarantine<'_>, &JudgedRemote),
    following: &Following,
    wanted: Wanted,
) -> Result<Refs, Fault> {
    let transfer = Transfer::prepare(run.program, reaching.caller, quarantine, remote)?;
    let refspecs = following.refspecs();
    let refspecs: Vec<&str> = refspecs.iter().map(String::as_str).collect();
    fetch_over(&transfer, &refspecs, wanted)?;
    listed(&transfer)
}

/// Brings what `refspecs` say into the quarantine.
pub(super) fn fetch_over(
    transfer: &Transfer<'_>,
    refspecs: &[&str],
    wanted: Wanted,
) -> Result<Said, Fault> {
    let depth = wanted.depth.map(|depth| format!("--depth={depth}"));
    let mut words =
        vec!["fetch", "--no-recurse-submodules", "--no-write-fetch-head", "--no-progress"];
    words.extend(["--no-auto-gc", "--refmap=", "--quiet"]);
    words.extend(wanted.tags.then_some("--tags"));
    words.extend(depth.as_deref());
    transfer.git(&words, refspecs)
}

/// Returns the branches and tags in the quarantine.
pub(super) fn listed(transfer: &Transfer<'_>) -> Result<Refs, Fault> {
    let said = transfer.alone(&["for-each-ref", FORMAT, "refs/heads", "refs/tags"])?;
    Refs::parse(&said.output)
}

impl Fetched {
    /// Makes refs of what came, and says what changed.
    fn told(&self, run: &Run<'_>, wanted: Wanted) -> Result<String, Fault> {
        let mut text = format!("from {}", self.remote.url);
        let known = refs::known(run, &["refs/remotes", "refs/tags"])?;
        let mut lines = Vec::new();
        if let Some(name) = &self.remote.name {
            let mut there = Vec::new();
            for (branch, id) in &self.refs.branches {
                let Some(followed) = self.following.name_of(branch) else { continue };
                let place = format!("refs/remotes/{name}/{followed}");
                let old = known.get(&place).map(String::as_str);
                if old != Some(id.as_str()) {
                    let _ = write!(text, "\n{} {branch} -> {name}/{followed}", change(old, id));
                    lines.push(format!("update {place} {id}"));
                }
                there.push(place);
            }
            if wanted.prune && self.following.is_all() {
                let prefix = format!("refs/remotes/{name}/");
                let head = format!("{prefix}HEAD");
                let gone = known.keys().filter(|it| it.starts_with(&prefix) && **it != head);
                for place in gone.filter(|it| !there.contains(it)) {
                    let shown = place.strip_prefix("refs/remotes/").unwrap_or(place);
                    let _ = write!(text, "\ngone {shown}");
                    lines.push(format!("delete {place}"));
                }
            }
        } else {
            for (branch, id) in &self.refs.branches {
                let _ = write!(text, "\n{id} {branch}");
            }
        }
        for (tag, id) in &self.refs.tags {
            let place = format!("refs/tags/{tag}");
            match known.get(&place) {
                None => {
                    let _ = write!(text, "\nnew tag {tag}");
                    lines.push(format!("create {place} {id}"));
                }
                Some(old) if old == id => {}
                Some(_) => {
                    let _ = write!(text, "\nleft alone: the tag {tag}, which is another one here");
                }
            }
        }
        if 0 < self.refs.n_odd {
            let _ = write!(text, "\nleft out: {} names that cannot be used here", self.refs.n_odd);
        }
        if !text.contains('\n') {
            text.push_str("\nnothing new");
        }
        refs::update(run, &lines, "fetch")?;
        Ok(text)
    }
}

fn change(old: Option<&str>, new: &str) -> String {
    let short = |id: &str| id.get(..7).unwrap_or_default().to_owned();
    match old {
        Some(old) => format!("{}..{}", short(old), short(new)),
        None => format!("new {}", short(new)),
    }
}
