//! The keys of `_meta` that the protocol itself defines.
//!
//! Since revision 2026-07-28 each request says in its `_meta` which revision it is in and who asks;
//! this is called its envelope. Keys that others define are not known here.

use ic_types::{Json, Object};

/// The member that holds what is said about a message.
pub const META: &str = "_meta";
/// Ties progress to the request that it belongs to.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The revision that a request is in.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who asks.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What whoever asks can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// How much log the client wants with this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who answers.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The number of a distributed trace.
pub const TRACE_PARENT: &str = "traceparent";

/// Returns the `_meta` of a message's parameters.
pub fn meta(params: &Object) -> Option<&Object> {
    match params.get(META) {
        Some(Json::Object(meta)) => Some(meta),
        _ => None,
    }
}

/// Returns the revision that a request's envelope names, if it has one.
pub fn version(params: &Object) -> Option<&str> {
    meta(params)?.get(PROTOCOL_VERSION)?.as_str()
}
