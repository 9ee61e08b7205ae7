//! One terminal on which an interface is drawn: written to without waiting, and read as it comes.
//!
//! Whoever does not read holds up nobody: what is drawn next is drawn when all of the drawing before has gone.
//! What is drawn is not known here.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use ic_screen::{Frame, Painter, Size};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::full::title_of;
use super::super::raw::{LEAVE, TITLE_BACK, TITLE_KEEP};
use super::super::tty::waited_for;
use crate::attached::{Line, Told, Visitor, Why, Word};

/// How large a terminal is taken to be that does not say so.
const SIZE_USUAL: Size = Size { rows: 24, columns: 80 };
/// How much is read at once.
const KEYS_BYTES_MAX: usize = 4096;

/// A terminal, and the client that has handed it over.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) number: u64,
    terminal: AsyncFd<OwnedFd>,
    /// Its modes before its client took it; none once that knows that nothing is drawn any more.
    before: Option<Termios>,
    line: Line,
    hearing: JoinHandle<()>,
    painter: Painter,
    /// What is to be sent and has not gone yet.
    unsent: Vec<u8>,
    state: State,
    is_titled: bool,
    /// Whether there is more to be drawn than it was sent.
    pub(super) is_behind: bool,
}

/// What can be done with a terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Nothing yet: its client has not taken it.
    Coming,
    /// It is drawn on and read.
    Taken,
    /// Nothing any more: its end was read.
    Gone,
}

/// Something that a terminal did.
#[derive(Debug)]
pub(super) enum Did {
    /// These bytes were typed; none if it has gone.
    Typed(Vec<u8>),
    /// Everything has gone that was to be sent.
    Took,
}

/// What a client has said; `None` if it is gone.
pub(super) type Heard = (u64, Option<Word>);

impl Viewer {
    /// Lets a terminal in, and its client know.
    pub(super) fn welcome(
        visitor: Visitor,
        number: u64,
        heard: mpsc::Sender<Heard>,
    ) -> io::Result<Self> {
        let Visitor { terminal, line, mut words, .. } = visitor;
        // Before its client changes them.
        let before = Some(tcgetattr(&terminal)?);
        let terminal = waited_for(terminal, Interest::READABLE | Interest::WRITABLE)?;
        let hearing = tokio::spawn(async move {
            loop {
                let word = words.next().await;
                if heard.send((number, word)).await.is_err() || word.is_none() {
                    return;
                }
            }
        });
        line.tell(&Told::Welcome);
        Ok(Self {
            number,
            terminal,
            before,
            line,
            hearing,
            painter: Painter::default(),
            unsent: Vec::new(),
            state: State::Coming,
            is_titled: false,
            is_behind: false,
        })
    }

    /// Returns the terminal, to ask it how large it is and whether something waits to be read.
    pub(super) fn handle(&self) -> &OwnedFd {
        self.terminal.get_ref()
    }

    /// Takes note that its client has taken the terminal.
    pub(super) fn go(&mut self) {
        self.state = State::Taken;
    }

    pub(super) fn is_taken(&self) -> bool {
        self.state == State::Taken
    }

    /// Returns whether everything has gone that was to be sent, so that it shows what was drawn last.
    pub(super) fn has_taken(&self) -> bool {
        self.is_taken() && self.unsent.is_empty()
    }

    /// Returns how large it is.
    pub(super) fn size(&self) -> Size {
        match tcgetwinsize(self.handle()) {
            Ok(size) if 0 < size.ws_row && 0 < size.ws_col => {
                Size::new(size.ws_row.into(), size.ws_col.into())
            }
            Ok(_) | Err(_) => SIZE_USUAL,
        }
    }

    /// Draws a frame, or takes note that it is to be drawn.
    pub(super) fn draw(&mut self, frame: Frame) {
        self.is_behind = !self.has_taken();
        if !self.is_behind {
            let sent = self.painter.paint(frame);
            self.send(&sent);
        }
    }

    /// Takes note that nobody knows what it shows.
    pub(super) fn forget(&mut self) {
        self.painter.forget();
    }

    pub(super) fn has_keyboard(&mut self, has_keyboard: bool) {
        self.painter.has_keyboard(has_keyboard);
    }

    /// Says in the title of the window how many requests wait.
    pub(super) fn title(&mut self, n_waiting: usize) {
        if !self.is_taken() {
            return;
        }
        let was_titled = std::mem::replace(&mut self.is_titled, 0 < n_waiting);
        match title_of(n_waiting) {
            Some(title) => {
                let keep = if was_titled { "" } else { TITLE_KEEP };
                // Known there first, so that it comes back whatever happens here.
                self.line.tell(&Told::Titled(true));
                self.send(&format!("{keep}\x1b]2;{title}\x07"));
            }
            None if was_titled => {
                self.send(TITLE_BACK);
                self.line.tell(&Told::Titled(false));
            }
            None => {}
        }
    }

    /// Sends something, as soon as it is taken.
    pub(super) fn send(&mut self, text: &str) {
        if self.is_taken() {
            self.unsent.extend_from_slice(text.as_bytes());
            self.write();
        }
    }

    fn write(&mut self) {
        while !self.unsent.is_empty() {
            match rustix::io::write(self.handle(), &self.unsent) {
                Ok(n_bytes) => drop(self.unsent.drain(..n_bytes)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                // That it has gone is noticed when it is read.
                Err(_) => self.unsent.clear(),
            }
        }
    }

    /// Waits for what it does next.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Did> {
        if !self.is_taken() {
            return Poll::Pending;
        }
        while !self.unsent.is_empty() {
            let Poll::Ready(Ok(mut ready)) = self.terminal.poll_write_ready(context) else { break };
            let written =
                ready.try_io(|terminal| Ok(rustix::io::write(terminal.get_ref(), &self.unsent)?));
            match written {
                Ok(Ok(n_bytes)) => drop(self.unsent.drain(..n_bytes)),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => self.unsent.clear(),
                Err(_) => continue,
            }
            if self.unsent.is_empty() {
                return Poll::Ready(Did::Took);
            }
        }
        let mut buffer = vec![0; KEYS_BYTES_MAX];
        loop {
            let n_bytes = match ready!(self.terminal.poll_read_ready(context)) {
                Err(_) => 0,
                Ok(mut ready) => {
                    let read = ready
                        .try_io(|terminal| Ok(rustix::io::read(terminal.get_ref(), &mut *buffer)?));
                    match read {
                        Ok(Ok(n_bytes)) => n_bytes,
                        Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Ok(Err(_)) => 0,
                        // Nothing was there after all.
                        Err(_) => continue,
                    }
                }
            };
            // Its end can be read for ever, so it is not any more.
            if n_bytes == 0 {
                self.state = State::Gone;
            }
            buffer.truncate(n_bytes);
            return Poll::Ready(Did::Typed(buffer));
        }
    }

    /// Lets it go, and returns what its client is told more through.
    pub(super) fn let_go(mut self, why: Why) -> Line {
        self.line.tell(&Told::Goodbye(why));
        self.before = None;
        self.line.clone()
    }

    /// Gives the terminal back in place of its client, if that is gone.
    fn give_back(&self) {
        let Some(before) = &self.before else { return };
        let title = if self.is_titled { TITLE_BACK } else { "" };
        let sent = format!("{title}{}{LEAVE}", ic_screen::paint::LEAVE);
        rustix::io::write(self.handle(), sent.as_bytes()).ok();
        // What was typed for us is not for the shell.
        tcflush(self.handle(), QueueSelector::IFlush).ok();
        tcsetattr(self.handle(), OptionalActions::Now, before).ok();
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.hearing.abort();
        self.give_back();
    }
}
