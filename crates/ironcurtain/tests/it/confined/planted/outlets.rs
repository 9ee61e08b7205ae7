//! Links to where a server may write and nobody looks: its own data, other sessions, what processes see.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use super::super::{Rig, hidden};
use super::{live, program, session, workspace};
use crate::proxy::until;

/// What a server does; `data` is its own directory.
const ATTACKS: &[&str] = &[
    // What it leads to is a repository, or becomes one later.
    "os.mkdir(data + '/r'); shape(data + '/r/.git', '..'); os.symlink(data + '/r', 'pkg')",
    "os.symlink(data + '/later', 'pkg')",
    // In the place of a directory of the user's.
    "os.rename('src', 'old'); os.symlink(data, 'src')",
    // By another link, which is none of these itself.
    "os.symlink(data, 'lib/a'); os.symlink('lib/a', 'pkg')",
    // By the parts of a path: the end is harmless today.
    "os.mkdir(data + '/d'); os.symlink(data + '/d/../../../../../../ws/src', 'pkg')",
    "os.symlink(os.path.relpath(data), 'pkg')",
    // A link in its own directory that can be turned.
    "os.symlink('/usr', data + '/turn'); os.symlink(data + '/turn', 'pkg')",
    // Beside its own: another server's.
    "os.symlink(data + '/../../other/data', 'pkg')",
    // The root of a process, and its own for each.
    "os.symlink('/proc/1/root/tmp', 'pkg')",
    "os.symlink('/proc/self/cwd', 'pkg')",
    // Deep in directories of packages, too.
    "os.makedirs('node_modules/x'); os.symlink(data, 'node_modules/x/y')",
];

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    let data = rig.place.dir("home/.ironcurtain/servers/peeker/data");
    for above in data.ancestors().take(4) {
        fs::set_permissions(above, fs::Permissions::from_mode(0o700)).unwrap();
    }
    rig.peeker(&json!({"contained": true, "env": {"D": "${DATA}"}}))
}

fn attack(rig: &Rig, text: &str) -> serde_json::Value {
    let data = rig.text("home/.ironcurtain/servers/peeker/data");
    json!({"where": hidden(&program(rig, &format!("data = {data:?}\n{text}")))})
}

#[test]
fn a_link_to_where_nobody_looks_is_put_back() {
    for text in ATTACKS {
        let rig = rig();
        let mut proxy = session(&rig);
        let answer = proxy.call("peeker__run", &attack(&rig, text)).bad();
        assert!(answer.contains("host_executes_put_back"), "{text}: {answer}");
        assert!(!answer.contains("NOT put back"), "{text}: {answer}");
        proxy.finish();
        let data = rig.place.path("home/.ironcurtain/servers/peeker/data");
        for name in ["pkg", "src", "lib/a", "node_modules/x/y"] {
            let led = fs::read_link(rig.place.path("ws").join(name));
            assert!(led.is_err(), "{text}: {name} leads to {led:?}, {}", data.display());
        }
        assert!(live(&rig, "."), "{text}");
        assert!(!rig.place.path("canary").exists(), "{text}: the canary was run");
    }
}

/// Links that lead to what is looked at, or to what the server cannot write, are ordinary work.
#[test]
fn other_links_stay() {
    let rig = rig();
    let mut proxy = session(&rig);
    let text = "os.makedirs('venv/bin'); os.symlink('/usr/bin/env', 'venv/bin/python'); \
                os.symlink('../lib', 'src/lib'); os.symlink('nowhere', 'src/n')";
    proxy.call("peeker__run", &attack(&rig, text)).good();
    proxy.finish();
    for name in ["venv/bin/python", "src/lib", "src/n"] {
        assert!(fs::read_link(rig.place.path("ws").join(name)).is_ok(), "{name}");
    }
}

/// A link of the user's own: the server is not started, and the answer says what to do.
#[test]
fn with_a_link_of_the_users_to_its_own_directory_a_server_is_not_started() {
    let rig = rig();
    let data = rig.place.path("home/.ironcurtain/servers/peeker/data");
    let link = rig.place.path("ws/docs");
    symlink(&data, &link).unwrap();
    let mut proxy = session(&rig);
    let text = proxy.call("peeker__environment", &json!({})).bad();
    assert!(text.contains("/ws/docs` is a link to a place that the server may write"), "{text}");
    fs::remove_file(&link).unwrap();
    until("the server works", || {
        proxy.call("peeker__environment", &json!({})).result()["isError"] == json!(false)
    });
    // The same while it runs: it is ended, and not started again.
    symlink(&data, &link).unwrap();
    until("the server is ended", || {
        let text = proxy.call("peeker__environment", &json!({})).text();
        text.contains("is a link to a place that the server may write")
            || (text.contains("host_executes_put_back") && symlink(&data, &link).is_err())
    });
    proxy.finish();
}
