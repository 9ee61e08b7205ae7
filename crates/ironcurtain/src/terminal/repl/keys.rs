//! What keys do in a conversation: edit, send, answer, complete, stop, leave.

use ic_escalation::{Message, Source};
use ic_home::{Clock as _, SystemClock};
use ic_terminal::editor::Press;
use ic_terminal::gate::Reach;
use ic_terminal::{
    Command, Completed, Frame, Ink, Key, Line, Named, Piece, Place as Completable, Span, complete,
};

use super::names::names;
use super::{Left, Repl};
use crate::terminal::banner::Banner;
use crate::terminal::console::{Console, PROMPT};
use crate::terminal::paint::Tone;

/// How many choices of a completion are shown.
const CHOICES_MAX: usize = 60;

impl Repl<'_> {
    pub(super) fn on_bytes(&mut self, bytes: &[u8]) {
        let Some(Piece { keys, is_alone }) = self.console.read(bytes) else {
            self.left = Some(Left::Signalled);
            return;
        };
        for (n_keys, key) in keys.iter().enumerate() {
            if self.left.is_some() {
                return;
            }
            let was_empty = self.editor.is_empty();
            self.on_key(key, is_alone);
            if was_empty && !self.editor.is_empty() {
                self.console.banner.line_begins(n_keys);
            }
        }
    }

    pub(super) fn on_escape_alone(&mut self) {
        if let Some(key) = self.console.on_escape_alone() {
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
            Key::Ctrl('z') => return self.console.suspend(),
            Key::Ctrl('l') => return self.console.clear(),
            Key::PasteTooLong => {
                self.console.say(Tone::Bad, "The pasted text is too long; it was dropped.");
                return;
            }
            _ => {}
        }
        let is_answer =
            |console: &mut Console<'_>| console.is_answer(key, is_alone, self.scene.questions);
        if self.editor.is_empty() && is_answer(&mut self.console) {
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
        self.console.say(Tone::Quiet, "Ctrl-C once more ends the session, and so does Ctrl-D.");
    }

    /// Takes the line that was typed.
    fn on_line(&mut self) {
        let shown = Frame::of(
            &self.editor,
            &Span::new(Ink::Strong, PROMPT),
            self.console.pen.size().columns,
        );
        let has_paste = self.editor.has_foreign();
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
        let answered = self.console.banner.line_ends(reach);
        match named {
            Named::Command(command) => {
                self.memory.add(&line);
                self.console.pen.print(&[Line::new(Ink::Quiet, line.trim())]);
                self.on_command(command, answered);
            }
            Named::Mistake(why) => self.console.say(Tone::Bad, &why),
            Named::Message => {
                self.memory.add(&line);
                self.console.pen.print(&shown.rows);
                let is_busy = self.turn.is_some() || !self.queue.is_empty();
                let (source, at) = (Source::Typed, SystemClock.now());
                self.queue.push_back(Message { text: line, source, at, has_paste });
                if is_busy {
                    let note = "Queued: it is sent when this turn is over. /quit drops it.";
                    self.console.say(Tone::Quiet, note);
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
            self.console.say(Tone::Quiet, &shown);
        }
        self.editor.complete(n_chars, &text);
    }
}
