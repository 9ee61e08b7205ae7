//! Finding words in text.

/// Returns whether `text` contains `words` with no letter, digit, `_` or `-` touching either end.
///
/// An end of `words` that is itself no such character may touch anything.
pub(super) fn mentions(text: &str, words: &str) -> bool {
    let opens = words.chars().next().is_some_and(is_word);
    let closes = words.chars().next_back().is_some_and(is_word);
    text.match_indices(words).any(|(start, found)| {
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        let after = text.get(start + found.len()..).and_then(|it| it.chars().next());
        !(opens && before.is_some_and(is_word) || closes && after.is_some_and(is_word))
    })
}

/// Returns the parts of `text` between pairs of `quote`.
pub(super) fn quoted(text: &str, quote: char) -> impl Iterator<Item = &str> {
    text.split(quote).skip(1).step_by(2)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_count() {
        assert!(mentions("uses `ic-types`.", "ic-types"));
        assert!(!mentions("uses ic-types-more", "ic-types"));
        assert!(mentions("ic-types-more, ic-types", "ic-types"));
        assert!(!mentions("Instants of my_Instant", "Instant"));
        assert!(mentions("std::fs::read", "fs::"));
        assert!(!mentions("offs::read", "fs::"));
    }

    #[test]
    fn quotes_come_in_pairs() {
        let parts: Vec<&str> = quoted("a `b` c `d`", '`').collect();
        assert_eq!(parts, ["b", "d"]);
    }
}
