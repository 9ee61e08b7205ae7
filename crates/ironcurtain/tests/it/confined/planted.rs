//! Servers that are not ours and may write in a workspace, planting what the host executes later.
//!
//! Each attack is a program that the server runs. Without a cage it has to work; through the proxy the
//! user's own git runs nothing of it, and no name that counts is there.

mod attribution;
mod captured;
mod compiled;
mod kept;
mod killed;
mod later;
mod linked;
mod obeyed;
mod outlets;
mod outward;
mod packages;
mod twins;

use std::fs;
use std::path::Path;
use std::process::Command;

use ic_testkit::Proxy;
use ic_testkit::git_host::git;
use serde_json::json;

use super::{Rig, hidden, script};
use crate::proxy::until;

/// What an attack is to achieve, so that the control can show that it does.
enum Aim {
    /// The user's git, run in this directory of the workspace, runs the canary.
    Runs(&'static str),
    /// This name is there.
    Makes(&'static str),
    /// The user's git does not work any more.
    Breaks,
}

struct Attack {
    name: &'static str,
    program: &'static str,
    aim: Aim,
}

const SHAPE: &str = "
def shape(at, tree='.'):
    os.makedirs(at + '/objects'); os.makedirs(at + '/refs')
    open(at + '/HEAD', 'w').write('ref: refs/heads/main\\n')
    open(at + '/config', 'w').write('[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ' + tree + '\\nfsmonitor = \"touch ' + canary + '; false\"\\n')
def hook(at):
    open(at, 'w').write('#!/bin/sh\\ntouch ' + canary + '\\n'); os.chmod(at, 0o755)
";

const ATTACKS: &[Attack] = &[
    Attack {
        name: "a hook",
        program: "os.makedirs('.git/hooks', exist_ok=True); hook('.git/hooks/pre-commit')",
        aim: Aim::Runs("."),
    },
    Attack {
        name: "a setting",
        program: "open('.git/config', 'a').write('[core]\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        aim: Aim::Runs("."),
    },
    Attack {
        name: "the directory of hooks that a setting names",
        program: "os.makedirs('tools/hooks'); hook('tools/hooks/pre-commit')",
        aim: Aim::Runs("."),
    },
    Attack {
        name: "another .git in its place",
        program: "os.rename('.git', 'old'); shape('.git', '..')",
        aim: Aim::Runs("."),
    },
    Attack {
        name: "another directory in the place of one with a repository",
        program: "os.rename('nested', 'moved'); os.mkdir('nested'); shape('nested/.git', '..')",
        aim: Aim::Runs("nested"),
    },
    Attack {
        name: "a repository by its shape",
        program: "shape('lib/inner')",
        aim: Aim::Runs("lib/inner"),
    },
    Attack {
        name: "a repository made of a directory of the user's",
        program: "shape('src')",
        aim: Aim::Runs("src"),
    },
    Attack { name: "no HEAD", program: "os.unlink('.git/HEAD')", aim: Aim::Breaks },
    Attack {
        name: "orders for a shell",
        program: "open('.envrc', 'w').write('touch ' + canary)",
        aim: Aim::Makes(".envrc"),
    },
    Attack {
        name: "tasks of an editor",
        program: "os.mkdir('.vscode'); open('.vscode/tasks.json', 'w').write('{}')",
        aim: Aim::Makes(".vscode/tasks.json"),
    },
    Attack {
        name: "a task beside the user's",
        program: "open('.idea/workspace.xml', 'w').write('planted')",
        aim: Aim::Makes(".idea/workspace.xml"),
    },
    Attack {
        name: "a workflow",
        program: "os.rename('.github', 'hub'); os.makedirs('.github/workflows'); open('.github/workflows/x.yml', 'w').write('')",
        aim: Aim::Makes(".github/workflows/x.yml"),
    },
    Attack {
        name: "a workflow beside the user's",
        program: "open('.github/workflows/x.yml', 'w').write('')",
        aim: Aim::Makes(".github/workflows/x.yml"),
    },
    Attack {
        name: "settings in a directory that counts by itself alone",
        program: "open('.cargo/config.toml', 'w').write('[build]')",
        aim: Aim::Makes(".cargo/config.toml"),
    },
    Attack {
        name: "a link to orders",
        program: "os.symlink('src/a.txt', '.npmrc')",
        aim: Aim::Makes(".npmrc"),
    },
    Attack {
        name: "a link that leads nowhere yet",
        program: "os.symlink('nowhere', '.envrc')",
        aim: Aim::Makes(".envrc"),
    },
    Attack {
        name: "another name for a file",
        program: "os.link('src/a.txt', '.envrc')",
        aim: Aim::Makes(".envrc"),
    },
    Attack {
        name: "a pointer to a repository",
        program: "shape('evil', '../lib'); open('lib/.git', 'w').write('gitdir: ../evil')",
        aim: Aim::Runs("lib"),
    },
    Attack {
        name: "a directory that shares a repository",
        program: "shape('evil'); os.mkdir('lib/w'); open('lib/w/HEAD', 'w').write('ref: refs/heads/main'); open('lib/w/commondir', 'w').write('../../evil')",
        aim: Aim::Makes("lib/w/commondir"),
    },
    Attack {
        name: "a link in the place of a directory with a repository",
        program: "os.rename('nested', 'moved'); os.mkdir('other'); shape('other/.git', '..'); os.symlink('other', 'nested')",
        aim: Aim::Runs("nested"),
    },
    Attack {
        name: "another tree in the place of one with a repository deep in it",
        program: "os.rename('deep', 'old'); os.makedirs('deep/a/b'); shape('deep/a/b/.git', '..')",
        aim: Aim::Runs("deep/a/b"),
    },
    Attack {
        name: "a repository in a directory that is closed",
        program: "os.makedirs('shut/in'); shape('shut/in/.git', '..'); os.chmod('shut/in', 0o555); os.chmod('shut', 0o555)",
        aim: Aim::Runs("shut/in"),
    },
    Attack {
        name: "a hook among very many files",
        program: "os.mkdir('many'); [open('many/%d' % i, 'w').close() for i in range(20000)]; shape('many/r/.git', '..')",
        aim: Aim::Runs("many/r"),
    },
    Attack {
        name: "very many orders",
        program: "[(os.makedirs('d/%d' % i), open('d/%d/.envrc' % i, 'w').close()) for i in range(1000)]",
        aim: Aim::Makes("d/999/.envrc"),
    },
];

/// Makes the user's workspace.
fn workspace(rig: &Rig) -> std::path::PathBuf {
    let ws = rig.place.dir("ws");
    git(&ws, &["init", "-q", "-b", "main", "."]);
    for file in
        ["src/a.txt", "lib/b.txt", ".github/workflows/ci.yml", ".idea/mine.xml", ".cargo/notes"]
    {
        rig.place.write(format!("ws/{file}"), file);
    }
    git(&ws, &["add", "."]);
    git(&ws, &["commit", "-q", "-m", "first"]);
    for at in ["ws/nested", "ws/deep/a/b"] {
        git(&rig.place.dir(at), &["init", "-q", "-b", "main", "."]);
    }
    ws
}

fn program(rig: &Rig, attack: &str) -> String {
    let (ws, canary) = (rig.text("ws"), rig.text("canary"));
    format!("import os\ncanary = {canary:?}\nos.chdir({ws:?})\n{SHAPE}\n{attack}\n")
}

/// What the user does afterwards; returns whether git works in the workspace.
fn live(rig: &Rig, at: &str) -> bool {
    let run = |at: &Path, words: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        git.args(who).args(words).current_dir(at).env("HOME", rig.text("home"));
        git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().status.success()
    };
    let ws = rig.place.path("ws");
    let works = run(&ws, &["status"]);
    for words in [&["status"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
        run(&ws.join(at), words);
    }
    works
}

fn names_hooks(rig: &Rig, attack: &Attack) {
    if attack.name.contains("a setting names") {
        git(&rig.place.path("ws"), &["config", "core.hooksPath", "tools/hooks"]);
    }
}

fn session(rig: &Rig) -> Proxy {
    let mut proxy = rig.start_in(&["--workspace", &rig.text("ws")]);
    proxy.initialize();
    proxy
}

/// The attack, with nobody who looks.
fn control(attack: &Attack) {
    let rig = Rig::new();
    workspace(&rig);
    names_hooks(&rig, attack);
    let program = program(&rig, attack.program);
    assert!(Command::new("python3").args(["-c", &program]).status().unwrap().success());
    let is_achieved = match attack.aim {
        Aim::Runs(at) => {
            live(&rig, at);
            rig.place.path("canary").exists()
        }
        Aim::Makes(name) => fs::symlink_metadata(rig.place.path("ws").join(name)).is_ok(),
        Aim::Breaks => !live(&rig, "."),
    };
    assert!(is_achieved, "{}: the control does nothing", attack.name);
}

fn check(rung: &str, rig: Rig, attack: &Attack) {
    let what = format!("{rung}, {}", attack.name);
    workspace(&rig);
    names_hooks(&rig, attack);
    let rig = rig.peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let call = json!({"where": hidden(&program(&rig, attack.program))});
    let answer = proxy.call("peeker__run", &call);
    assert_eq!(answer.result()["isError"], json!(true), "{what}: {}", answer.text());
    // It can still do its work.
    let work = json!({"where": hidden(&program(&rig, "open('src/new.txt', 'w').write('new')"))});
    until("the server works", || {
        proxy.call("peeker__run", &work).result()["isError"] == json!(false)
    });
    proxy.finish();
    let at = match attack.aim {
        Aim::Runs(at) => at,
        Aim::Makes(name) => {
            let made = rig.place.path("ws").join(name);
            assert!(fs::symlink_metadata(made).is_err(), "{what}: it is there");
            "."
        }
        Aim::Breaks => ".",
    };
    assert!(live(&rig, at), "{what}: the user's git does not work");
    assert!(!rig.place.path("canary").exists(), "{what}: the canary was run");
    for kept in ["ws/src/a.txt", "ws/lib/b.txt", "ws/src/new.txt", "ws/.github/workflows/ci.yml"] {
        assert!(rig.place.path(kept).exists(), "{what}: {kept}");
    }
    for nested in ["ws/nested/.git/HEAD", "ws/deep/a/b/.git/HEAD"] {
        assert!(rig.place.path(nested).exists(), "{what}: {nested}");
    }
}

#[test]
fn a_third_party_server_plants_nothing_that_the_host_executes() {
    for attack in ATTACKS {
        control(attack);
        check("namespaces", Rig::new(), attack);
    }
}

/// The same with the kernel's help that bubblewrap gives; Landlock alone cannot help.
#[test]
fn every_rung_keeps_what_the_host_executes_or_does_not_start_the_server() {
    for (rung, rig) in Rig::on_every_rung() {
        match rung {
            "landlock" => {
                workspace(&rig);
                let rig = rig.peeker(&json!({"contained": true}));
                let mut proxy = session(&rig);
                let text = proxy.call("peeker__environment", &json!({})).bad();
                assert!(
                    text.contains("Landlock alone cannot make parts of it read-only"),
                    "{text}"
                );
                assert!(text.contains(&rig.text("ws")), "{text}");
                proxy.finish();
            }
            rung => {
                let attacks = ATTACKS
                    .iter()
                    .filter(|it| ["a hook", "orders for a shell", "a workflow"].contains(&it.name));
                drop(rig);
                for attack in attacks {
                    let rig = if rung == "namespaces" { Rig::new() } else { Rig::with_only(rung) };
                    check(rung, rig, attack);
                }
            }
        }
    }
}

/// A directory that counts by itself alone, such as `.github`, does not hide what counts in it.
#[test]
fn what_counts_in_a_directory_that_counts_by_itself_is_read_only() {
    let rig = Rig::new();
    workspace(&rig);
    rig.place.write("ws/.cargo/config.toml", "the user's");
    let rig = rig.peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let run = |proxy: &mut Proxy, text: &str| {
        let call = json!({"where": hidden(&program(&rig, text))});
        proxy.call("peeker__run", &call).result()["isError"] == json!(false)
    };
    for name in [".github/workflows/ci.yml", ".cargo/config.toml"] {
        for how in [
            format!("open('{name}', 'w').write('planted')"),
            format!("os.unlink('{name}')"),
            format!("os.rename('{name}', 'src/aside')"),
        ] {
            assert!(!run(&mut proxy, &how), "{how}");
        }
    }
    // What else is in them is free.
    assert!(run(&mut proxy, "open('.github/notes', 'w').close(); os.unlink('.cargo/notes')"));
    proxy.finish();
    assert_eq!(rig.read("ws/.github/workflows/ci.yml"), ".github/workflows/ci.yml");
    assert_eq!(rig.read("ws/.cargo/config.toml"), "the user's");
}

/// What was planted is in the quarantine, the answer and the record name it, and nothing else is lost.
#[test]
fn what_a_server_planted_is_kept_in_the_quarantine_and_named() {
    let rig = Rig::new();
    workspace(&rig);
    let rig = rig.peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let attack = "open('.envrc', 'w').write('planted'); open('src/b.txt', 'w').write('work')";
    let call = json!({"where": hidden(&program(&rig, attack))});
    let text = proxy.call("peeker__run", &call).bad();
    let part = format!("moved to the quarantine: `{}`", rig.text("ws/.envrc"));
    assert!(text.starts_with("FAILED: host_executes_put_back: ") && text.contains(&part), "{text}");
    proxy.finish();
    assert_eq!(rig.read("ws/src/b.txt"), "work");
    let kept = rig.place.sessions().remove(0).join("quarantine/0-.envrc");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "planted");
    let reason = rig.records("outcome").remove(0)["reason"].take();
    let reason = reason.as_str().unwrap();
    assert!(reason.contains(&part) && reason.contains(kept.to_str().unwrap()), "{reason}");
}

/// The user makes something while the server runs: it is read-only for the server from then on.
#[test]
fn what_the_user_makes_later_is_read_only_for_a_server_that_runs() {
    let rig = Rig::new();
    workspace(&rig);
    let rig = rig.peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let run = |proxy: &mut Proxy, program_text: &str| {
        let call = json!({"where": hidden(&program(&rig, program_text))});
        let answer = proxy.call("peeker__run", &call);
        (answer.result()["isError"] == json!(false), answer.text())
    };
    assert!(run(&mut proxy, "pass").0);
    rig.place.write("ws/.envrc", "the user's");
    let attack = "open('.envrc', 'w').write('planted')";
    let (_, text) = run(&mut proxy, attack);
    assert!(text.contains("`peeker` is started anew") && text.contains("/ws/.envrc"), "{text}");
    until("the server works", || run(&mut proxy, "pass").0);
    let (is_good, text) = run(&mut proxy, attack);
    assert!(!is_good && text.contains("Read-only file system"), "{text}");
    proxy.finish();
    assert_eq!(rig.read("ws/.envrc"), "the user's");
}

/// A call that nobody waits for any more: the server is ended before the workspace is looked at.
#[test]
fn a_call_that_is_not_answered_is_looked_after_too() {
    let rig = Rig::new();
    workspace(&rig);
    let rig = rig.peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let attack = "open('.envrc', 'w').write('planted'); os._exit(1)";
    let call = json!({"where": hidden(&program(&rig, attack))});
    let text = proxy.call("peeker__run", &call).bad();
    assert!(text.contains("host_executes_put_back"), "{text}");
    proxy.finish();
    assert!(!rig.place.path("ws/.envrc").exists());
}

/// A directory that `allowWrite` names is looked after like a workspace; the session's own sandbox is free.
#[test]
fn what_allow_write_names_counts_and_the_sessions_own_sandbox_does_not() {
    let rig = Rig::new();
    workspace(&rig);
    let write = json!({"sandbox": {"filesystem": {"allowWrite": [rig.text("ws")]}}});
    let rig = rig.peeker(&write);
    let mut proxy = rig.start();
    let attack = "open('.envrc', 'w').write('planted')";
    let call = json!({"where": hidden(&program(&rig, attack))});
    let text = proxy.call("peeker__run", &call).bad();
    assert!(text.contains("host_executes_put_back"), "{text}");
    proxy.finish();
    assert!(!rig.place.path("ws/.envrc").exists());

    for named in ["ws/.git", "ws/.idea"] {
        let rig = Rig::new();
        workspace(&rig);
        let write = json!({"sandbox": {"filesystem": {"allowWrite": [rig.text(named)]}}});
        let rig = rig.peeker(&write);
        let mut proxy = rig.start();
        let text = proxy.call("peeker__environment", &json!({})).bad();
        assert!(text.contains("no third-party server may write there"), "{named}: {text}");
        proxy.finish();
    }

    let rig = Rig::new().peeker(&json!({"contained": true}));
    let mut proxy = rig.start();
    let envrc = rig.sandbox().join(".envrc");
    let poke = json!({"where": hidden(envrc.to_str().unwrap()), "text": "free"});
    proxy.call("peeker__poke", &poke).good();
    proxy.finish();
    assert_eq!(fs::read_to_string(envrc).unwrap(), "free");
}

/// What a server does before its first call is looked after too.
#[test]
fn a_server_that_plants_something_when_it_is_started_does_not_run() {
    let mut rig = Rig::new();
    workspace(&rig);
    let peeker = fs::read_to_string(script("servers/peeker.py")).unwrap();
    let planting = format!("open('{}', 'w').close()\n", rig.text("ws/.envrc"));
    let (head, tail) = peeker.split_once("import json\n").unwrap();
    let planter =
        rig.place.write("elsewhere/server.py", format!("{head}import json\n{planting}{tail}"));
    let cage = json!({"filesystem": {"allowRead": [&planter]}});
    let entry = json!({"command": "python3", "args": ["-S", "-B", &planter], "contained": true,
        "sandbox": cage});
    rig.servers.insert("peeker".to_owned(), entry);
    let mut proxy = session(&rig);
    let text = proxy.call("peeker__environment", &json!({})).bad();
    assert!(text.contains("host_executes_put_back"), "{text}");
    proxy.finish();
    assert!(!rig.place.path("ws/.envrc").exists());
    let mut records = rig.records("session");
    records.retain(|it| it["reason"].as_str().is_some_and(|it| it.contains("/ws/.envrc")));
    assert!(!records.is_empty());
}
