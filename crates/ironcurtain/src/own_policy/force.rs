//! The policy that is in force where a session names none, and the home's log of what was changed about it.
//!
//! Nobody is asked here, and what a change would mean is shown elsewhere.

use std::io::Write as _;

use ic_home::config::update;
use ic_home::config::{Config, ConfigFile, KeyName, Layers};
use ic_home::{Clock as _, Environment, Home, PolicyChoice, SystemClock, file};
use ic_opening::policy::{Loaded, Moved};
use ic_types::{Json, Object, ServerName};

use super::Agreed;
use super::difference::Difference;
use crate::error::Failure;

/// Returns whether the policy called `name` is in force where a session names none, or would be if it existed.
pub(crate) fn is_in_force(
    name: &str,
    home: &Home,
    environment: &Environment,
) -> Result<bool, Failure> {
    let file = ConfigFile::read(home)?;
    let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
    Ok(match config.policy {
        Some(PolicyChoice::Named(it)) => it.as_str() == name,
        Some(PolicyChoice::Directory(it)) => it.as_path() == home.policies().join(name).as_path(),
        None => false,
    })
}

/// Makes `policy` the one that is in force where none is named.
pub(crate) fn use_policy(
    policy: &str,
    home: &Home,
    environment: &Environment,
) -> Result<(), Failure> {
    Ok(update::set(home, environment, vec![(KeyName::parse("policy")?, Json::from(policy))])?)
}

/// Writes that another policy was put in force.
pub(crate) fn note_use(
    before: &Loaded,
    after: &Loaded,
    (agreed, difference): (Agreed, Option<&Difference>),
    home: &Home,
) -> Result<(), Failure> {
    let mut line = Object::new();
    line.insert("timestamp", SystemClock.now().to_string());
    line.insert("policy", after.origin.as_str());
    line.insert("change", "use");
    line.insert("instead", before.origin.as_str());
    line.insert("by", agreed.by);
    line.insert("agreed", agreed.how);
    line.insert("policyHashBefore", before.judge.policy.hash().to_string());
    line.insert("policyHashAfter", after.judge.policy.hash().to_string());
    if let Some(difference) = difference {
        difference.note(&mut line);
    }
    append(home, &Json::Object(line))
}

/// Writes that directories of a policy lead elsewhere from now on.
pub(crate) fn note_moved(
    loaded: &Loaded,
    moved: &[Moved],
    how: &'static str,
    home: &Home,
) -> Result<(), Failure> {
    let entry = |it: &Moved| Json::from(format!("{}: {} -> {}", it.name, it.then, it.now));
    let mut line = Object::new();
    line.insert("timestamp", SystemClock.now().to_string());
    line.insert("policy", loaded.origin.as_str());
    line.insert("change", "confirm");
    line.insert("entries", moved.iter().map(entry).collect::<Vec<Json>>());
    line.insert("by", "policy confirm");
    line.insert("agreed", how);
    append(home, &Json::Object(line))
}

/// Writes that tools of an added server mean something else from now on.
pub(crate) fn note_review(
    server: &ServerName,
    loaded: (&Loaded, &Loaded),
    (how, difference): (&'static str, &Difference),
    home: &Home,
) -> Result<(), Failure> {
    let (before, after) = loaded;
    let mut line = Object::new();
    line.insert("timestamp", SystemClock.now().to_string());
    line.insert("policy", after.origin.as_str());
    line.insert("change", "review");
    line.insert("server", server.as_str());
    line.insert("by", "servers review");
    line.insert("agreed", how);
    line.insert("policyHashBefore", before.judge.policy.hash().to_string());
    line.insert("policyHashAfter", after.judge.policy.hash().to_string());
    difference.note(&mut line);
    append(home, &Json::Object(line))
}

/// Appends a line to the log of what was changed.
pub(super) fn append(home: &Home, line: &Json) -> Result<(), Failure> {
    file::create_dir(home.logs())?;
    let path = home.policy_changes();
    let mut log = file::open_append(&path)?;
    log.write_all(format!("{line}\n").as_bytes()).and_then(|()| log.sync_data()).map_err(|source| {
        Failure::environment(format!("cannot write `{}`", path.display())).with_source(source)
    })
}
