//! `ironcurtain escalation-listener`: the real binary on a terminal, and real desks that ask.

mod answers;
mod ends;
mod in_tmux;
mod kinds;
mod lines;
mod many;
mod races;

use crate::approvals::world::{BINARY, Rig};
use crate::repl::world::Stage;

/// Runs the listener on a screen of 100 by 30, and waits until it is drawn.
pub(crate) fn listener(rig: &Rig) -> Stage {
    sized(rig, (100, 30))
}

fn sized(rig: &Rig, size: (u16, u16)) -> Stage {
    let words = [BINARY, "listen"];
    let stage = Stage::run(rig, size, &rig.place.root(), &["NO_COLOR=1"], &words);
    stage.expect("IronCurtain · ");
    stage
}

/// Types a command, waits until it was read before it is sent, and then until it was done.
fn command(stage: &Stage, line: &str) {
    stage.type_in(line).expect(&format!("> {line}")).type_in("\r");
    stage.until("the command was taken", |rows| !rows.iter().any(|row| row.starts_with("> /")));
}
