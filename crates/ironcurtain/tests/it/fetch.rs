//! The built-in fetch server through the proxy: pages of a scripted web server on loopback, each call in
//! a cage of its own whose one connection the host makes.

mod hops;
mod hostile;
mod pages;
mod rebinding;

use std::path::Path;

use ic_testkit::proxy::records;
use ic_testkit::{Place, Proxy, Web};
use serde_json::{Value, json};

use crate::place;

/// A place with a policy for the fetch server.
struct Rig {
    place: Place,
}

impl Rig {
    /// A rig whose policy has these rules.
    fn with_rules(rules: &Value) -> Self {
        let place = place();
        let annotations = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../ic-policy/policies/tool-annotations.json");
        place.write("policy/tool-annotations.json", std::fs::read(annotations).unwrap());
        place.write("policy/compiled-policy.json", json!({ "rules": rules }).to_string());
        place.write("servers.json", json!({"fetch": {"builtin": "fetch"}}).to_string());
        Self { place }
    }

    /// A rig whose policy allows these hosts, and denies all others.
    fn allowing(hosts: &[&str]) -> Self {
        Self::with_rules(&json!([allow(hosts)]))
    }

    /// A rig whose policy names these servers with their ports, so that they can be reached.
    fn naming(webs: &[&Web]) -> Self {
        let hosts: Vec<String> =
            webs.iter().map(|web| format!("127.0.0.1:{}", web.port())).collect();
        Self::allowing(&hosts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn start(&self, more: &[&str]) -> Proxy {
        let at = |name: &str| self.place.path(name).to_str().unwrap().to_owned();
        let (policy, servers) = (at("policy"), at("servers.json"));
        let words = [&["--policy", &policy, "--servers", &servers][..], more].concat();
        let mut proxy = Proxy::start(&self.place, &words);
        proxy.initialize();
        proxy
    }

    /// Returns the records of one kind, oldest first.
    fn records(&self, kind: &str) -> Vec<Value> {
        records(&self.place).into_iter().filter(|it| it["kind"] == kind).collect()
    }

    /// Returns the connections that were made: hosts with ports.
    fn connections(&self) -> Vec<String> {
        let opened = self.records("egress").into_iter();
        let opened = opened.filter(|it| it["arguments"]["event"] == "opened");
        let shown = |it: Value| {
            format!("{}:{}", it["arguments"]["host"].as_str().unwrap(), it["arguments"]["port"])
        };
        opened.map(shown).collect()
    }
}

fn allow(hosts: &[&str]) -> Value {
    json!({"name": "named", "if": {"domains": {"roles": ["fetch-url"], "allowed": hosts}},
        "then": "allow", "reason": "a test"})
}

fn anything() -> Value {
    json!({"name": "anything", "if": {}, "then": "allow", "reason": "a test"})
}

fn fetch(proxy: &mut Proxy, url: &str) -> Result<String, String> {
    fetch_with(proxy, &json!({ "url": url }))
}

fn fetch_with(proxy: &mut Proxy, arguments: &Value) -> Result<String, String> {
    let answer = proxy.call("fetch__http_fetch", arguments);
    match answer.result()["isError"] == json!(true) {
        true => Err(answer.text()),
        false => Ok(answer.text()),
    }
}
