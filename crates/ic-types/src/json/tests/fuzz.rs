//! Mutated documents: what is taken is written back, and `serde_json` reads the same.

use ic_fuzz::{Outcome, Target};
use serde_json::Value;

use super::*;

const LIMITS: JsonLimits = JsonLimits { bytes_max: 4 << 10, depth_max: 16, values_max: 400 };

#[test]
fn fuzz_json() {
    Target::new("json")
        .seeds([
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":"/x"}}}"#,
            r#"{"b":1,"a":[true,false,null,-0.0,1E400,123456789012345678901234567890],"é":"\ud83d\ude00"}"#,
            "[[[[]]],{\"a\":{\"a\":{}}}, \"\\u0000\\n\\/\\\\\" , 1.5e-7]",
        ])
        .corpus("json_parsing")
        .corpus("naughty_strings")
        .words([
            "\"", "\\u", "\\ud800", "\\udc00", "\\u0061", "\\\"", "{\"a\":1}", "[]", "{}", ",", ":", "null",
            "true", "false", "-0", "1e5", "0.0", "\"a\":", "\u{feff}", "\u{2028}", " ", "\n", "//", "NaN",
        ])
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let theirs: Result<Value, _> = serde_json::from_slice(bytes);
    match Json::parse(bytes, LIMITS) {
        Ok(json) => {
            let text = json.to_string();
            let again = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
            assert_eq!(again, json, "it is not written back as it was");
            assert_eq!(again.to_string(), text, "it is written in two ways");
            let canonical = json.to_canonical();
            let sorted = Json::parse(canonical.as_bytes(), JsonLimits::CALL).unwrap();
            assert_eq!(sorted.to_canonical(), canonical, "the canonical form is not its own");
            // A number may be too large for theirs, and for nothing else may it refuse what we take.
            match theirs {
                Ok(theirs) => assert!(is_same(&json, &theirs), "it is read differently"),
                Err(error) => {
                    assert!(error.to_string().starts_with("number out of range"), "{error}");
                }
            }
            Outcome::accepted((std::mem::discriminant(&json), size(&json).ilog2()))
        }
        Err(error) => {
            let is_stricter = matches!(
                error.fault,
                JsonFault::TooLong(_)
                    | JsonFault::TooDeep(_)
                    | JsonFault::TooMany(_)
                    | JsonFault::DuplicateKey(_)
            );
            assert!(is_stricter || theirs.is_err(), "refused, and it is valid: {error}");
            let place = bytes.split_inclusive(|byte| *byte == b'\n').nth(error.line - 1);
            let n_bytes = place.unwrap_or_default().len();
            assert!(error.column <= n_bytes + 1, "no such place: {error}");
            let kind = match error.fault {
                JsonFault::Expected(what) => what,
                JsonFault::DuplicateKey(_) => "duplicate",
                JsonFault::End => "end",
                JsonFault::Utf8 => "utf-8",
                JsonFault::LoneSurrogate => "surrogate",
                JsonFault::TooLong(_) | JsonFault::TooDeep(_) | JsonFault::TooMany(_) => "limit",
            };
            Outcome::refused(kind)
        }
    }
}

fn is_same(ours: &Json, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        // Theirs is a double where it is no whole number of 64 bits, and that not to the last bit.
        (Json::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_str().parse::<f64>().unwrap(), theirs.as_f64().unwrap());
            (ours - theirs).abs() <= ours.abs() * 1e-12
        }
        (Json::String(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Json::Object(ours), Value::Object(theirs)) => {
            let is_in =
                |(key, ours): (&str, &Json)| theirs.get(key).is_some_and(|it| is_same(ours, it));
            ours.len() == theirs.len() && ours.iter().all(is_in)
        }
        _ => false,
    }
}

fn size(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Json::Object(object) => 1 + object.iter().map(|(_, value)| size(value)).sum::<usize>(),
        _ => 1,
    }
}
