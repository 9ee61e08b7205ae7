//! The built-in git server through the proxy: caged, in a sandbox, in a workspace and elsewhere.

mod links;
mod trees;

use std::path::Path;

use ic_testkit::proxy::records;
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use crate::confined::places_on_every_rung;

/// Writes a policy that allows everything, with the annotations that are built in.
fn write_policy(place: &Place) -> String {
    let annotations =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ic-policy/policies/tool-annotations.json");
    place.write("policy/tool-annotations.json", std::fs::read(annotations).unwrap());
    let anything = json!({"name": "anything", "if": {}, "then": "allow", "reason": "a test"});
    place.write("policy/compiled-policy.json", json!({"rules": [anything]}).to_string());
    place.path("policy").to_str().unwrap().to_owned()
}

/// Makes a repository at `path`, commits to it, and plants something in it.
fn check(rung: &str, proxy: &mut Proxy, path: &str) {
    let git = |proxy: &mut Proxy, tool: &str, mut arguments: Value| {
        arguments["path"] = json!(path);
        proxy.call(&format!("git__{tool}"), &arguments)
    };
    let write = |proxy: &mut Proxy, name: &str, content: &str| {
        let arguments = json!({"path": format!("{path}/{name}"), "content": content});
        proxy.call("filesystem__write_file", &arguments).good();
    };
    git(proxy, "git_init", json!({})).good();
    write(proxy, "a.txt", "one\n");
    let status = git(proxy, "git_status", json!({})).good();
    assert!(status.contains("a.txt"), "{rung}: {status}");
    // The file is judged against the repository, and sent as an absolute path.
    git(proxy, "git_add", json!({"files": ["a.txt"]})).good();
    git(proxy, "git_commit", json!({"message": "first"})).good();
    let log = git(proxy, "git_log", json!({})).good();
    assert!(log.contains("first") && log.contains("IronCurtain agent"), "{rung}: {log}");
    let made = git(proxy, "git_branch", json!({"operation": "create", "name": "side"})).good();
    assert!(made.contains("side"), "{rung}: {made}");
    let config = "[core]\n\tfsmonitor = touch /tmp/caught\n";
    match path.starts_with('/') {
        // Only in the session's own sandbox may the agent write git's own files unasked.
        true => std::fs::write(format!("{path}/.git/config"), config).unwrap(),
        false => write(proxy, ".git/config", config),
    }
    let refused = git(proxy, "git_status", json!({})).bad();
    assert!(refused.contains("structural-git-config"), "{rung}: {refused}");
}

#[test]
fn git_works_in_a_sandbox_and_in_a_judged_directory() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        check(rung, &mut proxy, "repo");
        // What the long-lived server does not hold is served by one that holds only that.
        let outside = place.dir("outside/repo");
        check(rung, &mut proxy, outside.to_str().unwrap());
        proxy.finish();
        let calls = records(&place).into_iter().filter(|it| it["server"] == "git");
        let calls: Vec<Value> = calls.filter(|it| it["kind"] == "outcome").collect();
        assert_eq!(calls.len(), 14, "{rung}: {calls:#?}");
        let held: Vec<Value> = records(&place)
            .into_iter()
            .filter(|it| it["kind"] == "intent" && it["server"] == "git")
            .map(|it| it["confined"].clone())
            .collect();
        assert!(held.iter().all(|it| *it == json!(rung)), "{rung}: {held:?}");
    }
}

#[test]
fn git_works_in_a_workspace() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let workspace = place.dir("work");
        let workspace = workspace.to_str().unwrap();
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", workspace]);
        proxy.initialize();
        for (tool, arguments, part) in [
            ("git_init", json!({}), "empty repository"),
            ("git_commit", json!({"message": "first", "allowEmpty": true}), "first"),
            ("git_status", json!({}), "nothing to commit"),
            ("git_log", json!({"oneline": true}), "first"),
        ] {
            let mut arguments = arguments;
            arguments["path"] = json!(workspace);
            let text = proxy.call(&format!("git__{tool}"), &arguments).good();
            assert!(text.contains(part), "{rung}: {text}");
        }
        proxy.finish();
    }
}
