//! Calls that nobody makes: put together from values, to be explained and never forwarded.
//!
//! INVARIANT: such a call leaves this crate only as the text of an example. It is explained, which makes
//! no permit; it is never evaluated.

use ic_policy::{ResolvedCall, ResolvedParts, RoleValues, Standing};
use ic_types::{Object, ServerName, ToolCall, ToolName};

/// The names of a server and of a tool on it.
pub(crate) type Names<'a> = (&'a ServerName, &'a ToolName);

/// Returns a call with these roles and values, of a tool that is annotated.
pub(crate) fn call(
    (server, tool): Names<'_>,
    roles: Vec<RoleValues>,
    arguments: Object,
) -> ResolvedCall {
    ResolvedCall::assert_resolved(ResolvedParts {
        asked: ToolCall { server: server.clone(), tool: tool.clone(), arguments },
        sent: Object::new(),
        standing: Standing::Annotated,
        roles,
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
    })
}
