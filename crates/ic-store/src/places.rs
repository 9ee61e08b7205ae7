//! Where the files of one conversation are.
//!
//! What is in them is not known here.

use std::path::{Path, PathBuf};

use ic_home::{FileError, Home, file};
use ic_types::SessionId;

/// How many names are tried for what is set aside.
const ASIDE_MAX: usize = 1000;
/// The name of the file that says what a session is.
pub const META: &str = "meta.json";

/// The files of one session's conversation.
#[derive(Clone, Debug)]
pub struct Places {
    directory: PathBuf,
}

impl Places {
    /// Names the files of the session `id`.
    pub fn of(home: &Home, id: &SessionId) -> Self {
        Self { directory: home.session(id) }
    }

    /// Returns the session's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the file that says what the session is.
    pub fn meta(&self) -> PathBuf {
        self.directory.join(META)
    }

    /// Returns the file of the whole conversation.
    pub fn conversation(&self) -> PathBuf {
        self.directory.join("conversation.json")
    }

    /// Returns the file of the steps since the conversation was opened.
    pub fn journal(&self) -> PathBuf {
        self.directory.join("conversation.journal")
    }
}

/// Keeps a damaged file under another name.
pub(crate) fn set_aside(path: &Path) -> Result<(), FileError> {
    for number in 1..ASIDE_MAX {
        match file::move_to(path, aside(path, number)) {
            Err(FileError::Exists { .. }) => {}
            moved => return moved,
        }
    }
    Err(FileError::Exists { path: path.to_owned() })
}

fn aside(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".damaged-{number}"));
    path.with_file_name(name)
}
