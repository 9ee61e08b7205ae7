//! URIs that parsers read in different ways, sent to servers in Node and Python that would read the file.

use std::path::{Path, PathBuf};

use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use super::python;
use crate::{alone, place};

const CANARY: &str = "canary-7b21";

/// A place with a secret that the servers can read and the policy keeps.
struct Rig {
    place: Place,
    secret: PathBuf,
}

impl Rig {
    /// Starts a proxy with one server, whose URIs of its own may all be read.
    fn start(command: &Path, script: &str) -> (Self, Proxy) {
        let place = place();
        let secret = place.write("kept/secret.txt", CANARY);
        place.write("open/page.txt", "an open page");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let cage =
            json!({"filesystem": {"allowRead": [scripts, place.path("kept"), place.path("open")]}});
        let entry = json!({"command": command, "args": [scripts.join(script)], "sandbox": cage});
        let file = place.write("servers.json", alone(json!({"urls": entry})).to_string());
        let none = |names: &[&str]| {
            names
                .iter()
                .map(|name| ((*name).to_owned(), json!(["none"])))
                .collect::<serde_json::Map<_, _>>()
        };
        let tools = [
            ("resources/read", none(&["uri"])),
            ("resources/subscribe", none(&["uri"])),
            ("completion/complete", none(&["ref", "argument", "context"])),
        ];
        let tools: Vec<Value> =
            tools.iter().map(|(name, args)| json!({"toolName": name, "args": args})).collect();
        place.write(
            "policy/tool-annotations.json",
            json!({"servers": {"urls": {"tools": tools}}}).to_string(),
        );
        let open = place.path("open");
        let rules = json!({"rules": [
            {"name": "open", "if": {"paths": {"roles": ["read-path"], "within": open}}, "then": "allow", "reason": "open"},
            {"name": "no-files", "if": {"roles": ["read-path"]}, "then": "deny", "reason": "kept"},
            {"name": "no-web", "if": {"roles": ["fetch-url"]}, "then": "deny", "reason": "kept"},
            {"name": "rest", "if": {}, "then": "allow", "reason": "its own"},
        ]});
        place.write("policy/compiled-policy.json", rules.to_string());
        let policy = place.path("policy");
        let words = ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()];
        let mut proxy = Proxy::start(&place, &words);
        proxy.initialize();
        (Self { place, secret }, proxy)
    }
}

/// The URI of `path` in spellings of which some parser drops a part.
fn spellings(path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    let mut all = Vec::new();
    for slashes in ["", "//"] {
        for before in [
            " ", "\t", "\n", "\r", "\u{0}", "\u{1}", "\u{1f}", "\u{7f}", "\u{a0}", "\u{feff}",
            "\u{200b}", "  \n", "<", "URL:", "URL: ", "%20",
        ] {
            all.push(format!("{before}file:{slashes}{path}"));
        }
        for scheme in [
            "fi\nle",
            "fi\tle",
            "f\rile",
            "file\n",
            "FILE",
            "File",
            "%66ile",
            "fil%65",
            "file ",
            "local_file",
            "ｆile",
        ] {
            all.push(format!("{scheme}:{slashes}{path}"));
        }
        for after in [" ", "\n", "\t", "\u{0}", "\u{1f}", "#x", "?x"] {
            all.push(format!("file:{slashes}{path}{after}"));
        }
    }
    let back = path.replace('/', "\\");
    all.extend([
        format!("file:{back}"),
        format!("file:\\\\{back}"),
        format!("file:///{}", path.trim_start_matches('/')).replace("file:/", "file:\\"),
    ]);
    all
}

fn check(command: &Path, script: &str) {
    let (rig, mut proxy) = Rig::start(command, script);
    // The server does read what it may be asked for.
    let open = format!("file://{}", rig.place.path("open/page.txt").display());
    let read = proxy.request("resources/read", &json!({"uri": open}));
    assert!(read.line.contains("an open page"), "{}", read.line);
    let complete = |uri: &str| json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "x", "value": ""}});
    let read = proxy.request("completion/complete", &complete(&open));
    assert!(read.line.contains("an open page"), "{}", read.line);
    let plain = format!("file://{}", rig.secret.display());
    for uri in spellings(&rig.secret).iter().chain([&plain]) {
        for (method, params) in [
            ("resources/read", json!({"uri": uri})),
            ("resources/subscribe", json!({"uri": uri})),
            ("completion/complete", complete(uri)),
        ] {
            let answer = proxy.request(method, &params);
            assert!(!answer.line.contains(CANARY), "{method} {uri:?}: {}", answer.line);
            let rule = answer.json().pointer("/error/data/ironcurtain/rule").cloned();
            let expected = if *uri == plain { "no-files" } else { "structural-invalid-value" };
            assert_eq!(rule, Some(json!(expected)), "{method} {uri:?}: {}", answer.line);
        }
    }
    // What is its own stays its own.
    let own = proxy.request("resources/read", &json!({"uri": "demo://x"}));
    assert!(own.line.contains("cannot read it"), "{}", own.line);
    proxy.finish();
}

#[test]
fn no_spelling_of_a_uri_makes_python_read_what_was_not_judged() {
    check(&python(), "urls.py");
}

#[test]
fn no_spelling_of_a_uri_makes_node_read_what_was_not_judged() {
    let node = Path::new("/usr/bin/node");
    if !node.exists() {
        assert!(std::env::var_os("CI").is_none(), "there is no node");
        eprintln!("there is no node here, so this was not tried");
        return;
    }
    check(node, "urls.mjs");
}
