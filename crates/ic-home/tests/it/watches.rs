//! Watching a directory: what is finished in it is named, and what is lost is said.

use std::fs;

use ic_home::file;
use ic_home::watch::{Changes, DirectoryWatch};
use tempfile::tempdir;

#[test]
fn what_was_finished_is_named() {
    let place = tempdir().unwrap();
    let mut watch = DirectoryWatch::on(place.path()).unwrap();
    assert_eq!(watch.changes().unwrap(), Changes::default(), "it does not wait");
    fs::write(place.path().join("written"), "x").unwrap();
    file::create_new_unsynced(place.path().join("moved"), b"x").unwrap();
    let changes = watch.changes().unwrap();
    for name in ["written", "moved"] {
        assert!(changes.names.iter().any(|it| it == name), "{changes:?} lacks {name}");
    }
    assert!(!changes.lost);
    let open = fs::File::create(place.path().join("begun")).unwrap();
    assert_eq!(watch.changes().unwrap(), Changes::default(), "one that is begun is not finished");
    drop(open);
    assert_eq!(watch.changes().unwrap().names, ["begun"]);
}

#[test]
fn the_end_of_the_directory_is_said() {
    for remove in [true, false] {
        let place = tempdir().unwrap();
        let directory = place.path().join("d");
        fs::create_dir(&directory).unwrap();
        let mut watch = DirectoryWatch::on(&directory).unwrap();
        match remove {
            true => fs::remove_dir(&directory).unwrap(),
            false => fs::rename(&directory, place.path().join("e")).unwrap(),
        }
        assert!(watch.changes().unwrap().lost);
    }
}

#[test]
fn only_a_directory_is_watched() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink(place.path(), place.path().join("link")).unwrap();
    for name in ["file", "link", "nothing"] {
        assert!(DirectoryWatch::on(&place.path().join(name)).is_err(), "{name}");
    }
}
