//! Hardened files: what is refused, what is replaced, and what is left when something fails.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ic_home::FileError;
use ic_home::file;
use tempfile::tempdir;

use crate::{mode, names};

const MAX: u64 = 1 << 20;

type Replace = fn(PathBuf, &[u8]) -> Result<(), FileError>;

#[track_caller]
fn message<T: std::fmt::Debug>(result: Result<T, FileError>, root: &Path) -> String {
    result.unwrap_err().to_string().replace(root.to_str().unwrap(), "")
}

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "12345").unwrap();
    fs::create_dir(at("directory")).unwrap();
    symlink("file", at("link")).unwrap();
    symlink("loop", at("loop")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();

    assert_eq!(file::read(at("file"), 5).unwrap().unwrap(), b"12345");
    assert_eq!(file::read(at("nothing"), 5).unwrap(), None);
    let read = |name: &str, max| message(file::read(at(name), max), place.path());
    assert_eq!(read("file", 4), "`/file` is longer than 4 bytes");
    assert_eq!(read("directory", MAX), "`/directory` is not a regular file");
    assert_eq!(read("pipe", MAX), "`/pipe` is not a regular file");
    assert_eq!(read("link", MAX), "`/link` is a link, and is not followed");
    assert_eq!(read("file/below", MAX), "cannot read `/file/below`");
    assert_eq!(
        message(file::read("/dev/zero", MAX), place.path()),
        "`/dev/zero` is not a regular file"
    );

    let follow = |name: &str| file::read_following(at(name), MAX);
    assert_eq!(follow("link").unwrap().unwrap(), b"12345");
    assert_eq!(follow("file/below").unwrap(), None, "an absence, as where a person looks");
    assert_eq!(message(follow("loop"), place.path()), "cannot read `/loop`");
    assert_eq!(message(follow("pipe"), place.path()), "`/pipe` is not a regular file");
}

#[test]
fn a_replaced_file_is_private_and_a_link_is_not_written_through() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let both: [Replace; 2] = [
        |path, bytes| file::replace(path, bytes),
        |path, bytes| file::replace_unsynced(path, bytes),
    ];
    for replace in both {
        fs::write(at("file"), "old").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o666)).unwrap();
        replace(at("file"), b"new").unwrap();
        assert_eq!(
            (fs::read(at("file")).unwrap().as_slice(), mode(at("file"))),
            (&b"new"[..], 0o600)
        );

        fs::write(at("elsewhere"), "untouched").unwrap();
        symlink("elsewhere", at("link")).unwrap();
        replace(at("link"), b"new").unwrap();
        assert_eq!(fs::read(at("elsewhere")).unwrap(), b"untouched");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
        fs::remove_file(at("link")).unwrap();
    }
    assert_eq!(names(place.path()), ["elsewhere", "file"], "no temporary file is left");
}

#[test]
fn whoever_reads_meanwhile_sees_a_whole_file() {
    let place = tempdir().unwrap();
    let path = place.path().join("file");
    let texts = [vec![b'a'; 100_000], vec![b'b'; 50_000]];
    file::replace(&path, &texts[0]).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                file::replace_unsynced(&path, &texts[round % 2]).unwrap();
            }
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) {
            let read = file::read(&path, MAX).unwrap().unwrap();
            assert!(texts.contains(&read), "a torn file of {} bytes", read.len());
        }
    });
}

#[test]
fn a_new_file_is_whole_or_absent_and_replaces_nothing() {
    let place = tempdir().unwrap();
    let path = place.path().join("file");
    file::create_new(&path, b"first").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(message(file::create_new(&path, b"second"), place.path()), "`/file` exists already");
    assert_eq!(fs::read(&path).unwrap(), b"first");
    symlink("nowhere", place.path().join("link")).unwrap();
    assert_eq!(
        message(file::create_new(place.path().join("link"), b""), place.path()),
        "`/link` exists already"
    );
    assert_eq!(names(place.path()), ["file", "link"]);

    let path = place.path().join("contended");
    let n_made = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| file::create_new(&path, b"mine").is_ok())).collect();
        threads.into_iter().filter_map(|it| it.join().unwrap().then_some(())).count()
    });
    assert_eq!(n_made, 1, "one of eight made it");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("directory/below")).unwrap();
    for (target, expected) in [
        ("missing/file", "cannot write `/missing/file`"),
        ("directory", "cannot write `/directory`"),
        ("/", "cannot write `/`"),
    ] {
        let target = if target == "/" { "/".into() } else { at(target) };
        assert_eq!(message(file::replace(target, b"x"), place.path()), expected);
    }
    assert_eq!(names(place.path()), ["directory"]);
    fs::write(at("file"), "").unwrap();
    assert_eq!(
        message(file::replace(at("file/x"), b""), place.path()),
        "`/file` is not a directory"
    );
}

#[test]
fn appending_goes_to_a_private_file_of_ours() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    file::open_append(at("log")).unwrap().write_all(b"one\n").unwrap();
    fs::set_permissions(at("log"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut log = file::open_append(at("log")).unwrap();
    log.write_all(b"two\n").unwrap();
    let mut text = String::new();
    fs::File::open(at("log")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), mode(at("log"))), ("one\ntwo\n", 0o600));

    symlink("log", at("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
    fs::create_dir(at("directory")).unwrap();
    let open = |name: &str| message(file::open_append(at(name)), place.path());
    assert_eq!(open("link"), "`/link` is a link, and is not followed");
    assert_eq!(open("pipe"), "`/pipe` is not a regular file");
    assert_eq!(open("directory"), "`/directory` is not a regular file");
}

#[test]
fn directories_are_private_and_real() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    file::create_dir(at("new")).unwrap();
    assert_eq!(mode(at("new")), 0o700);
    fs::create_dir(at("open")).unwrap();
    fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
    file::create_dir(at("open")).unwrap();
    assert_eq!(mode(at("open")), 0o700);

    fs::create_dir(at("target")).unwrap();
    symlink("target", at("link")).unwrap();
    fs::write(at("file"), "").unwrap();
    let create = |name: &str| message(file::create_dir(at(name)), place.path());
    assert_eq!(create("link"), "`/link` is not a directory");
    assert_eq!(create("file"), "`/file` is not a directory");
    assert_eq!(create("missing/new"), "cannot create the directory `/missing/new`");
}

#[test]
fn removing_is_about_the_entry_and_may_find_nothing() {
    let place = tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink("file", at("link")).unwrap();
    file::remove(at("link")).unwrap();
    file::remove(at("link")).unwrap();
    assert_eq!(names(place.path()), ["file"]);
    fs::create_dir(at("directory")).unwrap();
    assert_eq!(message(file::remove(at("directory")), place.path()), "cannot remove `/directory`");
}

#[test]
fn names_need_not_be_text() {
    let place = tempdir().unwrap();
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"a b\xff\n"));
    file::create_dir(&odd).unwrap();
    file::replace(odd.join("file"), b"x").unwrap();
    assert_eq!(file::read(odd.join("file"), MAX).unwrap().unwrap(), b"x");
    assert_eq!(file::names(&odd).unwrap().unwrap(), ["file"]);
    assert_eq!(file::names(place.path().join("missing")).unwrap(), None);
}

#[test]
fn what_another_user_wrote_does_not_speak_for_us() {
    let place = tempdir().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "yes").unwrap();
    assert_eq!(file::read_own(&path, MAX).unwrap().unwrap(), b"yes");
    assert_eq!(file::read_own(place.path().join("nothing"), MAX).unwrap(), None);
    symlink("file", place.path().join("link")).unwrap();
    assert!(matches!(file::read_own(place.path().join("link"), MAX), Err(FileError::Link { .. })));
    if !crate::is_root() {
        eprintln!("SKIPPED: only root can give a file to another user");
        return;
    }
    std::os::unix::fs::chown(&path, Some(65532), None).unwrap();
    assert!(matches!(file::read_own(&path, MAX), Err(FileError::NotOurs { owner: 65532, .. })));
}

#[test]
fn the_first_of_two_new_files_stands() {
    let place = tempdir().unwrap();
    let path = place.path().join("file");
    file::create_new_unsynced(&path, b"first").unwrap();
    let second = file::create_new_unsynced(&path, b"second");
    assert!(matches!(second, Err(FileError::Exists { .. })), "{second:?}");
    assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (&b"first"[..], 0o600));
    assert_eq!(names(place.path()), ["file"], "nothing is left over");
}

/// Whoever has nothing else to do is too early to help, and whoever has much is too late.
#[test]
fn many_files_are_looked_at_whatever_is_done_meanwhile() {
    let place = tempdir().unwrap();
    for n in 0..300 {
        let directory = place.path().join(format!("d{n:03}"));
        fs::create_dir(&directory).unwrap();
        if n % 3 != 0 {
            fs::write(directory.join("meta.json"), "x".repeat(n)).unwrap();
        }
    }
    fs::write(place.path().join("no-directory"), "").unwrap();
    for round in 0..200_u64 {
        let work = || (0..round * round).map(std::hint::black_box).sum::<u64>();
        let (there, done) = file::stamps_during(place.path(), "meta.json", work);
        assert_eq!(done, (0..round * round).sum::<u64>());
        let there = there.unwrap();
        assert_eq!(there.len(), 300, "in round {round}");
        for (n, (name, stamp)) in there.iter().enumerate() {
            assert_eq!(name.to_str().unwrap(), format!("d{n:03}"));
            let bytes = (n % 3 != 0).then_some(n as u64);
            assert_eq!(stamp.map(|it| it.bytes), bytes, "{n} in round {round}");
        }
    }
    let (none, ()) = file::stamps_during(place.path().join("none"), "meta.json", || ());
    assert!(none.unwrap().is_empty());
}
