//! What a child does to find out whether it is held: it tries to get out.
//!
//! Each attempt is one that would succeed without a cage. It is not a test of everything that a cage
//! promises, but of the layers: files, sockets, namespaces, privileges.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, MemfdFlags, Mode, OFlags};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::Resource;
use rustix::thread::{CapabilitySet, UnshareFlags};

use crate::cage::Limits;
use crate::orders::LAUNCH;
use crate::rung::Rung;
use crate::sys;

/// What a child says that is held.
pub(crate) const HELD: &str = "held";
/// The order to try.
pub(crate) const CHECK: &str = "check";

/// What a child with namespaces of its own has for itself.
const NAMESPACES: [&str; 5] = ["ipc", "mnt", "net", "pid", "uts"];

/// Returns the arguments with which this program tries to read `place`, a directory of the host, and
/// compares its namespaces with ours if it is to have others.
pub(crate) fn check_words(place: &Path, rung: Rung) -> Vec<OsString> {
    let mut words = vec![LAUNCH.into(), CHECK.into(), place.into()];
    if rung.can_hide() {
        words.extend(NAMESPACES.into_iter().map(|name| OsString::from(namespace(name))));
    }
    words
}

/// Returns what names the namespace of this process; nothing if the system does not tell.
fn namespace(name: &str) -> String {
    let link = rustix::fs::readlinkat(CWD, format!("/proc/self/ns/{name}"), Vec::new());
    link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Tries, and says what came of it; returns the code to end with.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> u8 {
    let Some(place) = words.next().map(PathBuf::from) else { return super::EXIT_LAUNCHER };
    let succeeded = attempts(&place).into_iter().find(|(_, succeeded)| *succeeded);
    // Where the system does not tell, both are nothing, and alike.
    let shares =
        words.zip(NAMESPACES).any(|(theirs, name)| theirs.to_str() == Some(&namespace(name)));
    let succeeded = succeeded.or(shares.then_some(("share a namespace with the host", true)));
    let said = succeeded.map_or(HELD, |(what, _)| what);
    match writeln!(std::io::stdout(), "{said}") {
        Ok(()) => 0,
        Err(_) => super::EXIT_LAUNCHER,
    }
}

/// What a child of a probe may open at most.
const DESCRIPTORS_MAX: u64 = Limits::SERVER.descriptors_max as u64;

fn descriptors() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Tries what only Landlock forbids, from the version on in which it does.
fn reaches_parent() -> bool {
    6 <= sys::landlock_version()
        && rustix::process::getppid()
            .is_some_and(|parent| rustix::process::test_kill_process(parent).is_ok())
}

/// Tries what only Landlock forbids, in the one place that the child may write.
fn makes_socket_file() -> bool {
    let name = format!("socket-{}", rustix::process::getpid());
    rustix::fs::mknodat(CWD, name, FileType::Socket, Mode::RUSR, 0).is_ok()
}

/// Tries what only the list of known calls forbids.
fn makes_nameless_file() -> bool {
    rustix::fs::memfd_create(c"probe", MemfdFlags::CLOEXEC).is_ok()
}

fn makes_datagram_pair() -> bool {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None).is_ok()
}

fn attempts(place: &Path) -> [(&'static str, bool); 12] {
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
        ("signal its parent", reaches_parent()),
        ("make a socket in a directory", makes_socket_file()),
        ("make a file that has no name", makes_nameless_file()),
        ("open as many files as it likes", DESCRIPTORS_MAX < descriptors()),
        ("make a pair of datagram sockets", makes_datagram_pair()),
    ]
}
