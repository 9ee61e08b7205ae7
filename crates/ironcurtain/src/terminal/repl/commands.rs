//! What the commands of a conversation do; all of them work while a turn runs.

use std::collections::VecDeque;

use ic_agent::Diagnostic;
use ic_session::{CallNews, Turn};
use ic_terminal::gate::NotYet;
use ic_terminal::{COMMANDS, Command, Ink, Line};

use super::{Left, Repl};
use crate::error::chain;
use crate::terminal::group::Group;
use crate::terminal::paint::Tone;
use crate::terminal::telling;

/// How many events `/logs` shows, and how many turns `/history` does.
const LOGS_MAX: usize = 200;
const TURNS_MAX: usize = 50;
/// How much of a message or an answer `/history` shows.
const TURN_CHARS_MAX: usize = 500;
const NOTHING: &str = "No escalation pending.";

impl Repl<'_> {
    /// Does a command; `answered` is the question that it answers if it is one that does.
    pub(super) fn on_command(&mut self, command: Command, answered: Result<Group, NotYet>) {
        match command {
            Command::Help => self.help(),
            Command::Pending => self.pending(),
            Command::Approve(number) => self.answer(number, "y", answered),
            Command::Grant(number) => self.answer(number, "g", answered),
            Command::Deny(None) => self.answer(None, "n", answered),
            Command::Deny(Some(number)) => {
                let mut is_there = false;
                self.with_banner(|banner, place| is_there = banner.deny(number, place));
                if !is_there {
                    self.not_there(number);
                }
            }
            Command::History => self.history(),
            Command::Logs => self.logs(),
            Command::Budget => {
                let snapshot = self.scene.session.budget();
                let lines = snapshot.spent.map(|it| Line::plain(&format!("  {it}")));
                self.console.pen.print(&lines);
            }
            Command::Save => self.save(),
            Command::Quit => self.left = Some(Left::Quit),
        }
    }

    /// Answers what is shown; a question that is not shown yet is shown first.
    fn answer(&mut self, number: Option<u64>, word: &str, answered: Result<Group, NotYet>) {
        if !self.console.banner.is_asking() {
            return match number {
                Some(number) => self.not_there(number),
                None => self.console.say(Tone::Quiet, NOTHING),
            };
        }
        if let Some(number) = number.filter(|number| !self.console.banner.shows(*number)) {
            let mut is_there = false;
            self.with_banner(|banner, place| is_there = banner.bring(number, place));
            // SECURITY: nobody says yes to what did not stand there.
            return match is_there {
                true => self.console.say(Tone::Quiet, "Read it first; then the keys answer."),
                false => self.not_there(number),
            };
        }
        match answered {
            Ok(group) => self.with_banner(|banner, place| banner.act(word, &group, place)),
            Err(why) => {
                let hint = why.to_hint("the command");
                self.console.say(Tone::Quiet, &format!("Nothing was answered: {hint}."));
            }
        }
    }

    fn not_there(&mut self, number: u64) {
        self.console.say(Tone::Quiet, &format!("No pending escalation with ID: {number}"));
    }

    fn help(&mut self) {
        let mut lines: Vec<Line> = COMMANDS
            .iter()
            .map(|(name, what)| {
                Line::new(Ink::Strong, &format!("  {name:14}")).and(Ink::Plain, what)
            })
            .collect();
        for (key, what) in [
            (
                "y n g a d o s",
                "with nothing typed: approve, deny, grant, always, show all, one by one, show the next",
            ),
            ("Alt-Enter", "a line break; so is a \\ at the end of a line"),
            ("Tab", "completes commands and file names"),
            ("Up, Down", "messages that were sent before"),
            ("Ctrl-C", "cancels the turn; twice ends the session"),
            ("Ctrl-D", "ends the session"),
        ] {
            lines.push(Line::new(Ink::Strong, &format!("  {key:14}")).and(Ink::Plain, what));
        }
        self.console.pen.print(&lines);
    }

    fn pending(&mut self) {
        let pending = self.scene.questions.pending();
        if pending.is_empty() {
            return self.console.say(Tone::Quiet, NOTHING);
        }
        let now = ic_home::Clock::now(&ic_home::SystemClock);
        let lines: Vec<String> =
            pending.iter().flat_map(|it| crate::commands::approvals::rows(it, now)).collect();
        let lines: Vec<Line> = lines.iter().map(|line| Line::plain(line)).collect();
        self.console.pen.print(&lines);
    }

    fn history(&mut self) {
        let turns = self.scene.session.history();
        if turns.is_empty() {
            return self.console.say(Tone::Quiet, "(no messages yet)");
        }
        for turn in turns.iter().skip(turns.len().saturating_sub(TURNS_MAX)) {
            let Turn { turn_number, user_message, assistant_response, usage, timestamp } = turn;
            let head = format!("{turn_number}. {timestamp}, {} tokens", usage.total);
            self.console.pen.print(&[Line::new(Ink::Quiet, &head)]);
            let said: Vec<Line> = short(user_message)
                .lines()
                .map(|line| Line::plain(&format!("  > {line}")))
                .collect();
            self.console.pen.print(&said);
            let answer: Vec<Line> = short(assistant_response).lines().map(Line::plain).collect();
            self.console.pen.print_strangers(&answer);
        }
    }

    fn logs(&mut self) {
        if self.happened.is_empty() {
            return self.console.say(Tone::Quiet, "(no diagnostic events yet)");
        }
        let lines: Vec<Line> = self.happened.iter().flat_map(Happened::lines).collect();
        self.console.pen.print_strangers(&lines);
        let log = format!("Output of the servers is in {}", self.setting.log.display());
        self.console.say(Tone::Quiet, &log);
    }

    fn save(&mut self) {
        match self.scene.session.save() {
            Ok(()) => self.console.say(Tone::Quiet, "The conversation is saved."),
            Err(error) => self.console.say(Tone::Bad, &chain(&error)),
        }
    }
}

/// What `/logs` shows.
#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// What became of a call.
    Called(CallNews),
    /// Something about the turn.
    Diagnostic(Diagnostic),
}

impl Happened {
    /// Keeps what happened last, up to a limit.
    pub(super) fn keep(self, happened: &mut VecDeque<Self>) {
        happened.push_back(self);
        if LOGS_MAX < happened.len() {
            happened.pop_front();
        }
    }

    fn lines(&self) -> Vec<Line> {
        match self {
            Self::Called(call) => telling::call(call).to_lines(),
            Self::Diagnostic(diagnostic) => vec![Line::plain(&described(diagnostic))],
        }
    }
}

/// Shows the first line of a text that may have many.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim_end();
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first.to_owned(),
    }
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(TURN_CHARS_MAX).collect();
    if text.chars().nth(TURN_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

fn described(diagnostic: &Diagnostic) -> String {
    match diagnostic {
        Diagnostic::ToolCall { tool, preview } => {
            format!("tool_call {tool}: {}", first_line(preview))
        }
        Diagnostic::AgentText { preview } => format!("agent_text: {}", first_line(preview)),
        Diagnostic::StepFinish { step, prompt, completion } => {
            format!("step_finish: step {step}, {prompt} tokens in, {completion} out")
        }
        Diagnostic::BudgetWarning { spent } => format!("budget_warning: {spent}"),
        Diagnostic::BudgetExhausted { spent } => format!("budget_exhausted: {spent}"),
        Diagnostic::LoopDetection { tool, repeats, .. } => {
            format!("loop_detection: {tool}, {repeats} times")
        }
        Diagnostic::ResultTruncation { tool, bytes, kept_bytes } => {
            format!("result_truncation: {tool}, {kept_bytes} of {bytes} bytes kept")
        }
        Diagnostic::ConfinementViolation { detail } => format!("confinement_violation: {detail}"),
    }
}
