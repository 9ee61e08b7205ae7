//! Finds the log that is meant: a session's, by id, name or a beginning of one, or a file.

use std::path::Path;

use ic_audit::LogFiles;
use ic_home::{Environment, Home, file};
use ic_resolve::{Disk as _, RealDisk};
use ic_store::Sessions;
use ic_types::SessionId;

use crate::error::Failure;

/// A log, and the session that it should belong to.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) files: LogFiles,
    /// `None` for a file that somebody points to: then it says itself whose it is.
    pub(crate) session: Option<SessionId>,
}

const LOG: &str = "audit.jsonl";
const HEAD: &str = "audit.head";

/// Finds one log; the newest session's if none is named.
pub(crate) fn one(name: Option<&str>, environment: &Environment) -> Result<Found, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let Some(name) = name else {
        return all(&home)?.pop().ok_or_else(|| {
            Failure::config(format!("there is no audit log in `{}`", home.sessions().display()))
        });
    };
    if name.contains('/') || Path::new(name).extension().is_some_and(|ending| ending == "jsonl") {
        return Ok(of_file(environment.absolute(Path::new(name))?.as_path(), &home));
    }
    // A name of a session, or the beginning of one, stands for its id.
    let named = Sessions::of(&home).find(name).map(|session| session.id.to_string());
    let name = named.as_deref().unwrap_or(name);
    let matching = |found: &Found| {
        found.session.as_ref().is_some_and(|session| session.as_str().starts_with(name))
    };
    let mut found: Vec<Found> = all(&home)?.into_iter().filter(matching).collect();
    let exact =
        found.iter().position(|found| found.session.as_ref().is_some_and(|s| s.as_str() == name));
    match (found.len(), exact) {
        (_, Some(at)) => Ok(found.swap_remove(at)),
        (1, None) => Ok(found.swap_remove(0)),
        (0, None) => Err(Failure::config(format!(
            "no session with an audit log is called `{name}`"
        ))
        .with_hint(
            "`ironcurtain sessions list --all` shows all sessions; a file is named as in ./audit.jsonl",
        )),
        (n, None) => Err(Failure::config(format!("{n} sessions begin with `{name}`"))
            .with_hint("write more of the id")),
    }
}

/// Finds the logs of all sessions, oldest first, those of cleaned-up sessions included.
pub(crate) fn all(home: &Home) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    for directory in [home.audit(), home.sessions()] {
        for name in file::names(&directory)?.unwrap_or_default() {
            let session = name.to_str().and_then(|name| name.parse::<SessionId>().ok());
            let files = of_directory(&directory.join(&name), home);
            if session.is_some() && (is_there(&files.log) || is_there(&files.head)) {
                found.push(Found { files, session });
            }
        }
    }
    found.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(found)
}

fn of_file(path: &Path, home: &Home) -> Found {
    let directory = path.parent().unwrap_or(Path::new("/"));
    // A copy that somebody keeps elsewhere may well be older.
    let heads = path.starts_with(home.root()).then(|| home.audit_heads());
    let files = LogFiles { log: path.to_owned(), head: directory.join(HEAD), heads };
    Found { files, session: None }
}

fn of_directory(directory: &Path, home: &Home) -> LogFiles {
    let heads = Some(home.audit_heads());
    LogFiles { log: directory.join(LOG), head: directory.join(HEAD), heads }
}

/// What cannot be looked at counts as there: a log must not vanish by being hard to see.
fn is_there(path: &Path) -> bool {
    !matches!(RealDisk.look(path), Ok(None))
}
