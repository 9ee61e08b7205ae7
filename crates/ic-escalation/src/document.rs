//! Reads the small JSON documents of the desk strictly: every key is known, and has the right shape.
//!
//! What a document means is not known here.

use std::str::FromStr;

use ic_types::{Json, JsonError, JsonLimits, Number, Object};

/// A document that is not what it should be.
///
/// Exhaustive: whoever reads an answer has to say what becomes of each fault.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DocumentFault {
    /// It is not valid JSON.
    #[error("it is not valid JSON: {0}")]
    Json(JsonError),
    /// It is no object.
    #[error("it is not an object")]
    NoObject,
    /// A key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key is not one of those that there are.
    #[error("there is no `{}`", .0.escape_debug())]
    Unknown(String),
    /// A value is not what its key holds.
    #[error("`{key}` is not {expected}")]
    Wrong {
        /// The key.
        key: &'static str,
        /// What it holds.
        expected: &'static str,
    },
}

/// The keys of an object that were not looked at yet.
pub(crate) struct Fields {
    object: Object,
}

impl Fields {
    /// Parses a document.
    pub(crate) fn parse(bytes: &[u8], limits: JsonLimits) -> Result<Self, DocumentFault> {
        Self::of(Json::parse(bytes, limits).map_err(DocumentFault::Json)?)
            .ok_or(DocumentFault::NoObject)
    }

    /// Looks at a value inside of a document.
    pub(crate) fn of(json: Json) -> Option<Self> {
        match json {
            Json::Object(object) => Some(Self { object }),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
        }
    }

    /// Takes the value under `key`.
    pub(crate) fn take(&mut self, key: &'static str) -> Result<Json, DocumentFault> {
        self.object.remove(key).ok_or(DocumentFault::Missing(key))
    }

    /// Takes the value under `key`, if there is one.
    pub(crate) fn take_optional(&mut self, key: &'static str) -> Option<Json> {
        self.object.remove(key)
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<String, DocumentFault> {
        match self.take(key)? {
            Json::String(text) => Ok(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(DocumentFault::Wrong { key, expected: "a text" })
            }
        }
    }

    /// Takes a text that means something.
    pub(crate) fn parsed<T: FromStr>(
        &mut self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<T, DocumentFault> {
        let text = self.text(key).map_err(|fault| match fault {
            DocumentFault::Wrong { key, .. } => DocumentFault::Wrong { key, expected },
            other => other,
        })?;
        text.parse().map_err(|_| DocumentFault::Wrong { key, expected })
    }

    /// Takes a whole number.
    pub(crate) fn whole(&mut self, key: &'static str) -> Result<u64, DocumentFault> {
        whole(&self.take(key)?).ok_or(DocumentFault::Wrong { key, expected: "a whole number" })
    }

    /// Takes an object.
    pub(crate) fn object(&mut self, key: &'static str) -> Result<Object, DocumentFault> {
        Self::of(self.take(key)?)
            .map(|fields| fields.object)
            .ok_or(DocumentFault::Wrong { key, expected: "an object" })
    }

    /// Takes a list of texts.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, DocumentFault> {
        let list = self.take(key)?;
        texts_of(key, list)
    }

    /// Takes a list of texts that need not be there.
    pub(crate) fn texts_optional(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<String>, DocumentFault> {
        self.take_optional(key).map_or_else(|| Ok(Vec::new()), |list| texts_of(key, list))
    }

    /// Says that there must be nothing else.
    pub(crate) fn finish(self) -> Result<(), DocumentFault> {
        match self.object.keys().next() {
            None => Ok(()),
            Some(key) => Err(DocumentFault::Unknown(key.chars().take(64).collect())),
        }
    }
}

fn texts_of(key: &'static str, list: Json) -> Result<Vec<String>, DocumentFault> {
    let wrong = || DocumentFault::Wrong { key, expected: "a list of texts" };
    let Json::Array(items) = list else { return Err(wrong()) };
    let text = |item: Json| match item {
        Json::String(text) => Ok(text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            Err(wrong())
        }
    };
    items.into_iter().map(text).collect()
}

/// Returns the whole number that `json` is.
pub(crate) fn whole(json: &Json) -> Option<u64> {
    let digits = |number: &Number| number.as_str().parse().ok();
    match json {
        Json::Number(number) => digits(number),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Makes a list of texts.
pub(crate) fn list<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Json {
    Json::Array(texts.into_iter().map(|text| Json::String(text.into())).collect())
}
