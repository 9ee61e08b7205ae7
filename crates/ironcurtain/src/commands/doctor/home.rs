//! Is the home there, ours, private and writable?

use std::path::Path;

use ic_home::{FileError, Home, HomeError, Look, file};

use super::{Check, HomeState};
use crate::error::Failure;
use crate::trial::Trial;

const HOME: &str = "home";
const SPACE: &str = "free space";
/// With less room than this a session may not last the day.
const BYTES_WANTED: u64 = 100 << 20;
/// With less room than this no session should begin.
const BYTES_MIN: u64 = 1 << 20;

/// Looks at the home, and makes a place in it to try other things in; beside it if that cannot be.
pub(super) fn check(home: &Home, checks: &mut Vec<Check>) -> (HomeState, Option<Trial>) {
    let root = home.root();
    let parent = root.parent().unwrap_or(Path::new("/"));
    let (state, trial) = match home.look() {
        Ok(Look::Present { exposed }) => match tried(&root) {
            Ok(trial) => {
                checks.push(usable(&root, &exposed));
                (HomeState::Usable, Some(trial))
            }
            Err(failure) => {
                checks.push(Check::of_failure(HOME, &failure, &writable(&root)));
                (HomeState::Unusable, tried(parent).ok())
            }
        },
        Ok(Look::Absent) => match tried(parent) {
            Ok(trial) => {
                let detail = format!(
                    "`{}` is not there yet, and can be made: wrote and removed a file beside it",
                    root.display()
                );
                checks.push(Check::ok(HOME, detail));
                (HomeState::Absent, Some(trial))
            }
            Err(failure) => {
                checks.push(cannot_be_made(&root, parent, failure));
                (HomeState::Absent, None)
            }
        },
        Err(error) => {
            let remedy = "set IRONCURTAIN_HOME to a directory of your own";
            checks.push(Check::of_failure(HOME, &Failure::from(error), remedy));
            (HomeState::Unusable, tried(parent).ok())
        }
    };
    if let Some(trial) = &trial {
        checks.push(space(trial.path()));
    }
    (state, trial)
}

/// Makes a directory in `parent`, and writes, reads and removes a file in it.
fn tried(parent: &Path) -> Result<Trial, Failure> {
    const BYTES: &[u8] = b"written by `ironcurtain doctor`\n";
    let trial = Trial::new_in(parent)?;
    let path = trial.path().join("file");
    file::create_new(&path, BYTES)?;
    let read = file::read(&path, 1 << 10)?;
    file::remove(&path)?;
    match read.as_deref() == Some(BYTES) {
        true => Ok(trial),
        false => Err(Failure::environment(format!(
            "what was written in `{}` is not what is read there",
            parent.display()
        ))),
    }
}

fn usable(root: &Path, exposed: &[std::path::PathBuf]) -> Check {
    if exposed.is_empty() {
        let root = root.display();
        return Check::ok(HOME, format!("`{root}` is yours alone; wrote and removed a file"));
    }
    let names: Vec<String> = exposed.iter().map(|path| format!("`{}`", path.display())).collect();
    Check::warning(
        HOME,
        format!("other users may look at {}", names.join(", ")),
        "the next session takes their rights away, and so does `chmod -R go=`",
    )
}

fn cannot_be_made(root: &Path, parent: &Path, failure: Failure) -> Check {
    let is_missing = matches!(file::names(parent), Ok(None) | Err(FileError::NotDirectory { .. }));
    let failure = match is_missing {
        true => Failure::from(HomeError::NoParent { root: root.to_owned() }),
        false => failure,
    };
    Check::of_failure(HOME, &failure, &writable(parent))
}

/// Says what to do about a directory that nothing can be written to.
fn writable(directory: &Path) -> String {
    format!("make `{}` writable, or set IRONCURTAIN_HOME to another directory", directory.display())
}

fn space(path: &Path) -> Check {
    let bytes = match rustix::fs::statvfs(path) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let detail = format!("the system does not tell how much room is left: {error}");
            return Check::info(SPACE, detail);
        }
    };
    of_space(bytes)
}

fn of_space(bytes: u64) -> Check {
    let detail = format!("{} MiB are left where the home is", bytes >> 20);
    let remedy = "remove something, or set IRONCURTAIN_HOME to a directory on another disk";
    match bytes {
        ..BYTES_MIN => Check::failed(SPACE, detail, remedy),
        BYTES_MIN..BYTES_WANTED => Check::warning(SPACE, detail, remedy),
        BYTES_WANTED.. => Check::ok(SPACE, detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Status;

    #[test]
    fn little_room_is_a_warning_and_none_is_a_failure() {
        for (bytes, status) in [
            (0, Status::Failed),
            (BYTES_MIN - 1, Status::Failed),
            (BYTES_MIN, Status::Warning),
            (BYTES_WANTED - 1, Status::Warning),
            (BYTES_WANTED, Status::Ok),
        ] {
            assert_eq!(of_space(bytes).status, status, "{bytes}");
        }
    }
}
