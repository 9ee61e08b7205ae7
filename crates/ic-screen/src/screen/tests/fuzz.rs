//! Mutated bytes of programs: however they are cut the screen is the same, and what is sent for it holds
//! nothing of theirs.

use ic_fuzz::{Outcome, Target, splits};

use super::*;
use crate::frame::Frame;
use crate::paint::{Painter, tests::check_sent};

#[test]
fn fuzz_screen() {
    let hostile = HOSTILE.map(|(bytes, _)| bytes);
    Target::new("screen")
        .seeds([
            "plain\r\nmore\ttabs\x08\x1b[2J\x1b[3;4Hx\x1b[1;31mred\x1b[38;2;1;2;3;48;5;99mrgb\x1b[0m",
            "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1003;1006h\x1b[2;3r\x1b[L\x1b[M\x1b[P\x1b[@\x1b[?1049l",
            "漢字👨\u{200d}👩\u{200d}👧e\u{301}❤\u{fe0f}\x1b[2G\x1b[K\x1b[7b",
            "\x1b[6n\x1b[c\x1b[?u\x1b]11;?\x07\x1b[>1u\x1b[=2;3u\x1b[<u\x1b[?2026$p",
        ])
        .seeds(hostile)
        .corpus("naughty_strings")
        .words(hostile)
        .words(["\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", ";", ":", "?", "H", "J", "m", "r", "h", "l", "漢", "\u{200d}"])
        .words([&b"\xe6\xbc"[..], b"\xff", b"\x9b", b"\x18"])
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let known = Known { has_keyboard: true, colours: Some([(1, 2, 3), (4, 5, 6)]) };
    let feed = |pieces: &[&[u8]]| {
        let mut screen = Screen::new(Size::new(5, 12));
        screen.know(known);
        for piece in pieces {
            screen.feed(piece);
        }
        screen
    };
    let mut whole = feed(&[bytes]);
    let answers = whole.take_answers();
    for pieces in splits(bytes) {
        let mut cut = feed(&pieces);
        assert_eq!(rows(&cut), rows(&whole), "a cut makes a difference");
        assert_eq!(cut.cursor(), whole.cursor());
        assert_eq!(cut.modes(), whole.modes());
        assert_eq!(cut.take_answers(), answers);
    }
    let (row, column) = whole.cursor();
    assert!(row < 5 && column < 12);
    let mut painter = Painter::default();
    painter.has_keyboard(true);
    let mut sent = painter.paint(Frame::of(&whole, Size::new(6, 12)));
    whole.feed(bytes);
    whole.resize(Size::new(3, 7));
    sent.push_str(&painter.paint(Frame::of(&whole, Size::new(4, 7))));
    check_sent(&sent);
    Outcome::accepted((whole.dropped(), answers.is_empty()))
}
