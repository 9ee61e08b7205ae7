//! Tests of the screen, as a terminal shows it.

use proptest::prelude::*;

use super::*;
use crate::editor::Editor;
use crate::line::Ink;

/// A terminal, and what is drawn on it.
struct Scene {
    terminal: vt100::Parser,
    canvas: Canvas,
}

impl Scene {
    fn new(columns: u16, rows: u16) -> Self {
        let size = Size { columns: columns.into(), rows: rows.into() };
        Self { terminal: vt100::Parser::new(rows, columns, 1000), canvas: Canvas::new(size, true) }
    }

    fn print(&mut self, text: &str) {
        let lines: Vec<Line> = text.lines().map(Line::plain).collect();
        let sent = self.canvas.print(&lines, &mark());
        self.terminal.process(sent.as_bytes());
    }

    fn show(&mut self, typed: &str) {
        let sent = self.canvas.show(region(typed, self.canvas.size()));
        self.terminal.process(sent.as_bytes());
    }

    fn resize(&mut self, columns: u16, rows: u16, typed: &str) {
        self.terminal.screen_mut().set_size(rows, columns);
        let size = Size { columns: columns.into(), rows: rows.into() };
        let sent = self.canvas.resize(size, region(typed, size));
        self.terminal.process(sent.as_bytes());
    }

    /// Returns the rows that are not empty.
    fn rows(&self) -> Vec<String> {
        let screen = self.terminal.screen();
        let (_, columns) = screen.size();
        let mut rows: Vec<String> =
            screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }
}

fn mark() -> Span {
    Span::new(Ink::Quiet, "| ")
}

fn region(typed: &str, size: Size) -> Frame {
    let mut editor = Editor::default();
    editor.replace(typed);
    Frame::of(&editor, &Span::new(Ink::Question, "> "), size.columns)
        .below(vec![Line::new(Ink::Quiet, "* working")])
}

#[test]
fn lines_scroll_away_above_the_region() {
    let mut scene = Scene::new(20, 6);
    scene.show("");
    scene.print("one\ntwo");
    scene.show("typed");
    assert_eq!(scene.rows(), ["one", "two", "* working", "> typed"]);
    assert_eq!(scene.terminal.screen().cursor_position(), (3, 7));
    scene.print("a long line of more than twenty\nfour\nfive");
    // What the region said is not said below lines that came after it.
    let expected = ["one", "two", "a long line of more", "| than twenty", "four", "five"];
    assert_eq!(scene.rows()[..], expected[1..]);
    scene.show("typed");
    let expected = ["a long line of more", "| than twenty", "four", "five", "* working", "> typed"];
    assert_eq!(scene.rows(), expected);
}

#[test]
fn a_region_that_shrinks_leaves_nothing_behind() {
    let mut scene = Scene::new(10, 8);
    scene.print("one");
    scene.show("abcdefghijklmnop");
    assert_eq!(scene.rows(), ["one", "* working", "> abcdefgh", "  ijklmnop"]);
    scene.show("a");
    assert_eq!(scene.rows(), ["one", "* working", "> a"]);
    let sent = scene.canvas.leave();
    scene.terminal.process(sent.as_bytes());
    assert_eq!(scene.rows(), ["one"]);
    assert_eq!(scene.terminal.screen().cursor_position(), (1, 0));
}

/// tmux keeps in its history what is cleared from the top of the screen at once.
#[test]
fn a_region_is_taken_away_row_by_row() {
    let mut scene = Scene::new(20, 6);
    scene.show("one");
    let size = scene.canvas.size();
    for sent in [scene.canvas.show(region("two", size)), scene.canvas.leave()] {
        assert!(sent.contains("\x1b[2K") && !sent.contains("\x1b[J"), "{sent:?}");
    }
}

#[test]
fn what_stands_there_already_is_not_sent_again() {
    let mut scene = Scene::new(10, 8);
    scene.show("a");
    assert_eq!(scene.canvas.show(region("a", scene.canvas.size())), "");
}

#[test]
fn another_size_is_drawn_anew() {
    let mut scene = Scene::new(40, 10);
    scene.terminal.process(b"$ ironcurtain start\r\n");
    scene.print(&"ß".repeat(30));
    scene.show(&"日".repeat(12));
    scene.resize(20, 8, &"日".repeat(12));
    assert_eq!(
        scene.rows(),
        [
            &"ß".repeat(20),
            &format!("| {}", "ß".repeat(10)),
            "* working",
            &format!("> {}", "日".repeat(9)),
            &format!("  {}", "日".repeat(3))
        ]
    );
    scene.resize(60, 12, "x");
    assert_eq!(scene.rows(), [&"ß".repeat(30), "* working", "> x"]);
    // What was there before us is in the history, once.
    scene.terminal.screen_mut().set_scrollback(1000);
    let history = scene.rows().join("\n");
    assert_eq!(history.matches("$ ironcurtain start").count(), 1, "{history}");
}

#[test]
fn a_screen_without_room_shows_the_cursor() {
    let mut scene = Scene::new(10, 3);
    scene.print("one\ntwo\nthree");
    scene.show(&"abcdefghi".repeat(20));
    assert_eq!(scene.rows().len(), 3);
    scene.resize(4, 2, "abcdefgh");
    scene.print("four");
    scene.resize(30, 9, "abcdefgh");
    assert_eq!(scene.rows(), ["one", "two", "three", "four", "* working", "> abcdefgh"]);
}

#[test]
fn an_empty_screen_on_demand() {
    let mut scene = Scene::new(20, 6);
    scene.print("one\ntwo");
    scene.show("typed");
    let sent = scene.canvas.clear();
    scene.terminal.process(sent.as_bytes());
    assert_eq!(scene.rows(), ["* working", "> typed"]);
    scene.print("three");
    assert_eq!(scene.rows(), ["three"]);
    scene.show("typed");
    assert_eq!(scene.rows(), ["three", "* working", "> typed"]);
}

proptest! {
    /// Whatever was printed, typed and resized, the last lines and the region stand there, once.
    #[test]
    fn the_screen_is_what_was_printed_last(
        steps in proptest::collection::vec((0..4_u8, "[a-zß日 ]{0,50}", 6..50_u16, 4..20_u16), 1..30)
    ) {
        let mut scene = Scene::new(30, 10);
        let (mut printed, mut typed) = (Vec::new(), String::new());
        scene.show("");
        for (kind, text, columns, rows) in steps {
            match kind {
                0 | 1 => {
                    printed.push(text.clone());
                    scene.print(&format!("{text}\n"));
                    if text.is_empty() { scene.print("\n"); }
                }
                2 => {
                    typed = text;
                    scene.show(&typed);
                }
                _ => scene.resize(columns, rows, &typed),
            }
        }
        let size = scene.canvas.size();
        scene.show(&typed);
        let expected = region(&typed, size).within(size.rows - 1);
        let expected: Vec<String> =
            expected.rows.iter().map(|row| row.cut(size.columns).text().trim_end().to_owned()).collect();
        let rows = scene.rows();
        // A row of the region may be empty but for the cursor.
        let mut tail = expected.clone();
        while tail.last().is_some_and(String::is_empty) { tail.pop(); }
        prop_assert!(rows.ends_with(&tail), "{rows:?} does not end with {tail:?}");
    }
}
