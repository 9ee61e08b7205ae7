//! Back to English: the rules of a policy as plain sentences.
//!
//! Rules are asked in their order and sentences by what is more specific, so not every list of rules has plain
//! sentences. What is written is therefore compared with the policy, by who calls, before anybody sees it; a
//! rule that has no plain form is kept as it is, in a block of rules.

mod addition;
mod given;
mod piece;

use std::collections::BTreeSet;

use ic_policy::Effect;
use ic_types::{Json, Role, ServerName};

use crate::compile::Tool;
use crate::grammar::{BUILT_IN_SERVERS, SHELL, Verb};
use crate::parse::parse;
use crate::sentence::{Deed, Place, Sentence, With, kind_of};
pub use addition::of_addition;
pub use given::Given;
use piece::{Area, Piece, pieces};

/// A policy as plain sentences.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct English {
    /// The constitution.
    pub text: String,
    /// The names of the rules that have no plain form.
    pub kept: Vec<String>,
}

/// What came of comparing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Compared {
    /// Every call is judged as before.
    Same,
    /// Something is judged differently: by these roles, as far as that is known.
    Differs(Vec<Role>),
}

/// A policy that is to be written in English.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// Its rules.
    pub rules: &'a [Given],
    /// What the user has added to them, as sentences.
    pub added: &'a [Sentence],
    /// The tools that are known.
    pub tools: &'a [Tool],
}

/// How often more rules are kept before all of them are.
const ATTEMPTS_MAX: usize = 4;

/// Writes a policy in English; `compare` says whether a constitution means the same as the policy.
///
/// Returns `None` if there is something that sentences and kept rules do not say; without additions there is
/// always an answer.
pub fn write(asked: Asked<'_>, compare: &mut dyn FnMut(&str) -> Compared) -> Option<English> {
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for _ in 0..ATTEMPTS_MAX {
        let english = attempt(asked, &kept);
        let Compared::Differs(roles) = compare(&english.text) else { return Some(english) };
        let n_kept = kept.len();
        let is_about = |rule: &Given| roles.iter().any(|role| rule.is_relevant_to(*role));
        let about = asked.rules.iter().enumerate().filter(|(_, rule)| is_about(rule));
        kept.extend(about.map(|(position, _)| position));
        if kept.len() == n_kept {
            break;
        }
    }
    let all = attempt(asked, &(0..asked.rules.len()).collect());
    (compare(&all.text) == Compared::Same).then_some(all)
}

/// Where a rule is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kept {
    Not,
    Before,
    After,
}

fn attempt(asked: Asked<'_>, wanted: &BTreeSet<usize>) -> English {
    let Asked { rules, tools, .. } = asked;
    let mut unplain = wanted.clone();
    // What is kept changes what stands before the others, until nothing more has to be kept.
    loop {
        let (sentences, stuck) = translated(rules, &unplain, tools);
        let places = places(rules, &unplain);
        let moved = places
            .iter()
            .enumerate()
            .filter(|(at, kept)| **kept != Kept::Not && !unplain.contains(at));
        let more: Vec<usize> = stuck.into_iter().chain(moved.map(|(at, _)| at)).collect();
        if more.is_empty() {
            return page(asked, &sentences, &places);
        }
        unplain.extend(more);
    }
}

/// Returns where each rule is kept: those that come before others that are kept have to be kept as well.
fn places(rules: &[Given], unplain: &BTreeSet<usize>) -> Vec<Kept> {
    let mut places = vec![Kept::Not; rules.len()];
    for (at, rule) in rules.iter().enumerate().rev() {
        let later = || rules.iter().zip(&places).skip(at + 1).filter(|(it, _)| it.meets(rule));
        let is_rest = |it: &Given| it.is_about_all() && it.servers.is_none() && it.tools.is_none();
        let place = match unplain.contains(&at) {
            true => {
                let is_last = later().all(|(it, kept)| {
                    *kept == Kept::After
                        || *kept == Kept::Not && is_rest(it) && it.effect == Effect::Escalate
                });
                if is_last { Kept::After } else { Kept::Before }
            }
            false if later().any(|(_, kept)| *kept == Kept::Before) => Kept::Before,
            false => Kept::Not,
        };
        if let Some(kept) = places.get_mut(at) {
            *kept = place;
        }
    }
    places
}

/// Returns the sentences of the rules that are not kept, and the rules that have none after all.
fn translated(
    rules: &[Given],
    kept: &BTreeSet<usize>,
    tools: &[Tool],
) -> (Vec<Sentence>, Vec<usize>) {
    let mut earlier: Vec<Piece> = Vec::new();
    let mut sentences: Vec<Sentence> = Vec::new();
    let mut stuck = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let Some(found) = pieces(rule, at) else {
            stuck.extend((!kept.contains(&at)).then_some(at));
            continue;
        };
        let alive: Vec<Piece> = found.into_iter().filter(|it| !it.is_dead(&earlier)).collect();
        if !kept.contains(&at) {
            match of_rule(rule, &alive, &earlier, tools) {
                Some(mut found) => sentences.append(&mut found),
                None => stuck.push(at),
            }
        }
        earlier.extend(alive);
    }
    (sentences, stuck)
}

/// What one sentence can say.
struct Group {
    effect: Effect,
    place: Place,
    with: Vec<With>,
    verbs: Vec<Verb>,
}

fn of_rule(
    rule: &Given,
    alive: &[Piece],
    earlier: &[Piece],
    tools: &[Tool],
) -> Option<Vec<Sentence>> {
    if alive.iter().all(|it| matches!(it.area, Area::LeftOut(_))) {
        return Some(Vec::new());
    }
    let is_rest = rule.is_about_all() && rule.servers.is_none() && rule.tools.is_none();
    if is_rest {
        let rest = sentence(Effect::Escalate, Deed::EverythingElse, (Place::Unsaid, Vec::new()));
        return match rule.effect {
            Effect::Escalate => Some(vec![reasoned(rest, &rule.reason)?]),
            Effect::Allow | Effect::Deny => None,
        };
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut uses = Vec::new();
    let crossings: Vec<Piece> =
        alive.iter().flat_map(|piece| earlier.iter().filter_map(|it| it.before(piece))).collect();
    for piece in alive.iter().chain(&crossings) {
        let place = match piece.rule == alive.first().map_or(piece.rule, |it| it.rule) {
            true => piece.place(earlier, tools)?,
            // A crossing is about a place of its own.
            false => piece.place(&[], tools)?,
        };
        let Some(role) = piece.role else {
            uses.extend(used(piece, tools)?);
            continue;
        };
        let with = match means(piece, tools) {
            Means::With(with) => with,
            Means::Nobody => continue,
            Means::Unsayable => return None,
        };
        let verb = Verb::all().find(|verb| verb.row().roles == [role])?;
        let fits = |group: &&mut Group| {
            group.effect == piece.effect
                && group.place == place
                && group.with == with
                && kind_of(&[group.verbs.as_slice(), &[verb]].concat()).is_some()
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.verbs.push(verb),
            None => groups.push(Group { effect: piece.effect, place, with, verbs: vec![verb] }),
        }
    }
    let mut sentences = Vec::new();
    if !uses.is_empty() {
        let deed = Deed::Use(uses);
        let one = sentence(rule.effect, deed, (Place::Unsaid, Vec::new()));
        sentences.push(reasoned(one, &rule.reason)?);
    }
    for Group { effect, place, with, verbs } in groups {
        let (verbs, with) = as_commands(verbs, with);
        let reason = if effect == rule.effect { rule.reason.as_str() } else { "" };
        sentences.push(reasoned(sentence(effect, Deed::Verbs(verbs), (place, with)), reason)?);
    }
    Some(sentences)
}

/// Says *run commands* where that is meant.
fn as_commands(verbs: Vec<Verb>, with: Vec<With>) -> (Vec<Verb>, Vec<With>) {
    let (server, tool) = SHELL;
    let is_shell = match with.as_slice() {
        [it] => {
            it.server.as_str() == server && it.tool.as_ref().is_some_and(|it| it.as_str() == tool)
        }
        _ => false,
    };
    match is_shell && verbs == [Verb::Read, Verb::Write, Verb::Delete] {
        true => (vec![Verb::Run], Vec::new()),
        false => (verbs, with),
    }
}

fn sentence(effect: Effect, deed: Deed, (place, with): (Place, Vec<With>)) -> Sentence {
    let (reason, text) = (None, String::new());
    Sentence { effect, is_only: false, deed, place, with, reason, line: 0, text }
}

/// Adds the reason, if it can be read back; `None` if the sentence itself cannot.
fn reasoned(sentence: Sentence, reason: &str) -> Option<Sentence> {
    let is_ours = reason.is_empty()
        || reason.starts_with("Line ") && reason.contains(" of the constitution says")
        || reason.starts_with("No sentence of the constitution");
    let mut letters = reason.chars();
    let begin: String = letters.next().map(char::to_lowercase).into_iter().flatten().collect();
    let is_acronym = letters.clone().next().is_some_and(char::is_uppercase);
    let reason =
        if is_acronym { reason.to_owned() } else { format!("{begin}{}", letters.as_str()) };
    let with = Sentence { reason: (!is_ours).then_some(reason), ..sentence.clone() };
    [with, sentence].into_iter().find(is_read_back)
}

/// Returns whether a sentence is understood as what it was.
fn is_read_back(sentence: &Sentence) -> bool {
    let plain = |it: &Sentence| Sentence { line: 0, text: String::new(), ..it.clone() };
    match parse(&sentence.to_string()) {
        Ok(found) => match found.sentences.as_slice() {
            [one] => plain(one) == plain(sentence),
            _ => false,
        },
        Err(_) => false,
    }
}

/// With whom a sentence is about something.
enum Means {
    /// With these; with none, with all that its form covers.
    With(Vec<With>),
    /// With none that there can be.
    Nobody,
    /// No sentence can name them.
    Unsayable,
}

impl Means {
    fn of(with: Vec<With>) -> Self {
        if with.is_empty() { Self::Nobody } else { Self::With(with) }
    }
}

/// Returns the servers and tools that a sentence names for a piece.
fn means(piece: &Piece, tools: &[Tool]) -> Means {
    let is_allow = piece.effect == Effect::Allow;
    let known: BTreeSet<&ServerName> = tools.iter().map(|it| &it.server).collect();
    let is_built_in = |name: &str| BUILT_IN_SERVERS.contains(&name);
    let Some(names) = &piece.tools else {
        let all = match &piece.servers {
            None if !is_allow || known.iter().all(|it| is_built_in(it.as_str())) => {
                return Means::With(Vec::new());
            }
            None => known.into_iter().cloned().collect(),
            Some(all)
                if is_allow
                    && BUILT_IN_SERVERS.iter().all(|it| all.contains(*it))
                    && all.len() == BUILT_IN_SERVERS.len() =>
            {
                return Means::With(Vec::new());
            }
            Some(all) => all.iter().filter_map(|it| it.parse().ok()).collect::<Vec<ServerName>>(),
        };
        let with = all.into_iter().map(|server| With { server, tool: None }).collect::<Vec<_>>();
        return Means::of(with);
    };
    let servers: Vec<ServerName> = match &piece.servers {
        Some(all) => all.iter().filter_map(|it| it.parse().ok()).collect(),
        // What restricts has to hold for servers that are added later, too.
        None if !is_allow => return Means::Unsayable,
        None => known.into_iter().cloned().collect(),
    };
    let mut with = Vec::new();
    for server in servers {
        let of_server = || tools.iter().filter(|it| it.server == server);
        for tool in names.iter().filter_map(|it| it.parse().ok()) {
            let is_known = of_server().any(|it| it.tool == tool);
            if is_known || of_server().next().is_none() || !is_allow {
                with.push(With { server: server.clone(), tool: Some(tool) });
            }
        }
    }
    Means::of(with)
}

/// Returns the tools that are used, for a piece about all that they do.
fn used(piece: &Piece, tools: &[Tool]) -> Option<Vec<With>> {
    let named = match means(piece, tools) {
        Means::With(with) => with,
        Means::Nobody => Vec::new(),
        Means::Unsayable => return None,
    };
    if piece.effect != Effect::Allow || piece.tools.is_some() {
        return (!named.is_empty() || piece.tools.is_some() || piece.servers.is_some())
            .then_some(named);
    }
    // A *may* names the tools: a server may get more of them.
    let servers = piece.servers.as_ref()?;
    let of = tools.iter().filter(|it| servers.contains(it.server.as_str()));
    let all: Vec<With> =
        of.map(|it| With { server: it.server.clone(), tool: Some(it.tool.clone()) }).collect();
    (!all.is_empty()).then_some(all)
}

/// Returns a title as a heading can have it: the name of a directory may read like a restriction.
fn title(text: &str) -> String {
    let is_plain = |it: char| !it.is_control() && !"`<>".contains(it);
    let plain: String = text.chars().filter(|it| is_plain(*it)).collect();
    match parse(&format!("# {plain}\n")) {
        Ok(_) => plain,
        Err(_) => "Policy".to_owned(),
    }
}

fn page(asked: Asked<'_>, sentences: &[Sentence], places: &[Kept]) -> English {
    let mut text = format!("# {}\n\n", title(asked.title));
    let is_rest = |it: &&Sentence| it.deed == Deed::EverythingElse;
    let mut lines: Vec<String> = Vec::new();
    let all = asked.added.iter().chain(sentences.iter().filter(|it| !is_rest(it)));
    for line in all.map(ToString::to_string) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.push(match sentences.iter().find(is_rest) {
        Some(rest) => rest.to_string(),
        None => "Everything else is refused.".to_owned(),
    });
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    let mut kept = Vec::new();
    for (word, place) in [("before", Kept::Before), ("after", Kept::After)] {
        let here = || asked.rules.iter().zip(places).filter(|(_, it)| **it == place);
        if here().next().is_none() {
            continue;
        }
        kept.extend(here().map(|(rule, _)| rule.name.clone()));
        let rules: Vec<Json> = here().map(|(rule, _)| rule.json.clone()).collect();
        let rules = crate::artifact::pretty(&Json::from(rules));
        let title = format!("Rules without a plain form, asked {word} the sentences");
        text.extend(["\n## ", &title, "\n\n```rules ", word, "\n", &rules, "```\n"]);
    }
    English { text, kept }
}
