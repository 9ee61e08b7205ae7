//! What a provider says when it gives no answer, told apart.
//!
//! A status and a body, or an error in the middle of a stream, become one class. Providers say the
//! same in different words; the words that count are in one table here. Nothing is retried here.

use std::time::Duration;

use ic_types::{Json, JsonLimits, ModelId, Object};

use super::key::Credential;
use crate::error::ModelError;

/// How much of somebody else's words is repeated.
const WORDS_CHARS_MAX: usize = 300;
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 10, depth_max: 16, values_max: 1000 };

/// An error in a provider's words.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    /// The status of the answer; an error in a stream has none.
    pub(crate) status: Option<u16>,
    /// The names that the provider has for it, in lower case.
    kinds: Vec<String>,
    message: String,
    /// When the provider wants to be asked again.
    pub(crate) wanted: Option<Duration>,
}

/// Who was asked, and what for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a ModelId,
    pub(crate) credential: Option<&'a Credential>,
    /// The address, as a person would say it.
    pub(crate) at: &'a str,
}

impl Fault {
    /// Reads the body of an answer that is none.
    pub(crate) fn of_body(status: u16, body: &[u8]) -> Self {
        let mut fault = match Json::parse(body, LIMITS) {
            Ok(json) => Self::of_json(&json),
            Err(_) => {
                Self { message: String::from_utf8_lossy(body).into_owned(), ..Self::default() }
            }
        };
        fault.status = Some(status);
        fault
    }

    /// Reads an error as providers write it: in `error`, or in the list that some put around it.
    pub(crate) fn of_json(json: &Json) -> Self {
        let json = match json {
            Json::Array(items) => items.first().unwrap_or(&Json::Null),
            json => json,
        };
        let mut fault = Self::default();
        let Json::Object(outer) = json else { return fault };
        match outer.get("error") {
            Some(Json::Object(error)) => fault.read(error),
            Some(Json::String(message)) => message.clone_into(&mut fault.message),
            _ => fault.read(outer),
        }
        fault
    }

    fn read(&mut self, error: &Object) {
        for key in ["type", "code", "status"] {
            match error.get(key) {
                Some(Json::String(kind)) => self.kinds.push(kind.to_lowercase()),
                Some(Json::Number(number)) if self.status.is_none() => {
                    self.status = number.as_str().parse().ok();
                }
                _ => {}
            }
        }
        if let Some(message) = error.get("message").and_then(Json::as_str) {
            message.clone_into(&mut self.message);
        }
        let Some(Json::Array(details)) = error.get("details") else { return };
        for detail in details {
            let Json::Object(detail) = detail else { continue };
            if let Some(reason) = detail.get("reason").and_then(Json::as_str) {
                self.kinds.push(reason.to_lowercase());
            }
            let delay = detail.get("retryDelay").and_then(Json::as_str);
            let seconds = delay.and_then(|it| it.strip_suffix('s')?.parse::<f64>().ok());
            let seconds = seconds.filter(|it| (0.0..1e9).contains(it));
            self.wanted = seconds.map(Duration::from_secs_f64).or(self.wanted);
        }
    }

    /// Tells which class it is.
    pub(crate) fn class(&self, asked: Asked<'_>) -> ModelError {
        let provider = asked.model.provider();
        let words = || words(&self.message, asked.credential);
        let is = |kinds: &[&str]| self.kinds.iter().any(|it| kinds.contains(&it.as_str()));
        let message = self.message.to_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
        if is(&["authentication_error", "invalid_api_key", "unauthenticated", "api_key_invalid"])
            || says(&["api key not valid", "invalid api key"])
            || self.status == Some(401)
        {
            return match asked.credential {
                Some(it) => ModelError::BadKey { provider, origin: it.origin().to_owned() },
                None => ModelError::NoKey(provider),
            };
        }
        if is(&["insufficient_quota", "billing_error"])
            || says(&["credit balance", "insufficient balance"])
            || self.status == Some(402)
        {
            return ModelError::NoCredit(provider, words());
        }
        if is(&["context_length_exceeded", "request_too_large", "exceed_context_size_error"])
            || says(&CONTEXT)
            || message.contains("input token count") && message.contains("exceeds")
            || self.status == Some(413)
        {
            return ModelError::ContextExceeded;
        }
        if is(&["model_not_found", "not_found_error", "not_found"]) || self.status == Some(404) {
            let (model, at) = (asked.model.model().to_owned(), asked.at.to_owned());
            return ModelError::UnknownModel { provider, model, at };
        }
        if is(&["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"])
            || self.status == Some(429)
        {
            return ModelError::RateLimited { retry_after: self.wanted };
        }
        if is(&["overloaded_error", "unavailable", "server_is_overloaded", "slow_down"])
            || matches!(self.status, Some(503 | 529))
        {
            return ModelError::Overloaded;
        }
        if is(&["api_error", "server_error", "internal", "internal_server_error", "timeout_error"])
            || matches!(self.status, Some(408 | 500..))
        {
            return ModelError::Failing(self.status.unwrap_or(500));
        }
        ModelError::Rejected(words())
    }
}

/// How providers say that a conversation is too long.
const CONTEXT: [&str; 6] = [
    "prompt is too long",
    "context window",
    "context length",
    "context size",
    "maximum context",
    "exceed context limit",
];

/// Shortens a stranger's words; our key is taken out of them first.
pub(crate) fn words(text: &str, credential: Option<&Credential>) -> String {
    let text = credential.map_or_else(|| text.to_owned(), |it| it.masked(text));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut chars = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut shown: String = chars.by_ref().take(WORDS_CHARS_MAX).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    if shown.is_empty() { "it gave no reason".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ic_types::Secret;

    use super::*;

    const KEY: &str = "sk-test-123456";

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        let model: ModelId = "anthropic:some-model".parse().unwrap();
        let key = Arc::new(Secret::new(KEY.to_owned()));
        let credential = Credential::new(key, "a test");
        let asked = Asked { model: &model, credential: Some(&credential), at: "here" };
        let class = Fault::of_body(status, body.as_bytes()).class(asked);
        let shown = format!("{class:?}");
        assert!(shown.starts_with(expected), "{status} {body}: {shown}");
        assert!(!shown.contains(KEY), "{shown}");
    }

    #[test]
    fn providers_words_have_classes() {
        let anthropic = |kind: &str, message: &str| {
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
        };
        let openai = |kind: &str, code: &str, message: &str| {
            format!(
                r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":{code}}}}}"#
            )
        };
        let google = |code: u16, status: &str, message: &str, details: &str| {
            format!(
                r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}","details":[{details}]}}}}"#
            )
        };
        let invalid = "invalid_request_error";
        check(401, &anthropic("authentication_error", "invalid x-api-key"), "BadKey");
        check(400, &anthropic(invalid, "prompt is too long: 210000 tokens"), "ContextExceeded");
        check(400, &anthropic(invalid, "Your credit balance is too low"), "NoCredit");
        check(400, &anthropic(invalid, "max_tokens: too large"), "Rejected(\"max_tokens");
        check(404, &anthropic("not_found_error", "model: x"), "UnknownModel");
        check(413, &anthropic("request_too_large", "Request exceeds"), "ContextExceeded");
        check(429, &anthropic("rate_limit_error", "slow"), "RateLimited { retry_after: None");
        check(500, &anthropic("api_error", "Internal"), "Failing(500)");
        check(529, &anthropic("overloaded_error", "Overloaded"), "Overloaded");
        check(
            401,
            &openai(invalid, "\"invalid_api_key\"", &format!("Incorrect API key: {KEY}")),
            "BadKey",
        );
        check(429, &openai("insufficient_quota", "\"insufficient_quota\"", "quota"), "NoCredit");
        check(429, &openai("tokens", "\"rate_limit_exceeded\"", "Rate limit"), "RateLimited");
        check(400, &openai(invalid, "\"context_length_exceeded\"", "too long"), "ContextExceeded");
        check(404, &openai(invalid, "\"model_not_found\"", "no model"), "UnknownModel");
        check(503, &openai("server_error", "null", "overloaded"), "Overloaded");
        check(400, &openai(invalid, "null", &format!("odd {KEY}")), "Rejected(\"odd <redacted");
        let reason = r#"{"@type":"x","reason":"API_KEY_INVALID"}"#;
        check(400, &google(400, "INVALID_ARGUMENT", "API key not valid.", reason), "BadKey");
        let long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
        check(400, &google(400, "INVALID_ARGUMENT", long, ""), "ContextExceeded");
        let delay = r#"{"@type":"RetryInfo","retryDelay":"34s"}"#;
        check(
            429,
            &google(429, "RESOURCE_EXHAUSTED", "quota", delay),
            "RateLimited { retry_after: Some(34s)",
        );
        check(503, &google(503, "UNAVAILABLE", "overloaded", ""), "Overloaded");
        check(404, &google(404, "NOT_FOUND", "models/x is not found", ""), "UnknownModel");
        check(403, &google(403, "PERMISSION_DENIED", "disabled", ""), "Rejected(\"disabled");
        check(502, "<html>Bad Gateway</html>", "Failing(502)");
        check(418, "", "Rejected(\"it gave no reason");
        check(400, r#"{"error":"just words"}"#, "Rejected(\"just words");
        check(400, r#"[{"error":{"message":"in a list"}}]"#, "Rejected(\"in a list");
    }

    #[test]
    fn words_are_short_and_plain() {
        assert_eq!(words("a\u{1b}[2J\n\n b", None), "a\u{fffd}[2J b");
        assert_eq!(words(&"ä".repeat(5000), None).chars().count(), WORDS_CHARS_MAX + 1);
    }
}
