//! The headers that a server's entry gives: secrets, most of them, that are shown to that server alone.
//!
//! What they are for is not known here. That they are masked in what servers say is the redactor's
//! business; it learns them from [`secrets`].

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ic_inventory::header::name_fault;
use ic_types::Secret;

use super::http::NoAnswer;

/// Parts of names by which a header is known to hold a secret.
const SECRET_NAMES: [&str; 8] =
    ["auth", "cookie", "credential", "key", "passw", "secret", "session", "token"];

/// What is sent with each request, as the entry says.
#[derive(Debug)]
pub(crate) struct Headers(Vec<(HeaderName, Arc<Secret<String>>)>);

/// A header that cannot be sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`headers`: {0}")]
pub(crate) struct HeaderFault(pub(crate) String);

impl Headers {
    /// Returns whether the entry gives this header.
    pub(super) fn has(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|(it, _)| it == name)
    }

    /// Takes the headers, filled in; no fault repeats a value.
    pub(crate) fn new(filled: BTreeMap<String, String>) -> Result<Self, HeaderFault> {
        let header = |(name, value): (String, String)| {
            if let Some(fault) = name_fault(&name) {
                return Err(HeaderFault(fault));
            }
            let fault = || HeaderFault(format!("the value of `{name}` cannot be sent in a header"));
            HeaderValue::from_str(&value).map_err(|_| fault())?;
            let read = name.parse::<HeaderName>().map_err(|_| fault())?;
            Ok((read, Arc::new(Secret::new(value))))
        };
        filled.into_iter().map(header).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the headers of a request.
    pub(super) fn write(&self, headers: &mut HeaderMap) -> Result<(), NoAnswer> {
        for (name, secret) in &self.0 {
            let value = HeaderValue::from_str(secret.expose());
            let mut value =
                value.map_err(|_| NoAnswer(format!("the header `{name}` cannot be sent")))?;
            value.set_sensitive(true);
            headers.insert(name.clone(), value);
        }
        Ok(())
    }
}

/// Returns the secrets in a header, as they are to be masked: what a variable stands for, and what is
/// given under a name that says so, without the word for how it is given (`Bearer`).
pub(crate) fn secrets(name: &str, written: &str, filled: &str) -> Vec<Arc<Secret<String>>> {
    let name = name.to_ascii_lowercase();
    let is_secret = written.contains("${ENV:") || SECRET_NAMES.iter().any(|it| name.contains(it));
    if !is_secret {
        return Vec::new();
    }
    let words = filled.split_ascii_whitespace().map(str::to_owned);
    words.chain([filled.to_owned()]).map(|it| Arc::new(Secret::new(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Result<String, String> {
        let headers = Headers::new([(name.to_owned(), value.to_owned())].into());
        headers.map(|it| format!("{it:?}")).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_refused_and_none_is_printed() {
        let shown = one("Authorization", "Bearer s3cr3t-value").unwrap();
        assert!(shown.contains("authorization") && !shown.contains("s3cr3t"), "{shown}");
        for (name, value) in [("X-Key", "s3cr3t\r\nHost: other"), ("X-Key", "s3cr3t\0")] {
            let fault = one(name, value).unwrap_err();
            assert!(!fault.contains("s3cr3t"), "{fault}");
        }
        for name in ["Host", "host", "Mcp-Session-Id", "content-length", "", "a b", "a\r\nb"] {
            one(name, "x").unwrap_err();
        }
    }

    #[test]
    fn what_is_secret_is_masked_and_what_is_not_is_not() {
        for (name, written, filled, expected) in [
            ("Authorization", "Bearer abc", "Bearer abc", 3),
            ("X-Api-Key", "abc", "abc", 2),
            ("X-Region", "eu-central-1", "eu-central-1", 0),
            ("X-Whatever", "${ENV:THING}", "thing-value", 2),
        ] {
            assert_eq!(secrets(name, written, filled).len(), expected, "{name}");
        }
    }
}
