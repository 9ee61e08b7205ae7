//! `ironcurtain approvals` and `grants`: what people see of a question, and what their answer does.
//!
//! The sessions that ask run in this process; the terminal is that of `tests/terminal/steps.py`.

mod always;
mod attacks;
mod granting;
mod watching;
pub(crate) mod world;

use ic_escalation::Reply;
use insta::assert_snapshot;
use serde_json::{Value, json};

use self::world::{Asked, BINARY, Rig};

#[test]
fn without_sessions_nothing_waits() {
    let place = crate::place();
    let list = place.run(["approvals", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (0, "No escalation pending.\n"), "{list:?}");
    let json = place.run(["approvals", "list", "--json"]);
    assert_eq!((json.code, json.stdout.as_str()), (0, "[]\n"), "{json:?}");
    let grants = place.run(["grants", "list"]);
    assert_eq!((grants.code, grants.stdout.as_str()), (0, "No grant is in force.\n"), "{grants:?}");
    for (words, said) in [
        (["show", "1"], "error: No escalation pending."),
        (["approve", "1"], "error: No escalation pending."),
        (["deny", "x"], "error: No pending escalation with ID: x"),
    ] {
        let output = place.run([&["approvals"][..], &words].concat());
        assert!(output.code == 1 && output.stderr.starts_with(said), "{output:?}");
    }
    let wrong = place.run(["approvals", "show", "a/b"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn the_list_has_the_questions_of_all_sessions_in_order() {
    let rig = Rig::new();
    assert_eq!(rig.run(&["approvals", "list"]).stdout, "No escalation pending.\n");
    let (work, play) = (rig.session("work"), rig.session("play"));
    let _first = work.ask("/d/a.txt", "hello");
    let _second = play.ask("/d/b.txt", "there");
    assert_snapshot!(rig.seen(&rig.run(&["approvals", "list"])), @r#"
    #1 work: filesystem wants to call write_file; expires in [N] min [N] s
      because: "a person decides"
      write-path: "/d/a.txt"
      id: [ID]
    #2 play: filesystem wants to call write_file; expires in [N] min [N] s
      because: "a person decides"
      write-path: "/d/b.txt"
      id: [ID]
    --- exit 0
    "#);
    let listed = rig.run(&["approvals", "list", "--json"]).stdout;
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let keys: Vec<&String> = listed[0].as_object().unwrap().keys().collect();
    let expected = [
        "escalationId",
        "number",
        "session",
        "server",
        "tool",
        "arguments",
        "resolved",
        "reason",
        "rule",
        "causes",
        "createdAt",
        "expiresAt",
    ];
    assert_eq!(keys, expected);
    assert_eq!(listed[0]["session"], "work");
    assert_eq!(listed[1]["arguments"], json!({"path": "/d/b.txt", "content": "there"}));
}

#[test]
fn a_question_is_shown_with_everything_that_matters() {
    let rig = Rig::new();
    let work = rig.session("work");
    let file = rig.place.write("notes.txt", "one\ntwo\nthree\n");
    let _asked = work.ask(file.to_str().unwrap(), "one\n2\nthree\n");
    let long = work.ask("/d/new.txt", &format!("begin{}end", "x".repeat(1000)));
    assert_snapshot!(rig.seen(&rig.run(&["approvals", "show", "1"])), @r#"
    #1 work: filesystem wants to call write_file
      if approved, filesystem may change "[ROOT]/notes.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "[ROOT]/notes.txt" (holds 14 bytes, changed 2026-11-15 [CLOCK] UTC)
      arguments:
        "path": "[ROOT]/notes.txt"
        "content": "one\n2\nthree\n"
      change:
        --- [ROOT]/notes.txt
        +++ [ROOT]/notes.txt
        @@ -1,3 +1,3 @@
         one
        -two
        +2
         three
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]
      grants: `--grant file` or `--grant directory`
    --- exit 0
    "#);
    let id = long.id.as_str();
    assert_snapshot!(rig.seen(&rig.run(&["approvals", "show", id])), @r#"
    #2 work: filesystem wants to call write_file
      if approved, filesystem may create "/d/new.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/new.txt"
      arguments:
        "path": "/d/new.txt"
        "content": "beginxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" … 848 of 1008 characters not shown … "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxend"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]
      shortened: `ironcurtain approvals show [ID] --full` shows all of it
      grants: `--grant file` or `--grant directory`
    --- exit 0
    "#);
    let full = rig.run(&["approvals", "show", "#2", "--full"]).stdout;
    assert!(full.contains(&"x".repeat(1000)) && !full.contains("shortened"), "{full}");
    let shown: Value =
        serde_json::from_str(&rig.run(&["approvals", "show", "1", "--json"]).stdout).unwrap();
    assert_eq!(shown["number"], 1);
    assert_eq!(shown["grants"], json!(["file", "directory"]));
    assert!(shown["change"].as_str().unwrap().contains("-two\n+2\n"), "{shown}");
    assert_eq!(rig.run(&["approvals", "show", "3"]).code, 1);
}

/// Shows a question, and returns the lines about what would change.
fn change(rig: &Rig, asked: &Asked) -> String {
    let shown = rig.run(&["approvals", "show", asked.id.as_str()]).stdout;
    let lines = shown.lines().skip_while(|it| !it.contains("change:") && !it.contains("no diff"));
    let lines: Vec<&str> = lines.take_while(|it| !it.contains("expires:")).collect();
    rig.neutral(&lines.join("\n"))
}

#[test]
fn an_edit_is_shown_as_what_it_would_make_of_the_file() {
    let rig = Rig::new();
    let work = rig.session("work");
    let path = rig.place.write("notes.txt", "one\n        two\nthree\n");
    let edit = |old: &str, new: &str| {
        let edits = json!([{"oldText": old, "newText": new}]);
        json!({"path": path, "edits": edits})
    };
    let asked = work.ask_tool("edit_file", &edit("two", "2\n  rule: \"harmless\""));
    assert_snapshot!(change(&rig, &asked), @r#"
    change:
      --- [ROOT]/notes.txt
      +++ [ROOT]/notes.txt
      @@ -1,3 +1,4 @@
       one
      -        two
      +        2
      +  rule: "harmless"
       three
    "#);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n        two\nthree\n");
    let failing = "  no difference shown: the call would fail: edit 1: `oldText` does not occur";
    for (old, new, expected) in
        [("four", "4", failing), ("one", "one", "  no difference shown: nothing would change")]
    {
        let asked = work.ask_tool("edit_file", &edit(old, new));
        let shown = change(&rig, &asked);
        assert!(shown.starts_with(expected), "{shown}");
    }
    // A tool of somebody else's that has the name does what it likes.
    let asked = work.ask_stranger("edit_file", &edit("two", "2"));
    assert_eq!(change(&rig, &asked), "");
}

#[test]
fn where_no_difference_is_shown_it_is_said_why() {
    let rig = Rig::new();
    let work = rig.session("work");
    let edits: Vec<Value> =
        (0..101).map(|n| json!({"oldText": format!("{n}"), "newText": "x"})).collect();
    let large = rig.place.write("large", "x\n".repeat(200_000));
    let bytes = rig.place.write("bytes", b"\xff\xfe\x00");
    let small = rig.place.write("small", "x\n");
    let secret = rig.place.write("secret", "x\n");
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let is_root = std::fs::read(&secret).is_ok();
    let write = |path: &std::path::Path, content: &str| {
        ("write_file", json!({"path": path, "content": content}))
    };
    for ((tool, arguments), expected) in [
        (write(&large, "y"), "the file is too large"),
        (write(&small, &"y".repeat(300_000)), "what would be written is too large"),
        (write(&bytes, "y"), "the file is not text"),
        (write(&rig.place.dir("directory"), "y"), "the file cannot be read"),
        (write(&small, "x\n"), "nothing would change"),
        (("edit_file", json!({"path": small, "edits": edits})), "there are too many edits"),
        (("edit_file", json!({"path": "/d/none", "edits": []})), "the file is not there"),
        (write(&secret, "y"), "the file cannot be read"),
    ] {
        if is_root && arguments["path"] == secret.to_str().unwrap() {
            continue;
        }
        let asked = work.ask_tool(tool, &arguments);
        assert_eq!(change(&rig, &asked), format!("  no difference shown: {expected}"));
    }
    // What is not there yet is new as a whole.
    let asked = work.ask_tool("write_file", &json!({"path": "/d/none", "content": "y"}));
    assert_eq!(change(&rig, &asked), "");
}

#[test]
fn a_person_approves_at_the_terminal() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "approve", "1"]);
    terminal.expect("Approve this call? [y/N] ").type_in("y\n");
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

    If you approve, this one call is forwarded as it is shown.
    Approve this call? [y/N] y
    Escalation approved. #1 was accepted by `work`.
    --- exit 0
    "#);
    assert_eq!(rig.summary(asked), "Approved by cli");
}

/// What is approved was shown, however long it is.
#[test]
fn a_person_sees_all_of_what_they_approve() {
    let rig = Rig::new();
    let work = rig.session("work");
    let content = format!("{}the point{}", "x".repeat(2000), "y".repeat(2000));
    let asked = work.ask("/d/a.txt", &content);
    let mut terminal = rig.at_terminal(&["approvals", "approve", "1"]);
    terminal.expect("Approve this call? [y/N] ").type_in("y\n");
    let output = terminal.end();
    assert!(!output.stdout.contains("not shown"), "{output:?}");
    // Long lines are broken, so only letters are compared.
    let letters: String = output.stdout.chars().filter(|it| !"\r\n |".contains(*it)).collect();
    assert!(letters.contains(&content.replace(' ', "")), "{output:?}");
    assert_eq!(rig.summary(asked), "Approved by cli");
}

#[test]
fn a_person_denies_at_the_terminal() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "deny", asked.id.as_str()]);
    terminal.expect("Deny this call? [y/N] ").type_in("yes\n");
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

    If you deny it, the call is not forwarded, and the agent is told so.
    Deny this call? [y/N] yes
    Escalation denied. Your denial of #1 was accepted by `work`.
    --- exit 0
    "#);
    assert_eq!(rig.summary(asked), "Denied by cli");
}

#[test]
fn anything_but_yes_answers_nothing() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    for words in [["approvals", "approve", "1"], ["approvals", "deny", "1"]] {
        for typed in ["n\n", "\n", "yess\n", "\x04"] {
            let mut terminal = rig.at_terminal(&words);
            terminal.expect("[y/N] ").type_in(typed);
            let output = terminal.end();
            assert_eq!(output.code, 1, "{output:?}");
            assert!(output.stdout.contains("Escalation #1 was not answered."), "{output:?}");
        }
    }
    assert!(!asked.response.exists());
    assert_eq!(rig.pending().len(), 1);
}

#[test]
fn without_a_terminal_nothing_is_answered_unless_scripts_may() {
    let rig = Rig::new();
    let work = rig.session("work");
    let (first, second) = (work.ask("/d/a.txt", "a"), work.ask("/d/b.txt", "b"));
    let (one, two) = (first.id.as_str(), second.id.as_str());
    for words in [["approve", one], ["approve", "1"], ["deny", one]] {
        // What somebody pipes in is no answer.
        let words = [&["approvals"], &words[..]].concat();
        let refused = rig.place.run_with_input(words, b"y\n");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("there is no terminal"), "{refused:?}");
        assert!(refused.stderr.contains("config set approvals.scripted true"), "{refused:?}");
    }
    for words in [["approve", one, "--yes"], ["deny", one, "--yes"]] {
        let refused = rig.run(&[&["approvals"], &words[..]].concat());
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("`approvals.scripted` is false"), "{refused:?}");
    }
    assert!(!first.response.exists());
    let rig = rig.scripted();
    // Another question may have the number by now.
    let numbered = rig.run(&["approvals", "approve", "1"]);
    assert!(numbered.code == 2 && numbered.stderr.contains("by its id"), "{numbered:?}");
    assert!(!first.response.exists());
    assert_snapshot!(rig.seen(&rig.run(&["approvals", "approve", one])), @r#"
    #1 work: filesystem wants to call write_file
      if approved, filesystem may create "/d/a.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/a.txt"
      arguments:
        "path": "/d/a.txt"
        "content": "a"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]

    If you approve, this one call is forwarded as it is shown.
    Escalation approved. #1 was accepted by `work`.
    --- exit 0
    "#);
    let denied = rig.run(&["approvals", "deny", two, "--yes"]);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert!(
        denied.stdout.ends_with("Escalation denied. Your denial of #1 was accepted by `work`.\n"),
        "{denied:?}"
    );
    assert_eq!(rig.summary(first), "Approved by cli");
    assert_eq!(rig.summary(second), "Denied by cli");
}

#[test]
fn the_first_answer_stands() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "approve", "1"]);
    terminal.expect("[y/N] ");
    rig.answer_elsewhere(&asked, &Reply::Deny);
    terminal.type_in("y\n");
    let output = terminal.end();
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("error: Escalation #1 was answered already"), "{output:?}");
    let again = rig.run(&["approvals", "approve", asked.id.as_str()]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("(it was denied (listener))"), "{again:?}");
    assert_eq!(rig.summary(asked), "Denied by listener");
}

#[test]
fn an_answer_that_comes_too_late_is_said_to_be() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "approve", asked.id.as_str()]);
    terminal.expect("[y/N] ");
    rig.close(work);
    terminal.type_in("y\n");
    let output = terminal.end();
    assert_eq!(output.code, 1, "{output:?}");
    let late = "error: Escalation #1 expired (response was too late)";
    assert!(output.stdout.contains(late), "{output:?}");
    assert!(!asked.response.exists());
    assert_eq!(rig.summary(asked), "closed");
}

#[test]
fn twenty_questions_are_twenty_answers() {
    let rig = Rig::new().scripted();
    let (work, play) = (rig.session("work"), rig.session("play"));
    let asked: Vec<_> = (0..20)
        .map(|n| if n % 2 == 0 { &work } else { &play }.ask(&format!("/d/{n}.txt"), "hello"))
        .collect();
    let list = rig.run(&["approvals", "list"]).stdout;
    assert_eq!(list.lines().filter(|line| line.starts_with('#')).count(), 20, "{list}");
    let listed: Vec<Value> =
        serde_json::from_str(&rig.run(&["approvals", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.len(), 20);
    // The last first: an answer to one moves no other.
    for (n, asked) in asked.into_iter().enumerate().rev() {
        let verb = if n % 3 == 0 { "deny" } else { "approve" };
        let output = rig.run(&["approvals", verb, asked.id.as_str()]);
        assert_eq!(output.code, 0, "{output:?}");
        let expected = if n % 3 == 0 { "Denied by cli" } else { "Approved by cli" };
        assert_eq!(rig.summary(asked), expected);
    }
    assert_eq!(rig.run(&["approvals", "list"]).stdout, "No escalation pending.\n");
}

#[test]
fn nobody_is_asked_about_what_the_terminal_did_not_show() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let command = format!("exec {BINARY} approvals approve 1 > shown < /dev/null");
    let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
    terminal.expect("write-path (asks):\n").expect("Approve this call? [y/N] ").type_in("y\n");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(rig.summary(asked), "Approved by cli");
}

/// Standard output is a terminal too, but not the one at which the person is.
#[test]
fn another_terminal_does_not_count_as_shown() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let elsewhere = |words: &str| {
        format!(
            "import os,pty,subprocess as s;m,t=pty.openpty();print('begun',flush=True);s.run(['{BINARY}',{words}],stdout=t)"
        )
    };
    let command = elsewhere("'approvals','approve','1'");
    let mut terminal = rig.in_terminal(&["python3", "-c", &command]);
    terminal.expect("begun\n").expect("write-path (asks):\n").expect("[y/N] ").type_in("n\n");
    assert_eq!(terminal.end().code, 0);
    // Who sees no question cannot be taken to answer it, even where scripts may be approvers.
    rig.place.let_scripts_answer();
    let command = elsewhere("'approvals','watch','--desk'");
    let mut terminal = rig.in_terminal(&["python3", "-c", &command]);
    terminal.expect("begun\n").type_in("y 1\n");
    super::proxy::until("somebody is there", || {
        ic_escalation::is_anybody_there(&rig.home).unwrap()
    });
    terminal.type_in("y 1\ny 1\n").type_in("\x03");
    assert_ne!(terminal.end().code, 0);
    assert!(!asked.response.exists());
}

#[test]
fn help_manual_and_completions_know_the_commands() {
    let place = crate::place();
    for words in [
        &["approvals"][..],
        &["approvals", "list"],
        &["approvals", "show"],
        &["approvals", "approve"],
        &["approvals", "deny"],
        &["approvals", "watch"],
        &["grants"],
        &["grants", "list"],
        &["grants", "revoke"],
    ] {
        let help = place.run([words, &["--help"]].concat());
        assert!(help.code == 0 && help.stdout.contains("Usage: ironcurtain"), "{help:?}");
        let man = place.run([&["man"], words].concat());
        assert!(man.code == 0 && man.stdout.contains(".TH"), "{man:?}");
    }
    let bash = place.run(["completions", "bash"]).stdout;
    for word in ["approvals", "revoke", "--desk", "--minutes"] {
        assert!(bash.contains(word), "{word}");
    }
    for words in [
        &["approvals", "approve", "1", "--minutes", "5"][..],
        &["approvals", "approve", "1", "--grant", "everything"],
        &["approvals", "approve"],
        &["grants", "revoke"],
        &["grants", "revoke", "00000000", "--all"],
        &["grants", "revoke", "x"],
    ] {
        let output = place.run(words);
        assert_eq!(output.code, 2, "{output:?}");
    }
}
