//! What git has anywhere, and the disk has not: links, configurations and hooks in a commit of any age, in logs,
//! in what was put aside for a rebase or a merge; and parts that git cannot read, which must not hide the others.
//!
//! Each row is played twice: where nobody looks the canary has to run, and through the proxy it must not.

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, careless, through_the_proxy};

use super::{coding, make, world, write};

/// What it is called, what the user did before, and what the user does afterwards.
type Row<'a> = (&'a str, &'a str, &'a str);

/// What the agent writes.
const NEW: &str = "conf/new";

/// A project, and an alias that runs a file which is nowhere yet.
const LINKED: &str = "git config alias.x '!sh tools/x'\n";
/// A project with a configuration in the tree.
const SHARED: &str =
    "git config include.path ../.gc\nprintf '[color]\\n\\tui = auto\\n' > .gc\nC\n";
const HOOKED: &str =
    "git config core.hooksPath .githooks\nmkdir .githooks\necho x > .githooks/README\nC\n";

/// Words of the scripts: a commit; the link and that it is gone; a branch with it; two branches that conflict.
const WORDS: &str = "
C() { git add -A; git -c core.hooksPath=/dev/null commit -q -m c; }
link() { mkdir -p tools; ln -s ../conf/new tools/x; }
unlink() { rm tools/x; }
dev() { git checkout -q -b dev; \"$@\"; C; git checkout -q main; }
linked_tree() { dev link; git worktree add -q ../wt -b w; }
conflict() { echo m > f; git checkout -q -b dev; echo d > f; C; git checkout -q main; echo m > f; C; }
shared() { printf '[alias]\\n\\tx = \"!sh conf/new\"\\n' > \"${1-.gc}\"; }
further() { printf '[include]\\n\\tpath = conf/new\\n' > .gc; }
led() { mkdir -p cfg; rm -f .gc; shared cfg/gc; ln -s cfg/gc .gc; }
hook() { printf '#!/bin/sh\\nexec python3 -m checks\\n' > \"$1\"; chmod +x \"$1\"; }
led_hook() { mkdir -p bin; hook bin/h; ln -s ../bin/h .githooks/pre-commit; }
";

#[test]
fn by_a_link_of_any_commit() {
    let between = "link; C; unlink; C";
    check(
        LINKED,
        &[
            ("an older commit", between, "git checkout -q HEAD~1"),
            ("an older commit, taken back", between, "git revert --no-edit HEAD"),
            ("an older commit, restored", between, "git restore -s HEAD~1 tools/x"),
            (
                "no branch",
                "git checkout -q --detach; link; C; git checkout -q main",
                "git checkout -q -",
            ),
            (
                "a commit that was amended",
                "link; echo a > a; C; unlink; git commit -q -a --amend -m n",
                "git checkout -q 'HEAD@{1}'",
            ),
        ],
    );
}

#[test]
fn by_a_link_that_no_branch_or_log_has() {
    let begun = "conflict; link; git add -A;";
    check(
        LINKED,
        &[
            (
                "put aside by a rebase",
                &format!("{begun} git rebase -q --autostash dev"),
                "git rebase --abort",
            ),
            (
                "put aside by a merge",
                &format!("{begun} git merge -q --autostash dev"),
                "git merge --abort",
            ),
            (
                "fetched with another",
                "git clone -q . ../o; cd ../o; git checkout -q -b a; echo a > a; C
                 git checkout -q -b b main; link; C; cd ../work; git fetch -q ../o a b; rm -rf ../o",
                "git merge -q -m x FETCH_HEAD",
            ),
            (
                "a submodule that is not checked out",
                "git init -q ../lib; cd ../lib; ln -s ../conf/new x; C; cd ../work
                 git -c protocol.file.allow=always submodule add -q ../lib tools; C
                 git submodule deinit -q -f tools",
                "git -c protocol.file.allow=always submodule update -q --init",
            ),
            ("put aside", "link; git stash -q -u", "git stash pop -q"),
            (
                "put aside before",
                "link; git stash -q -u; echo z > README.md; git stash -q",
                "git stash apply -q 'stash@{1}'",
            ),
        ],
    );
}

#[test]
fn by_a_link_that_a_part_which_git_cannot_read_hides() {
    check(
        LINKED,
        &[
            (
                "a leftover tree without HEAD",
                "linked_tree; rm -r ../wt .git/worktrees/wt/HEAD",
                "git checkout -q dev",
            ),
            (
                "a leftover tree without commondir",
                "linked_tree; rm -r ../wt .git/worktrees/wt/commondir",
                "git checkout -q dev",
            ),
            ("an empty index", "linked_tree; : > .git/worktrees/wt/index", "git checkout -q dev"),
            (
                "a branch without its commit",
                "dev link; printf '%040d\\n' 1 > .git/refs/heads/lost",
                "git checkout -q dev",
            ),
        ],
    );
}

#[test]
fn by_a_configuration_of_another_commit() {
    check(
        SHARED,
        &[
            ("a branch", "dev shared", "git checkout -q dev"),
            ("a branch, merged", "dev shared", "git merge -q -m x dev"),
            ("an older commit", "shared; C; echo > .gc; C", "git checkout -q HEAD~1"),
            ("put aside", "shared; git stash -q", "git stash pop -q"),
            ("staged", "shared; git add .gc; echo > .gc", "git restore .gc"),
            ("a branch alone", "git rm -q .gc; C; dev shared", "git checkout -q dev"),
            ("behind a link", "dev led", "git checkout -q dev"),
            (
                "included by the user's own",
                "dev shared; git config --unset include.path
                 git config --global \"includeIf.gitdir:$PWD/.path\" \"$PWD/.gc\"",
                "git checkout -q dev",
            ),
        ],
    );
    let row = ("a further configuration", "dev further", "git checkout -q dev");
    let text = |world: &World| world.canary.config("included");
    check_with((SHARED, &row), (NEW, &text), "git x");
}

#[test]
fn by_a_hook_of_another_commit() {
    let text =
        |world: &World| format!("import os\nos.system({:?})\n", world.canary.command("module"));
    for row in [
        ("a branch", "dev hook .githooks/pre-commit", "git checkout -q dev"),
        ("behind a link", "dev led_hook", "git checkout -q dev"),
    ] {
        check_with((HOOKED, &row), ("checks.py", &text), "git commit -q --allow-empty -m x");
    }
}

/// Mails that git is about to apply are read for links only: with one, everything asks until that is over.
#[test]
fn by_a_link_of_a_mail() {
    // The first mail is about something else, so that git stops before the link.
    let before = "git checkout -q -b dev; echo d > f; C; link; C; git checkout -q main
                  git format-patch -q -o ../mails main..dev; git branch -q -D dev
                  echo m > f; C; git am -q ../mails/*";
    let world = prepared(LINKED, before);
    run(&world, "git reflog expire --expire=now --all; git gc -q --prune=now");
    let answers = through(&world, &[write(NEW, &world.canary.script("mailed"))]);
    assert_ne!(answers, [SERVED]);
    run(&world, "git am --skip; git x");
    assert!(world.workspace().join("tools/x").is_symlink(), "git does not bring the link");
    assert_eq!(world.canary.heard(), None);
}

fn check(project: &str, rows: &[Row<'_>]) {
    for row in rows {
        let text = |world: &World| world.canary.script("written");
        check_with((project, row), (NEW, &text), "git x");
    }
}

#[track_caller]
fn check_with(
    (project, (name, before, after)): (&str, &Row<'_>),
    (file, text): (&str, &dyn Fn(&World) -> String),
    runs: &str,
) {
    for is_looked_at in [false, true] {
        let world = prepared(project, before);
        let call = write(file, &text(&world));
        if is_looked_at {
            let answers = through(&world, &[make("docs"), write("docs/a.md", "a\n"), call]);
            let (written, free) = answers.split_last().unwrap();
            assert_eq!(free, [SERVED, SERVED], "{name}: ordinary work asks");
            assert_ne!(written, SERVED, "{name}");
        } else {
            careless::obey(&world, &call);
        }
        run(&world, &format!("{after}\n{runs}"));
        let heard = world.canary.heard();
        assert_eq!(heard.is_some(), !is_looked_at, "{name}, looked at: {is_looked_at}: {heard:?}");
    }
}

fn prepared(project: &str, before: &str) -> World {
    let world = world();
    world.write("README.md", "old\n");
    world.write("conf/a", "old\n");
    // Where git knows another way to keep refs and logs, that one.
    let init = "git init -q -b main --ref-format=reftable || git init -q -b main\nC\n";
    let init = if before.contains("stash") { init } else { "git init -q -b main\nC\n" };
    run(&world, &format!("{init}{project}{before}"));
    world
}

/// Has the user run a script in the workspace.
fn run(world: &World, script: &str) {
    world.place.write("script.sh", format!("{WORDS}{script}\n"));
    world.user.run(&world.workspace(), &world.place.path("script.sh"));
}

fn through(world: &World, calls: &[Call]) -> Vec<String> {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    through_the_proxy(world, &flags, calls)
}
