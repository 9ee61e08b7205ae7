//! What a server asks of a client, made a call that can be judged.
//!
//! There is nothing to resolve: no argument of it names a thing of this machine. What a server may ask,
//! and in which shape, is checked before.

use ic_policy::{ResolvedCall, ResolvedParts, Standing};
use ic_types::ToolCall;

/// Takes `call` as what its server itself asks for; it is sent as it is judged.
pub fn of_server(call: ToolCall) -> ResolvedCall {
    ResolvedCall::assert_resolved(ResolvedParts {
        sent: call.arguments.clone(),
        standing: Standing::OfServer,
        roles: Vec::new(),
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
        asked: call,
    })
}
