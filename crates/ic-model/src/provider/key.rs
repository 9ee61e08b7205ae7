//! A provider's key on its way into a header, and out of every text.
//!
//! The one module of this crate that looks at a key. It keeps no copy beyond the header of one
//! request, and hands none out.

use ic_home::environment::ApiKey;
use reqwest::header::HeaderValue;

use super::http::Placed;

/// A key, and where it comes from.
#[derive(Clone, Debug)]
pub struct Credential {
    key: ApiKey,
    origin: String,
}

impl Credential {
    /// Takes a key that comes from `origin`, as a person would say it.
    pub fn new(key: ApiKey, origin: impl Into<String>) -> Self {
        Self { key, origin: origin.into() }
    }

    /// Returns where the key comes from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Makes the header that carries the key; nothing prints it.
    pub(crate) fn header(&self, placed: Placed) -> Option<HeaderValue> {
        let value = match placed {
            Placed::Plain(_) => HeaderValue::from_str(self.key.expose()),
            Placed::Bearer => HeaderValue::from_str(&format!("Bearer {}", self.key.expose())),
        };
        // A key was checked when it was read, and can stand in a header.
        let mut value = value.ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Takes the key out of a text that somebody else wrote.
    pub(crate) fn masked(&self, text: &str) -> String {
        text.replace(self.key.expose().as_str(), "<redacted:key>")
    }
}
