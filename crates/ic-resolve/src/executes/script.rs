//! The text that a shell is handed to run, for those who start such a shell themselves.
//!
//! One level is read: commands with their words, and the texts within them, to be read in turn. What a word means
//! for the program that gets it is not known here.

use super::shell::{self, OPEN, TOP, TYPED};

/// One level of a text.
#[derive(Debug)]
pub struct Script {
    /// Its commands, word by word; words of the shell's own are left out.
    pub commands: Vec<Vec<Word>>,
    /// Commands that are run for what they print.
    pub printed: Vec<String>,
    /// Other texts within words, of which nobody knows whether they are commands.
    pub others: Vec<String>,
}

/// A word of a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word {
    /// The word, or what stands before the first part of it that only the shell knows.
    pub text: String,
    /// How much of it that is.
    pub known: Known,
}

/// How much is known of a word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Known {
    /// All.
    Whole,
    /// The rest is what the shell was handed besides: `$1`, `$@`.
    ButArguments,
    /// The rest is known to the shell alone.
    Beginning,
}

impl Script {
    /// Reads the text.
    pub fn read(text: &str) -> Self {
        let (commands, printed, others) = shell::level(text);
        let commands =
            commands.into_iter().map(|words| words.iter().map(|it| Word::of(it)).collect());
        Self { commands: commands.collect(), printed, others }
    }
}

impl Word {
    fn of(word: &str) -> Self {
        let is_open = |c: char| OPEN.contains(&c) || c == TOP;
        // The home of another user.
        let is_user =
            word.strip_prefix('~').is_some_and(|it| !it.is_empty() && !it.starts_with('/'));
        match word.find(is_open) {
            None if is_user => Self { text: String::new(), known: Known::Beginning },
            None => Self { text: word.to_owned(), known: Known::Whole },
            Some(at) => {
                let is_typed = word.chars().filter(|c| is_open(*c)).all(|c| c == TYPED);
                let known = if is_typed { Known::ButArguments } else { Known::Beginning };
                Self { text: word.get(..at).unwrap_or_default().to_owned(), known }
            }
        }
    }
}
