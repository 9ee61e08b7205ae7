//! What takes long to read in a repository is read beside a client's hello, and nothing is judged without it.
//!
//! The index of the repository is a pipe, so git reads it for as long as the test likes.

use std::process::Command;

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::{coding, world};

/// A project of which git cannot read the index until somebody writes it.
fn stalled() -> (World, Vec<u8>) {
    let mut world = world();
    world.add_project("", &[]);
    world.write("conf/new", "mine\n");
    std::os::unix::fs::symlink("../conf/new", world.workspace().join("link")).unwrap();
    let index = world.workspace().join(".git/index");
    let bytes = std::fs::read(&index).unwrap();
    std::fs::remove_file(&index).unwrap();
    assert!(Command::new("mkfifo").arg(&index).status().unwrap().success());
    (world, bytes)
}

/// Puts the index back, and lets go whoever waits for the pipe.
fn release(world: &World, bytes: &[u8]) {
    let (index, pipe) = (world.workspace().join(".git/index"), world.place.path("pipe"));
    std::fs::rename(&index, &pipe).unwrap();
    std::fs::write(&index, bytes).unwrap();
    // Opened for reading too, so that it does not wait if nobody reads it.
    drop(std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
}

fn start(world: &World) -> Proxy {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    // It is answered although nobody has read the index.
    proxy.initialize();
    proxy
}

#[test]
fn a_client_is_answered_while_a_repository_is_read() {
    let (world, bytes) = stalled();
    let mut proxy = start(&world);
    proxy.request("tools/list", &json!({}));
    // What changes nothing needs no answer of git's.
    proxy.call("filesystem__read_text_file", &json!({"path": "README.md"})).good();
    let id = proxy.ask_call("filesystem__write_file", &json!({"path": "new.txt", "content": "a"}));
    proxy.request("ping", &json!({}));
    assert!(!world.workspace().join("new.txt").exists(), "it was judged before all was read");
    release(&world, &bytes);
    proxy.answer(&id).good();
    proxy.finish();
}

#[test]
fn what_is_not_read_in_time_asks() {
    let (world, bytes) = stalled();
    let mut proxy = start(&world);
    let answer = proxy.call("filesystem__write_file", &json!({"path": "new.txt", "content": "a"}));
    let text = answer.bad();
    assert!(text.contains("ESCALATION REQUIRED") && text.contains("cannot be read"), "{text}");
    assert!(!world.workspace().join("new.txt").exists());
    release(&world, &bytes);
    proxy.finish();
}
