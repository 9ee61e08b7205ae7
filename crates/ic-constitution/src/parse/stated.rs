//! A constitution in which some statements are free English: the plain ones as sentences, the others as words.
//!
//! What a free statement means is not known here. Commentary that restricts something, hidden letters and
//! blocks that are broken stay mistakes: only whole statements are free.

use super::{Constitution, SENTENCES_MAX, define, list, raw, rules_of, sentence};
use crate::document::{self, Document};
use crate::fault::{Fault, Faults};
use crate::sentence::Sentence;

/// The most free statements of a constitution.
pub const FREE_MAX: usize = 200;

/// A constitution as far as the grammar understands it.
#[derive(Clone, Debug)]
pub struct Stated {
    /// Its plain sentences, and its blocks of rules.
    pub plain: Constitution,
    /// Its other statements, in the order of their lines.
    pub free: Vec<Free>,
}

/// A statement that is not a plain sentence.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Free {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// Its words, with those of its introduction.
    pub text: String,
    /// Why it is not a plain sentence, with the nearest ones.
    pub fault: Fault,
}

/// Reads a constitution that may hold free statements.
pub fn stated(text: &str) -> Result<Stated, Faults> {
    let Document { statements, blocks, mut faults } = document::read(text);
    let mut plain = Constitution { sentences: Vec::new(), kept: Vec::new(), lists: Vec::new() };
    let mut free = Vec::new();
    for block in &blocks {
        match rules_of(block) {
            Ok(rules) => plain.kept.extend(rules),
            Err(fault) => faults.push(fault),
        }
    }
    for statement in &statements {
        if let Some(definition) = list::definition(statement) {
            define(definition, &mut plain.lists, &mut faults);
            continue;
        }
        match sentence(statement) {
            Ok(sentence) => plain.sentences.push(sentence),
            Err(fault) => {
                free.push(Free { line: statement.line, text: raw(&statement.words), fault });
            }
        }
    }
    for (is_over, most, what) in [
        (SENTENCES_MAX < plain.sentences.len(), SENTENCES_MAX, "sentences"),
        (FREE_MAX < free.len(), FREE_MAX, "statements that are not plain sentences"),
    ] {
        if is_over {
            let problem = format!("a constitution has at most {most} {what}");
            let words = "…".to_owned();
            faults.push(Fault { line: 1, column: 1, words, problem, offers: Vec::new() });
        }
    }
    if faults.is_empty() {
        return Ok(Stated { plain, free });
    }
    faults.sort_by_key(|fault| (fault.line, fault.column));
    Err(Faults(faults))
}

/// Reads one plain sentence that stands for the statement on `line`, in words of our own.
///
/// A reason is left out: it would be shown to people as if somebody had written it.
pub fn proposed(text: &str, line: usize) -> Result<Sentence, Faults> {
    let constitution = super::parse(text)?;
    let fault = |problem: &str| {
        let (words, problem) = (text.to_owned(), problem.to_owned());
        Faults(vec![Fault { line: 1, column: 1, words, problem, offers: Vec::new() }])
    };
    if !constitution.kept.is_empty() {
        return Err(fault("a rule is not a sentence"));
    }
    if !constitution.lists.is_empty() {
        return Err(fault("where a list comes from is for a person to say"));
    }
    let mut sentences = constitution.sentences.into_iter();
    let (Some(sentence), None) = (sentences.next(), sentences.next()) else {
        return Err(fault("this has to be exactly one plain sentence"));
    };
    let sentence = Sentence { reason: None, line, ..sentence };
    let written = sentence.to_string();
    // As those that people write, whose mark at the end is not kept.
    let text = written.strip_suffix('.').unwrap_or(&written).to_owned();
    Ok(Sentence { text, ..sentence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sentences_are_told_from_free_ones_and_lines_are_kept() {
        let text = "# Mine\n\nThe agent may read files in ~/papers.\n\nKeep your hands off my photos, \
                    all right?\n\nThe agent must never:\n\n- delete files\n- be rude\n";
        let stated = stated(text).unwrap();
        let plain: Vec<usize> = stated.plain.sentences.iter().map(|it| it.line).collect();
        let free: Vec<(usize, &str)> =
            stated.free.iter().map(|it| (it.line, it.text.as_str())).collect();
        assert_eq!(plain, [3, 9]);
        assert_eq!(
            free,
            [
                (5, "Keep your hands off my photos, all right?"),
                (10, "The agent must never be rude")
            ]
        );
    }

    #[test]
    fn broken_commentary_stays_a_mistake() {
        for text in ["<!-- never delete files", "# The agent must never delete files\n", "```\n"] {
            assert!(stated(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proposal_is_one_sentence_in_our_words_without_a_reason() {
        let one = proposed("Please, the agent may read any files in `~/a b`, because it asked.", 7);
        let one = one.unwrap();
        assert_eq!((one.line, one.text.as_str()), (7, "The agent may read files in `~/a b`"));
        for text in [
            "",
            "# heading",
            "The agent may read files in ~/a. The agent may delete files in ~/a.",
            "The agent may do whatever it likes.",
            "```rules before\n[{\"name\":\"x\"}]\n```",
        ] {
            assert!(proposed(text, 1).is_err(), "{text}");
        }
    }
}
