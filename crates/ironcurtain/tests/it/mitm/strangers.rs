//! Real agents and SDKs behind the gate, in a cage without network, with a provider that follows a script.
//!
//! What they send is compared with what was recorded of them, beside the providers' files in `ic-mitm`: a
//! new version that sends something else fails here, by name. The packages come from
//! `scripts/test-packages`; where they are missing these tests say so and do nothing, except in CI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ic_testkit::Place;
use ic_testkit::place::Output;
use ic_testkit::provider::{KEY, Reply, Request, Said, ScriptedProvider};
use ic_testkit::proxy::records;
use serde_json::{Value, json};

use crate::clients::Packages;

const HOSTS: [(&str, &str); 3] = [
    ("anthropic", "api.anthropic.com"),
    ("openai", "api.openai.com"),
    ("google", "generativelanguage.googleapis.com"),
];

/// What the provider says.
const ANSWER: &str = "Greetings from the provider.";

/// A client behind the gate.
struct Stage {
    packages: PathBuf,
    provider: ScriptedProvider,
    place: Place,
}

impl Stage {
    /// Sets the stage; `None`, loudly, where the packages are missing.
    fn set(script: impl IntoIterator<Item = Reply>) -> Option<Self> {
        let packages = Packages::find()?.0;
        let provider = ScriptedProvider::start_for_stranger(script);
        let variables = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
        let place = variables.iter().fold(crate::place(), |it, name| it.with_variable(name, KEY));
        let upstream = json!({"url": provider.url()}).to_string();
        for (_, host) in HOSTS {
            let set = place.run(["config", "set", &format!("mitm.upstreams.{host}"), &upstream]);
            assert_eq!(set.code, 0, "{}", set.stderr);
        }
        Some(Self { packages, provider, place })
    }

    /// Runs a shell script behind the gate; `$P` is where the packages are, `$S` where our scripts are.
    fn run(&self, provider: &str, script: &str) -> Output {
        self.run_with(provider, &[], script)
    }

    fn run_with(&self, provider: &str, options: &[&str], script: &str) -> Output {
        let (packages, scripts) = (self.packages.display().to_string(), scripts());
        let scripts = scripts.display().to_string();
        let script = format!("P={packages}; S={scripts}; {script}");
        let words = ["mitm", "--provider", provider, "--read", &packages, "--read", &scripts];
        self.place.run([&words[..], options, &["--", "sh", "-c", &script]].concat())
    }

    /// Checks that a client got its answer, and sent nothing that was not recorded of it.
    #[track_caller]
    fn check(&self, provider: &str, client: &str, output: &Output) {
        assert!(output.stdout.contains(ANSWER), "{client}: {} {}", output.stdout, output.stderr);
        let requests = self.provider.requests();
        assert!(!requests.is_empty(), "{client}");
        let recorded = recorded(provider, client);
        for request in &requests {
            let header = request.format.key_header();
            let keys = [KEY.to_owned(), format!("Bearer {KEY}")];
            let carries = |it: &&(String, String)| keys.contains(&it.1);
            let places: Vec<&str> =
                request.headers.iter().filter(carries).map(|it| it.0.as_str()).collect();
            assert!(places == [header] || places == ["authorization"], "{client}: {places:?}");
            let sent = sent(request);
            for (what, names) in &sent {
                let known = recorded.get(*what).into_iter().flatten();
                let known: BTreeSet<&String> = known.collect();
                let new: Vec<&String> = names.iter().filter(|it| !known.contains(it)).collect();
                assert!(new.is_empty(), "{client} sends {what} that were not recorded: {new:?}");
            }
        }
        for record in records(&self.place).iter().filter(|it| it["kind"] == "llm") {
            let event = &record["arguments"]["event"];
            let reason = record["reason"].as_str().unwrap_or_default();
            // Agents look for news and updates elsewhere, and try WebSockets first.
            let is_usual = reason.contains("this session reaches only")
                || reason.contains("protocol upgrades are not supported");
            assert!(event != "refused" || is_usual, "{client}: {record}");
            let notice = record["arguments"]["notice"].as_str().unwrap_or_default();
            let removed = recorded.get("betasRemoved").into_iter().flatten();
            let is_expected = notice.contains("took a new token")
                || removed.clone().any(|beta| notice.contains(beta.as_str()));
            assert!(event != "noticed" || is_expected, "{client}: {record}");
            for removed in record["arguments"]["removed"].as_array().into_iter().flatten() {
                let tools = recorded.get("tools").into_iter().flatten();
                let is_known = tools.clone().any(|it| removed == it);
                assert!(is_known, "{client}: {record}");
            }
        }
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// What a request holds, by name.
type Names = Vec<(&'static str, BTreeSet<String>)>;

fn sent(request: &Request) -> Names {
    let body = &request.body;
    let keys = body.as_object().unwrap().keys().cloned().collect();
    let mut tools = BTreeSet::new();
    tool_types(body, &mut tools);
    for item in body["input"].as_array().into_iter().flatten() {
        tool_types(item, &mut tools);
    }
    let betas = request.headers.iter().filter(|(name, _)| name == "anthropic-beta");
    let betas = betas.flat_map(|(_, value)| value.split(',')).map(|it| it.trim().to_owned());
    vec![("keys", keys), ("tools", tools), ("betas", betas.collect())]
}

/// Collects the types of the tools that an object holds.
fn tool_types(holder: &Value, types: &mut BTreeSet<String>) {
    for tool in holder["tools"].as_array().into_iter().flatten() {
        let is_google = tool.get("functionDeclarations").is_some();
        types.insert(match tool["type"].as_str() {
            _ if is_google => "functionDeclarations".to_owned(),
            Some(kind) => kind.to_owned(),
            None => "untyped".to_owned(),
        });
        tool_types(tool, types);
    }
}

/// Returns what was recorded of a client, whatever its version.
fn recorded(provider: &str, client: &str) -> std::collections::BTreeMap<String, Vec<String>> {
    let file = format!("../ic-mitm/src/provider/{provider}.recorded.json");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let prefix = format!("{client} ");
    let found = all["sent"].as_object().unwrap().iter().find(|(name, _)| name.starts_with(&prefix));
    let mut merged = std::collections::BTreeMap::new();
    for request in
        found.unwrap_or_else(|| panic!("{client} was not recorded")).1.as_array().unwrap()
    {
        for what in ["keys", "tools", "betas", "betasRemoved"] {
            let names = request[what].as_array().into_iter().flatten();
            let names = names.map(|it| it.as_str().unwrap().to_owned());
            merged.entry(what.to_owned()).or_insert_with(Vec::new).extend(names);
        }
    }
    merged
}

fn answer() -> Reply {
    Reply::Says(Said::text(ANSWER))
}

const CLAUDE: &str = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 $P/bin/claude --allowedTools Bash -p -- 'Go ahead.' </dev/null";
const CODEX: &str = "$P/bin/codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox 'Go ahead.' </dev/null";
const OPENCODE: &str =
    "echo 'Go ahead.' | OPENCODE_DISABLE_MODELS_FETCH=1 $P/bin/opencode run --pure";
const GOOSE: &str =
    "GOOSE_DISABLE_KEYRING=1 GOOSE_MODE=auto $P/bin/goose run -q -n x -t 'Go ahead.' </dev/null";

/// A provider of its own keeps Codex from looking elsewhere first.
const CODEX_SET_UP: &str = "mkdir -p $HOME/.codex; printf '%s\\n' 'model = \"gpt-5\"' 'model_provider = \"gate\"' \
     '[analytics]' 'enabled = false' '[model_providers.gate]' 'name = \"gate\"' \
     'base_url = \"https://api.openai.com/v1\"' 'env_key = \"OPENAI_API_KEY\"' 'wire_api = \"responses\"' \
     'supports_websockets = false' > $HOME/.codex/config.toml; ";

fn opencode(model: &str) -> String {
    format!(
        "mkdir -p $HOME/.config/opencode; echo '{{\"model\":\"{model}\",\"autoupdate\":false}}' \
         > $HOME/.config/opencode/opencode.json; {OPENCODE}"
    )
}

fn goose(provider: &str, model: &str) -> String {
    format!("export GOOSE_PROVIDER={provider} GOOSE_MODEL={model}; {GOOSE}")
}

#[track_caller]
fn works(provider: &str, client: &str, script: &str) {
    let Some(stage) = Stage::set([answer()]) else { return };
    let output = stage.run(provider, script);
    stage.check(provider, client, &output);
    assert_eq!(output.code, 0, "{client}: {}", output.stderr);
}

#[test]
fn claude_code_works_behind_the_gate_and_uses_its_tools() {
    let bash = Said::tool("toolu_1", "Bash", json!({"command": "echo from-the-shell-$((40 + 2))"}));
    let Some(stage) = Stage::set([Reply::Says(bash), answer()]) else { return };
    let output = stage.run("anthropic", CLAUDE);
    stage.check("anthropic", "claude-code", &output);
    let last = stage.provider.requests().pop().unwrap().body.to_string();
    assert!(last.contains("from-the-shell-42"), "{last}");
}

#[test]
fn claude_code_pays_by_its_login() {
    let Some(stage) = Stage::set([answer()]) else { return };
    let login = json!({"claudeAiOauth": {"accessToken": KEY, "refreshToken": "r",
        "expiresAt": 9_999_999_999_999_u64, "scopes": ["user:inference"]}});
    let file = stage.place.write("home/.claude/.credentials.json", login.to_string());
    let setting = ["config", "set", "agent.login.claude-code", file.to_str().unwrap()];
    let set = stage.place.run(setting);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let output = stage.run_with("anthropic", &["--login", "claude-code"], CLAUDE);
    stage.check("anthropic", "claude-code", &output);
    let asked = stage.provider.requests();
    let bearer = ("authorization".to_owned(), format!("Bearer {KEY}"));
    assert!(asked.iter().all(|it| it.headers.contains(&bearer)));
    assert_eq!(std::fs::read_to_string(file).unwrap(), login.to_string());
    // The file itself is not there for the agent, and its variable holds something else.
    let look = "cat $HOME/.claude/.credentials.json; echo; echo $CLAUDE_CODE_OAUTH_TOKEN";
    let output = stage.run_with("anthropic", &["--login", "claude-code"], look);
    assert!(output.stdout.contains("sk-ant-oat01-") && !output.stdout.contains(KEY), "{output:?}");
}

#[test]
fn codex_works_behind_the_gate() {
    works("openai", "codex", &format!("{CODEX_SET_UP}{CODEX}"));
}

/// As people start it: it tries other hosts and web sockets first, and has its tools in the conversation.
#[test]
fn codex_works_behind_the_gate_as_it_is_installed() {
    works("openai", "codex", CODEX);
}

#[test]
fn opencode_works_behind_the_gate() {
    works("anthropic", "opencode", &opencode("anthropic/claude-sonnet-4-6"));
    works("openai", "opencode", &opencode("openai/gpt-5"));
    works("google", "opencode", &opencode("google/gemini-2.5-pro"));
}

#[test]
fn goose_works_behind_the_gate() {
    works("anthropic", "goose", &goose("anthropic", "claude-sonnet-4-6"));
    works("openai", "goose", &goose("openai", "gpt-5"));
    works("google", "goose", &goose("google", "gemini-2.5-pro"));
}

/// Streamed and not, over HTTP/1.1 and HTTP/2: the answer and what it took come through unchanged.
#[test]
fn the_official_sdks_work_behind_the_gate() {
    for (provider, format) in [
        ("anthropic", "anthropic"),
        ("openai", "responses"),
        ("openai", "chat"),
        ("google", "gemini"),
    ] {
        for (client, program, modes) in [
            (
                "sdk-python",
                "$P/python/bin/python -B $S/sdk.py",
                &["whole", "stream", "whole 2", "stream 2"] as &[&str],
            ),
            ("sdk-typescript", "PACKAGES=$P $P/bin/node $S/sdk.mjs", &["whole", "stream"]),
        ] {
            for mode in modes {
                let Some(stage) = Stage::set([answer()]) else { return };
                let output = stage.run(provider, &format!("{program} {format} {mode}"));
                stage.check(provider, client, &output);
                let said = format!("said:|{ANSWER}|100|10");
                assert!(
                    output.stdout.contains(&said),
                    "{client} {format} {mode}: {}",
                    output.stdout
                );
                let is_streamed = stage.provider.request(0).unwrap().is_streamed();
                assert_eq!(is_streamed, mode.starts_with("stream"), "{client} {format} {mode}");
            }
        }
    }
}

#[test]
fn curl_works_behind_the_gate_over_both_versions_of_http() {
    let provider = ScriptedProvider::start_for_stranger([answer(), answer()]);
    let place = super::place(&provider);
    for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let script = format!(
            "curl -sS {option} -w '\\n%{{http_version}} %{{http_code}}' https://api.anthropic.com/v1/messages \
             -H \"x-api-key: $ANTHROPIC_API_KEY\" -H 'content-type: application/json' \
             -d '{{\"model\":\"claude-sonnet-4-6\",\"max_tokens\":9,\"messages\":[]}}'"
        );
        let output = place.run(["mitm", "--provider", "anthropic", "--", "sh", "-c", &script]);
        let ended = output.stdout.ends_with(&format!("\n{version} 200"));
        assert!(
            ended && output.stdout.contains("That is all."),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
}

/// The second run of an agent finds the budget used up, and shows its user why it has no answer.
#[test]
fn agents_show_that_the_budget_is_used_up() {
    for (provider, client, script) in [
        ("anthropic", "claude-code", CLAUDE.to_owned()),
        ("openai", "codex", format!("{CODEX_SET_UP}{CODEX}")),
        ("anthropic", "opencode", opencode("anthropic/claude-sonnet-4-6")),
        ("anthropic", "goose", goose("anthropic", "claude-sonnet-4-6")),
    ] {
        let Some(stage) = Stage::set([answer(), answer(), answer(), answer()]) else { return };
        let set = stage.place.run(["config", "set", "agent.budget.maxTotalTokens", "1"]);
        assert_eq!(set.code, 0, "{}", set.stderr);
        let output = stage.run(provider, &format!("{script}; echo; echo SECOND; ({script}) 2>&1"));
        let (_, second) = output.stdout.split_once("SECOND").unwrap();
        assert!(
            second.contains("the budget of this session is used up"),
            "{client}: {} {}",
            output.stdout,
            output.stderr
        );
    }
}
