//! Where paths lead: links, dangling ones, missing tails, limits; and the law that it is final.

use ic_resolve::path::{self, Last};
use ic_testkit::MemoryDisk;
use ic_types::{AbsolutePath, CanonicalPath};
use proptest::prelude::*;

fn disk() -> MemoryDisk {
    MemoryDisk::new()
        .file("/s/file", "x")
        .dir("/s/sub")
        .file("/out/secret", "x")
        .link("/s/out", "../out")
        .link("/s/abs", "/out/secret")
        .link("/s/in", "sub")
        .link("/s/dangling", "/nowhere/target")
        .link("/s/dangling-up", "../gone/x")
        .link("/s/loop", "loop")
        .link("/s/a", "b")
        .link("/s/b", "a")
        .link("/s/chain", "chain2")
        .link("/s/chain2", "out/secret")
}

#[track_caller]
fn follow(text: &str, last: Last) -> Result<String, String> {
    let home = AbsolutePath::new("/home/u").unwrap();
    let base = CanonicalPath::new("/s").unwrap();
    path::absolute(text, &home, Some(&base))
        .and_then(|path| path::follow(&disk(), &path, last))
        .map(|found| found.path.to_string())
        .map_err(|fault| fault.to_string())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(follow(text, Last::Follow).as_deref(), Ok(expected), "{text}");
}

#[test]
fn every_link_is_followed() {
    check("/s/file", "/s/file");
    check("file", "/s/file");
    check("./sub/../file", "/s/file");
    check("/s/out/secret", "/out/secret");
    check("out", "/out");
    check("abs", "/out/secret");
    check("in/new", "/s/sub/new");
    check("chain", "/out/secret");
    check("/s//sub///x/", "/s/sub/x");
    check("/", "/");
    check("/..", "/");
    check("../../../../etc/passwd", "/etc/passwd");
    check("~", "/home/u");
    check("~/x", "/home/u/x");
}

#[test]
fn dot_dot_leaves_a_link_by_its_target() {
    check("out/..", "/");
    check("out/../s/file", "/s/file");
    check("in/..", "/s");
}

#[test]
fn a_dangling_link_counts_as_where_it_points() {
    check("dangling", "/nowhere/target");
    check("dangling/x", "/nowhere/target/x");
    check("dangling-up", "/gone/x");
}

#[test]
fn a_missing_tail_is_kept() {
    check("new/deep/file", "/s/new/deep/file");
    check("new/../file", "/s/file");
    check("new/../out/secret", "/out/secret");
    check("new/./x/../y", "/s/new/y");
    check("file/below", "/s/file/below");
    check("new/../../out/secret", "/out/secret");
}

#[test]
fn the_entry_itself_can_be_meant() {
    for (text, expected) in [
        ("out", "/s/out"),
        ("out/secret", "/out/secret"),
        ("chain", "/s/chain"),
        ("dangling", "/s/dangling"),
        ("loop", "/s/loop"),
        ("file", "/s/file"),
        ("in/gone", "/s/sub/gone"),
    ] {
        assert_eq!(follow(text, Last::Keep).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_a_path_is_refused() {
    for (text, expected) in [
        ("", "the path is empty"),
        ("a\0b", "the path contains control characters"),
        ("a\nb", "the path contains control characters"),
        ("a\u{85}b", "the path contains control characters"),
        ("-rf", "the path begins with `-`, which programs take for an option"),
        ("~root", "`~` means your own home only: write the path out"),
        ("~root/x", "`~` means your own home only: write the path out"),
        ("file:/etc/passwd", "it is a URL where a path was expected"),
        ("FILE:x", "it is a URL where a path was expected"),
        ("http://x/y", "it is a URL where a path was expected"),
        ("x://y", "it is a URL where a path was expected"),
        ("loop", "the path leads through more than 40 links"),
        ("a", "the path leads through more than 40 links"),
    ] {
        assert_eq!(follow(text, Last::Follow), Err(expected.to_owned()), "{text:?}");
    }
    let long = "x/".repeat(2100);
    assert_eq!(
        follow(&long, Last::Follow),
        Err("the path cannot be used: it is longer than 4096 bytes".to_owned())
    );
    let long_by_dots = format!("{}x", "./".repeat(2100));
    assert!(follow(&long_by_dots, Last::Follow).is_err());
    // An absolute path may hold `://`; it is no URL.
    check("/s/a://b", "/s/a:/b");
}

#[test]
fn a_relative_path_needs_a_base() {
    let home = AbsolutePath::new("/home/u").unwrap();
    assert!(path::absolute("x", &home, None).is_err());
    assert!(path::absolute("/x", &home, None).is_ok());
}

#[test]
fn exactly_forty_links_are_followed() {
    for (n_links, is_fine) in [(40, true), (41, false)] {
        let disk = (0..n_links).fold(MemoryDisk::new().file("/end", "x"), |disk, at| {
            let target =
                if at + 1 == n_links { "/end".to_owned() } else { format!("/l{}", at + 1) };
            disk.link(&format!("/l{at}"), &target)
        });
        let found = path::follow(&disk, &AbsolutePath::new("/l0").unwrap(), Last::Follow);
        assert_eq!(found.is_ok(), is_fine, "{n_links}");
    }
}

/// A random tree: a few directories, files and links among three levels of two names.
fn any_disk() -> impl Strategy<Value = MemoryDisk> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b"]), 1..4)
        .prop_map(|parts| format!("/{}", parts.join("/")));
    let target = prop::collection::vec(prop::sample::select(vec!["a", "b", "..", "."]), 1..5)
        .prop_flat_map(|parts| {
            let relative = parts.join("/");
            prop_oneof![Just(relative.clone()), Just(format!("/{relative}"))]
        });
    let node = prop_oneof![
        path.clone().prop_map(|path| (path, None)),
        (path, target).prop_map(|(path, target)| (path, Some(target))),
    ];
    prop::collection::vec(node, 0..8).prop_map(|nodes| {
        nodes.into_iter().fold(MemoryDisk::new(), |disk, (path, target)| match target {
            Some(target) => disk.link(&path, &target),
            None => disk.file(&path, "x"),
        })
    })
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "..", ".", "", "c"]), 0..7)
        .prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Resolving is final: what was resolved resolves to itself, through no link.
    #[test]
    fn resolving_is_idempotent(disk in any_disk(), text in any_path(), keep in any::<bool>()) {
        let last = if keep { Last::Keep } else { Last::Follow };
        if let Ok(found) = path::follow(&disk, &AbsolutePath::new(text).unwrap(), last) {
            let again = AbsolutePath::new(found.path.as_path()).unwrap();
            let again = path::follow(&disk, &again, last).unwrap();
            prop_assert_eq!(&again.path, &found.path);
            prop_assert_eq!(again.links, [] as [CanonicalPath; 0]);
            prop_assert_eq!(again.entry, found.entry);
        }
    }
}
