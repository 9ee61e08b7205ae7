//! Much of everything: entries, depth, output, and calls that nobody waits for any more.

use std::fs;

use ic_servers::filesystem::{Links, Rights};
use ic_servers::tools::{Caller, Cancel, Tools};
use serde_json::{Value, json};

use crate::ground::{Ground, done, object};

#[test]
fn a_directory_of_ten_thousand_entries_is_listed() {
    let ground = Ground::in_memory();
    for n in 0..10_000 {
        fs::write(ground.path(format!("in/{n:05}.txt")), "x").unwrap();
    }
    let server = ground.server(Links::Refuse);
    let path = ground.text("in");
    let listing = done(&server, "list_directory", json!({"path": path}));
    assert_eq!(listing.lines().count(), 10_000);
    assert_eq!(listing.lines().nth(42), Some("[FILE] 00042.txt"));
    let sizes = done(&server, "list_directory_with_sizes", json!({"path": path}));
    assert!(sizes.ends_with("Total: 10000 files, 0 directories\nCombined size: 9.7 KiB"));
    let tree: Value =
        serde_json::from_str(&done(&server, "directory_tree", json!({"path": path}))).unwrap();
    assert_eq!(tree.as_array().unwrap().len(), 10_000);
    let found = done(&server, "search_files", json!({"path": path, "pattern": "*7.txt"}));
    assert_eq!(found.lines().count(), 1000);
}

#[test]
fn a_walk_goes_so_deep_and_no_deeper() {
    let ground = Ground::new();
    // Step by step, because the whole path is longer than the system takes at once.
    let mut at = fs::File::open(ground.path("in")).unwrap();
    for n in 0..600 {
        let name = format!("{n:03}-deep");
        rustix::fs::mkdirat(&at, &name, rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::RDONLY;
        at = rustix::fs::openat(&at, &name, flags, rustix::fs::Mode::empty()).unwrap().into();
    }
    let server = ground.server(Links::Refuse);
    let path = ground.text("in");
    let tree = done(&server, "directory_tree", json!({"path": path}));
    let (json, note) = tree.split_once("\n||\n").expect("two parts");
    assert_eq!(note, "Not entered because it is too deep: ask for a directory further down");
    assert_eq!(json.matches("-deep").count(), 256);
    assert_eq!(json.matches('[').count(), json.matches(']').count());
    let found = done(&server, "search_files", json!({"path": path, "pattern": "*-deep"}));
    assert_eq!(found.lines().filter(|line| line.ends_with("-deep")).count(), 256);
    // The temporary directory removes itself step by step, too.
}

#[test]
fn a_walk_that_finds_too_much_is_cut_and_says_so() {
    let ground = Ground::in_memory();
    // 450 names of 250 bytes in each of 230 directories: too many entries, and too many bytes.
    let long = "n".repeat(240);
    for directory in 0..230 {
        let path = ground.path(format!("in/{directory:03}"));
        fs::create_dir(&path).unwrap();
        let first = path.join(format!("{long}-000"));
        fs::write(&first, "").unwrap();
        for n in 1..450 {
            fs::hard_link(&first, path.join(format!("{long}-{n:03}"))).unwrap();
        }
    }
    let server = ground.server(Links::Refuse);
    let path = ground.text("in");
    let tree = done(&server, "directory_tree", json!({"path": path}));
    let (json, note) = tree.split_once("\n||\n").expect("two parts");
    assert!(json.len() <= 8 << 20, "{} bytes", json.len());
    assert!(serde_json::from_str::<Value>(json).is_ok(), "what is cut is still JSON");
    assert!(note.starts_with("Cut after 8388608 bytes"), "{note}");
    let found = done(&server, "search_files", json!({"path": path, "pattern": "*"}));
    assert!(found.len() <= (8 << 20) + 200);
    assert!(found.contains("\n\nCut after 8388608 bytes"));
    let few = done(&server, "search_files", json!({"path": path, "pattern": "*-449"}));
    assert!(
        few.ends_with(
            "Cut after 100000 entries: ask for a directory further down, or exclude some"
        )
    );
    assert_eq!(few.lines().filter(|line| line.ends_with("-449")).count(), 221);
}

#[test]
fn a_call_that_was_cancelled_stops() {
    let ground = Ground::new();
    for n in 0..50 {
        ground.write(&format!("in/{n}/f.txt"), "x");
    }
    let server = ground.server(Links::Refuse);
    let cancel = Cancel::new();
    cancel.cancel();
    let (root, file) = (ground.text("in"), ground.text("in/0/f.txt"));
    let edits = json!([{"oldText": "x", "newText": "y"}]);
    for (tool, arguments) in [
        ("directory_tree", json!({"path": root})),
        ("search_files", json!({"path": root, "pattern": "*"})),
        ("list_directory_with_sizes", json!({"path": root})),
        ("read_file", json!({"path": file})),
        ("read_multiple_files", json!({"paths": [file]})),
        ("edit_file", json!({"path": file, "edits": edits})),
    ] {
        let result = server.call(tool, &object(arguments), Caller::silent(&cancel)).unwrap();
        assert!(result.is_error(), "{tool} went on");
    }
    assert_eq!(ground.read("in/0/f.txt"), "x");
}

#[test]
fn what_cannot_be_read_on_a_walk_is_noted() {
    let ground = Ground::new();
    ground.write("in/open/f.txt", "x");
    ground.write("in/shut/f.txt", "x");
    let shut = ground.path("in/shut");
    fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    if fs::read_dir(&shut).is_ok() {
        eprintln!("SKIPPED: whoever runs this test may read every directory");
        return;
    }
    let server = ground.server_of(&[("in", Rights::READ)], &[], Links::Refuse);
    let tree = done(&server, "directory_tree", json!({"path": ground.text("in")}));
    assert!(tree.ends_with("Not entered because it cannot be read: 1 directory"), "{tree}");
    fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
}
