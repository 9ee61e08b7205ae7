//! What is told of a session while it works, in words; where they stand is not known here.

use ic_agent::Diagnostic;
use ic_backend::Ending;
use ic_session::{CallFate, CallNews};
use ic_terminal::{Ink, Line};
use ic_types::{visible, visible_line};

use super::paint::Tone;

/// How much of somebody else's reason is told, and in how many lines; git needs some.
const REASON_CHARS_MAX: usize = 600;
const REASON_LINES_MAX: usize = 10;
/// What stands before a reason, so that it stands below what it is about.
const BELOW_MARK: &str = "             ";
/// What is said of a question that nobody answered.
pub(super) const EXPIRED: &str = "No answer in time: the call is denied.";

/// A call that is over, in words that are harmless.
pub(super) struct Told {
    /// What the first words mean.
    pub(super) tone: Tone,
    /// What became of it.
    pub(super) begin: &'static str,
    /// The call.
    pub(super) what: String,
    /// Why it was not made, or failed, in lines of its own.
    pub(super) why: Vec<String>,
}

impl Told {
    /// Returns it as it stands on a screen that is drawn.
    pub(super) fn to_lines(&self) -> Vec<Line> {
        let first =
            Line::new(self.tone.ink(), self.begin).and(Ink::Plain, &format!(" {}", self.what));
        std::iter::once(first)
            .chain(self.why.iter().map(|why| Line::new(Ink::Quiet, why)))
            .collect()
    }
}

/// Tells what became of a call.
pub(super) fn call(call: &CallNews) -> Told {
    let what = visible(&format!("{} {}", call.call, call.arguments));
    let (tone, begin, why) = match &call.fate {
        CallFate::Done => (Tone::Good, "  ✓ allowed ", None),
        CallFate::Approved => (Tone::Good, "  ✓ approved", None),
        CallFate::Failed(why) => (Tone::Bad, "  ✗ failed  ", Some(why)),
        CallFate::Refused(why) => (Tone::Bad, "  ✗ refused ", Some(why)),
        CallFate::Cancelled => (Tone::Bad, "  ✗ cancelled", None),
    };
    let why = why.map(|why| reason_lines(why)).unwrap_or_default();
    Told { tone, begin, what, why }
}

/// Tells why, line by line as it was said, up to a limit.
fn reason_lines(why: &str) -> Vec<String> {
    let short: String = why.trim_end().chars().take(REASON_CHARS_MAX).collect();
    let mut lines: Vec<String> = short
        .lines()
        .take(REASON_LINES_MAX)
        .map(|line| format!("{BELOW_MARK}{}", visible_line(line)))
        .collect();
    if short.len() < why.trim_end().len() || REASON_LINES_MAX < short.lines().count() {
        lines.push(format!("{BELOW_MARK}…"));
    }
    lines
}

/// Tells what happened in a turn, if a person should know at once.
pub(super) fn diagnostic(diagnostic: &Diagnostic) -> Option<String> {
    match diagnostic {
        Diagnostic::BudgetWarning { spent } => Some(format!("most of the budget is used: {spent}")),
        Diagnostic::LoopDetection { tool, repeats, .. } => {
            Some(format!("the model used `{tool}` {repeats} times with the same result"))
        }
        Diagnostic::ConfinementViolation { detail } => {
            Some(format!("confinement_violation: {detail}"))
        }
        // What calls a script makes is told one by one, and what the model says is the answer.
        Diagnostic::ToolCall { .. }
        | Diagnostic::AgentText { .. }
        | Diagnostic::StepFinish { .. }
        | Diagnostic::BudgetExhausted { .. }
        | Diagnostic::ResultTruncation { .. } => None,
    }
}

/// Tells how a question ended that was not answered here.
pub(super) fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Approved => "Approved elsewhere.",
        Ending::Denied => "Denied elsewhere.",
        Ending::Expired => "No answer in time.",
        Ending::Withdrawn => "The request was withdrawn.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_its_lines_up_to_a_limit() {
        let git = "the git server failed:\nfatal: no\n  hint: pull\x1b[2J first\n";
        assert_eq!(
            reason_lines(git),
            [
                "             the git server failed:",
                "             fatal: no",
                "               hint: pull\\u{1b}[2J first",
            ]
        );
        let many = reason_lines(&"x\n".repeat(50));
        assert_eq!((many.len(), many.last().unwrap().trim()), (11, "…"));
        let long = reason_lines(&"x".repeat(5000));
        assert_eq!((long.len(), long[0].trim().len(), long[1].trim()), (2, 600, "…"));
    }
}
