//! Patterns of clauses: words, choices between words, parts that may be missing, and slots.
//!
//! ```text
//! list|show [the] files [in <dir>]
//! ```
//!
//! A pattern fits a clause as a whole or not at all, so that nothing a person wrote is passed over.

use super::words::{Kind, Token};

/// Words of one clause; a longer one fits nothing. Bounds how long a comparison can take.
pub(super) const CLAUSE_WORDS_MAX: usize = 40;

/// Words that name nothing by themselves; as a name they have to be quoted.
const NO_NAMES: [&str; 41] = [
    "the",
    "a",
    "an",
    "this",
    "that",
    "these",
    "those",
    "it",
    "its",
    "them",
    "all",
    "everything",
    "every",
    "file",
    "files",
    "directory",
    "directories",
    "folder",
    "folders",
    "to",
    "into",
    "in",
    "with",
    "from",
    "as",
    "of",
    "and",
    "then",
    "me",
    "my",
    "your",
    "contents",
    "content",
    "text",
    "not",
    "no",
    "or",
    "if",
    "for",
    "something",
    "anything",
];

/// A part of a pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Element {
    /// One of these words.
    Word(Vec<&'static str>),
    /// A place for something.
    Slot(Slot),
    /// All of this or nothing.
    Optional(Vec<Element>),
}

/// What a place is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slot {
    /// A file, quoted or not.
    Path,
    /// A directory, quoted or not.
    Directory,
    /// A text in quotes or in a block.
    Text,
    /// A text in quotes, or one word.
    Term,
    /// A fenced block.
    Code,
    /// An address with a scheme.
    Url,
    /// An address of any kind.
    Address,
    /// The name or the address of a remote.
    Remote,
}

/// What stood in the slots, in order.
#[derive(Debug, Default)]
pub(super) struct Found<'t>(Vec<(Slot, &'t str)>);

/// Reads a pattern; `None` if it is none.
pub(super) fn pattern(text: &'static str) -> Option<Vec<Element>> {
    let mut open = vec![Vec::new()];
    let spaced = text.split_inclusive(['[', ']']).flat_map(|part| {
        let (words, bracket) = match part.strip_suffix(['[', ']']) {
            Some(words) => (words, part.get(words.len()..)),
            None => (part, None),
        };
        words.split_whitespace().chain(bracket)
    });
    for part in spaced {
        match part {
            "[" => open.push(Vec::new()),
            "]" => {
                let inner = open.pop()?;
                open.last_mut()?.push(Element::Optional(inner));
            }
            part => {
                let element = match part.strip_prefix('<') {
                    Some(slot) => Element::Slot(Slot::named(slot.strip_suffix('>')?)?),
                    None => Element::Word(part.split('|').collect()),
                };
                open.last_mut()?.push(element);
            }
        }
    }
    let whole = open.pop()?;
    open.is_empty().then_some(whole)
}

/// Fits a clause into a pattern, all of it.
pub(super) fn fit<'t>(pattern: &[Element], clause: &'t [Token<'_>]) -> Option<Found<'t>> {
    if CLAUSE_WORDS_MAX < clause.len() {
        return None;
    }
    let mut found = Found::default();
    fits(&[pattern], clause, &mut found).then_some(found)
}

/// Fits `clause` into what is left of a pattern: the first of `left`, then the second, and so on.
fn fits<'t>(left: &[&[Element]], clause: &'t [Token<'_>], found: &mut Found<'t>) -> bool {
    let Some((first, others)) = left.split_first() else { return clause.is_empty() };
    let Some((element, rest)) = first.split_first() else { return fits(others, clause, found) };
    let go_on = |rest: &[Element], clause, found: &mut Found<'t>| {
        let left: Vec<&[Element]> = std::iter::once(rest).chain(others.iter().copied()).collect();
        fits(&left, clause, found)
    };
    match element {
        Element::Optional(inner) => {
            let n_found = found.0.len();
            let left: Vec<&[Element]> =
                [inner.as_slice(), rest].into_iter().chain(others.iter().copied()).collect();
            if fits(&left, clause, found) {
                return true;
            }
            found.0.truncate(n_found);
            go_on(rest, clause, found)
        }
        Element::Word(choices) => match clause {
            [Token { kind: Kind::Word { lower, .. }, .. }, after @ ..] => {
                choices.contains(&lower.as_str()) && go_on(rest, after, found)
            }
            [..] => false,
        },
        Element::Slot(slot) => {
            let [token, after @ ..] = clause else { return false };
            let Some(value) = slot.take(&token.kind) else { return false };
            found.0.push((*slot, value));
            go_on(rest, after, found)
        }
    }
}

impl Slot {
    fn named(name: &str) -> Option<Self> {
        match name {
            "path" => Some(Self::Path),
            "dir" => Some(Self::Directory),
            "text" => Some(Self::Text),
            "term" => Some(Self::Term),
            "code" => Some(Self::Code),
            "url" => Some(Self::Url),
            "address" => Some(Self::Address),
            "remote" => Some(Self::Remote),
            _ => None,
        }
    }

    /// Returns what a token is in this place, if it can be there.
    fn take<'t>(self, kind: &'t Kind<'_>) -> Option<&'t str> {
        match (self, kind) {
            (Self::Path | Self::Directory | Self::Remote, Kind::Word { text, lower }) => {
                is_name(text, lower).then_some(*text)
            }
            (Self::Term, Kind::Word { text, lower }) => {
                (!NO_NAMES.contains(&lower.as_str())).then_some(*text)
            }
            (Self::Url, Kind::Word { text, .. } | Kind::Quoted(text)) => {
                is_url(text).then_some(*text)
            }
            (Self::Address, Kind::Word { text, lower }) => {
                let is_address =
                    !NO_NAMES.contains(&lower.as_str()) && text.contains(['.', ':', '/']);
                is_address.then_some(*text)
            }
            (
                Self::Path | Self::Directory | Self::Remote | Self::Address | Self::Term,
                Kind::Quoted(text),
            ) => (!text.is_empty()).then_some(*text),
            (Self::Text, Kind::Quoted(text) | Kind::Block { text, .. }) => Some(*text),
            (Self::Code, Kind::Block { language, text }) => {
                (language.is_empty() || is_code(language)).then_some(*text)
            }
            (
                _,
                Kind::Word { .. } | Kind::Quoted(_) | Kind::Block { .. } | Kind::Line | Kind::Stop,
            ) => None,
        }
    }
}

/// Returns whether a word outside of quotes can be the name of a file.
fn is_name(text: &str, lower: &str) -> bool {
    !NO_NAMES.contains(&lower) && !text.contains("://") && !text.starts_with('-')
}

/// Returns whether a block of this language is one that can be run.
pub(super) fn is_code(language: &str) -> bool {
    matches!(language, "ts" | "typescript" | "js" | "javascript")
}

fn is_url(text: &str) -> bool {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

impl Found<'_> {
    /// Takes the first value of `slot` out.
    pub(super) fn take(&mut self, slot: Slot) -> Option<String> {
        let at = self.0.iter().position(|(other, _)| *other == slot)?;
        Some(self.0.remove(at).1.to_owned())
    }
}
