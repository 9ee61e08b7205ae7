//! Rules without their words, put together from what is said about each role; and the words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ic_policy::Effect;
use ic_types::Role;

use super::Said;
use super::atom::{Judged, Reach, all_judged};
use super::region::{Area, Region};
use crate::grammar::{BUILT_IN_SERVERS, Verb};
use crate::sentence::{Deed, Directory, NamePlace, Sentence, joined};

/// The name of the rule about what no sentence covers.
pub(crate) const EVERYTHING_ELSE: &str = "everything-else";

/// A rule of a compiled policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Its name, unique in the policy.
    pub name: String,
    /// What it does, for people.
    pub description: String,
    /// The sentence that it comes from, as written.
    pub principle: String,
    /// Why, for people.
    pub reason: String,
    /// The line of its sentence; `None` for what nobody said.
    pub line: Option<usize>,
    /// What it says.
    pub effect: Effect,
    /// The roles that it is about; `None` is all of them.
    pub roles: Option<Vec<Role>>,
    /// The servers that it is about.
    pub servers: Option<Vec<String>>,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// What else has to hold.
    pub condition: Condition,
}

impl Rule {
    /// Returns the roles that it is about and that are no resources.
    pub fn roles_beside(&self) -> impl Iterator<Item = Role> {
        let named = match &self.condition {
            Condition::Names(all) => all.as_slice(),
            Condition::Nothing
            | Condition::Within(_)
            | Condition::Elsewhere
            | Condition::Unsaid(_)
            | Condition::Hosts(_) => &[],
        };
        let own = self.roles.iter().flatten().copied();
        own.chain(named.iter().map(|(role, _)| *role)).filter(|role| !role.is_resource())
    }

    /// Returns whether this asks about what no sentence covers.
    pub(crate) fn is_for_everything_else(&self) -> bool {
        self.roles.is_none()
            && self.servers.is_none()
            && self.tool.is_none()
            && self.condition == Condition::Nothing
    }
}

/// What values have to be.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Condition {
    /// Anything, or no value.
    Nothing,
    /// Within a directory.
    Within(String),
    /// Anywhere; but the sandbox is left to containment.
    Elsewhere,
    /// Within a directory about which nothing is said; but the sandbox is left to containment.
    Unsaid(String),
    /// All of these patterns and lists of hosts hold.
    Hosts(Vec<String>),
    /// All of these sets of names hold.
    Names(Vec<(Role, Vec<String>)>),
}

/// A rule without its roles and its words.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Shape {
    pub(super) effect: Effect,
    /// The position of the sentence that decides.
    pub(super) by: Option<usize>,
    pub(super) servers: Option<Vec<String>>,
    pub(super) tool: Option<String>,
    pub(super) has: Option<Role>,
    pub(super) condition: Condition,
}

/// A rule without its words.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) shape: Shape,
    pub(super) judged: Vec<Judged>,
}

impl Shape {
    pub(super) fn of(region: &Region, said: Said<'_>) -> Self {
        let servers = match &region.reach {
            Reach::Any => None,
            Reach::BuiltIn => Some(BUILT_IN_SERVERS.iter().map(ToString::to_string).collect()),
            Reach::One(name) => Some(vec![name.to_string()]),
        };
        let condition = match &region.area {
            Area::General => Condition::Nothing,
            // It only stops what is said of other places, and closes no workspace.
            Area::Directory(directory @ Directory::At(_))
                if said.by.is_none() && said.effect == Effect::Deny =>
            {
                Condition::Unsaid(directory.within())
            }
            Area::Directory(directory) => Condition::Within(directory.within()),
            Area::Hosts(all) => {
                Condition::Hosts(all.iter().map(|it| it.text(said.effect)).collect())
            }
            Area::Names(all) => {
                let text = |it: &NamePlace| match it {
                    NamePlace::Name(name) => name.clone(),
                    NamePlace::List(name) => format!("@{name}"),
                };
                let texts =
                    all.iter().map(|(role, names)| (*role, names.iter().map(text).collect()));
                Condition::Names(texts.collect())
            }
        };
        Self {
            effect: said.effect,
            by: said.by.map(|by| by.sentence),
            servers,
            tool: region.tool.as_ref().map(ToString::to_string),
            has: region.has,
            condition,
        }
    }
}

/// Puts the rules of all judged things into one list, equal ones as one rule.
///
/// What is about one role says nothing about another, so only the order within each role matters.
pub(super) fn merged(lists: Vec<(Judged, Vec<Shape>)>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut whole: Vec<Shape> = Vec::new();
    for (judged, shapes) in lists {
        match judged {
            Judged::Role(_) => pieces = joined_with(pieces, judged, shapes),
            Judged::Whole => whole = shapes,
        }
    }
    if join_whole(&mut pieces, &whole) {
        return pieces;
    }
    // SECURITY: without roles they would be about all of them, so they stand behind all others, where every
    // value of such a tool is settled; and all of them together, so that their own order holds.
    pieces.extend(whole.into_iter().map(|shape| Piece { shape, judged: vec![Judged::Whole] }));
    pieces
}

/// Lets one rule be about several servers, where only the server differs.
///
/// What is about one server says nothing about another, so a rule may stand earlier as long as it passes none
/// that is about its server.
pub(super) fn with_servers(pieces: Vec<Piece>) -> Vec<Piece> {
    const STEPS_MAX: usize = 64;
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        let Some(own) = piece.shape.servers.clone() else {
            joined.push(piece);
            continue;
        };
        let is_about = |it: &Piece| {
            it.shape.servers.as_ref().is_none_or(|all| all.iter().any(|name| own.contains(name)))
        };
        let is_same = |it: &Piece| {
            let servers = piece.shape.servers.clone();
            it.judged == piece.judged && Shape { servers, ..it.shape.clone() } == piece.shape
        };
        let near = joined.iter_mut().rev().take(STEPS_MAX).take_while(|it| !is_about(it));
        match near.into_iter().find(|it| is_same(it)) {
            Some(Piece { shape: Shape { servers: Some(servers), .. }, .. }) => {
                servers.extend(own);
                servers.sort();
            }
            Some(_) | None => joined.push(piece),
        }
    }
    joined
}

/// Puts the rules of one role between those of others.
fn joined_with(pieces: Vec<Piece>, judged: Judged, shapes: Vec<Shape>) -> Vec<Piece> {
    let mut places: HashMap<&Shape, Vec<usize>> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        places.entry(&piece.shape).or_default().push(at);
    }
    let mut from = 0;
    let mut joined: BTreeSet<usize> = BTreeSet::new();
    let mut inserted: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
    for shape in shapes {
        let found = places.get(&shape).and_then(|all| all.iter().find(|at| from <= **at)).copied();
        match found {
            Some(at) => {
                joined.insert(at);
                from = at + 1;
            }
            None => inserted.entry(from).or_default().push(Piece { shape, judged: vec![judged] }),
        }
    }
    drop(places);
    let mut next = Vec::new();
    for (at, mut piece) in pieces.into_iter().enumerate() {
        next.extend(inserted.remove(&at).into_iter().flatten());
        if joined.contains(&at) {
            piece.judged.push(judged);
        }
        next.push(piece);
    }
    next.extend(inserted.into_values().flatten());
    next
}

/// Lets rules about all roles be about calls as a whole too, if that says all about these, in their order.
fn join_whole(pieces: &mut [Piece], whole: &[Shape]) -> bool {
    let n_roles = all_judged().count() - 1;
    let mut from = 0;
    let mut found = Vec::new();
    for shape in whole {
        let is_it = |piece: &Piece| piece.judged.len() == n_roles && piece.shape == *shape;
        let Some(at) = pieces.iter().skip(from).position(is_it) else { return false };
        found.push(from + at);
        from += at + 1;
    }
    for at in found {
        if let Some(piece) = pieces.get_mut(at) {
            piece.judged.push(Judged::Whole);
        }
    }
    true
}

/// Writes the rules with their words.
///
/// None of them gets one of the names that are `taken`.
pub(super) fn rules<'a>(
    pieces: &[Piece],
    sentences: &[Sentence],
    (default, taken): (Effect, impl Iterator<Item = &'a str>),
) -> Vec<Rule> {
    let mut names: HashMap<String, usize> = taken.map(|name| (name.to_owned(), 1)).collect();
    let mut rules: Vec<Rule> = Vec::new();
    for piece in pieces {
        let sentence = piece.shape.by.and_then(|at| sentences.get(at));
        rules.push(rule(piece, sentence, &mut names));
    }
    let rest = sentences.iter().find(|it| it.deed == Deed::EverythingElse);
    if let Some(sentence) = rest.filter(|_| default == Effect::Escalate) {
        rules.push(Rule {
            name: unique(EVERYTHING_ELSE, &mut names),
            description: format!("Asks about what no other rule covers; line {}.", sentence.line),
            principle: sentence.text.clone(),
            reason: reason(sentence),
            line: Some(sentence.line),
            effect: Effect::Escalate,
            roles: None,
            servers: None,
            tool: None,
            condition: Condition::Nothing,
        });
    }
    rules
}

fn rule(piece: &Piece, sentence: Option<&Sentence>, names: &mut HashMap<String, usize>) -> Rule {
    let Piece { shape, judged } = piece;
    let is_all = judged.len() == all_judged().count() || judged.as_slice() == [Judged::Whole];
    let roles: Vec<Role> = judged
        .iter()
        .filter_map(|it| match it {
            Judged::Role(role) => Some(*role),
            Judged::Whole => None,
        })
        .collect();
    let roles = match (is_all, shape.has) {
        (true, None) => None,
        (true, Some(has)) => Some(vec![has]),
        (false, _) => Some(roles),
    };
    let what = what(roles.as_deref(), shape);
    let verb = match shape.effect {
        Effect::Allow => "Allows",
        Effect::Escalate => "Asks before",
        Effect::Deny => "Refuses",
    };
    let line = sentence.map(|it| it.line);
    let origin =
        line.map_or_else(|| "nothing is said about it".to_owned(), |line| format!("line {line}"));
    Rule {
        name: unique(&format!("{} {what}", shape.effect), names),
        description: format!("{verb} {what}; {origin}."),
        principle: sentence.map_or_else(String::new, |it| it.text.clone()),
        reason: sentence
            .map_or_else(|| "No sentence of the constitution covers this".to_owned(), reason),
        line,
        effect: shape.effect,
        roles,
        servers: shape.servers.clone(),
        tool: shape.tool.clone(),
        condition: shape.condition.clone(),
    }
}

fn reason(sentence: &Sentence) -> String {
    match &sentence.reason {
        Some(reason) => {
            let mut letters = reason.chars();
            let first = letters.next().map(char::to_uppercase);
            first.into_iter().flatten().chain(letters).collect()
        }
        None => format!("Line {} of the constitution says: {}", sentence.line, sentence.text),
    }
}

/// Says what a rule is about.
fn what(roles: Option<&[Role]>, shape: &Shape) -> String {
    let phrase = |role: &Role| {
        let verb = Verb::all().find(|verb| verb.row().roles == [*role]);
        let gerund =
            verb.and_then(|verb| verb.row().phrases.first()).map_or("", |(_, gerund)| *gerund);
        match role {
            Role::ReadPath | Role::WritePath | Role::DeletePath => format!("{gerund} files"),
            Role::FetchUrl => format!("{gerund} pages"),
            _ => gerund.to_owned(),
        }
    };
    let roles = roles.filter(|roles| roles.len() + 1 < all_judged().count());
    let mut what = match (roles, &shape.tool, &shape.servers) {
        (Some(roles), ..) => joined(&roles.iter().map(phrase).collect::<Vec<_>>()),
        (None, Some(tool), Some(servers)) => format!("using {tool} of {}", servers.join(" and ")),
        (None, _, Some(servers)) => format!("using {}", servers.join(" and ")),
        (None, ..) => "calls".to_owned(),
    };
    match &shape.condition {
        Condition::Nothing => {}
        Condition::Elsewhere => what.push_str(" anywhere else"),
        Condition::Within(path) if path == "/" => what.push_str(" anywhere else"),
        Condition::Within(path) | Condition::Unsaid(path) => what.extend([" in ", path]),
        Condition::Hosts(hosts) if hosts.as_slice() == ["*"] => what.push_str(" from the web"),
        Condition::Hosts(hosts) => what.extend([" at ", &hosts.join(" that is also ")]),
        Condition::Names(all) => {
            let sets: Vec<String> = all.iter().map(|(_, names)| names.join(" or ")).collect();
            what.extend([" for ", &sets.join(" and ")]);
        }
    }
    let is_built_in = shape.servers.as_ref().is_some_and(|it| *it == BUILT_IN_SERVERS);
    match (&shape.servers, &shape.tool) {
        (Some(servers), Some(tool)) if roles.is_some() => {
            what.extend([" with ", tool, " of ", &servers.join(" and ")]);
        }
        (Some(servers), None) if roles.is_some() && !is_built_in => {
            what.extend([" with ", &servers.join(", ")]);
        }
        _ => {}
    }
    what
}

/// Makes a name of words, and a number if it is taken.
fn unique(words: &str, names: &mut HashMap<String, usize>) -> String {
    const LENGTH_MAX: usize = 80;
    let mut name = String::new();
    for letter in words.chars() {
        match letter.is_ascii_alphanumeric() {
            true => name.push(letter.to_ascii_lowercase()),
            false if !name.ends_with('-') && !name.is_empty() => name.push('-'),
            false => {}
        }
    }
    let name: String = name.chars().take(LENGTH_MAX).collect();
    let name = name.trim_matches('-').to_owned();
    let Some(known) = names.get(&name).copied() else {
        names.insert(name.clone(), 1);
        return name;
    };
    let mut n = known + 1;
    while names.contains_key(&format!("{name}-{n}")) {
        n += 1;
    }
    let numbered = format!("{name}-{n}");
    names.insert(name, n);
    names.insert(numbered.clone(), 1);
    numbered
}
