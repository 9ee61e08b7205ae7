//! What keys do in a conversation: edit, send, answer, complete, stop, leave.

use ic_terminal::editor::Press;
use ic_terminal::gate::{Arrival, Reach};
use ic_terminal::{
    Command, Completed, Frame, Ink, Key, Line, Named, Piece, Place as Completable, Span, complete,
};
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::Instant;

use super::names::names;
use super::{ESCAPE_WAIT, Left, PROMPT, Repl};
use crate::terminal::banner::Banner;
use crate::terminal::paint::Tone;
use crate::terminal::raw;
use crate::terminal::stage::Stage as _;

/// How many choices of a completion are shown.
const CHOICES_MAX: usize = 60;

impl Repl<'_> {
    pub(super) fn on_bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            // The terminal has gone, and with it whoever sat there.
            self.left = Some(Left::Signalled);
            return;
        }
        if self.pen.new_size().0 != self.pen.size() {
            // SECURITY: it was read before the window was drawn anew.
            self.banner.disturbed();
        }
        let Piece { keys, is_alone } = self.decoder.read(bytes);
        self.escape_at = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE_WAIT);
        self.banner.arrives(if is_alone { Arrival::Alone } else { Arrival::Mixed });
        for (n_keys, key) in keys.iter().enumerate() {
            if self.left.is_some() {
                return;
            }
            let was_empty = self.editor.is_empty();
            self.on_key(key, is_alone);
            if was_empty && !self.editor.is_empty() {
                self.banner.line_begins(n_keys);
            }
        }
    }

    pub(super) fn on_escape_alone(&mut self) {
        self.escape_at = None;
        self.banner.arrives(Arrival::Mixed);
        if let Some(key) = self.decoder.give_up() {
            self.on_key(&key, false);
        }
    }

    fn on_key(&mut self, key: &Key, is_alone: bool) {
        let was_leaving = std::mem::take(&mut self.is_leaving);
        match key {
            Key::Ctrl('c') => return self.on_interrupt(was_leaving),
            Key::Ctrl('d') if self.editor.is_empty() => {
                self.left = Some(Left::Quit);
                return;
            }
            Key::Ctrl('z') => return self.suspend(),
            Key::Ctrl('l') => {
                self.banner.disturbed();
                return self.pen.clear();
            }
            Key::PasteTooLong => {
                self.pen.say(Tone::Bad, "That is too much to be pasted; nothing of it was taken.");
                return;
            }
            _ => {}
        }
        if self.editor.is_empty() && self.banner.is_asking() && self.is_for_banner(key, is_alone) {
            return;
        }
        match self.editor.press(key) {
            Press::Taken | Press::Unknown => {}
            Press::Send => self.on_line(),
            Press::Complete => self.complete(),
            Press::Older => {
                let typed = self.editor.text();
                if let Some(message) = self.memory.history.older(&typed) {
                    self.editor.replace(message);
                }
            }
            Press::Newer => {
                if let Some(message) = self.memory.history.newer() {
                    self.editor.replace(&message);
                }
            }
        }
    }

    /// Takes a key as an answer, or as an attempt at one; says whether it did.
    fn is_for_banner(&mut self, key: &Key, is_alone: bool) -> bool {
        let word = match key {
            // In one piece with others it is the beginning of a message, or of nothing.
            Key::Char(_) | Key::Enter if !is_alone => return false,
            Key::Char(c @ ('y' | 'n' | 'g' | 'd' | 'a')) => c.to_string(),
            Key::Char(c) if self.banner.is_choosing() && c.is_ascii_digit() => c.to_string(),
            Key::Enter => String::new(),
            // A paste is no answer, but may be a message.
            _ => return false,
        };
        self.with_banner(|banner, place| banner.typed(&word, place));
        true
    }

    fn on_interrupt(&mut self, was_leaving: bool) {
        if let Some(turn) = &self.turn {
            if turn.cancel.is_cancelled() {
                // Once more leaves it at once.
                self.left = Some(Left::Quit);
                return;
            }
            turn.cancel.cancel();
            return;
        }
        if !self.editor.is_empty() {
            self.editor.take();
            return;
        }
        if was_leaving {
            self.left = Some(Left::Quit);
            return;
        }
        self.is_leaving = true;
        self.pen.say(Tone::Quiet, "Ctrl-C once more ends the session, and so does Ctrl-D.");
    }

    fn suspend(&mut self) {
        self.pen.leave();
        raw::restore();
        // Whoever continues us draws everything anew.
        kill_process(getpid(), Signal::TSTP).ok();
    }

    /// Takes the line that was typed.
    fn on_line(&mut self) {
        let shown =
            Frame::of(&self.editor, &Span::new(Ink::Strong, PROMPT), self.pen.size().columns);
        let line = self.editor.take();
        if line.trim().is_empty() {
            return;
        }
        let named = Named::of(&line);
        // What stands there by now is what counts.
        if let Named::Command(Command::Approve(_) | Command::Grant(_) | Command::Deny(_)) = named {
            self.with_banner(Banner::recheck);
        }
        let reach = match named {
            Named::Command(Command::Deny(_)) => Reach::Page,
            Named::Command(_) | Named::Mistake(_) | Named::Message => Reach::Whole,
        };
        let answered = self.banner.line_ends(reach);
        match named {
            Named::Command(command) => {
                self.memory.add(&line);
                self.pen.print(&[Line::new(Ink::Quiet, line.trim())]);
                self.on_command(command, answered);
            }
            Named::Mistake(why) => self.pen.say(Tone::Bad, &why),
            Named::Message => {
                self.memory.add(&line);
                self.pen.print(&shown.rows);
                let is_busy = self.turn.is_some() || !self.queue.is_empty();
                self.queue.push_back(line);
                if is_busy {
                    let note = "Queued: it is sent when this turn is over. /quit drops it.";
                    self.pen.say(Tone::Quiet, note);
                }
            }
        }
    }

    fn complete(&mut self) {
        let Some(place) = Completable::of(&self.editor.text_before_cursor()) else { return };
        let names = match &place {
            Completable::File { directory, .. } => {
                names(directory, &self.setting.sandbox, self.setting.home.as_deref())
            }
            Completable::Command(_) => Vec::new(),
        };
        let Some(Completed { n_chars, text, choices }) = complete(&place, &names) else { return };
        if text.chars().count() == n_chars && !choices.is_empty() {
            let n_more = choices.len().saturating_sub(CHOICES_MAX);
            let mut shown = choices.into_iter().take(CHOICES_MAX).collect::<Vec<_>>().join("  ");
            if 0 < n_more {
                shown.extend(["  and ", &n_more.to_string(), " more"]);
            }
            self.pen.say(Tone::Quiet, &shown);
        }
        self.editor.complete(n_chars, &text);
    }
}
