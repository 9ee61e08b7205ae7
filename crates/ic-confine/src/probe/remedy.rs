//! What a person can do so that a rung works here, as far as the settings of the system tell.
//!
//! It looks at settings and changes none.

use std::path::Path;

use crate::launch::cage::bubblewrap;
use crate::rung::Rung;
use crate::{proc, sys};

const NAMESPACES: &str = "user/max_user_namespaces";
const DEBIAN: &str = "kernel/unprivileged_userns_clone";
const APPARMOR: &str = "kernel/apparmor_restrict_unprivileged_userns";

/// Returns the number that is set at `name` below `/proc/sys`, if there is such a setting.
pub(super) fn read_setting(name: &str) -> Option<u64> {
    let text = proc::read(&Path::new("/proc/sys").join(name), 64).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

/// Returns what to do so that `rung` works.
pub(super) fn of(rung: Rung, setting: impl Fn(&str) -> Option<u64>) -> String {
    match rung {
        Rung::Namespaces => namespaces(setting),
        Rung::Bubblewrap if !bubblewrap::is_installed() => {
            "install the package `bubblewrap`".to_owned()
        }
        Rung::Bubblewrap => format!("let `bwrap` make user namespaces: {}", namespaces(setting)),
        Rung::Landlock => landlock(sys::landlock_version()),
    }
}

fn namespaces(setting: impl Fn(&str) -> Option<u64>) -> String {
    let mut remedies = Vec::new();
    if setting(NAMESPACES) == Some(0) {
        remedies.push("`sysctl -w user.max_user_namespaces=15000`".to_owned());
    }
    if setting(DEBIAN) == Some(0) {
        remedies.push("`sysctl -w kernel.unprivileged_userns_clone=1`".to_owned());
    }
    if setting(APPARMOR) == Some(1) {
        remedies.push(
            "an AppArmor profile for this program, in `/etc/apparmor.d/ironcurtain`: \
             `abi <abi/4.0>, profile ironcurtain /PATH/TO/ironcurtain flags=(unconfined) { userns, }`, \
             then `apparmor_parser -r /etc/apparmor.d/ironcurtain`; or \
             `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
                .to_owned(),
        );
    }
    if remedies.is_empty() {
        return "the settings of the system allow namespaces, so something around this program does \
                not: in a container run it with `--security-opt seccomp=unconfined`, or outside"
            .to_owned();
    }
    remedies.join(", and ")
}

fn landlock(version: i32) -> String {
    match version {
        0 => "use a kernel from 6.12 on, with `landlock` in `lsm=` on its command line".to_owned(),
        version => {
            format!("use a kernel from 6.12 on; the Landlock of this one is version {version}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: &[(&str, u64)], expected: &[&str], others: &[&str]) {
        let find =
            |name: &str| settings.iter().find(|(it, _)| *it == name).map(|(_, value)| *value);
        let remedy = of(Rung::Namespaces, find);
        for text in expected {
            assert!(remedy.contains(text), "{remedy}");
        }
        for text in others {
            assert!(!remedy.contains(text), "{remedy}");
        }
    }

    #[test]
    fn the_setting_that_is_in_the_way_is_named() {
        check(&[(NAMESPACES, 0)], &["max_user_namespaces=15000"], &["apparmor", "container"]);
        check(&[(NAMESPACES, 15000), (DEBIAN, 0)], &["userns_clone=1"], &["max_user", "container"]);
        check(&[(APPARMOR, 1), (DEBIAN, 1)], &["/etc/apparmor.d/", "userns,"], &["userns_clone"]);
        check(&[(APPARMOR, 1), (DEBIAN, 0)], &["/etc/apparmor.d/", "userns_clone=1"], &[]);
        check(&[(APPARMOR, 0), (NAMESPACES, 9)], &["container"], &["sysctl"]);
        check(&[], &["container"], &["sysctl"]);
    }

    #[test]
    fn an_old_landlock_is_told_from_none() {
        assert!(landlock(0).contains("lsm="));
        assert!(landlock(4).contains("version 4"));
    }
}
