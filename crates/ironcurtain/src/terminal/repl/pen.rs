//! What writes on the screen of a REPL: lines above, the region below, and questions between them.
//!
//! SECURITY: every row of a stranger's text stands behind a mark of its own, which no row of ours has, so
//! that none can pass for a question.

use std::os::fd::OwnedFd;

use ic_terminal::{Canvas, Frame, Ink, Line, Size, Span};
use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

use crate::screen::{Screen, fold};
use crate::terminal::paint::Tone;
use crate::terminal::stage::Stage;

/// What stands before the rest of a line of ours that was folded.
const FOLDED: &str = "      | ";
/// What stands before each row of the model's text.
const STRANGER: &str = "│ ";
/// Rows that a question leaves to the region.
const ROWS_KEPT: usize = 3;
/// The smallest terminal that is drawn for, and the one that does not say how large it is.
const SIZE_MIN: Size = Size { columns: 20, rows: 4 };
const SIZE_USUAL: Size = Size { columns: 80, rows: 24 };

/// What writes on the screen.
pub(super) struct Pen<'a> {
    canvas: Canvas,
    screen: &'a mut Screen,
    /// The terminal, to ask it how large it is.
    terminal: OwnedFd,
    /// Whether what was typed and not read yet was thrown away, so that keys begin anew.
    is_flushed: bool,
}

impl<'a> Pen<'a> {
    pub(super) fn new(terminal: OwnedFd, is_painted: bool, screen: &'a mut Screen) -> Self {
        let canvas = Canvas::new(size(&terminal), is_painted);
        Self { canvas, screen, terminal, is_flushed: false }
    }

    pub(super) fn size(&self) -> Size {
        self.canvas.size()
    }

    /// Shows the region, on a screen of whatever size it now has.
    pub(super) fn show(&mut self, region: impl Fn(Size) -> Frame) {
        let size = size(&self.terminal);
        let frame = region(size);
        let sent = match size == self.canvas.size() {
            true => self.canvas.show(frame),
            false => self.canvas.resize(size, frame),
        };
        self.send(&sent);
    }

    /// Draws everything anew: somebody else may have written here.
    pub(super) fn redraw(&mut self, region: Frame) {
        let sent = self.canvas.resize(size(&self.terminal), region);
        self.send(&sent);
    }

    /// Begins with an empty screen.
    pub(super) fn clear(&mut self) {
        let sent = self.canvas.clear();
        self.send(&sent);
    }

    /// Takes the region away.
    pub(super) fn leave(&mut self) {
        let sent = self.canvas.leave();
        self.send(&sent);
    }

    /// Prints lines of ours.
    pub(super) fn print(&mut self, lines: &[Line]) {
        let sent = self.canvas.print(lines, &Span::new(Ink::Quiet, FOLDED));
        self.send(&sent);
    }

    /// Prints lines of a stranger.
    pub(super) fn print_strangers(&mut self, lines: &[Line]) {
        let mark = Span::new(Ink::Quiet, STRANGER);
        let lines: Vec<Line> = lines.iter().map(|line| line.behind(&mark)).collect();
        let sent = self.canvas.print(&lines, &mark);
        self.send(&sent);
    }

    /// Tells the person what is going on.
    pub(super) fn notice(&mut self, text: &str) {
        self.print(&[Line::plain(&format!("ironcurtain: {text}"))]);
    }

    /// Returns whether what was typed was thrown away since this was asked last.
    pub(super) fn take_flushed(&mut self) -> bool {
        std::mem::take(&mut self.is_flushed)
    }

    /// Returns where answers go that are not shown here.
    pub(super) fn screen(&mut self) -> &mut Screen {
        self.screen
    }

    fn send(&mut self, sent: &str) {
        if !sent.is_empty() {
            self.screen.send(sent);
        }
    }
}

impl Stage for Pen<'_> {
    fn rows(&self, lines: &[String]) -> Vec<String> {
        fold(lines, Some(self.size().columns))
    }

    fn height(&self) -> usize {
        self.size().rows.saturating_sub(ROWS_KEPT)
    }

    fn row(&mut self, row: &str) {
        self.print(&[Line::plain(row)]);
    }

    fn say(&mut self, tone: Tone, text: &str) {
        self.print(&[Line::new(tone.ink(), text)]);
    }

    /// What is asked stands in the region.
    fn ask(&mut self, _: &str) {
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(&self.terminal, QueueSelector::IFlush).ok();
        self.is_flushed = true;
    }
}

/// Returns how large a terminal is.
fn size(terminal: &OwnedFd) -> Size {
    let Ok(size) = tcgetwinsize(terminal) else { return SIZE_USUAL };
    let or = |number: u16, usual: usize, min: usize| match usize::from(number) {
        0 => usual,
        number => number.max(min),
    };
    Size {
        columns: or(size.ws_col, SIZE_USUAL.columns, SIZE_MIN.columns),
        rows: or(size.ws_row, SIZE_USUAL.rows, SIZE_MIN.rows),
    }
}
