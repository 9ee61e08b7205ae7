//! Sentences as atoms: one effect, one judged thing, one place, one server or tool; and which of those that
//! apply to a value count.

use std::collections::BTreeSet;

use ic_policy::{DomainPattern, Effect};
use ic_types::{Category, Role, ServerName, ToolName};

use super::Tool;
use crate::grammar::{BUILT_IN_SERVERS, SHELL, Verb};
use crate::sentence::{Deed, Directory, HostPlace, NamePlace, Place, Sentence, With};

/// What is judged by itself: the values of a role, or a call without resources as a whole.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Judged {
    Role(Role),
    Whole,
}

/// The servers that something is about.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Reach {
    Any,
    BuiltIn,
    One(ServerName),
}

/// Where an atom holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spot {
    Unsaid,
    Anywhere,
    Elsewhere,
    Unnamed,
    Local,
    Directory(Directory),
    Host(HostCondition),
    Names(Role, BTreeSet<NamePlace>),
}

/// What a destination has to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum HostCondition {
    Pattern(DomainPattern),
    /// A list, and whether its patterns are taken for as much as they can mean.
    List {
        name: String,
        is_wide: bool,
    },
}

/// The smallest thing that a sentence says.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) effect: Effect,
    /// The position of its sentence.
    pub(super) sentence: usize,
    pub(super) judged: Judged,
    /// What its sentence is about; `None` if that is a tool.
    pub(super) verb: Option<Verb>,
    /// For a call as a whole: a role that one of its arguments has to have.
    pub(super) has: Option<Role>,
    pub(super) reach: Reach,
    pub(super) tool: Option<ToolName>,
    pub(super) spot: Spot,
    /// For a *may anywhere else*: the places that it leaves to the sentences that restrict them.
    pub(super) leaves: Vec<Spot>,
    /// How many of server and tool the sentence itself names.
    pub(super) named: usize,
}

/// How one is beside another, in one respect or in all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    Same,
    Narrower,
    Wider,
    Mixed,
}

impl Order {
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (order, Self::Same) | (Self::Same, order) => order,
            (Self::Narrower, Self::Narrower) => Self::Narrower,
            (Self::Wider, Self::Wider) => Self::Wider,
            (Self::Narrower | Self::Wider | Self::Mixed, _) => Self::Mixed,
        }
    }

    pub(super) fn of(is_within: bool, holds: bool) -> Self {
        match (is_within, holds) {
            (true, true) => Self::Same,
            (true, false) => Self::Narrower,
            (false, true) => Self::Wider,
            (false, false) => Self::Mixed,
        }
    }
}

/// Returns the atoms of a sentence.
pub(super) fn atoms(position: usize, sentence: &Sentence, tools: &[Tool]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let shell = shell();
    let (verbs, uses): (&[Verb], &[With]) = match &sentence.deed {
        Deed::Verbs(verbs) => (verbs, &[]),
        Deed::Use(uses) => (&[], uses),
        Deed::UseWithoutResources => {
            without_resources(position, sentence, tools, &mut atoms);
            return atoms;
        }
        Deed::EverythingElse => return atoms,
    };
    for verb in verbs {
        let is_run = *verb == Verb::Run;
        let with = if is_run { shell.as_slice() } else { sentence.with.as_slice() };
        for (reach, tool, named) in reaches(sentence.effect, with) {
            for role in verb.row().roles {
                let (judged, has) = match role.is_resource() {
                    true => (Judged::Role(*role), None),
                    false => (Judged::Whole, Some(*role)),
                };
                for spot in spots(sentence, *role, is_run) {
                    // A list on the role says that the call has it.
                    let has = has.filter(|_| !matches!(spot, Spot::Names(..)));
                    let (reach, tool) = (reach.clone(), tool.clone());
                    atoms.push(Atom {
                        effect: sentence.effect,
                        sentence: position,
                        judged,
                        verb: Some(*verb),
                        has,
                        reach,
                        tool,
                        spot,
                        leaves: Vec::new(),
                        named,
                    });
                }
            }
        }
    }
    for (reach, tool, named) in
        reaches(sentence.effect, uses).into_iter().filter(|_| !uses.is_empty())
    {
        for judged in all_judged() {
            atoms.push(Atom {
                effect: sentence.effect,
                sentence: position,
                judged,
                verb: None,
                has: None,
                reach: reach.clone(),
                tool: tool.clone(),
                spot: match judged {
                    Judged::Role(role) => unsaid(sentence.effect, role, true),
                    Judged::Whole => Spot::Unsaid,
                },
                leaves: Vec::new(),
                named,
            });
        }
    }
    if sentence.is_only {
        let rest = Sentence {
            effect: Effect::Deny,
            is_only: false,
            place: Place::Elsewhere,
            ..sentence.clone()
        };
        atoms.extend(self::atoms(position, &rest, tools));
    }
    atoms
}

/// Lets each *may anywhere else* leave the places that a sentence with its verb restricts.
///
/// SECURITY: whatever server that sentence is about. With *never read files in ~/a with mail*, the directory
/// is named, so *may read files anywhere else* opens it for no server.
pub(super) fn leave_restricted_places(atoms: &mut [Atom]) {
    let restricts = |it: &&Atom| it.effect != Effect::Allow && it.spot.is_place();
    let restricted: Vec<(Judged, Option<Verb>, Spot)> = atoms
        .iter()
        .filter(restricts)
        .map(|it| (it.judged, it.verb, it.spot.read_by(it.effect)))
        .collect();
    let is_may_elsewhere =
        |it: &&mut Atom| it.effect == Effect::Allow && matches!(it.spot, Spot::Elsewhere);
    for atom in atoms.iter_mut().filter(is_may_elsewhere) {
        let is_foreign =
            matches!(&atom.reach, Reach::One(name) if !BUILT_IN_SERVERS.contains(&name.as_str()));
        for (judged, verb, spot) in &restricted {
            // A rule that closes the sandbox outranks containment, and a *may* forbids contained servers nothing.
            let is_contained =
                !is_foreign && matches!(spot, Spot::Directory(Directory::Sandbox(_)));
            let is_same = (atom.judged, atom.verb) == (*judged, *verb);
            if is_same && !is_contained && !atom.leaves.contains(spot) {
                atom.leaves.push(spot.clone());
            }
        }
    }
}

/// Returns everything that is judged by itself.
pub(super) fn all_judged() -> impl Iterator<Item = Judged> {
    Role::all().filter(|role| role.is_resource()).map(Judged::Role).chain([Judged::Whole])
}

fn shell() -> Vec<With> {
    let (server, tool) = SHELL;
    match (server.parse(), tool.parse()) {
        (Ok(server), Ok(tool)) => vec![With { server, tool: Some(tool) }],
        (Ok(server), Err(_)) => vec![With { server, tool: None }],
        (Err(_), _) => Vec::new(),
    }
}

/// Returns the servers and tools that a sentence covers.
///
/// SECURITY: a *may* that names no server covers the built-in ones alone, since another server would do with
/// the same values what nobody thought of.
fn reaches(effect: Effect, with: &[With]) -> Vec<(Reach, Option<ToolName>, usize)> {
    if with.is_empty() {
        let reach = if effect == Effect::Allow { Reach::BuiltIn } else { Reach::Any };
        return vec![(reach, None, 0)];
    }
    let named = |it: &With| 1 + usize::from(it.tool.is_some());
    with.iter().map(|it| (Reach::One(it.server.clone()), it.tool.clone(), named(it))).collect()
}

/// Returns where a sentence holds for values of `role`; `is_run` if it is about a tool, whatever it reaches.
fn spots(sentence: &Sentence, role: Role, is_run: bool) -> Vec<Spot> {
    match &sentence.place {
        Place::Unsaid => vec![unsaid(sentence.effect, role, is_run)],
        Place::Anywhere => vec![Spot::Anywhere],
        Place::Elsewhere => vec![Spot::Elsewhere],
        Place::Unnamed => vec![Spot::Unnamed],
        Place::Directories(all) => all.iter().cloned().map(Spot::Directory).collect(),
        Place::Hosts(all) => {
            let spot = |it: &HostPlace| match it {
                HostPlace::Pattern(pattern) => Spot::Host(HostCondition::Pattern(pattern.clone())),
                HostPlace::List(name) => {
                    Spot::Host(HostCondition::List { name: name.clone(), is_wide: false })
                }
                HostPlace::Local => Spot::Local,
            };
            all.iter().map(spot).collect()
        }
        Place::Names(all) => {
            vec![Spot::Names(role, all.iter().map(|it| comparable(it, role)).collect())]
        }
    }
}

/// Returns where a sentence without a place holds.
///
/// What restricts holds in the sandbox too, and a rule that names no place would be weaker than containment
/// there. Only a *never* about files leaves the session's own sandbox alone: it holds nothing of the person's,
/// and a policy for reading has to leave the agent its scratch paper.
fn unsaid(effect: Effect, role: Role, is_about_tool: bool) -> Spot {
    let restricts = effect == Effect::Escalate || effect == Effect::Deny && is_about_tool;
    match restricts && role.category() == Category::Path {
        true => Spot::Anywhere,
        false => Spot::Unsaid,
    }
}

/// Writes a name as it is compared.
fn comparable(name: &NamePlace, role: Role) -> NamePlace {
    match name {
        NamePlace::Name(name) if role == Role::EmailAddress => {
            NamePlace::Name(name.to_ascii_lowercase())
        }
        NamePlace::Name(name) => NamePlace::Name(role.canonical_text(name)),
        NamePlace::List(_) => name.clone(),
    }
}

fn without_resources(position: usize, sentence: &Sentence, tools: &[Tool], atoms: &mut Vec<Atom>) {
    let mut push = |reach: Reach, tool: Option<ToolName>, has: Option<Role>| {
        atoms.push(Atom {
            effect: sentence.effect,
            sentence: position,
            judged: Judged::Whole,
            verb: None,
            has,
            reach,
            tool,
            spot: Spot::Unsaid,
            leaves: Vec::new(),
            named: usize::from(!sentence.with.is_empty()),
        });
    };
    let covers = |server: &ServerName| match (sentence.with.as_slice(), sentence.effect) {
        ([], Effect::Allow) => BUILT_IN_SERVERS.contains(&server.as_str()),
        ([], _) => true,
        (with, _) => with.iter().any(|it| it.server == *server),
    };
    let is_one =
        |tool: &&Tool| covers(&tool.server) && !tool.roles.iter().any(|role| role.is_resource());
    for tool in tools.iter().filter(is_one) {
        push(Reach::One(tool.server.clone()), Some(tool.tool.clone()), None);
    }
    // What restricts also holds for tools that are not known yet, as far as a rule can tell them.
    if sentence.effect != Effect::Allow {
        for (reach, _, _) in reaches(sentence.effect, &sentence.with) {
            for role in Role::all().filter(|role| role.category() == Category::Opaque) {
                push(reach.clone(), None, Some(role));
            }
        }
    }
}

// === impl Atom ===

impl Atom {
    /// Returns whether it forbids something everywhere, so that nothing makes an exception to it.
    pub(super) fn is_absolute(&self) -> bool {
        self.effect == Effect::Deny && matches!(self.spot, Spot::Unsaid | Spot::Anywhere)
    }

    /// Returns whether it asks or forbids *anywhere else*, which leaves the sandbox alone.
    ///
    /// A *may* is not taken back there: it would have to become a rule for the sandbox that outranks
    /// containment, and a sentence that allows something would forbid something else.
    pub(super) fn is_restriction_elsewhere(&self) -> bool {
        self.effect != Effect::Allow && matches!(self.spot, Spot::Elsewhere)
    }

    /// Returns whether this *may anywhere else* leaves the place of `other` to it.
    pub(super) fn is_left_to(&self, other: &Self) -> bool {
        other.effect != Effect::Allow
            && (self.judged, self.verb) == (other.judged, other.verb)
            && self.leaves.contains(&other.spot.read_by(other.effect))
    }

    /// Returns whether this counts instead of `other` where both apply.
    fn outdoes(&self, other: &Self) -> bool {
        // Where both apply, what one names of server and tool, the other names too or not at all.
        let names = Order::of(other.named <= self.named, self.named <= other.named);
        self.place_order(other).and(names) == Order::Narrower
    }

    /// Returns which of two is about the more specific place.
    ///
    /// SECURITY: what restricts a host holds for all its ports, and one that is allowed for the usual ones. That
    /// does not make the *may* more specific: both name the same host.
    pub(super) fn place_order(&self, other: &Self) -> Order {
        match (&self.spot, &other.spot) {
            (Spot::Host(here), Spot::Host(there)) => Order::of(
                there.read_by(other.effect).covers(here),
                here.read_by(self.effect).covers(there),
            ),
            (here, there) => here.order(there),
        }
    }
}

/// Returns the strictest of the atoms that count where all of `here` apply.
pub(super) fn verdict<'a>(here: &[&'a Atom], texts: &[String]) -> Option<(Effect, &'a Atom)> {
    let text = |atom: &Atom| texts.get(atom.sentence).map_or("", String::as_str);
    // Of equals the first by its words, so that the order of sentences means nothing.
    let strictest = |one: &'a Atom, other: &'a Atom| {
        let is_next =
            one.effect < other.effect || one.effect == other.effect && text(other) < text(one);
        if is_next { other } else { one }
    };
    if let Some(absolute) = here.iter().copied().filter(|it| it.is_absolute()).reduce(strictest) {
        // Of a place by itself it is said more strongly: in the session's own sandbox, too.
        let names = |it: &&'a Atom| it.effect == Effect::Deny && !it.spot.is_general();
        let named = here.iter().copied().filter(names).reduce(strictest);
        return Some((Effect::Deny, named.unwrap_or(absolute)));
    }
    let counts = |it: &&&'a Atom| !here.iter().any(|other| other.outdoes(it));
    here.iter().filter(counts).copied().reduce(strictest).map(|it| (it.effect, it))
}

impl Spot {
    /// Returns whether it names no place in particular.
    pub(super) fn is_general(&self) -> bool {
        matches!(self, Self::Unsaid | Self::Anywhere | Self::Elsewhere)
    }

    /// Returns whether it names a place.
    fn is_place(&self) -> bool {
        !self.is_general() && !matches!(self, Self::Unnamed)
    }

    /// Returns the place as a rule with this `effect` reads it.
    fn read_by(&self, effect: Effect) -> Self {
        match self {
            Self::Host(condition) => Self::Host(condition.read_by(effect)),
            spot => spot.clone(),
        }
    }

    fn order(&self, other: &Self) -> Order {
        match (self, other) {
            (one, other) if one.is_general() && other.is_general() => Order::Same,
            (_, other) if other.is_general() => Order::Narrower,
            (one, _) if one.is_general() => Order::Wider,
            (Self::Unnamed, Self::Unnamed) | (Self::Local, Self::Local) => Order::Same,
            (Self::Host(HostCondition::Pattern(_)), Self::Local) => Order::Narrower,
            (Self::Local, Self::Host(HostCondition::Pattern(_))) => Order::Wider,
            (Self::Directory(one), Self::Directory(other)) => {
                Order::of(is_beneath(one, other), is_beneath(other, one))
            }
            (Self::Names(role, one), Self::Names(other_role, other)) if role == other_role => {
                Order::of(one.is_subset(other), other.is_subset(one))
            }
            _ => Order::Mixed,
        }
    }
}

impl HostCondition {
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pattern(one), Self::Pattern(other)) => one.covers(other),
            (Self::List { name, is_wide }, Self::List { name: other, is_wide: is_other }) => {
                name == other && (*is_wide || !is_other)
            }
            (Self::Pattern(_), Self::List { .. }) | (Self::List { .. }, Self::Pattern(_)) => false,
        }
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pattern(one), Self::Pattern(other)) => one.meets(other),
            (Self::List { .. }, _) | (_, Self::List { .. }) => true,
        }
    }

    /// Returns the condition as a rule with this `effect` reads it.
    pub(super) fn read_by(&self, effect: Effect) -> Self {
        match self {
            Self::Pattern(pattern) => Self::Pattern(pattern.read_by(effect)),
            Self::List { name, is_wide } => {
                let is_wide = *is_wide || effect != Effect::Allow;
                Self::List { name: name.clone(), is_wide }
            }
        }
    }

    /// Writes the condition as rules with this `effect` have it.
    pub(super) fn text(&self, effect: Effect) -> String {
        match self {
            Self::Pattern(pattern) => pattern.written_for(effect).to_string(),
            Self::List { name, is_wide: false } if effect != Effect::Allow => format!("=@{name}"),
            Self::List { name, .. } => format!("@{name}"),
        }
    }
}

/// What a directory begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Root {
    Sandbox,
    Home,
    Top,
}

/// Returns what a directory begins with, and the rest of it.
pub(super) fn parts(directory: &Directory) -> (Root, &str) {
    match directory {
        Directory::Sandbox(rest) => (Root::Sandbox, rest.as_str()),
        Directory::At(path) => match path.strip_prefix('~') {
            Some(rest) => (Root::Home, rest.trim_start_matches('/')),
            None => (Root::Top, path.trim_start_matches('/')),
        },
    }
}

/// Returns whether `inner` is known to lie in `outer`, or to be it.
pub(crate) fn is_beneath(inner: &Directory, outer: &Directory) -> bool {
    let ((root, inner), (of, outer)) = (parts(inner), parts(outer));
    if root != of {
        return false;
    }
    // INVARIANT: paths have no empty parts, so a slash is the end of one.
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with('/'))
}
