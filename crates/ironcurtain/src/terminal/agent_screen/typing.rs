//! What is typed at an agent's interface: for the agent, or for us.

use ic_escalation::{Keys, keys};
use ic_screen::input::{Piece, Report};
use ic_screen::ring::Source;
use ic_screen::screen::{Known, Mouse};

use super::{AgentScreen, inner};
use crate::attached::Why;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

impl AgentScreen<'_> {
    pub(super) fn on_typed(&mut self, bytes: &[u8]) {
        let pieces = self.input.read(bytes, self.start.elapsed());
        self.on_pieces(pieces);
    }

    pub(super) fn on_pieces(&mut self, pieces: Vec<Piece>) {
        let mut to_agent = Vec::new();
        for piece in pieces {
            let modes = self.model.modes();
            match piece {
                Piece::Typed(bytes) => {
                    self.ring.push(Source::Typed, &bytes);
                    self.tell_what_was_sent(&Keys::Typed(bytes.clone()));
                    to_agent.extend(bytes);
                }
                Piece::Pasted(bytes) => {
                    self.ring.push(Source::Pasted, &bytes);
                    self.tell_what_was_sent(&Keys::Pasted);
                    to_agent.extend(bytes);
                }
                Piece::PasteBegins if modes.marks_pastes => to_agent.extend(PASTE_BEGINS),
                Piece::PasteEnds if modes.marks_pastes => to_agent.extend(PASTE_ENDS),
                // The row of ours is none of the agent's.
                Piece::Mouse(bytes, row)
                    if modes.mouse_told() != Mouse::Off && row <= inner(self.size).rows =>
                {
                    to_agent.extend(bytes);
                }
                Piece::Focus(bytes) if modes.tells_focus => to_agent.extend(bytes),
                Piece::PasteBegins | Piece::PasteEnds | Piece::Mouse(..) | Piece::Focus(_) => {}
                Piece::Report(report) => self.on_report(report),
                // SECURITY: what was read with it was typed for something else, and answers nothing.
                Piece::Decide => {
                    self.decide();
                    if self.is_deciding {
                        break;
                    }
                }
                Piece::End => {
                    self.cut.cancel();
                    break;
                }
                Piece::Detach => {
                    self.part(Why::Left);
                    break;
                }
            }
        }
        if !to_agent.is_empty() {
            self.send(to_agent);
        }
    }

    /// Says what keys have sent, before the agent hears of them and can act.
    fn tell_what_was_sent(&self, new: &Keys) {
        let all = self.ring.runs().map(|(source, bytes)| match source {
            Source::Typed => Keys::Typed(bytes),
            Source::Pasted => Keys::Pasted,
        });
        if let Some(sent) = keys::heard(new, &all.collect::<Vec<_>>()) {
            (self.sent)(sent);
        }
    }

    fn on_report(&mut self, report: Report) {
        let known = self.model.known();
        let [text, ground] = known.colours.unwrap_or([(255, 255, 255), (0, 0, 0)]);
        self.know(match report {
            Report::HasKeyboard => Known { has_keyboard: true, ..known },
            Report::TextColour(r, g, b) => Known { colours: Some([(r, g, b), ground]), ..known },
            Report::GroundColour(r, g, b) => Known { colours: Some([text, (r, g, b)]), ..known },
            Report::Other => known,
        });
    }
}
