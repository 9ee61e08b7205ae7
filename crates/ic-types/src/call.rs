//! One tool call as an agent asked for it: valid names, parsed arguments, nothing judged yet.

use crate::{Object, ServerName, ToolName};

/// A call whose names are valid and whose arguments were parsed once.
///
/// It says nothing about whether the tool exists or what the policy thinks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The server that the call is for.
    pub server: ServerName,
    /// The tool on that server.
    pub tool: ToolName,
    /// The arguments, in the order and with the numbers as they were written.
    pub arguments: Object,
}
