//! Whether anybody is there to answer.

use std::fs;

use ic_escalation::{Presence, PresenceError, is_anybody_there};
use ic_home::{Home, Lock};
use ic_types::AbsolutePath;
use tempfile::TempDir;

fn home() -> (TempDir, Home) {
    let root = tempfile::tempdir().unwrap();
    let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
    home.prepare().unwrap();
    (root, home)
}

#[test]
fn somebody_is_there_until_they_leave() {
    let (_root, home) = home();
    assert!(!is_anybody_there(&home).unwrap());
    let presence = Presence::take(&home).unwrap();
    assert!(is_anybody_there(&home).unwrap());
    assert!(matches!(Presence::take(&home), Err(PresenceError::Taken)));
    drop(presence);
    assert!(!is_anybody_there(&home).unwrap());
    assert!(!home.desk_lock(std::process::id()).exists());
    drop(Presence::take(&home).unwrap());
}

#[test]
fn a_file_that_nobody_holds_is_nobody() {
    let (_root, home) = home();
    fs::write(home.desk_lock(1), "").unwrap();
    fs::write(home.registry().join("desk-x.lock"), "").unwrap();
    assert!(!is_anybody_there(&home).unwrap());
    assert!(!home.desk_lock(1).exists());
    assert!(home.registry().join("desk-x.lock").exists(), "not ours to remove");
}

/// Whoever removes a stale lock holds it for a moment, and is not there for that.
#[test]
fn a_lock_of_a_process_that_is_gone_is_nobody() {
    let (_root, home) = home();
    let _held = Lock::acquire(home.desk_lock(u32::MAX)).unwrap();
    assert!(!is_anybody_there(&home).unwrap());
    assert!(home.desk_lock(u32::MAX).exists());
}

#[test]
fn without_a_registry_nobody_is_there() {
    let root = tempfile::tempdir().unwrap();
    let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
    assert!(!is_anybody_there(&home).unwrap());
    assert!(Presence::take(&home).is_err());
}

/// Many look while somebody comes and goes: nobody is put out by that.
#[test]
fn looking_disturbs_nobody() {
    let (_root, home) = home();
    let look = || {
        is_anybody_there(&home).unwrap();
        std::thread::yield_now();
    };
    crate::world::disturbed(3, look, || {
        for _ in 0..200 {
            let presence = Presence::take(&home).unwrap();
            assert!(is_anybody_there(&home).unwrap());
            drop(presence);
        }
    });
    assert!(!is_anybody_there(&home).unwrap());
}
