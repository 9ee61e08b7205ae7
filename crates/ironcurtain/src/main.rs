//! The `ironcurtain` program: reads the command line, runs one command, says how it ended.
//!
//! No logic lives here; each command is a file in `commands/`.

mod cli;
mod commands;
mod environment;
mod error;
mod files;
mod judge;
mod screen;
mod servers;

use std::io;
use std::process::ExitCode;

use clap::Parser as _;

use crate::error::Failure;
use crate::screen::Screen;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let environment = environment::Environment::read();
    let stdout = io::BufWriter::new(io::stdout().lock());
    let mut screen = Screen::new(Box::new(stdout), Box::new(io::stderr()));
    let ended = commands::run(cli.command, &environment, &mut screen)
        .and_then(|exit| screen.out().flush().map(|()| exit).map_err(Failure::output));
    match ended {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            screen.failure(&failure);
            failure.exit_code()
        }
    }
}
