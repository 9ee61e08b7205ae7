//! Where agents were free in earlier sessions, and whether a workspace is named through a link there.
//!
//! Such a link may be an agent's, or that of a server that could write there, and then the agent chooses what
//! the next session is free in. Remembered in `grounds.json` of the home. A link can be carried along, too, by
//! `mv`, `cp -a` or `git clone`, also out of the sandbox of a session, and nobody can tell where it came from: so
//! after the first session only links of the system are followed. What we are told to run or to obey must not lie
//! in such a place either.

use std::collections::BTreeSet;
use std::path::Path;

use ic_home::{Home, Lock, file};
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::{AbsolutePath, CanonicalPath};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The longest file of remembered directories.
const BYTES_MAX: u64 = 4 << 20;
const VERSION: u32 = 1;

/// The directories in which agents could write.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grounds {
    version: u32,
    directories: BTreeSet<String>,
    /// Whether there was a session before.
    #[serde(skip)]
    is_remembered: bool,
}

impl Grounds {
    /// Returns where `named` leads, unless a link decides that which an agent may have made.
    pub(crate) fn lead(named: &AbsolutePath, home: &Home) -> Result<CanonicalPath, Fault> {
        let found = path::follow(&RealDisk, named, Last::Follow).map_err(|fault| {
            Fault::machine(format!("cannot resolve `{}`", named.as_path().display()))
                .with_source(fault)
        })?;
        if found.links.is_empty() {
            return Ok(found.path);
        }
        let grounds = Self::read(home)?;
        match found.links.iter().find_map(|link| Some((link, grounds.suspicion(link, home)?))) {
            None => Ok(found.path),
            Some((link, suspicion)) => Err(Fault::request(format!(
                "`{}` leads to `{}` through the link `{link}`, and an agent of an earlier session \
                 may have made that link: {suspicion}",
                named.as_path().display(),
                found.path
            ))
            .with_hint(
                "name the directory itself if it is the one you mean; else remove the link",
            )),
        }
    }

    /// Says why an agent may have made a link, if it may.
    fn suspicion(&self, link: &CanonicalPath, home: &Home) -> Option<String> {
        if let Some(ground) = self.holding(link, home) {
            return Some(format!("it could write in `{ground}`"));
        }
        // SECURITY: a link is carried along when its directory is moved, copied or cloned.
        let is_any = self.is_remembered && !is_system_s(link);
        is_any.then(|| "links move along when you move, copy or clone a directory".to_owned())
    }

    /// Remembers directories in which the agent of a session may write.
    pub(crate) fn remember<'a>(
        written: impl Iterator<Item = &'a CanonicalPath> + Clone,
        home: &Home,
    ) -> Result<(), Fault> {
        let is_known = |grounds: &Self, it: &CanonicalPath| grounds.holding(it, home).is_some();
        let known = Self::read(home)?;
        let is_new = |it: &CanonicalPath| it.parent().is_some() && !is_known(&known, it);
        if known.is_remembered && !written.clone().any(is_new) {
            return Ok(());
        }
        let _lock = Lock::acquire(home.grounds_lock())?;
        let mut grounds = Self::read(home)?;
        for directory in written {
            // With a rule for the whole machine no link opens more than the rule does.
            if directory.parent().is_some() && !is_known(&grounds, directory) {
                grounds.directories.insert(directory.to_string());
            }
        }
        let text = serde_json::to_vec_pretty(&grounds).map_err(|error| {
            Fault::machine("cannot remember where the agent may write").with_source(error)
        })?;
        Ok(file::replace(home.grounds(), &text)?)
    }

    /// Returns the directories of the user's in which agents of earlier sessions could write.
    pub(crate) fn directories(home: &Home) -> Result<Vec<CanonicalPath>, Fault> {
        let known = Self::read(home)?.directories;
        Ok(known.iter().filter_map(|it| CanonicalPath::new(it).ok()).collect())
    }

    /// Refuses orders for us that an agent of an earlier session may have written.
    pub(crate) fn refuse(what: &str, path: &AbsolutePath, home: &Home) -> Result<(), Fault> {
        let grounds = Self::read(home)?;
        let found = path::follow(&RealDisk, path, Last::Follow).map_err(|fault| {
            Fault::machine(format!("cannot resolve `{}`", path.as_path().display()))
                .with_source(fault)
        })?;
        let names = found.links.iter().chain(std::iter::once(&found.path));
        // What lies in our own home is protected in every session.
        let outside = names.into_iter().filter(|it| !it.as_path().starts_with(home.root()));
        match outside.into_iter().find_map(|it| grounds.holding(it, home)) {
            None => Ok(()),
            Some(ground) => Err(Fault::config(format!(
                "the {what} `{}` lies in `{ground}`, where an agent of an earlier session could change it",
                path.as_path().display()
            ))
            .with_hint("look at it, and keep a copy of it elsewhere")),
        }
    }

    /// Returns the place that holds `path`, if agents could write there.
    fn holding(&self, path: &CanonicalPath, home: &Home) -> Option<String> {
        // Sandboxes of sessions lie in our home.
        if path.as_path().starts_with(home.root()) {
            return Some(home.root().display().to_string());
        }
        path.as_path().ancestors().find_map(|it| {
            let directory = it.to_str()?;
            self.directories.contains(directory).then(|| directory.to_owned())
        })
    }

    fn read(home: &Home) -> Result<Self, Fault> {
        let Some(bytes) = file::read_own(home.grounds(), BYTES_MAX)? else {
            let directories = BTreeSet::new();
            return Ok(Self { version: VERSION, directories, is_remembered: false });
        };
        let unusable = || {
            Fault::config(format!("`{}` cannot be read", home.grounds().display())).with_hint(
                "it lists where agents of earlier sessions could write; remove it only if no link in \
                 those directories is theirs",
            )
        };
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|error| unusable().with_source(error))?;
        let read = Self { is_remembered: true, ..read };
        if read.version == VERSION { Ok(read) } else { Err(unusable()) }
    }
}

/// Returns whether a link is one of the system's, which nobody but its administrator can have made.
fn is_system_s(link: &CanonicalPath) -> bool {
    let uid = rustix::process::geteuid().as_raw();
    let parent = link.parent().unwrap_or_else(CanonicalPath::root);
    let at = |path: &CanonicalPath| rustix::fs::lstat(path.as_path()).ok();
    match (at(link), at(&parent)) {
        (Some(link), Some(parent_stat)) => Owned {
            uid,
            link_uid: link.st_uid,
            parent_uid: parent_stat.st_uid,
            parent_mode: parent_stat.st_mode,
            is_in_system: SYSTEM.iter().any(|it| parent.as_path() == Path::new(it)),
        }
        .is_system_s(),
        _ => false,
    }
}

/// Where systems have links of their own, such as `/var/run`.
const SYSTEM: [&str; 4] = ["/", "/usr", "/var", "/private/var"];

/// Whose a link is, and the directory in which it lies.
#[derive(Clone, Copy)]
struct Owned {
    /// Who we are.
    uid: u32,
    link_uid: u32,
    parent_uid: u32,
    parent_mode: u32,
    /// Whether the directory is one of the system's.
    is_in_system: bool,
}

impl Owned {
    fn is_system_s(self) -> bool {
        let is_closed = self.parent_uid == 0 && self.parent_mode & 0o022 == 0;
        match self.uid {
            // What the administrator has made, a session of the administrator's may have made.
            0 => self.is_in_system && is_closed,
            _ => self.link_uid == 0 || is_closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_that_no_agent_can_have_made_are_the_system_s() {
        let of_user =
            Owned { uid: 7, link_uid: 7, parent_uid: 7, parent_mode: 0o40755, is_in_system: false };
        let cases = [
            (of_user, false),
            (Owned { link_uid: 0, ..of_user }, true),
            (Owned { parent_uid: 0, ..of_user }, true),
            (Owned { parent_uid: 0, parent_mode: 0o41777, ..of_user }, false),
            (Owned { parent_uid: 0, parent_mode: 0o40775, ..of_user }, false),
            (Owned { link_uid: 8, ..of_user }, false),
            (Owned { uid: 0, link_uid: 0, parent_uid: 0, ..of_user }, false),
            (Owned { uid: 0, link_uid: 0, parent_uid: 0, is_in_system: true, ..of_user }, true),
            (Owned { uid: 0, link_uid: 0, is_in_system: true, ..of_user }, false),
        ];
        for (nth, (owned, expected)) in cases.into_iter().enumerate() {
            assert_eq!(owned.is_system_s(), expected, "case {nth}");
        }
    }
}
