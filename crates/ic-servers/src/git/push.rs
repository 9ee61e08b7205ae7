//! The tool `git_push`: a branch, sent to another machine by number.
//!
//! What is sent is read from the repository once, before anything is said to the remote; what the
//! remote is asked to change has a full name. Nothing is sent that was not asked for.

use std::fmt::Write as _;

use super::Reaching;
use super::arguments::Arguments;
use super::config;
use super::fault::Fault;
use super::fetch::current_branch;
use super::judged::{JudgedRemote, Way};
use super::names::{ObjectId, RefName};
use super::quarantine::Quarantine;
use super::refs;
use super::run::Run;
use super::transfer::Transfer;

/// What is asked of the remote.
struct Plan {
    /// The branch here, if one is sent.
    local: Option<RefName>,
    /// The branch there.
    there: RefName,
    /// The number of what is sent; `None` deletes.
    id: Option<ObjectId>,
    refspecs: Vec<String>,
}

pub(super) fn push(
    run: &Run<'_>,
    reaching: &Reaching<'_>,
    arguments: Arguments<'_>,
) -> Result<String, Fault> {
    let is_destructive = arguments.flag("force") || arguments.flag("delete");
    if is_destructive && !arguments.flag("confirmed") {
        return Err(Fault::Not(
            "`force` and `delete` overwrite what others may have sent: say `confirmed` too, or use \
             `forceWithLease`"
                .to_owned(),
        ));
    }
    let current = current_branch(run)?;
    let settings = &run.repository.settings;
    let judged = reaching.judged()?;
    let text = arguments.text("remote");
    let remote = JudgedRemote::find(settings, current.as_deref(), text, Way::Push, &judged)?;
    let plan = plan(run, arguments, current.as_deref())?;
    let quarantine = Quarantine::of(run.scratch, run.repository, &[])?;
    let transfer = Transfer::prepare(run.program, reaching.caller, &quarantine, &remote)?;
    let lease = match arguments.flag("forceWithLease") {
        true => Some(lease(run, &remote, &plan.there)?),
        false => None,
    };
    let mut words = vec!["push", "--porcelain", "--no-verify", "--no-signed", "--no-progress"];
    words.extend(["--no-follow-tags", "--recurse-submodules=no", "--no-thin"]);
    words.extend(arguments.flag("dryRun").then_some("--dry-run"));
    words.extend(lease.as_deref());
    let refspecs: Vec<&str> = plan.refspecs.iter().map(String::as_str).collect();
    let said = transfer.git(&words, &refspecs)?;
    let mut told = told(&remote.url, &said.output, &said.complaint);
    if !arguments.flag("dryRun") {
        note(run, &remote, &plan, arguments, &mut told)?;
    }
    Ok(told)
}

fn plan(run: &Run<'_>, arguments: Arguments<'_>, current: Option<&str>) -> Result<Plan, Fault> {
    let branch = match (arguments.text("branch"), current) {
        (Some(branch), _) => branch,
        (None, Some(current)) => current,
        (None, None) => {
            return Err(Fault::Not(
                "no branch is checked out: name the `branch` to push".to_owned(),
            ));
        }
    };
    let local = RefName::new(branch)?;
    let there = match arguments.text("remoteBranch") {
        Some(name) => RefName::new(name)?,
        None => local.clone(),
    };
    let target = format!("refs/heads/{}", there.as_str());
    if arguments.flag("delete") {
        let refspecs = vec![format!(":{target}")];
        return Ok(Plan { local: None, there, id: None, refspecs });
    }
    let id = ObjectId::commit(run, &format!("refs/heads/{}", local.as_str()))?;
    let plus = if arguments.flag("force") { "+" } else { "" };
    let mut refspecs = vec![format!("{plus}{}:{target}", id.as_str())];
    if arguments.flag("tags") {
        let tags = refs::known(run, &["refs/tags"])?;
        for (name, id) in tags {
            RefName::new(name.strip_prefix("refs/tags/").unwrap_or(&name))?;
            refspecs.push(format!("{id}:{name}"));
        }
    }
    Ok(Plan { local: Some(local), there, id: Some(id), refspecs })
}

/// Says what the branch has to be at the remote, so that nobody else's work is overwritten.
fn lease(run: &Run<'_>, remote: &JudgedRemote, there: &RefName) -> Result<String, Fault> {
    let Some(name) = &remote.name else {
        return Err(Fault::Not(
            "`forceWithLease` compares with what was fetched: name the remote, not its URL"
                .to_owned(),
        ));
    };
    let place = format!("refs/remotes/{name}/{}", there.as_str());
    let known = refs::known(run, &[&place])?.remove(&place).unwrap_or_default();
    // Without a number it must not be there at all.
    Ok(format!("--force-with-lease=refs/heads/{}:{known}", there.as_str()))
}

/// Says what the remote did, in git's words.
fn told(url: &str, output: &str, complaint: &str) -> String {
    let mut text = format!("to {url}");
    for line in output.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(flag), Some(refspec), Some(summary)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let target = refspec.rsplit_once(':').map_or(refspec, |(_, target)| target);
        let _ = write!(text, "\n{flag} {target} {summary}");
    }
    let remarks = complaint.lines().filter(|line| line.starts_with("remote: "));
    for line in remarks.take(50) {
        let _ = write!(text, "\n{line}");
    }
    text
}

/// Notes here what the remote has now.
fn note(
    run: &Run<'_>,
    remote: &JudgedRemote,
    plan: &Plan,
    arguments: Arguments<'_>,
    told: &mut String,
) -> Result<(), Fault> {
    let Some(name) = &remote.name else { return Ok(()) };
    let place = format!("refs/remotes/{name}/{}", plan.there.as_str());
    let line = match &plan.id {
        Some(id) => format!("update {place} {}", id.as_str()),
        None => format!("delete {place}"),
    };
    let is_known = refs::known(run, &[&place])?.contains_key(&place);
    if plan.id.is_some() || is_known {
        refs::update(run, &[line], "push")?;
    }
    if let (Some(local), true) = (&plan.local, arguments.flag("setUpstream")) {
        let (local, there) = (local.as_str(), plan.there.as_str());
        config::set(run, &format!("branch.{local}.remote"), name)?;
        config::set(run, &format!("branch.{local}.merge"), &format!("refs/heads/{there}"))?;
        let _ = write!(told, "\n`{local}` follows {name}/{there} now");
    }
    Ok(())
}
