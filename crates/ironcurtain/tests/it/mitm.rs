//! `ironcurtain mitm`: a real program in its cage, the gate, and a provider that follows a script.

mod nowhere;
mod strangers;

use std::io::{BufRead as _, BufReader};

use ic_testkit::Place;
use ic_testkit::provider::{KEY, Reply, Said, ScriptedProvider};
use ic_testkit::proxy::{Process, records};
use rustix::process::Signal;

use crate::place as new_place;

const HOST: &str = "api.anthropic.com";

/// What a client does: it asks once, and prints what comes.
const CLIENT: &str = r#"
import json, os, sys, urllib.request, urllib.error
body = json.loads(sys.argv[1])
headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
headers["x-api-key"] = sys.argv[2] if len(sys.argv) > 2 else os.environ["ANTHROPIC_API_KEY"]
asked = urllib.request.Request("https://api.anthropic.com/v1/messages", json.dumps(body).encode(), headers)
try:
    answer = urllib.request.urlopen(asked)
    print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"#;

fn place(provider: &ScriptedProvider) -> Place {
    let place = new_place().with_variable("ANTHROPIC_API_KEY", KEY);
    let upstream = format!(r#"{{"url":"{}"}}"#, provider.url());
    let set = place.run(["config", "set", &format!("mitm.upstreams.{HOST}"), &upstream]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    place
}

fn client(place: &Place, arguments: &[&str]) -> ic_testkit::place::Output {
    let words = ["mitm", "--provider", "anthropic", "--", "python3", "-c", CLIENT];
    place.run([&words, arguments].concat())
}

const BODY: &str = r#"{"model":"claude-sonnet-4-6","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#;

#[test]
fn a_program_behind_the_gate_never_sees_the_key() {
    let provider = ScriptedProvider::start_for_stranger([Reply::Says(Said::text("Hello."))]);
    let place = place(&provider);
    let output = client(&place, &[BODY]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(output.stdout.starts_with("200 event: message_start"), "{}", output.stdout);
    let asked = provider.request(0).unwrap();
    assert!(asked.headers.contains(&("x-api-key".to_owned(), KEY.to_owned())));
    assert!(asked.body.get("tools").is_none(), "{}", asked.body);
    // What it took, and what was removed, is in the log; the key is in no file.
    let records = records(&place);
    let llm: Vec<_> =
        records.iter().filter(|it| it["kind"] == "llm").map(|it| &it["arguments"]).collect();
    assert_eq!(llm.len(), 2, "{llm:?}");
    assert_eq!(llm[0]["removed"][0], "web_search_20250305");
    assert_eq!((&llm[1]["status"], &llm[1]["estimated"]), (&200.into(), &false.into()));
    assert_ne!(llm[1]["costBillionths"].as_u64(), Some(0));
    for (path, text) in place.files("home/.ironcurtain") {
        assert!(!text.contains(KEY), "{}", path.display());
    }
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    // Nor is it where a program looks.
    let look = "env; cat /proc/self/environ /proc/1/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
                cat \"$SSL_CERT_FILE\"; ls -R \"$HOME\"";
    let output = place.run(["mitm", "--provider", "anthropic", "--", "sh", "-c", look]);
    assert!(output.stdout.contains("ANTHROPIC_API_KEY=sk-ant-api03-"), "{}", output.stdout);
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY));
    assert!(!output.stdout.contains("PRIVATE KEY") && !output.stdout.contains("ca-key.pem"));
}

#[test]
fn a_program_behind_the_gate_reaches_nothing_else() {
    let provider = ScriptedProvider::start_for_stranger([]);
    let place = place(&provider);
    let address = provider.address();
    let connect = format!(
        "import socket; socket.create_connection(('{}', {}), 5)",
        address.ip(),
        address.port()
    );
    // Outside of the cage it does.
    let outside = std::process::Command::new("python3").args(["-c", &connect]).status().unwrap();
    assert!(outside.success());
    for attempt in [
        connect.as_str(),
        "import socket; socket.socket(socket.AF_UNIX)",
        "import urllib.request; urllib.request.urlopen('https://example.com')",
        "import urllib.request; urllib.request.urlopen('http://api.anthropic.com/v1/models')",
        "open('../../../config.json')",
    ] {
        let output = place.run(["mitm", "--provider", "anthropic", "--", "python3", "-c", attempt]);
        assert_eq!(output.code, 1, "{attempt}: {} {}", output.stdout, output.stderr);
        assert!(output.stderr.contains("Error"), "{attempt}: {}", output.stderr);
    }
    assert_eq!(provider.n_requests(), 0);
    // A key of somebody else's is refused, and that is written down.
    let output = client(&place, &[BODY, "sk-ant-api03-somebody-else"]);
    assert!(output.stdout.starts_with("403 "), "{}", output.stdout);
    assert!(output.stdout.contains("not the one that this session was given"), "{}", output.stdout);
    assert_eq!(provider.n_requests(), 0);
    let records = records(&place);
    let refused =
        records.iter().filter(|it| it["kind"] == "llm" && it["verdict"] == "deny").count();
    assert_eq!(refused, 3, "two hosts and a key");
}

#[test]
fn the_gate_alone_prints_its_environment_and_ends_with_a_signal() {
    let provider = ScriptedProvider::start_for_stranger([]);
    let place = place(&provider);
    let mut child = place
        .command(["mitm", "--provider", "anthropic", "--listen", "127.0.0.1:0"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut proxy = None;
    for line in lines.by_ref().map(Result::unwrap) {
        let name = line.strip_prefix("export ").unwrap().split('=').next().unwrap().to_owned();
        if name == "HTTPS_PROXY" {
            proxy = line.split('\'').nth(1).map(ToOwned::to_owned);
        }
        if name == "CARGO_HTTP_CAINFO" {
            break;
        }
    }
    let address = proxy.unwrap().trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(
        &mut stream,
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )
    .unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    Process::hold(child.id()).send(Signal::TERM);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_meant_is_said() {
    let place = new_place();
    for (words, part) in [
        (&["mitm", "--provider", "acme"] as &[&str], "is not a provider"),
        (&["mitm", "--provider", "anthropic", "--listen", "0.0.0.0:0"], "loopback"),
        (&["mitm", "--provider", "anthropic", "--", "true"], "there is no key for `anthropic`"),
        (
            &["mitm", "--provider", "openai-compatible", "--", "true"],
            "no address of an OpenAI-compatible server",
        ),
    ] {
        let output = place.run(words);
        assert_ne!(output.code, 0, "{words:?}");
        assert!(output.stderr.contains(part), "{words:?}: {}", output.stderr);
    }
    let place = new_place().with_variable("ANTHROPIC_API_KEY", KEY);
    let home = place.path("home/.ironcurtain");
    let shown = place.run([
        "mitm",
        "--provider",
        "anthropic",
        "--read",
        home.to_str().unwrap(),
        "--",
        "true",
    ]);
    assert!(shown.stderr.contains("would show the IronCurtain home"), "{}", shown.stderr);
}

#[test]
fn the_authority_is_shown_and_made_anew() {
    let place = new_place();
    let first = place.run(["ca", "show"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stdout.starts_with("-----BEGIN CERTIFICATE-----"), "{}", first.stdout);
    assert_eq!(place.run(["ca", "show"]).stdout, first.stdout);
    assert_eq!(place.run(["ca", "rotate"]).code, 0);
    assert_ne!(place.run(["ca", "show"]).stdout, first.stdout);
}
