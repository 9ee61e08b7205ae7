//! The rules of what is said about no place in particular: for values, for calls without one, and for the
//! sandbox.

use ic_policy::Effect;

use super::Said;
use super::atom::{Atom, Judged, Spot, verdict};
use super::is_path_role;
use super::region::Region;
use super::shape::{Condition, Shape};

const SANDBOX: &str = "${SANDBOX}";

/// Returns the rules of a general region, in their order.
pub(super) fn shapes(
    judged: Judged,
    region: &Region,
    here: &[&Atom],
    (texts, default): (&[String], Effect),
) -> Vec<Shape> {
    let is_path = matches!(judged, Judged::Role(role) if is_path_role(role));
    let said = |atoms: &[&Atom]| {
        // INVARIANT: `verdict` returns one of the atoms that it got.
        verdict(atoms, texts).and_then(|(effect, by)| {
            let by = here.iter().copied().find(|it| std::ptr::eq(*it, by))?;
            Some(Said { effect, by: Some(by) })
        })
    };
    if !is_path {
        return said(here).map(|said| Shape::of(region, said)).into_iter().collect();
    }
    let select = |is_one: &dyn Fn(&Atom) -> bool| -> Vec<&Atom> {
        here.iter().copied().filter(|atom| is_one(atom)).collect()
    };
    let everywhere = select(&|atom| atom.spot.is_general());
    let values = said(&everywhere);
    let without = said(&select(&|atom| match atom.spot {
        Spot::Unsaid | Spot::Unnamed => true,
        // A call that names no place could be about any.
        Spot::Anywhere => atom.effect != Effect::Allow,
        _ => false,
    }));
    let has_anywhere = everywhere.iter().any(|atom| matches!(atom.spot, Spot::Anywhere));
    let sandbox = said(&select(&|atom| atom.spot.is_general() && !atom.is_restriction_elsewhere()))
        .filter(|_| has_anywhere);
    let mut shapes = Vec::new();
    // A denial of everything else would be stronger than containment in a workspace, and means no workspace.
    let values = values.or_else(|| without.map(|_| Said { effect: default, by: None }));
    if let Some(values) = values {
        let is_elsewhere = values.by.is_none_or(|by| matches!(by.spot, Spot::Elsewhere));
        match sandbox {
            Some(said) if said.effect != Effect::Allow || values.effect != Effect::Allow => {
                shapes.push(Shape { condition: within(SANDBOX), ..Shape::of(region, said) });
            }
            Some(_) | None => {}
        }
        let leaves_sandbox = sandbox.is_none() && values.effect == Effect::Deny && is_elsewhere;
        let is_same = without.is_some_and(|without| {
            without.effect == values.effect
                && without.by.map(|it| it.sentence) == values.by.map(|it| it.sentence)
        });
        if !is_same {
            let condition = if leaves_sandbox { Condition::Elsewhere } else { within("/") };
            shapes.push(Shape { condition, ..Shape::of(region, values) });
        }
    }
    shapes.extend(without.map(|said| Shape::of(region, said)));
    shapes
}

/// Returns whether it is about the sandbox as a whole.
pub(super) fn is_of_sandbox(shape: &Shape) -> bool {
    shape.condition == within(SANDBOX)
}

fn within(path: &str) -> Condition {
    Condition::Within(path.to_owned())
}
