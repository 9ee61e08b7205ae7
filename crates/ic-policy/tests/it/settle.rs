//! An escalation becomes a permit only by an answer to this very question, in time.

use ic_policy::{
    Answer, DecidedBy, Decision, Escalation, RefusalCause, ResolvedCall, SandboxKind, Settled,
    Shown, Ticket, Value, Verdict, evaluate,
};
use ic_types::{Digest, Role, Timestamp};

use crate::world::{bounds, parts, policy};

const ASK: &str = r#"[{"name":"ask","if":{},"then":"escalate","reason":"a person decides"}]"#;

fn escalation_in(rules: &str, change: impl FnOnce(&mut ic_policy::ResolvedParts)) -> Escalation {
    let mut parts = parts("x", "t", &[(Role::WritePath, &["/d/a"])]);
    parts.sent.insert("path", "/d/a");
    change(&mut parts);
    let verdict = evaluate(
        &policy(rules, "{}"),
        &bounds(SandboxKind::Session),
        ResolvedCall::assert_resolved(parts),
    );
    match verdict {
        Verdict::Escalate(escalation) => escalation,
        other => panic!("{other:?}"),
    }
}

fn escalation() -> Escalation {
    escalation_in(ASK, |_| {})
}

fn ticket() -> Ticket {
    Ticket {
        session: "2026-11-15-00-00-00-000-aaaa".parse().unwrap(),
        escalation: "e1".parse().unwrap(),
        server_identity: Digest::of(b"server"),
        schema_hash: Digest::of(b"schema"),
        deadline: Timestamp::from_unix_ms(1000),
    }
}

fn answer(decision: Decision, digest: Digest) -> Answer {
    Answer::by_person(Shown::assert_shown(digest), decision, DecidedBy::Cli)
}

fn at(unix_ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(unix_ms)
}

#[test]
fn an_approval_in_time_with_the_right_digest_is_a_permit() {
    let approved = answer(Decision::Approved, escalation().digest(&ticket()));
    match escalation().settle(&ticket(), &approved, at(1000)) {
        Settled::Permit(permit) => {
            assert_eq!(permit.grounds().decided_by, DecidedBy::Cli);
            assert_eq!(&*permit.grounds().rule, "ask");
            assert_eq!(permit.call().tool().as_str(), "t");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn too_late_is_refused() {
    let approved = answer(Decision::Approved, escalation().digest(&ticket()));
    match escalation().settle(&ticket(), &approved, at(1001)) {
        Settled::Refused(refusal) => assert_eq!(refusal.cause(), RefusalCause::Expired),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_denial_is_obeyed_whatever_its_digest() {
    for digest in [escalation().digest(&ticket()), Digest::of(b"other")] {
        match escalation().settle(&ticket(), &answer(Decision::Denied, digest), at(0)) {
            Settled::Refused(refusal) => {
                assert_eq!(refusal.cause(), RefusalCause::Denied(DecidedBy::Cli));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[track_caller]
fn asks_again(escalation: Escalation, ticket: &Ticket, approved: &Answer) {
    let settled = escalation.settle(ticket, approved, Timestamp::from_unix_ms(0));
    assert!(matches!(settled, Settled::AskAgain(_)), "{settled:?}");
}

/// Whatever changes between question and answer, the person is asked again.
#[test]
fn an_approval_of_another_question_asks_again() {
    let approved = answer(Decision::Approved, escalation().digest(&ticket()));
    let other_argument = escalation_in(ASK, |parts| parts.sent.insert("content", "x"));
    asks_again(other_argument, &ticket(), &approved);
    let other_path = escalation_in(ASK, |parts| {
        parts.roles[0].values = vec![crate::world::value(Role::WritePath, "/d/b")];
    });
    asks_again(other_path, &ticket(), &approved);
    let other_file = escalation_in(ASK, |parts| match &mut parts.roles[0].values[0] {
        Value::Path(path) => {
            path.state = Some(ic_policy::FileState {
                kind: ic_policy::FileKind::File,
                device: 1,
                inode: 2,
                bytes: 3,
                modified_s: 4,
                modified_ns: 5,
            });
        }
        other => panic!("{other:?}"),
    });
    asks_again(other_file, &ticket(), &approved);
    let other_tool = escalation_in(ASK, |parts| parts.asked.tool = "u".parse().unwrap());
    asks_again(other_tool, &ticket(), &approved);
    let other_server = escalation_in(ASK, |parts| parts.asked.server = "y".parse().unwrap());
    asks_again(other_server, &ticket(), &approved);
    let other_policy = escalation_in(&ASK.replace("decides", "decided"), |_| {});
    asks_again(other_policy, &ticket(), &approved);
    for change in [
        |ticket: &mut Ticket| ticket.session = "other".parse().unwrap(),
        |ticket: &mut Ticket| ticket.escalation = "e2".parse().unwrap(),
        |ticket: &mut Ticket| ticket.server_identity = Digest::of(b"swapped"),
        |ticket: &mut Ticket| ticket.schema_hash = Digest::of(b"swapped"),
    ] {
        let mut ticket = ticket();
        change(&mut ticket);
        asks_again(escalation(), &ticket, &approved);
    }
}

/// An invariant without a role is found beside the one that is named first.
#[test]
fn an_escalation_names_everything_that_asks() {
    let escalation = escalation_in(ASK, |parts| {
        parts.roles[0].values = vec![crate::world::value(Role::WritePath, "/h/.bashrc")];
        parts.standing = ic_policy::Standing::Draft;
    });
    let causes: Vec<_> =
        escalation.causes().iter().map(|it| (&*it.rule, it.role, it.structural)).collect();
    assert_eq!(
        causes,
        [
            (
                "structural-host-executes",
                Some(Role::WritePath),
                Some(ic_policy::Structural::HostExecutes)
            ),
            ("structural-draft", None, Some(ic_policy::Structural::Draft)),
            ("ask", Some(Role::WritePath), None),
        ]
    );
    assert_eq!(escalation.rule(), "structural-host-executes");
    assert_eq!(&*escalation.causes()[0].reason, escalation.reason());
    assert_eq!(&*escalation.causes()[2].reason, "a person decides");
}

/// Of two values of one role, each is asked about by a rule of its own.
#[test]
fn an_escalation_names_the_rule_of_every_value() {
    let rules = r#"[
        {"name":"d","if":{"paths":{"roles":["write-path"],"within":"/d"}},"then":"escalate",
            "reason":"it is in d"},
        {"name":"e","if":{"paths":{"roles":["write-path"],"within":"/e"}},"then":"escalate",
            "reason":"it is in e"},
        {"name":"f","if":{"paths":{"roles":["write-path"],"within":"/f"}},"then":"allow",
            "reason":"it is in f"}]"#;
    let escalation = escalation_in(rules, |parts| {
        let values = ["/d/a", "/f/a", "/e/a", "/e/b"];
        parts.roles[0].values =
            values.iter().map(|path| crate::world::value(Role::WritePath, path)).collect();
    });
    let causes: Vec<_> =
        escalation.causes().iter().map(|it| (&*it.rule, &*it.reason, it.role)).collect();
    let role = Some(Role::WritePath);
    assert_eq!(causes, [("d", "it is in d", role), ("e", "it is in e", role)]);
}
