//! Beneath packages, where names are free, servers are held to what the agent is held to: a repository of the
//! user's there, attributes that choose a program, and a link to where nobody can look.

use std::fs;
use std::process::Command;

use ic_testkit::git_host::git;
use serde_json::json;

use super::super::{Rig, hidden};
use super::{program, session, workspace};

/// What a server plants, and the file that must not be there afterwards.
const ATTACKS: &[(&str, &str)] = &[
    ("open('vendor/lib/.envrc', 'w').write('touch ' + canary)", "vendor/lib/.envrc"),
    (
        "os.makedirs('vendor/lib/deep/.vscode'); open('vendor/lib/deep/.vscode/tasks.json', 'w').write('{}')",
        "vendor/lib/deep/.vscode",
    ),
    ("open('vendor/lib/.gitattributes', 'w').write('* diff=mine\\n')", "vendor/lib/.gitattributes"),
    ("open('vendor/p/.gitattributes', 'w').write('* diff=mine\\n')", "vendor/p/.gitattributes"),
    (
        "os.makedirs('node_modules/x'); open('node_modules/x/.gitattributes', 'w').write('* diff=mine\\n')",
        "node_modules/x/.gitattributes",
    ),
    // Two short links over a directory that is deeper than a path can be.
    (
        "n = 'd' * 200\nos.mkdir('far'); os.chdir('far')\nfor i in range(15): os.mkdir(n); os.chdir(n)\nos.chdir(top); os.symlink('far/' + '/'.join([n] * 15), 'half')\nos.chdir('half')\nfor i in range(15): os.mkdir(n); os.chdir(n)\nopen('.envrc', 'w').write('x')\nos.chdir(top); os.symlink('half/' + '/'.join([n] * 15), 'pkg')",
        "pkg/.envrc",
    ),
];

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    let ws = rig.place.path("ws");
    rig.place.write("ws/vendor/p/a.c", "int a;\n");
    rig.place.write("ws/vendor/lib/a.c", "int a;\n");
    git(&ws.join("vendor/lib"), &["init", "--quiet"]);
    for at in [ws.clone(), ws.join("vendor/lib")] {
        git(&at, &["config", "diff.mine.textconv", "cat"]);
    }
    rig
}

#[test]
fn what_a_server_plants_beneath_packages_is_put_back_where_it_counts() {
    for (attack, planted) in ATTACKS {
        let control = rig();
        let text = program(&control, &format!("top = os.getcwd()\n{attack}"));
        assert!(Command::new("python3").args(["-c", &text]).status().unwrap().success());
        assert!(control.place.path("ws").join(planted).exists(), "{attack}: the control");

        let rig = rig().peeker(&json!({"contained": true}));
        let mut proxy = session(&rig);
        let text = program(&rig, &format!("top = os.getcwd()\n{attack}"));
        let said = proxy.call("peeker__run", &json!({"where": hidden(&text)})).text();
        proxy.finish();
        assert!(said.contains("host_executes_put_back"), "{attack}: {said}");
        assert!(!rig.place.path("ws").join(planted).exists(), "{attack}: {said}");
    }
}

/// What is free beneath packages for the agent is free for servers.
#[test]
fn what_counts_for_nobody_beneath_packages_stays() {
    let rig = rig().peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let work =
        "os.makedirs('node_modules/x/.vscode'); open('node_modules/x/.vscode/a.json', 'w').close()
open('vendor/lib/b.c', 'w').close(); os.symlink('nowhere', 'dangling')";
    proxy.call("peeker__run", &json!({"where": hidden(&program(&rig, work))})).good();
    proxy.finish();
    assert!(rig.place.path("ws/node_modules/x/.vscode/a.json").exists());
    assert!(fs::symlink_metadata(rig.place.path("ws/dangling")).is_ok());
}
