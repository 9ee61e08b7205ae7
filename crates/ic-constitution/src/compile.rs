//! From sentences to ordered rules.
//!
//! For each role, and for calls without resources, the regions of the sentences and all that they have in
//! common get a rule, narrower before wider, so the first rule that holds for a value knows every sentence
//! about it. How rules are written to files is not known here.

mod atom;
mod general;
mod judge;
mod names;
mod notes;
mod order;
mod region;
mod shape;

use std::collections::BTreeSet;

use ic_policy::Effect;
use ic_types::{Role, ServerName, ToolName};

use crate::fault::{Fault, Faults};
use crate::list::ListDefinition;
use crate::parse::{Constitution, Kept};
use crate::sentence::{Deed, Sentence};
pub(crate) use atom::is_beneath;
use atom::{Atom, Judged, Spot, verdict};
pub use judge::{Subject, SubjectPlace};
use order::{Cycle, Ruled};
use region::{Area, Region};
use shape::Shape;
pub use shape::{Condition, Rule};

/// The most rules of a policy.
pub const RULES_MAX: usize = 10_000;
/// How much work may go into leaving out rules that change nothing.
const PRUNING_MAX: usize = 4_000_000;

/// A tool that is known, with every role that its arguments may have.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its server.
    pub server: ServerName,
    /// Its name.
    pub tool: ToolName,
    /// The roles.
    pub roles: Vec<Role>,
}

/// A compiled constitution.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rules, in the order in which they are asked.
    pub rules: Vec<Rule>,
    /// What is odd, though it can be compiled: line and sentence.
    pub notes: Vec<Note>,
    /// Rules that have no plain form and are kept as they are.
    pub kept: Vec<Kept>,
    /// Where the values of lists come from.
    pub lists: Vec<ListDefinition>,
    atoms: Vec<Atom>,
    /// The regions of the atoms, in their order.
    regions: Vec<Region>,
    texts: Vec<String>,
    default: Effect,
}

/// Something that is worth a look.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// The line, counted from 1.
    pub line: usize,
    /// What is odd.
    pub text: String,
}

/// Compiles a constitution; `tools` are those that are known.
pub fn compile(constitution: &Constitution, tools: &[Tool]) -> Result<Compiled, Faults> {
    let sentences = &constitution.sentences;
    let texts: Vec<String> = sentences.iter().map(ToString::to_string).collect();
    let default = default_of(sentences)?;
    names::check(sentences, tools)?;
    let mut atoms: Vec<Atom> = sentences
        .iter()
        .enumerate()
        .flat_map(|(position, sentence)| atom::atoms(position, sentence, tools))
        .collect();
    atom::leave_restricted_places(&mut atoms);
    let compiler = Compiler { sentences, texts: &texts, default };
    let mut lists: Vec<(Judged, Vec<Shape>)> = Vec::new();
    for judged in atom::all_judged() {
        let here: Vec<&Atom> = atoms.iter().filter(|atom| atom.judged == judged).collect();
        if !here.is_empty() {
            lists.push((judged, compiler.rules_for(judged, &here)?));
        }
    }
    let pieces = shape::with_servers(shape::merged(lists));
    if RULES_MAX < pieces.len() {
        return Err(compiler.too_many(&atoms.iter().collect::<Vec<_>>()));
    }
    let mut notes = compiler.notes(&pieces, &atoms);
    notes.extend(notes::of_blocks(&constitution.kept));
    let names = constitution.kept.iter().map(|it| it.name.as_str());
    let rules = shape::rules(&pieces, sentences, (default, names));
    notes.extend(notes::of_lists(&constitution.lists, &rules));
    notes.sort_by_key(|note| note.line);
    let regions = atoms.iter().map(Region::of).collect();
    let (kept, lists) = (constitution.kept.clone(), constitution.lists.clone());
    Ok(Compiled { rules, notes, kept, lists, atoms, regions, texts, default })
}

/// Returns what holds for everything else.
fn default_of(sentences: &[Sentence]) -> Result<Effect, Faults> {
    let mut said = sentences.iter().filter(|it| it.deed == Deed::EverythingElse);
    let first = said.next();
    let default = first.map_or(Effect::Deny, |it| it.effect);
    match said.find(|it| it.effect != default) {
        Some(other) => Err(Faults(vec![Fault {
            line: other.line,
            column: 1,
            words: other.text.clone(),
            problem: format!(
                "this contradicts line {}; everything else is either refused or for a person to decide",
                first.map_or(1, |it| it.line)
            ),
            offers: Vec::new(),
        }])),
        None => Ok(default),
    }
}

struct Compiler<'a> {
    sentences: &'a [Sentence],
    texts: &'a [String],
    default: Effect,
}

/// What is said in a region: by which sentence, if it is by one.
#[derive(Clone, Copy, Debug)]
struct Said<'a> {
    effect: Effect,
    by: Option<&'a Atom>,
}

impl Compiler<'_> {
    /// Returns the rules about one judged thing, in their order.
    fn rules_for(&self, judged: Judged, atoms: &[&Atom]) -> Result<Vec<Shape>, Faults> {
        let too_many = |region::TooMany| self.too_many(atoms);
        let own: Vec<(&Atom, Region)> = atoms.iter().map(|it| (*it, Region::of(it))).collect();
        let left = atoms.iter().flat_map(|atom| Region::left_by(atom));
        let extra: Vec<Region> = webs(judged, atoms).into_iter().chain(left).collect();
        let mut regions = region::closure(atoms, extra.clone(), RULES_MAX).map_err(too_many)?;
        let of_sandbox = self.sandboxes(judged, &own, &regions);
        if !of_sandbox.is_empty() {
            let extra = extra.into_iter().chain(of_sandbox).collect();
            regions = region::closure(atoms, extra, RULES_MAX).map_err(too_many)?;
        }
        let mut ruled: Vec<Ruled<'_>> = Vec::new();
        for region in &regions {
            let about = own.iter().filter(|(atom, own)| region.is_of(atom, own));
            let here: Vec<&Atom> = about.map(|(atom, _)| *atom).collect();
            let said = match verdict(&here, self.texts) {
                Some((effect, by)) => Said { effect, by: Some(by) },
                // The web, and what a *may anywhere else* leaves, is added where nothing is said about it.
                None => Said { effect: self.default, by: None },
            };
            ruled.push(Ruled { region, here, what: said, narrower: Vec::new() });
        }
        let ordered =
            order::ordered(ruled, self.texts).map_err(|Cycle(left)| self.contradiction(&left))?;
        // From the last on, so that a rule is compared with those that stay.
        let mut kept: Vec<&Ruled<'_>> = Vec::new();
        let is_affordable = ordered.len() * ordered.len() < PRUNING_MAX;
        for one in ordered.iter().rev() {
            if one.region.area == Area::General
                || !is_affordable
                || !self.is_idle(one, kept.iter().rev().copied())
            {
                kept.push(one);
            }
        }
        let shapes = kept.iter().rev().flat_map(|one| match one.region.area {
            Area::General => {
                let all =
                    general::shapes(judged, one.region, &one.here, (self.texts, self.default));
                // The sandbox may have a rule before those of other places.
                let is_earlier =
                    |it: &&Ruled<'_>| it.region.is_sandbox() && it.region.is_for(one.region);
                let has_sandbox = kept.iter().any(is_earlier);
                let is_left = |it: &Shape| !(has_sandbox && general::is_of_sandbox(it));
                all.into_iter().filter(is_left).collect()
            }
            Area::Directory(_) | Area::Hosts(_) | Area::Names(_) => {
                vec![Shape::of(one.region, one.what)]
            }
        });
        Ok(shapes.collect())
    }

    /// Returns the regions of the sandbox that have to be judged by themselves.
    ///
    /// SECURITY: what restricts a directory is weaker than containment in a sandbox beneath it. Where something
    /// else restricts all places, the rule for the sandbox has to stand before that for the directory.
    fn sandboxes(
        &self,
        judged: Judged,
        own: &[(&Atom, Region)],
        regions: &[Region],
    ) -> Vec<Region> {
        let restricts = |region: &&Region| {
            let about = own.iter().filter(|(atom, own)| region.is_of(atom, own));
            let here: Vec<&Atom> = about.map(|(atom, _)| *atom).collect();
            let is_directory = matches!(region.area, Area::Directory(_)) && !region.is_in_sandbox();
            is_directory
                && verdict(&here, self.texts).is_some_and(|(effect, _)| effect != Effect::Allow)
        };
        let is_path = matches!(judged, Judged::Role(role) if is_path_role(role));
        if !is_path || !regions.iter().any(|region| restricts(&region)) {
            return Vec::new();
        }
        let anywhere = own.iter().filter(|(atom, _)| {
            atom.effect != Effect::Allow && matches!(atom.spot, Spot::Anywhere)
        });
        anywhere.map(|(_, own)| Region { area: Area::sandbox(), ..own.clone() }).collect()
    }

    /// Returns whether the rule of a region would say what the next of the `later` ones says anyway.
    fn is_idle<'r>(&self, one: &Ruled<'_>, later: impl Iterator<Item = &'r Ruled<'r>>) -> bool {
        let is_own = one.what.by.is_none_or(|by| Region::of(by) == *one.region);
        if is_own {
            return false;
        }
        let Some(next) = next_for(one, later) else { return false };
        if next.region.area != Area::General {
            return next.what.effect == one.what.effect;
        }
        // Of a general region, what it says about values counts.
        let is_about_values =
            |atom: &&Atom| atom.spot.is_general() || matches!(atom.spot, Spot::Local);
        let here: Vec<&Atom> = next.here.iter().copied().filter(is_about_values).collect();
        // It may say something else about the sandbox, in which the directory may lie.
        let is_plain = here.iter().all(|atom| matches!(atom.spot, Spot::Unsaid | Spot::Local));
        let is_directory = matches!(one.region.area, Area::Directory(_));
        // What restricts a place holds in the session's own sandbox; what restricts all of them does not.
        let is_weaker = is_directory && one.what.effect != Effect::Allow;
        let said = verdict(&here, self.texts);
        said.is_some_and(|(effect, _)| effect == one.what.effect)
            && (is_plain && !is_weaker || !is_directory)
    }

    fn too_many(&self, atoms: &[&Atom]) -> Faults {
        let positions: BTreeSet<usize> = atoms.iter().map(|atom| atom.sentence).collect();
        self.faults(&positions, &format!("together with others this needs more than {RULES_MAX} rules; use fewer lists and patterns"))
    }

    fn contradiction(&self, left: &[Said<'_>]) -> Faults {
        let positions: BTreeSet<usize> =
            left.iter().filter_map(|said| said.by.map(|by| by.sentence)).collect();
        self.faults(
            &positions,
            "this opens a place within a closed one, and another sentence is about a place that may be the same \
             (the sandbox, the home or an absolute path); write all of them in one way",
        )
    }

    /// Names the first sentences that have a part in a problem.
    fn faults(&self, positions: &BTreeSet<usize>, problem: &str) -> Faults {
        const NAMED_MAX: usize = 10;
        let sentences = positions.iter().filter_map(|at| self.sentences.get(*at)).take(NAMED_MAX);
        let fault = |sentence: &Sentence| Fault {
            line: sentence.line,
            column: 1,
            words: sentence.text.clone(),
            problem: problem.to_owned(),
            offers: Vec::new(),
        };
        Faults(sentences.map(fault).collect())
    }
}

/// Returns the rule of the `later` ones that would count instead of one, if that is the same for all values.
fn next_for<'r>(
    one: &Ruled<'_>,
    later: impl Iterator<Item = &'r Ruled<'r>>,
) -> Option<&'r Ruled<'r>> {
    for other in later {
        if other.region.contains(one.region) {
            return Some(other);
        }
        // It would count for the values that lie in both.
        if other.region.is_apart_from(one.region) && other.what.effect != one.what.effect {
            return None;
        }
    }
    None
}

/// Returns the regions of the web that are needed to tell local addresses from it.
fn webs(judged: Judged, atoms: &[&Atom]) -> Vec<Region> {
    let is_host = matches!(judged, Judged::Role(role) if is_host_role(role));
    let Some(web) = crate::parse::web().filter(|_| is_host) else { return Vec::new() };
    let is_local = |it: &&&Atom| matches!(it.spot, Spot::Local) || it.leaves.contains(&Spot::Local);
    let locals = atoms.iter().filter(is_local);
    // At every port: an unusual one does not make a public host a local address.
    let web = web.read_by(Effect::Deny);
    let area = || Area::Hosts(vec![atom::HostCondition::Pattern(web.clone())]);
    locals.map(|atom| Region { area: area(), ..Region::of(atom) }).collect()
}

/// Returns whether values of a role lead to hosts.
fn is_host_role(role: Role) -> bool {
    role.category() == ic_types::Category::Url || role == Role::ProxyDomain
}

/// Returns whether values of a role are paths.
fn is_path_role(role: Role) -> bool {
    role.category() == ic_types::Category::Path
}
