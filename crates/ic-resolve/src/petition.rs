//! What a server asks of a client, and what an agent wants approved beforehand, made calls that can be judged.
//!
//! There is nothing to resolve: no argument of them names a thing of this machine by itself. What a server may
//! ask, and in which shape, is checked before; each call of a plan was resolved as any other.

use ic_policy::{ResolvedCall, ResolvedParts, Standing};
use ic_types::{Object, ToolCall};

/// Takes `call` as what its server itself asks for; it is sent as it is judged.
pub fn of_server(call: ToolCall) -> ResolvedCall {
    let sent = call.arguments.clone();
    bare(call, sent, Standing::OfServer)
}

/// Takes `call` as a plan of calls; `shown` has each of them as it was resolved.
pub fn of_plan(call: ToolCall, shown: Object) -> ResolvedCall {
    bare(call, shown, Standing::Plan)
}

fn bare(asked: ToolCall, sent: Object, standing: Standing) -> ResolvedCall {
    ResolvedCall::assert_resolved(ResolvedParts {
        sent,
        standing,
        roles: Vec::new(),
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
        asked,
    })
}
