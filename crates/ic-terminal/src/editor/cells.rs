//! What a message is made of: what a person takes for a character, and folded pastes.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

/// A paste with more lines than this is folded, and one with more bytes.
const LINES_MAX: usize = 8;
const BYTES_MAX: usize = 1000;

/// One thing to move over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cell(Kind);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Kind {
    Text(String),
    Folded { text: Arc<str>, label: String },
}

impl Cell {
    pub(super) fn of_char(c: char) -> Self {
        Self(Kind::Text(c.to_string()))
    }

    /// Makes cells of what was pasted: one if it is long.
    pub(super) fn of_paste(text: &str) -> Vec<Self> {
        let n_lines = text.lines().count();
        if n_lines <= LINES_MAX && text.len() <= BYTES_MAX {
            return cells_of(text);
        }
        let lines = if n_lines == 1 { "line" } else { "lines" };
        let label = format!("[pasted: {n_lines} {lines}, {} bytes]", text.len());
        vec![Self(Kind::Folded { text: text.into(), label })]
    }

    /// Returns what is sent.
    pub fn text(&self) -> &str {
        match &self.0 {
            Kind::Text(text) => text,
            Kind::Folded { text, .. } => text,
        }
    }

    /// Returns what is shown.
    pub fn shown(&self) -> &str {
        match &self.0 {
            Kind::Text(text) => text,
            Kind::Folded { label, .. } => label,
        }
    }

    /// Returns whether it is a folded paste.
    pub fn is_folded(&self) -> bool {
        matches!(self.0, Kind::Folded { .. })
    }

    /// Takes a character that belongs to it, such as an accent; says whether it does.
    pub(super) fn join(&mut self, c: char) -> bool {
        let Kind::Text(text) = &mut self.0 else { return false };
        text.push(c);
        let is_one = text.graphemes(true).count() == 1 && !text.contains('\n');
        if !is_one {
            text.pop();
        }
        is_one
    }
}

/// Makes cells of a text.
pub fn cells_of(text: &str) -> Vec<Cell> {
    text.graphemes(true).map(|it| Cell(Kind::Text(it.to_owned()))).collect()
}

/// Returns whether a cell is part of a word.
pub(super) fn is_word(cell: &Cell) -> bool {
    cell.is_folded() || cell.text().chars().any(|c| c.is_alphanumeric() || c == '_')
}
