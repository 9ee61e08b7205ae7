//! A few hundred wordings, what each means, and what is not understood.

mod wordings;

use ic_testkit::shared;
use proptest::prelude::*;

use super::*;

/// Writes a reading shortly.
fn short(reading: &Reading) -> String {
    match reading {
        Reading::Requests(requests) => requests.iter().map(one).collect::<Vec<_>>().join(" + "),
        Reading::Unclear(clauses) => format!("? {}", clauses.join(" | ")),
        Reading::Tangled(tangle) => format!("{tangle:?}"),
        Reading::TooMuch => "too much".to_owned(),
        Reading::Nothing => "nothing".to_owned(),
    }
}

fn one(request: &Request) -> String {
    match request {
        Request::List { dir } => format!("list {dir}"),
        Request::Tree { dir } => format!("tree {dir}"),
        Request::Read { path } => format!("read {path}"),
        Request::Write { path, text } => format!("write {path} {text:?}"),
        Request::Append { path, text } => format!("append {path} {text:?}"),
        Request::Move { from, to } => format!("move {from} {to}"),
        Request::Copy { from, to } => format!("copy {from} {to}"),
        Request::Delete { path } => format!("delete {path}"),
        Request::MakeDirectory { path } => format!("mkdir {path}"),
        Request::Search { text, dir } => format!("search {dir} {text:?}"),
        Request::FindFiles { pattern, dir } => format!("find {dir} {pattern}"),
        Request::Fetch { url } => format!("fetch {url}"),
        Request::GitStatus { dir } => format!("status {dir}"),
        Request::GitLog { dir } => format!("log {dir}"),
        Request::GitDiff { dir } => format!("diff {dir}"),
        Request::Commit { message, dir } => format!("commit {dir} {message:?}"),
        Request::Push { remote, dir } => {
            format!("push {dir} {}", remote.as_deref().unwrap_or("-"))
        }
        Request::Clone { url, dir } => format!("clone {url} {dir}"),
        Request::Run { code } => format!("run {code:?}"),
    }
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (message, expected) in rows {
        assert_eq!(short(&read(message)), *expected, "{message}");
        // Neither capitals nor a full stop nor politeness change anything.
        if !message.contains("```") && !message.contains("~~~") {
            let polite = format!("Please, {message}");
            assert_eq!(short(&read(&polite)), *expected, "{polite}");
            let ended = format!("Can you {message}, please?");
            assert_eq!(short(&read(&ended)), *expected, "{ended}");
        }
    }
}

#[test]
fn listings() {
    check(wordings::LISTINGS);
}

#[test]
fn reading() {
    check(wordings::READING);
}

#[test]
fn changing() {
    check(wordings::CHANGING);
}

#[test]
fn searching_and_repositories() {
    check(wordings::SEARCHING);
}

#[test]
fn clauses_are_joined_in_many_ways() {
    check(wordings::JOINED);
}

#[test]
fn blocks_are_texts_or_scripts() {
    check(wordings::BLOCKS);
}

#[test]
fn what_is_not_understood_is_named_and_nothing_is_done() {
    for (message, expected) in wordings::UNCLEAR {
        assert_eq!(short(&read(message)), *expected, "{message:?}");
    }
}

#[test]
fn hostile_messages_are_read_in_one_pass() {
    let mib = 1 << 20;
    let long = |unit: &str| unit.repeat(mib / unit.len());
    for (message, expected) in [
        (long("a "), "? "),
        (long("a"), "? "),
        (long("\n"), "nothing"),
        (long(" \n"), "nothing"),
        (long("then "), "nothing"),
        (long("read a;"), "too much"),
        (long("```\n"), ""),
        (long("``` a ``` "), "? "),
        (long("` "), ""),
        (long("\""), ""),
        (long("' "), ""),
        (long("'a"), "OpenQuote"),
        (long("```a"), ""),
        (format!("fetch http://{}", long(";a")), ""),
        (format!("fetch http://{}", long(";")), ""),
        (long("~~~"), ""),
        (long("[the] "), "? "),
        (long("list "), "? "),
        (long("please "), "nothing"),
        (long("\u{202e}"), "? "),
        (long("\u{1}"), "? "),
        ("x".repeat(MESSAGE_BYTES_MAX + 1), "too much"),
    ] {
        let shown = short(&read(&message));
        let begins: String = message.chars().take(20).collect();
        assert!(
            shown.starts_with(expected),
            "{begins}: {}",
            shown.chars().take(80).collect::<String>()
        );
        assert!(shown.len() < 500 || shown.starts_with("fetch"), "{begins}");
    }
    let text = long("and then; \" ");
    let message = format!("write '{text}' to a.txt");
    let write = Request::Write { path: "a.txt".into(), text };
    assert_eq!(read(&message), Reading::Requests(vec![write]));
}

#[test]
fn naughty_strings_are_texts_like_any_other() {
    let Some(vectors) = shared::corpus("naughty_strings") else { return };
    let texts: Vec<&str> = vectors
        .iter()
        .filter_map(|vector| vector["input"].as_str())
        .filter(|text| !text.contains("~~~~~~~"))
        .collect();
    assert!(100 < texts.len());
    for texts in texts.chunks(50) {
        let write = |text| format!("write\n~~~~~~~\n{text}\n~~~~~~~\nto a.txt\n");
        let message: String = texts.iter().map(write).collect();
        let path = || "a.txt".to_owned();
        let wanted =
            texts.iter().map(|text| Request::Write { path: path(), text: format!("{text}\n") });
        assert_eq!(read(&message), Reading::Requests(wanted.collect()));
        for text in texts {
            read(text);
        }
    }
}

/// Texts that look like what surrounds them.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            " and ",
            " then ",
            ";",
            "\n",
            "```",
            "~~~",
            "`",
            "'",
            "’",
            "“",
            "”",
            "«",
            "»",
            "„",
            ".",
            ", ",
            " to ",
            "delete a.txt",
            "read ",
            "\\",
            "${x}",
            "\u{2028}",
            "\0",
            " ",
            "\r\n",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_makes_it_fail(message in prop_oneof![tricky(), any::<String>()]) {
        read(&message);
    }

    #[test]
    fn quoted_text_is_kept_byte_for_byte(text in tricky()) {
        let text = text.replace('"', "");
        let write = Request::Write { path: "a.txt".into(), text: text.clone() };
        let list = Request::List { dir: ".".into() };
        let message = format!("list the files and write \"{text}\" to a.txt; list the files");
        prop_assert_eq!(read(&message), Reading::Requests(vec![list.clone(), write, list]));
    }

    #[test]
    fn text_in_curly_quotes_is_kept_byte_for_byte(text in tricky()) {
        let text = text.replace('”', "");
        let commit = Request::Commit { message: text.clone(), dir: "p".into() };
        let message = format!("commit “{text}” in p");
        prop_assert_eq!(read(&message), Reading::Requests(vec![commit]));
    }

    #[test]
    fn text_in_blocks_is_kept_byte_for_byte(text in tricky()) {
        let text = format!("{}\n", text.replace("~~~~", ""));
        let append = Request::Append { path: "a.txt".into(), text: text.clone() };
        let message = format!("append this to a.txt:\n~~~~\n{text}~~~~");
        prop_assert_eq!(read(&message), Reading::Requests(vec![append]));
    }

    #[test]
    fn quoted_names_are_kept_byte_for_byte(name in tricky()) {
        let name = name.replace('"', "");
        prop_assume!(!name.is_empty());
        let delete = Request::Delete { path: name.clone() };
        let message = format!("delete the file \"{name}\"");
        prop_assert_eq!(read(&message), Reading::Requests(vec![delete]));
    }
}
