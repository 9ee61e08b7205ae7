//! The nearest plain sentences to words that are not one.
//!
//! A guess for a person to accept, never used by itself: it keeps what can be recognised, and where nothing
//! is recognised it does not propose to allow something.

use ic_policy::Effect;

use super::after;
use super::place::{any_host, directory_of, host_of};
use crate::grammar::{PlaceKind, VERBS, Verb};
use crate::sentence::{Deed, Directory, HostPlace, Place, Sentence, kind_of};
use crate::word::Word;

/// Words that are not in the table, and the verbs that they may stand for.
const NEAR: [(&[&str], &[Verb]); 12] = [
    (&["touch", "touching", "alter", "altering", "tamper", "mess"], &[Verb::Write, Verb::Delete]),
    (&["access", "accessing", "open", "opening", "see", "seeing", "use", "show"], &[Verb::Read]),
    (&["move", "moving", "rename", "renaming"], &[Verb::Read, Verb::Write, Verb::Delete]),
    (&["copy", "copying"], &[Verb::Read, Verb::Write]),
    (&["store", "storing", "add", "adding", "append", "put"], &[Verb::Write]),
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
/// Words that begin a second thing that a sentence says.
const SECOND: [&str; 9] = ["must", "never", "may", "ask", "can", "cannot", "not", "do", "don't"];
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
    let verbs = verbs(words);
    let effect = effect_of(words).unwrap_or(Effect::Escalate);
    let is_second = |at: usize| {
        let joins = |it: &Word| it.is_one_of(&["and", "but", ",", "or"]);
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        before.is_some_and(joins) && words.get(at).is_some_and(|it| it.is_one_of(&SECOND))
    };
    let split = words
        .iter()
        .enumerate()
        .position(|(at, word)| word.is_one_of(&EXCEPTIONS) || is_second(at));
    match split.and_then(|at| words.split_at_checked(at)) {
        Some((before, after)) => two(before, after, (effect, &verbs)),
        None => vec![one(words, (effect, &verbs))],
    }
}

/// Returns what the words say, as far as it can be told.
fn effect_of(words: &[Word]) -> Option<Effect> {
    let has = |all: &[&str]| words.iter().any(|it| it.is_one_of(all));
    match (has(&ASKING), has(&NEGATIVE), has(&ALLOWING)) {
        (true, ..) => Some(Effect::Escalate),
        (false, true, _) => Some(Effect::Deny),
        (false, false, true) => Some(Effect::Allow),
        (false, false, false) => None,
    }
}

/// Finds what is done, and where.
fn guess(words: &[Word], verbs: &[Verb]) -> Option<(Vec<Verb>, Place)> {
    match verbs.is_empty() {
        false => place(words, verbs).map(|place| (verbs.to_vec(), place)),
        true => [Verb::Read, Verb::Fetch]
            .into_iter()
            .find_map(|verb| place(words, &[verb]).map(|place| (vec![verb], place))),
    }
}

/// Offers one sentence for words that say one thing.
fn one(words: &[Word], (effect, verbs): (Effect, &[Verb])) -> String {
    match guess(words, verbs) {
        Some((verbs, place)) => plain(effect, verbs, place),
        None if verbs.is_empty() => "Everything else is for a person to decide.".to_owned(),
        // Without a place, only what restricts is offered.
        None if effect == Effect::Allow => {
            plain(Effect::Escalate, verbs.to_vec(), Place::Elsewhere)
        }
        None => plain(effect, verbs.to_vec(), Place::Unsaid),
    }
}

/// Offers two sentences for words that say two things, or one thing and an exception.
fn two(before: &[Word], after: &[Word], (effect, all): (Effect, &[Verb])) -> Vec<String> {
    let or =
        |found: Vec<Verb>, other: &[Verb]| if found.is_empty() { other.to_vec() } else { found };
    let first_verbs = or(verbs(before), all);
    let second_verbs = or(verbs(after), &first_verbs);
    let first = effect_of(before).unwrap_or(effect);
    let opposite = if first == Effect::Allow { Effect::Deny } else { Effect::Allow };
    let said = effect_of(after);
    let here = guess(before, &first_verbs);
    let there = guess(after, &second_verbs).or_else(|| {
        let (verbs, place) = here.clone()?;
        said.is_some().then_some((or(second_verbs, &verbs), place))
    });
    match there {
        Some((verbs, place)) => {
            let is_same = |place: &Place| matches!(place, Place::Anywhere | Place::Unsaid);
            let rest = here.filter(|(_, place)| !is_same(place));
            let other = if said.is_some() && said == Some(first) {
                place.clone()
            } else {
                Place::Elsewhere
            };
            // Where no verb is said, the second sentence is about what the first one is about.
            let (first_verbs, rest) = rest.unwrap_or((or(first_verbs, &verbs), other));
            vec![plain(said.unwrap_or(opposite), verbs, place), plain(first, first_verbs, rest)]
        }
        // What somebody may allow at times is asked about.
        None if first == Effect::Deny => vec![one(before, (Effect::Escalate, &first_verbs))],
        None => vec![one(before, (first, &first_verbs))],
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
            if words.iter().any(|it| it.is_one_of(&["web", "internet"])) && found.is_empty() {
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
