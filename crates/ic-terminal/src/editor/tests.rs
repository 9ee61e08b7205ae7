//! Tests of editing.

use proptest::prelude::*;

use super::*;

/// Presses keys as they are written: characters, and names in `<>`.
fn press(editor: &mut Editor, keys: &str) -> Press {
    let mut last = Press::Taken;
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (key, after) = match rest.strip_prefix('<').and_then(|it| it.split_once('>')) {
            Some((name, after)) => (named(name), after),
            None => (Key::Char(c), rest.split_at(c.len_utf8()).1),
        };
        last = editor.press(&key);
        rest = after;
    }
    last
}

fn named(name: &str) -> Key {
    match name {
        "left" => Key::Left,
        "right" => Key::Right,
        "up" => Key::Up,
        "down" => Key::Down,
        "home" => Key::Home,
        "end" => Key::End,
        "bs" => Key::Backspace,
        "del" => Key::Delete,
        "wbs" => Key::WordBackspace,
        "wl" => Key::WordLeft,
        "wr" => Key::WordRight,
        "enter" => Key::Enter,
        "nl" => Key::LineBreak,
        "tab" => Key::Tab,
        _ => match name.split_once('-') {
            Some(("c", key)) => Key::Ctrl(key.chars().next().unwrap()),
            Some(("a", key)) => Key::Alt(key.chars().next().unwrap()),
            _ => panic!("{name}"),
        },
    }
}

/// Shows the message with the cursor as `|`.
fn shown(editor: &Editor) -> String {
    let (before, after) = editor.cells().split_at(editor.cursor());
    let text = |cells: &[Cell]| cells.iter().map(Cell::shown).collect::<String>();
    format!("{}|{}", text(before), text(after))
}

#[track_caller]
fn check(keys: &str, expected: &str) {
    let mut editor = Editor::default();
    press(&mut editor, keys);
    assert_eq!(shown(&editor), expected, "{keys}");
}

#[test]
fn letters_and_steps() {
    check("abc<left>x", "abx|c");
    check("abc<home>x<end>y", "xabcy|");
    check("abc<c-a><c-f>x<c-b>", "a|xbc");
    check("ab<bs><bs><bs>", "|");
    check("abc<home><del><c-d>", "|c");
    check("abc<left><left><left><left><bs>", "|abc");
    check("abc<del>", "abc|");
    check("ab<c-t>c", "bac|");
}

#[test]
fn words() {
    check("one two-three<wl>", "one two-|three");
    check("one two<a-b><a-b>", "|one two");
    check("one two<home><wr>", "one| two");
    check("one two<home><a-f><a-f><a-f>", "one two|");
    check("one two-three<c-w>", "one |");
    check("one two-three<wbs>", "one two-|");
    check("one two<home><a-d>", "| two");
    check("日本 ü<a-b><a-b>", "|日本 ü");
}

#[test]
fn what_is_killed_can_be_put_elsewhere() {
    check("one two<c-w><c-a><c-y>", "two|one ");
    check("one two<c-u>x<c-y>", "xone two|");
    check("one two<home><c-k><c-y><c-y>", "one twoone two|");
    // What is killed in a row belongs together, in its order.
    check("one two three<c-w><c-w><c-y>", "one two three|");
    check("one two<home><a-d><a-d><c-y>", "one two|");
    check("one two<c-w><left><right><c-w><c-y>", "one |");
}

#[test]
fn several_lines() {
    check("ab<nl>c", "ab\nc|");
    check("abc<nl>de<up>", "ab|c\nde");
    check("abc<nl>de<up><down>", "abc\nde|");
    check("a<nl>bcd<up>", "a|\nbcd");
    check("ab<nl>cd<home><c-u>", "ab\n|cd");
    check("ab<nl>cd<up><c-k>", "ab|cd");
    check("ab<nl>cd<up><left><c-k>", "a|\ncd");
    check("ab<nl>cd<home><bs>", "ab|cd");
    // A backslash at the end goes on in the next line; two are one that is meant.
    check("ab\\<enter>c", "ab\nc|");
    let mut editor = Editor::default();
    assert_eq!(press(&mut editor, "ab\\\\<enter>"), Press::Send);
    assert_eq!(editor.take(), "ab\\\\");
    assert!(editor.is_empty());
}

#[test]
fn what_others_are_asked_for() {
    let mut editor = Editor::default();
    for (keys, expected) in [
        ("a<up>", Press::Older),
        ("<down>", Press::Newer),
        ("<nl>b<up>", Press::Taken),
        ("<up>", Press::Older),
        ("<down>", Press::Taken),
        ("<down>", Press::Newer),
        ("<tab>", Press::Complete),
        ("<enter>", Press::Send),
        ("<c-g>", Press::Unknown),
    ] {
        assert_eq!(press(&mut editor, keys), expected, "{keys}");
    }
}

#[test]
fn a_mark_belongs_to_its_letter() {
    check("e\u{301}<left>x", "x|e\u{301}");
    check("ae\u{301}<bs>", "a|");
    check("👩\u{200d}👩<bs>", "|");
}

#[test]
fn undoing() {
    check("one two<c-_>", "one|");
    check("one two<c-_><c-_><c-_><c-_>", "|");
    check("one<c-u><c-_>", "one|");
    let mut editor = Editor::default();
    for _ in 0..1000 {
        press(&mut editor, "a ");
    }
    press(&mut editor, &"<c-_>".repeat(1000));
    assert!(!editor.is_empty(), "only so much is remembered");
}

#[test]
fn a_long_paste_is_one_thing() {
    let text = "line\n".repeat(10_000);
    let mut editor = Editor::default();
    press(&mut editor, "a");
    editor.press(&Key::Paste(text.clone()));
    press(&mut editor, "b");
    assert_eq!(shown(&editor), "a[pasted: 10000 lines, 50000 bytes]b|");
    assert_eq!(editor.text(), format!("a{text}b"));
    press(&mut editor, "<left><bs>");
    assert_eq!(shown(&editor), "a|b");
    // A short one is text.
    editor.press(&Key::Paste("x\ny".to_owned()));
    assert_eq!(shown(&editor), "ax\ny|b");
}

#[test]
fn completing_replaces_what_was_begun() {
    let mut editor = Editor::default();
    press(&mut editor, "read no<nl>x<up><end>");
    editor.complete(2, "notes.txt ");
    assert_eq!(shown(&editor), "read notes.txt |\nx");
}

proptest! {
    #[test]
    fn no_key_leads_astray(keys in proptest::collection::vec(0..30_usize, 0..200)) {
        let all = [
            "a", " ", "é", "\u{301}", "日", "\\", "<left>", "<right>", "<up>", "<down>", "<home>", "<end>",
            "<bs>", "<del>", "<wbs>", "<wl>", "<wr>", "<nl>", "<enter>", "<c-k>", "<c-u>", "<c-w>", "<c-y>",
            "<c-t>", "<c-_>", "<a-d>", "<a-b>", "<a-f>", "<c-d>", "-",
        ];
        let mut editor = Editor::default();
        for key in keys {
            press(&mut editor, all[key]);
            prop_assert!(editor.cursor() <= editor.cells().len());
        }
        let text = editor.text();
        prop_assert_eq!(editor.take(), text);
    }
}
