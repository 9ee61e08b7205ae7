//! Servers that were taken over, and ask for what is lent to calls of git: only the one that runs for a
//! judged call of git gets anything, and only what that call was judged about.
//!
//! The broker is real and runs in this process; the program that it starts servers with is a script that
//! plays every one of them, and asks for all that it can think of. It plays the user's git as well, and
//! writes down when that is asked for a password.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ic_backend::{Keyring, Witness};
use ic_confine::Launcher;
use ic_types::ServerName;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;

use crate::in_process::{Link, Parts, Policy};

const PASSWORD: &str = "correct-horse-battery-staple";

/// A place for the script and what is written down, with an agent that counts what it is asked.
struct World {
    root: TempDir,
    /// The first byte of each message.
    asked_of_agent: Arc<Mutex<Vec<u8>>>,
    ears: Arc<Ears>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let world = Self { root, asked_of_agent: Arc::default(), ears: Arc::default() };
        let script = include_str!("taken_over.py")
            .replace("@HERE@", world.at("").to_str().unwrap())
            .replace("@PASSWORD@", PASSWORD)
            .replace("@PYTHON@", python());
        std::fs::write(world.at("script"), script).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(world.at("script"), mode).unwrap();
        let listener = UnixListener::bind(world.at("agent")).unwrap();
        tokio::spawn(play_agent(listener, Arc::clone(&world.asked_of_agent)));
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Says what each server asks for while it serves a call, and once before any call.
    fn plan(&self, aids: &[(&str, Value)]) {
        let aids: serde_json::Map<String, Value> =
            aids.iter().map(|(name, aid)| ((*name).to_owned(), aid.clone())).collect();
        std::fs::write(self.at("plan"), Value::Object(aids).to_string()).unwrap();
    }

    async fn link(&self) -> Link {
        let rules = json!([{"name": "anything", "if": {}, "then": "allow", "reason": "a test"}]);
        let mut policy = Policy::of_rules(rules);
        let mut annotations: Value = serde_json::from_str(&policy.annotations).unwrap();
        let roles = json!({"url": ["git-remote-url"]});
        annotations["servers"]["theirs"] =
            json!({"tools": [{"toolName": "do", "args": roles, "inputSchema": {}}]});
        policy.annotations = annotations.to_string();
        let servers = json!({"git": {"builtin": "git"}, "fetch": {"builtin": "fetch"},
            "filesystem": {"builtin": "filesystem"},
            "theirs": {"command": "/bin/true", "args": ["theirs"]}});
        let keyring = Keyring { agent: Some(self.at("agent")), ..Keyring::default() };
        let launcher = Launcher::at(self.at("script"));
        let witness = Arc::clone(&self.ears) as Arc<dyn Witness>;
        let tools = json!([{"name": "do", "inputSchema": {"type": "object"}}]);
        let trusted = vec![("theirs", tools)];
        let parts = Parts::new(policy, servers);
        Link::open(Parts { launcher, keyring, witness, trusted, ..parts }).await
    }

    /// Returns what a server was told, by what it had asked for.
    fn told(&self, call: &str) -> Value {
        let text = std::fs::read(self.at(&format!("told-{call}"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Returns what the user's git was asked.
    fn helped(&self) -> String {
        std::fs::read_to_string(self.at("helped")).unwrap_or_default()
    }

    fn asked_of_agent(&self) -> Vec<u8> {
        self.asked_of_agent.lock().unwrap().clone()
    }
}

/// Returns where Python is; the script is started with no environment to look in.
fn python() -> &'static str {
    let known = ["/usr/bin/python3", "/usr/local/bin/python3"];
    known.into_iter().find(|it| Path::new(it).exists()).expect("python3 plays the servers")
}

/// Notes what servers write to their standard error.
#[derive(Default)]
struct Ears(Mutex<Vec<String>>);

impl Witness for Ears {
    fn notice(&self, _: &str) {}

    fn server_wrote(&self, _: &ServerName, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// Answers everything with one byte, as an agent that has no keys would not.
async fn play_agent(listener: UnixListener, asked: Arc<Mutex<Vec<u8>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok(length) = stream.read_u32().await {
                let mut message = vec![0; usize::try_from(length).unwrap()];
                stream.read_exact(&mut message).await.unwrap();
                asked.lock().unwrap().push(message[0]);
                stream.write_all(&[0, 0, 0, 1, 14]).await.unwrap();
            }
        });
    }
}

fn credential(host: &str, path: &str) -> Value {
    json!({"aid": "credential", "protocol": "https", "host": host, "path": path})
}

fn agent(message: &[u8]) -> Value {
    json!({"aid": "agent", "message": BASE64.encode(message)})
}

/// A request to sign in as `user`.
fn login(user: &str) -> Vec<u8> {
    let text = |bytes: &[u8]| {
        [u32::try_from(bytes.len()).unwrap().to_be_bytes().as_slice(), bytes].concat()
    };
    let data = [
        text(&[7; 32]),
        vec![50],
        text(user.as_bytes()),
        text(b"ssh-connection"),
        text(b"publickey"),
        vec![1],
        text(b"ssh-ed25519"),
        text(b"key"),
    ];
    [vec![13], text(b"key"), text(&data.concat()), vec![0; 4]].concat()
}

/// All that could be asked for about one https and one ssh remote.
fn everything() -> Vec<(&'static str, Value)> {
    vec![
        ("judged", json!({"aid": "judged"})),
        ("trust", json!({"aid": "trust", "url": "https://a.example/o/r"})),
        ("password", credential("a.example", "o/r")),
        ("other host", credential("b.example", "o/r")),
        ("other repository", credential("a.example", "o/other")),
        ("tried", json!({"aid": "tried", "good": true})),
        ("keys", agent(&[11])),
        ("signature", agent(&login("git"))),
        ("other user", agent(&login("root"))),
        ("passwords", json!({"aid": "passwords"})),
    ]
}

/// Says which of the aids were lent.
fn lent(told: &Value) -> Vec<&str> {
    let told = told.as_object().unwrap().iter();
    let mut lent: Vec<&str> =
        told.filter(|(_, it)| it.get("result").is_some()).map(|(name, _)| name.as_str()).collect();
    lent.sort_unstable();
    lent
}

#[tokio::test]
async fn nobody_but_a_judged_call_of_git_is_lent_anything() {
    let world = World::new();
    world.plan(&everything());
    let mut link = world.link().await;
    let work = link.at("work");
    let path = |name: &str| work.join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("repo")).unwrap();
    let clone = json!({"url": "https://a.example/o/r", "localPath": path("new")});
    for (tool, arguments, call) in [
        ("fetch__http_fetch", json!({"url": "https://a.example/o/r"}), "http_fetch"),
        ("theirs__do", json!({"url": "https://a.example/o/r"}), "do"),
        ("git__git_status", json!({"path": path("repo")}), "git_status"),
        ("filesystem__write_file", json!({"path": path("x"), "content": "x"}), "write_file"),
    ] {
        assert_eq!(link.ask(tool, &arguments).await, Ok("done".to_owned()), "{tool}");
        let told = world.told(call);
        assert_eq!(lent(&told), Vec::<&str>::new(), "{tool}: {told}");
        assert_eq!(told.as_object().unwrap().len(), everything().len() + 1, "{tool}: {told}");
    }
    assert_eq!(world.helped(), "", "the user's git was asked");
    assert_eq!(world.asked_of_agent(), Vec::<u8>::new());
    // That of a judged call gets what was judged, by the same words.
    assert_eq!(link.ask("git__git_clone", &clone).await, Ok("done".to_owned()));
    let told = world.told("git_clone");
    assert_eq!(lent(&told), ["judged", "password", "tried", "trust"], "{told}");
    assert_eq!(told["password"]["result"]["password"], PASSWORD);
    let early = told["before any call"]["error"]["message"].as_str().unwrap();
    assert!(early.contains("only a call that is running"), "{early}");
    let no_ssh = told["keys"]["error"]["message"].as_str().unwrap();
    assert!(no_ssh.contains("over ssh"), "{no_ssh}");
    assert_eq!(world.asked_of_agent(), Vec::<u8>::new());
    let helped = world.helped();
    assert_eq!(helped.matches("credential fill").count(), 1, "{helped}");
    assert!(helped.contains("host=a.example\npath=o/r\n"), "{helped}");
    assert!(!helped.contains("b.example") && !helped.contains("other"), "{helped}");
    let records = link.end().await;
    let refused = records.iter().filter(|it| it["arguments"]["event"] == "not-lent");
    assert_eq!(refused.count(), 7, "six things, and one too early: {records:#?}");
    let log = Value::Array(records).to_string();
    assert!(!log.contains(PASSWORD), "{log}");
}

#[tokio::test]
async fn a_call_over_ssh_signs_in_as_the_judged_user_and_gets_no_password() {
    let world = World::new();
    world.plan(&everything());
    let mut link = world.link().await;
    let to = link.at("work/new");
    let clone = json!({"url": "ssh://git@a.example/o/r", "localPath": to.to_str().unwrap()});
    assert_eq!(link.ask("git__git_clone", &clone).await, Ok("done".to_owned()));
    let told = world.told("git_clone");
    assert_eq!(lent(&told), ["judged", "keys", "signature"], "{told}");
    assert_eq!(world.asked_of_agent(), [11, 13]);
    assert!(!world.helped().contains("credential"), "{}", world.helped());
    link.end().await;
}

/// Each call is lent what it was judged about itself, whatever else is under way.
#[tokio::test]
async fn two_calls_at_once_are_not_lent_each_others_passwords() {
    let world = World::new();
    world.plan(&[
        ("a", credential("a.example", "o/r")),
        ("b", credential("b.example", "o/r")),
        ("meet", json!(2)),
    ]);
    let mut link = world.link().await;
    for host in ["a", "b"] {
        let to = link.at(&format!("work/{host}"));
        let url = format!("https://{host}.example/o/r");
        let clone = json!({"url": url, "localPath": to.to_str().unwrap()});
        link.call("git__git_clone", &clone).await;
    }
    for _ in 0..2 {
        let answer = link.hear().await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
    for host in ["a", "b"] {
        let told = world.told(&format!("git_clone-{host}.example"));
        assert_eq!(lent(&told), [host], "{told}");
    }
    link.end().await;
}

/// Whom the user knows is the user's: a call hears of the host that it was judged about, at its port.
#[tokio::test]
async fn of_the_known_hosts_the_judged_one_is_told() {
    let world = World::new();
    let trust = |url: &str| json!({"aid": "trust", "url": url});
    for (url, other, name) in [
        ("ssh://git@a.example/o/r", "ssh://git@b.example/o/r", "a.example"),
        ("ssh://git@a.example:2222/o/r", "ssh://git@a.example/o/r", "[a.example]:2222"),
    ] {
        world.plan(&[("trust", trust(url)), ("other", trust(other))]);
        let mut link = world.link().await;
        let to = link.at("work/new");
        let clone = json!({"url": url, "localPath": to.to_str().unwrap()});
        assert_eq!(link.ask("git__git_clone", &clone).await, Ok("done".to_owned()));
        let told = world.told("git_clone");
        assert_eq!(lent(&told), ["trust"], "{told}");
        let known = told["trust"]["result"]["trusted"].as_str().unwrap();
        assert_eq!(known, format!("{name} ssh-ed25519 KEY\n"), "{told}");
        link.end().await;
    }
    let helped = world.helped();
    assert!(!helped.contains("b.example"), "{helped}");
    assert_eq!(helped.matches("-F ").count(), 2, "{helped}");
}

/// What was lent is hidden wherever it comes back: in the answer, while the call runs, and in complaints.
#[tokio::test]
async fn a_server_that_tells_what_it_was_lent_is_not_passed_on() {
    let world = World::new();
    world.plan(&[("password", credential("a.example", "o/r"))]);
    let mut link = world.link().await;
    let to = link.at("work/new");
    let clone = json!({"url": "https://a.example/o/r", "localPath": to.to_str().unwrap()});
    link.call("git__git_clone", &clone).await;
    let mut heard = Vec::new();
    loop {
        let message = link.hear_any().await;
        heard.push(message.to_string());
        if message.get("id").is_some() {
            break;
        }
    }
    let records = link.end().await;
    assert_eq!(world.told("git_clone")["password"]["result"]["password"], PASSWORD);
    let progress = heard.iter().filter(|it| it.contains("notifications/progress"));
    assert_eq!(progress.count(), 2, "{heard:#?}");
    let wrote = world.ears.0.lock().unwrap().clone();
    assert_eq!(wrote.len(), 2, "{wrote:#?}");
    let records = Value::Array(records).to_string();
    let told: Vec<&String> = heard.iter().chain(&wrote).chain([&records]).collect();
    let encoded = BASE64.encode(format!("x{PASSWORD}"));
    for secret in [PASSWORD, encoded.get(2..30).unwrap()] {
        assert!(told.iter().all(|it| !it.contains(secret)), "{secret}: {told:#?}");
    }
}
