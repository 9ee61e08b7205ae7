//! Tests of reading keys.

mod fuzz;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(bytes: &[u8], expected: &[Key]) {
    let whole = Decoder::default().feed(bytes);
    assert_eq!(whole, expected, "{bytes:?}");
    // In single bytes it is the same.
    let mut decoder = Decoder::default();
    let pieces: Vec<Key> = bytes.iter().flat_map(|byte| decoder.feed(&[*byte])).collect();
    assert_eq!(pieces, expected, "{bytes:?} in pieces");
}

#[test]
fn characters() {
    check("aß日".as_bytes(), &[Key::Char('a'), Key::Char('ß'), Key::Char('日')]);
    check(b"\x01\x03\x1a\x1f", &[Key::Ctrl('a'), Key::Ctrl('c'), Key::Ctrl('z'), Key::Ctrl('_')]);
    check(b"\r\t\x7f", &[Key::Enter, Key::Tab, Key::Backspace]);
    // Broken characters, and controls in two bytes, are nothing.
    check(b"\xffa\xc3b\xc2\x9bc", &[Key::Char('a'), Key::Char('b'), Key::Char('c')]);
}

#[test]
fn sequences() {
    check(b"\x1b[A\x1bOB\x1b[1;5C\x1b[1;3D", &[Key::Up, Key::Down, Key::WordRight, Key::WordLeft]);
    check(
        b"\x1b[3~\x1b[H\x1bOF\x1b[1~\x1b[4~",
        &[Key::Delete, Key::Home, Key::End, Key::Home, Key::End],
    );
    check(
        b"\x1bb\x1b\r\x1b\x7f\x1b[Z",
        &[Key::Alt('b'), Key::LineBreak, Key::WordBackspace, Key::BackTab],
    );
    check(
        b"\x1b[13;2u\x1b[27;5;13~\x1b[99;5u\x1b[13u",
        &[Key::LineBreak, Key::LineBreak, Key::Ctrl('c'), Key::Enter],
    );
}

#[test]
fn what_nobody_pressed_is_dropped() {
    // Position, colours, version, focus, mouse.
    check(b"\x1b[12;40Ra", &[Key::Char('a')]);
    check(b"\x1b]11;rgb:00/00/00\x07a\x1b]11;x\x1b\\b", &[Key::Char('a'), Key::Char('b')]);
    check(b"\x1bP>|y\x1b\\a", &[Key::Char('a')]);
    check(b"\x1b[I\x1b[<0;1;1ma", &[Key::Char('a')]);
    // A sequence that is longer than any is one all the same.
    let long = [b"\x1b[".as_slice(), &[b'1'; 500], b"yx"].concat();
    check(&long, &[Key::Char('x')]);
    check(b"\x1b[1\x1b[A", &[Key::Up]);
}

#[test]
fn an_escape_waits_for_what_follows() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert!(decoder.is_waiting());
    assert_eq!(decoder.give_up(), Some(Key::Escape));
    assert!(!decoder.is_waiting());
    assert_eq!(decoder.feed(b"[A"), [Key::Char('['), Key::Char('A')]);
    assert_eq!(decoder.feed(b"\x1b[1;"), []);
    assert_eq!(decoder.give_up(), None);
    assert!(!decoder.is_waiting());
    // Its end comes late, and is no key all the same; what comes after it is.
    assert_eq!(decoder.feed(b"y"), []);
    assert_eq!(decoder.feed(b"y"), [Key::Char('y')]);
    // A key on a slow line.
    assert_eq!(decoder.feed(b"\x1b["), []);
    assert_eq!(decoder.give_up(), None);
    assert_eq!(decoder.feed(b"A"), [Key::Up]);
    // Nobody is kept from stopping what runs.
    assert_eq!(decoder.feed(b"\x1b["), []);
    assert_eq!(decoder.give_up(), None);
    assert_eq!(decoder.feed(b"\x03"), [Key::Ctrl('c')]);
}

#[test]
fn a_mouse_presses_no_keys() {
    check(
        b"\x1b[My!!a\x1b[<0;1;1Mb\x1b[32;1;1Mc",
        &[Key::Char('a'), Key::Char('b'), Key::Char('c')],
    );
    // Keys of a console without a terminal.
    check(b"\x1b[[Ay", &[Key::Char('y')]);
    check(b"\x1bOM", &[Key::Enter]);
}

/// Feeds pieces, waits in vain after each, and returns which of them were one key alone.
/// Where they are asked for, presses and turns of the wheel are told; nothing of them is a letter.
#[test]
fn a_mouse_is_told_where_it_is_asked_for() {
    for (bytes, expected) in [
        (&b"\x1b[<0;1;1M"[..], vec![Key::Mouse(Mouse::Press, (0, 0))]),
        (b"\x1b[<0;80;24M\x1b[<0;80;24m", vec![Key::Mouse(Mouse::Press, (79, 23))]),
        (b"\x1b[<64;3;4M", vec![Key::Mouse(Mouse::WheelUp, (2, 3))]),
        (b"\x1b[<65;3;4M", vec![Key::Mouse(Mouse::WheelDown, (2, 3))]),
        // Other buttons, movements, modifiers, and what is no report.
        (b"\x1b[<2;3;4M\x1b[<35;3;4M\x1b[<4;3;4M", vec![]),
        (b"\x1b[<0;0;4M\x1b[<0;3M\x1b[<0;3;4;5M\x1b[<+;3;4M\x1b[<0;70000;4M\x1b[<M", vec![]),
        (b"\x1b[My!!", vec![]),
    ] {
        let mut decoder = Decoder::with_mouse();
        assert_eq!(decoder.feed(bytes), expected, "{bytes:?}");
        assert!(Decoder::default().feed(bytes).is_empty(), "{bytes:?}");
    }
}

fn alone(pieces: &[&[u8]]) -> Vec<bool> {
    let mut decoder = Decoder::default();
    let mut read = |piece: &&[u8]| {
        let is_alone = decoder.read(piece).is_alone;
        if decoder.is_waiting() {
            decoder.give_up();
        }
        is_alone
    };
    pieces.iter().map(&mut read).collect()
}

#[test]
fn a_key_is_alone_or_it_is_not() {
    assert_eq!(
        alone(&[b"y", b"yy", b"y\r", b"", b"\r", b"\x1b[A", b"y"]),
        [true, false, false, false, true, true, true]
    );
    // With a report before it, behind it or around it.
    assert_eq!(
        alone(&[b"\x1b[1;1Ry", b"y\x1b[1;1R", b"y\x1b", b"\xffy", b"y\xc3", b"y"]),
        [false; 6]
    );
    // The ends of reports that are late, one of which looks like an answer.
    assert_eq!(alone(&[b"\x1b[?2026;2$", b"y", b"y"]), [false, false, true]);
    assert_eq!(
        alone(&[b"\x1b[", b"?2026", b";2$", b"y", b"y"]),
        [false, false, false, false, true]
    );
    assert_eq!(
        alone(&[b"\x1b[I", b"\x1b[?1;2c", b"\x1bO", b"y", b"n"]),
        [false, false, false, false, true]
    );
    // A text of the terminal's whose end never came: nothing is an answer before the end of a line.
    assert_eq!(alone(&[b"\x1bP", b"1", b"y", b"\r", b"y"]), [false, false, false, false, true]);
    assert_eq!(alone(&[b"\x1b]11;rgb:0", b"y", b"\x07", b"y"]), [false; 4]);
    assert_eq!(
        alone(&[b"\x1b", b"[", b"1", b"y", b"\r", b"y"]),
        [false, false, false, false, false, true]
    );
    assert_eq!(alone(&[b"\x1b", b"y"]), [false, true]);
    // The rest of a character.
    assert_eq!(alone(&[b"\xc3", b"y", b"y"]), [false, false, true]);
}

#[test]
fn a_paste_is_one_key_whatever_is_in_it() {
    let paste = |text: &str| Key::Paste(text.to_owned());
    check(b"\x1b[200~y\r\nn\x03\x1b[A\x1b[201~z", &[paste("y\nn\x03\x1b[A"), Key::Char('z')]);
    check(b"\x1b[200~\x1b[201~", &[paste("")]);
    // Its end, alone, is nothing.
    check(b"\x1b[201~y", &[Key::Char('y')]);
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b[200~never ended"), []);
    assert!(!decoder.is_waiting() && decoder.give_up().is_none());
    assert_eq!(decoder.feed(b"y"), []);
}

#[test]
fn a_paste_that_is_too_long_is_dropped_to_its_end() {
    let text = vec![b'y'; PASTE_BYTES_MAX + 100];
    let bytes = [b"\x1b[200~".as_slice(), &text, b"\x1b[201~x"].concat();
    assert_eq!(Decoder::default().feed(&bytes), [Key::PasteTooLong, Key::Char('x')]);
    let text = vec![b'y'; PASTE_BYTES_MAX];
    let bytes = [b"\x1b[200~".as_slice(), &text, b"\x1b[201~"].concat();
    let keys = Decoder::default().feed(&bytes);
    assert!(matches!(keys.as_slice(), [Key::Paste(text)] if text.len() == PASTE_BYTES_MAX));
}

proptest! {
    #[test]
    fn no_key_is_a_control_character(bytes in any::<Vec<u8>>()) {
        for key in Decoder::default().feed(&bytes) {
            if let Key::Char(c) | Key::Alt(c) | Key::Ctrl(c) = key {
                prop_assert!(!c.is_control());
            }
        }
    }

    #[test]
    fn pieces_make_no_difference(bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>()) {
        let at = at.index(bytes.len() + 1);
        let (one, other) = bytes.split_at(at);
        let mut decoder = Decoder::default();
        let mut keys = decoder.feed(one);
        keys.extend(decoder.feed(other));
        prop_assert_eq!(keys, Decoder::default().feed(&bytes));
    }
}

/// Found by mutated inputs: anything with Control was taken for a letter with it.
#[test]
fn control_goes_with_letters_and_a_few_signs_alone() {
    check(b"\x1b[97;5u\x1b[65;5u\x1b[95;5u", &[Key::Ctrl('a'), Key::Ctrl('a'), Key::Ctrl('_')]);
    check("\x1b[1313;5u\x1b[53;5u\x1b[32;5ua".as_bytes(), &[Key::Char('a')]);
}
