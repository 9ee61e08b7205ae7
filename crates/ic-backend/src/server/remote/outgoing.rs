//! What a line of ours says of itself, as far as sending it needs to know.
//!
//! Reads only what this process wrote.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;

/// A line that is to be sent.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Outgoing {
    id: Option<serde_json::Value>,
    method: Option<String>,
    #[serde(default)]
    params: Params,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    request_id: Option<u64>,
}

impl Outgoing {
    pub(super) fn read(line: &str) -> Self {
        // What is not a message is sent as a notification, and refused by whoever reads it.
        serde_json::from_str(line).unwrap_or_default()
    }

    /// Returns the number of a request of ours.
    pub(super) fn request(&self) -> Option<u64> {
        self.method.as_ref()?;
        self.id.as_ref()?.as_u64()
    }

    /// Returns the request that this message takes back.
    pub(super) fn cancelled(&self) -> Option<u64> {
        self.is("notifications/cancelled").then_some(self.params.request_id)?
    }

    pub(super) fn is_initialize(&self) -> bool {
        self.is("initialize")
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.is("notifications/initialized")
    }

    fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Returns the headers that repeat what the message is about, since the revision of 2026.
    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let Some(method) = &self.method else { return Vec::new() };
        let named = match method.as_str() {
            "tools/call" | "prompts/get" => self.params.name.as_deref(),
            "resources/read" => self.params.uri.as_deref(),
            _ => None,
        };
        let header = |name, value: &str| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        };
        let method = header("mcp-method", method);
        method.into_iter().chain(named.and_then(|it| header("mcp-name", &encoded(it)))).collect()
    }
}

/// Writes a value so that a header can hold it.
fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    let is_bare = value.bytes().all(is_plain)
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_bare { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_or_an_answer() {
        let read = |line: &str| Outgoing::read(line);
        let request = read(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"x":1}}"#);
        assert_eq!((request.request(), request.is_initialize()), (Some(7), true));
        let notification = read(r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!((notification.request(), notification.cancelled()), (None, Some(7)));
        let answer = read(r#"{"jsonrpc":"2.0","id":"theirs","result":{}}"#);
        assert_eq!((answer.request(), answer.cancelled()), (None, None));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).request(), None);
    }

    #[test]
    fn names_are_repeated_in_headers_that_can_hold_them() {
        let headers = |line: &str| -> Vec<String> {
            let headers = Outgoing::read(line).headers().into_iter();
            headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
        };
        assert_eq!(
            headers(r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#),
            ["mcp-method: tools/call", "mcp-name: echo"]
        );
        assert_eq!(
            headers(r#"{"id":1,"method":"resources/read","params":{"uri":"x:\u00e4"}}"#),
            ["mcp-method: resources/read", "mcp-name: =?base64?eDrDpA==?="]
        );
        assert_eq!(encoded("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
        assert_eq!(encoded("a\r\nb"), "=?base64?YQ0KYg==?=");
    }
}
