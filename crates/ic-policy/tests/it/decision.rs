//! The decision as a table: every invariant, containment, every matcher, and who is named.

use ic_policy::{
    Executed, Finding, InvalidValue, PathValue, Policy, ResolvedCall, SandboxKind, ServerTraits,
    Standing, UnannotatedPath, Value, Verdict, Why, evaluate, explain,
};
use ic_types::Role::{
    self, DeletePath, EmailAddress, FetchUrl, GitRemoteUrl, GithubOwner, GithubRepo, ProxyDomain,
    ReadPath, WriteHistory, WritePath,
};

use crate::world::{bounds, call, judge, parts, path, policy, summary};

/// Writes one rule in JSON; `condition` is the inside of `if`.
fn rule(name: &str, then: &str, condition: &str) -> String {
    format!(r#"{{"name":"{name}","if":{{{condition}}},"then":"{then}","reason":"because {name}"}}"#)
}

fn rules(rules: &[String]) -> Policy {
    policy(&format!("[{}]", rules.join(",")), "{}")
}

/// Reads in `/d` are allowed, other reads and all writes escalate, deletes have no rule.
fn everyday() -> Policy {
    rules(&[
        rule(
            "allow-reads-in-d",
            "allow",
            r#""roles":["read-path"],"paths":{"roles":["read-path"],"within":"/d"}"#,
        ),
        rule("escalate-reads", "escalate", r#""roles":["read-path"]"#),
        rule("escalate-writes", "escalate", r#""roles":["write-path"]"#),
    ])
}

#[track_caller]
fn check(policy: &Policy, server: &str, roles: &[(Role, &[&str])], expected: &str) {
    assert_eq!(judge(policy, call(server, "t", roles)), expected, "{server} {roles:?}");
}

#[test]
fn each_role_is_judged_alone_and_the_most_restrictive_wins() {
    let policy = everyday();
    check(&policy, "x", &[(ReadPath, &["/d/a"])], "allow by allow-reads-in-d");
    check(&policy, "x", &[(ReadPath, &["/e"])], "escalate by escalate-reads (read-path)");
    check(
        &policy,
        "x",
        &[(ReadPath, &["/d/a"]), (WritePath, &["/d/a"])],
        "escalate by escalate-writes (write-path)",
    );
    check(
        &policy,
        "x",
        &[(WritePath, &["/e"]), (ReadPath, &["/e"])],
        "escalate by escalate-writes (write-path read-path)",
    );
    check(&policy, "x", &[(ReadPath, &["/d/a"]), (DeletePath, &["/d/a"])], "deny by default-deny");
}

#[test]
fn each_value_is_settled_by_the_first_rule_that_covers_it() {
    let policy = everyday();
    check(&policy, "x", &[(ReadPath, &["/d/a", "/d/b"])], "allow by allow-reads-in-d");
    check(&policy, "x", &[(ReadPath, &["/d/a", "/e"])], "escalate by escalate-reads (read-path)");
    check(&policy, "x", &[(ReadPath, &["/e", "/d/a"])], "escalate by escalate-reads (read-path)");
    let only_d =
        rules(&[rule("allow-d", "allow", r#""paths":{"roles":["read-path"],"within":"/d"}"#)]);
    check(&only_d, "x", &[(ReadPath, &["/d/a", "/e"])], "deny by default-deny");
    check(&only_d, "x", &[(ReadPath, &["/d"])], "allow by allow-d");
    check(&only_d, "x", &[(ReadPath, &["/d-evil/a"])], "deny by default-deny");
}

#[test]
fn within_the_root_holds_everything() {
    let all =
        rules(&[rule("allow-all", "allow", r#""paths":{"roles":["read-path"],"within":"/"}"#)]);
    check(&all, "x", &[(ReadPath, &["/anything", "/"])], "allow by allow-all");
}

#[test]
fn a_role_without_values_is_judged_by_rules_that_ask_for_none() {
    let policy = everyday();
    check(&policy, "x", &[(ReadPath, &[])], "escalate by escalate-reads (read-path)");
    check(&policy, "x", &[(DeletePath, &[])], "deny by default-deny");
    let only_d =
        rules(&[rule("allow-d", "allow", r#""paths":{"roles":["read-path"],"within":"/"}"#)]);
    check(&only_d, "x", &[(ReadPath, &[])], "deny by default-deny");
}

#[test]
fn a_rule_is_relevant_only_if_each_condition_names_the_role() {
    let mixed = rules(&[rule(
        "mixed",
        "allow",
        r#""roles":["write-path"],"paths":{"roles":["read-path"],"within":"/"}"#,
    )]);
    check(&mixed, "x", &[(ReadPath, &["/d"])], "deny by default-deny");
    check(&mixed, "x", &[(WritePath, &["/d"])], "deny by default-deny");
    let nothing = rules(&[
        rule("nobody", "allow", r#""roles":[]"#),
        rule("no-server", "allow", r#""server":[]"#),
    ]);
    check(&nothing, "x", &[(ReadPath, &["/d"])], "deny by default-deny");
    let anything = rules(&[rule("anything", "escalate", "")]);
    check(&anything, "x", &[(GithubOwner, &["a"])], "escalate by anything (github-owner)");
    check(&anything, "x", &[], "escalate by anything");
}

#[test]
fn servers_and_tools_are_compared_exactly() {
    let policy = rules(&[
        rule("one-tool", "allow", r#""server":["x"],"tool":["t","u"]"#),
        rule("any-server", "escalate", r#""tool":["t"]"#),
    ]);
    check(&policy, "x", &[(ReadPath, &["/d"])], "allow by one-tool");
    check(&policy, "y", &[(ReadPath, &["/d"])], "escalate by any-server (read-path)");
    assert_eq!(judge(&policy, call("x", "tt", &[])), "deny by default-deny");
    assert_eq!(judge(&policy, call("X", "u", &[])), "deny by default-deny");
}

/// Somebody who is asked about the sandbox learns why it is not free for this server.
#[test]
fn a_server_that_is_not_contained_is_named_in_the_reason() {
    let policy = everyday();
    let reason = |server: &str, roles: &[(Role, &[&str])]| {
        let bounds = bounds(SandboxKind::Session);
        match evaluate(&policy, &bounds, call(server, "t", roles)) {
            Verdict::Allow(_) => "allowed".to_owned(),
            Verdict::Escalate(escalation) => escalation.reason().to_owned(),
            Verdict::Deny(denial) => denial.reason().to_owned(),
        }
    };
    let note = "because escalate-reads (the server `x` is not contained, so the sandbox is not free for it)";
    assert_eq!(reason("x", &[(ReadPath, &["/s/a"])]), note);
    // Elsewhere it makes no difference, and a call that leaves the sandbox would ask of any server.
    assert_eq!(reason("x", &[(ReadPath, &["/e"])]), "because escalate-reads");
    assert_eq!(reason("x", &[(ReadPath, &["/s/a", "/e"])]), "because escalate-reads");
    assert_eq!(reason("fs", &[(ReadPath, &["/e"])]), "because escalate-reads");
    assert_eq!(reason("fs", &[(ReadPath, &["/s/a"])]), "allowed");
}

#[test]
fn the_sandbox_settles_paths_of_contained_servers() {
    let policy = everyday();
    check(
        &policy,
        "fs",
        &[(ReadPath, &["/s/a"]), (DeletePath, &["/s/b"])],
        "allow by structural-sandbox-allow",
    );
    check(&policy, "fs", &[(DeletePath, &["/s-evil/a"])], "deny by default-deny");
    // A server that is not contained gets nothing from the sandbox.
    check(&policy, "x", &[(ReadPath, &["/s/a"])], "escalate by escalate-reads (read-path)");
    // A settled role is not judged, the others are.
    check(
        &policy,
        "fs",
        &[(DeletePath, &["/s/a"]), (ReadPath, &["/d/a"])],
        "allow by allow-reads-in-d",
    );
    check(
        &policy,
        "git",
        &[(WriteHistory, &["/s/r"]), (GitRemoteUrl, &["https://a.example/x"])],
        "deny by default-deny",
    );
    // Only the filesystem server's paths stand each by itself.
    check(&policy, "fs", &[(ReadPath, &["/s/a", "/d/a"])], "allow by allow-reads-in-d");
    check(
        &policy,
        "git",
        &[(ReadPath, &["/s/a", "/d/a"])],
        "escalate by escalate-reads (read-path)",
    );
    let no_rules = rules(&[]);
    check(&no_rules, "fs", &[(ReadPath, &["/s/a", "/d/a"])], "deny by default-deny");
    check(&no_rules, "fs", &[(ReadPath, &[])], "deny by default-deny");
}

#[test]
fn protected_paths_are_denied_whatever_the_rules_say() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    for role in [ReadPath, WritePath, DeletePath, WriteHistory, Role::DeleteHistory] {
        check(&all, "x", &[(role, &["/p/key"])], "deny by structural-protected-path");
        check(&all, "fs", &[(role, &["/s/inner-secret"])], "deny by structural-protected-path");
        check(&all, "x", &[(role, &["/d", "/p"])], "deny by structural-protected-path");
        check(&all, "x", &[(role, &["/p-not/x"])], "allow by allow-all");
    }
    // Removing what is above would remove it too; reading what is above does not read it.
    check(&all, "x", &[(DeletePath, &["/"])], "deny by structural-protected-path");
    check(&all, "x", &[(ReadPath, &["/"])], "allow by allow-all");
    check(&all, "fs", &[(DeletePath, &["/s"])], "deny by structural-protected-path");
}

#[test]
fn a_protected_path_counts_under_its_other_names() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let mut parts = parts("x", "t", &[(ReadPath, &["/d/a"])]);
    let also = vec![path("/p/link")];
    parts.roles[0].values = vec![Value::Path(PathValue { path: path("/d/a"), also, state: None })];
    assert_eq!(
        judge(&all, ResolvedCall::assert_resolved(parts)),
        "deny by structural-protected-path"
    );
}

#[test]
fn a_sessions_sandbox_is_exempt_from_what_contains_it_and_a_workspace_is_not() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let call = || call("fs", "t", &[(ReadPath, &["/p/sessions/1/sandbox/a"])]);
    let mut bounds = bounds(SandboxKind::Session);
    bounds.sandbox.as_mut().unwrap().path = path("/p/sessions/1/sandbox");
    assert_eq!(summary(&evaluate(&all, &bounds, call())), "allow by structural-sandbox-allow");
    bounds.sandbox.as_mut().unwrap().path = path("/p/sessions/2/sandbox");
    assert_eq!(summary(&evaluate(&all, &bounds, call())), "deny by structural-protected-path");
    bounds.sandbox.as_mut().unwrap().path = path("/p/sessions/1/sandbox");
    bounds.sandbox.as_mut().unwrap().kind = SandboxKind::Workspace;
    assert_eq!(summary(&evaluate(&all, &bounds, call())), "deny by structural-protected-path");
    // A protected path inside the sandbox is still one.
    bounds.sandbox.as_mut().unwrap().kind = SandboxKind::Session;
    bounds.protected.push(path("/p/sessions/1/sandbox/a"));
    assert_eq!(summary(&evaluate(&all, &bounds, call())), "deny by structural-protected-path");
}

#[test]
fn a_sessions_sandbox_is_not_exempt_from_a_protected_path_that_it_is() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let mut bounds = bounds(SandboxKind::Session);
    bounds.sandbox.as_mut().unwrap().path = path("/p");
    for text in ["/p", "/p/a"] {
        let verdict = evaluate(&all, &bounds, call("fs", "t", &[(ReadPath, &[text])]));
        assert_eq!(summary(&verdict), "deny by structural-protected-path", "{text}");
    }
}

#[test]
fn removing_a_workspace_itself_is_not_settled_by_containment() {
    let policy = everyday();
    let judge = |kind, server, role, texts: &[&str]| {
        let mut bounds = bounds(kind);
        bounds.protected.clear();
        summary(&evaluate(&policy, &bounds, call(server, "t", &[(role, texts)])))
    };
    for server in ["fs", "git"] {
        for (kind, role, texts, expected) in [
            (SandboxKind::Workspace, DeletePath, &["/s"][..], "deny by default-deny"),
            (SandboxKind::Workspace, DeletePath, &["/s/a", "/s"], "deny by default-deny"),
            (SandboxKind::Workspace, DeletePath, &["/s/a"], "allow by structural-sandbox-allow"),
            (SandboxKind::Workspace, ReadPath, &["/s"], "allow by structural-sandbox-allow"),
            (SandboxKind::Workspace, WritePath, &["/s"], "allow by structural-sandbox-allow"),
            (SandboxKind::Session, DeletePath, &["/s"], "allow by structural-sandbox-allow"),
        ] {
            assert_eq!(judge(kind, server, role, texts), expected, "{kind:?} {role} {texts:?}");
        }
    }
}

#[test]
fn a_denial_says_whether_the_protected_path_is_above_or_beneath() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let mut bounds = bounds(SandboxKind::Session);
    bounds.protected = vec![path("/h/.ssh")];
    for (role, text, expected) in [
        (DeletePath, "/h", "`/h` contains the protected path `/h/.ssh`"),
        (DeletePath, "/h/.ssh", "`/h/.ssh` is protected, as is all of `/h/.ssh`"),
        (ReadPath, "/h/.ssh/id", "`/h/.ssh/id` is protected, as is all of `/h/.ssh`"),
    ] {
        let findings = explain(&all, &bounds, &call("x", "t", &[(role, &[text])]));
        assert_eq!(findings[0].detail, expected);
    }
}

/// Judges one path under a policy that allows everything.
fn judge_path(kind: SandboxKind, role: Role, text: &str) -> String {
    let all = rules(&[rule("allow-all", "allow", "")]);
    summary(&evaluate(&all, &bounds(kind), call("fs", "t", &[(role, &[text])])))
}

/// Names that count in a workspace, each by itself.
const EXECUTED: [&str; 48] = [
    ".git",
    ".git/config",
    ".git/hooks",
    ".git/hooks/pre-commit",
    ".git/info/attributes",
    ".git/modules/x/config",
    ".git/worktrees/x",
    ".gitmodules",
    ".gitattributes",
    ".envrc",
    ".vscode",
    ".vscode/tasks.json",
    ".idea/x",
    ".devcontainer/devcontainer.json",
    ".husky/pre-push",
    ".pre-commit-config.yaml",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".opencode/x",
    ".gemini/settings.json",
    ".mcp.json",
    ".cargo",
    ".cargo/config.toml",
    ".npmrc",
    "mise.toml",
    ".tool-versions",
    ".git/objects/aa",
    ".git/commondir",
    ".GIT/config",
    ".gitconfig",
    ".zed/tasks.json",
    "lefthook.yml",
    ".hg/hgrc",
    ".windsurf/x",
    ".kiro/x",
    ".roo/x",
    ".aider.conf.yml",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "mise.local.toml",
    ".mise/config.toml",
    ".nvim.lua",
    ".exrc",
    ".pylintrc",
    "deep/er/.git/hooks/x",
    "node_modules/x/.git/config",
    "sub/.envrc",
];

#[test]
fn what_the_host_executes_escalates_in_a_workspace() {
    for name in EXECUTED {
        let text = format!("/s/{name}");
        for role in [WritePath, DeletePath, WriteHistory] {
            let expected = format!("escalate by structural-host-executes ({role})");
            assert_eq!(judge_path(SandboxKind::Workspace, role, &text), expected, "{name}");
        }
        assert_eq!(
            judge_path(SandboxKind::Workspace, ReadPath, &text),
            "allow by structural-sandbox-allow",
            "{name}"
        );
        assert_eq!(
            judge_path(SandboxKind::Session, WritePath, &text),
            "allow by structural-sandbox-allow",
            "{name}"
        );
    }
    for name in [
        "src/main.rs",
        ".github/README.md",
        ".gitignore",
        "node_modules/x/.npmrc",
        "a/vendor/b/.envrc",
        "git/config",
        ".gitx/hooks/a",
    ] {
        let text = format!("/s/{name}");
        assert_eq!(
            judge_path(SandboxKind::Workspace, WritePath, &text),
            "allow by structural-sandbox-allow",
            "{name}"
        );
    }
}

#[test]
fn what_the_host_executes_from_the_home_escalates_anywhere() {
    for (text, expected) in [
        ("/h/.bashrc", "escalate by structural-host-executes (write-path)"),
        ("/h/.config", "escalate by structural-host-executes (write-path)"),
        ("/h/.config/autostart/x.desktop", "escalate by structural-host-executes (write-path)"),
        ("/h/.config/other", "allow by allow-all"),
        ("/other/.bashrc", "allow by allow-all"),
    ] {
        assert_eq!(judge_path(SandboxKind::Session, WritePath, text), expected, "{text}");
    }
}

#[test]
fn invalid_values_and_unknown_arguments_are_denied_first() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let mut bad = parts("x", "t", &[(ReadPath, &["/p"])]);
    bad.unknown_arguments.push("extra".to_owned());
    assert_eq!(
        judge(&all, ResolvedCall::assert_resolved(bad.clone())),
        "deny by structural-unknown-argument"
    );
    bad.invalid.push(InvalidValue {
        place: "path".to_owned(),
        role: ReadPath,
        reason: "empty".to_owned(),
    });
    assert_eq!(judge(&all, ResolvedCall::assert_resolved(bad)), "deny by structural-invalid-value");
}

#[test]
fn drafts_and_hidden_paths_escalate_at_least() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let mut draft = parts("fs", "t", &[(ReadPath, &["/s/a"])]);
    draft.standing = Standing::Draft;
    assert_eq!(
        judge(&all, ResolvedCall::assert_resolved(draft.clone())),
        "escalate by structural-draft"
    );
    let hidden = |text| UnannotatedPath {
        argument: "note".to_owned(),
        path: PathValue { path: path(text), also: Vec::new(), state: None },
    };
    draft.unannotated_paths.push(hidden("/p/key"));
    assert_eq!(
        judge(&all, ResolvedCall::assert_resolved(draft.clone())),
        "escalate by structural-unannotated-path"
    );
    draft.standing = Standing::Annotated;
    draft.unannotated_paths = vec![hidden("/q")];
    assert_eq!(
        judge(&all, ResolvedCall::assert_resolved(draft)),
        "allow by structural-sandbox-allow"
    );
    // At least: a rule that denies still denies.
    let none = rules(&[]);
    let mut draft = parts("x", "t", &[(ReadPath, &["/d"])]);
    draft.standing = Standing::Draft;
    assert_eq!(judge(&none, ResolvedCall::assert_resolved(draft)), "deny by default-deny");
}

/// No rule lets it through, and none has to be there to ask.
#[test]
fn what_a_server_asks_for_itself_always_needs_a_person() {
    for effect in ["allow", "escalate", "deny"] {
        for tool in ["sampling/createMessage", "elicitation/create", "list_allowed_directories"] {
            let mut asked = parts("fs", tool, &[]);
            asked.standing = Standing::OfServer;
            let call = ResolvedCall::assert_resolved(asked);
            let expected = "escalate by structural-server-request";
            assert_eq!(judge(&rules(&[rule("all", effect, "")]), call.clone()), expected);
            assert_eq!(judge(&rules(&[]), call), expected);
        }
    }
}

#[test]
fn unknown_tools_are_denied_and_introspection_is_free() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    let unknown = |server, tool| {
        let mut parts = parts(server, tool, &[]);
        parts.standing = Standing::Unknown;
        judge(&all, ResolvedCall::assert_resolved(parts))
    };
    assert_eq!(unknown("x", "t"), "deny by structural-unknown-tool");
    assert_eq!(
        unknown("fs", "list_allowed_directories"),
        "allow by structural-introspection-allow"
    );
    assert_eq!(unknown("git", "list_allowed_directories"), "deny by structural-unknown-tool");
    let deny = rules(&[rule("deny-all", "deny", "")]);
    assert_eq!(
        judge(&deny, call("fs", "list_allowed_directories", &[])),
        "allow by structural-introspection-allow"
    );
    let mut with_arguments = parts("fs", "list_allowed_directories", &[]);
    with_arguments.asked.arguments.insert("x", "y");
    assert_eq!(judge(&deny, ResolvedCall::assert_resolved(with_arguments)), "deny by deny-all");
    let mut draft = parts("fs", "list_allowed_directories", &[]);
    draft.standing = Standing::Draft;
    assert_eq!(judge(&deny, ResolvedCall::assert_resolved(draft)), "escalate by structural-draft");
}

#[test]
fn a_servers_allowed_domains_escalate_at_least() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    check(&all, "gated", &[(FetchUrl, &["https://a.good.example"])], "allow by allow-all");
    check(
        &all,
        "gated",
        &[(FetchUrl, &["https://evil.example"])],
        "escalate by structural-domain-escalate (fetch-url)",
    );
    check(
        &all,
        "gated",
        &[(GitRemoteUrl, &["https://good.example:8443/x"])],
        "escalate by structural-domain-escalate (git-remote-url)",
    );
    check(
        &all,
        "closed",
        &[(FetchUrl, &["https://a.good.example"])],
        "escalate by structural-domain-escalate (fetch-url)",
    );
    let deny = rules(&[rule("deny-all", "deny", "")]);
    check(&deny, "gated", &[(FetchUrl, &["https://evil.example"])], "deny by deny-all");
    let escalate = rules(&[rule("ask", "escalate", "")]);
    check(
        &escalate,
        "gated",
        &[(ReadPath, &["/d"]), (FetchUrl, &["https://evil.example"])],
        "escalate by structural-domain-escalate (read-path fetch-url)",
    );
}

#[test]
fn a_remote_that_was_not_found_escalates_at_least_but_a_rule_is_named_before_it() {
    let all = rules(&[rule("allow-all", "allow", "")]);
    check(
        &all,
        "git",
        &[(GitRemoteUrl, &[])],
        "escalate by structural-domain-escalate (git-remote-url)",
    );
    let ask = rules(&[rule("ask", "escalate", "")]);
    check(
        &ask,
        "git",
        &[(ReadPath, &["/s/r"]), (GitRemoteUrl, &[])],
        "escalate by ask (git-remote-url)",
    );
    check(&rules(&[]), "git", &[(GitRemoteUrl, &[])], "deny by default-deny");
}

#[test]
fn domains_match_by_labels_ports_and_repositories() {
    let web = |pattern: &str| {
        rules(&[rule(
            "web",
            "allow",
            &format!(
                r#""domains":{{"roles":["fetch-url","git-remote-url","proxy-domain"],"allowed":["{pattern}"]}}"#
            ),
        )])
    };
    for (pattern, role, text, expected) in [
        ("*", FetchUrl, "https://a.example", "allow by web"),
        ("*", FetchUrl, "https://127.0.0.1", "deny by default-deny"),
        ("*.b.example", FetchUrl, "https://a.b.example", "allow by web"),
        ("*.b.example", FetchUrl, "https://ab.example", "deny by default-deny"),
        ("b.example", FetchUrl, "http://b.example", "allow by web"),
        ("https://b.example", FetchUrl, "http://b.example", "deny by default-deny"),
        ("b.example:8080", FetchUrl, "http://b.example:8080", "allow by web"),
        ("b.example/o/r", GitRemoteUrl, "ssh://b.example/o/r", "allow by web"),
        ("b.example/o/r", GitRemoteUrl, "https://b.example/o/r2", "deny by default-deny"),
        ("b.example", ProxyDomain, "B.example:443", "allow by web"),
        ("b.example", ProxyDomain, "c.example", "deny by default-deny"),
    ] {
        check(&web(pattern), "x", &[(role, &[text])], expected);
    }
}

#[test]
fn lists_match_identifiers_emails_and_domains() {
    let lists = r#"{"owners":{"values":["Acme","old"],"manualAdditions":["me"],"manualRemovals":["OLD"]},
                    "friends":{"values":["Ann@Example.com"]},"hosts":{"values":["*.good.example"]}}"#;
    let rule =
        |condition: &str| policy(&format!("[{}]", rule("listed", "allow", condition)), lists);
    let owners = rule(
        r#""lists":[{"roles":["github-owner"],"allowed":["@owners","Extra"],"matchType":"identifiers"}]"#,
    );
    for (owner, expected) in [
        ("ACME", "allow by listed"),
        ("me", "allow by listed"),
        ("extra", "allow by listed"),
        ("old", "deny by default-deny"),
        ("acme2", "deny by default-deny"),
        ("acme\u{212a}", "deny by default-deny"),
    ] {
        check(&owners, "x", &[(GithubOwner, &[owner])], expected);
    }
    let friends = rule(
        r#""lists":[{"roles":["email-address"],"allowed":["@friends"],"matchType":"emails"}]"#,
    );
    check(&friends, "x", &[(EmailAddress, &["ANN@example.COM"])], "allow by listed");
    check(
        &friends,
        "x",
        &[(EmailAddress, &["ann@example.com", "eve@example.com"])],
        "deny by default-deny",
    );
    check(&friends, "x", &[(EmailAddress, &[])], "deny by default-deny");
    let hosts =
        rule(r#""lists":[{"roles":["fetch-url"],"allowed":["@hosts"],"matchType":"domains"}]"#);
    check(&hosts, "x", &[(FetchUrl, &["https://a.good.example"])], "allow by listed");
    check(&hosts, "x", &[(FetchUrl, &["https://a.bad.example"])], "deny by default-deny");
    let absent = rule(r#""domains":{"roles":["fetch-url"],"allowed":["@nowhere"]}"#);
    check(&absent, "x", &[(FetchUrl, &["https://a.good.example"])], "deny by default-deny");
    assert_eq!(absent.warnings().len(), 1, "{:?}", absent.warnings());
}

#[test]
fn a_removal_finds_values_as_they_are_compared_where_the_list_is_used() {
    let lists = r#"{"all":{"values":["Main","main","A.example","Ann@X.example"],
                    "manualAdditions":["Added"],
                    "manualRemovals":["main","a.EXAMPLE","ann@x.example","added"]}}"#;
    let judge = |role: Role, kind: &str, value: &str| {
        let condition =
            format!(r#""lists":[{{"roles":["{role}"],"allowed":["@all"],"matchType":"{kind}"}}]"#);
        let policy = policy(&format!("[{}]", rule("listed", "allow", &condition)), lists);
        judge(&policy, call("x", "t", &[(role, &[value])]))
    };
    // As written: only `main` itself is gone.
    assert_eq!(judge(Role::BranchName, "identifiers", "Main"), "allow by listed");
    assert_eq!(judge(Role::BranchName, "identifiers", "Added"), "allow by listed");
    assert_eq!(judge(Role::BranchName, "identifiers", "main"), "deny by default-deny");
    // In lower case, as the role compares: `Main` and `main` are one name, and it is gone.
    assert_eq!(judge(GithubOwner, "identifiers", "main"), "deny by default-deny");
    assert_eq!(judge(GithubOwner, "identifiers", "added"), "deny by default-deny");
    assert_eq!(judge(EmailAddress, "emails", "Ann@X.example"), "deny by default-deny");
    assert_eq!(judge(EmailAddress, "emails", "Added"), "deny by default-deny");
    let hosts = r#"{"sites":{"values":["A.example","b.example"],"manualRemovals":["a.EXAMPLE"]}}"#;
    let condition = r#""domains":{"roles":["fetch-url"],"allowed":["@sites"]}"#;
    let sites = policy(&format!("[{}]", rule("web", "allow", condition)), hosts);
    check(&sites, "x", &[(FetchUrl, &["https://a.example"])], "deny by default-deny");
    check(&sites, "x", &[(FetchUrl, &["https://b.example"])], "allow by web");
}

#[test]
fn very_many_removals_are_applied() {
    let names: Vec<String> = (0..100_000).map(|n| format!("\"n{n}\"")).collect();
    let names = names.join(",");
    let lists = format!(r#"{{"all":{{"values":[{names},"left"],"manualRemovals":[{names}]}}}}"#);
    let condition =
        r#""lists":[{"roles":["github-owner"],"allowed":["@all"],"matchType":"identifiers"}]"#;
    let policy = policy(&format!("[{}]", rule("listed", "allow", condition)), &lists);
    check(&policy, "x", &[(GithubOwner, &["left"])], "allow by listed");
    check(&policy, "x", &[(GithubOwner, &["n99999"])], "deny by default-deny");
}

#[test]
fn an_address_in_other_letters_evades_no_restriction_and_gains_no_permission() {
    let mails = |then: &str| {
        let condition = r#""lists":[{"roles":["email-address"],"allowed":["ünal@x.example"],"matchType":"emails"}]"#;
        let other = if then == "allow" { "deny" } else { "allow" };
        rules(&[rule("listed", then, condition), rule("rest", other, "")])
    };
    for (then, address, expected) in [
        ("deny", "ÜNAL@X.example", "deny by listed"),
        ("escalate", "ÜNAL@x.example", "escalate by listed"),
        ("deny", "unal@x.example", "allow by rest"),
        ("allow", "ünal@X.EXAMPLE", "allow by listed"),
        ("allow", "ÜNAL@x.example", "deny by rest"),
        ("deny", "Ü <ÜNAL@x.example>", "deny by listed"),
        ("escalate", "a@x.example, ünal@x.example", "escalate by listed"),
        ("deny", "mailto:ünal@x.example?cc=b@x.example", "deny by listed"),
        ("deny", "\"ünal\"@x.example", "deny by listed"),
        ("deny", "ünal @x.example", "deny by listed"),
        ("deny", "ünal(home)@x.example.", "deny by listed"),
        ("deny", "ünal@\u{ff58}.example", "deny by listed"),
        ("deny", "not-ünal@x.example", "allow by rest"),
        ("deny", "ünal@x.example.org", "allow by rest"),
        ("allow", "Ü <ünal@x.example>", "deny by rest"),
        ("allow", "ünal@x.example, b@x.example", "deny by rest"),
    ] {
        check(&mails(then), "x", &[(EmailAddress, &[address])], expected);
    }
}

#[test]
fn a_branch_by_its_long_name_evades_no_restriction_and_gains_no_permission() {
    for (then, written, branch, expected) in [
        ("deny", "main", "refs/heads/main", "deny by listed"),
        ("escalate", "main", "heads/main", "escalate by listed"),
        ("deny", "refs/heads/main", "main", "deny by listed"),
        ("deny", "main", "main", "deny by listed"),
        ("deny", "main", "refs/heads/main2", "allow by rest"),
        ("deny", "main", "refs/tags/main", "allow by rest"),
        ("deny", "main", "Main", "allow by rest"),
        ("allow", "main", "main", "allow by listed"),
        ("allow", "main", "refs/heads/main", "deny by rest"),
    ] {
        let condition = format!(
            r#""lists":[{{"roles":["branch-name"],"allowed":["{written}"],"matchType":"identifiers"}}]"#
        );
        let other = if then == "allow" { "deny" } else { "allow" };
        let all = rules(&[rule("listed", then, &condition), rule("rest", other, "")]);
        check(&all, "x", &[(Role::BranchName, &[branch])], expected);
        // Beside a file, too.
        if then != "allow" {
            let files = rule("rest", "allow", r#""paths":{"roles":["read-path"],"within":"/d"}"#);
            let all = rules(&[files, rule("listed", then, &condition)]);
            let call = [(ReadPath, &["/d/f"][..]), (Role::BranchName, &[branch][..])];
            check(&all, "x", &call, expected);
        }
    }
}

#[test]
fn what_is_restricted_beside_resources_is_restricted() {
    let bob =
        r#""lists":[{"roles":["email-address"],"allowed":["bob@x.example"],"matchType":"emails"}]"#;
    let files = rule("files", "allow", r#""paths":{"roles":["read-path"],"within":"/d"}"#);
    for (beside, to, expected) in [
        (vec![], "bob@x.example", "allow by files"),
        (vec![rule("bob", "deny", bob)], "bob@x.example", "deny by bob"),
        (vec![rule("bob", "deny", bob)], "eve@x.example", "allow by files"),
        (
            vec![rule("mail", "escalate", r#""roles":["email-address"]"#)],
            "eve@x.example",
            "escalate by mail",
        ),
        // The first rule about the recipient counts, and one about files says nothing of it.
        (
            vec![rule("bob", "allow", bob), rule("mail", "deny", r#""roles":["email-address"]"#)],
            "bob@x.example",
            "allow by files",
        ),
        (
            vec![rule("bob", "allow", bob), rule("mail", "deny", r#""roles":["email-address"]"#)],
            "eve@x.example",
            "deny by mail",
        ),
        (
            vec![
                rule("all", "allow", r#""roles":["read-path"]"#),
                rule("mail", "deny", r#""roles":["email-address"]"#),
            ],
            "eve@x.example",
            "deny by mail",
        ),
        (
            vec![
                rule("tool", "allow", r#""tool":["t"]"#),
                rule("mail", "deny", r#""roles":["email-address"]"#),
            ],
            "eve@x.example",
            "allow by files",
        ),
        // What allows a recipient allows no file.
        (vec![rule("bob", "deny", bob)], "a@x.example", "allow by files"),
    ] {
        let all: Vec<String> = std::iter::once(files.clone()).chain(beside).collect();
        check(&rules(&all), "x", &[(ReadPath, &["/d/f"]), (EmailAddress, &[to])], expected);
    }
    let only_bob = rules(&[rule("bob", "allow", bob)]);
    let call = [(ReadPath, &["/d/f"][..]), (EmailAddress, &["bob@x.example"][..])];
    check(&only_bob, "x", &call, "deny by default-deny");
}

#[test]
fn two_roles_with_very_many_values_are_judged() {
    let names: Vec<String> = (0..20_000).map(|n| format!("n{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles: [(Role, &[&str]); 2] = [(GithubOwner, &names), (GithubRepo, &names)];
    let list = format!("{{\"all\":{{\"values\":{names:?}}}}}");
    let judge = |then: &str, repos: &str| {
        let condition = format!(
            r#""lists":[{{"roles":["github-owner"],"allowed":["@all"],"matchType":"identifiers"}},
            {{"roles":["github-repo"],"allowed":["{repos}"],"matchType":"identifiers"}}]"#
        );
        let (both, rest) = (rule("both", then, &condition), rule("rest", "allow", ""));
        judge(&policy(&format!("[{both},{rest}]"), &list), call("x", "t", &roles))
    };
    assert_eq!(judge("allow", "@all"), "allow by both");
    // Where it holds for some of the other role, the rule is asked for every value and settles none.
    assert_eq!(judge("escalate", "n1"), "escalate by both (github-owner github-repo)");
}

#[test]
fn a_list_on_another_role_must_hold_for_all_of_its_values() {
    let two = |then: &str| {
        rules(&[
            rule(
                "both",
                then,
                r#""lists":[{"roles":["github-owner"],"allowed":["acme"],"matchType":"identifiers"},
                {"roles":["github-repo"],"allowed":["app"],"matchType":"identifiers"}]"#,
            ),
            rule("rest", "allow", ""),
        ])
    };
    let judge = |then: &str, owners: &[&str], repos: &[&str]| {
        judge(&two(then), call("x", "t", &[(GithubOwner, owners), (GithubRepo, repos)]))
    };
    assert_eq!(judge("allow", &["acme"], &["app"]), "allow by both");
    assert_eq!(judge("allow", &["acme"], &["app", "other"]), "allow by rest");
    assert_eq!(judge("deny", &["acme"], &["app"]), "deny by both");
    // Only some match: the verdict is added, though the rule settles nothing.
    assert_eq!(judge("deny", &["acme"], &["app", "other"]), "deny by both");
    assert_eq!(
        judge("escalate", &["acme", "x"], &["app"]),
        "escalate by both (github-owner github-repo)"
    );
    assert_eq!(judge("deny", &["acme"], &["other"]), "allow by rest");
    assert_eq!(judge("deny", &["acme"], &[]), "allow by rest");
}

#[test]
fn a_tool_without_resources_is_judged_as_a_whole() {
    let policy = rules(&[
        rule("only-paths", "deny", r#""paths":{"roles":["read-path"],"within":"/"}"#),
        rule("mails", "escalate", r#""roles":["email-address"]"#),
        rule("rest", "allow", r#""server":["x"]"#),
    ]);
    check(&policy, "x", &[(Role::None, &[])], "allow by rest");
    check(&policy, "x", &[(EmailAddress, &["a@b"]), (Role::None, &[])], "escalate by mails");
    check(&policy, "y", &[], "deny by default-deny");
    let partly = rules(&[
        rule(
            "some",
            "escalate",
            r#""lists":[{"roles":["email-address"],"allowed":["eve"],"matchType":"emails"}]"#,
        ),
        rule("rest", "allow", ""),
    ]);
    check(&partly, "x", &[(EmailAddress, &["eve", "ann"])], "escalate by some");
    check(&partly, "x", &[(EmailAddress, &["ann"])], "allow by rest");
}

#[test]
fn the_explanation_names_who_settled_each_value() {
    let policy = everyday();
    let findings: Vec<Finding> = explain(
        &policy,
        &bounds(SandboxKind::Session),
        &call("fs", "t", &[(ReadPath, &["/s/a", "/d/a", "/e"])]),
    );
    let settled: Vec<String> =
        findings[0].settled.iter().map(|(at, by)| format!("{at} {}", by.name(&policy))).collect();
    assert_eq!(settled, ["0 structural-sandbox-allow", "1 allow-reads-in-d", "2 escalate-reads"]);
}

/// Nothing exists here, so what is written is made.
#[test]
fn a_rule_does_not_cover_the_entry_of_its_own_root() {
    let within = |path: &str| {
        let roles = r#""roles":["read-path","write-path","delete-path"]"#;
        format!(r#""paths":{{{roles},"within":"{path}"}}"#)
    };
    let policy = rules(&[
        rule("downloads", "allow", &within("/h/Downloads")),
        rule("all-of-d", "allow", &within("/d")),
        rule("inner", "allow", &within("/d/inner")),
    ]);
    for (role, text, expected) in [
        (WritePath, "/h/Downloads", "escalate by structural-root (write-path)"),
        (DeletePath, "/h/Downloads", "escalate by structural-root (delete-path)"),
        (ReadPath, "/h/Downloads", "allow by downloads"),
        (WritePath, "/h/Downloads/a", "allow by downloads"),
        (DeletePath, "/h/Downloads/a", "allow by downloads"),
        // Another rule that covers the directory above covers its entries.
        (DeletePath, "/d/inner", "allow by all-of-d"),
        (WritePath, "/h", "deny by default-deny"),
    ] {
        let verdict =
            evaluate(&policy, &bounds(SandboxKind::Session), call("x", "t", &[(role, &[text])]));
        assert_eq!(summary(&verdict), expected, "{role} {text}");
    }
}

/// Only a command of our own shell server is in a cage that keeps what the host executes read-only.
#[test]
fn a_strangers_server_called_shell_is_asked_about_what_the_host_executes() {
    let executed = |names_files: bool| {
        let mut bounds = bounds(SandboxKind::Workspace);
        let traits = ServerTraits { names_files, ..bounds.servers.get("git").unwrap().clone() };
        bounds.servers.insert("shell".parse().unwrap(), traits);
        let mut parts = parts("shell", "run_command", &[(WritePath, &["/s/a"])]);
        parts.executed.push(Executed { role: WritePath, path: path("/s/a"), why: Why::Listed });
        summary(&evaluate(&rules(&[]), &bounds, ResolvedCall::assert_resolved(parts)))
    };
    assert_eq!(executed(true), "allow by structural-sandbox-allow");
    assert!(executed(false).starts_with("escalate by structural-host-executes"));
}

#[test]
fn what_git_clean_deletes_lies_in_the_workspace_that_it_names() {
    let rules =
        rules(&[rule("ask", "escalate", r#""paths":{"roles":["delete-path"],"within":"/"}"#)]);
    let mut bounds = bounds(SandboxKind::Workspace);
    let top = "/q/work";
    bounds.sandbox.as_mut().unwrap().path = path(top);
    // As our own git server does, which says which files go.
    bounds.servers.values_mut().for_each(|it| it.names_files = true);
    let of = |tool: &str| {
        let call = call("fs", tool, &[(DeletePath, &[top])]);
        summary(&evaluate(&rules, &bounds, call))
    };
    assert_eq!(of("git_clean"), "allow by structural-sandbox-allow");
    // Any other tool that deletes what it names would delete the workspace.
    assert_eq!(of("delete"), "escalate by ask (delete-path)");
}
