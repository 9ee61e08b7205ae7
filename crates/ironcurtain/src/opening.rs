//! Opens a session for a command: with this program as what starts its processes, and its header on the screen.
//!
//! How a session is opened is known in `ic_opening`.

use std::sync::Arc;

use ic_backend::Witness;
use ic_confine::Launcher;
use ic_home::Environment;
use ic_opening::{Fault, Opened, SessionWanted};
use ic_session::SessionDirectory;

use crate::error::Failure;
use crate::screen::Screen;

/// Opens the session, and tells the person which one it is.
pub(crate) async fn open<W>(
    session: SessionWanted<'_>,
    witness: W,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Opened, Failure>
where
    W: FnOnce(&SessionDirectory) -> Result<Arc<dyn Witness>, Fault>,
{
    let opened = session.open(launcher()?, witness, environment).await?;
    for warning in &opened.header.warnings {
        screen.warning(warning);
    }
    for line in &opened.header.lines {
        screen.notice(line);
    }
    Ok(opened)
}

/// Returns what starts processes: this program.
pub(crate) fn launcher() -> Result<Launcher, Failure> {
    Launcher::this_program().map_err(|source| {
        Failure::environment("cannot find this program to start servers with").with_source(source)
    })
}
