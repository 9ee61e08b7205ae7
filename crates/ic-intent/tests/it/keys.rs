//! What keys at another program's interface came to, as far as code can tell.

use ic_intent::{Keys, Sent, keys};

fn sent(typed: &str) -> Option<Sent> {
    keys::sent(&[Keys::Typed(typed.as_bytes().to_vec())])
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
        ("", ""),
    ] {
        let expected =
            (!typed.is_empty()).then(|| Sent::Line { text: text.to_owned(), has_paste: false });
        assert_eq!(sent(typed), expected, "{typed:?}");
    }
    assert_eq!(sent("read ~/a"), None, "nothing was sent");
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
        // Alt and Enter, or Escape and then Enter: the bytes are the same.
        "do not\u{1b}\rread ~/a\r",
        "read ~/a\u{1b}[\r",
        "read ~/a\u{1b}O\r",
        "read ~/a\u{1b}[12\r",
        "one\ntwo\r",
        "\u{7f}read ~/a\r",
        // Enter may have taken what a list proposed, and the line goes on.
        "do not @pl\r read ~/a\r",
        "/mo\rread ~/a\r",
        "never \\\rread ~/a\r",
        "do not\u{1b}[C\rread ~/a\r",
    ] {
        assert!(matches!(sent(typed), Some(Sent::Unclear(_))), "{typed:?}: {:?}", sent(typed));
    }
}

#[test]
fn a_paste_is_known_as_one() {
    let keys = |pieces: &[Option<&str>]| -> Option<Sent> {
        let piece = |it: Option<&str>| it.map_or(Keys::Pasted, |typed| Keys::Typed(typed.into()));
        keys::sent(&pieces.iter().copied().map(piece).collect::<Vec<_>>())
    };
    let line = |text: &str, has_paste| Some(Sent::Line { text: text.to_owned(), has_paste });
    assert_eq!(keys(&[Some("read "), None, Some("\r")]), line("read ", true));
    assert_eq!(keys(&[Some("read a\r"), None]), line("read a", false));
    // What was pasted into the line before may have ended in anything.
    let unclear = keys(&[None, Some("\rread a\r")]);
    assert!(matches!(&unclear, Some(Sent::Unclear(it)) if it.has_paste()), "{unclear:?}");
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
    let Some(Sent::Unclear(keys)) = sent("please raed\u{1b}[D ~/notes/todo.md and ~/a\r") else {
        panic!("it is clear")
    };
    for (text, could_be) in [
        ("please raed ~/notes/todo.md", true),
        ("~/a", true),
        ("read ~/a", false),
        ("~/a and ~/notes/todo.md", false),
        ("~/notes/todo.md.bak", false),
        ("raed~/notes/todo.md", false),
    ] {
        assert_eq!(keys.could_be(text), could_be, "{text}");
    }
}
