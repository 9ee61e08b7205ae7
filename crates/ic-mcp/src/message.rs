//! JSON-RPC messages as MCP uses them: requests, notifications, responses.
//!
//! A batch is no message: it is refused as a whole, so that nothing in it is half done. What a
//! method means, and which methods there are, is not known here.

mod skim;

use std::fmt;

use ic_types::{Json, JsonError, JsonLimits, Number, Object};

pub use skim::answered_id;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Something is asked, and an answer is owed.
    Request(Request),
    /// Something is said.
    Notification(Notification),
    /// The answer to a request.
    Response(Response),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What the answer is to carry.
    pub id: Id,
    /// What is asked for.
    pub method: String,
    /// The parameters; absent ones are empty.
    pub params: Object,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// What is said.
    pub method: String,
    /// The parameters; absent ones are empty.
    pub params: Object,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The request that it answers; absent if that could not be told.
    pub id: Option<Id>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
pub type Outcome = Result<Json, RpcError>;

/// The id of a request: a whole number or a text, given back exactly as it came.
///
/// Invariant: at most [`Id::LEN_MAX`] bytes; a number has no fraction and no exponent.
#[derive(Clone, Debug)]
pub struct Id(IdText);

#[derive(Clone, Debug)]
enum IdText {
    Number(Number),
    Text(String),
}

/// The error of a failed request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// What kind of error it is.
    pub code: i64,
    /// What happened.
    pub message: String,
    /// More about it.
    pub data: Option<Json>,
}

/// Error codes of JSON-RPC and MCP.
pub mod code {
    /// The line is not valid JSON.
    pub const PARSE_ERROR: i64 = -32_700;
    /// The JSON is no request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// We failed.
    pub const INTERNAL_ERROR: i64 = -32_603;
    /// A person has to go to an address first; only in revision 2025-11-25.
    pub const URL_ELICITATION_REQUIRED: i64 = -32_042;
}

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MessageFault {
    /// The line is not valid JSON, or not within the limits.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// Several messages in one; the protocol has given them up.
    #[error("batches are not accepted")]
    Batch,
    /// The JSON is no message.
    #[error("{reason}")]
    Shape {
        /// The id, if there is a usable one.
        id: Option<Id>,
        /// Whether the message can only have been a response.
        is_response: bool,
        /// What is wrong with it.
        reason: &'static str,
    },
}

// === impl Message ===

impl Message {
    /// Reads one line.
    pub fn parse(line: &[u8], limits: JsonLimits) -> Result<Self, MessageFault> {
        match Json::parse(line, limits)? {
            Json::Object(object) => Self::of_object(object),
            Json::Array(_) => Err(MessageFault::Batch),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                let reason = "a message is an object";
                Err(MessageFault::Shape { id: None, is_response: false, reason })
            }
        }
    }

    fn of_object(mut object: Object) -> Result<Self, MessageFault> {
        let id = object.remove("id").map(Id::of_json);
        let method = object.remove("method");
        let is_response = method.is_none();
        let known = id.clone().and_then(Result::ok);
        let fault = |reason| MessageFault::Shape { id: known.clone(), is_response, reason };
        if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(fault("`jsonrpc` is not \"2.0\""));
        }
        match method {
            None => Self::response(id, &mut object).map_err(fault),
            Some(Json::String(method)) => {
                let params = match object.remove("params") {
                    None => Object::new(),
                    Some(Json::Object(params)) => params,
                    Some(_) => return Err(fault("`params` is not an object")),
                };
                if object.get("result").is_some() || object.get("error").is_some() {
                    return Err(fault("a message is a request or a response, not both"));
                }
                match id {
                    None => Ok(Self::Notification(Notification { method, params })),
                    Some(Ok(id)) => Ok(Self::Request(Request { id, method, params })),
                    Some(Err(reason)) => Err(fault(reason)),
                }
            }
            Some(_) => Err(fault("`method` is not text")),
        }
    }

    fn response(
        id: Option<Result<Id, &'static str>>,
        object: &mut Object,
    ) -> Result<Self, &'static str> {
        let outcome = match (object.remove("result"), object.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(RpcError::of_json(error)?),
            _ => return Err("a message has a `method`, or either a `result` or an `error`"),
        };
        let id = match (id, &outcome) {
            (Some(Ok(id)), _) => Some(id),
            // Whoever could not read our request cannot tell its id.
            (None | Some(Err(NULL_ID)), Err(_)) => None,
            (None, Ok(_)) => return Err("a result has no `id`"),
            (Some(Err(reason)), _) => return Err(reason),
        };
        Ok(Self::Response(Response { id, outcome }))
    }

    /// Writes the message as one line, with its line break.
    pub fn to_line(&self) -> String {
        match self {
            Self::Request(request) => request_line(&request.id, &request.method, |out| {
                Json::write_object(out, &request.params);
            }),
            Self::Notification(note) => notification_line(&note.method, &note.params),
            Self::Response(Response { id, outcome }) => match outcome {
                Ok(result) => result_line(id.as_ref(), |out| result.write(out)),
                Err(error) => error_line(id.as_ref(), error),
            },
        }
    }
}

/// Writes a request as one line; `params` writes its parameters as JSON.
pub fn request_line(id: &Id, method: &str, params: impl FnOnce(&mut String)) -> String {
    let mut out = begun();
    out.push_str(",\"id\":");
    id.write(&mut out);
    asked(out, method, params)
}

/// Writes a notification as one line.
pub fn notification_line(method: &str, params: &Object) -> String {
    asked(begun(), method, |out| Json::write_object(out, params))
}

/// Writes a response as one line; `result` writes the result as JSON.
pub fn result_line(id: Option<&Id>, result: impl FnOnce(&mut String)) -> String {
    let mut out = answered(id);
    out.push_str(",\"result\":");
    result(&mut out);
    out.push_str("}\n");
    out
}

/// Writes a response that says what went wrong as one line.
pub fn error_line(id: Option<&Id>, error: &RpcError) -> String {
    let mut out = answered(id);
    out.push_str(",\"error\":");
    error.to_json().write(&mut out);
    out.push_str("}\n");
    out
}

/// What most lines need, so that they need not grow while they are written.
const LINE_CAPACITY: usize = 512;

fn begun() -> String {
    let mut out = String::with_capacity(LINE_CAPACITY);
    out.push_str("{\"jsonrpc\":\"2.0\"");
    out
}

fn asked(mut out: String, method: &str, params: impl FnOnce(&mut String)) -> String {
    out.push_str(",\"method\":");
    Json::write_text(&mut out, method);
    out.push_str(",\"params\":");
    params(&mut out);
    out.push_str("}\n");
    out
}

fn answered(id: Option<&Id>) -> String {
    let mut out = begun();
    out.push_str(",\"id\":");
    match id {
        Some(id) => id.write(&mut out),
        None => out.push_str("null"),
    }
    out
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

// === impl Id ===

/// Why `null` is no id; also recognised where a response could not name one.
const NULL_ID: &str = "`id` is null";

impl Id {
    /// The longest id in bytes.
    pub const LEN_MAX: usize = 256;

    /// Makes an id of a number of our own.
    pub fn number(number: u64) -> Self {
        match Json::from(number) {
            Json::Number(number) => Self(IdText::Number(number)),
            // A number makes a number.
            other => Self(IdText::Text(other.to_string())),
        }
    }

    /// Returns the number, if it is one that [`Id::number`] could have made.
    pub fn as_number(&self) -> Option<u64> {
        match &self.0 {
            IdText::Number(number) => number.as_str().parse().ok(),
            IdText::Text(_) => None,
        }
    }

    /// Reads an id, or a progress token, which has the same shape.
    pub fn of_json(json: Json) -> Result<Self, &'static str> {
        let id = match json {
            Json::Number(number) if is_whole(&number) => IdText::Number(number),
            Json::String(text) => IdText::Text(text),
            Json::Null => return Err(NULL_ID),
            Json::Number(_) | Json::Bool(_) | Json::Array(_) | Json::Object(_) => {
                return Err("`id` is neither a whole number nor a text");
            }
        };
        let id = Self(id);
        match Self::LEN_MAX < id.text().len() {
            true => Err("`id` is longer than 256 bytes"),
            false => Ok(id),
        }
    }

    fn text(&self) -> &str {
        match &self.0 {
            IdText::Number(number) => number.as_str(),
            IdText::Text(text) => text,
        }
    }

    fn is_text(&self) -> bool {
        matches!(self.0, IdText::Text(_))
    }

    /// Returns the id as JSON, as it came.
    pub fn to_json(&self) -> Json {
        match &self.0 {
            IdText::Number(number) => Json::Number(number.clone()),
            IdText::Text(text) => Json::from(text.as_str()),
        }
    }

    fn write(&self, out: &mut String) {
        match &self.0 {
            IdText::Number(number) => out.push_str(number.as_str()),
            IdText::Text(text) => Json::write_text(out, text),
        }
    }
}

/// Compares by what was written: two numbers that one double holds are two ids.
impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.is_text() == other.is_text() && self.text() == other.text()
    }
}

impl Eq for Id {}

impl std::hash::Hash for Id {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.is_text(), self.text()).hash(state);
    }
}

fn is_whole(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// Prints a text as JSON, so that the text `1` and the number 1 look different.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

// === impl RpcError ===

impl RpcError {
    /// Makes an error without further data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    fn of_json(json: Json) -> Result<Self, &'static str> {
        let Json::Object(mut object) = json else { return Err("`error` is not an object") };
        let code = match object.get("code") {
            Some(Json::Number(code)) => code.as_str().parse().ok(),
            _ => None,
        };
        let message = object.get("message").and_then(Json::as_str).map(str::to_owned);
        match (code, message) {
            (Some(code), Some(message)) => Ok(Self { code, message, data: object.remove("data") }),
            _ => Err("`error` has no `code` or no `message`"),
        }
    }

    fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("code", self.code);
        object.insert("message", self.message.as_str());
        if let Some(data) = &self.data {
            object.insert("data", data.clone());
        }
        Json::Object(object)
    }
}

#[cfg(test)]
mod tests;
