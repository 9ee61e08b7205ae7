//! What a person types at `approvals watch --desk`, and what comes of it.
//!
//! Read from the terminal itself, one line at a time. An answer is to what was shown under its
//! number; a number is never given twice, so it cannot have become another question.

use std::os::fd::OwnedFd;

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Offer, Pending, Receipt, Reply, Terms, Wish};
use ic_home::{Clock as _, SystemClock};
use ic_policy::DecidedBy;
use ic_types::Timestamp;
use rustix::termios::{QueueSelector, tcflush};

use super::Watcher;
use crate::commands::approvals::answer::receipt;
use crate::commands::approvals::{At, NOTHING, lines, unusable};
use crate::error::{Failure, chain};
use crate::person::{Person, Scripts};
use crate::screen::{Screen, visible};

/// The longest line that is looked at.
const LINE_BYTES_MAX: usize = 256;
/// What can be typed.
const HELP: &str = "y N approve, n N deny, g N approve and grant, d N details, q quit";

/// A person at the terminal.
#[derive(Debug)]
pub(super) struct Desk {
    terminal: OwnedFd,
    /// Whether what comes next is the rest of a line that was too long.
    is_within_line: bool,
    /// The grants of which the person is to choose one.
    asked: Option<(Pending, Vec<Wish>)>,
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
enum Typed {
    Approve(u64),
    Deny(u64),
    Grant(u64),
    Details(u64),
    Quit,
    Nothing,
    Unknown,
}

/// One reading of the terminal.
enum Line {
    Whole(String),
    Part,
    End,
}

impl Desk {
    /// Finds the terminal.
    pub(super) fn open() -> Result<Self, Failure> {
        match Person::find("at the desk", false, Scripts::MayNotAnswer)? {
            Person::AtTerminal(terminal) => {
                Ok(Self { terminal: terminal.into(), is_within_line: false, asked: None })
            }
            Person::Scripted => Err(Failure::environment("a script cannot sit at the desk")),
        }
    }

    /// Returns a handle of the terminal, to be listened to.
    pub(super) fn terminal(&self) -> Result<OwnedFd, Failure> {
        self.terminal.try_clone().map_err(|source| {
            Failure::environment("cannot listen to the terminal").with_source(source)
        })
    }

    /// Returns whether the person was asked something.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Stops asking about a question that nobody can answer any more, so that others are shown.
    pub(super) fn lapse(&mut self, now: Timestamp, screen: &mut Screen) -> Result<(), Failure> {
        let is_over = |(pending, _): &(Pending, _)| pending.request().expires_at < now;
        match self.asked.take_if(|asked| is_over(asked)) {
            Some((pending, _)) => {
                screen.line(&format!("#{}: it is too late for a grant.", pending.number()))
            }
            None => Ok(()),
        }
    }

    /// Says what can be typed.
    pub(super) fn greet(screen: &mut Screen) -> Result<(), Failure> {
        screen.line(&format!("You are at the desk: {HELP}."))
    }

    /// Reads what was typed, and does it.
    pub(super) fn on_typed(
        &mut self,
        watcher: &mut Watcher,
        screen: &mut Screen,
    ) -> Result<Next, Failure> {
        let line = match self.read() {
            Line::Whole(line) => line,
            Line::Part => return Ok(Next::GoOn),
            Line::End => return Ok(Next::End),
        };
        if let Some((pending, wishes)) = self.asked.take() {
            return choose(&line, &pending, wishes, watcher, screen);
        }
        let (number, typed) = match Typed::parse(&line) {
            Typed::Quit => return Ok(Next::End),
            Typed::Nothing => return Ok(Next::GoOn),
            Typed::Unknown => return say(HELP, screen),
            typed @ (Typed::Approve(number)
            | Typed::Deny(number)
            | Typed::Grant(number)
            | Typed::Details(number)) => (number, typed),
        };
        let Some(pending) = watcher.find(number).cloned() else {
            return match watcher.shown.is_empty() {
                true => say(NOTHING, screen),
                false => say(&format!("No pending escalation with ID: #{number}"), screen),
            };
        };
        match typed {
            Typed::Approve(_) => answer(&pending, &Reply::Approve(None), watcher, screen),
            Typed::Deny(_) => answer(&pending, &Reply::Deny, watcher, screen),
            Typed::Grant(_) => self.offer(pending, screen),
            Typed::Details(_) => {
                screen.lines(&lines(&pending, View::Full, At::Desk, SystemClock.now()))?;
                Ok(Next::GoOn)
            }
            Typed::Quit | Typed::Nothing | Typed::Unknown => Ok(Next::GoOn),
        }
    }

    /// Shows what can be granted, and asks for one of it.
    fn offer(&mut self, pending: Pending, screen: &mut Screen) -> Result<Next, Failure> {
        let number = pending.number();
        let offer = match Offer::of_request(pending.request()) {
            Ok(offer) => offer,
            Err(none) => return say(&format!("#{number}: nothing can be granted: {none}"), screen),
        };
        let terms = Terms::new(SystemClock.now(), LIFETIME, None);
        let terms = terms.map_err(|error| unusable(&error))?;
        let wishes: Vec<Wish> = offer.choices().into_iter().map(|it| it.with(terms)).collect();
        let mut shown = vec![format!("#{number}: this call is forwarded, and")];
        for (at, wish) in wishes.iter().enumerate() {
            for (n_line, line) in wish.preview().iter().enumerate() {
                let mark = if n_line == 0 { format!("{})", at + 1) } else { String::new() };
                shown.push(format!("  {mark:3} {line}"));
            }
        }
        screen.lines(&shown)?;
        screen.out().flush().map_err(Failure::output)?;
        // SECURITY: what was typed before this was read is no answer to it.
        tcflush(&self.terminal, QueueSelector::IFlush).map_err(|errno| {
            Failure::environment("cannot ask at the terminal").with_source(errno)
        })?;
        let numbers: Vec<String> = (1..=wishes.len()).map(|it| it.to_string()).collect();
        screen
            .line(&format!("Which one? Type {}; anything else is none.", numbers.join(" or ")))?;
        self.asked = Some((pending, wishes));
        Ok(Next::GoOn)
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

/// Answers, and says what became of it.
fn answer(
    pending: &Pending,
    reply: &Reply,
    watcher: &mut Watcher,
    screen: &mut Screen,
) -> Result<Next, Failure> {
    let told = match pending.answer(reply, DecidedBy::Cli, SystemClock.now()) {
        Ok(told) => told,
        // The next question can be answered all the same.
        Err(error) => {
            screen.line(&visible(&chain(&error)))?;
            return Ok(Next::Look);
        }
    };
    match receipt(pending, told) {
        Ok(accepted) => screen.line(&accepted)?,
        Err(failure) => screen.line(&failure.to_string())?,
    }
    match told.receipt {
        Receipt::Accepted(_) => watcher.forget(&pending.request().escalation),
        Receipt::Expired | Receipt::AnsweredAlready | Receipt::Changed => {}
    }
    Ok(Next::Look)
}

/// Takes the person's choice among `wishes`.
fn choose(
    line: &str,
    pending: &Pending,
    wishes: Vec<Wish>,
    watcher: &mut Watcher,
    screen: &mut Screen,
) -> Result<Next, Failure> {
    let number: Option<usize> = line.parse().ok();
    let wish = number.and_then(|it| wishes.into_iter().nth(it.checked_sub(1)?));
    let Some(wish) = wish else {
        let number = pending.number();
        screen.line(&format!("#{number}: nothing was granted, and nothing answered."))?;
        return Ok(Next::Look);
    };
    answer(pending, &Reply::Approve(Some(wish)), watcher, screen)
}

fn say(text: &str, screen: &mut Screen) -> Result<Next, Failure> {
    screen.line(text)?;
    Ok(Next::GoOn)
}

impl Typed {
    fn parse(line: &str) -> Self {
        let mut words = line.split_ascii_whitespace();
        let (what, number, rest) = (words.next(), words.next(), words.next());
        let number = number.map(|it| it.strip_prefix('#').unwrap_or(it).parse());
        match (what, number, rest) {
            (None, None, None) => Self::Nothing,
            (Some("q"), None, None) => Self::Quit,
            (Some("y"), Some(Ok(number)), None) => Self::Approve(number),
            (Some("n"), Some(Ok(number)), None) => Self::Deny(number),
            (Some("g"), Some(Ok(number)), None) => Self::Grant(number),
            (Some("d"), Some(Ok(number)), None) => Self::Details(number),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_letter_and_a_number_are_an_answer() {
        for (line, expected) in [
            ("y 1", Typed::Approve(1)),
            ("n #2", Typed::Deny(2)),
            ("g 3", Typed::Grant(3)),
            ("d 4", Typed::Details(4)),
            ("q", Typed::Quit),
            ("", Typed::Nothing),
            ("y", Typed::Unknown),
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
