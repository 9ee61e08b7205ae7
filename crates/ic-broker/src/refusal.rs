//! How a call that was not served is answered: a text for the model, and the same for programs.
//!
//! A refusal is an answer, not an error of the protocol: the model is to read it. Why a call is
//! refused is decided elsewhere.

use ic_policy::{Denial, Effect, Escalation, RefusalCause};
use ic_types::{Json, Object};

/// How people come to be asked, for those who see the text of a refusal alone.
const HOW_TO_ANSWER: &str = "The user can run `ironcurtain listen` in another terminal to be \
                             asked about such calls from then on.";

/// A call that is answered without having been served.
#[derive(Clone, Debug)]
pub struct Refusal {
    kind: RefusalKind,
    decision: Effect,
    rule: String,
    reason: String,
}

/// Why a call was refused; each has words of its own that people and programs look for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RefusalKind {
    /// The policy says no.
    Denied,
    /// A person would have to decide, and there is nobody to ask.
    NoHandler,
    /// A person was asked, or was to be, and the answer is no.
    EscalationDenied,
    /// A person was asked, and nobody answered.
    EscalationExpired,
    /// The same call has been made too often.
    CircuitBreaker,
    /// The arguments do not fit the tool.
    InvalidArguments,
    /// The server that would serve it does not see what it is about.
    Confinement,
}

impl Refusal {
    /// The policy denied the call.
    pub fn denied(denial: &Denial) -> Self {
        Self::new(RefusalKind::Denied, Effect::Deny, denial.rule(), denial.reason())
    }

    /// The policy wants a person, and there is none.
    pub fn no_handler(escalation: &Escalation) -> Self {
        let (rule, reason) = (escalation.rule(), escalation.reason());
        Self::new(RefusalKind::NoHandler, Effect::Escalate, rule, reason)
    }

    /// A person was asked, or was to be, and the answer is no.
    pub fn escalation_denied(rule: &str, reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::EscalationDenied, Effect::Deny, rule, reason)
    }

    /// A person was asked, and nobody answered.
    pub fn escalation_expired(rule: &str, reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::EscalationExpired, Effect::Escalate, rule, reason)
    }

    /// The call was refused when it was settled; `rule` had asked for that, for `reason`.
    pub fn settled(rule: &str, reason: &str, cause: RefusalCause) -> Self {
        match cause {
            RefusalCause::Denied(_) => {
                let reason = format!("the user denied it; approval was needed because: {reason}");
                Self::escalation_denied(rule, reason)
            }
            RefusalCause::Expired => Self::escalation_expired(rule, "the answer came too late"),
        }
    }

    /// The broker itself refuses.
    pub fn structural(kind: RefusalKind, rule: &str, reason: impl Into<String>) -> Self {
        Self::new(kind, Effect::Deny, rule, reason)
    }

    fn new(kind: RefusalKind, decision: Effect, rule: &str, reason: impl Into<String>) -> Self {
        Self { kind, decision, rule: rule.to_owned(), reason: reason.into() }
    }

    /// Returns why, for programs.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// Returns the rule or invariant that refuses.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns what the model reads.
    pub fn text(&self) -> String {
        let Self { reason, .. } = self;
        match self.kind {
            RefusalKind::Denied => format!("DENIED: {reason}"),
            RefusalKind::NoHandler => {
                format!("ESCALATION REQUIRED: {reason}. Action denied (no escalation handler).")
            }
            RefusalKind::EscalationDenied => format!("ESCALATION DENIED: {reason}"),
            RefusalKind::EscalationExpired => format!("ESCALATION EXPIRED: {reason}"),
            RefusalKind::CircuitBreaker => format!("CIRCUIT BREAKER: {reason}"),
            RefusalKind::InvalidArguments => format!("INVALID ARGUMENTS: {reason}"),
            RefusalKind::Confinement => format!("CONFINEMENT: {reason}"),
        }
    }

    /// Returns the result of the call.
    pub fn to_result(&self) -> Object {
        let mut content = Object::new();
        content.insert("type", "text");
        content.insert("text", self.text());
        let mut contents = vec![Json::Object(content)];
        if self.kind == RefusalKind::NoHandler {
            // Many clients show people the text alone.
            let mut how = Object::new();
            how.insert("type", "text");
            how.insert("text", HOW_TO_ANSWER);
            contents.push(Json::Object(how));
        }
        let mut result = Object::new();
        result.insert("content", contents);
        let mut ours = Object::new();
        ours.insert("ironcurtain", self.details());
        result.insert("structuredContent", ours);
        result.insert("isError", true);
        result
    }

    fn details(&self) -> Object {
        let mut details = Object::new();
        details.insert("decision", self.decision.to_string());
        details.insert("rule", self.rule.as_str());
        details.insert("reason", self.reason.as_str());
        details.insert("retryUseful", false);
        details.insert("nextStep", self.next_step());
        details
    }

    fn next_step(&self) -> &'static str {
        match self.kind {
            RefusalKind::Denied => {
                "Do not try this again in another spelling: no spelling is allowed. Continue \
                 without it, or tell the user what you need and why."
            }
            RefusalKind::NoHandler => {
                "No approver is connected. Continue without it, or tell the user what you wanted \
                 to do. The user can run `ironcurtain listen` in another \
                 terminal to answer requests from then on; with `--wait`, calls wait for an \
                 approver."
            }
            RefusalKind::EscalationDenied => {
                "Do not ask for the same in another way. Continue without it, or tell the user \
                 why you need it."
            }
            RefusalKind::EscalationExpired => {
                "The request was not answered. Continue without it, or tell the user what you \
                 wanted to do."
            }
            RefusalKind::CircuitBreaker => {
                "Repeating the call changes nothing. Do something else, or tell the user."
            }
            RefusalKind::InvalidArguments => {
                "The same arguments are refused again. Read the tool's input schema, and make another \
                 call whose arguments fit it."
            }
            RefusalKind::Confinement => {
                "No spelling of the path helps. Continue without it, use another server for it, \
                 or tell the user what is missing."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(kind: RefusalKind) -> Refusal {
        Refusal::new(kind, Effect::Deny, "a-rule", "the reason")
    }

    #[test]
    fn each_kind_has_the_words_that_people_look_for() {
        for (kind, text) in [
            (RefusalKind::Denied, "DENIED: the reason"),
            (
                RefusalKind::NoHandler,
                "ESCALATION REQUIRED: the reason. Action denied (no escalation handler).",
            ),
            (RefusalKind::EscalationDenied, "ESCALATION DENIED: the reason"),
            (RefusalKind::EscalationExpired, "ESCALATION EXPIRED: the reason"),
            (RefusalKind::CircuitBreaker, "CIRCUIT BREAKER: the reason"),
            (RefusalKind::InvalidArguments, "INVALID ARGUMENTS: the reason"),
            (RefusalKind::Confinement, "CONFINEMENT: the reason"),
        ] {
            assert_eq!(refusal(kind).text(), text);
        }
    }

    #[test]
    fn a_program_finds_the_decision_beside_the_text() {
        let result = Json::Object(refusal(RefusalKind::Denied).to_result()).to_string();
        assert_eq!(
            result,
            "{\"content\":[{\"type\":\"text\",\"text\":\"DENIED: the \
             reason\"}],\"structuredContent\":{\"ironcurtain\":{\"decision\":\"deny\",\"rule\":\"a-rule\",\"reason\":\"the \
             reason\",\"retryUseful\":false,\"nextStep\":\"Do not try this again in another \
             spelling: no spelling is allowed. Continue without it, or tell the user what you \
             need and why.\"}},\"isError\":true}"
        );
    }
}
