//! The tool `git_clone`: a repository of another machine, made anew on this one.
//!
//! The remote is talked to first, in a quarantine; only when all of it came and was checked is a
//! repository made by our own hand, as `git_init` does, and filled.

use super::arguments::Arguments;
use super::deed::{Deed, Way};
use super::fault::Fault;
use super::fetch::{Wanted, fetch_over, listed};
use super::judged::JudgedRemote;
use super::names::RefName;
use super::quarantine::{Numbering, Quarantine, set_shallow};
use super::refs::{self, Refs};
use super::run::Run;
use super::transfer::Transfer;
use super::{Git, Place, Reaching, config, places};
use crate::filesystem::{Rights, show};

/// What a remote is called after a clone.
const ORIGIN: &str = "origin";

pub(super) fn clone(
    git: &Git,
    reaching: &Reaching<'_>,
    arguments: Arguments<'_>,
) -> Result<String, Fault> {
    if arguments.flag("bare") || arguments.flag("mirror") {
        return Err(Fault::Not(
            "bare repositories are neither made nor used here: leave `bare` and `mirror` out"
                .to_owned(),
        ));
    }
    let judged = reaching.judged()?;
    let remote = JudgedRemote::of_url(arguments.needed("url")?, &judged)?;
    let path = git.reach.find(arguments.needed("localPath")?, Rights::NONE)?;
    places::check_free(git, &path)?;
    let wanted_branch = arguments.text("branch").map(RefName::new).transpose()?;
    let quarantine = Quarantine::empty(&git.scratch, Numbering::Sha1)?;
    let transfer = Transfer::prepare(&git.program, reaching.caller, &quarantine, &remote)?;
    let head = head(&transfer)?;
    let wanted = Wanted { depth: arguments.whole("depth"), ..Wanted::default() };
    fetch_over(&transfer, &["+refs/heads/*:refs/heads/*"], wanted)?;
    let refs = listed(&transfer)?;
    let branch = match wanted_branch {
        Some(branch) if !refs.branches.contains_key(branch.as_str()) => {
            return Err(Fault::Revision {
                text: branch.as_str().to_owned(),
                reason: "is not a branch of the remote",
            });
        }
        Some(branch) => branch,
        None => head.map_or_else(|| RefName::new("main"), Ok)?,
    };
    places::make(git, &path, branch.as_str())?;
    let place = Place { path: path.clone(), bound: Some(path.clone()) };
    let filled = git.work(&place, Rights::WRITE, reaching.caller, |run| {
        fill(run, (&quarantine, &remote), &refs, &branch)
    })?;
    let shown = show::path(path.as_path());
    let branches = ic_types::counted(refs.branches.len(), "branch", "branches");
    let tags = ic_types::counted(refs.tags.len(), "tag", "tags");
    Ok(format!("cloned {} to `{shown}`: {branches}, {tags}\n{filled}", remote.url))
}

/// Returns the branch that the remote shows first.
fn head(transfer: &Transfer<'_>) -> Result<Option<RefName>, Fault> {
    let said = transfer.git(&["ls-remote", "--symref", "--quiet"], &["HEAD"])?;
    let named = said.output.lines().find_map(|line| {
        line.strip_prefix("ref: refs/heads/").and_then(|rest| rest.strip_suffix("\tHEAD"))
    });
    Ok(named.and_then(|name| RefName::new(name).ok()))
}

fn fill(
    run: &Run<'_>,
    (quarantine, remote): (&Quarantine<'_>, &JudgedRemote),
    refs: &Refs,
    branch: &RefName,
) -> Result<String, Fault> {
    quarantine.bring_over(run.repository.common())?;
    if let Some(shallow) = quarantine.shallow()? {
        set_shallow(run.repository.common(), Some(&shallow))?;
    }
    config::add(run, &format!("remote.{ORIGIN}.url"), &remote.url)?;
    let spec = format!("+refs/heads/*:refs/remotes/{ORIGIN}/*");
    config::add(run, &format!("remote.{ORIGIN}.fetch"), &spec)?;
    let mut lines = Vec::new();
    for (name, id) in &refs.branches {
        lines.push(format!("create refs/remotes/{ORIGIN}/{name} {id}"));
    }
    for (name, id) in &refs.tags {
        lines.push(format!("create refs/tags/{name} {id}"));
    }
    let name = branch.as_str();
    let Some(id) = refs.branches.get(name) else {
        refs::update(run, &lines, "clone")?;
        return Ok(format!("nothing is checked out: the remote has no branch `{name}`"));
    };
    lines.push(format!("create refs/heads/{name} {id}"));
    refs::update(run, &lines, "clone")?;
    config::set(run, &format!("branch.{name}.remote"), ORIGIN)?;
    config::set(run, &format!("branch.{name}.merge"), &format!("refs/heads/{name}"))?;
    let deed = Deed::brings(id, Way::Switch);
    run.git_for(&deed, &["reset", "--hard", "--quiet", "--no-recurse-submodules", id])?;
    Ok(format!("`{name}` is checked out"))
}
