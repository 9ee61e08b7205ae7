//! Colours, where there is somebody to see them.

use std::io::{IsTerminal as _, stderr, stdout};

use ic_home::Environment;
use ic_terminal::Ink;

/// Whether a stream is painted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Paint {
    /// It is a terminal, and nobody objects.
    Colours,
    /// It is not.
    Plain,
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tone {
    /// Something went as it should.
    Good,
    /// Something did not happen.
    Bad,
    /// Somebody is asked.
    Question,
    /// Something beside the point.
    Quiet,
}

impl Tone {
    /// Returns the ink in which it stands on a screen that is drawn.
    pub(crate) fn ink(self) -> Ink {
        match self {
            Self::Good => Ink::Good,
            Self::Bad => Ink::Bad,
            Self::Question => Ink::Question,
            Self::Quiet => Ink::Quiet,
        }
    }
}

impl Paint {
    /// Finds out how standard error is to look.
    pub(crate) fn of_stderr(environment: &Environment) -> Self {
        match stderr().is_terminal() && !environment.is_set("NO_COLOR") {
            true => Self::Colours,
            false => Self::Plain,
        }
    }

    /// Finds out how standard output is to look.
    pub(crate) fn of_stdout(environment: &Environment) -> Self {
        match stdout().is_terminal() && !environment.is_set("NO_COLOR") {
            true => Self::Colours,
            false => Self::Plain,
        }
    }

    /// Paints `text`, which is harmless already.
    pub(crate) fn text(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Question => "1;33",
            Tone::Quiet => "2",
        };
        match self {
            Self::Colours => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_painted_where_nobody_looks() {
        assert_eq!(Paint::Plain.text(Tone::Bad, "no"), "no");
        assert_eq!(Paint::Colours.text(Tone::Bad, "no"), "\x1b[31mno\x1b[0m");
    }
}
