//! Agents in containers of a real engine: how the stage is set for them, and what holds for containers alone.
//!
//! The engine is the one of `scripts/container-engine`, or the one that `DOCKER_HOST` names.

use std::process::Command;

use ic_testkit::Place;
use ic_testkit::agents::CONTAINED;
use serde_json::{Value, json};

use super::{Stage, says, uses};

/// Returns where the engine is; `None`, loudly, where there is none.
pub(super) fn engine() -> Option<String> {
    let named = std::env::var("DOCKER_HOST").ok();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/container-engine");
    let brought_up = || {
        let output = Command::new(script).arg("host").output().unwrap();
        let host = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| host.trim().to_owned())
    };
    let host = named.or_else(brought_up);
    if host.is_none() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no container engine");
        eprintln!(
            "SKIPPED: there is no container engine; `scripts/container-engine start` brings one up"
        );
    }
    host
}

/// Lets agents run in containers.
pub(super) fn configure(place: Place, engine: &str) -> Place {
    let place = place.with_variable("DOCKER_HOST", engine);
    let settings = [
        ("agent.backend", "docker"),
        ("docker.baseImage", "ironcurtain-test-base"),
        ("docker.packages", "[]"),
    ];
    for (key, value) in settings {
        let set = place.run(["config", "set", key, value]);
        assert_eq!(set.code, 0, "{}", set.stderr);
    }
    give(&place);
    place
}

/// Makes the workspace a user's, as an agent is never root.
fn give(place: &Place) {
    if rustix::process::geteuid().is_root() {
        let work = place.path("work");
        let given = Command::new("chown").args(["-Rh", "1000:1000"]).arg(&work).status().unwrap();
        assert!(given.success());
    }
}

impl Stage {
    /// Returns the containers of this stage that there are, whatever they do.
    pub(super) fn containers(&self) -> Vec<Value> {
        if !self.row.is_contained {
            return Vec::new();
        }
        let home = self.place.path("home/.ironcurtain").display().to_string();
        let filters = json!({"label": [format!("ironcurtain.home={home}")]}).to_string();
        let engine = engine().unwrap();
        let output = Command::new("curl")
            .args(["-sS", "--fail", "-G", "--unix-socket", engine.trim_start_matches("unix://")])
            .args(["--data-urlencode", &format!("filters={filters}"), "--data", "all=1"])
            .arg("http://engine/v1.41/containers/json")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(super) fn running_containers(&self) -> Vec<Value> {
        self.containers().into_iter().filter(|it| it["State"] != "exited").collect()
    }
}

/// Everything that an agent in a container could try; a line of each that works. `$1` is a directory of the host.
const ATTEMPTS: &str = r#"
try() { name=$1; shift; if may "$name" && "$@" >/dev/null 2>&1; then echo "WORKS $name"; fi; }
try 'a file of the host' cat "$PLACE/other/secret"
try 'the settings' cat "$PLACE/home/.ironcurtain/config.json"
try 'the sessions' ls "$PLACE/home/.ironcurtain/sessions"
try 'escalations' sh -c 'ls -d /run/ironcurtain/../*/escalations "$PLACE"/home/.ironcurtain/sessions/*/escalations | grep .'
try 'the key' sh -c 'cat /proc/*/environ | grep -a KEY-OF-THE-TEST'
try 'the engine' test -S "$SOCKET"
try 'an engine in its usual place' test -S /var/run/docker.sock
try 'a socket in the workspace' python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("work.sock")'
try 'a socket of ours' python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("/run/ironcurtain/leash.sock")'
try 'a port of the host' python3 -c 'import socket,os; socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 3)'
try 'an interface' sh -c 'ls /sys/class/net | grep -v "^lo$"'
try 'removing a door' rm -f /run/ironcurtain/8701.sock
try 'a name among the doors' touch /run/ironcurtain/x
try 'the orientation' sh -c 'echo x >> /etc/ironcurtain/orientation.md'
try 'the certificate' sh -c 'echo x >> /etc/ironcurtain/ca-cert.pem'
try 'our program' sh -c 'echo x >> /opt/ironcurtain/ironcurtain'
try 'its own program' sh -c 'echo x >> /opt/ironcurtain/agent'
try 'the root' touch /usr/bin/x
try 'what the host executes' sh -c 'echo x >> .envrc'
try 'replacing it' mv -f a.txt .envrc
try 'a mount' mount -t tmpfs none /workspace
try 'a device' mknod /tmp/null c 1 3
try 'a namespace' unshare -U true
try 'a program of root' sh -c 'cp /bin/true /tmp/t && chmod 4755 /tmp/t && test -u /tmp/t'
try 'tracing the relay' python3 -c '
import ctypes, glob
libc = ctypes.CDLL(None)
relay = [d for d in glob.glob("/proc/[0-9]*") if b"\0--relay\0" in open(d + "/cmdline", "rb").read()]
assert relay and libc.ptrace(16, int(relay[0][6:]), None, None) == 0'
"#;

/// What is tried outside, where it works and does no harm.
const CONTROLS: [&str; 9] = [
    "a file of the host",
    "the settings",
    "the sessions",
    "the key",
    "the engine",
    "a socket in the workspace",
    "a port of the host",
    "what the host executes",
    "replacing it",
];

#[test]
fn nothing_that_works_outside_works_in_a_container() {
    let Some(stage) = Stage::set(&CONTAINED, []) else { return };
    stage.place.write("other/secret", "canary");
    stage.place.write("work/.envrc", "export A=1\n");
    let work = stage.place.path("work");
    let _socket = std::os::unix::net::UnixListener::bind(work.join("work.sock")).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // So that there is a session, and something to see of it.
    stage.provider.push([says("First.")]);
    assert_eq!(stage.start(&["Say something."]).code, 0);
    let variables = format!(
        "PLACE={} PORT={} SOCKET={}; export PLACE PORT",
        stage.place.root().display(),
        port.local_addr().unwrap().port(),
        engine().unwrap().trim_start_matches("unix://")
    );
    let script = format!("{variables}\n{ATTEMPTS}");
    let may = format!("may() {{ case $1 in '{}') ;; *) return 1;; esac; }}", CONTROLS.join("'|'"));
    let outside = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{may}\n{script}"))
        .current_dir(&work)
        .env("THE_KEY", "KEY-OF-THE-TEST")
        .output()
        .unwrap();
    let outside = String::from_utf8(outside.stdout).unwrap();
    for name in CONTROLS {
        assert!(outside.contains(&format!("WORKS {name}\n")), "{name}: {outside}");
    }
    stage.place.write("work/.envrc", "export A=1\n");
    stage.place.write("work/a.txt", "what was there");
    let command = format!("may() {{ true; }}; {{ {script}\n}} > said.txt; echo ended >> said.txt");
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
    let output = stage.start(&["Try everything."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    assert_eq!(stage.read("work/said.txt").as_deref(), Some("ended\n"), "{output:?}");
    assert_eq!(stage.read("work/.envrc").as_deref(), Some("export A=1\n"));
    assert_eq!(stage.containers().len(), 0);
}

#[test]
fn its_workspace_has_one_name_for_its_shell_and_for_our_tools() {
    let Some(stage) = Stage::set(&CONTAINED, []) else { return };
    let read = |id: &str, path: &str| {
        CONTAINED.calls(id, "filesystem__read_text_file", json!({"path": path}))
    };
    let command = "pwd; cat /workspace/a.txt; id -u; ls -dn . | cut -d' ' -f3";
    stage.provider.push([
        uses("toolu_0", "Bash", json!({"command": command})),
        read("toolu_1", "/workspace/a.txt"),
        read("toolu_2", "/workspace/../work/a.txt"),
        read("toolu_3", "/workspaces/a.txt"),
        says("Done."),
    ]);
    let output = stage.start(&["Read."]);
    // The last one would have to be approved.
    assert_eq!((output.code, output.stdout.trim()), (3, "Done."), "{output:?}");
    let records = ic_testkit::proxy::records(&stage.place);
    let of = |text: &str| {
        let is_it = |it: &&Value| it["arguments"]["path"] == text && !it["verdict"].is_null();
        records.iter().find(is_it).cloned().unwrap_or_default()
    };
    let mapped = of("/workspace/a.txt");
    let host = stage.place.path("work/a.txt").display().to_string();
    assert_eq!(mapped["verdict"], "allow", "{records:#?}");
    // Judged and recorded is the path of the host, with the agent's spelling beside it.
    assert!(mapped.to_string().contains(&host), "{mapped}");
    // Another name that begins so is another place.
    assert_eq!(of("/workspaces/a.txt")["verdict"], "escalate", "{records:#?}");
    let asked = stage.provider.requests();
    let told = asked
        .iter()
        .map(|it| it.body.to_string())
        .find(|it| it.contains("/workspace\\nwhat was there"));
    assert!(told.is_some(), "{asked:?}");
}

#[test]
fn an_engine_that_cannot_be_used_is_said_before_anything_is_made() {
    let Some(stage) = Stage::set(&CONTAINED, []) else { return };
    let with = |host: &str| {
        let mut command = stage.place.command([
            "start",
            "--agent",
            "claude-code",
            "--workspace",
            "work",
            "Hello.",
        ]);
        command.env("DOCKER_HOST", host).output().unwrap()
    };
    let cases = [
        ("tcp://192.0.2.1:2375", "not a socket of this machine", "--backend cage"),
        ("unix:///no/such.sock", "cannot be reached at `/no/such.sock`", "--backend cage"),
    ];
    for (host, what, remedy) in cases {
        let output = with(host);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(what) && told.contains(remedy), "{told}");
    }
    assert_eq!(
        stage.place.run(["config", "set", "docker.baseImage", "no-such-image-here"]).code,
        0
    );
    let output = stage.start(&["Hello."]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("`no-such-image-here` is not on this machine"), "{output:?}");
    assert!(stage.place.sessions().is_empty(), "{output:?}");
}
