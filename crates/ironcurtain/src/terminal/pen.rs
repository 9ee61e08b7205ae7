//! What writes on a screen that is drawn: lines above, the region below, and questions between them.
//!
//! SECURITY: every row of a stranger's text stands behind a mark of its own, which no row of ours has, so
//! that none can pass for a question.

use std::os::fd::OwnedFd;

use ic_terminal::{Canvas, Frame, Ink, Line, Size, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;

use super::paint::Tone;
use super::stage::{Echo, Room, Row, Stage};
use crate::screen::Screen;

/// What stands before the rest of a line of ours that was folded.
const FOLDED: &str = "  |";
/// What stands before each row of the model's text.
const STRANGER: &str = "│ ";
/// The smallest terminal that is drawn for, and the one that does not say how large it is.
const SIZE_MIN: Size = Size { columns: 20, rows: 4 };
const SIZE_USUAL: Size = Size { columns: 80, rows: 24 };

/// What writes on the screen.
pub(super) struct Pen<'a> {
    canvas: Canvas,
    screen: &'a mut Screen,
    /// The terminal, to ask it how large it is.
    terminal: OwnedFd,
    /// How much room a question has in the region.
    pub(super) room: Room,
    /// Whether something was printed since this was asked last.
    has_printed: bool,
}

impl<'a> Pen<'a> {
    pub(super) fn new(terminal: OwnedFd, is_painted: bool, screen: &'a mut Screen) -> Self {
        let canvas = Canvas::new(size(&terminal), is_painted);
        let room = Room { columns: None, rows: 0 };
        Self { canvas, screen, terminal, room, has_printed: false }
    }

    /// Returns how large the screen is now, and whether it is what it is drawn for.
    pub(super) fn new_size(&self) -> (Size, bool) {
        size_and_fit(&self.terminal)
    }

    pub(super) fn size(&self) -> Size {
        self.canvas.size()
    }

    /// Shows the region, on a screen of that size.
    pub(super) fn show(&mut self, size: Size, frame: Frame) {
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
        self.has_printed = true;
        let sent = self.canvas.print(lines, &Span::new(Ink::Quiet, FOLDED));
        self.send(&sent);
    }

    /// Prints lines of a stranger.
    pub(super) fn print_strangers(&mut self, lines: &[Line]) {
        self.has_printed = true;
        let mark = Span::new(Ink::Quiet, STRANGER);
        let lines: Vec<Line> = lines.iter().map(|line| line.behind(&mark)).collect();
        let sent = self.canvas.print(&lines, &mark);
        self.send(&sent);
    }

    /// Returns whether something was printed since this was asked last.
    pub(super) fn take_printed(&mut self) -> bool {
        std::mem::take(&mut self.has_printed)
    }

    /// Returns where answers go that are not shown here.
    pub(super) fn screen(&mut self) -> &mut Screen {
        self.screen
    }

    /// Sends what a terminal is told besides what stands there.
    pub(super) fn signal(&mut self, sent: &str) {
        self.send(sent);
    }

    fn send(&mut self, sent: &str) {
        if !sent.is_empty() {
            self.screen.send(sent);
        }
    }
}

impl Stage for Pen<'_> {
    fn room(&self) -> Room {
        self.room
    }

    fn echo(&self) -> Echo {
        Echo::Apart
    }

    /// A question stands in the region, which is drawn whenever something has happened.
    fn draw(&mut self, _: &[Row]) {}

    fn leave(&mut self, rows: &[Row]) {
        let lines: Vec<Line> = rows.iter().map(Row::to_line).collect();
        self.print(&lines);
    }

    fn say(&mut self, tone: Tone, text: &str) {
        self.print(&[Line::new(tone.ink(), text)]);
    }

    fn is_read(&mut self) -> bool {
        is_read(&self.terminal)
    }

    /// What is asked stands in the region.
    fn ask(&mut self, _: &str) {}
}

/// Returns whether nothing that was typed waits to be read.
pub(super) fn is_read(terminal: &OwnedFd) -> bool {
    let mut sources = [PollFd::new(terminal, PollFlags::IN)];
    // SECURITY: whoever cannot be asked may have something to be read.
    poll(&mut sources, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// Returns how large a screen is drawn, and whether the terminal is as large as that.
pub(super) fn size_and_fit(terminal: &OwnedFd) -> (Size, bool) {
    let size = size(terminal);
    let real = tcgetwinsize(terminal).ok();
    // One that does not say how large it is has the usual size.
    let is_small = |real: u16, drawn: usize| real != 0 && usize::from(real) < drawn;
    let fits = real.is_none_or(|real| {
        !is_small(real.ws_col, size.columns) && !is_small(real.ws_row, size.rows)
    });
    (size, fits)
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
