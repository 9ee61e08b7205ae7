//! The tools about places: making a repository, and the directory that calls mean if they name none.
//!
//! A repository is made by our own hand, beneath a handle: nothing comes from a template, and a `.git`
//! that is there already is left alone.

use std::path::Path;

use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use rustix::io::Errno;

use super::arguments::Arguments;
use super::fault::Fault;
use super::names::RefName;
use super::private::write_new;
use super::repository::{Repository, hold};
use super::{Git, Place, Told, history, looking, remotes};
use crate::filesystem::{Rights, beneath, show};
use crate::tools::Caller;

/// Advice on how to finish a piece of work.
pub(super) const WRAP_UP: &str = "\
1. Look at everything that changed: `git_status`, then `git_diff`.
2. Bring documents and change log in step with it, as far as you may write them.
3. Stage what belongs together with `git_add`, and name the files.
4. Record it with `git_commit`: a short subject in the imperative, then why.
5. Check with `git_status` and `git_log` that nothing was left out.
Make a tag, and send anything to another machine, only if you were asked to.";

/// Directories of a new repository, parents first.
const DIRECTORIES: [&str; 7] =
    ["objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info"];
const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

pub(super) fn init(git: &Git, arguments: Arguments<'_>) -> Told {
    if arguments.flag("bare") {
        return Err(Fault::Not(
            "bare repositories are neither made nor used here: one that lies among other files is a \
             way to have its configuration followed"
                .to_owned(),
        ));
    }
    let Place { path, .. } = git.place(arguments)?;
    make(git, &path, arguments.text("initialBranch").unwrap_or("main"))
}

pub(super) fn make(git: &Git, path: &CanonicalPath, branch: &str) -> Told {
    let branch = RefName::new(branch)?;
    let _turn = git.lanes.enter(path);
    let held = hold(&git.reach, path, Rights::WRITE).or_else(|fault| {
        // Perhaps it is only not there yet.
        make_directory(git, path).map_err(|_| fault)?;
        hold(&git.reach, path, Rights::WRITE)
    });
    held.and_then(|(top, _)| fill(&top, path, &branch))
}

/// Checks that nothing is at `path`, or an empty directory.
pub(super) fn check_free(git: &Git, path: &CanonicalPath) -> Result<(), Fault> {
    let taken = || {
        let shown = show::path(path.as_path());
        Fault::Not(format!("`{shown}` is there already, and is not an empty directory"))
    };
    match git.reach.at(path, Rights::WRITE)?.hold_directory() {
        Ok(directory) => match beneath::list(&directory, Path::new(""), 1) {
            Ok((_, entries, _)) if entries.is_empty() => Ok(()),
            Ok(_) => Err(taken()),
            Err(errno) => Err(Fault::system("look at the directory")(errno)),
        },
        Err(_) => match git.reach.place(path, Rights::WRITE)?.look()? {
            None => Ok(()),
            Some(_) => Err(taken()),
        },
    }
}

/// Makes the directory at `path`, in one that is there.
fn make_directory(git: &Git, path: &CanonicalPath) -> Result<(), Fault> {
    let place = git.reach.place(path, Rights::WRITE)?;
    rustix::fs::mkdirat(&place.parent, &place.name, Mode::from_raw_mode(0o777))
        .map_err(Fault::system("make the directory"))
}

fn fill(top: &OwnedFd, path: &CanonicalPath, branch: &RefName) -> Told {
    let shown = show::path(path.as_path());
    let fault = Fault::system("make the repository");
    match rustix::fs::mkdirat(top, ".git", Mode::from_raw_mode(0o777)) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Fault::Not(format!("`{shown}` has a `.git` already"))),
        Err(errno) => return Err(fault(errno)),
    }
    let made = beneath::hold_directory(top, Path::new(".git")).map_err(&fault)?;
    for directory in DIRECTORIES {
        rustix::fs::mkdirat(&made, directory, Mode::from_raw_mode(0o777)).map_err(&fault)?;
    }
    write_new(&made, "config", CONFIG).map_err(&fault)?;
    // Last, since without it git does not take the directory for a repository.
    let head = format!("ref: refs/heads/{}\n", branch.as_str());
    write_new(&made, "HEAD", head.as_bytes()).map_err(&fault)?;
    Ok(format!("made an empty repository in `{shown}`, on the branch `{}`", branch.as_str()))
}

pub(super) fn set_working_directory(
    git: &Git,
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Told {
    let path = git.reach.find(arguments.needed("path")?, Rights::READ)?;
    let mut text = format!("the working directory is `{}`", show::path(path.as_path()));
    let mut bound = path.clone();
    match Repository::open(&git.reach, &path, Rights::READ) {
        Ok(repository) => bound = repository.main().clone(),
        Err(Fault::NoRepository(_)) if arguments.flag("initializeIfNotPresent") => {
            text = format!("{}\n{text}", make(git, &path, "main")?);
        }
        Err(Fault::NoRepository(_)) if !arguments.flag_unless_said("validateGitRepo") => {}
        Err(fault) => return Err(fault),
    }
    let place = Place { path, bound: Some(bound) };
    if arguments.flag("includeMetadata") {
        let told = git.work(&place, Rights::READ, caller, |run| {
            let parts: [(&str, super::Work); 3] = [
                ("Status", looking::status),
                ("Branches", history::branch),
                ("Remotes", remotes::remote),
            ];
            let empty = Arguments::none();
            let parts =
                parts.map(|(title, work)| work(run, empty).map(|it| format!("{title}:\n{it}")));
            Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.join("\n\n"))
        })?;
        text = format!("{text}\n\n{told}");
    }
    *git.working_directory() = Some(place);
    Ok(text)
}
