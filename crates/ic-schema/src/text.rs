//! Texts of strangers in our sentences: cut short, and without characters that do something.
//!
//! Does not hide anything: whoever reads the sentence sees that something was cut or escaped.

/// How many characters of a text are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut(usize);

impl Cut {
    /// One key of an object.
    pub(crate) const KEY: Self = Self(60);
    /// One value of a list of values.
    pub(crate) const VALUE: Self = Self(40);
    /// A place in the arguments or in a schema, or a pattern.
    pub(crate) const PLACE: Self = Self(160);
    /// A sentence that holds other sentences.
    pub(crate) const SENTENCE: Self = Self(600);

    /// Returns a sentence of ours in at most so many characters, and a mark where it was cut.
    pub(crate) fn ours(self, mut sentence: String) -> String {
        if let Some((end, _)) = sentence.char_indices().nth(self.0) {
            sentence.truncate(end);
            sentence.push('…');
        }
        sentence
    }

    /// Returns a stranger's text in at most so many characters, and a mark where it was cut.
    pub(crate) fn of(self, text: &str) -> String {
        let mut out = String::new();
        for (n_shown, c) in text.chars().enumerate() {
            if n_shown == self.0 {
                out.push('…');
                break;
            }
            match c {
                '"' | '\'' | '\\' => out.push(c),
                // A backtick would end the quotation early.
                '`' => out.push('\''),
                c => out.extend(c.escape_debug()),
            }
        }
        out
    }
}

/// Joins the first of `items`, and says how many more there are.
pub(crate) fn list<S: AsRef<str>>(items: impl ExactSizeIterator<Item = S>) -> String {
    /// More than a model can use, and less than a page.
    const SHOWN_MAX: usize = 12;
    let n_more = items.len().saturating_sub(SHOWN_MAX);
    let shown: Vec<String> = items.take(SHOWN_MAX).map(|item| item.as_ref().to_owned()).collect();
    let shown = shown.join(", ");
    if n_more == 0 { shown } else { format!("{shown} and {n_more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_signs_that_do_something_are_shown() {
        assert_eq!(Cut::KEY.of("path"), "path");
        assert_eq!(Cut(3).of("päth"), "pät…");
        assert_eq!(Cut(3).of("pät"), "pät");
        assert_eq!(Cut::KEY.of("a\u{1b}[31m`b`\n\u{202e}"), "a\\u{1b}[31m'b'\\n\\u{202e}");
        assert_eq!(Cut::VALUE.of(r#""say 'x\y'""#), r#""say 'x\y'""#);
    }

    #[test]
    fn our_own_sentences_are_only_cut() {
        assert_eq!(Cut(4).ours("`ä`\"".to_owned()), "`ä`\"");
        assert_eq!(Cut(3).ours("`ä`\"".to_owned()), "`ä`…");
    }

    #[test]
    fn long_lists_say_how_much_was_left_out() {
        assert_eq!(list(["a", "b"].iter()), "a, b");
        assert_eq!(list(["a"; 14].iter()), "a, a, a, a, a, a, a, a, a, a, a, a and 2 more");
    }
}
