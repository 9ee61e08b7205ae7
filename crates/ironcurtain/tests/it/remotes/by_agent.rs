//! `start --repo URL --agent A`: an agent of others begins with a repository that was cloned for it.

use serde_json::json;

use super::*;
use crate::agents::{Stage, says, uses};

#[test]
fn an_agent_begins_with_a_clone_and_commits_to_it() {
    let Some(stage) = Stage::claude([]) else { return };
    let command = "cat a.txt; echo two > b.txt; git add b.txt; git -c user.name=A -c user.email=a@b commit -qm second; \
                   echo evil > .envrc; echo ALL-$((40 + 2))";
    let bash = uses("toolu_1", "Bash", json!({"command": command}));
    stage.provider.push([bash, says("It is done.")]);
    let Stage { provider, place, .. } = stage;
    let world = World::at(place);
    world.write_policy_that("escalate", &[&format!("127.0.0.1:{}", world.host.port)]);
    world.with_helper(PASSWORD);
    let (url, policy) = (world.host.url("auth", "app.git"), world.place.path("policy"));
    let policy = policy.display().to_string();
    let words = ["start", "--agent", "claude-code", "--policy", &policy, "--repo", &url, "Go on."];
    let output = world.place.run(words);
    // What it planted was asked about, and nobody was there.
    assert_eq!((output.code, output.stdout.trim()), (3, "It is done."), "{output:?}");
    assert!(output.stderr.contains("`main` is checked out"), "{output:?}");
    let told = provider.requests().pop().unwrap().body.to_string();
    assert!(told.contains("one") && told.contains("ALL-42"), "{told}");
    assert!(!told.contains(PASSWORD));
    let sandbox = world.place.sessions().pop().unwrap().join("sandbox");
    assert_eq!(git(&sandbox, &["log", "-1", "--format=%s"]), "second", "{output:?}");
    assert_eq!(git(&sandbox, &["remote", "get-url", "origin"]), url);
    assert!(!sandbox.join(".envrc").exists(), "{output:?}");
    // It goes on there.
    provider
        .push([uses("toolu_2", "Bash", json!({"command": "git log --format=%s"})), says("Still.")]);
    let output = world.place.run(["start", "--policy", &policy, "--continue", "And now?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Still."), "{output:?}");
    let told = provider.requests().pop().unwrap().body.to_string();
    assert!(told.contains("second"), "{told}");
}

#[test]
fn a_repository_that_does_not_come_is_an_error_and_no_agent_runs() {
    let Some(stage) = Stage::claude([says("Never said.")]) else { return };
    let Stage { provider, place, .. } = stage;
    let world = World::at(place);
    let (url, policy) = (world.host.url("open", "absent.git"), world.place.path("policy"));
    let policy = policy.display().to_string();
    let words = ["start", "--agent", "claude-code", "--policy", &policy, "--repo", &url, "Go on."];
    let output = world.place.run(words);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains(&format!("cannot clone `{url}`")), "{output:?}");
    assert_eq!(provider.n_requests(), 0);
}
