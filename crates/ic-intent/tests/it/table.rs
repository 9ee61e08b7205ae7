//! The table of messages and calls: approve or ask, by the words with a model that always says yes, and literally.

use ic_intent::{Message, Named, Other, Source, Wanted, WantedRole, asked, literal, wanted};
use ic_types::{Role, Timestamp};

const TABLE: &str = include_str!("../table.txt");
const CONTENT: [&str; 4] = ["content", "edits", "message", "body"];

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn typed(text: &str) -> Message {
    let at = at("2026-11-18T12:00:00Z");
    Message { text: text.to_owned(), source: Source::Typed, at, has_paste: false }
}

/// Puts `\n` and `U+XXXX` in.
fn unescaped(text: &str) -> String {
    let mut text = text.replace("\\n", "\n");
    while let Some(at) = text.find("U+") {
        let code = u32::from_str_radix(&text[at + 2..at + 6], 16).unwrap();
        text.replace_range(at..at + 6, &char::from_u32(code).unwrap().to_string());
    }
    text
}

fn role(role: Role, resource: &str) -> WantedRole {
    let (written, resolved) = resource.split_once("=>").unwrap_or((resource, resource));
    let named = match role {
        Role::FetchUrl => Named::Url(resolved.to_owned()),
        Role::GitRemoteUrl => Named::Remote(wanted::remote(resolved).unwrap()),
        _ => Named::Path(resolved.to_owned()),
    };
    WantedRole { role, written: vec![written.to_owned()], named: vec![named] }
}

/// Reads a call; a space in a path stands where no slash or scheme follows.
pub(crate) fn call(text: &str) -> Wanted {
    let (text, others) = match text.split_once(" +") {
        Some((text, others)) => (text, Some(others)),
        None => (text, None),
    };
    let (verb, rest) = text.split_once(' ').unwrap();
    let two = || rest.split_once(' ').unwrap_or((rest, ""));
    let roles = match verb {
        "read" | "status" | "log" | "diff" | "search" | "run_script" | "post" => {
            vec![role(Role::ReadPath, rest)]
        }
        "write" => vec![role(Role::WritePath, rest)],
        "edit" => vec![role(Role::ReadPath, rest), role(Role::WritePath, rest)],
        "delete" => vec![role(Role::DeletePath, rest)],
        "shell" => vec![
            role(Role::ReadPath, rest),
            role(Role::WritePath, rest),
            role(Role::DeletePath, rest),
        ],
        "commit" => vec![role(Role::ReadPath, rest), role(Role::WriteHistory, rest)],
        "fetch" => vec![role(Role::FetchUrl, rest)],
        "push-only" => vec![role(Role::GitRemoteUrl, rest)],
        "move" => {
            vec![
                role(Role::ReadPath, two().0),
                role(Role::DeletePath, two().0),
                role(Role::WritePath, two().1),
            ]
        }
        "copy" => vec![role(Role::ReadPath, two().0), role(Role::WritePath, two().1)],
        "push" => vec![
            role(Role::ReadPath, two().0),
            role(Role::WriteHistory, two().0),
            role(Role::GitRemoteUrl, two().1),
        ],
        "clone" if two().1.is_empty() => vec![role(Role::GitRemoteUrl, rest)],
        "clone" => vec![role(Role::GitRemoteUrl, two().0), role(Role::WritePath, two().1)],
        other => panic!("{other}"),
    };
    let others = others.map(|it| {
        let (name, text) = match it.split_once('=') {
            Some((name, text)) => (name, Some(text.to_owned())),
            None => (it, None),
        };
        Other { name: name.to_owned(), text, is_content: CONTENT.contains(&name) }
    });
    Wanted {
        tool: verb.to_owned(),
        escalated: roles.iter().map(|it| it.role).collect(),
        roles,
        others: others.into_iter().collect(),
    }
}

#[test]
fn every_row_of_the_table_holds() {
    let (mut n_rows, mut wrong) = (0, Vec::new());
    for (number, line) in TABLE.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        n_rows += 1;
        let parts: Vec<&str> = line.split(" | ").collect();
        let [message, wanted, by_words, literally] = parts[..] else { panic!("{line}") };
        let (message, wanted) = (typed(&unescaped(message)), call(&unescaped(wanted)));
        let (heard, now) = (("", Some("/home/u")), at("2026-11-18T12:00:30Z"));
        for (found, expected) in [
            (asked::check(&message, &wanted, heard, now), by_words),
            (literal::check(&message, &wanted, heard, now), literally),
        ] {
            if found.is_ok() != (expected == "yes") {
                wrong.push(format!("line {}: {line}: {found:?}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(200 <= n_rows, "{n_rows} rows");
}
