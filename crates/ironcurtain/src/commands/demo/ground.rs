//! The place of a tour: a directory with a home and some notes, gone when the tour ends.

use std::path::{Path, PathBuf};

use ic_home::{Environment, FileError, Home, file, random, remove_tree};

use crate::error::Failure;

/// How often another name is tried.
const NAMES_MAX: usize = 16;
/// The longest log that is changed.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// The directory; nothing of it outlives this value.
#[derive(Debug)]
pub(super) struct Ground {
    root: PathBuf,
    environment: Environment,
}

impl Ground {
    /// Makes the directory, for us alone, with some notes in it.
    pub(super) fn make(environment: &Environment) -> Result<Self, Failure> {
        let root = create(environment.temporary()?.as_path())?;
        let environment = environment.at_home(&root.join("home"), &root);
        let ground = Self { root, environment };
        file::create_dir(ground.notes())?;
        for (name, text) in [
            ("monday.txt", "Call the plumber.\n"),
            ("tuesday.txt", "Water the plants.\n"),
            ("wednesday.txt", "Write to Ada.\n"),
            ("thursday.txt", "Buy bread.\n"),
        ] {
            file::create_new(ground.notes().join(name), text.as_bytes())?;
        }
        Ok(ground)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn notes(&self) -> PathBuf {
        self.root.join("notes")
    }

    /// Returns the environment of the commands that the tour runs: another home, and no key.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Changes one letter in the middle of the tour's log.
    pub(super) fn tamper(&self) -> Result<(), Failure> {
        let sessions = Home::new(self.environment.ironcurtain_home()?).sessions();
        for name in file::names(&sessions)?.unwrap_or_default() {
            let log = sessions.join(name).join("audit.jsonl");
            let Ok(Some(bytes)) = file::read_own(&log, LOG_BYTES_MAX) else { continue };
            let text = String::from_utf8_lossy(&bytes).replacen("monday", "sunday", 1);
            file::replace(&log, text.as_bytes())?;
        }
        Ok(())
    }

    /// Removes everything.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        Ok(remove_tree(&self.root)?)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The tour has failed already; the directory is named in what it said first.
        self.remove().ok();
    }
}

/// Makes a new directory in `parent`, with a short name.
fn create(parent: &Path) -> Result<PathBuf, Failure> {
    for _ in 0..NAMES_MAX {
        let random = random::bytes::<3>()
            .map_err(|source| Failure::environment("cannot find a name").with_source(source))?;
        let [a, b, c] = random;
        let root = parent.join(format!("ironcurtain-demo-{a:02x}{b:02x}{c:02x}"));
        match file::create_new_dir(&root) {
            Ok(()) => return Ok(root),
            Err(FileError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::environment(format!(
        "cannot make a directory for the tour in `{}`",
        parent.display()
    )))
}
