//! What may stand on a screen: text in some ink, which drives no terminal and hides nothing.
//!
//! Where it stands is not known here.

use ic_types::visible;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// How far a tab reaches.
const TAB_COLUMNS: usize = 4;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Ink {
    /// As any other.
    #[default]
    Plain,
    /// What matters.
    Strong,
    /// What is said with a different voice.
    Emphasis,
    /// What a program reads.
    Code,
    /// What is beside the point.
    Quiet,
    /// Something went as it should.
    Good,
    /// Something did not happen.
    Bad,
    /// Somebody is asked.
    Question,
}

/// A piece of a line, which is harmless.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Span {
    ink: Ink,
    text: String,
}

/// A line of text, as wide as it may be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Line(Vec<Span>);

impl Span {
    /// Makes a piece of any text; what could drive a terminal, or hide, is made visible.
    pub fn new(ink: Ink, text: &str) -> Self {
        Self { ink, text: harmless(text) }
    }
}

impl Line {
    /// Makes a line of any text.
    pub fn new(ink: Ink, text: &str) -> Self {
        Self(vec![Span::new(ink, text)])
    }

    /// Makes a line of plain text.
    pub fn plain(text: &str) -> Self {
        Self::new(Ink::Plain, text)
    }

    /// Adds a piece at the end.
    #[must_use]
    pub fn and(mut self, ink: Ink, text: &str) -> Self {
        self.push(Span::new(ink, text));
        self
    }

    /// Adds a piece at the end.
    pub fn push(&mut self, span: Span) {
        self.0.push(span);
    }

    /// Returns it with `mark` before it.
    #[must_use]
    pub fn behind(&self, mark: &Span) -> Self {
        Self([std::slice::from_ref(mark), &self.0].concat())
    }

    /// Returns how many columns it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|span| span.text.width()).sum()
    }

    /// Returns its pieces, each with its ink, for whoever draws cells instead of sending bytes.
    pub fn pieces(&self) -> impl Iterator<Item = (Ink, &str)> {
        self.0.iter().map(|span| (span.ink, span.text.as_str()))
    }

    /// Returns what stands there, without its ink.
    pub fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns what a terminal is sent to show it.
    pub fn to_sent(&self, is_painted: bool) -> String {
        let mut sent = String::new();
        for span in self.0.iter().filter(|span| !span.text.is_empty()) {
            match span.ink.code().filter(|_| is_painted) {
                Some(code) => sent.extend(["\x1b[", code, "m", &span.text, "\x1b[0m"]),
                None => sent.push_str(&span.text),
            }
        }
        sent
    }

    /// Returns the part of it that fits into `columns`.
    #[must_use]
    pub fn cut(&self, columns: usize) -> Self {
        let (mut cut, mut used) = (Self::default(), 0);
        for span in &self.0 {
            let fits = |cell: &&str| {
                used += cell.width();
                used <= columns
            };
            let text: String = span.text.graphemes(true).take_while(fits).collect();
            let is_whole = text.len() == span.text.len();
            cut.0.push(Span { ink: span.ink, text });
            if !is_whole {
                break;
            }
        }
        cut
    }

    /// Returns it in at most `columns`; where it is wider, the middle is left out.
    ///
    /// Of many lines that begin alike it is the ends that tell which is which.
    #[must_use]
    pub fn cut_middle(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let room = columns.saturating_sub(1);
        // The end of a path says more than its beginning.
        let (head, tail) = (room - room * 3 / 5, room * 3 / 5);
        let cells = self
            .0
            .iter()
            .flat_map(|span| span.text.graphemes(true).map(|cell| (span.ink, cell, cell.width())));
        let cells: Vec<(Ink, &str, usize)> = cells.collect();
        let fitting = |room: usize| {
            let mut used = 0;
            move |cell: &&(Ink, &str, usize)| {
                used += cell.2;
                used <= room
            }
        };
        let first: Vec<_> = cells.iter().take_while(fitting(head)).collect();
        let mut last: Vec<_> = cells.iter().rev().take_while(fitting(tail)).collect();
        last.reverse();
        let gap = (0 < columns).then_some(&(Ink::Quiet, "…", 1));
        let kept = first.into_iter().chain(gap).chain(last);
        Self(kept.map(|(ink, text, _)| Span { ink: *ink, text: (*text).to_owned() }).collect())
    }

    /// Breaks it into rows of at most `columns`, each after the first behind `mark`; a single character
    /// that is wider than what is left beside the mark gets a row all the same.
    ///
    /// A row ends before a space where it can, so that words, paths and ids stay whole; what is wider
    /// than a row is broken anywhere. The space begins the next row, unless `mark` ends with one that
    /// stands for it.
    ///
    /// SECURITY: a terminal begins the rest of a long line at its left edge, where it can look like a
    /// line of ours.
    pub fn fold(&self, columns: usize, mark: &Span) -> Vec<Self> {
        let mark_width = mark.text.width();
        let room = columns.saturating_sub(mark_width);
        let mut cells = Vec::new();
        for span in &self.0 {
            cells.extend(cells_of(&span.text, room).map(|(text, width)| (span.ink, text, width)));
        }
        let widths: Vec<(usize, bool)> = cells.iter().map(|it| (it.2, it.1 == " ")).collect();
        let is_swallowed = mark.text.ends_with(' ');
        let mut rows = Vec::new();
        for (at, row) in breaks(&widths, columns, mark_width, is_swallowed).into_iter().enumerate()
        {
            let mut spans: Vec<Span> = Vec::new();
            for (ink, text, _) in cells.get(row).unwrap_or_default() {
                match spans.last_mut().filter(|last| last.ink == *ink) {
                    Some(last) => last.text.push_str(text),
                    None => spans.push(Span { ink: *ink, text: (*text).to_owned() }),
                }
            }
            let line = Self(spans);
            rows.push(if at == 0 { line } else { line.behind(mark) });
        }
        rows
    }
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Emphasis => Some("3"),
            Self::Code => Some("36"),
            Self::Quiet => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Question => Some("1;33"),
        }
    }
}

/// Returns which cells stand in each row of at most `columns`, of which all but the first have a mark; of
/// each cell is known how wide it is, and whether it is a space.
pub fn breaks(
    cells: &[(usize, bool)],
    columns: usize,
    mark_width: usize,
    is_swallowed: bool,
) -> Vec<std::ops::Range<usize>> {
    let (mut rows, mut begin, mut used) = (Vec::new(), 0, 0);
    // The last space before which the row may end, and how wide it is up to there.
    let mut space: Option<(usize, usize)> = None;
    let mut has_word = false;
    for (at, (width, is_space)) in cells.iter().copied().enumerate() {
        if columns < used + width && begin < at {
            // What follows the space would begin the next row; the space itself only if nothing stands for it.
            let fits = |before: usize| {
                mark_width + used - before - usize::from(is_swallowed) + width <= columns
            };
            let rest = space.filter(|(_, before)| fits(*before));
            // A space ends the row itself.
            let (end, before) =
                if is_space && has_word { (at, used) } else { rest.unwrap_or((at, used)) };
            rows.push(begin..end);
            let is_skipped = is_swallowed && cells.get(end).is_some_and(|it| it.1);
            begin = end + usize::from(is_skipped);
            used = mark_width + (used - before).saturating_sub(usize::from(is_skipped && end < at));
            (space, has_word) = (None, end < at);
            if begin > at {
                continue;
            }
        }
        if is_space && has_word {
            space = Some((at, used));
        }
        has_word |= !is_space;
        used += width;
    }
    if begin < cells.len() || rows.is_empty() {
        rows.push(begin..cells.len());
    }
    rows
}

/// Returns what is not torn apart when a text is folded, and the columns each takes at most.
///
/// Letters of some scripts join without end, so what would not fit into `room` is torn nevertheless. A
/// character alone may then look different (a selector widens the one before it), so each counts for one
/// column at least.
fn cells_of(text: &str, room: usize) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true).flat_map(move |cell| {
        let is_torn = room < cell.width();
        let whole = (!is_torn).then(|| (cell, cell.width()));
        let torn = cell.split("").filter(move |part| is_torn && !part.is_empty());
        whole.into_iter().chain(torn.map(|part| (part, part.width().max(1))))
    })
}

/// Makes text harmless for a terminal; spaces stay as many as they are, and a tab becomes some.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive([' ', '\t']) {
        let word = part.trim_end_matches([' ', '\t']);
        shown.push_str(&visible(word));
        match part.chars().last() {
            Some(' ') => shown.push(' '),
            Some('\t') => {
                let n_spaces = TAB_COLUMNS - shown.width() % TAB_COLUMNS;
                shown.extend(std::iter::repeat_n(' ', n_spaces));
            }
            _ => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(text: &str, columns: usize) -> Vec<String> {
        let mark = Span::new(Ink::Quiet, "|>");
        Line::plain(text).fold(columns, &mark).iter().map(Line::text).collect()
    }

    /// A letter that shares its place with its neighbour on some terminals would be hidden by what follows.
    #[test]
    fn every_letter_has_a_place_of_its_own() {
        for c in ' '..=char::MAX {
            if visible(&c.to_string()) != c.to_string() {
                continue;
            }
            let n_places = |text: String| text.graphemes(true).count();
            assert_eq!(n_places(format!("{c}b")), 2, "{:x} before a letter", u32::from(c));
            for before in ['a', '\u{1f466}'] {
                let apart = before.to_string().width() + c.to_string().width();
                let together = format!("{before}{c}").width();
                assert_eq!(together, apart, "{:x} behind {before}", u32::from(c));
            }
        }
    }

    #[test]
    fn what_is_too_wide_loses_its_middle() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("write_file /a/b/c/d/e.txt (files)", 20, "write_fi…txt (files)"),
            ("日本語のとても長い名前", 9, "日本…名前"),
            ("abcdef", 1, "…"),
            ("abcdef", 0, ""),
        ] {
            let cut = Line::plain(text).cut_middle(columns);
            assert_eq!(cut.text(), expected, "{text}");
            assert!(cut.width() <= columns, "{text}");
        }
    }

    #[test]
    fn what_could_drive_a_terminal_is_shown() {
        for (text, expected) in [
            ("a  b      c", "a  b      c"),
            ("a\tb", "a   b"),
            ("abcd\tb", "abcd    b"),
            ("\x1b[2J\r\n", "\\u{1b}[2J\\u{d}\\u{a}"),
            ("a\u{202e}b\u{9b}1m", "a\\u{202e}b\\u{9b}1m"),
            ("日本 e\u{301} ß", "日本 e\u{301} ß"),
        ] {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_folded_behind_its_mark() {
        assert_eq!(folded("abcdef", 4), ["abcd", "|>ef"]);
        assert_eq!(folded("abcd", 4), ["abcd"]);
        assert_eq!(folded("", 4), [""]);
        // What is two columns wide is not torn apart.
        assert_eq!(folded("a日日日", 5), ["a日日", "|>日"]);
        assert_eq!(folded("abe\u{301}e\u{301}x", 4), ["abe\u{301}e\u{301}", "|>x"]);
        // The widest character there is takes three, and a letter of Devanagari as many as it likes.
        assert_eq!(folded(" A\u{17d8}", 5), [" A\u{17d8}"]);
        assert_eq!(folded(" AB\u{17d8}", 5), [" AB", "|>\u{17d8}"]);
        assert_eq!(folded("abcक्क्क्क", 5), ["abcक्", "|>क्क", "|>्क"]);
    }

    #[test]
    fn words_paths_and_ids_stay_whole_where_they_fit() {
        for (text, columns, expected) in [
            ("one two three", 8, vec!["one two", "|> three"]),
            ("one two", 3, vec!["one", "|> ", "|>t", "|>w", "|>o"]),
            ("  id: 0000-11", 10, vec!["  id:", "|> 0000-11"]),
            ("see /a/long/path, then", 14, vec!["see", "|> /a/long/pat", "|>h, then"]),
            // What begins a line is no place to end it.
            ("    abcdefgh", 8, vec!["    abcd", "|>efgh"]),
            ("ab  cd", 5, vec!["ab ", "|> cd"]),
            ("a b c d", 5, vec!["a b c", "|> d"]),
        ] {
            assert_eq!(folded(text, columns), expected, "{text}");
        }
        let prose = |text: &str, columns| {
            let mark = Span::new(Ink::Quiet, "│ ");
            Line::plain(text).fold(columns, &mark).iter().map(Line::text).collect::<Vec<_>>()
        };
        assert_eq!(prose("one two three four", 9), ["one two", "│ three", "│ four"]);
        assert_eq!(prose("one two ", 7), ["one two"]);
        assert_eq!(prose("one  two", 4), ["one ", "│ tw", "│ o"]);
        assert_eq!(prose("aa abcdefghijkl", 14), ["aa", "│ abcdefghijkl"]);
        let inks = Line::plain("see ").and(Ink::Code, "a b").and(Ink::Plain, " c");
        let rows: Vec<String> =
            inks.fold(6, &Span::new(Ink::Plain, "│ ")).iter().map(|it| it.to_sent(true)).collect();
        assert_eq!(rows, ["see \x1b[36ma\x1b[0m", "│ \x1b[36mb\x1b[0m c"]);
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        let line = Line::plain("ab").and(Ink::Bad, "日c");
        for (columns, expected) in [(0, ""), (2, "ab"), (3, "ab"), (4, "ab日"), (9, "ab日c")] {
            assert_eq!(line.cut(columns).text(), expected);
        }
    }

    #[test]
    fn ink_is_for_those_who_want_it() {
        let line = Line::plain("a ").and(Ink::Bad, "b").and(Ink::Plain, "");
        assert_eq!(line.to_sent(true), "a \x1b[31mb\x1b[0m");
        assert_eq!(line.to_sent(false), "a b");
    }

    proptest! {
        #[test]
        fn nothing_but_our_own_ink_is_sent(text in any::<String>(), columns in 5..60_usize) {
            let line = Line::new(Ink::Strong, &text);
            for row in line.fold(columns, &Span::new(Ink::Quiet, "| ")) {
                prop_assert!(row.width() <= columns, "{row:?}");
                prop_assert!(!row.to_sent(false).chars().any(char::is_control));
                let sent = row.to_sent(true);
                let ours = sent.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "");
                prop_assert!(!ours.chars().any(char::is_control), "{ours:?}");
            }
        }

        #[test]
        fn no_word_is_broken_that_fits_a_row(words in prop::collection::vec("[a-z/]{1,12}", 1..12), columns in 14..40_usize) {
            let rows = Line::plain(&words.join(" ")).fold(columns, &Span::new(Ink::Plain, "│ "));
            let rows: Vec<String> = rows.iter().map(Line::text).collect();
            let shown: Vec<&str> =
                rows.iter().flat_map(|row| row.trim_start_matches("│ ").split(' ')).collect();
            prop_assert_eq!(shown, words);
        }

        #[test]
        fn folding_loses_nothing(text in any::<String>(), columns in 4..60_usize) {
            let line = Line::plain(&text);
            let rows = line.fold(columns, &Span::new(Ink::Quiet, "|>"));
            let rest = rows.iter().skip(1).map(|row| row.text().strip_prefix("|>").map(str::to_owned));
            let rest: String = rest.map(|it| it.expect("the mark")).collect();
            prop_assert_eq!(format!("{}{rest}", rows.first().expect("a row").text()), line.text());
        }
    }
}
