//! `ironcurtain policy grammar`: how plain sentences are written.

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Show how the sentences of a constitution are written
///
/// Prints the forms, the verbs and the places that `compile-policy` understands, each with an example.
#[derive(Debug, clap::Args)]
pub(crate) struct GrammarArgs {}

/// Runs the command.
pub(crate) fn run(GrammarArgs {}: &GrammarArgs, screen: &mut Screen) -> Result<Exit, Failure> {
    for line in ic_constitution::grammar::page().lines() {
        screen.line(line)?;
    }
    Ok(Exit::Success)
}
