//! What is drawn of an agent's interface, and when.

use std::time::Duration;

use ic_escalation::display;
use ic_screen::screen::Known;
use ic_screen::{Bar, Frame, Size};
use ic_session::ToAgent;
use tokio::time::Instant;

use super::viewer::Viewer;
use super::{AgentScreen, ROWS_KEPT, inner};

/// How soon after a drawing the next one comes, while the agent goes on writing.
const DRAW_EVERY: Duration = Duration::from_millis(8);
/// How long an agent may ask not to be drawn.
const HELD_MAX: Duration = Duration::from_millis(150);
/// What stands in the row of whoever only looks on.
const LOOKING_ON: &str = "looking on · Ctrl-\\ d leaves";

/// When it is drawn.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) is_due: bool,
    last: Option<Instant>,
    /// Since when the agent asks not to be drawn.
    pub(super) held_since: Option<Instant>,
}

impl AgentScreen<'_> {
    /// Returns when something is drawn with nothing happening before.
    pub(super) fn draw_at(&self) -> Option<Instant> {
        let said_until = self.said.as_ref().map(|(_, until)| *until);
        if !self.drawing.is_due {
            return said_until;
        }
        let next = self.drawing.last.map_or(self.start, |last| last + DRAW_EVERY);
        Some(self.drawing.held_since.map_or(next, |since| next.max(since + HELD_MAX)))
    }

    /// Draws if it is time; a question is drawn at once, whatever happened.
    pub(super) fn draw_in_time(&mut self) {
        let is_held = self.model.is_held() && !self.is_deciding;
        let is_early =
            self.drawing.last.is_some_and(|last| last.elapsed() < DRAW_EVERY) && !self.is_deciding;
        if self.drawing.is_due && !is_held && !is_early {
            self.draw();
        }
        if self.is_question_on_its_way
            && self.seats.attached.as_ref().is_some_and(Viewer::has_taken)
        {
            // SECURITY: what has not gone to the terminal was not read, so its time begins only now.
            self.is_question_on_its_way = false;
            self.banner.drawn();
        }
    }

    pub(super) fn draw(&mut self) {
        self.fit();
        if self.said.as_ref().is_some_and(|(_, until)| *until <= Instant::now()) {
            self.said = None;
        }
        (self.drawing.is_due, self.drawing.last) = (false, Some(Instant::now()));
        if !self.is_deciding {
            // SECURITY: what is not on the screen is not answered; it is drawn again when it is seen again.
            self.banner.disturbed();
            self.is_question_on_its_way = false;
        }
        let (model, waiting) = (&self.model, self.waiting.len());
        if let Some(recording) = self.recording.as_mut().filter(|_| !self.is_deciding) {
            recording.draw(model);
        }
        self.seats.draw_for_onlookers(|size| {
            let mut frame = Frame::of(model, size).only_seen();
            let about = if waiting == 0 { LOOKING_ON } else { "looking on · a request waits" };
            Bar { n_waiting: 0, about }.put(&mut frame, size.rows.saturating_sub(ROWS_KEPT));
            frame
        });
        let Some(viewer) = &mut self.seats.attached else { return };
        if !viewer.has_taken() {
            viewer.is_behind = true;
            return;
        }
        let frame = if self.is_deciding { self.question() } else { self.interface() };
        if let Some(viewer) = &mut self.seats.attached {
            viewer.draw(frame);
        }
        self.is_question_on_its_way = self.is_deciding;
    }

    /// Takes note of the size of the terminal.
    fn fit(&mut self) {
        let Some(viewer) = self.seats.attached.as_mut().filter(|it| it.is_taken()) else { return };
        let size = viewer.size();
        if size == self.size {
            return;
        }
        // What a terminal makes of rows that no longer fit is anybody's guess.
        viewer.forget();
        self.size = size;
        self.model.resize(inner(size));
        let resized = ToAgent::Resized(self.agent_size());
        if self.link.input.try_send(resized).is_err() {
            self.say("The agent does not read, so it does not know the new size of the window.");
        }
    }

    /// Draws the agent's screen, and the row below it.
    fn interface(&self) -> Frame {
        let mut frame = Frame::of(&self.model, self.size);
        let first = self.waiting.first().map(|it| display::summary(it.request()));
        let said = self.said.as_ref().map(|(text, _)| text.as_str());
        let n_waiting = self.waiting.len();
        let about = first.as_deref().or(said).unwrap_or(&self.usual);
        Bar { n_waiting, about }.put(&mut frame, self.size.rows - ROWS_KEPT);
        frame
    }

    /// Returns how large the terminal is now, or was while there was one.
    pub(super) fn size_now(&self) -> Size {
        self.seats.attached.as_ref().map_or(self.size, Viewer::size)
    }

    /// Takes note of what the terminal says of itself.
    pub(super) fn know(&mut self, known: Known) {
        if let Some(viewer) = &mut self.seats.attached {
            viewer.has_keyboard(known.has_keyboard);
        }
        self.model.know(known);
    }
}
