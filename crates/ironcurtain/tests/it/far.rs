//! Servers on other machines: the real proxy before a scripted server that speaks streamable HTTP in TLS.
//!
//! The server is on loopback, which its entry has to name. Nothing waits for a while: tests wait for an
//! answer, a request or an end, with a deadline.

mod commands;
mod hostile;
pub(crate) mod official;

use ic_testkit::far::SESSION;
use ic_testkit::proxy::records;
use ic_testkit::{Far, FarRequest, FarSays, Place, Proxy};
use serde_json::{Value, json};

use crate::proxy::until;
use crate::{alone, place};

/// A secret that is sent with each request.
const TOKEN: &str = "tok-4e1f9a7c2b8d6035";

/// A place with one server on another machine, and a policy that knows its tools.
struct Rig {
    place: Place,
    far: Far,
}

/// Returns what a server lists.
fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| {
        json!({"name": name, "description": format!("does {name}"),
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})
    };
    names.iter().map(tool).collect()
}

impl Rig {
    /// A rig whose server has `names` as tools, and answers calls in this way.
    fn new(
        names: &'static [&'static str],
        call: impl Fn(&FarRequest) -> FarSays + Send + Sync + 'static,
    ) -> Self {
        Self::of(Far::start(move |it| it.usual(&tools(names)).unwrap_or_else(|| call(it))), names)
    }

    fn of(far: Far, names: &[&str]) -> Self {
        let place = place().with_variable("FAR_TOKEN", TOKEN);
        let authority = place.write("authority.pem", far.authority());
        let place = place.with_variable("SSL_CERT_FILE", authority.to_str().unwrap());
        let known: Value =
            names.iter().map(|it| json!({"toolName": it, "args": {"text": ["none"]}})).collect();
        let annotations = json!({"servers": {"far": {"tools": known}}});
        place.write("policy/tool-annotations.json", annotations.to_string());
        let rule = json!({"name": "all", "if": {}, "then": "allow", "reason": "a test"});
        place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
        place.dir("sandbox");
        let rig = Self { place, far };
        rig.entry(&json!({"allowedDomains": [format!("localhost:{}", rig.far.port())]}));
        rig
    }

    /// Writes the server's entry, with `more` besides its address.
    fn entry(&self, more: &Value) {
        let mut entry =
            json!({"url": self.far.url(), "headers": {"Authorization": "Bearer ${ENV:FAR_TOKEN}"}});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        self.place.write("servers.json", alone(json!({"far": entry})).to_string());
    }

    fn start(&self) -> Proxy {
        let path = |name: &str| self.place.path(name).display().to_string();
        let (policy, sandbox, servers) = (path("policy"), path("sandbox"), path("servers.json"));
        let words = ["--policy", &policy, "--sandbox", &sandbox, "--servers", &servers];
        let mut proxy = Proxy::start(&self.place, &words);
        proxy.initialize();
        proxy
    }

    /// Returns how often a tool was called.
    fn n_calls(&self) -> usize {
        self.far.methods().iter().filter(|it| *it == "tools/call").count()
    }

    /// Checks that the secret stands in no file of the home, and that the log is whole.
    fn check_kept(&self) {
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
        let records: Vec<String> = records(&self.place).iter().map(Value::to_string).collect();
        assert!(!records.iter().any(|it| it.contains(TOKEN)), "{records:#?}");
    }
}

#[test]
fn a_server_on_another_machine_is_called_in_its_session() {
    let rig = Rig::new(&["json", "events"], |it| match it.tool() {
        "json" => FarSays::json(200, "", &it.text("grüße 😀")),
        _ => FarSays::events(&[
            (
                None,
                json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "error", "data": "it speaks"}}),
            ),
            (Some("1"), it.text("from a stream")),
        ]),
    });
    let mut proxy = rig.start();
    assert_eq!(proxy.call("far__json", &json!({"text": "x"})).good(), "grüße 😀");
    assert_eq!(proxy.call("far__events", &json!({})).good(), "from a stream");
    proxy.notification("notifications/message", "it speaks");
    proxy.finish();

    let asked = rig.far.asked();
    let methods: Vec<String> = asked.iter().map(FarRequest::method).collect();
    // What the server might say by itself is asked for beside all this.
    let in_order: Vec<&String> = methods.iter().filter(|it| *it != "[GET]").collect();
    let expected = [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
        "[DELETE]",
    ];
    assert_eq!(in_order, expected, "{methods:?}");
    for (at, request) in asked.iter().enumerate() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        let later = (at != 0).then_some(SESSION);
        assert_eq!(request.header("mcp-session-id"), later, "{methods:?} {at}");
        let version = (at != 0).then_some("2025-11-25");
        assert_eq!(request.header("mcp-protocol-version"), version, "{methods:?} {at}");
    }
    let call = asked.iter().find(|it| it.method() == "tools/call").unwrap();
    assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(call.message["params"]["arguments"], json!({"text": "x"}));

    let egress: Vec<Value> =
        records(&rig.place).into_iter().filter(|it| it["kind"] == "egress").collect();
    assert!(egress.iter().all(|it| it["arguments"]["host"] == "localhost"), "{egress:#?}");
    assert!(asked.len() <= egress.len(), "each connection is recorded: {egress:#?}");
    rig.check_kept();
}

#[test]
fn what_a_header_holds_comes_back_to_nobody() {
    let rig = Rig::new(&["echo"], |it| {
        let sent = it.header("authorization").unwrap_or_default().to_owned();
        FarSays::json(200, "", &it.text(&format!("you sent {sent}")))
    });
    let mut proxy = rig.start();
    let text = proxy.call("far__echo", &json!({})).good();
    assert!(text.starts_with("you sent ") && !text.contains(TOKEN), "{text}");
    proxy.finish();
    assert!(!proxy.all_stderr().contains(TOKEN));
    rig.check_kept();
}

#[test]
fn a_stream_that_breaks_off_is_resumed_and_nothing_is_sent_twice() {
    let rig = Rig::of(
        Far::start(|it| {
            if it.verb == "GET" && it.header("last-event-id") == Some("e1") {
                // The id of the call travels in the id of the event in a real server.
                return FarSays::events(&[(
                    Some("e2"),
                    json!({"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text",
                        "text": "resumed"}]}}),
                )]);
            }
            it.usual(&tools(&["cut", "lost"])).unwrap_or_else(|| {
                let ping = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "error", "data": "so far"}});
                match it.tool() {
                    "cut" => FarSays::cut(&[(Some("e1"), ping)]),
                    _ => FarSays::cut(&[(None, ping)]),
                }
            })
        }),
        &["cut", "lost"],
    );
    let mut proxy = rig.start();
    assert_eq!(proxy.call("far__cut", &json!({})).good(), "resumed");
    let lost = proxy.call("far__lost", &json!({}));
    assert!(lost.line.contains("breaks off"), "{}", lost.line);
    assert_eq!(rig.n_calls(), 2, "each was sent once: {:?}", rig.far.methods());
    proxy.finish();
    rig.check_kept();
}

#[test]
fn a_session_that_was_forgotten_is_begun_anew() {
    let rig = Rig::of(
        Far::start(|it| {
            it.usual(&tools(&["forget", "work"])).unwrap_or_else(|| match it.tool() {
                "forget" => FarSays::status(404),
                _ => FarSays::json(200, "", &it.text("works")),
            })
        }),
        &["forget", "work"],
    );
    let mut proxy = rig.start();
    assert_eq!(proxy.call("far__work", &json!({})).good(), "works");
    let forgotten = proxy.call("far__forget", &json!({}));
    assert!(forgotten.line.contains("forgotten the session"), "{}", forgotten.line);
    until("another session is begun", || {
        proxy.call("far__work", &json!({})).line.contains("works")
    });
    let methods = rig.far.methods();
    let n_begun = methods.iter().filter(|it| *it == "initialize").count();
    assert_eq!(n_begun, 2, "{methods:?}");
    let n_forget = rig.far.asked().iter().filter(|it| it.tool() == "forget").count();
    assert_eq!(n_forget, 1, "what may have acted is not sent again");
    proxy.finish();
    rig.check_kept();
}

#[test]
fn a_call_that_is_taken_back_is_taken_back_over_there_too() {
    let rig = Rig::new(&["slow", "work"], |it| match it.tool() {
        "slow" => FarSays::hang(&[]),
        _ => FarSays::json(200, "", &it.text("works")),
    });
    let mut proxy = rig.start();
    let id = proxy.ask_call("far__slow", &json!({}));
    until("it is called", || rig.n_calls() == 1);
    let number: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    until("the server hears of it", || {
        rig.far.methods().iter().any(|it| it == "notifications/cancelled")
    });
    until("nobody listens any more", || rig.far.n_abandoned() == 1);
    let asked = rig.far.asked();
    let slow = asked.iter().find(|it| it.tool() == "slow").unwrap();
    let cancelled = asked.iter().find(|it| it.method() == "notifications/cancelled").unwrap();
    assert_eq!(cancelled.message["params"]["requestId"], slow.message["id"]);
    assert_eq!(proxy.call("far__work", &json!({})).good(), "works");
    proxy.finish();
    rig.check_kept();
}
