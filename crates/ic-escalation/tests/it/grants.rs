//! Grants: used for more than was shown in every way we could think of, and none succeeds.

use std::fs;
use std::time::Duration;

use ic_escalation::{
    Grant, GrantId, Grants, GrantsError, GrantsFile, NoOffer, Offer, Outcome, Receipt, Reply,
    Revoked, Terms,
};
use ic_policy::{
    DecidedBy, Decision, PathValue, Push, PushManner, PushedRef, Settled, Standing,
    UnannotatedPath, Value, Verdict,
};
use ic_types::{Digest, Json, Role, Timestamp};
use tempfile::TempDir;

use crate::world::{
    ALLOW, ASK, ASK_BUT_READ, Ask, Place, SESSION, absent, approval, canonical, directory, file,
    linked, response, role_place, settle_down, summary, text, url,
};

const MINUTE: Duration = Duration::from_mins(1);

/// Which of the scopes that are offered is chosen.
#[derive(Clone, Copy, Debug)]
enum Chosen {
    Narrowest,
    Widest,
}

/// Asks, lets a person grant, and returns what the session has then.
async fn granted(ask: &Ask, chosen: Chosen, count: Option<u64>) -> Grant {
    let place = Place::open();
    let (_, waiting) = place.raise(ask, MINUTE);
    let shown = place.pending().remove(0);
    let mut choices = Offer::of_request(shown.request()).unwrap().choices();
    let choice = match chosen {
        Chosen::Narrowest => choices.remove(0),
        Chosen::Widest => choices.pop().unwrap(),
    };
    let terms = Terms::new(place.now(), ic_escalation::offer::LIFETIME, count).unwrap();
    let reply = Reply::Approve(Some(choice.with(terms)));
    let told = shown.answer(&reply, DecidedBy::Repl, place.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Accepted(Decision::Approved));
    match waiting.outcome().await {
        Outcome::Answered(it) => it.grant.unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The moment at which the clock of a test begins.
const START: Timestamp = Timestamp::from_unix_ms(1_794_700_800_000);

fn later(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(START.unix_ms() + ms)
}

fn open() -> (TempDir, Grants) {
    let root = tempfile::tempdir().unwrap();
    let grants = Grants::open(root.path().join("grants.json"), SESSION.parse().unwrap()).unwrap();
    (root, grants)
}

fn is_answered(grants: &Grants, ask: &Ask, now: Timestamp) -> bool {
    let escalation = ask.escalation();
    match grants.answer(&escalation, &ask.ticket, now) {
        None => false,
        Some((answer, _)) => {
            assert_eq!(answer.decided_by(), DecidedBy::Grant);
            match escalation.settle(&ask.ticket, &answer, now) {
                Settled::Permit(permit) => {
                    assert_eq!(permit.grounds().decided_by, DecidedBy::Grant);
                    true
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Grants what `ask` asks, and says which of the `attempts` are answered by that.
async fn answered(ask: &Ask, chosen: Chosen, attempts: &[Ask]) -> Vec<bool> {
    let grant = granted(ask, chosen, None).await;
    let (_root, grants) = open();
    grants.add(grant, later(1)).unwrap();
    assert!(is_answered(&grants, ask, later(2)), "what was shown is granted: {ask:?}");
    attempts.iter().map(|attempt| is_answered(&grants, attempt, later(2))).collect()
}

async fn check(ask: &Ask, chosen: Chosen, inside: &[Ask], outside: &[Ask]) {
    assert_eq!(answered(ask, chosen, inside).await, vec![true; inside.len()], "inside");
    for (at, is_answered) in answered(ask, chosen, outside).await.into_iter().enumerate() {
        assert!(!is_answered, "{chosen:?} of {ask:?} was used for {:?}", outside[at]);
    }
}

fn write(value: Value) -> Ask {
    Ask::of("write_file", &[(Role::WritePath, &[value])])
}

#[tokio::test(start_paused = true)]
async fn a_file_is_that_file() {
    check(
        &write(file("/d/e/a")),
        Chosen::Narrowest,
        &[write(absent("/d/e/a")), write(linked("/d/e/a", &["/x/link"]))],
        &[
            write(file("/d/e/b")),
            write(file("/d/e/a/b")),
            write(file("/d/e/ab")),
            write(file("/d/e")),
            write(file("/d/E/a")),
            // The link that is named leads elsewhere, and elsewhere is what is judged.
            write(linked("/etc/passwd", &["/d/e/a"])),
            Ask::of("write_file", &[(Role::WritePath, &[file("/d/e/a"), file("/d/e/b")])]),
            Ask::of("write_file", &[(Role::ReadPath, &[file("/d/e/a")])]),
            Ask::of("write_file", &[(Role::DeletePath, &[file("/d/e/a")])]),
            Ask::of("write_file", &[(Role::WritePath, &[])]),
            Ask::of("write_file", &[]),
        ],
    )
    .await;
}

/// A call that sends `amount` to a file, with arguments that mean nothing to the policy.
fn pay(path: &str, arguments: &[(&str, Json)]) -> Ask {
    Ask::of("pay", &[(Role::WritePath, &[file(path)])]).with(|ask| {
        ask.parts.sent.insert("path", path);
        ask.parts.places = vec![role_place("path", Role::WritePath)];
        for (name, value) in arguments {
            ask.parts.sent.insert(*name, value.clone());
        }
    })
}

/// What a person saw is a part of what they granted; only resources in the scope and content may differ.
#[tokio::test(start_paused = true)]
async fn every_argument_that_is_not_content_stays_as_it_was() {
    let (one, two) = (Json::from(1_u64), Json::from(2_u64));
    let text = |text: &str| Json::from(text);
    let shown = [("amount", one.clone()), ("to", text("ada")), ("content", text("hello"))];
    let shown: &[(&str, Json)] = &shown;
    let with = |name: &'static str, value: &Json| {
        let mut arguments = shown.to_vec();
        arguments.retain(|(it, _)| *it != name);
        arguments.push((name, value.clone()));
        pay("/d/e/a", &arguments)
    };
    check(
        &pay("/d/e/a", shown),
        Chosen::Widest,
        &[pay("/d/e/b", shown), with("content", &text("another")), with("amount", &one)],
        &[
            with("amount", &two),
            with("amount", &text("1")),
            with("amount", &Json::Null),
            with("to", &text("eve")),
            with("to", &text("Ada")),
            with("content", &two),
            with("content", &Json::Array(vec![text("hello")])),
            with("fee", &one),
            with("fee", &Json::Null),
            with("dryRun", &Json::Bool(true)),
            pay("/d/e/a", &shown[..2]),
            pay("/d/e/a", &shown[1..]),
            pay("/d/a", shown),
        ],
    )
    .await;
}

/// A role that did not ask has no scope, so what it named stays as it was.
#[tokio::test(start_paused = true)]
async fn a_role_that_did_not_escalate_stays_where_it_was() {
    let copy = |from: &str, to: &str| {
        let roles = [(Role::ReadPath, &[file(from)][..]), (Role::WritePath, &[file(to)][..])];
        Ask::of("copy_file", &roles).with(|ask| {
            ask.rules = ASK_BUT_READ;
            ask.parts.sent.insert("source", from);
            ask.parts.sent.insert("destination", to);
            ask.parts.places = vec![
                role_place("source", Role::ReadPath),
                role_place("destination", Role::WritePath),
            ];
        })
    };
    check(
        &copy("/d/e/a", "/d/f/a"),
        Chosen::Widest,
        &[copy("/d/e/a", "/d/f/b")],
        &[copy("/d/e/b", "/d/f/b"), copy("/d/f/a", "/d/f/b"), copy("/d/e/a", "/d/e/b")],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_push_goes_on_to_the_same_branch_and_does_nothing_else() {
    let id = |digit: &str| Some(digit.repeat(40));
    let pushed = |name: &str, new: Option<String>, manner: PushManner| PushedRef {
        name: name.to_owned(),
        old: id("1"),
        new,
        manner,
    };
    let push = |refs: Vec<PushedRef>| {
        let url = url("https://git.example/o/r");
        Ask::of("git_push", &[(Role::GitRemoteUrl, &[url])])
            .with(|ask| ask.parts.push = Some(Push::Refs(refs)))
    };
    let main = "refs/heads/main";
    check(
        &push(vec![pushed(main, id("2"), PushManner::Advance)]),
        Chosen::Widest,
        &[push(vec![pushed(main, id("3"), PushManner::Advance)])],
        &[
            push(vec![pushed(main, id("2"), PushManner::Force)]),
            push(vec![pushed(main, id("2"), PushManner::Lease)]),
            push(vec![pushed(main, None, PushManner::Force)]),
            push(vec![pushed("refs/heads/other", id("2"), PushManner::Advance)]),
            push(vec![pushed("refs/heads/main2", id("2"), PushManner::Advance)]),
            push(vec![
                pushed(main, id("2"), PushManner::Advance),
                pushed("refs/tags/v1", id("2"), PushManner::Advance),
            ]),
            push(Vec::new()),
            push(Vec::new()).with(|ask| ask.parts.push = Some(Push::Unknown(String::new()))),
            push(Vec::new()).with(|ask| ask.parts.push = None),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_directory_of_a_file_is_what_is_in_it() {
    check(
        &write(file("/d/e/a")),
        Chosen::Widest,
        &[write(absent("/d/e/b")), write(file("/d/e/f/g")), write(directory("/d/e/f"))],
        &[
            write(directory("/d/e")),
            write(directory("/d")),
            write(file("/d/a")),
            write(file("/d/e-evil/a")),
            write(file("/d/e2")),
            write(file("/D/e/a")),
            write(linked("/etc/passwd", &["/d/e/link"])),
            write(linked("/d/x", &["/d/e/a"])),
            Ask::of("write_file", &[(Role::WritePath, &[file("/d/e/a"), file("/d/a")])]),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_directory_is_itself_and_never_its_parent() {
    let list = |value| Ask::of("list_directory", &[(Role::ReadPath, &[value])]);
    check(
        &list(directory("/d/e")),
        Chosen::Widest,
        &[list(directory("/d/e/f")), list(file("/d/e/a"))],
        &[
            list(directory("/d")),
            list(directory("/")),
            list(directory("/d/f")),
            list(directory("/d/e2")),
        ],
    )
    .await;
    check(
        &list(directory("/d/e")),
        Chosen::Narrowest,
        &[],
        &[list(directory("/d/e/f")), list(directory("/d"))],
    )
    .await;
    // To remove what is in a directory is not to remove the directory.
    let remove = |value| Ask::of("delete_file", &[(Role::DeletePath, &[value])]);
    check(
        &remove(file("/d/e/a")),
        Chosen::Widest,
        &[remove(file("/d/e/b"))],
        &[remove(directory("/d/e")), remove(directory("/d"))],
    )
    .await;
}

/// Whoever may put something at the name of a granted directory chooses what the grant opens.
#[tokio::test(start_paused = true)]
async fn a_directory_is_never_made_moved_or_removed_by_its_own_grant() {
    let make = |value| Ask::of("create_directory", &[(Role::WritePath, &[value])]);
    let (inside, outside) = used(
        &make(absent("/d/e")),
        &[make(absent("/d/e/f")), make(directory("/d/e/f")), make(directory("/d/e"))],
        &[make(absent("/d/e")), make(absent("/d/f")), make(absent("/d/e2")), make(absent("/d"))],
    )
    .await;
    assert_eq!((inside, outside), (vec![true; 3], vec![false; 4]), "made");

    let remove = |value| Ask::of("delete_file", &[(Role::DeletePath, &[value])]);
    let (inside, outside) = used(
        &remove(directory("/d/e")),
        &[remove(directory("/d/e/f")), remove(file("/d/e/a"))],
        &[remove(directory("/d/e")), remove(file("/d/e")), remove(absent("/d/e"))],
    )
    .await;
    assert_eq!((inside, outside), (vec![true; 2], vec![false; 3]), "removed");

    let move_to = |from: &str, to: Value| {
        let (from, to) = ([directory(from)], [to]);
        Ask::of(
            "move_file",
            &[(Role::ReadPath, &from), (Role::DeletePath, &from), (Role::WritePath, &to)],
        )
    };
    let (inside, outside) = used(
        &move_to("/d/e", absent("/d/g/h")),
        &[move_to("/d/e/f", absent("/d/g/f"))],
        &[move_to("/d/e", absent("/d/g/f")), move_to("/d/e/f", absent("/d/g"))],
    )
    .await;
    assert_eq!((inside, outside), (vec![true], vec![false; 2]), "moved");

    // Another directory of the same grant may hold it.
    let both = |values: &[Value]| Ask::of("create_directory", &[(Role::WritePath, values)]);
    let (inside, _) =
        used(&both(&[directory("/d/e"), absent("/d/e/f")]), &[both(&[absent("/d/e/f")])], &[])
            .await;
    assert_eq!(inside, [true], "beneath another root");
}

/// Grants what `ask` asks at its widest, and says which of the two lists are answered by that.
async fn used(ask: &Ask, inside: &[Ask], outside: &[Ask]) -> (Vec<bool>, Vec<bool>) {
    let (_root, grants) = open();
    grants.add(granted(ask, Chosen::Widest, None).await, later(1)).unwrap();
    let answered =
        |asks: &[Ask]| asks.iter().map(|it| is_answered(&grants, it, later(2))).collect();
    (answered(inside), answered(outside))
}

/// One move that was approved does not approve moving anything else.
/// Asks about a place in a directory, by a rule of its own, and then about everything.
const ASK_APART: &str = r#"[
    {"name":"ask","if":{"paths":{"roles":["write-path","delete-path"],"within":"/d/e/sub"}},"then":"escalate","reason":"a person decides"},
    {"name":"ask","if":{},"then":"escalate","reason":"a person decides"}]"#;

/// The rules have the same name and reason, so that only the rules themselves tell them apart.
#[tokio::test(start_paused = true)]
async fn a_rule_that_did_not_ask_then_asks_in_a_granted_directory() {
    let apart = |ask: Ask| ask.with(|ask| ask.rules = ASK_APART);
    let two = |one: &str, other: &str| {
        Ask::of("write_file", &[(Role::WritePath, &[file(one), file(other)])])
    };
    check(
        &apart(write(file("/d/e/a"))),
        Chosen::Widest,
        &[apart(write(file("/d/e/b"))), apart(write(file("/d/e/other/b")))],
        &[
            apart(write(file("/d/e/sub/c"))),
            apart(write(file("/d/e/sub/deep/c"))),
            apart(two("/d/e/a", "/d/e/sub/c")),
            apart(two("/d/e/sub/c", "/d/e/a")),
        ],
    )
    .await;
    // In the place itself a grant for it holds, and nothing around it.
    check(
        &apart(write(file("/d/e/sub/c"))),
        Chosen::Widest,
        &[apart(write(file("/d/e/sub/d")))],
        &[apart(write(file("/d/e/a")))],
    )
    .await;
    // A directory that is deleted takes along the place of which more was said.
    let delete = |value: Value| apart(Ask::of("delete_file", &[(Role::DeletePath, &[value])]));
    check(
        &delete(file("/d/e/a")),
        Chosen::Widest,
        &[delete(file("/d/e/b"))],
        &[delete(directory("/d/e/sub"))],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_role_that_asks_has_to_be_granted() {
    let move_file = |from: &str, to: &str| {
        Ask::of(
            "move_file",
            &[
                (Role::ReadPath, &[file(from)]),
                (Role::DeletePath, &[file(from)]),
                (Role::WritePath, &[absent(to)]),
            ],
        )
    };
    check(
        &move_file("/d/a", "/e/b"),
        Chosen::Narrowest,
        &[],
        &[
            move_file("/d/x", "/e/b"),
            move_file("/d/a", "/e/x"),
            move_file("/e/b", "/d/a"),
            move_file("/home/key", "/e/key"),
        ],
    )
    .await;
    check(
        &move_file("/d/a", "/e/b"),
        Chosen::Widest,
        &[move_file("/d/x", "/e/y")],
        &[move_file("/d/x", "/f/y"), move_file("/f/x", "/e/y"), move_file("/e/x", "/d/y")],
    )
    .await;
    // Granted while reading was free, used when reading asks.
    let free = move_file("/d/a", "/e/b").with(|ask| ask.rules = ASK_BUT_READ);
    let other_policy = move_file("/d/a", "/e/b");
    check(
        &free,
        Chosen::Widest,
        &[move_file("/f/x", "/e/y").with(|ask| {
            // Reading is free everywhere, and removing was granted for `/d`.
            ask.rules = ASK_BUT_READ;
            ask.parts.roles[1].values = vec![file("/d/x")];
        })],
        &[other_policy],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn hosts_and_repositories_are_exact() {
    let fetch = |text| Ask::of("http_fetch", &[(Role::FetchUrl, &[url(text)])]);
    check(
        &fetch("https://a.example/x"),
        Chosen::Widest,
        &[fetch("https://a.example/y"), fetch("https://a.example")],
        &[
            fetch("http://a.example/x"),
            fetch("https://a.example:8443/x"),
            fetch("https://b.a.example/x"),
            fetch("https://a.example.evil/x"),
            fetch("https://example/x"),
            fetch("https://127.0.0.1/x"),
            Ask::of(
                "http_fetch",
                &[(Role::FetchUrl, &[url("https://a.example/x"), url("https://b.example")])],
            ),
        ],
    )
    .await;
    let push = |text| Ask::of("git_push", &[(Role::GitRemoteUrl, &[url(text)])]);
    check(
        &push("ssh://git.example/o/r"),
        Chosen::Widest,
        &[],
        &[
            push("ssh://git.example/o/r2"),
            push("ssh://git.example/o2/r"),
            push("ssh://git.example:2222/o/r"),
            push("https://git.example/o/r"),
            push("ssh://git.example.evil/o/r"),
            push("ssh://git.example"),
            Ask::of("git_push", &[(Role::GitRemoteUrl, &[Value::LocalRemote(canonical("/o/r"))])]),
        ],
    )
    .await;
    let owner = |name| Ask::of("issue", &[(Role::GithubOwner, &[text(name)])]);
    check(&owner("acme"), Chosen::Widest, &[], &[owner("acme2"), owner(""), owner("evil")]).await;
    let odd = |path| push(path);
    check(
        &odd("ssh://git.example/a/b/c"),
        Chosen::Widest,
        &[],
        &[odd("ssh://git.example/a/b/d"), odd("ssh://git.example/a/b/c/d")],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_bound_to_what_it_was_given_for() {
    let ask = write(file("/d/a")).with(|it| it.parts.sent.insert("content", "a text"));
    let other = |change: fn(&mut Ask)| ask.clone().with(change);
    check(
        &ask,
        Chosen::Widest,
        &[
            other(|it| it.parts.sent.insert("content", "another text")),
            other(|it| it.ticket.escalation = "another".parse().unwrap()),
        ],
        &[
            other(|it| it.parts.asked.server = "other".parse().unwrap()),
            other(|it| it.parts.asked.tool = "append_file".parse().unwrap()),
            other(|it| it.ticket.server_identity = Digest::of(b"swapped")),
            other(|it| it.ticket.schema_hash = Digest::of(b"swapped")),
            other(|it| {
                it.rules = r#"[{"name":"ask","if":{},"then":"escalate","reason":"changed"}]"#;
            }),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_invariant_needs_a_grant_that_was_given_for_it() {
    // A tree that was granted for an ordinary reason does not hold what the host runs.
    let tree = write(file("/d/e/notes"));
    let run = write(linked("/d/e/other", &["/h/.bashrc"]));
    check(&tree, Chosen::Widest, &[write(file("/d/e/other"))], &[run]).await;
    let bashrc = write(file("/h/.bashrc"));
    check(
        &bashrc,
        Chosen::Widest,
        &[],
        &[
            write(file("/h/other")),
            write(linked("/h/other", &["/h/.bashrc"])),
            // Something else asks as well, and it was never shown.
            bashrc.clone().with(|it| it.parts.standing = Standing::Draft),
            bashrc.clone().with(|it| {
                let path = PathValue { path: canonical("/p/key"), also: Vec::new(), state: None };
                let argument = "note".to_owned();
                it.parts.unannotated_paths = vec![UnannotatedPath { argument, path }];
            }),
        ],
    )
    .await;
    // A file that was shown under one name, and has got the name of something that the host runs.
    let plain = write(file("/d/a"));
    let renamed = write(linked("/d/a", &["/h/.bashrc"]));
    check(&plain, Chosen::Narrowest, &[], &[renamed]).await;
    let gated = |text| {
        Ask::of("http_fetch", &[(Role::FetchUrl, &[url(text)])]).with(|it| {
            it.parts.asked.server = "gated".parse().unwrap();
            it.rules = ALLOW;
        })
    };
    check(
        &gated("https://bad.example"),
        Chosen::Widest,
        &[gated("https://bad.example/x")],
        &[gated("https://worse.example")],
    )
    .await;
}

/// A file with one more name than was shown may be something else by that name.
#[tokio::test(start_paused = true)]
async fn a_new_name_of_what_the_host_runs_is_not_granted() {
    let shown = write(linked("/d/a", &["/h/.bashrc"]));
    check(&shown, Chosen::Narrowest, &[], &[write(linked("/d/a", &["/h/.bashrc", "/x/other"]))])
        .await;
}

#[tokio::test(start_paused = true)]
async fn time_and_count_end_a_grant() {
    let ask = write(file("/d/a"));
    let hour_ms = 60 * 60 * 1000;
    let (_root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
    assert!(is_answered(&grants, &ask, later(hour_ms - 1)));
    assert!(!is_answered(&grants, &ask, later(hour_ms)));
    assert!(!is_answered(&grants, &ask, later(2)), "what has ended does not begin again");

    let (root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, Some(2)).await, later(1)).unwrap();
    let left = || GrantsFile::at(root.path().join("grants.json")).read().unwrap()[0].left;
    assert_eq!(left(), Some(2));
    assert!(!is_answered(&grants, &write(file("/x")), later(2)), "which costs nothing");
    assert!(is_answered(&grants, &ask, later(2)));
    assert_eq!(left(), Some(1));
    assert!(is_answered(&grants, &ask, later(2)));
    assert!(!is_answered(&grants, &ask, later(2)));
}

#[tokio::test(start_paused = true)]
async fn a_count_holds_for_many_at_once() {
    let ask = write(file("/d/a"));
    let (_root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, Some(7)).await, later(1)).unwrap();
    let n_answered = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..20).map(|_| scope.spawn(|| is_answered(&grants, &ask, later(2)))).collect();
        threads
            .into_iter()
            .filter(|_| true)
            .map(|it| usize::from(it.join().unwrap()))
            .sum::<usize>()
    });
    assert_eq!(n_answered, 7);
    let (_root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert!(is_answered(&grants, &ask, later(2))));
        }
    });
}

/// Nobody knows how much of its time has passed.
#[tokio::test(start_paused = true)]
async fn a_grant_ends_when_the_clock_is_set_back() {
    let ask = write(file("/d/a"));
    let (_root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
    assert!(is_answered(&grants, &ask, later(2)));
    let before = Timestamp::from_unix_ms(START.unix_ms() - 1000);
    assert!(!is_answered(&grants, &ask, before));
    assert!(!is_answered(&grants, &ask, later(2)), "it does not come back");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_revoked_is_gone_at_once() {
    let ask = write(file("/d/a"));
    let (root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
    let file = GrantsFile::at(root.path().join("grants.json"));
    let records = file.read().unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0].scopes,
        [(Role::WritePath, ic_escalation::ScopeKind::Directory, vec!["/d/".to_owned()])]
    );
    assert!(is_answered(&grants, &ask, later(2)));
    let other: GrantId = "00000000".parse().unwrap();
    assert_eq!(file.revoke(&other).unwrap(), Revoked::Unknown);
    assert_eq!(file.revoke(&records[0].id).unwrap(), Revoked::Gone);
    assert!(!is_answered(&grants, &ask, later(2)));
    assert_eq!(file.revoke(&records[0].id).unwrap(), Revoked::Unknown);
    assert!(grants.in_force(later(2)).is_empty());
}

/// The file can take away; it cannot give.
#[tokio::test(start_paused = true)]
async fn what_somebody_wrote_into_the_file_grants_nothing() {
    let ask = write(file("/d/a"));
    let (root, grants) = open();
    let path = root.path().join("grants.json");
    grants.add(granted(&ask, Chosen::Narrowest, Some(1)).await, later(1)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    // Wider, longer, more often.
    let forged = text
        .replace(
            "\"kind\":\"file\",\"values\":[\"/d/a\"]",
            "\"kind\":\"directory\",\"values\":[\"/d/\"]",
        )
        .replace("\"count\":1", "\"count\":1000")
        .replace("2026-11-15T01", "2036-11-15T01");
    assert_ne!(forged, text);
    fs::write(&path, &forged).unwrap();
    assert!(!is_answered(&grants, &write(file("/d/b")), later(2)));
    assert!(is_answered(&grants, &ask, later(2)));
    assert!(!is_answered(&grants, &ask, later(2)), "the count is the one that was granted");
    // Another process of the same session does not know of it.
    fs::write(&path, &text).unwrap();
    let grants = Grants::open(&path, SESSION.parse().unwrap()).unwrap();
    assert!(!is_answered(&grants, &ask, later(2)), "a grant ends with its process");
    fs::write(&path, &text).unwrap();
    assert!(!is_answered(&grants, &ask, later(2)), "and is not brought back");
}

#[tokio::test(start_paused = true)]
async fn without_a_file_that_can_be_read_nothing_is_granted() {
    let ask = write(file("/d/a"));
    let spoil: [fn(&std::path::Path); 5] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "{").unwrap(),
        |path| fs::write(path, "{\"version\":2}").unwrap(),
        |path| {
            fs::rename(path, path.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink(path.with_extension("moved"), path).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for spoil in spoil {
        let (root, grants) = open();
        grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
        assert!(is_answered(&grants, &ask, later(2)));
        spoil(&root.path().join("grants.json"));
        assert!(!is_answered(&grants, &ask, later(2)));
    }
}

/// What nobody can see, nobody can take back.
#[tokio::test(start_paused = true)]
async fn a_grant_that_cannot_be_written_down_is_none() {
    let ask = write(file("/d/a"));
    let (root, grants) = open();
    let path = root.path().join("grants.json");
    let empty = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).is_err());
    assert!(!is_answered(&grants, &ask, later(2)));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, empty).unwrap();
    assert!(!is_answered(&grants, &ask, later(2)));
}

#[tokio::test(start_paused = true)]
async fn a_count_can_be_made_smaller_in_the_file() {
    let ask = write(file("/d/a"));
    let (root, grants) = open();
    let path = root.path().join("grants.json");
    grants.add(granted(&ask, Chosen::Widest, Some(5)).await, later(1)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"count\":5", "\"count\":1")).unwrap();
    assert!(is_answered(&grants, &ask, later(2)));
    assert!(!is_answered(&grants, &ask, later(2)));
}

#[tokio::test(start_paused = true)]
async fn there_is_an_end_to_how_many_grants_there_are() {
    let ask = write(file("/d/a"));
    let (_root, grants) = open();
    let grant = granted(&ask, Chosen::Widest, None).await;
    for _ in 0..ic_escalation::grants::GRANTS_MAX {
        grants.add(grant.clone(), later(1)).unwrap();
    }
    assert!(grants.add(grant, later(1)).is_err());
}

/// There is nothing that a denial could be handed to.
#[test]
fn what_is_denied_never_comes_before_a_grant() {
    let protected = write(file("/p/key")).with(|ask| ask.rules = ASK);
    assert!(matches!(protected.verdict(), Verdict::Deny(_)));
}

// === grants as they travel ===

/// Puts a question about `/d/e/a`, answers with an approval and this grant, and says what comes.
async fn outcome_of(grant: impl FnOnce(Timestamp) -> String) -> String {
    outcome_with(&write(file("/d/e/a")), grant).await
}

async fn outcome_with(ask: &Ask, grant: impl FnOnce(Timestamp) -> String) -> String {
    let place = Place::open();
    let (ask, waiting) = place.raise(ask, MINUTE);
    let grant = Json::parse(grant(place.now()).as_bytes(), ic_types::JsonLimits::CALL).unwrap();
    let Json::Object(mut object) = response("approved", &ask) else { panic!() };
    object.insert("grant", grant);
    place.respond(&ask, Json::Object(object).to_string().as_bytes());
    summary(&waiting.outcome().await)
}

fn written(roles: &str) -> impl FnOnce(Timestamp) -> String {
    let roles = roles.to_owned();
    move |now| {
        let expires_at = Timestamp::from_unix_ms(now.unix_ms() + 60_000);
        format!(r#"{{"roles":{roles},"expiresAt":"{expires_at}"}}"#)
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_was_offered_is_granted() {
    for good in [
        r#"{"write-path":{"kind":"file","values":["/d/e/a"]}}"#,
        r#"{"write-path":{"kind":"directory","values":["/d/e/"]}}"#,
    ] {
        assert_eq!(outcome_of(written(good)).await, "Approved by cli, granted");
    }
    for (wider, expected) in [
        (r"{}", "it is not about the roles that escalated"),
        (
            r#"{"read-path":{"kind":"file","values":["/d/e/a"]}}"#,
            "it is not about the roles that escalated",
        ),
        (
            r#"{"write-path":{"kind":"file","values":["/d/e/a"]},"read-path":{"kind":"file","values":["/d/e/a"]}}"#,
            "it is not about the roles that escalated",
        ),
        (r#"{"write-path":{"kind":"directory","values":["/d/"]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"directory","values":["/d/e"]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"directory","values":["/"]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"directory","values":["/d/e/","/x/"]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"directory","values":[]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"file","values":["/d/e/b"]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"file","values":[]}}"#, "SCOPE"),
        (r#"{"write-path":{"kind":"host","values":["/d/e/a"]}}"#, "SCOPE"),
    ] {
        let expected =
            expected.replace("SCOPE", "its scope for `write-path` is not the one that was shown");
        let expected = format!("malformed: the response grants what was not offered: {expected}");
        assert_eq!(outcome_of(written(wider)).await, expected, "{wider}");
    }
}

/// Whatever whoever answers believes to be offered, an invariant is granted as shown or not at all.
#[tokio::test(start_paused = true)]
async fn an_invariant_is_not_granted_for_a_directory() {
    let bashrc = write(file("/h/.bashrc"));
    let wider = written(r#"{"write-path":{"kind":"directory","values":["/h/"]}}"#);
    let outcome = outcome_with(&bashrc, wider).await;
    assert!(outcome.starts_with("malformed: the response grants what was not"), "{outcome}");
    let exact = written(r#"{"write-path":{"kind":"file","values":["/h/.bashrc"]}}"#);
    assert_eq!(outcome_with(&bashrc, exact).await, "Approved by cli, granted");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_none_is_a_denial() {
    let scope = r#"{"write-path":{"kind":"file","values":["/d/e/a"]}}"#;
    for malformed in [
        "null".to_owned(),
        "true".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        format!(r#"{{"roles":{scope}}}"#),
        r#"{"expiresAt":"2026-11-15T00:00:30Z"}"#.to_owned(),
        format!(r#"{{"roles":{scope},"expiresAt":"soon"}}"#),
        format!(r#"{{"roles":{scope},"expiresAt":"2026-11-15T00:00:30Z","count":-1}}"#),
        format!(r#"{{"roles":{scope},"expiresAt":"2026-11-15T00:00:30Z","count":"1"}}"#),
        format!(r#"{{"roles":{scope},"expiresAt":"2026-11-15T00:00:30Z","more":1}}"#),
        r#"{"roles":{"all":{}},"expiresAt":"2026-11-15T00:00:30Z"}"#.to_owned(),
        r#"{"roles":{"write-path":"file"},"expiresAt":"2026-11-15T00:00:30Z"}"#.to_owned(),
        r#"{"roles":{"write-path":{"kind":"all","values":[]}},"expiresAt":"2026-11-15T00:00:30Z"}"#
            .to_owned(),
    ] {
        let outcome = outcome_of(|_| malformed.clone()).await;
        assert!(outcome.starts_with("malformed: the response is malformed: "), "{outcome}");
    }
    for (terms, expected) in [
        (r#""expiresAt":"2026-11-15T00:00:00Z""#, "it has to end within 24 hours"),
        (r#""expiresAt":"2026-11-14T00:00:00Z""#, "it has to end within 24 hours"),
        (r#""expiresAt":"2026-11-16T00:00:01Z""#, "it has to end within 24 hours"),
        (r#""expiresAt":"2026-11-15T00:00:30Z","count":0"#, "its count has to lie between"),
        (r#""expiresAt":"2026-11-15T00:00:30Z","count":1000001"#, "its count has to lie between"),
    ] {
        let outcome = outcome_of(|_| format!(r#"{{"roles":{scope},{terms}}}"#)).await;
        let expected = format!("malformed: the response grants what was not offered: {expected}");
        assert!(outcome.starts_with(&expected), "{outcome}");
    }
}

/// What asks besides has no role: nothing is offered, and what is granted all the same is not.
#[tokio::test(start_paused = true)]
async fn a_grant_that_nothing_would_limit_is_not_given() {
    let place = Place::open();
    let ask = write(file("/h/.bashrc")).with(|ask| ask.parts.standing = Standing::Draft);
    let (_, waiting) = place.raise(&ask, MINUTE);
    let shown = place.pending().remove(0);
    assert_eq!(Offer::of_request(shown.request()).unwrap_err(), NoOffer::NoRole);
    let mut narrower = shown.request().clone();
    narrower.causes.retain(|cause| !cause.roles.is_empty());
    narrower.grantable = Some(ic_escalation::Grantable::default());
    let choice = Offer::of_request(&narrower).unwrap().choices().remove(0);
    let terms = Terms::new(place.now(), MINUTE, None).unwrap();
    let reply = Reply::Approve(Some(choice.with(terms)));
    shown.answer(&reply, DecidedBy::Repl, place.now()).unwrap();
    assert_eq!(summary(&waiting.outcome().await), "Approved by repl, not granted");
}

#[tokio::test(start_paused = true)]
async fn a_denial_grants_nothing() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&write(file("/d/e/a")), MINUTE);
    let text = String::from_utf8(approval(&ask)).unwrap().replace("approved", "denied");
    let scope = r#"{"roles":{"write-path":{"kind":"file","values":["/d/e/a"]}},"expiresAt":"2026-11-15T00:00:30Z"}"#;
    place.respond(&ask, text.replacen('{', &format!("{{\"grant\":{scope},"), 1).as_bytes());
    settle_down().await;
    let outcome = summary(&waiting.outcome().await);
    assert!(outcome.starts_with("malformed: "), "{outcome}");
}

/// Somebody holds the lock and does not let go: no call hangs for that.
#[tokio::test(start_paused = true)]
async fn while_somebody_holds_the_lock_a_person_is_asked() {
    let ask = write(file("/d/a"));
    let (root, grants) = open();
    grants.add(granted(&ask, Chosen::Widest, None).await, later(1)).unwrap();
    let held = ic_home::Lock::acquire(root.path().join("grants.lock")).unwrap();
    assert!(!is_answered(&grants, &ask, later(2)));
    // Nor does a person's answer wait for it; it approves the one call.
    let refused = grants.add(granted(&ask, Chosen::Widest, None).await, later(2));
    assert!(matches!(refused, Err(GrantsError::Busy)), "{refused:?}");
    drop(held);
    assert!(is_answered(&grants, &ask, later(2)));
}
