//! How a client speaks: with `initialize` first, or, since 2026-07-28, with an envelope each time.
//!
//! The first request decides, and a connection stays with it. What is asked for is not served here.

use ic_broker::broker::Asked;
use ic_judge::method::CallMethod;
use ic_mcp::{Id, ProtocolVersion, RpcError, code, meta};
use ic_types::{Json, Object};

use super::{ClientInfo, Method};

/// The error of a request in a revision that is not spoken.
const UNSUPPORTED_VERSION: i64 = -32_022;
/// The longest name of a client that is kept.
const NAME_CHARS_MAX: usize = 128;

/// How a connection speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Era {
    /// Nothing was asked that would tell.
    Undecided,
    /// It began with `initialize`.
    Initialized(ProtocolVersion),
    /// Each request has an envelope.
    Enveloped,
}

impl Era {
    /// Decides whether a request may be made now, and how the connection speaks if it is the first.
    pub(super) fn admit(&mut self, method: &Method, params: &Object) -> Result<(), RpcError> {
        let version = meta::version(params);
        match (&*self, method, version) {
            (Self::Undecided, Method::Ping, None) | (Self::Undecided, Method::Initialize, _) => {
                Ok(())
            }
            (Self::Undecided, Method::Discover, None) => Err(without_envelope()),
            (_, Method::Discover, Some(version)) => {
                spoken(version)?;
                has_capabilities(params)
            }
            (Self::Undecided, _, Some(version)) => {
                spoken(version)?;
                has_capabilities(params)?;
                *self = Self::Enveloped;
                self.admit(method, params)
            }
            (Self::Undecided, _, None) => {
                Err(RpcError::new(code::INVALID_REQUEST, "the session is not initialized"))
            }
            (Self::Initialized(_), Method::Initialize, _) => {
                Err(RpcError::new(code::INVALID_REQUEST, "the session is initialized already"))
            }
            (Self::Initialized(_), Method::Discover, None) => {
                Err(RpcError::new(code::METHOD_NOT_FOUND, "this needs an envelope"))
            }
            (Self::Initialized(_), _, _) => Ok(()),
            // What changes is told there to whoever listens, which is not offered.
            (
                Self::Enveloped,
                Method::Initialize
                | Method::Ping
                | Method::SetLevel
                | Method::Call(CallMethod::Subscribe)
                | Method::Unsubscribe,
                _,
            ) => {
                let message = "the revision 2026-07-28 of the protocol has no such method";
                Err(RpcError::new(code::METHOD_NOT_FOUND, message))
            }
            (Self::Enveloped, _, Some(version)) => {
                spoken(version)?;
                has_capabilities(params)
            }
            (Self::Enveloped, _, None) => Err(without_envelope()),
        }
    }

    /// Writes a result with what the revision demands of every result.
    pub(super) fn complete(self, out: &mut String, result: &str) {
        match (self, result.strip_prefix('{')) {
            (Self::Enveloped, Some(rest)) => {
                out.push_str("{\"resultType\":\"complete\"");
                if rest != "}" {
                    out.push(',');
                }
                out.push_str(rest);
            }
            _ => out.push_str(result),
        }
    }

    /// Writes a result of our own likewise.
    pub(super) fn complete_object(self, out: &mut String, result: &Object) {
        let mut text = String::new();
        Json::write_object(&mut text, result);
        match result.get("resultType") {
            Some(_) => out.push_str(&text),
            None => self.complete(out, &text),
        }
    }

    /// Adds what the revision demands of a list.
    pub(super) fn complete_list(self, result: &mut Object) {
        if self == Self::Enveloped {
            complete_cacheable(result);
        }
    }
}

fn complete_cacheable(result: &mut Object) {
    result.insert("resultType", "complete");
    // A list can change with every server that starts, and is nobody else's business.
    result.insert("ttlMs", 0_u64);
    result.insert("cacheScope", "private");
    let mut info = Object::new();
    info.insert(meta::SERVER_INFO, server_info());
    result.insert(meta::META, info);
}

fn spoken(version: &str) -> Result<(), RpcError> {
    let newest = ProtocolVersion::V2026_07_28;
    if version == newest.as_str() {
        return Ok(());
    }
    let mut data = Object::new();
    data.insert("supported", vec![Json::from(newest.as_str())]);
    data.insert("requested", version.chars().take(64).collect::<String>());
    let message = "this revision of the protocol is not spoken here".to_owned();
    Err(RpcError { code: UNSUPPORTED_VERSION, message, data: Some(Json::Object(data)) })
}

fn has_capabilities(params: &Object) -> Result<(), RpcError> {
    match meta::meta(params).and_then(|meta| meta.get(meta::CLIENT_CAPABILITIES)) {
        Some(Json::Object(_)) => Ok(()),
        _ => Err(without_envelope()),
    }
}

fn without_envelope() -> RpcError {
    let message =
        format!("`_meta` lacks `{}` or `{}`", meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES);
    RpcError::new(code::INVALID_PARAMS, message)
}

/// Returns the answer to `initialize`.
pub(super) fn initialized(version: ProtocolVersion, offers: impl Fn(CallMethod) -> bool) -> Object {
    let mut result = Object::new();
    result.insert("protocolVersion", version.as_str());
    let mut capabilities = capabilities(Told::Changes, &offers);
    capabilities.insert("logging", Object::new());
    result.insert("capabilities", capabilities);
    result.insert("serverInfo", server_info());
    result.insert("instructions", INSTRUCTIONS);
    result
}

/// Returns the answer to `server/discover`.
///
/// There is no logging in it: a client of that revision is told nothing that it did not ask for.
pub(super) fn discovered(offers: impl Fn(CallMethod) -> bool) -> Object {
    let mut result = Object::new();
    let newest = ProtocolVersion::V2026_07_28;
    result.insert("supportedVersions", vec![Json::from(newest.as_str())]);
    result.insert("capabilities", capabilities(Told::Nothing, offers));
    result.insert("instructions", INSTRUCTIONS);
    complete_cacheable(&mut result);
    result
}

/// What a model should know before it calls anything.
const INSTRUCTIONS: &str = "Tools are named server__tool. Every call is judged by a policy and recorded. A result that \
     begins with DENIED, ESCALATION or CIRCUIT BREAKER was not carried out: do not repeat it in \
     another spelling, go on without it, or tell the person what you need.";

/// What a client is told of its own accord.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    /// What changes.
    Changes,
    /// Nothing.
    Nothing,
}

/// Returns what is served, as far as `offers` knows of it.
fn capabilities(told: Told, offers: impl Fn(CallMethod) -> bool) -> Object {
    let mut changing = Object::new();
    changing.insert("listChanged", told == Told::Changes);
    let mut capabilities = Object::new();
    capabilities.insert("tools", changing.clone());
    if offers(CallMethod::ReadResource) {
        let mut resources = changing.clone();
        let is_told = told == Told::Changes && offers(CallMethod::Subscribe);
        resources.insert("subscribe", is_told);
        capabilities.insert("resources", resources);
    }
    if offers(CallMethod::GetPrompt) {
        capabilities.insert("prompts", changing);
    }
    if offers(CallMethod::Complete) {
        capabilities.insert("completions", Object::new());
    }
    capabilities
}

fn server_info() -> Object {
    let mut info = Object::new();
    info.insert("name", "ironcurtain");
    info.insert("version", env!("CARGO_PKG_VERSION"));
    info
}

/// Reads who a client says it is.
pub(super) fn client_info(info: Option<&Json>, version: ProtocolVersion) -> ClientInfo {
    let text = |key| match info {
        Some(Json::Object(info)) => {
            let text = info.get(key).and_then(Json::as_str)?;
            Some(text.chars().take(NAME_CHARS_MAX).collect())
        }
        _ => None,
    };
    ClientInfo { name: text("name"), version: text("version"), protocol: Some(version) }
}

/// Returns what is recorded of a client.
pub(super) fn event(info: &ClientInfo) -> Object {
    let mut event = Object::new();
    event.insert("event", "client");
    let protocol = info.protocol.map(|version| version.as_str().to_owned());
    for (key, value) in [("name", &info.name), ("version", &info.version), ("protocol", &protocol)]
    {
        if let Some(value) = value {
            event.insert(key, value.as_str());
        }
    }
    event
}

/// Takes the parameters of `tools/call` apart; the second part is the progress token.
///
/// Only what is named here goes on to a server.
pub(super) fn asked(params: Object) -> Result<(Asked, Option<Id>), String> {
    let (params, meta, token) = taken_apart(params)?;
    let (mut name, mut arguments) = (None, Object::new());
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            ("name", Json::String(text)) => name = Some(text),
            ("arguments", Json::Object(object)) => arguments = object,
            ("arguments", Json::Null) => {}
            ("name" | "arguments", _) => return Err(format!("`{key}` has the wrong type")),
            ("task", _) => return Err("tasks are not offered".to_owned()),
            _ => {
                let key: String = key.chars().take(64).collect();
                return Err(format!("`{key}` is not a parameter that is passed on"));
            }
        }
    }
    let name = name.ok_or("`name` is missing")?;
    Ok((Asked { name, arguments, meta }, token))
}

/// Splits what is said about a request off its parameters: what of it is passed on, and the token.
pub(super) fn taken_apart(params: Object) -> Result<(Object, Object, Option<Id>), String> {
    let (mut rest, mut passed, mut token) = (Object::new(), Object::new(), None);
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            (meta::META, Json::Object(meta)) => {
                for (key, value) in meta.into_entries() {
                    match key.as_str() {
                        meta::PROGRESS_TOKEN => {
                            let id = Id::of_json(value);
                            token =
                                Some(id.map_err(|_| {
                                    "`progressToken` is not a valid token".to_owned()
                                })?);
                        }
                        // Nobody judges it, so it is nothing but the number of a trace.
                        meta::TRACE_PARENT if value.as_str().is_some_and(is_trace) => {
                            passed.insert(key, value);
                        }
                        // Whatever else stands there is between the client and us.
                        _ => {}
                    }
                }
            }
            (meta::META, _) => return Err(format!("`{key}` has the wrong type")),
            (_, value) => rest.insert(key, value),
        }
    }
    Ok((rest, passed, token))
}

/// Returns whether `text` is `VERSION-TRACE-PARENT-FLAGS`, in hexadecimal digits.
fn is_trace(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [2, 32, 16, 2] && parts.iter().all(|part| is_hex(part))
}

#[cfg(test)]
mod tests;
