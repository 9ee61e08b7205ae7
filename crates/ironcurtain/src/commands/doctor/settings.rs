//! Are configuration, policy and servers what they should be?

use std::sync::Arc;

use ic_home::config::{Config, ConfigError, ConfigFile, Layers, Origin};
use ic_inventory::pins::{Pins, PinsFile};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_opening::policy::{Loaded, NoSandbox, Wanted, servers_file};
use ic_policy::{SandboxKind, Scenario};

use super::{Check, Patient};
use crate::commands::policy::test;
use crate::error::Failure;

/// What could be loaded.
pub(super) struct Settings {
    /// Who judges, by the policy in force or by one of ours.
    pub(super) judge: Option<Arc<Judge>>,
    /// The configured servers.
    pub(super) servers: Option<ServersFile>,
    /// What was trusted.
    pub(super) pins: Option<Pins>,
}

const CONFIGURATION: &str = "configuration";
const POLICY: &str = "policy";
const SCENARIOS: &str = "scenarios";
const SERVERS: &str = "servers file";
const NOTIFIER: &str = "notify.command";
const PINS: &str = "trusted identities";

/// Loads everything, each by itself as far as that goes.
pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) -> Settings {
    let is_configured = configuration(patient, checks);
    let servers = match servers_file(None, patient.environment) {
        Ok((servers, path)) => {
            let n_servers = servers.iter().count();
            let detail = match path {
                Some(path) => format!("`{}` names {n_servers}", path.as_path().display()),
                None => format!("no servers file, so the {n_servers} built-in servers serve"),
            };
            checks.push(Check::ok(SERVERS, detail));
            Some(servers)
        }
        Err(fault) => {
            checks.push(Check::of_failure(SERVERS, &fault.into(), "correct the file"));
            None
        }
    };
    let pins = pins(patient, checks);
    let loaded = match (is_configured, &servers) {
        (true, Some(_)) => policy(patient, checks),
        (false, _) => {
            checks.push(Check::not_tried(POLICY, "the configuration is wrong"));
            None
        }
        (true, None) => {
            checks.push(Check::not_tried(POLICY, "the servers file is wrong"));
            None
        }
    };
    if let Some(loaded) = &loaded {
        checks.push(scenarios(loaded));
    }
    let judge = loaded.map(|loaded| loaded.judge).or_else(|| spare(patient)).map(Arc::new);
    checks.extend(notifier(patient, judge.as_deref()));
    Settings { judge, servers, pins }
}

/// Returns whether the policy can be loaded beside the configuration.
fn configuration(patient: &Patient<'_>, checks: &mut Vec<Check>) -> bool {
    let environment = patient.environment;
    let config = ConfigFile::read(&patient.home)
        .and_then(|file| Config::load(&Layers { flags: &[], environment, file: &file }));
    match config {
        Ok(config) => {
            let of_file = |it: &&ic_home::config::Setting| it.origin() == Origin::File;
            let n_set = config.settings().iter().filter(of_file).count();
            let path = patient.home.config();
            let detail = match n_set {
                0 => "nothing is set, so the defaults hold".to_owned(),
                1 => format!("`{}` sets 1 key, to a value that is allowed", path.display()),
                n => format!("`{}` sets {n} keys, to values that are allowed", path.display()),
            };
            checks.push(Check::ok(CONFIGURATION, detail));
            true
        }
        // Said about the home already; a policy beside it is loaded all the same.
        Err(ConfigError::Foreign { .. }) => {
            checks.push(Check::not_tried(CONFIGURATION, "it belongs to another program"));
            true
        }
        Err(error) => {
            let remedy = "correct the file";
            checks.push(Check::of_failure(CONFIGURATION, &Failure::from(error), remedy));
            false
        }
    }
}

/// Says whether the program that calls the user can be run, if there is one.
fn notifier(patient: &Patient<'_>, judge: Option<&Judge>) -> Option<Check> {
    let environment = patient.environment;
    let file = ConfigFile::read(&patient.home).ok()?;
    let config = Config::load(&Layers { flags: &[], environment, file: &file }).ok()?;
    let command = config.notify_command?;
    Some(match ic_opening::notify::program(&command, judge?, environment) {
        Ok(_) => Check::ok(NOTIFIER, format!("runs `{}`", command.program.display())),
        Err(warning) => Check::warning(
            NOTIFIER,
            warning,
            "correct it with `ironcurtain config set notify.command`",
        ),
    })
}

fn pins(patient: &Patient<'_>, checks: &mut Vec<Check>) -> Option<Pins> {
    match PinsFile::of(&patient.home).read() {
        Ok(pins) => {
            let detail = match pins.len() {
                0 => "no server is trusted yet; the first start records it".to_owned(),
                n => format!("`{}` holds {n}", patient.home.servers_lock().display()),
            };
            checks.push(Check::ok(PINS, detail));
            Some(pins)
        }
        Err(error) => {
            checks.push(Check::of_failure(PINS, &Failure::from(error), ""));
            None
        }
    }
}

fn policy(patient: &Patient<'_>, checks: &mut Vec<Check>) -> Option<Loaded> {
    // What would be warned of is part of what we say.
    let loaded = wanted(patient)
        .and_then(|it| Ok(Loaded::load(&it, NoSandbox::Fresh, patient.environment)?));
    match loaded {
        Ok(loaded) => {
            checks.push(of_policy(&loaded));
            Some(loaded)
        }
        Err(failure) => {
            let remedy =
                "correct the file, or move `generated` away and the built-in policy serves";
            checks.push(Check::of_failure(POLICY, &failure, remedy));
            None
        }
    }
}

/// Loads a policy that is part of this program, so that servers can be tried without the user's.
fn spare(patient: &Patient<'_>) -> Option<Judge> {
    let wanted = Wanted { policy: Some("default".into()), ..wanted(patient).ok()? };
    let loaded = Loaded::load(&wanted, NoSandbox::Fresh, patient.environment);
    loaded.ok().map(|loaded| loaded.judge)
}

fn wanted(patient: &Patient<'_>) -> Result<Wanted, Failure> {
    let sandbox = match &patient.trial {
        Some(trial) => {
            Some((patient.environment.absolute(&trial.sandbox())?, SandboxKind::Session))
        }
        None => None,
    };
    Ok(Wanted { policy: None, sandbox, protected: Vec::new(), servers: None })
}

fn of_policy(loaded: &Loaded) -> Check {
    let policy = &loaded.judge.policy;
    let detail = format!(
        "{}: {}, {}, hash {}",
        loaded.origin,
        ic_types::counted(policy.rules().len(), "rule", "rules"),
        ic_types::counted(policy.annotations().count(), "annotated tool", "annotated tools"),
        policy.hash()
    );
    match policy.warnings() {
        [] => Check::ok(POLICY, detail),
        warnings => Check::warning(
            POLICY,
            format!("{detail}; {}", warnings.join("; ")),
            "`ironcurtain policy show` shows the rules",
        ),
    }
}

fn scenarios(loaded: &Loaded) -> Check {
    // A scenario about a server that is not there says nothing about this machine.
    let is_there = |it: &Scenario| loaded.servers.get(&it.request.server_name).is_some();
    match test::outcomes(loaded, is_there) {
        Ok(None) => Check::info(
            SCENARIOS,
            "the policy has no test-scenarios.json; `ironcurtain policy test --help` says what it is for",
        ),
        Ok(Some(outcomes)) => {
            let failed: Vec<&str> = outcomes
                .iter()
                .filter(|outcome| !outcome.passed)
                .map(|outcome| outcome.description.as_str())
                .collect();
            let n_passed = outcomes.len() - failed.len();
            let detail = format!("{n_passed} of {} about configured servers pass", outcomes.len());
            match failed.first() {
                None => Check::ok(SCENARIOS, detail),
                Some(first) => Check::failed(
                    SCENARIOS,
                    format!("{detail}; the first that does not: {first}"),
                    "`ironcurtain policy test` shows what was expected; correct rules or scenarios",
                ),
            }
        }
        Err(failure) => Check::of_failure(SCENARIOS, &failure, "correct the file"),
    }
}
