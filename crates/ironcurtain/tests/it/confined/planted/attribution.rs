//! The user's own edits beside a server: left alone where the server slept, put back and asked about where
//! it cannot be told whose they are.

use std::fs;
use std::time::{Duration, Instant};

use ic_testkit::Proxy;
use serde_json::json;

use super::super::{Rig, hidden};
use super::{program, session, workspace};
use crate::proxy::until;

/// How long the server has to write into what the user saved.
const MOMENT: Duration = Duration::from_millis(100);

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    rig.place.write("ws/.gitattributes", "before\n");
    rig.peeker(&json!({"contained": true}))
}

fn run(proxy: &mut Proxy, rig: &Rig, text: &str) -> String {
    proxy.call("peeker__run", &json!({"where": hidden(&program(rig, text))})).text()
}

/// Saves a file as editors and git do: another one takes its place.
fn save(rig: &Rig, name: &str, text: &str) {
    let new = rig.place.write("ws/new", text);
    fs::rename(new, rig.place.path("ws").join(name)).unwrap();
}

fn n_put_back(rig: &Rig) -> usize {
    let records = rig.records("session").into_iter();
    records.filter(|it| it["arguments"]["event"] == "host-executes-put-back").count()
}

/// Gives a server that is awake the moment that it needs on a busy machine; it may still be too late.
fn leave_time_to_plant(rig: &Rig) {
    let began = Instant::now();
    while rig.read("ws/.gitattributes") != "planted" && began.elapsed() < MOMENT {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// The server sleeps: whatever the user makes or replaces stays, and becomes read-only for it.
#[test]
fn what_the_user_does_while_a_server_sleeps_stays() {
    let rig = rig();
    let mut proxy = session(&rig);
    let mut n_tries = 0;
    // On a busy machine the server may fall asleep too late, and then it cannot be told.
    until("an edit that is known to be the user's", || {
        n_tries += 1;
        until("it works", || run(&mut proxy, &rig, "pass") == "done");
        let n_before = n_put_back(&rig);
        rig.place.write("ws/.envrc", format!("mine {n_tries}"));
        save(&rig, ".gitattributes", &format!("mine {n_tries}"));
        until("it works", || run(&mut proxy, &rig, "pass") == "done");
        n_put_back(&rig) == n_before
    });
    for name in ["ws/.envrc", "ws/.gitattributes"] {
        assert_eq!(rig.read(name), format!("mine {n_tries}"), "{name}");
    }
    let said = run(&mut proxy, &rig, "open('.gitattributes', 'w').write('planted')");
    assert!(said.contains("Read-only file system"), "{said}");
    proxy.finish();
}

/// The server is awake, and writes into what the user saves as soon as it is not covered any more.
#[test]
fn what_a_server_could_have_written_into_a_file_that_the_user_saved_is_put_back() {
    let rig = rig();
    let mut proxy = session(&rig);
    let attack = "
import threading
def write():
    while True:
        try:
            open('.gitattributes', 'w').write('planted')
            return
        except OSError:
            pass
threading.Thread(target=write, daemon=True).start()";
    let (mut before, mut n_saves) = ("before\n".to_owned(), 0);
    until("the server writes into what the user saved", || {
        until("it works", || run(&mut proxy, &rig, attack) == "done");
        n_saves += 1;
        let (mine, n_before) = (format!("mine {n_saves}\n"), n_put_back(&rig));
        save(&rig, ".gitattributes", &mine);
        leave_time_to_plant(&rig);
        until("it is found", || run(&mut proxy, &rig, "pass") == "done");
        let n_after = n_put_back(&rig);
        if n_after == n_before {
            // On a busy machine the server may not have begun; then the edit is known to be the user's.
            assert_eq!(rig.read("ws/.gitattributes"), mine);
            before = mine;
            return false;
        }
        assert_eq!(rig.read("ws/.gitattributes"), before);
        let quarantine = rig.place.sessions().remove(0).join("quarantine");
        let kept = quarantine.join(format!("{}-.gitattributes", n_after - 1));
        // It may also be found before the server has written anything.
        fs::read_to_string(kept).unwrap() == "planted"
    });
    proxy.finish();
}
