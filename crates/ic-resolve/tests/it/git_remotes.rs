//! Repositories that an agent has written: what git would use is judged, or the call refused.

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, SandboxKind, Value, evaluate};
use ic_resolve::{Places, Resolver, bounds};
use ic_testkit::MemoryDisk;
use ic_types::{AbsolutePath, Json, JsonLimits, Role, ToolCall};

const TOOLS: &str = r#"{"servers":{"s":{"tools":[
    {"toolName":"push","args":{"path":["read-path"],"remote":["git-remote-url"]}}
]}}}"#;
const ORIGIN: &str = "[remote \"origin\"]\nurl = https://good.example/a/b\n";
const BY_NAME: &str = r#"{"path":"repo","remote":"origin"}"#;
const BY_DEFAULT: &str = r#"{"path":"repo"}"#;
const BY_URL: &str = r#"{"path":"repo","remote":"https://good.example/a/b"}"#;
const OBJECT: &str = "0123456789abcdef0123456789abcdef01234567\n";

/// A repository as `git init` leaves it, with `config`.
fn disk(config: &str) -> MemoryDisk {
    MemoryDisk::new()
        .dir("/s/repo/src")
        .dir("/s/repo/.git/objects")
        .dir("/s/repo/.git/refs/heads")
        .dir("/s/repo/.git/branches")
        .file("/s/repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("/s/repo/.git/config", config)
}

/// Returns the judged remotes, or the rule that denies the call.
fn judged(disk: &MemoryDisk, arguments: &str) -> String {
    let rules = br#"{"rules":[{"name":"all","if":{},"then":"allow","reason":"r"}]}"#;
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules },
        annotations: Source { file: "tool-annotations.json", bytes: TOOLS.as_bytes() },
        lists: None,
    };
    let policy = Policy::load(&sources, &|_| Err("no paths here".to_owned())).unwrap();
    let Json::Object(arguments) = Json::parse(arguments.as_bytes(), JsonLimits::CALL).unwrap()
    else {
        panic!("{arguments}");
    };
    let call = ToolCall { server: "s".parse().unwrap(), tool: "push".parse().unwrap(), arguments };
    let places = Places {
        home: AbsolutePath::new("/home/u").unwrap(),
        sandbox: Some((AbsolutePath::new("/s").unwrap(), SandboxKind::Session)),
        protected: Vec::new(),
    };
    let bounds = bounds::gather(disk, &places, std::collections::HashMap::new()).unwrap();
    let resolver = Resolver {
        disk,
        home: &places.home,
        sandbox: bounds.sandbox.as_ref(),
        orders: None,
        seen_as: None,
    };
    let rule =
        evaluate(&policy, &bounds, resolver.resolve(&policy, call.clone())).rule().to_owned();
    if rule == "structural-invalid-value" {
        return rule;
    }
    let call = resolver.resolve(&policy, call);
    let values = call.values(Role::GitRemoteUrl).iter().map(|value| match value {
        Value::Url(url) => url.destination.to_string(),
        other => other.to_string(),
    });
    values.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(config: &str, arguments: &str, expected: &str) {
    assert_eq!(judged(&disk(config), arguments), expected, "{config} {arguments}");
}

#[track_caller]
fn check_refused(disk: &MemoryDisk, arguments: &str) {
    let found = judged(disk, arguments);
    assert_eq!(found, "structural-invalid-value", "{arguments}");
}

#[test]
fn every_rewrite_of_equal_length_is_judged() {
    let config = format!(
        "{ORIGIN}[url \"https://evil.example/\"]\ninsteadOf = https://good.example/\n\
         [url \"https://fine.example/\"]\ninsteadOf = https://good.example/\n"
    );
    check(&config, BY_NAME, "evil.example/a/b fine.example/a/b");
    check(&config, BY_URL, "evil.example/a/b fine.example/a/b good.example/a/b");
}

#[test]
fn a_config_that_git_reads_otherwise_is_refused() {
    for config in [
        "[url.evil \"example:x/\"]\ninsteadOf = https://good.example/\n",
        "[url \"https://evil.example/\"]\ninsteadOf = https://good.example/\0x\n",
        "[extensions]\nworktreeConfig = true\n",
        "[extensions]\nrefStorage = reftable\n",
        "[remotes]\norigin = evil\n",
        "[core]\nsshCommand = x\n",
    ] {
        for arguments in [BY_NAME, BY_DEFAULT, BY_URL] {
            check_refused(&disk(&format!("{ORIGIN}{config}")), arguments);
        }
    }
    let quotes = format!(
        "{ORIGIN}[url \"https://evil.example/\"]\ninsteadOf = \"\" https://good.example/\n"
    );
    check(&quotes, BY_NAME, "evil.example/a/b");
}

#[test]
fn a_repository_whose_config_or_branch_is_elsewhere_is_refused() {
    let good = || disk(ORIGIN);
    let head = |text: &str| good().file("/s/repo/.git/HEAD", text);
    let bare = |disk: MemoryDisk| {
        disk.file("/s/repo/HEAD", "ref: refs/heads/main\n").file("/s/repo/config", ORIGIN)
    };
    let without = |names: &[&str]| {
        let mut disk = MemoryDisk::new().file("/s/repo/.git/config", ORIGIN);
        for name in names {
            disk = match *name {
                "HEAD" => disk.file("/s/repo/.git/HEAD", "ref: refs/heads/main\n"),
                name => disk.dir(&format!("/s/repo/.git/{name}")),
            };
        }
        disk
    };
    assert_eq!(judged(&without(&["HEAD", "objects", "refs"]), BY_NAME), "good.example/a/b");
    for disk in [
        good().file("/s/repo/.git/commondir", "/s/evil\n"),
        without(&["objects", "refs"]),
        without(&["HEAD", "refs"]),
        without(&["HEAD", "objects"]),
        without(&["HEAD", "objects"]).link("/s/repo/.git/refs", "/s"),
        good().forbidden("/s/repo/.git/objects/x"),
        head(""),
        head("ref: refs/heads/../x"),
        head("ref: refs/tags/x"),
        head("ref: refs/heads/main\nx"),
        head(&format!("ref:{}refs/heads/main", " ".repeat(300))),
        good().file("/s/repo/.git/refs/heads/main", "ref: refs/heads/other\n"),
        good().file("/s/repo/.git/refs/heads/main", "x\n"),
        good().link("/s/repo/.git/refs/heads/main", "refs/heads/other"),
        bare(MemoryDisk::new().dir("/s/repo/objects").dir("/s/repo/refs")),
        bare(MemoryDisk::new().file("/s/repo/commondir", "/s/evil\n")),
    ] {
        for arguments in [BY_NAME, BY_DEFAULT, BY_URL] {
            check_refused(&disk, arguments);
        }
    }
    for disk in [
        head(OBJECT),
        head("ref:\trefs/heads/main"),
        good().file("/s/repo/.git/refs/heads/main", OBJECT),
    ] {
        assert_eq!(judged(&disk, BY_NAME), "good.example/a/b");
    }
}

#[test]
fn a_git_directory_itself_is_refused() {
    for path in ["repo/.git", "repo/.git/refs"] {
        check_refused(&disk(ORIGIN), &format!(r#"{{"path":"{path}"}}"#));
    }
}

#[test]
fn a_directory_within_a_repository_is_looked_up_as_git_does() {
    check(ORIGIN, r#"{"path":"repo/src"}"#, "good.example/a/b");
    check(ORIGIN, r#"{"path":"repo/src","remote":"origin"}"#, "good.example/a/b");
    let relative = "[remote \"origin\"]\nurl = ../x\n";
    check(relative, r#"{"path":"repo/src"}"#, "/s/x /s/repo/x");
}

#[test]
fn a_url_that_is_the_name_of_a_remote_is_judged_as_both() {
    let config = "[remote \"https://good.example/a/b\"]\nurl = https://evil.example/x\n";
    check(config, BY_URL, "evil.example/x good.example/a/b");
    // Git sees the form that is sent.
    let spelt = r#"{"path":"repo","remote":"https://GOOD.example:443/a/b"}"#;
    check(config, spelt, "evil.example/x good.example/a/b");
    let instead = "[url \"https://evil.example/\"]\ninsteadOf = https://good.example/\n";
    check(instead, spelt, "evil.example/a/b good.example/a/b");
    let branch = format!("{config}[branch \"main\"]\nremote = https://good.example/a/b\n");
    check(&branch, BY_DEFAULT, "evil.example/x good.example/a/b");
}

#[test]
fn a_local_remote_is_rewritten_too() {
    let config = "[url \"https://evil.example/\"]\ninsteadOf = /s/\n\
        [remote \"./x\"]\nurl = https://evil.example/name\n";
    let expected = "evil.example/name evil.example/repo/x /s/repo/x";
    check(config, r#"{"path":"repo","remote":"./x"}"#, expected);
}

#[test]
fn a_local_remote_that_leads_out_of_the_sandbox_is_refused() {
    let local = r#"{"path":"repo","remote":"/s/x"}"#;
    assert_eq!(judged(&disk(ORIGIN), local), "/s/x");
    for disk in [
        disk(ORIGIN).link("/s/x.git", "/out"),
        disk(ORIGIN).dir("/s/x").link("/s/x/.git", "/out"),
        disk(ORIGIN).file("/s/x/.git", "gitdir: /out\n"),
        disk(ORIGIN).file("/s/x", "gitdir: /out\n"),
        disk(ORIGIN).file("/s/x.git", "gitdir: /out\n"),
        disk(ORIGIN).dir("/s/[y]").link("/s/x", "/s/[y]"),
    ] {
        check_refused(&disk, local);
    }
    check_refused(&disk("[remote \"origin\"]\nurl = ~/x\n"), BY_NAME);
}

#[test]
fn a_push_url_without_a_url_is_refused() {
    let config = "[remote \"origin\"]\npushurl = https://good.example/a/b\n";
    for arguments in [BY_NAME, BY_DEFAULT] {
        check_refused(&disk(config), arguments);
    }
}

#[test]
fn a_default_remote_that_the_config_names_may_be_rewritten_and_is_refused_if_absent() {
    let instead = "[url \"https://evil.example/\"]\ninsteadOf = origin\n";
    check(instead, BY_DEFAULT, "");
    for named in ["[branch \"main\"]\nremote = origin\n", "[remote]\npushDefault = origin\n"] {
        check_refused(&disk(&format!("{instead}{named}")), BY_DEFAULT);
    }
}

#[test]
fn a_remote_of_another_kind_is_refused() {
    for disk in [
        disk(&format!("{ORIGIN}vcs = x\n")),
        disk(ORIGIN).file("/s/repo/.git/remotes/origin", "URL: https://evil.example/x\n"),
        disk(ORIGIN).file("/s/repo/.git/branches/origin", "https://evil.example/x\n"),
    ] {
        for arguments in [BY_NAME, BY_DEFAULT] {
            check_refused(&disk, arguments);
        }
    }
    let scp = r#"{"path":"repo","remote":"good.example:x"}"#;
    check(ORIGIN, scp, "good.example/x");
    let file = disk(ORIGIN).file("/s/repo/.git/remotes/good.example:x", "URL: evil.example:x\n");
    check_refused(&file, scp);
    // An implied `origin` can be such a file as well.
    let implied = disk("").file("/s/repo/.git/remotes/origin", "URL: evil.example:x\n");
    check_refused(&implied, BY_DEFAULT);
}

#[test]
fn a_name_with_control_characters_is_refused() {
    let config = "[remote \"a\tb\"]\nurl = https://good.example/a/b\n";
    check_refused(&disk(config), r#"{"path":"repo","remote":"a\tb"}"#);
    check_refused(&disk(config), BY_DEFAULT);
    check_refused(&disk(&format!("{ORIGIN}[remote]\npushDefault = \"a\\nb\"\n")), BY_DEFAULT);
}

#[test]
fn a_remote_that_promises_objects_is_judged_beside_any_other() {
    let config = format!("{ORIGIN}[remote \"p\"]\nurl = https://evil.example/p\npromisor = true\n");
    for arguments in [BY_NAME, BY_URL] {
        let found = judged(&disk(&config), arguments);
        assert!(found.contains("evil.example/p") && found.contains("good.example/a/b"), "{found}");
    }
    check(&format!("{ORIGIN}promisor = true\n"), BY_NAME, "good.example/a/b");
}
