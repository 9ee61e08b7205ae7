//! The git server: the git program in repositories within a [`View`], never with the agent's rules.
//!
//! ```text
//! call ─▶ arguments ─▶ reach: in the view, with the rights ─▶ repository: config read and checked by us
//!                                                               │
//!          names: objects, branches, files as types ─▶ run: git with a config of ours (`private`)
//! ```
//!
//! What may be touched was decided by whoever made the view. A repository's own config is never read
//! by git, nothing in it runs, and nothing is searched above the path that a call names.
//!
//! ```text
//! call ─▶ judged: the one URL ─▶ quarantine: a repository of ours ─▶ transfer: git and the remote
//!                                                                      │ ▲ aid: what is lent for it
//!         refs: names made by us ◀─ packs that git has checked ◀───────┘
//! ```
//!
//! Another machine is reached only for a caller that says which URLs were judged, and lends what it
//! takes to be let in; there is no such thing in here.

mod aid;
mod alike;
mod arguments;
mod aside;
mod carried;
mod catalog;
mod clone;
mod closed;
mod committed;
mod config;
mod deed;
mod fault;
mod fetch;
mod followed;
mod forks;
mod history;
mod incoming;
mod judged;
mod kept;
mod linked;
mod looking;
mod message;
mod moved;
mod names;
mod past;
mod places;
mod preview;
mod private;
mod push;
mod quarantine;
mod refs;
mod rehearsal;
mod remotes;
mod replaced;
mod repository;
mod ruled;
mod run;
mod sequence;
mod settings;
mod ssh;
mod staged;
mod staging;
mod strays;
mod system;
mod takeover;
mod transfer;
mod trees;
mod trouble;
mod understood;
mod underway;
mod worktree;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ic_confine::FindError;
use ic_schema::Schema;
use ic_types::{CanonicalPath, Json, Object};
use rustix::io::Errno;

use crate::filesystem::lanes::Lanes;
use crate::filesystem::reach::Reach;
use crate::filesystem::{Rights, View, beneath, show};
use crate::tools::{Caller, Tool, ToolResult, Tools, UnknownTool};
pub use aid::{AGENT_BYTES_MAX, AID_METHOD, Aid, JudgedRef, Lent};
use arguments::Arguments;
pub use catalog::tools;
pub use committed::Committed;
use fault::Fault;
use incoming::Incoming;
pub use incoming::{INCOMING, PACK_BYTES_MAX};
pub use judged::user as user_of;
use past::Past;
pub use preview::PREVIEW_METHOD;
use private::Scratch;
use repository::Repository;
use run::{Does, Program, Run};
pub use system::system_configs;
pub use takeover::TAKEOVER;
use takeover::Terms;

/// The git server.
#[derive(Debug)]
pub struct Git {
    reach: Reach,
    lanes: Lanes,
    program: Program,
    scratch: Scratch,
    past: Past,
    schemas: BTreeMap<&'static str, Schema>,
    /// Where calls are made that name no path.
    working_directory: Mutex<Option<Place>>,
}

/// The server cannot work on this machine.
#[derive(Debug, thiserror::Error)]
pub enum OpenGitError {
    /// There is no git.
    #[error("git is needed")]
    NoGit(#[source] FindError),
    /// There is no place for files of a moment.
    #[error("cannot make a directory for git")]
    Scratch(#[source] io::Error),
    /// The system cannot open files beneath a directory, which everything here rests on.
    #[error("this system does not let us open files beneath a directory (openat2)")]
    Unsupported(#[source] io::Error),
    /// A tool has a schema that cannot be used.
    #[error("the schema of `{0}` cannot be used")]
    Schema(&'static str),
}

/// The directory that a call is about.
#[derive(Clone, Debug)]
struct Place {
    path: CanonicalPath,
    /// The one repository that a linked working tree there may belong to; any, if there is none.
    ///
    /// SECURITY: a call that names no path was not judged about the repository behind it. What counts
    /// is what was there when the directory was set, or no linked tree at all.
    bound: Option<CanonicalPath>,
}

/// What came of a tool.
type Told = Result<String, Fault>;

/// A tool that works in a repository.
type Work = fn(&Run<'_>, Arguments<'_>) -> Told;

/// A tool that works in a repository and with another machine.
type Far = fn(&Run<'_>, &Reaching<'_>, Arguments<'_>) -> Told;

/// What a call has that reaches another machine: whoever lends it the means.
#[derive(Clone, Copy, Debug)]
struct Reaching<'a> {
    caller: Caller<'a>,
}

impl Reaching<'_> {
    /// Returns the URLs that the call was judged about.
    fn judged(&self) -> Result<Vec<String>, Fault> {
        Self::urls(aid::ask(self.caller, &Aid::Judged)?.urls)
    }

    /// Returns the URLs and the refs that a push was judged about.
    fn judged_push(&self) -> Result<(Vec<String>, Vec<JudgedRef>), Fault> {
        let Lent { urls, refs, no_refs, .. } = aid::ask(self.caller, &Aid::Judged)?;
        let urls = Self::urls(urls)?;
        match refs.is_empty() {
            false => Ok((urls, refs)),
            // SECURITY: what nobody could look at is not sent.
            true => Err(Fault::Not(format!(
                "what would be sent could not be told beforehand, so nothing was: {}",
                show::text(&no_refs.unwrap_or_else(|| "the call names no repository".to_owned()))
            ))),
        }
    }

    fn urls(urls: Vec<String>) -> Result<Vec<String>, Fault> {
        match urls.is_empty() {
            false => Ok(urls),
            true => Err(Fault::Not(
                "no remote was judged for this call: name the repository as `path`, and a remote \
                 that it has"
                    .to_owned(),
            )),
        }
    }
}

impl Git {
    /// Opens the directories of `view`, once and for all; `temporary` is where files of a moment go.
    ///
    /// A directory that is not there is no error: nothing is reached through it.
    pub fn open(view: &View, temporary: &Path) -> Result<Self, OpenGitError> {
        if let Err(error @ (Errno::NOSYS | Errno::PERM)) = beneath::hold_root(Path::new("/")) {
            return Err(OpenGitError::Unsupported(error.into()));
        }
        let mut schemas = BTreeMap::new();
        for tool in tools() {
            let schema = Schema::compile(&Json::Object(tool.input_schema))
                .map_err(|_| OpenGitError::Schema(tool.name))?;
            schemas.insert(tool.name, schema);
        }
        Ok(Self {
            reach: Reach::open(view),
            lanes: Lanes::new(),
            program: Program::find().map_err(OpenGitError::NoGit)?,
            scratch: Scratch::make(temporary)
                .map_err(|errno| OpenGitError::Scratch(errno.into()))?,
            past: Past::default(),
            schemas,
            working_directory: Mutex::new(None),
        })
    }

    fn make(&self, tool: &str, arguments: &Object, caller: Caller<'_>) -> Option<Told> {
        if tool == PREVIEW_METHOD {
            return Some(preview::preview(self, arguments, caller));
        }
        let arguments = match Arguments::new(self.schemas.get(tool)?, arguments) {
            Ok(arguments) => arguments,
            Err(fault) => return Some(Err(fault)),
        };
        Some(match tool {
            "git_clone" => clone::clone(self, &Reaching { caller }, arguments),
            "git_fetch" => self.reach(arguments, caller, fetch::fetch),
            "git_pull" => self.reach(arguments, caller, fetch::pull),
            "git_push" => self.reach(arguments, caller, push::push),
            "git_wrapup_instructions" => Ok(places::WRAP_UP.to_owned()),
            "git_clear_working_dir" => {
                *self.working_directory() = None;
                Ok("the working directory is forgotten".to_owned())
            }
            "git_set_working_dir" => places::set_working_directory(self, arguments, caller),
            "git_init" => places::init(self, arguments),
            "git_worktree" => worktree::worktree(self, arguments, caller),
            "git_commit" if let Some(incoming) = Incoming::of(caller) => incoming.and_then(|it| {
                let needed = Rights::READ.and(Rights::WRITE);
                self.work(&self.place(arguments)?, needed, caller, |run| {
                    incoming::take_over(run, &it)
                })
            }),
            tool => {
                let (work, needed) = work(tool, arguments)?;
                self.place(arguments)
                    .and_then(|place| self.work(&place, needed, caller, |run| work(run, arguments)))
            }
        })
    }

    /// Works in a repository and with another machine.
    fn reach(&self, arguments: Arguments<'_>, caller: Caller<'_>, work: Far) -> Told {
        let reaching = Reaching { caller };
        // Before anything is looked at: without a lender there is no way to go anywhere.
        reaching.judged()?;
        let place = self.place(arguments)?;
        let needed = Rights::READ.and(Rights::WRITE);
        self.work(&place, needed, caller, |run| work(run, &reaching, arguments))
    }

    /// Works in the repository at a place.
    fn work(
        &self,
        Place { path, bound }: &Place,
        needed: Rights,
        caller: Caller<'_>,
        work: impl FnOnce(&Run<'_>) -> Told,
    ) -> Told {
        let does = if needed == Rights::READ { Does::Read } else { Does::Change };
        // Whoever changes a repository does so alone, as far as this server goes.
        let _turn = match does {
            Does::Read => None,
            Does::Change => self.lanes.enter(&linked::changed_with(&self.reach, path)),
        };
        let repository = &Repository::open(&self.reach, path, needed)?;
        let is_bound = |main: &CanonicalPath| bound.as_ref().is_none_or(|it| it == main);
        if repository.link().is_some() && !is_bound(repository.main()) {
            return Err(Fault::Not(format!(
                "the working directory `{}` belongs to another repository by now: name it as `path`",
                show::path(path.as_path())
            )));
        }
        let (program, scratch, cancel) = (&self.program, &self.scratch, caller.cancel());
        let terms = Terms::of(caller);
        let (terms, past) = (terms.as_ref(), &self.past);
        work(&Run { program, scratch, past, repository, cancel, does, terms })
    }

    /// Returns the directory that a call is about.
    fn place(&self, arguments: Arguments<'_>) -> Result<Place, Fault> {
        if let Some(text) = arguments.text("path").filter(|text| *text != ".") {
            return Ok(Place { path: self.reach.find(text, Rights::NONE)?, bound: None });
        }
        if let Some(place) = &*self.working_directory() {
            return Ok(place.clone());
        }
        let first = self.reach.directories().next();
        let path = first
            .map(|(opened, _)| opened.path.clone())
            .ok_or_else(|| Fault::Not("no working directory is set: name a `path`".to_owned()))?;
        Ok(Place { bound: Some(path.clone()), path })
    }

    fn working_directory(&self) -> std::sync::MutexGuard<'_, Option<Place>> {
        self.working_directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where the git program is that the server runs.
pub fn find_git() -> Result<PathBuf, FindError> {
    Program::find().map(Program::into_file)
}

/// Returns whether a tool reaches another machine.
pub fn reaches_out(tool: &str) -> bool {
    matches!(tool, "git_clone" | "git_fetch" | "git_pull" | "git_push")
}

/// Returns what a tool does in a repository, and which rights that takes: those of its judged roles.
fn work(tool: &str, arguments: Arguments<'_>) -> Option<(Work, Rights)> {
    const READ: Rights = Rights::READ;
    const CHANGE: Rights = Rights::READ.and(Rights::WRITE);
    const DROP: Rights = Rights::READ.and(Rights::DELETE);
    let mode = |name: &str| arguments.text(name);
    let forced = |rights: Rights| match arguments.flag("force") {
        true => rights.and(Rights::DELETE),
        false => rights,
    };
    let mode_of = |name: &str, reads: &[&str], drops: &[&str]| match mode(name) {
        None => READ,
        Some(mode) if reads.contains(&mode) => READ,
        Some(mode) if drops.contains(&mode) => DROP,
        Some(_) => forced(CHANGE),
    };
    Some(match tool {
        "git_status" => (looking::status, READ),
        "git_diff" => (looking::diff, READ),
        "git_log" => (looking::log, READ),
        "git_show" => (looking::show, READ),
        "git_blame" => (looking::blame, READ),
        "git_reflog" => (looking::reflog, READ),
        "git_changelog_analyze" => (looking::changelog, READ),
        "git_add" => (staging::add, CHANGE),
        "git_commit" => (staging::commit, CHANGE),
        "git_reset" => (staging::reset, CHANGE),
        "git_clean" if arguments.flag("dryRun") => (staging::clean, READ),
        "git_clean" => (staging::clean, DROP),
        "git_stash" => (staging::stash, mode_of("mode", &["list"], &["drop", "clear"])),
        "git_branch" => {
            (history::branch, mode_of("operation", &["list", "show-current"], &["delete"]))
        }
        "git_tag" => (history::tag, mode_of("mode", &["list"], &["delete"])),
        "git_checkout" => (history::checkout, CHANGE),
        "git_merge" => (history::merge, CHANGE),
        "git_cherry_pick" => (history::cherry_pick, CHANGE),
        "git_rebase" => (history::rebase, CHANGE),
        "git_remote" => (remotes::remote, mode_of("mode", &["list", "get-url"], &["remove"])),
        _ => return None,
    })
}

impl Tools for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn list(&self) -> Vec<Tool> {
        tools()
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool> {
        Ok(match self.make(tool, arguments, caller).ok_or(UnknownTool)? {
            Ok(text) => ToolResult::text(text),
            Err(Fault::Takeover(takeover)) => {
                ToolResult::failed(Fault::TAKEOVER).with_structured(takeover.to_json())
            }
            Err(fault) => ToolResult::failed(fault.to_string()),
        })
    }
}
