//! What a person asked for, read from their words: a message is understood as a whole or not at all.
//!
//! Half-done work surprises, so a message with one clause that is not understood asks for nothing.

use super::clause;
use super::grammar::{Grammar, Meaning};
use super::pattern::is_code;
use super::words::{self, Kind, Tangle, Token};

/// One thing to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Request {
    List { dir: String },
    Tree { dir: String },
    Read { path: String },
    Write { path: String, text: String },
    Append { path: String, text: String },
    Move { from: String, to: String },
    Copy { from: String, to: String },
    Delete { path: String },
    MakeDirectory { path: String },
    Search { text: String, dir: String },
    FindFiles { pattern: String, dir: String },
    Fetch { url: String },
    GitStatus { dir: String },
    GitLog { dir: String },
    GitDiff { dir: String },
    Commit { message: String, dir: String },
    Push { remote: Option<String>, dir: String },
    Clone { url: String, dir: String },
    Run { code: String },
}

/// What a message was understood as.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Reading {
    /// To do this, in this order.
    Requests(Vec<Request>),
    /// Nothing, since these clauses were not understood.
    Unclear(Vec<String>),
    /// Nothing, since quotes or blocks are in disorder.
    Tangled(Tangle),
    /// Nothing, since it is too much for one message.
    TooMuch,
    /// Nothing: no request is in it, or the question what can be asked.
    Nothing,
}

/// The longest message that is read, in bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// The most clauses of a message.
pub(super) const CLAUSES_MAX: usize = 100;
/// How many clauses are named that were not understood, and how much of each is shown.
const UNCLEAR_MAX: usize = 5;
const UNCLEAR_CHARS_MAX: usize = 80;

/// Reads a message.
pub(super) fn read(message: &str) -> Reading {
    if MESSAGE_BYTES_MAX < message.len() {
        return Reading::TooMuch;
    }
    let tokens = match words::take_apart(message) {
        Ok(tokens) => tokens,
        Err(tangle) => return Reading::Tangled(tangle),
    };
    let gathered = clause::gather(tokens);
    let bare = gathered.iter().map(|clause| clause::bare(clause));
    let clauses: Vec<&[Token<'_>]> = bare.filter(|clause| !clause.is_empty()).collect();
    if CLAUSES_MAX < clauses.len() {
        return Reading::TooMuch;
    }
    if let [[Token { kind: Kind::Block { language, text }, .. }]] = clauses.as_slice()
        && language.is_empty()
    {
        return Reading::Requests(vec![Request::Run { code: (*text).to_owned() }]);
    }
    let grammar = Grammar::new();
    if clauses.iter().all(|clause| grammar.asks_for_help(clause)) {
        return Reading::Nothing;
    }
    let (mut requests, mut unclear) = (Vec::new(), Vec::new());
    for clause in clauses {
        match read_clause(&grammar, clause, requests.last()) {
            Some(meanings) => requests.extend(meanings),
            None => unclear.push(excerpt(message, clause)),
        }
    }
    if !unclear.is_empty() {
        unclear.truncate(UNCLEAR_MAX);
        return Reading::Unclear(unclear);
    }
    if requests.is_empty() { Reading::Nothing } else { Reading::Requests(requests) }
}

/// Reads one clause, knowing the one before it.
fn read_clause(
    grammar: &Grammar,
    clause: &[Token<'_>],
    before: Option<&Request>,
) -> Option<Vec<Request>> {
    if let Some(meaning) = grammar.meaning(clause) {
        return Some(match meaning {
            Meaning::Do(request) => vec![request],
            Meaning::Nothing => Vec::new(),
        });
    }
    match clause {
        [Token { kind, .. }] => code_of(kind).or_else(|| also(before?, kind)).map(|it| vec![it]),
        // A script under the line of another request is a request of its own.
        [first @ .., Token { kind, .. }] => {
            let code = code_of(kind)?;
            match grammar.meaning(first)? {
                Meaning::Do(request) => Some(vec![request, code]),
                Meaning::Nothing => Some(vec![code]),
            }
        }
        [] => None,
    }
}

/// Returns the request to run a block that says that it is code.
fn code_of(kind: &Kind<'_>) -> Option<Request> {
    match kind {
        Kind::Block { language, text } if is_code(language) => {
            Some(Request::Run { code: (*text).to_owned() })
        }
        Kind::Block { .. } | Kind::Word { .. } | Kind::Quoted(_) | Kind::Line | Kind::Stop => None,
    }
}

/// Returns the request to do the same with another file: `read a.txt and b.txt`.
///
/// What is not quoted has to look like a file, so that no word is taken for one.
fn also(before: &Request, kind: &Kind<'_>) -> Option<Request> {
    let name = match kind {
        Kind::Quoted(name) if !name.is_empty() => (*name).to_owned(),
        Kind::Word { text, .. } if text.contains(['.', '/']) && !text.contains("://") => {
            (*text).to_owned()
        }
        Kind::Quoted(_) | Kind::Word { .. } | Kind::Block { .. } | Kind::Line | Kind::Stop => {
            return None;
        }
    };
    match before {
        Request::List { .. } => Some(Request::List { dir: name }),
        Request::Read { .. } => Some(Request::Read { path: name }),
        Request::Delete { .. } => Some(Request::Delete { path: name }),
        Request::MakeDirectory { .. } => Some(Request::MakeDirectory { path: name }),
        Request::Tree { .. }
        | Request::Write { .. }
        | Request::Append { .. }
        | Request::Move { .. }
        | Request::Copy { .. }
        | Request::Search { .. }
        | Request::FindFiles { .. }
        | Request::Fetch { .. }
        | Request::GitStatus { .. }
        | Request::GitLog { .. }
        | Request::GitDiff { .. }
        | Request::Commit { .. }
        | Request::Push { .. }
        | Request::Clone { .. }
        | Request::Run { .. } => None,
    }
}

/// Returns the beginning of a clause as it was written, on one line.
fn excerpt(message: &str, clause: &[Token<'_>]) -> String {
    let (start, end) = match clause {
        [first, .., last] => (first.start, last.end),
        [only] => (only.start, only.end),
        [] => (0, 0),
    };
    let written = message.get(start..end).unwrap_or_default();
    let mut chars = written.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = chars.by_ref().take(UNCLEAR_CHARS_MAX).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
