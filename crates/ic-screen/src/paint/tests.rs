//! What is sent, as a terminal of others reads it.

use super::*;
use crate::frame::Span;
use crate::screen::{Known, Screen, Size};

/// Checks that what is sent is on the list: every sequence of a form of ours, and no other control.
#[track_caller]
pub(crate) fn check_sent(sent: &str) {
    assert!(!sent.contains(['\u{202e}', '\u{61c}', '\u{2066}']), "text changes its direction");
    let mut rest = sent;
    while let Some(at) = rest.find(|c: char| c.is_control()) {
        let (_, sequence) = rest.split_at(at);
        let n_bytes = known_sequence(sequence);
        assert!(
            0 < n_bytes,
            "not on the list: {:?}",
            &sequence.chars().take(20).collect::<String>()
        );
        rest = sequence.split_at(n_bytes).1;
    }
}

/// Returns how long the sequence of ours is with which a text begins; 0 if it is none.
fn known_sequence(text: &str) -> usize {
    const MODES: [&str; 11] =
        ["1", "7", "25", "1000", "1002", "1003", "1004", "1006", "1049", "2004", "2026"];
    for whole in ["\x1b=", "\x1b>"] {
        if text.starts_with(whole) {
            return whole.len();
        }
    }
    let Some(body) = text.strip_prefix("\x1b[") else { return 0 };
    let Some(end) = body.find(|c: char| ('@'..='~').contains(&c)) else { return 0 };
    let (parameters, rest) = body.split_at(end);
    let (end_byte, _) = rest.split_at(1);
    let is_numbers = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ";:".contains(c));
    let is_known = match (end_byte, parameters) {
        ("H", place) => is_numbers(place),
        ("m", style) => is_numbers(style),
        ("J", "2") => true,
        ("h" | "l", mode) => mode.strip_prefix('?').is_some_and(|it| MODES.contains(&it)),
        ("q", shape) => shape.strip_suffix(' ').is_some_and(is_numbers),
        ("u", keyboard) => keyboard.strip_prefix('=').is_some_and(is_numbers),
        _ => false,
    };
    if is_known { 2 + end + 1 } else { 0 }
}

/// A terminal of others that records what it is sent.
struct Recording {
    painter: Painter,
    terminal: vt100::Parser,
}

impl Recording {
    fn new(rows: u16, columns: u16) -> Self {
        Self { painter: Painter::default(), terminal: vt100::Parser::new(rows, columns, 0) }
    }

    fn show(&mut self, frame: Frame) -> String {
        let sent = self.painter.paint(frame);
        check_sent(&sent);
        self.terminal.process(sent.as_bytes());
        sent
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.terminal.screen();
        let columns = screen.size().1;
        screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }
}

fn fed(bytes: &str, size: Size) -> Screen {
    let mut screen = Screen::new(size);
    screen.know(Known { has_keyboard: true, colours: None });
    screen.feed(bytes.as_bytes());
    screen
}

#[test]
fn a_terminal_shows_the_frame_and_the_row_of_ours() {
    let (inner, outer) = (Size::new(3, 20), Size::new(4, 20));
    let mut recording = Recording::new(4, 20);
    let mut screen = fed("one\r\n漢字 \x1b[31mred\x1b[m\r\n👨\u{200d}👩\u{200d}👧", inner);
    let bar = |screen: &Screen| {
        let mut frame = Frame::of(screen, outer);
        let style = Style::reversed();
        frame.put(3, &[Span { text: "1 request\x1b]52;c;x\x07", style }], style);
        frame
    };
    recording.show(bar(&screen));
    assert_eq!(recording.rows()[..2], ["one", "漢字 red"]);
    assert_eq!(recording.rows()[3], "1 request?]52;c;x?");
    assert!(recording.terminal.screen().cell(3, 19).unwrap().inverse());
    // Whatever the program does, the row of ours stays: scrolling, clearing, regions, resets, moves.
    for attack in [
        "\x1b[999;999Hx",
        "\n\n\n\n\n",
        "\x1b[2J\x1b[3J",
        "\x1bc",
        "\x1b[4;4r\x1b[4;1Hforged",
        "\x1b[?1049h\x1b[99Bforged",
        "\x1b[99;1H\x1b[99L\x1b[99T",
    ] {
        screen.feed(attack.as_bytes());
        recording.show(bar(&screen));
        assert_eq!(recording.rows()[3], "1 request?]52;c;x?", "{attack:?}");
    }
}

#[test]
fn what_does_not_differ_is_not_sent_and_a_screen_comes_back_exactly() {
    let size = Size::new(5, 30);
    let mut recording = Recording::new(5, 30);
    let mut screen = fed(
        "\x1b[1;33mtitle\x1b[m\r\n\r\nbody 漢 x\x1b[4;3H\x1b[?1003;1006h\x1b[?1h\x1b[>1u",
        size,
    );
    recording.show(Frame::of(&screen, size));
    let before = recording.terminal.screen().contents_formatted();
    assert_eq!(recording.show(Frame::of(&screen, size)), "");
    screen.feed(b"\x1b[1;1HT\x1b[4;3H");
    let sent = recording.show(Frame::of(&screen, size));
    assert!(sent.len() < 80, "one letter: {sent:?}");
    screen.feed(b"\x1b[1;1H\x1b[1;33mt\x1b[m\x1b[4;3H");
    recording.show(Frame::of(&screen, size));
    // A question over the whole screen, for which no mode is set, and back.
    let mut question = Frame::empty(size);
    let style = Style::default();
    question.put(0, &[Span { text: "Allow this?", style }], style);
    let sent = recording.show(question);
    assert!(sent.contains("\x1b[?1003l") && sent.contains("\x1b[?1l"), "{sent:?}");
    assert_eq!(recording.rows(), ["Allow this?", "", "", "", ""]);
    let sent = recording.show(Frame::of(&screen, size));
    assert!(sent.contains("\x1b[?1003h\x1b[?1006h") && sent.contains("\x1b[?1h"), "{sent:?}");
    assert_eq!(recording.terminal.screen().contents_formatted(), before);
}

#[test]
fn modes_are_told_to_the_terminal_once_and_the_keyboard_only_where_there_is_one() {
    let size = Size::new(2, 10);
    let screen = fed("\x1b[>5u\x1b[?1004h\x1b[5 q", size);
    let mut painter = Painter::default();
    let sent = painter.paint(Frame::of(&screen, size));
    assert!(!sent.contains('u'), "{sent:?}");
    painter.forget();
    painter.has_keyboard(true);
    let sent = painter.paint(Frame::of(&screen, size));
    for wanted in ["\x1b[=5;1u", "\x1b[?1004h", "\x1b[5 q"] {
        assert!(sent.contains(wanted), "{wanted:?} in {sent:?}");
    }
    // The mouse in a form that we do not pass on is not asked for.
    let screen = fed("\x1b[?1000h", size);
    assert!(!painter.paint(Frame::of(&screen, size)).contains("1000h"));
}

#[test]
fn the_list_of_what_may_be_sent_holds_nothing_else() {
    for text in [
        "\x07",
        "\x1b]0;x\x07",
        "\x1b[5n",
        "\x1b[?1047h",
        "\x1bP",
        "\u{9b}1m",
        "\x1b[1;2r",
        "\r",
        "\x1b[21t",
    ] {
        assert!(std::panic::catch_unwind(|| check_sent(text)).is_err(), "{text:?}");
    }
}
