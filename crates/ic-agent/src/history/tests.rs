//! What is a conversation, and what is none.

use ic_types::Json;

use super::*;

fn id(text: &str) -> ToolUseId {
    ToolUseId::try_from(text.to_owned()).unwrap()
}

fn use_of(name: &str) -> AssistantBlock {
    AssistantBlock::ToolUse { id: id(name), name: "t".into(), input: Json::Null }
}

fn result_of(name: &str) -> UserBlock {
    UserBlock::ToolResult { id: id(name), content: "c".into(), is_error: false }
}

/// Reads messages: `u` a user's text, `n` a note, `r1` a result; `a` an answer's text, `1` a use. A
/// message each, separated by spaces, in which `+` joins blocks.
fn messages(text: &str) -> Vec<Message> {
    let message = |word: &str| {
        if let Some(assistant) = word.strip_prefix("A:") {
            let blocks = assistant.split('+').filter(|block| !block.is_empty());
            let block = |block: &str| match block {
                "a" => AssistantBlock::Text("a".into()),
                number => use_of(number),
            };
            return Message::Assistant(blocks.map(block).collect());
        }
        let blocks = word.strip_prefix("U:").unwrap().split('+').filter(|block| !block.is_empty());
        let block = |block: &str| match block {
            "u" => UserBlock::Text("u".into()),
            "n" => UserBlock::Note("n".into()),
            result => result_of(result.strip_prefix('r').unwrap()),
        };
        Message::User(blocks.map(block).collect())
    };
    text.split_whitespace().map(message).collect()
}

#[track_caller]
fn check(text: &str, expected: Option<HistoryFault>) {
    assert_eq!(History::from_messages(messages(text)).err(), expected, "{text}");
}

/// Says what a conversation looks like that was taken up.
fn taken_up(text: &str, pending: Option<&str>) -> String {
    let pending = pending.map(|it| messages(it).remove(0));
    let history = History::taken_up(messages(text), pending).unwrap();
    let word = |message: &Message| match message {
        Message::Assistant(blocks) => format!("A{}", blocks.len()),
        Message::User(blocks) => {
            let block = |block: &UserBlock| match block {
                UserBlock::Text(_) => "u".to_owned(),
                UserBlock::Note(note) if note.starts_with(CUT) => "cut".to_owned(),
                UserBlock::Note(_) => "n".to_owned(),
                UserBlock::ToolResult { content, .. } if content == CUT_SHORT => "?".to_owned(),
                UserBlock::ToolResult { .. } => "r".to_owned(),
            };
            blocks.iter().map(block).collect::<Vec<_>>().join("+")
        }
    };
    history.messages().iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_process_left_behind_is_taken_up() {
    assert_eq!(taken_up("", None), "");
    assert_eq!(taken_up("U:u A:a", None), "u A1", "what was answered stays as it is");
    assert_eq!(taken_up("U:u", None), "u+cut", "a message without an answer");
    assert_eq!(taken_up("U:u A:1 U:r1", None), "u A1 r+cut", "a step without what followed");
    assert_eq!(taken_up("U:u", Some("A:a+1+2")), "u A3 ?+?+cut", "tools that were being used");
    // Taken up a second time it is the same.
    let once = History::taken_up(messages("U:u"), Some(messages("A:1").remove(0))).unwrap();
    let again = History::taken_up(once.messages().to_vec(), None).unwrap();
    assert_eq!(once, again);
    assert!(History::taken_up(messages("A:a"), None).is_err(), "what is none stays none");
}

#[test]
fn messages_take_turns_and_uses_have_results() {
    check("", None);
    check("U:u", None);
    check("U:u A:a", None);
    check("U:u A:a U:u A:a", None);
    check("U:u A:1 U:r1", None);
    check("U:u A:1 U:r1+n", None);
    check("U:u A:a+1+2 U:r1+r2+n+u A:a", None);
    check("A:a", Some(HistoryFault::Turns(0)));
    check("U:u U:u", Some(HistoryFault::Turns(1)));
    check("U:u A:a A:a", Some(HistoryFault::Turns(2)));
    check("U:", Some(HistoryFault::Empty(0)));
    check("U:u A:", Some(HistoryFault::Empty(1)));
    check("U:u A:1+1 U:r1+r1", Some(HistoryFault::SameId(1)));
    check("U:u A:1", Some(HistoryFault::Open));
    check("U:u A:1 U:u", Some(HistoryFault::Results(2)));
    check("U:u A:1+2 U:r1", Some(HistoryFault::Results(2)));
    check("U:u A:1+2 U:r2+r1", Some(HistoryFault::Results(2)));
    check("U:u A:1 U:u+r1", Some(HistoryFault::Results(2)));
    check("U:u A:1 U:r1+r1", Some(HistoryFault::Results(2)));
    check("U:u A:a U:r1", Some(HistoryFault::Results(2)));
    check("U:r1", Some(HistoryFault::Results(0)));
}

#[test]
fn what_is_said_next_joins_what_was_said_last() {
    let mut history = History::from_messages(messages("U:u A:1 U:r1+n")).unwrap();
    history.say("more");
    assert_eq!(history.messages().len(), 3);
    let Some(Message::User(blocks)) = history.messages().last() else { panic!() };
    assert_eq!(blocks.last(), Some(&UserBlock::Text("more".into())));
    let again = History::from_messages(history.messages().to_vec());
    assert_eq!(again, Ok(history));
}

#[test]
fn going_back_leaves_nothing_behind() {
    for before in ["", "U:u A:a", "U:u A:1 U:r1+n"] {
        let history = History::from_messages(messages(before)).unwrap();
        let mut changed = history.clone();
        let mark = changed.say("more");
        changed.note("note");
        changed.step(vec![use_of("9")], vec![result_of("9")]);
        changed.answer(vec![AssistantBlock::Text("a".into())]);
        changed.rewind(mark);
        assert_eq!(changed, history, "{before}");
    }
}
