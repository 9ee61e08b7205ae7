//! An agent that is not installed: offered at a terminal, and the command is said anywhere else.

use ic_home::{Environment, Home};
use tokio::runtime::Runtime;

use super::agent::Wanted;
use crate::agents::InstalledAgent;
use crate::commands::agents;
use crate::error::Failure;
use crate::screen::Screen;
use crate::terminal::{Choice, Paint, Tty, choose_one};

/// Finds the program of an agent; one that is missing is installed if the person wants that, else `None`.
pub(super) fn installed(
    wanted: &Wanted<'_>,
    (home, environment): (&Home, &Environment),
    runtime: &Runtime,
    screen: &mut Screen,
) -> Result<Option<InstalledAgent>, Failure> {
    let adapter = wanted.adapter;
    let found = InstalledAgent::find(home, adapter)?;
    if found.as_ref().is_some_and(InstalledAgent::is_there) {
        return Ok(found);
    }
    // What waits for keys is made within the runtime.
    let terminal = runtime.block_on(async { Tty::find() }).filter(|_| !wanted.is_scripted);
    let Some(terminal) = terminal else {
        return InstalledAgent::require(home, adapter).map(Some);
    };
    let package = adapter.package();
    let choice = Choice {
        lines: vec![
            format!("{} is not installed.", adapter.title()),
            format!(
                "IronCurtain can fetch {} {} from the npm registry and keep it in its home.",
                package.name, package.version
            ),
        ],
        keys: vec![('y', "install it and go on"), ('n', "stop")],
    };
    let (paint, draws) = (Paint::of_stderr(environment), terminal.takes_keys(environment));
    match runtime.block_on(choose_one(choice, terminal, draws, paint, screen))? {
        Some('y') => {}
        _ => return Ok(None),
    }
    home.prepare()?;
    agents::fetch_and_report(adapter, (home, environment), screen).map(Some)
}
