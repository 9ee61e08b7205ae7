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

    /// Writes a row of ours, all of it; what has no room is cut.
    pub fn put(&mut self, row: usize, spans: &[Span<'_>], rest: Style) {
        let Some(cells) = self.rows.get_mut(row) else { return };
        cells.fill(Cell::blank(rest));
        let mut column = 0;
        for (span, symbol) in
            spans.iter().flat_map(|span| span.text.chars().map(move |it| (span, it)))
        {
            let shown = Cell::of(symbol, span.style);
            let Some(cell) = shown.or_else(|| Cell::of('?', span.style)) else { continue };
            let width = usize::from(cell.width());
            if self.size.columns < column + width {
                return;
            }
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
