//! What lies in a repository when a remote is reached: hooks, links, refs with odd names, submodules.
//! None of it runs, none of it leads elsewhere; over https and over ssh.

use super::ssh;
use super::*;

/// Every hook that git knows of on one of the two sides.
const HOOKS: [&str; 18] = [
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
];

fn write_program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Clones, plants hooks and drivers, and does whatever reaches the remote.
fn check_nothing_runs(world: &World, url: &str) {
    let workspace = world.place.dir("work");
    let mut proxy = world.proxy(&["--workspace", workspace.to_str().unwrap()]);
    call(&mut proxy, "git_clone", json!({"url": url, "localPath": "repo"})).good();
    let hooks = workspace.join("repo/.git/hooks");
    for hook in HOOKS {
        // Whatever holds the hook, it can write beside itself: the repository is there to be written.
        write_program(&hooks.join(hook), "#!/bin/sh\ntouch \"$0.caught\"\n");
    }
    let attributes = "* filter=x diff=x merge=x\n";
    std::fs::write(workspace.join("repo/.git/info/attributes"), attributes).unwrap();
    let commit = json!({"path": "repo", "message": "ours", "allowEmpty": true});
    call(&mut proxy, "git_commit", commit).good();
    call(&mut proxy, "git_push", json!({"path": "repo"})).good();
    world.commit_elsewhere("app.git", "theirs.txt");
    call(&mut proxy, "git_fetch", json!({"path": "repo"})).good();
    if url.starts_with("https:") {
        // What a pull does after its fetch is the same for both.
        let commit = json!({"path": "repo", "message": "more", "allowEmpty": true});
        call(&mut proxy, "git_commit", commit).good();
        call(&mut proxy, "git_pull", json!({"path": "repo"})).good();
        call(&mut proxy, "git_push", json!({"path": "repo"})).good();
    }
    let names: Vec<String> = std::fs::read_dir(&hooks)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".caught"))
        .collect();
    assert_eq!(names, Vec::<String>::new());
    proxy.finish();
}

#[test]
fn hooks_do_not_run_on_the_way_to_a_remote() {
    let world = World::new();
    check_nothing_runs(&world, &world.host.url("open", "app.git"));
}

#[test]
fn hooks_do_not_run_on_the_way_to_a_remote_over_ssh() {
    let Some((world, host, _agent)) = ssh::world() else { return };
    check_nothing_runs(&world, &host.url(&world.repositories.join("app.git")));
}

/// How a repository leads elsewhere; `at` is its directory, and `real` is where the rest of it goes.
type Lead = (&'static str, fn(at: &Path, real: &Path));

const LEADS: [Lead; 6] = [
    ("a link", |at, real| {
        std::fs::rename(at.join(".git"), real).unwrap();
        std::os::unix::fs::symlink(real, at.join(".git")).unwrap();
    }),
    ("a file", |at, real| {
        std::fs::rename(at.join(".git"), real).unwrap();
        std::fs::write(at.join(".git"), format!("gitdir: {}\n", real.display())).unwrap();
    }),
    ("a linked working tree", |at, real| {
        git(at, &["worktree", "add", "-q", real.to_str().unwrap()]);
        std::fs::rename(at, at.with_extension("first")).unwrap();
        std::fs::rename(real, at).unwrap();
    }),
    ("a common part", |at, real| {
        std::fs::write(at.join(".git/commondir"), real.to_str().unwrap()).unwrap();
    }),
    ("alternates", |at, real| {
        std::fs::create_dir_all(real).unwrap();
        let file = at.join(".git/objects/info/alternates");
        std::fs::write(file, real.to_str().unwrap()).unwrap();
    }),
    ("objects behind a link", |at, real| {
        std::fs::rename(at.join(".git/objects"), real).unwrap();
        std::os::unix::fs::symlink(real, at.join(".git/objects")).unwrap();
    }),
];

#[test]
fn a_repository_that_leads_elsewhere_reaches_no_remote() {
    for (what, lead) in LEADS {
        let world = World::new();
        let workspace = world.place.dir("work");
        let at = workspace.join("repo");
        let url = world.host.url("open", "app.git");
        let bare = world.repositories.join("app.git");
        git(&workspace, &["clone", "-q", bare.to_str().unwrap(), "repo"]);
        git(&at, &["remote", "set-url", "origin", &url]);
        // Nobody is there; and nobody is asked.
        git(&at, &["remote", "add", "far", "ssh://git@127.0.0.1:1/x"]);
        lead(&at, &workspace.join("real"));
        let mut proxy = world.proxy(&["--workspace", workspace.to_str().unwrap()]);
        for remote in ["origin", "far"] {
            for tool in ["git_push", "git_fetch", "git_pull"] {
                let arguments = json!({"path": "repo", "remote": remote});
                let refused = call(&mut proxy, tool, arguments).bad();
                let is_refused =
                    refused.contains("DENIED") || refused.contains("structural-git-config");
                assert!(is_refused, "{what}, {tool}, {remote}: {refused}");
            }
        }
        assert_eq!(world.host.requests(), "", "{what}");
        proxy.finish();
    }
}

/// What lies behind a link among the objects may be somebody else's, and is not sent.
#[test]
fn objects_behind_a_link_are_not_sent() {
    let world = World::new();
    let workspace = world.place.dir("work");
    let mut proxy = world.proxy(&["--workspace", workspace.to_str().unwrap()]);
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    call(&mut proxy, "git_clone", clone).good();
    let commit = json!({"path": "repo", "message": "ours", "allowEmpty": true});
    call(&mut proxy, "git_commit", commit).good();
    let tip = git(&workspace.join("repo"), &["rev-parse", "HEAD"]);
    let fan = workspace.join("repo/.git/objects").join(tip.get(..2).unwrap());
    // Where the cage does not show them, and where it does.
    for elsewhere in ["elsewhere", "repo/elsewhere"].map(|name| workspace.join(name)) {
        std::fs::rename(&fan, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &fan).unwrap();
        call(&mut proxy, "git_push", json!({"path": "repo"})).bad();
        assert_ne!(world.tip("app.git", "main"), tip);
        std::fs::remove_file(&fan).unwrap();
        std::fs::rename(&elsewhere, &fan).unwrap();
    }
    call(&mut proxy, "git_push", json!({"path": "repo"})).good();
    assert_eq!(world.tip("app.git", "main"), tip);
    proxy.finish();
}

/// A ref that another server wrote is a name, or nothing (T1-7).
#[test]
fn refs_that_another_server_wrote_are_no_options() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    let url = world.host.url("open", "app.git");
    call(&mut proxy, "git_clone", json!({"url": url, "localPath": "repo"})).good();
    let tip = world.tip("app.git", "main");
    let requests = world.host.requests();
    let write = |proxy: &mut Proxy, name: &str, text: &str| {
        let arguments = json!({"path": format!("repo/.git/{name}"), "content": text});
        proxy.call("filesystem__write_file", &arguments).good();
    };
    for name in ["--format=caught", "--output=caught", "--upload-pack=caught", "-oProxyCommand=x"] {
        for place in ["refs/heads", "refs/tags"] {
            write(&mut proxy, &format!("{place}/{name}"), &format!("{tip}\n"));
        }
        for (tool, arguments) in [
            ("git_log", json!({"path": "repo", "branch": name})),
            ("git_show", json!({"path": "repo", "object": name})),
            ("git_diff", json!({"path": "repo", "target": name})),
            ("git_checkout", json!({"path": "repo", "target": name})),
            ("git_merge", json!({"path": "repo", "branch": name})),
        ] {
            let said = call(&mut proxy, tool, arguments).text();
            assert!(!said.contains("usage:") && !said.contains("unknown option"), "{tool}: {said}");
        }
        for (tool, arguments) in [
            ("git_push", json!({"path": "repo", "branch": name})),
            ("git_push", json!({"path": "repo", "tags": true})),
            ("git_pull", json!({"path": "repo", "branch": name})),
        ] {
            call(&mut proxy, tool, arguments).bad();
        }
        // Checked out, so that a push which names no branch would mean it.
        write(&mut proxy, "HEAD", &format!("ref: refs/heads/{name}\n"));
        call(&mut proxy, "git_push", json!({"path": "repo"})).bad();
        write(&mut proxy, "HEAD", "ref: refs/heads/main\n");
        for place in ["refs/heads", "refs/tags"] {
            let path = json!({"path": format!("repo/.git/{place}/{name}")});
            proxy.call("filesystem__delete_file", &path).good();
        }
    }
    assert_eq!(world.host.requests(), requests, "nobody was asked");
    let listed = proxy.call("filesystem__list_directory", &json!({"path": "repo"})).good();
    assert!(!listed.contains("caught"), "{listed}");
    call(&mut proxy, "git_push", json!({"path": "repo"})).good();
    proxy.finish();
}

/// A repository names others, on the same host and elsewhere; only what was judged is asked for.
#[test]
fn submodules_of_a_remote_are_not_fetched() {
    let world = World::new();
    make_repository(&world.repositories.join("other.git"), "b.txt", "other\n");
    let (url, other) = (world.host.url("open", "app.git"), world.host.url("open", "other.git"));
    let work = tempfile::tempdir().unwrap();
    let bare = |name: &str| world.repositories.join(name).to_str().unwrap().to_owned();
    git(work.path(), &["clone", "-q", &bare("app.git"), "."]);
    let id = world.tip("other.git", "main");
    let modules = format!(
        "[submodule \"sub\"]\n\tpath = sub\n\turl = {other}\n\tupdate = checkout\n\
         [submodule \"--upload-pack=x\"]\n\tpath = two\n\turl = -oProxyCommand=x\n"
    );
    std::fs::write(work.path().join(".gitmodules"), modules).unwrap();
    git(work.path(), &["add", ".gitmodules"]);
    git(work.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{id},sub")]);
    git(work.path(), &["commit", "-q", "-m", "submodules"]);
    git(work.path(), &["push", "-q", "origin", "HEAD:refs/heads/evil"]);
    std::fs::write(
        work.path().join(".gitmodules"),
        format!("[submodule \"sub\"]\n\tpath = sub\n\turl = {other}\n"),
    )
    .unwrap();
    git(work.path(), &["commit", "-q", "-a", "--amend", "-m", "one submodule"]);
    git(work.path(), &["push", "-q", "origin", "HEAD:main"]);
    let mut proxy = world.proxy(&[]);
    // Git's own check refuses the branch whose submodules have such names, and with it all of it.
    let clone = json!({"url": url, "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("not in order"), "{refused}");
    git(&world.repositories.join("app.git"), &["update-ref", "-d", "refs/heads/evil"]);
    call(&mut proxy, "git_clone", clone).good();
    call(&mut proxy, "git_fetch", json!({"path": "repo"})).good();
    call(&mut proxy, "git_pull", json!({"path": "repo"})).good();
    let listed = proxy.call("filesystem__list_directory", &json!({"path": "repo/sub"})).text();
    assert!(!listed.contains("b.txt"), "{listed}");
    assert!(!world.host.requests().contains("other.git"), "{}", world.host.requests());
    proxy.finish();
}
