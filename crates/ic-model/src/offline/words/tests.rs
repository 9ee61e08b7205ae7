//! What the pieces of a message are.

use super::*;

/// Writes pieces shortly.
fn short(message: &str) -> String {
    let Ok(tokens) = take_apart(message) else { return "tangled".to_owned() };
    let piece = |token: &Token<'_>| match &token.kind {
        Kind::Word { text, .. } => (*text).to_owned(),
        Kind::Quoted(text) => format!("<{text}>"),
        Kind::Block { language, text } => format!("{{{language}|{text}}}"),
        Kind::Line => "/".to_owned(),
        Kind::Stop => "|".to_owned(),
    };
    tokens.iter().map(piece).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(message: &str, expected: &str) {
    assert_eq!(short(message), expected, "{message:?}");
}

#[test]
fn words_lose_punctuation_and_names_keep_dots() {
    check("a b.txt. C! d? e: f, g", "a b.txt | C | d | e f | g");
    check(". .. ./ ../.. a/. x...", ". .. ./ ../.. a/. x |");
    check("a;b", "a | b");
    check("http://a/b;c; d", "http://a/b;c | d");
    check("a\n \n\n b", "a / b");
    check("it's ok", "it's ok");
    check("...", "...");
}

#[test]
fn quotes_close_where_a_word_ends() {
    check("'a' 'b's' “c” ‘d’s’ «e», \"f\".", "<a> <b's> <c> <d’s> <e> | <f> .");
    check("`a` ``b`c`` ```d```", "<a> <b`c> <d>");
    check("\"a\"b", "tangled");
    check("a\"b\"", "tangled");
}

#[test]
fn blocks_end_at_a_fence_that_is_as_long() {
    check("```ts\na\n```", "{ts|a\n}");
    check("   ```ts\na\n   ```  \nb", "{ts|a\n} / b");
    check("````\n```\n````", "{|```\n}");
    check("```\n```js\n```", "{|```js\n}");
    check("```\n``` to x", "{|} to x");
    check("```\n```to\n```", "{|```to\n}");
    check("```\n~~~\n```", "{|~~~\n}");
    check("~~~\n```\n~~~", "{|```\n}");
    check("```\na", "tangled");
}

#[test]
fn places_are_those_of_the_message() {
    let message = "read “ä b”, now";
    for token in take_apart(message).unwrap() {
        assert!(message.get(token.start..token.end).is_some());
    }
}
