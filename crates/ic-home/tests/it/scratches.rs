//! Directories for the moment, and looking at a home without touching it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use ic_home::{HomeError, Look, Scratch};
use tempfile::tempdir;

use crate::{home, mode, names};

#[test]
fn a_scratch_directory_is_private_and_gone_with_all_that_is_in_it() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("keep"), "kept").unwrap();
    fs::create_dir(place.path().join("kept")).unwrap();
    fs::write(place.path().join("kept/too"), "kept").unwrap();
    let (one, other) =
        (Scratch::new_in(place.path()).unwrap(), Scratch::new_in(place.path()).unwrap());
    assert_ne!(one.path(), other.path());
    assert_eq!(mode(one.path()), 0o700);
    fs::create_dir_all(one.path().join("a/b")).unwrap();
    fs::write(one.path().join("a/b/c"), "x").unwrap();
    // SECURITY: whatever a server leaves there must not have us remove something else.
    symlink("../keep", one.path().join("link")).unwrap();
    symlink("../kept", one.path().join("a/directory")).unwrap();
    drop(one);
    drop(other);
    assert_eq!(names(place.path()), ["keep", "kept"]);
    assert_eq!(names(place.path().join("kept")), ["too"]);
    let absent = Scratch::new_in(place.path().join("absent")).unwrap_err();
    assert!(absent.to_string().starts_with("cannot create the directory"), "{absent}");
}

#[test]
fn left_over_scratch_directories_are_swept_and_held_ones_are_not() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    home(&root).prepare().unwrap();
    let name = |pid: u32, digit: &str| format!(".ironcurtain-tmp.{pid}.{}", digit.repeat(32));
    let left = |name: &str| {
        fs::create_dir_all(root.join(name).join("sandbox")).unwrap();
        fs::write(root.join(name).join("sandbox/file"), "").unwrap();
        symlink(&root, root.join(name).join("home")).unwrap();
    };
    let (gone, us) = (i32::MAX as u32, std::process::id());
    left(&name(gone, "0"));
    left(&name(us, "1"));
    left(&name(us, "2"));
    let old = SystemTime::now() - Duration::from_hours(2);
    fs::File::open(root.join(name(us, "2"))).unwrap().set_modified(old).unwrap();
    let held = Scratch::new_in(&root).unwrap();
    fs::File::open(held.path()).unwrap().set_modified(old).unwrap();

    home(&root).prepare().unwrap();
    let left: Vec<String> =
        names(&root).into_iter().filter(|it| it.starts_with(".ironcurtain-tmp")).collect();
    let mut expected =
        vec![name(us, "1"), held.path().file_name().unwrap().to_str().unwrap().to_owned()];
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn looking_at_a_home_changes_nothing_and_names_what_others_may_see() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    assert_eq!(home(&root).look().unwrap(), Look::Absent);
    assert_eq!(names(place.path()), [] as [&str; 0]);

    home(&root).prepare().unwrap();
    assert_eq!(home(&root).look().unwrap(), Look::Present { exposed: Vec::new() });
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(root.join("keys/audit.key"), "k").unwrap();
    fs::write(root.join("config.json"), r#"{"version":1}"#).unwrap();
    open(&root.join("keys/audit.key"));
    open(&root.join("config.json"));
    let root = root.canonicalize().unwrap();
    let exposed = vec![root.join("config.json"), root.join("keys/audit.key")];
    assert_eq!(home(&root).look().unwrap(), Look::Present { exposed });
    assert_eq!(mode(root.join("config.json")), 0o640);

    fs::write(root.join("config.json"), "{}").unwrap();
    assert!(matches!(home(&root).look(), Err(HomeError::Foreign { .. })));
    fs::remove_dir_all(&root).unwrap();
    symlink("nowhere", &root).unwrap();
    assert!(matches!(home(&root).look(), Err(HomeError::Dangling { .. })));
}
