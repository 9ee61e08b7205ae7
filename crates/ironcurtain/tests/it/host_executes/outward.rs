//! Links that lead out of a tree and come with a branch: the user's own commands would write, or remove, elsewhere.

use std::fs;
use std::os::unix::fs::symlink;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::carried::{commit_of_user, switch, user};
use super::{coding, git, world};

/// A branch `dev` has a link `build` to `target`, which the branch that is checked out has not.
fn with_link(target: &str) -> World {
    let world = world();
    user(&world, &["init", "-q", "-b", "main"]);
    world.write("README.md", "r\n");
    commit_of_user(&world);
    user(&world, &["checkout", "-q", "-b", "dev"]);
    symlink(target, world.workspace().join("build")).unwrap();
    commit_of_user(&world);
    user(&world, &["checkout", "-q", "main"]);
    world
}

fn answer(world: &World, calls: &[Call]) -> Vec<bool> {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    let is_good = |call: &Call| {
        let answer = proxy.call(call.tool, &call.arguments).json();
        answer.pointer("/result/isError") != Some(&json!(true)) && answer.get("result").is_some()
    };
    let answers = calls.iter().map(is_good).collect();
    proxy.finish();
    answers
}

fn ways() -> [Call; 4] {
    [
        switch("dev"),
        git("git__git_merge", json!({"branch": "dev"})),
        git("git__git_cherry_pick", json!({"commits": ["dev"]})),
        git("git__git_checkout", json!({"target": "dev", "paths": ["build"]})),
    ]
}

#[test]
fn a_link_that_leads_out_asks_when_it_comes() {
    for target in ["../docs", "x/../../docs", "/home/u/docs"] {
        for call in ways() {
            let world = with_link(target);
            assert_eq!(answer(&world, std::slice::from_ref(&call)), [false], "{target}: {call}");
            let link = fs::read_link(world.workspace().join("build"));
            assert!(link.is_err(), "{target}: {call}: {link:?}");
        }
    }
}

/// Links within the tree and to the system come freely, and so does one that was there when the session began.
#[test]
fn other_links_come_without_a_question() {
    for target in ["README.md", "nowhere", "/usr/bin/python3"] {
        for call in ways() {
            let world = with_link(target);
            assert_eq!(answer(&world, std::slice::from_ref(&call)), [true], "{target}: {call}");
            assert!(fs::read_link(world.workspace().join("build")).is_ok(), "{target}: {call}");
        }
    }
    let world = with_link("../docs");
    user(&world, &["checkout", "-q", "dev"]);
    assert_eq!(answer(&world, &[switch("main"), switch("dev")]), [true, true]);
    assert!(fs::read_link(world.workspace().join("build")).is_ok());
}
