//! Grants: what is previewed is what is granted, and what was granted can be taken back.

use ic_escalation::Outcome;
use ic_home::{Clock as _, SystemClock};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::world::{Asked, Rig, Session};

/// Puts the grant in force that came with an answer, as a session does.
fn take(rig: &Rig, session: &Session, asked: Asked) {
    let Outcome::Answered(answered) = rig.outcome(asked) else { panic!("nobody answered") };
    session.grants.add(answered.grant.expect("a grant"), SystemClock.now()).unwrap();
}

/// Returns whether a session would not ask about writing to `path`.
fn is_granted(session: &Session, path: &str) -> bool {
    let asked = session.ask(path, "other");
    session.grants.answer(&asked.escalation, &asked.ticket, SystemClock.now()).is_some()
}

#[test]
fn a_grant_is_previewed_before_it_is_confirmed() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let words = ["approvals", "approve", "1", "--grant", "directory", "--count", "2"];
    let mut terminal = rig.at_terminal(&words);
    terminal.expect("Approve this call, and grant that? [y/N] ").type_in("y\n");
    assert_snapshot!(rig.seen(&terminal.end()), @r#"
    #1 work: filesystem wants to call write_file
      if approved, filesystem may create "/d/a.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/a.txt"
      arguments:
        "path": "/d/a.txt"
        "content": "hello"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]

    If you approve, this call is forwarded as it is shown, and
      `filesystem` may call `write_file` without asking again, for
        write-path: everything in `/d/`, at any depth
      until [CLOCK] UTC ([DAY]) or the end of the session, and for 2 more calls
    Approve this call, and grant that? [y/N] y
    Escalation approved. #1 was accepted by `work`.
    --- exit 0
    "#);
    take(&rig, &work, asked);
    assert!(is_granted(&work, "/d/b.txt"));
    assert!(!is_granted(&work, "/e/b.txt"));
    assert_snapshot!(rig.seen(&rig.run(&["grants", "list"])), @r#"
    [GRANT] work: filesystem may call write_file; ends in [N] min [N] s, for 1 more call, used once
      write-path: directory "/d/"
    --- exit 0
    "#);
    let listed: Vec<Value> =
        serde_json::from_str(&rig.run(&["grants", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["roles"]["write-path"], json!({"kind": "directory", "values": ["/d/"]}));
    assert_eq!((&listed[0]["count"], &listed[0]["session"]), (&json!(1), &json!("work")));
    assert!(is_granted(&work, "/d/c.txt"));
    assert!(!is_granted(&work, "/d/d.txt"), "it was for two calls");
    assert_eq!(rig.run(&["grants", "list"]).stdout, "No grant is in force.\n");
}

/// What is needed again and again is named as a change of the policy, if a policy can say it.
#[test]
fn a_grant_that_is_used_often_is_proposed_for_the_policy() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let notes = rig.place.dir("home/notes");
    let path = |name: &str| notes.join(name).to_str().unwrap().to_owned();
    let grant = |asked: Asked, scope: &str| {
        let words = ["approvals", "approve", asked.id.as_str(), "--grant", scope];
        assert_eq!(rig.run(&words).code, 0);
        take(&rig, &work, asked);
    };
    grant(work.ask(&path("a.txt"), "hello"), "directory");
    let proposal = "ironcurtain policy allow filesystem.write_file --to write --in ~/notes";
    let listed = || rig.run(&["grants", "list"]).stdout;
    for name in ["b.txt", "c.txt"] {
        assert!(is_granted(&work, &path(name)));
        assert!(!listed().contains("policy allow"), "{}", listed());
    }
    assert!(is_granted(&work, &path("d.txt")));
    assert!(
        listed().contains(&format!("  to allow this in your policy: `{proposal}`")),
        "{}",
        listed()
    );
    // The words are right: they are taken as they stand, and show what they would allow.
    let words: Vec<&str> = proposal.split(' ').skip(1).collect();
    let shown = rig.run(&[&words[..], &["--dry-run"]].concat());
    assert!(shown.code == 0 && shown.stdout.contains("~/notes"), "{shown:?}");
    // One file is no directory, and no sentence is about it.
    assert_eq!(rig.run(&["grants", "revoke", "--all"]).code, 0);
    grant(work.ask("/d/a.txt", "hello"), "file");
    for _ in 0..4 {
        assert!(is_granted(&work, "/d/a.txt"));
    }
    assert!(
        listed().contains("used 4 times") && !listed().contains("policy allow"),
        "{}",
        listed()
    );
}

#[test]
fn what_is_not_offered_is_not_granted() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let whole = work.forge(|it| it["escalatedRoles"] = json!([]));
    let id = asked.id.as_str();
    for (words, said) in [
        (&[id, "--grant", "host"][..], "no `host` can be granted with #1"),
        (&[id, "--grant", "file", "--minutes", "1441"], "within 24 hours"),
        (&[id, "--grant", "file", "--minutes", "0"], "within 24 hours"),
        (&[id, "--grant", "file", "--count", "0"], "between 1 and 1000000"),
        (&[whole.as_str(), "--grant", "file"], "nothing can be granted with #2"),
    ] {
        let output = rig.run(&[&["approvals", "approve"], words].concat());
        assert!(output.code == 2 && output.stderr.contains(said), "{said}: {output:?}");
    }
    assert!(!asked.response.exists());
    let output = rig.run(&["approvals", "approve", id, "--grant", "file", "--minutes", "5"]);
    assert_eq!(output.code, 0, "{output:?}");
    take(&rig, &work, asked);
    assert!(is_granted(&work, "/d/a.txt"));
    assert!(!is_granted(&work, "/d/b.txt"));
}

#[test]
fn a_grant_is_taken_back_and_asked_about_again() {
    let rig = Rig::new().scripted();
    let (work, play) = (rig.session("work"), rig.session("play"));
    for (session, path) in [(&work, "/d/a.txt"), (&work, "/d/b.txt"), (&play, "/d/c.txt")] {
        let asked = session.ask(path, "hello");
        let words = ["approvals", "approve", asked.id.as_str(), "--grant", "file"];
        assert_eq!(rig.run(&words).code, 0);
        take(&rig, session, asked);
    }
    let listed: Vec<Value> =
        serde_json::from_str(&rig.run(&["grants", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.len(), 3);
    let first = listed[0]["id"].as_str().unwrap();

    // At a terminal somebody is asked, where scripts may not answer.
    assert_eq!(rig.run(&["config", "set", "approvals.scripted", "false"]).code, 0);
    for words in [["grants", "revoke", first], ["grants", "revoke", "--all"]] {
        let refused = rig.run(&words);
        assert!(refused.code == 1 && refused.stderr.contains("no terminal"), "{refused:?}");
    }
    let mut terminal = rig.at_terminal(&["grants", "revoke", first]);
    terminal.expect("Take this grant back? [y/N] ").type_in("n\n");
    assert_eq!(terminal.end().code, 1);
    assert!(is_granted(&work, "/d/a.txt"));
    let mut terminal = rig.at_terminal(&["grants", "revoke", first]);
    terminal.expect("Take this grant back? [y/N] ").type_in("y\n");
    assert_snapshot!(rig.seen(&terminal.end()), @r#"
    [GRANT] work: filesystem may call write_file; ends in [N] min [N] s, used once
      write-path: file "/d/a.txt"
    Take this grant back? [y/N] y
    Grant [GRANT] was taken back.
    --- exit 0
    "#);
    assert!(!is_granted(&work, "/d/a.txt"));
    assert!(is_granted(&work, "/d/b.txt"));
    let again = rig.run(&["grants", "revoke", first]);
    assert!(again.code == 1 && again.stderr.contains("there is no grant"), "{again:?}");

    let rig = rig.scripted();
    let all = rig.run(&["grants", "revoke", "--all"]);
    assert_eq!(all.code, 0, "{all:?}");
    assert_eq!(all.stdout.matches("was taken back.").count(), 2, "{all:?}");
    assert!(!is_granted(&work, "/d/b.txt") && !is_granted(&play, "/d/c.txt"));
    assert_eq!(rig.run(&["grants", "list", "--json"]).stdout, "[]\n");
    assert_eq!(rig.run(&["grants", "revoke", "--all"]).code, 0);
}
