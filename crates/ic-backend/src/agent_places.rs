//! Where the agent of a session may write, as paths: its sandbox, and what allow rules let it write.
//!
//! A server that runs something from there runs the agent's code, and a link there leads where the
//! agent wants. This file only knows places; what is done about them is decided by the caller.

use ic_policy::{Bounds, Policy};
use ic_resolve::path::Found;
use ic_types::CanonicalPath;

use crate::cage::protecting;

/// The built-in servers, which write wherever a call was allowed to.
const ANYWHERE: [&str; 3] = ["filesystem", "git", "shell"];
/// Programs and libraries of the system; a rule for the whole machine does not make them the agent's.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Where an agent may write.
#[derive(Debug)]
pub(crate) struct AgentPlaces<'a> {
    roots: Vec<CanonicalPath>,
    bounds: &'a Bounds,
}

impl<'a> AgentPlaces<'a> {
    /// Finds the places of a session with this policy and these surroundings: the sandbox, and each
    /// directory that an allow rule names.
    pub(crate) fn of(policy: &Policy, bounds: &'a Bounds) -> Self {
        Self::with(policy, bounds, &[])
    }

    /// The same, and the whole machine if a rule lets a built-in server write without naming a directory.
    ///
    /// For a server that nothing holds: what it runs must not be the agent's under any rule.
    pub(crate) fn of_unheld(policy: &Policy, bounds: &'a Bounds) -> Self {
        Self::with(policy, bounds, &ANYWHERE)
    }

    fn with(policy: &Policy, bounds: &'a Bounds, anywhere: &[&str]) -> Self {
        let mut roots: Vec<CanonicalPath> =
            bounds.sandbox.iter().map(|sandbox| sandbox.path.clone()).collect();
        roots.extend(policy.written_directories(anywhere));
        Self { roots, bounds }
    }

    /// Adds what agents of earlier sessions could write.
    pub(crate) fn and_earlier(mut self, earlier: &[CanonicalPath]) -> Self {
        self.roots.extend_from_slice(earlier);
        self
    }

    /// Returns the place that `path` lies in, if the agent may write there.
    pub(crate) fn holding(&self, path: &CanonicalPath) -> Option<&CanonicalPath> {
        if protecting(path, self.bounds).is_some() {
            return None;
        }
        self.roots.iter().find(|root| path.is_within(root) && !is_of_the_system(path, root))
    }

    /// Returns whether one of the places lies at or beneath `path`.
    pub(crate) fn are_beneath(&self, path: &CanonicalPath) -> bool {
        self.roots.iter().any(|root| root.is_within(path))
    }

    /// Returns a link that was followed on the way and that the agent may have put there.
    pub(crate) fn link_on_the_way<'f>(&self, found: &'f Found) -> Option<&'f CanonicalPath> {
        found.links.iter().find(|link| self.holding(link).is_some())
    }

    /// Returns what is at the end of the way, or a link on it, if it lies where the agent may write.
    pub(crate) fn touched<'f>(&self, found: &'f Found) -> Option<&'f CanonicalPath> {
        let all = found.links.iter().chain(std::iter::once(&found.path));
        all.into_iter().find(|path| self.holding(path).is_some())
    }
}

/// Returns whether `path` is a program or library of the system, and `root` does not name that place.
fn is_of_the_system(path: &CanonicalPath, root: &CanonicalPath) -> bool {
    let is_one =
        |system: &&str| path.as_path().starts_with(system) && !root.as_path().starts_with(system);
    SYSTEM.iter().any(is_one)
}
