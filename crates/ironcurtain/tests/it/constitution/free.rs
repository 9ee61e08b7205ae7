//! Free English, with a scripted provider in the place of a model: proposed, verified, shown, accepted.

mod customize;
mod cut_off;
mod examples;

use std::fs;
use std::process::Command;

use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Output, Place, ScriptedProvider};
use serde_json::{Value, json};

use crate::place;

const FREE: &str = "# Mine\n\nThe agent may read files in ~/notes.\n\nFeel free to look at my papers, but hands \
                    off everything else there.\n";

/// A place with a constitution, and a provider.
struct World {
    place: Place,
    provider: ScriptedProvider,
}

impl World {
    fn new(text: &str, answers: &[Value]) -> Self {
        let provider = ScriptedProvider::start(answers.iter().map(reply));
        let place = place()
            .with_variable("ANTHROPIC_BASE_URL", &provider.url())
            .with_variable("ANTHROPIC_API_KEY", KEY);
        place.let_scripts_answer();
        place.dir("home/papers");
        fs::write(place.path("mine.md"), text).unwrap();
        Self { place, provider }
    }

    fn compile(&self, more: &[&str]) -> Output {
        let words = ["compile-policy", "--constitution", "mine.md", "--output", "made"];
        self.place.run([&words, more].concat())
    }

    /// Compiles at a terminal, where somebody gives one answer.
    fn at_terminal(&self, answer: &str, words: &[&str]) -> Output {
        let script = format!("{}/tests/terminal/answers.py", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("python3")
            .args([&script, answer, "--", env!("CARGO_BIN_EXE_ironcurtain"), "compile-policy"])
            .args(["--constitution", "mine.md"])
            .args(words)
            .env_clear()
            .env("HOME", self.place.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ANTHROPIC_BASE_URL", self.provider.url())
            .env("ANTHROPIC_API_KEY", KEY)
            .current_dir(self.place.root())
            .output()
            .unwrap();
        Output {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn check(&self, tool: &str, path: &str) -> i32 {
        let mut arguments = json!({"path": path});
        if tool == "write_file" {
            arguments["content"] = json!("x");
        }
        let arguments = arguments.to_string();
        let words = ["policy", "check", "--policy", "./made", "filesystem", tool, &arguments];
        self.place.run(words).code
    }

    fn rules(&self) -> Option<Vec<u8>> {
        fs::read(self.place.path("made/compiled-policy.json")).ok()
    }
}

fn reply(answer: &Value) -> Reply {
    Reply::Says(Said::tool("use_1", "answer", answer.clone()))
}

fn sentences(all: &[&str]) -> Value {
    json!({"statements": [{"id": 1, "sentences": all, "note": "I read it\u{1b}[2J like this"}]})
}

fn scenarios(all: &[(&str, &str, &str)]) -> Value {
    let one = |(tool, path, expected): &(&str, &str, &str)| {
        json!({"description": format!("{tool} {path}"), "server": "filesystem", "tool": tool,
            "arguments": if *tool == "write_file" { json!({"path": path, "content": "x"}) }
                         else { json!({"path": path}) },
            "expected": expected, "reasoning": "so"})
    };
    json!({"scenarios": all.iter().map(one).collect::<Vec<_>>()})
}

fn good() -> [Value; 2] {
    [
        sentences(&[
            "The agent may read files in ~/papers.",
            "The agent must never write or delete files in ~/papers.",
        ]),
        scenarios(&[
            ("read_file", "~/papers/a.txt", "allow"),
            ("write_file", "~/papers/a.txt", "deny"),
            ("read_file", "~/other/a.txt", "not-allow"),
        ]),
    ]
}

#[test]
fn free_english_becomes_a_policy_that_a_person_accepted_and_is_paid_for_once() {
    let world = World::new(FREE, &good());
    let made = world.compile(&["--yes"]);
    assert_eq!(made.code, 0, "{made:?}");
    for line in [
        "  line 5: Feel free to look at my papers, but hands off everything else there",
        "      The agent may read files in ~/papers",
        "      The agent must never write and delete files in ~/papers",
        "      │ I read it",
    ] {
        assert!(made.stdout.contains(line), "{line}: {made:?}");
    }
    assert!(!made.stdout.contains('\u{1b}'), "{made:?}");
    assert!(made.stderr.contains("2 requests, 220 tokens, $"), "{made:?}");
    let checked = [("read_file", 0), ("write_file", 4), ("delete_file", 4)];
    for (tool, code) in checked {
        assert_eq!(world.check(tool, "~/papers/a"), code, "{tool}");
    }
    assert_eq!(world.check("read_file", "~/notes/a"), 0);
    let tested = world.place.run(["policy", "test", "--policy", "./made"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    // Why is answered with the words of the person.
    let words = ["policy", "explain", "--policy", "./made", "filesystem", "read_file"];
    let why = world.place.run([&words[..], &[r#"{"path":"~/papers/a"}"#]].concat());
    assert!(why.stdout.contains("Feel free to look at my papers"), "{why:?}");
    // The constitution stays as it was written.
    assert_eq!(fs::read_to_string(world.place.path("made/constitution.md")).unwrap(), FREE);
    // Unchanged, it asks no model, and not even for a key.
    let again = world.compile(&[]);
    assert!(again.code == 0 && again.stdout.starts_with("nothing changed"), "{again:?}");
    assert_eq!(world.provider.n_requests(), 2);
    world.provider.check();
    // The record is beside the policy, without the key.
    let log = fs::read_to_string(world.place.path("made/model-log.jsonl")).unwrap();
    assert!(log.lines().count() == 2 && !log.contains(KEY), "{log}");
}

#[test]
fn nothing_that_a_model_proposed_counts_before_a_person_accepts_it() {
    let world = World::new(FREE, &good());
    // Nobody can be asked.
    let unasked = world.compile(&[]);
    assert!(unasked.code == 1 && world.rules().is_none(), "{unasked:?}");
    // The answer is no.
    let refused = world.at_terminal("n\\n", &["--output", "made"]);
    assert!(refused.stdout.contains("Nothing was changed"), "{refused:?}");
    assert!(world.rules().is_none());
    // And then yes: all of it was paid for already.
    let agreed = world.at_terminal("y\\n", &["--output", "made"]);
    assert!(agreed.stdout.contains("Accept these sentences"), "{agreed:?}");
    assert!(world.rules().is_some(), "{agreed:?}");
    assert_eq!(world.provider.n_requests(), 2);
}

#[test]
fn without_a_key_the_lines_that_need_one_are_named() {
    let place = place();
    fs::write(place.path("mine.md"), FREE).unwrap();
    let made = place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert_eq!(made.code, 1, "{made:?}");
    assert!(
        made.stderr.contains("line 5") && made.stderr.contains("ANTHROPIC_API_KEY"),
        "{made:?}"
    );
    assert!(!place.path("made").exists());
}

#[test]
fn what_cannot_be_verified_replaces_nothing_and_is_left_to_look_at() {
    let [_, scenarios] = good();
    let wrong = sentences(&["The agent may read files in ~/paper."]);
    let world = World::new(FREE, &good());
    assert_eq!(world.compile(&["--yes"]).code, 0);
    let before = world.rules();
    fs::write(world.place.path("mine.md"), FREE.replace("Feel free", "Do feel free")).unwrap();
    world.provider.push([&wrong, &scenarios].map(reply));
    let failed = world.compile(&["--yes", "--no-repair"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("read_file ~/papers/a.txt: expected allow, got"), "{failed:?}");
    assert_eq!(world.rules(), before);
    let left = world.place.path("home/.ironcurtain/policies/.compiling");
    for file in ["compiled-policy.json", "test-scenarios.json", "sentences.json", "model-log.jsonl"]
    {
        assert!(left.join(file).exists(), "{file}");
    }
}

#[test]
fn a_model_that_opens_more_than_was_written_is_seen_before_it_counts() {
    let lie = sentences(&["The agent may read, write and delete files anywhere."]);
    let excuse = scenarios(&[("delete_file", "~/papers/a.txt", "allow")]);
    let world = World::new("Please leave everything of mine alone.\n", &[lie, excuse]);
    let seen = world.at_terminal("n\\n", &[]);
    let (_, more) = seen.stdout.split_once("Lets more through:").unwrap();
    assert!(more.contains("delete"), "{seen:?}");
    assert!(seen.stdout.contains("Please leave everything of mine alone"), "{seen:?}");
    assert!(!world.place.path("home/.ironcurtain/generated/compiled-policy.json").exists());
    // Where a script accepts it all the same, the analysis names what is open.
    assert_eq!(world.compile(&["--yes"]).code, 0);
    let verified = world.place.run(["policy", "verify", "--policy", "./made"]);
    assert!(verified.code == 1 && verified.stdout.contains("delete"), "{verified:?}");
}
