//! Agents, servers and neighbours that want an answer that nobody meant to give.

use serde_json::{Value, json};

use super::world::{BINARY, Rig};

/// What drives a terminal, turns text around, or is not seen.
const EVIL: [&str; 8] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;owned\u{7}",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{9b}31m\u{90}q\u{9c}",
    "\u{202e}txt.exe\u{2066}",
    "a\u{200b}b\u{feff}\u{ad}\u{e0041}",
    "\r\n#1 work: approved\r\nApprove this call? [y/N] y",
    "\0\u{8}\u{7f}\u{2028}\u{2029}\u{85}",
];

/// Returns whether nothing in `text` drives a terminal or hides.
fn is_harmless(text: &str) -> bool {
    let is_hidden = |c| EVIL.iter().any(|evil| !char::is_ascii(&c) && evil.contains(c));
    !text.chars().any(|c| c != '\n' && (c.is_control() || is_hidden(c)))
}

#[test]
fn nothing_in_a_question_drives_the_terminal_or_hides() {
    let rig = Rig::new();
    let work = rig.session("work");
    for evil in EVIL {
        work.forge(|it| {
            it["reason"] = json!(evil);
            it["rule"] = json!(evil);
            it["arguments"] = json!({evil: evil, "list": [evil, {evil: evil}], "content": evil});
            it["resolved"] = json!({
                "write-path": [{"path": format!("/d/{evil}"), "kind": evil, "modified": evil}, evil],
                "fetch-url": [{"url": evil, "destination": evil}],
                evil: [{evil: evil}],
            });
            it["escalatedRoles"] = json!(["write-path", "fetch-url"]);
        });
    }
    let asked = work.ask("/d/a.txt", &EVIL.concat());
    let own = (EVIL.len() + 1).to_string();
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["show", "1"],
        &["show", "1", "--full"],
        &["show", "1", "--json"],
        &["show", &own],
        &["show", EVIL[0]],
        &["approve", "1"],
        &["approve", "1", "--grant", EVIL[1]],
        &["deny", EVIL[6]],
    ] {
        // No argument of a program holds a zero.
        let output = rig.run(&[&["approvals"], words].concat());
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert!(is_harmless(&shown), "{words:?}: {shown:?}");
    }
    for n in 1..=EVIL.len() {
        let shown = rig.run(&["approvals", "show", &n.to_string(), "--full"]).stdout;
        assert!(is_harmless(&shown), "{shown:?}");
        assert_eq!(shown.lines().filter(|line| line.starts_with('#')).count(), 1, "{shown}");
    }
    // JSON says the same all the same.
    let shown = rig.run(&["approvals", "show", &own, "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["arguments"]["content"], EVIL.concat());

    let mut terminal = rig.at_terminal(&["approvals", "approve", &own, "--grant", "file"]);
    terminal.expect("and grant that? [y/N] ").type_in("n\n");
    let output = terminal.end();
    assert!(is_harmless(&output.stdout), "{output:?}");

    let mut terminal = rig.at_terminal(&["approvals", "watch", "--desk"]);
    terminal.expect("#1 work: ").expect("more wait\n").type_in("d 1\n");
    terminal.expect("\n#1 work: ").expect("more wait\n").type_in(&format!("g {own}\n"));
    terminal.expect(&format!("#{own} work: ")).expect("more wait\n");
    terminal
        .type_in(&format!("g {own}\n"))
        .expect("n goes back (then Enter) ")
        .expect("more wait\n");
    terminal.type_in("n\n").expect("nothing answered.\n");
    terminal.type_in("q\n");
    let output = terminal.end();
    assert!(output.code == 0 && is_harmless(&output.stdout), "{output:?}");
    assert!(!asked.response.exists());
}

#[test]
fn grants_that_somebody_wrote_cannot_drive_the_terminal() {
    let rig = Rig::new();
    let work = rig.session("work");
    let digest = ic_types::Digest::of(b"policy").to_string();
    let grants = json!({"version": 1, "sessionId": work.id.as_str(), "grants": [{
        "id": "0a0a0a0a", "serverName": "filesystem", "toolName": "write_file",
        "policyHash": digest, "createdAt": "2026-11-15T00:00:00Z",
        "expiresAt": "2126-11-15T00:00:00Z",
        "roles": {"write-path": {"kind": "file", "values": EVIL}}, "only": EVIL,
    }]});
    std::fs::write(rig.home.grants(&work.id), grants.to_string()).unwrap();
    for words in [&["grants", "list"][..], &["grants", "list", "--json"]] {
        let output = rig.run(words);
        assert!(output.stdout.contains("0a0a0a0a"), "{output:?}");
        assert!(is_harmless(&output.stdout), "{output:?}");
    }
    // It grants nothing: what is in force is in the memory of the session.
    assert!(work.grants.in_force(ic_types::Timestamp::from_unix_ms(1_794_700_800_000)).is_empty());
}

#[test]
fn a_question_that_is_replaced_while_it_is_looked_at_is_not_approved() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "approve", "1"]);
    terminal.expect("[y/N] ");
    asked.replace(|it| it["arguments"]["path"] = json!("/etc/passwd"));
    terminal.type_in("y\n");
    let output = terminal.end();
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("is not what was shown any more"), "{output:?}");
    assert!(!asked.response.exists(), "nothing was answered");
}

#[test]
fn a_question_that_was_replaced_before_is_not_approved_either() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let asked = work.ask("/etc/passwd", "hello");
    // A harmless one is shown, with the digest of the other.
    asked.replace(|it| it["arguments"]["path"] = json!("/d/a.txt"));
    // Whoever approved may hear that it was accepted, or that it is over already.
    let output = rig.run(&["approvals", "approve", asked.id.as_str()]);
    assert!(output.stdout.contains("/d/a.txt"), "{output:?}");
    let said = rig.summary(asked);
    assert_eq!(said, "malformed: the request was changed after it was made");
}

#[test]
fn what_cannot_be_read_is_said_and_hides_nothing_else() {
    let rig = Rig::new();
    let work = rig.session("work");
    let _asked = work.ask("/d/a.txt", "hello");
    work.forge(|it| it["extra"] = json!("\u{1b}[2J"));
    work.forge(|it| it["sessionId"] = json!("another"));
    let list = rig.run(&["approvals", "list"]);
    assert_eq!(list.code, 0);
    assert_eq!(list.stdout.lines().filter(|line| line.starts_with('#')).count(), 1, "{list:?}");
    assert_eq!(list.stderr.matches("warning: ").count(), 2, "{list:?}");
    assert!(is_harmless(&list.stderr), "{list:?}");
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    // The early word is typed before the command begins.
    let command = format!("read go; exec {BINARY} approvals approve 1");
    let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
    terminal.type_in("go\ny\n").expect("[y/N] ").type_in("\x04");
    let output = terminal.end();
    assert_eq!(output.code, 1, "{output:?}");
    assert!(!asked.response.exists());
}

/// The question has to stand there for a while, whatever is typed meanwhile.
#[test]
fn what_is_typed_as_the_question_appears_is_no_answer() {
    for (words, question) in [
        (["approvals", "approve", "1"], "Approve this call?"),
        (["approvals", "deny", "1"], "Deny this call?"),
    ] {
        let rig = Rig::new();
        let work = rig.session("work");
        let asked = work.ask("/d/a.txt", "hello");
        let mut terminal = rig.at_terminal(&words);
        // Neither alone, nor one after the other, nor behind a line that is too long.
        terminal.expect(question).type_in("y\n").expect("(press y again: ").expect(question);
        terminal.type_in(&format!("y\nyes\n{}\ny\n", "y".repeat(600)));
        terminal.expect(" [y/N] ").type_in("\x04");
        let output = terminal.end();
        assert_eq!(output.code, 1, "{output:?}");
        assert_eq!(output.stdout.matches("[y/N]").count(), 1, "{output:?}");
        assert!(!asked.response.exists());
    }
}

#[test]
fn an_answer_counts_once_the_prompt_is_there_whatever_was_typed_before() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = rig.at_terminal(&["approvals", "approve", "1"]);
    terminal.expect("Approve this call?").type_in("n\n").expect("(press n again: ");
    terminal.expect(" [y/N] ").type_in("y\n");
    let output = terminal.end();
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(rig.summary(asked), "Approved by cli");
}
