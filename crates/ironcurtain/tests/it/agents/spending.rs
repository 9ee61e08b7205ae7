//! What agents may spend, and whom they pay with.

use ic_testkit::agents::{CLAUDE_CODE, GOOSE, register};
use ic_testkit::provider::{KEY, ScriptedProvider};
use serde_json::json;

use super::{Stage, says};
use crate::clients::Packages;
use crate::place;

/// Each request takes 110 tokens, and a process has a budget for two of them.
#[test]
fn a_resumed_session_goes_on_with_what_is_left_of_its_budget() {
    let Some(stage) = Stage::set(&GOOSE, []) else { return };
    let set = stage.place.run(["config", "set", "agent.budget.maxTotalTokens", "150"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    stage.provider.push([says("First."), says("Second."), says("Never said.")]);
    assert_eq!(stage.start(&["--name", "thrifty", "One."]).stdout.trim(), "First.");
    let second = stage.place.run(stage.going_on(&["--resume", "thrifty", "Two."]));
    assert_eq!((second.code, second.stdout.trim()), (0, "Second."), "{second:?}");
    let third = stage.place.run(stage.going_on(&["--resume", "thrifty", "Three."]));
    assert_eq!(third.code, 5, "{third:?}");
    assert!(
        third.stderr.contains("budget of this session is used up (tokens: 220 of 150)"),
        "{}",
        third.stderr
    );
    assert_eq!(stage.provider.n_requests(), 2);
    // A new one has a budget of its own.
    assert_eq!(stage.start(&["Four."]).stdout.trim(), "Never said.");
}

/// The token of a login is masked wherever a key would be.
#[test]
fn the_token_of_a_login_is_told_to_nobody() {
    let bearer = ("authorization".to_owned(), format!("Bearer {KEY}"));
    is_paid_with_and_told_to_nobody("agent.login.claude-code", &bearer);
}

/// So is the key that one agent has of its own; the one that others use is not taken for it.
#[test]
fn a_key_of_its_own_is_paid_with_and_told_to_nobody() {
    is_paid_with_and_told_to_nobody(
        "agent.apiKeys.claude-code",
        &("x-api-key".to_owned(), KEY.to_owned()),
    );
}

fn is_paid_with_and_told_to_nobody(setting: &str, header: &(String, String)) {
    let Some(packages) = Packages::find() else { return };
    let provider = ScriptedProvider::start_for_stranger([]);
    let place = place().with_variable("ANTHROPIC_API_KEY", "sk-ant-REDACTED");
    let upstream = json!({"url": provider.url()}).to_string();
    for (key, value) in [("mitm.upstreams.api.anthropic.com", upstream.as_str()), (setting, KEY)] {
        let set = place.run(["config", "set", key, value]);
        assert_eq!(set.code, 0, "{}", set.stderr);
    }
    register(&place, "claude-code", &packages.0.join("bin/claude"));
    place.write("work/notes.txt", format!("the token is {KEY}, as it happens"));
    let path = place.path("work/notes.txt").display().to_string();
    let read = json!({"path": path});
    provider.push([
        CLAUDE_CODE.calls("toolu_1", "filesystem__read_text_file", read),
        says(&format!("I know {KEY}.")),
    ]);
    let message = format!("Is {KEY} in the notes?");
    let output = place.run(["start", "--agent", "claude-code", "--workspace", "work", &message]);
    assert_eq!(output.code, 0, "{output:?}");
    // It was paid with, and that is all that anybody knew of it.
    let requests = provider.requests();
    assert!(!requests.is_empty() && requests.iter().all(|it| it.headers.contains(header)));
    for request in &requests {
        assert!(!request.body.to_string().contains(KEY), "{}", request.body);
    }
    assert!(requests.iter().any(|it| it.body.to_string().contains("as it happens")));
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output:?}");
    let mut found = Vec::new();
    let mut n_files = 0;
    let mut todo = vec![place.path("home/.ironcurtain")];
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                // What a model says by itself is in the agent's own home as well.
                todo.extend((entry.file_name() != "agent-state").then(|| entry.path()));
            } else if let Ok(bytes) = std::fs::read(entry.path()) {
                n_files += 1;
                let has_key = bytes.windows(KEY.len()).any(|it| it == KEY.as_bytes());
                found.extend(has_key.then(|| entry.file_name()));
            }
        }
    }
    // Where the user put it.
    assert_eq!(found, ["config.json"], "of {n_files} files");
}
