//! Ways out of a directory, each of them tried.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use ic_servers::filesystem::{Filesystem, Links, Rights};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::ground::{BOTH, Ground, SECRET, call, done, refused};

/// Makes each call that takes a path with `path`, and returns what came of it.
fn try_all(
    server: &Filesystem,
    path: &str,
    other: &str,
) -> Vec<(&'static str, Result<String, String>)> {
    let edits = json!([{"oldText": SECRET, "newText": "gone"}]);
    let calls: [(&'static str, Value); 15] = [
        ("read_file", json!({"path": path})),
        ("read_file", json!({"path": path, "head": 1})),
        ("read_file", json!({"path": path, "tail": 1})),
        ("read_multiple_files", json!({"paths": [path]})),
        ("read_media_file", json!({"path": path})),
        ("get_file_info", json!({"path": path})),
        ("list_directory", json!({"path": path})),
        ("list_directory_with_sizes", json!({"path": path})),
        ("directory_tree", json!({"path": path})),
        ("search_files", json!({"path": path, "pattern": "*"})),
        ("edit_file", json!({"path": path, "edits": edits})),
        ("write_file", json!({"path": path, "content": "gone"})),
        ("create_directory", json!({"path": format!("{path}/made")})),
        ("move_file", json!({"source": path, "destination": other})),
        ("delete_file", json!({"path": path})),
    ];
    calls.map(|(tool, arguments)| (tool, call(server, tool, arguments))).into()
}

/// Checks that nothing at all can be done with `path`, and that nobody outside noticed.
#[track_caller]
fn closed(ground: &Ground, server: &Filesystem, path: &str) {
    for (tool, told) in try_all(server, path, &ground.text("in/taken")) {
        assert!(told.is_err(), "{tool} {path}: {told:?}");
    }
    assert!(!ground.exists("in/taken"));
    ground.check_outside();
}

#[test]
fn what_is_outside_stays_out_of_reach() {
    let ground = Ground::new();
    ground.write("in_evil/secret.txt", SECRET);
    ground.write("in/f.txt", "x");
    for links in BOTH {
        let server = ground.server(links);
        for path in [
            ground.text("out/secret.txt"),
            ground.text("out"),
            ground.text("in/../out/secret.txt"),
            ground.text("in/./../out/secret.txt"),
            ground.text("in/f.txt/../../out/secret.txt"),
            ground.text("in/absent/../../out/secret.txt"),
            // The name of a sibling that begins with ours.
            ground.text("in_evil/secret.txt"),
            ground.text("in_evil"),
            ground.text(""),
            "/".to_owned(),
            "/etc/passwd".to_owned(),
            "//etc/passwd".to_owned(),
            "../out/secret.txt".to_owned(),
            "~/.ssh/id_rsa".to_owned(),
            "~".to_owned(),
            format!("file://{}", ground.text("out/secret.txt")),
        ] {
            closed(&ground, &server, &path);
        }
        assert_eq!(ground.read("in_evil/secret.txt"), SECRET);
    }
}

#[test]
fn only_paths_in_normal_form_are_taken_when_links_are_refused() {
    let ground = Ground::new();
    ground.write("in/d/f.txt", "x");
    let server = ground.server(Links::Refuse);
    for path in ["in/d/../d/f.txt", "in//d/f.txt", "in/./d/f.txt", "in/d/f.txt/"] {
        let path = format!("{}/{path}", ground.text(""));
        refused(&server, "read_file", json!({"path": path}), &["cannot be used as a path"]);
    }
    refused(&server, "read_file", json!({"path": "d/f.txt"}), &["it is not absolute"]);
    let server = ground.server(Links::Follow);
    for path in [ground.text("in/d/../d/f.txt"), "d/f.txt".to_owned(), "./d//f.txt".to_owned()] {
        assert_eq!(done(&server, "read_file", json!({"path": path})), "x");
    }
}

#[test]
fn links_that_lead_out_are_not_followed() {
    let ground = Ground::new();
    ground.link("in/file", ground.path("out/secret.txt"));
    ground.link("in/dir", ground.path("out"));
    ground.link("in/up", "..");
    ground.link("in/relative", "../out/secret.txt");
    ground.link("in/chain", "relative");
    ground.link("in/root", "/");
    for (links, parts) in [
        (Links::Refuse, ["symbolic link", "changed since it was judged"]),
        (Links::Follow, ["is outside of the directories", "list_allowed_directories"]),
    ] {
        let server = ground.server(links);
        for path in
            ["in/file", "in/dir/secret.txt", "in/up/out/secret.txt", "in/relative", "in/chain"]
        {
            let path = ground.text(path);
            refused(&server, "read_file", json!({"path": path}), &parts);
            let write = json!({"path": path, "content": "gone"});
            refused(&server, "write_file", write, &parts);
        }
        let path = ground.text("in/dir");
        refused(&server, "directory_tree", json!({"path": path}), &parts);
        for path in ["in/dir/new", "in/up/new", "in/dir/a/b"] {
            let made = json!({"path": ground.text(path)});
            refused(&server, "create_directory", made, &parts);
        }
        let beneath = ground.text("in/dir/secret.txt");
        refused(&server, "delete_file", json!({"path": beneath}), &parts);
        let to = ground.text("in/x");
        refused(&server, "move_file", json!({"source": beneath, "destination": to}), &parts);
        let from = ground.write("in/own.txt", "own");
        let into = ground.text("in/dir/own.txt");
        refused(&server, "move_file", json!({"source": from, "destination": into}), &parts);
        ground.check_outside();
    }
}

#[test]
fn a_dangling_link_makes_nothing_outside() {
    let ground = Ground::new();
    let link = ground.link("in/dangling", ground.path("out/new.txt"));
    for links in BOTH {
        let server = ground.server(links);
        for tool in ["write_file", "create_directory", "read_file"] {
            let arguments = match tool {
                "write_file" => json!({"path": link, "content": "gone"}),
                _ => json!({"path": link}),
            };
            assert!(call(&server, tool, arguments).is_err(), "{tool}");
        }
        ground.check_outside();
    }
}

#[test]
fn links_within_are_followed_only_if_that_is_wanted() {
    let ground = Ground::new();
    ground.write("in/d/f.txt", "inside");
    let link = ground.link("in/link", "d/f.txt");
    let new = ground.link("in/new", ground.path("in/d/new.txt"));
    ground.link("in/way", "d");
    let by_way = ground.text("in/way/f.txt");
    let server = ground.server(Links::Follow);
    assert_eq!(done(&server, "read_file", json!({"path": by_way})), "inside");
    assert_eq!(done(&server, "read_file", json!({"path": link})), "inside");
    done(&server, "write_file", json!({"path": link, "content": "written"}));
    done(&server, "write_file", json!({"path": new, "content": "new"}));
    assert_eq!(ground.read("in/d/f.txt"), "written");
    assert_eq!(ground.read("in/d/new.txt"), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link stays a link");
    let server = ground.server(Links::Refuse);
    for path in [&link, &by_way] {
        let part = "changed since it was judged";
        refused(&server, "read_file", json!({"path": path}), &[part]);
        refused(&server, "write_file", json!({"path": path, "content": "x"}), &[part]);
    }
    refused(
        &server,
        "list_directory",
        json!({"path": ground.text("in/way")}),
        &["since it was judged"],
    );
    refused(&server, "delete_file", json!({"path": by_way}), &["since it was judged"]);
    assert_eq!(ground.read("in/d/f.txt"), "written");
}

#[test]
fn a_link_is_removed_or_moved_itself() {
    for links in BOTH {
        let ground = Ground::new();
        let server = ground.server(links);
        let file = ground.link("in/file", ground.path("out/secret.txt"));
        let dir = ground.link("in/dir", ground.path("out"));
        done(&server, "delete_file", json!({"path": file}));
        let moved = ground.text("in/moved");
        done(&server, "move_file", json!({"source": dir, "destination": moved}));
        assert_eq!(ground.names("in"), ["moved"]);
        assert!(fs::symlink_metadata(&moved).unwrap().is_symlink());
        done(&server, "delete_file", json!({"path": moved}));
        assert!(ground.names("in").is_empty());
        ground.check_outside();
    }
}

#[test]
fn the_magic_links_of_the_kernel_lead_nowhere() {
    let ground = Ground::new();
    let secret = ground.text("out/secret.txt");
    let outside = fs::File::open(&secret).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&outside);
    let pid = std::process::id();
    ground.link("in/root", format!("/proc/{pid}/root"));
    ground.link("in/cwd", format!("/proc/{pid}/cwd"));
    ground.link("in/fd", format!("/proc/{pid}/fd/{fd}"));
    ground.link("in/self", "/proc/self/root");
    for links in BOTH {
        let server = ground.server(links);
        for path in [
            format!("in/root{secret}"),
            "in/fd".into(),
            "in/cwd".into(),
            format!("in/self{secret}"),
        ] {
            let path = ground.text(&path);
            for tool in ["read_file", "list_directory"] {
                assert!(call(&server, tool, json!({"path": path})).is_err(), "{tool} {path}");
            }
        }
        // Not even when /proc is what can be seen.
        let server = ground.server_of(&[("/proc", Rights::READ)], &[], links);
        for path in [
            format!("/proc/self/root{secret}"),
            format!("/proc/{pid}/root{secret}"),
            format!("/proc/{pid}/fd/{fd}"),
            format!("/proc/self/fd/{fd}"),
        ] {
            let told = call(&server, "read_file", json!({"path": path}));
            assert!(told.is_err(), "{path}: {told:?}");
        }
    }
}

#[test]
fn a_hard_link_is_not_written_through() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    fs::hard_link(ground.path("out/secret.txt"), ground.path("in/hard.txt")).unwrap();
    let path = ground.text("in/hard.txt");
    let mut open = fs::File::open(&path).unwrap();
    done(&server, "write_file", json!({"path": path, "content": "mine"}));
    assert_eq!(ground.read("in/hard.txt"), "mine");
    ground.check_outside();
    let mut old = String::new();
    std::io::Read::read_to_string(&mut open, &mut old).unwrap();
    assert_eq!(old, SECRET, "who has the old file open keeps it");
    let own = ground.write("in/own.txt", "a b");
    fs::hard_link(&own, ground.path("other.txt")).unwrap();
    let edits = json!([{"oldText": "a", "newText": "x"}]);
    done(&server, "edit_file", json!({"path": own, "edits": edits}));
    assert_eq!((ground.read("in/own.txt"), ground.read("other.txt")), ("x b".into(), "a b".into()));
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let ground = Ground::new();
    let pipe = ground.text("in/pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let socket = ground.text("in/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for links in BOTH {
        let server = ground.server_of(&[("in", Rights::ALL), ("/dev", Rights::ALL)], &[], links);
        for path in [pipe.as_str(), &socket, "/dev/zero", "/dev/null"] {
            for (tool, arguments) in [
                ("read_file", json!({"path": path})),
                ("read_file", json!({"path": path, "head": 1})),
                ("read_media_file", json!({"path": path})),
                ("write_file", json!({"path": path, "content": "x"})),
                ("edit_file", json!({"path": path, "edits": []})),
            ] {
                refused(&server, tool, arguments, &["is a pipe, socket or device"]);
            }
        }
        let listing = done(&server, "list_directory", json!({"path": ground.text("in")}));
        assert_eq!(listing, "[OTHER] pipe\n[OTHER] socket");
    }
}

#[test]
fn a_file_that_its_owner_made_read_only_stays() {
    let ground = Ground::new();
    let path = ground.write("in/f.txt", "kept");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).is_ok() {
        eprintln!("SKIPPED: whoever runs this test may write to read-only files");
        return;
    }
    let server = ground.server(Links::Refuse);
    refused(&server, "write_file", json!({"path": path, "content": "x"}), &["cannot write"]);
    assert_eq!(ground.read("in/f.txt"), "kept");
}

#[test]
fn what_is_left_out_is_neither_read_nor_changed() {
    for links in BOTH {
        let ground = Ground::new();
        ground.write("in/home/.ssh/id", SECRET);
        ground.write("in/home/note.txt", "x");
        ground.link("in/alias", "home/.ssh");
        ground.write("in/.ssh", "a name alone is not left out");
        let server =
            ground.server_of(&[("in", Rights::ALL)], &["in/home/.ssh", "in/home/new"], links);
        for path in
            ["in/home/.ssh", "in/home/.ssh/id", "in/home/.ssh/new", "in/home/new", "in/home/new/x"]
        {
            let path = ground.text(path);
            for (tool, told) in try_all(&server, &path, &ground.text("in/taken")) {
                let text = told.expect_err(tool);
                assert!(text.contains("is protected"), "{tool} {path}: {text}");
            }
        }
        for path in ["in/alias/id", "in/alias/new"] {
            let path = ground.text(path);
            for (tool, told) in try_all(&server, &path, &ground.text("in/taken")) {
                assert!(told.is_err(), "{tool} {path}: {told:?}");
            }
        }
        assert_eq!(ground.read("in/home/.ssh/id"), SECRET);
        assert_eq!(ground.names("in/home"), [".ssh", "note.txt"]);
        assert!(
            done(&server, "read_file", json!({"path": ground.text("in/.ssh")})).contains("alone")
        );
    }
}

#[test]
fn nothing_that_holds_something_left_out_is_moved_and_nothing_is_moved_around_it() {
    for links in BOTH {
        let ground = Ground::new();
        ground.write("in/home/conf/.ssh/id", SECRET);
        ground.write("in/plant/hooks/evil", "x");
        let leave_out = ["in/home/conf/.ssh", "in/git/hooks"];
        let server = ground.server_of(&[("in", Rights::ALL)], &leave_out, links);
        for path in ["in/home/conf", "in/home"] {
            let (source, destination) = (ground.text(path), ground.text("in/elsewhere"));
            let away = json!({"source": source, "destination": destination});
            refused(&server, "move_file", away, &["stays where it is", "protected"]);
        }
        // A directory that takes the place of one in which something would be left out.
        let plant =
            json!({"source": ground.text("in/plant"), "destination": ground.text("in/git")});
        refused(&server, "move_file", plant, &["is or would be beneath it"]);
        let delete = json!({"path": ground.text("in/home/conf")});
        refused(&server, "delete_file", delete, &["protected"]);
        assert_eq!(ground.read("in/home/conf/.ssh/id"), SECRET);
        assert_eq!(ground.names("in"), ["home", "plant"]);
    }
}

#[test]
fn walks_pass_by_what_is_left_out_and_say_so() {
    for links in BOTH {
        let ground = Ground::new();
        ground.write("in/a/.ssh/id-secret", SECRET);
        ground.write("in/a/note.txt", "x");
        ground.write("in/b/id-public", "x");
        ground.link("in/out", ground.path("out"));
        ground.write("in/unread/id-hidden", "x");
        let directories = [("in", Rights::ALL), ("in/unread", Rights::WRITE)];
        let server = ground.server_of(&directories, &["in/a/.ssh"], links);
        let root = ground.text("in");
        let tree = done(&server, "directory_tree", json!({"path": root}));
        let (json, note) = tree.split_once("\n||\n").expect("two parts");
        assert!(serde_json::from_str::<Value>(json).is_ok(), "{json}");
        assert!(!json.contains("id-secret") && !json.contains("id-hidden"), "{json}");
        assert!(!json.contains("secret.txt"), "a link is not entered: {json}");
        let said = format!(
            "Left out because it is protected or closed by the policy: {root}/a/.ssh, {root}/unread"
        );
        assert_eq!(note, said);
        let found = done(&server, "search_files", json!({"path": root, "pattern": "*id-*"}));
        assert_eq!(found, format!("{root}/b/id-public\n\n{said}"));
        let nothing = done(&server, "search_files", json!({"path": root, "pattern": "secret*"}));
        assert_eq!(nothing, format!("No matches found\n\n{said}"));
        let listing = done(&server, "list_directory", json!({"path": ground.text("in/a")}));
        assert_eq!(
            listing,
            "[FILE] note.txt\n\nLeft out because it is protected or closed by the policy: 1 entry"
        );
        let sizes = json!({"path": ground.text("in/a")});
        let listing = done(&server, "list_directory_with_sizes", sizes);
        assert!(listing.contains("Total: 1 files, 0 directories"), "{listing}");
        assert!(
            listing.ends_with("Left out because it is protected or closed by the policy: 1 entry"),
            "{listing}"
        );
    }
}

#[test]
fn a_new_file_is_ours_and_no_temporary_one_stays() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let path = ground.text("in/f.txt");
    done(&server, "write_file", json!({"path": path, "content": "x"}));
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 1);
    // A rename onto a directory that came up meanwhile fails, and cleans up.
    fs::remove_file(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                fs::create_dir(ground.path("in/f.txt")).ok();
                fs::remove_dir(ground.path("in/f.txt")).ok();
                fs::remove_file(ground.path("in/f.txt")).ok();
            }
        });
        for _ in 0..300 {
            call(&server, "write_file", json!({"path": path, "content": "x"})).ok();
        }
    });
    let left = ground.names("in");
    assert!(left.iter().all(|name| name == "f.txt"), "{left:?}");
}
