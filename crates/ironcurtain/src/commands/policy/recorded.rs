//! What was recorded of policies and calls: the policy that a session had, and its calls as another finds them.

use std::path::{Path, PathBuf};

use ic_audit::read::{Record, Records};
use ic_confine::{Confinement, Rung};
use ic_home::{Environment, Home, file};
use ic_opening::policy::{As, COMPILED, Loaded, NoSandbox, Wanted};
use ic_policy::SandboxKind;
use ic_types::{AbsolutePath, Digest, Json, Object};

use crate::commands::audit::find::{self, Found};
use crate::error::Failure;

/// What stands before the name of a session.
const SESSION: &str = "session:";

/// A policy that is meant.
#[derive(Debug)]
pub(crate) struct Meant {
    /// What names it to whoever loads it.
    pub(crate) policy: PathBuf,
    /// What a person calls it, if that is not what its files say.
    pub(crate) origin: Option<String>,
}

/// Returns the policy that `word` means; `session:NAME` is the one with which that session was opened last.
pub(crate) fn policy_meant(word: &Path, environment: &Environment) -> Result<Meant, Failure> {
    let Some(session) = word.to_str().and_then(|it| it.strip_prefix(SESSION)) else {
        return Ok(Meant { policy: word.to_owned(), origin: None });
    };
    let home = Home::new(environment.ironcurtain_home()?);
    let found = find::one(Some(session), environment)?;
    let Some(opening) = opening(&found)? else {
        return Err(Failure::config(format!("the log of `{session}` does not say its policy")));
    };
    match kept(&opening, &home)? {
        Some(policy) => {
            let origin = Some(format!("the policy of session `{session}`"));
            Ok(Meant { policy, origin })
        }
        None => Err(Failure::config(format!("the policy of `{session}` was not kept"))
            .with_hint("an earlier version recorded it; name a policy or a directory")),
    }
}

/// Returns what a log says of the last time that its session was opened.
pub(crate) fn opening(found: &Found) -> Result<Option<Object>, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::config(format!("cannot read `{}`: {error}", found.files.log.display()))
    };
    let records = Records::open(&found.files.log).map_err(|error| unreadable(&error))?;
    let mut last = None;
    for record in records {
        let record = record.map_err(|error| unreadable(&error))?;
        last = opened(&record).cloned().or(last);
    }
    Ok(last)
}

/// Returns what a record says of the opening of a session, if it is one of that.
pub(crate) fn opened(record: &Record) -> Option<&Object> {
    match record.fields.get("arguments") {
        Some(Json::Object(event))
            if record.text("kind") == Some("session")
                && event.get("event").and_then(Json::as_str) == Some("opened") =>
        {
            Some(event)
        }
        _ => None,
    }
}

/// Returns where the policy of an opening is kept.
pub(crate) fn kept(opening: &Object, home: &Home) -> Result<Option<PathBuf>, Failure> {
    let hash = opening.get("policyHash").and_then(Json::as_str);
    // SECURITY: a log may be anybody's, and must not name another directory.
    let Some(hash) = hash.and_then(|it| it.parse::<Digest>().ok()) else { return Ok(None) };
    let directory = home.recorded_policies().join(hash.to_string());
    let names = file::names(&directory)?.unwrap_or_default();
    Ok(names.iter().any(|name| name == COMPILED).then_some(directory))
}

/// Calls of one log that were judged in the same surroundings, as another policy finds them.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// The other policy, in the surroundings of the session; `None` if it cannot be loaded there.
    pub(crate) asked: Option<Loaded>,
    /// The policy that the session had, if it was kept.
    pub(crate) own: Option<Loaded>,
}

/// Which recorded calls are wanted, and which policy is asked about them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    /// The policy; the one in force without it.
    pub(crate) policy: Option<&'a Path>,
    /// The program's surroundings.
    pub(crate) environment: &'a Environment,
}

/// Whoever gets lines of a log, with the surroundings of their calls.
type Hear<'a> = dyn FnMut(&Stretch, &[Vec<u8>]) -> Result<(), Failure> + 'a;

/// How many lines are handed over at once.
const BATCH: usize = 8192;
/// What only records of a session's own events have; in text of others the quotes are escaped.
const SESSION_RECORD: &[u8] = br#""kind":"session""#;

impl Reading<'_> {
    /// Hands the lines of a log over in their order, in batches, each with the surroundings of its calls.
    pub(crate) fn each(&self, found: &Found, hear: &mut Hear<'_>) -> Result<(), Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::config(format!("cannot read `{}`: {error}", found.files.log.display()))
        };
        let mut records = Records::open(&found.files.log).map_err(|error| unreadable(&error))?;
        let mut stretch = Stretch { asked: None, own: None };
        let mut lines: Vec<Vec<u8>> = Vec::new();
        while let Some(line) = records.next_line().map_err(|error| unreadable(&error))? {
            let is_event = line.windows(SESSION_RECORD.len()).any(|it| it == SESSION_RECORD);
            let record = if is_event { Record::parse(&line) } else { None };
            if let Some(event) = record.as_ref().and_then(opened) {
                hear(&stretch, &std::mem::take(&mut lines))?;
                stretch = self.stretch(event)?;
                continue;
            }
            lines.push(line);
            if lines.len() == BATCH {
                hear(&stretch, &std::mem::take(&mut lines))?;
            }
        }
        hear(&stretch, &lines)
    }

    /// Loads both policies as the session that was opened like this saw them.
    fn stretch(&self, opening: &Object) -> Result<Stretch, Failure> {
        let home = Home::new(self.environment.ironcurtain_home()?);
        let text = |key: &str| opening.get(key).and_then(Json::as_str);
        let kind = text("sandboxKind").and_then(SandboxKind::named);
        let sandbox = match (text("sandbox"), kind) {
            (Some(path), Some(kind)) => match AbsolutePath::new(path) {
                Ok(path) => Some((path, kind)),
                Err(_) => return Ok(Stretch { asked: None, own: None }),
            },
            (Some(_), None) => return Ok(Stretch { asked: None, own: None }),
            (None, _) => None,
        };
        let held = match text("confinement") {
            Some("none") => Confinement::None,
            Some(_) | None => Confinement::Cage(Rung::Namespaces),
        };
        let load = |policy: Option<PathBuf>| {
            let sandbox = sandbox.clone();
            let wanted = Wanted { policy, sandbox, protected: Vec::new(), servers: None };
            let how = As { held, ..As::CONFIRMED };
            // What cannot be loaded there says nothing of these calls.
            Loaded::load_as(&wanted, NoSandbox::None, how, self.environment).ok()
        };
        let own = kept(opening, &home)?.and_then(|policy| load(Some(policy)));
        Ok(Stretch { asked: load(self.policy.map(Path::to_owned)), own })
    }
}

/// Returns the logs of the named sessions; without names, all of them.
pub(crate) fn logs(sessions: &[String], environment: &Environment) -> Result<Vec<Found>, Failure> {
    match sessions.is_empty() {
        true => find::all(&Home::new(environment.ironcurtain_home()?)),
        false => sessions.iter().map(|name| find::one(Some(name), environment)).collect(),
    }
}
