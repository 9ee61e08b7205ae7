//! Remotes over https: with and without a password, in a sandbox and in a workspace.

use super::*;
use crate::confined::places_on_every_rung;

#[test]
fn a_repository_is_cloned_changed_and_pushed_in_a_sandbox() {
    for (rung, place, _kept) in places_on_every_rung() {
        let world = World::at(place);
        let mut proxy = world.proxy(&[]);
        let url = world.host.url("open", "app.git");
        if rung == "landlock" {
            // There is no network of its own, and so none at all.
            let arguments = json!({"url": url, "localPath": "repo"});
            let refused = call(&mut proxy, "git_clone", arguments).bad();
            assert!(refused.contains("cannot"), "{rung}: {refused}");
            proxy.finish();
            continue;
        }
        let pushed = clone_commit_push(&mut proxy, &url, "repo");
        assert!(pushed.contains("refs/heads/main"), "{rung}: {pushed}");
        let log = call(&mut proxy, "git_log", json!({"path": "repo"})).good();
        let tip = world.tip("app.git", "main");
        assert!(log.contains(&tip), "{rung}: {tip} is not in {log}");
        world.commit_elsewhere("app.git", "c.txt");
        let fetched = call(&mut proxy, "git_fetch", json!({"path": "repo"})).good();
        assert!(fetched.contains("main -> origin/main"), "{rung}: {fetched}");
        let again = call(&mut proxy, "git_fetch", json!({"path": "repo"})).good();
        assert!(again.contains("nothing new"), "{rung}: {again}");
        call(&mut proxy, "git_pull", json!({"path": "repo", "fastForwardOnly": true})).good();
        let read = json!({"path": "repo/c.txt"});
        assert!(proxy.call("filesystem__read_text_file", &read).good().contains("theirs"));
        proxy.finish();
        // Every connection is in the log, and went to the judged host.
        let egress: Vec<Value> =
            records(&world.place).into_iter().filter(|it| it["kind"] == "egress").collect();
        let opened = egress.iter().filter(|it| it["arguments"]["event"] == "opened");
        let ports: Vec<&Value> = opened.map(|it| &it["arguments"]["port"]).collect();
        assert!(!ports.is_empty() && ports.iter().all(|it| **it == json!(world.host.port)));
        assert!(lendings(&world, "lent").is_empty(), "nobody asked for a password");
    }
}

#[test]
fn a_password_comes_from_the_users_helper_and_is_seen_nowhere() {
    let world = World::new();
    world.with_helper(PASSWORD);
    let workspace = world.place.dir("work");
    let mut proxy = world.proxy(&["--workspace", workspace.to_str().unwrap()]);
    let url = world.host.url("auth", "app.git");
    let repo = workspace.join("repo");
    let pushed = clone_commit_push(&mut proxy, &url, repo.to_str().unwrap());
    assert!(pushed.contains("refs/heads/main"), "{pushed}");
    assert_eq!(git(&repo, &["rev-parse", "HEAD"]), world.tip("app.git", "main"));
    let config = std::fs::read_to_string(repo.join(".git/config")).unwrap();
    assert!(config.contains(&url) && !config.contains(PASSWORD), "{config}");
    proxy.finish();
    let helped = world.helped();
    let host = format!("host=127.0.0.1:{}", world.host.port);
    assert!(helped.contains("== get") && helped.contains(&host), "{helped}");
    assert!(helped.contains("== store") && !helped.contains("== erase"), "{helped}");
    let lent = lendings(&world, "lent");
    assert!(lent.iter().any(|it| it["arguments"]["aid"] == "credential"), "{lent:#?}");
    assert_unseen(&world, &mut proxy, PASSWORD);
}

#[test]
fn it_works_with_and_without_a_password_in_a_sandbox_and_in_a_workspace() {
    for (manner, in_workspace) in [("open", false), ("open", true), ("auth", false), ("auth", true)]
    {
        let world = World::new();
        world.with_helper(PASSWORD);
        let workspace = world.place.dir("work");
        let words = ["--workspace", workspace.to_str().unwrap()];
        let mut proxy = world.proxy(if in_workspace { &words } else { &[] });
        clone_commit_push(&mut proxy, &world.host.url(manner, "app.git"), "repo");
        world.commit_elsewhere("app.git", "c.txt");
        let fetched = call(&mut proxy, "git_fetch", json!({"path": "repo"})).good();
        assert!(fetched.contains("main -> origin/main"), "{manner}: {fetched}");
        call(&mut proxy, "git_pull", json!({"path": "repo", "fastForwardOnly": true})).good();
        let read = json!({"path": "repo/c.txt"});
        assert!(proxy.call("filesystem__read_text_file", &read).good().contains("theirs"));
        assert_eq!(workspace.join("repo").exists(), in_workspace);
        proxy.finish();
        // Nobody is asked for a password where none is wanted.
        assert_eq!(world.helped().contains("== get"), manner == "auth", "{}", world.helped());
        assert_unseen(&world, &mut proxy, PASSWORD);
    }
}

#[test]
fn a_password_that_is_missing_or_wrong_is_said_so() {
    let world = World::new();
    let url = world.host.url("auth", "app.git");
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": url, "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("wants a password"), "{refused}");
    world.with_helper("wrong-horse-battery-staple");
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("did not take the password"), "{refused}");
    assert!(world.helped().contains("== erase"), "the helper is told: {}", world.helped());
    world.with_helper(PASSWORD);
    call(&mut proxy, "git_clone", clone).good();
    proxy.finish();
    assert_unseen(&world, &mut proxy, "wrong-horse");
}

#[test]
fn a_host_that_the_user_does_not_trust_is_told_nothing() {
    let world = World::new();
    world.place.write("home/.gitconfig", "");
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("could not show that it is this host"), "{refused}");
    assert_eq!(world.host.requests(), "");
    proxy.finish();
}

#[test]
fn pushing_keeps_to_what_was_asked() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    let url = world.host.url("open", "app.git");
    clone_commit_push(&mut proxy, &url, "repo");
    let before = world.tip("app.git", "main");
    world.commit_elsewhere("app.git", "c.txt");
    let theirs = world.tip("app.git", "main");
    let commit = json!({"path": "repo", "message": "more", "allowEmpty": true});
    call(&mut proxy, "git_commit", commit).good();
    let rejected = call(&mut proxy, "git_push", json!({"path": "repo"})).bad();
    assert!(rejected.contains("rejected"), "{rejected}");
    let forced = json!({"path": "repo", "force": true});
    assert!(call(&mut proxy, "git_push", forced).bad().contains("confirmed"));
    let lease = json!({"path": "repo", "forceWithLease": true});
    let stale = call(&mut proxy, "git_push", lease).bad();
    assert!(stale.contains("stale"), "{stale}");
    assert_eq!(world.tip("app.git", "main"), theirs);
    let dry = json!({"path": "repo", "branch": "main", "remoteBranch": "side", "dryRun": true});
    call(&mut proxy, "git_push", dry).good();
    let side = json!({"path": "repo", "branch": "main", "remoteBranch": "side", "tags": true});
    let tag = json!({"path": "repo", "mode": "create", "tagName": "v1"});
    call(&mut proxy, "git_tag", tag).good();
    call(&mut proxy, "git_push", side).good();
    assert_ne!(world.tip("app.git", "side"), before);
    assert_eq!(world.tip("app.git", "v1"), world.tip("app.git", "side"));
    let delete = json!({"path": "repo", "branch": "side", "delete": true, "confirmed": true});
    call(&mut proxy, "git_push", delete).good();
    let left = git(&world.repositories.join("app.git"), &["branch", "--list", "side"]);
    assert_eq!(left, "");
    let rebased = json!({"path": "repo", "rebase": true});
    call(&mut proxy, "git_pull", rebased).good();
    call(&mut proxy, "git_push", json!({"path": "repo"})).good();
    proxy.finish();
}

#[test]
fn a_shallow_clone_stays_one_and_can_be_deepened() {
    let world = World::new();
    world.commit_elsewhere("app.git", "c.txt");
    let mut proxy = world.proxy(&[]);
    let url = world.host.url("open", "app.git");
    call(&mut proxy, "git_clone", json!({"url": url, "localPath": "repo", "depth": 1})).good();
    let log = call(&mut proxy, "git_log", json!({"path": "repo", "oneline": true})).good();
    assert!(log.contains("theirs") && !log.contains("first"), "{log}");
    call(&mut proxy, "git_fetch", json!({"path": "repo", "depth": 5})).good();
    let log = call(&mut proxy, "git_log", json!({"path": "repo", "oneline": true})).good();
    assert!(log.contains("theirs") && log.contains("first"), "{log}");
    let taken = call(&mut proxy, "git_clone", json!({"url": url, "localPath": "repo"})).bad();
    assert!(taken.contains("not an empty directory"), "{taken}");
    proxy.finish();
}

#[test]
fn a_linked_working_tree_has_the_remotes_of_its_repository() {
    for more in [&[][..], &["--workspace"]] {
        let world = World::new();
        let workspace = world.place.dir("work");
        let workspace = workspace.to_str().unwrap();
        let more: Vec<&str> = more.iter().flat_map(|flag| [*flag, workspace]).collect();
        let mut proxy = world.proxy(&more);
        let url = world.host.url("open", "app.git");
        call(&mut proxy, "git_clone", json!({"url": url, "localPath": "repo"})).good();
        let add =
            json!({"path": "repo", "mode": "add", "worktreePath": "../tree", "branch": "side"});
        call(&mut proxy, "git_worktree", add).good();
        let written = json!({"path": "tree/b.txt", "content": "ours\n"});
        proxy.call("filesystem__write_file", &written).good();
        let commit = json!({"path": "tree", "message": "ours", "filesToStage": ["b.txt"]});
        call(&mut proxy, "git_commit", commit).good();
        let push = json!({"path": "tree", "setUpstream": true});
        let pushed = call(&mut proxy, "git_push", push).good();
        assert!(pushed.contains("refs/heads/side") && pushed.contains("follows origin/side"));
        let log = call(&mut proxy, "git_log", json!({"path": "tree", "maxCount": 1})).good();
        assert!(log.contains(&world.tip("app.git", "side")), "{log}");
        // What is fetched is the repository's, and what is pulled goes into the tree.
        world.commit_elsewhere("app.git", "c.txt");
        let fetched = call(&mut proxy, "git_fetch", json!({"path": "tree"})).good();
        assert!(fetched.contains("main -> origin/main"), "{fetched}");
        call(&mut proxy, "git_pull", json!({"path": "tree", "branch": "main"})).good();
        let read = proxy.call("filesystem__read_text_file", &json!({"path": "tree/c.txt"}));
        assert!(read.good().contains("theirs"));
        let status = call(&mut proxy, "git_status", json!({"path": "repo"})).good();
        assert!(status.contains("On branch main") && status.contains("nothing to commit"));
        // A remote that is set in the tree is set in the repository, and judged there.
        let set = json!({"path": "tree", "mode": "set-url", "name": "origin",
            "url": "ssh://git@127.0.0.1:1/x"});
        call(&mut proxy, "git_remote", set).good();
        let refused = call(&mut proxy, "git_push", json!({"path": "repo"})).bad();
        assert!(!refused.contains(&url), "{refused}");
        proxy.finish();
    }
}
