//! The tool `git_push`: objects that were judged, sent to another machine by number.
//!
//! Which objects go to which ref is what the call was judged about, and whoever judged it says so; a
//! branch that moved since counts for nothing. What the remote is asked to change has a full name.

use std::fmt::Write as _;

use super::Reaching;
use super::aid::JudgedRef;
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
use crate::filesystem::show;

/// What is asked of the remote.
struct Plan {
    /// The branch here, if one is sent.
    local: Option<RefName>,
    /// The branch there.
    there: RefName,
    /// The number of what is sent; `None` deletes.
    id: Option<ObjectId>,
    refspecs: Vec<String>,
    /// What refs have to be at the remote for any of it to happen.
    leases: Vec<String>,
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
    let (judged, refs) = reaching.judged_push()?;
    let text = arguments.text("remote");
    let remote = JudgedRemote::find(settings, current.as_deref(), text, Way::Push, &judged)?;
    if arguments.flag("forceWithLease") && remote.name.is_none() {
        return Err(Fault::Not(
            "`forceWithLease` compares with what was fetched: name the remote, not its URL"
                .to_owned(),
        ));
    }
    let plan = plan(run, arguments, current.as_deref(), &refs)?;
    let quarantine = Quarantine::of(run.scratch, run.repository, &[])?;
    let transfer = Transfer::prepare(run.program, reaching.caller, &quarantine, &remote)?;
    let mut words = vec!["push", "--porcelain", "--no-verify", "--no-signed", "--no-progress"];
    words.extend(["--no-follow-tags", "--recurse-submodules=no", "--no-thin"]);
    words.extend(arguments.flag("dryRun").then_some("--dry-run"));
    words.extend(plan.leases.iter().map(String::as_str));
    let refspecs: Vec<&str> = plan.refspecs.iter().map(String::as_str).collect();
    let said = transfer.git(&words, &refspecs)?;
    let mut told = told(&remote.url, &said.output, &said.complaint);
    if !arguments.flag("dryRun") {
        note(run, &remote, &plan, arguments, &mut told)?;
    }
    Ok(told)
}

/// Plans the push of what was judged; the repository may be another one by now, and is not asked.
fn plan(
    run: &Run<'_>,
    arguments: Arguments<'_>,
    current: Option<&str>,
    refs: &[JudgedRef],
) -> Result<Plan, Fault> {
    let (mut refspecs, mut leases) = (Vec::new(), Vec::new());
    for it in refs {
        let bad =
            || Fault::Not(format!("`{}` is not a ref that can be pushed", show::text(&it.name)));
        let branch = it.name.strip_prefix("refs/heads/");
        let name = branch.or_else(|| it.name.strip_prefix("refs/tags/")).ok_or_else(bad)?;
        RefName::new(name)?;
        let id = match &it.new {
            None => String::new(),
            Some(id) if !refs::is_number(id) => return Err(bad()),
            Some(id) if branch.is_some() => ObjectId::commit(run, id)?.as_str().to_owned(),
            Some(id) => ObjectId::any(run, id)?.as_str().to_owned(),
        };
        if it.new.as_ref().is_some_and(|new| *new != id) {
            return Err(bad());
        }
        let known = it.old.as_deref().filter(|id| refs::is_number(id));
        // What the person saw has to be there, as far as anybody knew. Git takes a lease for leave to
        // replace, and a `+` for leave to ignore the lease.
        let is_leased = it.is_leased || (it.is_forced && known.is_some());
        if is_leased {
            let known = known.unwrap_or_default();
            leases.push(format!("--force-with-lease={}:{known}", it.name));
        }
        let plus = if it.is_forced && !is_leased && it.new.is_some() { "+" } else { "" };
        refspecs.push(format!("{plus}{id}:{}", it.name));
    }
    let first = refs.first().ok_or_else(|| Fault::Not("there is nothing to push".to_owned()))?;
    let there = RefName::new(first.name.strip_prefix("refs/heads/").unwrap_or(&first.name))?;
    let id = match &first.new {
        Some(id) => Some(ObjectId::commit(run, id)?),
        None => None,
    };
    // The branch that is sent, if it is still what was judged.
    let local = arguments.text("branch").or(current).map(RefName::new).transpose()?;
    let tip = |name: &RefName| ObjectId::commit(run, &format!("refs/heads/{}", name.as_str())).ok();
    let local = local.filter(|name| id.is_some() && tip(name) == id);
    Ok(Plan { local, there, id, refspecs, leases })
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
    let is_remark = |line: &&str| line.starts_with("remote: ") || line.starts_with('[');
    for line in complaint.lines().filter(is_remark).take(50) {
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
