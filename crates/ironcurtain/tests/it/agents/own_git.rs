//! The git of the agent's own shell: it works, the user's repository gets what it did, and nothing that counts
//! without a question.

use std::path::Path;

use ic_testkit::git_host::git;
use ic_testkit::proxy::records;
use serde_json::json;

use super::{Stage, says, uses};

/// Makes a repository with one commit in the workspace, whose hook writes a file that must never appear.
fn repository(stage: &Stage) -> std::path::PathBuf {
    let work = stage.place.path("work");
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    git(&work, &["config", "user.name", "Ada"]);
    git(&work, &["config", "user.email", "ada@example.com"]);
    stage.place.write("work/.envrc", "export A=1\n");
    stage.place.write("work/src/b.txt", "one\n");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "first"]);
    git(&work, &["branch", "other"]);
    work
}

/// One command of the agent's own shell, and the end of the turn.
fn command(stage: &Stage, command: &str) {
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
}

fn files(work: &Path) -> Vec<(String, Option<String>)> {
    ["config", "hooks/pre-commit", "info/exclude"]
        .map(|name| (name.to_owned(), std::fs::read_to_string(work.join(".git").join(name)).ok()))
        .into()
}

#[test]
fn what_the_agent_commits_with_its_own_git_is_in_the_users_repository() {
    let Some(stage) = Stage::claude([]) else { return };
    let work = repository(&stage);
    let before = files(&work);
    let script = "set -ex
        git config core.fsmonitor /bin/false; git config --unset core.fsmonitor
        echo two >> src/b.txt; git commit -qam second
        git commit -q --amend -m 'second, amended'
        echo later > later.txt; git stash -qu; test ! -e later.txt; git stash pop -q
        git switch -qc topic; git add later.txt; git commit -qm 'on topic'
        git switch -q other; echo other > other.txt; git add other.txt; git commit -qm 'on other'
        git rebase -q main; git switch -q main; git merge -q --ff-only topic; git tag v1
        echo staged > staged.txt; git add staged.txt; echo loose > loose.txt
        printf '#!/bin/sh\\ntouch canary\\n' > .git/hooks/pre-commit || mkdir .git/hooks
        printf '#!/bin/sh\\ntouch canary\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        git config core.hooksPath /tmp/evil; git config alias.x '!touch canary'
        echo ALL-DONE";
    command(&stage, script);
    let output = stage.start(&["Work with git."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    assert!(stage.last_request().contains("ALL-DONE"), "{}", stage.last_request());
    let log = |branch: &str| git(&work, &["log", "--format=%s", branch]);
    assert_eq!(log("main"), "on topic\nsecond, amended\nfirst\n", "{output:?}");
    assert_eq!(log("topic"), "on topic\nsecond, amended\nfirst\n");
    assert_eq!(log("other"), "on other\nsecond, amended\nfirst\n");
    assert_eq!(git(&work, &["tag"]), "v1\n");
    assert_eq!(git(&work, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(git(&work, &["status", "--porcelain"]), "A  staged.txt\n?? loose.txt\n");
    assert_eq!(git(&work, &["log", "-1", "--format=%an <%ae>"]), "Ada <ada@example.com>\n");
    git(&work, &["fsck", "--strict"]);
    // Neither its configuration nor its hooks are the user's.
    assert_eq!(files(&work), before);
    git(&work, &["commit", "--quiet", "-m", "by the user"]);
    assert!(!work.join("canary").exists());
    let taken: Vec<_> = records(&stage.place)
        .into_iter()
        .filter(|it| it["tool"] == "git_commit" && it["kind"] == "intent")
        .collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    let message = taken[0]["arguments"]["message"].to_string();
    assert!(message.contains("refs/heads/topic new"), "{message}");
}
