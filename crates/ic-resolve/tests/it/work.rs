//! How much work a call makes: what is looked at, and what is refused before anything is.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ic_policy::SandboxKind;
use ic_resolve::{Disk, Entry, Kind};
use ic_testkit::MemoryDisk;

use crate::calls::verdict_on;

/// Counts how often it is looked at.
struct Counting<'a> {
    disk: &'a MemoryDisk,
    n_looks: Cell<usize>,
}

impl Counting<'_> {
    fn count(&self) {
        self.n_looks.set(self.n_looks.get() + 1);
    }
}

impl Disk for Counting<'_> {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.count();
        self.disk.look(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.count();
        self.disk.read_link(path)
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        self.count();
        self.disk.read_file(path, bytes_max)
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        self.count();
        self.disk.list(path, n_max)
    }
}

/// Each value is looked at, and what lies above it once for all of them.
#[test]
fn values_in_one_directory_cost_a_few_looks_each() {
    let deep = "a/b/c/d/e/f/g/h";
    let memory = MemoryDisk::new().dir(&format!("/s/{deep}"));
    for kind in [SandboxKind::Session, SandboxKind::Workspace] {
        for n in [10, 1000, 9999] {
            let paths: Vec<String> = (0..n).map(|at| format!("\"{deep}/f{at}\"")).collect();
            let arguments = format!(r#"{{"path":[{}]}}"#, paths.join(","));
            let disk = Counting { disk: &memory, n_looks: Cell::new(0) };
            assert_eq!(verdict_on(&disk, kind, "delete", &arguments), "all");
            // Gathering the bounds costs the same each time.
            let n_looks = disk.n_looks.get();
            assert!(n_looks < 3 * n + 500, "{n} values in {kind:?}: {n_looks} looks");
        }
    }
}

/// What is too much is refused before anything of it is looked at.
#[test]
fn too_many_values_cost_no_look_at_all() {
    let memory = MemoryDisk::new().dir("/s");
    let n_looks_of = |n: usize, tool: &str, argument: &str| {
        let texts: Vec<String> = (0..n).map(|at| format!("\"f{at}\"")).collect();
        let arguments = format!(r#"{{"{argument}":[{}]}}"#, texts.join(","));
        let disk = Counting { disk: &memory, n_looks: Cell::new(0) };
        let rule = verdict_on(&disk, SandboxKind::Session, tool, &arguments);
        (rule, disk.n_looks.get())
    };
    let (rule, without) = n_looks_of(0, "read", "path");
    assert_eq!(rule, "all");
    for (n, tool, argument) in [(10_001, "read", "path"), (65, "push", "remote")] {
        let (rule, n_looks) = n_looks_of(n, tool, argument);
        assert_eq!((rule.as_str(), n_looks), ("structural-invalid-value", without), "{tool}");
    }
}
