//! Who is at an agent's interface: at most one terminal at which the person sits, and some that look on.
//!
//! The person counts as there from the moment that their terminal is drawn on until it is let go; whoever
//! only looks on counts as nobody, and types nothing.

use std::future::poll_fn;
use std::task::Poll;

use ic_screen::input::Piece;
use ic_screen::screen::Known;
use ic_screen::{Frame, Input, Size};
use ic_session::{AtTerminal, Seat};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::AgentScreen;
use super::viewer::{Did, Heard, Viewer};
use crate::attached::{Door, Told, Visitor, Why, Wish, Word};

/// How many may look on.
const ONLOOKERS_MAX: usize = 4;
/// How much that clients have said waits to be heard.
const HEARD_MAX: usize = 16;

/// The terminals of an interface.
#[derive(Debug)]
pub(super) struct Seats {
    door: Door,
    at_terminal: AtTerminal,
    /// Held while somebody sits here.
    seat: Option<Seat>,
    pub(super) attached: Option<Viewer>,
    onlookers: Vec<(Viewer, Input)>,
    sender: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    n_visitors: u64,
}

/// Something that happened at the seats.
#[derive(Debug)]
pub(super) enum Seated {
    Visitor(Visitor),
    Heard(Heard),
    Did(u64, Did),
}

impl Seats {
    /// Begins with the seat of whoever started the session, and whose terminal comes in first.
    pub(super) fn new(door: Door, seat: Seat) -> Self {
        let (sender, heard) = mpsc::channel(HEARD_MAX);
        let onlookers = Vec::new();
        Self {
            door,
            at_terminal: seat.at_terminal(),
            seat: Some(seat),
            attached: None,
            onlookers,
            sender,
            heard,
            n_visitors: 0,
        }
    }

    /// Waits for the next thing that happens.
    pub(super) async fn next(&mut self) -> Seated {
        let Self { door, attached, onlookers, heard, .. } = self;
        let did = poll_fn(|context| {
            let onlookers = onlookers.iter_mut().map(|(viewer, _)| viewer);
            for viewer in attached.iter_mut().chain(onlookers) {
                if let Poll::Ready(did) = viewer.poll(context) {
                    return Poll::Ready((viewer.number, did));
                }
            }
            Poll::Pending
        });
        tokio::select! {
            biased;
            Some(heard) = heard.recv() => Seated::Heard(heard),
            (number, did) = did => Seated::Did(number, did),
            visitor = door.visitor() => Seated::Visitor(visitor),
        }
    }

    /// Takes somebody in, or says why not; returns whether they sit where the person sits.
    pub(super) fn take_in(&mut self, visitor: Visitor) -> bool {
        let refused = match visitor.wish {
            Wish::Attach if self.attached.is_some() => Some(
                "the session is shown at another terminal already; `--take` takes it over, and \
                 `--watch` looks on",
            ),
            Wish::Watch if ONLOOKERS_MAX <= self.onlookers.len() => {
                Some("as many terminals as may look on do so already")
            }
            Wish::Attach | Wish::Take | Wish::Watch => None,
        };
        if let Some(refused) = refused {
            visitor.line.tell(&Told::Refused(refused.to_owned()));
            return false;
        }
        let wish = visitor.wish;
        self.n_visitors += 1;
        let Ok(viewer) = Viewer::welcome(visitor, self.n_visitors, self.sender.clone()) else {
            return false;
        };
        match wish {
            Wish::Watch => self.onlookers.push((viewer, Input::default())),
            Wish::Attach | Wish::Take => {
                if self.attached.is_some() {
                    self.let_go(Why::Taken);
                }
                self.attached = Some(viewer);
            }
        }
        wish != Wish::Watch
    }

    /// Lets the terminal go at which the person sits.
    fn let_go(&mut self, why: Why) {
        self.seat = None;
        if let Some(viewer) = self.attached.take() {
            viewer.let_go(why);
        }
    }

    /// Draws for whoever looks on.
    pub(super) fn draw_for_onlookers(&mut self, draw: impl Fn(Size) -> Frame) {
        for (viewer, _) in &mut self.onlookers {
            viewer.draw(draw(viewer.size()));
        }
    }

    fn is_attached(&self, number: u64) -> bool {
        self.attached.as_ref().is_some_and(|it| it.number == number)
    }

    fn viewer(&mut self, number: u64) -> Option<&mut Viewer> {
        let onlookers = self.onlookers.iter_mut().map(|(viewer, _)| viewer);
        self.attached.iter_mut().chain(onlookers).find(|it| it.number == number)
    }

    /// Lets an onlooker go; one that is lost is given back.
    fn leave(&mut self, number: u64, is_lost: bool) {
        let at = self.onlookers.iter().position(|(viewer, _)| viewer.number == number);
        if let Some(at) = at {
            let (viewer, _) = self.onlookers.swap_remove(at);
            if !is_lost {
                viewer.let_go(Why::Left);
            }
        }
    }

    /// Lets everybody go at the end, and returns what the person is told more through.
    pub(super) fn end(mut self) -> Option<crate::attached::Line> {
        for (viewer, _) in self.onlookers.drain(..) {
            viewer.let_go(Why::Over);
        }
        self.attached.take().map(|viewer| viewer.let_go(Why::Over))
    }
}

impl AgentScreen<'_> {
    pub(super) fn on_seated(&mut self, seated: Seated) {
        match seated {
            Seated::Visitor(visitor) => {
                if self.seats.take_in(visitor) {
                    self.begin_anew();
                }
            }
            Seated::Heard((number, word)) => self.on_word(number, word),
            Seated::Did(number, Did::Took) => {
                let viewer = self.seats.viewer(number);
                let is_behind = viewer.is_some_and(|it| std::mem::take(&mut it.is_behind));
                self.drawing.is_due |= is_behind;
            }
            Seated::Did(number, Did::Typed(bytes)) if self.seats.is_attached(number) => {
                if bytes.is_empty() {
                    self.part(Why::Left);
                } else if self.is_deciding {
                    self.on_answer(&bytes);
                } else {
                    self.on_typed(&bytes);
                }
            }
            Seated::Did(number, Did::Typed(bytes)) => self.on_typed_by_onlooker(number, &bytes),
        }
    }

    /// Forgets what the terminal before was in the middle of.
    fn begin_anew(&mut self) {
        if self.is_deciding {
            self.go_back();
        }
        self.input = Input::default();
        self.is_question_on_its_way = false;
        self.banner.disturbed();
        // What the terminal before could do says nothing of this one.
        self.model.know(Known { has_keyboard: false, ..self.model.known() });
    }

    /// Lets the person's terminal go; the agent goes on.
    pub(super) fn part(&mut self, why: Why) {
        self.begin_anew();
        self.seats.let_go(why);
    }

    fn on_word(&mut self, number: u64, word: Option<Word>) {
        let is_attached = self.seats.is_attached(number);
        match word {
            Some(Word::Go) => {
                if let Some(viewer) = self.seats.viewer(number) {
                    viewer.go();
                }
                if is_attached {
                    self.seats.seat = Some(self.seats.at_terminal.sit());
                    self.look();
                }
                self.drawing.is_due = true;
            }
            Some(Word::Resized) => self.drawing.is_due = true,
            Some(Word::Continued) => {
                if let Some(viewer) = self.seats.viewer(number) {
                    viewer.forget();
                }
                if is_attached {
                    self.banner.disturbed();
                }
                self.drawing.is_due = true;
            }
            Some(Word::End) if is_attached => {
                self.was_signalled = true;
                self.cut.cancel();
            }
            Some(Word::Leave) if is_attached => self.part(Why::Left),
            // Whoever looks on ends nothing.
            Some(Word::Leave | Word::End) => self.seats.leave(number, false),
            None if is_attached => {
                self.begin_anew();
                self.seats.seat = None;
                // Dropped, it is given back.
                self.seats.attached = None;
            }
            None => self.seats.leave(number, true),
        }
    }

    fn on_typed_by_onlooker(&mut self, number: u64, bytes: &[u8]) {
        let now = Instant::now() - self.start;
        let onlooker = self.seats.onlookers.iter_mut().find(|(it, _)| it.number == number);
        let Some((_, input)) = onlooker else { return };
        let leaves = |piece: &Piece| match piece {
            Piece::Detach | Piece::End => true,
            // Control-C, which would end a program that only shows something.
            Piece::Typed(typed) => typed.contains(&0x03),
            _ => false,
        };
        if bytes.is_empty() || input.read(bytes, now).iter().any(leaves) {
            self.seats.leave(number, false);
        }
    }
}
