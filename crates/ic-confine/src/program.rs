//! Finds the file of a program, as `execvp` would, but only in places that were written out.
//!
//! It does not follow links (a Python environment knows itself by the path of its link), reads no
//! more than the first bytes, and does not promise that the file is still the same when it is run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Why there is no program to run.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FindError {
    /// The name is empty.
    #[error("no program is named")]
    Unnamed,
    /// A bare name, and nowhere to look for it.
    #[error("cannot look for the program `{}`: its environment has no `PATH`", program.display())]
    NoPath {
        /// The name.
        program: PathBuf,
    },
    /// A bare name that is in none of the directories.
    #[error("there is no program `{}` in `{}`", program.display(), path.display())]
    NotInPath {
        /// The name.
        program: PathBuf,
        /// The `PATH` that was searched.
        path: OsString,
    },
    /// No such file.
    #[error("there is no program `{}`", file.display())]
    Absent {
        /// Where it should be.
        file: PathBuf,
    },
    /// A directory, a device, a socket.
    #[error("`{}` is not a program: it is not a file", file.display())]
    NotAFile {
        /// What was found.
        file: PathBuf,
    },
    /// A file that we may not execute.
    #[error("the program `{}` is not executable", file.display())]
    NotExecutable {
        /// The file.
        file: PathBuf,
    },
    /// A file that the system would not run, and the C library would give to a shell.
    #[error("`{}` is neither a script nor a program for this system", file.display())]
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// The system does not tell.
    #[error("cannot look at the program `{}`", file.display())]
    Unknown {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: Errno,
    },
}

impl FindError {
    /// Returns what a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unnamed => "name the program that is to be started".to_owned(),
            Self::NoPath { .. } => {
                "write the whole path of the program, or give its environment a `PATH`".to_owned()
            }
            Self::NotInPath { .. } => "install it, write its whole path, or add its directory to \
                                       the `PATH` in its environment"
                .to_owned(),
            Self::Absent { .. } => "install it, or correct the path".to_owned(),
            Self::NotAFile { .. } => "write the path of the program itself".to_owned(),
            Self::NotExecutable { file } => {
                format!("run `chmod +x {}` if it is meant to be run", file.display())
            }
            Self::UnknownFormat { .. } => {
                "begin a script with `#!` and its interpreter, or name the \
                                           interpreter as the program and the file as its argument"
                    .to_owned()
            }
            Self::Unknown { .. } => {
                "make sure that you may read the file and the directories above it".to_owned()
            }
        }
    }
}

/// Returns the file that `program` stands for, as an absolute path.
///
/// A name without a slash is looked up in the `PATH` of `environment`; a relative path with a slash
/// starts at `directory`, which must be absolute.
///
/// SECURITY: parts of `PATH` that are empty or relative would mean the working directory, where an
/// agent can leave a program; they are passed over.
pub fn find_program(
    program: &Path,
    directory: &Path,
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, FindError> {
    let name = program.as_os_str().as_bytes();
    if name.is_empty() {
        return Err(FindError::Unnamed);
    }
    if name.contains(&b'/') {
        let file = directory.join(program);
        return check(&file).map(|()| file);
    }
    // The last one counts, as it does when the environment is made.
    let path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let path = path.ok_or_else(|| FindError::NoPath { program: program.to_owned() })?;
    find_in_path(program, path)
}

fn find_in_path(program: &Path, path: &OsStr) -> Result<PathBuf, FindError> {
    let mut almost = None;
    let parts = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes).map(Path::new);
    for directory in parts.filter(|part| part.is_absolute()) {
        let file = directory.join(program);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(FindError::Absent { .. }) => {}
            // Like `execvp`: look further, but tell of it if there is nothing better.
            Err(error) => almost = almost.or(Some(error)),
        }
    }
    Err(almost.unwrap_or_else(|| FindError::NotInPath {
        program: program.to_owned(),
        path: path.to_owned(),
    }))
}

/// Checks that `file` is a file that we may execute and that the system knows how to run.
pub(crate) fn check(file: &Path) -> Result<(), FindError> {
    let owned = || file.to_owned();
    let unknown = |source| FindError::Unknown { file: owned(), source };
    let stat = rustix::fs::stat(file).map_err(|source| match source {
        Errno::NOENT | Errno::NOTDIR => FindError::Absent { file: owned() },
        source => unknown(source),
    })?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FindError::NotAFile { file: owned() });
    }
    rustix::fs::accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|_| FindError::NotExecutable { file: owned() })?;
    // SECURITY: `execvp` hands whatever the system does not recognise to `/bin/sh`.
    match has_known_beginning(file).map_err(unknown)? {
        true => Ok(()),
        false => Err(FindError::UnknownFormat { file: owned() }),
    }
}

fn has_known_beginning(file: &Path) -> Result<bool, Errno> {
    const PROGRAM: &[u8] = b"\x7fELF";
    const SCRIPT: &[u8] = b"#!";
    // Should it be a pipe by now, this does not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(CWD, file, flags, Mode::empty())?;
    let mut beginning = [0; PROGRAM.len()];
    let n_bytes = rustix::io::retry_on_intr(|| rustix::io::pread(&file, &mut beginning, 0))?;
    let beginning = beginning.get(..n_bytes).unwrap_or_default();
    Ok(beginning == PROGRAM || beginning.starts_with(SCRIPT))
}

#[cfg(test)]
mod tests;
