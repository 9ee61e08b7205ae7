//! Attempts from inside the cage of a real agent that runs, by its own shell; each works outside first.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::json;

use super::{Stage, says, uses};
use crate::proxy::until;

const TOKEN: &str = "canary-7d21f0ab";
const SOCKETS: [&str; 7] = [
    "work/before.sock",
    "run/bus",
    "run/wayland-0",
    "run/X1",
    "run/ssh-agent",
    "run/docker.sock",
    "home/.gnupg/S.gpg-agent",
];
const FILES: [&str; 5] = [
    "other/secret",
    "home/.ssh/id_ed25519",
    "work/.envrc",
    "work/sub/.envrc",
    "work/.vscode/tasks.json",
];

/// Everything that the host has while attempts are made.
struct Host {
    port: TcpListener,
    datagrams: u16,
    other: Child,
    _sockets: Vec<UnixListener>,
}

impl Host {
    fn new(stage: &Stage) -> Self {
        for name in FILES {
            stage.place.write(name, TOKEN);
        }
        let bind = |name: &str| {
            let path = stage.place.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            UnixListener::bind(path).unwrap()
        };
        let mut sockets: Vec<_> = SOCKETS.into_iter().map(bind).collect();
        let name = format!("{TOKEN}{}", stage.place.path("").display());
        let name = name.trim_end_matches('/');
        let address = SocketAddr::from_abstract_name(name).unwrap();
        sockets.push(UnixListener::bind_addr(&address).unwrap());
        let names = UdpSocket::bind("127.0.0.1:0").unwrap();
        let datagrams = names.local_addr().unwrap().port();
        // It ends with the process of the test.
        std::thread::spawn(move || {
            let mut asked = [0; 16];
            while let Ok((_, from)) = names.recv_from(&mut asked) {
                names.send_to(b"it is there", from).ok();
            }
        });
        let other = Command::new("/bin/sleep")
            .arg("1000")
            .env("THE_KEY", TOKEN)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { port, datagrams, other, _sockets: sockets }
    }

    /// Returns the words of a command that tries everything.
    fn words(&self, stage: &Stage) -> Vec<String> {
        let place = stage.place.path("").display().to_string();
        let port = self.port.local_addr().unwrap().port();
        let script = stage.place.path("work/attempts.py").display().to_string();
        let place = place.trim_end_matches('/').to_owned();
        let numbers = [u32::from(port), u32::from(self.datagrams), self.other.id()];
        let words = ["/usr/bin/python3".to_owned(), script, place].into_iter();
        words.chain(numbers.map(|number| number.to_string())).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.other.kill().ok();
        self.other.wait().ok();
    }
}

/// Serves a socket in the workspace as soon as the attempts have begun, until what is returned is dropped.
fn serve_later(stage: &Stage) -> JoinHandle<UnixListener> {
    let [here, socket] = ["work/here", "work/after.sock"].map(|name| stage.place.path(name));
    for path in [&here, &socket] {
        std::fs::remove_file(path).ok();
    }
    std::thread::spawn(move || {
        until("attempts", || here.exists());
        UnixListener::bind(socket).unwrap()
    })
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(ToOwned::to_owned).collect()
}

fn contents(stage: &Stage) -> Vec<Option<String>> {
    FILES.iter().map(|name| stage.read(name)).collect()
}

#[test]
fn nothing_that_works_outside_works_for_the_shell_of_a_running_agent() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.write("work/attempts.py", include_str!("attempts.py"));
    let config = stage.place.path("home/.ironcurtain/config.json");
    let settings = std::fs::read_to_string(&config).unwrap();
    // So that there is another session, too.
    stage.provider.push([says("First.")]);
    assert_eq!(stage.start(&["Say something."]).code, 0);
    let host = Host::new(&stage);
    let words = host.words(&stage);
    let served = serve_later(&stage);
    let control = Command::new(&words[0]).args(&words[1..]).output().unwrap();
    let outside = lines(&String::from_utf8_lossy(&control.stdout));
    assert!(outside.contains("the socket work/after.sock"), "{outside:#?}");
    drop(served.join().unwrap());
    for name in FILES {
        stage.place.write(name, TOKEN);
    }
    let before = contents(&stage);
    // What fails outside does not count. As root, and with all of the kernel, nearly everything works there.
    let least = if rustix::process::geteuid().is_root() { 38 } else { 25 };
    assert!(least <= outside.len(), "{}: {outside:#?}", outside.len());

    let command =
        format!("{} > said.txt 2> complained.txt; echo ended-$? >> said.txt", words.join(" "));
    let bash = uses("toolu_1", "Bash", json!({"command": command, "timeout": 120_000}));
    stage.provider.push([bash, says("Done.")]);
    let served = serve_later(&stage);
    let output = stage.start(&["Try everything."]);
    drop(served.join().unwrap());
    let said = stage.read("work/said.txt").unwrap_or_default();
    let complained = stage.read("work/complained.txt").unwrap_or_default();
    assert_eq!(output.stdout.trim(), "Done.", "{said}{complained}{output:?}");
    assert_eq!(said, "ended-0\n", "what worked inside; {complained}");
    assert_eq!(contents(&stage), before);
    assert_eq!(std::fs::read_to_string(&config).unwrap(), settings);
}
