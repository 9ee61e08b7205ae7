//! Further working trees through the proxy: everyday life with two of them, and their pointers turned.

use std::path::Path;

use ic_testkit::git_host::git as real_git;
use ic_testkit::proxy::records;
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use super::write_policy;
use crate::confined::places_on_every_rung;
use crate::place;

/// Writes a policy that allows nothing: what is done anyway is done in the sandbox.
pub(super) fn write_strict_policy(place: &Place) -> String {
    let policy = write_policy(place);
    place.write("policy/compiled-policy.json", json!({"rules": []}).to_string());
    policy
}

pub(super) fn git(
    proxy: &mut Proxy,
    path: &str,
    tool: &str,
    mut arguments: Value,
) -> ic_testkit::proxy::Message {
    arguments["path"] = json!(path);
    proxy.call(&format!("git__{tool}"), &arguments)
}

#[track_caller]
pub(super) fn good(proxy: &mut Proxy, path: &str, tool: &str, arguments: Value, part: &str) {
    let shown = arguments.to_string();
    let text = git(proxy, path, tool, arguments).good();
    assert!(text.contains(part), "{path} {tool} {shown}: {text}");
}

#[track_caller]
pub(super) fn bad(proxy: &mut Proxy, path: &str, tool: &str, arguments: Value, part: &str) {
    let shown = arguments.to_string();
    let text = git(proxy, path, tool, arguments).bad();
    assert!(text.contains(part), "{path} {tool} {shown}: {text}");
}

fn write(proxy: &mut Proxy, path: &str, content: &str) {
    let arguments = json!({"path": path, "content": content});
    proxy.call("filesystem__write_file", &arguments).good();
}

/// A day with a repository and two more working trees of it, all beneath `base`.
fn live(proxy: &mut Proxy, base: &str) {
    let repo = &format!("{base}/repo");
    let (one, two) = (&format!("{base}/one"), &format!("{base}/trees/two"));
    proxy.call("filesystem__create_directory", &json!({"path": repo})).good();
    good(proxy, repo, "git_init", json!({}), "empty repository");
    write(proxy, &format!("{repo}/a.txt"), "a\n");
    good(proxy, repo, "git_add", json!({"files": ["a.txt"]}), "a.txt");
    good(proxy, repo, "git_commit", json!({"message": "first"}), "first");
    let add =
        |place: &str, branch: &str| json!({"mode": "add", "worktreePath": place, "branch": branch});
    good(proxy, repo, "git_worktree", add("../one", "one"), "on the new branch `one`");
    good(proxy, repo, "git_worktree", add("../trees/two", "two"), "on the new branch `two`");
    for (path, name) in [(one, "one"), (two, "two")] {
        write(proxy, &format!("{path}/{name}.txt"), "x\n");
        good(proxy, path, "git_status", json!({}), &format!("{name}.txt"));
        good(proxy, path, "git_add", json!({"files": [format!("{name}.txt")]}), name);
        good(proxy, path, "git_diff", json!({"staged": true}), "+x");
        good(proxy, path, "git_commit", json!({"message": format!("in {name}")}), name);
        good(proxy, path, "git_log", json!({"oneline": true}), "first");
    }
    bad(proxy, one, "git_checkout", json!({"target": "two"}), "two");
    good(proxy, one, "git_checkout", json!({"target": "more", "createBranch": true}), "more");
    good(proxy, one, "git_branch", json!({}), "* more");
    good(proxy, repo, "git_merge", json!({"branch": "two"}), "two.txt");
    good(proxy, two, "git_worktree", json!({}), "/repo  [main]");
    let moved = json!({"mode": "move", "worktreePath": "../one", "newPath": "../trees/first"});
    good(proxy, repo, "git_worktree", moved, "moved");
    let first = &format!("{base}/trees/first");
    good(proxy, first, "git_status", json!({}), "nothing to commit");
    write(proxy, &format!("{first}/new.txt"), "new\n");
    let remove = |place: &str| json!({"mode": "remove", "worktreePath": place});
    bad(proxy, repo, "git_worktree", remove("../trees/first"), "not tracked");
    good(proxy, first, "git_commit", json!({"message": "n", "filesToStage": ["new.txt"]}), "n");
    good(proxy, repo, "git_worktree", remove("../trees/first"), "removed");
    good(proxy, repo, "git_worktree", json!({"mode": "prune"}), "where it should be");
    good(proxy, repo, "git_worktree", json!({}), "/trees/two  [two] (linked: two)");
}

#[test]
fn two_working_trees_are_lived_with_in_a_sandbox() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_strict_policy(&place);
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        live(&mut proxy, "work");
        proxy.finish();
        let intents = records(&place).into_iter().filter(|it| it["kind"] == "intent");
        let ours: Vec<Value> = intents.filter(|it| it["server"] == "git").collect();
        assert!(ours.iter().all(|it| it["confined"] == json!(rung)), "{rung}");
        assert!(
            ours.iter().all(|it| it["rule"] == "structural-sandbox-allow"),
            "{rung}: {ours:#?}"
        );
    }
}

#[test]
fn two_working_trees_are_lived_with_in_a_workspace() {
    for (_, place, _kept) in places_on_every_rung() {
        let policy = write_strict_policy(&place);
        let workspace = place.dir("work");
        let workspace = workspace.to_str().unwrap();
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", workspace]);
        proxy.initialize();
        live(&mut proxy, workspace);
        proxy.finish();
        // And a person's own git finds everything in order.
        let repo = Path::new(workspace).join("repo");
        assert_eq!(real_git(&repo, &["worktree", "list"]).lines().count(), 2);
        assert_eq!(real_git(&Path::new(workspace).join("trees/two"), &["status", "--short"]), "");
        real_git(&repo, &["fsck", "--strict"]);
    }
}

/// Makes a repository as a person would, with a commit and the linked tree `<top>-tree`.
pub(super) fn make(top: &Path) {
    std::fs::create_dir_all(top).unwrap();
    real_git(top, &["init", "-q", "-b", "main"]);
    std::fs::write(top.join("a.txt"), "a\n").unwrap();
    real_git(top, &["add", "."]);
    real_git(top, &["commit", "-q", "-m", "theirs"]);
    let tree = format!("{}-tree", top.display());
    real_git(top, &["worktree", "add", "-q", &tree]);
}

#[test]
fn a_tree_outside_is_served_if_its_repository_was_judged_too() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let outside = place.dir("outside");
        make(&outside.join("repo"));
        let [repo, tree, new] = ["repo", "repo-tree", "new"]
            .map(|name| outside.join(name).to_str().unwrap().to_owned());
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        good(&mut proxy, &tree, "git_status", json!({}), "nothing to commit");
        let commit = json!({"message": "ours", "allowEmpty": true});
        good(&mut proxy, &tree, "git_commit", commit.clone(), "ours");
        good(&mut proxy, &repo, "git_log", json!({"branch": "repo-tree"}), "ours");
        let add = json!({"mode": "add", "worktreePath": new, "branch": "new"});
        good(&mut proxy, &repo, "git_worktree", add, "on the new branch `new`");
        good(&mut proxy, &new, "git_commit", commit, "ours");
        for mode in ["remove", "move"] {
            let arguments =
                json!({"mode": mode, "worktreePath": tree, "newPath": format!("{new}2")});
            bad(&mut proxy, &repo, "git_worktree", arguments, "the user can do that");
        }
        proxy.finish();
        assert_eq!(real_git(&outside.join("new"), &["log", "-1", "--format=%s"]), "ours", "{rung}");
        assert!(outside.join("repo-tree/a.txt").is_file());
    }
}

#[test]
fn a_tree_is_no_way_around_what_was_judged_about_its_repository() {
    let place = place();
    let policy = write_policy(&place);
    let outside = place.dir("outside");
    make(&outside.join("denied"));
    let open = place.dir("open");
    let tree = open.join("tree");
    real_git(&outside.join("denied"), &["worktree", "add", "-q", tree.to_str().unwrap()]);
    let (open, denied) = (open.to_str().unwrap(), outside.to_str().unwrap());
    let roles = ["read-path", "write-path", "write-history", "delete-path", "delete-history"];
    let within = |path: &str| json!({"paths": {"roles": ["read-path"], "within": path}});
    let rules = json!([
        {"name": "denied", "if": within(denied), "then": "deny", "reason": "a test"},
        {"name": "open", "if": {"roles": roles, "paths": {"roles": ["read-path"], "within": open}},
         "then": "allow", "reason": "a test"},
        {"name": "rest", "if": {"roles": ["write-history", "write-path"]}, "then": "allow", "reason": "a test"},
    ]);
    place.write("policy/compiled-policy.json", json!({"rules": rules}).to_string());
    let head = real_git(&tree, &["rev-parse", "HEAD"]);
    let mut proxy = Proxy::start(&place, &["--policy", &policy]);
    proxy.initialize();
    let tree_text = tree.to_str().unwrap();
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_log", json!({})),
        ("git_commit", json!({"message": "x", "allowEmpty": true})),
        ("git_branch", json!({"operation": "create", "name": "x"})),
    ] {
        bad(&mut proxy, tree_text, tool, arguments, "DENIED");
    }
    // A directory that is set once, and then meant, is no way either.
    bad(&mut proxy, tree_text, "git_set_working_dir", json!({}), "DENIED");
    proxy.finish();
    assert_eq!(real_git(&tree, &["rev-parse", "HEAD"]), head);
}

#[test]
fn pointers_that_an_agent_turns_lead_nowhere() {
    let place = place();
    // Everything is allowed, so what is refused is refused by the server.
    let policy = write_policy(&place);
    let outside = place.dir("outside");
    make(&outside.join("repo"));
    let theirs = outside.join("repo/.git");
    let refs = || real_git(&outside.join("repo"), &["for-each-ref"]);
    let before = refs();
    let mut proxy = Proxy::start(&place, &["--policy", &policy]);
    proxy.initialize();
    live(&mut proxy, "work");
    let listed = git(&mut proxy, "work/repo", "git_worktree", json!({})).good();
    let base = listed.split("/repo  ").next().unwrap().to_owned();
    let pointer = format!("{base}/trees/two/.git");
    let entry = format!("{base}/repo/.git/worktrees/two");
    let good_pointer = format!("gitdir: {entry}\n");
    let (gitdir, commondir) = (format!("{entry}/gitdir"), format!("{entry}/commondir"));
    let good_back = format!("{pointer}\n");
    let theirs = theirs.display();
    let plants = [
        (&pointer, format!("gitdir: {theirs}\n"), &good_pointer),
        (&pointer, format!("gitdir: {theirs}/worktrees/repo-tree\n"), &good_pointer),
        (&pointer, format!("gitdir: {base}/trees/../repo/.git/worktrees/two\n"), &good_pointer),
        (&pointer, format!("gitdir: {base}/repo/.git\n"), &good_pointer),
        (&pointer, "gitdir: ../../repo/.git/worktrees/two\n".to_owned(), &good_pointer),
        (&gitdir, format!("{base}/trees/other/.git\n"), &good_back),
        (&commondir, format!("{theirs}\n"), &"../..\n".to_owned()),
        (&commondir, format!("../../../../{theirs}\n"), &"../..\n".to_owned()),
    ];
    for (n, (file, text, good_text)) in plants.into_iter().enumerate() {
        // However it came there; some of these texts ask a person when a tool writes them.
        std::fs::write(file, &text).unwrap();
        let path = "work/trees/two";
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_commit", json!({"message": "x", "allowEmpty": true})),
            ("git_branch", json!({"operation": "create", "name": "planted"})),
        ] {
            bad(&mut proxy, path, tool, arguments, "structural-git-config");
        }
        // Another branch each time, so that it is not the same call over and over.
        let push = json!({"remote": "origin", "branch": format!("b{n}")});
        bad(&mut proxy, path, "git_push", push, "DENIED");
        std::fs::write(file, good_text).unwrap();
        good(&mut proxy, path, "git_status", json!({}), "nothing to commit");
    }
    // Places for a tree that are protected, or git's own, or named like an option.
    for (at, part) in [
        ("~/.ssh/tree", "is protected"),
        ("~/.ironcurtain/tree", "is protected"),
        ("-b", "begins with `-`"),
        ("../repo/.git/worktrees/x", "git's own files"),
        ("../trees/two", "is not an empty directory"),
    ] {
        let add = json!({"mode": "add", "worktreePath": at, "branch": "y"});
        bad(&mut proxy, "work/repo", "git_worktree", add, part);
    }
    let add = json!({"mode": "add", "worktreePath": "../y", "branch": "--force"});
    bad(&mut proxy, "work/repo", "git_worktree", add, "a branch neither begins with `-`");
    proxy.finish();
    assert_eq!(refs(), before);
}

#[test]
fn a_tree_does_not_leave_the_sandbox_unless_a_rule_says_so() {
    let place = place();
    let policy = write_strict_policy(&place);
    let outside = place.dir("outside");
    let mut proxy = Proxy::start(&place, &["--policy", &policy]);
    proxy.initialize();
    live(&mut proxy, "work");
    // A link that leads out, made by whoever can.
    let listed = git(&mut proxy, "work/repo", "git_worktree", json!({})).good();
    let base = listed.split("/repo  ").next().unwrap().to_owned();
    std::os::unix::fs::symlink(&outside, format!("{base}/link")).unwrap();
    let absolute = outside.join("new").to_str().unwrap().to_owned();
    for at in ["../../../new", "../../../../../../outside/new", "../link/new", "../link", &absolute]
    {
        let add = json!({"mode": "add", "worktreePath": at, "branch": "y"});
        bad(&mut proxy, "work/repo", "git_worktree", add, "DENIED");
        let moved = json!({"mode": "move", "worktreePath": "../trees/two", "newPath": at});
        bad(&mut proxy, "work/repo", "git_worktree", moved, "DENIED");
    }
    proxy.finish();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

/// In a workspace everything local is free; what the host runs later still asks, and so does a remote.
#[test]
fn under_the_policy_for_coding_trees_are_local() {
    let place = place();
    let workspace = place.dir("work");
    let base = workspace.to_str().unwrap();
    let mut proxy = Proxy::start(&place, &["--policy", "coding", "--workspace", base]);
    proxy.initialize();
    live(&mut proxy, base);
    let (repo, two) = (format!("{base}/repo"), format!("{base}/trees/two"));
    for at in ["../.vscode", ".git/hooks", "../../beside"] {
        let add = json!({"mode": "add", "worktreePath": at, "branch": "y"});
        bad(&mut proxy, &repo, "git_worktree", add, "ESCALATION REQUIRED");
    }
    bad(
        &mut proxy,
        &two,
        "git_push",
        json!({"remote": "https://a.example/x"}),
        "ESCALATION REQUIRED",
    );
    std::fs::create_dir(workspace.join("trees/two/.vscode")).unwrap();
    std::fs::write(workspace.join("trees/two/.vscode/tasks.json"), "{}").unwrap();
    for arguments in [
        json!({"mode": "remove", "worktreePath": "../trees/two", "force": true}),
        json!({"mode": "move", "worktreePath": "../trees/two", "newPath": "../three"}),
    ] {
        bad(&mut proxy, &repo, "git_worktree", arguments, "ESCALATION REQUIRED");
    }
    // By another tool the pointer of a tree is what it is: a file that git obeys.
    let moved = json!({"source": two, "destination": format!("{base}/three")});
    let refused = proxy.call("filesystem__move_file", &moved).bad();
    assert!(refused.contains("ESCALATION REQUIRED"), "{refused}");
    proxy.finish();
    assert!(workspace.join("trees/two/.git").is_file());
}

/// The config of such a repository is the agent's to write, and the user's git would obey it there.
#[test]
fn a_tree_outside_of_a_repository_in_the_sandbox_asks_a_person() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        proxy.call("filesystem__create_directory", &json!({"path": "repo"})).good();
        good(&mut proxy, "repo", "git_init", json!({}), "empty repository");
        let commit = json!({"message": "first", "allowEmpty": true});
        good(&mut proxy, "repo", "git_commit", commit, "first");
        std::fs::create_dir(place.path("home/trees")).unwrap();
        for at in ["~/x", "~/trees/x"] {
            let add = json!({"mode": "add", "worktreePath": at, "branch": "b"});
            let told = git(&mut proxy, "repo", "git_worktree", add).bad();
            assert!(told.contains("ESCALATION REQUIRED"), "{rung}: {told}");
        }
        proxy.finish();
        assert!(!place.path("home/x").exists() && !place.path("home/trees/x").exists(), "{rung}");
    }
}
