//! What commands of settings name, by table.

use super::*;

fn shown(text: &str) -> Vec<String> {
    let shown = names(text).into_iter().map(|name| match name {
        Name::Path(it) | Name::Glob(it) => it,
        Name::Anywhere(it) => format!("**/{it}"),
        Name::Everything => "everything".to_owned(),
    });
    shown.collect()
}

/// Checks that a text names each of these, and if nothing is expected, nothing at all.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = shown(text);
    for name in expected {
        assert!(found.iter().any(|it| it == name), "{text}: {name} is not in {found:?}");
    }
    assert!(!expected.is_empty() || found.is_empty(), "{text}: {found:?}");
}

#[test]
fn words_are_paths() {
    check("sh tools/x.sh", &["tools/x.sh"]);
    check("sh 'my dir/run.sh'", &["my dir/run.sh"]);
    check("./tools/x --config=a/b -Ilib/c", &["./tools/x", "a/b", "lib/c"]);
    check("PATH=tools/bin:$PATH x", &["tools/bin"]);
    check("sh -c 'exec tools/x'", &["tools/x"]);
    check("env -i A=b timeout 5 tools/x", &["tools/x"]);
    check("for f in tools/*.sh; do sh $f; done", &["tools/*.sh"]);
    check("vim", &[]);
    check("git-lfs clean -- %f", &["clean"]);
}

#[test]
fn what_is_left_open_leaves_its_neighbours() {
    check("sh tools/*.sh", &["tools/*.sh"]);
    check("sh tools/$NAME/run.sh", &["tools"]);
    check("sh tools/$(uname).sh", &["tools"]);
    check("sh run-$X.sh", &["run-*.sh"]);
    check("$(git rev-parse --show-toplevel)/tools/x", &["tools/x"]);
    check("$PWD/tools/x", &["tools/x"]);
    check("$SOMEWHERE/tools/x", &["tools/x", "**/tools/x"]);
    check("cd ${GIT_PREFIX:-.} && ./x.sh", &["./x.sh", "**/./x.sh"]);
    check("cd tools && sh x.sh", &["tools", "tools/x.sh"]);
    check("sh -c \"$1\"", &[]);
    check("f() { git log $1; }; f", &[]);
}

#[test]
fn a_program_that_only_the_shell_knows_is_any_file() {
    check("$(cat tools/name)", &["everything", "tools/name"]);
    check("sh $(ls tools | head -1)", &["everything"]);
    check("find . -name '*.sh' -exec sh {} \\;", &["everything"]);
    check("ls tools | xargs sh", &["everything", "tools"]);
    assert!(!shown("find . -name '*.orig' -exec rm {} \\;").contains(&"everything".to_owned()));
    assert!(!shown("git branch | xargs git branch -D").contains(&"everything".to_owned()));
}

#[test]
fn a_program_that_takes_orders_from_a_file_names_it() {
    check("make", &["Makefile", "GNUmakefile", "makefile", "*.mk"]);
    check("make -C tools lint", &["tools/Makefile", "tools/*.mk", "Makefile"]);
    check("make -f tools/rules", &["tools/rules"]);
    check("npm run check", &["package.json", "node_modules/.bin/check"]);
    check("npx prettier --check", &["node_modules/.bin/prettier", "package.json"]);
    check("cargo run --bin x", &["Cargo.toml", "build.rs"]);
    check("just check", &["justfile"]);
    check("python -m tools.hook", &["tools.*", "tools/hook.*", "tools/hook", "*.py"]);
    check("python3 -mtools", &["tools.*", "tools"]);
    check("python3 tools/proc.py", &["tools/proc.py", "tools/*.py", "tools/*/__init__.py"]);
}

#[test]
fn words_of_git_s_own_commands_are_not_programs() {
    check("git log src", &[]);
    check("git log --oneline src docs/a.md", &[]);
    check("git add -A && git commit -m wip", &[]);
    check("git -c core.pager=tools/p log src", &["tools/p"]);
    check("git rebase -x tools/check main", &["tools/check"]);
    check("git rebase --exec 'sh tools/check' main", &["tools/check"]);
    check("git bisect run sh tools/check", &["tools/check"]);
    check("git submodule foreach ./x.sh", &["./x.sh"]);
    check("git difftool -x tools/d", &["tools/d"]);
    check("git fetch --upload-pack=tools/up origin", &["tools/up"]);
    check("git --git-dir=d status", &["d"]);
    check("git --exec-path=tools x", &["tools"]);
    check("git pull 'ext::sh tools/x'", &["tools/x"]);
    check("git unknown tools/x", &["tools/x"]);
    assert!(!shown("git rebase -x tools/check main").contains(&"main".to_owned()));
}
