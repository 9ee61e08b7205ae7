//! What every cage shows of the system: programs, libraries, harmless settings, devices.
//!
//! Lists of names, and the text of the few files that are made for a cage; how they get there is the
//! business of the rung. Nothing here is the user's.

use std::path::{Path, PathBuf};

use crate::cage::CageSpec;

/// Returns whether every cage shows what is at `path`, as far as it is there.
pub(crate) fn is_shown(path: &Path) -> bool {
    DIRECTORIES.into_iter().chain(OPTIONAL_DIRECTORIES).any(|directory| path.starts_with(directory))
}

/// Returns whether `path` holds, or lies in, something that every cage shows; programs follow links there.
pub(super) fn is_touched(path: &Path) -> bool {
    let directories = DIRECTORIES.into_iter().chain(OPTIONAL_DIRECTORIES).map(PathBuf::from);
    let etc = ETC.into_iter().map(|name| Path::new("/etc").join(name));
    directories.chain(etc).any(|shown| path.starts_with(&shown) || shown.starts_with(path))
}

/// Directories that programs and libraries are in, where they are.
pub(super) const DIRECTORIES: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// The same for systems that keep their programs elsewhere.
pub(super) const OPTIONAL_DIRECTORIES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// What is shown of `/etc`: how programs are linked, which certificates are believed, how things are
/// called. No keys, no settings of services.
pub(super) const ETC: [&str; 21] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "gai.conf",
    "host.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "mime.types",
    "os-release",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// What is made for a cage in `/etc`, where the cage has one of its own; elsewhere it is the host's,
/// with the names of its users and machines.
pub(super) const MADE_ETC: [&str; 6] =
    ["group", "hostname", "hosts", "nsswitch.conf", "passwd", "resolv.conf"];

/// What is shown of `/dev`.
pub(super) const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];

/// What is shown of `/proc` besides the processes: how much of the machine there is. No settings, no
/// keys, no devices.
pub(super) const PROC: [&str; 7] =
    ["cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"];

/// Links in `/dev`, and where they lead.
pub(super) const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

/// The name of the machine, as the cage knows it.
pub(super) const HOST_NAME: &str = "cage";

/// Returns the text of a file that is made for a cage.
pub(super) fn made_etc(name: &str, spec: &CageSpec) -> String {
    let ours = || (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let (user, group) = spec.user.as_ref().map_or_else(ours, |it| (it.user, it.group));
    let home = &spec.home;
    // A name that would break the line is no loss: nobody else reads it.
    let home = home.to_str().filter(|home| !home.contains([':', '\n'])).unwrap_or("/");
    match name {
        "passwd" => {
            format!("agent:x:{user}:{group}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
        }
        "group" => format!("agent:x:{group}:\nnogroup:x:65534:\n"),
        "hosts" => format!("127.0.0.1 localhost {HOST_NAME}\n::1 localhost\n"),
        "hostname" => format!("{HOST_NAME}\n"),
        "nsswitch.conf" => {
            "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n".to_owned()
        }
        // The doors of the cage answer there, if it has any.
        "resolv.conf" => "nameserver 127.0.0.1\noptions timeout:3 attempts:2\n".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_programs_are_links_are_followed() {
        for path in ["/usr", "/usr/share/x", "/lib", "/nix", "/etc/ssl", "/etc/ssl/certs/ca"] {
            assert!(is_touched(Path::new(path)), "{path}");
        }
        for path in ["/home/ada", "/home/ada/usr", "/usrs", "/srv", "/etc/ssl/private"] {
            assert!(!is_touched(Path::new(path)), "{path}");
        }
    }
}
