//! What a server says that a call is about besides its arguments.
//!
//! The paths come from a server of ours, which found them beneath what was judged; nothing is looked up.

use ic_policy::{PathValue, ResolvedParts, RoleValues, Value};
use ic_types::{CanonicalPath, Role};

/// Adds what a server says that a call is about to the values of the call.
pub(super) fn note(named: &[(Role, CanonicalPath)], parts: &mut ResolvedParts) {
    for (role, path) in named {
        let value = Value::Path(PathValue { path: path.clone(), also: Vec::new(), state: None });
        match parts.roles.iter_mut().find(|it| it.role == *role) {
            Some(entry) => entry.values.push(value),
            None => parts.roles.push(RoleValues { role: *role, values: vec![value] }),
        }
    }
}
