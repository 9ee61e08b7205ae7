//! Questions to a person, a grant and a deadline, while the clock jumps by days.
//!
//! The person is played here. What becomes of all other calls meanwhile is not looked at here.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_escalation::{Board, Offer, Pending, Registry, Reply, Terms};
use ic_home::Home;
use ic_policy::DecidedBy;
use ic_types::AbsolutePath;
use serde_json::json;

use super::house::House;
use crate::peer::Connection;

const PATIENCE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
/// The days to which the clock jumps.
const FORWARDS: i64 = 3;
const BACKWARDS: i64 = -40;
/// Two files that nobody reads without being asked about.
const GRANTED: &str = "asked/file.txt";
const OTHER: &str = "asked/other.txt";

/// Somebody who calls what a person is asked about, and that person.
struct Desk<'a, 'b> {
    house: &'a mut House<'b>,
    client: Connection,
    number: &'a mut u64,
}

/// Lets the clock jump while a question waits and a grant is in force; `number` is the last of those
/// that nobody else uses.
pub(super) fn jump(house: &mut House<'_>, number: &mut u64) -> anyhow::Result<()> {
    house.set_clock(0)?;
    let client = Connection::connect(&house.socket())?;
    let mut desk = Desk { house, client, number };
    let question = desk.ask(GRANTED)?;
    desk.grant(&question)?;
    desk.call_granted()?;

    // Forwards: the time of a question is over, and so is the grant.
    desk.ask(OTHER)?;
    desk.house.set_clock(FORWARDS)?;
    desk.hear(false, "ESCALATION EXPIRED")?;
    let question = desk.ask(GRANTED)?;

    // Backwards: a question goes on waiting, and what is granted is in force.
    desk.house.set_clock(BACKWARDS)?;
    desk.grant(&question)?;
    desk.call_granted()?;

    // Forwards again, and that grant is over too.
    desk.house.set_clock(FORWARDS)?;
    let question = desk.ask(GRANTED)?;
    desk.grant(&question)?;
    desk.call_granted()?;

    // A grant does not live for days longer because the clock was wrong when it was given.
    desk.house.set_clock(0)?;
    let question = desk.ask(GRANTED)?;
    desk.answer(&question, &Reply::Deny)?;
    desk.hear(false, "ESCALATION DENIED")
}

impl Desk<'_, '_> {
    /// Makes a call, and returns the question that it raises.
    fn ask(&mut self, file: &str) -> anyhow::Result<Pending> {
        self.call(file)?;
        let home = AbsolutePath::new(self.house.ground().path("home/.ironcurtain"))?;
        let (registry, mut board) = (Registry::of(&Home::new(home)), Board::default());
        let (start, number) = (Instant::now(), self.number.to_string());
        loop {
            let sessions = registry.live()?.sessions;
            let mut pending = board.look(&sessions, self.house.now()).pending.into_iter();
            let is_ours = |it: &Pending| {
                it.request().arguments.get("count").is_some_and(|it| it.to_string() == number)
            };
            if let Some(question) = pending.find(is_ours) {
                return Ok(question);
            }
            ensure!(start.elapsed() < PATIENCE, "nobody is asked about `{file}`");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Makes a call that nobody has to be asked about any more.
    ///
    /// The same call once more: a number in its arguments is part of what was granted.
    fn call_granted(&mut self) -> anyhow::Result<()> {
        self.send(GRANTED)?;
        self.hear(true, "").context("a grant is in force")
    }

    fn call(&mut self, file: &str) -> anyhow::Result<()> {
        *self.number += 1;
        self.send(file)
    }

    fn send(&mut self, file: &str) -> anyhow::Result<()> {
        let path = self.house.ground().path(file);
        let call = json!({"name": "s__read", "arguments": {"path": path, "count": *self.number}});
        self.client.send("tools/call", &call)?;
        Ok(())
    }

    /// Approves, and for an hour whatever is asked about the file; waits until the call is served.
    fn grant(&mut self, question: &Pending) -> anyhow::Result<()> {
        let choices = Offer::of_request(question.request())?.choices();
        let narrowest = choices.into_iter().next().context("something to grant")?;
        let wish = narrowest.with(Terms::new(self.house.now(), HOUR, None)?);
        self.answer(question, &Reply::Approve(Some(wish)))?;
        self.hear(true, "")
    }

    fn answer(&self, question: &Pending, reply: &Reply) -> anyhow::Result<()> {
        let told = question.answer(reply, DecidedBy::Cli, self.house.now())?;
        ensure!(
            matches!(told.receipt, ic_escalation::Receipt::Accepted(_)),
            "an answer was not accepted: {told}"
        );
        Ok(())
    }

    /// Waits for the answer to a call, which is to be good or not, and to contain some words.
    fn hear(&mut self, is_good: bool, words: &str) -> anyhow::Result<()> {
        let mut line = String::new();
        let answer = self.client.read_answer(&mut line)?;
        let is_right = answer.is_good == is_good && line.contains(words);
        ensure!(is_right, "{words} was to be answered (good: {is_good}), and not: {line}");
        Ok(())
    }
}
