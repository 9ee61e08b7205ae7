//! Messages that were sent, to be sent again.
//!
//! Where they are kept is not known here; [`History::to_text`] and [`History::of_text`] are one line
//! for each message, with its line ends escaped.

use std::collections::VecDeque;

/// How many messages are kept.
const MESSAGES_MAX: usize = 1000;
/// The longest message that is kept.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Messages that were sent, and which of them is looked at.
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: VecDeque<String>,
    /// How many steps back, and what was typed before the first of them.
    at: Option<(usize, String)>,
}

impl History {
    /// Reads what [`to_text`](Self::to_text) wrote; what cannot be read is left out.
    pub fn of_text(text: &str) -> Self {
        let mut history = Self::default();
        for line in text.lines() {
            history.add(&unescaped(line));
        }
        history
    }

    /// Writes all messages, one in each line.
    pub fn to_text(&self) -> String {
        self.messages.iter().flat_map(|it| [escaped(it), "\n".to_owned()]).collect()
    }

    /// Adds a message, unless it is the last one again, or too long to be wanted again.
    pub fn add(&mut self, message: &str) {
        self.at = None;
        let is_kept = !message.trim().is_empty() && message.len() <= MESSAGE_BYTES_MAX;
        if !is_kept || self.messages.back().is_some_and(|last| last == message) {
            return;
        }
        if MESSAGES_MAX <= self.messages.len() {
            self.messages.pop_front();
        }
        self.messages.push_back(message.to_owned());
    }

    /// Returns the message before the one that is looked at; what is typed now is kept meanwhile.
    pub fn older(&mut self, typed: &str) -> Option<&str> {
        let steps = self.at.as_ref().map_or(0, |(steps, _)| *steps) + 1;
        let message =
            self.messages.len().checked_sub(steps).and_then(|it| self.messages.get(it))?;
        match &mut self.at {
            Some((at, _)) => *at = steps,
            at @ None => *at = Some((steps, typed.to_owned())),
        }
        Some(message)
    }

    /// Returns the message after the one that is looked at, or at last what was typed.
    pub fn newer(&mut self) -> Option<String> {
        let (steps, typed) = self.at.take()?;
        let Some(left) = steps.checked_sub(1).filter(|left| 0 < *left) else {
            return Some(typed);
        };
        let message = self.messages.len().checked_sub(left).and_then(|it| self.messages.get(it));
        let message = message.cloned();
        self.at = Some((left, typed));
        message
    }
}

fn escaped(message: &str) -> String {
    message.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(line: &str) -> String {
    let (mut message, mut rest) = (String::new(), line.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n') => message.push('\n'),
                Some('r') => message.push('\r'),
                Some(other) => message.push(other),
                None => {}
            },
            c => message.push(c),
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_and_forth() {
        let mut history = History::default();
        assert_eq!(history.older("x"), None);
        assert_eq!(history.newer(), None);
        for message in ["one", "two", "two", " ", "three"] {
            history.add(message);
        }
        for expected in ["three", "two", "one"] {
            assert_eq!(history.older("draft"), Some(expected));
        }
        assert_eq!(history.older("draft"), None);
        for expected in ["two", "three", "draft"] {
            assert_eq!(history.newer().as_deref(), Some(expected));
        }
        assert_eq!(history.newer(), None);
        assert_eq!(history.older("other"), Some("three"));
        history.add("four");
        assert_eq!(history.older(""), Some("four"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut history = History::default();
        for message in ["plain", "two\nlines", "back\\slash\\n", "cr\r\nlf", "日本"] {
            history.add(message);
        }
        let text = history.to_text();
        assert_eq!(text.lines().count(), 5);
        assert_eq!(History::of_text(&text).messages, history.messages);
        assert_eq!(History::of_text("a\\\n\nb").messages, ["a", "b"]);
    }

    #[test]
    fn only_so_much_is_kept() {
        let mut history = History::default();
        for number in 0..2000 {
            history.add(&number.to_string());
        }
        history.add(&"x".repeat(5000));
        assert_eq!(history.messages.len(), MESSAGES_MAX);
        assert_eq!(history.older(""), Some("1999"));
    }
}
