//! What keys do in a conversation: edit, send, answer, complete, stop, leave.

use ic_terminal::editor::Press;
use ic_terminal::{Completed, Frame, Ink, Key, Line, Named, Place as Completable, Span, complete};
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::Instant;

use super::names::names;
use super::{ESCAPE_WAIT, Left, PROMPT, Repl};
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
        let keys = self.decoder.feed(bytes);
        self.escape_at = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE_WAIT);
        // SECURITY: what comes in one piece with something else was not pressed as an answer.
        let is_alone = keys.len() == 1;
        for key in keys {
            if self.left.is_some() {
                return;
            }
            self.on_key(&key, is_alone);
        }
    }

    pub(super) fn on_escape_alone(&mut self) {
        self.escape_at = None;
        if let Some(key) = self.decoder.give_up() {
            self.on_key(&key, true);
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
            Key::Ctrl('l') => return self.pen.clear(),
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

    /// Takes a key as an answer, or as an attempt at one that came too early; says whether it did.
    fn is_for_banner(&mut self, key: &Key, is_alone: bool) -> bool {
        let word = match key {
            Key::Char('/') => return false,
            Key::Char(c) => c.to_string(),
            Key::Enter => String::new(),
            // A paste is no answer, but may be a message.
            _ => return false,
        };
        if !is_alone {
            // It is the beginning of a message, or of nothing.
            self.banner.hurried();
            return false;
        }
        if !self.banner.takes_keys() {
            self.banner.hurried();
            return true;
        }
        let is_answer = match word.as_str() {
            "y" | "n" | "g" | "d" | "" => true,
            word => word.bytes().all(|it| it.is_ascii_digit()),
        };
        if is_answer {
            self.with_banner(|banner, place| banner.typed(&word, place));
        }
        is_answer
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
        match Named::of(&line) {
            Named::Command(command) => {
                self.memory.add(&line);
                self.pen.print(&[Line::new(Ink::Quiet, line.trim())]);
                self.on_command(command);
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
