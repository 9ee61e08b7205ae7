//! Real repositories, and the git of this machine.

#![expect(clippy::disallowed_methods, reason = "tests make files, and run the user's git")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

struct Ground {
    _place: tempfile::TempDir,
    top: PathBuf,
    committed: Committed,
}

impl Ground {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap().join("w");
        std::fs::create_dir(&top).unwrap();
        let ground = Self { _place: place, top, committed: Committed::new("", &[]) };
        ground.git(&["init", "-q", "-b", "main"]);
        ground.write("conf/vimrc", "v\n");
        ground.commit();
        ground
    }

    fn git(&self, words: &[&str]) {
        self.git_at(&self.top, words);
    }

    #[track_caller]
    fn git_at(&self, at: &Path, words: &[&str]) {
        let identity = ["-c", "user.name=U", "-c", "user.email=u@x"];
        let mut command = Command::new("git");
        command.args(identity).args(words).current_dir(at).env("HOME", &self.top);
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        let path = self.top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "m"]);
    }

    /// Has git remove what nothing leads to.
    fn forget(&self) {
        self.git(&["reflog", "expire", "--expire=now", "--all"]);
        self.git(&["gc", "-q", "--prune=now"]);
    }

    fn git_directory(&self) -> CanonicalPath {
        CanonicalPath::new(self.top.join(".git")).unwrap()
    }

    fn links(&self, git: &CanonicalPath) -> Option<Arc<LinkTable>> {
        known(self.committed.links(git, Haste::Patient))
    }

    fn texts(&self, wanted: &Wanted) -> Option<Arc<Texts>> {
        known(self.committed.texts(&self.git_directory(), wanted, Haste::Patient))
    }

    fn table(&self) -> Arc<LinkTable> {
        self.links(&self.git_directory()).expect("it is not too much")
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let found: Vec<String> = self.table().texts().collect();
        assert_eq!(found, expected);
    }
}

fn known<T>(told: Told<T>) -> Option<Arc<T>> {
    match told {
        Told::Known(it) => Some(it),
        Told::Unknown => None,
        Told::NotYet => panic!("nobody else reads it"),
    }
}

/// Who cannot wait gets what is known, and is told that it is not; what is being read is never taken for nothing.
#[test]
fn who_cannot_wait_is_not_told_that_there_is_nothing() {
    let ground = Ground::new();
    ground.link(".vimrc", "conf/vimrc");
    ground.commit();
    let git = ground.git_directory();
    let at_once = || ground.committed.links(&git, Haste::AtOnce);
    assert!(matches!(at_once(), Told::NotYet), "nobody has read it");
    ground.check(&[".vimrc -> conf/vimrc"]);
    assert!(matches!(at_once(), Told::Known(_)));
    let reading = Slot::take(ground.committed.slot(&git), Haste::AtOnce).unwrap();
    assert!(matches!(at_once(), Told::NotYet), "somebody reads it");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ground.table().texts().count());
        drop(reading);
        assert_eq!(waiting.join().unwrap(), 1, "who can wait gets it then");
    });
    ground.write("b", "b");
    ground.commit();
    assert!(matches!(at_once(), Told::NotYet), "something moved");
}

/// What was half read when something went wrong is read anew.
#[test]
fn a_reader_that_fails_leaves_nothing_behind() {
    let ground = Ground::new();
    let git = ground.git_directory();
    ground.table();
    let slot = ground.committed.slot(&git);
    let failing = std::thread::spawn(move || {
        let _taken = Slot::take(slot, Haste::AtOnce).unwrap();
        panic!("on purpose");
    });
    assert!(failing.join().is_err());
    assert!(matches!(ground.committed.links(&git, Haste::AtOnce), Told::NotYet));
    assert!(ground.table().is_empty());
}

/// Wherever git has a link, it is found; and as soon as it has.
#[test]
fn links_of_branches_the_index_and_what_was_put_aside_are_found() {
    let ground = Ground::new();
    ground.check(&[]);
    ground.git(&["checkout", "-q", "-b", "feature/dev"]);
    ground.link("a/b/.exrc", "../../conf/vimrc");
    ground.commit();
    ground.git(&["checkout", "-q", "main"]);
    ground.check(&["a/b/.exrc -> ../../conf/vimrc"]);
    // As long as there is a commit with it, whatever leads to that.
    ground.git(&["branch", "-q", "-D", "feature/dev"]);
    ground.check(&["a/b/.exrc -> ../../conf/vimrc"]);
    ground.forget();
    ground.check(&[]);
    // Put aside without being tracked, twice.
    for name in ["one", "two"] {
        ground.link(name, "conf");
        ground.git(&["stash", "-q", "-u"]);
    }
    ground.check(&["one -> conf", "two -> conf"]);
    ground.git(&["stash", "clear"]);
    ground.forget();
    ground.check(&[]);
    ground.link("staged", "conf");
    ground.git(&["add", "staged"]);
    std::fs::remove_file(ground.top.join("staged")).unwrap();
    ground.check(&["staged -> conf"]);
    ground.git(&["rm", "-q", "--cached", "staged"]);
    ground.check(&[]);
}

#[test]
fn links_of_packed_branches_and_of_other_trees_are_found() {
    let ground = Ground::new();
    ground.git(&["worktree", "add", "-q", "--detach", "../wt"]);
    let other = ground.top.parent().unwrap().join("wt");
    ground.check(&[]);
    std::os::unix::fs::symlink("conf", other.join("l")).unwrap();
    ground.git_at(&other, &["add", "l"]);
    ground.check(&["l -> conf"]);
    ground.git_at(&other, &["commit", "-q", "-m", "detached"]);
    ground.git_at(&other, &["rm", "-q", "--cached", "l"]);
    ground.check(&["l -> conf"]);
    ground.git_at(&other, &["branch", "kept"]);
    ground.git(&["pack-refs", "--all"]);
    ground.git(&["gc", "-q"]);
    ground.git(&["worktree", "remove", "--force", "../wt"]);
    ground.check(&["l -> conf"]);
}

/// Nothing is asked while nothing moves.
#[test]
fn what_is_known_stays_known() {
    let ground = Ground::new();
    let first = ground.table();
    assert!(Arc::ptr_eq(&first, &ground.table()));
    ground.write("conf/vimrc", "other\n");
    assert!(Arc::ptr_eq(&first, &ground.table()), "a file of the tree is none of git's");
    ground.commit();
    assert!(!Arc::ptr_eq(&first, &ground.table()));
}

#[test]
fn what_git_refuses_has_no_links() {
    let ground = Ground::new();
    let broken = ground.top.join("x/.git");
    std::fs::create_dir_all(broken.join("objects")).unwrap();
    let broken = CanonicalPath::new(broken).unwrap();
    assert!(ground.links(&broken).unwrap().is_empty());
    let nowhere = CanonicalPath::new(ground.top.join("nowhere")).unwrap();
    assert!(ground.links(&nowhere).unwrap().is_empty());
}

/// A part that git cannot read hides nothing: out of an index nothing comes, and else anything may be linked.
#[test]
fn what_cannot_be_read_hides_nothing() {
    let ground = Ground::new();
    ground.link("l", "conf");
    ground.commit();
    ground.write(".git/worktrees/gone/index", "DIRC, and no more");
    ground.write(".git/refs/heads/lost", "1111111111111111111111111111111111111111\n");
    ground.check(&["l -> conf"]);
    ground.git(&["update-ref", "-d", "refs/heads/lost"]);
    ground.git(&["gc", "-q"]);
    ground.check(&["l -> conf"]);
    let packs = std::fs::read_dir(ground.top.join(".git/objects/pack")).unwrap();
    let mut packs = packs.map(|it| it.unwrap().path());
    let pack = packs.find(|it| it.extension().is_some_and(|it| it == "pack")).unwrap();
    std::fs::remove_file(&pack).unwrap();
    std::fs::write(&pack, "").unwrap();
    assert!(ground.links(&ground.git_directory()).is_none());
    assert!(ground.texts(&at("conf/vimrc")).is_none());
}

fn at(path: &str) -> Wanted {
    Wanted { path: path.into(), is_directory: false, bytes_max: 64 }
}

#[test]
fn texts_of_all_commits_and_of_the_index_are_found() {
    let ground = Ground::new();
    let check = |wanted: &Wanted, expected: &[(&str, &str)], is_whole: bool| {
        let found = ground.texts(wanted).unwrap();
        let text = |it: &[u8]| String::from_utf8(it.to_vec()).unwrap();
        let mut files: Vec<_> = found.files.iter().map(|(a, b)| (text(a), text(b))).collect();
        files.sort_unstable();
        let files: Vec<_> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!((&*files, found.is_whole), (expected, is_whole), "{wanted:?}");
    };
    check(&at("conf/vimrc"), &[("", "v\n")], true);
    check(&at("nowhere"), &[], true);
    ground.write("conf/vimrc", "w\n");
    ground.commit();
    ground.write("conf/vimrc", "x\n");
    ground.git(&["add", "-A"]);
    check(&at("conf/vimrc"), &[("", "v\n"), ("", "w\n"), ("", "x\n")], true);
    ground.link("led", "conf");
    ground.link("conf/hook", "vimrc");
    ground.write("conf/README.md", "no hook\n");
    ground.commit();
    check(&at("led/vimrc"), &[("", "x\n")], true);
    let directory = Wanted { is_directory: true, ..at("conf") };
    let all = [("hook", "x\n"), ("vimrc", "v\n"), ("vimrc", "w\n"), ("vimrc", "x\n")];
    check(&directory, &all, true);
    // What is too long, or lies elsewhere, is not told.
    ground.write("conf/vimrc", &"y".repeat(65));
    ground.commit();
    check(&at("conf/vimrc"), &[("", "v\n"), ("", "w\n"), ("", "x\n")], false);
    ground.link("out", "/etc/passwd");
    ground.commit();
    check(&at("out"), &[], false);
    assert!(ground.texts(&at("a\nb")).is_none());
}
