//! Directories that are too much for one grant: whoever holds one of them holds the machine or a person.
//!
//! Compared by components, on canonical paths. A file in one of them can be granted, as that file; what
//! lies beneath a home directory, but holds nothing that is listed, can be granted as a directory.

use ic_policy::Bounds;
use ic_types::CanonicalPath;

/// System directories of which no directory is granted, at whatever depth.
const SYSTEM: [&str; 13] = [
    "/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/usr", "/bin", "/sbin", "/lib", "/lib32",
    "/lib64", "/libx32",
];
/// Directories that hold what belongs to many; what is further down can be granted.
const SHARED: [&str; 17] = [
    "/home",
    "/root",
    "/var",
    "/var/cache",
    "/var/home",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/spool",
    "/tmp",
    "/var/tmp",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/snap",
    "/nix",
];
/// Where the home directories of people are.
const ABOVE_HOMES: [&str; 2] = ["/home", "/var/home"];

/// Directories that no grant may be, or contain.
#[derive(Clone, Debug)]
pub struct Closed {
    places: Vec<CanonicalPath>,
}

impl Closed {
    /// Gathers what no grant may be or contain: home directories, protected paths, and what the host
    /// runs from a home directory.
    pub fn new(bounds: &Bounds, homes: impl IntoIterator<Item = CanonicalPath>) -> Self {
        let executed = bounds.home_executes.iter().map(|it| it.path.clone());
        let places = bounds.protected.iter().cloned().chain(executed).chain(homes);
        Self { places: places.collect() }
    }

    /// Returns whether a grant of everything beneath `directory` is too much.
    pub fn is_too_much(&self, directory: &CanonicalPath) -> bool {
        let listed = |texts: &'static [&'static str]| {
            texts.iter().filter_map(|text| CanonicalPath::new(*text).ok())
        };
        let holds = |place: &CanonicalPath| place.is_within(directory);
        let parent = directory.parent();
        let is_home = listed(&ABOVE_HOMES).any(|above| parent.as_ref() == Some(&above));
        is_home
            || self.places.iter().any(holds)
            || listed(&SHARED).any(|place| holds(&place))
            || listed(&SYSTEM).any(|place| holds(&place) || directory.is_within(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_policy::{HomeExecutes, Reach};
    use std::collections::HashMap;

    #[test]
    fn what_is_or_holds_something_dangerous_is_too_much() {
        let path = |text: &str| CanonicalPath::new(text).unwrap();
        let bounds = Bounds {
            sandbox: None,
            protected: vec![path("/data/ada/.config/gh"), path("/data/keys")],
            home_executes: vec![HomeExecutes {
                path: path("/data/ada/.local/bin"),
                reach: Reach::Beneath,
            }],
            servers: HashMap::new(),
        };
        let closed = Closed::new(&bounds, [path("/data/ada"), path("/srv/people/bob")]);
        for text in [
            "/",
            "/etc",
            "/etc/cron.d",
            "/usr",
            "/usr/local/bin",
            "/var",
            "/var/lib",
            "/home",
            "/home/bob",
            "/root",
            "/tmp",
            "/proc",
            "/proc/1",
            "/dev/shm",
            "/run/user/1000",
            "/data",
            "/data/ada",
            "/data/ada/.config",
            "/data/ada/.local",
            "/data/ada/.local/bin",
            "/data/ada/.config/gh",
            "/data/keys",
            "/srv",
            "/srv/people",
            "/srv/people/bob",
            "/opt",
            "/mnt",
            "/var/home/bob",
        ] {
            assert!(closed.is_too_much(&path(text)), "{text}");
        }
        for text in [
            "/data/ada/Documents",
            "/data/ada/.config/app",
            "/data/other",
            "/data/ada2",
            "/home/bob/Documents",
            "/tmp/x",
            "/var/www",
            "/opt/app",
            "/etcetera",
            "/srv/www",
            "/data/ada/.local/share/app",
            "/root/work",
        ] {
            assert!(!closed.is_too_much(&path(text)), "{text}");
        }
    }
}
