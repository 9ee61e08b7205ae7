//! The tools that change what is staged and what lies in the working tree: add, commit, reset, clean,
//! stash.
//!
//! Hooks do not run and nothing is signed, whatever is asked.

use super::arguments::Arguments;
use super::deed::{Deed, Staging, Way};
use super::fault::Fault;
use super::message;
use super::names::{File, ObjectId};
use super::run::Run;

/// Branches whose changes are discarded only if that is confirmed.
const PROTECTED_BRANCHES: [&str; 6] =
    ["main", "master", "production", "prod", "develop", "release"];

pub(super) fn add(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let files = File::all(&run.repository.top, &arguments.texts("files"))?;
    let (is_update, is_forced) = (arguments.flag("update"), arguments.flag("force"));
    let mut words = vec!["add", "--verbose"];
    if is_update {
        words.push("--update");
    } else if arguments.flag("all") {
        words.push("--all");
    }
    words.extend(is_forced.then_some("--force"));
    words.push("--");
    words.extend(files.iter().map(File::as_str));
    let deed = Deed::Stages(Staging { files: &files, is_update, is_forced });
    run.git_for(&deed, &words).map(|said| said.all("nothing to stage"))
}

pub(super) fn commit(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let note = signing(arguments)?;
    let text = message::checked(arguments.needed("message")?)?;
    let files = File::all(&run.repository.top, &arguments.texts("filesToStage"))?;
    let author = arguments.object("author").map(author).transpose()?;
    if !files.is_empty() {
        let mut words = vec!["add", "--"];
        words.extend(files.iter().map(File::as_str));
        run.git_for(&Deed::stages(&files), &words)?;
    }
    let mut words =
        vec!["commit", "--file=-", "--cleanup=whitespace", "--no-verify", "--no-gpg-sign"];
    words.extend(["--no-status", "--no-edit"]);
    let is_amended = arguments.flag("amend");
    if is_amended {
        words.extend(["--amend", "--no-post-rewrite"]);
    }
    if arguments.flag("allowEmpty") {
        words.push("--allow-empty");
    }
    words.extend(author.as_deref());
    let said = run.git_for_with(&Deed::Commits { is_amended }, &words, text.as_bytes())?;
    Ok(format!("{}{note}", said.all("committed")))
}

/// Returns a note if a signature was wanted and may be left out.
pub(super) fn signing(arguments: Arguments<'_>) -> Result<&'static str, Fault> {
    match (arguments.flag("sign"), arguments.flag("forceUnsignedOnFailure")) {
        (false, _) => Ok(""),
        (true, true) => Ok("\n(not signed: nothing is signed here)"),
        (true, false) => Err(Fault::Not("signing is not supported; leave `sign` out".to_owned())),
    }
}

fn author(arguments: Arguments<'_>) -> Result<String, Fault> {
    let (name, email) = (arguments.needed("name")?, arguments.needed("email")?);
    let is_odd = |c: char| c.is_control() || matches!(c, '<' | '>');
    if name.contains(is_odd) || email.contains(is_odd) || name.trim().is_empty() {
        return Err(Fault::Arguments("`author` has a name or address that git cannot keep".into()));
    }
    Ok(format!("--author={name} <{email}>"))
}

pub(super) fn reset(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let target = ObjectId::commit(run, arguments.text("target").unwrap_or("HEAD"))?;
    let mode = arguments.text("mode").unwrap_or("mixed");
    let files = File::all(&run.repository.top, &arguments.texts("paths"))?;
    if !files.is_empty() {
        if mode != "mixed" {
            let text = format!("`paths` are only unstaged: the mode `{mode}` is about all files");
            return Err(Fault::Not(text));
        }
        let mut words = vec!["reset", "--quiet", target.as_str(), "--"];
        words.extend(files.iter().map(File::as_str));
        return run.git_for(&Deed::Unstages, &words).map(|said| said.all("unstaged"));
    }
    if mode == "hard"
        && !arguments.flag("confirmed")
        && let Some(branch) = current_branch(run)?
        && PROTECTED_BRANCHES.contains(&branch.as_str())
    {
        return Err(Fault::Not(format!(
            "a hard reset of `{branch}` discards changes for good: set `confirmed` if that is meant"
        )));
    }
    let option = format!("--{mode}");
    let deed = match mode {
        "soft" | "mixed" => Deed::Unstages,
        _ => Deed::brings(target.as_str(), Way::Switch),
    };
    run.git_for(&deed, &["reset", "--quiet", &option, target.as_str(), "--"])?;
    Ok(format!("HEAD is now at {} ({mode})", target.as_str()))
}

/// Returns the branch that is checked out, if one is.
pub(super) fn current_branch(run: &Run<'_>) -> Result<Option<String>, Fault> {
    let said = run.ask(&["symbolic-ref", "--quiet", "HEAD"], b"")?;
    Ok(said.output.trim_end_matches('\n').strip_prefix("refs/heads/").map(str::to_owned))
}

pub(super) fn clean(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let is_dry = arguments.flag("dryRun");
    if !is_dry && !arguments.flag("force") {
        return Err(Fault::Not(
            "nothing was deleted: set `force`, or `dryRun` to see what would go".to_owned(),
        ));
    }
    let mut words = vec!["clean", if is_dry { "--dry-run" } else { "--force" }];
    let (with_directories, with_ignored) =
        (arguments.flag("directories"), arguments.flag("ignored"));
    words.extend(with_directories.then_some("-d"));
    words.extend(with_ignored.then_some("-x"));
    let deed = match is_dry {
        true => Deed::Leaves,
        false => Deed::Cleans { with_ignored, with_directories },
    };
    run.git_for(&deed, &words).map(|said| said.all("nothing to delete"))
}

pub(super) fn stash(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let mode = arguments.text("mode").unwrap_or("list");
    let entry = arguments.text("stashRef").map(stash_entry).transpose()?;
    let entry = entry.as_deref().unwrap_or("stash@{0}");
    match mode {
        "list" => {
            let words = ["stash", "list", "--no-color"];
            run.git_for(&Deed::Leaves, &words).map(|said| said.or("nothing is put aside"))
        }
        "push" => {
            refuse_submodules(run)?;
            let message = arguments.text("message").map(|text| format!("--message={text}"));
            let mut words = vec!["stash", "push"];
            for (name, word) in
                [("includeUntracked", "--include-untracked"), ("keepIndex", "--keep-index")]
            {
                if arguments.flag(name) {
                    words.push(word);
                }
            }
            words.extend(message.as_deref());
            let deed = Deed::PutsAside { with_untracked: arguments.flag("includeUntracked") };
            run.git_for(&deed, &words).map(|said| said.all("no changes to put aside"))
        }
        "pop" | "apply" => {
            refuse_submodules(run)?;
            let words = ["stash", mode, "--quiet", entry];
            run.git_for(&Deed::BringsBack(entry), &words).map(|said| said.all("brought back"))
        }
        "drop" => {
            run.git_for(&Deed::Leaves, &["stash", "drop", entry]).map(|said| said.all("dropped"))
        }
        "clear" => {
            run.git_for(&Deed::Leaves, &["stash", "clear"]).map(|said| said.all("dropped all"))
        }
        other => Err(Fault::Not(format!("there is no mode `{other}`"))),
    }
}

/// SECURITY: here git looks into submodules by starting itself in them, with their own config, and
/// `.gitmodules` decides whether.
pub(super) fn refuse_submodules(run: &Run<'_>) -> Result<(), Fault> {
    let words = ["ls-files", "--stage", "--", "."];
    let said = run.git(&words)?;
    match said.is_cut || said.output.lines().any(|line| line.starts_with("160000 ")) {
        false => Ok(()),
        true if said.is_cut && !said.output.contains("\n160000 ") && !is_gitmodules(run)? => Ok(()),
        true => Err(Fault::Not(
            "this repository has submodules, whose own configuration git would follow here; commit \
             to a branch instead"
                .to_owned(),
        )),
    }
}

/// Returns whether there is a file that tells of submodules.
fn is_gitmodules(run: &Run<'_>) -> Result<bool, Fault> {
    super::repository::look_at(run.repository.handle(), ".gitmodules").map(|kind| kind.is_some())
}

fn stash_entry(text: &str) -> Result<String, Fault> {
    let number = text.strip_prefix("stash@{").and_then(|rest| rest.strip_suffix('}'));
    let number = number.unwrap_or(text);
    match number.len() <= 9 && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) {
        true => Ok(format!("stash@{{{number}}}")),
        false => Err(Fault::Revision {
            text: text.to_owned(),
            reason: "names nothing that was put aside; write `stash@{0}`",
        }),
    }
}
