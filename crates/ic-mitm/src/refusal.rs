//! What is refused, why, and how an agent is told so that it understands and does not try again.
//!
//! Agents repeat a request that was answered with 401, 429 or 5xx, or not at all; so a refusal is none of
//! these. Nothing of the request is repeated but names, shortened and made harmless.

use hyper::StatusCode;
use ic_types::{Json, Object, Provider, visible_line};

/// The longest name that is repeated.
const NAME_CHARS_MAX: usize = 64;
/// The longest sentence.
const SENTENCE_CHARS_MAX: usize = 300;

/// A request that is not passed on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The host is not the provider's.
    #[error("this session reaches only `{allowed}`; `{asked}` is not allowed")]
    Host {
        /// What was asked for.
        asked: String,
        /// What may be.
        allowed: String,
    },
    /// HTTP that is not in TLS.
    #[error("plain HTTP is refused; use https through CONNECT")]
    PlainHttp,
    /// The name in the TLS handshake is not the host that was connected to.
    #[error("the server name of the TLS handshake is not the host of the CONNECT request")]
    Sni,
    /// The request is for another host than the connection.
    #[error("the host of the request is not the host of the connection")]
    Authority,
    /// The endpoint is not on the list.
    #[error("{method} {path} is not an endpoint that this session may use")]
    Endpoint {
        /// The method.
        method: String,
        /// The path.
        path: String,
    },
    /// The endpoint is one that agents use for themselves.
    #[error("not available here")]
    Housekeeping,
    /// The client wants another protocol.
    #[error("protocol upgrades are not supported; use plain requests")]
    Upgrade,
    /// The key of the session is not there.
    #[error("the request has no API key, or not the one that this session was given")]
    WrongKey,
    /// There is another credential.
    #[error("the request carries a credential in `{0}`; only the key of this session may be sent")]
    Credential(String),
    /// A name in the query changes what the request means.
    #[error("`{0}` is not allowed in the query")]
    Query(String),
    /// The body is compressed.
    #[error("the body is compressed; send it as plain JSON")]
    Encoded,
    /// The body is not JSON.
    #[error("the body has to be `application/json`")]
    MediaType,
    /// The body is too long.
    #[error("the body is longer than {0} bytes")]
    TooLong(usize),
    /// There is a body where none belongs.
    #[error("this endpoint takes no body")]
    Body,
    /// The body breaks off.
    #[error("the body ended too early")]
    CutShort,
    /// The body is not valid.
    #[error("the body is not valid: {0}")]
    Malformed(String),
    /// There is a top-level key that nobody knows.
    #[error(
        "the request key `{key}` is not on the list of `{provider}`; the user can add it with \
         `ironcurtain config set mitm.allowKeys.{provider} '[\"{key}\"]'`"
    )]
    Key {
        /// The key.
        key: String,
        /// The provider.
        provider: Provider,
    },
    /// There is a kind of tool that nobody knows.
    #[error(
        "the tool type `{0}` is not on the list; only tools that the agent runs itself are allowed"
    )]
    Tool(String),
    /// The model reaches the network by itself.
    #[error("the model `{0}` searches the web by itself, which is not allowed here")]
    Model(String),
    /// The budget is used up.
    #[error("the budget of this session is used up ({0}); the user can raise it and start again")]
    Budget(String),
    /// The login of the agent cannot be used.
    #[error(
        "{error}; the user has to log in to `{agent}` again, outside of this session, and start again"
    )]
    Login {
        /// The agent.
        agent: &'static str,
        /// What is wrong.
        error: String,
    },
    /// Too many requests run at once.
    #[error("more than {0} requests at once")]
    TooMany(usize),
    /// The bodies that are under way are too long together.
    #[error("the requests that are under way are longer than {0} KiB together")]
    TooMuch(u32),
    /// The log cannot be written.
    #[error("the audit log cannot be written, so nothing is sent")]
    Unrecorded,
    /// The provider sends the request elsewhere.
    #[error("the provider redirects to another address, which is not followed")]
    Redirected,
}

impl Refusal {
    /// Returns the status that it is answered with.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Housekeeping => StatusCode::NOT_FOUND,
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Host { .. }
            | Self::PlainHttp
            | Self::Sni
            | Self::Authority
            | Self::Endpoint { .. }
            | Self::WrongKey
            | Self::Credential(_)
            | Self::Query(_)
            | Self::Encoded
            | Self::MediaType
            | Self::TooLong(_)
            | Self::Body
            | Self::CutShort
            | Self::Malformed(_)
            | Self::Key { .. }
            | Self::Tool(_)
            | Self::Model(_)
            | Self::Budget(_)
            | Self::Login { .. }
            | Self::TooMany(_)
            | Self::TooMuch(_)
            | Self::Unrecorded
            | Self::Redirected => StatusCode::FORBIDDEN,
        }
    }

    /// Returns whether it is written down; an agent's own housekeeping is not worth it.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, Self::Housekeeping)
    }
}

/// Says `message` as `provider` says what goes wrong, so that its clients show it.
pub fn told(provider: Provider, status: StatusCode, message: &str) -> String {
    let message = format!("IronCurtain: {message}");
    let mut error = Object::new();
    let mut body = Object::new();
    match provider {
        Provider::Anthropic => {
            error.insert("type", "permission_error");
            error.insert("message", message);
            body.insert("type", "error");
        }
        Provider::OpenAi | Provider::OpenAiCompatible => {
            error.insert("message", message);
            error.insert("type", "permission_error");
            error.insert("param", Json::Null);
            error.insert("code", "ironcurtain");
        }
        Provider::Google => {
            error.insert("code", u64::from(status.as_u16()));
            error.insert("message", message);
            error.insert("status", "PERMISSION_DENIED");
        }
    }
    body.insert("error", error);
    Json::Object(body).to_string()
}

/// Returns a sentence of ours as it can be repeated.
pub fn named_long(raw: &str) -> String {
    visible_line(raw).chars().take(SENTENCE_CHARS_MAX).collect()
}

/// Returns a name as it can be repeated.
pub fn named(raw: &str) -> String {
    visible_line(raw).chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_makes_an_agent_try_again() {
        let all = [
            Refusal::Host { asked: "x".to_owned(), allowed: "y".to_owned() },
            Refusal::PlainHttp,
            Refusal::Sni,
            Refusal::Authority,
            Refusal::Endpoint { method: "GET".to_owned(), path: "/".to_owned() },
            Refusal::Housekeeping,
            Refusal::Upgrade,
            Refusal::WrongKey,
            Refusal::Credential("x".to_owned()),
            Refusal::Key { key: "x".to_owned(), provider: Provider::Google },
            Refusal::Budget("x".to_owned()),
            Refusal::Login { agent: "claude-code", error: "x".to_owned() },
            Refusal::TooMany(1),
            Refusal::TooMuch(1),
            Refusal::Unrecorded,
        ];
        for refusal in all {
            let expected = match refusal {
                Refusal::Housekeeping => 404,
                Refusal::Upgrade => 426,
                _ => 403,
            };
            assert_eq!(refusal.status(), expected, "{refusal}");
        }
    }

    #[test]
    fn a_refusal_is_said_in_the_provider_s_own_form() {
        for (provider, expected) in [
            (
                Provider::Anthropic,
                r#"{"type":"error","error":{"type":"permission_error","message":"IronCurtain: no"}}"#,
            ),
            (
                Provider::OpenAi,
                r#"{"error":{"message":"IronCurtain: no","type":"permission_error","param":null,"code":"ironcurtain"}}"#,
            ),
            (
                Provider::Google,
                r#"{"error":{"code":403,"message":"IronCurtain: no","status":"PERMISSION_DENIED"}}"#,
            ),
        ] {
            let body = told(provider, StatusCode::FORBIDDEN, "no");
            let sorted =
                |text: &str| Json::parse(text.as_bytes(), ic_types::JsonLimits::CALL).unwrap();
            assert_eq!(sorted(&body), sorted(expected), "{provider}");
        }
    }

    #[test]
    fn names_are_shortened_and_harmless() {
        let shown = named(&format!("a\u{1b}[31m\n{}", "x".repeat(500)));
        assert!(shown.chars().count() <= NAME_CHARS_MAX);
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
    }
}
