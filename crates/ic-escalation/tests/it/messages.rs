//! What a person's own message approves: the table of `ic-intent` on real escalations, under judges that say
//! yes to everything, nothing, or too late.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ic_escalation::{
    Approver, Intent, IntentJudge, Judged, Judging, Keys, Message, Opinion, Reading, Sent, Source,
    Unclear, UserContext, keys,
};
use ic_home::Clock;
use ic_policy::{
    DecidedBy, Destination, PathValue, Push, PushManner, PushedRef, RolePlace, RoleValues, Settled,
    UrlValue, Value,
};
use ic_types::{Json, JsonLimits, Role, Timestamp};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::world::{ALLOW, Ask, canonical, role_place, ticket};

const TABLE: &str = include_str!("../../../ic-intent/tests/table.txt");
const NOW: u64 = 1_794_960_000_000;

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(NOW)
    }
}

/// A judge of one mind.
#[derive(Debug)]
enum Mind {
    /// Lies: everything was asked for.
    Yes,
    No,
    /// Never comes to an end.
    Silent,
    /// Puts every message together as this one, and says yes to all of them.
    Reads(&'static str),
}

#[derive(Debug)]
struct Judge(Mind, AtomicUsize);

impl IntentJudge for Judge {
    fn name(&self) -> String {
        "test:judge".to_owned()
    }

    fn judge<'a>(&'a self, _: &'a Intent, _: &'a CancellationToken) -> Judging<'a> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            match self.0 {
                Mind::Yes | Mind::Reads(_) => Opinion::Asked,
                Mind::No => Opinion::Doubtful("no".to_owned()),
                Mind::Silent => pending().await,
            }
        })
    }

    fn read<'a>(&'a self, _: &'a Unclear, _: &'a CancellationToken) -> Reading<'a> {
        Box::pin(async {
            match self.0 {
                Mind::Reads(text) => Some(text.to_owned()),
                Mind::Yes | Mind::No => None,
                Mind::Silent => pending().await,
            }
        })
    }
}

fn typed(text: &str) -> Message {
    let at = Timestamp::from_unix_ms(NOW - 1000);
    Message { text: text.to_owned(), source: Source::Typed, at, has_paste: false }
}

fn approver(message: Option<Message>, is_literal: bool, mind: Option<Mind>) -> (TempDir, Approver) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("user-context.json");
    let context = Arc::new(UserContext::open(path, |text| text).unwrap());
    if let Some(message) = message {
        context.say(message).unwrap();
    }
    let judge = mind.map(|mind| Arc::new(Judge(mind, AtomicUsize::new(0))) as Arc<dyn IntentJudge>);
    (root, Approver { context, is_literal, judge, home: Some("/home/u".to_owned()) })
}

async fn judged(approver: &Approver, ask: &Ask) -> Judged {
    approver.answer(&ask.escalation(), &ask.ticket, &Stopped, &CancellationToken::new()).await
}

/// Returns whether the call has its permit by what the approver says.
async fn is_approved(approver: &Approver, ask: &Ask) -> bool {
    let Judged::Approved { answer, .. } = judged(approver, ask).await else { return false };
    assert_eq!(answer.decided_by(), DecidedBy::Auto);
    matches!(
        ask.escalation().settle(&ask.ticket, &answer, Timestamp::from_unix_ms(NOW)),
        Settled::Permit(_)
    )
}

fn unescaped(text: &str) -> String {
    let mut text = text.replace("\\n", "\n");
    while let Some(at) = text.find("U+") {
        let code = u32::from_str_radix(&text[at + 2..at + 6], 16).unwrap();
        text.replace_range(at..at + 6, &char::from_u32(code).unwrap().to_string());
    }
    text
}

fn path(path: &str) -> Value {
    Value::Path(PathValue { path: canonical(path), also: Vec::new(), state: None })
}

fn value(role: Role, text: &str) -> Value {
    match role {
        Role::FetchUrl | Role::GitRemoteUrl => Value::Url(UrlValue {
            text: text.to_owned(),
            destination: Destination::parse_authority("host.example").unwrap(),
        }),
        _ => path(text),
    }
}

/// Makes the call of a row, as the resolver would.
fn ask(text: &str) -> Ask {
    let (text, other) = match text.split_once(" +") {
        Some((text, other)) => (text, Some(other)),
        None => (text, None),
    };
    let (verb, rest) = text.split_once(' ').unwrap();
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let arguments: Vec<(&[Role], &str)> = match verb {
        "read" | "status" | "log" | "diff" | "search" | "run_script" | "post" => {
            vec![(&[Role::ReadPath], rest)]
        }
        "write" => vec![(&[Role::WritePath], rest)],
        "edit" => vec![(&[Role::ReadPath, Role::WritePath], rest)],
        "delete" => vec![(&[Role::DeletePath], rest)],
        "shell" => vec![(&[Role::ReadPath, Role::WritePath, Role::DeletePath], rest)],
        "commit" => vec![(&[Role::ReadPath, Role::WriteHistory], rest)],
        "fetch" => vec![(&[Role::FetchUrl], rest)],
        "push-only" => vec![(&[Role::GitRemoteUrl], rest)],
        "move" => vec![(&[Role::ReadPath, Role::DeletePath], first), (&[Role::WritePath], second)],
        "copy" => vec![(&[Role::ReadPath], first), (&[Role::WritePath], second)],
        "push" => {
            vec![(&[Role::ReadPath, Role::WriteHistory], first), (&[Role::GitRemoteUrl], second)]
        }
        "clone" if second.is_empty() => vec![(&[Role::GitRemoteUrl], rest)],
        "clone" => vec![(&[Role::GitRemoteUrl], first), (&[Role::WritePath], second)],
        other => panic!("{other}"),
    };
    let mut made = Ask::of(verb, &[]);
    for (number, (roles, resource)) in arguments.into_iter().enumerate() {
        let (written, resolved) = resource.split_once("=>").unwrap_or((resource, resource));
        let name = format!("argument{number}");
        made.parts.asked.arguments.insert(name.as_str(), written);
        made.parts.sent.insert(name.as_str(), resolved);
        let place = role_place(&name, roles[0]).place;
        made.parts.places.push(RolePlace { place, roles: roles.to_vec() });
        for role in roles {
            made.parts.roles.push(RoleValues { role: *role, values: vec![value(*role, resolved)] });
        }
    }
    if let Some(other) = other {
        let (name, value) = match other.split_once('=') {
            Some((name, text)) => (name, Json::from(text)),
            None if other == "edits" => (other, Json::Array(Vec::new())),
            None => (other, Json::from(true)),
        };
        made.parts.sent.insert(name, value);
    }
    made
}

fn rows() -> impl Iterator<Item = (String, String, bool, bool)> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [message, call, by_words, literally] = parts[..] else { panic!("{line}") };
        (unescaped(message), unescaped(call), by_words == "yes", literally == "yes")
    })
}

/// The issue's table, on real escalations: a model that lies gets no row beyond what the words say.
#[tokio::test(start_paused = true)]
async fn no_row_of_the_table_is_approved_wrongly() {
    let mut wrong = Vec::new();
    for (message, call, by_words, literally) in rows() {
        let ask = ask(&call);
        for (is_literal, mind, expected) in [
            (false, Some(Mind::Yes), by_words),
            (false, Some(Mind::No), false),
            (false, Some(Mind::Silent), false),
            (false, None, false),
            (true, None, literally),
            (true, Some(Mind::Yes), by_words || literally),
            (true, Some(Mind::No), literally),
        ] {
            let what = format!("{message:?} for `{call}`, literal {is_literal}, {mind:?}");
            let (_root, approver) = approver(Some(typed(&message)), is_literal, mind);
            if is_approved(&approver, &ask).await != expected {
                wrong.push(what);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A model that lies approves the one escalation that it was asked about, and no other.
#[tokio::test]
async fn an_approval_fits_one_escalation_only() {
    let (_root, approver) = approver(Some(typed("delete /home/u/a")), false, Some(Mind::Yes));
    let asked = ask("delete /home/u/a");
    let Judged::Approved { answer, words, by } = judged(&approver, &asked).await else { panic!() };
    assert_eq!((words.as_str(), by.as_str()), ("delete /home/u/a", "test:judge"));
    let now = Timestamp::from_unix_ms(NOW);
    let other_question = ask("delete /home/u/a").with(|it| it.ticket = ticket(it.ticket.deadline));
    let more = ask("delete /home/u/a").with(|it| {
        it.ticket = asked.ticket.clone();
        it.parts.sent.insert("recursive", true);
    });
    let elsewhere = ask("delete /home/u/b").with(|it| it.ticket = asked.ticket.clone());
    for other in [other_question, more, elsewhere] {
        let settled = other.escalation().settle(&other.ticket, &answer, now);
        assert!(matches!(settled, Settled::AskAgain(_)), "{settled:?}");
    }
    assert!(matches!(asked.escalation().settle(&asked.ticket, &answer, now), Settled::Permit(_)));
}

#[tokio::test]
async fn a_message_answers_each_call_once() {
    let (_root, approver) = approver(Some(typed("delete /home/u/a")), true, None);
    assert!(is_approved(&approver, &ask("delete /home/u/a")).await);
    assert!(!is_approved(&approver, &ask("delete /home/u/a")).await, "used");
    let again = typed("delete /home/u/a");
    approver.context.say(again).unwrap();
    assert!(is_approved(&approver, &ask("delete /home/u/a")).await, "said again");
}

#[tokio::test]
async fn what_an_invariant_asks_is_never_approved() {
    let rc = ask("write /h/.bashrc +content=x").with(|it| it.rules = ALLOW);
    let (_root, approver) =
        approver(Some(typed("write a line to /h/.bashrc")), true, Some(Mind::Yes));
    assert!(!is_approved(&approver, &rc).await);
    assert!(
        matches!(judged(&approver, &rc).await, Judged::Ask { why, .. } if why.contains("always yours"))
    );
}

#[tokio::test]
async fn a_push_is_approved_only_if_it_advances_one_branch() {
    let text = "push /home/u/tool to github.com/acme/tool";
    let one = |name: &str, manner| PushedRef {
        name: name.to_owned(),
        old: None,
        new: Some("1".to_owned()),
        manner,
    };
    let main = || one("refs/heads/main", PushManner::Advance);
    for (push, expected) in [
        (Push::Refs(vec![main()]), true),
        (Push::Refs(vec![main(), one("refs/heads/x", PushManner::Advance)]), false),
        (Push::Refs(vec![one("refs/heads/main", PushManner::Force)]), false),
        (Push::Refs(vec![one("refs/tags/v1", PushManner::Advance)]), false),
        (Push::Refs(Vec::new()), false),
        (Push::Unknown("x".to_owned()), false),
    ] {
        let ask = ask("push /home/u/tool origin=>https://github.com/acme/tool")
            .with(|it| it.parts.push = Some(push));
        let (_root, approver) = approver(Some(typed(text)), false, Some(Mind::Yes));
        assert_eq!(is_approved(&approver, &ask).await, expected, "{ask:?}");
    }
}

#[tokio::test]
async fn what_links_lead_to_was_not_named() {
    let linked = ask("read /home/u/a").with(|it| {
        let also = vec![canonical("/home/u/link")];
        it.parts.roles[0].values =
            vec![Value::Path(PathValue { path: canonical("/home/u/a"), also, state: None })];
    });
    let (_root, approver) = approver(Some(typed("read /home/u/a")), true, Some(Mind::Yes));
    assert!(!is_approved(&approver, &linked).await);
}

#[tokio::test]
async fn a_message_that_nobody_typed_is_none() {
    let read = ask("read /home/u/a");
    let (root, approver) = approver(Some(typed("read /home/u/a")), true, None);
    let written = std::fs::read(root.path().join("user-context.json")).unwrap();
    let written = Json::parse(&written, JsonLimits::CALL).unwrap().to_string();
    assert_eq!(
        written,
        r#"{"message":"read /home/u/a","source":"typed","at":"2026-11-18T00:00:00.000Z"}"#
            .replace("2026-11-18T00:00:00.000Z", &Timestamp::from_unix_ms(NOW - 1000).to_string())
    );
    // A turn that begins with other words is not the person's.
    approver.context.begin_turn("read /home/u/a");
    approver.context.begin_turn("read /home/u/a, please");
    assert!(matches!(judged(&approver, &read).await, Judged::NoMessage));
    assert!(!root.path().join("user-context.json").exists());
    // What stands in the file alone approves nothing.
    std::fs::write(root.path().join("user-context.json"), written).unwrap();
    assert!(matches!(judged(&approver, &read).await, Judged::NoMessage));
    // What an agent wrote, sent back word for word.
    approver.context.hear("Please say: read /home/u/a");
    approver.context.say(typed("read /home/u/a")).unwrap();
    assert!(!is_approved(&approver, &read).await);
}

/// Presses keys whose message code cannot read.
fn press(approver: &Approver, typed: &[u8]) {
    let typed = Keys::Typed(typed.to_vec());
    match keys::heard(&typed, std::slice::from_ref(&typed)) {
        Some(Sent::Unclear(keys)) => {
            approver.context.press(keys, Timestamp::from_unix_ms(NOW - 1000));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_model_puts_together_has_to_be_what_was_typed() {
    let read = ask("read /home/u/a");
    for (typed, put_together, is_message, is_approved_by_it) in [
        (&b"read \x1b[D\x1b[C /home/u/a\r"[..], "read /home/u/a", true, true),
        // It may be a message, and asks for nothing that is known.
        (b"red /home/u/a \x1b[1~\x1b[F\r", "red /home/u/a", true, false),
        // It may have been one, and cannot be told from these keys.
        (b"/home/u/a\x1b[Hread \r", "read /home/u/a", false, false),
        // A lie: other words, another file, or no `do not`.
        (b"look\x1b[D\x1b[C /home/u/a\r", "read /home/u/a", false, false),
        (b"read \x1b[D\x1b[C /home/u/b\r", "read /home/u/a", false, false),
        (b"read \x1b[D\x1b[C /home/u/a.txt\r", "read /home/u/a", false, false),
        (b"do not\x1b[D\x1b[C read /home/u/a\r", "read /home/u/a", false, false),
        (b"do not @pl\r read /home/u/a\r", "read /home/u/a", false, false),
        (b"don't \\\rread /home/u/a\r", "read /home/u/a", false, false),
        (b"never\x1b\rread /home/u/a\r", "read /home/u/a", false, false),
    ] {
        let (root, approver) = approver(None, false, Some(Mind::Reads(put_together)));
        press(&approver, typed);
        let shown = String::from_utf8_lossy(typed);
        assert_eq!(is_approved(&approver, &read).await, is_approved_by_it, "{shown:?}");
        let file = std::fs::read_to_string(root.path().join("user-context.json"));
        let is_noted = file.is_ok_and(|it| it.contains("\"source\":\"reconstructed\""));
        assert_eq!(is_noted, is_message, "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_no_model_reads_are_no_message() {
    let read = ask("read /home/u/a");
    let typed = b"read\x1b[D\x1b[C /home/u/a\r";
    for (is_literal, mind) in [
        (true, None),
        (false, Some(Mind::Yes)),
        (false, Some(Mind::Silent)),
        (true, Some(Mind::No)),
    ] {
        // What was said before counts no more.
        let (root, approver) = approver(Some(self::typed("read /home/u/a")), is_literal, mind);
        press(&approver, typed);
        assert!(!is_approved(&approver, &read).await);
        assert!(!root.path().join("user-context.json").exists());
    }
}
