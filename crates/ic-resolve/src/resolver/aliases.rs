//! Links in a workspace whose names the host acts on: who changes what they lead to changes them.
//!
//! Each directory is searched once a call, however many values lie in it. Nothing is decided here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ic_policy::host_executes::{LISTED_NAMES, ListedName};
use ic_policy::{PathValue, Reach};
use ic_types::CanonicalPath;

use super::Resolving;
use crate::disk::Kind;
use crate::path::{self, Found, Last};

/// How many entries of a directory are listed at once, rather than asked for by name.
const LISTED_MAX: usize = 512;

/// The listed names that are links, or lead through one, by the directory that they are in.
pub(super) type Aliases = RefCell<HashMap<PathBuf, Rc<[Alias]>>>;

/// A listed name that leads through a link.
pub(super) struct Alias {
    reach: Reach,
    found: Found,
}

impl Resolving<'_> {
    /// Notes the listed names that are links and lead to `value`.
    ///
    /// Looks beside the value and above it, in the workspace or the home directory, and at the top of
    /// the workspace for a value outside; a link elsewhere is not found.
    pub(super) fn find_aliases(&self, value: &mut PathValue) {
        let workspace = self.sandbox.map(|it| &it.path).filter(|it| !self.is_exempt(it));
        let above = || value.path.as_path().ancestors().skip(1);
        let mut also = Vec::new();
        let mut note = |directory: &Path| {
            let aliases = self.aliases_in(directory);
            let leading = aliases.iter().filter(|alias| alias.leads_to(&value.path));
            also.extend(leading.flat_map(|alias| alias.found.links.iter().cloned()));
        };
        match workspace.map(CanonicalPath::as_path) {
            Some(top) if value.path.as_path().starts_with(top) => {
                above().take_while(|path| path.starts_with(top)).for_each(note);
            }
            top => {
                top.into_iter().for_each(&mut note);
                let home = self.home.as_path();
                above().take_while(|it| it.starts_with(home) && *it != home).for_each(note);
            }
        }
        value.also.extend(also);
    }

    fn aliases_in(&self, directory: &Path) -> Rc<[Alias]> {
        if let Some(known) = self.aliases.borrow().get(directory) {
            return Rc::clone(known);
        }
        let found: Rc<[Alias]> = match CanonicalPath::new(directory) {
            Ok(path) => self.search(&path).into(),
            Err(_) => Rc::new([]),
        };
        self.aliases.borrow_mut().insert(directory.to_owned(), Rc::clone(&found));
        found
    }

    fn search(&self, directory: &CanonicalPath) -> Vec<Alias> {
        let is_there = self.entries_by_name(directory);
        let mut aliases = Vec::new();
        for name in LISTED_NAMES.iter().filter(|name| is_there(name)) {
            let relative = name.components.join("/");
            let found = path::walk(self.disk, directory.clone(), relative.as_ref(), Last::Follow);
            if let Ok(found) = found
                && !found.links.is_empty()
            {
                aliases.push(Alias { reach: name.reach, found });
            }
        }
        aliases
    }

    /// Returns what tells whether a listed name may be, or lead through, a link in `directory`.
    ///
    /// One look at a directory of ordinary size spares a look for each name.
    fn entries_by_name(&self, directory: &CanonicalPath) -> impl Fn(&ListedName) -> bool + use<> {
        let entries = self.disk.list(directory.as_path(), LISTED_MAX);
        let names: Option<Vec<OsString>> = match entries {
            Ok(entries) if entries.len() < LISTED_MAX => {
                let rest = entries.into_iter().filter(|(_, kind)| *kind != Kind::File);
                Some(rest.map(|(name, _)| name).collect())
            }
            // Too many to list, or none that we may see: each name has to be asked for.
            Ok(_) | Err(_) => None,
        };
        move |name| match (&names, name.components.first()) {
            (Some(names), Some(first)) => names.iter().any(|name| name == *first),
            (None, _) | (_, None) => true,
        }
    }
}

impl Alias {
    fn leads_to(&self, path: &CanonicalPath) -> bool {
        let leads_here = match self.reach {
            Reach::Itself => *path == self.found.path,
            Reach::Beneath => path.is_within(&self.found.path),
        };
        // A link between the name and its target is as good as either, and so is a directory that is left
        // again on the way: in its place, a link leads elsewhere.
        leads_here || self.found.links.contains(path) || self.found.passed.contains(path)
    }
}
