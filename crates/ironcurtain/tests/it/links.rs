//! Attacks on paths and repositories, on a real disk, through the real binary and built-in policies.
//!
//! Each is a thing that went wrong elsewhere.

use ic_testkit::Place;
use serde_json::{Value, json};

use crate::place;

/// Asks about one call in a sandbox at `sandbox/`; returns decision and rule.
#[track_caller]
fn check_with(
    place: &Place,
    flags: &[&str],
    server: &str,
    tool: &str,
    arguments: &Value,
) -> (String, String) {
    let sandbox = place.dir("sandbox");
    let arguments = arguments.to_string();
    let mut words = vec!["policy", "check", "--json", "--sandbox", sandbox.to_str().unwrap()];
    words.extend(flags);
    words.extend([server, tool, &arguments]);
    let output = place.run(&words);
    let answer: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let decision = answer["decision"].as_str().unwrap().to_owned();
    let code = match decision.as_str() {
        "allow" => 0,
        "escalate" => 3,
        _ => 4,
    };
    assert_eq!(output.code, code, "{output:?}");
    (decision, answer["rule"].as_str().unwrap().to_owned())
}

#[track_caller]
fn check(place: &Place, server: &str, tool: &str, arguments: &Value, decision: &str, rule: &str) {
    let found = check_with(place, &[], server, tool, arguments);
    assert_eq!(
        (found.0.as_str(), found.1.as_str()),
        (decision, rule),
        "{server}.{tool} {arguments}"
    );
}

const SANDBOX_ALLOW: &str = "structural-sandbox-allow";
const PROTECTED: &str = "structural-protected-path";
const INVALID: &str = "structural-invalid-value";

#[test]
fn a_sibling_prefix_is_outside() {
    let place = place();
    place.write("sandbox-evil/x", "x");
    place.write("sandbox/x", "x");
    let inside = json!({"path": place.path("sandbox/x")});
    check(&place, "filesystem", "read_file", &inside, "allow", SANDBOX_ALLOW);
    let sibling = json!({"path": place.path("sandbox-evil/x")});
    check(
        &place,
        "filesystem",
        "read_file",
        &sibling,
        "escalate",
        "escalate-reading-files-anywhere-else",
    );
}

#[test]
fn links_are_judged_by_where_they_lead() {
    let place = place();
    place.write("outside/secret", "x");
    place.write("home/.ssh/id_rsa", "x");
    place.link("sandbox/out", place.path("outside"));
    place.link("sandbox/secret", "../outside/secret");
    place.link("sandbox/key", place.path("home/.ssh/id_rsa"));
    place.link("sandbox/dangling", place.path("home/.ssh/not-yet"));
    place.link("sandbox/chain", "key");
    place.link("sandbox/ok", "file");
    let read = |path: &str, decision: &str, rule: &str| {
        check(&place, "filesystem", "read_file", &json!({"path": path}), decision, rule);
    };
    read("out/secret", "escalate", "escalate-reading-files-anywhere-else");
    read("secret", "escalate", "escalate-reading-files-anywhere-else");
    read("ok", "allow", SANDBOX_ALLOW);
    for path in ["key", "chain", "dangling", "dangling/x", "out/../home/.ssh/id_rsa"] {
        read(path, "deny", PROTECTED);
    }
    // Writing through a dangling link would create what it points to.
    let write = json!({"path": "dangling", "content": "x"});
    check(&place, "filesystem", "write_file", &write, "deny", PROTECTED);
    let one_of_many = json!({"paths": ["ok", "ok", "key"]});
    check(&place, "filesystem", "read_multiple_files", &one_of_many, "deny", PROTECTED);
}

#[test]
fn removing_a_link_is_about_the_link() {
    let place = place();
    place.write("outside/secret", "x");
    place.link("sandbox/link", "../outside/secret");
    place.link("sandbox/dir", "../outside");
    let delete = |path: &str, decision: &str, rule: &str| {
        check(&place, "filesystem", "delete_file", &json!({"path": path}), decision, rule);
    };
    delete("link", "allow", SANDBOX_ALLOW);
    delete("dir", "escalate", "escalate-deleting-files-anywhere-else");
    delete("dir/secret", "escalate", "escalate-deleting-files-anywhere-else");
}

#[test]
fn a_protected_path_that_does_not_exist_yet_is_denied() {
    let place = place();
    for name in [
        ".ssh/config",
        ".claude/settings.json",
        ".claude.json",
        ".codex/config.toml",
        ".aws",
        ".ironcurtain/config.json",
    ] {
        let write = json!({"path": format!("~/{name}"), "content": "x"});
        check(&place, "filesystem", "write_file", &write, "deny", PROTECTED);
    }
    let further = place.path("later/secret");
    let flags = ["--protected", further.to_str().unwrap()];
    let read = json!({"path": further.join("below")});
    assert_eq!(check_with(&place, &flags, "filesystem", "read_file", &read).1, PROTECTED);
    // Removing what is above a protected path removes it.
    check(&place, "filesystem", "delete_file", &json!({"path": "~"}), "deny", PROTECTED);
}

#[test]
fn a_workspace_exempts_nothing() {
    let place = place();
    let workspace = place.dir("home/.codex/project");
    let arguments = json!({"path": "x"}).to_string();
    let ask = |flags: &[&str]| {
        let mut words = vec!["policy", "check", "--json", "--sandbox", workspace.to_str().unwrap()];
        words.extend(flags);
        words.extend(["filesystem", "read_file", &arguments]);
        let answer: Value = serde_json::from_str(&place.run(&words).stdout).unwrap();
        answer["rule"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask(&["--workspace"]), PROTECTED);
    assert_eq!(ask(&[]), SANDBOX_ALLOW);
}

#[test]
fn what_the_host_runs_later_escalates_in_a_workspace() {
    let place = place();
    place.dir("sandbox/.git/hooks");
    place.link("sandbox/innocent", ".git/hooks");
    place.link("sandbox/.envrc", "env.sh");
    for path in [
        ".git/hooks/pre-commit",
        "innocent/pre-commit",
        ".envrc",
        "env.sh",
        "sub/.vscode/tasks.json",
        ".git",
    ] {
        let write = json!({"path": path, "content": "x"});
        let found = check_with(
            &place,
            &["--workspace", "--policy", "coding"],
            "filesystem",
            "write_file",
            &write,
        );
        assert_eq!(found.1, "structural-host-executes", "{path}");
        let found = check_with(&place, &["--policy", "coding"], "filesystem", "write_file", &write);
        assert_eq!(found.1, SANDBOX_ALLOW, "{path}");
    }
    let profile = json!({"path": "~/.bashrc", "content": "x"});
    check(&place, "filesystem", "write_file", &profile, "escalate", "structural-host-executes");
}

#[test]
fn a_repository_in_a_protected_place_is_denied() {
    let place = place();
    check(&place, "git", "git_init", &json!({"path": "~/.ssh"}), "deny", PROTECTED);
    check(&place, "git", "git_init", &json!({"path": "repo"}), "allow", SANDBOX_ALLOW);
    let (decision, _) = check_with(&place, &[], "git", "git_init", &json!({"path": "/etc/repo"}));
    assert_eq!(decision, "escalate");
}

#[test]
fn a_repository_outside_is_judged_by_its_path() {
    let place = place();
    place.dir("outside/repo/.git");
    place.link("sandbox/repo", "../outside/repo");
    for tool in ["git_status", "git_log", "git_add", "git_commit"] {
        for path in [json!(place.path("outside/repo")), json!("repo"), json!("../outside/repo")] {
            let (decision, rule) = check_with(&place, &[], "git", tool, &json!({"path": path}));
            assert_eq!(decision, "escalate", "{tool} {path}: {rule}");
        }
    }
}

#[test]
fn files_staged_from_elsewhere_are_denied() {
    let place = place();
    place.dir("sandbox/repo");
    place.write("home/.kube/config", "x");
    let add = |files: Value| json!({"path": "repo", "files": files});
    check(&place, "git", "git_add", &add(json!(["a", "src/b"])), "allow", SANDBOX_ALLOW);
    check(
        &place,
        "git",
        "git_add",
        &add(json!(["a", "../../home/.kube/config"])),
        "deny",
        PROTECTED,
    );
    check(&place, "git", "git_add", &add(json!(["~/.kube/config"])), "deny", PROTECTED);
    check(
        &place,
        "git",
        "git_add",
        &add(json!(["a", ["../../home/.kube/config"]])),
        "deny",
        INVALID,
    );
    check(&place, "git", "git_add", &add(json!({"0": "../../home/.kube/config"})), "deny", INVALID);
}

#[test]
fn options_in_refs_are_denied() {
    let place = place();
    for (tool, argument) in [
        ("git_diff", "target"),
        ("git_checkout", "target"),
        ("git_log", "branch"),
        ("git_rebase", "upstream"),
        ("git_reset", "target"),
        ("git_branch", "name"),
        ("git_push", "branch"),
    ] {
        let arguments = json!({"path": "repo", argument: "--output=/home/x/.bashrc"});
        check(&place, "git", tool, &arguments, "deny", INVALID);
    }
    check(&place, "git", "git_status", &json!({"path": "--exec=x"}), "deny", INVALID);
}

#[test]
fn a_push_is_judged_by_where_it_goes() {
    let place = place();
    let servers = json!({"git": {"builtin": "git", "allowedDomains": ["github.com"]}});
    let servers = place.write("servers.json", servers.to_string());
    let flags = ["--servers", servers.to_str().unwrap()];
    let push = |config: &str, remote: Value| {
        place.write("sandbox/repo/.git/HEAD", "ref: refs/heads/main\n");
        place.dir("sandbox/repo/.git/objects");
        place.dir("sandbox/repo/.git/refs");
        place.write("sandbox/repo/.git/config", config);
        check_with(&place, &flags, "git", "git_push", &json!({"path": "repo", "remote": remote}))
    };
    let origin = "[remote \"origin\"]\n\turl = https://github.com/acme/app.git\n";
    for remote in [json!("origin"), json!(null)] {
        let ask = |config: &str| push(config, remote.clone());
        assert_eq!(ask(origin).1, "escalate-dealing-with-remotes");
        let gate = "structural-domain-escalate";
        assert_eq!(ask(&format!("{origin}\tpushurl = https://evil.example/x\n")).1, gate);
        let instead =
            format!("{origin}[url \"https://evil.example/\"]\n\tinsteadOf = https://github.com/\n");
        assert_eq!(ask(&instead).1, gate);
        let push_instead =
            format!("{origin}[url \"git@evil.example:\"]\n\tpushInsteadOf = https://github.com/\n");
        assert_eq!(ask(&push_instead).1, gate);
        assert_eq!(ask(&format!("{origin}[include]\n\tpath = ../evil\n")).1, INVALID);
        assert_eq!(ask("[remote \"origin\"]\n\turl = ext::sh -c evil\n").1, INVALID);
        // git would go to evil.example, whatever a browser makes of the backslash.
        let backslash = "[remote \"origin\"]\n\turl = https://github.com\\\\@evil.example/x\n";
        assert_eq!(ask(backslash).1, INVALID);
    }
    assert_eq!(push(origin, json!("upstream")).1, INVALID);
    assert_eq!(push(origin, json!("http://github.com/a/b")).1, INVALID);
    assert_eq!(push(origin, json!("https://github.com/a/b")).1, "escalate-dealing-with-remotes");
}

#[test]
fn roles_hold_for_any_server_and_for_nested_arguments() {
    let place = place();
    let annotations = json!({"servers": {"custom": {"tools": [
        {"toolName": "sync", "args": {"/jobs/*/from": ["read-path"], "/jobs/*/to": ["fetch-url"]}}
    ]}}});
    let rules = json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "r"}]});
    place.write("policy/tool-annotations.json", annotations.to_string());
    place.write("policy/compiled-policy.json", rules.to_string());
    let policy = place.path("policy");
    let flags = ["--policy", policy.to_str().unwrap()];
    let sync = |from: &str, to: &str| {
        let job =
            json!({"jobs": [{"from": "a", "to": "https://a.example"}, {"from": from, "to": to}]});
        check_with(&place, &flags, "custom", "sync", &job).1
    };
    assert_eq!(sync("b", "https://b.example"), "all");
    assert_eq!(sync("~/.aws/credentials", "https://b.example"), PROTECTED);
    assert_eq!(sync("b", "ftp://b.example"), INVALID);
}

#[test]
fn a_policy_in_the_sandbox_is_refused() {
    let place = place();
    let rules =
        json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "r"}]}).to_string();
    let tools = json!({"servers": {}}).to_string();
    place.write("sandbox/policy/compiled-policy.json", &rules);
    place.write("sandbox/policy/tool-annotations.json", &tools);
    place.write("sandbox/servers.json", "{}");
    // A directory outside whose file is a link into the sandbox is no better.
    place.link("linked/compiled-policy.json", place.path("sandbox/policy/compiled-policy.json"));
    place.write("linked/tool-annotations.json", &tools);
    place.link("aliased", place.path("sandbox/policy"));
    // A link in the sandbox to a policy outside is the agent's to turn.
    place.write("good/compiled-policy.json", &rules);
    place.write("good/tool-annotations.json", &tools);
    place.link("sandbox/link", place.path("good"));
    place.link("sandbox/up", place.root());
    let sandbox = place.path("sandbox");
    for flags in [
        ["--policy", "sandbox/policy"],
        ["--policy", "linked"],
        ["--policy", "aliased"],
        ["--policy", "sandbox/link"],
        ["--policy", "sandbox/up/good"],
        ["--servers", "sandbox/servers.json"],
    ] {
        let mut words = vec!["policy", "check", "--sandbox", sandbox.to_str().unwrap()];
        words.extend(flags);
        words.extend(["s", "t", "{}"]);
        let output = place.run(&words);
        assert_eq!(output.code, 1, "{flags:?} {output:?}");
        assert!(output.stderr.contains("where the agent can change it"), "{flags:?} {output:?}");
        assert_eq!(output.stdout, "", "{flags:?}");
    }
    let home = place.path("sandbox/home");
    let inside = crate::place().with_variable("IRONCURTAIN_HOME", home.to_str().unwrap());
    let output =
        inside.run(["policy", "check", "--sandbox", sandbox.to_str().unwrap(), "s", "t", "{}"]);
    assert_eq!(output.code, 1, "{output:?}");
}

/// What a hostile repository brings along changes nothing, wherever we are started.
#[test]
fn nothing_is_read_from_the_workspace() {
    let place = place();
    place.dir("sandbox");
    let read = json!({"path": "/etc/hostname"}).to_string();
    let ask = || {
        let words =
            ["policy", "check", "--json", "--sandbox", ".", "--workspace", "--policy", "default"];
        place.run_in("sandbox", words.into_iter().chain(["filesystem", "read_file", &read])).stdout
    };
    let before = ask();
    assert!(before.contains("escalate-reading-files-anywhere-else"), "{before}");
    place.write("sandbox/.env", "IRONCURTAIN_HOME=/tmp/evil\nHOME=/tmp/evil\n");
    place.write("sandbox/.ironcurtain/config.json", r#"{"version":1,"confinement":"off"}"#);
    let all =
        json!({"rules": [{"name": "evil", "if": {}, "then": "allow", "reason": "r"}]}).to_string();
    for directory in [".ironcurtain/generated", "generated", "default", "."] {
        place.write(format!("sandbox/{directory}/compiled-policy.json"), &all);
        place.write(format!("sandbox/{directory}/tool-annotations.json"), r#"{"servers":{}}"#);
    }
    place.write("sandbox/mcp-servers.json", r#"{"evil":{"command":"sh"}}"#);
    assert_eq!(ask(), before);
}

#[test]
fn the_policy_and_servers_in_use_are_protected() {
    let place = place();
    let all = json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "r"}]});
    let tools =
        json!({"servers": {"s": {"tools": [{"toolName": "t", "args": {"path": ["write-path"]}}]}}});
    place.write("policy/compiled-policy.json", all.to_string());
    place.write("policy/tool-annotations.json", tools.to_string());
    let servers = place.write("servers.json", "{}");
    let policy = place.path("policy");
    let flags = ["--policy", policy.to_str().unwrap(), "--servers", servers.to_str().unwrap()];
    for path in
        ["policy/compiled-policy.json", "policy/dynamic-lists.json", "policy", "servers.json"]
    {
        let write = json!({"path": place.path(path)});
        assert_eq!(check_with(&place, &flags, "s", "t", &write).1, PROTECTED, "{path}");
    }
    let other = json!({"path": place.path("other.json")});
    assert_eq!(check_with(&place, &flags, "s", "t", &other).1, "all");
}

#[test]
fn a_directory_takes_along_what_the_host_executes() {
    let place = place();
    place.write("sandbox/fixtures/app/.envrc", "x");
    place.write("sandbox/plain/file.txt", "x");
    place.write("home/Downloads/repo/sub/.vscode/tasks.json", "x");
    let flags = ["--workspace", "--policy", "coding"];
    let moved = |source: &str, destination: &str| {
        let arguments =
            json!({"source": place.path(source), "destination": place.path(destination)});
        check_with(&place, &flags, "filesystem", "move_file", &arguments).1
    };
    assert_eq!(moved("sandbox/plain", "sandbox/other"), SANDBOX_ALLOW, "nothing is taken along");
    let listed = "structural-host-executes";
    assert_eq!(moved("sandbox/fixtures/app", "sandbox/app"), listed, "here and there");
    assert_eq!(moved("sandbox/fixtures", "sandbox/x"), listed, "at any depth");
    assert_eq!(moved("home/Downloads/repo", "sandbox/repo"), listed, "from elsewhere");
}
