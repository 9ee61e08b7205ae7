//! Text without what a reader cannot see: controls, terminal sequences, marks that hide or reorder.
//!
//! It is for a model and for a person's terminal alike, and neither should be told something that the
//! other does not see.

/// Takes out what cannot be seen, and makes line ends plain.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    cleaned.push('\n');
                }
            }
            '\n' | '\t' => cleaned.push(c),
            // A mark of its own, so that what was there is not read as one word.
            c if c.is_control() => cleaned.push('\u{fffd}'),
            c if is_invisible(c) => {}
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// Makes one short line of `text`.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    let cleaned = clean(text);
    let words = cleaned.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(chars_max) {
        None => words,
        Some((at, _)) => format!("{}…", words.get(..at).unwrap_or_default()),
    }
}

/// Returns whether nobody sees `c`, though whoever reads code points does.
fn is_invisible(c: char) -> bool {
    matches!(c,
        // Soft hyphen, zero-width space, marks and joiners of words.
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        // Embeddings, overrides and isolates, which reorder what is seen.
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Tags, and the selectors that can carry any bytes.
        | '\u{e0000}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_taken_out() {
        for (text, expected) in [
            ("a\r\nb\rc\td", "a\nb\nc\td"),
            ("\x1b[31mred\x1b]0;title\x07", "\u{fffd}[31mred\u{fffd}]0;title\u{fffd}"),
            ("a\0b\u{9b}c\u{7f}", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("ab\u{202e}cd\u{2069}\u{200b}", "abcd"),
            ("hi\u{e0068}\u{e0069}\u{e0100}", "hi"),
            ("Grüße 👩‍👩‍👧 می‌خواهم", "Grüße 👩‍👩‍👧 می‌خواهم"),
        ] {
            assert_eq!(clean(text), expected);
        }
        assert_eq!(line("  a\n\tb\r\n c  ", 10), "a b c");
        assert_eq!(line("abcdef", 3), "abc…");
    }
}
