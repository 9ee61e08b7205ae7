//! A program that attacks from inside a cage, and finds nothing.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use ic_confine::{Access, CageSpec, Network};
use serde_json::{Value, json};

use super::{Ground, on_every_ground, on_rungs};

const TOKEN: &str = "canary-0f3a9c51";

/// Where people keep what nobody else should read.
const SECRETS: [&str; 12] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    ".gnupg/private-keys-v1.d/key",
    ".bash_history",
    ".ironcurtain/keys/audit.key",
];

/// What the host has that a cage must not reach; it lives as long as the attack.
struct Treasure {
    given: Value,
    _sockets: Vec<UnixListener>,
    _port: std::net::TcpListener,
}

impl Treasure {
    fn hide(ground: &Ground, cage: &CageSpec) -> Self {
        let mut secrets = Vec::new();
        for name in SECRETS
            .map(|name| format!("home/{name}"))
            .iter()
            .map(String::as_str)
            .chain(["other/project/.env", "ironcurtain.key"])
        {
            let path = ground.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, TOKEN).unwrap();
            secrets.push(path);
        }
        // Of the engine, the bus, an agent, another session, and one in what is seen.
        let names =
            ["docker.sock", "bus", "agent.sock", "other/proxy.sock", "seen/write/proxy.sock"];
        let paths = names.map(|name| ground.path(name));
        let mut sockets: Vec<_> =
            paths.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
        let name = format!("{TOKEN}-{}", ground.place.path().display());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        sockets.push(UnixListener::bind_addr(&address).unwrap());
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let unwritable = ["home", "seen", "seen/read", "other", "."];
        let given = json!({
            "secrets": secrets,
            "token": TOKEN,
            "sockets": match cage.unix_sockets {
                // What is in its own directories is its own to connect to.
                true => &paths[..4],
                false => &paths[..],
            },
            "abstract": name,
            "unwritable": unwritable.map(|name| ground.path(name)),
            "writable": [ground.path("seen/write")],
            "pids": [std::process::id()],
            "ports": [port.local_addr().unwrap().port()],
            "network": cage.network != Network::None,
            "unix": cage.unix_sockets,
            "agent": !cage.relaxed.is_empty(),
            // Landlock alone says nothing about mappings.
            "maps": !ground.rung.can_hide(),
        });
        Self { given, _sockets: sockets, _port: port }
    }
}

async fn attack(ground: Ground, change: impl Fn(&mut CageSpec)) {
    let mut cage = ground.cage();
    cage.seen = vec![
        ground.seen("attack.py", Access::Read),
        ground.seen("seen/read", Access::Read),
        ground.seen("seen/write", Access::Write),
    ];
    change(&mut cage);
    let mut treasure = Treasure::hide(&ground, &cage);
    if ground.rung.can_hide() {
        // The home is its own there, and empty.
        let unwritable = treasure.given["unwritable"].as_array_mut().unwrap();
        unwritable.retain(|path| *path != json!(ground.path("home")));
    }
    let script = ground.path("attack.py").display().to_string();
    let spec = ground.spec(cage, "/usr/bin/python3", &[&script, &treasure.given.to_string()]);
    let (said, complained, code) = ground.run(&spec).await;
    let on = format!("{} as {:?}", ground.rung, ground.who);
    let (reached, attempts) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
    assert_eq!(reached, "", "reached on {on}");
    let attempts: u32 =
        attempts.strip_prefix("attempts: ").and_then(|it| it.parse().ok()).unwrap_or(0);
    assert!(250 < attempts, "only {attempts} attempts on {on}: {complained}");
    assert_eq!((complained.as_str(), code), ("", Some(0)), "on {on}");
    for entry in std::fs::read_dir(ground.path("seen/write")).unwrap() {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &entry.as_ref().unwrap().metadata().unwrap().permissions(),
        );
        assert_eq!(mode & 0o6000, 0, "{entry:?} is left on the host on {on}");
    }
    for secret in treasure.given["secrets"].as_array().unwrap() {
        let path = secret.as_str().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), TOKEN, "{path} was changed on {on}");
    }
}

#[test]
fn nothing_is_reached_from_a_cage() {
    on_every_ground(|ground| attack(ground, |_| ()));
}

#[test]
fn a_cage_with_doors_reaches_nothing_but_its_doors() {
    on_rungs(ic_confine::Rung::has_network, |ground| {
        attack(ground, |cage| {
            cage.network = Network::Doors { ports: vec![443], addresses: Vec::new() };
        })
    });
}

#[test]
fn a_cage_with_unix_sockets_reaches_none_of_the_host() {
    on_rungs(ic_confine::Rung::can_hide, |ground| attack(ground, |cage| cage.unix_sockets = true));
}

#[test]
fn an_agents_cage_holds_whatever_is_not_relaxed_for_it() {
    on_rungs(ic_confine::Rung::can_hide, |ground| {
        attack(ground, |cage| {
            cage.network = Network::Doors { ports: vec![443], addresses: Vec::new() };
            cage.relaxed = ic_confine::Relaxation::AGENT.to_vec();
        })
    });
}
