//! A push is bound to what it sends: whatever moves while the question stands is asked about again.

use ic_escalation::display::{View, show};
use ic_escalation::{Board, Offer, Pending, Receipt, Registry, Reply, Terms};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_types::{AbsolutePath, Json};

use super::*;
use crate::proxy::until;

/// A workspace with a clone whose remote needs a person, and a proxy that waits for one.
struct Asking {
    world: World,
    repo: PathBuf,
    home: Home,
    board: Board,
    proxy: Proxy,
}

impl Asking {
    fn new() -> Self {
        Self::with_rule("escalate")
    }

    fn with_rule(what: &str) -> Self {
        let world = World::new();
        world.write_policy_that(what, &[&format!("127.0.0.1:{}", world.host.port)]);
        let workspace = world.place.dir("work");
        let repo = workspace.join("repo");
        let bare = world.repositories.join("app.git");
        git(&workspace, &["clone", "-q", "--no-hardlinks", bare.to_str().unwrap(), "repo"]);
        git(&repo, &["remote", "set-url", "origin", &world.host.url("open", "app.git")]);
        let proxy = world.proxy(&["--workspace", workspace.to_str().unwrap(), "--wait"]);
        let home = Home::new(AbsolutePath::new(world.place.path("home/.ironcurtain")).unwrap());
        Self { world, repo, home, board: Board::default(), proxy }
    }

    /// Commits a file; returns the number of the commit.
    fn commit(&self, file: &str, message: &str) -> String {
        std::fs::write(self.repo.join(file), message).unwrap();
        git(&self.repo, &["add", "."]);
        git(&self.repo, &["commit", "-q", "-m", message]);
        git(&self.repo, &["rev-parse", "HEAD"])
    }

    fn ask(&mut self, more: &Value) -> String {
        let mut arguments = json!({"path": self.repo});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        self.proxy.ask_call("git__git_push", &arguments)
    }

    fn pending(&mut self) -> Vec<Pending> {
        let live = Registry::of(&self.home).live().unwrap();
        let waiters = self.board.look(&live.sessions, SystemClock.now());
        assert!(waiters.unreadable.is_empty(), "{:?}", waiters.unreadable);
        waiters.pending
    }

    #[track_caller]
    fn question(&mut self) -> Pending {
        let mut pending = Vec::new();
        until("a question", || {
            pending = self.pending();
            pending.len() == 1
        });
        pending.remove(0)
    }

    fn tip(&self, branch: &str) -> String {
        self.world.tip("app.git", branch)
    }

    fn has(&self, branch: &str) -> bool {
        let bare = self.world.repositories.join("app.git");
        !git(&bare, &["for-each-ref", "--format=%(refname)", branch]).is_empty()
    }
}

#[track_caller]
fn approve(question: &Pending) {
    answer(question, &Reply::Approve(None), Decision::Approved);
}

#[track_caller]
fn deny(question: &Pending) {
    answer(question, &Reply::Deny, Decision::Denied);
}

#[track_caller]
fn answer(question: &Pending, reply: &Reply, expected: Decision) {
    let told = question.answer(reply, DecidedBy::Cli, SystemClock.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Accepted(expected));
}

/// Returns the refs of a question: name, old and new object.
fn refs(question: &Pending) -> Vec<(String, Option<String>, Option<String>)> {
    let resolved = Json::Object(question.request().resolved.clone()).to_string();
    let resolved: Value = serde_json::from_str(&resolved).unwrap();
    let text = |it: &Value| it.as_str().map(str::to_owned);
    let refs = resolved["push"].as_array().unwrap_or_else(|| panic!("{resolved:#}")).iter();
    refs.map(|it| (text(&it["ref"]).unwrap(), text(&it["old"]), text(&it["new"]))).collect()
}

fn shown(question: &Pending) -> String {
    show(question.request(), View::Full, None, SystemClock.now()).join("\n")
}

/// The attack: something harmless is asked about, and something else is committed before the answer.
#[test]
fn what_is_committed_while_the_question_stands_is_not_pushed() {
    let mut asking = Asking::new();
    let before = asking.tip("main");
    asking.commit("a.txt", "harmless");
    let id = asking.ask(&json!({}));
    let question = asking.question();
    let harmful = asking.commit("a.txt", "harmful");
    approve(&question);
    let mut again = None;
    until("another question, or a push", || {
        again = asking
            .pending()
            .into_iter()
            .find(|it| it.request().escalation != question.request().escalation);
        again.is_some() || asking.tip("main") != before
    });
    assert_ne!(asking.tip("main"), harmful, "approval was not requested");
    deny(&again.expect("a person is asked again"));
    asking.proxy.answer(&id).bad();
    assert_eq!(asking.tip("main"), before);
    asking.proxy.finish();
}

#[test]
fn the_question_shows_what_is_pushed_and_exactly_that_is() {
    let mut asking = Asking::new();
    let before = asking.tip("main");
    let tip = asking.commit("b.txt", "second \u{1b}[2J line");
    let id = asking.ask(&json!({}));
    let question = asking.question();
    let main = "refs/heads/main".to_owned();
    assert_eq!(refs(&question), [(main, Some(before.clone()), Some(tip.clone()))]);
    let shown = shown(&question);
    let line = format!("\"refs/heads/main\" becomes \"{tip}\" (was: \"{before}\" as last fetched)");
    for part in [&line, "1 commit since it was last fetched", "second ", "file A\\tb.txt"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    approve(&question);
    let told = asking.proxy.answer(&id).good();
    assert!(told.contains("refs/heads/main"), "{told}");
    assert_eq!(asking.tip("main"), tip);
    asking.proxy.finish();
    // It is in the record, too.
    let intents = records(&asking.world.place).into_iter();
    let mut intents = intents.filter(|it| it["kind"] == "intent" && it["verdict"] == "allow");
    let recorded = intents.next().unwrap();
    assert_eq!(recorded["resolved"]["push"][0]["new"], json!(tip), "{recorded:#}");
}

/// Whatever is done to the refs in between, what was approved is not what would be pushed now.
#[test]
fn whatever_moves_is_asked_about_again() {
    type Move = fn(&Path);
    let moves: [(&str, Value, Move); 6] = [
        ("amended", json!({"dryRun": false}), |repo| {
            git(repo, &["commit", "-q", "--amend", "-m", "amended"]);
        }),
        ("reset", json!({"branch": "main"}), |repo| {
            git(repo, &["reset", "-q", "--hard", "HEAD~1"]);
            git(repo, &["commit", "-q", "--allow-empty", "-m", "another"]);
        }),
        ("switched", json!({}), |repo| {
            git(repo, &["checkout", "-q", "-b", "other"]);
        }),
        ("tag moved", json!({"tags": true}), |repo| {
            git(repo, &["tag", "-f", "v1", "HEAD~1"]);
        }),
        ("tag added", json!({"tags": true, "dryRun": false}), |repo| {
            git(repo, &["tag", "v2"]);
        }),
        ("moved and packed", json!({"remoteBranch": "side"}), |repo| {
            git(repo, &["commit", "-q", "--allow-empty", "-m", "another"]);
            git(repo, &["pack-refs", "--all"]);
        }),
    ];
    let mut asking = Asking::new();
    asking.commit("b.txt", "second");
    git(&asking.repo, &["tag", "v1"]);
    let before = asking.tip("main");
    for (name, more, change) in moves {
        git(&asking.repo, &["checkout", "-q", "main"]);
        let id = asking.ask(&more);
        let question = asking.question();
        change(&asking.repo);
        approve(&question);
        let mut again = None;
        until(name, || {
            again = asking
                .pending()
                .into_iter()
                .find(|it| it.request().escalation != question.request().escalation);
            again.is_some()
        });
        let again = again.unwrap();
        assert_ne!(refs(&again), refs(&question), "{name}");
        deny(&again);
        asking.proxy.answer(&id).bad();
        assert_eq!(asking.tip("main"), before, "{name}");
        assert!(!asking.has("refs/tags/*") && !asking.has("refs/heads/side"), "{name}");
        git(&asking.repo, &["checkout", "-q", "main"]);
        asking.commit("b.txt", name);
    }
    asking.proxy.finish();
}

#[test]
fn what_does_not_move_what_is_pushed_asks_nobody_again() {
    let mut asking = Asking::new();
    let tip = asking.commit("b.txt", "second");
    git(&asking.repo, &["pack-refs", "--all"]);
    let id = asking.ask(&json!({"branch": "main"}));
    let question = asking.question();
    git(&asking.repo, &["checkout", "-q", "-b", "other"]);
    asking.commit("b.txt", "elsewhere");
    approve(&question);
    asking.proxy.answer(&id).good();
    assert_eq!(asking.tip("main"), tip);
    assert!(!asking.has("refs/heads/other"));
    asking.proxy.finish();
}

/// What is replaced or removed has to be what the person was shown.
#[test]
fn what_is_forced_or_deleted_is_what_was_shown() {
    for (more, word) in [
        (json!({"force": true, "confirmed": true}), "FORCED"),
        (json!({"delete": true, "confirmed": true}), "DELETED"),
        (json!({"forceWithLease": true}), "FORCED"),
    ] {
        let mut asking = Asking::new();
        let before = asking.tip("main");
        git(&asking.repo, &["commit", "-q", "--amend", "-m", "rewritten"]);
        let id = asking.ask(&more);
        let question = asking.question();
        assert_eq!(refs(&question)[0].1, Some(before.clone()));
        assert!(shown(&question).contains(word), "{}", shown(&question));
        assert!(Offer::of_request(question.request()).is_err(), "{more}");
        // Somebody else was quicker.
        asking.world.commit_elsewhere("app.git", "theirs.txt");
        let theirs = asking.tip("main");
        approve(&question);
        let refused = asking.proxy.answer(&id).bad();
        assert!(refused.contains("stale") || refused.contains("rejected"), "{refused}");
        assert_eq!(asking.tip("main"), theirs, "{more}");
        asking.proxy.finish();
    }
}

#[test]
fn a_forced_push_replaces_what_was_shown() {
    let mut asking = Asking::new();
    git(&asking.repo, &["commit", "-q", "--amend", "-m", "rewritten"]);
    let tip = git(&asking.repo, &["rev-parse", "HEAD"]);
    let id = asking.ask(&json!({"force": true, "confirmed": true}));
    let question = asking.question();
    let shown = shown(&question);
    assert!(shown.contains("takes 1 commit away from the remote"), "{shown}");
    approve(&question);
    asking.proxy.answer(&id).good();
    assert_eq!(asking.tip("main"), tip);
    asking.proxy.finish();
}

#[test]
fn a_linked_working_tree_pushes_its_own_branch() {
    let mut asking = Asking::new();
    let tree = asking.repo.parent().unwrap().join("tree");
    git(&asking.repo, &["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
    let repo = std::mem::replace(&mut asking.repo, tree);
    let tip = asking.commit("b.txt", "in the tree");
    git(&repo, &["commit", "-q", "--allow-empty", "-m", "in the main tree"]);
    let id = asking.ask(&json!({}));
    let question = asking.question();
    assert_eq!(refs(&question), [("refs/heads/side".to_owned(), None, Some(tip.clone()))]);
    approve(&question);
    asking.proxy.answer(&id).good();
    assert_eq!(asking.tip("side"), tip);
    asking.proxy.finish();
}

/// Where a rule allows a push, what it sends is in the record, and is what was sent.
#[test]
fn an_allowed_push_is_recorded_with_what_it_sends() {
    let mut asking = Asking::with_rule("allow");
    let tip = asking.commit("b.txt", "second");
    git(&asking.repo, &["tag", "-m", "a tag", "v1"]);
    let tag = git(&asking.repo, &["rev-parse", "v1"]);
    let id = asking.ask(&json!({"tags": true}));
    asking.proxy.answer(&id).good();
    assert_eq!((asking.tip("main"), asking.tip("v1")), (tip.clone(), tag.clone()));
    asking.proxy.finish();
    let mut intents = records(&asking.world.place).into_iter().filter(|it| it["kind"] == "intent");
    let recorded = intents.next().unwrap();
    let pushed = &recorded["resolved"]["push"];
    assert_eq!((&pushed[0]["new"], &pushed[1]["new"]), (&json!(tip), &json!(tag)), "{recorded:#}");
}

/// What cannot be read is not pushed, however the policy judges.
#[test]
fn a_branch_that_leads_elsewhere_is_not_pushed() {
    let mut asking = Asking::with_rule("allow");
    let before = asking.tip("main");
    asking.commit("b.txt", "second");
    std::fs::write(asking.repo.join(".git/refs/heads/alias"), "ref: refs/heads/main\n").unwrap();
    let id = asking.ask(&json!({"branch": "alias", "remoteBranch": "main"}));
    let refused = asking.proxy.answer(&id).bad();
    assert!(refused.contains("could not be told beforehand"), "{refused}");
    assert_eq!(asking.tip("main"), before);
    asking.proxy.finish();
}

#[test]
fn a_grant_for_a_push_holds_for_its_branch_and_for_nothing_else() {
    let mut asking = Asking::new();
    asking.commit("b.txt", "second");
    let id = asking.ask(&json!({"branch": "main"}));
    let question = asking.question();
    let choice = Offer::of_request(question.request()).unwrap().choices().remove(0);
    let hour = std::time::Duration::from_hours(1);
    let wish = choice.with(Terms::new(SystemClock.now(), hour, None).unwrap());
    let preview = wish.preview().join("\n");
    assert!(preview.contains("only to \"refs/heads/main\""), "{preview}");
    answer(&question, &Reply::Approve(Some(wish)), Decision::Approved);
    asking.proxy.answer(&id).good();
    let tip = asking.commit("c.txt", "third");
    let id = asking.ask(&json!({"branch": "main"}));
    asking.proxy.answer(&id).good();
    assert_eq!(asking.tip("main"), tip);
    git(&asking.repo, &["branch", "side"]);
    git(&asking.repo, &["tag", "v1"]);
    for more in [
        json!({"branch": "side"}),
        json!({"branch": "main", "remoteBranch": "side"}),
        json!({"branch": "main", "force": true, "confirmed": true}),
        json!({"branch": "main", "forceWithLease": true}),
        json!({"branch": "main", "delete": true, "confirmed": true}),
        json!({"branch": "main", "tags": true}),
        json!({"branch": "main", "dryRun": true}),
    ] {
        let id = asking.ask(&more);
        deny(&asking.question());
        asking.proxy.answer(&id).bad();
    }
    assert_eq!(asking.tip("main"), tip);
    assert!(!asking.has("refs/heads/side") && !asking.has("refs/tags/*"));
    asking.proxy.finish();
}
