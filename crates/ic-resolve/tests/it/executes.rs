//! What the host would execute of a call's changes: shapes of repositories, names in configurations,
//! CI at the top, directories made in passing, moved directories and links.

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, SandboxKind, Verdict, evaluate};
use ic_resolve::{Orders, Places, Resolver, UserGit, bounds};
use ic_testkit::MemoryDisk;
use ic_types::{AbsolutePath, Json, JsonLimits, ToolCall};

const TOOLS: &str = r#"{"servers":{"s":{"tools":[
    {"toolName":"write","args":{"path":["write-path"]}},
    {"toolName":"writes","args":{"paths":["write-path"]}},
    {"toolName":"move","args":{"source":["read-path","delete-path"],"destination":["write-path"]}},
    {"toolName":"delete","args":{"path":["delete-path"]}},
    {"toolName":"git_init","args":{"path":["write-path"],"bare":["none"]}}
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

/// A workspace `/w` that is a repository, and beside it a directory of the user's.
pub(crate) fn disk() -> MemoryDisk {
    repository(MemoryDisk::new().dir("/h/Downloads").dir("/w/src"), "/w", "")
}

pub(crate) fn repository(disk: MemoryDisk, top: &str, config: &str) -> MemoryDisk {
    disk.dir(&format!("{top}/.git/objects"))
        .dir(&format!("{top}/.git/refs"))
        .file(&format!("{top}/.git/HEAD"), "ref: refs/heads/main\n")
        .file(&format!("{top}/.git/config"), config)
}

/// Judges a call by a policy that allows everything; returns the rule and its reason.
fn judged(disk: &MemoryDisk, sandbox: &str, kind: SandboxKind, tool: &str, json: &str) -> String {
    let places = Places {
        home: AbsolutePath::new("/h").unwrap(),
        sandbox: Some((AbsolutePath::new(sandbox).unwrap(), kind)),
        protected: Vec::new(),
    };
    let bounds = bounds::gather(disk, &places, std::collections::HashMap::new()).unwrap();
    let workspace = bounds.sandbox.as_ref().filter(|it| it.kind.is_used_by_host());
    let orders = Orders::of(&places.home, &UserGit::default(), workspace.map(|it| &it.path));
    let (sandbox, orders) = (bounds.sandbox.as_ref(), Some(&orders));
    let resolver = Resolver { disk, home: &places.home, sandbox, orders, seen_as: None };
    let Json::Object(arguments) = Json::parse(json.as_bytes(), JsonLimits::CALL).unwrap() else {
        panic!("{json}");
    };
    let call = ToolCall { server: "s".parse().unwrap(), tool: tool.parse().unwrap(), arguments };
    let policy = policy();
    match evaluate(&policy, &bounds, resolver.resolve(&policy, call)) {
        Verdict::Allow(_) => "allow".to_owned(),
        Verdict::Deny(denial) => format!("deny {}", denial.rule()),
        Verdict::Escalate(escalation) => format!("{}: {}", escalation.rule(), escalation.reason()),
    }
}

#[track_caller]
pub(crate) fn asks(disk: &MemoryDisk, tool: &str, json: &str, because: &str) {
    let said = judged(disk, "/w", SandboxKind::Workspace, tool, json);
    let is_asked = said.starts_with("structural-host-executes: ") && said.contains(because);
    assert!(is_asked, "{tool} {json}: {said}");
    // The same in a sandbox of the session's is free, as long as all of it stays there.
    if !json.contains("/h/") {
        let said = judged(disk, "/w", SandboxKind::Session, tool, json);
        assert_eq!(said, "allow", "{tool} {json} in a sandbox");
    }
}

#[track_caller]
pub(crate) fn is_free(disk: &MemoryDisk, tool: &str, json: &str) {
    let said = judged(disk, "/w", SandboxKind::Workspace, tool, json);
    assert_eq!(said, "allow", "{tool} {json}");
}

pub(crate) fn write(path: &str) -> String {
    format!(r#"{{"path":"{path}"}}"#)
}

#[test]
fn all_of_git_s_own_files_ask() {
    for name in [
        ".git/commondir",
        ".git/index",
        ".git/HEAD",
        ".git/rebase-merge/git-rebase-todo",
        ".git/objects/aa/bb",
        ".git/anything",
        "sub/.git/objects",
        "node_modules/x/.git/config",
        ".GIT/hooks/x",
    ] {
        for tool in ["write", "delete"] {
            asks(&disk(), tool, &write(&format!("/w/{name}")), "");
        }
    }
}

#[test]
fn a_directory_that_gets_the_shape_of_a_repository_asks() {
    let parts = ["HEAD", "objects", "refs"];
    for top in ["/w", "/w/x", "/w/deep/er/y.git"] {
        for last in parts {
            let mut disk = disk();
            for part in parts.iter().filter(|part| **part != last) {
                let path = write(&format!("{top}/{part}"));
                match *part {
                    // The user's own git may bring the other parts.
                    "HEAD" => asks(&disk, "write", &path, ""),
                    _ => is_free(&disk, "write", &path),
                }
                disk = disk.dir(&format!("{top}/{part}"));
            }
            asks(&disk, "write", &write(&format!("{top}/{last}")), "for a repository");
            let deep = format!("{top}/{last}/deeper/file");
            asks(&disk, "write", &write(&deep), "for a repository");
        }
        asks(&disk(), "write", &write(&format!("{top}/commondir")), "for a repository");
    }
    // All at once.
    let json = r#"{"paths":["/w/x/HEAD","/w/x/objects/a","/w/x/refs/heads/main"]}"#;
    asks(&disk(), "writes", json, "for a repository");
    let json = r#"{"paths":["/w/x/head","/w/y/objects/a","/w/x/refs/heads/main"]}"#;
    is_free(&disk(), "writes", json);
}

#[test]
fn everything_in_a_repository_without_a_dot_git_asks() {
    let disk = disk()
        .dir("/w/bare/objects")
        .dir("/w/bare/refs")
        .file("/w/bare/HEAD", "ref: refs/heads/main\n");
    for name in ["config", "hooks/post-checkout", "description"] {
        asks(&disk, "write", &write(&format!("/w/bare/{name}")), "for a repository");
    }
    asks(&disk, "delete", &write("/w/bare"), "for a repository");
    asks(&disk, "delete", &write("/w/bare/HEAD"), "for a repository");
    let json = r#"{"source":"/w/bare","destination":"/w/other"}"#;
    asks(&disk, "move", json, "for a repository");
    is_free(&disk, "write", &write("/w/barely"));
}

#[test]
fn a_repository_is_made_without_a_question_only_with_a_dot_git() {
    is_free(&disk(), "git_init", r#"{"path":"/w/new"}"#);
    asks(&disk(), "git_init", r#"{"path":"/w/new","bare":true}"#, "for a repository");
}

#[test]
fn what_the_configuration_of_a_repository_names_asks() {
    for (config, named) in [
        ("[core]\nhooksPath = .githooks", ".githooks/pre-commit"),
        ("[core]\nhooksPath = /w/tools/hooks", "tools/hooks/pre-push"),
        ("[core]\nhooksPath = .", "pre-commit"),
        ("[include]\npath = ../.gitextra", ".gitextra"),
        ("[includeIf \"gitdir:/w/\"]\npath = ../conf/git", "conf/git"),
        ("[core]\nfsmonitor = ./tools/fsm.sh", "tools/fsm.sh"),
        ("[core]\nsshCommand = ssh -F tools/ssh_config", "tools/ssh_config"),
        ("[core]\nattributesFile = attrs", "attrs"),
        ("[core]\neditor = \\\"$PWD/tools/edit\\\" --wait", "tools/edit"),
        ("[core]\npager = tools/pager", "tools/pager"),
        ("[alias]\nx = !sh run.sh", "run.sh"),
        ("[alias]\nx = \"!f() { cd tools && ./x.sh; }; f\"", "tools/x.sh"),
        ("[filter \"f\"]\nclean = tools/clean %f", "tools/clean"),
        ("[filter \"f\"]\nprocess = python3 tools/proc.py", "tools/proc.py"),
        ("[diff]\nexternal = tools/d", "tools/d"),
        ("[diff \"x\"]\ntextconv = tools/t", "tools/t"),
        ("[merge \"x\"]\ndriver = tools/m %O %A %B", "tools/m"),
        ("[credential]\nhelper = !/w/tools/h", "tools/h"),
        ("[credential \"https://x.example\"]\nhelper = /w/tools/h", "tools/h"),
        ("[sequence]\neditor = tools/s", "tools/s"),
        ("[gpg \"ssh\"]\nprogram = tools/g", "tools/g"),
    ] {
        let disk = repository(disk().file("/w/unrelated", ""), "/w", config);
        asks(&disk, "write", &write(&format!("/w/{named}")), "names it");
        asks(&disk, "delete", &write(&format!("/w/{named}")), "names it");
        is_free(&disk, "write", &write("/w/src/main.rs"));
    }
    let disk = repository(disk().dir("/w/tools"), "/w", "[core]\nfsmonitor = ./tools/fsm.sh");
    asks(&disk, "delete", &write("/w/tools"), "names it");
    let json = r#"{"source":"/w/tools","destination":"/w/old"}"#;
    asks(&disk, "move", json, "names it");
}

/// Checked out or not, wherever it is or would be.
#[test]
fn what_the_configuration_of_a_submodule_names_asks() {
    let config = "[core]\nfsmonitor = sh tools/h.sh";
    for (module, more, named) in [
        ("foo", "", "foo/tools/h.sh"),
        ("libs/foo", "", "libs/foo/tools/h.sh"),
        ("libs/foo", "\nworktree = ../../../../other", "other/tools/h.sh"),
        ("libs/foo/modules/in/ner", "", "tools/h.sh"),
        ("named", "", "at/tools/h.sh"),
    ] {
        let file = format!("/w/.git/modules/{module}/config");
        let disk = repository(disk(), "/w", "").file(&file, &format!("{config}{more}"));
        let disk = disk.file("/w/.gitmodules", "[submodule \"named\"]\npath = at");
        let named = match module.contains("/modules/") {
            true => format!("libs/foo/modules/in/ner/{named}"),
            false => named.to_owned(),
        };
        asks(&disk, "write", &write(&format!("/w/{named}")), "names it");
        is_free(&disk, "write", &write("/w/src/main.rs"));
    }
}

#[test]
fn what_is_included_names_things_too_and_what_cannot_be_read_may() {
    let disk =
        repository(disk(), "/w", "[include]\npath = ../a").file("/w/a", "[include]\npath = b");
    let disk = disk.file("/w/b", "[core]\nhooksPath = h");
    asks(&disk, "write", &write("/w/h/pre-commit"), "core.hookspath");
    asks(&disk, "write", &write("/w/b"), "include.path");
    let odd = repository(MemoryDisk::new().dir("/w/src"), "/w", "[core\n");
    asks(&odd, "write", &write("/w/src/main.rs"), "cannot be read");
}

#[test]
fn the_user_s_own_configuration_counts_in_every_repository() {
    let disk =
        disk().file("/h/.gitconfig", "[core]\nhooksPath = .githooks\neditor = code --wait\n");
    asks(&disk, "write", &write("/w/.githooks/pre-commit"), "core.hookspath");
    is_free(&disk, "write", &write("/w/code/main.rs"));
}

#[test]
fn the_program_that_a_package_names_asks() {
    let disk = repository(disk().dir("/w/lib"), "/w", "[core]\neditor = node .\n")
        .file("/w/package.json", r#"{"name":"x","main":"lib/m"}"#);
    for name in ["package.json", "index.js", "index.cjs", "lib/m.js", "lib/m/index.js"] {
        asks(&disk, "write", &write(&format!("/w/{name}")), "core.editor");
    }
    is_free(&disk, "write", &write("/w/lib/other.js"));
    // Whatever is in it, it is no reason to fail.
    let odd = disk.file("/w/package.json", "{");
    asks(&odd, "write", &write("/w/package.json"), "core.editor");
    is_free(&odd, "write", &write("/w/lib/m.js"));
}

#[test]
fn a_program_that_only_the_shell_knows_asks_wherever_it_may_be() {
    let any = repository(disk(), "/w", "[core]\neditor = sh $(cat tools/name)\n");
    for name in ["tools/name", "src/x.sh", "run", "src/deep/x.py", "x.unheard-of"] {
        asks(&any, "write", &write(&format!("/w/{name}")), "core.editor");
    }
    let sh = "[core]\neditor = \"git ls-files '*.sh' | xargs -I% sh %; true\"\n";
    let sh = repository(disk(), "/w", sh);
    asks(&sh, "write", &write("/w/src/x.sh"), "core.editor");
    for disk in [&any, &sh] {
        for name in ["src/x.c", "README.md", "Cargo.toml"] {
            is_free(disk, "write", &write(&format!("/w/{name}")));
        }
    }
    for name in ["run", "x.py"] {
        is_free(&sh, "write", &write(&format!("/w/{name}")));
    }
}

#[test]
fn ordinary_settings_name_nothing() {
    let config = "[core]\nbare = false\neditor = vim\n[user]\nname = src\n[alias]\nco = checkout\n\
                  [remote \"origin\"]\nurl = https://x.example/src\nfetch = +refs/heads/*:refs/remotes/origin/*\n\
                  [branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n\
                  [filter \"lfs\"]\nclean = git-lfs clean -- %f\nrequired = true\n";
    let disk = repository(disk(), "/w", config);
    for name in ["src/main.rs", "vim", "Makefile", "refs", "docs/head", "main", "README.md"] {
        is_free(&disk, "write", &write(&format!("/w/{name}")));
    }
}

#[test]
fn pipelines_count_at_the_top_of_a_repository() {
    let disk = repository(disk().dir("/w/examples/x"), "/w/nested", "");
    for name in [".github/workflows/ci.yml", ".github", ".gitlab-ci.yml", "Jenkinsfile"] {
        asks(&disk, "write", &write(&format!("/w/{name}")), "CI");
        asks(&disk, "write", &write(&format!("/w/nested/{name}")), "CI");
        is_free(&disk, "write", &write(&format!("/w/examples/x/{name}")));
    }
    // Its directory is one of the names; made on the way to something that is not run it is free.
    for name in [".github/README.md", ".github/ISSUE_TEMPLATE/bug.md", ".github/CODEOWNERS"] {
        is_free(&disk, "write", &write(&format!("/w/{name}")));
    }
    for name in [".github/actions/x/action.yml", ".github/workflows", ".github"] {
        asks(&disk, "write", &write(&format!("/w/{name}")), "CI");
        asks(&disk, "delete", &write(&format!("/w/{name}")), "CI");
    }
    let json = r#"{"source":"/w/x","destination":"/w/.github"}"#;
    asks(&disk.dir("/w/x"), "move", json, "CI");
}

#[test]
fn where_a_pointer_leads_is_git_s_own() {
    // As a submodule, or a repository with its store elsewhere.
    let disk = disk()
        .file("/w/sub/.git", "gitdir: ../stores/sub\n")
        .file("/w/stores/sub/commondir", "../common\n")
        .dir("/w/stores/common/refs");
    for path in ["/w/stores/sub/config", "/w/stores/common/hooks/pre-commit"] {
        asks(&disk, "write", &write(path), "");
    }
}

#[test]
fn directories_made_in_passing_count() {
    let disk = disk();
    let said = judged(&disk, "/w", SandboxKind::Workspace, "write", r#"{"path":"/h/.config/x/y"}"#);
    assert!(said.starts_with("structural-host-executes: "), "{said}");
    let there = disk.dir("/h/.config");
    let said =
        judged(&there, "/w", SandboxKind::Workspace, "write", r#"{"path":"/h/.config/x/y"}"#);
    assert_eq!(said, "allow");
}

#[test]
fn names_count_outside_of_the_sandbox_whatever_it_is() {
    for kind in [SandboxKind::Session, SandboxKind::Workspace] {
        for (tool, json) in [
            ("write", r#"{"path":"/h/Downloads/x/.envrc"}"#),
            ("write", r#"{"path":"/h/Downloads/.vscode/tasks.json"}"#),
            ("move", r#"{"source":"/w/tree","destination":"/h/Downloads/tree"}"#),
            ("move", r#"{"source":"/w/store","destination":"/h/Downloads/store"}"#),
        ] {
            let disk = disk()
                .file("/w/tree/a/.envrc", "x")
                .dir("/w/store/x/objects")
                .dir("/w/store/x/refs")
                .file("/w/store/x/HEAD", "x");
            let said = judged(&disk, "/w", kind, tool, json);
            assert!(said.starts_with("structural-host-executes: "), "{kind:?} {json}: {said}");
        }
    }
}

#[test]
fn packages_hold_only_git_s_own_files_that_count() {
    for name in
        ["node_modules/x/.npmrc", "vendor/x/.envrc", ".venv/x/.vscode/a", "target/.mcp.json"]
    {
        is_free(&disk(), "write", &write(&format!("/w/{name}")));
    }
    // What leaves such a directory counts where it goes.
    let disk = disk().file("/w/vendor/x/.envrc", "x");
    let json = r#"{"source":"/w/vendor/x","destination":"/w/x"}"#;
    asks(&disk, "move", json, ".envrc");
}
