//! How a proxy begins and ends, and that nothing is left of it.

use std::time::{Duration, Instant};

use ic_testkit::Proxy;
use ic_testkit::proxy::{DEADLINE, Process, Reads};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Rig, check_not_slower, listed, place, provoke, rig, took};

/// The protocol's clients send a signal two seconds after they closed our input, and kill two seconds
/// after that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Begins a call that is not answered before somebody says so.
#[track_caller]
fn begin(proxy: &mut Proxy, name: &str) -> String {
    let id = proxy.ask_call("rec__slow", &json!({"name": name}));
    proxy.notification("notifications/message", &format!("began {name}."));
    id
}

fn of_this_place(rig: &Rig) -> Vec<Process> {
    Process::with_environment(&format!("TEST_PLACE={}", rig.place.root().display()))
}

/// Checks what `audit verify` says about the one session.
#[track_caller]
fn check_log(rig: &Rig, expected: &[&str]) {
    let output = rig.place.run(["audit", "verify"]);
    let text = output.stdout + &output.stderr;
    assert_eq!(output.code, 0, "{text}");
    assert!(expected.iter().any(|it| text.contains(it)), "{text}");
}

fn is_closed(rig: &Rig) -> bool {
    rig.records().last().is_some_and(|it| it["arguments"]["event"] == "closed")
}

#[test]
fn the_end_of_input_lets_calls_finish_and_then_ends_well() {
    let rig = rig();
    let mut proxy = rig.start();
    let ids = ["a", "b"].map(|name| begin(&mut proxy, name));
    proxy.close();
    rig.release("rec", &["b", "a"]);
    for (id, name) in ids.iter().zip(["a", "b"]) {
        assert_eq!(proxy.answer(id).good(), format!("released {name}"));
    }
    assert_eq!(proxy.end_within(PATIENCE), 0);
    assert!(is_closed(&rig));
    assert!(of_this_place(&rig).is_empty());
    check_log(&rig, &["intact"]);
}

#[test]
fn a_signal_ends_everything_in_time_and_closes_the_log() {
    for (signal, mode) in
        [(Signal::TERM, "stubborn"), (Signal::INT, "plain"), (Signal::HUP, "plain")]
    {
        let rig = rig().hostile("bad", &[mode]);
        let mut proxy = rig.start();
        assert_eq!(provoke(&mut proxy, "x").good(), "fine");
        begin(&mut proxy, "a");
        let processes = of_this_place(&rig);
        assert!(4 <= processes.len(), "{processes:?}");
        proxy.signal(signal);
        assert_eq!(proxy.end_within(PATIENCE), 0);
        for process in &processes {
            assert!(process.is_gone_within(Duration::ZERO), "{process:?}");
        }
        assert!(is_closed(&rig));
        check_log(&rig, &["intact"]);
        let outcomes = rig.records().into_iter().filter(|it| it["kind"] == "outcome");
        assert_eq!(outcomes.count(), 2, "a call that was cut off has an outcome, too");
    }
}

/// Its server listens to no signal and to no end of input, and has a child that forked twice.
#[test]
fn a_killed_proxy_leaves_no_process_and_a_log_that_can_be_read() {
    let rig = rig().hostile("bad", &["stubborn"]);
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    begin(&mut proxy, "a");
    let processes = of_this_place(&rig);
    assert!(5 <= processes.len(), "{processes:?}");
    proxy.kill();
    for process in &processes {
        assert!(process.is_gone_within(DEADLINE), "{process:?}");
    }
    assert!(of_this_place(&rig).is_empty());
    check_log(&rig, &["the session was killed", "crash", "repaired"]);
    let allowed = rig.intents("allow");
    assert_eq!(allowed.len(), 2, "what was sent is recorded: {allowed:?}");
}

#[test]
fn a_client_that_closes_our_output_ends_the_session() {
    let rig = rig();
    let arguments = rig.arguments();
    let mut child =
        rig.place.command(["proxy".to_owned()].iter().chain(&arguments)).spawn().unwrap();
    let process = Process::hold(child.id());
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Whatever it is answered, nobody reads it.
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    std::io::Write::write_all(&mut stdin, line).unwrap();
    assert!(process.is_gone_within(DEADLINE), "it talks to nobody");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A client that sends and never reads is held up, and so is nobody else; and it can be ended.
#[test]
fn a_client_that_does_not_read_is_held_up_and_can_be_ended() {
    let rig = Rig::at(place()).server("rec", "recorder.py", &[]);
    let mut proxy = rig.start_silent(Reads::NotStdout);
    let line = |id: u64, rest: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}\n");
    proxy.send(line(0, r#""method":"initialize","params":{"protocolVersion":"2025-11-25"}"#));
    let value = "v".repeat(2000);
    let call = format!(
        r#""method":"tools/call","params":{{"name":"rec__echo","arguments":{{"value":"{value}"}}}}"#
    );
    // More than pipes and queues hold: sending blocks when the proxy stops taking in.
    let mut stdin = proxy.take_stdin();
    let sender = std::thread::spawn(move || {
        let mut n_sent = 0;
        for id in 1..20_000 {
            if std::io::Write::write_all(&mut stdin, line(id, &call).as_bytes()).is_err() {
                break;
            }
            n_sent = id;
        }
        n_sent
    });
    // When the log does not grow any more, it is held up.
    let deadline = Instant::now() + DEADLINE;
    let mut size = 0;
    loop {
        std::thread::park_timeout(Duration::from_millis(300));
        // A proxy on a busy machine may not have made its session yet.
        let sessions = std::fs::read_dir(rig.place.path("home/.ironcurtain/sessions"));
        let logs = sessions.into_iter().flatten().map(|it| it.unwrap().path().join("audit.jsonl"));
        let size_now = logs.filter_map(|it| it.metadata().ok()).map(|it| it.len()).sum();
        if 0 < size && size_now == size {
            break;
        }
        size = size_now;
        assert!(Instant::now() < deadline, "it takes in without end: {size} bytes");
    }
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end_within(PATIENCE), 0);
    assert!(sender.join().unwrap() < 10_000, "it took in what it could not answer");
    assert!(is_closed(&rig));
}

#[test]
fn servers_are_started_on_first_use_and_side_by_side() {
    let rig = rig().recorder("other").hostile("silent", &["silent"]);
    let mut proxy = rig.start();
    assert_eq!(proxy.request("ping", &json!({})).result(), json!({}));
    assert_eq!((rig.n_starts("rec"), rig.n_starts("other"), rig.n_starts("silent")), (0, 0, 0));
    proxy.call("rec__echo", &json!({})).good();
    assert_eq!((rig.n_starts("rec"), rig.n_starts("other"), rig.n_starts("silent")), (1, 0, 0));
    // A list starts all of them; the silent one keeps none of the others.
    proxy.ask("tools/list", &json!({}));
    proxy.call("other__echo", &json!({})).good();
    let ids: Vec<String> =
        (0..10).map(|n| proxy.ask_call("rec__echo", &json!({"value": n}))).collect();
    for id in ids {
        proxy.answer(&id).good();
    }
    assert_eq!((rig.n_starts("rec"), rig.n_starts("other")), (1, 1), "each is started once");
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end_within(PATIENCE), 0);
}

#[test]
fn a_slow_server_does_not_delay_another() {
    // They look into no log, which would take longer with each call.
    let rig =
        Rig::at(place()).server("rec", "recorder.py", &[]).server("other", "recorder.py", &[]);
    let mut proxy = rig.start();
    // Not even the slow one itself is slower for it.
    let both = |proxy: &mut Proxy, n: usize| {
        for server in ["rec", "other"] {
            let text = proxy.call(&format!("{server}__echo"), &json!({"value": n})).good();
            assert_eq!(text, format!("{{\"value\":{n}}}"));
        }
    };
    both(&mut proxy, 0);
    let before = took(|| (1..51).for_each(|n| both(&mut proxy, n)));
    let slow: Vec<String> =
        (0..50).map(|n| proxy.ask_call("rec__slow", &json!({"name": format!("n{n}")}))).collect();
    rig.wait_for_calls("rec", 101);
    let meanwhile = took(|| (51..101).for_each(|n| both(&mut proxy, n)));
    check_not_slower(before, meanwhile);
    rig.wait_for_calls("rec", 151);
    let names: Vec<String> = (0..50).map(|n| format!("n{n}")).collect();
    rig.release("rec", &names.iter().map(String::as_str).collect::<Vec<_>>());
    for id in slow {
        proxy.answer(&id).good();
    }
    proxy.finish();
}

/// Some clients start a server only to ask who it is, and end it at once.
#[test]
fn a_proxy_that_is_asked_nothing_leaves_nothing() {
    let rig = rig();
    let mut proxy = rig.start_silent(Reads::Everything);
    proxy.finish();
    let mut proxy = rig.start_silent(Reads::Everything);
    assert_eq!(proxy.request("ping", &json!({})).result(), json!({}));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let discovered = proxy.request("server/discover", &json!({"_meta": meta})).result();
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    proxy.finish();
    assert!(!rig.place.path("home/.ironcurtain/sessions").exists(), "no session was needed");
    assert_eq!(rig.n_starts("rec"), 0);
}

#[test]
fn a_session_that_cannot_be_opened_serves_nothing() {
    let rig = rig();
    rig.place.write("home/.ironcurtain/sessions", "a file, where a directory should be");
    let mut proxy = rig.start_silent(Reads::Everything);
    let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "c"}});
    assert_eq!(proxy.request("initialize", &params).error().0, -32603);
    assert_ne!(proxy.end_within(PATIENCE), 0);
    let notices = proxy.all_stderr();
    assert!(notices.contains("sessions"), "{notices}");
    assert_eq!(rig.n_starts("rec"), 0);
}

/// A log has one writer.
#[test]
fn a_session_that_runs_cannot_be_run_again() {
    let rig = rig();
    let arguments = [rig.arguments(), vec!["--session".to_owned(), "mine".to_owned()]].concat();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut first = Proxy::start(&rig.place, &arguments);
    first.initialize();
    rig.check_unharmed(&mut first, "the beginning");
    let mut second = Proxy::start(&rig.place, &arguments);
    let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "c"}});
    let (_, message) = second.request("initialize", &params).error();
    assert!(message.contains("the session `mine` is running already"), "{message}");
    assert_ne!(second.end_within(PATIENCE), 0);
    rig.check_unharmed(&mut first, "the second one");
    first.finish();
    // Once it has ended, it can be continued.
    let mut third = Proxy::start(&rig.place, &arguments);
    third.initialize();
    rig.check_unharmed(&mut third, "being continued");
    third.finish();
    check_log(&rig, &["intact"]);
}

/// Each has a session of its own; the first to see a server records it, and the others agree.
#[test]
fn several_proxies_share_one_home() {
    let rig = rig();
    let mut proxies: Vec<Proxy> = (0..4).map(|_| rig.start_silent(Reads::Everything)).collect();
    for proxy in &mut proxies {
        proxy.initialize();
    }
    let ids: Vec<String> = proxies
        .iter_mut()
        .enumerate()
        .map(|(n, proxy)| proxy.ask_call("rec__echo", &json!({"value": n})))
        .collect();
    for (n, (proxy, id)) in proxies.iter_mut().zip(ids).enumerate() {
        assert_eq!(proxy.answer(&id).good(), format!("{{\"value\":{n}}}"));
    }
    for proxy in &mut proxies {
        proxy.finish();
    }
    rig.check_received();
    let recorded =
        rig.records().into_iter().filter(|it| it["arguments"]["event"] == "server-recorded");
    assert_eq!(recorded.count(), 1);
}

#[test]
fn a_server_that_died_stays_listed_and_comes_back_with_a_call() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12);
    assert!(provoke(&mut proxy, "crash").bad().contains("not known"));
    assert_eq!(listed(&mut proxy).len(), 12, "what it listed last");
    let deadline = Instant::now() + DEADLINE;
    loop {
        let answer = provoke(&mut proxy, "x").result();
        if answer["isError"] != true {
            break;
        }
        assert!(answer.to_string().contains("next try in"), "{answer}");
        assert!(Instant::now() < deadline, "{}", proxy.stderr());
    }
    let events: Vec<Value> =
        rig.records().into_iter().map(|mut it| it["arguments"]["event"].take()).collect();
    assert_eq!(events.iter().filter(|it| **it == "server-up").count(), 3, "{events:?}");
    proxy.finish();
}

#[test]
fn a_server_of_ours_is_listed_without_being_started_and_started_by_a_call_that_may_be_made() {
    let place = place();
    let mut proxy = Proxy::start(&place, &[]);
    proxy.initialize();
    let names = listed(&mut proxy);
    for name in ["filesystem__read_text_file", "git__git_status"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
    let denied = json!({"path": "~/.ssh/id_ed25519"});
    assert!(proxy.call("filesystem__read_text_file", &denied).bad().contains("DENIED"));
    let up = || {
        let records = ic_testkit::proxy::records(&place).into_iter();
        let events = records.map(|mut it| it["arguments"].take());
        let up = events.filter(|it| it["event"] == "server-up");
        up.map(|it| it["server"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(up(), [] as [String; 0]);
    proxy.call("filesystem__list_directory", &json!({"path": "."})).good();
    assert_eq!(up(), ["filesystem"]);
    proxy.finish();
}
