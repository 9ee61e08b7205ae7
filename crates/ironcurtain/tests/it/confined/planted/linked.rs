//! Links that count: no cage can make one read-only, so what a server does to them is put back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use ic_escalation::Reply;
use ic_policy::Decision;
use ic_testkit::git_host::git;
use serde_json::json;

use super::super::{Rig, hidden};
use super::kept::{Approver, answer};
use super::{live, program, session, workspace};
use crate::proxy::until;

/// The user's links, each with its target.
const LINKS: &[(&str, &str)] = &[
    (".envrc", "lib/envrc"),
    ("run/hooks", "../lib/hooks"),
    (".vscode", "nowhere/yet"),
    (".github/workflows", "../lib/flows"),
];

/// What a server does, and whether a file of it could be kept.
const ATTACKS: &[&str] = &[
    "os.unlink('.envrc')",
    "os.unlink('run/hooks')",
    "os.unlink('.vscode')",
    "os.unlink('.github/workflows')",
    "os.rename('.envrc', 'src/plain')",
    "os.rename('run/hooks', 'src/plain')",
    "os.rename('.envrc', '.npmrc')",
    "os.rename('run', 'src/run')",
    "os.unlink('.envrc'); open('.envrc', 'w').write('touch ' + canary)",
    "os.unlink('.envrc'); os.symlink('src/a.txt', '.envrc')",
    "os.unlink('run/hooks'); os.mkdir('run/hooks'); hook('run/hooks/pre-commit')",
    "os.unlink('run/hooks'); os.mkdir('evil'); hook('evil/pre-commit'); os.symlink('../evil', 'run/hooks')",
    // A link in the place of the directory above: nothing is made through it.
    "os.rename('run', 'src/run'); os.makedirs('src/in/hooks'); hook('src/in/hooks/pre-commit'); os.symlink('src/in', 'run')",
    "os.unlink('run/hooks'); os.rmdir('run'); os.symlink('lib', 'run')",
    "os.unlink('run/hooks'); os.rmdir('run'); open('run', 'w').close()",
    "[os.unlink(it) for it in ('.envrc', 'run/hooks', '.vscode', '.github/workflows')]",
];

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    let ws = rig.place.path("ws");
    fs::remove_dir_all(ws.join(".github/workflows")).unwrap();
    rig.place.write("ws/lib/envrc", "mine");
    rig.place.write("ws/lib/flows/ci.yml", "mine");
    rig.place.write("ws/lib/hooks/post-commit", "#!/bin/sh\ntouch ../mine\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(ws.join("lib/hooks/post-commit"), executable).unwrap();
    rig.place.dir("ws/run");
    for (link, target) in LINKS {
        symlink(target, ws.join(link)).unwrap();
    }
    git(&ws, &["config", "core.hooksPath", "run/hooks"]);
    rig
}

fn is_as_it_was(rig: &Rig) -> bool {
    let is = |link: &str, target: &str| {
        let path = rig.place.path("ws").join(link);
        let is_real = fs::symlink_metadata(path.parent().unwrap()).is_ok_and(|it| it.is_dir());
        is_real && fs::read_link(path).is_ok_and(|it| it == Path::new(target))
    };
    LINKS.iter().all(|(link, target)| is(link, target))
}

#[test]
fn a_link_that_counts_is_put_back_whatever_a_server_does_to_it() {
    for attack in ATTACKS {
        let control = rig();
        let text = program(&control, attack);
        assert!(Command::new("python3").args(["-c", &text]).status().unwrap().success());
        assert!(!is_as_it_was(&control), "{attack}: the control does nothing");

        let rig = rig().peeker(&json!({"contained": true}));
        let mut proxy = session(&rig);
        let call = json!({"where": hidden(&program(&rig, attack))});
        let text = proxy.call("peeker__run", &call).bad();
        assert!(text.contains("host_executes_put_back"), "{attack}: {text}");
        assert!(!text.contains("NOT put back"), "{attack}: {text}");
        assert!(is_as_it_was(&rig), "{attack}: {text}");
        let work = json!({"where": hidden(&program(&rig, "open('src/new', 'w').close()"))});
        until("the server works", || {
            proxy.call("peeker__run", &work).result()["isError"] == json!(false)
        });
        proxy.finish();
        assert!(is_as_it_was(&rig), "{attack}");
        assert!(live(&rig, "."), "{attack}");
        assert!(!rig.place.path("canary").exists(), "{attack}: the canary was run");
        assert!(rig.place.path("mine").exists(), "{attack}: the user's own hook runs");
        assert_eq!(rig.read("ws/lib/envrc"), "mine", "{attack}");
        assert!(fs::symlink_metadata(rig.place.path("ws/lib/hooks/hooks")).is_err(), "{attack}");
        assert!(!rig.place.path("ws/src/in/hooks/hooks").exists(), "{attack}");
        let mut records = rig.records("session");
        records.retain(|it| it["arguments"]["event"] == "host-executes-put-back");
        assert_eq!(records.len(), 1, "{attack}");
    }
}

/// The same link, made anew, is no change; nor is what the user does while the server sleeps.
#[test]
fn a_link_that_leads_where_it_did_stays() {
    let rig = rig().peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let attack = "os.symlink('lib/envrc', 'src/l'); os.rename('src/l', '.envrc')";
    proxy.call("peeker__run", &json!({"where": hidden(&program(&rig, attack))})).good();
    assert!(is_as_it_was(&rig));
    until("the user's own link stays", || {
        fs::remove_file(rig.place.path("ws/.vscode")).ok();
        symlink("elsewhere", rig.place.path("ws/.vscode")).unwrap();
        let work = json!({"where": hidden(&program(&rig, "pass"))});
        proxy.call("peeker__run", &work);
        fs::read_link(rig.place.path("ws/.vscode")).is_ok_and(|it| it == Path::new("elsewhere"))
    });
    proxy.finish();
}

/// A file in the place of a link is asked about, and takes its place if that is approved.
#[test]
fn a_file_in_the_place_of_a_link_can_be_kept() {
    for is_approved in [true, false] {
        let rig = rig().peeker(&json!({"contained": true}));
        let mut approver = Approver::at(&rig);
        let mut proxy = session(&rig);
        let attack = "os.unlink('.envrc'); open('.envrc', 'w').write('new\\n')";
        let call = json!({"where": hidden(&program(&rig, attack))});
        let id = proxy.ask_call("peeker__run", &call);
        let question = approver.question();
        assert!(is_as_it_was(&rig), "it is put back before anybody is asked");
        match is_approved {
            true => answer(&question, &Reply::Approve(None), Decision::Approved),
            false => answer(&question, &Reply::Deny, Decision::Denied),
        }
        proxy.answer(&id);
        proxy.finish();
        assert_eq!(is_as_it_was(&rig), !is_approved);
        let is_file = fs::symlink_metadata(rig.place.path("ws/.envrc")).unwrap().is_file();
        assert_eq!(is_file, is_approved);
        assert_eq!(rig.read("ws/lib/envrc"), "mine", "what the link led to is not touched");
    }
}
