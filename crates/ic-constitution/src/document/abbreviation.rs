//! Dots that end an abbreviation in a reason, and not the sentence.
//!
//! SECURITY: what follows such a dot becomes a part of the reason, which nobody compiles. So this is only so
//! where it could be no sentence: no word of any form stands in it. Where both could be meant, nothing is
//! guessed, since the other half may allow something.

use crate::grammar::FORMS;
use crate::word::Word;

/// Abbreviations that no sentence ends with.
const NEVER_LAST: [&str; 5] = ["e.g", "i.e", "cf", "vs", "approx"];
/// Abbreviations that a sentence may end with.
const MAYBE_LAST: [&str; 1] = ["etc"];
/// Words of forms that make no form by themselves.
const SMALL: [&str; 9] = ["before", "for", "to", "me", "my", "person", "first", "up", "from"];

/// What to say about a dot of which nobody can tell what it ends.
pub(super) const UNCLEAR: &str = "the dot may end this abbreviation or the sentence; write it out: `for example`, `that \
                                  is`, `and so on`";

/// What a dot ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Dot {
    /// The sentence.
    Sentence,
    /// An abbreviation in its reason.
    Abbreviation,
    /// Either.
    Unclear,
}

/// Returns what `mark`, which can end a sentence, ends behind the words of `sentence` and before `rest`.
pub(super) fn ended_by(mark: &Word, sentence: &[Word], rest: &[Word]) -> Dot {
    let is_in_reason = sentence.iter().any(|it| it.is("because"));
    let last = sentence.last().filter(|_| is_in_reason && mark.is("."));
    let is_inside = last.is_some_and(|it| it.is_one_of(&NEVER_LAST));
    if !is_inside && !last.is_some_and(|it| it.is_one_of(&MAYBE_LAST)) {
        return Dot::Sentence;
    }
    match rest.first() {
        Some(next) if is_in_sentence(next) && could_be_no_sentence(rest) => Dot::Abbreviation,
        Some(next) if is_in_sentence(next) => Dot::Unclear,
        Some(_) | None if is_inside => Dot::Unclear,
        Some(_) | None => Dot::Sentence,
    }
}

/// Makes the dot a part of the abbreviation.
pub(super) fn close(abbreviation: &mut Word) {
    abbreviation.text.push('.');
    abbreviation.low.push('.');
}

/// Returns whether a word is written as one that begins no sentence.
fn is_in_sentence(word: &Word) -> bool {
    word.is(",") || word.text.starts_with(|it: char| it.is_ascii_lowercase())
}

fn could_be_no_sentence(rest: &[Word]) -> bool {
    let mut same = rest.iter().take_while(|it| !it.is_end());
    !same.any(|it| is_of_form(it) || it.text.starts_with('@'))
}

fn is_of_form(word: &Word) -> bool {
    let mut words = FORMS.iter().flat_map(|row| row.phrases).flat_map(|it| it.split(' '));
    !SMALL.contains(&word.low.as_str()) && words.any(|it| word.is(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_a_word_that_makes_it_one() {
        for phrase in FORMS.iter().flat_map(|row| row.phrases) {
            assert!(phrase.split(' ').any(|it| !SMALL.contains(&it)), "{phrase}");
        }
    }
}
