//! What we draw ourselves: the row below the program's screen, and a question over all of it.
//!
//! What is asked, and what answers, is not known here.

use crate::cell::{Cell, Style};
use crate::frame::{Frame, Span};
use crate::screen::Size;

/// How a program is asked about.
pub const DECIDE: &str = "Ctrl-] to decide";
/// Between two things in the row.
const BETWEEN: &str = " · ";
/// What stands where something was left out.
const CUT: &str = "…";

/// The row below a program's screen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bar<'a> {
    /// How many requests wait.
    pub n_waiting: usize,
    /// What the first of them is about, or what is said where none waits.
    pub about: &'a str,
}

/// A question, laid out.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Its rows from the top, each of which fits.
    pub rows: &'a [(Style, &'a str)],
    /// What can be typed, in rows that fit.
    pub asked: &'a [String],
    /// Why what was typed did not count.
    pub hint: Option<&'a str>,
}

impl Bar<'_> {
    /// Puts it into a row of a frame, all of which it takes.
    pub fn put(&self, frame: &mut Frame, row: usize) {
        let columns = frame.size().columns;
        let (text, style) = match self.n_waiting {
            0 => (cut(&format!(" {}", self.about), columns), Style::reversed()),
            n => {
                let requests =
                    if n == 1 { "1 request".to_owned() } else { format!("{n} requests") };
                (waiting(&requests, self.about, columns), waiting_style())
            }
        };
        frame.put(row, &[Span { text: &text, style }], style);
    }
}

impl Question<'_> {
    /// Draws it over the whole screen.
    pub fn to_frame(&self, size: Size) -> Frame {
        let mut frame = Frame::empty(size);
        let n_rows = frame.size().rows;
        let below = self.asked.iter().map(|text| (Style::coloured(3, Style::BOLD), text.as_str()));
        let below: Vec<(Style, &str)> = below
            .chain(self.hint.map(|hint| (Style { flags: Style::DIM, ..Style::default() }, hint)))
            .collect();
        let from = n_rows.saturating_sub(below.len());
        for (row, (style, text)) in self.rows.iter().take(from).enumerate() {
            frame.put(row, &[Span { text, style: *style }], Style::default());
        }
        for (row, (style, text)) in below.iter().enumerate() {
            let text = cut(text, frame.size().columns);
            frame.put(from + row, &[Span { text: &text, style: *style }], Style::default());
        }
        frame
    }
}

fn waiting_style() -> Style {
    Style { flags: Style::REVERSE | Style::BOLD, ..Style::coloured(3, 0) }
}

/// Says what waits; what it is about is cut before what can be done about it.
fn waiting(requests: &str, about: &str, columns: usize) -> String {
    let ends = [format!(" {requests}"), DECIDE.to_owned()];
    let n_taken: usize = ends.iter().map(|it| width(it)).sum::<usize>() + 2 * width(BETWEEN);
    let [requests, decide] = &ends;
    match columns.saturating_sub(n_taken) {
        // Too narrow for what it is about.
        0..8 => cut(&format!("{requests}{BETWEEN}{decide}"), columns),
        room => format!("{requests}{BETWEEN}{}{BETWEEN}{decide}", cut(about, room)),
    }
}

/// Cuts a text to a number of columns.
fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (mut kept, mut n_columns) = (String::new(), 0);
    for symbol in text.chars() {
        let next = n_columns + width_of(symbol);
        if columns < next + width(CUT) {
            break;
        }
        kept.push(symbol);
        n_columns = next;
    }
    if width(CUT) <= columns {
        kept.push_str(CUT);
    }
    kept
}

fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Returns how many columns a character takes in a [`Frame`], where one that cannot be shown is a question mark.
fn width_of(symbol: char) -> usize {
    Cell::of(symbol, Style::default()).map_or(1, |cell| cell.width().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    const SIZES: [(usize, usize); 3] = [(12, 40), (24, 80), (60, 200)];

    fn bar(columns: usize, n_waiting: usize, about: &str) -> String {
        let mut frame = Frame::empty(Size::new(1, columns));
        Bar { n_waiting, about }.put(&mut frame, 0);
        frame.text(0)
    }

    #[test]
    fn the_row_says_what_waits_and_how_to_decide_in_any_width() {
        let about = "filesystem.write_file ~/Documents/report.md";
        let rows = SIZES.map(|(_, columns)| bar(columns, 1, about));
        let whole = " 1 request · filesystem.write_file ~/Documents/report.md · Ctrl-] to decide";
        assert_eq!(rows, [" 1 request · filesys… · Ctrl-] to decide", whole, whole]);
        let rows = SIZES.map(|(_, columns)| bar(columns, 12, "漢字".repeat(60).as_str()));
        let wide = |n| format!(" 12 requests · {}… · Ctrl-] to decide", "漢字".repeat(n));
        assert_eq!(rows, [" 12 requests · Ctrl-] to decide".to_owned(), wide(11), wide(41)]);
        let usual = "Claude Code in a cage · Ctrl-\\ twice ends it";
        let rows = SIZES.map(|(_, columns)| bar(columns, 0, usual));
        let whole = format!(" {usual}");
        assert_eq!(
            rows,
            [" Claude Code in a cage · Ctrl-\\ twice e…", whole.as_str(), whole.as_str()]
        );
        for columns in 1..60 {
            for about in [about, "x\x1b[2Jy\u{202e}z", ""] {
                for n_waiting in [0, 1, 1000] {
                    let mut frame = Frame::empty(Size::new(1, columns));
                    Bar { n_waiting, about }.put(&mut frame, 0);
                    assert!(!frame.text(0).contains('\x1b'));
                    let says = frame.text(0).contains(DECIDE);
                    assert!(n_waiting == 0 || columns < 34 || says, "{columns}: {}", frame.text(0));
                }
            }
        }
    }

    #[test]
    fn a_question_takes_the_whole_screen_and_its_keys_stand_below() {
        let style = Style::default();
        let rows = [
            (Style::coloured(3, Style::BOLD), "Approval request:"),
            (style, "#1 filesystem.write_file"),
            (style, "  write-path: /home/user/Documents/report.md"),
        ];
        for (n_rows, columns) in SIZES {
            let asked = ["y approve, n deny, g grant, d details".to_owned()];
            let question = Question { rows: &rows, asked: &asked, hint: Some("press y again") };
            let frame = question.to_frame(Size::new(n_rows, columns));
            let texts: Vec<String> = (0..n_rows).map(|row| frame.text(row)).collect();
            let shown: Vec<String> =
                rows.iter().map(|(_, text)| cut_as_drawn(text, columns)).collect();
            assert_eq!(texts[..3], shown, "{n_rows}×{columns}");
            assert!(texts[3..n_rows - 2].iter().all(String::is_empty));
            assert_eq!(texts[n_rows - 2..], [asked[0].clone(), "press y again".to_owned()]);
        }
        let question = Question { rows: &rows, asked: &["y approve".to_owned()], hint: None };
        let frame = question.to_frame(Size::new(12, 40));
        let texts: Vec<String> = (0..12).map(|row| frame.text(row)).collect();
        let mut expected = vec![String::new(); 12];
        for (row, text) in [
            (0, "Approval request:"),
            (1, "#1 filesystem.write_file"),
            (2, "  write-path: /home/user/Documents/repor"),
            (11, "y approve"),
        ] {
            expected[row] = text.to_owned();
        }
        assert_eq!(texts, expected);
    }

    fn cut_as_drawn(text: &str, columns: usize) -> String {
        text.chars().take(columns).collect()
    }

    #[test]
    fn nothing_that_a_program_sends_changes_the_row_below_it() {
        let size = Size::new(5, 40);
        for attack in [
            "\x1b[5;1Hforged",
            "\x1b[99;99H\x1b[99L",
            "\x1b[1;99r\x1b[99S",
            "\n".repeat(99).as_str(),
            "\x1bc\x1b#8",
        ] {
            let mut screen = Screen::new(Size::new(4, 40));
            screen.feed(attack.as_bytes());
            let mut frame = Frame::of(&screen, size);
            Bar { n_waiting: 1, about: "fetch.http_fetch" }.put(&mut frame, 4);
            assert_eq!(frame.text(4), bar(40, 1, "fetch.http_fetch"), "{attack:?}");
        }
    }
}
