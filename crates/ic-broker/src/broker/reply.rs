//! What a call comes to, as it is said to whoever made it.
//!
//! How it is written on the wire is not known here.

use ic_mcp::RpcError;
use ic_types::{Json, JsonLimits};

use crate::refusal::RefusalKind;

/// The error of a call that was refused; what a client makes of it is its own business.
const REFUSED: i64 = -32_000;

/// What is said to the client.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The result of the call, as JSON.
    Result(String),
    /// The call was refused: the kind of refusal, and the result that says so, as JSON.
    Refused(RefusalKind, String),
    /// We failed, or the server did not keep to the protocol.
    Error(RpcError),
    /// Nothing: the client took the call back.
    Nothing,
}

impl Reply {
    /// Makes an error of what would be the result of a tool that says that nothing was done.
    #[must_use]
    pub fn into_error(self) -> Self {
        let text = match &self {
            Self::Refused(_, text) | Self::Result(text) => text,
            Self::Error(_) | Self::Nothing => return self,
        };
        let Ok(Json::Object(mut result)) = Json::parse(text.as_bytes(), JsonLimits::CALL) else {
            return self;
        };
        if !matches!(result.get("isError"), Some(Json::Bool(true))) {
            return self;
        }
        let said = match result.get("content") {
            Some(Json::Array(content)) => content.first().and_then(|it| match it {
                Json::Object(it) => it.get("text").and_then(Json::as_str).map(str::to_owned),
                _ => None,
            }),
            _ => None,
        };
        let data = result.remove("structuredContent");
        let message = said.unwrap_or_else(|| "the call was not carried out".to_owned());
        Self::Error(RpcError { code: REFUSED, message, data })
    }
}
