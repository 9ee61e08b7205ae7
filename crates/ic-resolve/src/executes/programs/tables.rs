//! Programs that run others, by name: what each takes its orders from.

/// Programs whose first argument is a program.
const INTERPRETERS: [&str; 40] = [
    ".",
    "Rscript",
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "dash",
    "deno",
    "elvish",
    "emacs",
    "eval",
    "expect",
    "fish",
    "gawk",
    "groovy",
    "guile",
    "irb",
    "ksh",
    "lua",
    "luajit",
    "mawk",
    "mksh",
    "nawk",
    "node",
    "nodejs",
    "nu",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "rc",
    "ruby",
    "sed",
    "sh",
    "source",
    "tclsh",
    "ts-node",
    "tsx",
    "zsh",
];

/// Programs that run the one that follows their options.
///
/// Any other program may do so too. Of these it is certain, so a word that only the shell knows is run.
pub(super) const CARRIERS: [&str; 30] = [
    "builtin",
    "chroot",
    "chronic",
    "chrt",
    "command",
    "doas",
    "env",
    "eval",
    "exec",
    "firejail",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "parallel",
    "prlimit",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unbuffer",
    "unshare",
    "watch",
    "winpty",
    "xargs",
];

/// Programs and words of the shell that run nothing which their arguments name.
pub(super) const PASSIVE: [&str; 62] = [
    ":", "[", "[[", "basename", "bat", "cat", "cd", "chmod", "cmp", "code", "column", "comm", "cp",
    "cut", "date", "delta", "diff", "dirname", "du", "echo", "egrep", "exit", "false", "fgrep",
    "fmt", "fold", "fzf", "grep", "head", "jq", "less", "ln", "ls", "meld", "mkdir", "more", "mv",
    "nano", "nl", "open", "popd", "printf", "pushd", "pwd", "read", "return", "rg", "rm", "rmdir",
    "seq", "shift", "sleep", "sort", "subl", "tail", "tee", "test", "touch", "tr", "true", "wc",
    "xdg-open",
];

/// Commands that list files, by the words they begin with.
pub(super) const LISTING: [&[&str]; 4] =
    [&["find"], &["ls"], &["git", "ls-files"], &["git", "ls-tree"]];

/// Programs that add nothing to a list of files.
pub(super) const QUIET: [&str; 16] = [
    ":", "[", "cd", "done", "echo", "egrep", "exit", "false", "grep", "head", "read", "sort",
    "tail", "true", "uniq", "xargs",
];

/// Returns whether a program runs what its first argument names.
pub(super) fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program)
        || ["python", "pypy", "perl5", "ruby2", "ruby3", "lua5", "php7", "php8"]
            .iter()
            .any(|it| program.starts_with(it))
}

/// Programs that do as a file in their directory says, and these files.
pub(super) const RUNNERS: [(&[&str], &[&str]); 18] = [
    (&["make", "gmake", "bmake"], &["GNUmakefile", "makefile", "Makefile", "*.mk"]),
    (&["npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "lint-staged", "turbo", "nx"], NODE),
    (&["just"], &["justfile", "Justfile", ".justfile", "*.just"]),
    (&["cargo"], &["Cargo.toml", "build.rs", ".cargo", "rust-toolchain.toml", "rust-toolchain"]),
    (&["task", "go-task"], &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    (&["rake", "bundle"], &["Rakefile", "rakefile", "Rakefile.rb", "Gemfile", ".bundle"]),
    (&["gradle", "gradlew"], &["build.gradle", "build.gradle.kts", "settings.gradle*", "gradle"]),
    (&["mvn", "mvnw"], &["pom.xml", ".mvn"]),
    (&["ninja", "samu"], &["build.ninja"]),
    (&["cmake"], &["CMakeLists.txt", "CMakePresets.json"]),
    (&["tox", "nox", "invoke", "inv", "doit"], &["tox.ini", "noxfile.py", "tasks.py", "dodo.py"]),
    (&["poetry", "uv", "uvx", "pipenv", "hatch", "pdm", "pytest", "ruff", "black", "mypy"], PYTHON),
    (&["composer"], &["composer.json", "vendor/bin"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["go"], &["go.mod", "go.work", "magefile.go"]),
    (
        &["docker", "docker-compose", "podman"],
        &["compose.y*ml", "docker-compose.y*ml", "Dockerfile"],
    ),
    (&["vagrant", "earthly", "dagger"], &["Vagrantfile", "Earthfile", "dagger.json"]),
    (&["eslint", "prettier", "stylelint", "commitlint"], NODE),
];
pub(super) const NODE: &[&str] = &[
    "package.json",
    "node_modules/.bin",
    ".lintstagedrc*",
    "lint-staged.config.*",
    ".prettierrc*",
    "prettier.config.*",
    ".eslintrc*",
    "eslint.config.*",
    ".commitlintrc*",
    "commitlint.config.*",
];
pub(super) const PYTHON: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "pytest.ini", "tox.ini", "Pipfile"];

/// Commands of git's own that run nothing which their arguments name, unless an option says so.
pub(super) const PLAIN: [&str; 63] = [
    "add",
    "bisect",
    "blame",
    "branch",
    "cat-file",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "notes",
    "prune",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stash",
    "status",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];
/// Commands of git's own that do to the tree, or to the configuration, what a file says.
pub(super) const OBEYING: [&str; 3] = ["am", "apply", "config"];
/// Commands whose arguments may be a file that brings commits.
pub(super) const BRINGING: [&str; 4] = ["fetch", "ls-remote", "pull", "remote"];
/// Long options of these that name a program, with it in the same word or the next.
pub(super) const RUNNING: [&str; 4] =
    ["exec", "upload-pack", "receive-pack", "open-files-in-pager"];
/// Letters that do the same, for one command each.
pub(super) const RUNNING_OF: [(&str, char); 3] = [("clone", 'u'), ("grep", 'O'), ("rebase", 'x')];
