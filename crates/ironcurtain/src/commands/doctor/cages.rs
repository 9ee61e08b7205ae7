//! Can servers be confined here, and by what?

use ic_confine::{Confinement, Rung, RungFault};
use ic_home::config;
use ic_opening::Holding;

use super::{Check, HomeState, Patient};

const CONFINEMENT: &str = "confinement";

/// Cages a child by each rung, and says what a session would use.
pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) -> Option<Holding> {
    let Some(trial) = &patient.trial else {
        checks.push(Check::not_tried(CONFINEMENT, "there is no directory to try it in"));
        return None;
    };
    let (mut strongest, mut faults) = (None, Vec::new());
    for rung in Rung::ALL {
        let tried = trial.block_on(trial.launcher().try_rung(rung, trial.path()));
        let detail = match &tried {
            Ok(()) => "a caged child tried to get out, and could not".to_owned(),
            Err(RungFault { reason, remedy, .. }) => format!("{reason}; to use it: {remedy}"),
        };
        checks.push(Check::info(format!("cage by {rung}"), detail));
        match tried {
            Ok(()) => strongest = strongest.or(Some(rung)),
            Err(fault) => faults.push(fault),
        }
    }
    let confinement = strongest.map_or(Confinement::None, Confinement::Cage);
    let holding = Holding { mode: mode(patient), confinement, faults };
    checks.push(in_force(&holding));
    Some(holding.in_mode())
}

/// Returns what the configuration wants; one that cannot be read was found fault with already.
fn mode(patient: &Patient<'_>) -> config::Confinement {
    use ic_home::config::{Config, ConfigFile, Layers};

    if patient.state == HomeState::Absent {
        return config::Confinement::Enforce;
    }
    let environment = patient.environment;
    ConfigFile::read(&patient.home)
        .and_then(|file| Config::load(&Layers { flags: &[], environment, file: &file }))
        .map_or(config::Confinement::Enforce, |config| config.confinement)
}

fn in_force(holding: &Holding) -> Check {
    let remedy = "`ironcurtain config unset confinement` confines every server, or starts none";
    match (holding.mode, holding.confinement) {
        (config::Confinement::Enforce, Confinement::Cage(rung)) => Check::ok(
            CONFINEMENT,
            format!(
                "servers are caged by `{rung}`: a child in such a cage tried to get out, and could not"
            ),
        ),
        (config::Confinement::Enforce, Confinement::None) => {
            let reasons = holding.faults.iter().map(|it| format!("{}: {}", it.rung, it.reason));
            let remedies = holding.faults.iter().map(|it| format!("{}: {}", it.rung, it.remedy));
            Check::failed(
                CONFINEMENT,
                format!("no server is started: {}", reasons.collect::<Vec<_>>().join("; ")),
                remedies.collect::<Vec<_>>().join("; "),
            )
        }
        (config::Confinement::Warn | config::Confinement::Off, _) => {
            Check::warning(CONFINEMENT, holding.clone().in_mode().header(), remedy)
        }
    }
}
