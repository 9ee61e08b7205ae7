//! `ironcurtain policy verify`: what does the policy let through?

use std::path::PathBuf;

use ic_analysis::describe::{self, Length, Names};
use ic_analysis::property::{
    self, Acceptance, ExampleCall, Finding, Level, NotVerified, Properties,
};
use ic_analysis::{Asked, Line, Subject, Table};
use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox};
use ic_policy::{Sandbox, SandboxKind};
use ic_types::{Json, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::commands::Exit;
use crate::error::Failure;
use crate::files;
use crate::judge::{self, JudgeArgs};
use crate::own_policy::difference::home_of;
use crate::screen::{Screen, visible};

/// Check what the policy lets through, completely
///
/// Looks through every region of calls that the policy can tell apart, and checks properties: nothing is
/// changed or sent outside the sandbox without approval, except in places that a rule names; protected
/// paths cannot be reached; every rule decides about something; no rule allows more than its sentence
/// names; no free text is sent to hosts or addresses that a rule does not name one by one. Without
/// `--sandbox` the calls are judged as in a new session. Exits with 0 if all properties hold and with 1 if one does not.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// TOML file with further properties (`never`, `always-ask`, `allowed`) and accepted findings (`accept`)
    ///
    /// For example `never = [{ tools = ["filesystem.delete_file"], within = ["~/archive"] }]`. The keys
    /// `servers`, `tools`, `roles`, `within`, `outside` and `hosts` limit what a property is about.
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// Print the complete decision table instead
    #[arg(long)]
    table: bool,
    /// Print the findings, or the table, as a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownFinding<'a> {
    property: &'a str,
    level: &'static str,
    problem: &'a str,
    rule: &'a str,
    sentence: Option<&'a str>,
    tools: &'a [String],
    example: ShownExample,
}

/// A call, as `policy check` would be asked about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownExample {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) arguments: Box<RawValue>,
    /// What is said of it with this machine's disk as it is.
    pub(super) decision: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownLine {
    server: String,
    tool: String,
    role: Option<&'static str>,
    values: String,
    /// The values, each place, host or name by itself.
    places: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    beside: String,
    decision: &'static str,
    rule: String,
    example: Option<String>,
}

/// Runs the command.
pub(crate) fn run(
    args: &VerifyArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let loaded =
        judge::load(&args.judge.wanted(environment)?, NoSandbox::Fresh, environment, screen)?;
    if args.table {
        return print_table(&loaded, args.json, screen);
    }
    let locate = |text: &str| {
        let found = loaded.roots.locate(text, &loaded.judge.home, &loaded.sandbox);
        found.map_err(|fault| fault.to_string())
    };
    let properties = match &args.properties {
        Some(path) => {
            let text = String::from_utf8_lossy(&files::read(path)?).into_owned();
            property::read(&text, &locate)
                .map_err(|error| Failure::config(format!("`{}`: {error}", path.display())))?
        }
        None => Properties::default(),
    };
    let place_of = |text: &str| locate(text).ok();
    let mut found =
        property::verify(subject(&loaded), &properties.own, &place_of).map_err(|error| {
            match (error, &args.properties) {
                (NotVerified::Property(fault), Some(path)) => {
                    Failure::config(format!("`{}`: {fault}", path.display()))
                }
                (error, _) => Failure::config(error.to_string()),
            }
        })?;
    for Acceptance { property, rule, .. } in properties.accept(&mut found) {
        let text = format!("`{property}` of `{rule}` is accepted, and there is no such finding");
        screen.warning(&visible(&text));
    }
    if args.json {
        let shown: Vec<ShownFinding<'_>> = found.iter().map(|it| shown(it, &loaded)).collect();
        screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
    } else {
        print(&found, &loaded, screen)?;
    }
    let holds = !found.iter().any(|it| it.level == Level::Failed);
    Ok(if holds { Exit::Success } else { Exit::Failed })
}

/// Returns the policy in its surroundings.
pub(super) fn subject(loaded: &Loaded) -> Subject<'_> {
    Subject { policy: &loaded.judge.policy, bounds: &loaded.judge.bounds }
}

pub(super) fn too_complex(error: &ic_analysis::TooComplex) -> Failure {
    Failure::config(error.to_string())
}

/// Writes a call so that it can be pasted behind `ironcurtain policy check`.
pub(super) fn pasted(example: &ShownExample, sandbox: Option<&Sandbox>) -> String {
    let ShownExample { server, tool, arguments, .. } = example;
    let arguments = arguments.get();
    let call = format!("{server} {tool} {}", single_quoted(arguments));
    let Some(sandbox) = sandbox else { return visible(&call) };
    let place = sandbox.path.to_string();
    let options = match sandbox.kind {
        SandboxKind::Workspace | SandboxKind::Filled => " --workspace",
        // Where it does not matter, it is left out.
        SandboxKind::Session if !arguments.contains(&place) => return visible(&call),
        SandboxKind::Session => "",
    };
    visible(&format!("{call} --sandbox {}{options}", single_quoted(&place)))
}

/// Writes a text as one word of a shell.
fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Judges an example with the disk as it is.
pub(super) fn example(call: &ToolCall, loaded: &Loaded) -> ShownExample {
    let arguments = Json::Object(call.arguments.clone()).to_string();
    ShownExample {
        server: call.server.to_string(),
        tool: call.tool.to_string(),
        arguments: RawValue::from_string(arguments).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        decision: loaded.judge.judge(call.clone()).effect().as_str(),
    }
}

fn call_of(example: &ExampleCall) -> ToolCall {
    let ExampleCall { server, tool, arguments, .. } = example.clone();
    ToolCall { server, tool, arguments }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Failed => "failed",
        Level::Accepted => "accepted",
        Level::Granted => "granted",
    }
}

fn shown<'f>(finding: &'f Finding, loaded: &Loaded) -> ShownFinding<'f> {
    ShownFinding {
        property: &finding.property,
        level: level(finding.level),
        problem: &finding.problem,
        rule: &finding.rule,
        sentence: finding.sentence.as_deref(),
        tools: &finding.tools,
        example: example(&call_of(&finding.example), loaded),
    }
}

fn print(found: &[Finding], loaded: &Loaded, screen: &mut Screen) -> Result<(), Failure> {
    for finding in found {
        let ShownFinding { property: name, level, problem, rule, sentence, tools, example } =
            shown(finding, loaded);
        screen.folded(&format!("{level}: {}", visible(name)))?;
        let others = match tools.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more tools)", n - 1),
        };
        let tool = tools.first().map_or("", String::as_str);
        screen.folded(&format!("  {}", visible(&format!("{tool}{others} {problem}"))))?;
        screen.folded(&format!("  rule: {}", visible(rule)))?;
        if let Some(sentence) = sentence {
            screen.folded(&format!("  sentence: {}", visible(sentence)))?;
        }
        let call = pasted(&example, loaded.judge.bounds.sandbox.as_ref());
        let judged = finding.example.effect.as_str();
        // The files of this machine can make the decision about the example another one.
        let verdict = match example.decision == judged {
            true => judged.to_owned(),
            false => format!("{judged}; with the files of this machine {}", example.decision),
        };
        screen.line(&format!("  example: {call} ({verdict})"))?;
        if finding.level == Level::Failed && property::is_built_in(name) {
            let entry = format!("accept = [{{ property = {name:?}, rule = {rule:?} }}]");
            screen.folded(&format!(
                "  to accept it, in the file for --properties: {}",
                visible(&entry)
            ))?;
        }
    }
    let n_failed = found.iter().filter(|it| it.level == Level::Failed).count();
    match n_failed {
        0 => screen.folded(&format!("all properties hold ({})", visible(&loaded.origin))),
        1 => screen.line("1 property does not hold"),
        n => screen.line(&format!("{n} findings where a property does not hold")),
    }
}

fn print_table(loaded: &Loaded, json: bool, screen: &mut Screen) -> Result<Exit, Failure> {
    let table = Table::new(subject(loaded), &Asked::default());
    let home = home_of(loaded);
    let names = Names { home: home.as_ref(), bounds: &loaded.judge.bounds };
    let lines = table.lines().map_err(|error| too_complex(&error))?;
    let places = |line: &Line| {
        let classes: Vec<_> = line.classes.iter().collect();
        describe::phrases(&classes, table.space(), names, Length::Full)
    };
    let shown = lines.into_iter().map(|line| ShownLine {
        server: line.server.to_string(),
        tool: line.tool.to_string(),
        role: line.role.map(ic_types::Role::as_str),
        values: match (line.role, line.classes.is_empty()) {
            (None, _) => "any call".to_owned(),
            (Some(_), true) => "no values".to_owned(),
            (Some(_), false) => describe::listed(&places(&line), Length::Full),
        },
        places: places(&line),
        beside: line.beside,
        decision: line.outcome.effect.as_str(),
        rule: line.outcome.by.name(&loaded.judge.policy),
        example: line.example,
    });
    if json {
        let shown: Vec<ShownLine> = shown.collect();
        screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
        return Ok(Exit::Success);
    }
    let mut last = String::new();
    for ShownLine { server, tool, role, values, beside, decision, rule, .. } in shown {
        let heading = format!("{server}.{tool} {}", role.unwrap_or("call")).trim_end().to_owned();
        if heading != last {
            screen.folded(&visible(&heading))?;
            last = heading;
        }
        let beside = if beside.is_empty() { beside } else { format!(" [{beside}]") };
        screen.folded(&format!(
            "  {decision:<8} {}",
            visible(&format!("{values}{beside} ({rule})"))
        ))?;
    }
    Ok(Exit::Success)
}
