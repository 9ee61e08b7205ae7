//! Says which notes of the project the model is told.

use ic_agent::Note;
use ic_opening::notes::{FoundNote, find as find_notes};
use ic_session::Workbench;
use ic_types::AbsolutePath;

use crate::screen::Screen;

/// Tells the person about the notes of `project`, and returns those that the model is told.
pub(super) fn told(
    project: &AbsolutePath,
    workbench: &Workbench,
    screen: &mut Screen,
) -> Vec<Note> {
    let mut told = Vec::new();
    for note in find_notes(project, |call| workbench.would_allow(call)) {
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
