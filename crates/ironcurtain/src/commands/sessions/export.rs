//! `ironcurtain sessions export`: a conversation for other programs, or for reading.

use ic_home::Environment;
use ic_store::{Places, Sessions, StoreError, Stored, export};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::Screen;

/// Print a conversation as JSON or Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The session, by id, name or the beginning of one of them
    #[arg(value_name = "S")]
    session: String,
    /// The form: everything as JSON, or what people read as Markdown
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Json,
    #[value(alias = "md")]
    Markdown,
}

/// Runs the command.
pub(crate) fn run(
    args: &ExportArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let metadata = Sessions::of(&home).find(&args.session)?;
    let stored = Stored::read(&Places::of(&home, &metadata.id))?;
    match (stored.is_there, metadata.purged) {
        (true, _) => {}
        (false, true) => return Err(StoreError::Purged(metadata.name).into()),
        (false, false) => return Err(StoreError::NoConversation(metadata.name).into()),
    }
    if let Some(damage) = &stored.damage {
        screen.warning(&format!("the end of its journal is damaged: {damage}"));
    }
    let text = match args.format {
        Format::Json => format!("{}\n", export::json(&stored)),
        Format::Markdown => export::markdown(&stored),
    };
    screen.strangers_text(&text)?;
    Ok(Exit::Success)
}
