//! What an agent's cage shows of repositories: its own git directory in the place of the workspace's, and nothing
//! whose history may hold what the view hides.
//!
//! What is in those directories is known elsewhere (`agent_git`, `agent_history`).

use std::path::Path;

use ic_analysis::{AgentView, Shown};
use ic_confine::CageSpec;
use ic_resolve::Disk;
use ic_types::CanonicalPath;

use super::AgentCage;
use crate::agent_git::{AgentGit, Sieve};
use crate::agent_history::revealing;

impl AgentCage {
    /// Returns the repositories that are not shown, and for each a hidden place whose history it may have.
    pub fn closed(&self) -> &[(CanonicalPath, CanonicalPath)] {
        &self.closed
    }

    /// Shows the agent's own git directory in the place of the user's; returns whether it is there.
    ///
    /// Where nothing may be written the user's stays as it is, and where something in the tree is hidden there
    /// is none, unless the user's objects were sifted: what is hidden may be in a commit.
    pub fn with_git(&mut self, git: &AgentGit) -> bool {
        let top = git.top();
        let Ok(directory) = top.join(".git".as_ref()) else { return false };
        let is_kept = |path: &CanonicalPath| self.view.at(path) != Some(Shown::Writable);
        let is_closed = self.hides(directory.as_path()) && !git.is_sifted();
        if is_kept(top) || is_kept(&directory) || is_closed {
            return false;
        }
        // SECURITY: what is taken away here has something in its place below.
        self.spec.seen.retain(|seen| seen.path != directory.as_path());
        self.spec.hidden.retain(|hidden| hidden != directory.as_path());
        self.closed.retain(|(path, _)| *path != directory);
        self.spec.placed = git.placed();
        if let Some(user) = &mut self.spec.user {
            user.owns.extend(self.spec.placed.iter().map(|placed| placed.from.clone()));
        }
        true
    }

    /// Takes the agent's own git directory away again, so that there is none.
    pub fn without_git(&mut self, git: &AgentGit) {
        self.spec.placed.clear();
        self.spec.hidden.push(git.top().as_path().join(".git"));
    }

    /// Returns the hidden places in a directory.
    pub fn hidden_in(&self, top: &CanonicalPath) -> Vec<CanonicalPath> {
        let hidden =
            self.view.places().filter(|(path, how)| *how == Shown::Empty && path.is_within(top));
        hidden.map(|(path, _)| path.clone()).collect()
    }

    /// Returns whether the agent could have a git directory of its own, were nothing hidden.
    pub fn lets_commit(&self, git: &AgentGit) -> bool {
        let directory = git.top().join(".git".as_ref());
        let paths = [Some(git.top().clone()), directory.ok()];
        paths
            .iter()
            .all(|path| path.as_ref().and_then(|it| self.view.at(it)) == Some(Shown::Writable))
    }

    /// Returns the cage in which the user's objects are sifted; nothing of the agent runs in it.
    #[must_use]
    pub fn sifting(&self, sieve: &Sieve) -> Self {
        let mut cage = self.clone();
        let seen = sieve.seen();
        cage.spec.hidden.retain(|hidden| seen.iter().all(|it| it.path != *hidden));
        if let Some(user) = &mut cage.spec.user {
            user.owns.extend(seen.iter().map(|it| it.path.clone()));
        }
        cage.spec.seen.retain(|it| seen.iter().all(|other| other.path != it.path));
        cage.spec.seen.extend(seen);
        cage
    }

    fn hides(&self, path: &Path) -> bool {
        self.spec.hidden.iter().any(|hidden| path.starts_with(hidden))
    }
}

/// Hides repositories that may hold what the view hides; returns them.
pub(super) fn close_history(
    view: &AgentView,
    spec: &mut CageSpec,
    disk: &dyn Disk,
) -> Vec<(CanonicalPath, CanonicalPath)> {
    let closed = revealing(view, disk);
    for (path, _) in &closed {
        let path = path.as_path();
        spec.seen.retain(|seen| !seen.path.starts_with(path));
        for places in [&mut spec.hidden, &mut spec.absent] {
            places.retain(|hidden| !hidden.starts_with(path));
        }
        spec.hidden.push(path.to_owned());
    }
    closed
}
