//! Links that git has and the disk does not: another branch, a tag, the stash, HEAD or another tree brings
//! them, and then what was written where they lead is run.
//!
//! Each trick is played twice: where nobody looks the canary has to run, and through the proxy it must not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, careless, through_the_proxy};
use serde_json::json;

use super::{coding, git, make, world, write};

type Words = &'static [&'static str];

/// How the user comes to have the link.
#[derive(Clone, Copy, Debug)]
enum Has {
    Branch,
    Tag,
    Remote,
    Stash,
    Head,
    /// The branch is checked out in a linked tree beside the workspace.
    Tree,
}

/// A trick: the links that are somewhere, what the agent writes, and how the user gets the links.
struct Trick {
    has: Has,
    links: &'static [(&'static str, &'static str)],
    settings: &'static [(&'static str, &'static str)],
    /// What the agent writes.
    file: &'static str,
    /// Whether it commits that, too.
    commits: bool,
    steps: &'static [Words],
    /// What the user's programs read then: the text of the agent has to be there.
    shown: &'static str,
}

const VIMRC: Trick = Trick {
    has: Has::Branch,
    links: &[(".exrc", "conf/vimrc")],
    settings: &[],
    file: "conf/vimrc",
    commits: false,
    steps: &[&["checkout", "-q", "dev"]],
    shown: ".exrc",
};
const HOOK: Trick = Trick {
    links: &[(".githooks/pre-commit", "../scripts/lint.sh")],
    settings: &[("core.hooksPath", ".githooks")],
    file: "scripts/lint.sh",
    shown: ".githooks/pre-commit",
    ..VIMRC
};

#[test]
fn by_a_link_of_another_branch() {
    VIMRC.check("a listed name");
    HOOK.check("a hook");
    Trick { commits: true, steps: &[&["merge", "-q", "-m", "x", "dev"]], ..VIMRC }
        .check("merged after the agent committed");
    Trick { links: &[("x/.vimrc", "../conf/vimrc")], shown: "x/.vimrc", ..VIMRC }.check("deeper");
    Trick { links: &[(".vscode", "conf")], shown: ".vscode/vimrc", ..VIMRC }
        .check("a listed directory");
    Trick {
        links: &[(".github", "conf")],
        file: "conf/workflows/ci.yml",
        shown: ".github/workflows/ci.yml",
        ..VIMRC
    }
    .check("above a directory of CI");
}

#[test]
fn by_a_link_to_where_something_is_named() {
    let links = &[(".githooks", "scripts")];
    Trick { links, file: "scripts/pre-commit", ..HOOK }.check("a directory of hooks");
    let settings = &[("include.path", "../.gc")];
    Trick { links: &[(".gc", "conf/gc")], settings, file: "conf/gc", shown: ".gc", ..VIMRC }
        .check("a configuration");
    let settings = &[("core.editor", "sh tools/x")];
    for (links, name) in
        [(&[("tools/x", "../conf/vimrc")], "a program"), (&[("tools", "alt")], "its directory")]
    {
        let file = if name == "a program" { "conf/vimrc" } else { "alt/x" };
        Trick { links, settings, file, shown: "tools/x", ..VIMRC }.check(name);
    }
    let settings = &[("core.hooksPath", "build/hooks")];
    Trick {
        links: &[("build", "out")],
        settings,
        file: "out/hooks/pre-commit",
        shown: "build/hooks/pre-commit",
        ..VIMRC
    }
    .check("above a directory of hooks");
}

#[test]
fn by_links_one_after_the_other() {
    let links = &[(".exrc", "cfg/vimrc"), ("cfg", "conf")];
    Trick { links, ..VIMRC }.check("a directory on the way");
    let links = &[(".exrc", "one"), ("one", "two"), ("two", "conf/vimrc")];
    Trick { links, ..VIMRC }.check("three links");
}

#[test]
fn by_a_link_that_is_not_on_a_branch() {
    Trick { has: Has::Tag, steps: &[&["checkout", "-q", "v1"]], ..VIMRC }.check("a tag");
    let steps: &[Words] = &[&["checkout", "-q", "refs/remotes/origin/dev"]];
    Trick { has: Has::Remote, steps, ..VIMRC }.check("a branch from elsewhere");
    Trick { has: Has::Stash, steps: &[&["stash", "pop", "-q"]], ..VIMRC }.check("put aside");
    Trick { has: Has::Head, steps: &[&["restore", ".exrc"]], ..VIMRC }.check("removed for now");
    let steps: &[Words] = &[&["-C", "../wt", "merge", "-q", "-m", "x", "main"]];
    Trick { has: Has::Tree, commits: true, steps, shown: "../wt/.exrc", ..VIMRC }
        .check("another tree");
}

/// The workspace is a part of a repository, or another tree or a local remote lies beside it: links there.
#[test]
fn by_a_link_around_the_workspace() {
    let around = |world: &World, (name, target): (&str, &str)| {
        let path = world.workspace().join(name);
        fs::remove_file(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    };
    for (name, target, beneath) in [
        (".exrc", "conf/vimrc", "conf"),
        ("../wt/.exrc", "../work/conf/vimrc", ""),
        ("../cl/.git/hooks/pre-commit", "../../../work/conf/vimrc", ""),
    ] {
        for has_link in [false, true] {
            let world = Trick { links: &[], ..VIMRC }.prepared();
            user(&world, &["worktree", "add", "-q", "../wt", "dev"]);
            user(&world, &["clone", "-q", ".", "../cl"]);
            user(&world, &["remote", "add", "there", "../cl"]);
            if has_link {
                around(&world, (name, target));
            }
            let top = world.workspace().join(beneath);
            let flags = ["--policy", "coding", "--workspace", top.to_str().unwrap()];
            let file = world.workspace().join("conf/vimrc");
            let answers =
                through_the_proxy(&world, &flags, &[write(file.to_str().unwrap(), "new\n")]);
            assert_eq!(answers == [SERVED], !has_link, "{name}: {answers:?}");
        }
    }
}

/// What no link of a name that counts leads to is free, however many links there are.
#[test]
fn other_links_of_branches_ask_nothing() {
    for (link, target) in
        [("docs/latest", "../conf"), ("README", "conf/vimrc"), ("vendor/.exrc", "../conf/vimrc")]
    {
        let trick = Trick { links: &[], ..VIMRC };
        let world = trick.prepared();
        on_dev(&world, &[(link, target)]);
        let answers =
            through(&world, &[write("conf/vimrc", "new\n"), write("conf/other", "new\n")]);
        assert_eq!(answers, [SERVED, SERVED], "{link}");
    }
}

fn user(world: &World, words: &[&str]) {
    world.user.git_well(&world.workspace(), words);
}

fn through(world: &World, calls: &[Call]) -> Vec<String> {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    through_the_proxy(world, &flags, calls)
}

fn link(world: &World, (name, target): (&str, &str)) {
    let path = world.workspace().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

fn on_dev(world: &World, links: &[(&str, &str)]) {
    user(world, &["checkout", "-q", "-B", "dev"]);
    for it in links {
        link(world, *it);
    }
    user(world, &["add", "-A"]);
    user(world, &["commit", "-q", "--allow-empty", "-m", "dev"]);
    user(world, &["checkout", "-q", "main"]);
}

impl Trick {
    #[track_caller]
    fn check(&self, name: &str) {
        assert!(self.arrives(false), "{name}: it does not even work where nobody looks");
        assert!(!self.arrives(true), "{name}: it arrived");
    }

    fn prepared(&self) -> World {
        let world = world();
        user(&world, &["init", "-q", "-b", "main"]);
        for name in ["README.md", "conf/vimrc", "scripts/lint.sh", "alt/a", "out/hooks/a"] {
            world.write(name, "old\n");
        }
        user(&world, &["add", "-A"]);
        user(&world, &["commit", "-q", "-m", "first"]);
        for (name, value) in self.settings {
            user(&world, &["config", name, value]);
        }
        match self.has {
            Has::Branch | Has::Tree | Has::Tag | Has::Remote => on_dev(&world, self.links),
            Has::Stash | Has::Head => self.links.iter().for_each(|it| link(&world, *it)),
        }
        match self.has {
            Has::Branch => {}
            Has::Tag => {
                user(&world, &["tag", "v1", "dev"]);
                user(&world, &["branch", "-q", "-D", "dev"]);
            }
            Has::Remote => {
                user(&world, &["update-ref", "refs/remotes/origin/dev", "dev"]);
                user(&world, &["branch", "-q", "-D", "dev"]);
            }
            Has::Tree => user(&world, &["worktree", "add", "-q", "../wt", "dev"]),
            Has::Stash => user(&world, &["stash", "-q", "-u"]),
            Has::Head => {
                user(&world, &["add", "-A"]);
                user(&world, &["commit", "-q", "-m", "links"]);
                for (name, _) in self.links {
                    fs::remove_file(world.workspace().join(name)).unwrap();
                }
            }
        }
        world
    }

    /// Returns whether the text of the agent comes to be where the user's programs look.
    fn arrives(&self, is_looked_at: bool) -> bool {
        let world = self.prepared();
        let text = world.canary.script("by a link");
        let above = Path::new(self.file).parent().unwrap().to_str().unwrap().to_owned();
        let mut calls = vec![make(&above), write(self.file, &text)];
        if self.commits {
            calls.push(git("git__git_add", json!({"files": [self.file]})));
            calls.push(git("git__git_commit", json!({"message": "m"})));
        }
        if is_looked_at {
            through(&world, &calls);
        } else {
            for call in &calls {
                careless::obey(&world, call);
            }
        }
        for step in self.steps {
            world.user.git(&world.workspace(), step);
        }
        let shown = world.workspace().join(self.shown);
        if let Ok(metadata) = fs::metadata(&shown) {
            let mut permissions = metadata.permissions();
            permissions.set_mode(0o755);
            fs::set_permissions(&shown, permissions).unwrap();
        }
        fs::read_to_string(shown).is_ok_and(|it| it == text)
    }
}
