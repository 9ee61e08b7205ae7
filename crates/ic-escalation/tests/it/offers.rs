//! What is offered beyond one approval: scopes from the roles that escalated, and nothing wider.

use std::time::Duration;

use ic_escalation::{AskedCause, NoOffer, Offer, Terms};
use ic_policy::{PathValue, Push, PushManner, PushedRef, Standing, UnannotatedPath, Value};
use ic_types::{Role, Timestamp};

use crate::world::{ALLOW, ASK_BUT_READ, Ask, absent, canonical, directory, file, text, url};

fn offer(ask: &Ask) -> Result<Vec<String>, String> {
    let now = Timestamp::from_unix_ms(0);
    let request = ask.question(now).request().clone();
    let offer = Offer::of_request(&request).map_err(|no| no.to_string())?;
    let describe = |choice: &ic_escalation::Choice| {
        let scopes = choice.scopes();
        let scopes =
            scopes.map(|(role, scope)| format!("{role}: {}", scope.describe(role).join(" + ")));
        scopes.collect::<Vec<_>>().join(", ")
    };
    Ok(offer.choices().iter().map(describe).collect())
}

#[track_caller]
fn check(ask: &Ask, expected: &[&str]) {
    assert_eq!(offer(ask).unwrap(), expected);
}

fn one(tool: &str, role: Role, value: Value) -> Ask {
    Ask::of(tool, &[(role, &[value])])
}

#[test]
fn a_file_is_offered_with_the_directory_that_it_lies_in() {
    let both = ["write-path: exactly `/d/e/a`", "write-path: everything in `/d/e/`, at any depth"];
    check(&one("write_file", Role::WritePath, file("/d/e/a")), &both);
    check(&one("write_file", Role::WritePath, absent("/d/e/a")), &both);
    check(&one("write_file", Role::WritePath, file("/a")), &["write-path: exactly `/a`"]);
}

#[test]
fn a_directory_is_offered_as_itself_and_never_as_its_parent() {
    let both = ["read-path: exactly `/d/e`", "read-path: `/d/e` and everything beneath it"];
    check(&one("list_directory", Role::ReadPath, directory("/d/e")), &both);
    check(&one("read_file", Role::ReadPath, directory("/d/e")), &both);
    let root = &["read-path: exactly `/`"];
    check(&one("list_directory", Role::ReadPath, directory("/")), root);
    // What is not there yet, and becomes a directory.
    let made = [
        "write-path: exactly `/d/e`",
        "write-path: `/d/e`, once it exists, and everything beneath it",
    ];
    for tool in ["create_directory", "mkdir", "git_clone", "git_init", "new_folder"] {
        check(&one(tool, Role::WritePath, absent("/d/e")), &made);
    }
    let removed = [
        "delete-path: exactly `/d/e`",
        "delete-path: everything beneath `/d/e`, but not `/d/e` itself",
    ];
    check(&one("delete_file", Role::DeletePath, directory("/d/e")), &removed);
    let history =
        ["write-history: exactly `/d/e`", "write-history: `/d/e` and everything beneath it"];
    check(&one("git_commit", Role::WriteHistory, absent("/d/e")), &history);
}

#[test]
fn hosts_repositories_and_names_are_offered_as_they_are() {
    let fetch = |text| one("http_fetch", Role::FetchUrl, url(text));
    check(&fetch("https://a.example/x"), &["fetch-url: every address at `https://a.example`"]);
    check(&fetch("http://a.example/x"), &["fetch-url: every address at `http://a.example`"]);
    check(
        &fetch("https://a.example:8443/x"),
        &["fetch-url: every address at `https://a.example:8443`"],
    );
    let push = |text| one("git_push", Role::GitRemoteUrl, url(text));
    let repository = &["git-remote-url: the repository `ssh://git.example/o/r`"];
    check(&push("ssh://git.example/o/r"), repository);
    let local = Value::LocalRemote(canonical("/srv/r.git"));
    check(
        &one("git_push", Role::GitRemoteUrl, local),
        &["git-remote-url: the repository `/srv/r.git`"],
    );
    check(
        &push("ssh://git.example/o/sub/r"),
        &["git-remote-url: the repository `ssh://git.example/o/sub/r`"],
    );
    check(&one("issue", Role::GithubOwner, text("acme")), &["github-owner: exactly `acme`"]);
    check(
        &one("connect", Role::ProxyDomain, text("a.example:443")),
        &["proxy-domain: every address at `a.example:443`"],
    );
}

#[test]
fn every_role_that_escalated_has_its_scope_and_no_other_role_has_one() {
    let files = [file("/d/a"), file("/e/b")];
    let ask = Ask::of("move_file", &[(Role::ReadPath, &files), (Role::DeletePath, &files[..1])]);
    check(
        &ask,
        &[
            "read-path: exactly `/d/a` + exactly `/e/b`, delete-path: exactly `/d/a`",
            "read-path: everything in `/d/`, at any depth + everything in `/e/`, at any depth, \
             delete-path: everything in `/d/`, at any depth",
        ],
    );
    let ask = ask.with(|ask| ask.rules = ASK_BUT_READ);
    check(&ask, &["delete-path: exactly `/d/a`", "delete-path: everything in `/d/`, at any depth"]);
}

#[test]
fn an_invariant_is_granted_exactly_as_shown() {
    let ask = one("write_file", Role::WritePath, file("/h/.bashrc"));
    check(&ask, &["write-path: exactly `/h/.bashrc`"]);
    check(&ask.clone().with(|ask| ask.rules = ALLOW), &["write-path: exactly `/h/.bashrc`"]);
    let gated = one("http_fetch", Role::FetchUrl, url("https://bad.example"))
        .with(|ask| ask.parts.asked.server = "gated".parse().unwrap());
    check(&gated, &["fetch-url: every address at `https://bad.example`"]);
}

#[test]
fn where_nothing_would_limit_a_grant_there_is_none() {
    let whole = Ask::of("send", &[]);
    let no_role = "the request is about the call as a whole, so nothing would limit a grant";
    assert_eq!(offer(&whole).unwrap_err(), no_role);
    let bare = Ask::of("git_push", &[(Role::GitRemoteUrl, &[])]);
    assert_eq!(offer(&bare).unwrap_err(), "no scope can be made for the role `git-remote-url`");
    let many: Vec<Value> = (0..101).map(|at| file(&format!("/d/{at}"))).collect();
    let many = Ask::of("write_files", &[(Role::WritePath, &many)]);
    assert_eq!(offer(&many).unwrap_err(), "the role `write-path` has too many values");
    let draft = Ask::of("send", &[]).with(|ask| {
        ask.parts.standing = Standing::Draft;
        ask.rules = ALLOW;
    });
    assert_eq!(offer(&draft).unwrap_err(), no_role);
    let of_server = Ask::of("sampling/createMessage", &[]).with(|ask| {
        ask.parts.standing = Standing::OfServer;
        ask.rules = ALLOW;
    });
    assert_eq!(offer(&of_server).unwrap_err(), no_role);
    let unannotated = Ask::of("send", &[]).with(|ask| {
        let path = PathValue { path: canonical("/p/key"), also: Vec::new(), state: None };
        ask.parts.unannotated_paths = vec![UnannotatedPath { argument: "x".to_owned(), path }];
        ask.rules = ALLOW;
    });
    assert_eq!(offer(&unannotated).unwrap_err(), no_role);
}

#[test]
fn a_path_that_is_no_text_is_not_granted() {
    let lossy = one("write_file", Role::WritePath, file("/d/\u{fffd}"));
    assert_eq!(offer(&lossy).unwrap_err(), "no scope can be made for the role `write-path`");
}

#[test]
fn what_is_confirmed_is_shown_in_full() {
    let long = format!("/d/{}/\u{202e}a", "x".repeat(200));
    let files = [file(&long), file("/d/b")];
    let ask = Ask::of("write_files", &[(Role::WritePath, &files)]);
    let now = Timestamp::from_unix_ms(1_794_700_800_000);
    let request = ask.question(now).request().clone();
    let choice = Offer::of_request(&request).unwrap().choices().remove(1);
    let hour = ic_escalation::offer::LIFETIME;
    let wish = choice.clone().with(Terms::new(now, hour, Some(5)).unwrap());
    let preview = wish.preview().join("\n").replace(&"x".repeat(200), "XXX");
    insta::assert_snapshot!(preview, @r"
    `filesystem` may call `write_files` without asking again, for
      write-path: everything in `/d/`, at any depth
      write-path: everything in `/d/XXX/`, at any depth
    until 01:00:00 UTC (2026-11-15) or the end of the session, and for 5 more calls
    ");
    let exact = Offer::of_request(&request).unwrap().choices().remove(0);
    let wish = exact.with(Terms::new(now, hour, Some(1)).unwrap());
    let preview = wish.preview().join("\n").replace(&"x".repeat(200), "XXX");
    insta::assert_snapshot!(preview, @r"
    `filesystem` may call `write_files` without asking again, for
      write-path: exactly `/d/b`
      write-path: exactly `/d/XXX/\u{202e}a`
    until 01:00:00 UTC (2026-11-15) or the end of the session, and for 1 more call
    ");
}

/// Both sides have to offer the same: an invariant that asks behind a rule narrows what is shown too.
#[test]
fn whatever_asks_limits_what_is_offered() {
    let ask = one("write_file", Role::WritePath, file("/d/e/a"));
    let mut request = ask.question(Timestamp::from_unix_ms(0)).request().clone();
    assert_eq!(Offer::of_request(&request).unwrap().choices().len(), 2);
    request.causes.push(AskedCause {
        rule: "structural-host-executes".to_owned(),
        reason: "it is run".to_owned(),
        roles: vec![Role::WritePath],
    });
    assert_eq!(Offer::of_request(&request).unwrap().choices().len(), 1);
    request.causes.push(AskedCause {
        rule: "structural-draft".to_owned(),
        reason: "nobody knows it".to_owned(),
        roles: Vec::new(),
    });
    assert_eq!(Offer::of_request(&request).unwrap_err(), NoOffer::NoRole);
}

/// Whoever holds the directory would hold the machine, or a person: files of it are offered, as such.
#[test]
fn no_directory_is_offered_that_is_or_holds_a_home_the_system_or_a_protected_path() {
    for path in [
        "/h/notes.txt",
        "/u/notes.txt",
        "/u/ada/notes.txt",
        "/etc/hosts",
        "/etc/app/a.conf",
        "/usr/local/bin/tool",
        "/var/x",
        "/home/x",
        "/home/bob/x",
        "/root/x",
        "/proc/1/x",
        "/dev/x",
        "/tmp/x",
    ] {
        for role in [Role::ReadPath, Role::WritePath, Role::DeletePath] {
            let exactly = format!("{role}: exactly `{path}`");
            check(&one("write_file", role, file(path)), &[&exactly]);
        }
    }
    for path in ["/h", "/u", "/u/ada", "/etc", "/etc/app", "/", "/usr", "/home", "/home/bob"] {
        let exactly = format!("read-path: exactly `{path}`");
        check(&one("list_directory", Role::ReadPath, directory(path)), &[&exactly]);
    }
    // One of several is enough.
    let both = [file("/d/e/a"), file("/etc/a")];
    let ask = Ask::of("write_files", &[(Role::WritePath, &both)]);
    check(&ask, &["write-path: exactly `/d/e/a` + exactly `/etc/a`"]);
    check(
        &one("write_file", Role::WritePath, file("/u/ada/work/a")),
        &[
            "write-path: exactly `/u/ada/work/a`",
            "write-path: everything in `/u/ada/work/`, at any depth",
        ],
    );
}

fn push(refs: &[(&str, Option<&str>, PushManner)]) -> Ask {
    let refs = refs.iter().map(|(name, new, manner)| PushedRef {
        name: (*name).to_owned(),
        old: None,
        new: new.map(str::to_owned),
        manner: *manner,
    });
    let push = Push::Refs(refs.collect());
    let url = url("https://git.example/o/r");
    one("git_push", Role::GitRemoteUrl, url).with(|ask| ask.parts.push = Some(push))
}

#[test]
fn of_pushes_only_one_that_adds_to_a_branch_is_offered() {
    let (main, id) = ("refs/heads/main", Some("1"));
    let repository = &["git-remote-url: the repository `https://git.example/o/r`"];
    check(&push(&[(main, id, PushManner::Advance)]), repository);
    for ask in [
        push(&[(main, id, PushManner::Force)]),
        push(&[(main, id, PushManner::Lease)]),
        push(&[(main, None, PushManner::Force)]),
        push(&[(main, id, PushManner::Advance), ("refs/tags/v", id, PushManner::Advance)]),
        push(&[]),
        push(&[]).with(|ask| ask.parts.push = Some(Push::Unknown("?".to_owned()))),
    ] {
        assert_eq!(offer(&ask).unwrap_err(), NoOffer::Push.to_string(), "{ask:?}");
    }
    // By the words of servers that we do not know.
    for name in ["force", "delete", "tags", "force_with_lease", "mirror", "all"] {
        let ask = one("push", Role::GitRemoteUrl, url("https://git.example/o/r"));
        let ask = ask.with(|ask| ask.parts.sent.insert(name, true));
        assert_eq!(offer(&ask).unwrap_err(), NoOffer::Push.to_string(), "{name}");
        check(&ask.with(|ask| ask.parts.sent.insert(name, false)), repository);
    }
}

#[test]
fn terms_have_limits() {
    let now = Timestamp::from_unix_ms(1_000);
    let day = Duration::from_hours(24);
    assert!(Terms::new(now, day, None).is_ok());
    assert!(Terms::new(now, day, Some(1_000_000)).is_ok());
    for (lifetime, count) in [
        (Duration::ZERO, None),
        (day + Duration::from_millis(1), None),
        (Duration::MAX, None),
        (day, Some(0)),
        (day, Some(1_000_001)),
    ] {
        assert!(Terms::new(now, lifetime, count).is_err(), "{lifetime:?} {count:?}");
    }
}
