//! The order of regions: the narrower before the wider, and of two that may overlap without a rule for what
//! they have in common, the stricter first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ic_policy::Effect;

use super::region::Region;

/// A region, and what is said there.
#[derive(Clone, Debug)]
pub(super) struct Ruled<'a, T> {
    pub(super) region: &'a Region,
    pub(super) effect: Effect,
    pub(super) what: T,
}

/// No order does it: these contradict each other.
pub(super) struct Cycle<T>(pub(super) Vec<T>);

/// Puts regions into an order in which the first that holds for a value is the one that counts.
pub(super) fn ordered<T: Clone>(mut all: Vec<Ruled<'_, T>>) -> Result<Vec<Ruled<'_, T>>, Cycle<T>> {
    all.sort_by_cached_key(|it| (Reverse(it.region.rank()), Reverse(it.effect), it.region.key()));
    let is_late = |(early, late): (&Ruled<'_, T>, &Ruled<'_, T>)| {
        early.effect < late.effect && early.region.is_apart_from(late.region)
    };
    let has_late = all
        .iter()
        .enumerate()
        .any(|(at, early)| all.iter().skip(at + 1).any(|late| is_late((early, late))));
    if !has_late {
        return Ok(all);
    }
    sorted(&all)
}

fn sorted<'a, T: Clone>(all: &[Ruled<'a, T>]) -> Result<Vec<Ruled<'a, T>>, Cycle<T>> {
    let comes_first = |one: &Ruled<'_, T>, other: &Ruled<'_, T>| {
        let is_inner = other.region.contains(one.region) && !one.region.contains(other.region);
        is_inner || other.effect < one.effect && one.region.is_apart_from(other.region)
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
        return Err(Cycle(left.map(|(_, it)| it.what.clone()).collect()));
    }
    Ok(order.into_iter().filter_map(|at| all.get(at).cloned()).collect())
}
