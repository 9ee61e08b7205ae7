//! What is told of a session while it works, in words; where they stand is not known here.

use ic_agent::Diagnostic;
use ic_broker::Ending;
use ic_session::{CallFate, CallNews};
use ic_types::visible;

use super::paint::Tone;

/// How much of somebody else's reason stands on a line.
const REASON_CHARS_MAX: usize = 300;
/// What stands before a reason, so that it stands below what it is about.
const BELOW_MARK: &str = "             ";
/// What is said of a question that nobody answered.
pub(super) const EXPIRED: &str = "Nobody answered in time, so the call is denied.";

/// A call that is over, in words that are harmless.
pub(super) struct Told {
    /// What the first words mean.
    pub(super) tone: Tone,
    /// What became of it.
    pub(super) begin: &'static str,
    /// The call.
    pub(super) what: String,
    /// Why it was not made, or failed, as a line of its own.
    pub(super) why: Option<String>,
}

/// Tells what became of a call.
pub(super) fn call(call: &CallNews) -> Told {
    let what = visible(&format!("{} {}", call.call, call.arguments));
    let (tone, begin, why) = match &call.fate {
        CallFate::Done => (Tone::Good, "  ✓ allowed ", None),
        CallFate::Approved => (Tone::Good, "  ✓ approved", None),
        CallFate::Failed(why) => (Tone::Bad, "  ✗ failed  ", Some(why)),
        CallFate::Refused(why) => (Tone::Bad, "  ✗ refused ", Some(why)),
    };
    let why = why.map(|why| {
        let why: String = why.chars().take(REASON_CHARS_MAX).collect();
        format!("{BELOW_MARK}{}", visible(&why))
    });
    Told { tone, begin, what, why }
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
        Ending::Expired => "Nobody answered in time.",
        Ending::Withdrawn => "The question was withdrawn.",
    }
}
