//! Where the agent works if nothing says so: here, or in an empty sandbox.
//!
//! Asked at a terminal, in a git working tree, and said in any other directory that is not empty; an *always* is remembered in `workspaces.json` of the home.
//! What the agent may do there is judged call by call, as ever.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ic_home::{Environment, Home, Lock, file};
use ic_opening::workspace::check_directory;
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::CanonicalPath;
use rustix::fs::{Dir, DirEntry, Mode, OFlags};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::error::Failure;
use crate::screen::{Screen, visible};
use crate::terminal::{Choice, Paint, Tty, choose_one};

/// The longest file of remembered places.
const BYTES_MAX: u64 = 4 << 20;
const VERSION: u32 = 1;

/// Where the agent is to work.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Chosen {
    /// In this directory of the user's.
    Here(PathBuf),
    /// In a new directory that is made for the session.
    Sandbox,
    /// Nowhere.
    Cancelled,
}

/// Where we were started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ground {
    /// In a git working tree.
    GitTree,
    /// In another directory that is not empty.
    Plain,
}

/// What is said where nobody is asked.
const ELSEWHERE: &str =
    "working in an empty sandbox, not in this directory; `--workspace .` works here";

/// What was said once and for all of a directory.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Always {
    Here,
    Sandbox,
}

/// The file of remembered places.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Remembered {
    version: u32,
    always: BTreeMap<String, Always>,
}

/// Finds out where the agent is to work, and asks if there is somebody to be asked.
pub(super) fn choose(
    is_scripted: bool,
    environment: &Environment,
    runtime: &Runtime,
    screen: &mut Screen,
) -> Result<Chosen, Failure> {
    let Some((directory, ground)) = ground(environment) else { return Ok(Chosen::Sandbox) };
    if ground == Ground::Plain {
        screen.notice(ELSEWHERE);
        return Ok(Chosen::Sandbox);
    }
    // What waits for keys is made within the runtime.
    let terminal = runtime.block_on(async { Tty::find() }).filter(|_| !is_scripted);
    let Some(terminal) = terminal else {
        screen.notice(ELSEWHERE);
        return Ok(Chosen::Sandbox);
    };
    let home = Home::new(environment.ironcurtain_home()?);
    let place = directory.as_path().display().to_string();
    if let Some(always) = Remembered::read(&home)?.always.get(&place) {
        let (what, chosen) = match always {
            Always::Here => ("here", Chosen::Here(directory.as_path().to_owned())),
            Always::Sandbox => ("in an empty sandbox", Chosen::Sandbox),
        };
        screen.notice(&format!(
            "working {what}, as you chose for {} (in {})",
            visible(&place),
            home.workspaces().display()
        ));
        return Ok(chosen);
    }
    let paint = Paint::of_stderr(environment);
    let draws = terminal.takes_keys(environment);
    let asking = choose_one(question(&place), terminal, draws, paint, screen);
    let (always, chosen) = match runtime.block_on(asking)? {
        Some('h') => (None, Chosen::Here(directory.as_path().to_owned())),
        Some('s') => (None, Chosen::Sandbox),
        Some('H') => (Some(Always::Here), Chosen::Here(directory.as_path().to_owned())),
        Some('S') => (Some(Always::Sandbox), Chosen::Sandbox),
        Some(_) | None => return Ok(Chosen::Cancelled),
    };
    if let Some(always) = always {
        home.prepare()?;
        Remembered::keep(&home, place, always)?;
    }
    Ok(chosen)
}

fn question(place: &str) -> Choice {
    let lines = [
        format!("This is a git working tree: {}", visible(place)),
        "Where should the agent work?".to_owned(),
        "  h  here: it reads and changes files in this directory, under the policy".to_owned(),
        "  s  in an empty sandbox, which is made for the session".to_owned(),
        "  H  always here        S  always in a sandbox, when you start in this directory"
            .to_owned(),
    ];
    let keys = [('h', "here"), ('s', "sandbox"), ('H', "always here"), ('S', "always a sandbox")];
    Choice { lines: lines.to_vec(), keys: keys.to_vec() }
}

/// Returns the directory in which we were started, if there is something in it and an agent may be free in it.
fn ground(environment: &Environment) -> Option<(CanonicalPath, Ground)> {
    let written = environment.absolute_as_typed(Path::new(".")).ok()?;
    let directory = path::follow(&RealDisk, &written, Last::Follow).ok()?.path;
    let is_git = |directory: &Path| rustix::fs::lstat(directory.join(".git")).is_ok();
    let ground = match directory.as_path().ancestors().any(is_git) {
        true => Ground::GitTree,
        false if is_empty(&directory) => return None,
        false => Ground::Plain,
    };
    check_directory("workspace", &written, environment).is_ok().then_some((directory, ground))
}

/// Returns the directory in which we were started, which a person has chosen.
pub(super) fn directory(environment: &Environment) -> Result<PathBuf, Failure> {
    let none = || Failure::environment("the directory in which to work is gone");
    ground(environment).map(|(directory, _)| directory.as_path().to_owned()).ok_or_else(none)
}

/// Returns whether nothing is in a directory, as far as that can be seen.
fn is_empty(directory: &CanonicalPath) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory.as_path(), flags, Mode::empty());
    let Ok(entries) = opened.and_then(|it| Dir::read_from(&it)) else { return true };
    let is_name = |it: &DirEntry| !matches!(it.file_name().to_bytes(), b"." | b"..");
    !entries.map_while(Result::ok).any(|it| is_name(&it))
}

impl Remembered {
    fn read(home: &Home) -> Result<Self, Failure> {
        let Some(bytes) = file::read_own(home.workspaces(), BYTES_MAX)? else {
            return Ok(Self { version: VERSION, ..Self::default() });
        };
        let unusable = || {
            Failure::config(format!("`{}` cannot be read", home.workspaces().display()))
                .with_hint("remove the file; you are asked again then")
        };
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|error| unusable().with_source(error))?;
        if read.version == VERSION { Ok(read) } else { Err(unusable()) }
    }

    fn keep(home: &Home, place: String, always: Always) -> Result<(), Failure> {
        let _lock = Lock::acquire(home.workspaces_lock())?;
        let mut remembered = Self::read(home)?;
        remembered.always.insert(place, always);
        let text = serde_json::to_vec_pretty(&remembered).map_err(|error| {
            Failure::environment("cannot remember where to work").with_source(error)
        })?;
        Ok(file::replace(home.workspaces(), &text)?)
    }
}
