//! What can be typed besides messages: `/quit` and the like.
//!
//! What they do is not known here.

/// The commands, each with what it does, as `/help` lists them.
pub const COMMANDS: [(&str, &str); 11] = [
    ("/help", "show this"),
    ("/pending", "show pending approval requests"),
    ("/approve", "[N]: approve the call that is shown; with a number, show that one first"),
    ("/approve+", "[N]: approve it, and grant more than one call"),
    ("/deny", "[N]: deny the call that is shown, or the one with that number"),
    ("/history", "show the messages and answers of this session"),
    ("/logs", "show what happened"),
    ("/budget", "show what this turn, or the last one, has used"),
    ("/save", "save the conversation now"),
    ("/quit", "end the session"),
    ("/exit", "end the session"),
];

/// Something to do that is no message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Command {
    /// Show the commands.
    Help,
    /// Show what waits.
    Pending,
    /// Approve.
    Approve(Option<u64>),
    /// Approve, and grant.
    Grant(Option<u64>),
    /// Deny.
    Deny(Option<u64>),
    /// Show the turns.
    History,
    /// Show what happened.
    Logs,
    /// Show the budget.
    Budget,
    /// Save.
    Save,
    /// End.
    Quit,
}

/// What a line is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Named {
    /// A message for the agent.
    Message,
    /// A command.
    Command(Command),
    /// Something that begins as a command does, and is none: why.
    Mistake(String),
}

impl Named {
    /// Reads a line.
    pub fn of(line: &str) -> Self {
        let line = line.trim();
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        // A path at the beginning of a message is no command.
        let is_command = first.strip_prefix('/').is_some_and(|it| !it.contains('/'));
        if !is_command || line.contains('\n') {
            return Self::Message;
        }
        let argument = words.next();
        if words.next().is_some() {
            return Self::Mistake(format!(
                "{first} takes one number at most; /help lists the commands."
            ));
        }
        let numbered = |make: fn(Option<u64>) -> Command| match argument {
            None => Self::Command(make(None)),
            Some(word) => match word.strip_prefix('#').unwrap_or(word).parse() {
                Ok(number) => Self::Command(make(Some(number))),
                Err(_) => Self::Mistake(format!("No pending escalation with ID: {word}")),
            },
        };
        let command = match first {
            "/approve" => return numbered(Command::Approve),
            "/approve+" => return numbered(Command::Grant),
            "/deny" => return numbered(Command::Deny),
            "/help" => Command::Help,
            "/pending" => Command::Pending,
            "/history" => Command::History,
            "/logs" => Command::Logs,
            "/budget" => Command::Budget,
            "/save" => Command::Save,
            "/quit" | "/exit" => Command::Quit,
            _ => return Self::Mistake(format!("There is no command {first}; /help lists them.")),
        };
        match argument {
            None => Self::Command(command),
            Some(_) => Self::Mistake(format!("{first} takes nothing after it.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_messages() {
        for (line, expected) in [
            ("list the files", Named::Message),
            ("", Named::Message),
            ("/etc/hosts: read it", Named::Message),
            ("/quit\nnow", Named::Message),
            (" /quit ", Named::Command(Command::Quit)),
            ("/exit", Named::Command(Command::Quit)),
            ("/approve", Named::Command(Command::Approve(None))),
            ("/approve 3", Named::Command(Command::Approve(Some(3)))),
            ("/approve+ #3", Named::Command(Command::Grant(Some(3)))),
            ("/deny 18446744073709551615", Named::Command(Command::Deny(Some(u64::MAX)))),
        ] {
            assert_eq!(Named::of(line), expected, "{line}");
        }
    }

    #[test]
    fn mistakes_are_said() {
        for (line, expected) in [
            ("/approve x", "No pending escalation with ID: x"),
            ("/approve -1", "No pending escalation with ID: -1"),
            ("/approve 1 2", "/approve takes one number at most; /help lists the commands."),
            ("/quit now", "/quit takes nothing after it."),
            ("/what", "There is no command /what; /help lists them."),
            ("/", "There is no command /; /help lists them."),
        ] {
            assert_eq!(Named::of(line), Named::Mistake(expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn every_command_that_is_listed_is_one() {
        for (name, _) in COMMANDS {
            assert!(matches!(Named::of(name), Named::Command(_)), "{name}");
        }
    }
}
