//! The files that are looked at: those of the user, and those of the project in the current directory.
//!
//! A project's files come with its repository, from whoever wrote it. They are read and shown as such,
//! and nothing of them is added unless somebody names it. Nothing is parsed here.

use std::path::{Path, PathBuf};

use ic_home::{Environment, file};
use ic_resolve::{Disk as _, RealDisk};

use super::clients::{Base, CONFIG, Client};

/// How many directories above the current one are looked at; no project is deeper.
const ABOVE_MAX: usize = 64;

/// Where a server was found.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) client: &'static str,
    pub(super) file: PathBuf,
    pub(super) reach: Reach,
    /// The directory that a client keeps it for, if it does not for all.
    pub(super) project: Option<String>,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// The user's own, or one that the user named.
    Own,
    /// Part of a project.
    Project,
}

/// Returns the files of a client, whether they are there or not, each once.
pub(super) fn of(client: &'static Client, user: &Path, environment: &Environment) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    let own = client.files.iter().flat_map(|(base, path)| places(*base, path, user, environment));
    let here = project(environment);
    let of_project = here
        .iter()
        .flat_map(|directory| client.project_files.iter().map(move |path| directory.join(path)));
    let own = own.map(|file| (file, Reach::Own));
    for (file, reach) in own.chain(of_project.map(|file| (file, Reach::Project))) {
        if !origins.iter().any(|it| it.file == file) {
            origins.push(Origin { client: client.name, file, reach, project: None });
        }
    }
    origins
}

fn places(base: Base, path: &str, user: &Path, environment: &Environment) -> Vec<PathBuf> {
    let named = |variable: &str| environment.client_path(variable);
    match base {
        Base::Home => vec![user.join(path)],
        Base::Named(variable, below) => {
            vec![named(variable).unwrap_or_else(|| user.join(below)).join(path)]
        }
        Base::File(variable) => named(variable).into_iter().collect(),
        Base::Each(directory) => {
            let parents = places(CONFIG, directory, user, environment);
            // A directory that cannot be listed has nothing for us.
            let names = |parent: &PathBuf| file::names(parent).ok().flatten().unwrap_or_default();
            let all = parents.iter().flat_map(|parent| {
                names(parent).into_iter().map(|name| parent.join(name).join(path))
            });
            all.collect()
        }
    }
}

/// Returns the current directory, and those above it up to the root of its repository.
fn project(environment: &Environment) -> Vec<PathBuf> {
    let Ok(here) = environment.absolute(Path::new("")) else { return Vec::new() };
    let above: Vec<&Path> = here.as_path().ancestors().take(ABOVE_MAX).collect();
    let is_root = |path: &&Path| RealDisk.look(&path.join(".git")).is_ok_and(|it| it.is_some());
    let n_directories = above.iter().position(is_root).map_or(1, |at| at + 1);
    above.into_iter().take(n_directories).map(Path::to_owned).collect()
}
