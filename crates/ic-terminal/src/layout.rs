//! Where a message that is typed stands: rows of cells behind a prompt, and the cursor among them.

use unicode_width::UnicodeWidthStr as _;

use crate::editor::{Cell, Editor};
use crate::line::{Ink, Line, Span, harmless};

/// Rows, and where the cursor stands in them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frame {
    /// The rows, each at most as wide as was asked for.
    pub rows: Vec<Line>,
    /// The row of the cursor, and its column.
    pub cursor: (usize, usize),
}

impl Frame {
    /// Lays out what is typed behind `prompt`, in rows of `columns`.
    pub fn of(editor: &Editor, prompt: &Span, columns: usize) -> Self {
        let prompt = Line::from(prompt.clone());
        let indent = prompt.width();
        let columns = columns.max(indent + 2);
        let below = " ".repeat(indent);
        let (mut rows, mut row, mut used) = (Vec::new(), prompt, indent);
        let mut cursor = (0, indent);
        for (at, cell) in editor.cells().iter().enumerate() {
            if at == editor.cursor() {
                cursor = (rows.len(), used);
            }
            if cell.text() == "\n" {
                rows.push(std::mem::replace(&mut row, Line::plain(&below)));
                used = indent;
                continue;
            }
            let (ink, shown) = show(cell);
            for piece in pieces(&shown, columns - indent) {
                let width = piece.width();
                if columns < used + width {
                    rows.push(std::mem::replace(&mut row, Line::plain(&below)));
                    used = indent;
                    if at == editor.cursor() {
                        cursor = (rows.len(), used);
                    }
                }
                row.push(Span::new(ink, &piece));
                used += width;
            }
        }
        if editor.cursor() == editor.cells().len() {
            if columns <= used {
                rows.push(std::mem::replace(&mut row, Line::plain(&below)));
                used = indent;
            }
            cursor = (rows.len(), used);
        }
        rows.push(row);
        Self { rows, cursor }
    }

    /// Keeps `rows_max` rows, among them that of the cursor.
    #[must_use]
    pub fn within(mut self, rows_max: usize) -> Self {
        let rows_max = rows_max.max(1);
        if rows_max < self.rows.len() {
            let from = (self.cursor.0 + 1).saturating_sub(rows_max);
            self.rows = self.rows.into_iter().skip(from).take(rows_max).collect();
            self.cursor.0 -= from;
        }
        self
    }

    /// Puts a row above the others.
    #[must_use]
    pub fn below(mut self, above: Vec<Line>) -> Self {
        self.cursor.0 += above.len();
        self.rows.splice(0..0, above);
        self
    }
}

impl From<Span> for Line {
    fn from(span: Span) -> Self {
        let mut line = Self::default();
        line.push(span);
        line
    }
}

fn show(cell: &Cell) -> (Ink, String) {
    match cell.is_folded() {
        true => (Ink::Quiet, harmless(cell.shown())),
        false => (Ink::Plain, harmless(cell.shown())),
    }
}

/// Breaks what is shown for one cell, which may be wider than a row.
fn pieces(shown: &str, columns: usize) -> Vec<String> {
    if shown.width() <= columns {
        return vec![shown.to_owned()];
    }
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for c in shown.chars() {
        let width = c.encode_utf8(&mut [0; 4]).width();
        if !piece.is_empty() && columns < piece.width() + width {
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push(c);
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Key;

    fn typed(text: &str) -> Editor {
        let mut editor = Editor::default();
        editor.replace(text);
        editor
    }

    #[track_caller]
    fn check(editor: &Editor, columns: usize, expected: &[&str], cursor: (usize, usize)) {
        let frame = Frame::of(editor, &Span::new(Ink::Plain, "> "), columns);
        let rows: Vec<String> = frame.rows.iter().map(Line::text).collect();
        assert_eq!(rows, expected);
        assert_eq!(frame.cursor, cursor);
    }

    #[test]
    fn rows_and_cursor() {
        check(&typed(""), 10, &["> "], (0, 2));
        check(&typed("abc"), 10, &["> abc"], (0, 5));
        check(&typed("ab\nc"), 10, &["> ab", "  c"], (1, 3));
        check(&typed("abcdefghi"), 10, &["> abcdefgh", "  i"], (1, 3));
        // There is always room for the cursor.
        check(&typed("abcdefgh"), 10, &["> abcdefgh", "  "], (1, 2));
        check(&typed("日本日本日"), 8, &["> 日本日", "  本日"], (1, 6));
        check(&typed("e\u{301}x"), 10, &["> e\u{301}x"], (0, 4));
        check(&typed("a\tb\x1b"), 20, &["> a    b\\u{1b}"], (0, 14));
    }

    #[test]
    fn the_cursor_stands_before_its_cell() {
        let mut editor = typed("abcdefghij");
        editor.press(&Key::Home);
        check(&editor, 10, &["> abcdefgh", "  ij"], (0, 2));
        for _ in 0..8 {
            editor.press(&Key::Right);
        }
        check(&editor, 10, &["> abcdefgh", "  ij"], (1, 2));
    }

    #[test]
    fn the_row_of_the_cursor_stays_in_sight() {
        let mut editor = typed("a\nb\nc\nd");
        let frame = |editor: &Editor| Frame::of(editor, &Span::new(Ink::Plain, "> "), 9).within(2);
        assert_eq!(frame(&editor).rows.iter().map(Line::text).collect::<Vec<_>>(), ["  c", "  d"]);
        assert_eq!(frame(&editor).cursor, (1, 3));
        for _ in 0..3 {
            editor.press(&Key::Up);
        }
        assert_eq!(frame(&editor).rows.iter().map(Line::text).collect::<Vec<_>>(), ["> a", "  b"]);
        assert_eq!(frame(&editor).cursor, (0, 3));
    }

    proptest! {
        #[test]
        fn no_row_is_too_wide(text in any::<String>(), columns in 6..40_usize) {
            let frame = Frame::of(&typed(&text), &Span::new(Ink::Plain, "> "), columns);
            prop_assert!(frame.rows.iter().all(|row| row.width() <= columns), "{frame:?}");
            let (row, column) = frame.cursor;
            prop_assert!(row < frame.rows.len() && column < columns, "{frame:?}");
        }
    }
}
