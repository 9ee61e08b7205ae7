//! The race: a directory is swapped for a link to the outside while calls are made.
//!
//! A path is judged by its name, and a name can be given to something else a moment later. Whatever
//! the moment, nothing outside may be read, made, changed or removed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ic_servers::filesystem::{Links, Rights};
use ic_types::{Json, Object};
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use crate::deeds;
use crate::ground::{Ground, SECRET, Told, call_with, object};

/// Calls under each of the two ways to treat links; two tests make a hundred thousand.
const N_CALLS: usize = 50_000;
const N_CALLERS: usize = 3;

#[test]
fn a_swapped_directory_leads_nowhere_when_links_are_refused() {
    race_for_one_server(Links::Refuse);
}

#[test]
fn a_swapped_directory_leads_nowhere_when_links_are_followed() {
    race_for_one_server(Links::Follow);
}

fn race_for_one_server(links: Links) {
    let server = OnceLock::new();
    race(|ground, tool, arguments| {
        call_with(server.get_or_init(|| ground.server(links)), tool, arguments)
    });
}

/// Each call has a server of its own that asks for what it changes, and what the server and whoever
/// carries it out hold is the directory that is swapped.
#[test]
fn a_swapped_directory_leads_nowhere_when_a_deed_is_asked_for() {
    race(|ground, tool, arguments| {
        let named = arguments.iter().flat_map(|(name, value)| match (name, value) {
            ("path" | "source" | "destination", Json::String(text)) => vec![text.clone()],
            ("paths", Json::Array(all)) => {
                all.iter().filter_map(Json::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        });
        let only: Vec<(String, Rights)> = named.map(|text| (text, Rights::ALL)).collect();
        let only: Vec<(&str, Rights)> = only.iter().map(|(it, all)| (&**it, *all)).collect();
        let held = [("in/d", Rights::ALL), ("in", Rights::ALL)];
        deeds::call_once(&ground.view_of_only(&held, &only), tool, arguments)
    });
}

/// Lets calls and swapping meet; `serve` makes a call.
fn race(serve: impl Fn(&Ground, &str, &Object) -> Told + Sync) {
    let ground = Ground::in_memory();
    ground.write("in/d/secret.txt", "harmless");
    ground.write("in/secret.txt", "harmless");
    ground.write("out/sub/secret.txt", SECRET);
    ground.write("out/sub/victim.txt", SECRET);
    ground.write("out/sub/only-outside.txt", SECRET);
    ground.link("in/d-link", ground.path("out/sub"));
    ground.link("in/f-link", ground.path("out/secret.txt"));
    let before = state(&ground);
    let calls = calls(&ground);
    let serve = |tool: &str, arguments: &Object| serve(&ground, tool, arguments);
    let is_over = AtomicBool::new(false);
    let (n_done, n_refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| swap(&ground, &is_over));
        let callers: Vec<_> = (0..N_CALLERS)
            .map(|caller| {
                let (serve, calls) = (&serve, &calls);
                let (n_done, n_refused) = (&n_done, &n_refused);
                scope.spawn(move || {
                    for n in (caller..N_CALLS).step_by(N_CALLERS) {
                        let is_done = is_done(serve, &calls[n % calls.len()]);
                        let counter = if is_done { n_done } else { n_refused };
                        counter.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = callers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        // Before a caller's failure is told, or the swapping would go on forever.
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok), "a call returned the secret");
    });
    assert_eq!(state(&ground), before, "something changed outside");
    let (n_done, n_refused) = (n_done.into_inner(), n_refused.into_inner());
    eprintln!("{n_done} calls were done, {n_refused} refused");
    // Otherwise the swapping and the calls never met.
    assert!(
        N_CALLS / 20 < n_done && N_CALLS / 50 < n_refused,
        "{n_done} done, {n_refused} refused"
    );
}

/// Gives the names of the directory and of the file to links and back, in two ways.
fn swap(ground: &Ground, is_over: &AtomicBool) {
    let exchange = |one: &Path, other: &Path| {
        rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).ok();
    };
    let [d, d_link, aside, f, f_link] =
        ["in/d", "in/d-link", "in/d-aside", "in/secret.txt", "in/f-link"]
            .map(|name| ground.path(name));
    while !is_over.load(Ordering::Relaxed) {
        exchange(&d, &d_link);
        exchange(&f, &f_link);
        exchange(&d, &d_link);
        exchange(&f, &f_link);
        // With a moment in which nothing has the name.
        fs::rename(&d, &aside).ok();
        std::os::unix::fs::symlink(ground.path("out/sub"), &d).ok();
        fs::remove_file(&d).ok();
        fs::rename(&aside, &d).ok();
    }
}

/// Returns the calls that are made in turn.
fn calls(ground: &Ground) -> Vec<(&'static str, Object)> {
    let path = |name: &str| ground.text(name);
    let edits = json!([{"oldText": "h", "newText": "H"}, {"oldText": "H", "newText": "h"}]);
    let both = [path("in/secret.txt"), path("in/d/secret.txt")];
    let moved = json!({"source": path("in/d/victim.txt"), "destination": path("in/d/moved.txt")});
    [
        ("read_file", json!({"path": path("in/d/secret.txt")})),
        ("read_file", json!({"path": path("in/secret.txt")})),
        ("read_file", json!({"path": path("in/d/secret.txt"), "tail": 1})),
        ("write_file", json!({"path": path("in/d/new.txt"), "content": "x"})),
        ("write_file", json!({"path": path("in/d/victim.txt"), "content": "x"})),
        ("delete_file", json!({"path": path("in/d/victim.txt")})),
        ("list_directory", json!({"path": path("in/d")})),
        ("search_files", json!({"path": path("in/d"), "pattern": "*"})),
        ("read_file", json!({"path": path("in/d/secret.txt")})),
        ("read_file", json!({"path": path("in/secret.txt")})),
        ("create_directory", json!({"path": path("in/d/made/a")})),
        ("create_directory", json!({"path": path("in/d/made/b/c")})),
        ("edit_file", json!({"path": path("in/d/secret.txt"), "edits": edits})),
        ("move_file", moved),
        ("delete_file", json!({"path": path("in/d/moved.txt")})),
        ("read_multiple_files", json!({"paths": both})),
        ("directory_tree", json!({"path": path("in")})),
    ]
    .map(|(tool, arguments)| (tool, object(arguments)))
    .into()
}

/// Makes a call; returns whether it was done. A secret in its answer is a panic.
fn is_done(
    serve: impl Fn(&str, &Object) -> Told,
    (tool, arguments): &(&'static str, Object),
) -> bool {
    match serve(tool, arguments) {
        Ok(text) => {
            // Of the outside, not even names may be told.
            assert!(!text.contains("only-outside"), "{tool}: {text}");
            true
        }
        Err(_) => false,
    }
}

/// Returns all that is outside: names, contents, and when they were last changed in any way.
fn state(ground: &Ground) -> Vec<(String, String, i64, i64)> {
    let mut all = Vec::new();
    for directory in ["out", "out/sub"] {
        for name in ground.names(directory) {
            let path = ground.path(directory).join(&name);
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = fs::read_to_string(&path).unwrap_or_default();
            all.push((name, content, metadata.ctime(), metadata.ctime_nsec()));
        }
    }
    all
}
