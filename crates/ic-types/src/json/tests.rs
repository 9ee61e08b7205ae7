//! What the parser takes, what it refuses and where, and that it writes back what it read.

mod fuzz;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

#[track_caller]
fn refuses(bytes: &[u8], expected: &str) {
    let error = Json::parse(bytes, JsonLimits { bytes_max: 1000, depth_max: 4, values_max: 100 })
        .unwrap_err();
    assert_eq!(error.to_string(), expected, "{}", String::from_utf8_lossy(bytes));
}

#[test]
fn writes_back_what_it_read() {
    for text in [
        r#"{"b":1,"a":[true,false,null,-0.0,1E400,123456789012345678901234567890]}"#,
        r#""a\"b\\c\u0001é😀""#,
        "[]",
        "{}",
        "0",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn refuses_with_the_place() {
    refuses(b"", "unexpected end at line 1, column 1");
    refuses(b"{\"a\": 1,\n \"a\": 2}", "duplicate key `a` at line 2, column 2");
    refuses(br#"{"a":1,"\u0061":2}"#, "duplicate key `a` at line 1, column 8");
    refuses(b"[1 2]", "expected `,` or `]` at line 1, column 4");
    refuses(b"[1,]", "expected a value at line 1, column 4");
    refuses(b"{} x", "expected the end of the document at line 1, column 4");
    refuses(b"[[[[[]]]]]", "arrays and objects nest deeper than 4 at line 1, column 5");
    refuses(b"\"\xff\"", "invalid UTF-8 at line 1, column 2");
    refuses(br#""\ud800""#, "lone surrogate in a string at line 1, column 2");
    refuses(br#""\ud800\u0041""#, "lone surrogate in a string at line 1, column 2");
    refuses(b"\"\x01\"", "expected an escaped control character at line 1, column 2");
    refuses(b"\xef\xbb\xbf{}", "expected a value at line 1, column 1");
    refuses(&[b' '; 1001], "the document is longer than 1000 bytes at line 1, column 1");
    for bad in ["01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity", "0x1", "'a'", "nul", "tru"] {
        assert!(Json::parse(bad.as_bytes(), JsonLimits::CALL).is_err(), "accepted {bad}");
    }
}

#[test]
fn many_keys_are_still_checked_for_duplicates() {
    let keys = |n: usize, last: &str| {
        let mut all: Vec<String> = (0..n).map(|i| format!("\"k{i}\":{i}")).collect();
        all.push(format!("\"{last}\":0"));
        format!("{{{}}}", all.join(","))
    };
    for n in [15, 16, 17, 40] {
        assert!(Json::parse(keys(n, "fresh").as_bytes(), JsonLimits::CALL).is_ok());
        for twice in ["k0".to_owned(), format!("k{}", n - 1)] {
            let error = Json::parse(keys(n, &twice).as_bytes(), JsonLimits::CALL).unwrap_err();
            assert!(error.to_string().starts_with("duplicate key"), "{n} {twice}: {error}");
        }
    }
}

#[test]
fn numbers_are_compared_by_value_and_kept_as_written() {
    for (a, b) in [
        ("1", "1.0"),
        ("100", "1e2"),
        ("0", "-0"),
        ("1.00000000000000001", "1"),
        ("9007199254740993", "9007199254740992"),
        ("1e-400", "0"),
        ("1e400", "2e400"),
    ] {
        assert_eq!(parse(a), parse(b));
        assert_eq!(parse(a).to_string(), a);
    }
    for (a, b) in [("1", "\"1\""), ("1", "true"), ("1", "1.0000000000000002"), ("1", "-1")] {
        assert_ne!(parse(a), parse(b));
    }
}

#[test]
fn numbers_that_are_equal_as_doubles_have_canonical_forms_of_their_own() {
    for (a, b) in [("9007199254740993", "9007199254740992"), ("1.00000000000000001", "1")] {
        assert_ne!(parse(a).to_canonical(), parse(b).to_canonical());
    }
}

#[test]
fn a_number_too_small_for_a_double_is_zero() {
    let is_zero = |text: &str| match parse(text) {
        Json::Number(number) => number.is_zero(),
        other => panic!("{other}"),
    };
    for zero in ["0", "-0", "0.00", "0e9", "1e-400", "-1e-400"] {
        assert!(is_zero(zero), "{zero}");
    }
    for other in ["1", "-1", "1e-300", "5e-324", "1e400"] {
        assert!(!is_zero(other), "{other}");
    }
}

#[test]
fn objects_are_equal_whatever_the_order_of_their_keys() {
    assert_eq!(parse(r#"{"a":1,"b":{"c":2,"d":3}}"#), parse(r#"{"b":{"d":3,"c":2},"a":1}"#));
    for other in [r#"{"a":1}"#, r#"{"a":1,"b":3}"#, r#"{"a":1,"c":2}"#, r#"{"a":1,"b":2,"c":3}"#] {
        assert_ne!(parse(r#"{"a":1,"b":2}"#), parse(other));
    }
    assert_ne!(parse("[1,2]"), parse("[2,1]"));
}

#[test]
fn serde_copies_any_json_with_its_numbers_as_written() {
    #[derive(serde::Deserialize)]
    struct File {
        any: Json,
        maybe: Option<Json>,
        many: Vec<Json>,
    }
    let numbers = "[1.0,9007199254740993,1e400,1e-400,-0,4.50]";
    let text = format!(r#"{{"any":{{"n":{numbers},"s":"1.0"}},"maybe":1.50,"many":{numbers}}}"#);
    let file = <File as serde::Deserialize>::deserialize(&parse(&text)).unwrap();
    assert_eq!(file.any.to_string(), format!(r#"{{"n":{numbers},"s":"1.0"}}"#));
    assert_eq!(file.maybe.unwrap().to_string(), "1.50");
    assert_eq!(Json::Array(file.many).to_string(), numbers);
}

#[test]
fn other_deserializers_can_bring_json_too_and_duplicate_keys_are_refused() {
    let read = |text: &str| serde_json::from_str::<Json>(text);
    assert_eq!(
        read(r#"{"a":[1,-2,0.5,"x",null]}"#).unwrap(),
        parse(r#"{"a":[1,-2,0.5,"x",null]}"#)
    );
    assert!(read(r#"{"a":1,"a":2}"#).unwrap_err().to_string().contains("duplicate key `a`"));
}

#[test]
fn an_object_with_very_many_keys_is_copied_and_compared() {
    let keys: Vec<String> = (0..200_000).map(|n| format!("\"k{n}\":{n}")).collect();
    let text = format!("{{{}}}", keys.join(","));
    let refused = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap_err();
    assert!(refused.to_string().starts_with("there are more than 200000 values"), "{refused}");
    let object = Json::parse(text.as_bytes(), JsonLimits::ARTIFACT).unwrap();
    let copy = <Json as serde::Deserialize>::deserialize(&object).unwrap();
    assert_eq!(copy, object);
}

#[test]
fn canonical_form_follows_rfc_8785() {
    for (text, expected) in [
        (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        // UTF-16 order: the surrogate pair of U+1F600 sorts before U+FB33.
        ("{\"\u{fb33}\":1,\"😀\":2}", "{\"😀\":2,\"\u{fb33}\":1}"),
        ("1.0", "1"),
        ("-0", "0"),
        ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("0.000001", "0.000001"),
        ("1e-7", "1e-7"),
        ("4.50", "4.5"),
        ("333333333.3333333", "333333333.3333333"),
        ("1.5e300", "1.5e+300"),
        ("12.5e0", "12.5"),
        // No double holds these: they stay as they are.
        ("9007199254740993", "9007199254740993"),
        ("1e400", "1e400"),
    ] {
        assert_eq!(parse(text).to_canonical(), expected, "{text}");
    }
}

#[test]
fn serde_reads_through_the_parser() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        name: String,
        count: u32,
        rest: Option<Json>,
        kind: Kind,
    }
    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
    }
    let read = |text: &str| <File as serde::Deserialize>::deserialize(&parse(text));
    let file = read(r#"{"name":"x","count":3,"rest":{"a":[1]},"kind":"plain"}"#).unwrap();
    assert_eq!(file.rest, Some(parse(r#"{"a":[1]}"#)));
    assert!(read(r#"{"name":"x","count":-3,"kind":"plain"}"#).is_err());
    assert!(read(r#"{"name":"x","count":3,"kind":"other"}"#).is_err());
    assert!(read(r#"{"name":"x","count":3,"kind":"plain","extra":1}"#).is_err());
    let in_order = read(r#"["x",3,null,"plain"]"#).unwrap_err();
    assert_eq!(in_order.to_string(), "expected an object");
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(|n| Json::Number(Number(n.to_string().into()))),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| Json::Number(Number(format!("{n:e}").into()))),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Json::Object(Object(map.into_iter().collect()))),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_survives_writing_and_reading(value in any_json()) {
        prop_assert_eq!(&parse(&value.to_string()), &value);
        prop_assert_eq!(parse(&value.to_string()).to_string(), value.to_string());
        prop_assert_eq!(parse(&value.to_canonical()).to_canonical(), value.to_canonical());
    }

    #[test]
    fn no_bytes_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = Json::parse(&bytes, JsonLimits::CALL) {
            prop_assert_eq!(parse(&value.to_string()).to_string(), value.to_string());
        }
    }

    #[test]
    fn what_we_take_serde_json_takes_too(text in r#"[\[\]{}",:0-9eE.+\-truefalsn \\u]{0,24}"#) {
        if let Ok(value) = Json::parse(text.as_bytes(), JsonLimits::CALL) {
            let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
            // A number beyond a double's range is the one thing that only we take.
            let is_out_of_range = theirs.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
            prop_assert!(theirs.is_ok() || is_out_of_range, "{}", value);
        }
    }
}
