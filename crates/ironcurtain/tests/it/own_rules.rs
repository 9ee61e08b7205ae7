//! The user's own rules in a workspace and in a sandbox, through the real binary: what a rule denies
//! there is not done, whichever tool tries it.

mod ways;

use std::path::Path;

use ic_testkit::git_host::git;
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use crate::place;

const SECRET: &str = "the-secret-of-the-workspace";

/// Makes a workspace that is a repository, with a place `src` and a place `secret` in it.
fn workspace(place: &Place) -> String {
    place.write("work/readme.txt", "read me\n");
    place.write("work/lib/src/a.txt", "a\n");
    place.write("work/lib/other.txt", "other\n");
    place.write("work/secret/key.txt", format!("{SECRET}\n"));
    let work = place.path("work");
    for words in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message=first"],
    ] {
        git(&work, words);
    }
    work.to_str().unwrap().to_owned()
}

/// Writes a policy of these rules, with the annotations that are built in.
pub(crate) fn policy(place: &Place, rules: &Value) -> String {
    let annotations =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ic-policy/policies/tool-annotations.json");
    place.write("policy/tool-annotations.json", std::fs::read(annotations).unwrap());
    place.write("policy/compiled-policy.json", json!({ "rules": rules }).to_string());
    place.path("policy").to_str().unwrap().to_owned()
}

/// Writes a rule about the roles in a place.
pub(crate) fn rule(name: &str, then: &str, roles: &[&str], within: &str) -> Value {
    let paths = json!({"roles": roles, "within": within});
    json!({"name": name, "if": {"paths": paths}, "then": then, "reason": format!("because {name}")})
}

pub(crate) const EVERY_ROLE: [&str; 5] =
    ["read-path", "write-path", "delete-path", "write-history", "delete-history"];

/// Every call that changes a workspace, with arguments that would work.
fn changes(work: &str) -> Vec<(&'static str, &'static str, Value)> {
    let file = |name: &str| format!("{work}/{name}");
    let readme = file("readme.txt");
    let edits = json!([{"oldText": "read", "newText": "write"}]);
    let git = |mut arguments: Value| {
        arguments["path"] = json!(work);
        arguments
    };
    vec![
        ("filesystem", "write_file", json!({"path": readme, "content": "x"})),
        ("filesystem", "write_file", json!({"path": file("new.txt"), "content": "x"})),
        ("filesystem", "edit_file", json!({"path": readme, "edits": edits})),
        ("filesystem", "delete_file", json!({"path": readme})),
        ("filesystem", "move_file", json!({"source": readme, "destination": file("moved.txt")})),
        ("filesystem", "create_directory", json!({"path": file("made")})),
        ("git", "git_add", git(json!({"files": ["readme.txt"]}))),
        ("git", "git_commit", git(json!({"message": "more", "allowEmpty": true}))),
        ("git", "git_branch", git(json!({"operation": "create", "name": "side"}))),
        ("git", "git_branch", git(json!({"operation": "delete", "name": "side"}))),
        ("git", "git_tag", git(json!({"mode": "create", "tagName": "v1"}))),
        ("git", "git_checkout", git(json!({"target": "side", "createBranch": true}))),
        ("git", "git_reset", git(json!({"mode": "hard", "target": "HEAD", "confirmed": true}))),
        ("git", "git_clean", git(json!({"force": true}))),
        ("git", "git_stash", git(json!({"mode": "push"}))),
        ("git", "git_merge", git(json!({"branch": "main"}))),
        ("git", "git_rebase", git(json!({"upstream": "main"}))),
        ("git", "git_cherry_pick", git(json!({"commits": ["HEAD"]}))),
        ("git", "git_worktree", git(json!({"mode": "add", "worktreePath": file("tree")}))),
        ("git", "git_init", json!({"path": file("inner")})),
    ]
}

/// Returns what a workspace holds, git's own files included.
fn contents(place: &Place) -> Vec<(std::path::PathBuf, String)> {
    let mut files = place.files("work");
    files.sort();
    files
}

#[test]
fn a_read_only_policy_keeps_a_workspace_as_it_is() {
    let place = place();
    let work = workspace(&place);
    let before = contents(&place);
    let mut proxy = Proxy::start(&place, &["--policy", "readonly", "--workspace", &work]);
    proxy.initialize();
    for (server, tool, arguments) in changes(&work) {
        let said = proxy.call(&format!("{server}__{tool}"), &arguments).bad();
        assert!(said.starts_with("DENIED: "), "{tool}: {said}");
        let check = ["policy", "check", "--policy", "readonly", "--sandbox", &work, "--workspace"];
        let arguments = arguments.to_string();
        let checked = place.run(check.iter().copied().chain([server, tool, &arguments]));
        assert_eq!(checked.code, 4, "{tool}: {checked:?}");
    }
    let read = json!({"path": format!("{work}/readme.txt")});
    assert_eq!(proxy.call("filesystem__read_text_file", &read).good(), "read me\n");
    let log = proxy.call("git__git_log", &json!({"path": work})).good();
    assert!(log.contains("first"), "{log}");
    proxy.finish();
    assert_eq!(contents(&place), before);
}

#[test]
fn the_policies_for_work_leave_a_workspace_free() {
    for policy in ["default", "coding"] {
        let place = place();
        let work = workspace(&place);
        let mut proxy = Proxy::start(&place, &["--policy", policy, "--workspace", &work]);
        proxy.initialize();
        for (server, tool, arguments) in changes(&work) {
            // The user's git takes a new repository for one, and `git_clean` names the workspace itself
            // as what is deleted: both need approval.
            if matches!(tool, "git_init" | "git_clean") {
                continue;
            }
            let said = proxy.call(&format!("{server}__{tool}"), &arguments);
            assert!(!said.text().starts_with("DENIED"), "{policy} {tool}: {}", said.text());
            assert!(!said.text().starts_with("ESCALATION"), "{policy} {tool}: {}", said.text());
        }
        proxy.finish();
    }
}

#[test]
fn a_place_in_a_workspace_that_a_rule_denies_is_left_alone() {
    let place = place();
    let work = workspace(&place);
    let file = |name: &str| format!("{work}/{name}");
    place.write("work/lib/src/public/p.txt", "public");
    let rules = json!([
        rule("public", "allow", &EVERY_ROLE, &file("lib/src/public")),
        rule("never-src", "deny", &EVERY_ROLE, &file("lib/src")),
    ]);
    let policy = policy(&place, &rules);
    let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
    proxy.initialize();
    let mut call = |tool: &str, arguments: Value| {
        let content =
            proxy.call(&format!("filesystem__{tool}"), &arguments).result()["content"].clone();
        let all = content.as_array().unwrap();
        all.iter().filter_map(|it| it["text"].as_str()).collect::<Vec<_>>().join("\n")
    };
    let denied = "DENIED: ";
    for (tool, arguments) in [
        ("write_file", json!({"path": file("lib/src/a.txt"), "content": "x"})),
        ("read_text_file", json!({"path": file("lib/src/a.txt")})),
        ("delete_file", json!({"path": file("lib/src/a.txt")})),
        ("delete_file", json!({"path": file("lib")})),
        ("move_file", json!({"source": file("lib"), "destination": file("away")})),
        ("move_file", json!({"source": file("lib/other.txt"), "destination": file("lib/src/b")})),
    ] {
        let said = call(tool, arguments);
        assert!(said.starts_with(denied) && said.contains("never-src"), "{tool}: {said}");
    }
    let public = call("read_text_file", json!({"path": file("lib/src/public/p.txt")}));
    assert_eq!(public, "public");
    // Beside it everything is free, and what goes through everything passes it by and says so.
    call("write_file", json!({"path": file("lib/new.txt"), "content": "x"}));
    assert!(place.path("work/lib/new.txt").exists());
    let tree = call("directory_tree", json!({"path": work}));
    assert!(tree.contains("other.txt") && !tree.contains("a.txt"), "{tree}");
    assert!(tree.contains("closed by the policy") && tree.contains("lib/src"), "{tree}");
    let found = call("search_files", json!({"path": work, "pattern": "**/*.txt"}));
    assert!(found.contains("other.txt") && !found.contains("a.txt"), "{found}");
    proxy.finish();
    assert_eq!(std::fs::read_to_string(place.path("work/lib/src/a.txt")).unwrap(), "a\n");
}

/// A directory could be moved away, changed there and moved back, or read there.
#[test]
fn a_directory_above_a_place_that_is_not_read_stays_where_it_is() {
    let place = place();
    let work = workspace(&place);
    place.write("work/deep/secret/key.txt", SECRET);
    let file = |name: &str| format!("{work}/{name}");
    let rules = json!([rule("unread", "deny", &["read-path"], &file("deep/secret"))]);
    let policy = policy(&place, &rules);
    let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
    proxy.initialize();
    let arguments = json!({"source": file("deep"), "destination": file("away")});
    let said = proxy.call("filesystem__move_file", &arguments).bad();
    assert!(said.contains("stays where it is"), "{said}");
    // What is written there is not read.
    let arguments = json!({"path": file("deep/secret/new.txt"), "content": "x"});
    proxy.call("filesystem__write_file", &arguments).good();
    proxy.finish();
    assert!(place.path("work/deep/secret/new.txt").exists());
}

#[test]
fn git_neither_changes_nor_tells_what_a_rule_denies() {
    let place = place();
    let work = workspace(&place);
    let directory = place.path("work");
    // Another branch changes the closed places, and one that leaves them alone.
    for (branch, name) in
        [("touching", "lib/src/a.txt"), ("telling", "secret/key.txt"), ("free", "x")]
    {
        git(&directory, &["checkout", "--quiet", "-b", branch, "main"]);
        place.write(Path::new("work").join(name), format!("{SECRET} {branch}\n"));
        git(&directory, &["add", "--all"]);
        git(&directory, &["commit", "--quiet", "--message", branch]);
    }
    git(&directory, &["checkout", "--quiet", "main"]);
    let file = |name: &str| format!("{work}/{name}");
    let rules = json!([
        rule("never-src", "deny", &["write-path", "delete-path"], &file("lib/src")),
        rule("unread", "deny", &["read-path"], &file("secret")),
    ]);
    let policy = policy(&place, &rules);
    let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
    proxy.initialize();
    let mut call = |tool: &str, mut arguments: Value| {
        arguments["path"] = json!(work);
        proxy.call(&format!("git__{tool}"), &arguments).text().clone()
    };
    for (tool, arguments) in [
        ("git_checkout", json!({"target": "touching"})),
        ("git_merge", json!({"branch": "touching"})),
        ("git_reset", json!({"mode": "hard", "target": "touching", "confirmed": true})),
        ("git_cherry_pick", json!({"commits": ["touching"]})),
        ("git_diff", json!({"source": "main", "target": "telling"})),
        ("git_show", json!({"object": "telling"})),
        ("git_log", json!({"branch": "telling", "patch": true})),
        ("git_show", json!({"object": "main", "filePath": "secret/key.txt"})),
        ("git_worktree", json!({"mode": "add", "worktreePath": file("tree"), "branch": "free"})),
    ] {
        let said = call(tool, arguments.clone());
        assert!(said.starts_with("DENIED: "), "{tool} {arguments}: {said}");
        assert!(!said.contains(SECRET), "{tool} {arguments}: {said}");
    }
    let blob = git(&directory, &["rev-parse", "main:secret/key.txt"]);
    let said = call("git_show", json!({"object": blob.trim()}));
    assert!(said.starts_with("DENIED: ") && !said.contains(SECRET), "{said}");
    // What touches neither place is free.
    for (tool, arguments, part) in [
        ("git_status", json!({}), "On branch main"),
        ("git_log", json!({"branch": "telling"}), "telling"),
        ("git_diff", json!({"source": "main", "target": "free"}), "+the-secret"),
        ("git_show", json!({"object": "free"}), "+the-secret"),
        ("git_checkout", json!({"target": "free"}), ""),
    ] {
        let said = call(tool, arguments);
        assert!(said.contains(part) && !said.starts_with("DENIED"), "{tool}: {said}");
    }
    proxy.finish();
    assert!(place.path("work/x").exists(), "the free branch is checked out");
    assert_eq!(std::fs::read_to_string(place.path("work/lib/src/a.txt")).unwrap(), "a\n");
}

#[test]
fn the_sandbox_of_the_session_can_be_named_in_a_rule() {
    let place = place();
    let rules = json!([
        rule("out", "allow", &EVERY_ROLE, "${SANDBOX}/out"),
        rule("ask-here", "escalate", &["write-path"], "${SANDBOX}"),
    ]);
    let policy_directory = policy(&place, &rules);
    let work = place.dir("work").to_str().unwrap().to_owned();
    let write = |path: &str| json!({"path": path, "content": "x"}).to_string();
    for flags in [&["--sandbox"][..], &["--workspace", "--sandbox"]] {
        for (path, code, named) in
            [("a.txt", 3, "ask-here"), ("out/a.txt", 0, "structural-sandbox-allow")]
        {
            let arguments = write(path);
            let mut words = vec!["policy", "check", "--policy", &policy_directory];
            words.extend(flags.iter().copied().chain([work.as_str()]));
            words.extend(["filesystem", "write_file", &arguments]);
            let checked = place.run(words);
            assert_eq!(checked.code, code, "{flags:?} {path}: {checked:?}");
            assert!(checked.stdout.contains(named), "{flags:?} {path}: {checked:?}");
        }
    }
    // Each session has a sandbox of its own, and the rule is about that one.
    for _ in 0..2 {
        let mut proxy = Proxy::start(&place, &["--policy", &policy_directory]);
        proxy.initialize();
        let said = proxy.call("filesystem__write_file", &json!({"path": "a", "content": "x"}));
        assert!(said.bad().starts_with("ESCALATION REQUIRED: because ask-here"), "{}", said.text());
        proxy.finish();
    }
    // Without a sandbox the rule is about nothing.
    let arguments = write(place.path("work/a.txt").to_str().unwrap());
    let words = ["policy", "check", "--policy", &policy_directory, "filesystem", "write_file"];
    let checked = place.run(words.into_iter().chain([arguments.as_str()]));
    assert!(checked.stdout.contains("default-deny"), "{checked:?}");
    // An agent can put a link into its sandbox, and must not choose what a rule is about.
    place.link("work/out", place.dir("elsewhere"));
    let arguments = write("a.txt");
    let words = ["policy", "check", "--policy", &policy_directory, "--sandbox", &work];
    let words = words.into_iter().chain(["filesystem", "write_file", &arguments]);
    let refused = place.run(words);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("leads through a link"), "{refused:?}");
}

#[test]
fn the_header_says_what_is_free_what_asks_and_what_is_refused() {
    let place = place();
    let work = workspace(&place);
    let mine = policy(
        &place,
        &json!([
            rule("never", "deny", &EVERY_ROLE, &format!("{work}/secret")),
            rule("ask", "escalate", &EVERY_ROLE, "/"),
        ]),
    );
    place.write(
        "hosts/compiled-policy.json",
        json!({"rules": [
            {"name": "docs", "if": {"domains": {"roles": ["fetch-url"], "allowed": ["docs.rs"]}},
             "then": "allow", "reason": "r"},
            {"name": "org", "if": {"domains": {"roles": ["fetch-url"], "allowed": ["*.example.org"]}},
             "then": "escalate", "reason": "r"},
            rule("files", "allow", &EVERY_ROLE, "/"),
        ]})
        .to_string(),
    );
    let hosts = place.path("hosts").to_str().unwrap().to_owned();
    let reach = "out of reach: keys, credentials and IronCurtain's own files";
    for (flags, expected) in [
        (
            &["--policy", "default"][..],
            "free: everything in the sandbox, read, write and commit in ~/Downloads, read in \
             ~/Documents, except changes outside the sandbox to files that your tools run (such as \
             .envrc); asks: everything else; "
                .to_owned(),
        ),
        (
            &["--policy", "readonly", "--workspace", &work],
            "free: read anywhere; asks: the web; refused: everything else; ".to_owned(),
        ),
        (
            &["--policy", "coding", "--workspace", &work],
            "free: everything in the workspace, read in /usr (filesystem), except changes to files that \
             your tools run (such as .envrc); asks: everything else; "
                .to_owned(),
        ),
        (
            &["--policy", &mine, "--workspace", &work],
            format!(
                "free: everything in the workspace, except changes to files that your tools run (such \
                 as .envrc); asks: everything else; refused: everything in {work}/secret, the web, git \
                 remotes; "
            ),
        ),
        (
            &["--policy", &hosts],
            "free: pages of docs.rs, files anywhere, except changes outside the sandbox to files that \
             your tools run (such as .envrc); asks: pages of *.example.org, changes outside the sandbox \
             to files that your tools run (such as .envrc); refused: everything else; "
                .to_owned(),
        ),
    ] {
        let mut proxy = Proxy::start(&place, flags);
        proxy.initialize();
        proxy.finish();
        let stderr = proxy.all_stderr();
        assert!(stderr.contains(&format!("{expected}{reach}\n")), "{flags:?}: {stderr}");
    }
}

#[test]
fn deleting_in_downloads_asks_under_the_default_policy() {
    let place = place();
    place.write("home/Downloads/old.zip", "x");
    let mut proxy = Proxy::start(&place, &[]);
    proxy.initialize();
    let path = place.path("home/Downloads/old.zip").to_str().unwrap().to_owned();
    let said = proxy.call("filesystem__delete_file", &json!({"path": path})).bad();
    assert!(
        said.starts_with("ESCALATION REQUIRED: The call deletes outside the sandbox"),
        "{said}"
    );
    proxy.finish();
    assert!(place.path("home/Downloads/old.zip").exists());
}

/// `policy explain` says where containment bears on a decision: where a rule is stronger than it, where a
/// rule is about a place beneath what the call names, and for which servers the sandbox is not free.
#[test]
fn an_explanation_names_containment_where_it_acts() {
    let place = place();
    let work = workspace(&place);
    let rules = [
        rule("no-secret", "deny", &EVERY_ROLE, &format!("{work}/secret")),
        rule("ask-src", "escalate", &["write-path", "delete-path"], &format!("{work}/lib/src")),
        rule("all", "allow", &EVERY_ROLE, "/"),
    ];
    let policy = policy(&place, &json!(rules));
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"files": {"command": "/bin/true"}}"#);
    let annotations = place.path("policy/tool-annotations.json");
    let mut known: Value = serde_json::from_slice(&std::fs::read(&annotations).unwrap()).unwrap();
    known["servers"]["files"] = json!({"inputHash": "x", "tools": [{"toolName": "write",
        "serverName": "files", "comment": "", "args": {"path": ["write-path"]}, "inputSchema": {}}]});
    std::fs::write(annotations, known.to_string()).unwrap();
    let explained = |server: &str, tool: &str, path: &str| {
        let words = ["policy", "explain", "--policy", &policy, "--sandbox", &work, "--workspace"];
        let arguments = json!({"path": path}).to_string();
        let output = place.run(words.iter().copied().chain([server, tool, &arguments]));
        assert_eq!(output.code, 0, "{output:?}");
        let notes = output.stdout.lines().filter_map(|line| line.trim().strip_prefix("note: "));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    let file = |name: &str| format!("{work}/{name}");
    assert_eq!(explained("filesystem", "read_file", &file("readme.txt")), [""; 0]);
    let key = file("secret/key.txt");
    let stronger = "lies in the workspace, which is free otherwise: `no-secret` is stronger there";
    assert_eq!(explained("filesystem", "read_file", &key), [format!("`{key}` {stronger}")]);
    let lib = file("lib");
    let beneath = format!("and `ask-src` is about `{work}/lib/src` in it");
    assert_eq!(
        explained("filesystem", "delete_file", &lib),
        [format!("the call acts on everything in `{lib}`, {beneath}")]
    );
    let loose = "which is free only for contained servers, and `files` is not contained";
    let readme = file("readme.txt");
    assert_eq!(
        explained("files", "write", &readme),
        [format!("`{readme}` lies in the workspace, {loose}")]
    );
}
