//! Commentary and reasons that read like a restriction.
//!
//! Nothing of them is compiled, so a restriction there would be without effect and look as if it had one. This
//! is a rough look for words, on the careful side: a note can be marked as one.

use crate::grammar::VERBS;
use crate::word::hidden;

/// Something in commentary that must not stand there.
pub(crate) enum Found {
    /// It reads like a restriction.
    Restriction { line: usize, words: String },
    /// It has a character that cannot be seen.
    Hidden { line: usize, column: usize, character: String, problem: String },
}

/// Words that restrict something.
const RESTRICTING: [&str; 49] = [
    "never",
    "not",
    "no",
    "only",
    "ask",
    "asks",
    "must",
    "except",
    "unless",
    "don't",
    "doesn't",
    "cannot",
    "can't",
    "mustn't",
    "shouldn't",
    "won't",
    "isn't",
    "aren't",
    "forbidden",
    "forbid",
    "forbids",
    "refused",
    "refuse",
    "prohibited",
    "denied",
    "deny",
    "disallowed",
    "banned",
    "approval",
    "approve",
    "decide",
    "limits",
    "nobody",
    "neither",
    "nor",
    "nothing",
    "nowhere",
    "without",
    "exclude",
    "excludes",
    "excluded",
    "excluding",
    "avoid",
    "avoids",
    "avoided",
    "refrain",
    "untouched",
    "limited",
    "taboo",
];
/// Two words that restrict something together.
const KEEPING_OUT: [[&str; 2]; 14] = [
    ["keep", "out"],
    ["keeps", "out"],
    ["stay", "out"],
    ["stays", "out"],
    ["keep", "away"],
    ["stay", "away"],
    ["hands", "off"],
    ["off", "limits"],
    ["off", "table"],
    ["leave", "alone"],
    ["leaves", "alone"],
    ["check", "before"],
    ["checks", "before"],
    ["confirm", "before"],
];
/// Words that are not in the table of verbs, and that people use for it.
const DEEDS: [&str; 50] = [
    "touch",
    "touching",
    "access",
    "accessing",
    "open",
    "opening",
    "use",
    "using",
    "see",
    "copy",
    "copying",
    "move",
    "moving",
    "send",
    "sending",
    "run",
    "running",
    "execute",
    "executing",
    "upload",
    "uploading",
    "install",
    "installing",
    "enter",
    // What was done, where that is not the verb with an ending.
    "written",
    "overwritten",
    "rewritten",
    "seen",
    "sent",
    "ran",
    // What is done, as a noun.
    "deletion",
    "deletions",
    "removal",
    "removals",
    "erasure",
    "modification",
    "modifications",
    "creation",
    "execution",
    "installation",
    // Commands and their like.
    "rm",
    "rmdir",
    "unlink",
    "mv",
    "cp",
    "chmod",
    "wipe",
    "destroy",
    "purge",
    "alter",
];
/// Those of them that restrict all that can be done, and not only say how things are.
const STRONG: [&str; 15] = [
    "never",
    "forbidden",
    "forbid",
    "forbids",
    "refused",
    "refuse",
    "prohibited",
    "denied",
    "deny",
    "disallowed",
    "banned",
    "approval",
    "decide",
    "must",
    "ask",
];
/// Words for all that can be done.
const ALL: [&str; 4] = ["everything", "anything", "else", "whatever"];
/// Words after *because* that begin something else than a reason.
const TURNING: [&str; 8] =
    ["unless", "except", "but", "however", "although", "though", "provided", "otherwise"];
/// Words in the reason of a *may* that take something back, whatever stands beside them.
const TAKING_BACK: [&str; 14] = [
    "excluding",
    "exclude",
    "excludes",
    "excepting",
    "refrain",
    "avoid",
    "avoids",
    "until",
    "till",
    "outside",
    "barring",
    "besides",
    "apart",
    "hands",
];

/// Looks through the lines of a piece of commentary.
pub(crate) fn in_commentary<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Found> {
    let mut found = Vec::new();
    // What is read of the sentence so far, and where it began.
    let mut sentence = (0, String::new());
    let close = |(line, text): (usize, String), found: &mut Vec<Found>| {
        found.extend(restriction(&text).map(|words| Found::Restriction { line, words }));
    };
    for (line, text) in lines {
        if let Some((at, it)) = text.chars().enumerate().find(|(_, it)| hidden(*it).is_some()) {
            let (column, character) = (at + 1, it.escape_unicode().to_string());
            let problem = hidden(it).unwrap_or_default();
            found.push(Found::Hidden { line, column, character, problem });
        }
        for (position, piece) in pieces(text).into_iter().enumerate() {
            if 0 < position {
                close(std::mem::take(&mut sentence), &mut found);
            }
            if sentence.1.trim().is_empty() {
                sentence.0 = line;
            }
            sentence.1.extend([" ", piece]);
        }
    }
    close(sentence, &mut found);
    found
}

/// Returns the words of a reason that say more than why; `is_open` if the sentence allows something.
pub(crate) fn in_reason(reason: &str, is_open: bool) -> Option<String> {
    let words = words(reason);
    let one_of = |all: &[&str]| words.iter().find(|it| all.contains(&it.as_str())).cloned();
    let place = || {
        let aside = one_of(&["keep", "stay", "leave", "skip", "off", "away", "out"]).is_some();
        reason.split_whitespace().find(|it| aside && is_place(it)).map(str::to_owned)
    };
    let never = || one_of(&["never"]);
    let taken_back =
        || restriction(reason).or_else(|| one_of(&TAKING_BACK)).or_else(never).or_else(place);
    one_of(&TURNING).or_else(|| if is_open { taken_back() } else { None })
}

/// Cuts a line at the ends of sentences; a dot within a name is none.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for (at, it) in text.char_indices() {
        let from = text.len() - rest.len();
        let (Some(piece), Some(after)) = (text.get(from..=at), text.get(at + it.len_utf8()..))
        else {
            continue;
        };
        if ".!?;".contains(it) && after.chars().next().is_none_or(char::is_whitespace) {
            pieces.push(piece);
            rest = after;
        }
    }
    pieces.push(rest);
    pieces
}

fn words(text: &str) -> Vec<String> {
    let low = text.to_lowercase().replace(['\u{2019}'], "'");
    let is_part = |it: char| it.is_alphanumeric() || it == '\'';
    low.split(|it: char| !is_part(it)).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Returns the words of a text that read like a restriction: one that restricts, and what it restricts.
fn restriction(text: &str) -> Option<String> {
    let words = words(text);
    let restricting = words.iter().find(|it| RESTRICTING.contains(&it.as_str()));
    let restricting = restricting.cloned().or_else(|| keeping_out(&words))?;
    let firsts =
        VERBS.iter().flat_map(|row| row.phrases.iter()).flat_map(|(base, gerund)| [*base, *gerund]);
    let verbs: Vec<&str> = firsts.filter_map(|phrase| phrase.split(' ').next()).collect();
    let is_verb = |word: &str| verbs.contains(&word) || DEEDS.contains(&word);
    let is_strong = words.iter().any(|it| STRONG.contains(&it.as_str()));
    let is_deed = |word: &&String| {
        let is_all = is_strong && ALL.contains(&word.as_str());
        is_all || stems(word).iter().any(|stem| is_verb(stem))
    };
    let what = words.iter().find(is_deed).map(String::as_str);
    let what = what.or_else(|| text.split_whitespace().find(|it| is_place(it)))?;
    Some(format!("{restricting} … {what}"))
}

/// Returns two words that restrict something together, though others may stand between them.
fn keeping_out(words: &[String]) -> Option<String> {
    let has = |[first, second]: &&[&str; 2]| {
        let at = words.iter().position(|it| it == first);
        at.is_some_and(|at| words.iter().skip(at).any(|it| it == second))
    };
    KEEPING_OUT.iter().find(has).map(|pair| pair.join(" … "))
}

/// Returns the verbs of which a word may be a form: `removes` and `removed` are `remove`, `committed` is `commit`.
fn stems(word: &str) -> Vec<&str> {
    let doubled = |stem: &str| {
        let mut last = stem.chars().rev();
        last.next().is_some_and(|it| last.next() == Some(it))
    };
    let past = word.strip_suffix("ed");
    let once = past.filter(|it| doubled(it)).and_then(|it| it.get(..it.len() - 1));
    [Some(word), word.strip_suffix('s'), word.strip_suffix('d'), past, once]
        .into_iter()
        .flatten()
        .collect()
}

fn is_place(word: &str) -> bool {
    word.trim_start_matches(['`', '(', '"', '\'']).starts_with(['~', '/'])
}
