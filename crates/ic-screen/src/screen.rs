//! The screen that a program believes it has: cells, cursor and modes, and the answers that it gets.
//!
//! It is told of its size and of the terminal's colours, and answers a few questions of the program with
//! numbers of its own; nothing that the program sent comes back in an answer.

mod control;
mod modes;
mod style;

use crate::cell::{AS_EMOJI, Cell, Clusters, JOINER, Style, is_mark, is_skin};
use crate::dropped::{Dropped, Kind};
use crate::grid::Grid;
use crate::parser::{Parser, Sequence, Sink};

pub use self::modes::{Modes, Mouse};

/// The most rows and columns.
pub const SIDE_MAX: usize = 1000;
/// How much may wait to be answered.
const ANSWER_BYTES_MAX: usize = 4096;
/// How many marks come at least between two times that the table of clusters is put in order.
const MARKS_UNTIL_RENEWAL: u32 = 2000;
/// How many keyboard states can be stacked.
const KEYBOARDS_MAX: usize = 8;

/// How large a screen is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// How high.
    pub rows: usize,
    /// How wide.
    pub columns: usize,
}

/// What is known of the person's terminal, as far as the program may know.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Known {
    /// Whether it has the keyboard protocol of kitty.
    pub has_keyboard: bool,
    /// The colours of text and of what is behind it.
    pub colours: Option<[(u8, u8, u8); 2]>,
}

/// A screen.
#[derive(Debug)]
pub struct Screen {
    parser: Parser,
    model: Model,
}

/// All but the parser.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mode of its own")]
pub(crate) struct Model {
    size: Size,
    known: Known,
    grid: Grid,
    /// The main screen, while the other one is shown.
    main: Option<(Grid, Saved)>,
    cursor: Cursor,
    saved: Saved,
    modes: Modes,
    /// Rows that scroll: the first, and the one after the last.
    region: (usize, usize),
    is_origin: bool,
    wraps: bool,
    inserts: bool,
    is_held: bool,
    tabs: Vec<bool>,
    /// The states of the keyboard below the one in force.
    keyboards: Vec<u8>,
    /// Whether the two sets of characters draw lines, and which of the two is in force.
    draws_lines: [bool; 2],
    is_second_set: bool,
    clusters: Clusters,
    dropped: Dropped,
    answers: Vec<u8>,
    has_rung: bool,
    /// The character that was written last, to be repeated.
    last: Option<char>,
    /// Where it stands, while nothing happened since.
    last_at: Option<(usize, usize)>,
    /// Whether the last character joins the next one to it.
    is_joining: bool,
    /// For how many marks the table of clusters is left as it is.
    n_until_renewal: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    row: usize,
    column: usize,
    style: Style,
    /// Whether the last place of the row was written, so that the next character goes to the next row.
    is_wrapping: bool,
}

/// What is saved with a cursor.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    cursor: Cursor,
    is_origin: bool,
    draws_lines: [bool; 2],
    is_second_set: bool,
}

impl Size {
    /// A size between 1×1 and the largest there is.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { rows: rows.clamp(1, SIDE_MAX), columns: columns.clamp(1, SIDE_MAX) }
    }
}

impl Screen {
    /// An empty screen.
    pub fn new(size: Size) -> Self {
        let size = Size::new(size.rows, size.columns);
        let model = Model {
            size,
            known: Known::default(),
            grid: Grid::new(size.rows, size.columns),
            main: None,
            cursor: Cursor::default(),
            saved: Saved::default(),
            modes: Modes::default(),
            region: (0, size.rows),
            is_origin: false,
            wraps: true,
            inserts: false,
            is_held: false,
            tabs: tabs(size.columns),
            keyboards: Vec::new(),
            draws_lines: [false; 2],
            is_second_set: false,
            clusters: Clusters::default(),
            dropped: Dropped::default(),
            answers: Vec::new(),
            has_rung: false,
            last: None,
            last_at: None,
            is_joining: false,
            n_until_renewal: 0,
        };
        Self { parser: Parser::default(), model }
    }

    /// Takes what the program sent.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.parser.feed(bytes, &mut self.model);
    }

    /// Makes it another size.
    pub fn resize(&mut self, size: Size) {
        self.model.resize(Size::new(size.rows, size.columns));
    }

    /// Takes note of what the person's terminal is.
    pub fn know(&mut self, known: Known) {
        self.model.known = known;
    }

    /// Returns what was learned of the person's terminal.
    pub fn known(&self) -> Known {
        self.model.known
    }

    /// Returns how large it is.
    pub fn size(&self) -> Size {
        self.model.size
    }

    /// Returns the modes that the program has set.
    pub fn modes(&self) -> Modes {
        self.model.modes
    }

    /// Returns where the cursor is: row and column.
    pub fn cursor(&self) -> (usize, usize) {
        (self.model.cursor.row, self.model.cursor.column.min(self.model.size.columns - 1))
    }

    /// Returns whether the program is in the middle of something and asks not to be drawn.
    ///
    /// Whoever draws sets a limit to this.
    pub fn is_held(&self) -> bool {
        self.model.is_held
    }

    /// Draws although the program asked not to be drawn.
    pub fn release(&mut self) {
        self.model.is_held = false;
    }

    /// Returns what is to be sent to the program, once.
    pub fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.model.answers)
    }

    /// Returns whether the program rang the bell since this was asked last.
    pub fn take_bell(&mut self) -> bool {
        std::mem::take(&mut self.model.has_rung)
    }

    /// Returns what was dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.model.dropped
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.model.grid.rows().map(|row| row.cells.as_slice())
    }

    pub(crate) fn clusters(&self) -> &Clusters {
        &self.model.clusters
    }

    /// Returns what stands in a row, without what is blank at its end.
    pub fn text(&self, row: usize) -> String {
        let mut text = String::new();
        for cell in self.rows().nth(row).unwrap_or_default().iter().filter(|it| it.width() != 0) {
            text.push(cell.symbol());
            text.push_str(self.model.clusters.text(cell));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl Sink for Model {
    fn ascii(&mut self, run: &[u8]) {
        let Some(&last) = run.last() else { return };
        if self.draws_lines.get(usize::from(self.is_second_set)) == Some(&true) {
            for byte in run {
                self.print(line_drawing(*byte));
            }
            return;
        }
        let mut rest = run;
        while !rest.is_empty() {
            self.wrap();
            let room = self.size.columns.saturating_sub(self.cursor.column);
            let (now, later) = rest.split_at(rest.len().min(room.max(1)));
            let (row, column) = (self.cursor.row, self.cursor.column);
            if self.inserts {
                self.grid.insert(row, column, now.len(), self.cursor.style.erased());
            }
            self.grid.write(row, column, now, self.cursor.style);
            self.advance(now.len());
            self.last_at = Some((row, column + now.len() - 1));
            rest = match self.wraps {
                true => later,
                // All that is left is written over the last place.
                false if later.is_empty() => later,
                false => {
                    let at = self.size.columns - 1;
                    self.grid.write(row, at, &[last], self.cursor.style);
                    &[]
                }
            };
        }
        self.last = Some(char::from(last));
    }

    fn character(&mut self, character: char) {
        if matches!(character, '\u{80}'..='\u{9f}') {
            // SECURITY: controls of the second kind, written as text.
            return self.dropped.count(Kind::Control);
        }
        let cell = Cell::of(character, self.cursor.style);
        // Of the characters that take a place, few belong to the one before.
        if cell.is_none() || self.is_joining || is_skin(character) {
            if self.joins(character) {
                return;
            }
            self.is_joining = false;
        }
        match cell {
            None => self.dropped.count(Kind::Character),
            Some(cell) => self.print_cell(cell),
        }
    }

    fn control(&mut self, byte: u8) {
        self.on_control(byte);
    }

    fn escape(&mut self, between: u8, end: u8) {
        self.on_escape(between, end);
    }

    fn sequence(&mut self, sequence: &Sequence, end: u8) {
        self.on_sequence(sequence, end);
    }

    fn overlong(&mut self) {
        self.dropped.count(Kind::Sequence);
    }

    fn command(&mut self, text: &[u8]) {
        self.on_command(text);
    }

    fn string(&mut self, introducer: u8) {
        self.dropped.count(match introducer {
            b'P' => Kind::DeviceControl,
            _ => Kind::Message,
        });
    }

    fn not_utf8(&mut self) {
        self.dropped.count(Kind::NotUtf8);
    }
}

impl Model {
    /// Writes a character where the cursor is.
    fn print(&mut self, character: char) {
        match Cell::of(character, self.cursor.style) {
            None => self.dropped.count(Kind::Character),
            Some(cell) => self.print_cell(cell),
        }
    }

    fn print_cell(&mut self, cell: Cell) {
        let character = cell.symbol();
        let width = usize::from(cell.width());
        if self.size.columns < width {
            return self.dropped.count(Kind::Character);
        }
        self.wrap();
        if self.size.columns < self.cursor.column + width {
            // A wide character has no room at the end of a row.
            match self.wraps {
                true => {
                    self.cursor.is_wrapping = true;
                    self.wrap();
                }
                false => self.cursor.column = self.size.columns - width,
            }
        }
        let (row, column) = (self.cursor.row, self.cursor.column);
        if self.inserts {
            self.grid.insert(row, column, width, self.cursor.style.erased());
        }
        self.grid.put(row, column, cell);
        self.advance(width);
        (self.last, self.last_at) = (Some(character), Some((row, column)));
    }

    /// Puts a character over the one before it, if it belongs there.
    fn joins(&mut self, character: char) -> bool {
        let Some((row, column)) = self.last_at else { return false };
        let Some(cell) = self.grid.get(row, column).copied() else { return false };
        let is_after_joiner = self.clusters.text(&cell).ends_with(JOINER) && cell.width() == 2;
        let is_skin = is_skin(character) && cell.width() == 2;
        if !is_mark(character) && !is_after_joiner && !is_skin {
            return false;
        }
        if self.clusters.is_full() && self.n_until_renewal == 0 {
            // A look at the whole screen is too much for every mark.
            self.n_until_renewal = MARKS_UNTIL_RENEWAL;
            let others = self.main.iter_mut().flat_map(|(grid, _)| grid.cells_mut());
            self.clusters.renew(self.grid.cells_mut().chain(others));
        }
        // Renewed, it has another number.
        let Some(cell) = self.grid.get(row, column).copied() else { return false };
        self.n_until_renewal = self.n_until_renewal.saturating_sub(1);
        let Some(cluster) = self.clusters.adding(&cell, character) else {
            self.dropped.count(Kind::Character);
            return true;
        };
        let has_room = column + 1 < self.size.columns && self.cursor.column == column + 1;
        let becomes_wide = character == AS_EMOJI && cell.width() == 1 && !cell.symbol().is_ascii();
        let becomes_wide = becomes_wide && has_room && self.cursor.row == row;
        self.grid.put(row, column, cell.with_cluster(cluster, becomes_wide));
        self.is_joining = character == JOINER;
        if becomes_wide {
            self.advance(1);
        }
        true
    }

    /// Goes to the next row if the last place of this one was written.
    fn wrap(&mut self) {
        if !std::mem::take(&mut self.cursor.is_wrapping) || !self.wraps {
            return;
        }
        self.cursor.column = 0;
        self.line_feed();
    }

    fn advance(&mut self, n_places: usize) {
        let column = self.cursor.column + n_places;
        self.cursor.is_wrapping = self.size.columns <= column;
        self.cursor.column = column.min(self.size.columns - 1);
    }

    /// Goes down, and scrolls at the end of the region.
    fn line_feed(&mut self) {
        self.cursor.is_wrapping = false;
        if self.cursor.row + 1 == self.region.1 {
            let style = self.cursor.style.erased();
            self.grid.scroll_up(self.region.0, self.region.1, 1, style);
        } else if self.cursor.row + 1 < self.size.rows {
            self.cursor.row += 1;
        }
        self.last_at = None;
    }

    fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        let n_up = self.grid.resize(size.rows, size.columns, self.cursor.row);
        self.cursor.row = self.cursor.row.saturating_sub(n_up).min(size.rows - 1);
        self.cursor.column = self.cursor.column.min(size.columns - 1);
        self.cursor.is_wrapping = false;
        self.saved.fit(size, n_up);
        if let Some((grid, saved)) = &mut self.main {
            let n_up = grid.resize(size.rows, size.columns, saved.cursor.row);
            saved.fit(size, n_up);
        }
        (self.size, self.region, self.tabs) = (size, (0, size.rows), tabs(size.columns));
        self.last_at = None;
    }
}

impl Saved {
    fn fit(&mut self, size: Size, n_up: usize) {
        self.cursor.row = self.cursor.row.saturating_sub(n_up).min(size.rows - 1);
        self.cursor.column = self.cursor.column.min(size.columns - 1);
        self.cursor.is_wrapping = false;
    }
}

fn tabs(columns: usize) -> Vec<bool> {
    (0..columns).map(|column| column % 8 == 0).collect()
}

/// Returns the character of the set that draws lines.
fn line_drawing(byte: u8) -> char {
    const DRAWN: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    match byte.checked_sub(b'`') {
        Some(at) => DRAWN.chars().nth(at.into()).unwrap_or(char::from(byte)),
        None => char::from(byte),
    }
}

#[cfg(test)]
mod tests;
