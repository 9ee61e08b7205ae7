//! Files that count and have another name, by which a server could write them.

use std::fs;

use ic_testkit::git_host::git;
use rustix::process::Signal;
use serde_json::json;

use super::super::{Rig, hidden};
use super::{program, session, workspace};
use crate::proxy::until;

const REFUSED: &str = "by its other name";

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    rig.place.write("ws/tools/ed.sh", "true\n");
    rig.peeker(&json!({"contained": true}))
}

/// With two names of the user's own, one of which counts, the server is not started.
#[test]
fn a_server_that_could_write_a_file_by_another_name_is_not_started() {
    for (counts, other) in [(".git/config", "src/h"), (".envrc", "src/h"), ("tools/ed.sh", "lib/h")]
    {
        let rig = rig();
        let ws = rig.place.path("ws");
        git(&ws, &["config", "core.editor", "sh tools/ed.sh"]);
        rig.place.write("ws/.envrc", "mine");
        fs::hard_link(ws.join(counts), ws.join(other)).unwrap();
        let mut proxy = session(&rig);
        let text = proxy.call("peeker__environment", &json!({})).bad();
        assert!(text.contains(REFUSED) && text.contains(counts) && text.contains(other), "{text}");
        // A copy is a file of its own.
        fs::remove_file(ws.join(other)).unwrap();
        fs::copy(ws.join(counts), ws.join(other)).unwrap();
        until("the server works", || {
            proxy.call("peeker__environment", &json!({})).result()["isError"] == json!(false)
        });
        proxy.finish();
    }
}

/// Other names that the server cannot write are nobody's fault: clones share objects, copies share files.
#[test]
fn names_elsewhere_and_names_that_count_themselves_are_free() {
    let rig = rig();
    let ws = rig.place.path("ws");
    rig.place.write("ws/.envrc", "mine");
    fs::hard_link(ws.join(".envrc"), rig.place.path("home/copy")).unwrap();
    fs::hard_link(ws.join(".envrc"), ws.join("lib/.envrc")).unwrap();
    git(&ws, &["clone", "-q", "--local", ".", "../clone"]);
    git(&ws, &["clone", "-q", "--local", ".", "nested/clone"]);
    let mut proxy = session(&rig);
    proxy.call("peeker__environment", &json!({})).good();
    proxy.finish();
}

/// The server makes the name first, and the user names the file later.
#[test]
fn a_name_that_a_server_made_earlier_keeps_it_from_being_started() {
    let rig = rig();
    let ws = rig.place.path("ws");
    let mut proxy = session(&rig);
    let call = |text: &str| json!({"where": hidden(&program(&rig, text))});
    proxy.call("peeker__run", &call("os.link('tools/ed.sh', 'src/h')")).good();
    git(&ws, &["config", "core.editor", "sh tools/ed.sh"]);
    let attack = call("open('src/h', 'w').write('touch ' + canary)");
    until("it is not started", || proxy.call("peeker__run", &attack).text().contains(REFUSED));
    proxy.finish();
    assert_eq!(rig.read("ws/tools/ed.sh"), "true\n");
}

/// The user makes the name while the server runs, and it writes before anybody looks.
#[test]
fn what_is_written_by_another_name_is_restored() {
    let rig = rig();
    let ws = rig.place.path("ws");
    rig.place.write("ws/.envrc", "mine");
    let mut proxy = session(&rig);
    let attack = "
import threading, time
def plant():
    while not os.path.exists('src/h'):
        time.sleep(0.005)
    was = os.stat('src/h')
    open('src/h', 'w').write('evil'); os.utime('src/h', ns=(was.st_atime_ns, was.st_mtime_ns))
    open('src/done', 'w').close()
threading.Thread(target=plant, daemon=True).start()";
    proxy.call("peeker__run", &json!({"where": hidden(&program(&rig, attack))})).good();
    proxy.signal(Signal::STOP);
    fs::hard_link(ws.join(".envrc"), ws.join("src/h")).unwrap();
    until("it is written", || ws.join("src/done").exists());
    assert_eq!(rig.read("ws/.envrc"), "evil", "the control");
    proxy.signal(Signal::CONT);
    until("it is restored", || rig.read("ws/.envrc") == "mine");
    proxy.finish();
    let quarantine = rig.place.sessions().remove(0).join("quarantine/0-.envrc");
    assert_eq!(fs::read_to_string(quarantine).unwrap(), "evil");
}
