//! Terminals that come and go: an agent's interface is left, lost, taken over and looked at, and goes on.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use ic_testkit::Place;
use ic_testkit::proxy::Process;
use rustix::process::Signal;

use super::interface::{ECHO, USUAL, ask, scripted, show};
use crate::approvals::world::BINARY;
use crate::proxy::until;
use crate::repl::world::Stage;

/// Detaches.
const LEAVE: &str = "\x1cd";

/// Comes to the interface from another terminal.
fn attach(place: &Place, size: (u16, u16), words: &[&str]) -> Stage {
    let words = [&[BINARY, "attach"], words].concat();
    Stage::run_at(&place.path("home"), size, &place.root(), &["TERM=xterm-256color"], &words)
}

/// Begins a session whose agent says what it reads, and waits until it has drawn.
fn begin(place: &Place) -> Stage {
    let stage = show(place, (80, 24), &[]);
    stage.expect("size 23x80").expect(USUAL);
    stage
}

fn session(place: &Place) -> PathBuf {
    place.sessions().pop().expect("a session")
}

/// Returns the processes whose command line has `word` in it, and which belong to the place.
pub(super) fn processes(place: &Place, word: &str) -> Vec<u32> {
    let root = place.root().display().to_string();
    let of = |pid: &u32| {
        let home = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
        has(&words, word) && (has(&home, &root) || has(&words, &root))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok()).filter(of).collect()
}

/// Returns the process that holds the only session of the place.
fn holder(place: &Place) -> Process {
    let found = processes(place, "__hold");
    assert_eq!(found.len(), 1, "{found:?}");
    Process::hold(found[0])
}

#[test]
fn what_was_left_comes_back_as_it_was_at_another_size() {
    let place = scripted(ECHO);
    let mut stage = begin(&place);
    stage.type_in("x").expect("read 78");
    stage.type_in(LEAVE);
    assert_eq!(stage.end(), 0);
    stage.check_modes();
    stage.expect("detached; the session goes on");
    let id = session(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let shown = place.run(["sessions", "show", &id]);
    assert!(shown.stdout.contains("running"), "{shown:?}");
    let mut other = attach(&place, (100, 30), &[]);
    other.expect("size 23x80").expect("read 78").expect("now 29x100").expect(USUAL);
    other.type_in("y").expect("read 79");
    // Lines are broken as they were sent, whatever the terminal was when it came.
    assert!(
        other.rows().iter().filter(|row| row.contains("read ")).all(|row| row.starts_with("read"))
    );
    other.type_in("q");
    assert_eq!(other.end(), 7);
    other.check_modes();
    other.expect("Claude Code ended with code 7").expect("shows the record");
    let mut none = attach(&place, (80, 24), &[]);
    assert_eq!(none.end(), 1);
    none.expect("no session shows an interface");
    assert_eq!(processes(&place, "__hold"), [0; 0]);
}

#[test]
fn one_terminal_at_a_time_and_another_one_can_take_over() {
    let place = scripted(ECHO);
    let mut first = begin(&place);
    let mut refused = attach(&place, (80, 24), &[]);
    assert_eq!(refused.end(), 1);
    refused.expect("shown at another terminal already").check_modes();
    assert!(!refused.sent().contains("\x1b[?1049h"));
    first.type_in("a").expect("read 61");
    let name = session(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let mut second = attach(&place, (90, 20), &["--take", &name]);
    second.expect("read 61").expect("now 19x90");
    assert_eq!(first.end(), 0);
    first.expect("another terminal has taken the session over").check_modes();
    second.type_in("q");
    assert_eq!(second.end(), 7);
    second.check_modes();
}

#[test]
fn whoever_looks_on_sees_it_and_types_nothing() {
    let modes = "out('\\x1b[?1003;1006h\\x1b[?1004h\\x1b[?1h')\n";
    let place = scripted(&format!("{modes}{ECHO}"));
    let mut first = begin(&place);
    let mut onlooker = attach(&place, (60, 20), &["--watch"]);
    onlooker.expect("size 23x80").expect("looking on");
    first.type_in("a").expect("read 61");
    onlooker.expect("read 61");
    onlooker.type_in("b\x1d\x1b[<0;1;1M");
    first.type_in("c").expect("read 63");
    onlooker.expect("read 63");
    let read = |row: &String| row.starts_with("read ");
    assert_eq!(first.rows().iter().filter(|row| read(row)).count(), 2, "{:?}", first.rows());
    // Its own terminal keeps its modes.
    assert!(!onlooker.sent().contains("\x1b[?1003h") && !onlooker.sent().contains("\x1b[?1h"));
    onlooker.type_in(LEAVE);
    assert_eq!(onlooker.end(), 0);
    onlooker.check_modes();
    // One that asks the program to end asks for itself only.
    let mut onlooker = attach(&place, (60, 20), &["--watch"]);
    onlooker.expect("size 23x80").signal(Signal::TERM);
    assert_eq!(onlooker.end(), 0);
    first.type_in("q");
    assert_eq!(first.end(), 7);
    first.check_modes();
}

#[test]
fn a_terminal_that_is_lost_takes_nothing_along() {
    let place = scripted(ECHO);
    let mut stage = begin(&place);
    stage.signal(Signal::HUP);
    assert_eq!(stage.end(), 0);
    stage.check_modes();
    let stage = attach(&place, (80, 24), &[]);
    stage.expect("size 23x80").type_in("a").expect("read 61");
    // Nobody is left who could give the terminal back but the other end.
    stage.signal(Signal::KILL);
    stage.until_sane();
    stage.until("everything given back", |_| {
        let sent = stage.sent();
        sent.rfind("\x1b[?1049h") < sent.rfind("\x1b[?1049l")
    });
    stage.check_modes();
    // The window is closed, with everything in it.
    let stage = attach(&place, (80, 24), &[]);
    stage.expect("read 61");
    stage.close();
    let mut stage = attach(&place, (80, 24), &["--take"]);
    stage.expect("read 61").type_in("q");
    assert_eq!(stage.end(), 7);
}

#[test]
fn a_killed_holder_leaves_a_sane_terminal_and_no_process() {
    let place = scripted(ECHO);
    let mut stage = begin(&place);
    let agents: Vec<Process> =
        processes(&place, "agent.py").into_iter().map(Process::hold).collect();
    assert!(!agents.is_empty());
    let holder = holder(&place);
    holder.send(Signal::KILL);
    assert_eq!(stage.end(), 1);
    stage.expect("the process that held the session is gone").check_modes();
    for agent in agents {
        assert!(agent.is_gone_within(std::time::Duration::from_mins(1)), "the agent still runs");
    }
    let mut none = attach(&place, (80, 24), &[]);
    assert_eq!(none.end(), 1);
    none.expect("no session shows an interface");
    // Nothing is locked: the session goes on where it was.
    let mut again = show(&place, (80, 24), &[]);
    again.expect("size 23x80").type_in("q");
    assert_eq!(again.end(), 7);
}

#[test]
fn requests_are_answered_at_whichever_terminal_is_attached() {
    let place = scripted(ECHO);
    let mut first = begin(&place);
    let requests = session(&place);
    first.type_in("a").expect("read 61");
    ask(&requests, "/d/report.md");
    first.type_in("\x1d").expect("Approval request:");
    let mut second = attach(&place, (100, 30), &["--take"]);
    // The question is left with the terminal at which it stood.
    second.expect("read 61").expect("1 request");
    assert_eq!(first.end(), 0);
    second.type_in("y");
    second.expect("read 79");
    second
        .type_in("\x1d")
        .expect("report.md")
        .until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    second.type_in("y").expect(USUAL);
    let answers = || -> Vec<String> {
        let entries = std::fs::read_dir(requests.join("escalations")).unwrap().flatten();
        let names = entries
            .map(|it| it.path())
            .filter(|it| it.file_name().unwrap().to_string_lossy().starts_with("response"));
        names.map(|it| std::fs::read_to_string(it).unwrap()).collect()
    };
    until("an answer", || !answers().is_empty());
    assert!(answers().len() == 1 && answers()[0].contains("approved"), "{:?}", answers());
    second.type_in("q");
    assert_eq!(second.end(), 7);
}

/// Calls a tool of ours once a file is there, through the bridge that it was given, and says how that went.
const CALLS: &str = r#"
import json, subprocess
config = json.load(open(sys.argv[sys.argv.index("--mcp-config") + 1]))
server = next(iter(config["mcpServers"].values()))
bridge = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def rpc(number, method, params):
    bridge.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    bridge.stdin.flush()
    while True:
        line = json.loads(bridge.stdout.readline())
        if line.get("id") == number:
            return line
rpc(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}})
bridge.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
tty.setraw(0)
out("size ready\r\n")
for number in [2, 3]:
    while not os.path.exists("go%d" % number):
        time.sleep(0.05)
    answer = rpc(number, "tools/call", {"name": "filesystem__write_file", "arguments": {"path": open("path").read(), "content": "x"}})
    open("answer%d" % number, "w").write(json.dumps(answer))
    out("answered %d\r\n" % number)
os.read(0, 1)
sys.exit(7)
"#;

#[test]
fn somebody_is_there_only_while_a_terminal_is_attached() {
    let place = scripted(CALLS);
    place.dir("home/Documents");
    let path = place.path("home/Documents/report.md");
    place.write("work/path", path.to_str().unwrap());
    let mut stage = show(&place, (80, 24), &[]);
    stage.expect("size ready").type_in(LEAVE);
    assert_eq!(stage.end(), 0);
    // Looking on makes nobody an approver.
    let onlooker = attach(&place, (80, 24), &["--watch"]);
    onlooker.expect("looking on");
    place.write("work/go2", "");
    onlooker.expect("answered 2");
    let answer = std::fs::read_to_string(place.path("work/answer2")).unwrap();
    assert!(answer.contains("No approver is connected"), "{answer}");
    let mut stage = attach(&place, (80, 24), &[]);
    stage.expect("answered 2").expect(USUAL);
    place.write("work/go3", "");
    stage
        .expect("1 request")
        .type_in("\x1d")
        .expect("report.md")
        .until("the keys", |rows| rows.iter().any(|row| row.contains("y approve · n deny")));
    stage.type_in("y").expect("answered 3");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
    stage.type_in("q");
    assert_eq!(stage.end(), 7);
}

/// Tries to come to its own interface; what it says first is what a program outside of the cage would see.
const COMES: &str = r#"
import socket
tty.setraw(0)
for path in open("sockets").read().split():
    try:
        it = socket.socket(socket.AF_UNIX)
        it.connect(path)
        out("inside CONNECTED\r\n")
    except OSError as error:
        out("inside refused\r\n")
os.read(0, 1)
"#;

#[test]
fn the_agent_cannot_come_to_its_own_door_and_strangers_are_turned_away() {
    let place =
        scripted(&format!("while not os.path.exists('sockets'): time.sleep(0.05)\n{COMES}"));
    let mut stage = show(&place, (80, 24), &[]);
    stage.expect(USUAL);
    let door = session(&place).join("interface.sock");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&door).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // The control: whoever is outside of the cage gets that far.
    drop(connect(&door));
    std::fs::write(place.path("work/new"), format!("{}\n", door.display())).unwrap();
    std::fs::rename(place.path("work/new"), place.path("work/sockets")).unwrap();
    stage.expect("inside refused");
    assert!(!stage.rows().iter().any(|row| row.contains("CONNECTED")));
    // What is no hello is not heard, and many that say nothing keep nobody out.
    for noise in [&b"xxxx"[..], b"ic\x01a", b"ic\x01w", &[0; 4096]] {
        let mut line = connect(&door);
        line.write_all(noise).unwrap();
        assert!(matches!(line.read(&mut [0; 16]), Ok(0) | Err(_)), "{noise:?} was answered");
    }
    let mut onlooker = attach(&place, (80, 24), &["--watch"]);
    onlooker.expect("inside refused").type_in(LEAVE);
    assert_eq!(onlooker.end(), 0);
    stage.type_in("q");
    assert_eq!(stage.end(), 0);
    assert!(!door.exists());
}

fn connect(path: &Path) -> std::os::unix::net::UnixStream {
    std::os::unix::net::UnixStream::connect(path).unwrap()
}
