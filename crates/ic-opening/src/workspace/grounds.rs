//! Where agents were free in earlier sessions, and whether a workspace is named through a link there.
//!
//! Such a link may be an agent's, or that of a server that could write there, and then the agent chooses what
//! the next session is free in. Remembered in `grounds.json` of the home; links elsewhere are the user's own
//! and are followed as ever.

use std::collections::BTreeSet;

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
        match found.links.iter().find_map(|link| Some((link, grounds.holding(link, home)?))) {
            None => Ok(found.path),
            Some((link, ground)) => Err(Fault::request(format!(
                "`{}` leads to `{}` through the link `{link}`, and an agent of an earlier session \
                 may have made that link: it could write in `{ground}`",
                named.as_path().display(),
                found.path
            ))
            .with_hint(
                "name the directory itself if it is the one you mean; else remove the link",
            )),
        }
    }

    /// Remembers directories in which the agent of a session may write.
    pub(crate) fn remember<'a>(
        written: impl Iterator<Item = &'a CanonicalPath> + Clone,
        home: &Home,
    ) -> Result<(), Fault> {
        let is_known = |grounds: &Self, it: &CanonicalPath| grounds.holding(it, home).is_some();
        let known = Self::read(home)?;
        if written.clone().all(|it| it.parent().is_none() || is_known(&known, it)) {
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
            return Ok(Self { version: VERSION, directories: BTreeSet::new() });
        };
        let unusable = || {
            Fault::config(format!("`{}` cannot be read", home.grounds().display())).with_hint(
                "it lists where agents of earlier sessions could write; remove it only if no link in \
                 those directories is theirs",
            )
        };
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|error| unusable().with_source(error))?;
        if read.version == VERSION { Ok(read) } else { Err(unusable()) }
    }
}
