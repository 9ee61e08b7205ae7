//! Values that lead to a file in more ways than one: what a new top gives a meaning, trees that are elsewhere
//! than their repository, directories that are left again, values that are the workspace itself.

use super::executes::{asks, disk, is_free, repository, write};

const EVERYDAY: &str = "\
[core]
\teditor = code --wait
\tpager = delta --dark
\texcludesFile = ~/.gitignore
[alias]
\tst = status -sb
\tlg = log --graph --pretty=format:'%h %s'
\tlast = !git log -1 HEAD
\tpr = !f() { git fetch origin pull/$1/head && git checkout FETCH_HEAD; }; f
\tgone = !git branch -vv | grep gone | awk '{print $1}' | xargs git branch -D
\troot = !cd $(git rev-parse --show-toplevel) && pwd
\tdev = !cd $DEV/w && git pull
[diff]
\texternal = difft
\ttool = meld
[difftool \"meld\"]
\tcmd = meld \"$LOCAL\" \"$REMOTE\"
[commit]
\ttemplate = ~/.gitmessage
[credential]
\thelper = store --file ~/.git-credentials
[credential \"https://github.com\"]
\thelper = !/usr/bin/gh auth git-credential
[includeIf \"gitdir:~/work/\"]
\tpath = ~/.gitconfig-work
[filter \"lfs\"]
\tclean = git-lfs clean -- %f
\tsmudge = git-lfs smudge -- %f
\tprocess = git-lfs filter-process
[init]
\ttemplateDir = ~/.git-template
";

fn init(path: &str) -> String {
    format!(r#"{{"path":"{path}"}}"#)
}

#[test]
fn a_new_repository_asks_about_what_it_gives_a_meaning() {
    let user = |config: &str| disk().file("/h/.gitconfig", config).dir("/w/new/empty");
    for (config, file) in [
        ("[core]\n\tfsmonitor = sh tools/x\n", "/w/new/tools/x"),
        ("[core]\n\tfsmonitor = sh ../tools/x\n", "/w/tools/x"),
        ("[core]\n\tpager = sh ${X}ools/pg\n", "/w/new/tools/pg"),
        ("[core]\n\thooksPath = .githooks\n", "/w/new/.githooks/pre-commit"),
        ("[core]\n\teditor = sh tools/*.sh\n", "/w/new/tools/x.sh"),
        ("[alias]\n\tx = !sh tools/x\n", "/w/new/tools/x"),
    ] {
        let disk = user(config);
        is_free(&disk, "git_init", &init("/w/new"));
        let disk = disk.file(file, "x");
        let answer = if config.contains('$') { "" } else { "names it" };
        match config.contains('$') {
            // It counts wherever it is, so it was asked about when it was written.
            true => asks(&disk, "write", &write(file), answer),
            false => asks(&disk, "git_init", &init("/w/new"), answer),
        }
    }
    let ci = disk().file("/w/new/.github/workflows/x.yml", "x");
    asks(&ci, "git_init", &init("/w/new"), "");
    let packages = disk().file("/w/vendor/lib/.envrc", "x").file("/w/vendor/lib/deep/.exrc", "x");
    asks(&packages, "git_init", &init("/w/vendor/lib"), ".envrc");
    asks(&packages, "git_init", &init("/w/vendor/lib/deep"), ".exrc");
    // What is there in an ordinary project.
    let plain = user(EVERYDAY)
        .file("/w/new/Makefile", "x")
        .file("/w/new/package.json", "{}")
        .file("/w/new/src/main.py", "x")
        .file("/w/new/tools/run.sh", "x");
    is_free(&plain, "git_init", &init("/w/new"));
    is_free(&plain, "git_init", &init("/w/other"));
}

#[test]
fn what_people_have_in_their_configuration_makes_nothing_else_ask() {
    let husky = "[core]\n\thooksPath = .husky/_\n[remote \"origin\"]\n\turl = git@x:y/z.git\n";
    let disk = repository(disk(), "/w/app", husky)
        .file("/h/.gitconfig", EVERYDAY)
        .file("/h/.gitconfig-work", "[user]\n\temail = a@b\n")
        .dir("/w/app/.husky/_");
    for path in [
        "/w/app/src/main.rs",
        "/w/app/Makefile",
        "/w/app/package.json",
        "/w/app/tools/run.sh",
        "/w/app/hooks/useThing.ts",
        "/w/src/x.py",
        "/w/bin/run",
    ] {
        is_free(&disk, "write", &write(path));
    }
    asks(&disk, "write", &write("/w/app/.husky/_/pre-commit"), "");
}

#[test]
fn a_tree_that_is_elsewhere_is_where_names_are_meant_from() {
    for (config, tree) in [
        ("[core]\n\tworktree = ../..\n\tfsmonitor = sh tools/x\n", "/w"),
        ("[core]\n\tworktree = /w/t\n\tfsmonitor = sh tools/x\n", "/w/t"),
        ("[core]\n\tworktree = ../../l\n\tfsmonitor = sh tools/x\n", "/w/t"),
    ] {
        let disk = repository(disk(), "/w/cfg", config)
            .dir("/w/t/tools")
            .dir("/w/tools")
            .link("/w/l", "t");
        asks(&disk, "write", &write(&format!("{tree}/tools/x")), "core.fsmonitor");
    }
    let up = repository(disk(), "/w/cfg", "[core]\n\tworktree = ../..\n\tpager = sh tools/x\n");
    is_free(&up.dir("/w/tools"), "write", &write("/w/tools/y"));
    // A repository without a `.git` of its own.
    let bare = disk()
        .file("/w/.dots/HEAD", "ref: refs/heads/main\n")
        .dir("/w/.dots/objects")
        .dir("/w/.dots/refs")
        .file("/w/.dots/config", "[core]\n\tworktree = /w\n\thooksPath = hk\n");
    asks(&bare, "write", &write("/w/hk/pre-commit"), "core.hookspath");
}

#[test]
fn a_directory_that_is_left_again_counts_as_an_entry() {
    let config = "[core]\n\teditor = sh sub/../tools/ed.sh\n";
    let linked = "[core]\n\teditor = sh tools/ed.sh\n";
    let listed = disk().dir("/w/sub").link("/w/.exrc", "sub/../conf/exrc").dir("/w/conf");
    for disk in [
        repository(disk(), "/w", config).file("/w/tools/ed.sh", "x"),
        repository(disk(), "/w", linked).link("/w/tools/ed.sh", "../sub/../real/ed.sh"),
        listed,
    ] {
        let disk = disk.file("/w/sub/a.txt", "x").file("/w/l/x", "x");
        asks(&disk, "move", r#"{"source":"/w/sub","destination":"/w/sub2"}"#, "");
        asks(&disk, "delete", r#"{"path":"/w/sub"}"#, "");
        for path in ["/w/sub/a.txt", "/w/sub/b.txt", "/w/sub/deep/c"] {
            is_free(&disk, "write", &write(path));
        }
    }
    let home = repository(disk(), "/w", "[core]\n\teditor = sh ~/w/../tools/ed.sh\n");
    let home = home.dir("/w/sub").link("/h/w", "/w/sub").dir("/w/tools");
    asks(&home, "write", &write("/w/tools/ed.sh"), "core.editor");
}

#[test]
fn a_value_that_is_the_workspace_or_holds_it_counts_by_kind() {
    let user = |config: &str| disk().file("/h/.gitconfig", config).dir("/w/hooks");
    for value in ["/w", "/", "~root/../w", "%(prefix)/../w"] {
        let disk = user(&format!("[init]\n\ttemplateDir = {value}\n"));
        asks(&disk, "write", &write("/w/hooks/pre-commit"), "init.templatedir");
    }
    for value in ["~root/../w/hk", "%(prefix)/../w/hk", "~x/hk", "/proc/self/cwd/hk"] {
        let disk = user(&format!("[core]\n\thooksPath = {value}\n"));
        asks(&disk, "write", &write("/w/hk/pre-commit"), "core.hookspath");
        is_free(&disk, "write", &write("/w/hooks/pre-commit"));
    }
    // Which file it is cannot be told, nor what is in it.
    for value in ["~root/../w/gi", "%(prefix)/../w/gi"] {
        let disk = user(&format!("[include]\n\tpath = {value}\n"));
        asks(&disk, "write", &write("/w/anything"), "include.path");
    }
    for value in ["sh ~/$X", "sh /$X", "sh ~/../w/$X"] {
        let disk = user(&format!("[core]\n\teditor = {value}\n"));
        asks(&disk, "write", &write("/w/run"), "core.editor");
        is_free(&disk, "write", &write("/w/notes.md"));
    }
}

#[test]
fn hidden_links_of_the_home_count_with_all_beneath() {
    for link in [
        ".exrc",
        ".pdbrc",
        ".unheard-of",
        ".config",
        ".config/gdb",
        ".config/any/rc",
        ".local/lib",
        ".local/lib/python3.11/site-packages",
        ".cargo/config.toml",
    ] {
        let disk = disk().dir("/w/dot").link(&format!("/h/{link}"), "/w/dot");
        asks(&disk, "write", &write("/w/dot"), "");
        asks(&disk, "write", &write("/w/dot/deep/file"), "");
        is_free(&disk, "write", &write("/w/other/file"));
    }
    // A way to the workspace, and what is not hidden, are none of them.
    let ways = disk().link("/h/.here", "/w").link("/h/there", "/w/dot").dir("/w/dot");
    is_free(&ways, "write", &write("/w/dot/file"));
}

#[test]
fn objects_that_are_taken_from_elsewhere_are_git_s_own() {
    let disk = disk()
        .file("/w/.git/objects/info/alternates", "# x\n/w/cache/objects\n")
        .file("/w/cache/objects/info/alternates", "../../c2\n")
        .dir("/w/c2/ab");
    for path in ["/w/cache/objects/ab/cd", "/w/c2/ab/cd", "/w/cache/objects/info/alternates"] {
        asks(&disk, "write", &write(path), "");
    }
    is_free(&disk, "write", &write("/w/cache/other"));
}
