//! Words that may limit what a sentence allows: an offer that leaves them out asks instead.
//!
//! What is offered otherwise is known elsewhere.

use ic_policy::Effect;

use super::{ALLOWING, ASKING, EXCEPTIONS, NEAR, NEGATIVE, SECOND, near};
use crate::grammar::{AGENTS, VERBS};
use crate::parse::clause::is_of_place;
use crate::parse::place::looks_like_place;
use crate::sentence::Sentence;
use crate::word::Word;

/// Words that change nothing about what is allowed.
const NEUTRAL: [&str; 55] = [
    ",",
    ":",
    "(",
    ")",
    "?",
    "and",
    "or",
    "nor",
    "it",
    "is",
    "are",
    "be",
    "to",
    "do",
    "does",
    "has",
    "have",
    "you",
    "i",
    "we",
    "if",
    "when",
    "should",
    "would",
    "could",
    "will",
    "must",
    "may",
    "can",
    "only",
    "let",
    "us",
    "any",
    "all",
    "every",
    "each",
    "my",
    "everything",
    "anything",
    "agent",
    "assistant",
    "model",
    "claude",
    "web",
    "internet",
    "everywhere",
    "anywhere",
    "elsewhere",
    "else",
    "sandbox",
    "workspace",
    "because",
    "there",
    "before",
    "than",
];

/// Words for less than the verbs that they are nearest to.
const NARROW: [&str; 15] = [
    "append",
    "appending",
    "add",
    "adding",
    "move",
    "moving",
    "rename",
    "renaming",
    "copy",
    "copying",
    "install",
    "installing",
    "start",
    "build",
    "test",
];

/// Returns whether a word may limit what is allowed: it is none that is known, so a *may* without it would
/// allow more than was said.
pub(super) fn limits(words: &[Word], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let is_known = word.is_one_of(&NEUTRAL)
        || [&NEGATIVE[..], &ASKING, &ALLOWING, &EXCEPTIONS, &SECOND]
            .iter()
            .any(|it| word.is_one_of(it))
        || is_of_place(word)
        || looks_like_place(word);
    let is_of_verb = || {
        let rows = VERBS.iter().flat_map(|row| {
            let phrases = row.phrases.iter().flat_map(|(base, gerund)| [*base, *gerund]);
            phrases.chain(row.objects.iter().copied())
        });
        let mut parts = rows.flat_map(|it| it.split(' '));
        parts.any(|it| it == word.low) || NEAR.iter().any(|(near, _)| word.is_one_of(near))
    };
    let is_agent = || AGENTS.iter().any(|it| it.split(' ').any(|part| part == word.low));
    let is_misspelled = || !near(&word.low).is_empty() && !word.low.ends_with("ed");
    word.is_quoted && !looks_like_place(word)
        || word.is_one_of(&NARROW)
        || !is_known && !is_of_verb() && !is_agent() && !is_misspelled()
}

/// Returns a sentence that asks instead of allowing.
pub(super) fn asking(sentence: Sentence) -> Sentence {
    match sentence.effect {
        Effect::Allow => Sentence { effect: Effect::Escalate, is_only: false, ..sentence },
        Effect::Escalate | Effect::Deny => sentence,
    }
}
