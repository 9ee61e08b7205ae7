//! Says which notes of the project the model is told.

use ic_agent::Note;

use crate::opening::FoundNote;
use crate::screen::Screen;

/// Tells the person about the notes that were found, and returns those that the model is told.
pub(super) fn told(found: Vec<FoundNote>, screen: &mut Screen) -> Vec<Note> {
    let mut told = Vec::new();
    for note in found {
        match note {
            FoundNote::Told(note) => {
                let part = if note.is_whole { "" } else { " (the beginning of it)" };
                screen.notice(&format!(
                    "{}{part} is sent to the model as a note of the project; it changes no rule",
                    note.name
                ));
                told.push(note);
            }
            FoundNote::NotTold { name, why } => {
                screen.notice(&format!("{name} is not sent to the model: {why}"));
            }
        }
    }
    told
}
