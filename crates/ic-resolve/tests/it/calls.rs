//! Whole calls: roles found, values resolved, and what is sent in their place.

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, ResolvedCall, Sandbox, SandboxKind, Value, evaluate};
use ic_resolve::{Disk, Orders, Places, Resolver, UserGit, bounds};
use ic_testkit::MemoryDisk;
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits, Role, ToolCall};

const TOOLS: &str = r#"{"servers":{"s":{"tools":[
    {"toolName":"read","args":{"path":["read-path"],"note":["none"],"n":["none"]}},
    {"toolName":"edit","args":{
        "path":{"default":["read-path","write-path"],"when":[{"condition":{"arg":"dryRun","equals":true},"roles":["read-path"]}]},
        "dryRun":["none"]}},
    {"toolName":"move","args":{"source":["read-path","delete-path"],"destination":["write-path"]}},
    {"toolName":"delete","args":{"path":["delete-path"]}},
    {"toolName":"add","args":{"path":["read-path"],"files":{"roles":["read-path"],"relativeTo":"path"}}},
    {"toolName":"edits","args":{"/edits/*/path":["write-path"]}},
    {"toolName":"fetch","args":{"url":["fetch-url"]}},
    {"toolName":"push","args":{"path":["read-path"],"remote":["git-remote-url"],"branch":["branch-name"]}},
    {"toolName":"guessed","draft":true,"args":{"document":["read-path","delete-path"],"path":["read-path"],
        "/items/*/source":["read-path"]}},
    {"toolName":"issue","args":{"owner":["github-owner"],"title":["commit-message"]}},
    {"toolName":"modes","args":{
        "a":{"default":["write-path"],"when":[
            {"condition":{"arg":"mode","in":["list","show"]},"roles":["read-path"]},
            {"condition":{"arg":"mode","is":"absent"},"roles":["delete-path"]},
            {"condition":{"arg":"flag","is":"truthy"},"roles":["none"]}]},
        "mode":["none"],"flag":["none"]}}
]}}}"#;

fn policy() -> Policy {
    let rules = br#"{"rules":[{"name":"all","if":{},"then":"allow","reason":"r"}]}"#;
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules },
        annotations: Source { file: "tool-annotations.json", bytes: TOOLS.as_bytes() },
        lists: None,
    };
    Policy::load(&sources, &|_| Err("no paths here".to_owned())).unwrap()
}

fn call(tool: &str, arguments: &str) -> ToolCall {
    let Json::Object(arguments) = Json::parse(arguments.as_bytes(), JsonLimits::CALL).unwrap()
    else {
        panic!("{arguments}");
    };
    ToolCall { server: "s".parse().unwrap(), tool: tool.parse().unwrap(), arguments }
}

fn disk() -> MemoryDisk {
    MemoryDisk::new()
        .dir("/etc")
        .file("/s/file", "x")
        .dir("/out/dir")
        .file("/out/secret", "x")
        .link("/s/link", "/out/secret")
        .link("/s/linkdir", "/out/dir")
        .link("/s/dangling", "/nowhere")
        .dir("/s/repo/.git/objects")
        .dir("/s/repo/.git/refs")
        .file("/s/repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("/s/repo/.git/config", "[remote \"origin\"]\nurl = https://github.com/acme/app.git\n")
}

fn resolve_on(disk: &MemoryDisk, tool: &str, arguments: &str) -> ResolvedCall {
    let home = AbsolutePath::new("/home/u").unwrap();
    let sandbox = Sandbox { path: CanonicalPath::new("/s").unwrap(), kind: SandboxKind::Session };
    let resolver =
        Resolver { disk, home: &home, sandbox: Some(&sandbox), orders: None, seen_as: None };
    resolver.resolve(&policy(), call(tool, arguments))
}

fn resolve(tool: &str, arguments: &str) -> ResolvedCall {
    resolve_on(&disk(), tool, arguments)
}

/// Prints roles and values as `role: value value; role: …`.
fn roles(call: &ResolvedCall) -> String {
    let shown: Vec<String> = call
        .roles()
        .iter()
        .filter(|entry| entry.role != Role::None)
        .map(|entry| {
            let values: Vec<String> = entry
                .values
                .iter()
                .map(|value| match value {
                    Value::Url(url) => url.destination.to_string(),
                    other => other.to_string(),
                })
                .collect();
            format!("{}: {}", entry.role, values.join(" "))
        })
        .collect();
    shown.join("; ")
}

#[track_caller]
fn check(tool: &str, arguments: &str, expected_roles: &str, expected_sent: &str) {
    let call = resolve(tool, arguments);
    assert_eq!(roles(&call), expected_roles, "{arguments}");
    assert_eq!(Json::Object(call.sent().clone()).to_string(), expected_sent, "{arguments}");
}

/// What the policy, which allows everything, says in the end.
pub(crate) fn verdict_on(
    disk: &dyn Disk,
    kind: SandboxKind,
    tool: &str,
    arguments: &str,
) -> String {
    let places = Places {
        home: AbsolutePath::new("/home/u").unwrap(),
        sandbox: Some((AbsolutePath::new("/s").unwrap(), kind)),
        protected: vec![AbsolutePath::new("/out/secret").unwrap()],
    };
    let bounds = bounds::gather(disk, &places, std::collections::HashMap::new()).unwrap();
    let workspace = bounds.sandbox.as_ref().filter(|it| it.kind.is_used_by_host());
    let orders = Orders::of(&places.home, &UserGit::default(), workspace.map(|it| &it.path));
    let resolver = Resolver {
        disk,
        home: &places.home,
        sandbox: bounds.sandbox.as_ref(),
        orders: Some(&orders),
        seen_as: None,
    };
    let policy = policy();
    evaluate(&policy, &bounds, resolver.resolve(&policy, call(tool, arguments))).rule().to_owned()
}

fn verdict(tool: &str, arguments: &str) -> String {
    verdict_on(&disk(), SandboxKind::Session, tool, arguments)
}

/// A guess is judged as the path that it may be; what it may not be is left as it came.
#[test]
fn what_a_draft_takes_for_a_path_is_sent_as_it_came_unless_it_plainly_is_one() {
    for (text, judged, sent) in [
        ("13", "/s/13", "13"),
        ("main", "/s/main", "main"),
        ("a b", "/s/a b", "a b"),
        // Written like a path, or there.
        ("a/b", "/s/a/b", "/s/a/b"),
        ("/etc/x", "/etc/x", "/etc/x"),
        ("notes.md", "/s/notes.md", "/s/notes.md"),
        (".netrc", "/s/.netrc", "/s/.netrc"),
        ("..", "/", "/"),
        ("~", "/home/u", "/home/u"),
        ("file", "/s/file", "/s/file"),
        ("dangling", "/s/dangling", "/s/dangling"),
    ] {
        let document = Json::from(text).to_string();
        let call = resolve("guessed", &format!(r#"{{"document":{document}}}"#));
        assert!(
            roles(&call).contains(&format!("delete-path: {judged}")),
            "{text}: {}",
            roles(&call)
        );
        let expected = format!(r#"{{"document":{}}}"#, Json::from(sent));
        assert_eq!(Json::Object(call.sent().clone()).to_string(), expected);
        if text == sent {
            let rule = verdict("guessed", &format!(r#"{{"document":{document}}}"#));
            assert_eq!(rule, "structural-draft", "{text}");
        }
    }
    check("guessed", r#"{"path":"13"}"#, "read-path: /s/13; delete-path: ", r#"{"path":"/s/13"}"#);
    check(
        "guessed",
        r#"{"items":[{"source":"7"},{"source":"x/y"}]}"#,
        "read-path: /s/7 /s/x/y; delete-path: ",
        r#"{"items":[{"source":"7"},{"source":"/s/x/y"}]}"#,
    );
    // What somebody has confirmed is a path, whatever it looks like.
    check("delete", r#"{"path":"13"}"#, "delete-path: /s/13", r#"{"path":"/s/13"}"#);
}

#[test]
fn paths_are_sent_as_they_were_judged() {
    check("read", r#"{"path":"file"}"#, "read-path: /s/file", r#"{"path":"/s/file"}"#);
    check(
        "read",
        r#"{"path":"link","n":1.0}"#,
        "read-path: /out/secret",
        r#"{"path":"/out/secret","n":1.0}"#,
    );
    check(
        "read",
        r#"{"path":["a","~/b"]}"#,
        "read-path: /s/a /home/u/b",
        r#"{"path":["/s/a","/home/u/b"]}"#,
    );
    check("read", r#"{"path":"dangling"}"#, "read-path: /nowhere", r#"{"path":"/nowhere"}"#);
    check(
        "read",
        r#"{"path":"%2e%2e\\x"}"#,
        r"read-path: /s/%2e%2e\x",
        r#"{"path":"/s/%2e%2e\\x"}"#,
    );
}

#[test]
fn absent_null_and_empty_are_no_values() {
    for arguments in ["{}", r#"{"path":null}"#, r#"{"path":[]}"#] {
        check("read", arguments, "read-path: ", arguments);
    }
}

#[test]
fn anything_but_strings_is_invalid() {
    for arguments in [
        r#"{"path":5}"#,
        r#"{"path":{}}"#,
        r#"{"path":true}"#,
        r#"{"path":[["a"]]}"#,
        r#"{"path":["a",null]}"#,
        r#"{"path":""}"#,
        r#"{"path":"-x"}"#,
        r#"{"path":"a\u0000b"}"#,
        r#"{"path":["a","~x"]}"#,
    ] {
        assert_eq!(verdict("read", arguments), "structural-invalid-value", "{arguments}");
    }
    assert_eq!(verdict("issue", r#"{"title":5}"#), "structural-invalid-value");
    assert_eq!(verdict("read", r#"{"note":{"a":[5]},"n":null}"#), "all");
}

#[test]
fn unknown_arguments_are_denied_even_if_null() {
    assert_eq!(verdict("read", r#"{"path":"file","extra":null}"#), "structural-unknown-argument");
    assert_eq!(verdict("edits", r#"{"edits":[],"path":"x"}"#), "structural-unknown-argument");
    assert_eq!(verdict("nosuch", r#"{"path":"file"}"#), "structural-unknown-tool");
}

#[test]
fn conditions_choose_roles_with_types_and_null_as_absent() {
    check(
        "edit",
        r#"{"path":"x","dryRun":true}"#,
        "read-path: /s/x",
        r#"{"path":"/s/x","dryRun":true}"#,
    );
    for arguments in
        [r#"{"path":"x"}"#, r#"{"path":"x","dryRun":"true"}"#, r#"{"path":"x","dryRun":1}"#]
    {
        assert_eq!(
            roles(&resolve("edit", arguments)),
            "read-path: /s/x; write-path: /s/x",
            "{arguments}"
        );
    }
    for (arguments, expected) in [
        (r#"{"a":"x","mode":"list"}"#, "read-path: /s/x"),
        (r#"{"a":"x","mode":null}"#, "delete-path: /s/x"),
        (r#"{"a":"x"}"#, "delete-path: /s/x"),
        (r#"{"a":"x","mode":"other","flag":0.0}"#, "write-path: /s/x"),
        (r#"{"a":"x","mode":"other","flag":""}"#, "write-path: /s/x"),
        (r#"{"a":"x","mode":"other","flag":[]}"#, ""),
    ] {
        assert_eq!(roles(&resolve("modes", arguments)), expected, "{arguments}");
    }
}

#[test]
fn what_is_removed_is_the_entry_and_a_linked_directory_counts_twice() {
    check("delete", r#"{"path":"link"}"#, "delete-path: /s/link", r#"{"path":"/s/link"}"#);
    check(
        "delete",
        r#"{"path":"linkdir"}"#,
        "delete-path: /s/linkdir /out/dir",
        r#"{"path":"/s/linkdir"}"#,
    );
    check("delete", r#"{"path":"linkdir/"}"#, "delete-path: /out/dir", r#"{"path":"/out/dir"}"#);
    check("delete", r#"{"path":"linkdir/."}"#, "delete-path: /out/dir", r#"{"path":"/out/dir"}"#);
    check("delete", r#"{"path":"linkdir/.."}"#, "delete-path: /out", r#"{"path":"/out"}"#);
    check(
        "delete",
        r#"{"path":"dangling"}"#,
        "delete-path: /s/dangling",
        r#"{"path":"/s/dangling"}"#,
    );
    check(
        "move",
        r#"{"source":"link","destination":"new"}"#,
        "read-path: /out/secret; delete-path: /s/link; write-path: /s/new",
        r#"{"source":"/s/link","destination":"/s/new"}"#,
    );
}

#[test]
fn nested_values_are_found_by_pointers() {
    check(
        "edits",
        r#"{"edits":[{"path":"a","x":1},{"path":"../b"}]}"#,
        "write-path: /s/a /b",
        r#"{"edits":[{"path":"/s/a","x":1},{"path":"/b"}]}"#,
    );
    assert_eq!(verdict("edits", r#"{"edits":"../b"}"#), "structural-invalid-value");
    assert_eq!(
        verdict("edits", r#"{"edits":[{"path":"/out/secret"}]}"#),
        "structural-protected-path"
    );
}

#[test]
fn paths_relative_to_an_argument_are_resolved_against_it() {
    check(
        "add",
        r#"{"path":"repo","files":["a","../x"]}"#,
        "read-path: /s/repo /s/repo/a /s/x",
        r#"{"path":"/s/repo","files":["/s/repo/a","/s/x"]}"#,
    );
    assert_eq!(
        verdict("add", r#"{"path":"repo","files":["a","../../out/secret"]}"#),
        "structural-protected-path"
    );
    for arguments in [
        r#"{"files":["a"]}"#,
        r#"{"path":["repo","x"],"files":["a"]}"#,
        r#"{"path":[],"files":"a"}"#,
    ] {
        assert_eq!(verdict("add", arguments), "structural-invalid-value", "{arguments}");
    }
    check("add", r#"{"files":["/s/a"]}"#, "read-path: /s/a", r#"{"files":["/s/a"]}"#);
}

#[test]
fn urls_are_sent_in_one_spelling() {
    check(
        "fetch",
        r#"{"url":"HTTP://0x7f.1"}"#,
        "fetch-url: 127.0.0.1",
        r#"{"url":"http://127.0.0.1/"}"#,
    );
    assert_eq!(verdict("fetch", r#"{"url":"ftp://x.example"}"#), "structural-invalid-value");
}

#[test]
fn remotes_are_looked_up_in_the_repository_that_the_call_names() {
    let check = |arguments: &str, expected: &str| {
        assert_eq!(roles(&resolve("push", arguments)), expected, "{arguments}");
    };
    check(
        r#"{"path":"repo","remote":"origin"}"#,
        "read-path: /s/repo; git-remote-url: github.com/acme/app; branch-name: ",
    );
    check(
        r#"{"path":"repo"}"#,
        "read-path: /s/repo; git-remote-url: github.com/acme/app; branch-name: ",
    );
    check(
        r#"{"path":"repo","remote":null}"#,
        "read-path: /s/repo; git-remote-url: github.com/acme/app; branch-name: ",
    );
    check(r#"{"path":"file"}"#, "read-path: /s/file; git-remote-url: ; branch-name: ");
    check("{}", "read-path: ; git-remote-url: ; branch-name: ");
    check(
        r#"{"remote":"git@gitlab.com:a/b.git"}"#,
        "read-path: ; git-remote-url: gitlab.com/a/b; branch-name: ",
    );
    for arguments in [
        r#"{"path":"repo","remote":"upstream"}"#,
        r#"{"path":"file","remote":"origin"}"#,
        r#"{"remote":"origin"}"#,
        r#"{"path":["repo","repo"],"remote":"origin"}"#,
        r#"{"remote":"/out/dir"}"#,
        r#"{"remote":"file:///out/dir"}"#,
        r#"{"remote":"ext::sh -c x"}"#,
        r#"{"remote":"linkdir/../../out/dir"}"#,
    ] {
        assert_eq!(verdict("push", arguments), "structural-invalid-value", "{arguments}");
    }
    check(r#"{"remote":"./other"}"#, "read-path: ; git-remote-url: /s/other; branch-name: ");
    check(
        r#"{"path":"repo","remote":"file:///s/bare"}"#,
        "read-path: /s/repo; git-remote-url: /s/bare; branch-name: ",
    );
}

#[test]
fn a_config_that_redirects_is_judged_by_where_it_leads() {
    let with_config = |config: &str| disk().file("/s/repo/.git/config", config);
    let urls = |config: &str, arguments: &str| {
        let call = resolve_on(&with_config(config), "push", arguments);
        let values = call.values(Role::GitRemoteUrl).iter();
        values
            .map(|value| match value {
                Value::Url(url) => url.destination.to_string(),
                other => other.to_string(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let origin = "[remote \"origin\"]\nurl = https://github.com/acme/app\n";
    let push = format!("{origin}pushurl = git@evil.example:x/y\n");
    assert_eq!(urls(&push, r#"{"path":"repo"}"#), "github.com/acme/app evil.example/x/y");
    let instead =
        format!("{origin}[url \"https://evil.example/\"]\ninsteadOf = https://github.com/\n");
    assert_eq!(urls(&instead, r#"{"path":"repo"}"#), "evil.example/acme/app");
    // A literal URL is rewritten by git as well, also from a directory within the repository.
    let literal = r#"{"path":"repo","remote":"https://github.com/a/b"}"#;
    assert_eq!(urls(&instead, literal), "evil.example/a/b github.com/a/b");
    let below = r#"{"path":"repo/src","remote":"https://github.com/a/b"}"#;
    assert_eq!(urls(&instead, below), "evil.example/a/b github.com/a/b");
    for config in [
        format!("{origin}[include]\npath = /s/evil\n"),
        format!("{origin}[includeIf \"gitdir:/\"]\npath = /s/evil\n"),
        "[remote \"origin\"]\nurl = ext::sh -c x\n".to_owned(),
        "[remote \"origin\"]\nurl = /out/dir\n".to_owned(),
        "[remote \"origin\"]\nurl = -oProxyCommand=x\n".to_owned(),
        "[broken".to_owned(),
    ] {
        for arguments in [r#"{"path":"repo"}"#, r#"{"path":"repo","remote":"origin"}"#] {
            let rule = verdict_on(&with_config(&config), SandboxKind::Session, "push", arguments);
            assert_eq!(rule, "structural-invalid-value", "{config} {arguments}");
        }
    }
}

#[test]
fn a_git_directory_that_leads_elsewhere_is_not_believed() {
    for disk in [
        MemoryDisk::new().dir("/s/r").link("/s/r/.git", "/out/git").file("/out/git/config", ""),
        MemoryDisk::new().file("/s/r/.git", "gitdir: /out/git\n"),
    ] {
        for arguments in [
            r#"{"path":"r","remote":"origin"}"#,
            r#"{"path":"r"}"#,
            r#"{"path":"r","remote":"https://a.example/x"}"#,
        ] {
            assert_eq!(
                verdict_on(&disk, SandboxKind::Session, "push", arguments),
                "structural-invalid-value",
                "{arguments}"
            );
        }
    }
}

#[test]
fn refs_that_could_be_options_or_refspecs_are_denied() {
    for branch in ["-x", "--output=/etc/passwd", "+main", "main:evil", ":main"] {
        let arguments = format!(r#"{{"remote":"https://a.example/x","branch":"{branch}"}}"#);
        assert_eq!(verdict("push", &arguments), "structural-invalid-value", "{branch}");
    }
    assert_eq!(
        verdict("push", r#"{"remote":"https://a.example/x","branch":"feature/x-1"}"#),
        "all"
    );
}

#[test]
fn a_string_without_a_role_that_names_a_protected_path_escalates() {
    for note in [
        "/out/secret",
        "link",
        "../out/secret",
        "~/.ssh/id_rsa",
        "/home/u/.aws",
        "file:///out/secret",
        "file:/out/secret",
        "/out/./dir/../secret",
        "~/.ssh/id_rsa\\u0000.txt",
        "~/.ssh/id_rsa\\n",
        "-x/../../out/secret",
        "x://../../../out/secret",
        "FILE:///out/secret",
        "file:///out/%73ecret",
        "file://host/out/secret",
        &format!("{}out/secret", "/".repeat(5000)),
        &format!("~/.ssh/{}", "k".repeat(300)),
    ] {
        let arguments = format!(r#"{{"path":"file","note":{{"deep":["x","{note}"]}}}}"#);
        assert_eq!(verdict("read", &arguments), "structural-unannotated-path", "{note}");
        if note.contains('\\') {
            continue;
        }
        let as_key = format!(r#"{{"path":"file","note":{{"{note}":1}}}}"#);
        assert_eq!(verdict("read", &as_key), "structural-unannotated-path", "{note}");
    }
    for note in ["file", "/out", "hello world", "", "-x", "~other/.ssh", &"x".repeat(5000)] {
        let arguments = format!(r#"{{"path":"file","note":"{note}"}}"#);
        assert_eq!(verdict("read", &arguments), "all", "{note}");
    }
}

/// What cannot be looked at is not taken for absent.
#[test]
fn a_path_that_cannot_be_looked_at_is_denied() {
    let disk = disk().forbidden("/closed/door").link("/s/way", "/closed/door");
    for path in ["/closed/door", "/closed/door/x", "way", "way/x", "/closed/door/../../s/file"] {
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        let rule = verdict_on(&disk, SandboxKind::Session, "read", &arguments);
        assert_eq!(rule, "structural-invalid-value", "{path}");
    }
}

#[test]
fn an_https_remote_is_sent_in_the_form_that_was_judged() {
    let call = resolve("push", r#"{"remote":"HTTPS://GitHub.com.:443/a/b.git"}"#);
    let sent = Json::Object(call.sent().clone()).to_string();
    assert_eq!(sent, r#"{"remote":"https://github.com/a/b.git"}"#);
}

#[test]
fn identifiers_are_judged_in_lower_case_and_sent_as_written() {
    check(
        "issue",
        r#"{"owner":"AcMe","title":"Hi"}"#,
        "github-owner: acme; commit-message: Hi",
        r#"{"owner":"AcMe","title":"Hi"}"#,
    );
}

#[test]
fn a_link_through_a_protected_name_is_protected() {
    let disk = disk().link("/home/u/.ssh/config", "/free/config").file("/free/config", "x");
    let rule = |path: &str| {
        verdict_on(&disk, SandboxKind::Session, "read", &format!(r#"{{"path":"{path}"}}"#))
    };
    assert_eq!(rule("~/.ssh/config"), "structural-protected-path");
    // And what a link directly in a protected directory leads to is protected under its own name.
    assert_eq!(rule("/free/config"), "structural-protected-path");
    assert_eq!(rule("/free/other"), "all");
}

#[test]
fn a_listed_name_of_a_workspace_counts_as_entry_and_as_target() {
    let disk = MemoryDisk::new()
        .file("/s/env.sh", "x")
        .link("/s/.envrc", "env.sh")
        .dir("/s/tools/hooks")
        .dir("/s/.git")
        .link("/s/.git/hooks", "../tools/hooks")
        .file("/elsewhere/npmrc", "x")
        .link("/s/.npmrc", "/elsewhere/npmrc")
        .dir("/s/sub/real-vscode")
        .link("/s/sub/.vscode", "real-vscode")
        .file("/s/plain", "x");
    let rule = |path: &str| {
        verdict_on(
            &disk,
            SandboxKind::Workspace,
            "edits",
            &format!(r#"{{"edits":[{{"path":"{path}"}}]}}"#),
        )
    };
    for path in [
        ".envrc",
        "env.sh",
        ".git/hooks/pre-commit",
        "tools/hooks/pre-commit",
        ".npmrc",
        "/elsewhere/npmrc",
        "sub/.vscode/tasks.json",
        "sub/real-vscode/tasks.json",
    ] {
        assert_eq!(rule(path), "structural-host-executes", "{path}");
    }
    for path in ["plain", "tools/x", "sub/other", "/elsewhere/other"] {
        assert_eq!(rule(path), "all", "{path}");
    }
}

#[test]
fn a_string_that_leads_where_nobody_can_look_is_judged_as_it_is_written() {
    let disk = disk().forbidden("/home/u/.ssh");
    let rule = verdict_on(&disk, SandboxKind::Session, "read", r#"{"note":"~/.ssh/id_rsa"}"#);
    assert_eq!(rule, "structural-unannotated-path");
}

#[test]
fn a_link_that_leads_nowhere_can_be_removed() {
    let disk = disk().link("/s/loop", "loop");
    let rule = |tool: &str| verdict_on(&disk, SandboxKind::Session, tool, r#"{"path":"loop"}"#);
    assert_eq!(rule("delete"), "all");
    assert_eq!(rule("read"), "structural-invalid-value");
}

#[test]
fn what_stands_for_whoever_looks_is_refused() {
    let disk =
        disk().dir("/proc/42").link("/proc/self", "42").link("/proc/thread-self", "42/task/42");
    for path in ["/proc/self/environ", "/proc/thread-self/environ", "/proc/self"] {
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        let rule = verdict_on(&disk, SandboxKind::Session, "read", &arguments);
        assert_eq!(rule, "structural-invalid-value", "{path}");
    }
}

/// A few bytes must not buy a lot of our time.
#[test]
fn a_call_that_asks_too_much_of_the_disk_is_denied() {
    let target = |at: usize| format!("{}l{}", "d/../".repeat(800), at + 1);
    let bomb = (0..39).fold(disk().dir("/s/d").file("/s/l39", "x"), |disk, at| {
        disk.link(&format!("/s/l{at}"), &target(at))
    });
    let many = format!(r#"{{"path":[{}"l0"]}}"#, r#""l0","#.repeat(20));
    assert_eq!(verdict_on(&bomb, SandboxKind::Session, "read", &many), "structural-invalid-value");
    let texts: Vec<String> = (0..10_001).map(|at| format!("\"t{at}\"")).collect();
    let note = format!(r#"{{"note":[{}]}}"#, texts.join(","));
    assert_eq!(verdict("read", &note), "structural-invalid-value");
    let values = format!(r#"{{"path":[{}]}}"#, texts.join(","));
    assert_eq!(verdict("read", &values), "structural-invalid-value");
    // The same text ten thousand times is one text.
    let same = format!(r#"{{"note":[{}"x"]}}"#, r#""x","#.repeat(20_000));
    assert_eq!(verdict("read", &same), "all");
}

#[test]
fn a_link_between_a_listed_name_and_its_target_counts_too() {
    let disk = MemoryDisk::new().link("/s/.envrc", "e1").link("/s/e1", "e2").file("/s/e2", "x");
    for path in ["e1", "e2", ".envrc"] {
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        let rule = verdict_on(&disk, SandboxKind::Workspace, "delete", &arguments);
        assert_eq!(rule, "structural-host-executes", "{path}");
    }
}

#[test]
fn a_listed_link_anywhere_in_the_workspace_counts() {
    let disk = MemoryDisk::new()
        .link("/s/pkg/a/.husky", "../../shared")
        .file("/s/shared/pre-commit", "x")
        .dir("/s/sub/.git")
        .link("/s/sub/.git/hooks", "/home/u/hooks")
        .dir("/home/u/hooks");
    for path in ["shared/pre-commit", "/home/u/hooks/pre-commit", "pkg/a/.husky/x"] {
        let arguments = format!(r#"{{"edits":[{{"path":"{path}"}}]}}"#);
        let rule = verdict_on(&disk, SandboxKind::Workspace, "edits", &arguments);
        assert_eq!(rule, "structural-host-executes", "{path}");
    }
    let other = r#"{"edits":[{"path":"pkg/b"}]}"#;
    assert_eq!(verdict_on(&disk, SandboxKind::Workspace, "edits", other), "all");
}
