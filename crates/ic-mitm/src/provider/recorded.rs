//! The lists against what was recorded: everything that real agents and SDKs send is passed on or removed,
//! never refused, and every tool that the SDKs document is known.
//!
//! What was recorded is beside each provider's file: names of keys, tools and betas, no contents. It is
//! compared with the programs of today by the tests of the `ironcurtain` crate.

use ic_types::Provider;
use serde_json::Value;

use super::{Format, Purpose, Rules, rules};

const RECORDED: [(Provider, &str); 3] = [
    (Provider::Anthropic, include_str!("anthropic.recorded.json")),
    (Provider::OpenAi, include_str!("openai.recorded.json")),
    (Provider::Google, include_str!("google.recorded.json")),
];

fn format(rules: &Rules, path: &Value) -> &'static Format {
    let endpoint = rules.endpoints.iter().find(|it| path == it.path).expect("an endpoint");
    match endpoint.purpose {
        Purpose::Complete(format) => format,
        Purpose::Count(_) | Purpose::List => panic!("{path} is not for completions"),
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("an array").iter().filter_map(Value::as_str).collect()
}

fn each(check: impl Fn(&'static Rules, &Value)) {
    for (provider, text) in RECORDED {
        check(rules(provider), &serde_json::from_str(text).expect("JSON"));
    }
}

#[test]
fn what_real_clients_send_is_not_refused() {
    let n_clients = std::cell::Cell::new(0);
    each(|rules, recorded| {
        for (client, requests) in recorded["sent"].as_object().expect("clients") {
            for request in requests.as_array().expect("requests") {
                let format = format(rules, &request["path"]);
                for key in texts(&request["keys"]) {
                    let is_known = format.takes(key) || format.removed_keys.contains(&key);
                    assert!(is_known, "{client}: {key}");
                }
                for tool in texts(&request["tools"]).into_iter().filter(|it| *it != "untyped") {
                    let mut all = format.tools.iter().chain(format.removed_tools);
                    assert!(all.any(|it| it.fits(tool)), "{client}: {tool}");
                }
                for beta in texts(&request["betas"]) {
                    let known = rules.beta.as_ref().is_some_and(|it| it.values.contains(&beta));
                    assert!(known, "{client}: {beta}");
                }
                // What nobody documents is removed, and named once.
                for beta in request["betasRemoved"].as_array().into_iter().flatten() {
                    let beta = beta.as_str().expect("a name");
                    let known = rules.beta.as_ref().is_some_and(|it| it.values.contains(&beta));
                    assert!(!known, "{client}: {beta}");
                }
            }
            n_clients.set(n_clients.get() + 1);
        }
    });
    assert_eq!(n_clients.get(), 14);
}

#[test]
fn every_documented_tool_is_known_and_those_that_providers_run_are_removed() {
    each(|rules, recorded| {
        for documented in recorded["documented"].as_array().expect("endpoints") {
            let format = format(rules, &documented["path"]);
            for tool in texts(&documented["agentRuns"]) {
                assert!(format.tools.iter().any(|it| it.fits(tool)), "{tool}");
            }
            for tool in texts(&documented["providerRuns"]) {
                assert!(format.removed_tools.iter().any(|it| it.fits(tool)), "{tool}");
                assert!(!format.tools.iter().any(|it| it.fits(tool)), "{tool}");
            }
        }
    });
}
