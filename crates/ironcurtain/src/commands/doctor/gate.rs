//! Does a request pass the model gate, with the key swapped on the way?

use std::sync::Arc;

use ic_home::{Home, SystemClock, file};
use ic_types::AbsolutePath;

use super::{Check, Patient};
use crate::trial::Trial;

const NAME: &str = "model gate";
/// Where its certificates are, in the place where things are tried.
const DIRECTORY: &str = "gate";

pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) {
    checks.push(match &patient.trial {
        None => Check::not_tried(NAME, "there is no directory to try it in"),
        Some(trial) => match tried(trial) {
            Ok(()) => Check::ok(
                NAME,
                "a client with a fake key asked a provider on this machine, which got the real one; \
                 another key was refused",
            ),
            Err(why) => Check::failed(
                NAME,
                why,
                "let programs connect to 127.0.0.1, and run `ironcurtain ca rotate` if it is about certificates",
            ),
        },
    });
}

fn tried(trial: &Trial) -> Result<(), String> {
    let path = trial.path().join(DIRECTORY);
    file::create_dir(&path).map_err(|error| error.to_string())?;
    let path = AbsolutePath::new(&path).map_err(|error| error.to_string())?;
    trial.block_on(ic_mitm::trial::run(&Home::new(path), Arc::new(SystemClock)))
}
