//! The tools that change branches and tags: branch, checkout, tag, merge, cherry-pick, rebase.
//!
//! Git does not know that the branch of HEAD is checked out, since it takes our private directory for
//! the common part of the repository; so that is looked after here. What is under way is checked in
//! `sequence` before git goes on with it.

use super::arguments::Arguments;
use super::config;
use super::deed::{Bringing, Deed, Way};
use super::fault::Fault;
use super::message;
use super::names::{File, ObjectId, RefName};
use super::run::{Run, Said};
use super::sequence;
use super::staging::{current_branch, signing};
use super::trees;

pub(super) fn branch(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let name = || arguments.needed("name").and_then(RefName::new);
    let is_current =
        |name: &RefName| current_branch(run).map(|branch| branch.as_deref() == Some(name.as_str()));
    let is_forced = arguments.flag("force");
    match arguments.text("operation").unwrap_or("list") {
        "list" => list(run, arguments),
        "show-current" => {
            Ok(current_branch(run)?.unwrap_or_else(|| "(no branch is checked out)".to_owned()))
        }
        "create" => {
            let name = name()?;
            if is_forced && is_current(&name)? {
                let text = format!("`{}` is checked out: use `git_reset`", name.as_str());
                return Err(Fault::Not(text));
            }
            let start = ObjectId::commit(run, arguments.text("startPoint").unwrap_or("HEAD"))?;
            let mut words = vec!["branch", "--no-track"];
            words.extend(is_forced.then_some("--force"));
            words.extend(["--end-of-options", name.as_str(), start.as_str()]);
            let made = format!("made the branch `{}` at {}", name.as_str(), start.as_str());
            run.git(&words).map(|said| said.all(&made))
        }
        "delete" => {
            let name = name()?;
            if is_current(&name)? {
                let text = format!("`{}` is checked out: switch to another first", name.as_str());
                return Err(Fault::Not(text));
            }
            let option = if is_forced { "-D" } else { "-d" };
            let said = run.git(&["branch", option, "--end-of-options", name.as_str()])?;
            config::remove_section(run, &format!("branch.{}", name.as_str()))?;
            Ok(said.all("deleted"))
        }
        "rename" => {
            let name = name()?;
            let new = RefName::new(arguments.needed("newName")?)?;
            let is_current = is_current(&name)?;
            if !is_current && let Some(holder) = trees::holder(run.repository, name.as_str())? {
                let text = format!("`{}` is checked out in `{holder}`", name.as_str());
                return Err(Fault::Not(text));
            }
            rename(run, &name, &new, is_forced, is_current)
        }
        other => Err(Fault::Not(format!("there is no operation `{other}`"))),
    }
}

fn list(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let mut options: Vec<String> = Vec::new();
    for (name, option) in [("merged", "--merged"), ("noMerged", "--no-merged")] {
        match (arguments.text(name), arguments.flag(name)) {
            (Some(text), _) => {
                options.push(format!("{option}={}", ObjectId::commit(run, text)?.as_str()));
            }
            (None, true) => options.push(format!("{option}=HEAD")),
            (None, false) => {}
        }
    }
    let mut words = vec!["branch", "--list", "--no-color", "-vv"];
    if arguments.flag("all") {
        words.push("--all");
    } else if arguments.flag("remote") {
        words.push("--remotes");
    }
    words.extend(options.iter().map(String::as_str));
    run.git(&words).map(|said| said.or("no branches yet"))
}

fn rename(
    run: &Run<'_>,
    name: &RefName,
    new: &RefName,
    is_forced: bool,
    is_current: bool,
) -> Result<String, Fault> {
    if is_forced && current_branch(run)?.as_deref() == Some(new.as_str()) {
        return Err(Fault::Not(format!("`{}` is checked out", new.as_str())));
    }
    let option = if is_forced { "-M" } else { "-m" };
    run.git(&["branch", option, "--end-of-options", name.as_str(), new.as_str()])?;
    if is_current {
        let full = format!("refs/heads/{}", new.as_str());
        run.git(&["symbolic-ref", "HEAD", &full])?;
    }
    let section = |name: &RefName| format!("branch.{}", name.as_str());
    config::rename_section(run, &section(name), &section(new))?;
    Ok(format!("renamed `{}` to `{}`", name.as_str(), new.as_str()))
}

pub(super) fn checkout(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let target = arguments.needed("target")?;
    let files = File::all(&run.repository.top, &arguments.texts("paths"))?;
    if !files.is_empty() {
        let from = ObjectId::commit(run, target)?;
        let mut words = vec!["checkout", "--quiet", from.as_str(), "--"];
        words.extend(files.iter().map(File::as_str));
        let deed = Deed::BringsFiles { commit: &from, files: &files };
        return run.git_for(&deed, &words).map(|said| said.all("brought back"));
    }
    let force = arguments.flag("force").then_some("--force");
    if arguments.flag("track") {
        return track(run, target, force);
    }
    if arguments.flag("createBranch") {
        let name = RefName::new(target)?;
        let mut words = vec!["checkout", "--quiet", "--no-track"];
        words.extend(force);
        words.extend(["-b", name.as_str(), "--"]);
        let made = format!("made the branch `{}` and switched to it", name.as_str());
        return run.git_for(&Deed::brings("HEAD", Way::Switch), &words).map(|said| said.all(&made));
    }
    if let Ok(name) = RefName::new(target)
        && is_there(run, &format!("refs/heads/{}", name.as_str()))?
    {
        let mut words = vec!["checkout", "--quiet", "--no-guess"];
        words.extend(force);
        words.extend(["--end-of-options", name.as_str(), "--"]);
        let switched = format!("switched to the branch `{}`", name.as_str());
        let deed = Deed::brings(name.as_str(), Way::Switch);
        return run.git_for(&deed, &words).map(|said| said.all(&switched));
    }
    match ObjectId::commit(run, target) {
        Ok(commit) => {
            let mut words = vec!["checkout", "--quiet", "--detach"];
            words.extend(force);
            words.extend([commit.as_str(), "--"]);
            let switched = format!("HEAD is now at {}, on no branch", commit.as_str());
            let deed = Deed::brings(commit.as_str(), Way::Switch);
            run.git_for(&deed, &words).map(|said| said.all(&switched))
        }
        Err(fault) => match remote_branch(run, target)? {
            Some(remote) => track(run, &remote, force),
            None => Err(fault),
        },
    }
}

/// Makes a branch that follows the remote one `target`, such as `origin/main`.
fn track(run: &Run<'_>, target: &str, force: Option<&str>) -> Result<String, Fault> {
    let (Some((remote, name)), Ok(_)) = (target.split_once('/'), RefName::new(target)) else {
        let text = "`track` is about a remote branch: write `target` as `origin/name`".to_owned();
        return Err(Fault::Not(text));
    };
    let full = format!("refs/remotes/{target}");
    if !is_there(run, &full)? {
        let reason = "is not a known remote branch";
        return Err(Fault::Revision { text: target.to_owned(), reason });
    }
    let mut words = vec!["checkout", "--quiet", "--no-track"];
    words.extend(force);
    words.extend(["-b", name, &full, "--"]);
    run.git_for(&Deed::brings(&full, Way::Switch), &words)?;
    let merge = format!("refs/heads/{name}");
    let settings =
        [(format!("branch.{name}.remote"), remote), (format!("branch.{name}.merge"), &merge)];
    for (key, value) in settings {
        config::set(run, &key, value)?;
    }
    Ok(format!("made the branch `{name}`, which follows `{target}`, and switched to it"))
}

/// Returns the one remote branch that is called `name`, if there is one.
fn remote_branch(run: &Run<'_>, name: &str) -> Result<Option<String>, Fault> {
    let Ok(name) = RefName::new(name) else { return Ok(None) };
    let words = ["for-each-ref", "--format=%(refname:strip=2)", "refs/remotes/"];
    let said = run.git(&words)?;
    let suffix = format!("/{}", name.as_str());
    let found = said
        .output
        .lines()
        .filter(|line| line.strip_suffix(&suffix).is_some_and(|remote| !remote.contains('/')));
    match found.collect::<Vec<_>>().as_slice() {
        [one] => Ok(Some((*one).to_owned())),
        _ => Ok(None),
    }
}

pub(super) fn is_there(run: &Run<'_>, full: &str) -> Result<bool, Fault> {
    let said = run.ask(&["show-ref", "--verify", "--quiet", "--", full], b"")?;
    Ok(said.code == Some(0))
}

pub(super) fn tag(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let name = || arguments.needed("tagName").and_then(RefName::new);
    match arguments.text("mode").unwrap_or("list") {
        "list" => run.git(&["tag", "--list", "-n1", "--no-column"]).map(|said| said.or("no tags")),
        "create" => {
            let note = signing(arguments)?;
            let name = name()?;
            let commit = ObjectId::any(run, arguments.text("commit").unwrap_or("HEAD"))?;
            let message = match (arguments.text("message"), arguments.flag("annotated")) {
                (Some(message), _) => Some(message),
                (None, true) => Some(name.as_str()),
                (None, false) => None,
            };
            let mut words = vec!["tag", "--no-sign"];
            words.extend(arguments.flag("force").then_some("--force"));
            if message.is_some() {
                words.extend(["--annotate", "--file=-", "--cleanup=whitespace"]);
            }
            words.extend(["--end-of-options", name.as_str(), commit.as_str()]);
            let said = run.git_with(&words, message.unwrap_or_default().as_bytes())?;
            let made = format!("made the tag `{}` at {}", name.as_str(), commit.as_str());
            Ok(format!("{}{note}", said.all(&made)))
        }
        "delete" => {
            let name = name()?;
            run.git(&["tag", "--delete", "--end-of-options", name.as_str()])
                .map(|said| said.all("deleted"))
        }
        other => Err(Fault::Not(format!("there is no mode `{other}`"))),
    }
}

pub(super) fn merge(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    if arguments.flag("abort") {
        let said = run.git_for(&Deed::GivesUp, &["merge", "--abort"])?;
        return Ok(said.all("the merge is undone"));
    }
    let branch = arguments.needed("branch")?;
    let commit = ObjectId::commit(run, branch)?;
    let strategy = strategy(arguments)?;
    let message = match arguments.text("message") {
        Some(message) => message.to_owned(),
        None => format!("Merge branch '{branch}'"),
    };
    let message = format!("--message={}", message::checked(&message)?);
    let mut words = vec!["merge", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-progress"];
    words.extend(["--no-verify-signatures", "--no-autostash", &message]);
    if arguments.flag("squash") {
        words.push("--squash");
    } else if arguments.flag("noFastForward") {
        words.push("--no-ff");
    }
    words.extend(strategy.as_deref());
    words.push(commit.as_str());
    let deed = Deed::brings(commit.as_str(), Way::Merge);
    run.git_for(&deed, &words).map(|said| said.all("merged"))
}

/// Merges a commit into the current branch, under a message.
pub(super) fn join(
    run: &Run<'_>,
    id: &str,
    message: &str,
    is_forward_only: bool,
) -> Result<String, Fault> {
    let message = format!("--message={message}");
    let mut words = vec!["merge", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-progress"];
    words.extend(["--no-verify-signatures", "--no-autostash", &message]);
    words.extend(is_forward_only.then_some("--ff-only"));
    words.push(id);
    run.git_for(&Deed::brings(id, Way::Merge), &words).map(|said| said.all("merged"))
}

/// Puts the commits of the current branch on another base.
pub(super) fn rebase_onto(run: &Run<'_>, id: &str) -> Result<String, Fault> {
    let mut words = vec!["rebase", "--merge", "--no-autostash", "--no-verify", "--no-gpg-sign"];
    words.extend(["--no-autosquash", "--no-update-refs", "--no-stat", id]);
    run.git_for(&Deed::brings(id, Way::Merge), &words).map(|said| said.all("done"))
}

/// Returns the option for a way of merging.
fn strategy(arguments: Arguments<'_>) -> Result<Option<String>, Fault> {
    match arguments.text("strategy") {
        None => Ok(None),
        Some("octopus") => Err(Fault::Not(
            "`octopus` is for several branches at once, and is a script, which is not run here"
                .to_owned(),
        )),
        // SECURITY: it puts files at other places than where they are in any commit, also when somebody
        // else goes on after a conflict.
        Some("subtree") => Err(Fault::Not(
            "`subtree` puts files at other places than where a commit has them, and is not done here"
                .to_owned(),
        )),
        Some(strategy) => Ok(Some(format!("--strategy={strategy}"))),
    }
}

pub(super) fn cherry_pick(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    if arguments.flag("abort") {
        sequence::check(run)?;
        let said = run.git_for(&Deed::GivesUp, &["cherry-pick", "--abort"])?;
        return Ok(said.all("undone"));
    }
    if arguments.flag("continueOperation") {
        sequence::check(run)?;
        let said = run.git_for(&Deed::GoesOn, &["cherry-pick", "--continue"])?;
        return Ok(said.all("done"));
    }
    let commits: Result<Vec<ObjectId>, Fault> =
        arguments.texts("commits").into_iter().map(|text| ObjectId::commit(run, text)).collect();
    let commits = commits?;
    let strategy = strategy(arguments)?;
    let mainline = arguments.whole("mainline").map(|number| format!("--mainline={number}"));
    let mut words = vec!["cherry-pick", "--no-gpg-sign"];
    words.extend(arguments.flag("noCommit").then_some("--no-commit"));
    words.extend(arguments.flag("signoff").then_some("--signoff"));
    words.extend(mainline.as_deref());
    words.extend(strategy.as_deref());
    words.extend(commits.iter().map(ObjectId::as_str));
    let commits = commits.iter().map(|it| it.as_str().to_owned()).collect();
    let deed = Deed::Brings(Bringing { commits, way: Way::Pick });
    run.git_for(&deed, &words).map(|said| said.all("applied"))
}

pub(super) fn rebase(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let done = |said: Said| said.all("done");
    match arguments.text("mode").unwrap_or("start") {
        "start" => {}
        mode @ ("continue" | "skip" | "abort") => {
            sequence::check(run)?;
            let deed = if mode == "abort" { Deed::GivesUp } else { Deed::GoesOn };
            return run.git_for(&deed, &["rebase", &format!("--{mode}")]).map(done);
        }
        other => return Err(Fault::Not(format!("there is no mode `{other}`"))),
    }
    if arguments.flag("interactive") {
        return Err(Fault::Not("there is no editor here: leave `interactive` out".to_owned()));
    }
    let upstream = ObjectId::commit(run, arguments.needed("upstream")?)?;
    let onto = arguments.text("onto").map(|text| ObjectId::commit(run, text)).transpose()?;
    let mut commits = vec![upstream.as_str().to_owned()];
    commits.extend(onto.iter().map(|onto| onto.as_str().to_owned()));
    let onto = onto.map(|onto| format!("--onto={}", onto.as_str()));
    let branch = arguments.text("branch").map(RefName::new).transpose()?;
    let mut words = vec!["rebase", "--merge", "--no-autostash", "--no-verify", "--no-gpg-sign"];
    words.extend(["--no-autosquash", "--no-update-refs", "--no-stat"]);
    words.extend(arguments.flag("preserve").then_some("--rebase-merges"));
    words.extend(onto.as_deref());
    words.push(upstream.as_str());
    words.extend(branch.as_ref().map(RefName::as_str));
    commits.extend(branch.as_ref().map(|branch| branch.as_str().to_owned()));
    let deed = Deed::Brings(Bringing { commits, way: Way::Merge });
    run.git_for(&deed, &words).map(done)
}
