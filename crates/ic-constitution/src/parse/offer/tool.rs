//! What is offered for words that name a tool and not its server.
//!
//! Which tools servers have is not known here; only tools whose names say where they belong are offered.

use ic_policy::Effect;

use super::{EXCEPTIONS, effect_of, has, plain};
use crate::grammar::SHELL;
use crate::parse::place::looks_like_place;
use crate::sentence::{Deed, Place, Sentence, With};
use crate::word::Word;

/// Words that say that a tool is used.
const USING: [&str; 6] = ["use", "uses", "using", "call", "calls", "calling"];
/// Tools of built-in servers whose names do not begin with that of the server.
const OTHERS: [(&str, &str); 2] = [SHELL, ("fetch", "http_fetch")];

/// Returns whether the words are about tools by their names alone, so that no verb is meant by them.
pub(super) fn are_named(words: &[Word]) -> bool {
    let is_next = |pair: &[Word]| match pair {
        [one, other] => one.is_one_of(&USING) && is_name(other),
        _ => false,
    };
    let is_named = words.windows(2).any(is_next) || words.iter().any(|it| built_in(it).is_some());
    is_named && !has(words, &["of"])
}

/// Returns the sentence about these tools, if every server is known and nothing else is said of them.
pub(super) fn offer(words: &[Word]) -> Option<Sentence> {
    let named: Vec<With> = words.iter().filter_map(built_in).collect();
    let n_names = words.iter().filter(|it| is_name(it)).count();
    let says_more = has(words, &EXCEPTIONS)
        || has(words, &["only", "else", "with"])
        || words.iter().any(looks_like_place);
    let effect = effect_of(words).unwrap_or(Effect::Escalate);
    let is_all = !named.is_empty() && named.len() == n_names && !says_more;
    is_all.then(|| Sentence { deed: Deed::Use(named), ..plain(effect, Vec::new(), Place::Unsaid) })
}

/// Returns whether a word is written as tools are called, and nothing else.
fn is_name(word: &Word) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    word.low.contains('_') && word.low.chars().all(is_part)
}

/// Returns the tool of a built-in server that a word names.
fn built_in(word: &Word) -> Option<With> {
    let is_of_git = |name: &str| is_name(word) && name.starts_with("git_");
    let (server, tool) = match word.low.as_str() {
        name if is_of_git(name) => ("git", name),
        name => OTHERS.into_iter().find(|(_, tool)| *tool == name)?,
    };
    Some(With { server: server.parse().ok()?, tool: Some(tool.parse().ok()?) })
}
