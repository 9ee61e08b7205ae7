//! Times what git costs through us: judging a push, and a `git_status` through the proxy beside git's own.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use ic_policy::artifact::Source;
use ic_policy::{Containment, Policy, PolicySources, SandboxKind, ServerTraits, evaluate};
use ic_resolve::{Places, RealDisk, Resolver, bounds};
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits, ToolCall};
use serde_json::json;

use super::{Samples, build_binary, shown};
use crate::ground::Ground;
use crate::peer::Peer;

const PUSHES: usize = 5_000;
const STATUSES: usize = 200;
/// How much more judging a push may take than reading one file, in microseconds.
const PUSH_US_MAX: u128 = 300;
/// How much longer `git_status` may take through the proxy, in milliseconds.
const STATUS_MS_MAX: u128 = 5;

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let annotations = include_str!("../../../crates/ic-policy/policies/tool-annotations.json");
    let servers = json!({"git": {"builtin": "git"}});
    let ground = Ground::new(&servers, &serde_json::from_str(annotations)?)?;
    let repository = ground.path("sandbox").canonicalize()?.join("repo");
    std::fs::create_dir(&repository)?;
    git(&repository, &["init", "-q", "-b", "main", "."])?;
    git(&repository, &["remote", "add", "origin", "https://git.example.org/acme/app.git"])?;
    for at in 0..200 {
        std::fs::write(repository.join(format!("file{at}.txt")), format!("{at}\n"))?;
    }
    git(&repository, &["add", "."])?;
    git(&repository, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"])?;
    push(out, &ground, &repository, annotations)?;
    status(out, &ground, (&build_binary(given)?, &repository))
}

fn git(directory: &Path, words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("git").args(words).current_dir(directory).status()?;
    ensure!(status.success(), "git {words:?} failed");
    Ok(())
}

/// Times judging a push by the name of its remote, and reading one file, in turns.
fn push(
    out: &mut dyn Write,
    ground: &Ground,
    repository: &Path,
    annotations: &str,
) -> anyhow::Result<()> {
    let rules = r#"{"rules":[{"name":"ask","if":{},"then":"escalate","reason":"r"}]}"#;
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: annotations.as_bytes() },
        lists: None,
    };
    let at = |name: &str| AbsolutePath::new(ground.path(name));
    let places = Places {
        home: at("home")?,
        sandbox: Some((at("sandbox")?, SandboxKind::Workspace)),
        protected: vec![at("home/.ironcurtain")?],
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let policy = Policy::load(&sources, &locate)?;
    let traits = ServerTraits {
        containment: Containment::Contained,
        names_files: true,
        allowed_domains: Vec::new(),
    };
    let bounds = bounds::gather(&RealDisk, &places, HashMap::from([("git".parse()?, traits)]))?;
    let home = &places.home;
    let resolver = Resolver {
        disk: &RealDisk,
        home,
        sandbox: bounds.sandbox.as_ref(),
        orders: None,
        seen_as: None,
    };
    let arguments = json!({"path": repository, "remote": "origin", "branch": "main"}).to_string();
    let Json::Object(arguments) = Json::parse(arguments.as_bytes(), JsonLimits::CALL)? else {
        anyhow::bail!("arguments are an object");
    };
    let call = ToolCall { server: "git".parse()?, tool: "git_push".parse()?, arguments };
    let (mut judged, mut read) = (Samples::default(), Samples::default());
    let config = repository.join(".git/config");
    for _ in 0..PUSHES {
        let call = call.clone();
        let verdict = judged.time(|| evaluate(&policy, &bounds, resolver.resolve(&policy, call)));
        ensure!(verdict.rule() == "ask", "the benchmark asks about nothing: {verdict:?}");
        ensure!(!read.time(|| std::fs::read(&config))?.is_empty(), "the config is there");
    }
    let (judged, read) = (judged.percentile(50), read.percentile(50));
    let added = judged.saturating_sub(read);
    writeln!(
        out,
        "Judging a push: p50 {}, of which reading one file takes {}; {} beyond that (goal: {PUSH_US_MAX} µs).",
        shown(judged),
        shown(read),
        shown(added),
    )?;
    Ok(())
}

/// Times `git status` by itself and through the proxy, in turns.
fn status(
    out: &mut dyn Write,
    ground: &Ground,
    (binary, repository): (&Path, &Path),
) -> anyhow::Result<()> {
    let mut proxy = Peer::start(&mut ground.proxy(binary))?;
    proxy.ask("tools/list", &json!({}))?;
    let (mut direct, mut through) = (Samples::default(), Samples::default());
    for at in 0..STATUSES {
        // Each call differs from the last, or the circuit breaker would speak up.
        let text = repository.display().to_string() + &"/.".repeat(at % 40);
        std::fs::write(repository.join("changed.txt"), at.to_string())?;
        let words = ["status", "--porcelain", "--branch", "--untracked-files=all"];
        let mut own = Command::new("git");
        own.args(words).current_dir(repository).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let ran = direct.time(|| own.output())?;
        ensure!(ran.status.success(), "git status failed");
        let call = json!({"name": "git__git_status", "arguments": {"path": text}});
        let answer = through.time(|| proxy.ask("tools/call", &call))?;
        ensure!(answer.get("isError") != Some(&json!(true)), "{answer}");
    }
    proxy.close()?;
    let (direct, through) = (direct.percentile(50), through.percentile(50));
    writeln!(
        out,
        "`git status`: p50 {} by itself, {} through the proxy; {} added (goal: {STATUS_MS_MAX} ms).",
        shown(direct),
        shown(through),
        shown(through.saturating_sub(direct)),
    )?;
    Ok(())
}
