//! Anything at all is sent: nothing panics, and nothing outside changes.

use std::io::{Seek as _, Write as _};
use std::os::fd::AsFd as _;

use ic_servers::filesystem::{Filesystem, Links, Rights};
use ic_servers::tools::{Caller, Cancel, Tools};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::ground::{BOTH, Ground, object};

/// A server over a few things of every kind.
fn server(ground: &Ground, links: Links) -> Filesystem {
    ground.write("in/f.txt", "one\ntwo\n");
    ground.write("in/d/e/g.bin", b"\xff\x00");
    ground.write("in/left/out.txt", "x");
    if !ground.exists("in/link") {
        ground.link("in/link", ground.path("out"));
        ground.link("in/loop", "loop");
    }
    ground.server_of(&[("in", Rights::ALL)], &["in/left"], links)
}

fn tool() -> impl Strategy<Value = String> {
    let names = Ground::new().server(Links::Refuse).list();
    let names: Vec<String> = names.into_iter().map(|tool| tool.name.to_owned()).collect();
    prop_oneof![9 => proptest::sample::select(names), 1 => any::<String>()]
}

/// A path in the ground, with `ROOT` for its root, or anything.
fn path() -> impl Strategy<Value = String> {
    let parts =
        ["in", "out", "..", ".", "", "f.txt", "d", "e", "link", "loop", "left", "new", "a\nb"];
    let parts = proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..6);
    prop_oneof![
        8 => parts.prop_map(|parts| format!("ROOT/{}", parts.join("/"))),
        1 => any::<String>(),
        1 => Just("ROOT/in/f.txt".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => path().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => "[\\[\\]{}*?!a-c/,\\\\]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(old, new)| json!({"oldText": old, "newText": new})),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Vec<(String, Value)>> {
    let names = [
        "path",
        "paths",
        "head",
        "tail",
        "content",
        "edits",
        "dryRun",
        "sortBy",
        "pattern",
        "excludePatterns",
        "source",
        "destination",
        "zzz",
    ];
    let name = proptest::sample::select(names.to_vec()).prop_map(str::to_owned);
    proptest::collection::vec((name, value()), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_call_panics_or_reaches_out(
        calls in proptest::collection::vec((tool(), arguments()), 1..8),
    ) {
        let ground = Ground::new();
        for links in BOTH {
            let server = server(&ground, links);
            for (tool, arguments) in &calls {
                let arguments = arguments.iter().cloned().collect::<serde_json::Map<_, _>>();
                let arguments = Value::from(arguments).to_string().replace("ROOT", &ground.text(""));
                let arguments = serde_json::from_str(&arguments).unwrap();
                let told = server.call(tool, &object(arguments), Caller::silent(&Cancel::new()));
                let told = format!("{told:?}");
                prop_assert!(!told.contains(crate::ground::SECRET), "{}", told);
            }
            ground.check_outside();
            prop_assert!(ground.names("in").iter().all(|name| !name.contains("ironcurtain-tmp")));
        }
    }

    #[test]
    fn no_line_panics_and_every_answer_is_json(
        lines in proptest::collection::vec(line(), 0..12),
    ) {
        let ground = Ground::new();
        let server = server(&ground, Links::Refuse);
        let mut input = tempfile::tempfile().unwrap();
        for line in &lines {
            input.write_all(line).unwrap();
            input.write_all(b"\n").unwrap();
        }
        input.rewind().unwrap();
        let mut output = tempfile::tempfile().unwrap();
        let ended = ic_servers::serve(&server, input.as_fd(), output.as_fd()).unwrap();
        prop_assert_eq!(ended, ic_servers::Ended::InputClosed);
        output.rewind().unwrap();
        let text = std::io::read_to_string(output).unwrap();
        for line in text.lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!(&answer["jsonrpc"], "2.0");
            prop_assert!(answer.get("result").is_some() != answer.get("error").is_some());
        }
        ground.check_outside();
    }
}

/// A line that is a message, nearly one, or anything.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let methods = [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "server/discover",
        "x",
        "notifications/cancelled",
    ];
    let message = (
        proptest::sample::select(methods.to_vec()),
        value(),
        tool(),
        arguments(),
        proptest::option::of(value()),
    )
        .prop_map(|(method, id, tool, arguments, meta)| {
            let arguments = arguments.into_iter().collect::<serde_json::Map<_, _>>();
            let mut params = json!({"name": tool, "arguments": arguments, "requestId": 1});
            if let Some(meta) = meta {
                params["_meta"] = meta;
            }
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        });
    prop_oneof![
        6 => message.prop_map(String::into_bytes),
        1 => value().prop_map(|value| value.to_string().into_bytes()),
        2 => any::<Vec<u8>>(),
    ]
}
