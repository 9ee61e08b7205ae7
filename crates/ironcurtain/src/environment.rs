//! The environment variables that we read: all of them, here and nowhere else.
//!
//! Read once at start and passed down as values, so that tests can run side by side.

use std::ffi::OsString;
use std::path::PathBuf;

use ic_types::AbsolutePath;

use crate::error::Failure;

/// The user's home directory; what `~` stands for.
const HOME: &str = "HOME";
/// Where our own files are; `~/.ironcurtain` if unset.
const IRONCURTAIN_HOME: &str = "IRONCURTAIN_HOME";

/// What the environment said when we started.
#[derive(Debug)]
pub(crate) struct Environment {
    home: Option<OsString>,
    ironcurtain_home: Option<OsString>,
    current_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment.
    pub(crate) fn read() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        #[expect(clippy::disallowed_methods, reason = "read once, here, at the edge")]
        let current_dir = std::env::current_dir().ok();
        Self { home: variable(HOME), ironcurtain_home: variable(IRONCURTAIN_HOME), current_dir }
    }

    /// Returns the user's home directory.
    pub(crate) fn home(&self) -> Result<AbsolutePath, Failure> {
        let home = self.home.as_ref().ok_or_else(|| {
            Failure::environment("the variable HOME is not set")
                .with_hint("set it to your home directory: `~` and protected paths need it")
        })?;
        AbsolutePath::new(home).map_err(|reason| {
            let home = home.to_string_lossy();
            Failure::environment(format!("HOME is `{}`: {reason}", home.escape_debug()))
        })
    }

    /// Returns the directory of our own files.
    pub(crate) fn ironcurtain_home(&self) -> Result<AbsolutePath, Failure> {
        match &self.ironcurtain_home {
            Some(path) => self.absolute(&PathBuf::from(path)),
            None => self.absolute(&self.home()?.as_path().join(".ironcurtain")),
        }
    }

    /// Makes a path of the command line absolute.
    ///
    /// The shell has expanded `~` already; a `~/` that is left over is meant all the same.
    pub(crate) fn absolute(&self, path: &std::path::Path) -> Result<AbsolutePath, Failure> {
        let path = match path.strip_prefix("~") {
            Ok(rest) => self.home()?.as_path().join(rest),
            Err(_) => match &self.current_dir {
                Some(current) => current.join(path),
                None => path.to_owned(),
            },
        };
        AbsolutePath::new(&path).map_err(|reason| {
            Failure::usage(format!("cannot use the path `{}`: {reason}", path.display()))
        })
    }
}
