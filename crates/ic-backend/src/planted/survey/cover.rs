//! How a cage keeps what was found as it is.

use ic_confine::Access;
use ic_policy::{FileState, Reach};
use ic_resolve::{Disk, Kind};
use ic_types::CanonicalPath;

use super::{Counted, Identity, Survey, SurveyFault};

/// How something is kept by a cage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Cover {
    identity: Identity,
    n_names: u32,
    pub(in crate::planted) access: Access,
}

impl Cover {
    /// Returns whether the file of this state, at `path`, is what was covered.
    pub(in crate::planted) fn is_of(&self, path: &CanonicalPath, state: &FileState) -> bool {
        self.identity == Identity::at(path, state)
    }

    /// Makes all at `path` read-only.
    pub(in crate::planted) fn read_only(
        path: &CanonicalPath,
        disk: &dyn Disk,
    ) -> Result<Self, SurveyFault> {
        let fault = |reason: String| SurveyFault::System { path: path.clone(), reason };
        let entry = disk.look(path.as_path()).map_err(|error| fault(error.to_string()))?;
        let entry = entry.ok_or_else(|| fault("it is gone".to_owned()))?;
        let counted = Counted::at(path, (entry.kind, &entry.state), Reach::Beneath);
        let Counted { identity, n_names, .. } = counted;
        Ok(Self { identity, n_names, access: Access::Read })
    }
}

impl Survey {
    /// Returns what a cage can keep where it is, and how.
    pub(crate) fn covers(&self) -> impl Iterator<Item = (CanonicalPath, Cover)> {
        let is_mountable = |it: &Counted| matches!(it.kind, Kind::File | Kind::Directory);
        let covered = self.counted.iter().filter(move |(_, it)| is_mountable(it));
        covered.map(|(path, it)| {
            let access = match it.reach {
                Reach::Beneath => Access::Read,
                // What else is in it is free; but being a mount it cannot be moved away.
                Reach::Itself => Access::Write,
            };
            (path.clone(), Cover { identity: it.identity, n_names: it.n_names, access })
        })
    }
}
