//! What comes from a keyboard, and where it goes.

use ic_fuzz::{Outcome, Target, splits};

use super::*;

const NOW: Duration = Duration::from_secs(100);

fn read(bytes: &[u8]) -> Vec<Piece> {
    Input::default().read(bytes, NOW)
}

fn typed(bytes: &[u8]) -> Piece {
    Piece::Typed(bytes.to_vec())
}

#[test]
fn keys_go_on_as_they_came() {
    for bytes in [
        &b"abc\r\x03\x7f"[..],
        "ä漢👍".as_bytes(),
        b"\x1b[A\x1bOP\x1b[1;5C\x1b[3~",
        b"\x1b[97;5u",
        b"\x1b[1;2R",
        b"\x1bx",
        b"\x1b[[A",
    ] {
        assert_eq!(read(bytes), [typed(bytes)], "{bytes:?}");
    }
}

#[test]
fn the_keys_for_us_are_recognised_however_they_are_spelled_and_the_program_gets_none() {
    for key in [&b"\x1d"[..], b"\x1b[93;5u", b"\x1b[93;5:1u", b"\x1b[93;133u", b"\x1b[27;5;93~"] {
        assert_eq!(read(key), [Piece::Decide], "{key:?}");
        for at in 1..key.len() {
            let mut input = Input::default();
            let mut pieces = input.read(&key[..at], NOW);
            pieces.extend(input.read(&key[at..], NOW));
            assert_eq!(pieces, [Piece::Decide], "{key:?} cut at {at}");
        }
    }
    for key in [&b"\x1c"[..], b"\x1b[92;5u", b"\x1b[27;5;92~"] {
        assert_eq!(read(&key.repeat(2)), [Piece::End], "{key:?}");
        assert_eq!(read(&[key, b"d"].concat()), [Piece::Detach], "{key:?}");
        assert_eq!(read(&[key, b"\x1b[100u"].concat()), [Piece::Detach], "{key:?}");
        // Followed by anything else it was meant for the program.
        assert_eq!(read(&[key, b"x"].concat()).concat_typed(), [key, b"x"].concat());
    }
    assert_eq!(read(b"\x1b[92;5u\x1b[92;5:3u\x1b[92;5u"), [Piece::End], "it is let go in between");
    assert_eq!(read(b"\x1b[93;5:3u\x1b[93;5:2u"), []);
    // Others that look like them are the program's.
    for key in [&b"\x1b[93u"[..], b"\x1b[93;6u", b"\x1b[93;3u", b"]", b"\\"] {
        assert_eq!(read(key), [typed(key)], "{key:?}");
    }
}

trait Concat {
    fn concat_typed(&self) -> Vec<u8>;
}

impl Concat for Vec<Piece> {
    fn concat_typed(&self) -> Vec<u8> {
        let typed = |it: &Piece| match it {
            Piece::Typed(bytes) => bytes.clone(),
            other => panic!("{other:?}"),
        };
        self.iter().flat_map(typed).collect()
    }
}

#[test]
fn the_second_of_two_keys_comes_within_a_second() {
    let mut input = Input::default();
    assert_eq!(input.read(b"\x1c", NOW), []);
    assert_eq!(input.waits_until(), Some(NOW + TWICE_WITHIN));
    assert_eq!(input.wait(NOW + TWICE_WITHIN / 2), []);
    assert_eq!(input.wait(NOW + TWICE_WITHIN), [typed(b"\x1c")]);
    assert_eq!(input.waits_until(), None);
    // Too late it is the first again, even if nobody waited.
    let mut input = Input::default();
    input.read(b"\x1c", NOW);
    assert_eq!(input.read(b"\x1c", NOW + TWICE_WITHIN), [typed(b"\x1c")]);
}

#[test]
fn what_is_pasted_is_told_apart_and_is_no_key_for_us() {
    let pasted = b"\x1b[200~a\x1d\x1c\x1c\x1b[93;5ub\x1b[201~c";
    let whole: Vec<u8> = b"a\x1d\x1c\x1c\x1b[93;5ub".to_vec();
    for at in 0..=pasted.len() {
        let mut input = Input::default();
        let mut pieces = input.read(&pasted[..at], NOW);
        // However long the rest takes.
        pieces.extend(input.wait(NOW));
        pieces.extend(input.read(&pasted[at..], NOW));
        let mut kept = Vec::new();
        for piece in &pieces {
            match piece {
                Piece::Pasted(bytes) => kept.extend_from_slice(bytes),
                Piece::PasteBegins | Piece::PasteEnds => {}
                Piece::Typed(bytes) => assert_eq!(bytes, b"c"),
                other => panic!("cut at {at}: {other:?}"),
            }
        }
        assert_eq!(kept, whole, "cut at {at}");
        assert_eq!(pieces.first(), Some(&Piece::PasteBegins));
    }
    // A paste whose mark came late is a paste all the same.
    let mut input = Input::default();
    assert_eq!(input.read(b"\x1b[20", NOW), []);
    let late = NOW + SEQUENCE_WAIT;
    assert_eq!(input.wait(late), [typed(b"\x1b[20")]);
    assert_eq!(input.read(b"0~\x1d", late), [Piece::PasteBegins, Piece::Pasted(b"\x1d".to_vec())]);
}

#[test]
fn reports_are_for_us_alone_and_mouse_and_focus_are_no_keys() {
    assert_eq!(read(b"\x1b[?1u"), [Piece::Report(Report::HasKeyboard)]);
    assert_eq!(
        read(b"\x1b]11;rgb:1e1e/2f2f/ff00\x1b\\"),
        [Piece::Report(Report::GroundColour(0x1e, 0x2f, 0xff))]
    );
    assert_eq!(read(b"\x1b]10;rgb:f/0/8\x07"), [Piece::Report(Report::TextColour(255, 0, 136))]);
    for report in [
        &b"\x1b[?62;22c"[..],
        b"\x1b[0n",
        b"\x1b[?2026;2$y",
        b"\x1b[8;24;80t",
        b"\x1bP>|term\x1b\\",
        b"\x1b]52;c;aGk=\x07",
        b"\x1b[>1;2;3c",
        b"\x1b[?997;1n",
    ] {
        assert_eq!(read(report), [Piece::Report(Report::Other)], "{report:?}");
    }
    assert_eq!(
        read(b"\x1b[I\x1b[O"),
        [Piece::Focus(b"\x1b[I".to_vec()), Piece::Focus(b"\x1b[O".to_vec())]
    );
    assert_eq!(read(b"\x1b[<35;12;7M"), [Piece::Mouse(b"\x1b[<35;12;7M".to_vec(), 7)]);
    // A report that never ends is not for the program either.
    let mut input = Input::default();
    assert_eq!(input.read(b"\x1b]11;rgb:", NOW), []);
    assert_eq!(input.wait(NOW + Duration::from_secs(9)), []);
    let pieces = input.read(&[b'x'; 400], NOW + Duration::from_secs(9));
    assert_eq!(pieces.first(), Some(&Piece::Report(Report::Other)));
}

#[test]
fn escape_alone_and_keys_with_alt_wait_for_a_moment_only() {
    for key in [&b"\x1b"[..], b"\x1b[", b"\x1bO", b"\x1b]", b"\x1bP"] {
        let mut input = Input::default();
        assert_eq!(input.read(key, NOW), [], "{key:?}");
        assert_eq!(input.waits_until(), Some(NOW + SEQUENCE_WAIT));
        assert_eq!(input.wait(NOW + SEQUENCE_WAIT), [typed(key)], "{key:?}");
        assert_eq!(input.read(b"\x1d", NOW + SEQUENCE_WAIT), [Piece::Decide]);
    }
    assert_eq!(read(b"\x1b\x1b[A"), [typed(b"\x1b\x1b[A")]);
    assert_eq!(read(b"\x1b\x1d").last(), Some(&Piece::Decide));
}

#[test]
fn fuzz_keyboard() {
    Target::new("keyboard")
        .seeds([
            "ab\x1b[A\x1bOP\x1b[1;5C\x1b[97;5u\x1c\x1cx\x1d",
            "\x1b[200~a\x1d\x1b[201~\x1b[<35;1;2M\x1b[I\x1b[?1u\x1b]11;rgb:1/2/3\x07",
            "\x1b[93;5u\x1b[92;5u\x1b[100u\x1bP1\x1b\\\x1b\x1bO\x1d",
        ])
        .corpus("naughty_strings")
        .words([
            "\x1b",
            "\x1b[",
            "\x1bO",
            "\x1b]",
            "\x1bP",
            "\x07",
            "\x1b[200~",
            "\x1b[201~",
            "\x1c",
            "\x1d",
        ])
        .words([
            "\x1b[93;5u",
            "\x1b[92;5u",
            "\x1b[27;5;93~",
            "u",
            "~",
            ";",
            ":",
            "5",
            "d",
            "M",
            "c",
        ])
        .run(check_keyboard);
}

/// However it is cut it is the same, and the key for us is in nothing that the program gets.
fn check_keyboard(bytes: &[u8]) -> Outcome {
    let whole = joined(Input::default().read(bytes, NOW));
    for pieces in splits(bytes) {
        let mut input = Input::default();
        let cut = pieces.iter().flat_map(|piece| input.read(piece, NOW)).collect();
        assert_eq!(joined(cut), whole, "a cut makes a difference");
    }
    for piece in &whole {
        if let Piece::Typed(bytes) = piece {
            assert!(!bytes.contains(&0x1d), "the key for us is typed: {bytes:?}");
        }
    }
    let kinds: Vec<_> = whole.iter().map(std::mem::discriminant).take(4).collect();
    Outcome::accepted(kinds)
}

/// Puts together what was typed, and what was pasted, without anything between.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Typed(before)), Piece::Typed(bytes))
            | (Some(Piece::Pasted(before)), Piece::Pasted(bytes)) => before.extend(bytes),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}
