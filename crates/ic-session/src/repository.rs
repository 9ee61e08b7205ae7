//! A repository that a person names at the start: cloned into the sandbox by a call like any other.
//!
//! The call is judged and recorded as an agent's would be, and the same credentials are lent to it. Only
//! the question whether the remote may be reached is answered already, by whoever typed its URL. What an
//! agent asks for later has nothing of that.

use ic_sandbox::Called;
use ic_types::{Object, ToolCall, ToolName};
use tokio_util::sync::CancellationToken;

use crate::calls::BrokerCalls;

/// The tool that clones.
const TOOL: &str = "git_clone";
/// The sandbox itself.
const HERE: &str = ".";

/// Why a repository was not cloned.
#[derive(Debug, thiserror::Error)]
pub enum NotCloned {
    /// The session has no server that could.
    #[error("there is no built-in git server in this session")]
    NoServer,
    /// The call was not let through.
    #[error("{reason}")]
    Denied {
        /// The rule that says so.
        rule: String,
        /// Why.
        reason: String,
    },
    /// It was tried.
    #[error("{0}")]
    Failed(String),
    /// Nobody wants it any more.
    #[error("cancelled")]
    Cancelled,
}

/// Clones the repository at `url` into the sandbox, and returns what git says about it.
pub(crate) async fn clone(
    calls: &BrokerCalls,
    url: &str,
    cancel: &CancellationToken,
) -> Result<String, NotCloned> {
    let server = calls.git_server().ok_or(NotCloned::NoServer)?;
    let tool = ToolName::try_from(TOOL.to_owned())
        .map_err(|error| NotCloned::Failed(error.to_string()))?;
    let mut arguments = Object::new();
    arguments.insert("url", url);
    arguments.insert("localPath", HERE);
    match calls.call_typed(ToolCall { server, tool, arguments }, cancel).await {
        Called::Done { text, .. } => Ok(text),
        Called::Failed { .. } if cancel.is_cancelled() => Err(NotCloned::Cancelled),
        Called::Failed { message } => Err(NotCloned::Failed(message)),
        Called::Denied(denial) => {
            Err(NotCloned::Denied { rule: denial.rule, reason: denial.reason })
        }
    }
}
