//! Further working trees: everyday work in them, and what an agent can make of their pointers.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ic_servers::filesystem::Rights;
use ic_servers::tools::Cancel;
use serde_json::{Value, json};

use super::bench::{Bench, told};

/// A bench with the linked working tree `in/fix` on the branch `fix`, made by the tool.
fn linked() -> Bench {
    let bench = Bench::new();
    let arguments = json!({"mode": "add", "worktreePath": "../fix", "branch": "fix"});
    done(&bench, "r", "git_worktree", arguments);
    bench
}

/// Calls a tool in `in/<name>`; a tree beside it is named as a resolver does, without `..`.
#[track_caller]
fn at(bench: &Bench, name: &str, tool: &str, mut arguments: Value) -> Result<String, String> {
    arguments["path"] = json!(bench.ground.text(&format!("in/{name}")));
    for key in ["worktreePath", "newPath"] {
        let beside = arguments[key].as_str().and_then(|text| text.strip_prefix("../"));
        if let Some(beside) = beside.filter(|rest| !rest.starts_with("..")) {
            arguments[key] = json!(bench.ground.text(&format!("in/{beside}")));
        }
    }
    let arguments = match arguments {
        Value::Object(all) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    };
    bench.call(tool, arguments)
}

#[track_caller]
fn done(bench: &Bench, name: &str, tool: &str, arguments: Value) -> String {
    let shown = arguments.to_string();
    at(bench, name, tool, arguments).unwrap_or_else(|text| panic!("{tool} {shown}: {text}"))
}

#[track_caller]
fn refused(bench: &Bench, name: &str, tool: &str, arguments: Value, part: &str) {
    let shown = arguments.to_string();
    match at(bench, name, tool, arguments) {
        Ok(text) => panic!("{tool} {shown} was done: {text}"),
        Err(text) => assert!(text.contains(part), "{tool} {shown}: `{part}` is not in `{text}`"),
    }
}

#[test]
fn trees_are_made_moved_and_removed_as_git_would() {
    let bench = linked();
    let list = |bench: &Bench| bench.git("in/r", &["worktree", "list"]);
    assert!(list(&bench).contains("in/fix "), "{}", list(&bench));
    assert_eq!(bench.git("in/fix", &["status", "--porcelain"]), "");
    assert_eq!(bench.ground.read("in/fix/dir/b.txt"), "b\n");
    assert_eq!(bench.git("in/fix", &["branch", "--show-current"]), "fix\n");
    let worktree = |arguments: Value| done(&bench, "r", "git_worktree", arguments);
    // A branch that is there, a commit, nothing but a name; directories on the way are made.
    bench.git("in/r", &["branch", "there", "HEAD~1"]);
    worktree(json!({"mode": "add", "worktreePath": "trees/a/b", "commitish": "there"}));
    assert_eq!(bench.ground.read("in/r/trees/a/b/a.txt"), "one\n");
    worktree(json!({"mode": "add", "worktreePath": "../d", "detach": true, "commitish": "HEAD~1"}));
    assert_eq!(bench.git("in/d", &["branch", "--show-current"]), "");
    bench.ground.dir("in/named");
    worktree(json!({"mode": "add", "worktreePath": bench.ground.text("in/named")}));
    assert_eq!(bench.git("in/named", &["branch", "--show-current"]), "named\n");
    worktree(json!({"mode": "add", "worktreePath": "../x/b", "branch": "b2", "commitish": "main"}));
    let told = worktree(json!({}));
    for part in ["in/r  [main]", "in/fix  [fix] (linked: fix)", "in/d  (detached HEAD)", "b1"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(list(&bench).lines().count(), 6, "{}", list(&bench));
    // An entry as older versions of git made them does no harm to the rest.
    let old = bench.ground.text("in/r/.git/worktrees/an old one");
    bench.ground.write("in/r/.git/worktrees/an old one/gitdir", "/nowhere/.git\n");
    assert!(worktree(json!({})).contains("/nowhere  (detached HEAD) (linked: an old one)"));
    fs::remove_dir_all(old).unwrap();
    // Moved: both git and we find it there.
    let moved = json!({"mode": "move", "worktreePath": "../fix", "newPath": "../far/fixed"});
    worktree(moved);
    assert!(!bench.ground.exists("in/fix") && list(&bench).contains("in/far/fixed "));
    assert!(done(&bench, "far/fixed", "git_status", json!({})).contains("On branch fix"));
    // Removed, from another tree: its branch stays.
    let removed = json!({"mode": "remove", "worktreePath": "../far/fixed"});
    done(&bench, "d", "git_worktree", removed);
    assert!(!bench.ground.exists("in/far/fixed") && !list(&bench).contains("far/fixed"));
    assert!(bench.git("in/r", &["branch"]).contains("fix"));
    bench.git("in/r", &["fsck", "--strict"]);
    bench.check_untouched("trees");
}

#[test]
fn what_is_not_committed_is_not_removed_without_force() {
    let bench = linked();
    let remove = |more: Value| {
        let mut arguments = json!({"mode": "remove", "worktreePath": "../fix"});
        arguments["force"] = more;
        at(&bench, "r", "git_worktree", arguments)
    };
    bench.ground.write("in/fix/new.txt", "new\n");
    assert!(remove(json!(false)).is_err_and(|text| text.contains("not tracked")));
    fs::remove_file(bench.ground.path("in/fix/new.txt")).unwrap();
    bench.ground.write("in/fix/a.txt", "changed\n");
    assert!(remove(json!(false)).is_err_and(|text| text.contains("not committed")));
    bench.git("in/r", &["worktree", "lock", "../fix"]);
    assert!(remove(json!(true)).is_err_and(|text| text.contains("locked")));
    let moved = json!({"mode": "move", "worktreePath": "../fix", "newPath": "../y"});
    refused(&bench, "r", "git_worktree", moved, "locked");
    bench.git("in/r", &["worktree", "unlock", "../fix"]);
    // A link in it is removed, and not what it leads to.
    bench.ground.link("in/fix/out", bench.ground.path("out"));
    bench.ground.link("in/fix/r", bench.ground.path("in/r"));
    remove(json!(true)).unwrap();
    assert!(!bench.ground.exists("in/fix") && bench.ground.exists("in/r/a.txt"));
    bench.check_untouched("remove");
}

#[test]
fn trees_that_are_gone_are_forgotten_if_that_can_be_seen() {
    let bench = linked();
    let prune = |arguments: Value| {
        let mut arguments = arguments;
        arguments["mode"] = json!("prune");
        done(&bench, "r", "git_worktree", arguments)
    };
    assert!(prune(json!({})).contains("every working tree is where it should be"));
    for name in ["gone", "kept"] {
        let arguments = json!({"mode": "add", "worktreePath": format!("../{name}")});
        done(&bench, "r", "git_worktree", arguments);
    }
    bench.git("in/r", &["worktree", "lock", "../kept"]);
    for name in ["gone", "kept"] {
        fs::remove_dir_all(bench.ground.path(format!("in/{name}"))).unwrap();
    }
    // Somebody's tree in a place that is not shown to the server.
    bench.ground.dir("far");
    bench.git("in/r", &["worktree", "add", "-q", &bench.ground.text("far/tree")]);
    let dry = prune(json!({"dryRun": true}));
    assert!(dry.contains("in/gone  (linked: gone): would be forgotten"), "{dry}");
    assert!(bench.ground.exists("in/r/.git/worktrees/gone"));
    let told = prune(json!({}));
    for part in
        ["gone): forgotten", "kept): kept, since it is locked", "far/tree  (linked: tree): kept"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(bench.ground.names("in/r/.git/worktrees"), ["fix", "kept", "tree"]);
}

#[test]
fn everyday_work_goes_on_in_a_tree() {
    let bench = linked();
    bench.ground.write("in/fix/a.txt", "one\ntwo\nfix\n");
    let git = |tool: &str, arguments: Value| done(&bench, "fix", tool, arguments);
    for (tool, arguments, part) in [
        ("git_status", json!({}), "a.txt"),
        ("git_diff", json!({}), "+fix"),
        ("git_diff", json!({"includeUntracked": true}), "+fix"),
        ("git_add", json!({"files": ["."]}), "a.txt"),
        ("git_commit", json!({"message": "fixed"}), "fixed"),
        ("git_log", json!({"oneline": true, "maxCount": 1}), "fixed"),
        ("git_show", json!({"object": "HEAD"}), "+fix"),
        ("git_blame", json!({"file": "a.txt"}), "fix"),
        ("git_reflog", json!({}), "commit: fixed"),
        ("git_branch", json!({}), "* fix"),
        ("git_branch", json!({"operation": "show-current"}), "fix"),
        ("git_checkout", json!({"target": "fix"}), "switched to the branch `fix`"),
        ("git_checkout", json!({"target": "more", "createBranch": true}), "more"),
        ("git_checkout", json!({"target": "HEAD~1"}), "on no branch"),
        ("git_checkout", json!({"target": "fix"}), "fix"),
        ("git_branch", json!({"operation": "delete", "name": "more", "force": true}), "more"),
        ("git_branch", json!({"operation": "rename", "name": "fix", "newName": "fix2"}), "fix2"),
        ("git_tag", json!({"mode": "create", "tagName": "t"}), "t"),
        ("git_remote", json!({"mode": "add", "name": "o", "url": "https://example.org/a/b"}), "o"),
        ("git_worktree", json!({}), "in/fix  [fix2] (linked: fix)"),
        ("git_reset", json!({"mode": "soft", "target": "HEAD~1"}), "soft"),
        ("git_commit", json!({"message": "fixed again"}), "fixed again"),
        ("git_set_working_dir", json!({"includeMetadata": true}), "On branch fix2"),
    ] {
        let told = git(tool, arguments.clone());
        assert!(told.contains(part), "{tool} {arguments}: {told}");
    }
    // What is put aside is the repository's; what is checked out is the tree's.
    bench.ground.write("in/fix/a.txt", "aside\n");
    git("git_stash", json!({"mode": "push"}));
    assert!(bench.done("git_stash", json!({})).contains("stash@{0}"));
    git("git_stash", json!({"mode": "pop"}));
    git("git_reset", json!({"mode": "hard"}));
    // A merge and a rebase with conflicts stay in the tree.
    bench.ground.write("in/r/a.txt", "one\ntwo\nmain\n");
    bench.done("git_commit", json!({"message": "main", "filesToStage": ["a.txt"]}));
    refused(&bench, "fix", "git_rebase", json!({"upstream": "main"}), "CONFLICT");
    assert!(bench.done("git_status", json!({})).contains("nothing to commit"));
    git("git_rebase", json!({"mode": "abort"}));
    refused(&bench, "fix", "git_merge", json!({"branch": "main"}), "CONFLICT");
    bench.ground.write("in/fix/a.txt", "one\ntwo\nboth\n");
    git("git_add", json!({"files": ["a.txt"]}));
    git("git_commit", json!({"message": "both"}));
    bench.done("git_merge", json!({"branch": "fix2"}));
    assert_eq!(bench.ground.read("in/r/a.txt"), "one\ntwo\nboth\n");
    assert_eq!(bench.git("in/fix", &["status", "--porcelain"]), "");
    assert_eq!(bench.git("in/r", &["status", "--porcelain"]), "");
    bench.git("in/r", &["fsck", "--strict"]);
    bench.check_untouched("a day");
}

#[test]
fn a_branch_is_checked_out_once() {
    let bench = linked();
    for (name, tool, arguments) in [
        ("r", "git_checkout", json!({"target": "fix"})),
        ("fix", "git_checkout", json!({"target": "main"})),
        ("r", "git_branch", json!({"operation": "delete", "name": "fix", "force": true})),
        ("fix", "git_branch", json!({"operation": "delete", "name": "main", "force": true})),
        ("r", "git_branch", json!({"operation": "create", "name": "fix", "force": true})),
        ("fix", "git_branch", json!({"operation": "create", "name": "main", "force": true})),
        ("r", "git_worktree", json!({"mode": "add", "worktreePath": "../x", "branch": "fix"})),
        ("r", "git_worktree", json!({"mode": "add", "worktreePath": "../x", "branch": "main"})),
        ("fix", "git_worktree", json!({"mode": "add", "worktreePath": "../x", "branch": "main"})),
        ("fix", "git_worktree", json!({"mode": "add", "worktreePath": "../main"})),
        ("fix", "git_branch", json!({"operation": "rename", "name": "main", "newName": "m"})),
        ("r", "git_branch", json!({"operation": "rename", "name": "fix", "newName": "f"})),
    ] {
        let told = at(&bench, name, tool, arguments.clone());
        assert!(told.is_err(), "{name} {tool} {arguments}: {told:?}");
    }
    assert_eq!(bench.ground.names("in"), ["fix", "r"]);
    assert_eq!(bench.git("in/r", &["branch", "--show-current"]), "main\n");
    assert_eq!(bench.git("in/fix", &["branch", "--show-current"]), "fix\n");
}

#[test]
fn a_tree_is_made_only_where_nothing_is_and_by_its_own_name() {
    let bench = Bench::new();
    bench.ground.write("in/full/x", "x");
    bench.ground.write("in/file", "x");
    bench.ground.link("in/link", bench.ground.path("in/full"));
    bench.ground.link("in/away", bench.ground.path("out"));
    let outside = bench.ground.text("out/new");
    for (place, part) in [
        ("../full", "is not an empty directory"),
        ("../file", "is not an empty directory"),
        ("../link", "is not an empty directory"),
        ("../link/new", "cannot make the directory"),
        ("../away/new", "cannot make the directory"),
        ("../file/new", "cannot make the directory"),
        (&outside, "outside of the directories"),
        ("../../out/new", "cannot be used as a path"),
        ("../..", "cannot be used as a path"),
        (".git/x", "git's own files"),
        (".GIT/x", "git's own files"),
        ("sub/.git", "git's own files"),
        (".", "is not in canonical form"),
        ("", "is not in canonical form"),
    ] {
        let arguments = json!({"mode": "add", "worktreePath": place, "branch": "new"});
        refused(&bench, "r", "git_worktree", arguments, part);
    }
    for (branch, commitish) in [
        ("-b", "main"),
        ("--force", "main"),
        ("new", "-x"),
        ("new", "--output=x"),
        ("a..b", "main"),
    ] {
        let arguments = json!({"mode": "add", "worktreePath": "../n", "branch": branch, "commitish": commitish});
        assert!(at(&bench, "r", "git_worktree", arguments).is_err(), "{branch} {commitish}");
    }
    assert_eq!(bench.ground.names("in"), ["away", "file", "full", "link", "r"]);
    assert!(!bench.ground.exists("in/r/.git/worktrees"));
    assert_eq!(bench.git("in/r", &["branch"]), "* main\n");
    // Named like an option it is a tree like any other, and its entry is called otherwise.
    for name in ["-b", "--upload-pack=x"] {
        let place = bench.ground.text(&format!("in/{name}"));
        let arguments = json!({"mode": "add", "worktreePath": place, "detach": true});
        done(&bench, "r", "git_worktree", arguments);
        assert!(done(&bench, name, "git_status", json!({})).contains("nothing to commit"));
    }
    assert_eq!(bench.ground.names("in/r/.git/worktrees"), ["b", "upload-pack-x"]);
    bench.check_untouched("places");
}

/// Makes another repository beside, with a tree of its own.
fn other(bench: &Bench) {
    bench.git("in", &["init", "-q", "-b", "main", "o"]);
    bench.git("in/o", &["commit", "-q", "--allow-empty", "-m", "other"]);
    bench.git("in/o", &["worktree", "add", "-q", "../otree"]);
}

/// How a tree is made to lead elsewhere.
type Lead = (&'static str, fn(&Bench));

const LEADS: [Lead; 16] = [
    ("another repository", |bench| lead(bench, "in/o/.git")),
    ("a tree of another repository", |bench| lead(bench, "in/o/.git/worktrees/otree")),
    ("its own repository as a whole", |bench| lead(bench, "in/r/.git")),
    ("no tree", |bench| lead(bench, "in/r/.git/worktrees/none")),
    ("upwards", |bench| lead(bench, "in/fix/../r/.git/worktrees/fix")),
    ("a relative place", |bench| {
        bench.ground.write("in/fix/.git", "gitdir: ../r/.git/worktrees/fix\n");
    }),
    ("outside", |bench| lead(bench, "out/.git/worktrees/fix")),
    ("a link to its repository", |bench| {
        bench.ground.link("in/l", bench.ground.path("in/r"));
        lead(bench, "in/l/.git/worktrees/fix");
    }),
    ("a link to its entry", |bench| {
        bench.ground.link("in/r/.git/worktrees/l", "fix");
        lead(bench, "in/r/.git/worktrees/l");
    }),
    ("a link itself", |bench| {
        fs::rename(bench.ground.path("in/fix/.git"), bench.ground.path("in/fix/git")).unwrap();
        bench.ground.link("in/fix/.git", "git");
    }),
    ("a common part elsewhere", |bench| {
        bench.ground.write("in/r/.git/worktrees/fix/commondir", bench.ground.text("in/o/.git\n"));
    }),
    ("a common part by a link", |bench| {
        fs::remove_file(bench.ground.path("in/r/.git/worktrees/fix/commondir")).unwrap();
        bench.ground.write("in/c", "../..\n");
        bench.ground.link("in/r/.git/worktrees/fix/commondir", bench.ground.path("in/c"));
    }),
    ("an entry of somebody else", |bench| {
        let back = format!("{}\n", bench.ground.text("in/other/.git"));
        bench.ground.write("in/r/.git/worktrees/fix/gitdir", back);
    }),
    ("an entry without a way back", |bench| {
        fs::remove_file(bench.ground.path("in/r/.git/worktrees/fix/gitdir")).unwrap();
    }),
    ("an index by a link", |bench| {
        fs::remove_file(bench.ground.path("in/r/.git/worktrees/fix/index")).unwrap();
        bench.ground.link("in/r/.git/worktrees/fix/index", bench.ground.path("in/o/.git/index"));
    }),
    ("a config of its own", |bench| {
        let text = format!("[core]\n\tfsmonitor = {}\n", bench.trap("trap"));
        bench.ground.write("in/r/.git/worktrees/fix/config.worktree", text);
    }),
];

fn lead(bench: &Bench, to: &str) {
    bench.ground.write("in/fix/.git", format!("gitdir: {}\n", bench.ground.text(to)));
}

#[test]
fn a_tree_that_leads_elsewhere_is_refused() {
    for (what, plant) in LEADS {
        let bench = linked();
        other(&bench);
        let refs = bench.git("in/o", &["for-each-ref"]);
        plant(&bench);
        bench.ground.write("in/fix/a.txt", "changed\n");
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_log", json!({})),
            ("git_add", json!({"files": ["."]})),
            ("git_commit", json!({"message": "x", "allowEmpty": true})),
            ("git_checkout", json!({"target": "y", "createBranch": true})),
            ("git_branch", json!({"operation": "create", "name": "z"})),
            ("git_worktree", json!({"mode": "add", "worktreePath": "../new"})),
        ] {
            refused(&bench, "fix", tool, arguments, "structural-git-config");
        }
        let gone = json!({"mode": "remove", "worktreePath": "../fix", "force": true});
        let told = at(&bench, "r", "git_worktree", gone).expect_err(what);
        assert!(bench.ground.exists("in/fix/a.txt"), "{what}: {told}");
        let moved = json!({"mode": "move", "worktreePath": "../fix", "newPath": "../n"});
        at(&bench, "r", "git_worktree", moved).expect_err(what);
        assert_eq!(bench.git("in/o", &["for-each-ref"]), refs, "{what}");
        bench.check_untouched(what);
    }
}

#[test]
fn an_entry_that_leads_elsewhere_is_refused_in_the_repository_too() {
    let plants: [Lead; 4] = [
        ("a link", |bench| {
            bench.ground.link("in/r/.git/worktrees/l", bench.ground.path("in/o/.git"));
        }),
        ("all of them by a link", |bench| {
            let (from, to) = ("in/r/.git/worktrees", "in/moved");
            fs::rename(bench.ground.path(from), bench.ground.path(to)).unwrap();
            bench.ground.link(from, bench.ground.path(to));
        }),
        ("a HEAD by a link", |bench| {
            fs::remove_file(bench.ground.path("in/r/.git/worktrees/fix/HEAD")).unwrap();
            let head = bench.ground.path("in/o/.git/HEAD");
            bench.ground.link("in/r/.git/worktrees/fix/HEAD", head);
        }),
        ("a common part elsewhere", |bench| {
            let common = format!("{}\n", bench.ground.text("in/o/.git"));
            bench.ground.write("in/r/.git/worktrees/fix/commondir", common);
        }),
    ];
    for (what, plant) in plants {
        let bench = linked();
        other(&bench);
        plant(&bench);
        for name in ["r", "fix"] {
            refused(&bench, name, "git_status", json!({}), "structural-git-config");
            let rename = json!({"operation": "rename", "name": "fix", "newName": "y"});
            refused(&bench, name, "git_branch", rename, "structural-git-config");
        }
        bench.check_untouched(what);
    }
}

#[test]
fn what_belongs_to_others_is_neither_moved_nor_removed() {
    let bench = linked();
    other(&bench);
    bench.ground.write("in/plain/x", "x");
    // Called like the tree of this one.
    bench.git("in/o", &["worktree", "add", "-q", "../same/fix"]);
    done(&bench, "r", "git_worktree", json!({"mode": "add", "worktreePath": "../fix/inner"}));
    for place in
        ["../o", "../otree", "../same/fix", "../plain", "../r", "../fix", ".", "../none", "dir"]
    {
        for mode in ["remove", "move"] {
            let arguments =
                json!({"mode": mode, "worktreePath": place, "newPath": "../new", "force": true});
            let told = at(&bench, "r", "git_worktree", arguments);
            assert!(told.is_err(), "{mode} {place}: {told:?}");
        }
    }
    // The tree in which the call is made stays too, and so does what would be moved into itself.
    let own = json!({"mode": "remove", "worktreePath": "../fix/inner"});
    refused(&bench, "fix/inner", "git_worktree", own, "made in this working tree");
    let into = json!({"mode": "move", "worktreePath": "../fix/inner",
        "newPath": "../fix/inner/x"});
    refused(&bench, "r", "git_worktree", into, "into itself");
    let taken = json!({"mode": "move", "worktreePath": "../fix/inner",
        "newPath": "../plain"});
    refused(&bench, "r", "git_worktree", taken, "is there already");
    assert_eq!(bench.ground.names("in"), ["fix", "o", "otree", "plain", "r", "same"]);
    assert!(
        bench.ground.exists("in/same/fix/.git")
            && bench.ground.exists("in/fix/inner/a.txt")
            && bench.ground.exists("in/o/.git/HEAD")
    );
}

#[test]
fn the_repository_of_a_tree_has_to_be_within_reach() {
    let bench = linked();
    bench.git("in/r", &["worktree", "add", "-q", "../side/tree"]);
    let path = bench.ground.text("in/side/tree");
    let call = |server: &ic_servers::Git, tool: &str, mut arguments: Value| {
        arguments["path"] = json!(path);
        told(server, tool, arguments, &Cancel::new())
    };
    let commit = || json!({"message": "x", "allowEmpty": true});
    let all = Rights::ALL;
    let alone = Bench::open(&bench.ground, &[("in/side", all)], &[]);
    let told = call(&alone, "git_status", json!({})).unwrap_err();
    assert!(told.contains("structural-git-config") && told.contains("not within reach"), "{told}");
    let reading = Bench::open_once(&bench.ground, &[("in/side", all), ("in/r", Rights::READ)]);
    call(&reading, "git_status", json!({})).unwrap();
    let told = call(&reading, "git_commit", commit()).unwrap_err();
    assert!(told.contains("without the right to write"), "{told}");
    let hidden = Bench::open(&bench.ground, &[("in", all)], &["in/r/.git/objects"]);
    let told = call(&hidden, "git_status", json!({})).unwrap_err();
    assert!(told.contains("something protected"), "{told}");
    let protected = Bench::open(&bench.ground, &[("in", all)], &["in/r"]);
    let told = call(&protected, "git_status", json!({})).unwrap_err();
    assert!(told.contains("is protected"), "{told}");
    let both = Bench::open_once(&bench.ground, &[("in/side", all), ("in/r", all)]);
    call(&both, "git_commit", commit()).unwrap();
    // A tree is not made where something protected is, nor taken away with it.
    bench.ground.write("in/keys/id", "x");
    let careful = Bench::open(&bench.ground, &[("in", all)], &["in/keys", "in/side/tree/keep"]);
    for arguments in [
        json!({"mode": "add", "worktreePath": bench.ground.text("in/keys/tree"), "branch": "k"}),
        json!({"mode": "remove", "worktreePath": path, "force": true}),
        json!({"mode": "move", "worktreePath": path, "newPath": bench.ground.text("in/m")}),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!(bench.ground.text("in/r"));
        let text = self::told(&careful, "git_worktree", arguments, &Cancel::new()).unwrap_err();
        assert!(text.contains("protected"), "{text}");
    }
    assert!(bench.ground.exists("in/side/tree/a.txt"));
}

#[test]
fn nothing_runs_when_a_tree_is_made_or_used() {
    let bench = Bench::new();
    let trap = bench.trap("trap");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"] {
        fs::create_dir_all(bench.ground.path("in/r/.git/hooks")).unwrap();
        fs::copy(&trap, bench.ground.path(format!("in/r/.git/hooks/{hook}"))).unwrap();
    }
    let text = "* filter=x diff=x merge=x ident\n";
    bench.ground.write("in/r/.gitattributes", text);
    bench.ground.write("in/r/.git/info/attributes", text);
    bench.done("git_add", json!({"files": ["."]}));
    bench.done("git_commit", json!({"message": "attributes"}));
    done(&bench, "r", "git_worktree", json!({"mode": "add", "worktreePath": "../fix"}));
    bench.ground.write("in/fix/a.txt", "changed\n");
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "x", "filesToStage": ["a.txt"]})),
        ("git_checkout", json!({"target": "y", "createBranch": true})),
        ("git_reset", json!({"mode": "hard", "target": "HEAD~1"})),
    ] {
        done(&bench, "fix", tool, arguments);
    }
    done(&bench, "r", "git_worktree", json!({"mode": "remove", "worktreePath": "../fix"}));
    // A config that would run something is refused where the tree is made, and in the tree.
    done(&bench, "r", "git_worktree", json!({"mode": "add", "worktreePath": "../two"}));
    let config = bench.ground.read("in/r/.git/config");
    for planted in [
        format!("[filter \"x\"]\n\tclean = {trap}\n\tsmudge = {trap}\n"),
        format!("[core]\n\tfsmonitor = {trap}\n"),
        "[extensions]\n\tworktreeConfig = true\n".to_owned(),
        "[extensions]\n\trelativeWorktrees = true\n".to_owned(),
    ] {
        bench.ground.write("in/r/.git/config", format!("{config}{planted}"));
        let add = json!({"mode": "add", "worktreePath": "../three"});
        refused(&bench, "r", "git_worktree", add, "structural-git-config");
        refused(&bench, "two", "git_status", json!({}), "structural-git-config");
    }
    assert!(!bench.ground.exists("in/three"));
    bench.check_untouched("hooks and filters");
}

#[test]
fn a_pointer_that_is_swapped_while_git_runs_changes_nothing_elsewhere() {
    let bench = linked();
    other(&bench);
    let refs = bench.git("in/o", &["for-each-ref"]);
    let good = bench.ground.read("in/fix/.git");
    let evil = format!("gitdir: {}\n", bench.ground.text("in/o/.git/worktrees/otree"));
    let is_over = AtomicBool::new(false);
    let (mut n_done, mut n_refused) = (0, 0);
    thread::scope(|scope| {
        let (bench, is_over, good) = (&bench, &is_over, &good);
        scope.spawn(move || {
            for text in [&evil, good].iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                bench.ground.write("in/next", text);
                fs::rename(bench.ground.path("in/next"), bench.ground.path("in/fix/.git")).unwrap();
                thread::yield_now();
            }
        });
        for _ in 0..60 {
            match at(bench, "fix", "git_commit", json!({"message": "x", "allowEmpty": true})) {
                Ok(_) => n_done += 1,
                Err(text) => {
                    assert!(text.contains("structural-git-config"), "{text}");
                    n_refused += 1;
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(0 < n_refused, "{n_done} done, {n_refused} refused");
    assert_eq!(bench.git("in/o", &["for-each-ref"]), refs);
    bench.check_untouched("a race");
}

/// What may be used by some call or other may not be used by every call: a server that serves many
/// cannot tell, so it does not go from one directory of its view to another.
#[test]
fn a_server_for_many_calls_does_not_go_from_one_directory_to_another() {
    let bench = linked();
    bench.git("in/r", &["worktree", "add", "-q", "../side/tree"]);
    let all = Rights::ALL;
    let call = |server: &ic_servers::Git, path: &str, tool: &str, mut arguments: Value| {
        arguments["path"] = json!(bench.ground.text(path));
        told(server, tool, arguments, &Cancel::new())
    };
    let apart = [("in/side", all), ("in/r", all)];
    let nested = [("in", all), ("in/side", all)];
    for directories in [apart, nested] {
        let server = Bench::open(&bench.ground, &directories, &[]);
        call(&server, "in/r", "git_status", json!({})).unwrap();
        let add = json!({"mode": "add", "worktreePath": bench.ground.text("in/side/new")});
        let remove = json!({"mode": "remove", "worktreePath": bench.ground.text("in/side/tree")});
        for (path, tool, arguments) in [
            ("in/side/tree", "git_log", json!({})),
            ("in/side/tree", "git_commit", json!({"message": "x", "allowEmpty": true})),
            ("in/r", "git_worktree", add),
            ("in/r", "git_worktree", remove),
        ] {
            let text = call(&server, path, tool, arguments).unwrap_err();
            assert!(text.contains("another directory"), "{tool}: {text}");
        }
        assert!(!bench.ground.exists("in/side/new") && bench.ground.exists("in/side/tree/a.txt"));
    }
    let whole = Bench::open(&bench.ground, &[("in", all)], &[]);
    call(&whole, "in/side/tree", "git_log", json!({})).unwrap();
}

/// A call that names no path was not judged about the repository behind the working directory.
#[test]
fn a_working_directory_keeps_to_the_repository_that_it_had() {
    let bench = linked();
    bench.git("in/r", &["worktree", "add", "-q", "../mine"]);
    bench.git("in", &["clone", "-q", "r", "theirs"]);
    bench.git("in/theirs", &["worktree", "add", "-q", "../other"]);
    let ask = |tool: &str, arguments: Value| told(&bench.server, tool, arguments, &Cancel::new());
    let mine = bench.ground.text("in/mine");
    let set = |more: Value| {
        let mut arguments = more;
        arguments["path"] = json!(mine);
        ask("git_set_working_dir", arguments).unwrap();
    };
    set(json!({"includeMetadata": true}));
    ask("git_log", json!({})).unwrap();
    ask("git_commit", json!({"message": "x", "allowEmpty": true})).unwrap();
    // The tree becomes one of another repository, in every respect.
    let ours = bench.ground.read("in/mine/.git");
    let entry = "in/theirs/.git/worktrees/other";
    let turned = format!("gitdir: {}\n", bench.ground.text(entry));
    bench.ground.write(&format!("{entry}/gitdir"), format!("{mine}/.git\n"));
    let check_refused = |what: &str| {
        for arguments in [json!({}), json!({"path": "."})] {
            let text = ask("git_log", arguments).unwrap_err();
            assert!(text.contains("belongs to another repository"), "{what}: {text}");
        }
        let add = json!({"mode": "add", "worktreePath": bench.ground.text("in/new")});
        assert!(ask("git_worktree", add).is_err(), "{what}");
    };
    bench.ground.write("in/mine/.git", &turned);
    check_refused("turned");
    // Named, it is judged about that repository.
    ask("git_log", json!({"path": mine})).unwrap();
    // It was no repository when it was set.
    fs::remove_file(bench.ground.path("in/mine/.git")).unwrap();
    set(json!({"validateGitRepo": false}));
    bench.ground.write("in/mine/.git", &turned);
    check_refused("was none");
    bench.ground.write("in/mine/.git", &ours);
    check_refused("was none, and is what it once was");
    fs::remove_file(bench.ground.path("in/mine/.git")).unwrap();
    ask("git_init", json!({})).unwrap();
    ask("git_status", json!({})).unwrap();
}
