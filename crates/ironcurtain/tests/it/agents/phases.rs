//! The host is killed (`kill -9`) while it starts an agent, in a turn, and while it ends one: nothing of it is
//! left, the workspace is whole, and the next start works.

use std::path::Path;

use ic_testkit::git_host::git;
use ic_testkit::proxy::{Process, records};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Stage, Started, says, uses};
use crate::proxy::until;

const DEADLINE: std::time::Duration = std::time::Duration::from_mins(1);
/// Commits, plants something, and ends.
const WORKS: &str = "echo made > made.txt; git add made.txt; git commit -qm mine; echo evil > .mcp.json; echo x > begun";

/// Sets a repository up in the workspace, and lets one agent run at a time.
fn stage() -> Option<Stage> {
    let stage = Stage::claude([])?;
    let work = stage.place.path("work");
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    git(&work, &["config", "user.name", "Ada"]);
    git(&work, &["config", "user.email", "ada@example.com"]);
    stage.place.write("work/.envrc", "export A=1\n");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "first"]);
    let set = stage.place.run(["config", "set", "agent.maxConcurrentSessions", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    Some(stage)
}

fn shell(stage: &Stage, command: &str) {
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
}

/// Returns what is mounted, and which sockets there are, as far as it is of this test.
fn left(stage: &Stage) -> Vec<String> {
    let root = stage.place.path("").display().to_string();
    let lists =
        ["/proc/self/mountinfo", "/proc/net/unix"].map(|it| std::fs::read_to_string(it).unwrap());
    let lines = lists.iter().flat_map(|list| list.lines());
    lines.filter(|line| line.contains(root.trim_end_matches('/'))).map(ToOwned::to_owned).collect()
}

/// Starts an agent, kills the host as soon as `when` returns, and looks at what is left.
fn killed(stage: &Stage, words: &[&str], when: impl FnOnce(&mut Started)) {
    let work = stage.place.path("work");
    let config = std::fs::read(work.join(".git/config")).unwrap();
    let mut started = stage.begin(words);
    when(&mut started);
    let held: Vec<_> = started.descendants().into_iter().map(Process::hold).collect();
    started.send(Signal::KILL);
    assert_eq!(started.end().code, 137);
    for process in held {
        assert!(process.is_gone_within(DEADLINE), "something of the agent still runs");
    }
    assert_eq!(left(stage), [""; 0]);
    // What was planted is put back, by the guard or by the next start.
    stage.provider.push([says("Next.")]);
    let output = stage.start(&["Go on."]);
    assert_eq!(output.code, 0, "{output:?}");
    // The model may not have said the first yet.
    assert!(["Done.", "Next."].contains(&output.stdout.trim()), "{output:?}");
    check_whole(stage, &work, &config);
}

fn check_whole(stage: &Stage, work: &Path, config: &[u8]) {
    assert_eq!(std::fs::read(work.join(".git/config")).unwrap(), config);
    assert_eq!(stage.read("work/.envrc").as_deref(), Some("export A=1\n"));
    assert_eq!(stage.read("work/a.txt").as_deref(), Some("what was there"));
    assert!(!work.join(".mcp.json").exists());
    git(work, &["fsck", "--strict"]);
    let log = git(work, &["log", "--format=%s"]).replace('\n', " | ");
    assert!(["first", "mine | first"].contains(&log.as_str()), "{log}");
    assert!(!work.join(".git/index.lock").exists());
    // The user goes on.
    git(work, &["commit", "--quiet", "--allow-empty", "-m", "by the user"]);
}

fn has_record(stage: &Stage, is: impl Fn(&Value) -> bool) -> bool {
    let log = stage.place.sessions().pop().map(|it| it.join("audit.jsonl"));
    let text = log.and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default();
    // The last line may not be whole yet.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).any(|it| is(&it))
}

#[test]
fn before_there_is_an_agent() {
    let Some(stage) = stage() else { return };
    killed(&stage, &["Work."], |_| until("a session", || !stage.place.sessions().is_empty()));
}

#[test]
fn while_the_cage_is_made() {
    let Some(stage) = stage() else { return };
    killed(&stage, &["Work."], |started| {
        started.expect("limits:");
        until("a process", || !started.descendants().is_empty());
    });
}

#[test]
fn while_its_git_is_made_ready() {
    let Some(stage) = stage() else { return };
    killed(&stage, &["Work."], |_| {
        let is_made =
            || stage.place.sessions().pop().is_some_and(|it| it.join("agent-git/git").exists());
        until("its git", is_made);
    });
}

#[test]
fn while_its_model_thinks() {
    let Some(stage) = stage() else { return };
    shell(&stage, WORKS);
    killed(&stage, &["Work."], |_| stage.provider.until_asked(1));
}

#[test]
fn while_its_shell_works() {
    let Some(stage) = stage() else { return };
    shell(&stage, &format!("{WORKS}; sleep 1000"));
    killed(&stage, &["Work."], |_| until("a command", || stage.read("work/begun").is_some()));
}

#[test]
fn while_a_call_waits_for_a_person() {
    let Some(stage) = stage() else { return };
    stage.place.dir("home/Documents");
    let path = stage.place.path("home/Documents/b.txt").display().to_string();
    let call =
        stage.row.calls("toolu_1", "filesystem__write_file", json!({"path": path, "content": "x"}));
    stage.provider.push([call, says("Done.")]);
    killed(&stage, &["--wait", "Work."], |started| {
        started.expect("A call is waiting for approval; ");
    });
    assert!(!Path::new(&path).exists());
}

#[test]
fn while_what_it_did_is_taken_over() {
    let Some(stage) = stage() else { return };
    shell(&stage, WORKS);
    killed(&stage, &["Work."], |_| {
        until("a takeover", || has_record(&stage, |it| it["tool"] == "git_commit"));
    });
}

#[test]
fn while_it_is_asked_whether_to_keep_what_was_planted() {
    let Some(stage) = stage() else { return };
    shell(&stage, WORKS);
    killed(&stage, &["--wait", "Work."], |started| {
        started.expect("A call is waiting for approval; ");
    });
}

#[test]
fn after_the_answer() {
    let Some(stage) = stage() else { return };
    shell(&stage, WORKS);
    killed(&stage, &["Work."], |started| {
        started.expect("It stays put back");
    });
    assert!(!records(&stage.place).is_empty());
}
