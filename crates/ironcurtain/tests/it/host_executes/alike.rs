//! What git takes for a file that counts elsewhere, hidden by steps around it: renamed and changed at once, behind a
//! file that is more alike, or behind more tags than anybody looks at.

use std::fmt::Write as _;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::carried::{PLANTED, SAMPLE, Trick, Words, add, commit, commit_of_user, user};
use super::{coding, delete, git, shift, world, write};

/// One more than are looked at, without the one that is checked out.
const N_TAGS: usize = 258;
const DOCS: &str = "some text\nof another kind\n";

/// A branch `dev` has the sample under a name that counts, with another last line.
fn renamed(world: &World) {
    world.write("sample.envrc", SAMPLE);
    world.write("docs.txt", DOCS);
    commit_of_user(world);
    user(world, &["checkout", "-q", "-b", "dev"]);
    user(world, &["mv", "sample.envrc", ".envrc"]);
    world.write(".envrc", &dev());
    commit_of_user(world);
    user(world, &["checkout", "-q", "main"]);
}

fn dev() -> String {
    SAMPLE.replace("# five", "# 5")
}

/// What must not arrive, in the place of the first line.
fn evil() -> String {
    SAMPLE.replace("# one\n", PLANTED)
}

fn aside() -> Call {
    git("git__git_stash", json!({"mode": "push"}))
}

const TO_DEV: &[Words] = &[&["checkout", "-q", "-f", "dev"], &["merge", "-m", "x", "main"]];
const PICKED: &[Words] = &[&["checkout", "-q", "-f", "dev"], &["cherry-pick", "main"]];
const POPPED: &[Words] = &[&["checkout", "-q", "-f", "dev"], &["stash", "pop"]];
const WAYS: [(&str, &[Words]); 4] = [
    ("merged there", TO_DEV),
    ("merged here", &[&["merge", "-m", "x", "dev"]]),
    ("rebased", &[&["rebase", "dev"]]),
    ("picked", PICKED),
];

fn check(name: &str, calls: Vec<Call>, steps: &[Words]) {
    Trick { prepare: &renamed, calls, steps, file: ".envrc" }.check(name);
}

#[test]
fn by_a_file_that_is_renamed_and_changed_at_once() {
    let calls = || vec![shift("sample.envrc", "other"), write("other", &evil()), add(&["."])];
    for (name, steps) in WAYS {
        check(name, [calls(), vec![commit()]].concat(), steps);
    }
    check("put aside", [calls(), vec![aside()]].concat(), POPPED);
}

/// The new file and the end of the old one in commits of their own, in any order.
#[test]
fn by_a_file_that_is_renamed_and_changed_in_steps() {
    let saved = || [add(&["."]), commit()].to_vec();
    let comes = || [vec![write("other", &evil())], saved()].concat();
    let goes = || [vec![delete("sample.envrc")], saved()].concat();
    check("the new one first", [comes(), goes()].concat(), TO_DEV);
    check("the old one first", [goes(), comes()].concat(), TO_DEV);
}

/// Another file is made more like the one that counts, and is put back when the other is changed.
#[test]
fn behind_a_file_that_is_more_alike() {
    let mut calls = vec![write("docs.txt", &dev()), add(&["."]), commit()];
    calls.extend([write("docs.txt", DOCS), write("sample.envrc", &evil()), add(&["."])]);
    for (name, steps) in WAYS {
        check(name, [calls.clone(), vec![commit()]].concat(), steps);
    }
    check("put aside", [calls, vec![aside()]].concat(), POPPED);
}

/// More tags than are looked at, all newer than the branch of the user's: they take no place from it.
#[test]
fn behind_tags_of_the_agent_s_own() {
    let world = world();
    user(&world, &["init", "-q", "-b", "main"]);
    world.write("README.md", "r\n");
    renamed(&world);
    let top = world.workspace();
    // All of them are newer than the branch.
    let mut commits = String::new();
    for n in 0..N_TAGS {
        let from = if n == 0 { "from refs/heads/main^0\n" } else { "" };
        let second = 4_000_000_000 + n;
        let author = format!("A <a@example.org> {second} +0000");
        write!(commits, "commit refs/heads/main\ncommitter {author}\ndata 1\nx\n{from}\n").unwrap();
    }
    world.user.git_with_input(&top, &["fast-import", "--quiet"], commits.as_bytes());
    let ids = world.user.git_well(&top, &["log", "--format=%H", "-n", &N_TAGS.to_string()]);
    assert_eq!(ids.lines().count(), N_TAGS);
    let mut proxy = start(&world);
    for (n, id) in ids.lines().enumerate() {
        let tag = json!({"mode": "create", "tagName": format!("t{n}"), "commit": id});
        let call = git("git__git_tag", tag);
        proxy.call(call.tool, &call.arguments).good();
    }
    for call in [write("sample.envrc", &evil()), add(&["."])] {
        proxy.call(call.tool, &call.arguments).good();
    }
    let call = commit();
    proxy.call(call.tool, &call.arguments).bad();
    proxy.finish();
}

/// What is only renamed, or only goes, brings nothing along; and nothing is alike where no commit has such a name.
#[test]
fn plain_renames_and_removals_ask_nothing() {
    type Prepare<'a> = &'a dyn Fn(&World);
    let saved = || [add(&["."]), commit()].to_vec();
    let without_dev = |world: &World| {
        renamed(world);
        user(world, &["branch", "-q", "-D", "dev"]);
        // What the log of HEAD has may come back.
        user(world, &["reflog", "expire", "--expire=now", "--all"]);
    };
    let both = [shift("sample.envrc", "other"), write("other", &evil())].to_vec();
    let cases: [(Prepare<'_>, Vec<Call>); 4] = [
        (&renamed, [vec![shift("sample.envrc", "other")], saved()].concat()),
        (&renamed, [vec![delete("sample.envrc")], saved()].concat()),
        (&renamed, [vec![shift("docs.txt", "d"), write("d", "other\n")], saved()].concat()),
        (&without_dev, [both, saved()].concat()),
    ];
    for (prepare, calls) in cases {
        let world = world();
        user(&world, &["init", "-q", "-b", "main"]);
        world.write("README.md", "r\n");
        prepare(&world);
        let mut proxy = start(&world);
        for call in calls {
            let answer = proxy.call(call.tool, &call.arguments);
            assert_ne!(answer.json().pointer("/result/isError"), Some(&json!(true)), "{call}");
        }
        proxy.finish();
    }
}

fn start(world: &World) -> Proxy {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

/// What any commit had under a name that counts may come back: by a revert, a pick, or out of the log of HEAD.
#[test]
fn by_commits_that_are_not_the_newest_of_a_branch() {
    type Prepare<'a> = super::carried::Prepare<'a>;
    let moved = |world: &World, from: &str, to: &str| {
        user(world, &["mv", from, to]);
        user(world, &["commit", "-q", "-m", "moved"]);
    };
    let reverted = |world: &World| {
        world.write(".envrc", SAMPLE);
        commit_of_user(world);
        moved(world, ".envrc", "sample.envrc");
        user(world, &["tag", "moved"]);
    };
    let on_dev = |world: &World| user(world, &["checkout", "-q", "-b", "dev"]);
    let back = |world: &World| user(world, &["checkout", "-q", "main"]);
    let made_there = |world: &World| {
        on_dev(world);
        world.write("sample.envrc", SAMPLE);
        commit_of_user(world);
        moved(world, "sample.envrc", ".envrc");
        back(world);
    };
    let and_on = |world: &World| {
        world.write("sample.envrc", SAMPLE);
        commit_of_user(world);
        on_dev(world);
        moved(world, "sample.envrc", ".envrc");
        moved(world, ".envrc", "other.txt");
        back(world);
    };
    let in_the_log = |world: &World| {
        world.write("sample.envrc", SAMPLE);
        commit_of_user(world);
        user(world, &["checkout", "-q", "--detach"]);
        moved(world, "sample.envrc", ".envrc");
        back(world);
    };
    let cases: [(&str, Prepare<'_>, &[Words]); 4] = [
        ("reverted", &reverted, &[&["revert", "--no-edit", "moved"]]),
        ("picked", &made_there, &[&["cherry-pick", "dev"]]),
        ("picked from the middle", &and_on, &[&["cherry-pick", "dev~1"]]),
        ("in the log of HEAD", &in_the_log, &[&["merge", "-m", "x", "HEAD@{2}"]]),
    ];
    for (name, prepare, steps) in cases {
        let calls = vec![write("sample.envrc", &evil()), add(&["."]), commit()];
        Trick { prepare, calls, steps, file: ".envrc" }.check(name);
    }
}

/// Where git cannot say what commits had, because an old one is damaged, any file may be like one that counts.
#[test]
fn a_past_that_git_cannot_read_asks() {
    let damaged = |world: &World| {
        world.write("old/a.txt", "a\n");
        commit_of_user(world);
        user(world, &["tag", "old"]);
        user(world, &["rm", "-q", "-r", "old"]);
        user(world, &["commit", "-q", "-m", "removed"]);
        world.write(".envrc", SAMPLE);
        commit_of_user(world);
        user(world, &["mv", ".envrc", "sample.envrc"]);
        user(world, &["commit", "-q", "-m", "moved"]);
        user(world, &["tag", "moved"]);
        let said = world.user.git(&world.workspace(), &["rev-parse", "old:old"]);
        let (fan, rest) = said.text.trim().split_at(2);
        let object = world.workspace().join(".git/objects").join(fan).join(rest);
        std::fs::remove_file(object).expect("a loose object");
    };
    let calls = vec![write("sample.envrc", &evil()), add(&["."]), commit()];
    let steps: &[Words] = &[&["revert", "--no-edit", "moved"]];
    Trick { prepare: &damaged, calls, steps, file: ".envrc" }.check("damaged");
}
