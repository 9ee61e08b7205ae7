//! What a person types at `approvals watch --desk` where the terminal gives no keys, and what comes of it.
//!
//! Read from the terminal itself, one line at a time: the letter of a key, alone or with the number of a
//! question. One question stands there at a time; which lines are answers is decided as everywhere.

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::OwnedFd;

use ic_escalation::{Pending, Receipt, Reply, SessionEntry};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_terminal::gate::Arrival;
use ic_types::EscalationId;
use rustix::termios::{QueueSelector, tcflush};
use tokio::time::Instant;

use super::{Said, Watcher, how_ended};
use crate::commands::approvals::NOTHING;
use crate::commands::approvals::answer::receipt;
use crate::commands::grants;
use crate::error::{Failure, chain};
use crate::own_policy::always::Always;
use crate::person::{Person, Scripts};
use crate::screen::{Screen, visible};
use crate::terminal::{Asking, Banner, Echo, Group, Held, Place, Room, Row, Stage, Tone, room};

/// The longest line that is looked at.
const LINE_BYTES_MAX: usize = 256;
/// What can be typed.
const HELP: &str = "y approve, n deny, g approve and grant, a always, d details, o one by one, s next, q quit; then Enter";
/// What else can be typed.
const MORE_HELP: &str = "with a number, such as `y 3` or `/approve 3`, that request is shown first; /sessions lists the running sessions, \
                         /grants the grants in force, /undo [ID] takes the newest grant back or the one that is named";

/// A person at the terminal.
#[derive(Debug)]
pub(crate) struct Desk {
    terminal: OwnedFd,
    /// Whether what comes next is the rest of a line that was too long.
    is_within_line: bool,
    banner: Banner,
    home: Home,
    /// Which place the answers come from.
    by: DecidedBy,
    /// What came while a question stands there.
    held: Held<Said>,
}

/// What is done next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    GoOn,
    /// Something was answered, or is not what it was.
    Look,
    End,
}

/// What was typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Typed<'a> {
    /// A letter, for what stands there or for a question by its number.
    Key(&'static str, Option<u64>),
    Quit,
    /// The running sessions are asked for.
    Sessions,
    /// The grants in force are asked for.
    Grants,
    /// A grant is taken back: the newest one, or the one that is named.
    Undo(Option<&'a str>),
    Help,
    Nothing,
    Unknown,
}

/// One reading of the terminal.
enum Line {
    Whole(String),
    Part,
    End,
}

/// Which questions are shown and answered together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Groups {
    /// Those that differ in little.
    Alike,
    /// Those of these numbers that differ in little: nobody answers together with them what a filter hides.
    Among(HashSet<u64>),
    /// None.
    None,
}

/// The questions of all sessions.
pub(crate) struct Everybodys {
    pending: Vec<Pending>,
    groups: Groups,
    /// Which place the answers come from.
    by: DecidedBy,
    /// Those that were answered here.
    answered: RefCell<Vec<(EscalationId, Decision)>>,
}

/// The terminal as a place for questions.
struct DeskStage<'a> {
    screen: &'a mut Screen,
    terminal: &'a OwnedFd,
    failure: Option<Failure>,
}

impl Desk {
    /// Finds the terminal.
    pub(crate) fn open(home: &Home, always: Always, by: DecidedBy) -> Result<Self, Failure> {
        match Person::find("at the desk", false, Scripts::MayNotAnswer)? {
            Person::AtTerminal(terminal) => {
                let (terminal, mut banner, held) = (terminal.into(), Banner::new(), Held::new());
                banner.offer_always(Some(always));
                let home = home.clone();
                Ok(Self { terminal, is_within_line: false, banner, home, by, held })
            }
            Person::Scripted => Err(Failure::environment("a script cannot be an approver")),
        }
    }

    /// Returns a handle of the terminal, to be listened to.
    pub(super) fn terminal(&self) -> Result<OwnedFd, Failure> {
        self.terminal.try_clone().map_err(|source| {
            Failure::environment("cannot listen to the terminal").with_source(source)
        })
    }

    /// Says what can be typed.
    pub(super) fn greet(screen: &mut Screen) -> Result<(), Failure> {
        screen.folded(&format!("You are an approver: {HELP}."))
    }

    /// Returns when there is something to do, with nothing happening before.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.banner.wakes_at()
    }

    /// Takes in what is new and what has ended.
    pub(super) fn tell(
        &mut self,
        watcher: &mut Watcher,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        for said in std::mem::take(&mut watcher.said) {
            match said {
                Said::Ended(pending, ending)
                    if self.banner.holds(&pending.request().escalation) =>
                {
                    let (id, how) = (&pending.request().escalation, how_ended(&pending, ending));
                    self.with_banner(watcher, screen, |banner, place| {
                        banner.ended(id, &how, place);
                    })?;
                }
                // SECURITY: nothing pushes a question away, or stands between it and its answer.
                said if self.banner.is_asking() => self.held.push(said),
                said => said.print(screen)?,
            }
        }
        self.with_banner(watcher, screen, Banner::recheck)
    }

    /// Shows what stands there or has waited, and asks what can be asked.
    pub(super) fn show(
        &mut self,
        watcher: &mut Watcher,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if !self.banner.is_asking() && !self.held.is_empty() {
            let (held, dropped) = self.held.take();
            held.iter().try_for_each(|said| said.print(screen))?;
            dropped.map_or(Ok(()), |dropped| screen.line(&dropped))?;
        }
        self.with_banner(watcher, screen, |banner, place| {
            banner.fit(place);
            banner.drawn();
            banner.wake(place);
        })
    }

    /// Reads what was typed, and does it.
    pub(super) fn on_typed(
        &mut self,
        watcher: &mut Watcher,
        screen: &mut Screen,
    ) -> Result<Next, Failure> {
        let line = match self.read() {
            Line::Whole(line) => line,
            Line::Part => {
                self.banner.arrives_below();
                return Ok(Next::GoOn);
            }
            Line::End => return Ok(Next::End),
        };
        self.banner.arrives(Arrival::Alone);
        let typed = Typed::parse(&line);
        let (word, number) = match typed {
            _ if self.banner.is_choosing() => return self.type_in(&line, watcher, screen),
            Typed::Quit => return Ok(Next::End),
            Typed::Sessions => return self.tell_sessions(watcher, screen),
            Typed::Grants => return self.tell_grants(screen),
            Typed::Undo(id) => return self.undo(id, screen),
            Typed::Help => {
                screen.folded(HELP)?;
                return self.say(MORE_HELP, screen);
            }
            Typed::Nothing => return self.type_in("", watcher, screen),
            Typed::Unknown if self.banner.is_asking() => {
                return self.type_in("?", watcher, screen);
            }
            Typed::Unknown => return self.say(&format!("{HELP}; /help lists the rest"), screen),
            Typed::Key(_, None) if !self.banner.is_asking() => return self.say(NOTHING, screen),
            Typed::Key(word, None) => return self.type_in(word, watcher, screen),
            Typed::Key(word, Some(number)) => (word, number),
        };
        if self.banner.shows(number) {
            return self.type_in(word, watcher, screen);
        }
        // SECURITY: what does not stand there is shown first.
        let mut is_there = false;
        self.with_banner(watcher, screen, |banner, place| is_there = banner.bring(number, place))?;
        match is_there {
            true => Ok(Next::GoOn),
            false if watcher.shown.is_empty() => self.say(NOTHING, screen),
            false => self.say(&format!("No pending escalation with ID: #{number}"), screen),
        }
    }

    /// Takes a word for what stands there.
    fn type_in(
        &mut self,
        word: &str,
        watcher: &mut Watcher,
        screen: &mut Screen,
    ) -> Result<Next, Failure> {
        if self.banner.is_asking() {
            self.with_banner(watcher, screen, |banner, place| banner.typed(word, place))?;
        }
        Ok(Next::Look)
    }

    /// Says which sessions run, below what stands there.
    fn tell_sessions(&mut self, watcher: &Watcher, screen: &mut Screen) -> Result<Next, Failure> {
        let line = |it: &SessionEntry| format!("{}: {}", it.name, visible(&it.label));
        let mut said: Vec<String> = watcher.sessions.iter().map(line).collect();
        if said.is_empty() {
            said.push("No session runs.".to_owned());
        }
        screen.lines(&said)?;
        self.banner.disturbed();
        Ok(Next::GoOn)
    }

    /// Says which grants are in force, below what stands there.
    fn tell_grants(&mut self, screen: &mut Screen) -> Result<Next, Failure> {
        let mut said: Vec<String> =
            grants::in_force(&self.home)?.into_iter().flat_map(|it| it.lines).collect();
        if said.is_empty() {
            said.push("No grant is in force.".to_owned());
        }
        screen.lines(&said)?;
        self.banner.disturbed();
        Ok(Next::GoOn)
    }

    /// Takes a grant back; that lets less happen, so nobody is asked.
    fn undo(&mut self, id: Option<&str>, screen: &mut Screen) -> Result<Next, Failure> {
        match grants::undo(&self.home, id) {
            Ok(said) => self.say(&visible(&said), screen),
            Err(failure) => self.say(&visible(&failure.to_string()), screen),
        }
    }

    /// Says something below what stands there, which is drawn again then.
    fn say(&mut self, text: &str, screen: &mut Screen) -> Result<Next, Failure> {
        screen.folded(text)?;
        self.banner.disturbed();
        Ok(Next::GoOn)
    }

    fn with_banner(
        &mut self,
        watcher: &mut Watcher,
        screen: &mut Screen,
        act: impl FnOnce(&mut Banner, &mut Place<'_>),
    ) -> Result<(), Failure> {
        // An answer may name one by its number, so each stands there alone.
        let questions = Everybodys::of(watcher, Groups::None, self.by);
        let mut stage = DeskStage { screen, terminal: &self.terminal, failure: None };
        act(&mut self.banner, &mut Place { questions: &questions, stage: &mut stage });
        questions.settle_in(watcher);
        stage.failure.map_or(Ok(()), Err)
    }

    /// Reads once, which does not wait because something is there.
    fn read(&mut self) -> Line {
        let mut buffer = [0; LINE_BYTES_MAX];
        let bytes = match rustix::io::read(&self.terminal, &mut buffer) {
            Ok(n_bytes) if 0 < n_bytes => buffer.get(..n_bytes).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => return Line::Part,
            // The person has gone, or the terminal has.
            Ok(_) | Err(_) => return Line::End,
        };
        // SECURITY: the rest of a long line must not be taken for a line of its own.
        let was_within_line = std::mem::replace(&mut self.is_within_line, !bytes.ends_with(b"\n"));
        match was_within_line || self.is_within_line {
            true => Line::Part,
            false => Line::Whole(String::from_utf8_lossy(bytes).trim().to_owned()),
        }
    }
}

impl Everybodys {
    /// Takes what waits now.
    pub(crate) fn of(watcher: &Watcher, groups: Groups, by: DecidedBy) -> Self {
        let mut pending: Vec<Pending> = watcher.shown.values().cloned().collect();
        pending.sort_by_key(Pending::number);
        Self { pending, groups, by, answered: RefCell::default() }
    }

    /// Takes none of them: for drawing what stands there already, which asks nothing anew.
    pub(crate) fn standing(by: DecidedBy) -> Self {
        let (pending, answered) = (Vec::new(), RefCell::default());
        Self { pending, groups: Groups::Alike, by, answered }
    }

    /// Takes what was answered out of what waits, and returns it: its end is not told twice.
    pub(crate) fn settle_in(self, watcher: &mut Watcher) -> Vec<(Pending, Decision)> {
        let answered = self.answered.into_inner().into_iter();
        let answered = answered.filter_map(|(id, how)| Some((watcher.shown.remove(&id)?, how)));
        let answered: Vec<(Pending, Decision)> = answered.collect();
        for (pending, how) in &answered {
            watcher.settled(pending, *how);
        }
        answered
    }
}

impl Asking for Everybodys {
    fn pending(&self) -> Vec<Pending> {
        let answered = self.answered.borrow();
        let is_open =
            |it: &&Pending| !answered.iter().any(|(id, _)| *id == it.request().escalation);
        self.pending.iter().filter(is_open).cloned().collect()
    }

    fn group(&self, first: &Pending, pending: &[Pending]) -> Group {
        match &self.groups {
            Groups::Alike => Group::of(first.clone(), pending),
            Groups::Among(listed) => {
                let is_listed = |it: &&Pending| listed.contains(&it.number());
                let pending: Vec<Pending> = pending.iter().filter(is_listed).cloned().collect();
                Group::of(first.clone(), &pending)
            }
            Groups::None => Group::alone(first.clone()),
        }
    }

    fn further_keys(&self) -> &'static str {
        " · q quit"
    }

    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String) {
        let told = match pending.answer(reply, self.by, SystemClock.now()) {
            Ok(told) => told,
            // The next question can be answered all the same.
            Err(error) => return (Tone::Bad, visible(&chain(&error))),
        };
        match told.receipt {
            Receipt::Accepted(how) => {
                self.answered.borrow_mut().push((pending.request().escalation.clone(), how));
            }
            Receipt::Expired
            | Receipt::AnsweredAlready
            | Receipt::Changed
            | Receipt::Refused
            | Receipt::Ended => {}
        }
        match receipt(pending, told) {
            Ok(accepted) => (Tone::Quiet, accepted),
            Err(failure) => (Tone::Bad, failure.to_string()),
        }
    }
}

impl DeskStage<'_> {
    fn lines(&mut self, lines: &[String]) {
        let written = self.screen.lines(lines);
        let written = written.and_then(|()| self.screen.out().flush().map_err(Failure::output));
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
        }
    }
}

impl Stage for DeskStage<'_> {
    fn room(&self) -> Room {
        room(std::io::stdout())
    }

    fn echo(&self) -> Echo {
        Echo::Below
    }

    fn draw(&mut self, rows: &[Row]) {
        let lines: Vec<String> = rows.iter().map(|row| row.text.clone()).collect();
        self.lines(&lines);
    }

    fn leave(&mut self, _: &[Row]) {
        // It stands there already.
    }

    fn say(&mut self, _: Tone, text: &str) {
        self.lines(&[visible(text)]);
    }

    fn is_read(&mut self) -> bool {
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(self.terminal, QueueSelector::IFlush).is_ok()
    }

    fn ask(&mut self, text: &str) {
        self.lines(&[text.to_owned()]);
    }
}

impl<'a> Typed<'a> {
    fn parse(line: &'a str) -> Self {
        let mut words = line.split_ascii_whitespace();
        let (what, what_follows, rest) = (words.next(), words.next(), words.next());
        let number = what_follows.map(|it| it.strip_prefix('#').unwrap_or(it).parse::<u64>());
        match (what, number, rest) {
            (None, None, None) => Self::Nothing,
            (Some("q" | "/quit"), None, None) => Self::Quit,
            (Some("/sessions"), None, None) => Self::Sessions,
            (Some("/grants"), None, None) => Self::Grants,
            (Some("?" | "/help"), None, None) => Self::Help,
            (Some("/undo"), _, None) => Self::Undo(what_follows),
            (Some(word), number @ (None | Some(Ok(_))), None) => {
                let letter = match word {
                    "/approve" => "y",
                    "/approve+" => "g",
                    "/deny" => "n",
                    letter => letter,
                };
                match ["y", "n", "g", "a", "d", "o", "s"].into_iter().find(|it| *it == letter) {
                    Some(letter) => Self::Key(letter, number.and_then(Result::ok)),
                    None => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_letter_alone_or_with_a_number_is_an_answer() {
        for (line, expected) in [
            ("y 1", Typed::Key("y", Some(1))),
            ("n #2", Typed::Key("n", Some(2))),
            ("g 3", Typed::Key("g", Some(3))),
            ("a 4", Typed::Key("a", Some(4))),
            ("d 4", Typed::Key("d", Some(4))),
            ("y", Typed::Key("y", None)),
            ("s", Typed::Key("s", None)),
            ("q", Typed::Quit),
            ("/quit", Typed::Quit),
            ("/sessions", Typed::Sessions),
            ("/grants", Typed::Grants),
            ("/undo", Typed::Undo(None)),
            ("/undo ab12", Typed::Undo(Some("ab12"))),
            ("/undo ab 12", Typed::Unknown),
            ("?", Typed::Help),
            ("/help", Typed::Help),
            ("/approve 3", Typed::Key("y", Some(3))),
            ("/approve+", Typed::Key("g", None)),
            ("/deny #3", Typed::Key("n", Some(3))),
            ("/approve all", Typed::Unknown),
            ("", Typed::Nothing),
            ("y 1 2", Typed::Unknown),
            ("y -1", Typed::Unknown),
            ("Y 1", Typed::Unknown),
            ("yes 1", Typed::Unknown),
            ("q 1", Typed::Unknown),
            ("y 1\u{200b}", Typed::Unknown),
            ("\u{1b}[200~y 1\u{1b}[201~", Typed::Unknown),
        ] {
            assert_eq!(Typed::parse(line), expected, "{line:?}");
        }
    }
}
