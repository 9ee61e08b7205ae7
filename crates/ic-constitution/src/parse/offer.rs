//! The nearest plain sentences to words that are not one.
//!
//! A guess for a person to accept, never used by itself: it keeps what can be recognised, and where nothing
//! is recognised it does not propose to allow something. People copy offers, so none allows more than the words
//! say: of words that restrict something, a sentence that restricts is offered, or nothing.

mod limit;
mod tool;

use ic_policy::Effect;

use super::after;
use super::place::{any_host, directory_of, host_of, is_unplain, looks_like_place, word_with_port};
use crate::grammar::{PlaceKind, VERBS, Verb};
use crate::sentence::{Deed, Directory, HostPlace, Place, Sentence, kind_of};
use crate::word::Word;
use limit::{asking, limits};

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
const EXCEPTIONS: [&str; 11] = [
    "except",
    "unless",
    "but",
    "besides",
    "apart",
    "excluding",
    "other",
    "outside",
    "however",
    "without",
    "(",
];
/// Words that begin a second thing that a sentence says.
const SECOND: [&str; 9] = ["must", "never", "may", "ask", "can", "cannot", "not", "do", "don't"];
const NEGATIVE: [&str; 24] = [
    "nobody",
    "none",
    "neither",
    "nor",
    "nowhere",
    "without",
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
const ASKING: [&str; 17] = [
    "needs",
    "need",
    "ok",
    "okay",
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

/// Words that may follow the name of a directory.
const AFTER_PLACE: [&str; 42] = [
    ",",
    ":",
    "(",
    ")",
    "?",
    "and",
    "or",
    "nor",
    "but",
    "except",
    "unless",
    "besides",
    "apart",
    "however",
    "with",
    "without",
    "using",
    "via",
    "directory",
    "folder",
    "only",
    "is",
    "are",
    "please",
    "at",
    "if",
    "when",
    "to",
    "from",
    "in",
    "on",
    "into",
    "anywhere",
    "must",
    "may",
    "can",
    "should",
    "never",
    "needs",
    "be",
    "through",
    "because",
];

/// Two words that keep the agent away from a place.
const KEEPING_OUT: [[&str; 2]; 6] = [
    ["keep", "out"],
    ["stay", "out"],
    ["stay", "away"],
    ["hands", "off"],
    ["off", "limits"],
    ["keep", "away"],
];

/// Returns what could be written instead.
pub(super) fn offers(words: &[Word]) -> Vec<String> {
    let is_no_host = |it: &Word| word_with_port(it).is_some() && !is_web_with_port(it);
    if words.windows(2).any(is_cut_path) || words.iter().any(|it| is_unplain(it) || is_no_host(it))
    {
        return Vec::new();
    }
    let words = &without_commas(&without_brackets(words));
    let is_limited = words.iter().enumerate().any(|(at, _)| limits(words, at));
    if tool::are_named(words) {
        // Whatever its verbs are, the sentence is about tools, and not about files.
        return tool::offer(words).map(|it| it.to_string()).into_iter().collect();
    }
    // What is an exception to another sentence says nothing by itself.
    if words.first().is_some_and(|it| it.is_one_of(&EXCEPTIONS)) && effect_of(words).is_none() {
        return Vec::new();
    }
    let guesses = guesses(words);
    let is_limited = is_limited || leaves_out_files(&guesses, words);
    let mut offered: Vec<Sentence> = guesses
        .into_iter()
        .filter(|it| !says_more(it, words))
        .map(|it| if is_limited { asking(it) } else { it })
        .collect();
    offered.dedup();
    // Half of what restricts would be the half that allows.
    let is_restricting = effect_of(words) != Some(Effect::Allow) || has(words, &EXCEPTIONS);
    let restricts = |it: &Sentence| it.effect != Effect::Allow || it.is_only;
    match is_restricting && !offered.iter().any(restricts) {
        true => Vec::new(),
        false => offered.iter().map(ToString::to_string).collect(),
    }
}

/// Returns whether a word behind a path may be a part of it: "~/my notes".
fn is_cut_path(pair: &[Word]) -> bool {
    let [path, next] = pair else { return false };
    let is_path = !path.is_quoted && path.text.starts_with(['~', '/']);
    is_path && !next.is_quoted && !next.is_one_of(&AFTER_PLACE) && !looks_like_place(next)
}

fn names_web(words: &[Word]) -> bool {
    has(words, &["web", "internet", "online"])
}

/// Returns whether the words say that every site is meant: "from any website".
fn names_any_site(words: &[Word]) -> bool {
    const ALL: [&str; 4] = ["any", "every", "all", "whichever"];
    const SITES: [&str; 8] =
        ["site", "sites", "website", "websites", "page", "pages", "host", "hosts"];
    words
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if one.is_one_of(&ALL) && other.is_one_of(&SITES)))
}

fn is_web_with_port(word: &Word) -> bool {
    matches!(word_with_port(word), Some("web" | "internet"))
}

/// Leaves brackets out, unless what they hold restricts what stands before them.
fn without_brackets(words: &[Word]) -> Vec<Word> {
    let inside: Vec<Word> = words.iter().skip_while(|it| !it.is("(")).skip(1).cloned().collect();
    let restricts = has(&inside, &NEGATIVE) || has(&inside, &EXCEPTIONS) || has(&inside, &ASKING);
    let is_left_out = |it: &Word| it.is(")") || it.is("(") && !restricts;
    words.iter().filter(|it| !is_left_out(it)).cloned().collect()
}

/// Takes hosts apart that are joined by commas without a blank: "docs.rs,crates.io".
fn without_commas(words: &[Word]) -> Vec<Word> {
    let apart = |word: &Word| {
        let part = |text: &str| Word {
            text: text.to_owned(),
            low: text.to_ascii_lowercase(),
            ..word.clone()
        };
        let parts: Vec<Word> = word.text.split(',').map(part).collect();
        let is_hosts = !word.is_quoted && parts.iter().all(|it| host_of(it).is_some());
        if is_hosts { parts } else { vec![word.clone()] }
    };
    words.iter().flat_map(apart).collect()
}

/// Returns whether the words name files, and the sentences whole directories: "README.md in ~/a".
fn leaves_out_files(guesses: &[Sentence], words: &[Word]) -> bool {
    // Names of files look like hosts.
    let is_file = |it: &Word| host_of(it).is_some() && directory_of(it).is_none();
    let names_hosts = guesses.iter().any(|it| matches!(it.place, Place::Hosts(_)));
    words.iter().any(is_file) && !names_hosts
}

/// Returns whether a sentence allows something everywhere, and the words do not.
fn says_more(sentence: &Sentence, words: &[Word]) -> bool {
    const EVERYWHERE: [&str; 6] = ["anywhere", "everywhere", "elsewhere", "else", "all", "any"];
    let is_wide = matches!(sentence.place, Place::Unsaid | Place::Anywhere | Place::Elsewhere);
    // What is said of a place with an exception holds anywhere else.
    let says = has(words, &EVERYWHERE) || has(words, &EXCEPTIONS) && !names_place_first(words);
    let is_home =
        matches!(&sentence.place, Place::Directories(all) if all.iter().any(Directory::is_home));
    // Who may pull may not push, and this allows both.
    let is_remote = matches!(&sentence.deed, Deed::Verbs(verbs) if verbs.contains(&Verb::Remote))
        && !has(words, &["remotes"]);
    sentence.effect == Effect::Allow && (is_home || is_remote || is_wide && !says)
}

/// Returns whether a place is named before an exception begins.
fn names_place_first(words: &[Word]) -> bool {
    let before = words.iter().take_while(|it| !it.is_one_of(&EXCEPTIONS));
    before.into_iter().any(looks_like_place)
}

fn has(words: &[Word], all: &[&str]) -> bool {
    words.iter().any(|it| it.is_one_of(all))
}

/// Returns the sentences that come nearest.
fn guesses(words: &[Word]) -> Vec<Sentence> {
    let verbs = verbs(words);
    let effect = effect_of(words).unwrap_or(Effect::Escalate);
    if let Some((before, after)) = joined_sentences(words)
        && effect_of(after).is_none()
    {
        return [before, after].into_iter().map(|it| one(it, (effect, &self::verbs(it)))).collect();
    }
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
    let keeps_out = |pair: &[Word]| {
        let lows: Vec<&str> = pair.iter().map(|it| it.low.as_str()).collect();
        KEEPING_OUT.iter().any(|it| it.as_slice() == lows)
    };
    let is_negative = has(words, &NEGATIVE) || words.windows(2).any(keeps_out);
    match (has(words, &ASKING), is_negative, has(words, &ALLOWING)) {
        (true, ..) => Some(Effect::Escalate),
        (false, true, _) => Some(Effect::Deny),
        (false, false, true) => Some(Effect::Allow),
        (false, false, false) => None,
    }
}

/// Splits words that say the same of two things in two places: "read files in A and write files in B".
fn joined_sentences(words: &[Word]) -> Option<(&[Word], &[Word])> {
    let at = (1..words.len()).find(|at| {
        let (before, after) = words.split_at_checked(*at).unwrap_or((words, &[]));
        let joins = after.first().is_some_and(|it| it.is_one_of(&["and", "or", ","]));
        let rest = after.get(1..).unwrap_or_default();
        let is_deed = rest.first().is_some_and(|it| !verbs(std::slice::from_ref(it)).is_empty());
        joins && is_deed && before.iter().any(looks_like_place) && rest.iter().any(looks_like_place)
    })?;
    words.split_at_checked(at)
}

/// Finds what is done, and where.
fn guess(words: &[Word], verbs: &[Verb], effect: Effect) -> Option<(Vec<Verb>, Place)> {
    let on_files: &[Verb] = match effect {
        // Who is to keep out of a place does nothing there.
        Effect::Deny => &[Verb::Read, Verb::Write, Verb::Delete],
        Effect::Allow | Effect::Escalate => &[Verb::Read],
    };
    match verbs.is_empty() {
        false => place(words, verbs).map(|place| (verbs.to_vec(), place)),
        true => [on_files, &[Verb::Fetch]]
            .into_iter()
            .find_map(|verbs| place(words, verbs).map(|place| (verbs.to_vec(), place))),
    }
}

/// Offers one sentence for words that say one thing.
fn one(words: &[Word], (effect, verbs): (Effect, &[Verb])) -> Sentence {
    match guess(words, verbs, effect) {
        Some((verbs, place)) => {
            let is_place = matches!(place, Place::Directories(_) | Place::Hosts(_));
            let is_only = effect == Effect::Allow && is_place && has(words, &["only"]);
            Sentence { is_only, ..plain(effect, verbs, place) }
        }
        None if verbs.is_empty() => Sentence {
            deed: Deed::EverythingElse,
            ..plain(Effect::Escalate, Vec::new(), Place::Unsaid)
        },
        // Without a place, only what restricts is offered.
        None if effect == Effect::Allow => {
            plain(Effect::Escalate, verbs.to_vec(), Place::Elsewhere)
        }
        None => plain(effect, verbs.to_vec(), Place::Unsaid),
    }
}

/// Offers two sentences for words that say two things, or one thing and an exception.
fn two(before: &[Word], after: &[Word], (effect, all): (Effect, &[Verb])) -> Vec<Sentence> {
    let or =
        |found: Vec<Verb>, other: &[Verb]| if found.is_empty() { other.to_vec() } else { found };
    let first_verbs = or(verbs(before), all);
    let names_deed = !verbs(after).is_empty();
    let second_verbs = or(verbs(after), &first_verbs);
    let first = effect_of(before).unwrap_or(effect);
    let opposite = if first == Effect::Allow { Effect::Deny } else { Effect::Allow };
    let said = effect_of(after);
    let here = guess(before, &first_verbs, first);
    let there = guess(after, &second_verbs, said.unwrap_or(opposite)).or_else(|| {
        let (verbs, place) = here.clone()?;
        said.is_some().then_some((or(second_verbs, &verbs), place))
    });
    match there {
        Some((verbs, place)) => {
            let is_same = |place: &Place| matches!(place, Place::Anywhere | Place::Unsaid);
            let rest = here.filter(|(_, place)| !is_same(place));
            // "read, but not write, files in DIR" has one place.
            let is_shared = names_deed || said.is_some() && said == Some(first);
            let other = if is_shared { place.clone() } else { Place::Elsewhere };
            // Where no verb is said, the second sentence is about what the first one is about.
            let (first_verbs, rest) = rest.unwrap_or((or(first_verbs, &verbs), other));
            vec![plain(said.unwrap_or(opposite), verbs, place), plain(first, first_verbs, rest)]
        }
        // What somebody may allow at times is asked about.
        None if first == Effect::Deny => vec![one(before, (Effect::Escalate, &first_verbs))],
        None => vec![one(before, (first, &first_verbs))],
    }
}

fn plain(effect: Effect, verbs: Vec<Verb>, place: Place) -> Sentence {
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
}

/// Finds verbs anywhere in the words; all of one kind.
fn verbs(words: &[Word]) -> Vec<Verb> {
    let (mut found, mut used): (Vec<Verb>, Vec<Verb>) = (Vec::new(), Vec::new());
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
            None if first.is_one_of(&["use", "using"]) => used.extend(near(&first.low)),
            None => found.extend(near(&first.low)),
        }
    }
    // What something is used for says more: "use git to commit".
    if found.is_empty() {
        found = if !used.is_empty() && names_web(words) { vec![Verb::Fetch] } else { used };
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
            let is_meant = (names_web(words) || names_any_site(words)) && found.is_empty();
            if is_meant || words.iter().any(is_web_with_port) {
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
