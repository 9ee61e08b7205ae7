//! Names that count elsewhere than where they are written: through links, in trees that share commits, with
//! moved directories, and beyond what is searched.

use super::executes::{asks, disk, is_free, repository, write};

const EDITOR: &str = "[core]\n\teditor = sh tools/ed.sh\n";

#[test]
fn a_listed_name_counts_by_the_path_as_it_is_spelled() {
    let disk =
        disk().dir("/w/node_modules/t").link("/w/site", "node_modules/t").link("/w/s2", "site");
    for path in ["/w/site/.envrc", "/w/s2/.envrc", "/w/site/a/.vscode/x"] {
        asks(&disk, "write", &write(path), "");
    }
    for path in ["/w/site/a.js", "/w/node_modules/t/.envrc", "/w/site/../t/.envrc"] {
        is_free(&disk, "write", &write(path));
    }
}

#[test]
fn what_one_tree_names_counts_in_those_that_exchange_commits_with_it() {
    let remote = |url: &str| format!("{EDITOR}[remote \"o\"]\n\turl = {url}\n");
    for url in [
        "../../o/up",
        "/o/up",
        "file:///o/up",
        "FILE://localhost/o/up",
        "file://any.host/o/u%70",
        "/o/up/.git",
        "/o/up/",
        "short:up",
    ] {
        let config = format!("{}[url \"/o/\"]\n\tinsteadOf = short:\n", remote(url));
        let disk = repository(repository(disk(), "/w/main", &config), "/o/up", "");
        let disk = disk.dir("/o/up/tools").dir("/w/main/x");
        asks(&disk, "write", &write("/o/up/tools/ed.sh"), "core.editor");
        is_free(&disk, "write", &write("/o/up/tools/other.sh"));
        is_free(&disk, "write", &write("/w/main/x/tools/ed.sh"));
    }
    // Wherever a remote is written down.
    let own = "[remote \"o\"]\n\turl = /o/up\n";
    let main = || repository(disk(), "/w/main", &format!("{EDITOR}[include]\n\tpath = more\n"));
    for disk in [
        main().file("/w/main/.git/more", own),
        main().file("/w/main/.git/config.worktree", own),
        main().file("/w/main/.git/remotes/o", "URL: /o/up\nPull: x\n"),
        main().file("/w/main/.git/branches/o", "/o/up#main\n"),
    ] {
        let disk = repository(disk, "/o/up", "").dir("/o/up/tools");
        asks(&disk, "write", &write("/o/up/tools/ed.sh"), "core.editor");
    }
    // What is no tree brings commits too.
    let bundle = repository(disk(), "/w/main", &remote("/w/up.bundle")).file("/w/up.bundle", "x");
    asks(&bundle, "write", &write("/w/up.bundle"), "remote.url");
    // Of a remote's remote too, and the other way round; not of one that is far.
    let chain = repository(disk(), "/w/a", &remote("../b"));
    let chain = repository(chain, "/w/b", "[remote \"o\"]\n\turl = ../c\n");
    let chain = repository(chain, "/w/c", "[core]\n\tpager = sh p.sh\n");
    asks(&chain, "write", &write("/w/c/tools/ed.sh"), "core.editor");
    asks(&chain, "write", &write("/w/b/p.sh"), "core.pager");
    let far = repository(repository(disk(), "/w/main", &remote("host:up")), "/o/up", "");
    is_free(&far.dir("/o/up/tools"), "write", &write("/o/up/tools/ed.sh"));
    // Trees of one workspace, however the user brings commits from one to the other.
    let near = repository(repository(disk(), "/w/main", EDITOR), "/w/up", "").dir("/w/up/tools");
    asks(&near, "write", &write("/w/up/tools/ed.sh"), "core.editor");
    is_free(&near, "write", &write("/w/up/x/tools/ed.sh"));
    // With very many trees, in any directory.
    let names: Vec<String> = (0..20).map(|n| format!("[alias]\n\ta{n} = !sh t{n}/x\n")).collect();
    let many = (0..250).fold(repository(disk(), "/w/main", &names.concat()), |disk, n| {
        repository(disk, &format!("/w/many/{n}"), "")
    });
    asks(&many, "write", &write("/w/many/7/t3/x"), "alias.a3");
    asks(&many, "write", &write("/w/many/7/deep/t3/x"), "alias.a3");
    is_free(&many, "write", &write("/w/many/7/t3y/z"));
    // Linked working trees: only the main one names it.
    let tree = repository(disk(), "/w/m", "")
        .file("/w/m/.git/config.worktree", EDITOR)
        .file("/w/m/.git/worktrees/t/gitdir", "/w/t/.git\n")
        .file("/w/m/.git/worktrees/t/commondir", "../..\n")
        .file("/w/m/.git/worktrees/t/HEAD", "ref: refs/heads/t\n")
        .file("/w/t/.git", "gitdir: /w/m/.git/worktrees/t\n");
    asks(&tree, "write", &write("/w/t/tools/ed.sh"), "core.editor");
}

#[test]
fn a_moved_directory_brings_what_a_pattern_names() {
    let config = "[core]\n\teditor = sh $TOOLS/ed.sh\n";
    let disk = repository(disk(), "/w/r", config)
        .file("/w/stage/in/ed.sh", "x")
        .file("/w/plain/x.sh", "x")
        .file("/w/r/old/ed.sh", "x");
    // Wherever it goes: what the variable holds, nobody knows.
    for (from, to) in [
        ("/w/stage", "/w/r/lib"),
        ("/w/stage/in", "/w/r/x/y"),
        ("/w/r/old", "/w/o"),
        ("/w/stage", "/w/other"),
    ] {
        let json = format!(r#"{{"source":"{from}","destination":"{to}"}}"#);
        asks(&disk, "move", &json, "core.editor");
    }
    is_free(&disk, "move", r#"{"source":"/w/plain","destination":"/w/r/lib"}"#);
}

#[test]
fn links_on_the_way_to_an_end_that_is_known_are_followed() {
    let config = "[core]\n\teditor = sh $W/t2/ed.sh\n\tpager = sh $W/w/l/e\n";
    let disk = repository(disk(), "/w", config)
        .file("/w/tools/ed.sh", "x")
        .file("/w/other/pg.sh", "x")
        .link("/w/t2", "tools")
        .link("/w/l/e", "../other/pg.sh");
    asks(&disk, "write", &write("/w/tools/ed.sh"), "core.editor");
    asks(&disk, "write", &write("/w/other/pg.sh"), "core.pager");
    asks(&disk, "delete", &write("/w/t2"), "core.editor");
    is_free(&disk, "write", &write("/w/tools/x.sh"));
    // With too many directories to look for links, the last name counts wherever it is.
    let many = (0..2100).fold(disk, |disk, n| disk.dir(&format!("/w/many/{n}")));
    asks(&many, "write", &write("/w/tools/ed.sh"), "core.editor");
    asks(&many, "write", &write("/w/src/ed.sh"), "core.editor");
    is_free(&many, "write", &write("/w/tools/x.sh"));
}

#[test]
fn links_in_named_directories_are_followed_at_any_depth() {
    let hooks = repository(disk(), "/w/r", "[core]\n\thooksPath = hk\n")
        .file("/w/r/s/one.sh", "x")
        .file("/w/r/s/two.sh", "x")
        .dir("/w/r/hk/deep")
        .link("/w/r/hk/pre-commit", "../s/one.sh")
        .link("/w/r/hk/deep/x", "../../s/two.sh");
    for name in ["one.sh", "two.sh"] {
        asks(&hooks, "write", &write(&format!("/w/r/s/{name}")), "leads to it");
    }
    is_free(&hooks, "write", &write("/w/r/s/three.sh"));
}

/// With more repositories than are looked at, any of them may name what is written.
#[test]
fn beyond_the_limit_everything_asks() {
    let many = |n: usize| (0..n).fold(disk(), |disk, n| disk.dir(&format!("/w/many/{n}/.git")));
    is_free(&many(1000), "write", &write("/w/notes.txt"));
    asks(&many(1030), "write", &write("/w/notes.txt"), "cannot be read, and may name it");
    // Plain files take up no place.
    let files = (0..1100).fold(disk(), |disk, n| disk.file(&format!("/w/many/{n}/HEAD"), "x"));
    is_free(&files, "write", &write("/w/notes.txt"));
}
