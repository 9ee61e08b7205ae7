//! Times `policy verify`, `policy diff` and `policy replay` at 10 to 10,000 rules and 1,000,000 calls.
//!
//! Nothing but the analysis is timed: no file is read and no policy is loaded from one.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_analysis::property::verify;
use ic_analysis::replay::{Answer, Intent, Tally};
use ic_analysis::{Comparison, Subject};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Builtin, Containment, Policy, PolicySources, Sandbox, SandboxKind, ServerTraits, record,
};
use ic_types::{CanonicalPath, Json, JsonLimits, Object};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const RECORDS: usize = 1_000_000;
const BATCH: usize = 16_384;
const THREADS: usize = 2;
/// What is in a directory for each rule, so that none hides another.
const HOME: &str = "/home/u";

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let bounds = bounds()?;
    writeln!(out, "| policy | verify | diff with one directory more | diff with one host more |")?;
    writeln!(out, "|---|---:|---:|---:|")?;
    for builtin in Builtin::ALL {
        let sources = builtin.sources();
        let compiled = String::from_utf8_lossy(sources.compiled.bytes);
        let load = |text: &str| {
            let compiled = Source { bytes: text.as_bytes(), ..sources.compiled };
            load(&PolicySources { compiled, ..sources })
        };
        measure(builtin.name(), &compiled, &load, (&bounds, out))?;
    }
    for n_rules in SIZES {
        let load = |text: &str| load_text(text);
        measure(&format!("{n_rules} rules"), &rules(n_rules), &load, (&bounds, out))?;
    }
    for n_rules in [10, 10_000] {
        let policy = load_text(&rules(n_rules))?;
        let elapsed = replay(Subject { policy: &policy, bounds: &bounds })?;
        let seconds = elapsed.as_secs_f64();
        writeln!(
            out,
            "replay of {RECORDS} calls with {n_rules} rules, {THREADS} threads: {seconds:.1} s"
        )?;
    }
    Ok(())
}

/// Times the analysis of the policy `written`, and its comparison with others that have a rule more.
fn measure(
    name: &str,
    written: &str,
    load: &dyn Fn(&str) -> anyhow::Result<Policy>,
    (bounds, out): (&Bounds, &mut dyn Write),
) -> anyhow::Result<()> {
    let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let policy = load(written)?;
    let start = Instant::now();
    verify(Subject { policy: &policy, bounds }, &[], &|_| None)?;
    write!(out, "| {name} | {:.0} ms |", ms(start))?;
    for condition in [
        r#""paths":{"roles":["read-path"],"within":"/data"}"#,
        r#""domains":{"roles":["fetch-url"],"allowed":["more.example"]}"#,
    ] {
        let rule = format!(r#"{{"name":"more","if":{{{condition}}},"then":"deny","reason":"r"}},"#);
        let at =
            written.find("\"rules\"").and_then(|at| Some(at + written.get(at..)?.find('[')? + 1));
        let mut more = written.to_owned();
        more.insert_str(at.context("there are no rules")?, &rule);
        let more = load(&more)?;
        ensure!(more.rules().len() == policy.rules().len() + 1, "no rule was added");
        let start = Instant::now();
        let sides = [&policy, &more].map(|policy| Subject { policy, bounds });
        let [before, after] = sides;
        let changes = Comparison::new(before, after).changes()?;
        write!(out, " {:.0} ms |", ms(start))?;
        ensure!(!changes.is_empty(), "the policies of the benchmark do not differ");
    }
    Ok(writeln!(out)?)
}

/// Judges recorded calls as `policy replay` does: parsed and judged on all threads, added up on one.
fn replay(subject: Subject<'_>) -> anyhow::Result<Duration> {
    let lines = lines(subject.policy)?;
    let mut tally = Tally::default();
    let start = Instant::now();
    for batch in 0..RECORDS.div_ceil(BATCH) {
        let n_lines = BATCH.min(RECORDS - batch * BATCH);
        let part = n_lines.div_ceil(THREADS);
        let judged: Vec<(Intent, Answer)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let lines = &lines;
                    let (from, to) = (thread * part, ((thread + 1) * part).min(n_lines));
                    scope.spawn(move || {
                        (from..to).filter_map(|at| judged(at, lines, subject)).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|it| it.join().unwrap_or_default()).collect()
        });
        for (intent, answer) in judged {
            tally.add(intent, answer, Some(subject.policy));
        }
    }
    let elapsed = start.elapsed();
    ensure!(tally.n_calls == RECORDS && tally.n_unknown() == 0, "{tally:?}");
    Ok(elapsed)
}

fn judged(at: usize, lines: &[String], subject: Subject<'_>) -> Option<(Intent, Answer)> {
    let line = lines.get(at % lines.len())?;
    let Ok(Json::Object(fields)) = Json::parse(line.as_bytes(), JsonLimits::ARTIFACT) else {
        return None;
    };
    let intent = Intent::read(fields)?;
    let answer = intent.judge(subject, None);
    Some((intent, answer))
}

/// Writes records as a session would have: reads, writes and fetches, with hash chain and all.
fn lines(policy: &Policy) -> anyhow::Result<Vec<String>> {
    let calls = [
        ("filesystem", "read_file", "read-path", "path"),
        ("filesystem", "write_file", "write-path", "path"),
        ("filesystem", "list_directory", "read-path", "path"),
        ("fetch", "http_fetch", "fetch-url", "url"),
    ];
    let mut lines = Vec::new();
    for at in 0..1000_usize {
        let Some((server, tool, role, argument)) = calls.get(at % calls.len()) else { continue };
        let text = match *role {
            "fetch-url" => format!("https://h{at}.example/page/{at}"),
            _ => format!("/data/d{}/sub/file-{at}.txt", at % 100),
        };
        let mut arguments = Object::new();
        arguments.insert(*argument, text.as_str());
        let annotation = policy.annotation(&server.parse()?, &tool.parse()?);
        let places = annotation.map(|it| it.places(&arguments)).unwrap_or_default();
        let value = match *role {
            "fetch-url" => format!(r#"{{"destination":"h{at}.example","url":"{text}"}}"#),
            _ => format!(
                r#"{{"bytes":120,"device":1,"inode":{at},"kind":"file","modified":"1.000000000","path":"{text}"}}"#
            ),
        };
        let (hash, meaning) = ("0".repeat(64), record::meaning(&places));
        lines.push(format!(
            r#"{{"arguments":{},"behind":{{"roles":"{meaning}"}},"confined":"namespaces","decidedBy":"policy","hash":"{hash}","kind":"intent","policyHash":"{hash}","prevHash":"{hash}","reason":"The rules say so","replayable":true,"requestId":"r-{at}","resolved":{{"{role}":[{value}]}},"rule":"rule","seq":{at},"server":"{server}","sessionId":"2026-11-15-00-00-00-123-aaaa","timestamp":"2026-11-15T00:00:00.123Z","tool":"{tool}","verdict":"allow"}}"#,
            Json::Object(arguments)
        ));
    }
    Ok(lines)
}

/// Writes rules about directories and hosts of their own, for the built-in servers.
fn rules(n_rules: usize) -> String {
    let mut text = String::from(r#"{"rules":["#);
    for at in 0..n_rules.saturating_sub(1) {
        let condition = match at % 2 {
            0 => format!(
                r#""paths":{{"roles":["read-path","write-path"],"within":"/data/d{at}/sub"}}"#
            ),
            _ => format!(r#""domains":{{"roles":["fetch-url"],"allowed":["h{at}.example"]}}"#),
        };
        // Writing to a string cannot fail.
        let _ =
            write!(text, r#"{{"name":"r{at}","if":{{{condition}}},"then":"allow","reason":"r"}},"#);
    }
    text.push_str(r#"{"name":"rest","if":{},"then":"escalate","reason":"r"}]}"#);
    text
}

fn load_text(rules: &str) -> anyhow::Result<Policy> {
    let annotations = Builtin::Default.sources().annotations;
    let compiled = Source { file: "compiled-policy.json", bytes: rules.as_bytes() };
    load(&PolicySources { compiled, annotations, lists: None })
}

fn load(sources: &PolicySources<'_>) -> anyhow::Result<Policy> {
    let locate = |text: &str| {
        let text = text.replace('~', HOME).replace("${SANDBOX}", "/home/u/.ironcurtain/sandbox");
        CanonicalPath::new(text).map_err(|error| error.to_string())
    };
    Ok(Policy::load(sources, &locate)?)
}

fn bounds() -> anyhow::Result<Bounds> {
    let server = |containment| ServerTraits {
        containment,
        names_files: containment == Containment::Contained,
        allowed_domains: Vec::new(),
    };
    let names = ic_policy::bounds::PROTECTED_HOME_NAMES.iter();
    let protected = names.map(|name| CanonicalPath::new(format!("{HOME}/{name}")));
    let path = CanonicalPath::new("/home/u/.ironcurtain/sandbox")?;
    Ok(Bounds {
        sandbox: Some(Sandbox { path, kind: SandboxKind::Session }),
        protected: protected.collect::<Result<_, _>>()?,
        home_executes: Vec::new(),
        servers: HashMap::from([
            ("filesystem".parse()?, server(Containment::ContainedFilesystem)),
            ("git".parse()?, server(Containment::Contained)),
            ("fetch".parse()?, server(Containment::Loose)),
        ]),
    })
}
