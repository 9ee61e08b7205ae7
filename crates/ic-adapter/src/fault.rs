//! Why an agent has no answer, told apart by what a person can do about it.

use std::fmt;

/// Why an agent has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What the agent says about it: text of a stranger.
    pub message: String,
}

/// What can be done about a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultKind {
    /// The provider lets this account do no more for now.
    Quota,
    /// It may work the next time.
    Transient,
    /// Anything else.
    Other,
}

/// What is said of an account that may do no more.
const QUOTA: [&str; 5] = ["quota", "rate limit", "rate_limit", "usage limit", "credit balance"];
/// What is said of a fault that passes.
const PASSING: [&str; 8] = [
    "temporary",
    "overloaded",
    "at capacity",
    "timed out",
    "timeout",
    "connection error",
    "network error",
    "econnreset",
];

impl Fault {
    /// Reads a provider's complaint in the words of an agent.
    pub(crate) fn of_message(message: &str) -> Self {
        Self::of_status(status(&message.to_lowercase()), message)
    }

    /// Reads a provider's complaint in the words of an agent that also says the status of the answer.
    pub(crate) fn of_status(status: Option<u16>, message: &str) -> Self {
        let lower = message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let kind = match status {
            Some(429) => FaultKind::Quota,
            Some(408 | 500..=599) => FaultKind::Transient,
            Some(_) | None if says(&QUOTA) => FaultKind::Quota,
            None if says(&PASSING) => FaultKind::Transient,
            Some(_) | None => FaultKind::Other,
        };
        Self { kind, message: message.to_owned() }
    }

    /// Says what a person can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self.kind {
            FaultKind::Quota => {
                Some("the provider's limit for this key is reached; wait, or use another key")
            }
            FaultKind::Transient => Some("the provider had a problem; send the message again"),
            FaultKind::Other => None,
        }
    }
}

/// Finds the status of an answer of HTTP in the words of an agent: `api error: 529 …`, `status 500`.
fn status(lower: &str) -> Option<u16> {
    let after = ["error: ", "error (", "status ", "status code ", "status: ", "http "];
    let mut found = after.iter().filter_map(|mark| {
        let rest = lower.split(mark).nth(1)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|it| (400..600).contains(it))
    });
    found.next()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_and_passing_faults_are_told_apart() {
        for (message, expected) in [
            ("API Error: 429 {\"type\":\"error\"}", FaultKind::Quota),
            ("API Error: 529 Overloaded", FaultKind::Transient),
            ("API Error: Connection error.", FaultKind::Transient),
            ("Selected model is at capacity. Please try a different model.", FaultKind::Transient),
            ("Your credit balance is too low", FaultKind::Quota),
            ("unexpected status 500 Internal Server Error", FaultKind::Transient),
            ("API Error: 403 the budget of this session is used up", FaultKind::Other),
            ("I read 500 lines, and found no error", FaultKind::Other),
            ("", FaultKind::Other),
        ] {
            assert_eq!(Fault::of_message(message).kind, expected, "{message}");
        }
    }
}
