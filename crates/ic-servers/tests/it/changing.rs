//! Writing, editing, making directories, moving, removing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use ic_servers::filesystem::Links;
use serde_json::json;

use crate::ground::{BOTH, Ground, call, done, refused};

#[test]
fn a_file_is_made_and_replaced() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let path = ground.text("in/f.txt");
        for content in ["first", "", "ünï\r\n\u{0}"] {
            let text = done(&server, "write_file", json!({"path": path, "content": content}));
            assert_eq!(text, format!("Wrote {} bytes to {path}", content.len()));
            assert_eq!(ground.read("in/f.txt"), content);
        }
        assert_eq!(ground.names("in"), ["f.txt"]);
    }
}

#[test]
fn modes_are_kept_but_never_those_that_lend_rights() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let path = ground.write("in/f.sh", "old");
    for (mode, expected) in [(0o755, 0o755), (0o600, 0o600), (0o6755, 0o755), (0o1666, 0o666)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        done(&server, "write_file", json!({"path": path, "content": "new"}));
        let kept = fs::metadata(&path).unwrap().mode() & 0o7777;
        assert_eq!(kept, expected, "{mode:o} became {kept:o}");
    }
    let new = ground.text("in/new.txt");
    done(&server, "write_file", json!({"path": new, "content": "new"}));
    // Whatever the umask of this test is, it takes nothing from the owner.
    let mode = fs::metadata(&new).unwrap().mode() & 0o7777;
    assert_eq!(mode | 0o044, 0o644, "{mode:o}");
}

#[test]
fn writing_what_cannot_be_written_is_explained() {
    let ground = Ground::new();
    let directory = ground.dir("in/d");
    let file = ground.write("in/f.txt", "kept");
    for links in BOTH {
        let server = ground.server(links);
        for (path, part) in [
            (directory.clone(), "is a directory; only files are replaced"),
            (ground.text("in"), "is a directory"),
            (ground.text("in/absent/f.txt"), "make it with `create_directory`"),
            (format!("{file}/x"), "a part of the path"),
            (format!("{}/{}", ground.text("in"), "n".repeat(256)), "cannot "),
        ] {
            refused(&server, "write_file", json!({"path": path, "content": "x"}), &[part]);
        }
        refused(&server, "write_file", json!({"path": file}), &["`content` is missing"]);
        refused(&server, "write_file", json!({"path": file, "content": 1}), &["not text"]);
        assert_eq!(ground.read("in/f.txt"), "kept");
        assert_eq!(ground.names("in"), ["d", "f.txt"]);
    }
}

#[test]
fn directories_are_made_with_those_above_them() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let path = ground.text("in/a/b/c");
        for _ in 0..2 {
            done(&server, "create_directory", json!({"path": path}));
            assert!(fs::metadata(ground.path("in/a/b/c")).unwrap().is_dir());
        }
        done(&server, "create_directory", json!({"path": ground.text("in")}));
        let file = ground.write("in/f.txt", "kept");
        refused(&server, "create_directory", json!({"path": file}), &["a part of the path"]);
        let beneath = format!("{file}/x");
        refused(&server, "create_directory", json!({"path": beneath}), &["a part of the path"]);
        assert_eq!(ground.read("in/f.txt"), "kept");
    }
}

#[test]
fn an_edit_returns_the_difference_and_a_dry_run_only_that() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let path = ground.write("in/f.txt", "one\ntwo\nthree\n");
        let edits =
            json!([{"oldText": "two", "newText": "2"}, {"oldText": "2\nthree", "newText": "2, 3"}]);
        let difference =
            format!("--- {path}\n+++ {path}\n@@ -1,3 +1,2 @@\n one\n-two\n-three\n+2, 3\n");
        let dry = json!({"path": path, "edits": edits, "dryRun": true});
        assert_eq!(done(&server, "edit_file", dry), difference);
        assert_eq!(ground.read("in/f.txt"), "one\ntwo\nthree\n");
        let wet = json!({"path": path, "edits": edits});
        assert_eq!(done(&server, "edit_file", wet), difference);
        assert_eq!(ground.read("in/f.txt"), "one\n2, 3\n");
        assert_eq!(
            done(&server, "edit_file", json!({"path": path, "edits": []})),
            "Nothing changes"
        );
    }
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let path = ground.write("in/f.txt", "a b a\r\n");
    for (edits, part) in [
        (json!([{"oldText": "a", "newText": "x"}]), "occurs 2 times"),
        (json!([{"oldText": "b", "newText": "x"}, {"oldText": "z", "newText": "x"}]), "edit 2"),
        (json!([{"oldText": "", "newText": "x"}]), "is empty"),
        (json!([{"oldText": "b"}]), "`newText` is missing"),
        (json!([{"oldText": "b", "newText": "x", "all": true}]), "no argument `all`"),
        (json!(["b"]), "not an object"),
        (json!("b"), "not a list"),
    ] {
        refused(&server, "edit_file", json!({"path": path, "edits": edits}), &[part]);
        assert_eq!(ground.read("in/f.txt"), "a b a\r\n");
    }
    refused(&server, "edit_file", json!({"path": path}), &["`edits` is missing"]);
    let edits = json!([{"oldText": "b", "newText": "x\ny"}]);
    let bad = json!({"path": path, "edits": edits, "dryRun": "yes"});
    refused(&server, "edit_file", bad, &["neither true nor false"]);
    done(&server, "edit_file", json!({"path": path, "edits": edits}));
    assert_eq!(ground.read("in/f.txt"), "a x\r\ny a\r\n");
    let binary = ground.write("in/a.bin", b"\xff");
    refused(&server, "edit_file", json!({"path": binary, "edits": edits}), &["not UTF-8"]);
}

#[test]
fn edits_at_the_same_time_are_all_kept() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let lines: Vec<String> = (0..80).map(|n| format!("<{n}>\n")).collect();
    let path = ground.write("in/f.txt", lines.concat());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (server, path) = (&server, &path);
            scope.spawn(move || {
                for n in (0..80).filter(|n| n % 8 == thread) {
                    let (old, new) = (format!("<{n}>"), format!("<{n}!>"));
                    let edits = json!([{"oldText": old, "newText": new}]);
                    done(server, "edit_file", json!({"path": path, "edits": edits}));
                }
            });
        }
    });
    let expected: Vec<String> = (0..80).map(|n| format!("<{n}!>\n")).collect();
    assert_eq!(ground.read("in/f.txt"), expected.concat());
    assert_eq!(ground.names("in"), ["f.txt"]);
}

#[test]
fn a_reader_sees_the_old_file_or_the_new_one() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let (old, new) = ("o".repeat(100_000), "n".repeat(150_000));
    let path = ground.write("in/f.txt", &old);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..40 {
                let content = if n % 2 == 0 { &new } else { &old };
                done(&server, "write_file", json!({"path": path, "content": content}));
            }
        });
        for _ in 0..100 {
            let text = done(&server, "read_file", json!({"path": path}));
            assert!(text == old || text == new, "{} bytes", text.len());
        }
    });
}

#[test]
fn things_are_moved_and_nothing_is_replaced() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let (a, b) = (ground.write("in/a.txt", "A"), ground.text("in/b.txt"));
        let moved = done(&server, "move_file", json!({"source": a, "destination": b}));
        assert_eq!(moved, format!("Moved {a} to {b}"));
        assert_eq!(ground.read("in/b.txt"), "A");
        assert!(!ground.exists("in/a.txt"));
        // A directory, with what is in it.
        ground.write("in/d/x.txt", "X");
        let (from, to) = (ground.text("in/d"), ground.text("in/e"));
        done(&server, "move_file", json!({"source": from, "destination": to}));
        assert_eq!(ground.read("in/e/x.txt"), "X");
        // Over something that is there.
        let c = ground.write("in/c.txt", "C");
        for destination in [&c, &to, &b] {
            let over = json!({"source": b, "destination": destination});
            refused(&server, "move_file", over, &["exists already"]);
        }
        assert_eq!((ground.read("in/b.txt"), ground.read("in/c.txt")), ("A".into(), "C".into()));
        ground.link("in/dangling", "nowhere");
        let over = json!({"source": b, "destination": ground.text("in/dangling")});
        refused(&server, "move_file", over, &["exists already"]);
        // To where nothing can be, and from where nothing is.
        for (source, destination, part) in [
            (&to, format!("{to}/sub"), "lies in what is to be moved"),
            (&b, ground.text("in/absent/x"), "make it with `create_directory`"),
            (&a, ground.text("in/x"), "does not exist"),
            (&ground.text("in"), ground.text("in/x"), "was given to this server"),
        ] {
            let arguments = json!({"source": source, "destination": destination});
            refused(&server, "move_file", arguments, &[part]);
        }
        assert_eq!(ground.names("in"), ["b.txt", "c.txt", "dangling", "e"]);
    }
}

#[test]
fn one_file_is_removed_and_directories_are_not() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let (file, kept) = (ground.write("in/f.txt", "x"), ground.write("in/d/kept.txt", "x"));
        let removed = done(&server, "delete_file", json!({"path": file}));
        assert_eq!(removed, format!("Removed {file}"));
        refused(&server, "delete_file", json!({"path": file}), &["does not exist"]);
        let directory = ground.text("in/d");
        refused(
            &server,
            "delete_file",
            json!({"path": directory}),
            &["is a directory; only files"],
        );
        let empty = ground.dir("in/empty");
        refused(&server, "delete_file", json!({"path": empty}), &["is a directory; only files"]);
        refused(&server, "delete_file", json!({"path": ground.text("in")}), &["stays where it is"]);
        assert_eq!(ground.names("in"), ["d", "empty"]);
        done(&server, "delete_file", json!({"path": kept}));
        assert!(call(&server, "delete_file", json!({})).is_err());
    }
}
