//! Sentences about lists: `@contacts is what list_contacts of addressbook returns`.
//!
//! Where a list may be named is known elsewhere.

use ic_types::{Json, JsonLimits, Object, ServerName, ToolName};

use super::clause::Stuck;
use super::{place, raw};
use crate::document::{self, Document, Statement};
use crate::fault::Fault;
use crate::list::{ListDefinition, ListSource};
use crate::word::Word;

/// What is offered for a sentence about a list that is not understood.
const OFFERS: [&str; 3] = [
    "@contacts is what list_contacts of addressbook returns.",
    "@contacts is each email that list_contacts of addressbook returns.",
    "@news means popular news sites.",
];

/// Reads a statement as one about a list; `None` if it is about something else.
pub(super) fn definition(statement: &Statement) -> Option<Result<ListDefinition, Fault>> {
    let (first, rest) = statement.words.split_first()?;
    if !first.text.starts_with('@') {
        return None;
    }
    let bare = Word { is_quoted: false, ..first.clone() };
    let read = match place::list_of(&bare) {
        Some(name) => source(rest).map(|source| (name, source)),
        None => Err(Stuck::at(Some(first), "a list has a name of letters, digits, `-` and `_`")),
    };
    Some(match read {
        Ok((name, source)) => {
            let (line, text) = (statement.line, raw(&statement.words));
            Ok(ListDefinition { name, source, line, text })
        }
        Err(Stuck { line, column, words, problem }) => {
            let offers = OFFERS.map(str::to_owned).to_vec();
            Err(Fault { line, column, words, problem, offers })
        }
    })
}

/// Reads a text that is one sentence about a list.
pub(crate) fn definition_of(text: &str) -> Option<ListDefinition> {
    let Document { statements, blocks, faults } = document::read(text);
    match (statements.as_slice(), blocks.is_empty() && faults.is_empty()) {
        ([statement], true) => definition(statement)?.ok(),
        _ => None,
    }
}

fn source(words: &[Word]) -> Result<ListSource, Stuck> {
    let Some((verb, rest)) = words.split_first() else {
        return Err(Stuck::at(None, "this does not say what the list holds"));
    };
    if verb.is_one_of(&["means", "mean"]) {
        return described(verb, rest);
    }
    if !verb.is_one_of(&["is", "are"]) {
        let problem = "a list `is what TOOL of SERVER returns`, or `means` something in words";
        return Err(Stuck::at(Some(verb), problem));
    }
    match rest {
        [what, rest @ ..] if what.is("what") => called(verb, rest, None),
        [each, field, that, rest @ ..]
            if each.is_one_of(&["each", "every"]) && that.is_one_of(&["that", "which"]) =>
        {
            called(verb, rest, Some(field.text.clone()))
        }
        _ => {
            let problem =
                "say `what TOOL of SERVER returns`, or `each FIELD that TOOL of SERVER returns`";
            Err(Stuck::at(rest.first().or(Some(verb)), problem))
        }
    }
}

/// Reads `TOOL of SERVER returns`, with the arguments of the call if there are some.
fn called(verb: &Word, words: &[Word], field: Option<String>) -> Result<ListSource, Stuck> {
    let [tool, of, server, returns, rest @ ..] = words else {
        return Err(Stuck::at(words.first().or(Some(verb)), "say `TOOL of SERVER returns`"));
    };
    if !of.is_one_of(&["of", "from"]) || !returns.is_one_of(&["returns", "return"]) {
        return Err(Stuck::at(Some(of), "say `TOOL of SERVER returns`"));
    }
    let arguments = match rest {
        [] => Object::new(),
        [word, json] if word.is_one_of(&["for", "with"]) && json.is_quoted => {
            match Json::parse(json.text.as_bytes(), JsonLimits::CALL) {
                Ok(Json::Object(arguments)) => arguments,
                Ok(_) | Err(_) => {
                    return Err(Stuck::at(
                        Some(json),
                        "the arguments are a JSON object in backticks",
                    ));
                }
            }
        }
        [word, ..] => {
            let problem =
                "only the arguments of the call may follow: ``for `{\"group\":\"work\"}` ``";
            return Err(Stuck::at(Some(word), problem));
        }
    };
    let named = |word: &Word, problem: String| Stuck::at(Some(word), problem);
    Ok(ListSource::Tool {
        server: server.text.parse::<ServerName>().map_err(|it| named(server, it.to_string()))?,
        tool: tool.text.parse::<ToolName>().map_err(|it| named(tool, it.to_string()))?,
        arguments,
        field,
    })
}

/// Reads words that say what a list holds, and the server that knows it.
fn described(verb: &Word, words: &[Word]) -> Result<ListSource, Stuck> {
    let (words, server) = match words {
        [before @ .., found, with, server] if found.is("found") && with.is("with") => {
            let name = server.text.parse::<ServerName>();
            let name = name.map_err(|it| Stuck::at(Some(server), it.to_string()))?;
            (before, Some(name))
        }
        words => (words, None),
    };
    let words = match words {
        [before @ .., comma] if comma.is(",") => before,
        words => words,
    };
    match words {
        [] => Err(Stuck::at(Some(verb), "this does not say what the list holds")),
        words => Ok(ListSource::Words { words: raw(words), server }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{parse, stated};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let constitution = parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
        let [list] = constitution.lists.as_slice() else { panic!("{text}") };
        let said = match &list.source {
            ListSource::Tool { server, tool, arguments, field } => {
                let field = field.as_deref().unwrap_or("all");
                format!("{field} of {server}.{tool} {}", Json::Object(arguments.clone()))
            }
            ListSource::Words { words, server } => format!("{words} | {server:?}"),
        };
        assert_eq!(format!("@{} {said}", list.name), expected, "{text}");
        // What stands in the compiled policy is read back.
        assert_eq!(definition_of(&list.text).map(|it| it.source), Some(list.source.clone()));
    }

    #[test]
    fn a_list_comes_from_a_tool_or_from_words() {
        check("@a is what list_contacts of book returns.", "@a all of book.list_contacts {}");
        check("- `@a` are what list of book return", "@a all of book.list {}");
        check(
            "@a is each `e-mail` that list of book returns for `{\"group\":\"work. or\"}`.",
            "@a e-mail of book.list {\"group\":\"work. or\"}",
        );
        check("@news means the popular news sites.", "@news the popular news sites | None");
        check(
            "@a means my friends, found with book.",
            "@a my friends | Some(ServerName(\"book\"))",
        );
    }

    #[test]
    fn what_is_not_understood_about_a_list_is_refused() {
        for text in [
            "@a",
            "@a is",
            "@a is my contacts",
            "@a is what list returns",
            "@a is what list of book returns unless it is full",
            "@a is what list of book returns for everybody",
            "@a is what list of book returns for `[1]`",
            "@a means",
            "@a/b means things",
            "@a must never be read",
            "@a means x. @a means y.",
        ] {
            assert!(parse(text).is_err(), "{text}");
            // It is not for a model to say what it means.
            assert!(stated(text).is_err(), "{text}");
        }
    }
}
