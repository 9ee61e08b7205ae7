//! What is typed at a banner: told to the gate, which says whether it is an answer and to what.

use std::time::Duration;

use ic_terminal::gate::{Arrival, NotYet, QUIET, Reach};
use tokio::time::Instant;

use super::keys::Key;
use super::shown::Shown;
use super::{Banner, Place};
use crate::terminal::group::Group;
use crate::terminal::paint::Tone;
use crate::terminal::stage::Echo;

impl Banner {
    /// Takes note that something was read; of the keys in it is told afterwards.
    pub(crate) fn arrives(&mut self, arrival: Arrival) {
        self.hint = None;
        self.gate.arrives(arrival, self.now());
    }

    /// Takes note that something was typed below the question that is no line.
    pub(crate) fn arrives_below(&mut self) {
        self.arrives(Arrival::Mixed);
        self.spoil(QUIET);
    }

    /// Takes note that a line is begun, after `n_keys` others that were read with its first key.
    pub(crate) fn line_begins(&mut self, n_keys: usize) {
        self.gate.line_begins(n_keys);
    }

    /// Returns what a command answers whose line ends now.
    pub(crate) fn line_ends(&mut self, reach: Reach) -> Result<Group, NotYet> {
        self.gate.line_ends(reach).cloned()
    }

    /// Takes in a key, or a line, that was just read alone.
    pub(crate) fn typed(&mut self, word: &str, place: &mut Place<'_>) {
        if self.shown.is_none() {
            if !word.is_empty() {
                place.stage.say(Tone::Quiet, "No escalation pending. Ctrl-C ends the task.");
            }
            return;
        }
        // SECURITY: the window may be smaller than it was when the question was drawn.
        let is_as_drawn =
            |it: &Shown| it.laid.as_ref().is_some_and(|laid| laid.room == it.room(place));
        if !self.shown.as_ref().is_some_and(is_as_drawn) {
            self.gate.disturbed();
        }
        let reach = match Key::of(word) {
            _ if word.is_empty() => Reach::Page,
            Some(key) => key.action.reach(),
            None => Reach::Whole,
        };
        match self.gate.key(reach).cloned() {
            Ok(group) => self.act(word, &group, place),
            Err(why) => {
                let word = if word.is_empty() { "Enter" } else { word };
                self.refuse(why.to_hint(word), place);
                if matches!(why, NotYet::JustShown | NotYet::TypedBefore)
                    && self.redraw_at.is_some()
                {
                    // A person who is still typing sees it again when they have done.
                    self.redraw_at = Some(Instant::now() + QUIET);
                }
            }
        }
    }

    /// Says why something did not count.
    pub(super) fn refuse(&mut self, hint: String, place: &mut Place<'_>) {
        self.hint = Some(hint);
        if place.stage.echo() == Echo::Below {
            self.spoil(Duration::ZERO);
        }
    }

    /// Draws what stands there again, after a while.
    pub(super) fn spoil(&mut self, after: Duration) {
        if self.shown.is_some() {
            self.gate.disturbed();
            self.redraw_at = Some(Instant::now() + after);
        }
    }
}
