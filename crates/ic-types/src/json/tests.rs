//! What the parser takes, what it refuses and where, and that it writes back what it read.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

#[track_caller]
fn refuses(bytes: &[u8], expected: &str) {
    let error = Json::parse(bytes, JsonLimits { bytes_max: 1000, depth_max: 4 }).unwrap_err();
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
    assert_eq!(parse("1"), parse("1.0"));
    assert_eq!(parse("100"), parse("1e2"));
    assert_ne!(parse("1"), parse("\"1\""));
    assert_ne!(parse("9007199254740993"), parse("9007199254740992"));
    assert_ne!(parse("1e400"), parse("2e400"));
    for zero in ["0", "-0", "0.00", "0e9"] {
        let Json::Number(number) = parse(zero) else { panic!("{zero}") };
        assert!(number.is_zero(), "{zero}");
    }
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
        prop_assert_eq!(parse(&value.to_canonical()).to_canonical(), value.to_canonical());
    }

    #[test]
    fn no_bytes_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = Json::parse(&bytes, JsonLimits::CALL) {
            prop_assert_eq!(parse(&value.to_string()), value);
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
