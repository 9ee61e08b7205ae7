//! The tool `git_worktree`: further working trees of a repository, made, moved and removed by our own hand.
//!
//! ```text
//! add      the directory ─▶ the branch ─▶ its entry (`trees`) ─▶ its `.git` ─▶ git fills it, as a linked tree
//! remove   a linked tree of this repository, clean or forced ─▶ what is in it ─▶ its entry
//! ```
//!
//! Git's own command is not run: it starts git again in the tree, with the repository's own config, and
//! runs a hook. Whether a branch may be used twice is not asked; it may not.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use ic_types::CanonicalPath;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::arguments::Arguments;
use super::deed::{Deed, Way};
use super::fault::Fault;
use super::history::is_there;
use super::names::{ObjectId, RefName};
use super::private::{empty, write_new};
use super::repository::Repository;
use super::run::{Does, Run};
use super::staging::refuse_submodules;
use super::trees::{self, Tree};
use super::{Git, Told};
use crate::filesystem::{Rights, beneath, show};
use crate::tools::Caller;

/// How deep a working tree is when it is removed.
const DEPTH_MAX: usize = 256;

pub(super) fn worktree(git: &Git, arguments: Arguments<'_>, caller: Caller<'_>) -> Told {
    let mode = arguments.text("mode").unwrap_or("list");
    // Those of the judged roles of the repository.
    let needed = match mode {
        "list" => Rights::READ,
        "add" | "move" => Rights::READ.and(Rights::WRITE),
        _ => Rights::READ.and(Rights::DELETE),
    };
    let place = git.place(arguments)?;
    git.work(&place, needed, caller, |run| match mode {
        "list" => list(run),
        "add" => add(git, run, arguments),
        "remove" => remove(git, run, arguments),
        "move" => relocate(git, run, arguments),
        "prune" => prune(git, run, arguments),
        other => Err(Fault::Not(format!("there is no mode `{other}`"))),
    })
}

/// Lists the working trees of a repository, as far as its own files tell.
fn list(run: &Run<'_>) -> Told {
    let shown = |branch: Option<String>| match branch {
        Some(branch) => format!("[{}]", show::text(&branch)),
        None => "(detached HEAD)".to_owned(),
    };
    let repository = run.repository;
    let head = repository.read_common("HEAD")?.unwrap_or_default();
    let main = show::path(repository.main().as_path());
    let mut text = format!("{main}  {}", shown(trees::branch_of(&head)));
    for tree in trees::all(repository)? {
        let (place, name) = (tree.shown(), show::text(&tree.name));
        let locked = if tree.is_locked { " (locked)" } else { "" };
        let _ = write!(text, "\n{place}  {} (linked: {name}){locked}", shown(tree.branch));
    }
    Ok(text)
}

/// What a new tree begins with.
enum Start {
    /// A branch that is there.
    Branch(RefName),
    /// A new branch.
    New(RefName, ObjectId),
    /// A commit, on no branch.
    Detached(ObjectId),
}

impl Start {
    fn find(run: &Run<'_>, arguments: Arguments<'_>, place: &CanonicalPath) -> Result<Self, Fault> {
        let commitish = arguments.text("commitish");
        let commit = || ObjectId::commit(run, commitish.unwrap_or("HEAD"));
        let is_branch = |name: &RefName| is_there(run, &format!("refs/heads/{}", name.as_str()));
        match (arguments.text("branch"), arguments.flag("detach"), commitish) {
            (Some(_), true, _) => Err(Fault::Not(
                "`detach` means without a branch: leave one of the two out".to_owned(),
            )),
            (Some(branch), false, _) => {
                let name = RefName::new(branch)?;
                match (is_branch(&name)?, commitish) {
                    (true, None) => Ok(Self::Branch(name)),
                    (true, Some(_)) => Err(Fault::Not(format!(
                        "the branch `{}` is there already: leave `commitish` out, or name another",
                        name.as_str()
                    ))),
                    (false, _) => Ok(Self::New(name, commit()?)),
                }
            }
            (None, true, _) => commit().map(Self::Detached),
            (None, false, Some(text)) => match RefName::new(text) {
                Ok(name) if is_branch(&name)? => Ok(Self::Branch(name)),
                Ok(_) | Err(_) => commit().map(Self::Detached),
            },
            // As git does.
            (None, false, None) => {
                let last = place.as_path().file_name().unwrap_or_default().to_string_lossy();
                let name = RefName::new(&last)?;
                match is_branch(&name)? {
                    true => Ok(Self::Branch(name)),
                    false => Ok(Self::New(name, commit()?)),
                }
            }
        }
    }

    /// Makes the branch if need be; returns what HEAD says.
    fn head(&self, run: &Run<'_>) -> Result<String, Fault> {
        match self {
            Self::Branch(name) => Ok(format!("ref: refs/heads/{}\n", name.as_str())),
            Self::New(name, id) => {
                let (name, id) = (name.as_str(), id.as_str());
                run.git(&["branch", "--no-track", "--end-of-options", name, id])?;
                Ok(format!("ref: refs/heads/{name}\n"))
            }
            Self::Detached(id) => Ok(format!("{}\n", id.as_str())),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Branch(name) => format!("on the branch `{}`", name.as_str()),
            Self::New(name, _) => format!("on the new branch `{}`", name.as_str()),
            Self::Detached(id) => format!("at {}, on no branch", id.as_str()),
        }
    }
}

fn add(git: &Git, run: &Run<'_>, arguments: Arguments<'_>) -> Told {
    let place = place_of(git, run, arguments.needed("worktreePath")?, Rights::WRITE)?;
    let start = Start::find(run, arguments, &place)?;
    if let Start::Branch(name) = &start
        && let Some(holder) = trees::holder(run.repository, name.as_str())?
    {
        let name = name.as_str();
        return Err(Fault::Not(format!("the branch `{name}` is checked out in `{holder}`")));
    }
    let (parent, name) = parent_of(git, &place, Rights::WRITE)?;
    let made = make_empty(&parent, &name, &place)?;
    let (mut entry, mut has_head) = (None, false);
    let filled = start.head(run).and_then(|head| {
        has_head = true;
        let pointer = trees::enter(run.repository, &place, &head)?;
        let text = pointer.text();
        entry = Some(pointer);
        write_new(&made, ".git", text.as_bytes()).map_err(Fault::system("make the tree"))?;
        let repository = &Repository::open(&git.reach, &place, Rights::WRITE)?;
        let words = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        within(run, repository, Does::Change).git_for(&Deed::brings("HEAD", Way::Switch), &words)
    });
    match filled {
        Ok(_) => {
            let shown = show::path(place.as_path());
            Ok(format!("made the working tree `{shown}`, {}", start.told()))
        }
        Err(fault) => {
            // It was empty, so nothing is lost but what was begun.
            discard(&parent, &name, &made).ok();
            if let Some(pointer) = entry {
                trees::forget(run.repository, &pointer.name).ok();
            }
            // The branch too: what was refused leaves nothing, and what is approved finds no branch.
            if let (true, Start::New(name, _)) = (has_head, &start) {
                run.git(&["branch", "-D", "--end-of-options", name.as_str()]).ok();
            }
            Err(fault)
        }
    }
}

fn remove(git: &Git, run: &Run<'_>, arguments: Arguments<'_>) -> Told {
    let rights = Rights::READ.and(Rights::DELETE);
    let place = place_of(git, run, arguments.needed("worktreePath")?, rights)?;
    let (repository, tree) = find(git, run, &place)?;
    let shown = show::path(place.as_path());
    if !arguments.flag("force") {
        let words =
            ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all"];
        let said = within(run, &repository, Does::Read).git(&words)?;
        if !said.output.trim().is_empty() {
            return Err(Fault::Not(format!(
                "`{shown}` has changes that are not committed, or files that are not tracked: commit \
                 them, or set `force`, which deletes them"
            )));
        }
    }
    let entry = entry_of(git, &place, rights)?;
    // SECURITY: what was looked at is emptied, whatever has its name by now.
    let directory = beneath::open(repository.handle(), Path::new(""), LISTED, Mode::empty())
        .map_err(Fault::system("open the working tree"))?;
    discard(&entry.0, &entry.1, &directory).map_err(Fault::system("remove the working tree"))?;
    trees::forget(run.repository, &tree.name)?;
    let mut working_directory = git.working_directory();
    if working_directory.as_ref().is_some_and(|it| it.path.is_within(&place)) {
        *working_directory = None;
    }
    Ok(format!("removed the working tree `{shown}`; its branch is still there"))
}

fn relocate(git: &Git, run: &Run<'_>, arguments: Arguments<'_>) -> Told {
    let rights = Rights::READ.and(Rights::DELETE);
    let place = place_of(git, run, arguments.needed("worktreePath")?, rights)?;
    let new = place_of(git, run, arguments.needed("newPath")?, Rights::WRITE)?;
    let (_, tree) = find(git, run, &place)?;
    if new.is_within(&place) {
        return Err(Fault::Not("a working tree cannot be moved into itself".to_owned()));
    }
    let from = entry_of(git, &place, rights)?;
    let to = parent_of(git, &new, Rights::WRITE)?;
    let (shown, shown_new) = (show::path(place.as_path()), show::path(new.as_path()));
    match rustix::fs::renameat_with(&from.0, &from.1, &to.0, &to.1, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            return Err(Fault::Not(format!("`{shown_new}` is there already; nothing was moved")));
        }
        Err(errno) => return Err(Fault::system("move the working tree")(errno)),
    }
    if let Err(fault) = trees::lead_to(run.repository, &tree.name, &new) {
        rustix::fs::renameat_with(&to.0, &to.1, &from.0, &from.1, RenameFlags::NOREPLACE).ok();
        return Err(fault);
    }
    let mut working_directory = git.working_directory();
    if let Some(it) = working_directory.as_mut().filter(|it| it.path == place) {
        it.path = new;
    }
    Ok(format!("moved the working tree `{shown}` to `{shown_new}`"))
}

/// Forgets trees that are gone.
fn prune(git: &Git, run: &Run<'_>, arguments: Arguments<'_>) -> Told {
    let is_dry = arguments.flag("dryRun");
    let mut text = String::new();
    for tree in trees::all(run.repository)? {
        let is = match &tree.place {
            Some(place) => Presence::of(git, place),
            None => Presence::Unknown,
        };
        let said = match is {
            Presence::There => continue,
            Presence::Gone if tree.is_locked => "kept, since it is locked",
            Presence::Gone if is_dry => "would be forgotten",
            Presence::Gone => {
                trees::forget(run.repository, &tree.name)?;
                "forgotten"
            }
            // SECURITY: what a cage does not show looks as if it were gone.
            Presence::Unknown => "kept, since its place cannot be seen from here",
        };
        let _ = writeln!(text, "{}  (linked: {}): {said}", tree.shown(), show::text(&tree.name));
    }
    if text.is_empty() {
        text.push_str("every working tree is where it should be");
    }
    Ok(text.trim_end().to_owned())
}

/// Whether a tree is where its repository says.
enum Presence {
    There,
    Gone,
    Unknown,
}

impl Presence {
    fn of(git: &Git, place: &CanonicalPath) -> Self {
        let Ok(reached) = git.reach.at(place, Rights::NONE) else { return Self::Unknown };
        let (from, names) = reached.steps();
        let Ok(mut at) = beneath::hold_directory(from, Path::new("")) else { return Self::Unknown };
        for name in names {
            at = match beneath::hold_directory(&at, Path::new(name)) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Self::Gone,
                Err(_) => return Self::Unknown,
            };
        }
        match beneath::look_at(&at, ".git".as_ref()) {
            Ok(Some(_)) => Self::There,
            Ok(None) => Self::Gone,
            Err(_) => Self::Unknown,
        }
    }
}

/// Finds the linked tree of this repository at `place`, in which nothing else lies.
fn find(git: &Git, run: &Run<'_>, place: &CanonicalPath) -> Result<(Repository, Tree), Fault> {
    let rights = Rights::READ.and(Rights::DELETE);
    let shown = show::path(place.as_path());
    let other = || Fault::Not(format!("`{shown}` is not another working tree of this repository"));
    let main = run.repository.main();
    if main.is_within(place) {
        return Err(other());
    }
    git.reach.at(place, rights)?;
    let repository = Repository::open(&git.reach, place, Rights::READ)?;
    let link = repository.link().filter(|link| link.pointer.repository == *main);
    let name = link.map(|link| link.pointer.name.clone()).ok_or_else(other)?;
    let mut all = trees::all(run.repository)?;
    let within = |tree: &Tree| tree.place.as_ref().is_some_and(|it| it.is_within(place));
    if all.iter().any(|tree| tree.name != name && within(tree)) {
        return Err(Fault::Not(format!("another working tree lies in `{shown}`")));
    }
    if run.repository.top.is_within(place) {
        return Err(Fault::Not(
            "the call itself is made in this working tree: name the repository as `path`"
                .to_owned(),
        ));
    }
    all.retain(|tree| tree.name == name);
    let tree = all.pop().ok_or_else(other)?;
    if tree.is_locked {
        return Err(Fault::Not(format!("`{shown}` is locked; the user can unlock it")));
    }
    refuse_submodules(&self::within(run, &repository, Does::Read))?;
    Ok((repository, tree))
}

/// Runs git in another working tree.
fn within<'a>(run: &Run<'a>, repository: &'a Repository, does: Does) -> Run<'a> {
    Run { repository, does, ..*run }
}

/// Returns where a call means, from the top of its repository.
fn place_of(git: &Git, run: &Run<'_>, text: &str, needed: Rights) -> Result<CanonicalPath, Fault> {
    let full = match text.starts_with('/') {
        true => text.to_owned(),
        false => run.repository.top.as_path().join(text).to_string_lossy().into_owned(),
    };
    let place = git.reach.find_entry(&full, needed)?;
    let is_gits = |part: &std::ffi::OsStr| part.eq_ignore_ascii_case(".git");
    let is_gits = place.components().any(is_gits);
    match is_gits {
        true => Err(Fault::File { text: text.to_owned(), reason: "is part of git's own files" }),
        false => Ok(place),
    }
}

const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Holds on to the directory in which `place` is an entry, to move or remove that.
fn entry_of(
    git: &Git,
    place: &CanonicalPath,
    needed: Rights,
) -> Result<(OwnedFd, OsString), Fault> {
    if git.reach.directories().any(|(opened, _)| opened.path == *place) {
        // It was judged for this one call, and shown by itself: its name is not in there.
        return Err(Fault::Not(
            "a working tree outside of the sandbox or workspace is neither moved nor removed \
             here; the user can do that"
                .to_owned(),
        ));
    }
    let found = git.reach.place(place, needed)?;
    Ok((found.parent, found.name))
}

/// Holds on to the directory in which `place` is to be an entry; makes it, and what is above, if need be.
fn parent_of(
    git: &Git,
    place: &CanonicalPath,
    needed: Rights,
) -> Result<(OwnedFd, OsString), Fault> {
    let fault = Fault::system("make the directory for the working tree");
    let reached = git.reach.at(place, needed)?;
    let (from, names) = reached.steps();
    let mut names: Vec<OsString> = names.map(ToOwned::to_owned).collect();
    let Some(last) = names.pop() else {
        let shown = show::path(place.as_path());
        return Err(Fault::Not(format!("`{shown}` is a directory that was given to this server")));
    };
    let mut at = beneath::hold_directory(from, Path::new("")).map_err(&fault)?;
    for name in names {
        match rustix::fs::mkdirat(&at, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(fault(errno)),
        }
        at = beneath::hold_directory(&at, Path::new(&name)).map_err(&fault)?;
    }
    Ok((at, last))
}

/// Makes the directory `name`, or takes an empty one that is there.
fn make_empty(parent: &OwnedFd, name: &OsString, place: &CanonicalPath) -> Result<OwnedFd, Fault> {
    let shown = show::path(place.as_path());
    let taken = || Fault::Not(format!("`{shown}` is there already, and is not an empty directory"));
    let is_new = match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(Fault::system("make the working tree")(errno)),
    };
    let made = beneath::open(parent, Path::new(name), LISTED, Mode::empty());
    let made = made.map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP => taken(),
        errno => Fault::system("open the working tree")(errno),
    })?;
    if !is_new {
        match beneath::list(&made, Path::new(""), 1) {
            Ok((_, entries, _)) if entries.is_empty() => {}
            Ok(_) => return Err(taken()),
            Err(errno) => return Err(Fault::system("look at the directory")(errno)),
        }
    }
    Ok(made)
}

/// Removes the directory `name`, which is held on to, and what is in it.
fn discard(parent: &OwnedFd, name: &OsString, directory: &OwnedFd) -> Result<(), Errno> {
    empty(directory.as_fd(), DEPTH_MAX)?;
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}
