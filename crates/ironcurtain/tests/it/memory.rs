//! The memory of the program is its own: no other process of the user reads it, and no file holds it.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

#[test]
fn nobody_of_the_same_user_looks_into_our_memory() {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path(), everybody).unwrap();
    let binary = place.path().join("ironcurtain");
    std::fs::copy(env!("CARGO_BIN_EXE_ironcurtain"), &binary).unwrap();
    let mut command = Command::new(binary);
    command.args(["mcp-server", "filesystem"]).arg(place.path());
    command.env_clear().env("HOME", place.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    if rustix::process::geteuid().is_root() {
        // Root may look at everybody, and everything of root is root's.
        command.uid(65534).gid(65534);
    }
    let mut child = command.spawn().expect("it starts");
    // When it answers, it has done all that it does first.
    let ask = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    child.stdin.as_mut().unwrap().write_all(ask.as_bytes()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).expect("an answer");
    // The system gives the files of such a process to root, whoever it belongs to.
    let memory = std::fs::metadata(format!("/proc/{}/mem", child.id())).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(memory.uid(), 0, "its memory is open to its user");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}
