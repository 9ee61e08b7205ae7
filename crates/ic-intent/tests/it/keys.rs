//! What keys at another program's interface came to, as far as code can tell.

use ic_intent::{Keys, Sent, keys};

fn sent(typed: &str) -> Option<Sent> {
    let typed = Keys::Typed(typed.as_bytes().to_vec());
    keys::heard(&typed, std::slice::from_ref(&typed))
}

#[test]
fn a_line_that_was_typed_from_left_to_right_is_read() {
    for (typed, text) in [
        ("read ~/a\r", "read ~/a"),
        ("first\rread ~/a\r", "read ~/a"),
        ("first\u{1b}[13uread ~/a\u{1b}[13;1u", "read ~/a"),
        // What follows Enter is not sent yet.
        ("read ~/a\rdelete it", "read ~/a"),
        ("rad\u{7f}\u{7f}ead ~/a\r", "read ~/a"),
        ("\r\rread ~/a\r", "read ~/a"),
        ("read ~/a\r\r", ""),
    ] {
        assert_eq!(sent(typed), Some(Sent::Line(text.to_owned())), "{typed:?}");
    }
    assert_eq!(sent("rad\u{7f}\u{7f}ead ~/a"), None, "nothing was sent");
}

#[test]
fn what_another_key_made_is_not_clear() {
    for typed in [
        "read ~/a\u{1b}[D\r",
        "read ~/a\u{1b}OA\r",
        "\u{1b}[A\r",
        "read ~/\t\r",
        "read\u{3}read ~/a\r",
        "read ~/a\u{15}x\r",
        "read\u{17} ~/a\r",
        "read ~/a\u{1b}\r",
        "read ~/a\u{1b}[13;2ux\r",
        "one\ntwo\r",
        "\u{7f}read ~/a\r",
        // Alt and Enter, or Escape and then Enter: the bytes are the same.
        "do not\u{1b}\rread ~/a\r",
        "read ~/a\u{1b}[\r",
        "read ~/a\u{1b}O\r",
        "read ~/a\u{1b}[12\r",
        // One Backspace may remove all of what is seen as one letter.
        "read ~/ae\u{301}\u{7f}\r",
        "read ~/ab\u{2764}\u{fe0f}\u{7f}\u{7f}\r",
        "read ~/\u{e4}\u{7f}a\r",
        // Enter may have taken what a list proposed, or answered something, and the line goes on.
        "do not @pl\r read ~/a\r",
        "look @pl\rb\rread ~/a\r",
        "/mo\rread ~/a\r",
        "go on \\\rread ~/a\r",
        "look\u{1b}[C\rread ~/a\r",
        "do not\rread ~/a\r",
    ] {
        assert!(matches!(sent(typed), Some(Sent::Unclear(_))), "{typed:?}: {:?}", sent(typed));
    }
}

/// A key that sends nothing that we know of may have sent it all the same.
#[test]
fn whatever_is_no_letter_ends_the_message_before() {
    for new in [
        "\u{1b}",
        "\u{3}",
        "\u{18}\u{13}",
        "\n",
        "\u{1b}OM",
        "\u{1b}[57414u",
        "\u{1b}[13;5u",
        "\u{1b}[27;1;13~",
        "\u{1b}[109;5u",
        "x\t",
        "\u{1b}[13;65u",
    ] {
        let all = Keys::Typed(format!("read ~/a\rstop{new}").into_bytes());
        let new = Keys::Typed(new.as_bytes().to_vec());
        assert_eq!(keys::heard(&new, &[all]), Some(Sent::Nothing), "{new:?}");
    }
    // Cut anywhere.
    for new in ["\u{1b}[13".as_bytes(), b"\xc3", b"\xff", b"\0"] {
        let new = Keys::Typed(new.to_vec());
        assert_eq!(keys::heard(&new, std::slice::from_ref(&new)), Some(Sent::Nothing), "{new:?}");
    }
}

#[test]
fn a_paste_is_no_message_and_ends_the_one_before() {
    let heard = |pieces: &[Option<&str>]| -> Option<Sent> {
        let piece = |it: Option<&str>| it.map_or(Keys::Pasted, |typed| Keys::Typed(typed.into()));
        let all: Vec<Keys> = pieces.iter().copied().map(piece).collect();
        keys::heard(all.last()?, &all)
    };
    assert_eq!(heard(&[Some("read a\r"), None]), Some(Sent::Nothing));
    for pieces in [
        &[Some("read "), None, Some("\r")][..],
        &[None, Some("read a\r")],
        // What was pasted into the line before may have ended in anything.
        &[None, Some("\rread a\r")],
    ] {
        let unclear = heard(pieces);
        assert!(matches!(&unclear, Some(Sent::Unclear(it)) if it.has_paste()), "{unclear:?}");
    }
}

#[test]
fn a_model_sees_keys_by_their_names_and_no_line_of_its_own() {
    let Some(Sent::Unclear(keys)) = sent("a <Enter> b\u{1b}[D\u{7f}\u{9}\u{1b}[200~\r") else {
        panic!("it is clear")
    };
    assert_eq!(
        keys.shown(),
        "a <less-than>Enter> b<Left><Backspace><U+0009><Escape [200~><Enter>\n"
    );
}

#[test]
fn nothing_is_a_message_of_keys_that_do_not_hold_its_words() {
    for (typed, text, could_be) in [
        ("read \u{1b}[D\u{1b}[C ~/todo.md\r", "read ~/todo.md", true),
        ("look @pl\r at ~/todo.md\r", "look @pl at ~/todo.md", true),
        ("look @pl\rread ~/todo.md\r", "read ~/todo.md", true),
        // Less than a word, more than a word, another order, or a word less.
        ("read \t ~/todo.md.bak\r", "read ~/todo.md", false),
        ("read \t ~/todo.md\r", "read ~/todo.md.bak", false),
        ("unread \t ~/todo.md\r", "read ~/todo.md", false),
        ("~/todo.md \t read\r", "read ~/todo.md", false),
        ("read \t ~/todo.md carefully\r", "read ~/todo.md", false),
        // What another key stands beside may have been put anywhere.
        ("read ~/todo.md\u{1b}[F.bak\r", "read ~/todo.md", false),
        ("read ~/todo.md \u{1b}[D.bak\r", "read ~/todo.md", false),
        ("read ~/t\u{e4}\u{7f}odo.md\r", "read ~/todo.md", false),
        // Lines are not one word, and none of them takes anything back.
        ("do not\rread \t ~/todo.md\r", "read ~/todo.md", false),
        ("look @a\rread ~/\rtodo.md\r", "read ~/todo.md", false),
        ("do not @pl\rread ~/todo.md\r", "read ~/todo.md", false),
    ] {
        let Some(Sent::Unclear(keys)) = sent(typed) else { panic!("it is clear: {typed:?}") };
        assert_eq!(keys.could_be(text), could_be, "{typed:?}: {text}");
    }
}
