//! What is planted in a `.git`, before and while git is at work.

#![expect(clippy::disallowed_methods, reason = "tests make files")]

use super::*;
use rustix::fd::OwnedFd;
use std::fs;
use std::os::unix::fs::symlink;

struct Ground {
    place: tempfile::TempDir,
    git: OwnedFd,
}

impl Ground {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for name in [
            "hooks",
            "info",
            "lfs/objects",
            "logs/refs/heads",
            "objects/78",
            "objects/pack",
            "refs/heads/deep/er",
            "worktrees/t/logs",
        ] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        for name in ["HEAD", "config", "hooks/pre-commit", "info/exclude", "objects/78/9a"] {
            fs::write(place.path().join(name), "before\n").unwrap();
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let git = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
        Self { place, git }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }
}

#[test]
fn what_git_writes_through_is_a_file_or_a_directory() {
    let ground = Ground::new();
    check_kinds(ground.git.as_fd()).unwrap();
    for name in [
        "COMMIT_EDITMSG",
        "MERGE_MSG",
        "any-other-name",
        "logs/refs/heads/main",
        "logs/refs/heads/new",
        "logs/refs/new",
        "objects/79",
        "objects/78/00",
        "objects/pack/pack-1.pack",
        "objects/info",
        "refs/heads/deep/er/b",
        "rebase-apply",
        "sequencer",
        "worktrees/t/COMMIT_EDITMSG",
        "worktrees/t/logs/HEAD",
        "worktrees/u",
    ] {
        let path = ground.path(name);
        symlink(ground.path("config"), &path).unwrap();
        let refused = check_kinds(ground.git.as_fd()).unwrap_err();
        assert!(refused.contains(name) && refused.contains("lead elsewhere"), "{name}: {refused}");
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(check_kinds(ground.git.as_fd()).is_err(), "{name} as a pipe");
        fs::remove_file(&path).unwrap();
    }
    // What git neither writes nor reads here may be kept as people like.
    fs::remove_dir_all(ground.path("hooks")).unwrap();
    symlink("/elsewhere", ground.path("hooks")).unwrap();
    symlink("/elsewhere", ground.path("lfs/objects/x")).unwrap();
    check_kinds(ground.git.as_fd()).unwrap();
}

#[test]
fn what_is_too_much_to_look_at_is_refused() {
    let ground = Ground::new();
    assert!(check_at_most(ground.git.as_fd(), 100).is_ok());
    let refused = check_at_most(ground.git.as_fd(), 8).unwrap_err();
    assert!(refused.contains("more than 8 entries"), "{refused}");
}

#[test]
fn orders_that_are_written_while_git_runs_are_noticed() {
    let written: [(&str, &str); 3] = [
        ("config", "put back"),
        ("hooks/pre-commit", "the user should look"),
        ("info/attributes", "the user should look"),
    ];
    for (name, part) in written {
        let ground = Ground::new();
        let orders = Orders::note(ground.git.as_fd()).unwrap();
        orders.check(ground.git.as_fd()).unwrap();
        fs::write(ground.path(name), "[core]\n\tfsmonitor = x\n").unwrap();
        let told = orders.check(ground.git.as_fd()).unwrap_err();
        assert!(told.contains(name) && told.contains(part), "{name}: {told}");
        assert_eq!(fs::read_to_string(ground.path("config")).unwrap(), "before\n", "{name}");
    }
    // Somebody else put another one there, as `git config` does.
    let ground = Ground::new();
    let orders = Orders::note(ground.git.as_fd()).unwrap();
    fs::write(ground.path("config.lock"), "after\n").unwrap();
    fs::rename(ground.path("config.lock"), ground.path("config")).unwrap();
    orders.check(ground.git.as_fd()).unwrap();
    assert_eq!(fs::read_to_string(ground.path("config")).unwrap(), "after\n");
    // There was none, and git made one through a link.
    fs::remove_file(ground.path("config")).unwrap();
    let orders = Orders::note(ground.git.as_fd()).unwrap();
    fs::write(ground.path("config"), "new\n").unwrap();
    assert!(orders.check(ground.git.as_fd()).unwrap_err().contains("appeared"));
}
