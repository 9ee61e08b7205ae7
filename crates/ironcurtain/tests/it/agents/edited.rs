//! The user works on in the workspace while the agent runs: saves listed files, uses git. The agent lives on,
//! and nothing that it writes in such a moment stays.

use std::fs;
use std::path::Path;
use std::process::Command;

use ic_testkit::git_host::git;
use ic_testkit::place::Output;
use serde_json::json;

use super::{Stage, says, uses};
use crate::proxy::until;

/// Files that programs of the user's run or take orders from.
const LISTED: [&str; 4] = [".envrc", ".mcp.json", "sub/.envrc", ".vscode/tasks.json"];
const CANARY: &str = "canary-52c1";

/// A repository with listed files, and a branch that has others.
fn repository(stage: &Stage) -> std::path::PathBuf {
    let work = stage.place.path("work");
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    git(&work, &["config", "user.name", "Ada"]);
    git(&work, &["config", "user.email", "ada@example.com"]);
    for name in LISTED {
        stage.place.write(format!("work/{name}"), "first\n");
    }
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "first"]);
    git(&work, &["checkout", "--quiet", "-b", "other"]);
    git(&work, &["rm", "--quiet", "-r", ".vscode", ".mcp.json"]);
    stage.place.write("work/.envrc", "other\n");
    stage.place.write("work/.tool-versions", "other\n");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "other"]);
    git(&work, &["checkout", "--quiet", "main"]);
    work
}

/// Saves a file as most editors do: another one takes its place.
fn save(work: &Path, name: &str, text: &str) {
    let path = work.join(name);
    let new = path.with_extension("new~");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// Saves a file as vim and Emacs do: the old one is moved away, and a new one is made.
fn save_with_backup(work: &Path, name: &str, text: &str) {
    let path = work.join(name);
    let backup = path.with_extension("old~");
    fs::rename(&path, &backup).ok();
    fs::write(&path, text).unwrap();
    fs::remove_file(backup).ok();
}

/// Everything that a user does meanwhile.
fn work_on(stage: &Stage, work: &Path) {
    for round in 0..3 {
        for name in LISTED {
            save(work, name, &format!("saved {round}\n"));
            git(work, &["status"]);
            save_with_backup(work, name, &format!("saved again {round}\n"));
        }
        git(work, &["config", "my.number", &round.to_string()]);
    }
    stage.place.dir("remote");
    git(&stage.place.path("remote"), &["init", "--quiet", "--bare"]);
    let remote = stage.place.path("remote").display().to_string();
    git(work, &["remote", "add", "origin", &remote]);
    git(work, &["push", "--quiet", "-u", "origin", "main"]);
    for branch in ["other", "main"] {
        // An agent that makes the files first is in the way of git, which says so.
        let checkout =
            ["-C", &work.display().to_string(), "checkout", "--quiet", "--force", branch];
        Command::new("git").args(checkout).env("HOME", "/nonexistent").output().unwrap();
    }
}

/// Runs an agent whose shell does `script` until `work/go` is there, while the user works on.
fn beside(stage: &Stage, work: &Path, script: &str) -> Output {
    let command = format!("{script}\necho ALL-$((40 + 2))");
    let bash = uses("toolu_1", "Bash", json!({"command": command, "timeout": 120_000}));
    stage.provider.push([bash, says("Done.")]);
    let started = stage.begin(&["Wait for it."]);
    until("a command of the agent", || stage.read("work/begun").is_some());
    work_on(stage, work);
    stage.place.write("work/go", "");
    started.end()
}

#[track_caller]
fn check_alive(stage: &Stage, output: &Output) {
    // There may be a question that nobody answered.
    assert!([0, 3].contains(&output.code), "{output:?}");
    assert_eq!(output.stdout.trim(), "Done.", "{output:?}");
    assert!(!output.stderr.contains("could not be looked at"), "{output:?}");
    assert!(stage.last_request().contains("ALL-42"), "{}", stage.last_request());
}

#[test]
fn the_agent_lives_on_while_the_user_saves_what_is_read_only_for_it() {
    let Some(stage) = Stage::claude([]) else { return };
    let work = repository(&stage);
    // Soon after the last of it the agent can write none of them.
    let script = "echo x > begun; while test ! -e go; do sleep 0.05; done
        n=0; while :; do
          written=; for name in .envrc .mcp.json sub/.envrc .vscode/tasks.json; do
            if test -e $name && echo canary-52c1 >> $name; then written=\"$written $name\"; fi
          done 2>/dev/null
          test -n \"$written\" || break
          sleep 0.1; n=$((n + 1)); test $n -lt 100 || { echo writable: $written; exit 1; }
        done";
    let output = beside(&stage, &work, script);
    check_alive(&stage, &output);
    assert_eq!(git(&work, &["config", "branch.main.remote"]), "origin");
    check_clean(&work, &output);
}

/// Nothing that the agent wrote is in what the user's programs run.
#[track_caller]
fn check_clean(work: &Path, output: &Output) {
    for name in LISTED.into_iter().chain([".tool-versions"]) {
        let text = fs::read_to_string(work.join(name)).unwrap_or_default();
        assert!(!text.contains(CANARY), "{name}: {text}; {output:?}");
    }
}

/// The agent's programs wait for the moment in which a file is not read-only, and keep what they opened.
const ATTACK: &str = r#"
import mmap, os, time
names = [".envrc", ".mcp.json", "sub/.envrc", ".vscode/tasks.json", ".tool-versions"]
text = b"touch CANARY\n"
kept = []
open("begun", "w").close()
won = 0
while not os.path.exists("go"):
    for name in names + [name + "~" for name in names]:
        for flags in (os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_CREAT | os.O_EXCL):
            try:
                file = os.open(name, flags)
            except OSError:
                continue
            won += 1
            os.write(file, text)
            kept.append(file) if len(kept) < 500 else os.close(file)
    for file in kept:
        os.pwrite(file, text, 0)
time.sleep(3)
for file in kept:
    os.pwrite(file, text, 0)
open("won", "w").write(str(won))
"#;

#[test]
fn what_an_agent_writes_in_the_moment_of_a_save_does_not_stay() {
    let Some(stage) = Stage::claude([]) else { return };
    let work = repository(&stage);
    stage.place.write("work/attack.py", ATTACK.replace("CANARY", CANARY));
    let output = beside(&stage, &work, "/usr/bin/python3 attack.py");
    check_alive(&stage, &output);
    check_clean(&work, &output);
}
