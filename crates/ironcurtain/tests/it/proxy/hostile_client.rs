//! Well-formed requests that nobody may make: a closed list of methods, and what stands in a call.

use ic_testkit::proxy::Reads;
use serde_json::{Value, json};

use super::{rig, rule_of};

const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

/// Every method of every revision that is not offered, those of servers, and what only looks like one.
const NOT_OFFERED: [&str; 39] = [
    "resources/unsubscribe",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "tasks/update",
    "subscriptions/listen",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tasks/status",
    "notifications/elicitation/complete",
    "notifications/subscriptions/acknowledged",
    "",
    " ",
    "tools/call ",
    " tools/call",
    "tools/call\n",
    "tools/call\0",
    "tools\\/call",
    "tools//call",
    "TOOLS/CALL",
    "Tools/Call",
    "tools.call",
    "tools/call/x",
    "tools/сall",
    "rpc.discover",
    "rec__echo",
    "shutdown",
    "exit",
];

/// Methods that are served, and so have to be asked for by a request.
const OFFERED: [&str; 11] = [
    "initialize",
    "ping",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

#[test]
fn only_methods_on_the_list_are_served() {
    let rig = rig();
    let mut proxy = rig.start();
    let params = json!({"name": "rec__echo", "arguments": {"value": "through a back door"},
        "uri": "file:///etc/passwd", "ref": {}, "argument": {}, "taskId": "1", "requestId": "x"});
    for method in NOT_OFFERED {
        let (code, message) = proxy.request(method, &params).error();
        assert_eq!(code, METHOD_NOT_FOUND, "{method:?}: {message}");
    }
    rig.check_unharmed(&mut proxy, "all of them");
    let recorded: Vec<Value> =
        rig.intents("deny").into_iter().map(|mut it| it["arguments"]["request"].take()).collect();
    assert_eq!(recorded, NOT_OFFERED.map(Value::from), "each is recorded under its name");
    proxy.finish();
}

/// A notification is answered by nothing, whatever it is called.
#[test]
fn notifications_are_never_calls() {
    let rig = rig();
    let mut proxy = rig.start();
    rig.check_unharmed(&mut proxy, "nothing");
    for method in NOT_OFFERED.into_iter().chain(OFFERED) {
        proxy.notify(method, &json!({"name": "rec__echo", "arguments": {"value": "unasked"}}));
    }
    rig.check_unharmed(&mut proxy, "notifications");
    assert!(proxy.unread().is_empty(), "a notification was answered");
    proxy.finish();
}

#[test]
fn answers_that_nobody_asked_for_are_recorded_and_go_nowhere() {
    let rig = rig();
    let mut proxy = rig.start();
    proxy.call("rec__echo", &json!({})).good();
    for (id, rest) in [
        ("1", r#""result":{"roots":[{"uri":"file:///etc"}]}"#),
        ("1", r#""result":{"content":[{"type":"text","text":"forged"}]}"#),
        ("\"q\"", r#""result":{"action":"accept","content":{}}"#),
        ("null", r#""error":{"code":1,"message":"x"}"#),
        ("99", r#""error":{"code":1,"message":"x"}"#),
    ] {
        proxy.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#));
    }
    rig.check_unharmed(&mut proxy, "answers");
    assert!(proxy.unread().is_empty());
    assert_eq!(rig.intents("deny").len(), 5);
    proxy.finish();
}

#[test]
fn nothing_is_served_before_the_conversation_has_begun() {
    let rig = rig();
    let mut proxy = rig.start_silent(Reads::Everything);
    assert_eq!(proxy.request("ping", &json!({})).result(), json!({}), "but a ping is answered");
    for method in ["tools/call", "tools/list", "logging/setLevel", "resources/list", "made/up"] {
        let params =
            json!({"name": "rec__echo", "arguments": {"value": "early"}, "level": "debug"});
        let (code, message) = proxy.request(method, &params).error();
        assert_eq!(
            (code, &*message),
            (INVALID_REQUEST, "the session is not initialized"),
            "{method}"
        );
    }
    proxy.notify("notifications/initialized", &json!({}));
    assert_eq!(
        proxy.call("rec__echo", &json!({})).error().0,
        INVALID_REQUEST,
        "that is no beginning"
    );
    assert_eq!(rig.n_starts("rec"), 0);
    proxy.initialize();
    rig.check_unharmed(&mut proxy, "the beginning");
    proxy.finish();
}

#[test]
fn a_conversation_begins_once() {
    let rig = rig();
    let mut proxy = rig.start();
    for version in ["2025-11-25", "2024-11-05", "", "junk"] {
        let again = proxy.request(
            "initialize",
            &json!({"protocolVersion": version, "clientInfo": {"name": "other"}}),
        );
        assert_eq!(
            again.error(),
            (INVALID_REQUEST, "the session is initialized already".to_owned())
        );
    }
    rig.check_unharmed(&mut proxy, "the second beginning");
    proxy.finish();
}

/// Whoever a client says it is, it becomes the name of nothing but a session.
#[test]
fn odd_clients_are_served_under_harmless_names() {
    for info in [
        json!(null),
        json!(7),
        json!({}),
        json!({"name": "../../../etc", "version": 1}),
        json!({"name": "\u{1b}[2J\n\0\u{202e}", "version": {}}),
        json!({"name": "x".repeat(100_000), "version": "y".repeat(100_000)}),
        json!({"name": ""}),
        json!({"name": ["a"]}),
    ] {
        let rig = rig();
        let mut proxy = rig.start_silent(Reads::Everything);
        let params = json!({"protocolVersion": 7, "capabilities": "all", "clientInfo": info});
        let result = proxy.request("initialize", &params).result();
        assert_eq!(result["protocolVersion"], "2025-11-25");
        assert_eq!(proxy.request("ping", &json!({})).result(), json!({}), "{info}");
        proxy.finish();
        assert!(!proxy.all_stderr().contains('\u{1b}'), "a terminal was told something");
        assert_eq!(rig.place.sessions().len(), 1);
        assert!(rig.records().iter().all(|it| it.to_string().len() < 4096));
    }
}

/// What stands beside the name and the arguments of a call is refused, or stays with us.
#[test]
fn parameters_that_are_not_on_the_list_reach_no_backend() {
    let rig = rig();
    let mut proxy = rig.start();
    for (params, reason) in [
        (json!({}), "`name` is missing"),
        (json!({"arguments": {}}), "`name` is missing"),
        (json!({"name": 7}), "`name` has the wrong type"),
        (json!({"name": null}), "`name` has the wrong type"),
        (json!({"name": ["rec__echo"]}), "`name` has the wrong type"),
        (json!({"name": "rec__echo", "arguments": []}), "`arguments` has the wrong type"),
        (json!({"name": "rec__echo", "arguments": "{}"}), "`arguments` has the wrong type"),
        (json!({"name": "rec__echo", "task": {"ttl": 1}}), "tasks are not offered"),
        (json!({"name": "rec__echo", "task": null}), "tasks are not offered"),
        (json!({"name": "rec__echo", "inputResponses": {}}), "`inputResponses` is not a parameter"),
        (json!({"name": "rec__echo", "requestState": "s"}), "`requestState` is not a parameter"),
        (json!({"name": "rec__echo", "Arguments": {}}), "`Arguments` is not a parameter"),
        (json!({"name": "rec__echo", "server": "other"}), "`server` is not a parameter"),
        (json!({"name": "rec__echo", "_meta": 7}), "`_meta` has the wrong type"),
        (
            json!({"name": "rec__echo", "_meta": {"progressToken": {}}}),
            "`progressToken` is not a valid token",
        ),
        (
            json!({"name": "rec__echo", "_meta": {"progressToken": 1.5}}),
            "`progressToken` is not a valid token",
        ),
        (
            json!({"name": "rec__echo", "_meta": {"progressToken": null}}),
            "`progressToken` is not a valid token",
        ),
    ] {
        let (code, message) = proxy.request("tools/call", &params).error();
        assert_eq!(code, INVALID_PARAMS, "{params}: {message}");
        assert!(message.starts_with(reason), "{params}: {message}");
        rig.check_unharmed(&mut proxy, &params.to_string());
    }
    proxy.finish();
}

#[test]
fn what_a_client_says_about_a_call_stays_with_us() {
    let rig = rig();
    let mut proxy = rig.start();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta = json!({"progressToken": "secret-token", "traceparent": trace,
        "tracestate": {"not": "a text"}, "baggage": "b".repeat(1 << 20),
        "io.modelcontextprotocol/clientInfo": {"name": "x"}, "claudecode/toolUseId": "toolu_1",
        "evil": {"deep": [1, 2, 3]}, "": 1, "__proto__": {"polluted": true}});
    let params = json!({"name": "rec__echo", "arguments": {"value": 1}, "_meta": meta});
    assert_eq!(proxy.request("tools/call", &params).good(), "{\"value\":1}");
    let received = rig.received().remove(0);
    let token = received["_meta"]["progressToken"].clone();
    assert!(token.is_u64(), "a token of our own: {received}");
    let expected = json!({"progressToken": token, "traceparent": trace});
    assert_eq!(received, json!({"name": "echo", "arguments": {"value": 1}, "_meta": expected}));
    proxy.finish();
}

/// Tools that do not exist, are spelled otherwise, or belong to nobody.
#[test]
fn unknown_tools_are_denied_and_recorded() {
    let rig = rig().recorder("other");
    let mut proxy = rig.start();
    let long = "rec__".to_owned() + &"x".repeat(100_000);
    let names = [
        "",
        "echo",
        "rec",
        "rec__",
        "rec_echo",
        "rec___echo",
        "rec__Echo",
        "REC__echo",
        "rec__echo ",
        " rec__echo",
        "rec__echo\0",
        "rec__rec__echo",
        "nobody__echo",
        "__echo",
        "../rec__echo",
        "other__nothing",
        "rec.echo",
        "rec__echo__",
        "rec__tools/call",
        &long,
    ];
    for name in names {
        let answer = proxy.call(name, &json!({"value": "unknown"}));
        assert!(answer.bad().starts_with("DENIED: "), "{}", answer.line);
        assert_eq!(rule_of(&answer), "structural-unknown-tool", "{name:?}");
        assert!(answer.line.len() < 2000, "a long name is not repeated in full");
    }
    assert_eq!(rig.intents("deny").len(), names.len());
    rig.check_unharmed(&mut proxy, "unknown tools");
    proxy.finish();
}

#[test]
fn arguments_that_do_not_fit_the_schema_reach_no_backend() {
    let rig = rig();
    let mut proxy = rig.start();
    for arguments in [
        json!({}),
        json!({"a": 1}),
        json!({"a": "1", "b": 2}),
        json!({"a": 1, "b": null}),
        json!({"a": 1, "b": [2]}),
        json!({"a": 1, "b": 2, "c": 3}),
        json!({"a": 1, "b": 2, "__proto__": {}}),
        json!({"a": 1, "b": 2, "": ""}),
        json!({"A": 1, "B": 2}),
    ] {
        let answer = proxy.call("rec__add", &arguments);
        assert!(answer.bad().starts_with("INVALID ARGUMENTS: "), "{arguments}: {}", answer.line);
        assert_eq!(rule_of(&answer), "structural-invalid-arguments");
    }
    assert_eq!(proxy.call("rec__add", &json!({"a": 1, "b": 2})).good(), "3");
    assert_eq!(rig.intents("deny").len(), 9);
    rig.check_unharmed(&mut proxy, "odd arguments");
    proxy.finish();
}

#[test]
fn pages_that_were_never_given_out_do_not_exist() {
    let rig = rig();
    let mut proxy = rig.start();
    for cursor in
        [json!("x"), json!(""), json!(0), json!(null), json!({}), json!("x".repeat(100_000))]
    {
        let (code, message) = proxy.request("tools/list", &json!({"cursor": cursor})).error();
        assert_eq!((code, &*message), (INVALID_PARAMS, "there is no such page"));
    }
    let list = proxy.request("tools/list", &json!({"_meta": {"junk": 1}, "unknown": [1]})).result();
    assert_eq!(super::of_servers(&list).len(), 11);
    proxy.finish();
}

#[test]
fn the_level_of_the_log_is_one_that_the_protocol_knows() {
    let rig = rig();
    let mut proxy = rig.start();
    for level in [json!("loud"), json!(""), json!("DEBUG"), json!(0), json!(null), json!(["info"])]
    {
        let (code, _) = proxy.request("logging/setLevel", &json!({"level": level})).error();
        assert_eq!(code, INVALID_PARAMS, "{level}");
    }
    // The recorder says `began` as `info`.
    for (level, is_told) in [("error", false), ("info", true), ("debug", true)] {
        assert_eq!(proxy.request("logging/setLevel", &json!({"level": level})).result(), json!({}));
        let id = proxy.ask_call("rec__slow", &json!({"name": level}));
        proxy.call("rec__release", &json!({"name": level})).good();
        proxy.answer(&id).good();
        rig.check_unharmed(&mut proxy, level);
        let messages = proxy.unread();
        assert_eq!(messages.iter().any(|it| it.line.contains("began")), is_told, "{level}");
    }
    proxy.finish();
}

/// There are no cages yet, so a server that says it is contained is not believed.
#[test]
fn being_in_the_sandbox_frees_no_call_of_a_server_that_nothing_contains() {
    let cage = json!({"filesystem": {}});
    let rig = rig().with("rec", "sandbox", cage).with("rec", "contained", json!(true));
    let mut proxy = rig.start();
    let text = proxy.call("rec__read", &json!({"path": "in-the-sandbox"})).bad();
    assert!(text.starts_with("DENIED: "), "{text}");
    assert!(rig.received().is_empty());
    proxy.finish();
}
