//! Laws: what holds for every question, every answer and every grant.

use std::time::Duration;

use ic_escalation::display::{View, show};
use ic_escalation::{Offer, Request, Terms};
use ic_types::{Json, Object, Role, Timestamp};
use proptest::prelude::*;

use crate::world::{Ask, Place, absent, approval, directory, file, summary};

fn any_path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-c.]{1,3}", 1..5).prop_filter_map("canonical", |parts| {
        let path = format!("/{}", parts.join("/"));
        ic_types::CanonicalPath::new(&path).ok().map(|_| path)
    })
}

fn any_value() -> impl Strategy<Value = ic_policy::Value> {
    (any_path(), 0..3).prop_map(|(path, kind)| match kind {
        0 => file(&path),
        1 => directory(&path),
        _ => absent(&path),
    })
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let values = || proptest::collection::vec(any_value(), 1..4);
    (values(), values(), any::<bool>(), any::<String>()).prop_map(|(one, other, both, text)| {
        let roles: &[(Role, &[ic_policy::Value])] =
            &[(Role::WritePath, &one), (Role::DeletePath, &other)];
        let ask = Ask::of("move_file", if both { roles } else { &roles[..1] });
        ask.with(|ask| ask.parts.sent.insert("text", text))
    })
}

fn any_json() -> impl Strategy<Value = Json> {
    let list = proptest::collection::vec("[a-z]{0,3}", 0..3);
    prop_oneof![
        any::<bool>().prop_map(Json::Bool),
        any::<u64>().prop_map(Json::from),
        "[a-z]{0,4}".prop_map(Json::from),
        list.prop_map(|texts| Json::Array(texts.into_iter().map(Json::from).collect())),
    ]
}

/// Runs one question with paused time.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// What `ask` grants at its widest is used for `other`.
fn is_granted(ask: &Ask, other: &Ask) -> bool {
    run(async {
        let place = Place::open();
        let (_, waiting) = place.raise(ask, Duration::from_mins(1));
        let shown = place.pending().remove(0);
        let choice = Offer::of_request(shown.request()).unwrap().choices().pop().unwrap();
        let terms = Terms::new(place.now(), Duration::from_mins(1), None).unwrap();
        let reply = ic_escalation::Reply::Approve(Some(choice.with(terms)));
        shown.answer(&reply, ic_policy::DecidedBy::Cli, place.now()).unwrap();
        let ic_escalation::Outcome::Answered(it) = waiting.outcome().await else { panic!() };
        let path = place.root.path().join("grants.json");
        let session = crate::world::SESSION.parse().unwrap();
        let grants = ic_escalation::Grants::open(path, session).unwrap();
        grants.add(it.grant.expect("both sides offer the same"), place.now()).unwrap();
        grants.answer(&other.escalation(), &other.ticket, place.now()).is_some()
    })
}

/// Says naively whether `path` lies beneath `root`, part by part.
fn lies_beneath(path: &str, root: &str) -> bool {
    let parts = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (path, root) = (parts(path), parts(root));
    root.len() < path.len() && path[..root.len()] == root[..]
}

/// Says naively whether a call makes or removes the path itself.
fn is_about_entry(ask: &Ask, role: Role, path: &str) -> bool {
    let is_absent = |value: &ic_policy::Value| match value {
        ic_policy::Value::Path(it) => it.path.to_string() == path && it.state.is_none(),
        other => panic!("{other:?}"),
    };
    let mut values = ask.parts.roles.iter().filter(|it| it.role == role).flat_map(|it| &it.values);
    role == Role::DeletePath || values.any(is_absent)
}

fn paths(ask: &Ask, role: Role) -> Vec<(String, bool)> {
    let roles = ask.parts.roles.iter().filter(|it| it.role == role);
    roles
        .flat_map(|it| &it.values)
        .map(|value| match value {
            ic_policy::Value::Path(it) => {
                let is_directory =
                    it.state.is_some_and(|state| state.kind == ic_policy::FileKind::Directory);
                (it.path.to_string(), is_directory)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Says naively how far a grant of `ask` at its widest may reach.
fn may_reach(ask: &Ask, other: &Ask) -> bool {
    [Role::WritePath, Role::DeletePath].into_iter().all(|role| {
        let shown = paths(ask, role);
        // At the top of the disk there is no directory to offer, and then none of the role's is.
        let is_top =
            |(path, is_directory): &(String, bool)| !is_directory && path.matches('/').count() == 1;
        let narrow = shown.iter().any(is_top);
        paths(other, role).iter().all(|(path, _)| {
            shown.iter().any(|(shown, is_directory)| {
                let parent = shown.rsplit_once('/').unwrap().0;
                match (narrow, is_directory) {
                    (true, _) => path == shown,
                    (false, true) => {
                        let is_root = path == shown && !is_about_entry(other, role, path);
                        is_root || lies_beneath(path, shown)
                    }
                    (false, false) => lies_beneath(path, parent),
                }
            })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A grant is used exactly as far as it was shown, by another reading of what that means.
    #[test]
    fn a_grant_reaches_as_far_as_shown_and_no_further(ask in any_ask(), other in any_ask()) {
        let roles = |ask: &Ask| ask.parts.roles.len();
        prop_assume!(roles(&ask) == roles(&other));
        prop_assert_eq!(is_granted(&ask, &other), may_reach(&ask, &other));
        prop_assert_eq!(is_granted(&ask, &ask), may_reach(&ask, &ask));
    }

    /// A call that differs from the approved one in an argument that no scope speaks of is not covered,
    /// whatever the argument is called and whatever it holds.
    #[test]
    fn a_grant_never_covers_another_argument(
        ask in any_ask(),
        name in "[a-z]{1,6}",
        one in any_json(),
        other in any_json(),
    ) {
        prop_assume!(one != other && name != "text" && name != "body" && name != "edits");
        let with = |value: &Json| ask.clone().with(|ask| ask.parts.sent.insert(&*name, value.clone()));
        prop_assert_eq!(is_granted(&with(&one), &with(&one)), may_reach(&ask, &ask));
        prop_assert!(!is_granted(&with(&one), &with(&other)));
        prop_assert!(!is_granted(&ask, &with(&other)));
        prop_assert!(!is_granted(&with(&one), &ask));
    }

    #[test]
    fn a_question_reads_back(ask in any_ask()) {
        let request = ask.question(Timestamp::from_unix_ms(7)).request().clone();
        let bytes = request.to_json().to_string();
        let back = Request::parse(bytes.as_bytes(), &ask.ticket.escalation, &ask.ticket.session);
        prop_assert_eq!(back, Ok(request));
    }

    /// However an approval is damaged, it approves the same, or nothing.
    #[test]
    fn a_damaged_approval_is_none(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let outcome = run(async {
            let place = Place::open();
            let (ask, waiting) = place.raise(&Ask::write("/d/a"), Duration::from_secs(1));
            let mut bytes = approval(&ask);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            place.respond(&ask, &bytes);
            summary(&waiting.outcome().await)
        });
        // What may change is when and by whom, in the words that there are for that.
        prop_assert!(outcome == "Approved by cli" || outcome.starts_with("malformed: "), "{}", outcome);
    }

    #[test]
    fn any_bytes_are_no_approval(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let outcome = run(async {
            let place = Place::open();
            let (ask, waiting) = place.raise(&Ask::write("/d/a"), Duration::from_secs(1));
            place.respond(&ask, &bytes);
            summary(&waiting.outcome().await)
        });
        prop_assert!(outcome.starts_with("malformed: "), "{}", outcome);
    }

    #[test]
    fn no_question_breaks_the_screen(name in any::<String>(), text in any::<String>()) {
        let mut arguments = Object::new();
        arguments.insert(name, Json::from(text.as_str()));
        let ask = Ask::write("/d/a").with(|ask| ask.parts.sent = arguments);
        let now = Timestamp::from_unix_ms(0);
        let mut request = Request::of(&ask.escalation(), &ask.ticket, now);
        request.reason = text;
        for view in [View::Short, View::Full] {
            for line in show(&request, view, None, now) {
                prop_assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }
}
