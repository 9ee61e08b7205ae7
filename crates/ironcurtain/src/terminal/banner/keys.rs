//! The keys that answer a question: one table, the same in a conversation, for a task and at the desk.

use ic_escalation::Offer;
use ic_terminal::gate::Reach;

use crate::terminal::group::Group;

/// What a key does with the question that stands there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    Approve,
    Deny,
    Grant,
    Always,
    Details,
    Apart,
    Skip,
}

/// A key, what it does and how that is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) letter: &'static str,
    pub(super) action: Action,
    name: &'static str,
}

/// Every key, in the order in which they are shown.
pub(super) const KEYS: [Key; 7] = [
    Key { letter: "y", action: Action::Approve, name: "approve" },
    Key { letter: "n", action: Action::Deny, name: "deny" },
    Key { letter: "g", action: Action::Grant, name: "approve and grant" },
    Key { letter: "a", action: Action::Always, name: "always" },
    Key { letter: "d", action: Action::Details, name: "details" },
    Key { letter: "o", action: Action::Apart, name: "one by one" },
    Key { letter: "s", action: Action::Skip, name: "next" },
];

/// What is known of the question that stands there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// Whether there is more to show of it.
    pub(super) has_details: bool,
    /// Whether an addition to the policy is offered for it.
    pub(super) has_always: bool,
    /// How many others wait.
    pub(super) n_waiting: usize,
}

impl Key {
    /// Finds the key of a letter.
    pub(super) fn of(letter: &str) -> Option<Self> {
        KEYS.into_iter().find(|key| key.letter == letter)
    }
}

impl Action {
    /// Returns how much of the question has to have been shown.
    pub(super) fn reach(self) -> Reach {
        match self {
            Self::Approve | Self::Grant | Self::Always => Reach::Whole,
            Self::Deny | Self::Details | Self::Apart | Self::Skip => Reach::Page,
        }
    }

    /// Returns whether it is offered for what stands there.
    fn is_offered(self, group: &Group, situation: Situation) -> bool {
        match self {
            Self::Approve | Self::Deny => true,
            Self::Grant => Offer::of_request(group.first().request()).is_ok(),
            Self::Always => situation.has_always,
            Self::Details => situation.has_details,
            Self::Apart => 1 < group.len(),
            Self::Skip => 0 < situation.n_waiting,
        }
    }
}

/// Says which keys there are for what stands there.
pub(super) fn line(group: &Group, situation: Situation) -> String {
    let keys = KEYS.into_iter().filter(|key| key.action.is_offered(group, situation));
    // Of several calls it is said again where the answer is typed: the heading may have scrolled away.
    let all = match group.len() {
        1 => String::new(),
        2 => " both".to_owned(),
        n_calls => format!(" all {n_calls}"),
    };
    let first = group.first().number();
    let name = |key: &Key| match key.action {
        Action::Approve | Action::Deny => format!("{} {}{all}", key.letter, key.name),
        Action::Grant if 1 < group.len() => format!("{} approve #{first} and grant", key.letter),
        Action::Always if 1 < group.len() => format!("{} always #{first}", key.letter),
        Action::Grant | Action::Always | Action::Details | Action::Apart | Action::Skip => {
            format!("{} {}", key.letter, key.name)
        }
    };
    keys.map(|key| name(&key)).collect::<Vec<_>>().join(" · ")
}
