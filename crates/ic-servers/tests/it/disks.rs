//! Disks that are full, and moves from one file system to another.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ic_servers::filesystem::{Links, Rights};
use serde_json::json;

use crate::ground::{Ground, done, refused};

/// A small file system of its own, unmounted in the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one, if we may.
    fn mount(path: &Path) -> Option<Self> {
        let flags = rustix::mount::MountFlags::empty();
        match rustix::mount::mount("tmpfs", path, "tmpfs", flags, Some(c"size=256k")) {
            Ok(()) => Some(Self(path.to_owned())),
            Err(error) => {
                eprintln!("SKIPPED: a full disk needs the right to mount one ({error})");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_as_it_was() {
    let ground = Ground::new();
    ground.dir("in/small");
    let Some(_disk) = SmallDisk::mount(&ground.path("in/small")) else { return };
    // From a view whose directory is the small disk, and from one that contains it.
    for view in ["in/small", "in"] {
        let server = ground.server_of(&[(view, Rights::ALL)], &[], Links::Refuse);
        let path = ground.write("in/small/f.txt", "old text");
        let write = json!({"path": path, "content": "n".repeat(1 << 20)});
        refused(&server, "write_file", write, &["cannot write", "No space left"]);
        let edits = json!([{"oldText": "old", "newText": "n".repeat(1 << 20)}]);
        let edit = json!({"path": path, "edits": edits});
        refused(&server, "edit_file", edit, &["cannot write", "No space left"]);
        let new = json!({"path": ground.text("in/small/new"), "content": "n".repeat(1 << 20)});
        refused(&server, "write_file", new, &["No space left"]);
        assert_eq!(ground.read("in/small/f.txt"), "old text");
        assert_eq!(ground.names("in/small"), ["f.txt"], "nothing half-written is left");
        done(&server, "write_file", json!({"path": path, "content": "fits"}));
        assert_eq!(ground.read("in/small/f.txt"), "fits");
    }
}

#[test]
fn a_file_moves_to_another_file_system_as_a_whole_or_not_at_all() {
    let ground = Ground::new();
    ground.dir("small");
    let Some(_disk) = SmallDisk::mount(&ground.path("small")) else { return };
    let rights = [("in", Rights::ALL), ("small", Rights::ALL)];
    let server = ground.server_of(&rights, &[], Links::Refuse);
    let source = ground.write("in/f.sh", "text");
    fs::set_permissions(&source, fs::Permissions::from_mode(0o4750)).unwrap();
    let before = fs::metadata(&source).unwrap();
    let destination = ground.text("small/f.sh");
    done(&server, "move_file", json!({"source": source, "destination": destination}));
    let after = fs::metadata(&destination).unwrap();
    assert_eq!(ground.read("small/f.sh"), "text");
    assert_eq!(after.mode() & 0o7777, 0o750);
    assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
    assert!(!ground.exists("in/f.sh"));
    // Nothing is replaced there either.
    let source = ground.write("in/f.sh", "other");
    let over = json!({"source": source, "destination": destination});
    refused(&server, "move_file", over, &["exists already"]);
    assert_eq!(
        (ground.read("in/f.sh"), ground.read("small/f.sh")),
        ("other".into(), "text".into())
    );
    // What does not fit stays where it is.
    let big = ground.write("in/big", "b".repeat(1 << 20));
    let away = json!({"source": big, "destination": ground.text("small/big")});
    refused(&server, "move_file", away, &["No space left"]);
    assert_eq!(ground.read("in/big").len(), 1 << 20);
    assert_eq!(ground.names("small"), ["f.sh"]);
    let directory = ground.dir("in/d");
    let away = json!({"source": directory, "destination": ground.text("small/d")});
    refused(&server, "move_file", away, &["only files are moved"]);
    ground.link("in/l", "f.sh");
    let away = json!({"source": ground.text("in/l"), "destination": ground.text("small/l")});
    refused(&server, "move_file", away, &["only files are moved"]);
}
