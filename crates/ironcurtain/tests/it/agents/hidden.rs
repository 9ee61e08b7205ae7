//! What the policy hides is hidden in the history of repositories, too: the agent's own git prints none of it.

use std::path::Path;

use ic_testkit::git_host::git;
use serde_json::json;

use super::{Stage, says, uses};

const CANARY: &str = "canary-9e02";

/// Makes a repository in which `secrets/x` was committed, and changed since.
fn repository(stage: &Stage, name: &str) {
    let top = stage.place.dir(name);
    git(&top, &["init", "--quiet", "--initial-branch=main"]);
    git(&top, &["config", "user.name", "Ada"]);
    git(&top, &["config", "user.email", "ada@example.com"]);
    for text in [CANARY, "canary-9e02, changed"] {
        stage.place.write(format!("{name}/secrets/x"), text);
        git(&top, &["add", "-A"]);
        git(&top, &["commit", "--quiet", "-m", "first"]);
    }
}

/// Everything that git could print of it, wherever a working tree is.
const READS: &str = "for tree in . sub main tree; do ( cd $tree 2>/dev/null || exit
    cat secrets/x; git show HEAD:secrets/x; git show HEAD~1:secrets/x; git log -p --all
    git cat-file --batch-all-objects --batch; git stash; cat secrets/x; git checkout HEAD -- secrets; cat secrets/x
    git --git-dir=$PWD/../main/.git show HEAD:secrets/x ) 2>&1; done; echo ALL-$((40 + 2))";

/// Hides directories, has the agent's shell read them in each way, and looks that none worked.
#[track_caller]
fn check_hidden(stage: &Stage, hidden: &[&str], words: &[&str]) {
    let work = stage.place.path("work");
    let mut outside = std::process::Command::new("sh");
    outside.args(["-c", READS]).current_dir(&work).env("HOME", "/nonexistent");
    let control = outside.output().unwrap();
    let control = String::from_utf8_lossy(&control.stdout).into_owned();
    assert!(control.matches(CANARY).count() >= 3 * hidden.len(), "{control}");
    let hidden: Vec<_> = hidden.iter().map(|name| stage.place.path(name)).collect();
    stage.place.configure("protectedPaths", json!(hidden));
    let bash = uses("toolu_1", "Bash", json!({"command": READS, "timeout": 120_000}));
    stage.provider.push([bash, says("Done.")]);
    let output = stage.start(&[words, &["Read."]].concat());
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("ALL-42"), "{output:?}");
    let at = told
        .find(CANARY)
        .map(|at| told.chars().skip(at.saturating_sub(1000)).take(1500).collect::<String>());
    assert_eq!(at, None);
    assert!(output.stderr.contains("is hidden from the agent"), "{output:?}");
    for path in hidden {
        let text = std::fs::read_to_string(Path::new(&path).join("x")).unwrap();
        assert!(text.contains(CANARY), "{text}");
    }
}

#[test]
fn git_prints_nothing_of_what_is_hidden() {
    let Some(stage) = Stage::claude([]) else { return };
    repository(&stage, "work");
    repository(&stage, "work/sub");
    check_hidden(&stage, &["work/secrets", "work/sub/secrets"], &[]);
}

#[test]
fn neither_does_it_where_everything_is_read_only() {
    let Some(stage) = Stage::claude([]) else { return };
    repository(&stage, "work");
    check_hidden(&stage, &["work/secrets"], &["--policy", "readonly"]);
}

/// The history of a linked working tree is in the repository beside it.
#[test]
fn neither_does_it_in_a_linked_working_tree() {
    let Some(stage) = Stage::claude([]) else { return };
    repository(&stage, "work/main");
    let main = stage.place.path("work/main");
    git(&main, &["worktree", "add", "--quiet", "../tree", "-b", "other"]);
    // Here it is in the history alone.
    git(&main, &["rm", "--quiet", "-r", "secrets"]);
    git(&main, &["commit", "--quiet", "-m", "without"]);
    check_hidden(&stage, &["work/tree/secrets"], &[]);
}

/// Closes a directory by a sentence.
fn never_read(stage: &Stage, name: &str) {
    let path = stage.place.path(name).display().to_string();
    let never = stage.place.run(["policy", "never", "--in", &path, "--to", "read", "--yes"]);
    assert_eq!(never.code, 0, "{never:?}");
}

fn shell(stage: &Stage, script: &str) {
    let command = format!("( set -e\n{script}\n) && echo ALL-$((40 + 2))");
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
}

/// Returns what the shell of the agent said last.
fn said(stage: &Stage) -> String {
    let request = stage.provider.requests().pop().unwrap();
    let last = request.body["messages"].as_array().unwrap().last().unwrap().to_string();
    last.chars().take(4000).collect()
}

#[test]
fn the_agent_commits_and_what_is_hidden_stays_in_the_users_repository() {
    let Some(stage) = Stage::claude([]) else { return };
    repository(&stage, "work");
    let work = stage.place.path("work");
    stage.place.write("work/src/[odd] #1 name.txt", "one");
    stage.place.write("work/.envrc", "export A=1");
    stage.place.write("work/more secrets/y", CANARY);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "third"]);
    for name in ["work/secrets", "work/more secrets"] {
        never_read(&stage, name);
    }
    shell(
        &stage,
        "git log --format=%s | grep -qx third; git log -p --all; git status --porcelain
        echo two > b.txt; echo two >> 'src/[odd] #1 name.txt'; git add -A; git commit -qm mine
        git switch -qc topic HEAD~2; echo t > t.txt; git add t.txt; git commit -qm topic
        git rebase -q main; git switch -q main; git merge -q --ff-only topic; git stash list
        echo s >> b.txt; git stash -q; git stash pop -q; git checkout -q b.txt
        test -z \"$(git status --porcelain)\"; git grep -c canary HEAD || true; git show HEAD:secrets/x",
    );
    let output = stage.start(&["Work."]);
    let said_then = said(&stage);
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{said_then} {output:?}");
    assert!(said_then.contains("ALL-42"), "{said_then} {output:?}");
    assert!(said_then.contains("hidden by the policy"), "{said_then}");
    assert!(!stage.last_request().contains(CANARY), "{said_then}");
    let log = git(&work, &["log", "--format=%s"]).replace('\n', " | ");
    assert_eq!(log, "topic | mine | third | first | first", "{output:?}");
    for name in ["secrets/x", "more secrets/y"] {
        assert!(git(&work, &["show", &format!("HEAD:{name}")]).contains(CANARY), "{name}");
        assert!(stage.read(&format!("work/{name}")).unwrap().contains(CANARY));
    }
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    git(&work, &["fsck", "--strict"]);
    assert_eq!(git(&work, &["for-each-ref", "refs/replace"]), "");
}

/// The agent knows the numbers of hidden contents, and may put them where it can read.
#[test]
fn what_is_hidden_cannot_be_brought_to_an_open_place() {
    let Some(stage) = Stage::claude([]) else { return };
    repository(&stage, "work");
    let work = stage.place.path("work");
    never_read(&stage, "work/secrets");
    let before = git(&work, &["for-each-ref"]);
    for (sneaks, reads) in [
        (
            "id=$(git rev-parse HEAD:secrets/x); git update-index --add --cacheinfo 100644,$id,open.txt
             tree=$(git write-tree --missing-ok); git update-ref HEAD $(git commit-tree -m sneaky -p HEAD $tree)",
            "git show HEAD:open.txt; git checkout HEAD -- open.txt; cat open.txt",
        ),
        (
            "tree=$(git rev-parse HEAD:secrets); new=$(printf '040000 tree %s\topen\n' $tree | git mktree --missing)
             git branch -f other $(git commit-tree -m tree -p HEAD $new)",
            "git show other:open/x",
        ),
        (
            "git tag -f content $(git rev-parse HEAD:secrets/x); git tag -f whole $(git rev-parse HEAD:secrets)",
            "git cat-file blob content; git show whole:x",
        ),
    ] {
        shell(&stage, sneaks);
        let output = stage.start(&["Sneak."]);
        assert_eq!(output.stdout.trim(), "Done.", "{sneaks}: {output:?}");
        assert!(said(&stage).contains("ALL-42"), "{sneaks}: {} {output:?}", said(&stage));
        shell(&stage, &format!("( {reads} ) || true"));
        let output = stage.place.run(stage.going_on(&["--continue", "Read."]));
        assert_eq!(output.stdout.trim(), "Done.", "{sneaks}: {output:?}");
        assert!(!stage.last_request().contains(CANARY), "{sneaks}: {}", said(&stage));
        // A session of its own has only what is in the user's repository.
        shell(&stage, &format!("( {reads} ) || true"));
        let output = stage.start(&["Read."]);
        assert_eq!(output.stdout.trim(), "Done.", "{sneaks}: {output:?}");
        assert!(!stage.last_request().contains(CANARY), "{sneaks}: {}", said(&stage));
    }
    let after = git(&work, &["for-each-ref"]);
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    assert!(!after.contains("refs/heads/other"), "{after}");
    git(&work, &["fsck", "--strict"]);
}

/// The shell server's commands are in such a cage, too.
#[test]
fn commands_of_the_shell_server_read_no_hidden_history() {
    let place = crate::place();
    let stage_work = place.dir("work");
    git(&stage_work, &["init", "--quiet", "--initial-branch=main"]);
    git(&stage_work, &["config", "user.name", "Ada"]);
    git(&stage_work, &["config", "user.email", "ada@example.com"]);
    place.write("work/secrets/x", CANARY);
    git(&stage_work, &["add", "-A"]);
    git(&stage_work, &["commit", "--quiet", "-m", "first"]);
    place.configure("session.autoSave", true);
    place.write(
        "script.ts",
        "const said = shell.run_command({command: 'git show HEAD:secrets/x 2>&1; echo ended', cwd: '.'});
        typeof said === 'string' ? said : JSON.stringify(said)",
    );
    let run = || place.run(["run", "--workspace", "work", "--policy", "coding", "script.ts"]);
    let control = run();
    assert!(control.stdout.contains(CANARY), "{control:?}");
    place.configure("protectedPaths", json!([place.path("work/secrets")]));
    let output = run();
    assert!(output.stdout.contains("ended") && !output.stdout.contains(CANARY), "{output:?}");
}
