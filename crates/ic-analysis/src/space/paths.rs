//! Paths that a policy cannot tell apart: at a directory that something names, or in it and in none deeper.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use ic_policy::{Bounds, FileKind, FileState, PathValue};
use ic_types::CanonicalPath;

/// Where a path is, as far as policies can tell.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Spot {
    /// The deepest directory at or above it that a rule, an invariant or a property names.
    pub place: CanonicalPath,
    /// Which part of that directory.
    pub part: Part,
}

/// Which part of a directory.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Part {
    /// The directory itself.
    Itself {
        /// Whether something is there.
        exists: bool,
    },
    /// Everything in it that lies in no deeper place.
    Inside {
        /// Whether the host executes it, by its name; one bit for each policy that is compared.
        executed: u8,
    },
}

/// All places that something names, and those above them.
#[derive(Debug)]
pub(crate) struct Paths {
    places: BTreeSet<CanonicalPath>,
}

impl Paths {
    pub(crate) fn new(named: impl Iterator<Item = CanonicalPath>) -> Self {
        // SECURITY: the places above count too, since removing one removes what is in it.
        let mut places = BTreeSet::from([CanonicalPath::root()]);
        for place in named {
            for above in place.ancestors() {
                if !places.insert(above) {
                    break;
                }
            }
        }
        Self { places }
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.places.iter()
    }

    /// Returns where `path` is.
    pub(crate) fn spot(&self, path: &CanonicalPath, exists: bool, bounds: &[&Bounds]) -> Spot {
        let deepest = path.ancestors().find(|above| self.places.contains(above));
        let place = deepest.unwrap_or_else(CanonicalPath::root);
        let part = match place == *path {
            true => Part::Itself { exists },
            false => Part::Inside { executed: executed(path, bounds) },
        };
        Spot { place, part }
    }

    /// Returns a path for each spot that there is.
    pub(crate) fn examples(&self, bounds: &[&Bounds]) -> Vec<(Spot, PathValue)> {
        let mut found: Vec<(Spot, PathValue)> = Vec::new();
        for place in &self.places {
            let inside = [self.fresh_in(place), git_in(place)].into_iter().flatten();
            let itself = [(place.clone(), false), (place.clone(), true)];
            let first = found.len();
            for (path, exists) in inside.map(|path| (path, false)).chain(itself) {
                let spot = self.spot(&path, exists, bounds);
                let is_new = !found.iter().skip(first).any(|(known, _)| *known == spot);
                // A name of git's may be a place of its own, which has its own turn.
                if is_new && spot.place == *place {
                    found.push((spot, path_value(path, exists)));
                }
            }
        }
        found
    }

    /// Returns an entry of `place` that nothing names.
    fn fresh_in(&self, place: &CanonicalPath) -> Option<CanonicalPath> {
        let numbered = (2_usize..).map(|n| format!("example-{n}.txt"));
        let mut names = std::iter::once("example.txt".to_owned()).chain(numbered);
        names.find_map(|name| match place.join(OsStr::new(&name)) {
            Ok(path) if self.places.contains(&path) => None,
            Ok(path) => Some(Some(path)),
            Err(_) => Some(None),
        })?
    }
}

/// Returns something in `place` that counts as git's own, in directories of packages too.
fn git_in(place: &CanonicalPath) -> Option<CanonicalPath> {
    let git = place.join(OsStr::new(ic_policy::host_executes::GIT_DIRECTORY)).ok()?;
    git.join(OsStr::new("example")).ok()
}

fn executed(path: &CanonicalPath, bounds: &[&Bounds]) -> u8 {
    let bits = bounds.iter().enumerate();
    bits.fold(0, |mask, (at, bounds)| mask | u8::from(bounds.host_executes(path)) << at)
}

/// Returns the value of a path, of which nothing is known but whether it exists.
pub(crate) fn path_value(path: CanonicalPath, exists: bool) -> PathValue {
    let state = exists.then_some(FileState {
        kind: FileKind::Directory,
        device: 0,
        inode: 0,
        bytes: 0,
        modified_s: 0,
        modified_ns: 0,
    });
    PathValue { path, also: Vec::new(), state }
}
