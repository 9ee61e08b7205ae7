//! The order of regions: the narrower before the wider, and of two that may overlap without a rule for what
//! they have in common, the one that says what the sentences about both say together.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use ic_policy::Effect;

use super::Said;
use super::atom::{Atom, Spot, verdict};
use super::region::{Area, Region};

/// A region, the sentences about all of it, and what they say.
#[derive(Clone, Debug)]
pub(super) struct Ruled<'a> {
    pub(super) region: &'a Region,
    pub(super) here: Vec<&'a Atom>,
    pub(super) what: Said<'a>,
    /// Regions of the same place, for some of its servers and tools.
    pub(super) narrower: Vec<&'a Region>,
}

/// No order does it: these contradict each other.
pub(super) struct Cycle<'a>(pub(super) Vec<Said<'a>>);

/// Puts regions into an order in which the first that holds for a value is the one that counts.
pub(super) fn ordered<'a>(
    mut all: Vec<Ruled<'a>>,
    texts: &[String],
) -> Result<Vec<Ruled<'a>>, Cycle<'a>> {
    all.sort_by_cached_key(|it| {
        (Reverse(it.region.rank()), Reverse(it.what.effect), it.region.key())
    });
    find_narrower(&mut all);
    let has_late = all.iter().enumerate().any(|(at, early)| {
        // Ranks add up, so of several conditions they can be more than the one that is narrower.
        let is_several = early.region.has_several_conditions();
        let is_passed = |late: &Ruled<'_>| is_several && late.region.is_inside(early.region);
        all.iter().skip(at + 1).any(|late| late.counts_before(early, texts) || is_passed(late))
    });
    if !has_late {
        return Ok(all);
    }
    sorted(&all, texts)
}

fn find_narrower(all: &mut [Ruled<'_>]) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        if matches!(one.region.area, Area::Directory(_)) {
            places.entry(one.region.area.key()).or_default().push(at);
        }
    }
    for same in places.into_values() {
        let regions: Vec<&Region> =
            same.iter().filter_map(|at| Some(all.get(*at)?.region)).collect();
        for one in same {
            let Some(one) = all.get_mut(one) else { continue };
            let is_in = |it: &&Region| *it != one.region && one.region.contains(it);
            one.narrower = regions.iter().copied().filter(is_in).collect();
        }
    }
}

impl Ruled<'_> {
    /// Returns whether this has to stand before `other` because values may lie in both.
    fn counts_before(&self, other: &Self, texts: &[String]) -> bool {
        let (effect, against) = (self.what.effect, other.what.effect);
        if !self.region.is_apart_from(other.region) {
            return false;
        }
        if effect == against {
            // SECURITY: what restricts another place is weaker than containment; if it stood first, the
            // sandbox would be free where both restrict it.
            let is_of_sandbox = self.region.is_in_sandbox() && !other.region.is_in_sandbox();
            return effect != Effect::Allow && is_of_sandbox;
        }
        // Where both hold, a narrower region comes before one of them and decides.
        let is_passed = |one: &Self, other: &Self| {
            one.narrower.iter().any(|narrower| narrower.is_for(other.region))
        };
        if is_passed(self, other) || is_passed(other, self) {
            return false;
        }
        let stricter = if against < effect { self } else { other };
        if stricter.what.by.is_some_and(|by| matches!(by.spot, Spot::Directory(_))) {
            // No sentence about another place is more specific than one about this place.
            return against < effect;
        }
        match together(self, other, texts) {
            Some(said) if said == effect => true,
            Some(said) if said == against => false,
            Some(_) | None => against < effect,
        }
    }
}

/// Returns what the sentences about either region say about a value in both.
fn together(one: &Ruled<'_>, other: &Ruled<'_>, texts: &[String]) -> Option<Effect> {
    let is_in_sandbox = one.region.is_in_sandbox() || other.region.is_in_sandbox();
    let mut here: Vec<&Atom> = Vec::new();
    for atom in one.here.iter().chain(&other.here) {
        // Anywhere else is not the sandbox.
        let is_out = is_in_sandbox && atom.is_restriction_elsewhere()
            || one.region.is_left_by(atom)
            || other.region.is_left_by(atom);
        if !is_out && !here.iter().any(|it| std::ptr::eq(*it, *atom)) {
            here.push(atom);
        }
    }
    verdict(&here, texts).map(|(effect, _)| effect)
}

fn sorted<'a>(all: &[Ruled<'a>], texts: &[String]) -> Result<Vec<Ruled<'a>>, Cycle<'a>> {
    let comes_first = |one: &Ruled<'_>, other: &Ruled<'_>| {
        one.region.is_inside(other.region) || one.counts_before(other, texts)
    };
    let mut waiting: Vec<usize> = vec![0; all.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
    for (first, one) in all.iter().enumerate() {
        for (second, other) in all.iter().enumerate() {
            if first != second && comes_first(one, other) {
                if let Some(list) = after.get_mut(first) {
                    list.push(second);
                }
                if let Some(count) = waiting.get_mut(second) {
                    *count += 1;
                }
            }
        }
    }
    let mut free: BTreeSet<usize> =
        waiting.iter().enumerate().filter(|(_, n)| **n == 0).map(|(at, _)| at).collect();
    let mut order = Vec::new();
    while let Some(at) = free.pop_first() {
        order.push(at);
        for next in after.get(at).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*next) {
                *count -= 1;
                if *count == 0 {
                    free.insert(*next);
                }
            }
        }
    }
    if order.len() < all.len() {
        let left = all.iter().enumerate().filter(|(at, _)| !order.contains(at));
        return Err(Cycle(left.map(|(_, it)| it.what).collect()));
    }
    Ok(order.into_iter().filter_map(|at| all.get(at).cloned()).collect())
}
