//! What a terminal is to show: the program's screen, rows of ours, or both.
//!
//! What has to be sent for it is not known here.

use crate::cell::{Cell, Clusters, Colour, Style};
use crate::screen::{Modes, Screen, Size};

/// A whole screen.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(crate) size: Size,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) clusters: Clusters,
    /// Where the cursor is seen: row and column.
    pub(crate) cursor: Option<(usize, usize)>,
    pub(crate) modes: Modes,
}

/// Text of ours, and how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// What it says; whatever cannot be shown is a question mark there.
    pub text: &'a str,
    /// How it looks.
    pub style: Style,
}

impl Frame {
    /// An empty screen with no mode set and no cursor, for rows of ours.
    pub fn empty(size: Size) -> Self {
        let size = Size::new(size.rows, size.columns);
        let modes = Modes { is_cursor_seen: false, ..Modes::default() };
        let rows = vec![vec![Cell::default(); size.columns]; size.rows];
        Self { size, rows, clusters: Clusters::default(), cursor: None, modes }
    }

    /// The screen of a program in the rows from the top; those that are left are empty.
    pub fn of(screen: &Screen, size: Size) -> Self {
        let mut frame = Self::empty(size);
        for (row, cells) in frame.rows.iter_mut().zip(screen.rows()) {
            for (place, cell) in row.iter_mut().zip(cells) {
                *place = *cell;
            }
            // Of a wide character at the edge of a smaller terminal one half would be left.
            if let Some(last) = row.last_mut().filter(|_| cells.len() > size.columns)
                && last.width() == 2
            {
                *last = Cell::blank(last.style());
            }
        }
        frame.clusters = screen.clusters().clone();
        frame.modes = screen.modes();
        let (row, column) = screen.cursor();
        let is_seen = frame.modes.is_cursor_seen && row < size.rows && column < size.columns;
        frame.cursor = is_seen.then_some((row, column));
        frame
    }

    /// Replaces what `redact` replaces in a line, which goes on in the next row where a row is full.
    ///
    /// Such a line loses how it looks. What a program sets in a frame of its own, or broken with blanks, is
    /// seen row by row.
    pub fn redact(&mut self, redact: impl Fn(&str) -> String) {
        let is_full = |row: &Vec<Cell>| row.last().is_some_and(|it| it.symbol() != ' ');
        let mut from = 0;
        while from < self.rows.len() {
            let n_full = self.rows.iter().skip(from).take_while(|row| is_full(row)).count();
            let to = (from + n_full + 1).min(self.rows.len());
            let text: String = (from..to).map(|row| self.text(row)).collect();
            let redacted = redact(&text);
            if redacted != text {
                let mut rest = redacted.as_str();
                for row in from..to {
                    let span = Span { text: rest, style: Style::default() };
                    let n_bytes = self.put(row, &[span], Style::default());
                    rest = rest.get(n_bytes..).unwrap_or_default();
                }
            }
            from = to;
        }
    }

    /// Leaves the terminal's own modes as they are, where nothing that is typed goes to the program.
    #[must_use]
    pub fn only_seen(mut self) -> Self {
        self.modes = Modes { is_cursor_seen: self.modes.is_cursor_seen, ..Modes::default() };
        self
    }

    /// Writes a row of ours, all of it; what has no room is cut. Returns how many bytes had room.
    pub fn put(&mut self, row: usize, spans: &[Span<'_>], rest: Style) -> usize {
        let Some(cells) = self.rows.get_mut(row) else { return 0 };
        cells.fill(Cell::blank(rest));
        let (mut column, mut n_bytes) = (0, 0);
        for (span, symbol) in
            spans.iter().flat_map(|span| span.text.chars().map(move |it| (span, it)))
        {
            let shown = Cell::of(symbol, span.style);
            let Some(cell) = shown.or_else(|| Cell::of('?', span.style)) else { continue };
            let width = usize::from(cell.width());
            if self.size.columns < column + width {
                return n_bytes;
            }
            n_bytes += symbol.len_utf8();
            if let Some(place) = cells.get_mut(column) {
                *place = cell;
            }
            if width == 2
                && let Some(place) = cells.get_mut(column + 1)
            {
                *place = Cell::second(span.style);
            }
            column += width;
        }
        n_bytes
    }

    /// Shows the cursor somewhere.
    pub fn point(&mut self, row: usize, column: usize) {
        self.cursor = Some((row.min(self.size.rows - 1), column.min(self.size.columns - 1)));
    }

    /// Returns how large it is.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns what stands in a row, without what is blank at its end.
    pub fn text(&self, row: usize) -> String {
        let mut text = String::new();
        let cells = self.rows.get(row).map(Vec::as_slice).unwrap_or_default();
        for cell in cells.iter().filter(|it| it.width() != 0) {
            text.push(cell.symbol());
            text.push_str(self.clusters.text(cell));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl Style {
    /// The style of rows of ours: colours swapped.
    pub fn reversed() -> Self {
        Self { flags: Self::REVERSE, ..Self::default() }
    }

    /// A style with a colour of the terminal's own.
    pub fn coloured(index: u8, flags: u8) -> Self {
        Self { ink: Colour::Indexed(index), flags, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_redacted_is_found_in_a_line_of_several_rows_and_what_stands_around_it_stays() {
        let mut screen = Screen::new(Size::new(5, 10));
        screen.feed("one\r\na key=SECR".as_bytes());
        screen.feed("ET42 \u{6f22} z\r\nSECRET42\r\nlast".as_bytes());
        let mut frame = Frame::of(&screen, Size::new(5, 10));
        frame.redact(|text| text.replace("SECRET42", "[*]"));
        let rows: Vec<String> = (0..5).map(|row| frame.text(row)).collect();
        assert_eq!(rows, ["one", "a key=[*]", "\u{6f22} z", "[*]", "last"]);
    }
}
