//! `ironcurtain ca`: the certificate authority of the model gate, shown and made anew.

use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_mitm::{Authority, AuthorityError};

use crate::commands::Exit;
use crate::error::{Failure, chain};
use crate::screen::Screen;

/// What to do with the authority.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CaCommand {
    /// Print the certificate that programs behind the model gate have to trust
    ///
    /// It is made if there is none yet. It is good for the hosts of model providers only, and its key
    /// stays in the IronCurtain home.
    Show,
    /// Make a new certificate authority in place of the old one
    ///
    /// Sessions that run keep the old one until they end.
    Rotate,
}

/// Runs the command.
pub(crate) fn run(
    command: &CaCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let authority = match command {
        CaCommand::Show => Authority::open(&home, SystemClock.now()),
        CaCommand::Rotate => Authority::rotate(&home),
    };
    let authority = authority.map_err(|error| unusable(&error))?;
    match command {
        CaCommand::Show => {
            screen.notice(&format!("certificate {}", home.ca_certificate().display()));
            for line in authority.certificate().lines() {
                screen.line(line)?;
            }
        }
        CaCommand::Rotate => {
            screen.line(&format!("New certificate: {}", home.ca_certificate().display()))?;
        }
    }
    Ok(Exit::Success)
}

/// Says why the authority cannot be used.
pub(crate) fn unusable(error: &AuthorityError) -> Failure {
    Failure::environment(chain(error))
}
