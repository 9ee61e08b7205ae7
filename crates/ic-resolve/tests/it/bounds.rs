//! What is protected on a machine: the entry, what it leads to, and files that links in it lead to.

use std::collections::HashMap;

use ic_policy::{Bounds, SandboxKind};
use ic_resolve::{Places, bounds};
use ic_testkit::MemoryDisk;
use ic_types::AbsolutePath;

fn absolute(path: &str) -> AbsolutePath {
    AbsolutePath::new(path).unwrap()
}

fn gather(disk: &MemoryDisk, protected: &[&str]) -> Bounds {
    let places = Places {
        home: absolute("/home/u"),
        sandbox: Some((absolute("/w/link"), SandboxKind::Workspace)),
        protected: protected.iter().map(|path| absolute(path)).collect(),
    };
    bounds::gather(disk, &places, HashMap::new()).unwrap()
}

fn protects(bounds: &Bounds, path: &str) -> bool {
    bounds.protected.iter().any(|protected| protected.as_path() == std::path::Path::new(path))
}

#[test]
fn what_does_not_exist_is_protected_too() {
    let bounds = gather(&MemoryDisk::new(), &["/data/later"]);
    for path in
        ["/home/u/.ssh", "/home/u/.config/gh", "/home/u/.cargo/credentials.toml", "/data/later"]
    {
        assert!(protects(&bounds, path), "{path}");
    }
}

#[test]
fn a_protected_link_counts_as_itself_and_as_its_target() {
    let disk = MemoryDisk::new()
        .dir("/vault/ssh")
        .link("/home/u/.ssh", "/vault/ssh")
        .dir("/data/config/gh")
        .link("/home/u/.config", "/data/config")
        .link("/home/u/.netrc", "/vault/not-yet");
    let bounds = gather(&disk, &[]);
    for path in
        ["/home/u/.ssh", "/vault/ssh", "/data/config/gh", "/home/u/.netrc", "/vault/not-yet"]
    {
        assert!(protects(&bounds, path), "{path}: {:?}", bounds.protected);
    }
    let executes = |path: &str| {
        bounds.home_executes.iter().any(|e| e.path.as_path() == std::path::Path::new(path))
    };
    assert!(
        executes("/home/u/.config")
            && executes("/data/config")
            && executes("/data/config/autostart")
    );
}

#[test]
fn files_that_links_in_a_protected_directory_lead_to_are_protected() {
    let disk = MemoryDisk::new()
        .dir("/home/u/.ssh")
        .file("/vault/id_rsa", "key")
        .link("/home/u/.ssh/id_rsa", "/vault/id_rsa")
        .dir("/projects")
        .link("/home/u/.ssh/projects", "/projects");
    let bounds = gather(&disk, &[]);
    assert!(protects(&bounds, "/vault/id_rsa"));
    assert!(!protects(&bounds, "/projects"), "a link must not lock a whole directory away");
}

#[test]
fn the_sandbox_is_where_it_leads() {
    let disk = MemoryDisk::new().dir("/real/dir").link("/w/link", "/real/dir");
    let sandbox = gather(&disk, &[]).sandbox.unwrap();
    assert_eq!(sandbox.path.to_string(), "/real/dir");
    assert_eq!(sandbox.kind, SandboxKind::Workspace);
}

#[test]
fn every_link_of_a_chain_is_protected_but_not_a_directory_on_the_way() {
    let disk = MemoryDisk::new()
        .link("/home/u/.netrc", "/home/u/middle")
        .link("/home/u/middle", "/data/way/real")
        .dir("/data/store")
        .link("/data/way", "store")
        .file("/data/store/real", "x");
    let bounds = gather(&disk, &[]);
    for path in ["/home/u/.netrc", "/home/u/middle", "/data/store/real"] {
        assert!(protects(&bounds, path), "{path}: {:?}", bounds.protected);
    }
    assert!(!protects(&bounds, "/data/way") && !protects(&bounds, "/data/store"));
}

#[test]
fn what_cannot_be_looked_at_is_protected_as_it_is_written() {
    let disk = MemoryDisk::new().link("/home/u/.netrc", ".netrc").forbidden("/home/u/.config");
    let bounds = gather(&disk, &[]);
    for path in ["/home/u/.netrc", "/home/u/.config/gh"] {
        assert!(protects(&bounds, path), "{path}: {:?}", bounds.protected);
    }
}

#[test]
fn a_sandbox_that_cannot_be_resolved_is_an_error_that_names_it() {
    let disk = MemoryDisk::new().link("/w/link", "link");
    let sandbox = Some((absolute("/w/link"), SandboxKind::Session));
    let places = Places { home: absolute("/home/u"), sandbox, protected: Vec::new() };
    let error = bounds::gather(&disk, &places, HashMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "cannot resolve the sandbox `/w/link`");
}
