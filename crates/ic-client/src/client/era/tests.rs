//! Who may ask what, and when; and what of a call's parameters goes on.

use super::*;
use ic_types::JsonLimits;

fn object(text: &str) -> Object {
    match Json::parse(text.as_bytes(), JsonLimits::CALL) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

const PLAIN: &str = "{}";
const NEWEST: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
const INCOMPLETE: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
const UNKNOWN: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}"#;

/// Makes one request after another and returns the codes of the errors, 0 where there is none.
fn codes(requests: &[(&str, &str)]) -> Vec<i64> {
    let mut era = Era::Undecided;
    let mut code = |(method, params): &(&str, &str)| {
        let admitted = era.admit(&Method::of(method), &object(params));
        if let (Ok(()), "initialize") = (&admitted, *method) {
            era = Era::Initialized(ProtocolVersion::V2025_06_18);
        }
        admitted.err().map_or(0, |error| error.code)
    };
    requests.iter().map(&mut code).collect()
}

#[test]
fn nothing_is_served_before_the_client_has_said_how_it_speaks() {
    for method in ["tools/list", "tools/call", "logging/setLevel", "resources/read", "x"] {
        assert_eq!(codes(&[(method, PLAIN)]), [code::INVALID_REQUEST], "{method}");
    }
    assert_eq!(codes(&[("ping", PLAIN), ("initialize", PLAIN), ("tools/list", PLAIN)]), [0, 0, 0]);
    assert_eq!(codes(&[("initialize", PLAIN), ("initialize", PLAIN)]), [0, code::INVALID_REQUEST]);
}

#[test]
fn an_envelope_is_enough_and_then_each_request_needs_one() {
    assert_eq!(codes(&[("tools/list", NEWEST), ("tools/call", NEWEST)]), [0, 0]);
    assert_eq!(codes(&[("tools/list", NEWEST), ("tools/call", PLAIN)]), [0, code::INVALID_PARAMS]);
    assert_eq!(codes(&[("tools/list", INCOMPLETE)]), [code::INVALID_PARAMS]);
    assert_eq!(codes(&[("tools/list", UNKNOWN)]), [UNSUPPORTED_VERSION]);
    for gone in
        ["ping", "logging/setLevel", "initialize", "resources/subscribe", "resources/unsubscribe"]
    {
        assert_eq!(
            codes(&[("tools/list", NEWEST), (gone, NEWEST)]),
            [0, code::METHOD_NOT_FOUND],
            "{gone}"
        );
    }
}

#[test]
fn asking_who_we_are_decides_nothing() {
    assert_eq!(codes(&[("server/discover", NEWEST), ("initialize", PLAIN)]), [0, 0]);
    assert_eq!(codes(&[("server/discover", NEWEST), ("tools/list", NEWEST)]), [0, 0]);
    assert_eq!(codes(&[("server/discover", UNKNOWN)]), [UNSUPPORTED_VERSION]);
    assert_eq!(codes(&[("server/discover", PLAIN)]), [code::INVALID_PARAMS]);
    assert_eq!(codes(&[("server/discover", INCOMPLETE)]), [code::INVALID_PARAMS]);
}

#[test]
fn of_a_call_only_what_is_known_goes_on() {
    let taken = |text: &str| asked(object(text)).map(|(asked, token)| (asked.meta, token));
    let trace = format!("00-{}-{}-01", "a".repeat(32), "b".repeat(16));
    let (meta, token) = taken(&format!(
        r#"{{"name":"a","arguments":{{}},"_meta":{{"progressToken":7,"traceparent":"{trace}","evil":"x","baggage":"y"}}}}"#,
    ))
    .unwrap();
    assert_eq!(Json::Object(meta).to_string(), format!(r#"{{"traceparent":"{trace}"}}"#));
    let (meta, _) = taken(r#"{"name":"a","_meta":{"traceparent":"data-to-leak"}}"#).unwrap();
    assert!(meta.is_empty(), "no room for anything but a trace");
    assert_eq!(token, Some(Id::number(7)));
    for (text, reason) in [
        ("{}", "`name` is missing"),
        (r#"{"name":7}"#, "`name` has the wrong type"),
        (r#"{"name":"a","arguments":[]}"#, "`arguments` has the wrong type"),
        (r#"{"name":"a","arguments":"{}"}"#, "`arguments` has the wrong type"),
        (r#"{"name":"a","_meta":7}"#, "`_meta` has the wrong type"),
        (r#"{"name":"a","task":{}}"#, "tasks are not offered"),
        (
            r#"{"name":"a","inputResponses":{}}"#,
            "`inputResponses` is not a parameter that is passed on",
        ),
        (r#"{"name":"a","_meta":{"progressToken":[]}}"#, "`progressToken` is not a valid token"),
    ] {
        assert_eq!(taken(text).unwrap_err(), reason, "{text}");
    }
}

#[test]
fn results_carry_what_the_revision_demands() {
    let complete = |era: Era, text: &str| {
        let mut out = String::new();
        era.complete(&mut out, text);
        out
    };
    let old = Era::Initialized(ProtocolVersion::V2025_06_18);
    assert_eq!(complete(old, r#"{"a":1}"#), r#"{"a":1}"#);
    assert_eq!(complete(Era::Enveloped, r#"{"a":1}"#), r#"{"resultType":"complete","a":1}"#);
    assert_eq!(complete(Era::Enveloped, "{}"), r#"{"resultType":"complete"}"#);
}
