//! The keywords of one subschema, and the kinds of values that they can have.
//!
//! A keyword with a value of another kind is a fault: what it was meant to forbid is not known.

use ic_types::{Json, Number, Object};

use crate::fault::FaultReason;
use crate::number::Decimal;
use crate::rules::Span;

pub(super) const SCHEMA: &str = "a schema";
pub(super) const SCHEMAS: &str = "an array of schemas that is not empty";
pub(super) const SCHEMAS_BY_KEY: &str = "an object of schemas";
pub(super) const TEXTS: &str = "an array of strings";

/// The entries of one subschema.
#[derive(Clone, Copy)]
pub(super) struct Keywords<'a>(&'a Object);

/// Keywords that restrict and that we do not know how to check.
const UNSUPPORTED: [&str; 4] =
    ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

impl<'a> Keywords<'a> {
    pub(super) const fn new(object: &'a Object) -> Self {
        Self(object)
    }

    pub(super) fn get(self, keyword: &str) -> Option<&'a Json> {
        self.0.get(keyword)
    }

    pub(super) fn has_one_of(self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.get(keyword).is_some())
    }

    /// Refuses what would let too much through if it were ignored.
    pub(super) fn refuse_unsupported(self) -> Result<(), FaultReason> {
        let restricts = |keyword: &&&str| self.get(keyword).is_some_and(|json| !is_anything(json));
        match UNSUPPORTED.iter().find(restricts) {
            Some(keyword) => Err(FaultReason::Unsupported(keyword)),
            None => Ok(()),
        }
    }

    /// Returns whether `$id` changes what a `$ref` in here would lead to.
    pub(super) fn moves_base(self) -> bool {
        let id = self.get("$id").or_else(|| self.get("id")).and_then(Json::as_str);
        id.is_some_and(|id| !id.starts_with('#'))
    }

    pub(super) fn text(self, keyword: &'static str) -> Result<Option<&'a str>, FaultReason> {
        let text = |json: &'a Json| json.as_str().ok_or(FaultReason::wrong(keyword, "a string"));
        self.get(keyword).map(text).transpose()
    }

    pub(super) fn flag(self, keyword: &'static str) -> Result<bool, FaultReason> {
        match self.get(keyword) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(_) => Err(FaultReason::wrong(keyword, "true or false")),
        }
    }

    pub(super) fn number(self, keyword: &'static str) -> Result<Option<&'a Number>, FaultReason> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) => Ok(Some(number)),
            Some(_) => Err(FaultReason::wrong(keyword, "a number")),
        }
    }

    fn count(self, keyword: &'static str) -> Result<Option<u64>, FaultReason> {
        let wrong = FaultReason::wrong(keyword, "a whole number of 0 or more");
        match self.get(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) => Decimal::of(number).to_count().ok_or(wrong).map(Some),
            Some(_) => Err(wrong),
        }
    }

    /// Reads a pair like `minItems` and `maxItems`.
    pub(super) fn span(
        self,
        least: &'static str,
        most: &'static str,
        least_by_itself: u64,
    ) -> Result<Span, FaultReason> {
        Ok(Span {
            least: self.count(least)?.unwrap_or(least_by_itself),
            most: self.count(most)?.unwrap_or(u64::MAX),
        })
    }

    /// Reads an object under `keyword`; its entries are for the caller to judge.
    pub(super) fn entries(self, keyword: &'static str) -> Result<Option<&'a Object>, FaultReason> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(object)),
            Some(_) => Err(FaultReason::wrong(keyword, SCHEMAS_BY_KEY)),
        }
    }

    /// Reads an array under `keyword` that is not empty.
    pub(super) fn items(self, keyword: &'static str) -> Result<&'a [Json], FaultReason> {
        match self.get(keyword) {
            None => Ok(&[]),
            Some(Json::Array(items)) if !items.is_empty() => Ok(items),
            Some(_) => Err(FaultReason::wrong(keyword, SCHEMAS)),
        }
    }
}

/// Reads the array of strings that `json` under `keyword` has to be.
pub(super) fn texts<'a>(
    keyword: &'static str,
    json: &'a Json,
) -> Result<Vec<&'a str>, FaultReason> {
    let wrong = || FaultReason::wrong(keyword, TEXTS);
    match json {
        Json::Array(items) => items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
            Err(wrong())
        }
    }
}

/// Returns whether a schema says that everything is fine.
fn is_anything(json: &Json) -> bool {
    match json {
        Json::Bool(is_fine) => *is_fine,
        Json::Object(object) => object.is_empty(),
        Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => false,
    }
}
