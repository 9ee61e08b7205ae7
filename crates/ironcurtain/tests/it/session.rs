//! The contract of a session, in process: what it says of itself, what it keeps, and what it leaves.
//!
//! The model is scripted; the broker, its servers, the code workers and their cages are real. Nothing
//! waits for a while: tests wait for an event, with a deadline.

mod closing;
mod cut;
mod foreign;
mod many;
mod model;
mod people;
mod states;
mod turns;
mod world;

/// Returns the processes that this one has started and that still run, as their command lines.
///
/// Each test has a process of its own.
fn processes() -> Vec<String> {
    let command = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(format!("{pid} {}", String::from_utf8_lossy(&words).replace('\0', " ")))
    };
    descendants(std::process::id()).iter().filter_map(command).collect()
}

/// Returns the processes that run and were started by `ancestor`, or by one of these.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![ancestor];
    let mut at = 0;
    while let Some(&ancestor) = found.get(at) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == ancestor).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// Returns the parent of a process that has not ended.
fn parent(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = words.next()?;
    words.next()?.parse().ok().filter(|_| state != "Z")
}
