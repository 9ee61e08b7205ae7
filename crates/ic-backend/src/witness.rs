//! Who is told what happens in a session, besides the record.
//!
//! What is done about it is theirs to say; nothing waits for them.

use ic_types::{EscalationId, ServerName, Timestamp, ToolName};

/// Somebody who is told what happens, besides the record.
pub trait Witness: Send + Sync {
    /// Something that a person should know.
    fn notice(&self, text: &str);
    /// A line of a server's standard error: text of a stranger.
    fn server_wrote(&self, server: &ServerName, line: &str);
    /// A cage refused something to a server, as far as its answer tells.
    fn violation(&self, _reason: &str) {}
    /// Something about a call that needs a person; most have no use for it.
    fn escalation(&self, _news: EscalationNews<'_>) {}
}

/// What becomes of a call that needs a person.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EscalationNews<'a> {
    /// The question stands where people see it.
    Raised {
        /// The question's id.
        id: &'a EscalationId,
        /// The server that the call is for.
        server: &'a ServerName,
        /// The tool on that server.
        tool: &'a ToolName,
        /// When an answer comes too late.
        until: Timestamp,
    },
    /// The question is over.
    Ended(&'a EscalationId, Ending),
    /// Nobody was there to be asked.
    Unattended,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// With a yes.
    Approved,
    /// With a no, or with something that was no answer.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Nobody wanted the answer any more.
    Withdrawn,
}
