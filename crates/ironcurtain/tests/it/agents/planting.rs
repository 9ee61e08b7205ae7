//! What an agent plants for the user's programs to run, with its own shell: put back, and asked about.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use ic_testkit::agents::CLAUDE_CODE;
use ic_testkit::git_host::git;
use ic_testkit::provider::ScriptedProvider;
use ic_testkit::proxy::records;
use rustix::process::Signal;
use serde_json::json;

use super::{Stage, says, uses};
use crate::proxy::until;

/// Plants files and a link, and waits until they are gone; then does its work.
const PLANT: &str = "mkdir .vscode; echo '{\"tasks\": \"evil\"}' > .vscode/tasks.json; echo run > .ENVRC
    mkdir -p sub/.git/hooks; echo 'ref: refs/heads/x' > sub/.git/HEAD; mkdir sub/.git/objects sub/.git/refs
    ln -s /etc out; n=0
    while test -e .vscode -o -e .ENVRC -o -e sub/.git; do
      sleep 0.1; n=$((n + 1)); test $n -lt 300 || exit 1
    done
    echo work > made.txt";

fn plant(stage: &Stage, command: &str) {
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
}

/// The turn goes on, and where nobody can be asked everything stays put back.
#[test]
fn an_agent_that_plants_something_goes_on_without_it() {
    let Some(stage) = Stage::claude([]) else { return };
    plant(&stage, PLANT);
    let output = stage.start(&["Plant."]);
    assert_eq!(output.stdout.trim(), "Done.", "{output:?}");
    assert_eq!(stage.read("work/made.txt").as_deref(), Some("work\n"), "{output:?}");
    for name in [".vscode", ".ENVRC", "sub/.git"] {
        assert!(!stage.place.path("work").join(name).exists(), "{name}: {output:?}");
        assert!(output.stderr.contains(name), "{name}: {output:?}");
    }
    assert!(output.stderr.contains("moved to the quarantine"), "{output:?}");
    assert!(output.stderr.contains("It stays put back: no approver was connected"), "{output:?}");
    let events: Vec<String> = records(&stage.place).iter().map(ToString::to_string).collect();
    assert!(events.iter().any(|it| it.contains("put_back")), "{events:?}");
}

/// Each request to the model waits for a complete look, so nothing planted is there once the model hears of it.
#[test]
fn nothing_planted_is_there_when_the_model_is_asked() {
    let (work, seen) = (Arc::new(OnceLock::<PathBuf>::new()), Arc::new(Mutex::new(Vec::new())));
    let hook = {
        let (work, seen) = (Arc::clone(&work), Arc::clone(&seen));
        Arc::new(move |_| {
            let is_there = |name: &&str| work.get().is_some_and(|work| work.join(name).exists());
            seen.lock()
                .unwrap()
                .push([".envrc", ".vscode", "made.txt"].iter().map(is_there).collect());
        })
    };
    let provider = ScriptedProvider::start_for_stranger_with([], hook);
    let Some(stage) = Stage::set_before(&CLAUDE_CODE, provider) else { return };
    work.set(stage.place.path("work")).unwrap();
    let command =
        "echo work > made.txt; mkdir .vscode; echo {} > .vscode/tasks.json; echo evil > .envrc";
    plant(&stage, command);
    let output = stage.start(&["Plant."]);
    assert_eq!(output.stdout.trim(), "Done.", "{output:?}");
    let seen: Vec<Vec<bool>> = seen.lock().unwrap().clone();
    assert!(seen.iter().any(|it| it[2]), "the model was asked after the command: {seen:?}");
    assert!(seen.iter().all(|it| !it[0] && !it[1]), "{seen:?}");
    // The control: they were made.
    for name in [".envrc", ".vscode"] {
        assert!(output.stderr.contains(name), "{name}: {output:?}");
    }
}

#[test]
fn what_is_approved_is_kept_just_as_it_was_shown() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.let_scripts_answer();
    plant(&stage, "echo '{\"servers\": 1}' > .mcp.json");
    let mut started = stage.begin(&["--wait", "Plant."]);
    started.expect("A call is waiting for approval; ");
    let list = stage.place.run(["approvals", "list", "--json"]).stdout;
    assert!(list.contains(".mcp.json") && list.contains("servers"), "{list}");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let id = list[0]["escalationId"].as_str().unwrap();
    assert!(stage.read("work/.mcp.json").is_none(), "it is put back meanwhile");
    assert_eq!(stage.place.run(["approvals", "approve", id]).code, 0);
    let output = started.end();
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    assert_eq!(stage.read("work/.mcp.json").as_deref(), Some("{\"servers\": 1}\n"), "{output:?}");
}

#[test]
fn what_was_planted_when_the_host_was_killed_is_put_back() {
    let Some(stage) = Stage::claude([]) else { return };
    let command = "echo x > begun; echo evil > .mcp.json; sleep 1000";
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command}))]);
    let started = stage.begin(&["Plant."]);
    until("what was planted", || stage.read("work/.mcp.json").is_some());
    started.send(Signal::KILL);
    assert_eq!(started.end().code, 137);
    until("it is put back", || stage.read("work/.mcp.json").is_none());
    stage.provider.push([says("Next.")]);
    let output = stage.start(&["What now?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Next."), "{output:?}");
    let told = "a session was killed before it could look once more";
    assert!(output.stderr.contains(told) && output.stderr.contains(".mcp.json"), "{output:?}");
    assert_eq!(stage.read("work/begun").as_deref(), Some("x\n"));
}

/// Everything that programs of the user's run or take orders from, in a workspace.
const LISTED: &str = ".gitmodules .gitattributes .gitconfig .envrc .vscode/tasks.json .idea/workspace.xml \
    .zed/tasks.json .devcontainer/devcontainer.json .github/workflows/ci.yml .github/actions/a/action.yml .gitlab-ci.yml \
    .circleci/config.yml .travis.yml Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .husky/pre-commit \
    .pre-commit-config.yaml lefthook.yml .lefthook.yml .overcommit.yml .hg/hgrc .claude/settings.json \
    .cursor/mcp.json .codex/config.toml .opencode/plugin.js .gemini/settings.json .windsurf/rules .kiro/settings \
    .roo/mcp.json .aider.conf.yml .mcp.json .cargo/config .cargo/config.toml .npmrc .yarnrc.yml .pnpmfile.cjs mise.toml \
    .mise.toml mise.local.toml .mise/config.toml .tool-versions .nvim.lua .exrc .pylintrc";

/// Makes all of them, in six ways, and waits until they are gone; what is outside of the cage waits for nothing.
fn makes_listed(is_waited_for: bool) -> String {
    let waits = match is_waited_for {
        true => {
            "n=0; while test -n \"$(left)\"; do sleep 0.1; n=$((n + 1)); test $n -lt 600 || { left; exit 1; }; done"
        }
        false => "true",
    };
    format!(
        "set -e; names='{LISTED}'; echo evil > plain; mkdir -p made; made() {{ mkdir -p \"$1/$(dirname $2)\"; }}
        # At the top are pipelines too; everything else counts at any depth.
        for name in $names; do made . $name; echo evil > $name; done
        for name in .envrc .vscode/tasks.json .mcp.json; do
          made moved $name; echo evil > moved/tmp; mv moved/tmp moved/$name
          made linked $name; ln -s $PWD/plain linked/$name
          made hard $name; ln plain hard/$name
          made a/b/c $name; echo evil > a/b/c/$name
          upper=$(echo $name | tr a-z A-Z); made folded $upper; echo evil > folded/$upper
        done
        mkdir -p before/x/vscode; echo evil > before/x/vscode/tasks.json
        mv before/x/vscode before/x/.vscode; mv before after
        left() {{ for name in $names; do test ! -e $name || echo $name; done
          find . -path ./.git -prune -o \\( -iname .envrc -o -iname .mcp.json -o -ipath '*/.vscode/*' \\) -print; }}
        {waits}"
    )
}

#[test]
fn nothing_listed_stays_however_it_is_made() {
    let Some(stage) = Stage::claude([]) else { return };
    // Pipelines count at the top of a repository.
    git(&stage.place.path("work"), &["init", "--quiet"]);
    let control = stage.place.dir("control");
    let mut outside = std::process::Command::new("sh");
    outside.args(["-c", &makes_listed(false)]).current_dir(&control);
    assert!(outside.status().unwrap().success());
    let listed: Vec<&str> = LISTED.split_whitespace().collect();
    let ways = ["moved", "linked", "hard", "a/b/c", "after/x"];
    let others = ways.map(|way| format!("{way}/.vscode/tasks.json"));
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let all: Vec<&str> =
        [listed, others, vec!["folded/.ENVRC", "folded/.VSCODE/TASKS.JSON"]].concat();
    let there = |top: &str| -> Vec<&str> {
        let is_there = |name: &&&str| stage.place.path(top).join(name).symlink_metadata().is_ok();
        all.iter().filter(is_there).copied().collect()
    };
    assert_eq!(there("control").len(), all.len(), "{:?}", there("control"));
    let command = format!("{}\necho ALL-$((40 + 2))", makes_listed(true));
    let bash = uses("toolu_1", "Bash", json!({"command": command, "timeout": 120_000}));
    stage.provider.push([bash, says("Done.")]);
    let output = stage.start(&["Plant."]);
    assert_eq!(there("work"), [""; 0], "{output:?}");
    assert_eq!(output.stdout.trim(), "Done.", "{output:?}");
    assert!(stage.last_request().contains("ALL-42"), "{}", stage.last_request());
    assert_eq!(stage.read("work/plain").as_deref(), Some("evil\n"), "what is not listed stays");
}
