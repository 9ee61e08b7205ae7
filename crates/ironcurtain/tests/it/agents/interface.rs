//! `ironcurtain start --pty`: an agent's own interface at a real terminal, with the real Claude Code, and with
//! a program that is as hostile as a program can be.

use std::os::unix::fs::PermissionsExt as _;

use ic_testkit::Place;
use ic_testkit::agents::{CODEX, CONTAINED, OPENCODE, register};
use ic_testkit::provider::KEY;
use ic_testkit::proxy::{Process, records};
use rustix::process::Signal;
use serde_json::json;

use super::contained::{configure, engine};
use super::{Stage as Agents, says};
use crate::approvals::world::BINARY;
use crate::repl::world::Stage;

/// What the row at the bottom says while nothing waits.
pub(super) const USUAL: &str = "Claude Code in a cage";

/// Shows the interface of the agent of a place.
pub(super) fn show(place: &Place, size: (u16, u16), words: &[&str]) -> Stage {
    let key = format!("ANTHROPIC_API_KEY={KEY}");
    let start = [BINARY, "start", "--pty", "--agent", "claude-code", "--workspace", "work"];
    let words = [&start, words].concat();
    Stage::run_at(&place.path("home"), size, &place.root(), &[&key, "TERM=xterm-256color"], &words)
}

/// A place where a script of ours is taken for the agent; it is a program like any other in its cage.
pub(super) fn scripted(code: &str) -> Place {
    let head = "#!/usr/bin/python3\nimport os, signal, sys, termios, time, tty\n\
        out = lambda it: os.write(1, it if isinstance(it, bytes) else it.encode())\n";
    written(&format!("{head}{code}"))
}

/// Likewise for a script of the shell, which every image has.
fn scripted_shell(code: &str) -> Place {
    written(&format!("#!/bin/bash\n{code}\n"))
}

fn written(script: &str) -> Place {
    let place = crate::place().with_variable("ANTHROPIC_API_KEY", KEY);
    place.dir("work");
    let script = place.write("agent.py", script);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    register(&place, "claude-code", &script);
    place
}

/// Says how large its terminal is, and then in hexadecimal what it reads.
pub(super) const ECHO: &str = r#"
tty.setraw(0)
size = os.get_terminal_size()
out(f"size {size.lines}x{size.columns} {os.isatty(2)} {os.getsid(0) == os.getpid()}\r\n")
signal.signal(signal.SIGWINCH, lambda *_: out("now %dx%d\r\n" % (os.get_terminal_size().lines, os.get_terminal_size().columns)))
while True:
    read = os.read(0, 4096)
    if read == b"q":
        sys.exit(7)
    out("read " + read.hex() + "\r\n")
"#;

#[test]
fn keys_sizes_and_the_exit_code_go_through_and_keys_for_us_do_not() {
    let place = scripted(ECHO);
    let mut stage = show(&place, (80, 24), &[]);
    // One row is ours, and the size is in force before the first drawing.
    stage.expect("size 23x80 True True").expect(USUAL);
    stage.type_in("a").expect("read 61").type_in("\x1b[A").expect("read 1b5b41");
    stage.resize(100, 30).expect("now 29x100");
    stage.type_in("\x1d").expect("Nothing waits for your approval.");
    stage.type_in("\x1b[93;5u").type_in("b").expect("read 62");
    // Once, and then something else: it was meant for the agent.
    stage.type_in("\x1cx").expect("read 1c78");
    // Its reports are ours, and a paste without marks arrives without marks.
    stage.type_in("\x1b[?62;22c\x1b[200~p\x1d\x1b[201~").expect("read 701d");
    assert!(!stage.rows().iter().any(|row| row.contains("read 1d") || row.contains("39333b")));
    stage.type_in("q");
    assert_eq!(stage.end(), 7);
    stage.expect("Claude Code ended with code 7");
    stage.check_modes();
}

#[test]
fn the_terminal_is_as_it_was_after_every_end() {
    type End = (&'static str, fn(&Stage), i32);
    let ends: [End; 3] = [
        ("by itself", |stage| _ = stage.type_in("q"), 7),
        ("Control-\\ twice", |stage| _ = stage.type_in("\x1c\x1c"), 143),
        ("SIGTERM", |stage| stage.signal(Signal::TERM), 143),
    ];
    let modes = "out('\\x1b[?1049h\\x1b[?1003;1006h\\x1b[?1004h\\x1b[?1h\\x1b[?25l\\x1b[>5u')\n";
    let place = scripted(&format!("{modes}{ECHO}"));
    for (what, end, code) in ends {
        let mut stage = show(&place, (80, 24), &[]);
        stage.expect("size 23x80");
        end(&stage);
        assert_eq!(stage.end(), code, "{what}");
        stage.check_modes();
        let sent = stage.sent();
        for (on, off) in [
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1003h", "\x1b[?1003l"),
            ("\x1b[?1004h", "\x1b[?1004l"),
            ("\x1b[?1h", "\x1b[?1l"),
            ("\x1b[>0u", "\x1b[<u"),
        ] {
            assert!(sent.contains(on) && sent.rfind(on) < sent.rfind(off), "{what}: {on:?} stays");
        }
    }
}

/// Everything that a program may try with a terminal, whole, cut at every byte, and at random.
const HOSTILE: &str = r#"
import random
tty.setraw(0)
attacks = [b"\x1b]52;c;aGVsbG8=\x07", b"\x1b]0;evil-title\x07", b"\x1b]2;evil\x1b\\", b"\x1b[21t", b"\x1b[8;5;5t",
    b"\x1bP$qm\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\", b"\x1b_Gf=24;AAAA\x1b\\",
    b"\x1b^pm\x1b\\", b"\x1bXsos\x1b\\", b"\x1b]1337;File=name=eA==:AAAA\x07", b"\x1b]9;note\x07", b"\x1b]777;notify;a;b\x07",
    b"\x1b]4;1;rgb:ff/00/00\x07", b"\x1b]50;font\x07", b"\x1b[5i", b"\x1b[?5i", b"\x05", b"\x1bZ", b"\x1b[>q", b"\x1b[>c",
    b"\x9b5n", b"\x90q\x9c", b"\xc2\x9b5n", b"\x1b#8", b"\x1b[?47h\x1b[?47l", b"\x1b[999;999H", b"\x1b[24;1Hforged",
    b"\x1b[1;999r\x1b[999S", b"\xe2\x80\xaetxet", b"\x1b[?3h", b"\x1b]8;;https://evil.example\x07x\x1b]8;;\x07"]
for attack in attacks:
    out(attack)
    for at in range(1, len(attack)):
        out(attack[:at]); time.sleep(0.0002); out(attack[at:]); out(b"\x18")
random.seed(4)
for _ in range(2000):
    out(bytes(random.randrange(256) for _ in range(100)))
out(b"\x18\x1b\\\x1bc\x1b[2J\x1b[H" + b"\x1b[" * 100000 + b"\x1bc" + b"done\r\n")
while True:
    if os.read(0, 100) == b"q":
        sys.exit(0)
    out("read\r\n")
"#;

#[test]
fn nothing_that_a_hostile_agent_sends_arrives_and_the_question_stays_ours() {
    let place = scripted(HOSTILE);
    let mut stage = show(&place, (80, 24), &[]);
    stage.expect("done").expect(USUAL);
    let requests = place.sessions().pop().expect("a session");
    let document = place.path("home/Documents/report.md");
    ask(&requests, &document.display().to_string());
    // The bar says so once somebody looks; what the agent draws meanwhile changes nothing.
    stage.type_in("\x1d").expect("Approval request:").expect("report.md");
    stage.until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    assert!(!stage.rows().iter().any(|row| row.contains("done")), "{:?}", stage.rows());
    stage.type_in("n").expect("done").expect(USUAL);
    let answer = std::fs::read_dir(requests.join("escalations")).unwrap();
    let answers = answer
        .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("response"));
    assert_eq!(answers.count(), 1);
    assert!(!stage.rows().iter().any(|row| row == "read"), "the agent has read an answer");
    stage.type_in("q");
    assert_eq!(stage.end(), 0);
    stage.expect("the agent sent its terminal what is not passed on").expect("clipboard");
    let id = requests.file_name().unwrap().to_str().unwrap();
    let shown = place.run(["sessions", "show", id]);
    assert!(shown.stdout.contains("not passed on  clipboard ("), "{shown:?}");
    let sent = stage.sent();
    for evil in [
        "\x1b]52",
        "evil",
        "\x1b]1337",
        "\x1bP",
        "\x1b_",
        "\x1b^",
        "\x1bX",
        "\x1b]9;note",
        "\x1b[5i",
        "\u{9b}",
        "\x05",
        "\x1b#8",
        "\u{202e}",
        "\x1b]8",
        "\x1b]4;",
        "\x1b[21t",
        "\x1b[8;5;5t",
    ] {
        assert!(!sent.contains(evil), "{evil:?} has arrived");
    }
}

/// Puts a question into a session, as a call in it would.
pub(super) fn ask(session: &std::path::Path, path: &str) {
    let escalation = "00000001-0000-4000-8000-000000000000";
    let request = json!({
        "escalationId": escalation, "sessionId": session.file_name().unwrap().to_str().unwrap(),
        "serverName": "filesystem", "toolName": "write_file", "arguments": {"path": path},
        "reason": "a person decides", "rule": "ask", "escalatedRoles": ["write-path"],
        "causes": [{"rule": "ask", "reason": "a person decides", "roles": ["write-path"]}],
        "resolved": {"write-path": [{"path": path}]},
        "digest": ic_types::Digest::of(path.as_bytes()).to_string(),
        "createdAt": "2026-01-01T00:00:01Z", "expiresAt": "2999-01-01T00:00:00Z",
    });
    let file = session.join(format!("escalations/request-{escalation}.json"));
    std::fs::write(file, request.to_string()).unwrap();
}

#[test]
fn the_real_claude_code_shows_its_interface_and_a_call_is_decided_at_the_row_below_it() {
    let Some(agents) = Agents::claude([]) else { return };
    let place = &agents.place;
    place.dir("home/Documents");
    let path = place.path("home/Documents/b.txt").display().to_string();
    let input = json!({"path": path, "content": "by the broker"});
    let call = agents.row.calls("toolu_1", "filesystem__write_file", input);
    agents.provider.push([call, says("It is written now.")]);
    let mut stage = show(place, (100, 30), &[]);
    stage.expect("bypass permissions on").expect(USUAL);
    stage.resize(90, 28);
    stage.expect("bypass permissions on");
    stage.type_in("Write it, please.").expect("Write it, please.");
    stage.type_in("\r").expect("1 request").expect("Ctrl-] to decide");
    assert!(stage.sent().contains('\x07'), "no bell");
    stage.type_in("\x1d").expect("Approval request:").expect("b.txt");
    stage.until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("y").expect("It is written now.").expect(USUAL);
    assert_eq!(agents.read("home/Documents/b.txt").as_deref(), Some("by the broker"));
    stage.type_in("/exit").expect("/exit").type_in("\r");
    assert_eq!(stage.end(), 0);
    stage.check_modes();
    stage.expect("1 call made, 0 refused, 1 approved");
    // The record says where it was approved.
    let by: Vec<_> = records(place).into_iter().map(|it| it["decidedBy"].clone()).collect();
    assert!(by.contains(&json!("pty")) && !by.contains(&json!("repl")), "{by:?}");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}

/// Its own words are the person's, and only as they were typed: what another key made asks.
#[test]
fn what_was_typed_at_the_real_claude_code_answers_the_call_that_it_names() {
    let Some(agents) = Agents::claude([]) else { return };
    let place = &agents.place;
    place.dir("home/Documents");
    let switched = place.run(["config", "set", "autoApprove.literal", "true"]);
    assert_eq!(switched.code, 0, "{switched:?}");
    let path = |name: &str| place.path(format!("home/Documents/{name}")).display().to_string();
    let call = |id: &str, name: &str| {
        let input = json!({"path": path(name), "content": "by the broker"});
        agents.row.calls(id, "filesystem__write_file", input)
    };
    let (first, second) = (call("toolu_1", "a.txt"), call("toolu_2", "b.txt"));
    agents.provider.push([first, says("It is written."), second, says("And that one.")]);
    let mut stage = show(place, (100, 30), &[]);
    stage.expect("bypass permissions on").expect(USUAL);
    let message = |name: &str| format!("write \"by the broker\" to {}", path(name));
    stage.type_in(&message("a.txt")).expect("a.txt").type_in("\r").expect("It is written.");
    assert_eq!(agents.read("home/Documents/a.txt").as_deref(), Some("by the broker"));
    let noted = || {
        let session = place.sessions().pop().expect("a session");
        std::fs::read_to_string(session.join("user-context.json")).ok()
    };
    assert!(noted().is_some_and(|it| it.contains("a.txt") && it.contains("\"typed\"")));
    stage.type_in(&message("b.txt")).expect("b.txt").type_in("\x1b[D\x1b[C");
    stage.type_in("\r").expect("1 request").type_in("\x1d").expect("Approval request:");
    assert_eq!(noted(), None, "nobody knows what the keys came to");
    stage.until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("n").expect("And that one.").expect(USUAL);
    assert_eq!(agents.read("home/Documents/b.txt"), None);
    stage.type_in("/exit").expect("/exit").type_in("\r");
    assert_eq!(stage.end(), 0);
    let by: Vec<_> = records(place).into_iter().map(|it| it["decidedBy"].clone()).collect();
    assert!(by.contains(&json!("auto")) && by.contains(&json!("pty")), "{by:?}");
}

#[test]
fn the_real_codex_shows_its_interface_and_a_call_is_decided_at_the_row_below_it() {
    let Some(agents) = Agents::set(&CODEX, []) else { return };
    let place = &agents.place;
    place.dir("home/Documents");
    let path = place.path("home/Documents/b.txt").display().to_string();
    let input = json!({"path": path, "content": "by the broker"});
    let call = agents.row.calls("call_1", "filesystem__write_file", input);
    agents.provider.push([call, says("It is written now.")]);
    let key = format!("OPENAI_API_KEY={KEY}");
    let start = [BINARY, "start", "--pty", "--agent", "codex", "--workspace", "work"];
    let words = [&start, CODEX.options].concat();
    let variables = [key.as_str(), "TERM=xterm-256color"];
    let mut stage =
        Stage::run_at(&place.path("home"), (100, 30), &place.root(), &variables, &words);
    // The workspace is not trusted: its files give Codex no orders.
    stage.expect("Open restricted").expect("Codex in a cage").type_in("\r");
    stage.expect("Ask Codex to do anything").resize(90, 28);
    stage
        .expect("Ask Codex to do anything")
        .type_in("Write it, please.")
        .expect("Write it, please.");
    stage.type_in("\r").expect("1 request").expect("Ctrl-] to decide").type_in("\x1d");
    stage
        .expect("Approval request:")
        .expect("b.txt")
        .until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("y").expect("It is written now.").expect("Codex in a cage");
    assert_eq!(agents.read("home/Documents/b.txt").as_deref(), Some("by the broker"));
    stage.type_in("/quit").expect("/quit").type_in("\r");
    assert_eq!(stage.end(), 0);
    stage.check_modes();
    stage.expect("1 call made, 0 refused, 1 approved");
}

#[test]
fn the_real_opencode_shows_its_interface_and_a_call_is_decided_at_the_row_below_it() {
    let Some(agents) = Agents::set(&OPENCODE, []) else { return };
    let place = &agents.place;
    place.dir("home/Documents");
    let path = place.path("home/Documents/b.txt").display().to_string();
    let input = json!({"path": path, "content": "by the broker"});
    let call = agents.row.calls("toolu_1", "filesystem__write_file", input);
    agents.provider.push([call, says("It is written now.")]);
    let key = format!("ANTHROPIC_API_KEY={KEY}");
    let words = [BINARY, "start", "--pty", "--agent", "opencode", "--workspace", "work"];
    let variables = [key.as_str(), "TERM=xterm-256color"];
    let mut stage =
        Stage::run_at(&place.path("home"), (100, 30), &place.root(), &variables, &words);
    stage.expect("Ask anything").expect("OpenCode in a cage").resize(90, 28);
    stage.expect("Ask anything").type_in("Write it, please.").expect("Write it, please.");
    stage.type_in("\r").expect("1 request").expect("Ctrl-] to decide").type_in("\x1d");
    stage
        .expect("Approval request:")
        .expect("b.txt")
        .until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("y").expect("It is written now.").expect("OpenCode in a cage");
    assert_eq!(agents.read("home/Documents/b.txt").as_deref(), Some("by the broker"));
    stage.type_in("\x1c\x1c");
    stage.end();
    stage.check_modes();
}

#[test]
fn the_real_claude_code_shows_its_interface_in_a_container() {
    let Some(agents) = Agents::set(&CONTAINED, []) else { return };
    let Some(engine) = engine() else { return };
    let place = &agents.place;
    place.dir("home/Documents");
    let path = place.path("home/Documents/b.txt").display().to_string();
    let input = json!({"path": path, "content": "by the broker"});
    let call = agents.row.calls("toolu_1", "filesystem__write_file", input);
    agents.provider.push([call, says("It is written now.")]);
    let variables = [
        format!("ANTHROPIC_API_KEY={KEY}"),
        format!("DOCKER_HOST={engine}"),
        "TERM=xterm".to_owned(),
    ];
    let variables = variables.each_ref().map(String::as_str);
    let words = [BINARY, "start", "--pty", "--agent", "claude-code", "--workspace", "work"];
    let mut stage =
        Stage::run_at(&place.path("home"), (100, 30), &place.root(), &variables, &words);
    stage.expect("bypass permissions on").expect("Claude Code in a container");
    stage.resize(90, 28).expect("bypass permissions on");
    stage.type_in("Write it, please.").expect("Write it, please.");
    stage.type_in("\r").expect("1 request").type_in("\x1d").expect("b.txt");
    stage.until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("y").expect("It is written now.");
    assert_eq!(agents.read("home/Documents/b.txt").as_deref(), Some("by the broker"));
    stage.type_in("/exit").expect("/exit").type_in("\r");
    assert_eq!(stage.end(), 0);
    stage.check_modes();
    assert!(agents.running_containers().is_empty());
}

#[test]
fn a_terminal_in_a_container_has_its_size_before_the_first_drawing_and_is_resized() {
    if engine().is_none() {
        return;
    }
    let place = scripted_shell("while :; do stty size; read -r -t 0.2 it && exit 7; done");
    let engine = engine().unwrap();
    let place = configure(place, &engine);
    let variables = [
        format!("ANTHROPIC_API_KEY={KEY}"),
        format!("DOCKER_HOST={engine}"),
        "TERM=xterm".to_owned(),
    ];
    let variables = variables.each_ref().map(String::as_str);
    let words = [BINARY, "start", "--pty", "--agent", "claude-code", "--workspace", "work"];
    let mut stage = Stage::run_at(&place.path("home"), (80, 24), &place.root(), &variables, &words);
    stage.expect("23 80");
    stage.resize(100, 30).expect("29 100");
    stage.type_in("x\r");
    assert_eq!(stage.end(), 7);
    stage.check_modes();
}

#[test]
fn the_terminal_is_sane_after_kills_of_the_agent_at_any_moment() {
    let modes = "out('\\x1b[?1049h\\x1b[?1003;1006h\\x1b[?1004h\\x1b[?1h\\x1b[?25l\\x1b[>5u')\n";
    let floods = "while True: out('\\x1b[31m%d wide \u{6f22}\\r\\n' % os.getpid())\n";
    let place = scripted(&format!("tty.setraw(0)\n{modes}out('size\\r\\n')\n{floods}"));
    // Not at random, so that what fails once fails again.
    for round in 0..20_u64 {
        let mut stage = show(&place, (80, 24), &[]);
        if round % 4 != 0 {
            stage.expect("wide");
        }
        let began = std::time::Instant::now();
        let killed = loop {
            let agents = super::attaching::processes(&place, "agent.py");
            let agents: Vec<u32> = agents.into_iter().filter(|pid| is_agent(*pid)).collect();
            if let Some(agent) = agents.first() {
                break Process::hold(*agent);
            }
            assert!(began.elapsed().as_secs() < 60, "there is no agent");
        };
        let moment = std::time::Duration::from_millis(round * 7919 % 97);
        std::thread::park_timeout(moment);
        killed.send(Signal::KILL);
        assert_eq!(stage.end(), 137, "round {round}");
        stage.check_modes();
        let sent = stage.sent();
        assert!(sent.rfind("\x1b[?1049h") < sent.rfind("\x1b[?1049l"), "round {round}");
        assert!(sent.rfind("\x1b[?1003h") <= sent.rfind("\x1b[?1003l"), "round {round}");
    }
}

/// Returns whether a process is the agent, and not what guards it.
fn is_agent(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.starts_with("agent.py")
}

#[test]
fn a_recording_shows_what_was_shown_and_no_secrets() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let place = scripted(&format!("print('token {secret} and more', flush=True)\n{ECHO}"));
    let mut stage = show(&place, (80, 24), &["--record", "shown.cast"]);
    stage.expect(&secret).expect("size 23x80");
    stage.type_in("a").expect("read 61");
    stage.resize(100, 30).expect("now 29x100").type_in("q");
    assert_eq!(stage.end(), 7);
    let text = std::fs::read_to_string(place.path("shown.cast")).unwrap();
    let mut lines =
        text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!(
        (&head["version"], &head["width"], &head["height"]),
        (&json!(2), &json!(80), &json!(23))
    );
    let mut emulator = vt100::Parser::new(23, 80, 0);
    let mut before = 0.0;
    for event in lines {
        let at = event[0].as_f64().unwrap();
        assert!(before <= at, "{text}");
        before = at;
        match (event[1].as_str().unwrap(), event[2].as_str().unwrap()) {
            ("o", data) => emulator.process(data.as_bytes()),
            ("r", "100x29") => emulator.screen_mut().set_size(29, 100),
            other => panic!("{other:?}"),
        }
    }
    let shown = emulator.screen().contents();
    assert!(shown.contains("read 61") && shown.contains("now 29x100"), "{shown}");
    assert!(shown.contains("token ") && shown.contains("and more"), "{shown}");
    assert!(!text.contains(&secret) && !text.contains("1B2c3D4e5F6a1B2"), "{text}");
    assert!(!shown.contains("Ctrl-]"), "the row of ours is in it");
    let mode = std::fs::metadata(place.path("shown.cast")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // What is there already is somebody's.
    let mut stage = show(&place, (80, 24), &["--record", "shown.cast"]);
    assert_eq!(stage.end(), 1);
    stage.expect("cannot record into `shown.cast`");
    assert_eq!(std::fs::read_to_string(place.path("shown.cast")).unwrap(), text);
}

#[test]
fn pty_mode_says_what_it_needs() {
    let place = crate::place();
    for (words, expected) in [
        (&["--agent", "goose"][..], "Agent goose does not support PTY mode."),
        (
            &["--agent", "built-in"][..],
            "PTY mode needs an agent of its own: use --agent claude-code.",
        ),
    ] {
        let output = place.run([&["start", "--pty"], words].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    }
    let place = scripted(ECHO);
    let output = place.run(["start", "--pty", "--agent", "claude-code", "--workspace", "work"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("PTY mode needs a terminal to draw on"), "{}", output.stderr);
}
