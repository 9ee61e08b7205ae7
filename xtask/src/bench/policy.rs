//! Times loading, deciding, and resolving with deciding, at 10 to 10,000 rules, and a whole batch.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Containment, Policy, PolicySources, Sandbox, SandboxKind, ServerTraits, evaluate,
};
use ic_resolve::{Places, RealDisk, Resolver, bounds};
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits, ToolCall};

use super::{Samples, build_binary, shown};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const ROUNDS: usize = 40;
const CALLS_PER_ROUND: usize = 250;
const LOADS: usize = 10;
const BATCH: usize = 100_000;
const MANY_PATHS: [usize; 4] = [10, 100, 1_000, 9_999];

/// One size of policy, and what was measured with it.
struct Subject {
    n_rules: usize,
    text: String,
    policy: Policy,
    decide: Samples,
    resolve: Samples,
    load: Samples,
}

/// A place on the real disk, for the calls to be about.
struct Ground {
    directory: tempfile::TempDir,
    home: AbsolutePath,
    bounds: Bounds,
}

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let ground = Ground::new()?;
    let mut subjects =
        SIZES.iter().map(|n_rules| Subject::new(*n_rules)).collect::<anyhow::Result<Vec<_>>>()?;
    let calls = ground.calls()?;
    for round in 0..ROUNDS {
        for subject in &mut subjects {
            subject.measure(&ground, &calls, round)?;
        }
    }
    writeln!(out, "| rules | decide p50 | decide p99 | resolve and decide p50 | p99 | load p50 |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    for Subject { n_rules, decide, resolve, load, .. } in &mut subjects {
        writeln!(
            out,
            "| {n_rules} | {} | {} | {} | {} | {} |",
            shown(decide.percentile(50)),
            shown(decide.percentile(99)),
            shown(resolve.percentile(50)),
            shown(resolve.percentile(99)),
            shown(load.percentile(50)),
        )?;
    }
    workspace(&ground, out)?;
    many_paths(&ground, out)?;
    let subject = subjects.last().context("there are sizes")?;
    batch(&ground, &subject.text, &build_binary(given)?, out)
}

impl Subject {
    fn new(n_rules: usize) -> anyhow::Result<Self> {
        let text = rules(n_rules);
        let policy = load(&text)?;
        let (decide, resolve, load) = Default::default();
        Ok(Self { n_rules, text, policy, decide, resolve, load })
    }

    fn measure(&mut self, ground: &Ground, calls: &[ToolCall], round: usize) -> anyhow::Result<()> {
        let resolver = ground.resolver();
        for call in calls.iter().cycle().take(CALLS_PER_ROUND) {
            let resolved = resolver.resolve(&self.policy, call.clone());
            let verdict = self.decide.time(|| evaluate(&self.policy, &ground.bounds, resolved));
            ensure!(
                verdict.rule() != "default-deny",
                "the benchmark asks about nothing: {verdict:?}"
            );
            let call = call.clone();
            drop(self.resolve.time(|| {
                evaluate(&self.policy, &ground.bounds, resolver.resolve(&self.policy, call))
            }));
        }
        if round < LOADS {
            drop(self.load.time(|| load(&self.text))?);
        }
        Ok(())
    }
}

/// Writes `n_rules` rules: directories, hosts, repositories, owners and tools in turn, all for the
/// same server, so that nothing but the index keeps a decision from asking them all.
fn rules(n_rules: usize) -> String {
    let mut text = String::from(r#"{"rules":["#);
    for at in 0..n_rules - 2 {
        let condition = match at % 4 {
            0 => format!(
                r#""paths":{{"roles":["read-path","write-path"],"within":"/data/d{at}/sub"}}"#
            ),
            1 => format!(
                r#""domains":{{"roles":["fetch-url"],"allowed":["h{at}.example","*.d{at}.example"]}}"#
            ),
            2 => format!(
                r#""lists":[{{"roles":["github-owner"],"allowed":["o{at}"],"matchType":"identifiers"}}]"#
            ),
            _ => format!(r#""tool":["tool{at}"]"#),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            r#"{{"name":"rule-{at}","if":{{"server":["bench"],{condition}}},"then":"allow","reason":"r"}},"#
        );
    }
    text.push_str(
        r#"{"name":"ask-reads","if":{"server":["bench"],"roles":["read-path"]},"then":"escalate","reason":"r"},
           {"name":"ask-rest","if":{"server":["bench"]},"then":"escalate","reason":"r"}]}"#,
    );
    text
}

const TOOLS: &str = r#"{"servers":{"bench":{"tools":[
    {"toolName":"read","args":{"path":["read-path"],"note":["none"]}},
    {"toolName":"move","args":{"source":["read-path","delete-path"],"destination":["write-path"]}},
    {"toolName":"write","args":{"path":["write-path"]}},
    {"toolName":"fetch","args":{"url":["fetch-url"]}},
    {"toolName":"issue","args":{"owner":["github-owner"]}}
]}}}"#;

fn load(rules: &str) -> anyhow::Result<Policy> {
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: TOOLS.as_bytes() },
        lists: None,
    };
    // Rules name directories that do not exist; finding that out on the disk is not what we measure.
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    Ok(Policy::load(&sources, &locate)?)
}

fn call(tool: &str, arguments: &str) -> anyhow::Result<ToolCall> {
    let Json::Object(arguments) = Json::parse(arguments.as_bytes(), JsonLimits::CALL)? else {
        anyhow::bail!("arguments are an object");
    };
    Ok(ToolCall { server: "bench".parse()?, tool: tool.parse()?, arguments })
}

impl Ground {
    fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let at = |name: &str| AbsolutePath::new(directory.path().join(name));
        std::fs::create_dir_all(directory.path().join("sandbox/project/src"))?;
        std::fs::create_dir_all(directory.path().join("home"))?;
        std::fs::write(directory.path().join("sandbox/project/src/main.rs"), "fn main() {}")?;
        let places = Places {
            home: at("home")?,
            sandbox: Some((at("sandbox")?, SandboxKind::Session)),
            protected: vec![at("home/.ironcurtain")?],
        };
        let traits = ServerTraits {
            names_files: false,
            containment: Containment::ContainedFilesystem,
            allowed_domains: Vec::new(),
        };
        let servers = HashMap::from([("bench".parse()?, traits)]);
        let bounds = bounds::gather(&RealDisk, &places, servers)?;
        Ok(Self { directory, home: places.home, bounds })
    }

    fn resolver(&self) -> Resolver<'_> {
        Resolver {
            disk: &RealDisk,
            home: &self.home,
            sandbox: self.bounds.sandbox.as_ref(),
            orders: None,
            seen_as: None,
        }
    }

    /// One-path calls, in and outside the sandbox, and one of each other kind.
    fn calls(&self) -> anyhow::Result<Vec<ToolCall>> {
        let file = self.directory.path().join("sandbox/project/src/main.rs");
        Ok(vec![
            call("read", r#"{"path":"project/src/main.rs"}"#)?,
            call("read", &format!(r#"{{"path":{:?}}}"#, file.display().to_string()))?,
            call("read", r#"{"path":"/data/d8/sub/file.txt"}"#)?,
            call("read", r#"{"path":"/etc/hostname"}"#)?,
            call("fetch", r#"{"url":"https://a.d5.example/x"}"#)?,
            call("issue", r#"{"owner":"O2"}"#)?,
        ])
    }
}

/// Times a write five levels deep, in a session's sandbox and in a workspace, in turns.
fn workspace(ground: &Ground, out: &mut dyn Write) -> anyhow::Result<()> {
    let policy = load(&rules(10))?;
    let root = ground.directory.path().join("sandbox");
    std::fs::create_dir_all(root.join("a/b/c/d"))?;
    let sandbox = |kind| -> anyhow::Result<Sandbox> {
        Ok(Sandbox { path: CanonicalPath::new(root.canonicalize()?)?, kind })
    };
    let kinds = [sandbox(SandboxKind::Session)?, sandbox(SandboxKind::Workspace)?];
    let mut samples: [Samples; 2] = Default::default();
    let call = call("write", r#"{"path":"a/b/c/d/new.txt"}"#)?;
    for _ in 0..ROUNDS * CALLS_PER_ROUND {
        for (sandbox, samples) in kinds.iter().zip(&mut samples) {
            let resolver = Resolver { sandbox: Some(sandbox), ..ground.resolver() };
            let call = call.clone();
            drop(samples.time(|| resolver.resolve(&policy, call)));
        }
    }
    for (name, samples) in ["a session's sandbox", "a workspace"].iter().zip(&mut samples) {
        let (p50, p99) = (samples.percentile(50), samples.percentile(99));
        writeln!(
            out,
            "\nResolving a write five levels deep in {name}: p50 {}, p99 {}.",
            shown(p50),
            shown(p99)
        )?;
    }
    Ok(())
}

/// Times calls with many paths five levels deep in a workspace: the time grows with their number.
fn many_paths(ground: &Ground, out: &mut dyn Write) -> anyhow::Result<()> {
    let policy = load(&rules(10))?;
    let path = CanonicalPath::new(ground.directory.path().join("sandbox").canonicalize()?)?;
    let sandbox = Sandbox { path, kind: SandboxKind::Workspace };
    let resolver = Resolver { sandbox: Some(&sandbox), ..ground.resolver() };
    writeln!(out, "\n| paths of one call | resolve and decide p50 | p99 |\n|---:|---:|---:|")?;
    for n_paths in MANY_PATHS {
        let paths: Vec<String> = (0..n_paths).map(|at| format!("\"a/b/c/d/f{at}\"")).collect();
        let call = call("write", &format!(r#"{{"path":[{}]}}"#, paths.join(",")))?;
        let mut samples = Samples::default();
        for _ in 0..ROUNDS {
            let call = call.clone();
            drop(
                samples.time(|| evaluate(&policy, &ground.bounds, resolver.resolve(&policy, call))),
            );
        }
        let (p50, p99) = (samples.percentile(50), samples.percentile(99));
        writeln!(out, "| {n_paths} | {} | {} |", shown(p50), shown(p99))?;
    }
    Ok(())
}

/// Runs the real binary over many one-path requests.
fn batch(ground: &Ground, rules: &str, binary: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = ground.directory.path();
    let policy = root.join("policy");
    std::fs::create_dir(&policy)?;
    std::fs::write(policy.join("compiled-policy.json"), rules)?;
    std::fs::write(policy.join("tool-annotations.json"), TOOLS)?;
    let mut requests = String::new();
    for at in 0..BATCH {
        let path =
            if at % 2 == 0 { "project/src/main.rs".to_owned() } else { format!("new/f{at}") };
        let _ = writeln!(
            requests,
            r#"{{"server":"bench","tool":"read","arguments":{{"path":"{path}"}}}}"#
        );
    }
    let file = root.join("requests.jsonl");
    std::fs::write(&file, requests)?;
    let start = Instant::now();
    let output = Command::new(binary)
        .args(["policy", "check", "--requests"])
        .arg(&file)
        .arg("--policy")
        .arg(&policy)
        .arg("--sandbox")
        .arg(root.join("sandbox"))
        .env("HOME", root.join("home"))
        .stderr(Stdio::inherit())
        .output()?;
    let elapsed = start.elapsed();
    let n_answers = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    ensure!(output.status.success() && n_answers == BATCH, "{n_answers} of {BATCH} answers");
    writeln!(
        out,
        "\nThe binary answers a batch of {BATCH} one-path requests under {} rules in {} (start-up and load included).",
        SIZES.last().unwrap_or(&0),
        shown(elapsed)
    )?;
    Ok(())
}

/// Returns the permit of an allowed call, for other benchmarks to record.
pub(super) fn permit(at: usize) -> anyhow::Result<ic_policy::Permit> {
    let ground = Ground::new()?;
    let policy = load(&rules(10))?;
    let call = call("read", &format!(r#"{{"path":"project/f{at}"}}"#))?;
    let resolved = ground.resolver().resolve(&policy, call);
    match evaluate(&policy, &ground.bounds, resolved) {
        ic_policy::Verdict::Allow(permit) => Ok(permit),
        other => anyhow::bail!("not allowed: {other:?}"),
    }
}
