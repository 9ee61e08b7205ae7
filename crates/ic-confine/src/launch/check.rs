//! What a child does to find out whether it is held: it tries to get out.
//!
//! Each attempt is one that would succeed without a cage. It is not a test of everything that a cage
//! promises, but of the layers: files, sockets, namespaces, privileges.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{CapabilitySet, UnshareFlags};

use crate::orders::LAUNCH;
use crate::sys;

/// What a child says that is held.
pub(crate) const HELD: &str = "held";
/// The order to try.
pub(crate) const CHECK: &str = "check";

/// Returns the arguments with which this program tries to read `place`, a directory of the host.
pub(crate) fn check_words(place: &Path) -> Vec<OsString> {
    vec![LAUNCH.into(), CHECK.into(), place.into()]
}

/// Tries, and says what came of it; returns the code to end with.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> u8 {
    let Some(place) = words.next().map(PathBuf::from) else { return super::EXIT_LAUNCHER };
    let succeeded = attempts(&place).into_iter().find(|(_, succeeded)| *succeeded);
    let said = succeeded.map_or(HELD, |(what, _)| what);
    match writeln!(std::io::stdout(), "{said}") {
        Ok(()) => 0,
        Err(_) => super::EXIT_LAUNCHER,
    }
}

fn attempts(place: &Path) -> [(&'static str, bool); 7] {
    let socket = |family| rustix::net::socket(family, SocketType::STREAM, None).is_ok();
    let is_open = |path: &Path, flags| {
        rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty()).is_ok()
    };
    let capabilities = rustix::thread::capabilities(None);
    let is_privileged = capabilities.is_ok_and(|sets| sets.effective != CapabilitySet::empty());
    [
        ("read a directory of the host", is_open(place, OFlags::RDONLY | OFlags::DIRECTORY)),
        ("make a Unix socket", socket(AddressFamily::UNIX)),
        ("make an Internet socket", socket(AddressFamily::INET)),
        ("make a netlink socket", socket(AddressFamily::NETLINK)),
        ("make a namespace", sys::unshare(UnshareFlags::NEWUTS).is_ok()),
        ("keep capabilities", is_privileged),
        ("gain privileges", !rustix::thread::no_new_privs().unwrap_or(false)),
    ]
}
