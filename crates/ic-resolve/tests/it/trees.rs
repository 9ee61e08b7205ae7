//! Linked working trees: the repository behind one is judged with it, and nobody's word alone counts.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, SandboxKind, Value, evaluate};
use ic_resolve::{Disk, Entry, Kind, Places, Resolver, bounds};
use ic_testkit::MemoryDisk;
use ic_types::{AbsolutePath, Json, JsonLimits, Role, ToolCall};

const TOOLS: &str = r#"{"servers":{"s":{"tools":[
    {"toolName":"git_status","args":{"path":["read-path"]}},
    {"toolName":"git_checkout","args":{"path":["read-path","write-path","write-history"]}},
    {"toolName":"git_push","args":{"path":["read-path","write-history"],"remote":["git-remote-url"]}},
    {"toolName":"git_worktree","args":{"path":["read-path","write-history"],
        "mode":["none"],
        "worktreePath":{"default":["read-path","delete-path"],
            "when":[{"condition":{"arg":"mode","equals":"add"},"roles":["write-path"]}],"relativeTo":"path"},
        "newPath":{"roles":["write-path"],"relativeTo":"path"}}},
    {"toolName":"move","args":{"source":["read-path","delete-path"],"destination":["write-path"]}},
    {"toolName":"list","args":{"path":["read-path"]}}
]}}}"#;

const CONFIG: &str = "[remote \"origin\"]\nurl = https://github.com/acme/app.git\n\
    [branch \"side\"]\nremote = other\n[remote \"other\"]\nurl = https://b.example/x\n";

/// A repository in `/s/repo`, and one outside in `/out/repo`; `/s/tree` is a tree of the first.
fn disk() -> MemoryDisk {
    let disk = ["/s/repo", "/out/repo"].iter().fold(MemoryDisk::new(), |disk, top| {
        disk.dir(&format!("{top}/.git/objects"))
            .dir(&format!("{top}/.git/refs"))
            .file(&format!("{top}/.git/HEAD"), "ref: refs/heads/main\n")
            .file(&format!("{top}/.git/config"), CONFIG)
    });
    entry(disk, "/s/repo", "t", "/s/tree").file("/s/tree/a", "x")
}

/// Makes `tree` the linked working tree `name` of `repository`.
fn entry(disk: MemoryDisk, repository: &str, name: &str, tree: &str) -> MemoryDisk {
    let own = format!("{repository}/.git/worktrees/{name}");
    disk.file(&format!("{own}/HEAD"), "ref: refs/heads/side\n")
        .file(&format!("{own}/commondir"), "../..\n")
        .file(&format!("{own}/gitdir"), &format!("{tree}/.git\n"))
        .file(&format!("{tree}/.git"), &format!("gitdir: {own}\n"))
}

fn policy() -> Policy {
    let rules = br#"{"rules":[{"name":"all","if":{},"then":"allow","reason":"r"}]}"#;
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules },
        annotations: Source { file: "tool-annotations.json", bytes: TOOLS.as_bytes() },
        lists: None,
    };
    Policy::load(&sources, &|_| Err("no paths here".to_owned())).unwrap()
}

/// Returns the values of `role` and the rule that decides.
fn judged(disk: &dyn Disk, tool: &str, arguments: &str, role: Role) -> (String, String) {
    let places = Places {
        home: AbsolutePath::new("/home/u").unwrap(),
        sandbox: Some((AbsolutePath::new("/s").unwrap(), SandboxKind::Workspace)),
        protected: vec![AbsolutePath::new("/out/secret").unwrap()],
    };
    let bounds = bounds::gather(disk, &places, std::collections::HashMap::new()).unwrap();
    let resolver = Resolver {
        disk,
        home: &places.home,
        sandbox: bounds.sandbox.as_ref(),
        orders: None,
        seen_as: None,
    };
    let policy = policy();
    let Ok(Json::Object(arguments)) = Json::parse(arguments.as_bytes(), JsonLimits::CALL) else {
        panic!("{arguments}");
    };
    let call = ToolCall { server: "s".parse().unwrap(), tool: tool.parse().unwrap(), arguments };
    let call = resolver.resolve(&policy, call);
    let values = call.values(role).iter().map(|value| match value {
        Value::Url(url) => url.destination.to_string(),
        other => other.to_string(),
    });
    let values = values.collect::<Vec<_>>().join(" ");
    (values, evaluate(&policy, &bounds, call).rule().to_owned())
}

#[track_caller]
fn check(disk: &MemoryDisk, (tool, path): (&str, &str), role: Role, values: &str, rule: &str) {
    let arguments = format!(r#"{{"path":"{path}"}}"#);
    let expected = (values.to_owned(), rule.to_owned());
    assert_eq!(judged(disk, tool, &arguments, role), expected, "{tool} {path}");
}

#[test]
fn the_repository_behind_a_tree_is_judged_in_the_same_roles() {
    let disk = disk();
    check(&disk, ("git_status", "tree"), Role::ReadPath, "/s/tree /s/repo", "all");
    for role in [Role::ReadPath, Role::WritePath, Role::WriteHistory] {
        check(&disk, ("git_checkout", "tree"), role, "/s/tree /s/repo", "all");
    }
    check(&disk, ("git_status", "repo"), Role::ReadPath, "/s/repo", "all");
    // A tool that is not git's sees a directory with a file in it.
    check(&disk, ("list", "tree"), Role::ReadPath, "/s/tree", "all");
    // Also where a link leads to the tree, and where the repository is elsewhere.
    let disk = disk.link("/s/l", "/s/tree");
    check(&disk, ("git_status", "l"), Role::ReadPath, "/s/tree /s/repo", "all");
    let disk = entry(disk, "/out/repo", "u", "/s/far");
    check(&disk, ("git_status", "far"), Role::ReadPath, "/s/far /out/repo", "all");
    let disk = entry(disk, "/out/secret/repo", "v", "/s/hidden");
    let rule = "structural-protected-path";
    check(&disk, ("git_status", "hidden"), Role::ReadPath, "/s/hidden /out/secret/repo", rule);
}

#[test]
fn a_tree_whose_ends_do_not_agree_leads_to_no_repository() {
    let pointing = |to: &str| disk().file("/s/tree/.git", &format!("gitdir: {to}\n"));
    let own =
        |part: &str, text: &str| disk().file(&format!("/s/repo/.git/worktrees/t/{part}"), text);
    for disk in [
        pointing("/out/repo/.git"),
        pointing("/out/repo/.git/worktrees/t"),
        pointing("../repo/.git/worktrees/t"),
        pointing("/s/tree/../repo/.git/worktrees/t"),
        pointing("/s/repo/.git/worktrees/x"),
        // The names lead to the entry, but through a link.
        pointing("/s/linked/.git/worktrees/t").link("/s/linked", "/s/repo"),
        own("gitdir", "/s/other/.git\n"),
        own("gitdir", "/s/tree/.git"),
        own("commondir", "/out/repo/.git\n"),
        own("commondir", "../../../../out/repo/.git\n"),
        disk()
            .link("/s/repo/.git/worktrees/u", "/s/repo/.git/worktrees/t")
            .file("/s/tree/.git", "gitdir: /s/repo/.git/worktrees/u\n"),
    ] {
        check(&disk, ("git_status", "tree"), Role::ReadPath, "/s/tree", "all");
        // And so a remote is not looked up either.
        for remote in ["", r#","remote":"origin""#] {
            let arguments = format!(r#"{{"path":"tree"{remote}}}"#);
            let (urls, rule) = judged(&disk, "git_push", &arguments, Role::GitRemoteUrl);
            assert_eq!((urls.as_str(), rule.as_str()), ("", "structural-invalid-value"));
        }
    }
}

#[test]
fn a_push_from_a_tree_is_judged_by_the_config_of_its_repository_and_its_own_branch() {
    let disk = disk();
    for (arguments, urls) in [
        (r#"{"path":"repo"}"#, "github.com/acme/app"),
        (r#"{"path":"tree"}"#, "b.example/x"),
        (r#"{"path":"tree","remote":"origin"}"#, "github.com/acme/app"),
    ] {
        let (found, rule) = judged(&disk, "git_push", arguments, Role::GitRemoteUrl);
        assert_eq!((found.as_str(), rule.as_str()), (urls, "all"), "{arguments}");
    }
    let named = disk.file("/s/repo/.git/remotes/origin", "URL: https://evil.example/\n");
    let arguments = r#"{"path":"tree","remote":"origin"}"#;
    let (_, rule) = judged(&named, "git_push", arguments, Role::GitRemoteUrl);
    assert_eq!(rule, "structural-invalid-value");
}

#[test]
fn only_git_takes_the_pointer_of_a_tree_away() {
    let rule = |disk: &MemoryDisk, tool: &str, arguments: &str| {
        judged(disk, tool, arguments, Role::ReadPath).1
    };
    let removed = r#"{"path":"repo","mode":"remove","worktreePath":"../tree"}"#;
    let moved = r#"{"path":"repo","mode":"move","worktreePath":"../tree","newPath":"../new"}"#;
    let added = r#"{"path":"repo","mode":"add","worktreePath":"../new"}"#;
    for arguments in [removed, moved, added] {
        assert_eq!(rule(&disk(), "git_worktree", arguments), "all", "{arguments}");
    }
    let by_hand = r#"{"source":"tree","destination":"new"}"#;
    assert_eq!(rule(&disk(), "move", by_hand), "structural-host-executes");
    // What the host runs, and git's own files, are asked about all the same.
    let busy = disk().file("/s/tree/.vscode/tasks.json", "{}");
    for arguments in [removed, moved] {
        assert_eq!(rule(&busy, "git_worktree", arguments), "structural-host-executes");
    }
    for (disk, arguments) in [
        (disk(), r#"{"path":"repo","mode":"add","worktreePath":".git/worktrees/x"}"#),
        (disk(), r#"{"path":"repo","mode":"add","worktreePath":".git/hooks"}"#),
        (disk(), r#"{"path":"repo","mode":"remove","worktreePath":"../repo"}"#),
        (
            disk().file("/s/tree/.git", "gitdir: /out/repo/.git\n"),
            r#"{"path":"repo","mode":"remove","worktreePath":"../tree"}"#,
        ),
    ] {
        assert_eq!(
            rule(&disk, "git_worktree", arguments),
            "structural-host-executes",
            "{arguments}"
        );
    }
}

#[test]
fn a_link_among_gits_own_files_asks_a_person() {
    let rule = |disk: &MemoryDisk, source: &str, destination: &str| {
        let arguments = format!(r#"{{"source":"{source}","destination":"{destination}"}}"#);
        judged(disk, "move", &arguments, Role::DeletePath).1
    };
    let disk = disk()
        .link("/s/repo/l", "config")
        .file("/s/repo/f", "x")
        .link("/s/repo/d/deep/l", "../../../.envrc")
        .file("/s/repo/e/f", "x");
    for (source, destination) in [
        ("repo/l", "repo/.git/COMMIT_EDITMSG"),
        ("repo/l", "repo/.git/logs/refs/heads/main"),
        ("repo/d", "repo/.git/rebase-merge"),
        ("repo/d/deep", "repo/.git/objects/78"),
        ("repo/f", "repo/.git/COMMIT_EDITMSG"),
        ("repo/e", "repo/.git/x"),
    ] {
        assert_eq!(rule(&disk, source, destination), "structural-host-executes", "{source}");
    }
    // A link elsewhere is the agent's own affair.
    assert_eq!(rule(&disk, "repo/l", "repo/m"), "all");
}

#[test]
fn a_tree_that_leads_out_of_the_workspace_asks_a_person() {
    let rule = |disk: &MemoryDisk, arguments: &str| {
        judged(disk, "git_worktree", arguments, Role::WritePath).1
    };
    // A tree in the workspace of a repository that is not, and one that is elsewhere altogether.
    let disk = entry(disk(), "/out/repo", "o", "/s/theirs");
    let disk = entry(disk, "/out/repo", "p", "/out/theirs");
    for arguments in [
        r#"{"path":"/out/repo","mode":"add","worktreePath":"/s/new"}"#,
        r#"{"path":"/out/repo","mode":"add","worktreePath":"/s/repo/deep/new"}"#,
        r#"{"path":"/s/theirs","mode":"add","worktreePath":"/s/new"}"#,
        r#"{"mode":"add","worktreePath":"/s/new"}"#,
        r#"{"path":"/out/repo","mode":"move","worktreePath":"/out/theirs","newPath":"/s/new"}"#,
        r#"{"path":"/out/repo","mode":"move","worktreePath":"/s/theirs","newPath":"/s/new"}"#,
        r#"{"path":"/out/repo","mode":"remove","worktreePath":"/s/theirs"}"#,
    ] {
        assert_eq!(rule(&disk, arguments), "structural-host-executes", "{arguments}");
    }
    let elsewhere = r#"{"path":"/out/repo","mode":"add","worktreePath":"/out/new"}"#;
    assert_eq!(rule(&disk, elsewhere), "all");
}

/// A disk on which the directory `/s/sealed/in` can be moved and not be listed.
struct Sealed(MemoryDisk);

impl Disk for Sealed {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.0.look(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.read_link(path)
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        self.0.read_file(path, bytes_max)
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        match path == Path::new("/s/sealed/in") {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => self.0.list(path, n_max),
        }
    }
}

#[test]
fn what_cannot_be_looked_at_asks_a_person() {
    let disk = disk().file("/s/sealed/in/.vscode/tasks.json", "{}").dir("/s/plain/in");
    let sealed = Sealed(disk);
    let rule = |source: &str| {
        let arguments = format!(r#"{{"source":"{source}","destination":"new"}}"#);
        judged(&sealed, "move", &arguments, Role::DeletePath).1
    };
    assert_eq!(rule("sealed"), "structural-host-executes");
    assert_eq!(rule("sealed/in"), "structural-host-executes");
    assert_eq!(rule("plain"), "all");
}
