//! What a view is, how it is written, and how its directories decide.

use ic_servers::filesystem::{
    Filesystem, Hands, Links, Rights, View, ViewDirectory, ViewError, ViewPath,
};
use ic_types::{AbsolutePath, CanonicalPath};
use serde_json::json;

use crate::ground::{BOTH, Ground, call, done, refused};

#[test]
fn a_view_is_read_and_written_in_one_form() {
    let text = r#"{"directories":[{"path":"/a","rights":["read","write","delete"]},{"path":"/b","rights":[]}],"leaveOut":["/home/x/.ssh"],"only":null,"links":"refuse"}"#;
    let view = View::parse(text).unwrap();
    let path = |path: &str| CanonicalPath::new(path).unwrap();
    let expected = View {
        directories: vec![
            ViewDirectory { path: path("/a"), rights: Rights::ALL },
            ViewDirectory { path: path("/b"), rights: Rights::NONE },
        ],
        leave_out: vec![path("/home/x/.ssh")],
        only: None,
        links: Links::Refuse,
    };
    assert_eq!(view, expected);
    assert_eq!(view.to_json().unwrap().to_string(), text);
    let twice = r#"{"directories":[{"path":"/a","rights":["read"]},{"path":"/a","rights":["delete"]}],"leaveOut":[],"only":null,"links":"refuse"}"#;
    let merged = View::parse(twice).unwrap().directories;
    let rights = Rights::READ.and(Rights::DELETE);
    assert_eq!(merged, [ViewDirectory { path: path("/a"), rights }]);
    let follow = r#"{"directories":[],"leaveOut":[],"only":null,"links":"follow"}"#;
    assert_eq!(View::parse(follow).unwrap().to_json().unwrap().to_string(), follow);
    let only = r#"{"directories":[],"leaveOut":[],"only":[{"path":"/a/b","rights":["write"]}],"links":"refuse"}"#;
    let view = View::parse(only).unwrap();
    assert_eq!(view.only, Some(vec![ViewPath { path: path("/a/b"), rights: Rights::WRITE }]));
    assert_eq!(view.to_json().unwrap().to_string(), only);
    // An empty list is not the same as none: nothing is reached.
    let nothing = r#"{"directories":[],"leaveOut":[],"only":[],"links":"refuse"}"#;
    assert_eq!(View::parse(nothing).unwrap().only, Some(Vec::new()));
}

#[test]
fn what_is_no_view_is_refused() {
    for (text, part) in [
        ("", "not valid JSON"),
        ("[]", "shape"),
        ("{}", "shape"),
        (r#"{"directories":[],"leaveOut":[]}"#, "shape"),
        (r#"{"directories":[],"only":null,"links":"refuse"}"#, "shape"),
        (r#"{"directories":[],"leaveOut":[],"links":"refuse"}"#, "shape"),
        (r#"{"directories":[],"leaveOut":[],"only":["/a"],"links":"refuse"}"#, "shape"),
        (r#"{"directories":[],"leaveOut":[],"only":false,"links":"refuse"}"#, "shape"),
        (
            r#"{"directories":[],"leaveOut":[],"only":[{"path":"a","rights":[]}],"links":"refuse"}"#,
            "the path `a`",
        ),
        (r#"{"directories":[],"leaveOut":[],"only":null,"links":"maybe"}"#, "shape"),
        (r#"{"directories":[],"leaveOut":[],"only":null,"links":"refuse","more":1}"#, "shape"),
        (
            r#"{"directories":[],"directories":[],"leaveOut":[],"only":null,"links":"refuse"}"#,
            "not valid JSON",
        ),
        (r#"{"directories":["/a"],"leaveOut":[],"only":null,"links":"refuse"}"#, "shape"),
        (r#"{"directories":[{"path":"/a"}],"leaveOut":[],"only":null,"links":"refuse"}"#, "shape"),
        (
            r#"{"directories":[{"path":"/a","rights":["all"]}],"leaveOut":[],"only":null,"links":"refuse"}"#,
            "shape",
        ),
        (
            r#"{"directories":[{"path":"a","rights":[]}],"leaveOut":[],"only":null,"links":"refuse"}"#,
            "the path `a`",
        ),
        (
            r#"{"directories":[{"path":"/a/","rights":[]}],"leaveOut":[],"only":null,"links":"refuse"}"#,
            "the path `/a/`",
        ),
        (
            r#"{"directories":[{"path":"/a/../b","rights":[]}],"leaveOut":[],"only":null,"links":"refuse"}"#,
            "the path",
        ),
        (
            r#"{"directories":[],"leaveOut":["~/.ssh"],"only":null,"links":"refuse"}"#,
            "the path `~/.ssh`",
        ),
    ] {
        let error = View::parse(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn directories_that_a_person_names_have_to_be_there() {
    let ground = Ground::new();
    let path = |path: &str| AbsolutePath::new(ground.path(path)).unwrap();
    ground.write("in/f.txt", "x");
    ground.link("link", "in");
    let view = View::of_directories(&[path("link"), path("in"), path("in/../in")]).unwrap();
    assert_eq!(view.directories.len(), 1, "one directory under three names");
    assert_eq!(view.links, Links::Follow);
    let server = Filesystem::open(&view, Hands::Own).unwrap();
    for name in ["link/f.txt", "in/f.txt"] {
        assert_eq!(done(&server, "read_file", json!({"path": ground.text(name)})), "x");
    }
    for absent in ["gone", "in/f.txt", "in/f.txt/x"] {
        let error = View::of_directories(&[path(absent)]).expect_err(absent);
        assert!(matches!(error, ViewError::NoDirectory(_)), "{error:?}");
    }
}

/// Makes every kind of change to `in/f.txt` with `rights`, and returns what was done.
fn allowed(rights: Rights, links: Links) -> Vec<&'static str> {
    let ground = Ground::new();
    let path = ground.write("in/f.txt", "x");
    let free = ground.write("free/g.txt", "x");
    let server = ground.server_of(&[("in", rights), ("free", Rights::ALL)], &[], links);
    let edits = json!([{"oldText": "x", "newText": "x y"}]);
    let (new, taken) = (ground.text("in/new"), ground.text("free/taken"));
    let calls = [
        ("read_file", json!({"path": path})),
        ("read_multiple_files", json!({"paths": [path]})),
        ("read_media_file", json!({"path": path})),
        ("get_file_info", json!({"path": path})),
        ("list_directory", json!({"path": ground.text("in")})),
        ("list_directory_with_sizes", json!({"path": ground.text("in")})),
        ("directory_tree", json!({"path": ground.text("in")})),
        ("search_files", json!({"path": ground.text("in"), "pattern": "*"})),
        ("edit_file dry", json!({"path": path, "edits": edits, "dryRun": true})),
        ("edit_file", json!({"path": path, "edits": edits})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("create_directory", json!({"path": ground.text("in/d")})),
        ("move_file in", json!({"source": free, "destination": new})),
        ("move_file out", json!({"source": path, "destination": taken})),
        ("delete_file", json!({"path": ground.write("in/h.txt", "x")})),
    ];
    let mut done = Vec::new();
    for (name, arguments) in calls {
        let tool = name.split(' ').next().unwrap();
        let result = server_call(&server, tool, arguments);
        match result {
            Ok(()) => done.push(name),
            Err(text) => assert!(text.contains("without the right to"), "{name}: {text}"),
        }
    }
    done
}

fn server_call(
    server: &Filesystem,
    tool: &str,
    arguments: serde_json::Value,
) -> Result<(), String> {
    use ic_servers::tools::{Caller, Cancel, Content, Tools as _};

    let object = crate::ground::object(arguments);
    let result = server.call(tool, &object, Caller::silent(&Cancel::new())).unwrap();
    match (result.is_error(), result.content()) {
        (true, [Content::Text(text)]) => Err(text.clone()),
        _ => Ok(()),
    }
}

#[test]
fn each_tool_needs_its_rights() {
    const READS: [&str; 9] = [
        "read_file",
        "read_multiple_files",
        "read_media_file",
        "get_file_info",
        "list_directory",
        "list_directory_with_sizes",
        "directory_tree",
        "search_files",
        "edit_file dry",
    ];
    const WRITES: [&str; 3] = ["write_file", "create_directory", "move_file in"];
    for links in BOTH {
        assert_eq!(allowed(Rights::NONE, links), [""; 0]);
        assert_eq!(allowed(Rights::READ, links), READS);
        assert_eq!(allowed(Rights::WRITE, links), WRITES);
        assert_eq!(allowed(Rights::DELETE, links), ["delete_file"]);
        let read_write = allowed(Rights::READ.and(Rights::WRITE), links);
        assert_eq!(read_write, [&READS[..], &["edit_file"], &WRITES].concat());
        let read_delete = allowed(Rights::READ.and(Rights::DELETE), links);
        assert_eq!(read_delete, [&READS[..], &["move_file out", "delete_file"]].concat());
        assert_eq!(allowed(Rights::ALL, links).len(), 15);
    }
}

#[test]
fn of_nested_directories_the_deepest_decides() {
    let ground = Ground::new();
    for path in ["in/f", "in/ro/f", "in/ro/rw/f", "in/none/f", "in/none/back/f"] {
        ground.write(path, "x");
    }
    let directories = [
        ("in/ro/rw", Rights::ALL),
        ("in", Rights::ALL),
        ("in/none", Rights::NONE),
        ("in/ro", Rights::READ),
        ("in/none/back", Rights::READ),
    ];
    for links in BOTH {
        let server = ground.server_of(&directories, &[], links);
        for (path, reads, writes) in [
            ("in/f", true, true),
            ("in/ro/f", true, false),
            ("in/ro/rw/f", true, true),
            ("in/none/f", false, false),
            ("in/none/back/f", true, false),
            ("in/romeo", false, true),
        ] {
            let path = ground.text(path);
            let read = call(&server, "read_file", json!({"path": path}));
            assert_eq!(read.is_ok(), reads, "read {path}: {read:?}");
            let written = call(&server, "write_file", json!({"path": path, "content": "x"}));
            assert_eq!(written.is_ok(), writes, "write {path}: {written:?}");
        }
        // What holds a directory of the view stays, or its rights would move along.
        let away = json!({"source": ground.text("in/ro"), "destination": ground.text("in/away")});
        assert!(call(&server, "move_file", away).is_err());
        std::fs::remove_file(ground.path("in/romeo")).unwrap();
    }
}

#[test]
fn a_directory_is_the_one_that_was_there_at_the_start() {
    for links in BOTH {
        let ground = Ground::new();
        ground.write("in/f.txt", "first");
        let server = ground.server(links);
        std::fs::rename(ground.path("in"), ground.path("moved")).unwrap();
        ground.write("in/f.txt", "second");
        let path = ground.text("in/f.txt");
        assert_eq!(done(&server, "read_file", json!({"path": path})), "first");
        // Nor does a link in its place lead anywhere.
        std::fs::remove_dir_all(ground.path("in")).unwrap();
        std::os::unix::fs::symlink(ground.path("out"), ground.path("in")).unwrap();
        let secret = ground.text("in/secret.txt");
        assert!(call(&server, "read_file", json!({"path": secret})).is_err());
    }
}

#[test]
fn a_view_directory_that_is_absent_or_a_link_is_not_reached() {
    let ground = Ground::new();
    ground.link("link", "out");
    ground.write("file", "x");
    let directories = [("absent", Rights::ALL), ("link", Rights::ALL), ("file", Rights::ALL)];
    let server = ground.server_of(&directories, &[], Links::Refuse);
    for path in ["absent/f", "link/secret.txt", "file"] {
        let part = "was not there when the server started";
        refused(&server, "read_file", json!({"path": ground.text(path)}), &[part]);
    }
}

#[test]
fn what_is_left_out_counts_under_the_name_that_a_link_gives_it() {
    let ground = Ground::new();
    ground.write("in/dotfiles/ssh/id", "x");
    ground.link("in/.ssh", "dotfiles/ssh");
    for links in BOTH {
        let server = ground.server_of(&[("in", Rights::ALL)], &["in/.ssh"], links);
        for path in ["in/.ssh/id", "in/dotfiles/ssh/id", "in/dotfiles/ssh", "in/.ssh"] {
            let path = ground.text(path);
            refused(&server, "read_file", json!({"path": path}), &["is protected"]);
            refused(&server, "delete_file", json!({"path": path}), &["is protected"]);
        }
    }
}

#[test]
fn a_directory_that_was_named_within_something_left_out_is_reached() {
    let ground = Ground::new();
    ground.write("in/.home/key", "x");
    ground.write("in/.home/sessions/1/sandbox/f.txt", "mine");
    ground.write("in/.home/sessions/1/sandbox/.git/config", "x");
    let directories = [("in", Rights::READ), ("in/.home/sessions/1/sandbox", Rights::ALL)];
    let leave_out = ["in/.home", "in/.home/sessions/1/sandbox/.git"];
    for links in BOTH {
        let server = ground.server_of(&directories, &leave_out, links);
        let path = |path: &str| json!({"path": ground.text(path)});
        assert_eq!(done(&server, "read_file", path("in/.home/sessions/1/sandbox/f.txt")), "mine");
        for closed in
            ["in/.home/key", "in/.home/sessions/1", "in/.home/sessions/1/sandbox/.git/config"]
        {
            refused(&server, "read_file", path(closed), &["is protected"]);
        }
        let tree = done(&server, "directory_tree", path("in"));
        assert!(!tree.contains("sandbox/") && !tree.contains("key"), "{tree}");
        let tree = done(&server, "directory_tree", path("in/.home/sessions/1/sandbox"));
        assert!(tree.contains("f.txt") && !tree.contains("config"), "{tree}");
        // One that is left out itself is not reached, even if it was named.
        let named = [("in", Rights::ALL)];
        let server = ground.server_of(&named, &["in"], links);
        refused(&server, "read_file", path("in/.home/key"), &["is protected"]);
    }
}

#[test]
fn of_a_directory_that_is_held_only_the_listed_paths_are_reached() {
    const READ_WRITE: Rights = Rights::READ.and(Rights::WRITE);
    for links in BOTH {
        let ground = Ground::new();
        for path in ["in/a.txt", "in/b.txt", "in/d/x/f", "in/d/y", "in/a.txt.bak"] {
            ground.write(path, "x");
        }
        let only =
            [("in/a.txt", READ_WRITE), ("in/new/deep", Rights::WRITE), ("in/d", Rights::READ)];
        let server = ground.server_of_only(&[("in", READ_WRITE)], &only, links);
        for (path, reads, writes) in [
            ("in/a.txt", true, true),
            // A sibling, one whose name begins alike, the directory itself, what is above it.
            ("in/b.txt", false, false),
            ("in/a.txt.bak", false, false),
            ("in", false, false),
            (".", false, false),
            ("out/secret.txt", false, false),
            // Beneath a listed directory.
            ("in/d/x/f", true, false),
            ("in/d/new", false, false),
            // Above a listed path.
            ("in/new", false, false),
        ] {
            let path = ground.path(path).canonicalize().unwrap_or_else(|_| ground.path(path));
            let read = call(&server, "read_file", json!({"path": path}));
            assert_eq!(read.is_ok(), reads, "read {path:?}: {read:?}");
            let written = call(&server, "write_file", json!({"path": path, "content": "x"}));
            assert_eq!(written.is_ok(), writes, "write {path:?}: {written:?}");
            let deleted = call(&server, "delete_file", json!({"path": path}));
            assert!(deleted.is_err(), "deleted {path:?}");
        }
        refused(&server, "list_directory", json!({"path": ground.text("in")}), &["outside of"]);
        let tree = done(&server, "directory_tree", json!({"path": ground.text("in/d")}));
        assert!(tree.contains("\"f\"") && tree.contains("\"y\""), "{tree}");
        done(&server, "create_directory", json!({"path": ground.text("in/new/deep/er")}));
        refused(
            &server,
            "create_directory",
            json!({"path": ground.text("in/other")}),
            &["outside"],
        );
        ground.check_outside();
    }
}

#[test]
fn a_listed_path_gives_no_right_that_its_directory_does_not_give() {
    let ground = Ground::new();
    let path = ground.write("in/f.txt", "x");
    for (directory, listed, reads, deletes) in [
        (Rights::READ, Rights::ALL, true, false),
        (Rights::ALL, Rights::READ, true, false),
        (Rights::WRITE, Rights::READ, false, false),
        (Rights::NONE, Rights::ALL, false, false),
        (Rights::ALL, Rights::NONE, false, false),
        (Rights::ALL, Rights::DELETE, false, true),
    ] {
        let server =
            ground.server_of_only(&[("in", directory)], &[("in/f.txt", listed)], Links::Refuse);
        let read = call(&server, "read_file", json!({"path": path}));
        assert_eq!(read.is_ok(), reads, "{directory} {listed}: {read:?}");
        let deleted = call(&server, "delete_file", json!({"path": path}));
        assert_eq!(deleted.is_ok(), deletes, "{directory} {listed}: {deleted:?}");
        ground.write("in/f.txt", "x");
    }
    // What is listed and lies in no directory of the view is not reached, and nothing means nothing.
    let secret = ground.text("out/secret.txt");
    let listed = [("out/secret.txt", Rights::ALL)];
    let server = ground.server_of_only(&[("in", Rights::ALL)], &listed, Links::Refuse);
    refused(&server, "read_file", json!({"path": secret}), &["outside of"]);
    let server = ground.server_of_only(&[("in", Rights::ALL)], &[], Links::Refuse);
    refused(&server, "read_file", json!({"path": path}), &["outside of"]);
    // What was asked for by itself and is not there is missing.
    let absent = ground.text("gone/f.txt");
    let listed = [("gone/f.txt", Rights::READ)];
    let server = ground.server_of_only(&[("gone", Rights::READ)], &listed, Links::Refuse);
    refused(&server, "read_file", json!({"path": absent}), &["does not exist"]);
}

#[test]
fn an_entry_is_moved_between_two_directories_that_are_held_for_it() {
    let ground = Ground::new();
    ground.write("in/a/f.txt", "x");
    ground.write("in/a/g.txt", "x");
    ground.dir("in/b");
    let directories = [("in/a", Rights::READ.and(Rights::DELETE)), ("in/b", Rights::WRITE)];
    let only = [("in/a/f.txt", Rights::READ.and(Rights::DELETE)), ("in/b/f.txt", Rights::WRITE)];
    let server = ground.server_of_only(&directories, &only, Links::Refuse);
    let moving =
        |from: &str, to: &str| json!({"source": ground.text(from), "destination": ground.text(to)});
    refused(&server, "move_file", moving("in/a/g.txt", "in/b/f.txt"), &["outside of"]);
    refused(&server, "move_file", moving("in/a/f.txt", "in/b/g.txt"), &["outside of"]);
    done(&server, "move_file", moving("in/a/f.txt", "in/b/f.txt"));
    assert_eq!(ground.names("in/b"), ["f.txt"]);
}
