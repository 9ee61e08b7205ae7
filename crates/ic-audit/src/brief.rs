//! What is kept of the arguments of a call that went nowhere: enough to tell what was tried.
//!
//! Each refused call costs its sender nothing, so what it leaves in the log is limited. What was
//! forwarded is kept whole, and does not come here.

use ic_types::{Digest, Json, Object};

/// The most that is kept, as canonical text.
pub(crate) const BRIEF_BYTES_MAX: usize = 64 << 10;
/// The longest string that stays as it is, and how much is kept of a longer one.
const STRING_BYTES_MAX: usize = 1 << 10;
/// The most values that are looked at one by one; each key is compared with those before it.
const VALUES_MAX: usize = 1000;

/// Returns what is kept instead of `value`, if that is too much.
///
/// Long strings are replaced by what [`extract`] says about them; if that is not enough, everything is.
pub(crate) fn shortened(value: &Json) -> Option<Json> {
    let text = value.to_canonical();
    if text.len() <= BRIEF_BYTES_MAX {
        return None;
    }
    let brief = with_short_strings(value, &mut { VALUES_MAX });
    let fits = |brief: &Json| brief.to_canonical().len() <= BRIEF_BYTES_MAX;
    Some(brief.filter(fits).unwrap_or_else(|| extract(&text)))
}

/// Returns `value` with extracts of its long strings; `None` if there are more than `n_left` values.
fn with_short_strings(value: &Json, n_left: &mut usize) -> Option<Json> {
    *n_left = n_left.checked_sub(1)?;
    Some(match value {
        Json::String(text) if STRING_BYTES_MAX < text.len() => extract(text),
        Json::Array(items) => {
            let short = items.iter().map(|item| with_short_strings(item, n_left));
            Json::Array(short.collect::<Option<Vec<_>>>()?)
        }
        Json::Object(object) => {
            let mut short = Object::new();
            for (key, value) in object.iter() {
                short.insert(key, with_short_strings(value, n_left)?);
            }
            Json::Object(short)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    })
}

/// Says how `text` begins, how long it is, and what its digest is.
fn extract(text: &str) -> Json {
    let end = text.floor_char_boundary(STRING_BYTES_MAX);
    let mut extract = Object::new();
    extract.insert("beginning", text.get(..end).unwrap_or_default());
    extract.insert("bytes", u64::try_from(text.len()).unwrap_or(u64::MAX));
    extract.insert("sha256", Digest::of(text.as_bytes()).to_string());
    let mut marked = Object::new();
    marked.insert("shortened", extract);
    Json::Object(marked)
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
    }

    #[track_caller]
    fn check(value: &str, expected: Option<&str>) {
        let found = shortened(&json(value)).map(|it| it.to_canonical());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        check("{}", None);
        let long = "x".repeat(BRIEF_BYTES_MAX - r#"{"a":""}"#.len());
        check(&format!(r#"{{"a":"{long}"}}"#), None);
    }

    #[test]
    fn long_strings_keep_their_beginning_length_and_digest() {
        let long = "ü".repeat(BRIEF_BYTES_MAX);
        let (begin, digest) = ("ü".repeat(512), Digest::of(long.as_bytes()));
        let extract = format!(
            r#"{{"shortened":{{"beginning":"{begin}","bytes":131072,"sha256":"{digest}"}}}}"#
        );
        check(
            &format!(r#"{{"a":["{long}",1,null],"b":"short"}}"#),
            Some(&format!(r#"{{"a":[{extract},1,null],"b":"short"}}"#)),
        );
        // A character is not cut.
        let odd = format!("x{}", "ü".repeat(BRIEF_BYTES_MAX));
        let Some(Json::Object(found)) = shortened(&Json::from(odd)) else { panic!() };
        let found = found.get("shortened").unwrap().to_string();
        assert!(found.contains(&format!(r#""x{}""#, "ü".repeat(511))), "{found}");
    }

    #[test]
    fn what_is_long_by_its_number_of_values_or_its_keys_is_an_extract_as_a_whole() {
        let many = format!("[{}0]", "0,".repeat(BRIEF_BYTES_MAX));
        let key = format!(r#"{{"{}":1}}"#, "k".repeat(BRIEF_BYTES_MAX));
        for text in [many, key] {
            let (begin, digest) =
                (Json::from(text.get(..1024).unwrap()), Digest::of(text.as_bytes()));
            let bytes = text.len();
            let expected = format!(
                r#"{{"shortened":{{"beginning":{begin},"bytes":{bytes},"sha256":"{digest}"}}}}"#
            );
            check(&text, Some(&expected));
        }
    }

    proptest! {
        // Each case writes much.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn whatever_comes_fits(
            strings in prop::collection::vec((".{0,8}", 0_usize..30_000), 0..80),
            escaped in any::<bool>(),
        ) {
            let part = if escaped { "\u{1}" } else { "y" };
            let texts = strings.into_iter().map(|(start, n)| Json::from(start + &part.repeat(n)));
            let value = Json::Array(texts.collect());
            let kept = shortened(&value).unwrap_or(value);
            prop_assert!(kept.to_canonical().len() <= BRIEF_BYTES_MAX);
        }
    }
}
