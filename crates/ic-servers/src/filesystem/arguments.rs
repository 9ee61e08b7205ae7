//! The arguments of a call, read one by one and checked as the schemas say.
//!
//! Whoever calls may have validated them before; that is not relied on.

use ic_types::{Json, Object};

use super::fault::Fault;

/// The arguments of one call.
///
/// Invariant: holds no other names than those that the tool takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(&'a Object);

/// The largest whole number that every reader of JSON reads alike.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// The most texts in a list.
const TEXTS_MAX: usize = 1000;

impl<'a> Arguments<'a> {
    /// Takes arguments of which `takes` are the names.
    pub(super) fn new(object: &'a Object, takes: &[&str]) -> Result<Self, Fault> {
        match object.keys().find(|key| !takes.contains(key)) {
            None => Ok(Self(object)),
            Some(name) => {
                let takes = match takes {
                    [] => "none".to_owned(),
                    takes => format!("`{}`", takes.join("`, `")),
                };
                Err(Fault::UnknownArgument { name: name.to_owned(), takes })
            }
        }
    }

    /// Returns a text that has to be there.
    pub(super) fn text(self, name: &'static str) -> Result<&'a str, Fault> {
        self.optional_text(name)?.ok_or_else(|| Fault::argument(name, "is missing"))
    }

    /// Returns a text.
    pub(super) fn optional_text(self, name: &'static str) -> Result<Option<&'a str>, Fault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(Fault::argument(name, "is not text")),
        }
    }

    /// Returns whether something is wanted; it is not if nothing is said.
    pub(super) fn flag(self, name: &'static str) -> Result<bool, Fault> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Fault::argument(name, "is neither true nor false")),
        }
    }

    /// Returns a number of something.
    pub(super) fn whole(self, name: &'static str) -> Result<Option<u64>, Fault> {
        let number = match self.0.get(name) {
            None => return Ok(None),
            Some(Json::Number(number)) => number.as_str(),
            Some(_) => return Err(Fault::argument(name, "is not a number")),
        };
        let whole = match number.parse() {
            Ok(whole) => Some(whole),
            // Also 5.0 and 5e0 are five.
            Err(_) => number
                .parse()
                .ok()
                .filter(|number: &f64| number.fract() == 0.0 && (0.0..=WHOLE_MAX).contains(number))
                .and_then(|number| format!("{:.0}", number.abs()).parse().ok()),
        };
        whole.map(Some).ok_or_else(|| Fault::argument(name, "is not a whole number of at least 0"))
    }

    /// Returns a list of texts; an absent one is empty.
    pub(super) fn texts(self, name: &'static str) -> Result<Vec<&'a str>, Fault> {
        let items = self.items(name)?;
        let texts = items.iter().map(Json::as_str).collect::<Option<_>>();
        texts.ok_or_else(|| Fault::argument(name, "holds something that is not text"))
    }

    /// Returns a list of objects, each with no other names than `takes`.
    pub(super) fn objects(
        self,
        name: &'static str,
        takes: &[&str],
    ) -> Result<Vec<Arguments<'a>>, Fault> {
        let of_item = |item: &'a Json| match item {
            Json::Object(object) => Self::new(object, takes),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(Fault::argument(name, "holds something that is not an object"))
            }
        };
        self.items(name)?.iter().map(of_item).collect()
    }

    /// Returns whether something was said at all.
    pub(super) fn has(self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn items(self, name: &'static str) -> Result<&'a [Json], Fault> {
        match self.0.get(name) {
            None => Ok(&[]),
            Some(Json::Array(items)) if items.len() <= TEXTS_MAX => Ok(items),
            Some(Json::Array(_)) => {
                Err(Fault::argument(name, format!("has more than {TEXTS_MAX} items")))
            }
            Some(_) => Err(Fault::argument(name, "is not a list")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL) {
            Ok(Json::Object(object)) => object,
            other => panic!("no object: {other:?}"),
        }
    }

    #[test]
    fn whole_numbers_are_taken_in_every_spelling_and_nothing_else() {
        for (number, expected) in [
            ("0", Some(0)),
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("5e0", Some(5)),
            ("5E2", Some(500)),
            ("-0", Some(0)),
            ("-0.0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("5.5", None),
            ("-1", None),
            ("1e99", None),
            ("1e999", None),
            ("\"5\"", None),
            ("true", None),
            ("null", None),
            ("[5]", None),
        ] {
            let object = object(&format!("{{\"head\":{number}}}"));
            let arguments = Arguments::new(&object, &["head"]).unwrap();
            assert_eq!(arguments.whole("head").ok().flatten(), expected, "{number}");
        }
    }

    #[test]
    fn names_that_the_tool_does_not_take_are_refused() {
        let object = object(r#"{"path":"a","pth\nx":"b"}"#);
        let fault = Arguments::new(&object, &["path", "head"]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            r#"there is no argument `"pth\nx"`; the tool takes `path`, `head`"#
        );
    }
}
