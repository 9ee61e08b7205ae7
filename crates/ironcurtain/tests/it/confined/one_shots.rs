//! Calls about what the long-lived filesystem server does not hold: each is served by a server that
//! holds exactly what was judged, and ends with the call.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use super::{Rig, running};

/// How many calls are made while a directory is swapped for a link and back.
const N_CALLS: usize = 40;
const SECRET: &str = "the-secret-of-another-place";

#[test]
fn files_outside_of_every_open_directory_are_read_changed_moved_and_deleted() {
    for (rung, rig) in Rig::on_every_rung() {
        check_all_tools(rung, &rig);
    }
}

fn check_all_tools(rung: &str, rig: &Rig) {
    rig.place.write("outside/a.txt", "old");
    rig.place.dir("elsewhere");
    let mut proxy = rig.start();
    let path = |relative: &str| json!({"path": rig.text(relative)});
    let write =
        |relative: &str, content: &str| json!({"path": rig.text(relative), "content": content});
    let mut call = |tool: &str, arguments: Value| {
        proxy.call(&format!("filesystem__{tool}"), &arguments).good()
    };
    assert_eq!(call("read_text_file", path("outside/a.txt")), "old");
    assert_eq!(call("list_directory", path("outside")), "[FILE] a.txt");
    call("write_file", write("outside/a.txt", "new"));
    assert_eq!(rig.read("outside/a.txt"), "new");
    call("write_file", write("outside/b.txt", "made"));
    let edits = json!([{"oldText": "made", "newText": "edited"}]);
    call("edit_file", json!({"path": rig.text("outside/b.txt"), "edits": edits}));
    assert_eq!(rig.read("outside/b.txt"), "edited");
    call("create_directory", path("outside/deep/er"));
    for (source, destination) in
        [("outside/a.txt", "elsewhere/a.txt"), ("outside/b.txt", "outside/deep/er/b.txt")]
    {
        call(
            "move_file",
            json!({"source": rig.text(source), "destination": rig.text(destination)}),
        );
        assert!(!rig.place.path(source).exists(), "{source}");
    }
    assert_eq!(
        (rig.read("elsewhere/a.txt"), rig.read("outside/deep/er/b.txt")),
        ("new".to_owned(), "edited".to_owned())
    );
    call("delete_file", path("elsewhere/a.txt"));
    assert!(!rig.place.path("elsewhere/a.txt").exists());
    // Within the sandbox the server that runs anyway serves.
    call("write_file", json!({"path": "note.txt", "content": "in the sandbox"}));
    proxy.finish();
    let intents = rig.records("intent");
    assert_eq!(intents.len(), 10);
    assert!(intents.iter().all(|it| it["confined"] == rung), "{intents:?}");
    assert_eq!(rig.place.run(["audit", "verify"]).code, 0);
}

#[test]
fn what_is_not_there_is_missing_and_what_is_protected_is_left_out() {
    let rig = Rig::new();
    rig.place.write("home/.ssh/id", SECRET);
    rig.place.write("home/notes/n.txt", "a note");
    let mut proxy = rig.start();
    let mut call = |tool: &str, relative: &str| {
        proxy.call(&format!("filesystem__{tool}"), &json!({"path": rig.text(relative)}))
    };
    for relative in ["home/gone.txt", "home/gone/deep.txt"] {
        let text = call("read_text_file", relative).bad();
        assert!(text.ends_with("does not exist"), "{text}");
    }
    let tree = call("directory_tree", "home").good();
    assert!(tree.contains("n.txt") && !tree.contains("\"id\""), "{tree}");
    let several = json!({"paths": [rig.text("home/notes/n.txt"), rig.text("home/gone.txt")]});
    let text = proxy.call("filesystem__read_multiple_files", &several).good();
    assert!(text.contains("a note"), "{text}");
    proxy.finish();
}

#[test]
fn a_directory_that_a_rule_opens_is_served_by_the_server_that_runs() {
    let rig = Rig::new().opened("open", &["read-path"]);
    rig.place.write("open/a.txt", "a");
    let mut proxy = rig.start();
    let read = json!({"path": rig.text("open/a.txt")});
    assert_eq!(proxy.call("filesystem__read_text_file", &read).good(), "a");
    let listed = proxy.call("filesystem__list_allowed_directories", &json!({})).good();
    assert!(listed.contains(&format!("{} (read)", rig.text("open"))), "{listed}");
    // The rule opens it for reading; what is written there is served by itself.
    let write = json!({"path": rig.text("open/b.txt"), "content": "b"});
    proxy.call("filesystem__write_file", &write).good();
    assert_eq!(rig.read("open/b.txt"), "b");
    proxy.finish();
}

/// What is changed is changed by us, and looks as if the server had done it.
#[test]
fn modes_links_and_directories_are_kept_and_long_files_are_edited() {
    for (rung, rig) in Rig::on_every_rung() {
        rig.place.write("outside/private.txt", "old");
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(rig.place.path("outside/private.txt"), private).unwrap();
        rig.place.write("outside/d/deep/x.txt", "x");
        rig.place.link("outside/link", "d");
        rig.place.write("outside/long.txt", "\u{1}\u{1}\u{1}\n".repeat((5 << 18) - 1) + "end");
        rig.place.dir("elsewhere");
        let mut proxy = rig.start();
        let mut call =
            |tool: &str, arguments: Value| proxy.call(&format!("filesystem__{tool}"), &arguments);
        let private = rig.text("outside/private.txt");
        call("write_file", json!({"path": private, "content": "new"})).good();
        let mode = fs::metadata(&private).unwrap().permissions().mode();
        assert_eq!((rig.read("outside/private.txt").as_str(), mode & 0o7777), ("new", 0o600));
        for (from, to) in [("outside/d", "elsewhere/d"), ("outside/link", "elsewhere/link")] {
            let moved = json!({"source": rig.text(from), "destination": rig.text(to)});
            call("move_file", moved).good();
        }
        assert_eq!(rig.read("elsewhere/d/deep/x.txt"), "x");
        assert_eq!(fs::read_link(rig.place.path("elsewhere/link")).unwrap(), Path::new("d"));
        let edits = json!([{"oldText": "end", "newText": "END"}]);
        let long = rig.text("outside/long.txt");
        call("edit_file", json!({"path": long, "edits": edits})).good();
        assert!(rig.read("outside/long.txt").ends_with("\u{1}\nEND"), "{rung}");
        // What fails, fails with the words of the tool.
        let told = call("delete_file", json!({"path": rig.text("elsewhere/d")})).bad();
        assert!(told.ends_with("is a directory; only files and links are removed"), "{told}");
        let new = rig.text("outside/none/x.txt");
        let told = call("write_file", json!({"path": new, "content": "x"})).bad();
        assert!(told.contains("make it with `create_directory` first"), "{told}");
        let taken = json!({"source": private, "destination": rig.text("elsewhere/d")});
        let told = call("move_file", taken).bad();
        assert!(told.ends_with("exists already; nothing was changed"), "{told}");
        proxy.finish();
        assert!(names(&rig, "outside").iter().all(|name| !name.contains("tmp")), "{rung}");
    }
}

fn names(rig: &Rig, relative: &str) -> Vec<String> {
    let entries = fs::read_dir(rig.place.path(relative)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The long-lived server still holds the directory that is gone.
#[test]
fn a_directory_that_was_made_anew_is_another_one() {
    let rig =
        Rig::new().opened("open", &["read-path", "write-path"]).opened("later", &["read-path"]);
    rig.place.write("open/a.txt", "first");
    let mut proxy = rig.start();
    let mut read = |relative: &str| {
        proxy.call("filesystem__read_text_file", &json!({"path": rig.text(relative)})).good()
    };
    assert_eq!(read("open/a.txt"), "first");
    fs::rename(rig.place.path("open"), rig.place.path("moved")).unwrap();
    rig.place.write("open/a.txt", "second");
    assert_eq!(read("open/a.txt"), "second");
    // One that was not there when the server was started.
    rig.place.write("later/a.txt", "later");
    assert_eq!(read("later/a.txt"), "later");
    let write = json!({"path": rig.text("open/b.txt"), "content": "b"});
    proxy.call("filesystem__write_file", &write).good();
    assert_eq!(rig.read("open/b.txt"), "b");
    assert!(!rig.place.path("moved/b.txt").exists());
    proxy.finish();
}

/// What is judged is a directory; what is there when it is used may be a link to another place.
#[test]
fn a_directory_that_is_swapped_for_a_link_leads_nowhere() {
    let free = ("none", Rig::new().in_mode("off"));
    for (mode, rig) in Rig::on_every_rung().into_iter().chain([free]) {
        let rig = rig.closed("secret");
        // Each call is another one, or the circuit breaker would answer.
        for n in 0..=N_CALLS {
            rig.place.write(format!("work/d/{n}.txt"), "fine");
            rig.place.write(format!("secret/{n}.txt"), SECRET);
        }
        rig.place.link("work/other", rig.place.path("secret"));
        let mut proxy = rig.start();
        let (one, other) = (rig.place.path("work/d"), rig.place.path("work/other"));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            });
            for n in 0..N_CALLS {
                let read = json!({"path": rig.text(&format!("work/d/{n}.txt"))});
                let new = rig.text(&format!("work/d/{n}.new"));
                let write = json!({"path": new, "content": "x"});
                let old = rig.text(&format!("work/d/{n}.txt"));
                let made = json!({"path": rig.text(&format!("work/d/{n}.made/deep"))});
                let edits = json!([{"oldText": SECRET, "newText": "x"}]);
                let moved = rig.text(&format!("work/d/{n}.moved"));
                // Something that would be seen in the other place, whichever it is.
                let (tool, change) = match n % 4 {
                    0 => ("delete_file", json!({"path": old})),
                    1 => ("move_file", json!({"source": old, "destination": moved})),
                    2 => ("create_directory", made),
                    _ => ("edit_file", json!({"path": old, "edits": edits})),
                };
                let ids = [
                    proxy.ask_call("filesystem__read_text_file", &read),
                    proxy.ask_call("filesystem__write_file", &write),
                    proxy.ask_call(&format!("filesystem__{tool}"), &change),
                ];
                for id in ids {
                    let text = proxy.answer(&id).text();
                    assert!(!text.contains(SECRET), "{mode}: {text}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        if one.is_symlink() {
            rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        }
        // What is left alone is served.
        let read = json!({"path": rig.text(&format!("work/d/{N_CALLS}.txt"))});
        assert_eq!(proxy.call("filesystem__read_text_file", &read).good(), "fine");
        proxy.finish();
        assert_eq!(names(&rig, "secret").len(), N_CALLS + 1, "{mode}: something was changed there");
        for n in 0..=N_CALLS {
            assert_eq!(rig.read(&format!("secret/{n}.txt")), SECRET, "{mode}");
        }
    }
}

#[test]
fn many_at_once_are_all_served_and_nothing_is_left() {
    let rig = Rig::new();
    for n in 0..24 {
        rig.place.write(format!("outside/{n}.txt"), n.to_string());
    }
    let mut proxy = rig.start();
    let ask = |n: usize| json!({"path": rig.text(&format!("outside/{n}.txt"))});
    let ids: Vec<String> =
        (0..24).map(|n| proxy.ask_call("filesystem__read_text_file", &ask(n))).collect();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(proxy.answer(id).good(), n.to_string());
    }
    // One that is taken back is not answered, and leaves nothing either.
    let id = proxy.ask_call("filesystem__read_text_file", &ask(0));
    let id: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": id}));
    proxy.finish();
    assert_eq!(running(&rig.text("outside")), 0);
}

/// The built-in policy: Downloads is read and written, Documents is read.
#[test]
fn what_the_default_policy_allows_works_in_a_cage() {
    let place = crate::place();
    place.write("home/Downloads/a.txt", "a");
    place.write("home/Documents/d.txt", "d");
    let mut proxy = ic_testkit::Proxy::start(&place, &[]);
    proxy.initialize();
    let path = |relative: &str| place.path(relative).to_str().unwrap().to_owned();
    let mut call =
        |tool: &str, arguments: Value| proxy.call(&format!("filesystem__{tool}"), &arguments);
    let (a, b) = (path("home/Downloads/a.txt"), path("home/Downloads/b.txt"));
    assert_eq!(call("read_text_file", json!({"path": a})).good(), "a");
    assert_eq!(call("read_text_file", json!({"path": path("home/Documents/d.txt")})).good(), "d");
    call("write_file", json!({"path": b, "content": "b"})).good();
    let deleted = call("delete_file", json!({"path": a}));
    assert!(deleted.bad().starts_with("ESCALATION REQUIRED: "), "{}", deleted.text());
    assert!(place.path("home/Downloads/a.txt").exists());
    assert_eq!(fs::read_to_string(&b).unwrap(), "b");
    let written = call("write_file", json!({"path": path("home/Documents/x"), "content": "x"}));
    assert!(written.bad().starts_with("ESCALATION REQUIRED: "), "{}", written.text());
    assert!(!place.path("home/Documents/x").exists());
    proxy.finish();
}
