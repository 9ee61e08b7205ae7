//! The names that matter to an attacker, and the texts that go with them.
//!
//! Drawn often enough that a sequence of thirty calls makes something whole of them.

use super::canary::Canary;
use super::dice::Dice;

/// Git's own files, from the top of a repository.
const GITS: [&str; 22] = [
    ".git",
    ".git/HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/gitdir",
    ".git/index",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/objects",
    ".git/objects/info/alternates",
    ".git/info/attributes",
    ".git/hooks",
    ".git/hooks/pre-commit",
    ".git/hooks/post-index-change",
    ".git/hooks/post-checkout",
    ".git/rebase-merge/git-rebase-todo",
    ".git/rebase-merge/done",
    ".git/sequencer/todo",
    ".git/modules/sub/config",
    ".git/worktrees/tree/gitdir",
    ".git/worktrees/tree/commondir",
];

/// The parts of a directory that git takes for a repository.
const SHAPE: [&str; 10] = [
    "HEAD",
    "config",
    "objects",
    "objects/x",
    "refs",
    "refs/x",
    "commondir",
    "config.worktree",
    "hooks/post-index-change",
    "hooks/pre-commit",
];

/// Listed names.
const LISTED: [&str; 18] = [
    ".envrc",
    ".envrc",
    ".vscode/tasks.json",
    ".gitattributes",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    ".github/workflows/ci.yml",
    ".husky/pre-commit",
    ".mcp.json",
    ".npmrc",
    ".cargo/config.toml",
    ".claude/settings.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".idea/workspace.xml",
    ".exrc",
    "Jenkinsfile",
];

/// What the user's configuration may name.
const NAMED: [&str; 23] = [
    "my hooks/pre-commit",
    "my dir/run.sh",
    "hooklink",
    "hooklink/pre-commit",
    "tools/a0.sh",
    "tools/run.py",
    "d/run.sh",
    "d/gitextra",
    "run.sh",
    "Makefile",
    ".githooks/pre-commit",
    ".githooks/post-index-change",
    ".githooks/post-checkout",
    ".gitconfig",
    "tools/fsm.sh",
    "tools/x.sh",
    "tools/f.sh",
    "tools/d.sh",
    "tools/m.sh",
    "tools/e.sh",
    "tools/attributes",
    "tools",
    ".githooks",
];

/// Names without a meaning.
const PLAIN: [&str; 10] = [
    "README.md",
    "a.txt",
    "src/a.rs",
    "Makefile",
    "docs/HEAD",
    "x",
    "y",
    "env.sh",
    "k/pre-commit",
    "k",
];

/// Names that mean nothing where they are made, and something in another place.
const NEUTRAL: [&str; 26] = [
    "pre-commit",
    "post-index-change",
    "post-checkout",
    "x.sh",
    "f.sh",
    "run.sh",
    "tasks.json",
    "settings.json",
    "ci.yml",
    "notes.txt",
    "a.txt",
    "lib.rs",
    "gitextra",
    "attributes",
    "todo",
    "git-rebase-todo",
    "index",
    "config",
    "refs",
    "objects",
    "hooks",
    "info",
    "modules",
    "workflows",
    "y",
    "z",
];

/// Directories in which such names are tried.
const BASES: [&str; 11] =
    ["", "", "", "", "sub/", "sub/", "d/", "d/e/", "tree/", "d/inner/", "mirror.git/"];

/// Draws a path, relative to the workspace.
pub fn path(dice: &mut Dice) -> String {
    let base = dice.pick(&BASES);
    let pool: &[&str] = match dice.below(20) {
        0..5 => &GITS,
        5..9 => &SHAPE,
        9..12 => &LISTED,
        12..16 => &NAMED,
        _ => &PLAIN,
    };
    format!("{base}{}", dice.pick(pool))
}

/// Draws a name that means nothing by itself.
pub fn neutral(dice: &mut Dice) -> &'static str {
    dice.pick::<&str>(&NEUTRAL)
}

/// Draws a path of a commit that changes nothing that matters.
pub fn harmless(dice: &mut Dice) -> String {
    let base = dice.pick(&["k/", "docs/", "lib/", "src/"]);
    match dice.below(4) {
        0 => (*dice.pick(&["README.md", "a.txt", "src/a.rs"])).to_owned(),
        _ => format!("{base}{}", dice.pick(&NEUTRAL)),
    }
}

/// Draws a path that a commit can hold.
pub fn in_a_commit(dice: &mut Dice) -> String {
    let base = dice.pick(&["", "", "", "d/", "d/", "d/e/"]);
    let pool: &[&str] = match dice.below(12) {
        0..3 => &SHAPE,
        3..5 => &LISTED,
        5..8 => &NAMED,
        _ => &PLAIN,
    };
    // A directory is not an entry of its own; one of its files stands for it.
    match *dice.pick(pool) {
        directory @ ("objects" | "refs" | "k" | "tools" | ".githooks" | "hooklink") => {
            format!("{base}{directory}/y")
        }
        file => format!("{base}{file}"),
    }
}

/// Draws a text that fits the last part of `name`, or another one.
pub fn content(dice: &mut Dice, name: &str, canary: &Canary) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let fitting =
        if dice.chance(90) { last } else { *dice.pick(&["config", "HEAD", "commondir", "x"]) };
    match fitting {
        "Makefile" => format!("all:\n\t{}\n", canary.command("make")),
        "run.py" => format!("open('{}', 'a').write('python')\n", canary.mark()),
        "config" | "config.worktree" | ".gitconfig" | "gitextra" => match dice.chance(70) {
            true => canary.shape_config("config"),
            false => canary.config("config"),
        },
        "HEAD" => "ref: refs/heads/main\n".to_owned(),
        "commondir" => format!("{}\n", dice.pick(&["../d", "..", ".", "d", "../../d"])),
        "gitdir" | ".git" => format!("gitdir: {}\n", dice.pick(&["d", "../d", ".", "k"])),
        "alternates" => format!("{}\n", canary.mark()),
        "git-rebase-todo" | "todo" => format!("exec {}\n", canary.command("todo")),
        ".gitattributes" | "attributes" => {
            format!("# {}\n* filter=f diff=d merge=m\n", canary.mark())
        }
        ".gitmodules" => {
            format!("# {}\n[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n", canary.mark())
        }
        _ => canary.script(last),
    }
}
