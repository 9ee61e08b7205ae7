//! `approvals approve --always`: the call is approved, and such calls are allowed in new sessions.

use super::world::Rig;

/// A place with a directory that the built-in policy asks about.
fn rig() -> (Rig, String) {
    let rig = Rig::new();
    rig.place.dir("home/Documents");
    let path = rig.place.path("home/Documents/a.txt").to_str().unwrap().to_owned();
    (rig, path)
}

/// Returns what the policy in force says about writing to `path`, as an exit code.
fn judged(rig: &Rig, path: &str) -> i32 {
    let arguments = format!(r#"{{"path":"{path}","content":"x"}}"#);
    rig.run(&["policy", "check", "filesystem", "write_file", &arguments]).code
}

fn changes(rig: &Rig) -> String {
    let log = rig.place.path("home/.ironcurtain/logs/policy-changes.jsonl");
    std::fs::read_to_string(log).unwrap_or_default()
}

#[test]
fn always_is_confirmed_at_the_terminal() {
    let (rig, path) = rig();
    let work = rig.session("work");
    let asked = work.ask(&path, "hello");
    for (answer, said) in [("n\n", "was not answered"), ("y\n", "Added to the policy `my-default`")]
    {
        assert_eq!(judged(&rig, &path), 3);
        assert!(!asked.response.exists() && changes(&rig).is_empty());
        let mut terminal = rig.at_terminal(&["approvals", "approve", "1", "--always"]);
        terminal.expect("The agent may write files in ");
        terminal.expect("`my-default`, a copy of the built-in `default` made now");
        // Everything that it lets through, and not examples alone.
        terminal.expect("Lets more through:");
        terminal.expect("in ~/Documents, with filesystem.write_file: needs approval -> allowed");
        terminal.expect("Approve this call, and add that to the policy? [y/N] ").type_in(answer);
        let output = terminal.end();
        assert!(output.stdout.contains(said), "{output:?}");
    }
    assert_eq!(rig.summary(asked), "Approved by cli");
    assert_eq!((judged(&rig, &path), judged(&rig, "~/a.txt")), (0, 3));
    let log = changes(&rig);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(
        log.contains(r#""by":"approvals approve","agreed":"confirmed at a terminal""#),
        "{log}"
    );
}

#[test]
fn a_script_adds_to_the_policy_only_where_scripts_may_answer() {
    let (rig, path) = rig();
    let work = rig.session("work");
    let asked = work.ask(&path, "hello");
    let words = ["approvals", "approve", asked.id.as_str(), "--always"];
    let refused = rig.place.run_with_input(words, b"y\n");
    assert!(refused.code == 1 && refused.stderr.contains("there is no terminal"), "{refused:?}");
    assert!(!asked.response.exists() && changes(&rig).is_empty());
    let rig = rig.scripted();
    let both = rig.run(&[&words[..], &["--grant", "file"]].concat());
    assert!(both.code == 2 && both.stderr.contains("cannot be used with"), "{both:?}");
    let added = rig.run(&words);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stdout.contains("Added to the policy `my-default`"), "{added:?}");
    assert_eq!((judged(&rig, &path), judged(&rig, "~/a.txt")), (0, 3));
    assert!(changes(&rig).contains("confirmed by a script, as approvals.scripted allows"));
    assert!(added.stdout.contains("--to write --in ~/Documents --remove\n"), "{added:?}");
    // The policy has it now, and there is nothing to add.
    let again = work.ask(&path, "more");
    let words = ["approvals", "approve", again.id.as_str(), "--always"];
    let refused = rig.run(&words);
    assert!(refused.code == 2 && refused.stderr.contains("has it for new sessions"), "{refused:?}");
    assert!(!again.response.exists());
    // The words that were shown take it back.
    let words = ["policy", "allow", "filesystem.write_file", "--to", "write"];
    let removed = rig.run(&[&words[..], &["--in", "~/Documents", "--remove"]].concat());
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(judged(&rig, &path), 3);
}

/// Neither what an invariant asks, nor what the user forbade, is settled by an answer to a question.
#[test]
fn what_the_policy_does_not_decide_or_denies_is_not_added() {
    let (rig, path) = rig();
    let rig = rig.scripted();
    let work = rig.session("work");
    let escalated = work.forge(|it| {
        it["rule"] = "structural-host-executes".into();
        it["causes"] = serde_json::json!([]);
    });
    let besides = work.forge(|it| {
        it["causes"] = serde_json::json!([
            {"rule": "ask", "reason": "r", "roles": ["write-path"]},
            {"rule": "structural-draft", "reason": "r", "roles": []},
        ]);
    });
    for id in [&escalated, &besides] {
        let refused = rig.run(&["approvals", "approve", id.as_str(), "--always"]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("whatever the policy says"), "{refused:?}");
        assert!(refused.stderr.contains("leave `--always` out"), "{refused:?}");
    }
    // A session that runs still asks about what the user has forbidden since.
    let never = rig.run(&["policy", "never", "filesystem", "--in", "~/Documents"]);
    assert_eq!(never.code, 0, "{never:?}");
    let before = changes(&rig);
    let asked = work.ask(&path, "hello");
    let refused = rig.run(&["approvals", "approve", asked.id.as_str(), "--always"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("calls that the policy denies now"), "{refused:?}");
    assert!(!asked.response.exists());
    assert_eq!((changes(&rig), judged(&rig, &path)), (before, 4));
}
