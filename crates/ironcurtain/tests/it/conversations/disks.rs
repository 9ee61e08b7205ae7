//! Disks without room, and homes that cannot be written.

use std::process::{Command, Stdio};

use super::Shelf;

/// Runs a script of a shell in a mount namespace of its own, in which the home is a small disk.
///
/// `None` where that cannot be done.
fn with_room(shelf: &Shelf, kib: usize, script: &str) -> Option<std::process::Output> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root may mount a small disk here; nothing was tried");
        return None;
    }
    let script = format!("mount -t tmpfs -o size={kib}k none \"$1\" || exit 77; {script}");
    let binary = env!("CARGO_BIN_EXE_ironcurtain");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, binary]).arg(shelf.place.path("home"));
    command.env_clear().env("HOME", shelf.place.path("home"));
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    command.current_dir(shelf.place.root()).stdin(Stdio::null());
    let output = command.output().unwrap();
    if output.status.code() == Some(77) {
        eprintln!("this machine mounts nothing; nothing was tried");
        return None;
    }
    Some(output)
}

/// What was said before the disk was full is there when there is room again.
#[test]
fn a_full_disk_loses_nothing_that_was_saved() {
    for kib_left in [0, 4, 8, 16, 40] {
        let shelf = Shelf::new();
        let script = format!(
            "\"$0\" start --name one 'write \"first\" to f.txt' >/dev/null 2>&1 || exit 9
            free=$(df --output=avail -k \"$1\" | tail -1)
            dd if=/dev/zero of=\"$1/ballast\" bs=1k count=$((free - {kib_left})) 2>/dev/null
            \"$0\" start --resume one 'read f.txt'; echo \"code $?\"
            rm \"$1/ballast\"
            \"$0\" start --resume one 'list the files' || exit 8
            \"$0\" sessions export one"
        );
        let Some(output) = with_room(&shelf, 4096, &script) else { return };
        let (said, told) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        assert_eq!(output.status.code(), Some(0), "{kib_left}: {said}\n{told}");
        let export: serde_json::Value =
            serde_json::from_str(said.lines().last().unwrap()).expect("a conversation");
        let messages = export["messages"].as_array().unwrap();
        assert!(messages[0].to_string().contains("first"), "{kib_left}: {said}");
        assert!(8 <= messages.len(), "both turns are there: {said}");
        if said.contains("code 1") {
            assert!(told.contains("error: ") && told.contains("No space left"), "{told}");
        }
    }
}

#[test]
fn sessions_are_listed_in_a_home_that_cannot_be_written() {
    let shelf = Shelf::new();
    let script = "\"$0\" start --name one 'list the files' >/dev/null 2>&1 || exit 9
        rm \"$1\"/.ironcurtain/sessions/index.json
        mount -o remount,ro none \"$1\" || exit 77
        \"$0\" sessions list || exit 8
        \"$0\" sessions show one >/dev/null || exit 7
        \"$0\" start --resume one 'list the files'; echo \"code $?\"";
    let Some(output) = with_room(&shelf, 4096, script) else { return };
    let (said, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}\n{told}");
    assert!(said.contains("  one  "), "{said}");
    assert!(said.contains("code 1"), "{said}");
    assert!(told.contains("Read-only file system"), "{told}");
}
