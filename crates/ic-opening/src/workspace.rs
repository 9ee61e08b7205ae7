//! Which directories of a person's an agent may be free in, and which never.
//!
//! What the agent does there is judged call by call; this only keeps out what no such directory should
//! ever be. Nothing is made here.

mod grounds;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_confine::CageSpec;
use ic_home::{Environment, Home};
use ic_policy::SandboxKind;
use ic_policy::bounds::PROTECTED_HOME_NAMES;
use ic_resolve::path::{Found, Last};
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};

use crate::fault::Fault;
pub(crate) use grounds::Grounds;

/// Where the system says who has a home, and where.
const PASSWD: &str = "/etc/passwd";
/// The longest such file.
const PASSWD_BYTES_MAX: u64 = 16 << 20;
/// Homes by custom.
const ROOT_HOME: &str = "/root";
/// Where every directory is a home.
const HOMES: &str = "/home";
/// Where the homes of services are, which belong to nobody: they are the system's own directories.
const OF_SERVICES: [&str; 11] = [
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/nonexistent",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
];

/// Returns the user's own directory to work in, if one is named.
pub fn workspace_at(
    path: Option<&Path>,
    environment: &Environment,
) -> Result<Option<(AbsolutePath, SandboxKind)>, Fault> {
    let Some(path) = path else { return Ok(None) };
    let path = environment.absolute_as_typed(path)?;
    check_directory("workspace", &path, environment)?;
    Ok(Some((path, SandboxKind::Workspace)))
}

/// Refuses a directory in which no agent should be free.
pub fn check_directory(
    what: &str,
    path: &AbsolutePath,
    environment: &Environment,
) -> Result<(), Fault> {
    let passwd = ic_home::file::read_following(PASSWD, PASSWD_BYTES_MAX)?.unwrap_or_default();
    let owners = Owners {
        user: environment.home()?,
        ours: environment.ironcurtain_home()?,
        passwd: &passwd,
        uid: rustix::process::getuid().as_raw(),
    };
    match owners.objection(path, &RealDisk)? {
        None => {
            Grounds::lead(path, &Home::new(environment.ironcurtain_home()?))?;
            Ok(())
        }
        Some(reason) => Err(Fault::request(format!(
            "`{}` cannot be the {what}: {reason}",
            path.as_path().display()
        ))
        .with_hint("name a directory that holds what the agent is to work on, and nothing else")),
    }
}

/// Whose directories are nobody's to work in.
struct Owners<'a> {
    /// The home that the environment names.
    user: AbsolutePath,
    /// The IronCurtain home.
    ours: AbsolutePath,
    /// What the system says about its users.
    passwd: &'a [u8],
    /// Who we are there.
    uid: u32,
}

impl Owners<'_> {
    /// Returns why `path` is no directory for an agent to be free in.
    fn objection(
        &self,
        path: &AbsolutePath,
        disk: &dyn Disk,
    ) -> Result<Option<&'static str>, Fault> {
        let found = follow(path, disk)?;
        match &found.entry {
            Some(entry) if entry.kind == Kind::Directory => {}
            Some(_) => return Ok(Some("it is not a directory")),
            None => return Ok(Some("it does not exist")),
        }
        let (found, ours) = (found.path, follow(&self.ours, disk)?.path);
        let user = follow(&self.user, disk)?.path;
        Ok(match () {
            () if found.parent().is_none() => Some("it is everything"),
            () if user.is_within(&found) || self.is_others_home(&found, disk) => {
                Some("it is a home directory, or holds one")
            }
            () if ours.is_within(&found) => Some("it holds the IronCurtain home"),
            () if found.is_within(&ours) => Some("it lies in the IronCurtain home"),
            () if self.is_protected(&found, disk) => {
                Some("it is protected: it holds keys or credentials, and no policy opens it")
            }
            () if !CageSpec::can_show(found.as_path()) => {
                Some("it is the system's own, and no cage can show it")
            }
            () => None,
        })
    }

    /// Returns whether `path` lies in a place of the user's home that is always protected.
    fn is_protected(&self, path: &CanonicalPath, disk: &dyn Disk) -> bool {
        PROTECTED_HOME_NAMES.iter().any(|name| {
            let place = AbsolutePath::new(self.user.as_path().join(name)).ok();
            let found = place.and_then(|place| follow(&place, disk).ok());
            found.is_some_and(|found| path.is_within(&found.path))
        })
    }

    /// Returns whether `path` is a home by custom or by the system's list, or holds one.
    ///
    /// The variable `HOME` may say anything.
    fn is_others_home(&self, path: &CanonicalPath, disk: &dyn Disk) -> bool {
        let followed = |text: &Path| {
            let found = AbsolutePath::new(text).ok().and_then(|path| follow(&path, disk).ok());
            // What cannot be looked at is taken to be where it says.
            found.map(|found| found.path).or_else(|| CanonicalPath::new(text).ok())
        };
        let homes = followed(Path::new(HOMES));
        let is_in_homes = path.parent().is_some_and(|parent| Some(parent) == homes);
        let mut listed = [HOMES, ROOT_HOME].map(Path::new).into_iter().chain(self.listed_homes());
        is_in_homes || listed.any(|home| followed(home).is_some_and(|home| home.is_within(path)))
    }

    /// Returns the homes of people in the system's list, but for those that are homes by custom.
    fn listed_homes(&self) -> impl Iterator<Item = &Path> {
        let lines = self.passwd.split(|byte| *byte == b'\n');
        lines.filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b':');
            let uid = fields.nth(2)?;
            let home = Path::new(OsStr::from_bytes(fields.nth(2)?));
            let is_me = str::from_utf8(uid).ok().and_then(|uid| uid.parse().ok()) == Some(self.uid);
            let is_of_service = OF_SERVICES.iter().any(|place| home.starts_with(place));
            // There may be very many of these, each on a file system of its own.
            let is_in_homes = home.parent() == Some(Path::new(HOMES));
            (home.is_absolute() && !is_in_homes && (is_me || !is_of_service)).then_some(home)
        })
    }
}

fn follow(path: &AbsolutePath, disk: &dyn Disk) -> Result<Found, Fault> {
    ic_resolve::path::follow(disk, path, Last::Follow).map_err(|fault| {
        Fault::machine(format!("cannot resolve `{}`", path.as_path().display())).with_source(fault)
    })
}

#[cfg(test)]
mod tests {
    use ic_testkit::MemoryDisk;

    use super::*;

    const PEOPLE: &[u8] = b"root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/usr/sbin:/usr/sbin/nologin
nobody:x:65534:65534::/:/usr/sbin/nologin
list:x:38:38::/var/list:/usr/sbin/nologin
ann:x:1000:1000:Ann,,,:/people/ann:/bin/sh
bob:x:1001:1001::/export/bob
cut:x:1002
relative:x:1003:1003::people:/bin/sh
caf\xe9:x:1004:1004:\xe9:/people/caf\xe9:/bin/sh
db:x:101:104::/var/lib/db:/bin/bash";

    #[track_caller]
    fn check(disk: &MemoryDisk, uid: u32, cases: &[(&str, Option<&str>)]) {
        let path = |text: &str| AbsolutePath::new(text).unwrap();
        let (user, ours) = (path("/elsewhere/me"), path("/elsewhere/me/.ironcurtain"));
        let owners = Owners { user, ours, passwd: PEOPLE, uid };
        for (text, expected) in cases {
            let found = owners.objection(&path(text), disk).unwrap();
            assert_eq!(found, *expected, "{text} for {uid}");
        }
    }

    const PROTECTED: Option<&str> =
        Some("it is protected: it holds keys or credentials, and no policy opens it");
    const HOME: Option<&str> = Some("it is a home directory, or holds one");
    const SYSTEM: Option<&str> = Some("it is the system's own, and no cage can show it");

    #[test]
    fn homes_are_found_wherever_they_are() {
        let disk = MemoryDisk::new()
            .dir("/root/work")
            .dir("/home/eve/work")
            .dir("/people/ann/work")
            .dir("/people/caf")
            .dir("/disk/bob/work")
            .link("/export", "/disk")
            .dir("/var/lib/db/work")
            .dir("/var/list")
            .dir("/usr/sbin")
            .dir("/usr/src")
            .dir("/srv/work")
            .dir("/elsewhere/me/work")
            .dir("/elsewhere/me/.ssh/keys")
            .dir("/elsewhere/me/.config/gh");
        let everybody = [
            ("/root", HOME),
            ("/root/work", None),
            ("/home", HOME),
            ("/home/eve", HOME),
            ("/home/eve/work", None),
            ("/people", HOME),
            ("/people/ann", HOME),
            ("/people/ann/work", None),
            ("/people/caf", None),
            ("/export", HOME),
            ("/disk/bob", HOME),
            ("/export/bob/work", None),
            ("/var/list", None),
            ("/usr/src", None),
            ("/srv/work", None),
            ("/elsewhere", HOME),
            ("/elsewhere/me", HOME),
            ("/elsewhere/me/work", None),
            ("/elsewhere/me/.ssh", PROTECTED),
            ("/elsewhere/me/.ssh/keys", PROTECTED),
            ("/elsewhere/me/.config/gh", PROTECTED),
            ("/elsewhere/me/.config", None),
        ];
        check(&disk, 1000, &everybody);
        check(&disk, 1000, &[("/var/lib/db", None), ("/var/lib/db/work", None)]);
        // A service that is us has a home.
        check(&disk, 101, &[("/var/lib/db", HOME), ("/var/lib", HOME), ("/var/lib/db/work", None)]);
    }

    #[test]
    fn homes_behind_a_link_are_homes() {
        let disk = MemoryDisk::new().link("/home", "/var/home").dir("/var/home/eve/work");
        let disk = disk.dir("/elsewhere/me");
        let cases = [
            ("/home", HOME),
            ("/var/home", HOME),
            ("/var/home/eve", HOME),
            ("/home/eve", HOME),
            ("/home/eve/work", None),
        ];
        check(&disk, 1000, &cases);
    }

    #[test]
    fn what_no_cage_can_show_is_no_workspace() {
        let disk = MemoryDisk::new()
            .dir("/etc/ssl")
            .dir("/proc/self")
            .dir("/sys/kernel")
            .dir("/dev/shm")
            .dir("/run/user/1000")
            .dir("/run/app")
            .dir("/var/lib/app")
            .dir("/elsewhere/me");
        let cases = [
            ("/etc", SYSTEM),
            ("/etc/ssl", None),
            ("/proc", SYSTEM),
            ("/proc/self", SYSTEM),
            ("/sys/kernel", SYSTEM),
            ("/dev/shm", SYSTEM),
            ("/run", SYSTEM),
            ("/run/user/1000", SYSTEM),
            ("/run/app", None),
            ("/var", SYSTEM),
            ("/var/lib/app", None),
        ];
        check(&disk, 1000, &cases);
    }
}
