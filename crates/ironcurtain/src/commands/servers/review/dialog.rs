//! The questions of a review at a terminal: one table, a tool, an argument, and back again.
//!
//! ```text
//! all tools ──number──▶ one tool ──number──▶ the meaning of one argument
//!     ▲ a: confirm all      │ c: confirm          │
//!     └──────── b ──────────┘◀──────── b ─────────┘
//! ```
//!
//! Nothing is confirmed by Enter alone. What was confirmed is written by the caller.

use ic_types::Json;

use super::super::{drafts, meaning};
use super::{Review, table};
use crate::error::Failure;
use crate::person::Person;
use crate::screen::{Screen, visible};

impl Review<'_> {
    /// Shows the tools until all are confirmed, or the person stops.
    pub(super) fn ask(&mut self, person: &mut Person, screen: &mut Screen) -> Result<(), Failure> {
        while self.n_left() != 0 {
            let mut lines = vec![String::new()];
            lines.extend(table::rows(self.shown(), true));
            lines.push(String::new());
            person.show(&lines, screen)?;
            let question = "[a] confirm all, [number] inspect or change a tool, [q] quit:";
            match person.choose(question)?.as_deref() {
                Some("a") => self.confirm_all(),
                Some("q") | None => return Ok(()),
                Some(text) => {
                    if let Some(index) = number(text, self.drafts.len()) {
                        self.ask_about(index, person, screen)?;
                    } else {
                        let what = "type `a`, the number of a tool, or `q`, and then Enter";
                        person.show(&[what.to_owned()], screen)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows one tool until it is confirmed, or the person goes back.
    fn ask_about(
        &mut self,
        index: usize,
        person: &mut Person,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        loop {
            let Some(name) = self.drafts.get(index).cloned() else { return Ok(()) };
            let Some(tool) = self.annotations.get(&name) else { return Ok(()) };
            let arguments = table::arguments(tool);
            let lines = table::details(self.server.as_str(), tool, self.pin.tools.get(&name));
            person.show(&lines, screen)?;
            let question = match arguments.is_empty() {
                true => "[c] confirm this tool, [b] back:",
                false => "[c] confirm this tool, [number] change an argument, [b] back:",
            };
            match person.choose(question)?.as_deref() {
                Some("c") => {
                    self.confirm(&name);
                    return Ok(());
                }
                Some("b") | None => return Ok(()),
                Some(text) => {
                    let chosen = number(text, arguments.len()).and_then(|it| arguments.get(it));
                    if let Some((argument, _)) = chosen {
                        self.ask_meaning(&name, argument, person, screen)?;
                    } else {
                        let what = "type `c`, the number of an argument, or `b`, and then Enter";
                        person.show(&[what.to_owned()], screen)?;
                    }
                }
            }
        }
    }

    /// Lets the person say what an argument means.
    fn ask_meaning(
        &mut self,
        tool: &str,
        argument: &str,
        person: &mut Person,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let mut lines =
            vec![format!("What is the argument {} of {}?", visible(argument), visible(tool))];
        let numbered = meaning::MEANINGS.iter().enumerate();
        lines.extend(numbered.map(|(index, (words, _))| format!("  {}  {words}", index + 1)));
        loop {
            person.show(&lines, screen)?;
            let question = "[number], or roles such as `github-owner,github-repo`, [b] back:";
            let answer = person.choose(question)?;
            let text = match answer.as_deref() {
                Some("b") | None => return Ok(()),
                Some(text) => text,
            };
            let chosen = number(text, meaning::MEANINGS.len());
            let chosen = chosen.and_then(|index| meaning::MEANINGS.get(index));
            let roles: Result<Vec<Json>, String> = match chosen {
                Some((_, roles)) => Ok(roles.iter().map(|role| Json::from(*role)).collect()),
                None => meaning::roles(text),
            };
            match roles.and_then(|roles| self.set(tool, argument, roles)) {
                Ok(()) => return Ok(()),
                Err(why) => person.show(&[visible(&why)], screen)?,
            }
        }
    }

    /// Returns the tools that are shown, as they would be confirmed.
    fn shown(&self) -> impl Iterator<Item = &ic_types::Object> {
        let shown = self.drafts.iter();
        shown.filter_map(|name| {
            self.annotations.tools().iter().find(|it| drafts::name_of(it) == name)
        })
    }
}

/// Reads the number of one of `n` things, which are counted from one.
fn number(text: &str, n: usize) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number <= n).then(|| number.checked_sub(1)).flatten()
}
