//! Many clients on one socket: they share a session, and neither answers, ids, speed nor an end.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use ic_testkit::proxy::Reads;
use ic_testkit::{Caller, Place, Proxy};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Rig, check_not_slower, python, rig, took, until};
use crate::place;

/// A proxy on a socket.
struct Served {
    rig: Rig,
    proxy: Proxy,
    socket: PathBuf,
}

impl Served {
    fn by(rig: Rig) -> Self {
        let socket = rig.place.path("sockets/proxy.sock");
        let mut arguments = rig.arguments();
        arguments.extend(["--socket".to_owned(), socket.to_str().unwrap().to_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let proxy = Proxy::start_reading(&rig.place, &arguments, Reads::Everything);
        Self { rig, proxy, socket }
    }

    fn client(&self, name: &str) -> Caller {
        Caller::begin(&self.socket, name)
    }

    /// Ends the proxy, and checks that it leaves a whole record and no socket.
    #[track_caller]
    fn finish(mut self) {
        self.proxy.signal(Signal::TERM);
        assert_eq!(self.proxy.end(), 0, "{}", self.proxy.stderr());
        assert!(std::fs::symlink_metadata(&self.socket).is_err(), "the socket is removed");
        let verified = self.rig.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}

/// A server that looks into no log, which would take longer with each call.
fn plain() -> Rig {
    Rig::at(place()).server("rec", "recorder.py", &[])
}

#[test]
fn clients_share_a_session_and_keep_their_ids_eras_progress_and_cancellations() {
    let served = Served::by(plain());
    let (mut ada, mut bob) = (served.client("ada"), served.client("bob"));
    // One of the newest revision, which never initializes.
    let mut eve = Caller::connect(&served.socket);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let slow = |name: &str| json!({"name": "rec__slow", "arguments": {"name": name}});
    let id = ada.ask("tools/call", &slow("a"));
    let same = bob.ask("tools/call", &slow("b"));
    assert_eq!(id, same, "both have the same id in flight");
    served.rig.wait_for_calls("rec", 2);
    let echoed = eve.request(
        "tools/call",
        &json!({"name": "rec__echo", "arguments": {"value": 1}, "_meta": meta}),
    );
    assert_eq!(echoed.result()["resultType"], "complete");
    // What one takes back is its own.
    bob.notify("notifications/cancelled", &json!({"requestId": same.parse::<u64>().unwrap()}));
    bob.request("ping", &json!({}));
    let steps = json!({"name": "rec__steps", "arguments": {"n": 2}, "_meta": {"progressToken": 7}});
    bob.request("tools/call", &steps);
    served.rig.release("rec", &["a"]);
    assert_eq!(ada.answer(&id).good(), "released a");
    ada.request("ping", &json!({}));
    let is_progress =
        |it: &ic_testkit::proxy::Message| it.method() == Some("notifications/progress");
    assert_eq!(bob.unread().iter().filter(|it| is_progress(it)).count(), 2);
    assert!(!ada.unread().iter().any(is_progress), "progress of another's call");
    assert_eq!(served.rig.place.sessions().len(), 1);
    served.finish();
}

#[test]
fn sixty_four_clients_have_sixteen_calls_in_flight_each() {
    let served = Served::by(plain().server("other", "recorder.py", &[]));
    let mut clients: Vec<Caller> = (0..64).map(|n| served.client(&format!("client {n}"))).collect();
    let echo = |clients: &mut [Caller], word: &str| {
        for (n, client) in clients.iter_mut().enumerate() {
            let value = json!({"value": format!("{word} {n}")});
            assert_eq!(client.call("other__echo", &value).good(), value.to_string());
        }
    };
    echo(&mut clients, "first");
    let before = took(|| echo(&mut clients, "before"));
    let mut asked: Vec<Vec<(String, String)>> = Vec::new();
    for (n, client) in clients.iter_mut().enumerate() {
        let names = (0..16).map(|call| format!("quiet-{n}-{call}"));
        let calls = names.map(|name| (client.ask_call("rec__slow", &json!({"name": name})), name));
        asked.push(calls.collect());
    }
    served.rig.wait_for_calls("rec", 64 * 16);
    // A server that answers nothing yet slows down nobody who asks another one.
    let meanwhile = took(|| echo(&mut clients, "meanwhile"));
    check_not_slower(before, meanwhile);
    // Last things first.
    let names: Vec<&str> = asked.iter().flatten().rev().map(|(_, name)| name.as_str()).collect();
    served.rig.release("rec", &names);
    for (client, asked) in clients.iter_mut().zip(&asked) {
        for (id, name) in asked {
            assert_eq!(client.answer(id).good(), format!("released {name}"));
        }
    }
    served.finish();
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_slows_down_nobody() {
    let served = Served::by(plain().hostile("bad", &["plain"]));
    let (mut deaf, mut other) = (served.client("deaf"), served.client("other"));
    // Six megabytes each, and it reads none of them.
    for id in 100..110 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "bad__do", "arguments": {"what": "image"}}});
        deaf.send_line(&call.to_string());
    }
    for n in 0..50 {
        let echoed = other.call("rec__echo", &json!({"value": n}));
        assert_eq!(echoed.good(), json!({"value": n}).to_string());
    }
    until("it is not listened to any more", || {
        deaf.try_send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_err()
    });
    assert!(deaf.is_dropped());
    other.call("rec__echo", &json!({"value": "after"})).good();
    let peak = served.proxy.process().peak_mib();
    assert!(peak < 400, "{peak} MiB were kept for it");
    served.finish();
}

/// Whoever has only said all that it had to say still gets its answers.
#[test]
fn a_client_that_says_no_more_is_answered_and_one_that_vanished_is_not_waited_for() {
    let served = Served::by(plain());
    let mut polite = served.client("polite");
    let id = polite.ask_call("rec__slow", &json!({"name": "polite"}));
    let mut rude = served.client("rude");
    rude.ask_call("rec__slow", &json!({"name": "rude"}));
    served.rig.wait_for_calls("rec", 2);
    polite.say_no_more();
    drop(rude);
    // The server hears of it, under an id of ours.
    until("the call of the one that vanished is taken back", || {
        served.rig.lines("rec", "received").iter().any(|it| it.contains("notifications/cancelled"))
    });
    served.rig.release("rec", &["polite"]);
    assert_eq!(polite.answer(&id).good(), "released polite");
    served.finish();
}

#[test]
fn twenty_thousand_connects_and_disconnects_leak_nothing() {
    let served = Served::by(plain());
    let mut steady = served.client("steady");
    let come_and_go = |n: usize, steady: &mut Caller| match n % 10 {
        // Some say nothing, some half a line, some begin, and some have a call under way.
        0 => drop(served.client("passing")),
        1 => {
            let mut caller = served.client("calling");
            caller.ask_call("rec__echo", &json!({"value": n}));
        }
        2 => Caller::connect(&served.socket).send_line("{\"jsonrpc\":"),
        // Who stays reads what the server says of each call; a client that does not is dropped.
        3 if n % 100 == 3 => drop(steady.request("ping", &json!({}))),
        _ => drop(Caller::connect(&served.socket)),
    };
    let process = served.proxy.process();
    // The server runs from now on.
    steady.call("rec__echo", &json!({"value": "first"})).good();
    let at_first = process.n_descriptors();
    let settle = |steady: &mut Caller| {
        until("everybody has left, and took along what was theirs", || {
            steady.request("ping", &json!({}));
            process.n_descriptors() <= at_first
        });
        process.resident_kib()
    };
    // The allocator has its fill after some thousands; from then on its size goes up and down by up to 5 MiB.
    (0..5000).for_each(|n| come_and_go(n, &mut steady));
    let kib = settle(&mut steady);
    (0..15_000).for_each(|n| come_and_go(n, &mut steady));
    let kib_after = settle(&mut steady);
    // 500 bytes for each that came would be more than this.
    assert!(kib_after < kib + 7168, "{kib} KiB, then {kib_after} KiB");
    steady.call("rec__echo", &json!({"value": "still"})).good();
    served.finish();
}

/// Whoever connects without end and says nothing keeps out itself alone.
#[test]
fn silent_clients_of_one_process_keep_no_other_out() {
    let served = Served::by(plain());
    drop(served.client("first"));
    // More than are served at once.
    let silent: Vec<Caller> = (0..300).map(|_| Caller::connect(&served.socket)).collect();
    let script = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX)\n\
        s.settimeout(30)\n\
        s.connect(sys.argv[1])\n\
        s.sendall(sys.argv[2].encode() + b'\\n')\n\
        print(s.recv(1000).decode())";
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "other", "version": "1"}}});
    let mut other = Command::new(python());
    other.args(["-c", script]).arg(&served.socket).arg(initialize.to_string());
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("serverInfo"), "{said} {}", String::from_utf8_lossy(&output.stderr));
    drop(silent);
    served.finish();
}

#[test]
fn a_socket_where_the_agent_writes_or_somebody_listens_is_refused() {
    let place = place();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let sandbox = place.dir("work").to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(place.path("work"), place.path("link")).unwrap();
    let refused = |words: &[&str]| {
        let output = place.run([&["proxy", "--policy", "coding"], words].concat());
        assert_ne!(output.code, 0, "{output:?}");
        output.stderr
    };
    let own = path("home/.ironcurtain/sessions/x/sandbox/s");
    for (socket, kind) in [
        (path("work/s"), "--workspace"),
        (path("work/s"), "--sandbox"),
        (path("link/s"), "--sandbox"),
        (path("link/../work/deep/s"), "--workspace"),
        (own, "--sandbox"),
    ] {
        let stderr = refused(&["--socket", &socket, kind, &sandbox]);
        assert!(stderr.contains("where the agent can change it"), "{socket}: {stderr}");
    }
    let shared = place.dir("shared");
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).unwrap();
    let stderr = refused(&["--socket", &path("shared/s")]);
    assert!(stderr.contains("others may write to it"), "{stderr}");
    let served = Served::by(rig());
    served.client("first");
    let socket = served.socket.to_str().unwrap();
    let other = served.rig.place.run(["proxy", "--policy", "coding", "--socket", socket]);
    assert!(other.stderr.contains("listens on"), "{other:?}");
    served.client("still there");
    served.finish();
}

/// The mode of the socket keeps others out; where somebody widened it, who they are does.
#[test]
fn another_user_is_turned_away_even_if_the_socket_is_open_to_all() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user; a unit test compares the numbers");
        return;
    }
    let served = Served::by(plain());
    served.client("ours");
    let connects = |who: u32| {
        let script = "import os, socket, sys\nos.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))\n\
            s = socket.socket(socket.AF_UNIX); s.settimeout(60)\n\
            try:\n s.connect(sys.argv[1])\n\
            except PermissionError:\n print('not even connected'); sys.exit()\n\
            try:\n s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n'); print('answered' if s.recv(9) else 'turned away')\n\
            except OSError:\n print('turned away')";
        let output = Command::new(python())
            .args(["-c", script, served.socket.to_str().unwrap(), &who.to_string()])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    open_the_way(&served.rig.place);
    assert_eq!(connects(65534), "not even connected");
    std::fs::set_permissions(&served.socket, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(connects(65534), "turned away");
    assert_eq!(connects(0), "answered");
    served.finish();
}

/// Lets everybody look into the directories on the way to the socket.
fn open_the_way(place: &Place) {
    let socket = place.path("sockets");
    for directory in socket.ancestors().take_while(|it| it.starts_with(std::env::temp_dir())) {
        let mode = std::fs::metadata(directory).unwrap().permissions().mode();
        if mode & 0o1 == 0 {
            std::fs::set_permissions(directory, PermissionsExt::from_mode(mode | 0o1)).unwrap();
        }
    }
}

/// What one client asks for, the others neither see nor wait for; a call each, judged and recorded.
#[test]
fn every_call_of_every_client_is_judged_and_recorded() {
    let served = Served::by(plain());
    let mut clients: Vec<Caller> = (0..4).map(|n| served.client(&format!("c{n}"))).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.call("rec__echo", &json!({"value": n})).good();
        assert!(client.call("rec__forbidden", &json!({})).bad().starts_with("DENIED: "));
    }
    let verdicts = |verdict: &str| -> Vec<Value> { served.rig.intents(verdict) };
    assert_eq!((verdicts("allow").len(), verdicts("deny").len()), (4, 4));
    served.finish();
}
