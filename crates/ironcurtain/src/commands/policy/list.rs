//! `ironcurtain policy list`: the policies that can be named, and the one that is in force.

use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox, Origin, Wanted, own_names};
use ic_policy::Builtin;
use serde::Serialize;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show the policies that you can name, and which one is in force
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// A policy as it is printed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    builtin: bool,
    in_force: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let wanted = Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };
    // One that is broken is not in force, and `policy lint` says why.
    let loaded = Loaded::load_confirming(&wanted, NoSandbox::None, environment);
    let in_force = loaded.as_ref().ok().map(|it| it.found.to_word());
    let mut rows = Vec::new();
    for builtin in Builtin::ALL {
        let name = builtin.name().to_owned();
        let is_it = in_force.as_deref() == Some(builtin.name());
        rows.push(Row { name, builtin: true, in_force: is_it });
    }
    for name in own_names(environment)? {
        let found = Origin::named(name.as_ref(), environment)?.to_word();
        let is_it = in_force.as_ref() == Some(&found);
        rows.push(Row { name, builtin: false, in_force: is_it });
    }
    if let Some(elsewhere) = in_force.filter(|_| !rows.iter().any(|it| it.in_force)) {
        rows.push(Row { name: elsewhere, builtin: false, in_force: true });
    }
    if args.json {
        screen.json(&serde_json::to_string(&rows).unwrap_or_default())?;
        return Ok(Exit::Success);
    }
    for Row { name, builtin, in_force } in &rows {
        let mark = if *in_force { "*" } else { " " };
        let what = match (builtin, in_force) {
            (true, true) => "  (built in, in force)",
            (true, false) => "  (built in)",
            (false, true) => "  (in force)",
            (false, false) => "",
        };
        screen.line(&format!("{mark} {}{what}", visible(name)))?;
    }
    if let Err(failure) = loaded {
        screen.warning(&format!("the policy in force cannot be used: {failure}"));
    }
    Ok(Exit::Success)
}
