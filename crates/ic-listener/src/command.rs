//! What can be typed at the listener: `/approve 3` and the like.
//!
//! What the commands do is not known here.

/// The commands, each with what it does, as the help lists them.
pub const COMMANDS: [(&str, &str); 10] = [
    ("/approve [N]", "approve the request that is shown; with a number, show that one first"),
    ("/approve all", "show all requests on the screen together, to approve them with one key"),
    ("/approve+ [N]", "approve it, and grant similar calls"),
    ("/deny [N]", "deny the request that is shown, or the one with that number"),
    ("/deny all", "deny all requests on the screen"),
    ("/filter [TEXT]", "list only what contains the text; without a text, everything"),
    ("/sessions", "show the running sessions"),
    ("/history", "show how earlier requests ended"),
    ("/grants", "show the grants in force; /undo takes the newest one back, /undo ID another one"),
    ("/quit", "quit"),
];

/// Which requests are meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Which {
    /// The one that is shown.
    Shown,
    /// The one with this number.
    Number(u64),
    /// Those that stood on the screen when the command was begun.
    All,
}

/// Something to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Command {
    /// Approve.
    Approve(Which),
    /// Approve, and grant.
    Grant(Which),
    /// Deny.
    Deny(Which),
    /// Take a grant back: the newest one, or the one that is named.
    Undo(Option<String>),
    /// List only what contains the text.
    Filter(String),
    /// Show the sessions.
    Sessions,
    /// Show how requests ended.
    History,
    /// Show the grants.
    Grants,
    /// Show the commands.
    Help,
    /// End.
    Quit,
}

impl Command {
    /// Returns whether it answers a request.
    pub fn answers(&self) -> bool {
        matches!(self, Self::Approve(_) | Self::Grant(_) | Self::Deny(_))
    }

    /// Reads a line; fails with what is said to the person.
    pub fn parse(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let which = |make: fn(Which) -> Self| which(rest).map(make);
        let plain = |command: Self| match rest.is_empty() {
            true => Ok(command),
            false => Err(format!("{name} takes nothing after it.")),
        };
        match name {
            "/approve" => which(Self::Approve),
            "/approve+" => match which(Self::Grant)? {
                Self::Grant(Which::All) => {
                    Err("A grant is for one request: /approve+ N.".to_owned())
                }
                grant => Ok(grant),
            },
            "/deny" => which(Self::Deny),
            "/undo" => Ok(Self::Undo((!rest.is_empty()).then(|| rest.to_owned()))),
            "/filter" => Ok(Self::Filter(rest.to_owned())),
            "/sessions" => plain(Self::Sessions),
            "/history" => plain(Self::History),
            "/grants" => plain(Self::Grants),
            "/help" => plain(Self::Help),
            "/quit" | "/exit" => plain(Self::Quit),
            _ => Err(format!("There is no command {name}; ? lists them.")),
        }
    }
}

fn which(word: &str) -> Result<Which, String> {
    match word {
        "" => Ok(Which::Shown),
        "all" => Ok(Which::All),
        word => {
            let number = word.strip_prefix('#').unwrap_or(word).parse();
            number.map(Which::Number).map_err(|_| format!("No pending escalation with ID: {word}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        for (line, expected) in [
            ("/approve", Command::Approve(Which::Shown)),
            (" /approve  3 ", Command::Approve(Which::Number(3))),
            ("/approve all", Command::Approve(Which::All)),
            ("/approve+ #7", Command::Grant(Which::Number(7))),
            ("/deny #18446744073709551615", Command::Deny(Which::Number(u64::MAX))),
            ("/deny all", Command::Deny(Which::All)),
            ("/undo", Command::Undo(None)),
            ("/undo ab12", Command::Undo(Some("ab12".to_owned()))),
            ("/filter two words", Command::Filter("two words".to_owned())),
            ("/filter", Command::Filter(String::new())),
            ("/quit", Command::Quit),
            ("/exit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn mistakes_are_said() {
        for (line, expected) in [
            ("/approve x", "No pending escalation with ID: x"),
            ("/approve -1", "No pending escalation with ID: -1"),
            ("/approve 1 2", "No pending escalation with ID: 1 2"),
            ("/approve ALL", "No pending escalation with ID: ALL"),
            ("/approve+ all", "A grant is for one request: /approve+ N."),
            ("/quit now", "/quit takes nothing after it."),
            ("/what", "There is no command /what; ? lists them."),
            ("", "There is no command ; ? lists them."),
        ] {
            assert_eq!(Command::parse(line), Err(expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn every_command_that_is_listed_is_one() {
        for (name, _) in COMMANDS {
            let name = name.split([' ', '[']).next().unwrap_or_default();
            assert!(Command::parse(name).is_ok(), "{name}");
        }
    }
}
