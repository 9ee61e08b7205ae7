//! Every protected path of the home directory, attacked through the real binary: read, written, deleted
//! from above, by its entry and by what it leads to.

use ic_testkit::Place;
use serde_json::{Value, json};

use crate::place;

/// The list as people are told it.
const NAMES: &str = ".ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .npmrc .pypirc \
    .cargo/credentials.toml .config/gh .config/gcloud .config/op .claude .claude.json .codex \
    .local/share/keyrings .local/share/opencode .password-store .mozilla .config/google-chrome \
    .config/chromium .bash_history .zsh_history .ironcurtain .cargo/credentials \
    .config/git/credentials .pgpass .vault-token .gem/credentials .config/rclone .config/hub \
    .config/BraveSoftware .config/microsoft-edge .thunderbird .local/share/fish/fish_history \
    .python_history .gemini .cursor/mcp.json .config/goose";

const PROTECTED: &str = "structural-protected-path";

/// A place whose `IRONCURTAIN_HOME` is elsewhere, so that what is protected is protected by its name.
fn place_with_another_home() -> Place {
    let place = place();
    let home = place.path("elsewhere");
    place.with_variable("IRONCURTAIN_HOME", home.to_str().unwrap())
}

/// Judges calls of the filesystem server under a policy that allows everything; returns each rule.
fn rules(place: &Place, calls: &[(&str, String)]) -> Vec<String> {
    let rules = json!([{"name": "free", "if": {}, "then": "allow", "reason": "a test"}]);
    place.write("free/compiled-policy.json", json!({"rules": rules}).to_string());
    let annotations =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../ic-policy/policies/tool-annotations.json");
    place.write("free/tool-annotations.json", std::fs::read(annotations).unwrap());
    rules_under(place, place.path("free").to_str().unwrap(), calls)
}

/// Judges calls of the filesystem server under the policy in a directory.
fn rules_under(place: &Place, policy: &str, calls: &[(&str, String)]) -> Vec<String> {
    let requests = calls.iter().map(|(tool, path)| {
        let arguments = match *tool {
            "write_file" => json!({"path": path, "content": "x"}),
            _ => json!({"path": path}),
        };
        json!({"server": "filesystem", "tool": tool, "arguments": arguments}).to_string()
    });
    let requests = requests.collect::<Vec<_>>().join("\n");
    let words = ["policy", "check", "--policy", policy, "--requests", "-"];
    let output = place.run_with_input(words, requests.as_bytes());
    let lines = output.stdout.lines();
    let rule = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output:?}"));
        format!("{} {}", answer["decision"].as_str().unwrap(), answer["rule"].as_str().unwrap())
    };
    lines.map(rule).collect()
}

#[test]
fn every_listed_path_is_protected_whether_it_exists_or_not() {
    let place = place_with_another_home();
    let names: Vec<&str> = NAMES.split_whitespace().collect();
    assert_eq!(names.len(), 41);
    let mut calls = Vec::new();
    for name in &names {
        calls.push(("read_file", format!("~/{name}")));
        calls.push(("read_file", format!("~/{name}/within")));
        calls.push(("write_file", format!("~/{name}")));
        calls.push(("write_file", format!("~/{name}/within")));
        calls.push(("delete_file", format!("~/{name}")));
        let above = name.rsplit_once('/').map_or("", |(above, _)| above);
        calls.push(("delete_file", format!("~/{above}")));
    }
    let found = rules(&place, &calls);
    assert_eq!(found.len(), calls.len());
    for (call, rule) in calls.iter().zip(&found) {
        assert_eq!(rule, &format!("deny {PROTECTED}"), "{call:?}");
    }
    // What is beside one is not.
    let beside = [("read_file", "~/.sshx".to_owned()), ("read_file", "~/.config/ghx".to_owned())];
    assert_eq!(rules(&place, &beside), ["allow free", "allow free"]);
}

#[test]
fn a_listed_name_that_is_a_link_protects_what_it_leads_to() {
    let place = place_with_another_home();
    for (name, target) in [(".pgpass", "store/pgpass"), (".config/goose", "store/goose/config")] {
        let target = place.write(target, "secret");
        let link = place.path("home").join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let target = target.to_str().unwrap().to_owned();
        let calls = [
            ("read_file", target.clone()),
            ("write_file", target.clone()),
            ("delete_file", target),
            ("delete_file", format!("~/{name}")),
        ];
        let denied = format!("deny {PROTECTED}");
        assert_eq!(rules(&place, &calls), vec![denied; 4], "{name}");
    }
}

/// Judges writing each of these files under `policy` in a workspace; returns the rules.
fn writes(
    place: &Place,
    policy: &str,
    workspace: &str,
    paths: &[std::path::PathBuf],
) -> Vec<String> {
    let requests = paths.iter().map(|path| {
        let arguments = json!({"path": path, "content": "x"});
        json!({"server": "filesystem", "tool": "write_file", "arguments": arguments}).to_string()
    });
    let requests = requests.collect::<Vec<_>>().join("\n");
    let workspace = place.path(workspace);
    let words = ["policy", "check", "--policy", policy, "--workspace", "--sandbox"];
    let words = [&words[..], &[workspace.to_str().unwrap(), "--requests", "-"]].concat();
    let output = place.run_with_input(words, requests.as_bytes());
    let rule = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output:?}"));
        answer["rule"].as_str().unwrap().to_owned()
    };
    let rules: Vec<String> = output.stdout.lines().map(rule).collect();
    assert_eq!(rules.len(), paths.len(), "{output:?}");
    rules
}

/// A policy that only later sessions use is out of reach in every session, whatever policy that has.
#[test]
fn the_policy_in_force_is_protected_in_sessions_that_use_another_one() {
    let place = place();
    place.dir("work");
    place.dir("home/Downloads");
    let rules = r#"{"rules":[]}"#;
    place.write("home/Downloads/pol/compiled-policy.json", rules);
    place.write("store/adds.json", r#"{"version":1,"additions":[]}"#);
    place.link("home/Downloads/pol/additions.json", place.path("store/adds.json"));
    // Nothing is there yet that an agent could not make.
    place.link("home/Downloads/pol/dynamic-lists.json", place.path("home/Downloads/lists.json"));
    // One of the home's own is a link, and so is a file of it.
    place.write("home/Downloads/real/compiled-policy.json", rules);
    place.dir("home/.ironcurtain/policies");
    place.link("home/.ironcurtain/policies/mine", place.path("home/Downloads/real"));
    place.link("home/Downloads/real/additions.json", place.path("home/Downloads/mine.json"));
    let directory = place.path("home/Downloads/pol");
    place.let_scripts_answer();
    let set = ["config", "set", "policy", directory.to_str().unwrap(), "--yes"];
    let paths = [
        "home/Downloads/pol/additions.json",
        "home/Downloads/pol/compiled-policy.json",
        "home/Downloads/pol/new.json",
        "store/adds.json",
        "home/Downloads/lists.json",
    ];
    let paths = paths.map(|path| place.path(path));
    let of_home = ["home/Downloads/real/additions.json", "home/Downloads/mine.json"];
    let of_home = of_home.map(|path| place.path(path));
    for policy in ["default", "coding", "readonly"] {
        let before = writes(&place, policy, "work", &paths);
        assert!(before.iter().all(|rule| rule != PROTECTED), "{policy}: {before:?}");
    }
    assert_eq!(place.run(set).code, 0);
    for policy in ["default", "coding", "readonly", "mine"] {
        assert_eq!(writes(&place, policy, "work", &paths), [PROTECTED; 5], "{policy}");
        assert_eq!(writes(&place, policy, "work", &of_home), [PROTECTED; 2], "{policy}");
    }
}

/// In a workspace links can be turned and directories moved, so such a session is not opened.
#[test]
fn a_session_in_the_directory_of_the_policy_in_force_is_refused_whatever_it_uses() {
    let place = place();
    let rules = r#"{"rules":[]}"#;
    place.write("work/pol/compiled-policy.json", rules);
    place.link("alias", place.path("work/pol"));
    place.write("linked/compiled-policy.json", rules);
    place.link("linked/additions.json", place.path("work/adds.json"));
    place.write("outside/compiled-policy.json", rules);
    let work = place.path("work");
    let check = |policy: &str| {
        let directory = place.path(policy);
        place.let_scripts_answer();
        let set = place.run(["config", "set", "policy", directory.to_str().unwrap(), "--yes"]);
        assert_eq!(set.code, 0, "{set:?}");
        let call = ["filesystem", "read_file", r#"{"path":"a"}"#];
        let words = ["policy", "check", "--policy", "coding", "--workspace", "--sandbox"];
        place.run([&words[..], &[work.to_str().unwrap()], &call].concat())
    };
    for policy in ["work/pol", "alias", "linked"] {
        let output = check(policy);
        assert_eq!(output.code, 1, "{policy}: {output:?}");
        assert!(output.stderr.contains("where the agent can change it"), "{policy}: {output:?}");
    }
    assert_eq!(check("outside").code, 0);
}

/// A link in the middle of the path of a policy decides which policy a later session finds.
#[test]
fn links_on_the_way_to_what_is_ours_are_protected_and_what_else_they_lead_to_is_not() {
    for what in ["policy in force", "policy of the session", "home"] {
        let place = place();
        place.write("home/real/pol/compiled-policy.json", r#"{"rules":[]}"#);
        place.write("home/real/other.txt", "free");
        place.write("home/Downloads/d/keep.txt", "free");
        place.link("home/Downloads/d/way", place.path("home/real"));
        let at = |path: &str| place.path(path).to_str().unwrap().to_owned();
        let changes = [
            ("delete_file", at("home/Downloads/d/way")),
            ("delete_file", at("home/Downloads/d")),
            ("write_file", at("home/real/pol/compiled-policy.json")),
        ];
        let free = [
            ("write_file", at("home/real/other.txt")),
            ("delete_file", at("home/Downloads/d/keep.txt")),
            ("write_file", at("home/Downloads/d/new.txt")),
        ];
        let before = rules(&place, &changes);
        assert!(before.iter().all(|rule| !rule.ends_with(PROTECTED)), "{what}: {before:?}");
        let through = at("home/Downloads/d/way/pol");
        let place = match what {
            "policy in force" => {
                // By hand: the command follows links once and keeps where they led.
                place.configure("policy", through.as_str());
                place
            }
            "home" => place.with_variable("IRONCURTAIN_HOME", &through),
            _ => {
                let rules = std::fs::read(place.path("free/compiled-policy.json")).unwrap();
                place.write("home/real/pol/compiled-policy.json", rules);
                let annotations = std::fs::read(place.path("free/tool-annotations.json")).unwrap();
                place.write("home/real/pol/tool-annotations.json", annotations);
                place
            }
        };
        let free_policy = place.path("free").to_str().unwrap().to_owned();
        let policy = if what == "policy of the session" { through } else { free_policy };
        let protected = rules_under(&place, &policy, &changes);
        assert_eq!(protected, ["deny structural-protected-path"; 3], "{what}");
        let others = rules_under(&place, &policy, &free);
        assert!(others.iter().all(|rule| !rule.ends_with(PROTECTED)), "{what}: {others:?}");
    }
}
