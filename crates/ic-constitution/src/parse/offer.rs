//! The nearest plain sentences to words that are not one.
//!
//! A guess for a person to accept, never used by itself: it keeps what can be recognised, and where nothing
//! is recognised it does not propose to allow something.

use ic_policy::Effect;

use super::after;
use super::clause::{any_host, directory_of, host_of};
use crate::grammar::{PlaceKind, VERBS, Verb};
use crate::sentence::{Deed, Directory, HostPlace, Place, Sentence, kind_of};
use crate::word::Word;

/// Words that are not in the table, and the verbs that they may stand for.
const NEAR: [(&[&str], &[Verb]); 12] = [
    (&["touch", "touching", "alter", "altering", "tamper", "mess"], &[Verb::Write, Verb::Delete]),
    (&["access", "accessing", "open", "opening", "see", "seeing", "use", "show"], &[Verb::Read]),
    (&["move", "moving", "rename", "renaming"], &[Verb::Read, Verb::Write, Verb::Delete]),
    (&["copy", "copying"], &[Verb::Read, Verb::Write]),
    (&["make", "making", "store", "storing", "add", "adding", "append", "put"], &[Verb::Write]),
    (&["destroy", "destroying", "wipe", "wiping", "drop", "clear", "clean"], &[Verb::Delete]),
    (
        &[
            "surf",
            "surfing",
            "google",
            "connect",
            "connecting",
            "call",
            "contact",
            "crawl",
            "get",
            "load",
        ],
        &[Verb::Fetch],
    ),
    (
        &[
            "run",
            "running",
            "execute",
            "executing",
            "install",
            "installing",
            "start",
            "build",
            "test",
        ],
        &[Verb::Run],
    ),
    (&["email", "emailing", "mail", "send", "sending"], &[Verb::Mail]),
    (&["upload", "uploading", "publish", "publishing", "release"], &[Verb::Remote]),
    (&["rebase", "rebasing", "squash", "amend", "force-push"], &[Verb::Rewrite]),
    (&["merge", "merging"], &[Verb::Commit]),
];
const EXCEPTIONS: [&str; 9] =
    ["except", "unless", "but", "besides", "apart", "excluding", "other", "outside", "however"];
const NEGATIVE: [&str; 18] = [
    "never",
    "not",
    "no",
    "cannot",
    "can't",
    "don't",
    "doesn't",
    "mustn't",
    "shouldn't",
    "won't",
    "forbidden",
    "forbid",
    "refused",
    "denied",
    "deny",
    "nothing",
    "avoid",
    "prohibited",
];
const ASKING: [&str; 13] = [
    "ask",
    "asks",
    "asking",
    "approve",
    "approves",
    "approval",
    "permission",
    "confirm",
    "confirmation",
    "person",
    "decide",
    "consent",
    "me",
];
const ALLOWING: [&str; 8] = ["may", "can", "allow", "allowed", "let", "permitted", "free", "fine"];

/// Returns what could be written instead.
pub(super) fn offers(words: &[Word]) -> Vec<String> {
    let has = |all: &[&str]| words.iter().any(|it| it.is_one_of(all));
    let effect = if has(&ASKING) {
        Effect::Escalate
    } else if has(&NEGATIVE) {
        Effect::Deny
    } else if has(&ALLOWING) {
        Effect::Allow
    } else {
        Effect::Escalate
    };
    let verbs = verbs(words);
    let split = words.iter().position(|it| it.is_one_of(&EXCEPTIONS));
    let (before, after) = match split.and_then(|at| words.split_at_checked(at)) {
        Some((before, after)) => (before, after),
        None => (words, &[][..]),
    };
    let guess = |words: &[Word], verbs: &[Verb]| match verbs.is_empty() {
        false => place(words, verbs).map(|place| (verbs.to_vec(), place)),
        true => [Verb::Read, Verb::Fetch]
            .into_iter()
            .find_map(|verb| place(words, &[verb]).map(|place| (vec![verb], place))),
    };
    let exception = guess(after, &verbs).filter(|_| effect != Effect::Escalate);
    let said = guess(before, &verbs);
    let of = |effect, (verbs, place): (Vec<Verb>, Place)| plain(effect, verbs, place);
    match (exception, said) {
        (Some(exception), said) => {
            let opposite = if effect == Effect::Deny { Effect::Allow } else { Effect::Deny };
            let rest = match said {
                Some((verbs, Place::Anywhere | Place::Unsaid)) => (verbs, Place::Elsewhere),
                Some(said) => said,
                None => (exception.0.clone(), Place::Elsewhere),
            };
            vec![of(opposite, exception), of(effect, rest)]
        }
        (None, Some(said)) => vec![of(effect, said)],
        // Without a place, only what restricts is offered.
        (None, None) if !verbs.is_empty() => {
            let place = if effect == Effect::Allow { Place::Elsewhere } else { Place::Unsaid };
            let effect = if effect == Effect::Allow { Effect::Escalate } else { effect };
            vec![of(effect, (verbs, place))]
        }
        (None, None) => vec!["Everything else is for a person to decide.".to_owned()],
    }
}

fn plain(effect: Effect, verbs: Vec<Verb>, place: Place) -> String {
    Sentence {
        effect,
        is_only: false,
        deed: Deed::Verbs(verbs),
        place,
        with: Vec::new(),
        reason: None,
        line: 1,
        text: String::new(),
    }
    .to_string()
}

/// Finds verbs anywhere in the words; all of one kind.
fn verbs(words: &[Word]) -> Vec<Verb> {
    let mut found: Vec<Verb> = Vec::new();
    for at in 0..words.len() {
        let here = words.get(at..).unwrap_or_default();
        let Some(first) = here.first().filter(|it| !it.is_quoted) else { continue };
        let in_table =
            VERBS.iter().flat_map(|row| row.phrases.iter().map(move |it| (row.verb, it)));
        let longest = in_table
            .flat_map(|(verb, (base, gerund))| [(verb, *base), (verb, *gerund)])
            .filter(|(_, phrase)| after(here, &phrase.split(' ').collect::<Vec<_>>()).is_some())
            .max_by_key(|(_, phrase)| phrase.len());
        match longest {
            Some((verb, _)) => found.push(verb),
            None => found.extend(near(&first.low)),
        }
    }
    let mut kept: Vec<Verb> = Vec::new();
    for verb in found {
        let is_kind = kept.first().is_none_or(|it| it.row().places == verb.row().places);
        let is_alone = kept.is_empty() || verb != Verb::Run && !kept.contains(&Verb::Run);
        if is_kind && is_alone && !kept.contains(&verb) {
            kept.push(verb);
        }
    }
    kept
}

fn near(word: &str) -> Vec<Verb> {
    if let Some((_, verbs)) = NEAR.iter().find(|(words, _)| words.contains(&word)) {
        return verbs.to_vec();
    }
    let plural = word.strip_suffix('s').unwrap_or(word);
    let single = |phrase: &&str| !phrase.contains(' ');
    let known = VERBS.iter().flat_map(|row| row.phrases.iter().map(move |it| (row.verb, it)));
    let spelled = known.flat_map(|(verb, (base, gerund))| [(verb, *base), (verb, *gerund)]);
    spelled
        .filter(|(_, phrase)| single(phrase) && 4 < phrase.len())
        .find(|(_, phrase)| ic_types::distance(plural, phrase) <= 1)
        .map(|(verb, _)| vec![verb])
        .unwrap_or_default()
}

/// Finds places of the kind that the verbs have.
fn place(words: &[Word], verbs: &[Verb]) -> Option<Place> {
    let kind = kind_of(verbs)?;
    let pair = |at: usize, next: &str| words.get(at + 1).is_some_and(|it| it.is(next));
    match kind {
        PlaceKind::Directory => {
            let found: Vec<Directory> =
                words.iter().filter_map(|it| directory_of(it)?.ok()).collect();
            if !found.is_empty() {
                return Some(Place::Directories(found));
            }
        }
        PlaceKind::Host => {
            let mut found: Vec<HostPlace> =
                words.iter().filter_map(|it| host_of(it).map(HostPlace::Pattern)).collect();
            found.retain(|it| match it {
                HostPlace::Pattern(pattern) => {
                    !pattern.names_repository() || verbs == [Verb::Remote]
                }
                HostPlace::Local | HostPlace::List(_) => true,
            });
            if words.iter().any(|it| it.is_one_of(&["web", "internet", "websites"]))
                && found.is_empty()
            {
                found.extend(any_host().map(HostPlace::Pattern));
            }
            if !found.is_empty() {
                return Some(Place::Hosts(found));
            }
        }
        PlaceKind::Name | PlaceKind::Address | PlaceKind::Nothing => {}
    }
    words.iter().enumerate().find_map(|(at, word)| {
        let is_where = word.is_one_of(&["anywhere", "everywhere", "elsewhere"]);
        let is_else = word.is("elsewhere") || pair(at, "else");
        is_where.then_some(if is_else { Place::Elsewhere } else { Place::Anywhere })
    })
}
