//! How much a server may say in one petition: what a person can read before saying yes to it.
//!
//! Nothing is shortened: what is too long, or cannot be seen, is refused. What the words mean is not looked
//! at here.

use ic_types::visible;

/// The words of one petition, as they are counted.
#[derive(Debug)]
pub(super) struct Words {
    chars_max: usize,
    left: usize,
}

impl Words {
    /// Admits so many characters in all.
    pub(super) fn new(chars_max: usize) -> Self {
        Self { chars_max, left: chars_max }
    }

    /// Admits a text for a model: whatever can be read, and indented.
    pub(super) fn admit(&mut self, text: &str) -> Result<(), String> {
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err("it holds control characters".to_owned());
        }
        self.count(text)
    }

    /// Admits a text of at most `chars_max` characters that a client shows to a person.
    ///
    /// SECURITY: a client may print it as it is, after words of ours that it must not wipe out, push off
    /// the screen or turn around.
    pub(super) fn admit_shown(&mut self, text: &str, chars_max: usize) -> Result<(), String> {
        let is_seen = text.split('\n').all(|line| visible(line) == line);
        if !is_seen || text.contains("\n\n\n") {
            return Err("a text of it holds what is not seen as it is".to_owned());
        }
        if chars_max < text.chars().count() {
            return Err(format!("a text of it is longer than {chars_max} characters"));
        }
        self.count(text)
    }

    fn count(&mut self, text: &str) -> Result<(), String> {
        let left = self.left.checked_sub(text.chars().count());
        self.left = left.ok_or_else(|| {
            format!("it is longer than {} characters, too long to review", self.chars_max)
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_not_shown() {
        for text in [
            "colour\u{1b}[2K\r[IronCurtain] confirm",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\tb",
            "a\u{7}",
            "a\n\n\n\nb",
            "\u{e0041}",
            &format!("a{}b", " ".repeat(200)),
            &"x".repeat(21),
        ] {
            assert!(Words::new(1000).admit_shown(text, 20).is_err(), "{text:?}");
        }
        for text in ["Grüße, 你好\n\nwho?", ""] {
            assert_eq!(Words::new(1000).admit_shown(text, 20), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn all_of_them_together_are_counted() {
        let mut words = Words::new(10);
        assert_eq!(words.admit("12345"), Ok(()));
        assert_eq!(words.admit_shown("1234", 10), Ok(()));
        assert!(words.admit("12").is_err() && words.admit("1").is_ok());
        assert!(words.admit("\u{1b}").is_err() && words.admit("").is_ok());
    }
}
