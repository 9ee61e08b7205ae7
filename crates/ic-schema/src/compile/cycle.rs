//! Finds schemas that lead back to themselves without getting on in the value.
//!
//! Such a schema has no meaning, and asking it would never end. A cycle through `properties` or
//! `items` is fine: it ends where the value ends.

use crate::rules::{Node, NodeId};

/// How far a node was looked at.
#[derive(Clone, Copy, Eq, PartialEq)]
enum State {
    New,
    /// On the way from where the search began.
    Open,
    Done,
}

/// Returns a node of a cycle, if there is one.
pub(super) fn find(nodes: &[Node]) -> Option<NodeId> {
    let mut states = vec![State::New; nodes.len()];
    for start in 0..nodes.len() {
        if states.get(start) == Some(&State::New)
            && let Some(id) = find_from(NodeId(start), nodes, &mut states)
        {
            return Some(id);
        }
    }
    None
}

fn find_from(start: NodeId, nodes: &[Node], states: &mut [State]) -> Option<NodeId> {
    // The way from the start to here, each with what is still to be looked at below it.
    let mut way = vec![(start, nodes.get(start.0)?.in_place())];
    *states.get_mut(start.0)? = State::Open;
    while let Some((id, below)) = way.last_mut() {
        match below.pop() {
            None => {
                *states.get_mut(id.0)? = State::Done;
                way.pop();
            }
            Some(next) => match states.get(next.0)? {
                State::Open => return Some(next),
                State::Done => {}
                State::New => {
                    *states.get_mut(next.0)? = State::Open;
                    way.push((next, nodes.get(next.0)?.in_place()));
                }
            },
        }
    }
    None
}
