//! Tests of which calls a cage has, without making one; the cages themselves are attacked elsewhere.

use seccompiler::sock_filter;

use super::filter::tests::{Call, run};
use super::*;
use crate::cage::{Limits, Network};

const ALLOW: u32 = 0x7fff_0000;

fn error(number: c_int) -> u32 {
    0x0005_0000 | word(number)
}

/// A cage with or without Unix sockets and doors.
fn spec(unix_sockets: bool, has_doors: bool) -> CageSpec {
    let network = match has_doors {
        true => Network::Doors { ports: vec![80], addresses: Vec::new() },
        false => Network::None,
    };
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: false,
        home: "/home/nobody".into(),
        scratch: None,
        network,
        unix_sockets,
        opens_beneath: false,
        relaxed: Vec::new(),
        limits: Limits::SERVER,
        user: None,
    }
}

fn built(rung: Rung, spec: &CageSpec) -> Vec<sock_filter> {
    filter(rung, spec, false).unwrap().build().unwrap()
}

fn verdict(filter: &[sock_filter], call: c_long, arguments: &[u32]) -> u32 {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    run(filter, Call::new(call, all)).0
}

#[test]
fn a_call_exists_or_is_shut_or_does_not_exist() {
    for rung in Rung::ALL {
        let filter = built(rung, &spec(false, false));
        assert!(filter.len() < 600, "{rung}: {}", filter.len());
        for number in 0..1000 {
            let is_known = calls::KNOWN.contains(&number) || calls::KNOWN_HERE.contains(&number);
            let is_shut = calls::SHUT.contains(&number)
                || rung == Rung::Landlock
                    && (calls::SHUT_FOR_FILES.contains(&number)
                        || calls::SHUT_ALONE.contains(&number));
            let expected = match number {
                // A socket of no family, and a pair of no kind.
                libc::SYS_socket | libc::SYS_socketpair => error(libc::EAFNOSUPPORT),
                _ if is_shut => error(libc::EPERM),
                // Only for programs of ours.
                libc::SYS_openat2 => error(libc::ENOSYS),
                _ if is_known => ALLOW,
                _ => error(libc::ENOSYS),
            };
            assert_eq!(verdict(&filter, number, &[]), expected, "{rung}: {number}");
        }
        // The same calls by the numbers of the old way to call on this machine.
        assert_eq!(verdict(&filter, 0x4000_0000, &[]), error(libc::ENOSYS));
    }
}

#[test]
fn root_in_bubblewrap_changes_no_files() {
    let spec = spec(false, false);
    for (rung, is_root, expected) in [
        (Rung::Namespaces, true, ALLOW),
        (Rung::Bubblewrap, false, ALLOW),
        (Rung::Bubblewrap, true, error(libc::EPERM)),
        (Rung::Landlock, false, error(libc::EPERM)),
    ] {
        let filter = filter(rung, &spec, is_root).unwrap().build().unwrap();
        assert_eq!(verdict(&filter, libc::SYS_fchmodat, &[0, 0, 0o644]), expected, "{rung}");
    }
}

#[test]
fn sockets_are_of_the_families_and_kinds_that_the_cage_has() {
    const FLAGS: [u32; 3] = [0, libc::SOCK_CLOEXEC.cast_unsigned(), 0x800];
    for (has_unix, has_doors) in [(false, false), (true, false), (false, true), (true, true)] {
        let filter = built(Rung::Namespaces, &spec(has_unix, has_doors));
        for family in (0..70).chain([1 << 16, u32::MAX]) {
            for kind in 0..16 {
                let internet = [word(libc::AF_INET), word(libc::AF_INET6)].contains(&family);
                let is_had = has_unix && family == word(libc::AF_UNIX)
                    || has_doors && internet && [1, 2].contains(&kind);
                let expected = if is_had { ALLOW } else { error(libc::EAFNOSUPPORT) };
                for flags in FLAGS {
                    let made = verdict(&filter, libc::SYS_socket, &[family, kind | flags]);
                    assert_eq!(made, expected, "{has_unix} {has_doors} {family} {kind}");
                }
            }
        }
        for kind in 0..16 {
            let expected =
                if has_unix || [1, 5].contains(&kind) { ALLOW } else { error(libc::EAFNOSUPPORT) };
            for flags in FLAGS {
                let made = verdict(&filter, libc::SYS_socketpair, &[1, kind | flags]);
                assert_eq!(made, expected, "{has_unix} {kind}");
            }
        }
    }
}

#[test]
fn what_leads_out_by_its_arguments_is_refused() {
    let clone = |flags: c_int| vec![(libc::SYS_clone, [word(flags), 0, 0])];
    let mut everywhere = Vec::new();
    for flags in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS | libc::CLONE_VM, libc::CLONE_NEWNET] {
        everywhere.extend(clone(flags));
    }
    everywhere.extend([
        (libc::SYS_fcntl, [3, 1024, 0]),
        (libc::SYS_fchmod, [3, 0o4755, 0]),
        (libc::SYS_fchmodat, [0, 0, 0o2755]),
        (libc::SYS_mknodat, [0, 0, 0o104_755]),
        (libc::SYS_seccomp, [1, 8, 0]),
        (libc::SYS_seccomp, [1, 9, 0]),
        (libc::SYS_ioctl, [0, 0x5412, 0]),
        (libc::SYS_ioctl, [0, 0x541c, 0]),
    ]);
    let alone = [
        (libc::SYS_prlimit64, [1, 0, 0]),
        (libc::SYS_sched_setaffinity, [7, 0, 0]),
        (libc::SYS_prctl, [1, 0, 0]),
        (libc::SYS_ioctl, [3, 0x4008_6602, 0]),
    ];
    let ordinary = [
        clone(libc::CLONE_VM | libc::CLONE_THREAD).remove(0),
        (libc::SYS_fcntl, [3, 1, 0]),
        (libc::SYS_mkdirat, [0, 0, 0o755]),
        (libc::SYS_seccomp, [1, 0, 0]),
        (libc::SYS_seccomp, [2, 8, 0]),
        (libc::SYS_ioctl, [0, 0x5401, 0]),
        (libc::SYS_prlimit64, [0, 0, 0]),
        (libc::SYS_prctl, [15, 0, 0]),
    ];
    for rung in Rung::ALL {
        let filter = built(rung, &spec(false, false));
        let check = |calls: &[(c_long, [u32; 3])], expected: u32| {
            for (call, arguments) in calls {
                let given = verdict(&filter, *call, arguments);
                assert_eq!(given, expected, "{rung}: {call} {arguments:?}");
            }
        };
        check(&everywhere, error(libc::EPERM));
        check(&alone, if rung == Rung::Landlock { error(libc::EPERM) } else { ALLOW });
        check(&ordinary, ALLOW);
    }
}

/// A file that is made with the rights of its owner stays on the host when the cage is gone.
#[test]
fn no_file_is_made_that_runs_with_the_rights_of_its_owner() {
    const CREATE: u32 = 0o101;
    const UNNAMED: u32 = 0o20_200_002;
    for rung in Rung::ALL {
        let filter = built(rung, &spec(false, false));
        for (how, mode, expected) in [
            (CREATE, 0o4755, error(libc::EPERM)),
            (CREATE, 0o2755, error(libc::EPERM)),
            (CREATE, 0o6755, error(libc::EPERM)),
            (UNNAMED, 0o4755, error(libc::EPERM)),
            (CREATE, 0o755, ALLOW),
            (CREATE, 0o1777, ALLOW),
            // Nothing is made, and so whatever stands in the place of the mode is no mode.
            (0, 0o6755, ALLOW),
            (0o200_000, 0o6755, ALLOW),
        ] {
            let at = verdict(&filter, libc::SYS_openat, &[0, 0, how, mode]);
            assert_eq!(at, expected, "{rung}: {how:o} {mode:o}");
            #[cfg(target_arch = "x86_64")]
            assert_eq!(verdict(&filter, libc::SYS_open, &[0, how, mode]), expected, "{rung}");
        }
        // Its mode cannot be seen, so it is for programs of ours.
        assert_eq!(verdict(&filter, libc::SYS_openat2, &[]), error(libc::ENOSYS));
        let ours = CageSpec { opens_beneath: true, ..spec(false, false) };
        assert_eq!(verdict(&built(rung, &ours), libc::SYS_openat2, &[]), ALLOW);
    }
}
