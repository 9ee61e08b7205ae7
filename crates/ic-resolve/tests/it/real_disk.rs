//! The real disk gives the answers of the disk in memory, and of the system's own resolving.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use ic_resolve::path::{self, Last};
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath, Role};

#[test]
fn existing_paths_resolve_as_the_system_resolves_them() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::write(root.join("d/e/f"), "x").unwrap();
    symlink("e", root.join("d/link")).unwrap();
    symlink(root.join("d"), root.join("abs")).unwrap();
    symlink("abs/link/f", root.join("chain")).unwrap();
    for relative in
        ["d/e/f", "d/link/f", "abs/e", "chain", "abs/link/../e/f", "d/./e//f", "abs/../chain"]
    {
        let path = root.join(relative);
        let found =
            path::follow(&RealDisk, &AbsolutePath::new(&path).unwrap(), Last::Follow).unwrap();
        assert_eq!(found.path.as_path(), path.canonicalize().unwrap(), "{relative}");
        assert!(found.entry.is_some(), "{relative}");
    }
}

#[test]
fn the_state_of_a_file_tells_one_file_from_another() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("f");
    let look = || RealDisk.look(&file).unwrap().unwrap();
    fs::write(&file, "one").unwrap();
    let before = look();
    assert_eq!((before.kind, before.state.bytes), (Kind::File, 3));
    // Another file under the same name.
    fs::write(place.path().join("g"), "two").unwrap();
    fs::rename(place.path().join("g"), &file).unwrap();
    assert_ne!(look().state, before.state);
}

#[test]
fn absence_is_an_answer_and_trouble_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::write(root.join("file"), "x").unwrap();
    assert_eq!(RealDisk.look(&root.join("gone")).unwrap(), None);
    assert_eq!(RealDisk.look(&root.join("file/below")).unwrap(), None);
    assert_eq!(RealDisk.read_file(&root.join("gone"), 10).unwrap(), None);
    assert!(RealDisk.look(&root.join("x".repeat(300))).is_err(), "a name too long is no absence");
}

#[test]
fn only_small_regular_files_are_read() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::write(root.join("file"), "12345").unwrap();
    symlink("file", root.join("link")).unwrap();
    assert_eq!(RealDisk.read_file(&root.join("file"), 5).unwrap(), Some(b"12345".to_vec()));
    assert!(RealDisk.read_file(&root.join("file"), 4).is_err());
    assert!(RealDisk.read_file(&root.join("link"), 10).is_err());
    assert!(RealDisk.read_file(root, 10).is_err());
    // A pipe without a writer would make a careless reader wait for ever.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(RealDisk.read_file(&root.join("pipe"), 10).is_err());
}

#[test]
fn names_that_are_not_utf_8_can_be_walked_through() {
    let place = tempfile::tempdir().unwrap();
    let odd = place.path().join(Path::new(std::ffi::OsStr::from_bytes(b"od\xffd")));
    fs::create_dir(&odd).unwrap();
    symlink(&odd, place.path().join("link")).unwrap();
    let path = AbsolutePath::new(place.path().join("link")).unwrap();
    let found = path::follow(&RealDisk, &path, Last::Follow).unwrap();
    assert_eq!(found.path.to_str(), None);
    let links = RealDisk.list(place.path(), 10).unwrap();
    assert!(links.contains(&("link".into(), Kind::Link)) && links.len() == 2, "{links:?}");
}

/// A repository that the user makes directly in the workspace during a session counts from the next call on,
/// however many directories stand beside it, and also if it is a bare one.
#[test]
fn a_new_repository_is_found_among_any_number_of_directories() {
    use ic_resolve::{Change, Executes, Orders, UserGit};
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let (home, ws) = (root.join("home"), root.join("ws"));
    for directory in [home.clone(), ws.join("tools")] {
        fs::create_dir_all(directory).unwrap();
    }
    let home = AbsolutePath::new(home).unwrap();
    let workspace = CanonicalPath::new(&ws).unwrap();
    let orders = Orders::of(&home, &UserGit::default(), Some(&workspace));
    let counts = |name: &str| {
        let path = CanonicalPath::new(ws.join(name)).unwrap();
        let change = Change { role: Role::WritePath, path, is_kept: false };
        !Executes::new(&RealDisk, &home, Some(&orders), None).of(&[change]).is_empty()
    };
    assert!(!counts("tools/x") && !counts("tools/y"));
    for n in 0..200 {
        fs::create_dir(ws.join(format!("a{n:03}"))).unwrap();
    }
    assert!(!counts("tools/x"));
    for (git, setting) in [("zz/.git", "../tools/x"), ("zz.git", "../tools/y")] {
        for name in ["objects", "refs"] {
            fs::create_dir_all(ws.join(git).join(name)).unwrap();
        }
        fs::write(ws.join(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = format!("[core]\n\tfsmonitor = sh {setting}\n\tsshCommand = sh {setting}\n");
        fs::write(ws.join(git).join("config"), config).unwrap();
    }
    assert!(counts("tools/x"), "the repository of a directory");
    assert!(counts("tools/y"), "a bare one");
    assert!(!counts("tools/z"));
}
