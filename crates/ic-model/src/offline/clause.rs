//! Words gathered into clauses: what stands between `then`, `and`, marks and the ends of lines.
//!
//! Politeness at both ends is left out, and nothing else; what a clause means is not known here.

use super::words::{Kind, Token};

/// Words that join clauses.
const JOINING: [&str; 2] = ["and", "then"];
/// What may stand before a request and changes nothing about it.
const BEFORE: [&[&str]; 42] = [
    &["please"],
    &["kindly"],
    &["now"],
    &["then"],
    &["and"],
    &["also"],
    &["next"],
    &["finally"],
    &["first"],
    &["firstly"],
    &["second"],
    &["secondly"],
    &["third"],
    &["thirdly"],
    &["lastly"],
    &["afterwards"],
    &["after", "that"],
    &["just"],
    &["hey"],
    &["hello"],
    &["hi"],
    &["ok"],
    &["okay"],
    &["thanks"],
    &["thank", "you"],
    &["go", "ahead"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["you", "should"],
    &["i", "want", "you", "to"],
    &["i", "want", "to"],
    &["i", "need", "you", "to"],
    &["i", "need", "to"],
    &["i", "would", "like", "you", "to"],
    &["i", "would", "like", "to"],
    &["i'd", "like", "you", "to"],
    &["i'd", "like", "to"],
    &["let's"],
    &["let", "us"],
    &["try", "to"],
];
/// What may stand behind a request and changes nothing about it.
const BEHIND: [&[&str]; 10] = [
    &["please"],
    &["now"],
    &["thanks"],
    &["too"],
    &["afterwards"],
    &["again"],
    &["for", "me"],
    &["to", "me"],
    &["thank", "you"],
    &["as", "well"],
];

/// Gathers clauses, as they were written; some may be empty, or only polite.
pub(super) fn gather(tokens: Vec<Token<'_>>) -> Vec<Vec<Token<'_>>> {
    let joints: Vec<bool> = (0..tokens.len()).map(|at| is_joint(&tokens, at)).collect();
    let mut clauses = vec![Vec::new()];
    for (token, is_joint) in tokens.into_iter().zip(joints) {
        if is_joint {
            clauses.push(Vec::new());
            continue;
        }
        match token.kind {
            // What does not join stands before a block or behind it.
            Kind::Line | Kind::Stop => {}
            Kind::Word { .. } | Kind::Quoted(_) | Kind::Block { .. } => {
                if let Some(clause) = clauses.last_mut() {
                    clause.push(token);
                }
            }
        }
    }
    clauses
}

/// Leaves out of a clause what is only polite.
pub(super) fn bare<'t, 'a>(mut clause: &'t [Token<'a>]) -> &'t [Token<'a>] {
    while let Some(rest) = shorter(clause) {
        clause = rest;
    }
    clause
}

/// Returns whether clauses are joined by the token at `at`.
fn is_joint(tokens: &[Token<'_>], at: usize) -> bool {
    let kind = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|token| &token.kind);
    let (before, after) = (kind(at.checked_sub(1)), kind(at.checked_add(1)));
    match kind(Some(at)) {
        Some(Kind::Stop) => !is_block(after),
        // A block belongs to the line before it, and what says where it goes belongs to the block.
        Some(Kind::Line) => {
            let is_place = word(after).is_some_and(|it| ["to", "into", "in", "as"].contains(&it));
            match is_block(before) {
                true => !is_place,
                false => !is_block(after),
            }
        }
        Some(Kind::Word { lower, .. }) if JOINING.contains(&lower.as_str()) => {
            // "files and folders" are one thing.
            let is_things = |it: &str| ["files", "folders", "directories"].contains(&it);
            !(word(before).is_some_and(is_things) && word(after).is_some_and(is_things))
        }
        Some(Kind::Word { .. } | Kind::Quoted(_) | Kind::Block { .. }) | None => false,
    }
}

fn is_block(kind: Option<&Kind<'_>>) -> bool {
    matches!(kind, Some(Kind::Block { .. }))
}

fn word<'t>(kind: Option<&'t Kind<'_>>) -> Option<&'t str> {
    match kind {
        Some(Kind::Word { lower, .. }) => Some(lower),
        Some(Kind::Quoted(_) | Kind::Block { .. } | Kind::Line | Kind::Stop) | None => None,
    }
}

/// Leaves out one phrase at one of the ends, if there is one.
fn shorter<'t, 'a>(clause: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let before = BEFORE.iter().find_map(|phrase| {
        let (head, rest) = clause.split_at_checked(phrase.len())?;
        says(head, phrase).then_some(rest)
    });
    before.or_else(|| {
        BEHIND.iter().find_map(|phrase| {
            let at = clause.len().checked_sub(phrase.len())?;
            let (rest, tail) = clause.split_at_checked(at)?;
            says(tail, phrase).then_some(rest)
        })
    })
}

fn says(tokens: &[Token<'_>], phrase: &[&str]) -> bool {
    tokens.iter().map(|token| word(Some(&token.kind))).eq(phrase.iter().copied().map(Some))
}
