//! Text from outside, made fit for the eyes of a person: it neither drives the terminal nor hides.
//!
//! Says nothing about how long a text may be, nor where it is shown.

use std::fmt::Write as _;

/// Marks that may stand over one letter; more of them reach into the lines above and below.
const MARKS_MAX: usize = 2;
/// Spaces in a row; more of them push what follows to where it looks like something else, such as a
/// line of ours after the end of a terminal's line.
const SPACES_MAX: usize = 4;
/// How far a line is indented as it is shown.
const INDENT_MAX: usize = 24;
/// Characters in a row that are each written out.
const REPEATS_MAX: usize = 2;

/// Makes visible what would drive the terminal, hide, or look like something else.
///
/// Control characters, bidirectional and zero-width marks, spaces that are no plain space, and
/// characters that mean something on one machine only are written as `\u{202e}`; a run of spaces, or of
/// anything else that is not seen, with how many there are: `\u{20*80}`. The text stands on one line.
pub fn visible(text: &str) -> String {
    match is_plain(text.as_bytes()) {
        true => text.to_owned(),
        false => spelt_out(text),
    }
}

/// Returns whether a text is letters, digits, signs and few spaces of ASCII, as most are: these are
/// shown as they are.
fn is_plain(text: &[u8]) -> bool {
    let mut n_spaces = 0;
    text.iter().all(|byte| {
        n_spaces = if *byte == b' ' { n_spaces + 1 } else { 0 };
        (b' '..=b'~').contains(byte) && n_spaces <= SPACES_MAX
    })
}

fn spelt_out(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut n_marks = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        n_marks = if is_mark(c) { n_marks + 1 } else { 0 };
        if c != ' ' && is_harmless(c) && n_marks <= MARKS_MAX {
            shown.push(c);
            continue;
        }
        let mut count = 1;
        while rest.next_if_eq(&c).is_some() {
            count += 1;
        }
        if c == ' ' && count <= SPACES_MAX {
            shown.extend(std::iter::repeat_n(' ', count));
        } else if count <= REPEATS_MAX {
            shown.extend((0..count).flat_map(|_| c.escape_unicode()));
        } else {
            // Writing to a string cannot fail.
            write!(shown, "\\u{{{:x}*{count}}}", u32::from(c)).ok();
        }
    }
    shown
}

/// Makes a line of some text visible as [`visible`] does, and keeps how far it is indented.
///
/// For lines that stand under one another; more than a screen has room for is counted as elsewhere.
pub fn visible_line(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let n_spaces = line.len() - text.len();
    match n_spaces <= INDENT_MAX && !text.is_empty() {
        true => format!("{:n_spaces$}{}", "", visible(text)),
        false => visible(line),
    }
}

/// Writes out the letters of a text that are read from right to left; `None` if it has none.
///
/// Terminals differ in how they order such letters, and signs and digits between them change their places: a
/// path is not seen in the order in which it is followed.
pub fn letter_by_letter(text: &str) -> Option<String> {
    if !text.contains(is_right_to_left) {
        return None;
    }
    let letter = |c: char| match is_right_to_left(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    Some(visible(&text.chars().map(letter).collect::<String>()))
}

/// Returns whether a letter belongs to a script that is written from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        // Hebrew to Arabic, the forms in which both are presented, and the further planes.
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
    )
}

/// Returns whether a character is seen as what it is, and moves nothing else.
fn is_harmless(c: char) -> bool {
    let is_hidden = matches!(
        c,
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Mongolian fillers.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        // Zero width, bidirectional marks and overrides, line and paragraph separators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        // What is drawn together with the letter after it, or changes the picture before it: a terminal may
        // give both one place, or each its own.
        | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{d4e}'
        | '\u{110bd}' | '\u{110cd}' | '\u{111c2}'..='\u{111c3}' | '\u{113d1}' | '\u{1193f}' | '\u{11941}'
        | '\u{11a3a}' | '\u{11a84}'..='\u{11a89}' | '\u{11d46}' | '\u{11f02}'
        | '\u{1f3fb}'..='\u{1f3ff}'
        // Fillers, variation selectors, byte order mark, interlinear annotation, replacement.
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{13430}'..='\u{1345f}'
        // Tags and further variation selectors.
        | '\u{e0000}'..='\u{e0fff}'
        // What a font of this machine may show as anything, and what is no character.
        | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' | '\u{fdd0}'..='\u{fdef}'
    );
    let is_no_character = u32::from(c) & 0xfffe == 0xfffe;
    !c.is_control() && !is_hidden && !is_no_character && (c == ' ' || !c.is_whitespace())
}

/// Returns whether a character is drawn over the one before it.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_that_change_their_places_are_written_out() {
        for (text, expected) in [
            ("/home/ada/notes", None),
            ("/home/Ünï/日本/е", None),
            ("/a/שב/1", Some("/a/\\u{5e9}\\u{5d1}/1")),
            ("/a/سر", Some("/a/\\u{633}\\u{631}")),
            ("\u{10d00}\u{1e900}\u{fe8d}", Some("\\u{10d00}\\u{1e900}\\u{fe8d}")),
            ("א\u{202e}\n", Some("\\u{5d0}\\u{202e}\\u{a}")),
        ] {
            assert_eq!(letter_by_letter(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_could_hide_or_drive_is_shown() {
        for (text, expected) in [
            ("plain – ünï 日本", "plain – ünï 日本"),
            ("e\u{301}", "e\u{301}"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\nb\tc\0", "a\\u{a}b\\u{9}c\\u{0}"),
            ("x\u{202e}txt.exe", "x\\u{202e}txt.exe"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{a0}b\u{3000}", "a\\u{a0}b\\u{3000}"),
            ("\u{e0041}\u{e0b0}", "\\u{e0041}\\u{e0b0}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{fffe}\u{10ffff}", "\\u{fffe}\\u{10ffff}"),
            ("a\u{300}\u{301}\u{302}b\u{300}", "a\u{300}\u{301}\\u{302}b\u{300}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn spaces_do_not_carry_text_to_another_place() {
        assert_eq!(visible(&" ".repeat(4)), " ".repeat(4));
        assert_eq!(visible(&format!("a{}5 x", " ".repeat(80))), "a\\u{20*80}5 x");
        assert_eq!(visible(&format!("a{}", " ".repeat(5))), "a\\u{20*5}");
        assert_eq!(visible("a\t\t\t\tb\u{a0}\u{a0}"), "a\\u{9*4}b\\u{a0}\\u{a0}");
        assert_eq!(visible(&"\u{3000}".repeat(40)), "\\u{3000*40}");
        assert_eq!(visible(&format!("e{}", "\u{301}".repeat(9))), "e\u{301}\u{301}\\u{301*7}");
    }

    #[test]
    fn a_line_is_as_far_indented_as_it_was() {
        for (line, expected) in [
            ("x  y", "x  y".to_owned()),
            (&format!("{}x", " ".repeat(24)), format!("{}x", " ".repeat(24))),
            (&format!("{}x", " ".repeat(25)), "\\u{20*25}x".to_owned()),
            (&format!("  x{}y", " ".repeat(9)), "  x\\u{20*9}y".to_owned()),
            (&" ".repeat(9), "\\u{20*9}".to_owned()),
        ] {
            assert_eq!(visible_line(line), expected);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_shown_is_harmless(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(shown.chars().all(is_harmless), "{shown:?}");
            prop_assert_eq!(visible(&shown), shown.clone(), "showing it again changes nothing");
        }

        #[test]
        fn plain_text_is_shown_as_the_long_way_shows_it(text in "[ -~]{0,8}[ a\x1f\x7f\u{80}]{0,9}") {
            prop_assert_eq!(visible(&text), spelt_out(&text));
        }
    }
}
