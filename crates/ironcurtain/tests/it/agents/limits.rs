//! What the programs of an agent use has an end, and the person is told which one was reached.

use serde_json::json;

use super::{Stage, says, uses};

fn shell(stage: &Stage, command: &str) {
    let input = json!({"command": command, "timeout": 120_000});
    stage.provider.push([uses("toolu_1", "Bash", input), says("Done.")]);
}

#[test]
fn an_agent_that_fills_memory_is_ended_and_the_person_is_told() {
    let Some(stage) = Stage::claude([]) else { return };
    // In several processes, each of which uses less than the limit.
    let fill =
        "kept = [bytearray(b'x') * (64 << 20) for _ in range(24)]; import time; time.sleep(600)";
    shell(&stage, &format!("for n in 1 2 3 4; do /usr/bin/python3 -c \"{fill}\" & done; wait"));
    let output = stage.start(&["Fill the memory."]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("used more than 4096 MiB of memory together"), "{output:?}");
    // The header says who counts.
    assert!(output.stderr.contains("kept by IronCurtain's guard"), "{output:?}");
}

/// Processes, open files and `/tmp` have limits of the kernel's: the program fails, and the agent goes on.
#[test]
fn an_agent_that_fills_anything_else_goes_on_without_it() {
    let Some(stage) = Stage::claude([]) else { return };
    let script = r#"
import errno, os, time
said = []
children = []
try:
    while len(children) < 5000:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        children.append(child)
except OSError as error:
    said.append("fork " + errno.errorcode[error.errno])
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
kept = []
try:
    while len(kept) < 100000:
        kept.append(os.dup(0))
except OSError as error:
    said.append("open " + errno.errorcode[error.errno])
for file in kept:
    os.close(file)
try:
    with open("/tmp/full", "wb") as file:
        for _ in range(4096):
            file.write(b"x" * (1 << 20))
            file.flush()
except OSError as error:
    said.append("tmp " + errno.errorcode[error.errno])
os.unlink("/tmp/full")
open("said", "w").write(", ".join(said))
"#;
    stage.place.write("work/fill.py", script);
    shell(&stage, "/usr/bin/python3 fill.py; echo ALL-$((40 + 2))");
    let output = stage.start(&["Fill everything."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    assert!(stage.last_request().contains("ALL-42"), "{}", stage.last_request());
    let said = stage.read("work/said").unwrap_or_default();
    assert_eq!(said, "fork EAGAIN, open EMFILE, tmp ENOSPC", "{output:?}");
}

/// The settings say how much memory and how many processes an agent may use.
#[test]
fn an_agent_is_held_to_the_limits_of_the_settings() {
    let Some(stage) = Stage::claude([]) else { return };
    for (key, value) in [("agent.memoryMb", "1536"), ("agent.pidsLimit", "200")] {
        assert_eq!(stage.place.run(["config", "set", key, value]).code, 0, "{key}");
    }
    let fill =
        "kept = [bytearray(b'x') * (64 << 20) for _ in range(30)]; import time; time.sleep(600)";
    shell(&stage, &format!("/usr/bin/python3 -c \"{fill}\""));
    let output = stage.start(&["Fill the memory."]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("limits: 1536 MiB of memory, 200 processes"), "{output:?}");
    assert!(output.stderr.contains("used more than 1536 MiB of memory together"), "{output:?}");
}
