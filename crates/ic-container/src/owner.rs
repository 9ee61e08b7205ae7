//! Whose a container is, and what is removed when nobody's process stands behind it any more.
//!
//! The engine keeps the labels; a process is known by its number and the time of its start.

use std::path::Path;

use ic_home::Process;
use ic_types::{Json, Object};

use crate::engine::{Engine, EngineError};
use crate::words::text;

const SESSION: &str = "ironcurtain.session";
const PID: &str = "ironcurtain.pid";
const PID_START: &str = "ironcurtain.pidStart";
const HOME: &str = "ironcurtain.home";
const AGENT: &str = "ironcurtain.agent";

/// Whose a container is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Owner {
    /// The session.
    pub session: String,
    /// The process that made it.
    pub process: Process,
    /// The home of IronCurtain in which the session is kept.
    pub home: String,
    /// The agent in it.
    pub agent: String,
}

/// What a sweep came to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Swept {
    /// The sessions whose containers were removed.
    pub removed: Vec<String>,
    /// The sessions whose containers could not be removed, and why.
    pub failed: Vec<(String, String)>,
}

impl Owner {
    pub(crate) fn labels(&self) -> Object {
        let Process { pid, start_time } = self.process;
        let labels = [
            (SESSION, self.session.clone()),
            (PID, pid.to_string()),
            (PID_START, start_time.to_string()),
            (HOME, self.home.clone()),
            (AGENT, self.agent.clone()),
        ];
        let mut object = Object::new();
        for (name, value) in labels {
            object.insert(name, Json::from(value));
        }
        object
    }

    fn read(listed: &Object) -> Option<Self> {
        let label = |name| text(listed, &["Labels", name]);
        let process =
            Process { pid: label(PID)?.parse().ok()?, start_time: label(PID_START)?.parse().ok()? };
        let word = |name| label(name).unwrap_or_default().to_owned();
        Some(Self { session: word(SESSION), process, home: word(HOME), agent: word(AGENT) })
    }
}

/// Removes the containers of sessions in `home` whose process is gone.
///
/// Those of other homes are left alone: their processes may be where we cannot see them.
pub async fn sweep(engine: &dyn Engine, home: &Path) -> Result<Swept, EngineError> {
    let label = format!("{HOME}={}", home.display());
    let mut swept = Swept::default();
    for listed in engine.containers(&label).await? {
        let Some(id) = text(&listed, &["Id"]) else { continue };
        let owner = Owner::read(&listed);
        // What cannot be asked may run still.
        let is_alive = |it: &Owner| it.process.is_running().unwrap_or(true);
        if owner.as_ref().is_some_and(is_alive) {
            continue;
        }
        let session = text(&listed, &["Labels", SESSION]).unwrap_or(id).to_owned();
        match engine.remove(id).await {
            Ok(()) => swept.removed.push(session),
            Err(error) => swept.failed.push((session, ic_types::chain(&error))),
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn owner(session: &str, process: Process, home: &str) -> Owner {
        let (session, home, agent) = (session.to_owned(), home.to_owned(), "codex".to_owned());
        Owner { session, process, home, agent }
    }

    #[tokio::test]
    async fn what_belongs_to_a_process_that_is_gone_is_removed_and_nothing_else() {
        let this = Process::this().unwrap();
        let gone = Process { start_time: this.start_time + 1, ..this };
        let fake = Fake::default();
        let all = [("lives", this, "/h"), ("died", gone, "/h"), ("elsewhere", gone, "/other")];
        for (session, process, home) in all {
            fake.put(session, &owner(session, process, home).labels());
        }
        let mut odd = owner("odd", this, "/h").labels();
        odd.insert(PID, Json::from("x"));
        fake.put("odd", &odd);
        let swept = sweep(&fake, Path::new("/h")).await.unwrap();
        assert_eq!(swept.removed, ["died", "odd"]);
        assert_eq!(fake.names(), ["elsewhere", "lives"]);
        assert_eq!(sweep(&fake, Path::new("/h")).await.unwrap(), Swept::default());
    }
}
