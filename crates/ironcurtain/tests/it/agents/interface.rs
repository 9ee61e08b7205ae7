//! `ironcurtain start --pty`: an agent's own interface at a real terminal, with the real Claude Code, and with
//! a program that is as hostile as a program can be.

use std::os::unix::fs::PermissionsExt as _;

use ic_testkit::Place;
use ic_testkit::provider::KEY;
use rustix::process::Signal;
use serde_json::json;

use super::{Stage as Agents, register, says};
use crate::approvals::world::BINARY;
use crate::repl::world::Stage;

/// What the row at the bottom says while nothing waits.
const USUAL: &str = "Claude Code in a cage";

/// Shows the interface of the agent of a place.
fn show(place: &Place, size: (u16, u16), words: &[&str]) -> Stage {
    let key = format!("ANTHROPIC_API_KEY={KEY}");
    let start = [BINARY, "start", "--pty", "--agent", "claude-code", "--workspace", "work"];
    let words = [&start, words].concat();
    Stage::run_at(&place.path("home"), size, &place.root(), &[&key, "TERM=xterm-256color"], &words)
}

/// A place where a script of ours is taken for the agent; it is a program like any other in its cage.
fn scripted(code: &str) -> Place {
    let place = crate::place().with_variable("ANTHROPIC_API_KEY", KEY);
    place.dir("work");
    let head = "#!/usr/bin/python3\nimport os, signal, sys, termios, time, tty\n\
        out = lambda it: os.write(1, it if isinstance(it, bytes) else it.encode())\n";
    let script = place.write("agent.py", format!("{head}{code}"));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    register(&place, "claude-code", &script);
    place
}

/// Says how large its terminal is, and then in hexadecimal what it reads.
const ECHO: &str = r#"
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
    let ends: [End; 4] = [
        ("by itself", |stage| _ = stage.type_in("q"), 7),
        ("Control-\\ twice", |stage| _ = stage.type_in("\x1c\x1c"), 143),
        ("SIGTERM", |stage| stage.signal(Signal::TERM), 143),
        ("SIGHUP", |stage| stage.signal(Signal::HUP), 143),
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
fn ask(session: &std::path::Path, path: &str) {
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
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
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
