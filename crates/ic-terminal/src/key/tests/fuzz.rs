//! Mutated bytes of a terminal: however they are cut they are the same keys, and no key holds a control.

use ic_fuzz::{Outcome, Target, splits};

use super::*;

#[test]
fn fuzz_terminal() {
    Target::new("terminal")
        .seeds([
            "yn\raß日\u{301}\t\x7f",
            "\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[13;2u\x1b[27;5;13~",
            "\x1b[200~two\r\nlines\x1b[201~y",
            "\x1b]11;rgb:00/00/00\x07a\x1b]11;x\x1b\\b\x1bP>|y\x1b\\a\x1b[12;40R",
            "\x1b\x1b[I\x1b[<0;1;1ma\x1b",
        ])
        .corpus("naughty_strings")
        .words([
            "\x1b",
            "\x1b[",
            "\x1bO",
            "\x1b]",
            "\x1bP",
            "\x1b_",
            "\x1b^",
            "\x1bX",
            "\x1b\\",
            "\x07",
            "\x1b[200~",
            "\x1b[201~",
            "y",
            "\r",
            "\n",
            ";",
            "1",
            "99",
            "u",
            "~",
            "R",
            "\u{9b}",
            "\u{90}",
            "\x03",
            "\x18",
            "\x1a",
        ])
        .words([&b"\xc3"[..], b"\xff", b"\xe2\x82", b"\xf0\x9f\x98"])
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let mut decoder = Decoder::default();
    let keys = decoder.feed(bytes);
    let is_waiting = decoder.is_waiting();
    for pieces in splits(bytes) {
        let mut decoder = Decoder::default();
        let cut: Vec<Key> = pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
        assert_eq!(cut, keys, "a cut makes a difference");
        assert_eq!(decoder.is_waiting(), is_waiting, "a cut makes a difference to waiting");
    }
    assert!(keys.len() <= bytes.len(), "there are more keys than bytes");
    for key in &keys {
        match key {
            Key::Char(c) => assert!(!c.is_control(), "a control is no character: {c:?}"),
            Key::Alt(c) => assert!(!c.is_control(), "{c:?}"),
            Key::Ctrl(c) => assert!(c.is_ascii_lowercase() || "@[\\]^_".contains(*c), "{c:?}"),
            Key::Paste(text) => assert!(!text.contains('\r') && !text.contains("\x1b[201~")),
            _ => {}
        }
    }
    is_alone_only_if_nothing_else(bytes, &keys);
    // Control-C is heard at the latest once nothing has followed for a while.
    decoder.give_up();
    let is_in_paste = matches!(decoder.state, State::Paste(_) | State::LongPaste(_));
    let after = decoder.feed(b"\x03");
    assert!(is_in_paste || after.contains(&Key::Ctrl('c')), "{after:?}");
    let kinds: Vec<_> = keys.iter().map(std::mem::discriminant).take(3).collect();
    if keys.is_empty() {
        Outcome::refused(is_waiting)
    } else {
        Outcome::accepted((kinds, is_waiting))
    }
}

/// What is alone is the one key of bytes that hold nothing besides: a character, or a sequence of its number.
fn is_alone_only_if_nothing_else(bytes: &[u8], keys: &[Key]) {
    let piece = Decoder::default().read(bytes);
    assert_eq!(piece.keys, keys);
    if !piece.is_alone {
        return;
    }
    assert_eq!(keys.len(), 1);
    if let [Key::Char(c)] = keys {
        let is_itself = bytes.len() == c.len_utf8();
        let number = u32::from(*c).to_string();
        let is_number = bytes.starts_with(b"\x1b[")
            && bytes.windows(number.len()).any(|it| it == number.as_bytes());
        assert!(is_itself || is_number, "a letter that something else came with is alone");
    }
}
