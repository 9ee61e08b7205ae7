//! Preparing a home: what is made, what is tightened, what is swept, and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use ic_home::HomeError;
use tempfile::{TempDir, tempdir};

use crate::{home, is_root, mode, names};

const NOBODY: u32 = 65_534;
const FIXED: [&str; 5] = ["audit", "keys", "logs", "registry", "sessions"];

#[track_caller]
fn refused(root: &Path) -> HomeError {
    home(root).prepare().unwrap_err()
}

#[track_caller]
fn write(path: impl AsRef<Path>, text: &str, mode: u32) {
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_home_is_made_private_and_a_second_time_changes_nothing() {
    let place = tempdir().unwrap();
    let root = place.path().join("my home");
    for _ in 0..2 {
        home(&root).prepare().unwrap();
        assert_eq!(names(&root), FIXED);
        for directory in FIXED {
            assert_eq!(mode(root.join(directory)), 0o700, "{directory}");
        }
        assert_eq!(mode(&root), 0o700);
    }
}

#[test]
fn the_rights_of_others_are_taken_away_from_what_is_ours() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    home(&root).prepare().unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    for directory in ["", "keys", "sessions", "generated", "servers"] {
        fs::create_dir_all(root.join(directory)).unwrap();
        open(&root.join(directory));
    }
    for file in ["mcp-servers.json", "constitution.md", "keys/audit.key", "generated/x.json"] {
        write(root.join(file), "{}", 0o644);
    }
    write(root.join("config.json"), r#"{"version":1}"#, 0o666);
    write(root.join("my-script"), "", 0o755);
    fs::write(place.path().join("dotfile"), "").unwrap();
    open(&place.path().join("dotfile"));
    symlink("../dotfile", root.join("servers.lock.json")).unwrap();

    home(&root).prepare().unwrap();
    for directory in ["", "keys", "sessions", "generated", "servers"] {
        assert_eq!(mode(root.join(directory)), 0o700, "{directory}");
    }
    for file in
        ["config.json", "mcp-servers.json", "constitution.md", "keys/audit.key", "generated/x.json"]
    {
        assert_eq!(mode(root.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(root.join("my-script")), 0o755, "this is none of ours");
    assert_eq!(mode(place.path().join("dotfile")), 0o777, "and this is behind a link");
}

#[test]
fn temporary_files_that_were_left_over_are_removed() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    home(&root).prepare().unwrap();
    let session = root.join("sessions/s1");
    let escalations = session.join("escalations");
    fs::create_dir_all(&escalations).unwrap();
    let name =
        |pid: u32, digit: char| format!(".ironcurtain-tmp.{pid}.{}", digit.to_string().repeat(32));
    let (us, gone) = (std::process::id(), i32::MAX.unsigned_abs());
    let old = SystemTime::now() - Duration::from_hours(2);
    for directory in [root.clone(), root.join("keys"), session.clone(), escalations.clone()] {
        fs::write(directory.join(name(gone, '0')), "").unwrap();
        fs::write(directory.join(name(us, '1')), "").unwrap();
        let aged = fs::File::create(directory.join(name(us, '2'))).unwrap();
        aged.set_modified(old).unwrap();
        fs::write(directory.join("mine.tmp"), "").unwrap();
    }
    let held = fs::File::create(root.join(name(gone, '3'))).unwrap();
    held.lock().unwrap();
    symlink("mine.tmp", root.join(name(gone, '4'))).unwrap();

    home(&root).prepare().unwrap();
    fs::rename(&escalations, root.join("keys/escalations")).unwrap();
    for directory in [root.join("keys/escalations"), session] {
        assert_eq!(names(&directory), [name(us, '1'), "mine.tmp".to_owned()]);
    }
    fs::remove_dir_all(root.join("keys/escalations")).unwrap();
    assert_eq!(names(root.join("keys")), [name(us, '1'), "mine.tmp".to_owned()]);
    let left = names(&root).into_iter().filter(|it| !FIXED.contains(&it.as_str()));
    let mut expected = vec![name(gone, '3'), name(gone, '4'), name(us, '1'), "mine.tmp".to_owned()];
    expected.sort();
    assert_eq!(left.collect::<Vec<_>>(), expected);
}

/// Everything about a directory that could be changed.
fn picture(root: &Path) -> Vec<(std::path::PathBuf, u32, Option<Vec<u8>>)> {
    let mut all = vec![(root.to_owned(), mode(root), None)];
    for name in names(root) {
        let path = root.join(name);
        if path.is_dir() {
            all.extend(picture(&path));
        } else {
            all.push((path.clone(), mode(&path), fs::read(&path).ok()));
        }
    }
    all
}

#[test]
fn a_home_of_the_other_program_is_left_as_it_is() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    fs::create_dir_all(root.join("sessions")).unwrap();
    write(root.join("config.json"), r#"{"apiKey":"sk-x"}"#, 0o644);
    write(root.join("constitution.md"), "# mine", 0o644);
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    let before = picture(&root);
    let error = refused(&root);
    assert!(matches!(error, HomeError::Foreign { .. }), "{error}");
    assert_eq!(picture(&root), before);
    assert!(home(&root).is_foreign().unwrap());
    for ours in [r#"{"version":1}"#, r#"{"version":2}"#, "{", "[]", ""] {
        fs::write(root.join("config.json"), ours).unwrap();
        assert!(!home(&root).is_foreign().unwrap(), "{ours}");
    }
}

#[test]
fn a_linked_home_of_ones_own_is_fine() {
    let place = tempdir().unwrap();
    fs::create_dir(place.path().join("real")).unwrap();
    symlink("real", place.path().join("link")).unwrap();
    home(&place.path().join("link")).prepare().unwrap();
    assert_eq!(names(place.path().join("real")), FIXED);
    assert_eq!(mode(place.path().join("real")), 0o700);
}

#[test]
fn what_is_no_home_of_ours_is_refused_and_not_touched() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "x").unwrap();
    symlink("nothing", at("dangling")).unwrap();
    let message =
        |name: &str| refused(&at(name)).to_string().replace(place.path().to_str().unwrap(), "");
    assert_eq!(message("file"), "`/file` is not a directory");
    assert_eq!(message("dangling"), "`/dangling` is a link to something that does not exist");
    assert_eq!(message("a/b"), "cannot make `/a/b`: the directory above it does not exist");
    assert!(!at("nothing").exists() && !at("a").exists());

    fs::create_dir(at("odd")).unwrap();
    fs::write(at("odd/keys"), "").unwrap();
    assert_eq!(message("odd"), "`/odd/keys` is not a directory");
    fs::create_dir(at("linked")).unwrap();
    fs::write(at("elsewhere.json"), r#"{"version":1}"#).unwrap();
    symlink("../elsewhere.json", at("linked/config.json")).unwrap();
    assert_eq!(message("linked"), "`/linked/config.json` is a link, and is not followed");
}

#[test]
fn a_home_of_another_user_is_refused() {
    if !is_root() {
        eprintln!("SKIPPED: only root can make a home of another user");
        return;
    }
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("theirs")).unwrap();
    chown(at("theirs"), Some(NOBODY), None).unwrap();
    symlink("theirs", at("link")).unwrap();
    fs::create_dir(at("ours")).unwrap();
    symlink("ours", at("their-link")).unwrap();
    std::os::unix::fs::lchown(at("their-link"), Some(NOBODY), None).unwrap();

    let message =
        |name: &str| refused(&at(name)).to_string().replace(place.path().to_str().unwrap(), "");
    assert_eq!(message("theirs"), "`/theirs` belongs to another user (id 65534, and we are 0)");
    assert_eq!(message("link"), "`/link` belongs to another user (id 65534, and we are 0)");
    assert_eq!(
        message("their-link"),
        "`/their-link` is a link that belongs to another user (id 65534)"
    );
    assert_eq!((names(at("theirs")), names(at("ours"))), (vec![], vec![]), "nothing was made");

    home(&at("ours")).prepare().unwrap();
    fs::write(at("ours/config.json"), r#"{"version":1}"#).unwrap();
    chown(at("ours/config.json"), Some(NOBODY), None).unwrap();
    assert_eq!(
        message("ours"),
        "`/ours/config.json` belongs to another user (id 65534, and we are 0)"
    );
}

#[test]
fn a_home_on_another_file_system_works() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        eprintln!("SKIPPED: there is no /dev/shm");
        return;
    }
    let place: TempDir = tempfile::tempdir_in(shm).unwrap();
    let root = place.path().join("home");
    home(&root).prepare().unwrap();
    ic_home::file::replace(root.join("config.json"), b"{\"version\":1}").unwrap();
    ic_home::file::create_new(root.join("keys/audit.key"), b"k").unwrap();
    let lock = ic_home::Lock::acquire(root.join("config.lock")).unwrap();
    assert!(ic_home::Lock::try_acquire(root.join("config.lock")).unwrap().is_none());
    drop(lock);
    home(&root).prepare().unwrap();
}

#[test]
fn many_prepare_the_same_home_at_once() {
    let place = tempdir().unwrap();
    let root = place.path().join("home");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for round in 0..20 {
                    home(&root).prepare().unwrap();
                    ic_home::file::replace_unsynced(root.join("config.json"), b"{\"version\":1}")
                        .unwrap();
                    assert!(
                        ic_home::file::read(root.join("config.json"), 100).unwrap().is_some(),
                        "{round}"
                    );
                }
            });
        }
    });
    assert_eq!(names(&root), ["audit", "config.json", "keys", "logs", "registry", "sessions"]);
}
