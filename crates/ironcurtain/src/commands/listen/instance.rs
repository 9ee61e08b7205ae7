//! One listener at a time: a lock that says which process holds it.
//!
//! The lock ends with the process, however that ends, so what the file says is for people only: a process
//! that has the same number later is not taken for the listener.

use ic_home::{Clock as _, Home, Lock, Process, SystemClock, file};
use ic_types::{Json, JsonLimits, Object, Timestamp};

use crate::error::Failure;

/// The most that is read of what a lock says.
const BYTES_MAX: u64 = 1024;
const LIMITS: JsonLimits = JsonLimits { bytes_max: 1024, depth_max: 2, values_max: 10 };

/// How often the lock is tried where nobody is named as its holder.
const ATTEMPTS_MAX: usize = 20_000;

/// The process that is the listener, and since when.
pub(crate) type Holder = (u32, Timestamp);

/// The right to be the listener, until it is dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    _lock: Lock,
}

impl Instance {
    /// Claims it; fails with who has it.
    pub(super) fn claim(home: &Home) -> Result<Self, Failure> {
        let lock = acquire(home)?.map_err(|holder| {
            Failure::environment(taken(holder)).with_hint(
                "answer there, or end it first; `ironcurtain approvals watch --desk` runs beside it",
            )
        })?;
        let process = Process::this()?;
        let mut note = Object::new();
        note.insert("pid", u64::from(process.pid));
        note.insert("pidStartTime", process.start_time);
        note.insert("startedAt", SystemClock.now().to_string());
        lock.note(Json::Object(note).to_string().as_bytes())?;
        Ok(Self { _lock: lock })
    }
}

/// Takes the lock, or returns who has it, if that can be told.
///
/// It is tried for a moment where nobody is named: whoever looks at the lock holds it for an instant, one
/// that was killed lets go when its last thread is gone, and one that starts has not said yet who it is.
fn acquire(home: &Home) -> Result<Result<Lock, Option<Holder>>, Failure> {
    let path = home.listener_lock();
    for _ in 0..ATTEMPTS_MAX {
        if let Some(lock) = Lock::try_acquire(&path)? {
            return Ok(Ok(lock));
        }
        let note = file::read_own(&path, BYTES_MAX).ok().flatten().unwrap_or_default();
        if let Some(holder) = holder(&note) {
            return Ok(Err(Some(holder)));
        }
        std::thread::yield_now();
    }
    Ok(Err(None))
}

/// Returns the process that is the listener now, and since when; `None` if there is none, or it cannot be told.
pub(crate) fn running(home: &Home) -> Option<Holder> {
    let path = home.listener_lock();
    let is_held = Lock::is_held(&path).ok()?;
    holder(&file::read_own(&path, BYTES_MAX).ok()??).filter(|_| is_held)
}

/// Reads who holds the lock, as far as its file says so and that is true.
fn holder(note: &[u8]) -> Option<Holder> {
    let Ok(Json::Object(note)) = Json::parse(note, LIMITS) else { return None };
    let whole = |key: &str| note.get(key)?.to_string().parse::<u64>().ok();
    let process =
        Process { pid: whole("pid")?.try_into().ok()?, start_time: whole("pidStartTime")? };
    let since = note.get("startedAt")?.as_str()?.parse::<Timestamp>().ok()?;
    process.is_running().ok()?.then_some((process.pid, since))
}

fn taken(holder: Option<Holder>) -> String {
    match holder {
        Some((pid, since)) => {
            format!("a listener is running already: process {pid}, since {since}")
        }
        // It is just starting, or runs where its processes have other numbers.
        None => "a listener is running already".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ic_types::AbsolutePath;

    use super::*;

    #[test]
    fn the_second_one_is_told_who_the_first_is() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
        home.prepare().unwrap();
        let first = Instance::claim(&home).unwrap();
        let refused = Instance::claim(&home).unwrap_err().to_string();
        let pid = std::process::id();
        assert!(
            refused.contains(&format!("running already: process {pid}, since 20")),
            "{refused}"
        );
        drop(first);
        drop(Instance::claim(&home).unwrap());
    }

    #[test]
    fn a_number_that_another_process_has_now_names_nobody() {
        let this = Process::this().unwrap();
        let note = |pid: u32, start: u64| {
            taken(holder(
                format!(
                    r#"{{"pid":{pid},"pidStartTime":{start},"startedAt":"2026-11-15T00:00:00Z"}}"#
                )
                .as_bytes(),
            ))
        };
        let nobody = "a listener is running already";
        assert_eq!(note(this.pid, this.start_time + 1), nobody);
        assert_eq!(note(u32::MAX, 0), nobody);
        assert!(note(this.pid, this.start_time).starts_with(&format!("{nobody}: process ")));
        for damaged in ["", "{}", "x", r#"{"pid":"1"}"#] {
            assert_eq!(taken(holder(damaged.as_bytes())), nobody, "{damaged}");
        }
    }
}
