//! What of the host a container sees, and what it never sees.
//!
//! A mount has a place, and the place says what may be done there: what is read-only by its place cannot be asked
//! for otherwise. Nothing here looks at the disk.

use std::path::{Component, Path, PathBuf};

use ic_types::{Json, Object};

use crate::words::object;

/// Where the agent works.
pub const WORKSPACE: &str = "/workspace";
/// Where the sockets are through which it reaches us.
pub const SOCKETS: &str = "/run/ironcurtain";
/// What it is told, and the certificate that it has to trust.
pub const ORIENTATION: &str = "/etc/ironcurtain";
/// Its home.
pub const HOME: &str = "/home/agent";
/// Its program, and ours.
pub const PROGRAMS: &str = "/opt/ironcurtain";

/// Directories that no container sees anything of, whoever names them.
const NEVER: [&str; 7] = ["/dev", "/proc", "/sys", "/run", "/var/run", "/boot", "/etc"];

/// A place in a container.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// At or beneath the workspace.
    Workspace,
    /// The sockets; connecting needs nothing that can be written.
    Sockets,
    /// Orientation and certificate.
    Orientation,
    /// The agent's home.
    Home,
    /// Programs.
    Programs,
}

/// A file or directory of the host that a container sees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mount {
    /// Where it is on the host.
    pub source: PathBuf,
    /// Where the container sees it.
    pub target: PathBuf,
    /// Whether it can be written there.
    pub is_writable: bool,
}

/// A mount that is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` cannot be shown to a container at `{}`: {reason}", of.display(), target.display())]
pub struct MountFault {
    of: PathBuf,
    target: PathBuf,
    reason: &'static str,
}

impl Place {
    const ALL: [Self; 5] =
        [Self::Workspace, Self::Sockets, Self::Orientation, Self::Home, Self::Programs];

    fn top(self) -> &'static str {
        match self {
            Self::Workspace => WORKSPACE,
            Self::Sockets => SOCKETS,
            Self::Orientation => ORIENTATION,
            Self::Home => HOME,
            Self::Programs => PROGRAMS,
        }
    }

    fn may_be_written(self) -> bool {
        match self {
            Self::Workspace | Self::Home => true,
            Self::Sockets | Self::Orientation | Self::Programs => false,
        }
    }
}

impl Mount {
    /// A mount that can be read.
    pub fn read_only(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), target: target.into(), is_writable: false }
    }

    /// A mount that can be written, too.
    pub fn writable(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), target: target.into(), is_writable: true }
    }

    /// Writes it down for the engine, which refuses a source that does not exist: nothing is made on the host.
    pub(crate) fn request(&self) -> Object {
        let options = object([
            ("Propagation", "rprivate".into()),
            // SECURITY: what lies beneath it as a mount of its own would not be read-only.
            ("NonRecursive", true.into()),
        ]);
        object([
            ("Type", "bind".into()),
            ("Source", self.source.display().to_string().into()),
            ("Target", self.target.display().to_string().into()),
            ("ReadOnly", (!self.is_writable).into()),
            ("BindOptions", Json::Object(options)),
        ])
    }
}

/// Checks all mounts of a container; `socket` is that of the engine.
pub(crate) fn check(mounts: &[Mount], socket: &Path) -> Result<(), MountFault> {
    for (position, mount) in mounts.iter().enumerate() {
        let is_again = mounts.iter().take(position).any(|other| other.target == mount.target);
        let reason = match is_again {
            true => Some("something else is there already"),
            false => fault(mount, socket),
        };
        if let Some(reason) = reason {
            let Mount { source: of, target, .. } = mount.clone();
            return Err(MountFault { of, target, reason });
        }
    }
    Ok(())
}

/// Returns why a mount is refused, if it is.
fn fault(mount: &Mount, socket: &Path) -> Option<&'static str> {
    let Mount { source, target, is_writable } = mount;
    if !is_plain(source) || !is_plain(target) {
        return Some("it is not a plain absolute path");
    }
    let Some(place) = Place::ALL.into_iter().find(|it| target.starts_with(it.top())) else {
        return Some("nothing is shown there");
    };
    if *is_writable && !place.may_be_written() {
        return Some("what is there is read-only");
    }
    if source == Path::new("/") {
        return Some("it is the whole machine");
    }
    // SECURITY: whoever may talk to the engine is as good as root.
    let is_engines = socket.starts_with(source);
    if is_engines || source.file_name().is_some_and(|it| it == "docker.sock" || it == "podman.sock")
    {
        return Some("the engine's socket is there");
    }
    let is_never = |it: &&str| source.starts_with(it) || Path::new(it).starts_with(source);
    NEVER.iter().any(is_never).then_some("it is the system's own")
}

/// Returns whether a path is absolute, text, and without `.`, `..` and what is no name.
fn is_plain(path: &Path) -> bool {
    let is_text = path.to_str().is_some_and(|it| !it.chars().any(char::is_control));
    let mut components = path.components();
    is_text
        && components.next() == Some(Component::RootDir)
        && components.all(|it| matches!(it, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(source: &str, target: &str, is_writable: bool, expected: Option<&str>) {
        let mount = Mount { source: source.into(), target: target.into(), is_writable };
        let socket = Path::new("/home/u/engine/docker.sock");
        let said = check(&[mount], socket).err().map(|it| it.to_string());
        match expected {
            None => assert_eq!(said, None),
            Some(expected) => {
                assert!(said.as_deref().unwrap_or("shown").contains(expected), "{said:?}");
            }
        }
    }

    #[test]
    fn what_a_session_needs_is_shown() {
        check_one("/home/u/project", "/workspace", true, None);
        check_one("/home/u/project/.git/hooks", "/workspace/.git/hooks", false, None);
        check_one("/home/u/.ironcurtain/sessions/s/sockets", "/run/ironcurtain", false, None);
        check_one("/home/u/.ironcurtain/sessions/s/agent-state", "/home/agent", true, None);
    }

    #[test]
    fn sources_that_are_never_shown() {
        for source in [
            "/proc",
            "/proc/1/root",
            "/sys/fs",
            "/dev",
            "/run/user",
            "/var/run",
            "/var",
            "/etc/shadow",
        ] {
            check_one(source, "/workspace", false, Some("system's own"));
        }
        check_one("/", "/workspace", false, Some("whole machine"));
        check_one("/home/u/engine", "/workspace", false, Some("engine's socket"));
        check_one("/home/u", "/workspace", true, Some("engine's socket"));
        check_one("/srv/docker.sock", "/workspace/s", false, Some("engine's socket"));
        check_one("/home/u/../../etc", "/workspace", false, Some("plain"));
        check_one("relative", "/workspace", false, Some("plain"));
        check_one("/home/u/a\nb", "/workspace", false, Some("plain"));
    }

    #[test]
    fn targets_that_are_never_used() {
        for target in ["/", "/etc/passwd", "/usr/bin", "/workspaces", "/run", "/proc"] {
            check_one("/home/u/project", target, false, Some("nothing is shown there"));
        }
        check_one("/home/u/project", "/workspace/../etc", false, Some("plain"));
        for target in ["/run/ironcurtain", "/etc/ironcurtain", "/opt/ironcurtain/agent"] {
            check_one("/home/u/project", target, true, Some("read-only"));
        }
        let twice = [Mount::writable("/a", "/workspace"), Mount::writable("/b", "/workspace")];
        assert!(check(&twice, Path::new("/s")).is_err());
    }
}
