//! A terminal that gives every key at once, and is given back as it was on every way out.
//!
//! Whoever drops [`RawMode`] gives it back, so does a panic, and so does a thread that hears the second
//! signal. Only `kill -9` leaves it as it is; `reset` or `stty sane` help then.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, Once, PoisonError};

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcsetattr,
};

/// What is pasted comes between marks.
const ENTER: &str = "\x1b[?2004h";
/// Pastes as before, lines broken, the cursor seen, no ink.
pub(super) const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m";

/// A screen of its own, which leaves the one before as it was, and on which presses of a mouse are told.
const FULL_ENTER: &str = "\x1b[?1049h\x1b[?1000h\x1b[?1006h";
const FULL_LEAVE: &str = "\x1b[?1006l\x1b[?1000l\x1b[?1049l";

/// The title of the window is kept, and comes back.
pub(super) const TITLE_KEEP: &str = "\x1b[22;2t";
pub(super) const TITLE_BACK: &str = "\x1b]2;\x07\x1b[23;2t";

/// The terminal as it was, while it is not: a process has one, and a panic cannot be told which.
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);
static HOOK: Once = Once::new();

struct Before {
    terminal: OwnedFd,
    modes: Termios,
    /// Whether the title of the window is ours for now.
    is_titled: bool,
    /// Whether a screen of its own is shown.
    is_full: bool,
    /// Whether that is drawn for an agent, which may have set modes of its own.
    is_agents: bool,
}

/// A terminal in raw mode.
#[derive(Debug)]
pub(crate) struct RawMode(());

impl RawMode {
    /// Enters it; `terminal` is one that does not hold up whoever writes to it.
    pub(crate) fn enter(terminal: &OwnedFd) -> io::Result<Self> {
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                usual(panic);
                // If that was the end of a task and not ours, whoever goes on takes the terminal again.
                kill_process(getpid(), Signal::CONT).ok();
            }));
        });
        take(terminal)?;
        Ok(Self(()))
    }

    /// Enters it again, after somebody else may have left it.
    pub(crate) fn again(terminal: &OwnedFd) -> io::Result<()> {
        take(terminal)
    }
}

fn take(terminal: &OwnedFd) -> io::Result<()> {
    // Held before anything changes, so that there is no moment without a way back.
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let modes = tcgetattr(terminal)?;
    let mut raw = modes.clone();
    raw.local_modes -=
        LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    raw.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IXON;
    raw.special_codes[SpecialCodeIndex::VMIN] = 1;
    raw.special_codes[SpecialCodeIndex::VTIME] = 0;
    // What was there at first is what is given back.
    before.get_or_insert(Before {
        terminal: terminal.try_clone()?,
        modes,
        is_titled: false,
        is_full: false,
        is_agents: false,
    });
    tcsetattr(terminal, OptionalActions::Now, &raw)?;
    rustix::io::write(terminal, ENTER.as_bytes()).ok();
    Ok(())
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

/// Keeps the title of the window and puts another one there, or puts the one that was kept back.
///
/// A terminal that keeps no titles has none then, and never one that is not true any more.
pub(crate) fn title(title: Option<&str>) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(before) = before.as_mut() else { return };
    let sent = match (title, before.is_titled) {
        (Some(title), false) => format!("{TITLE_KEEP}\x1b]2;{title}\x07"),
        (Some(title), true) => format!("\x1b]2;{title}\x07"),
        (None, true) => TITLE_BACK.to_owned(),
        (None, false) => return,
    };
    before.is_titled = title.is_some();
    rustix::io::write(&before.terminal, sent.as_bytes()).ok();
}

/// Shows a screen of its own, until the terminal is given back.
pub(super) fn full_screen() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.as_mut().filter(|it| !it.is_full) {
        before.is_full = true;
        rustix::io::write(&before.terminal, FULL_ENTER.as_bytes()).ok();
    }
}

/// Shows a screen that is drawn for an agent, until the terminal is given back.
pub(crate) fn agents_screen() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.as_mut() {
        before.is_agents = true;
        rustix::io::write(&before.terminal, ic_screen::paint::ENTER.as_bytes()).ok();
    }
}

/// Takes note of whether somebody else has kept the title of the window and put another one there.
pub(crate) fn titled(is_titled: bool) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.as_mut() {
        before.is_titled = is_titled;
    }
}

/// Gives the terminal back as it was; the second time there is nothing to do.
///
/// Waits for nobody who reads the terminal.
pub(crate) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Before { terminal, modes, is_titled, is_full, is_agents }) = before {
        if is_titled {
            rustix::io::write(&terminal, TITLE_BACK.as_bytes()).ok();
        }
        if is_agents {
            rustix::io::write(&terminal, ic_screen::paint::LEAVE.as_bytes()).ok();
        }
        rustix::io::write(&terminal, LEAVE.as_bytes()).ok();
        if is_full {
            rustix::io::write(&terminal, FULL_LEAVE.as_bytes()).ok();
        }
        // What was typed for us is not for the shell.
        tcflush(&terminal, QueueSelector::IFlush).ok();
        tcsetattr(&terminal, OptionalActions::Now, &modes).ok();
    }
}

#[cfg(test)]
mod tests;
