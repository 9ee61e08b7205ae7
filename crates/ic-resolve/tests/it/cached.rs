//! One look for a whole path, and looks that ask no disk: both say what the walk from part to part says.

use std::os::unix::fs::symlink;
use std::path::Path;

use ic_resolve::path::{Found, Last, PathFault, follow, walk};
use ic_resolve::{CachedDisk, Disk as _, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};

/// A tree with everything that a path can lead through.
fn tree() -> (tempfile::TempDir, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("a/b/c")).unwrap();
    for file in ["a/f", "a/b/f", "a/b/c/f"] {
        std::fs::write(root.join(file), "x").unwrap();
    }
    for (target, link) in [
        ("b", "a/relative"),
        ("b/f", "a/to-file"),
        ("nowhere", "a/dangling"),
        ("loop", "a/loop"),
        ("../../f", "a/b/up"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(root.join("a/b"), root.join("absolute")).unwrap();
    let paths = [
        "",
        "a",
        "a/f",
        "a/b/c/f",
        "a/b/c/",
        "a//b",
        "a/./b",
        "a/b/../f",
        "a/relative",
        "a/relative/f",
        "a/to-file",
        "a/dangling",
        "a/dangling/x",
        "a/b/up",
        "a/f/x",
        "absolute",
        "absolute/c/f",
        "absolute/../f",
        "missing",
        "missing/x",
        "a/b/c/new",
        "a/loop/x",
    ];
    let paths = paths.map(|path| format!("{}/{path}", root.display()));
    let special = ["/", "/proc/self/status", "/proc/1/root", "/dev/null", "/.."];
    (place, paths.into_iter().chain(special.map(str::to_owned)).collect())
}

fn told(found: Result<Found, PathFault>) -> String {
    match found {
        // The file systems of the kernel's own give out new times with each look.
        Ok(found) if found.path.to_string().starts_with("/proc") => format!("{:?}", found.path),
        found => format!("{found:?}"),
    }
}

#[test]
fn a_straight_look_says_what_the_walk_says() {
    let (_place, paths) = tree();
    for path in &paths {
        for last in [Last::Follow, Last::Keep] {
            let absolute = AbsolutePath::new(path).unwrap();
            let walked = walk(&RealDisk, CanonicalPath::root(), Path::new(path).as_os_str(), last);
            assert_eq!(told(follow(&RealDisk, &absolute, last)), told(walked), "{path} {last:?}");
        }
    }
}

/// What was never looked at may be missed; what is said is true, and what was looked at is known.
#[test]
fn what_is_remembered_is_what_is_there() {
    let (_place, paths) = tree();
    let mut n_known = 0;
    for path in &paths {
        let absolute = AbsolutePath::new(path).unwrap();
        let real = told(follow(&RealDisk, &absolute, Last::Follow));
        let cached = CachedDisk::default();
        let remembered = told(follow(&cached, &absolute, Last::Follow));
        if !cached.has_missed() {
            assert_eq!(remembered, real, "{path}");
            n_known += 1;
        }
    }
    assert!(6 <= n_known, "{n_known} of {}", paths.len());
}

/// Whatever was missed, nothing that is said afterwards counts, and nothing is asked.
#[test]
fn after_a_miss_nothing_is_answered() {
    let cached = CachedDisk::default();
    assert!(cached.look(Path::new("/")).unwrap().is_some() && !cached.has_missed());
    assert!(cached.read_link(Path::new("/proc/self")).is_err() && cached.has_missed());
    assert!(cached.look(Path::new("/")).is_err());
    assert!(cached.look_straight(Path::new("/")).is_none());
    for ask in [
        (|disk| disk.read_file(Path::new("/dev/null"), 1).is_err()) as fn(&CachedDisk) -> bool,
        |disk| disk.list(Path::new("/"), 1).is_err(),
    ] {
        let cached = CachedDisk::default();
        assert!(ask(&cached) && cached.has_missed());
    }
}
