//! Calls that nobody makes: put together from values or records, to be explained and never forwarded.
//!
//! INVARIANT: such a call leaves this crate only as the text of an example. It is explained, which makes
//! no permit; it is never evaluated.

use ic_policy::{ResolvedCall, ResolvedParts, RoleValues, Standing};
use ic_types::{Object, ServerName, ToolCall, ToolName};

/// The names of a server and of a tool on it.
pub(crate) type Names<'a> = (&'a ServerName, &'a ToolName);

/// A call that nobody makes.
#[derive(Debug)]
pub(crate) struct Imagined<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) standing: Standing,
    pub(crate) roles: Vec<RoleValues>,
    /// Arguments that the annotation does not name.
    pub(crate) unknown: Vec<String>,
    pub(crate) arguments: Object,
}

impl Imagined<'_> {
    /// Puts the call together.
    pub(crate) fn into_call(self) -> ResolvedCall {
        let Self { names: (server, tool), standing, roles, unknown, arguments } = self;
        ResolvedCall::assert_resolved(ResolvedParts {
            asked: ToolCall { server: server.clone(), tool: tool.clone(), arguments },
            sent: Object::new(),
            standing,
            roles,
            invalid: Vec::new(),
            unknown_arguments: unknown,
            unannotated_paths: Vec::new(),
            executed: Vec::new(),
            places: Vec::new(),
            push: None,
        })
    }
}

/// Returns a call that was made once, as a record has it; it is explained, and not made again.
pub(crate) fn recorded(parts: ResolvedParts) -> ResolvedCall {
    ResolvedCall::assert_resolved(parts)
}

/// Returns a call with these roles and values, of a tool that is annotated.
pub(crate) fn call(names: Names<'_>, roles: Vec<RoleValues>, arguments: Object) -> ResolvedCall {
    let (standing, unknown) = (Standing::Annotated, Vec::new());
    Imagined { names, standing, roles, unknown, arguments }.into_call()
}
