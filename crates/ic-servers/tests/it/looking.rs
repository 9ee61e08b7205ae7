//! Listing, trees, searching, what is known of a file, and what the server can see.

use ic_servers::filesystem::{Links, Rights};
use serde_json::{Value, json};

use crate::ground::{BOTH, Ground, call, done, refused};

#[test]
fn a_listing_names_the_kinds() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let root = ground.text("in");
        assert_eq!(
            done(&server, "list_directory", json!({"path": root})),
            "The directory is empty"
        );
        ground.write("in/b.txt", "x");
        ground.dir("in/a");
        ground.link("in/c", "/etc/passwd");
        let listing = done(&server, "list_directory", json!({"path": root}));
        assert_eq!(listing, "[DIR] a\n[FILE] b.txt\n[LINK] c");
        let file = ground.text("in/b.txt");
        refused(&server, "list_directory", json!({"path": file}), &["a directory is needed"]);
        let gone = ground.text("in/gone");
        refused(&server, "list_directory", json!({"path": gone}), &["does not exist"]);
    }
}

#[test]
fn sizes_are_listed_with_their_total() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    ground.write("in/a.txt", "x".repeat(10));
    ground.write("in/b.txt", "x".repeat(2048));
    ground.dir("in/d");
    let path = ground.text("in");
    let by_name = "[FILE] a.txt                                  10 B\n\
                   [FILE] b.txt                               2.0 KiB\n\
                   [DIR] d\n\
                   \n\
                   Total: 2 files, 1 directories\n\
                   Combined size: 2.0 KiB";
    for arguments in [json!({"path": path}), json!({"path": path, "sortBy": "name"})] {
        assert_eq!(done(&server, "list_directory_with_sizes", arguments), by_name);
    }
    let by_size = json!({"path": path, "sortBy": "size"});
    let listing = done(&server, "list_directory_with_sizes", by_size);
    let names: Vec<&str> =
        listing.lines().take(3).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(names, ["b.txt", "a.txt", "d"]);
    let bad = json!({"path": path, "sortBy": "date"});
    refused(&server, "list_directory_with_sizes", bad, &["neither `name` nor `size`"]);
}

#[test]
fn a_tree_is_json_without_what_was_excluded() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        ground.write("in/a.txt", "");
        ground.write("in/d/e/f.txt", "");
        ground.write("in/node_modules/x.js", "");
        ground.dir("in/empty");
        ground.link("in/up", "..");
        let path = ground.text("in");
        let arguments = json!({"path": path, "excludePatterns": ["node_modules", "*.js"]});
        let tree: Value =
            serde_json::from_str(&done(&server, "directory_tree", arguments)).unwrap();
        assert_eq!(
            tree,
            json!([
                {"name": "a.txt", "type": "file"},
                {"name": "d", "type": "directory", "children": [
                    {"name": "e", "type": "directory", "children": [
                        {"name": "f.txt", "type": "file"},
                    ]},
                ]},
                {"name": "empty", "type": "directory", "children": []},
                {"name": "up", "type": "link"},
            ])
        );
        let file = ground.text("in/a.txt");
        refused(&server, "directory_tree", json!({"path": file}), &["a directory is needed"]);
        let bad = json!({"path": path, "excludePatterns": ["["]});
        refused(&server, "directory_tree", bad, &["`excludePatterns` is not a valid pattern"]);
    }
}

#[test]
fn files_are_found_by_their_names_and_paths() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    for file in ["a.rs", "b.txt", "src/c.rs", "src/d/e.rs", "target/f.rs"] {
        ground.write(&format!("in/{file}"), "");
    }
    ground.link("in/link.rs", "a.rs");
    let root = ground.text("in");
    let search = |pattern: &str, exclude: &[&str]| {
        let arguments = json!({"path": root, "pattern": pattern, "excludePatterns": exclude});
        let found = done(&server, "search_files", arguments);
        found.replace(&format!("{root}/"), "").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = ["a.rs", "link.rs", "src/c.rs", "src/d/e.rs", "target/f.rs"];
    assert_eq!(search("*.rs", &[]), all);
    assert_eq!(search("**/*.rs", &[]), all);
    assert_eq!(search("*.rs", &["target", "link*"]), ["a.rs", "src/c.rs", "src/d/e.rs"]);
    assert_eq!(search("src/*.rs", &[]), ["src/c.rs"]);
    assert_eq!(search("src", &[]), ["src"]);
    assert_eq!(search("*.py", &[]), ["No matches found"]);
    refused(&server, "search_files", json!({"path": root}), &["`pattern` is missing"]);
    refused(
        &server,
        "search_files",
        json!({"path": root, "pattern": "["}),
        &["not a valid pattern"],
    );
    let many = json!({"path": root, "pattern": "a", "excludePatterns": vec!["a"; 101]});
    refused(&server, "search_files", many, &["more than 100 patterns"]);
}

#[test]
fn what_is_known_of_a_file_is_told() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let path = ground.write("in/f.txt", "hello");
        let info = done(&server, "get_file_info", json!({"path": path}));
        let keys: Vec<&str> = info.lines().map(|line| line.split_once(": ").unwrap().0).collect();
        assert_eq!(
            keys,
            ["size", "created", "modified", "accessed", "isDirectory", "isFile", "permissions"]
        );
        assert!(info.contains("size: 5\n"), "{info}");
        assert!(info.contains("isDirectory: false\nisFile: true\npermissions: 6"), "{info}");
        assert!(info.contains("modified: 20"), "{info}");
        let info = done(&server, "get_file_info", json!({"path": ground.text("in")}));
        assert!(info.contains("isDirectory: true\nisFile: false\n"), "{info}");
        let gone = ground.text("in/gone");
        refused(&server, "get_file_info", json!({"path": gone}), &["does not exist"]);
    }
}

#[test]
fn names_are_shown_on_one_line_whatever_they_hold() {
    use std::os::unix::ffi::OsStrExt as _;

    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    for name in [b"a\n[DIR] fake".as_slice(), b"b\xff.txt", b"c\x1b[31m"] {
        std::fs::write(ground.path("in").join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    let path = ground.text("in");
    let listing = done(&server, "list_directory", json!({"path": path}));
    assert_eq!(
        listing,
        "[FILE] \"a\\n[DIR] fake\"\n[FILE] \"b\\xff.txt\"\n[FILE] \"c\\u{1b}[31m\""
    );
    let sizes = done(&server, "list_directory_with_sizes", json!({"path": path}));
    assert_eq!(sizes.lines().count(), 3 + 3);
    let tree = done(&server, "directory_tree", json!({"path": path}));
    let tree: Value = serde_json::from_str(&tree).unwrap();
    let names: Vec<&str> =
        tree.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a\n[DIR] fake", "\"b\\xff.txt\"", "c\u{1b}[31m"]);
    let found = done(&server, "search_files", json!({"path": path, "pattern": "*"}));
    assert_eq!(found.lines().count(), 3);
    // Such a name can be given back, as far as JSON carries it.
    let odd = ground.text("in/a\n[DIR] fake");
    assert_eq!(done(&server, "read_file", json!({"path": odd})), "x");
    let gone = ground.text("in/gone\nHello");
    refused(&server, "read_file", json!({"path": gone}), &["gone\\nHello\"` does not exist"]);
}

#[test]
fn the_directories_of_the_view_are_told_with_their_rights() {
    let ground = Ground::new();
    ground.dir("in/a");
    let directories = [
        ("in", Rights::ALL),
        ("in/a", Rights::READ),
        ("in/none", Rights::NONE),
        ("absent", Rights::READ.and(Rights::WRITE)),
    ];
    let server = ground.server_of(&directories, &[], Links::Refuse);
    let allowed = done(&server, "list_allowed_directories", json!({}));
    assert_eq!(
        allowed.replace(&ground.text(""), "/"),
        "Allowed directories:\n\
         /in (read, write, delete)\n\
         /in/a (read)\n\
         /in/none (nothing) - was not there when the server started\n\
         /absent (read, write) - was not there when the server started"
    );
    assert!(call(&server, "list_allowed_directories", json!({"path": "/"})).is_err());
    let server = ground.server_of(&[], &[], Links::Refuse);
    let allowed = done(&server, "list_allowed_directories", json!({}));
    assert_eq!(allowed, "Allowed directories: none");
}
