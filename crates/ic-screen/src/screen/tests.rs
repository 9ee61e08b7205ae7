//! What programs send, and what stands there then.

mod fuzz;

use super::*;
use crate::cell::Colour;

fn screen(bytes: &[u8]) -> Screen {
    let mut screen = Screen::new(Size::new(4, 10));
    screen.feed(bytes);
    screen
}

fn rows(screen: &Screen) -> Vec<String> {
    (0..screen.size().rows).map(|row| screen.text(row)).collect()
}

#[track_caller]
fn check(bytes: &str, expected: [&str; 4], cursor: (usize, usize)) {
    let screen = screen(bytes.as_bytes());
    assert_eq!(
        (rows(&screen), screen.cursor()),
        (expected.map(str::to_owned).to_vec(), cursor),
        "{bytes:?}"
    );
    assert!(screen.dropped().is_empty(), "{bytes:?}: {}", screen.dropped());
}

#[test]
fn what_is_written_stands_where_it_belongs() {
    check("ab\r\ncd", ["ab", "cd", "", ""], (1, 2));
    check("0123456789ab", ["0123456789", "ab", "", ""], (1, 2));
    // The last place holds the cursor until something follows.
    check("0123456789", ["0123456789", "", "", ""], (0, 9));
    check("0123456789\r\nx", ["0123456789", "x", "", ""], (1, 1));
    check("a\r\nb\r\nc\r\nd\r\ne", ["b", "c", "d", "e"], (3, 1));
    check("\x1b[3;4Hx\x1b[A\x1b[2Dy", ["", "  y", "   x", ""], (1, 3));
    check("abc\x1b[2D\x1b[K", ["a", "", "", ""], (0, 1));
    check("abc\r\ndef\x1b[1J", ["", "", "", ""], (1, 3));
    check("abcdef\x1b[3G\x1b[2P", ["abef", "", "", ""], (0, 2));
    check("abcdef\x1b[3G\x1b[2@", ["ab  cdef", "", "", ""], (0, 2));
    check("abcdef\x1b[3G\x1b[2X", ["ab  ef", "", "", ""], (0, 2));
    check("a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\nx", ["a", "c", "x", ""], (2, 1));
    check("a\r\nb\r\nc\x1b[1;1H\x1bM", ["", "a", "b", "c"], (0, 0));
    check("a\r\nb\r\nc\x1b[2H\x1b[L", ["a", "", "b", "c"], (1, 0));
    check("a\r\nb\r\nc\x1b[2H\x1b[M", ["a", "c", "", ""], (1, 0));
    check("a\tb\x1b[Zc", ["a       c", "", "", ""], (0, 9));
    check("ab\x1b[3b", ["abbbb", "", "", ""], (0, 5));
    check("\x1b7ab\x1b8c", ["cb", "", "", ""], (0, 1));
    check("\x1b(0lqk\x1b(Bq", ["┌─┐q", "", "", ""], (0, 4));
    check("\x1b[?7l0123456789abc", ["012345678c", "", "", ""], (0, 9));
    check("ab\x1b[?1049hcd\x1b[?1049lx", ["abx", "", "", ""], (0, 3));
    check("ab\x1b[4h\x1b[1Gx", ["xab", "", "", ""], (0, 1));
    check("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\!", ["link!", "", "", ""], (0, 5));
}

#[test]
fn a_wide_character_takes_two_places_and_leaves_no_half() {
    check("漢字x", ["漢字x", "", "", ""], (0, 5));
    check("012345678漢", ["012345678", "漢", "", ""], (1, 2));
    check("漢\x1b[2Gx", [" x", "", "", ""], (0, 2));
    check("漢\x1b[1Gx", ["x", "", "", ""], (0, 1));
    check("👨\u{200d}👩\u{200d}👧!", ["👨\u{200d}👩\u{200d}👧!", "", "", ""], (0, 3));
    check("👍🏽!", ["👍🏽!", "", "", ""], (0, 3));
    check("e\u{301}x", ["e\u{301}x", "", "", ""], (0, 2));
    check("❤\u{fe0f}x", ["❤\u{fe0f}x", "", "", ""], (0, 3));
}

#[test]
fn colours_and_lines_are_kept_as_they_were_said() {
    let style = |bytes: &str| {
        let screen = screen(format!("{bytes}x").as_bytes());
        assert!(screen.dropped().is_empty(), "{bytes:?}");
        screen.rows().next().unwrap()[0].style()
    };
    assert_eq!(style("\x1b[38;2;1;2;3m").ink, Colour::Rgb(1, 2, 3));
    assert_eq!(style("\x1b[38:2:1:2:3m").ink, Colour::Rgb(1, 2, 3));
    assert_eq!(style("\x1b[38:2::1:2:3m").ink, Colour::Rgb(1, 2, 3));
    assert_eq!(style("\x1b[48;5;200;1m").ground, Colour::Indexed(200));
    assert_eq!(style("\x1b[48;5;200;1m").flags, Style::BOLD);
    assert_eq!(style("\x1b[97;104m").ink, Colour::Indexed(15));
    assert_eq!(style("\x1b[97;104m").ground, Colour::Indexed(12));
    assert_eq!(style("\x1b[4:3;58:5:9m").underline, 3);
    assert_eq!(style("\x1b[4:3;58:5:9m").line, Colour::Indexed(9));
    assert_eq!(style("\x1b[1;3;4m\x1b[22;23;24m"), Style::default());
}

#[test]
fn only_questions_that_give_nothing_away_are_answered_and_never_with_what_was_sent() {
    let answers = |bytes: &str| {
        let mut screen = screen(bytes.as_bytes());
        String::from_utf8(screen.take_answers()).unwrap()
    };
    assert_eq!(answers("\x1b[2;3H\x1b[6n\x1b[5n\x1b[c"), "\x1b[2;3R\x1b[0n\x1b[?62;22c");
    assert_eq!(
        answers("\x1b[?2026$p\x1b[?2004h\x1b[?2004$p\x1b[?1234$p"),
        "\x1b[?2026;2$y\x1b[?2004;1$y"
    );
    // Not known, so not answered.
    assert_eq!(answers("\x1b]11;?\x07\x1b[?u"), "");
    let mut screen = screen(b"");
    screen.know(Known { has_keyboard: true, colours: Some([(1, 2, 3), (16, 0, 255)]) });
    screen.feed(b"\x1b]11;?\x07\x1b[>5u\x1b[?u\x1b[<u\x1b[?u");
    let answers = String::from_utf8(screen.take_answers()).unwrap();
    assert_eq!(answers, "\x1b]11;rgb:1010/0000/ffff\x1b\\\x1b[?5u\x1b[?0u");
    // Whoever asks and never reads gets no more than fits.
    for _ in 0..10_000 {
        screen.feed(b"\x1b[6n");
    }
    assert!(screen.take_answers().len() <= ANSWER_BYTES_MAX);
}

/// What a hostile program tries, and what it is counted as.
const HOSTILE: [(&str, Kind); 33] = [
    ("a\u{202e}b", Kind::Character),
    ("a\u{61c}b", Kind::Character),
    ("a\u{2066}b", Kind::Character),
    ("\x1b]52;c;aGVsbG8=\x07", Kind::Clipboard),
    ("\x1b]52;c;?\x1b\\", Kind::Clipboard),
    ("\x1b]0;title\x07", Kind::Title),
    ("\x1b]2;title\x1b\\", Kind::Title),
    ("\x1b[21t", Kind::Title),
    ("\x1b[22;2t", Kind::Title),
    ("\x1b[8;50;100t", Kind::Title),
    ("\x1bP$qm\x1b\\", Kind::DeviceControl),
    ("\x1bP+q544e\x1b\\", Kind::DeviceControl),
    ("\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\", Kind::DeviceControl),
    ("\x1bPq#0;2;0;0;0~~\x1b\\", Kind::DeviceControl),
    ("\x1b_Gf=24,t=f;L2V0Yy9wYXNzd2Q=\x1b\\", Kind::Message),
    ("\x1b^privacy\x1b\\", Kind::Message),
    ("\x1bXstart\x1b\\", Kind::Message),
    ("\x1b]1337;File=name=eA==;inline=1:AAAA\x07", Kind::Command),
    ("\x1b]1337;CopyToClipboard=general\x07", Kind::Command),
    ("\x1b]9;notification\x07", Kind::Command),
    ("\x1b]777;notify;a;b\x07", Kind::Command),
    ("\x1b]4;1;rgb:ff/00/00\x07", Kind::Command),
    ("\x1b]50;font\x07", Kind::Command),
    ("\x1b]133;A\x07", Kind::Command),
    ("\x1b[5i", Kind::MediaCopy),
    ("\x1b[?5i", Kind::MediaCopy),
    ("\x05", Kind::Control),
    ("\x1bZ", Kind::Report),
    ("\x1b[>c", Kind::Report),
    ("\x1b[>q", Kind::Report),
    ("\x1b[?12345h", Kind::Mode),
    ("\u{9b}5n", Kind::Control),
    ("\x1b[>4;2m", Kind::Sequence),
];

#[test]
fn what_is_not_understood_is_dropped_and_counted_however_it_is_cut() {
    for (bytes, kind) in HOSTILE {
        let whole = screen(bytes.as_bytes());
        assert!(0 < whole.dropped().of(kind), "{bytes:?}: {}", whole.dropped());
        for at in 0..bytes.len() {
            let (first, second) = bytes.as_bytes().split_at(at);
            let mut cut = screen(first);
            cut.feed(second);
            assert_eq!(cut.dropped(), whole.dropped(), "{bytes:?} cut at {at}");
            assert_eq!(rows(&cut), rows(&whole), "{bytes:?} cut at {at}");
            assert!(cut.take_answers().is_empty(), "{bytes:?} cut at {at}");
        }
    }
    // 8-bit controls as bytes, and overlong and cut UTF-8.
    for bytes in [
        &b"\x9b5n"[..],
        b"\x90q\x9c",
        b"\xc0\x9b",
        b"\xf8\x88\x80\x80\x80",
        b"\xed\xa0\x80",
        b"\xe2\x28",
    ] {
        let screen = screen(bytes);
        assert!(0 < screen.dropped().of(Kind::NotUtf8), "{bytes:?}");
    }
}

#[test]
fn a_string_without_end_takes_no_memory_and_its_end_is_found() {
    let mut screen = screen(b"\x1bP");
    for _ in 0..1000 {
        screen.feed(&[b'q'; 4096]);
    }
    screen.feed(b"\x1b\\ok\x1b]1337;");
    for _ in 0..1000 {
        screen.feed(&[b'x'; 4096]);
    }
    screen.feed(b"\x07!");
    assert_eq!(screen.text(0), "ok!");
    assert_eq!(
        (screen.dropped().of(Kind::DeviceControl), screen.dropped().of(Kind::Command)),
        (1, 1)
    );
}

#[test]
fn marks_are_limited_and_old_ones_make_room() {
    let mut screen = Screen::new(Size::new(4, 40));
    screen.feed(format!("a{}", "\u{301}".repeat(100)).as_bytes());
    assert!(screen.text(0).chars().count() <= 16);
    assert!(0 < screen.dropped().of(Kind::Character));
    // More clusters than the table holds, few of them on the screen at a time.
    for n in 0..20_000_u32 {
        let (one, other) = (0x300 + n % 100, 0x300 + (n / 100) % 100);
        let marks = [one, other].map(|it| char::from_u32(it).unwrap());
        screen.feed(format!("\r\nb{}{}", marks[0], marks[1]).as_bytes());
    }
    let last = format!(
        "b{}{}",
        char::from_u32(0x300 + 19_999 % 100).unwrap(),
        char::from_u32(0x300 + 199 % 100).unwrap()
    );
    assert_eq!(screen.text(3), last);
}

#[test]
fn a_screen_of_another_size_keeps_what_has_room() {
    let mut screen = screen("a\r\nb\r\nc\r\nd漢".as_bytes());
    screen.resize(Size::new(2, 2));
    assert_eq!((rows(&screen), screen.cursor()), (vec!["c".to_owned(), "d".to_owned()], (1, 1)));
    screen.resize(Size::new(3, 10));
    screen.feed(b"x");
    assert_eq!(rows(&screen), ["c", "dx", ""]);
    for (rows, columns) in [(0, 0), (1, 1), (5000, 1), (1, 5000)] {
        screen.resize(Size { rows, columns });
        screen.feed("漢\x1b[?1049hx漢\x1b[5;5H\x1b[2J\x1b[?1049l".as_bytes());
    }
}

#[test]
fn what_is_drawn_at_once_is_held_until_it_is_whole() {
    let mut screen = screen(b"\x1b[?2026ha");
    assert!(screen.is_held());
    screen.feed(b"b\x1b[?2026l");
    assert!(!screen.is_held());
}
