//! The desk at a terminal that gives keys: the dialog of a conversation, with the questions of all sessions.

use ic_home::Home;
use ic_policy::DecidedBy;
use ic_terminal::{Ink, Key, Line, Piece};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::desk::{Everybodys, Groups};
use super::ears::{Ears, Heard};
use super::{Format, Said, Watcher, how_ended};
use crate::commands::approvals::{At, unusable};
use crate::error::Failure;
use crate::screen::message_lines;
use crate::terminal::{Banner, Below, Console, Place, moment};

/// What stands there while nothing waits.
const IDLE: &str = "No approval request is waiting · q quit";

/// A person who sits at the desk.
struct Sitting<'a> {
    watcher: Watcher,
    console: Console<'a>,
}

/// What is done next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    GoOn,
    End,
}

/// Sits at the desk until the person leaves or is asked to.
pub(super) async fn sit(
    home: &Home,
    console: Console<'_>,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let watcher = Watcher::new(home, Format::Lines, At::Dialog);
    let mut sitting = Sitting { watcher, console };
    let sat = sitting.run(home, stop).await;
    sitting.console.leave();
    sat
}

impl Sitting<'_> {
    async fn run(&mut self, home: &Home, stop: &CancellationToken) -> Result<(), Failure> {
        let listen = |kind| {
            signal(kind).map_err(|source| {
                Failure::environment("cannot wait for signals").with_source(source)
            })
        };
        let mut resized: Signal = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;
        let mut ears = Ears::on(home.registry(), None);
        self.look(true, &mut ears)?;
        let mut listening = tokio::task::spawn_blocking(move || ears.listen(None));
        loop {
            self.console.settle();
            self.draw();
            let (escape_at, wakes_at) = (self.console.escape_at(), self.console.wakes_at());
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                listened = &mut listening => {
                    let (mut ears, Heard { is_changed, .. }) =
                        listened.map_err(|error| unusable(&error))?;
                    self.look(is_changed, &mut ears)?;
                    listening = tokio::task::spawn_blocking(move || ears.listen(None));
                }
                bytes = self.console.bytes() => match self.on_bytes(&bytes) {
                    Next::GoOn => {}
                    Next::End => return Ok(()),
                },
                () = moment(escape_at) => {
                    self.console.on_escape_alone();
                }
                _ = resized.recv() => {}
                _ = continued.recv() => self.console.on_continued(&below()),
                () = moment(wakes_at) => self.with_banner(Banner::wake),
            }
        }
    }

    /// Looks at what is new and what has ended.
    fn look(&mut self, is_changed: bool, ears: &mut Ears) -> Result<(), Failure> {
        self.watcher.look(is_changed, ears, self.console.screen())?;
        for said in std::mem::take(&mut self.watcher.said) {
            match said {
                Said::Ended(pending, ending) => {
                    let (id, how) = (&pending.request().escalation, how_ended(&pending, ending));
                    match self.console.holds(id) {
                        true => self.with_banner(|banner, place| banner.ended(id, &how, place)),
                        false => self.console.tell(vec![Line::plain(&how)]),
                    }
                }
                Said::Session(what) => self.console.tell(vec![Line::plain(&what)]),
                Said::Complaint(what) => {
                    let lines = message_lines("warning: ", &what);
                    let lines = lines.iter().map(|line| Line::new(Ink::Plain, line));
                    self.console.tell(lines.collect());
                }
            }
        }
        self.with_banner(Banner::recheck);
        Ok(())
    }

    fn draw(&mut self) {
        let questions = Everybodys::of(&self.watcher, Groups::Alike, DecidedBy::Cli);
        self.console.draw(&questions, &below());
    }

    fn on_bytes(&mut self, bytes: &[u8]) -> Next {
        // The terminal has gone, and with it the person.
        let Some(Piece { keys, is_alone }) = self.console.read(bytes) else { return Next::End };
        for key in &keys {
            match key {
                Key::Ctrl('c' | 'd') => return Next::End,
                Key::Char('q') if is_alone => return Next::End,
                Key::Ctrl('z') => self.console.suspend(),
                Key::Ctrl('l') => self.console.clear(),
                key => {
                    let questions = Everybodys::of(&self.watcher, Groups::Alike, DecidedBy::Cli);
                    self.console.is_answer(key, is_alone, &questions);
                    questions.settle_in(&mut self.watcher);
                }
            }
        }
        Next::GoOn
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let questions = Everybodys::of(&self.watcher, Groups::Alike, DecidedBy::Cli);
        self.console.with(&questions, act);
        questions.settle_in(&mut self.watcher);
    }
}

fn below() -> Below<'static> {
    Below { status: Some(IDLE.to_owned()), editor: None }
}
