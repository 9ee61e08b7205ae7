//! What is answered to a request, and which requests are calls.
//!
//! Pure, and without memory: a request that carries the keys of revision 2026-07-28 is answered in
//! its way, any other in the way of the revisions that begin with `initialize`. So a client may ask
//! in either way first, and a process that never saw the first message serves the second.

use ic_mcp::{Id, Notification, Outcome, ProtocolVersion, Request, RpcError, code};
use ic_types::{Json, Object};

use crate::tools::{Tool, ToolResult, Tools};

/// What is to be done about a request.
#[derive(Debug)]
pub(super) enum Plan {
    /// It is answered at once.
    Answer(Outcome),
    /// A tool is called.
    Call(Call),
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Object,
    pub(super) meta: Object,
    pub(super) era: Era,
}

/// The two ways of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Era {
    /// Up to 2025-11-25: a handshake first.
    Handshake,
    /// From 2026-07-28 on: each request says what it is.
    Stateless,
}

/// How methods begin that only our own kernel asks for.
const OURS: &str = "ironcurtain/";

/// The revision asked for is not served; from 2026-07-28.
const UNSUPPORTED_VERSION: i64 = -32_022;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Says what to do about `request`.
pub(super) fn plan(tools: &dyn Tools, mut request: Request) -> Plan {
    // `initialize` is not part of the other way, whatever it carries.
    let era = match era(&request.params) {
        _ if request.method == "initialize" => Era::Handshake,
        Ok(era) => era,
        Err(error) => return Plan::Answer(Err(error)),
    };
    let answer = match (request.method.as_str(), era) {
        ("initialize", _) => initialize(tools, &request.params),
        ("server/discover", Era::Stateless) => Ok(discover()),
        ("server/discover", Era::Handshake) => {
            Err(invalid(format!("`_meta` has no `{VERSION_KEY}`")))
        }
        ("ping", Era::Handshake) => Ok(Object::new()),
        ("tools/list", _) => list(tools, era, &request.params),
        ("tools/call", _) => match call(&mut request.params, era) {
            Ok(call) => return Plan::Call(call),
            Err(error) => Err(error),
        },
        (method, _) if method.starts_with(OURS) => {
            return Plan::Call(inquiry(request.method, request.params, era));
        }
        _ => Err(RpcError::new(code::METHOD_NOT_FOUND, "there is no such method")),
    };
    Plan::Answer(answer.map(|result| complete(tools, era, result)))
}

/// Returns what is answered to a call.
pub(super) fn called(tools: &dyn Tools, era: Era, result: ToolResult) -> Json {
    complete(tools, era, result.into_object())
}

/// Returns the request that a notification cancels.
pub(super) fn cancelled(mut notification: Notification) -> Option<Id> {
    if notification.method != "notifications/cancelled" {
        return None;
    }
    notification.params.remove("requestId").and_then(|id| Id::of_json(id).ok())
}

fn era(params: &Object) -> Result<Era, RpcError> {
    let Some(Json::Object(meta)) = params.get("_meta") else { return Ok(Era::Handshake) };
    let requested = match meta.get(VERSION_KEY) {
        None => return Ok(Era::Handshake),
        Some(Json::String(requested)) => requested,
        Some(_) => return Err(invalid(format!("`{VERSION_KEY}` is not text"))),
    };
    if requested != ProtocolVersion::V2026_07_28.as_str() {
        let mut data = Object::new();
        data.insert("supported", stateless_versions());
        data.insert("requested", requested.as_str());
        return Err(RpcError {
            code: UNSUPPORTED_VERSION,
            message: "this revision of the protocol is not served".to_owned(),
            data: Some(Json::Object(data)),
        });
    }
    match meta.get(CAPABILITIES_KEY) {
        Some(Json::Object(_)) => Ok(Era::Stateless),
        _ => Err(invalid(format!("`_meta` has no `{CAPABILITIES_KEY}`"))),
    }
}

fn stateless_versions() -> Vec<Json> {
    vec![Json::from(ProtocolVersion::V2026_07_28.as_str())]
}

fn initialize(tools: &dyn Tools, params: &Object) -> Result<Object, RpcError> {
    let requested = match params.get("protocolVersion") {
        // Whoever does not care gets the newest.
        None => "",
        Some(Json::String(requested)) => requested,
        Some(_) => return Err(invalid("`protocolVersion` is not text")),
    };
    let mut result = Object::new();
    result.insert("protocolVersion", ProtocolVersion::answer_to(requested).as_str());
    result.insert("capabilities", capabilities());
    result.insert("serverInfo", server_info(tools));
    Ok(result)
}

fn discover() -> Object {
    let mut result = Object::new();
    result.insert("supportedVersions", stateless_versions());
    result.insert("capabilities", capabilities());
    cacheable(&mut result);
    result
}

fn list(tools: &dyn Tools, era: Era, params: &Object) -> Result<Object, RpcError> {
    // All tools are on one page, so nobody can have been given a cursor.
    if params.get("cursor").is_some_and(|cursor| *cursor != Json::Null) {
        return Err(invalid("there is no such page"));
    }
    let mut result = Object::new();
    result.insert("tools", tools.list().into_iter().map(Tool::into_json).collect::<Vec<_>>());
    if era == Era::Stateless {
        cacheable(&mut result);
    }
    Ok(result)
}

/// Returns a request of ours as a call under its method's name, which no tool has.
fn inquiry(method: String, mut params: Object, era: Era) -> Call {
    let meta = match params.remove("_meta") {
        Some(Json::Object(meta)) => meta,
        _ => Object::new(),
    };
    Call { tool: method, arguments: params, meta, era }
}

fn call(params: &mut Object, era: Era) -> Result<Call, RpcError> {
    let Some(Json::String(tool)) = params.remove("name") else {
        return Err(invalid("`name` is missing or no text"));
    };
    let arguments = match params.remove("arguments") {
        None => Object::new(),
        Some(Json::Object(arguments)) => arguments,
        Some(_) => return Err(invalid("`arguments` is not an object")),
    };
    let meta = match params.remove("_meta") {
        Some(Json::Object(meta)) => meta,
        Some(_) | None => Object::new(),
    };
    Ok(Call { tool, arguments, meta, era })
}

fn capabilities() -> Object {
    let mut capabilities = Object::new();
    capabilities.insert("tools", Object::new());
    capabilities
}

fn server_info(tools: &dyn Tools) -> Object {
    let mut info = Object::new();
    info.insert("name", format!("ironcurtain-{}", tools.name()));
    info.insert("version", env!("CARGO_PKG_VERSION"));
    info
}

/// Says how long the result holds: it is to be asked for again.
fn cacheable(result: &mut Object) {
    result.insert("ttlMs", 0_u64);
    result.insert("cacheScope", "private");
}

fn complete(tools: &dyn Tools, era: Era, mut result: Object) -> Json {
    if era == Era::Stateless {
        let mut meta = Object::new();
        meta.insert(SERVER_KEY, server_info(tools));
        result.insert("resultType", "complete");
        result.insert("_meta", meta);
    }
    Json::Object(result)
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}
