//! Ways around a rule of the user's, through git and by moving directories. Each is tried twice: without
//! the rule it has its effect, and with the rule it has none.

use std::path::Path;

use ic_testkit::git_host::git;
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use super::{policy, rule};
use crate::place;

const SECRET: &str = "what-nobody-may-read";
const CHANGES: [&str; 2] = ["write-path", "delete-path"];

/// What an agent does: its calls, and all that it was told.
struct Agent {
    proxy: Proxy,
    work: String,
    told: String,
}

impl Agent {
    /// Calls a tool; of its arguments, `path`, `source` and the like are taken from the workspace.
    fn call(&mut self, tool: &str, mut arguments: Value) -> String {
        for name in ["path", "source", "destination", "worktreePath", "newPath"] {
            let is_revision = name == "source" && tool == "git__git_diff";
            if let (false, Some(text)) = (is_revision, arguments[name].as_str()) {
                arguments[name] = json!(format!("{}/{text}", self.work).trim_end_matches("/."));
            }
        }
        if tool.starts_with("git__") && arguments["path"].is_null() {
            arguments["path"] = json!(self.work);
        }
        if let Some(members) = arguments.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let said = self.proxy.call(tool, &arguments).text().clone();
        self.told.push_str(&said);
        said
    }

    fn git(&mut self, tool: &str, arguments: Value) -> String {
        self.call(&format!("git__git_{tool}"), arguments)
    }

    fn write(&mut self, path: &str, content: &str) {
        self.call("filesystem__write_file", json!({"path": path, "content": content}));
    }

    fn read(&mut self, path: &str) {
        self.call("filesystem__read_text_file", json!({"path": path}));
    }

    fn mv(&mut self, from: &str, to: &str) {
        self.call("filesystem__move_file", json!({"source": from, "destination": to}));
    }

    fn make(&mut self, path: &str) {
        self.call("filesystem__create_directory", json!({"path": path}));
    }

    fn commit(&mut self, at: &str) {
        self.git("add", json!({"path": at, "files": ["."], "all": true, "force": true}));
        self.git("commit", json!({"path": at, "message": "more"}));
    }

    /// Makes a further working tree `wt` at the first commit, on the branch `f`.
    fn tree(&mut self) {
        let arguments =
            json!({"mode": "add", "worktreePath": "wt", "branch": "f", "commitish": "old"});
        self.git("worktree", arguments);
    }
}

/// Writes files into the workspace and commits them.
fn committed(place: &Place, files: &[(&str, &str)]) {
    for (name, text) in files {
        place.write(Path::new("work").join(name), text);
    }
    let work = place.path("work");
    git(&work, &["add", "--all"]);
    git(&work, &["commit", "--quiet", "--message", "more"]);
}

/// Makes a workspace with a first commit, which is tagged `old`.
fn begun(files: &[(&str, &str)]) -> Place {
    let place = place();
    let work = place.dir("work");
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    committed(&place, files);
    git(&work, &["tag", "old"]);
    place
}

type Prepare = fn() -> Place;
type Act = fn(&mut Agent);
type Effect = fn(&Place, &str) -> bool;

/// Tries a way without rules, where it must have its effect, and with each of the rules.
#[track_caller]
fn check(name: &str, (prepare, act, effect): (Prepare, Act, Effect), rules: &[Value]) {
    for rule in std::iter::once(None).chain(rules.iter().map(Some)) {
        let place = prepare();
        let work = place.path("work").to_str().unwrap().to_owned();
        let rules: Vec<Value> = rule.cloned().into_iter().map(|it| placed(it, &work)).collect();
        let policy = policy(&place, &json!(rules));
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
        proxy.initialize();
        let mut agent = Agent { proxy, work, told: String::new() };
        act(&mut agent);
        let told = agent.told;
        agent.proxy.finish();
        assert_eq!(effect(&place, &told), rule.is_none(), "{name}: {rule:?}\n{told}");
    }
}

/// Puts the workspace in front of a rule's place.
fn placed(mut rule: Value, work: &str) -> Value {
    if let Some(within) = rule["if"]["paths"]["within"].as_str().filter(|it| *it != "/") {
        rule["if"]["paths"]["within"] = json!(format!("{work}/{within}"));
    }
    rule
}

/// Rules that deny and that ask.
fn both(roles: &[&str], within: &str) -> [Value; 2] {
    ["deny", "escalate"].map(|then| rule("mine", then, roles, within))
}

fn with_secret() -> Place {
    let place = begun(&[("a/b/y.txt", "y\n"), ("a/x.txt", "x\n"), ("pub.txt", "pub\n")]);
    committed(&place, &[("a/b/secret.txt", &format!("{SECRET}\n"))]);
    place
}

const LEAKED: Effect = |_, told| told.contains(SECRET);

#[test]
fn a_path_that_looks_like_an_option_is_a_path() {
    let reads = both(&["read-path"], "a/b/secret.txt");
    for paths in [["./--stat", "a"], ["./--name-only", "."]] {
        let act: Act = match paths[0] {
            "./--stat" => |it| {
                it.git(
                    "diff",
                    json!({"source": "old", "target": "HEAD", "paths": ["./--stat", "a"]}),
                );
            },
            _ => |it| {
                let paths = ["./--name-only", "."];
                it.git("diff", json!({"source": "old", "target": "HEAD", "paths": paths}));
            },
        };
        check("diff", (with_secret, act, LEAKED), &reads);
    }
    let untracked: Prepare = || {
        let place = begun(&[("a/x.txt", "x\n")]);
        place.write("work/a/b/secret.txt", SECRET);
        place
    };
    let act: Act = |it| {
        it.git("diff", json!({"includeUntracked": true, "paths": ["./--stat", "."]}));
    };
    check("untracked", (untracked, act, LEAKED), &reads);
    let act: Act = |it| {
        it.git("checkout", json!({"target": "f", "paths": ["./--abort", "./--quit", "."]}));
    };
    // The names are the user's own: an agent would be asked about new ones like these.
    let kept: Prepare = || {
        let place = begun(&[("d/keep.txt", "mine\n"), ("--abort", "x\n"), ("--quit", "x\n")]);
        git(&place.path("work"), &["checkout", "--quiet", "-b", "f"]);
        committed(&place, &[("d/keep.txt", "evil")]);
        git(&place.path("work"), &["checkout", "--quiet", "main"]);
        place
    };
    check("checkout", (kept, act, CHANGED), &both(&CHANGES, "d/keep.txt"));
}

#[test]
fn what_is_closed_is_not_told_under_another_name() {
    let reads = both(&["read-path"], "a/b/secret.txt");
    let by_tree: Act = |it| {
        let said = it.git("show", json!({"object": "HEAD", "filePath": "a"}));
        let id = said.lines().find(|line| line.ends_with("\tb")).unwrap().split([' ', '\t']).nth(2);
        it.git("show", json!({"object": id, "filePath": "secret.txt"}));
    };
    check("the id of a tree", (with_secret, by_tree, LEAKED), &reads);
    let by_worktree: Act = |it| {
        it.tree();
        it.git("show", json!({"path": "wt", "object": "main", "filePath": "a/b/secret.txt"}));
    };
    check("another working tree", (with_secret, by_worktree, LEAKED), &reads);
    // The user moved it here, and the history tells where it was.
    let moved: Prepare = || {
        let place = begun(&[("was.txt", &format!("{SECRET}\n")), ("pub.txt", "pub\n")]);
        place.dir("work/a/b");
        git(&place.path("work"), &["mv", "was.txt", "a/b/secret.txt"]);
        committed(&place, &[]);
        place
    };
    for act in [
        (|it| drop(it.git("show", json!({"object": "old", "filePath": "was.txt"})))) as Act,
        |it| drop(it.git("show", json!({"object": "old"}))),
        |it| drop(it.git("log", json!({"branch": "old", "patch": true}))),
        |it| {
            it.git("checkout", json!({"target": "old", "paths": ["was.txt"]}));
            it.read("was.txt");
        },
    ] {
        check("its former name", (moved, act, LEAKED), &reads);
    }
}

#[test]
fn what_is_closed_is_not_brought_to_another_place() {
    let reads = both(&["read-path"], "a/b/secret.txt");
    let merged: Act = |it| {
        it.tree();
        it.mv("wt/a/b", "wt/c");
        it.commit("wt");
        it.git("merge", json!({"path": "wt", "branch": "main"}));
        it.read("wt/c/secret.txt");
    };
    check("a renamed directory", (with_secret, merged, LEAKED), &reads);
    let picked: Act = |it| {
        it.tree();
        it.mv("wt/a/b", "wt/c");
        it.commit("wt");
        it.git("cherry_pick", json!({"path": "wt", "commits": ["main"]}));
        it.read("wt/c/secret.txt");
    };
    check("picked", (with_secret, picked, LEAKED), &reads);
    let rebased: Act = |it| {
        it.tree();
        it.mv("wt/a/b", "wt/c");
        it.commit("wt");
        it.git("rebase", json!({"path": "wt", "upstream": "main"}));
        it.read("wt/c/secret.txt");
    };
    check("rebased", (with_secret, rebased, LEAKED), &reads);
}

/// What is in the index is in the repository: it can be committed, pushed, and read from its objects.
#[test]
fn what_is_closed_is_not_taken_into_the_repository() {
    let untracked: Prepare = || {
        let place = begun(&[("pub.txt", "pub\n")]);
        place.write("work/private/secret.txt", format!("{SECRET}\n"));
        place
    };
    let changed: Prepare = || {
        let place = begun(&[("private/secret.txt", "harmless\n")]);
        place.write("work/private/secret.txt", format!("{SECRET}\n"));
        place
    };
    let taken_in: Effect = |place, _| {
        let staged = git(&place.path("work"), &["ls-files", "--stage", "private"]);
        let of_secret = git(&place.path("work"), &["hash-object", "private/secret.txt"]);
        staged.contains(of_secret.trim())
    };
    let acts: [(&str, Act); 5] = [
        ("all of it", |it| drop(it.git("add", json!({"files": ["."]})))),
        ("by force", |it| drop(it.git("add", json!({"files": ["."], "force": true})))),
        ("all", |it| drop(it.git("add", json!({"files": ["."], "all": true})))),
        ("with a commit", |it| {
            it.git("commit", json!({"message": "m", "filesToStage": ["."]}));
        }),
        ("by its name", |it| drop(it.git("add", json!({"files": ["private/secret.txt"]})))),
    ];
    for (name, act) in acts {
        for prepare in [untracked, changed] {
            check(name, (prepare, act, taken_in), &both(&["read-path"], "private"));
        }
    }
}

#[test]
fn a_working_tree_that_is_refused_leaves_no_branch() {
    let act: Act = |it| it.tree();
    let has_branch: Effect = |place, _| {
        let branches = git(&place.path("work"), &["branch", "--list", "f"]);
        branches.contains('f') || place.path("work/wt").exists()
    };
    let prepare: Prepare = || begun(&[("a/b/y.txt", "y\n"), ("pub.txt", "pub\n")]);
    check("refused", (prepare, act, has_branch), &both(&["read-path"], "a/b"));
}

/// Git takes a file for another one that is much like it, and puts changes of that one into it.
#[test]
fn what_is_changed_in_a_closed_file_does_not_come_into_one_that_looks_like_it() {
    const KNOWN: &str = "[a]\none=1\ntwo=2\nthree=3\nfour=4\n[b]\nfive=5\nsix=6\nseven=7\n";
    let prepare: Prepare = || {
        let place = begun(&[("a/secret.txt", KNOWN), ("pub.txt", "pub\n")]);
        committed(&place, &[("a/secret.txt", &format!("{KNOWN}[c]\nkey={SECRET}\n"))]);
        place
    };
    let act: Act = |it| {
        it.git("checkout", json!({"target": "old"}));
        it.git("checkout", json!({"target": "g", "createBranch": true}));
        it.write("like.txt", KNOWN);
        it.call("filesystem__delete_file", json!({"path": "a/secret.txt"}));
        it.commit(".");
        it.git("merge", json!({"branch": "main"}));
        it.read("like.txt");
    };
    check("followed", (prepare, act, LEAKED), &both(&["read-path"], "a/secret.txt"));
}

/// A file that is in no commit, in a directory that git leaves alone.
fn with_kept() -> Place {
    let place = begun(&[("pub.txt", "pub\n"), (".gitignore", "/d/\n")]);
    place.write("work/d/keep.txt", "mine\n");
    place
}

const CHANGED: Effect = |place, _| {
    std::fs::read_to_string(place.path("work/d/keep.txt")).ok().as_deref() != Some("mine\n")
};

#[test]
fn git_makes_no_room_where_a_rule_keeps_something() {
    fn filed(it: &mut Agent) {
        it.tree();
        it.write("wt/d", "a file\n");
        it.commit("wt");
    }
    for act in [
        (|it| {
            filed(it);
            it.git("reset", json!({"mode": "hard", "target": "f", "confirmed": true}));
        }) as Act,
        |it| {
            filed(it);
            it.git("merge", json!({"branch": "f"}));
        },
        |it| {
            filed(it);
            it.git("cherry_pick", json!({"commits": ["f"]}));
        },
        |it| {
            filed(it);
            it.git("rebase", json!({"upstream": "f"}));
        },
        |it| {
            filed(it);
            it.git("checkout", json!({"target": "f", "paths": ["d"]}));
        },
        |it| {
            filed(it);
            it.git("checkout", json!({"target": "f~0", "force": true}));
        },
        |it| {
            it.tree();
            it.write("wt/d", "a file\n");
            it.git("add", json!({"path": "wt", "files": ["d"], "force": true}));
            it.git("stash", json!({"path": "wt", "mode": "push"}));
            it.git("stash", json!({"mode": "pop"}));
        },
    ] {
        check("room", (with_kept, act, CHANGED), &both(&CHANGES, "d/keep.txt"));
    }
}

/// A file that stays as it is was unknown to the rehearsal, which then told nothing of the others.
#[test]
fn a_file_that_stays_as_it_is_does_not_hide_others() {
    let prepare: Prepare = || {
        let place = begun(&[("d/keep.txt", "was\n"), ("pub.txt", "pub\n")]);
        committed(&place, &[("d/keep.txt", "mine\n")]);
        place
    };
    let act: Act =
        |it| drop(it.git("checkout", json!({"target": "old", "paths": ["pub.txt", "."]})));
    check("beside another", (prepare, act, CHANGED), &both(&CHANGES, "d/keep.txt"));
}

/// Two ways to reset change files, and were taken for ones that leave them alone.
#[test]
fn every_way_to_reset_files_is_judged() {
    let prepare: Prepare = || {
        let place = begun(&[("d/keep.txt", "was\n")]);
        committed(&place, &[("d/keep.txt", "mine\n")]);
        place
    };
    for act in [
        (|it| drop(it.git("reset", json!({"mode": "keep", "target": "old"})))) as Act,
        |it| drop(it.git("reset", json!({"mode": "merge", "target": "old"}))),
        |it| drop(it.git("reset", json!({"mode": "hard", "target": "old", "confirmed": true}))),
    ] {
        check("reset", (prepare, act, CHANGED), &both(&CHANGES, "d/keep.txt"));
    }
}

#[test]
fn a_moved_directory_brings_nothing_to_a_closed_place() {
    let plain: Prepare = || begun(&[("pub.txt", "pub\n")]);
    let there: Effect = |place, _| place.path("work/p/secret/evil.txt").exists();
    let moved_in: Act = |it| {
        it.make("q/secret");
        it.write("q/secret/evil.txt", "evil");
        it.mv("q", "p");
    };
    let mut rules = both(&CHANGES, "p/secret").to_vec();
    rules.extend(both(&["write-path"], "p/secret/evil.txt"));
    check("moved in", (plain, moved_in, there), &rules);
    let tree_moved: Act = |it| {
        it.tree();
        it.make("wt/secret");
        it.write("wt/secret/evil.txt", "evil");
        it.git("worktree", json!({"mode": "move", "worktreePath": "wt", "newPath": "p"}));
    };
    check("a working tree", (plain, tree_moved, there), &rules);
    let kept: Prepare = || begun(&[("d/keep.txt", "mine\n"), ("e/other.txt", "x\n")]);
    let writes = both(&["write-path"], "d/keep.txt");
    let back: Act = |it| {
        it.mv("d", "z");
        it.write("z/keep.txt", "evil");
        it.mv("z", "d");
    };
    check("away and back", (kept, back, CHANGED), &writes);
    // A directory in which there is nothing of the kind is moved freely.
    let free: Act = |it| it.mv("e", "p");
    let moved: Effect = |place, _| place.path("work/p/other.txt").exists();
    let place = kept();
    let work = place.path("work").to_str().unwrap().to_owned();
    let rules = json!([rule("mine", "deny", &CHANGES, &format!("{work}/p/secret"))]);
    let policy = policy(&place, &rules);
    let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
    proxy.initialize();
    let mut agent = Agent { proxy, work, told: String::new() };
    free(&mut agent);
    let told = agent.told;
    agent.proxy.finish();
    assert!(moved(&place, &told), "{told}");
}

#[test]
fn a_rule_that_denies_deleting_everywhere_holds_for_git() {
    let place_free = json!({"roles": ["delete-path"]});
    let rules = [
        json!({"name": "never", "if": place_free, "then": "deny", "reason": "never"}),
        rule("never", "deny", &["delete-path"], "/"),
    ];
    let added: Prepare = || {
        let place = begun(&[("pub.txt", "pub\n")]);
        committed(&place, &[("d/keep.txt", "mine\n")]);
        place
    };
    for act in [(|it| drop(it.git("checkout", json!({"target": "old"})))) as Act, |it| {
        drop(it.git("reset", json!({"mode": "hard", "target": "old", "confirmed": true})));
    }] {
        check("deleted", (added, act, CHANGED), &rules);
    }
    let untracked: Prepare = || {
        let place = begun(&[("pub.txt", "pub\n")]);
        place.write("work/d/keep.txt", "mine\n");
        place
    };
    let act: Act = |it| drop(it.git("stash", json!({"mode": "push", "includeUntracked": true})));
    check("put aside", (untracked, act, CHANGED), &rules);
}

/// The rule is about what the link leads to; whoever replaces the link must not get around it.
#[test]
fn a_link_that_a_rule_names_is_not_replaced() {
    let prepare: Prepare = || {
        let place = begun(&[("d/keep.txt", "mine\n")]);
        place.link("work/lk", Path::new("d/keep.txt"));
        place
    };
    let act: Act = |it| {
        it.call("filesystem__delete_file", json!({"path": "lk"}));
        it.write("lk", "evil");
    };
    let replaced: Effect =
        |place, _| std::fs::read_to_string(place.path("work/lk")).unwrap() == "evil";
    check("a link", (prepare, act, replaced), &both(&CHANGES, "lk"));
}

/// What is ignored is not touched by `git_clean`, so a rule about it is no reason to refuse.
#[test]
fn cleaning_is_judged_by_the_files_that_go() {
    for (name, is_done) in [(".env", true), ("junk.txt", false)] {
        let place = begun(&[("pub.txt", "pub\n"), (".gitignore", ".env\n")]);
        place.write("work/.env", "mine\n");
        place.write("work/junk.txt", "junk\n");
        let work = place.path("work").to_str().unwrap().to_owned();
        let mine = rule("mine", "deny", &["delete-path"], &format!("{work}/{name}"));
        let rest = rule("rest", "allow", &["delete-path"], "/");
        let policy = policy(&place, &json!([mine, rest]));
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &work]);
        proxy.initialize();
        let mut agent = Agent { proxy, work, told: String::new() };
        agent.git("clean", json!({"force": true}));
        let told = agent.told;
        agent.proxy.finish();
        assert!(place.path("work/.env").exists());
        assert_eq!(!place.path("work/junk.txt").exists(), is_done, "{name}: {told}");
    }
}
