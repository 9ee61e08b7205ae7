//! The person of the day: sits at `approvals watch --desk` at a terminal, and answers what stands there.
//!
//! What counts as a question is what the program shows as one. Nothing is denied: everything that is asked
//! about is wanted on this day.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure};
use ic_testkit::Place;

use crate::terminal::Terminal;

/// Room for every question of the day at once, so that none is shown in parts.
const ROWS: u16 = 150;
const COLUMNS: u16 = 220;
/// How long the program may take to be there.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long it may take a key; something that is drawn meanwhile may have cost the key.
const KEY_MAX: Duration = Duration::from_secs(5);
/// After this the person looks again, whether or not anything was drawn.
const GLANCE: Duration = Duration::from_millis(100);
/// How often a key is pressed that was not taken.
const TRIES_MAX: usize = 5;
/// What stands there while nothing waits.
const IDLE: &str = "No approval request is waiting";

/// How the person answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Habit {
    /// Each call by itself, and nothing beyond it.
    OneByOne,
    /// Calls that are asked about together, together; and when a question of the same kind comes again,
    /// with the narrowest grant that is offered.
    GroupsAndGrants,
}

/// A question that the person answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Question {
    /// The calls that it is about.
    pub(super) ids: Vec<String>,
    /// What asks, and for what: `fetch wants to call http_fetch`.
    pub(super) headline: String,
    /// The rule that asks.
    pub(super) rule: String,
    pub(super) is_granted: bool,
}

/// A person who sits at the desk.
#[derive(Debug)]
pub(super) struct Person {
    is_over: Arc<AtomicBool>,
    sits: JoinHandle<anyhow::Result<Vec<Question>>>,
}

/// Somebody who looks at the screen and types.
struct Sitting {
    terminal: Terminal,
    habit: Habit,
    /// The headlines that were answered before.
    known: HashSet<String>,
    answered: Vec<Question>,
    /// What a key was pressed at last, and how often.
    last: Option<Stage>,
    n_tries: usize,
}

/// Which calls are asked about, and how far the person has come with them.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Stage {
    ids: Vec<String>,
    is_choice: bool,
    has_details: bool,
}

/// What stands on the screen and wants to be answered.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Moment {
    /// The rows of the question and of what stands below it.
    rows: Vec<String>,
    /// The row that says what can be typed.
    keys: String,
}

impl Person {
    /// Sits down, and waits until sessions count on it.
    pub(super) fn sit(
        place: &Place,
        binary: &std::path::Path,
        habit: Habit,
    ) -> anyhow::Result<Self> {
        let mut command = Terminal::command(binary);
        command
            .args(["approvals", "watch", "--desk"])
            .env_clear()
            .env("HOME", place.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(place.root());
        let terminal = Terminal::open(command, ROWS, COLUMNS)?;
        let began = Instant::now();
        while !terminal.rows().iter().any(|row| row.contains(IDLE)) {
            ensure!(began.elapsed() < PATIENCE, "no desk: {}", terminal.rows().join("\n"));
            terminal.wait_for_change(GLANCE);
        }
        let (known, answered) = (HashSet::new(), Vec::new());
        let mut sitting = Sitting { terminal, habit, known, answered, last: None, n_tries: 0 };
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let sits = std::thread::spawn(move || {
            while !until.load(Ordering::SeqCst) {
                sitting.look()?;
            }
            Ok(sitting.answered)
        });
        Ok(Self { is_over, sits })
    }

    /// Gets up, and says what was asked.
    pub(super) fn leave(self) -> anyhow::Result<Vec<Question>> {
        self.is_over.store(true, Ordering::SeqCst);
        self.sits.join().map_err(|_| anyhow!("the person panicked"))?
    }
}

impl Sitting {
    /// Answers what stands there, or waits for something.
    fn look(&mut self) -> anyhow::Result<()> {
        let Some(moment) = Moment::of(&self.terminal.rows()) else {
            self.terminal.wait_for_change(GLANCE);
            return Ok(());
        };
        let stage = moment.stage();
        self.n_tries = if self.last.as_ref() == Some(&stage) { self.n_tries + 1 } else { 0 };
        if TRIES_MAX < self.n_tries {
            bail!("no key is taken at\n{}", self.terminal.rows().join("\n"));
        }
        let key = self.key(&moment);
        if ["y", "1"].contains(&key) {
            self.take_note(&moment, &stage)?;
        }
        self.terminal.type_in(key)?;
        let began = Instant::now();
        let is_taken = || Moment::of(&self.terminal.rows()).is_none_or(|it| it.stage() != stage);
        while !is_taken() && began.elapsed() < KEY_MAX {
            self.terminal.wait_for_change(GLANCE);
        }
        self.last = Some(stage);
        Ok(())
    }

    fn key(&self, moment: &Moment) -> &'static str {
        let is_offered = |key: &str| moment.keys.contains(key);
        let is_known = moment.headline().is_some_and(|it| self.known.contains(it));
        match self.habit {
            _ if moment.stage().is_choice => "1",
            _ if is_offered("Enter shows") => "\r",
            Habit::OneByOne if is_offered("o one by one") => "o",
            // What was shortened is read as a whole.
            _ if is_offered("d details") => "d",
            Habit::GroupsAndGrants
                if is_known && moment.ids().count() == 1 && is_offered("g approve and grant") =>
            {
                "g"
            }
            Habit::OneByOne | Habit::GroupsAndGrants => "y",
        }
    }

    /// Takes note of a question that is about to be answered, once however often the key is pressed.
    fn take_note(&mut self, moment: &Moment, stage: &Stage) -> anyhow::Result<()> {
        if self.answered.last().is_some_and(|it| it.ids == stage.ids) {
            return Ok(());
        }
        let headline = moment.headline();
        let headline = headline.ok_or_else(|| anyhow!("no headline in {:#?}", moment.rows))?;
        let rule = moment.rows.iter().find_map(|row| row.strip_prefix("  rule: "));
        let rule = rule.unwrap_or_default().trim_matches('"').to_owned();
        self.known.insert(headline.to_owned());
        let (headline, ids, is_granted) = (headline.to_owned(), stage.ids.clone(), stage.is_choice);
        self.answered.push(Question { ids, headline, rule, is_granted });
        Ok(())
    }
}

impl Moment {
    /// Finds the question that can be answered now.
    fn of(rows: &[String]) -> Option<Self> {
        let is_heading =
            |row: &String| row == "Approval request:" || row.ends_with("you answer them together:");
        let rows = rows.get(rows.iter().rposition(is_heading)?..)?;
        // With its last words: a row that is half drawn does not say all that is offered.
        let is_keys = |row: &&String| {
            row.starts_with("y approve") && row.contains(" · q quit")
                || row.starts_with("Which one?") && row.contains("n goes back")
                || (row.contains("Enter shows them, n denies")
                    || row.contains("Enter shows it, n denies"))
        };
        let keys = rows.iter().rev().find(is_keys)?.clone();
        Some(Self { rows: rows.to_vec(), keys })
    }

    fn stage(&self) -> Stage {
        Stage {
            ids: self.ids().map(str::to_owned).collect(),
            is_choice: self.keys.starts_with("Which one?"),
            has_details: self.keys.contains("d details"),
        }
    }

    /// Returns what asks, without its number and its session.
    fn headline(&self) -> Option<&str> {
        let numbered = self.rows.iter().find(|row| row.starts_with('#'))?;
        numbered.split_once(": ").map(|(_, headline)| headline)
    }

    /// Returns the calls that it is about.
    fn ids(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.strip_prefix("  id: "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(rows: &[&str]) -> Option<Moment> {
        Moment::of(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_question_counts_once_it_can_be_answered() {
        let old = [
            "Approval request:",
            "#1 day: git wants to call git_push",
            "  id: a",
            "Escalation approved.",
        ];
        let new = [
            "2 calls need approval; you answer them together:",
            "#2 day: fetch wants to call http_fetch",
            "  id: b",
            "#3 day",
            "  id: c",
        ];
        let keys = "y approve both · n deny both · q quit";
        assert_eq!(moment(&old), None);
        assert_eq!(
            moment(&[&old[..], &new, &["(read it first; then the keys work)"]].concat()),
            None
        );
        assert_eq!(moment(&[&old[..], &new, &["y approve both · n de"]].concat()), None);
        let asked = moment(&[&old[..], &new, &[keys]].concat()).unwrap();
        assert_eq!(asked.headline(), Some("fetch wants to call http_fetch"));
        let stage = asked.stage();
        assert_eq!((stage.ids, stage.is_choice), (vec!["b".to_owned(), "c".to_owned()], false));
        // That more of them wait is not another question.
        let longer = format!("{keys} · 1 more wait");
        assert_eq!(moment(&[&new[..], &[&longer]].concat()).unwrap().stage(), asked.stage());
    }
}
