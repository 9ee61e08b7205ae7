//! The cage of a server that is started for one call: nothing of the host is written from inside, not
//! even what the call is about.
//!
//! The cage is the one that the broker makes; in it runs a program that attacks, in place of our server.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ic_backend::launch::Lent;
use ic_backend::one_shot::{Judged, OneShot};
use ic_confine::Access;
use ic_policy::Bounds;
use ic_resolve::RealDisk;
use ic_servers::filesystem::Rights;
use ic_types::{AbsolutePath, CanonicalPath};
use serde_json::json;

use super::{Ground, NOBODY, Who, on_every_ground};

/// Everything that could be changed by name: kinds, modes, owners, times and contents.
fn picture(directory: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut entries: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let it = std::fs::symlink_metadata(&path).unwrap();
        // Of the program itself the size and the times have to do.
        let is_short = it.is_file() && it.len() < 1 << 16;
        let content = if is_short { std::fs::read(&path).unwrap() } else { Vec::new() };
        let when = (it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec());
        let what = (it.ino(), it.nlink(), it.mode(), it.uid(), it.len());
        all.push(format!("{} {what:?} {when:?} {content:?}", path.display()));
        if it.is_dir() {
            all.extend(picture(&path));
        }
    }
    all
}

fn fill(ground: &Ground) {
    for name in ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt", "other/d.txt", "scratch/e.txt"] {
        let path = ground.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "as it was").unwrap();
        if ground.who == Who::Nobody {
            for owned in [path.as_path(), path.parent().unwrap()] {
                std::os::unix::fs::chown(owned, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }
}

/// A tool, what was judged, and what the server has to read for it.
type Call = (&'static str, &'static [(&'static str, Rights)], &'static [&'static str]);

#[test]
fn nothing_of_the_host_is_written_from_the_cage_of_one_call() {
    const EDITED: Rights = Rights::READ.and(Rights::WRITE);
    const MOVED: Rights = Rights::READ.and(Rights::DELETE);
    let calls: [Call; 7] = [
        ("write_file", &[("docs/a.txt", Rights::WRITE)], &[]),
        ("write_file", &[("docs/new.txt", Rights::WRITE)], &[]),
        ("edit_file", &[("docs/a.txt", EDITED)], &["docs/a.txt"]),
        ("create_directory", &[("docs/new/deep", Rights::WRITE)], &[]),
        ("move_file", &[("docs/a.txt", MOVED), ("other/a.txt", Rights::WRITE)], &[]),
        ("delete_file", &[("docs/a.txt", Rights::DELETE)], &[]),
        ("list_directory", &[("docs", Rights::READ)], &["docs/a.txt", "docs/sub/c.txt"]),
    ];
    on_every_ground(async |ground| {
        fill(&ground);
        for (tool, judged, readable) in calls {
            attack(&ground, tool, judged, readable).await;
        }
    });
}

async fn attack(ground: &Ground, tool: &str, judged: &[(&str, Rights)], readable: &[&str]) {
    let canonical = |name: &str| CanonicalPath::new(ground.path(name)).unwrap();
    let judged: Vec<Judged> = judged
        .iter()
        .map(|(name, rights)| Judged { path: canonical(name), rights: *rights })
        .collect();
    let absolute = |name: &str| AbsolutePath::new(ground.path(name)).unwrap();
    let bounds = Bounds {
        sandbox: None,
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: std::collections::HashMap::new(),
    };
    let lent = Lent {
        sandbox: absolute("sandbox"),
        workspace: None,
        home: absolute("home"),
        private: ground.path("scratch"),
        installed: ground.path("installed"),
        variables: Vec::new(),
        certificates: None,
        shown: Vec::new(),
        packages: None,
    };
    let one_shot = OneShot::plan(tool, &judged, &bounds, &RealDisk).unwrap();
    let mut cage = one_shot.cage(&lent, &bounds, ground.rung, &RealDisk);
    assert!(cage.seen.iter().all(|seen| seen.access == Access::Read), "{cage:?}");
    cage.seen.push(ground.seen("one_shot.py", Access::Read));
    let place = ground.place.path();
    let before = picture(place);
    let files = [
        "docs/a.txt",
        "docs/b.txt",
        "docs/new.txt",
        "docs/sub/c.txt",
        "docs/new/deep",
        "other/a.txt",
        "other/d.txt",
        "scratch/e.txt",
        "one_shot.py",
        "ironcurtain",
    ];
    let directories = ["docs", "docs/sub", "other", "scratch", "."];
    let paths = |names: &[&str]| -> Vec<_> { names.iter().map(|it| ground.path(it)).collect() };
    let given = json!({"files": paths(&files), "directories": paths(&directories),
        "readable": paths(readable)});
    let script = ground.path("one_shot.py").display().to_string();
    let spec = ground.spec(cage, "/usr/bin/python3", &[&script, &given.to_string()]);
    let (said, complained, code) = ground.run(&spec).await;
    let on = format!("{tool} on {} as {:?}", ground.rung, ground.who);
    assert_eq!((said.as_str(), code), ("attempts: 280\n", Some(0)), "{on}: {complained}");
    assert_eq!(picture(place), before, "{on}");
}
