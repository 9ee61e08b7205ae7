//! Locks: one holder, let go on drop, and worth nothing on a file that was taken away.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::atomic::{AtomicUsize, Ordering};

use ic_home::Lock;
use tempfile::tempdir;

use crate::mode;

#[test]
fn one_holds_it_until_it_is_dropped() {
    let place = tempdir().unwrap();
    let path = place.path().join("lock");
    let held = Lock::acquire(&path).unwrap();
    assert_eq!((held.path(), mode(&path)), (path.as_path(), 0o600));
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    drop(held);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
    assert!(path.is_file(), "the file stays");
}

#[test]
fn those_who_wait_take_turns() {
    let place = tempdir().unwrap();
    let path = place.path().join("lock");
    let (n_inside, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let _lock = Lock::acquire(&path).unwrap();
                    assert_eq!(n_inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    n_inside.fetch_sub(1, Ordering::SeqCst);
                    n_done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(n_done.into_inner(), 400);
}

#[test]
fn a_lock_on_a_file_that_was_removed_is_none() {
    let place = tempdir().unwrap();
    let path = place.path().join("lock");
    let stale = Lock::acquire(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let fresh = Lock::try_acquire(&path).unwrap();
    assert!(fresh.is_some(), "the file of the first is nobody's way in any more");
    drop(stale);
    assert!(Lock::try_acquire(&path).unwrap().is_none(), "and its end lets nobody in");
}

#[test]
fn whoever_waited_for_a_file_that_was_removed_gets_the_new_one() {
    let place = tempdir().unwrap();
    let path = place.path().join("lock");
    let held = Lock::acquire(&path).unwrap();
    let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Lock::acquire(&path).unwrap());
        // The system lists who waits, so no time is guessed.
        let is_waiting = |line: &str| line.contains("-> FLOCK") && line.contains(&inode);
        while !fs::read_to_string("/proc/locks").unwrap().lines().any(is_waiting) {
            std::thread::yield_now();
        }
        fs::remove_file(&path).unwrap();
        drop(held);
        let lock = waiting.join().unwrap();
        assert!(Lock::try_acquire(&path).unwrap().is_none(), "two hold it");
        drop(lock);
    });
}

#[test]
fn a_lock_is_a_file_of_ours() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    symlink("elsewhere", at("link")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    assert!(Lock::acquire(at("link")).is_err());
    assert!(Lock::acquire(at("directory")).is_err());
    assert!(Lock::acquire(at("missing/lock")).is_err());
    assert!(!at("elsewhere").exists());
}

#[test]
fn whether_it_is_held_can_be_asked_without_holding_it() {
    let place = tempdir().unwrap();
    let path = place.path().join("lock");
    assert!(!Lock::is_held(&path).unwrap());
    assert!(!path.exists(), "asking makes no file");
    let held = Lock::acquire(&path).unwrap();
    assert!(Lock::is_held(&path).unwrap());
    drop(held);
    assert!(!Lock::is_held(&path).unwrap(), "the file alone holds nothing");
    // Whoever asks at the same time is no holder.
    let asking = fs::File::open(&path).unwrap();
    asking.lock_shared().unwrap();
    assert!(!Lock::is_held(&path).unwrap());
    fs::remove_file(&path).unwrap();
    symlink("elsewhere", &path).unwrap();
    assert!(Lock::is_held(&path).is_err());
}
