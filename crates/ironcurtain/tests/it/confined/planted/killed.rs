//! A proxy that is killed cannot look any more: what its server did last is put back by the server's guard,
//! or by the next session if that was killed too.

use std::fs;
use std::path::PathBuf;

use ic_testkit::Proxy;
use rustix::process::{Pid, Signal};
use serde_json::json;

use super::super::{Rig, hidden};
use super::{live, program, session, workspace};
use crate::proxy::until;

/// Plants a repository and a start-up file once a file of the test's is there.
const PLANT: &str = "
import time, threading
def plant():
    while not os.path.exists('go'):
        time.sleep(0.005)
    shape('later/.git', '..'); open('.envrc', 'w').write('planted')
    os.unlink('.npmrc'); open('src/done', 'w').close()
    while True:
        open('src/beat', 'a').write('x'); time.sleep(0.005)
threading.Thread(target=plant, daemon=True).start()";

fn rig(rig: Rig) -> Rig {
    workspace(&rig);
    rig.place.link("ws/.npmrc", "src/a.txt");
    rig.peeker(&json!({"contained": true}))
}

/// Starts a session whose server has planted something that nobody has looked at.
fn planted(rig: &Rig) -> Proxy {
    let mut proxy = session(rig);
    proxy.call("peeker__run", &json!({"where": hidden(&program(rig, PLANT))})).good();
    proxy.signal(Signal::STOP);
    rig.place.write("ws/go", "");
    until("it is planted", || rig.place.path("ws/src/done").exists());
    assert!(rig.place.path("ws/later/.git").exists(), "the control");
    proxy
}

fn is_put_back(rig: &Rig) -> bool {
    let is_there = |name: &str| fs::symlink_metadata(rig.place.path("ws").join(name)).is_ok();
    !is_there("later/.git") && !is_there(".envrc") && is_there(".npmrc")
}

fn looks(rig: &Rig) -> Vec<PathBuf> {
    let entries = fs::read_dir(rig.place.path("home/.ironcurtain/locks")).unwrap();
    let paths = entries.map(|it| it.unwrap().path());
    paths.filter(|it| it.to_str().unwrap().contains(".look")).collect()
}

/// Kills the guards that a proxy started.
fn kill_guards(proxy: &Proxy) {
    let parent = proxy.process().id().to_string();
    let mut n_killed = 0;
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        let is_child = rest.split_ascii_whitespace().nth(1) == Some(&*parent);
        if is_child && head.contains("ironcurtain-run") {
            let pid: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
            rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            n_killed += 1;
        }
    }
    assert!(0 < n_killed, "there is no guard");
}

#[track_caller]
fn check_told(rig: &Rig, what: &str) {
    let mut next = session(rig);
    let told = "a session was killed before it could look once more: host_executes_put_back";
    until("it is told", || next.stderr().contains(told));
    next.finish();
    let mut records = rig.records("session");
    records.retain(|it| it["arguments"]["event"] == "host-executes-put-back");
    assert_eq!(records.len(), 1, "{what}: {records:?}");
    assert!(records[0]["reason"].as_str().unwrap().contains("/ws/.envrc"), "{what}");
    assert_eq!(looks(rig), Vec::<PathBuf>::new(), "{what}");
    let kept = rig.place.sessions().remove(0).join("quarantine");
    assert!(2 <= fs::read_dir(kept).unwrap().count(), "{what}");
    fs::create_dir_all(rig.place.path("ws/later")).unwrap();
    assert!(live(rig, "later"), "{what}");
    assert!(!rig.place.path("canary").exists(), "{what}: the canary was run");
}

/// Nobody has to open another session for it.
#[test]
fn what_a_server_did_last_is_put_back_when_the_proxy_is_killed() {
    for (rung, it) in Rig::on_every_rung().into_iter().filter(|(rung, _)| *rung != "landlock") {
        let rig = rig(it);
        let mut proxy = planted(&rig);
        assert!(!looks(&rig).is_empty(), "{rung}");
        proxy.kill();
        until("the guard puts it back", || is_put_back(&rig));
        let beats = rig.read("ws/src/beat");
        check_told(&rig, rung);
        assert_eq!(rig.read("ws/src/beat"), beats, "{rung}: the server outlived the proxy");
    }
}

#[test]
fn the_next_session_puts_it_back_if_the_guard_was_killed_too() {
    let rig = rig(Rig::new());
    let mut proxy = planted(&rig);
    kill_guards(&proxy);
    proxy.kill();
    assert!(!is_put_back(&rig), "the control");
    check_told(&rig, "both");
    assert!(is_put_back(&rig));
}

/// What cannot be read may stand for anything: nothing is served until a person has looked.
#[test]
fn with_a_damaged_look_no_session_is_opened() {
    let rig = rig(Rig::new());
    let mut proxy = planted(&rig);
    kill_guards(&proxy);
    proxy.kill();
    let look = looks(&rig).into_iter().find(|it| it.extension().unwrap() == "look").unwrap();
    let text = fs::read_to_string(&look).unwrap();
    let cut = text.strip_suffix('}').unwrap();
    for damaged in ["", "x", cut, &text.replacen("/ws", "/wx", 1)] {
        fs::write(&look, damaged).unwrap();
        let mut next = rig.start_in(&["--workspace", &rig.text("ws")]);
        let about = json!({"name": "test", "version": "1"});
        next.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}),
        );
        assert_ne!(next.end(), 0);
        let told = next.all_stderr();
        assert!(told.contains(".look` is damaged"), "{told}");
    }
    fs::write(&look, text).unwrap();
    check_told(&rig, "repaired");
}

/// A session that ends well leaves nothing to compare, and what you make afterwards is yours.
#[test]
fn nothing_is_compared_after_a_session_that_ended_well() {
    let rig = rig(Rig::new());
    let mut proxy = session(&rig);
    proxy.call("peeker__environment", &json!({})).good();
    assert!(!looks(&rig).is_empty(), "it is kept while the server runs");
    proxy.finish();
    assert_eq!(looks(&rig), Vec::<PathBuf>::new());
    rig.place.write("ws/.envrc", "mine");
    session(&rig).finish();
    assert_eq!(rig.read("ws/.envrc"), "mine");
}
