//! What the files at one path say, in any commit and in any index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ic_resolve::executes::{Texts, Wanted};
use ic_types::CanonicalPath;

use super::asked::{Asked, Trouble};
use super::id::Id;
use super::objects::{Entries, Is, Lengths, Objects, for_each};

/// How many texts there may be at one path.
const TEXTS_MAX: usize = 4096;
/// How many bytes of them.
const BYTES_MAX: usize = 64 << 20;
/// How many files of one directory are looked at.
const NAMES_MAX: usize = 4096;

const FOLLOWED: [&str; 4] =
    ["cat-file", "--buffer", "--follow-symlinks", "--batch-check=%(objecttype) %(objectname)"];

/// What is known of one path.
#[derive(Debug, Default)]
pub(super) struct At {
    /// Which state of the repository it is told of.
    state: Option<u64>,
    era: u64,
    /// How many roots were looked at.
    n_roots: usize,
    /// Files by their names in the directory; the one at the path itself has none.
    files: BTreeSet<(Vec<u8>, Id)>,
    /// Directories that were looked into.
    directories: HashSet<Id>,
    /// Files of the directory that are links somewhere, and how many roots were looked at for each.
    links: BTreeMap<Vec<u8>, usize>,
    texts: HashMap<Id, Vec<u8>>,
    is_whole: bool,
    found: Option<Arc<Texts>>,
}

impl At {
    /// Returns whether this state of the repository was read.
    pub(super) fn is_of(&self, state: u64) -> bool {
        self.state == Some(state)
    }

    /// Returns what was found; nothing if there is too much to read.
    pub(super) fn found(&self) -> Option<Arc<Texts>> {
        self.found.clone()
    }

    /// Remembers that there is too much to read.
    pub(super) fn too_much(state: u64) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// Reads what came since.
    pub(super) fn read(
        &mut self,
        asked: &Asked<'_>,
        (objects, parts): (&Objects, &[&CanonicalPath]),
        (wanted, state): (&Wanted, u64),
    ) -> Result<(), Trouble> {
        if self.era != objects.era || self.found.is_none() {
            *self = Self { era: objects.era, is_whole: true, ..Self::default() };
        }
        // SECURITY: git reads line by line.
        if wanted.path.contains(&b'\n') {
            return Err(Trouble::TooMuch);
        }
        let n_before = self.files.len();
        let fresh = objects.roots.get(self.n_roots..).unwrap_or_default();
        match wanted.is_directory {
            false => {
                let found = self.followed(asked, fresh, &wanted.path, b"blob ")?;
                self.files.extend(found.into_iter().map(|id| (Vec::new(), id)));
            }
            true => self.read_directories(asked, (objects, fresh), &wanted.path)?,
        }
        self.n_roots = objects.roots.len();
        for part in parts {
            self.read_index(asked, part, wanted)?;
        }
        let is_told = self.found.as_ref().is_some_and(|it| it.is_whole == self.is_whole);
        if !is_told || n_before < self.files.len() {
            self.read_texts(asked, wanted)?;
        }
        self.state = Some(state);
        Ok(())
    }

    /// Returns what is at a path of these trees, where the links of each lead.
    fn followed(
        &mut self,
        asked: &Asked<'_>,
        roots: &[Id],
        path: &[u8],
        kind: &[u8],
    ) -> Result<BTreeSet<Id>, Trouble> {
        if roots.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut lines = Vec::new();
        for root in roots {
            lines.extend_from_slice(format!("{root}:").as_bytes());
            lines.extend_from_slice(path);
            lines.push(b'\n');
        }
        let said = asked.ask(&FOLLOWED, &lines)?;
        let lines = || said.split(|byte| *byte == b'\n');
        // A link that leads out of the tree, or to what that commit does not have.
        let is_elsewhere =
            |line: &[u8]| line.starts_with(b"symlink ") || line.starts_with(b"dangling ");
        self.is_whole &= !lines().any(is_elsewhere);
        Ok(lines().filter_map(|line| Id::from_hex(line.strip_prefix(kind)?)).collect())
    }

    fn read_directories(
        &mut self,
        asked: &Asked<'_>,
        (objects, fresh): (&Objects, &[Id]),
        path: &[u8],
    ) -> Result<(), Trouble> {
        let mut found = self.followed(asked, fresh, path, b"tree ")?;
        found.retain(|id| self.directories.insert(*id));
        let found: Vec<Id> = found.into_iter().collect();
        for_each(asked, &found, |id, bytes| {
            for entry in Entries::of(bytes, id) {
                let (mode, name, id) = entry?;
                match mode {
                    Is::File => drop(self.files.insert((name.to_vec(), id))),
                    Is::Link => drop(self.links.entry(name.to_vec()).or_insert(0)),
                    Is::Tree => {}
                }
            }
            (self.files.len() <= NAMES_MAX * 16 && self.links.len() <= NAMES_MAX).then_some(())
        })?;
        for (name, n_roots) in self.links.clone() {
            let path = if path.is_empty() { name.clone() } else { [path, &name].join(&b'/') };
            let roots = objects.roots.get(n_roots..).unwrap_or_default();
            let found = self.followed(asked, roots, &path, b"blob ")?;
            self.files.extend(found.into_iter().map(|id| (name.clone(), id)));
            self.links.insert(name, objects.roots.len());
        }
        Ok(())
    }

    /// Notes what is staged there.
    fn read_index(
        &mut self,
        asked: &Asked<'_>,
        part: &CanonicalPath,
        wanted: &Wanted,
    ) -> Result<(), Trouble> {
        for (mode, id, path) in asked.staged(part, Some(&wanted.path))? {
            let Some(rest) = path.strip_prefix(wanted.path.as_slice()) else { continue };
            let name = match (wanted.is_directory, wanted.path.is_empty()) {
                (false, _) => Some(rest).filter(|it| it.is_empty()),
                (true, true) => Some(rest),
                (true, false) => rest.strip_prefix(b"/"),
            };
            let name = name.filter(|it| mode == Is::File && !it.contains(&b'/'));
            self.files.extend(name.map(|name| (name.to_vec(), id)));
        }
        Ok(())
    }

    fn read_texts(&mut self, asked: &Asked<'_>, wanted: &Wanted) -> Result<(), Trouble> {
        // No hook has an ending.
        let is_wanted = |name: &[u8]| !wanted.is_directory || !name.contains(&b'.');
        let files = || self.files.iter().filter(|(name, _)| is_wanted(name));
        let ids: BTreeSet<Id> =
            files().map(|(_, id)| *id).filter(|id| !self.texts.contains_key(id)).collect();
        if TEXTS_MAX < self.texts.len() + ids.len() {
            return Err(Trouble::TooMuch);
        }
        let ids: Vec<Id> = ids.into_iter().collect();
        let Lengths { short, has_longer } = Lengths::of(asked, &ids, wanted.bytes_max)?;
        let mut read = Vec::new();
        let mut n_bytes: usize = self.texts.values().map(Vec::len).sum();
        for_each(asked, &short, |id, bytes| {
            n_bytes = n_bytes.checked_add(bytes.len()).filter(|it| *it <= BYTES_MAX)?;
            read.push((id, bytes.to_vec()));
            Some(())
        })?;
        let text = |(name, id): &(Vec<u8>, Id), texts: &HashMap<Id, Vec<u8>>| {
            Some((name.clone(), texts.get(id)?.clone()))
        };
        self.texts.extend(read);
        let files = self.files.iter().filter(|(name, _)| is_wanted(name));
        let files = files.filter_map(|it| text(it, &self.texts)).collect();
        self.is_whole &= !has_longer;
        self.found = Some(Arc::new(Texts { files, is_whole: self.is_whole }));
        Ok(())
    }
}
