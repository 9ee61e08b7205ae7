//! `ironcurtain policy explain`: why does the policy say that?

use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox};
use ic_policy::{Authority, Finding, ResolvedCall, Value, containment_notes, decisive};
use ic_types::Json;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::commands::Exit;
use crate::commands::policy::request::Request;
use crate::error::Failure;
use crate::judge::{self, JudgeArgs};
use crate::screen::{Screen, visible};

/// Show why the policy says what it says about a call
///
/// Shows what the call's values resolve to, everything that speaks for or against the call, and the
/// sentence of the constitution behind each rule. Always exits with 0 if there is an answer.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
    /// MCP server that the call is for
    server: String,
    /// Tool on that server
    tool: String,
    /// Arguments of the call, a JSON object
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    arguments: String,
}

/// What is printed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    decision: &'static str,
    rule: String,
    reason: String,
    policy: String,
    policy_hash: String,
    resolved: Box<RawValue>,
    sent: Box<RawValue>,
    findings: Vec<ExplainedFinding>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedFinding {
    decision: &'static str,
    rule: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<SettledValue>,
    /// Where containment bears on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constitution_line: Option<usize>,
    decisive: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SettledValue {
    value: String,
    settled_by: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &ExplainArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let arguments = Request::parse_arguments(&args.arguments).map_err(Failure::usage)?;
    let request = Request { server: args.server.clone(), tool: args.tool.clone(), arguments };
    let call = request.into_call().map_err(Failure::usage)?;
    let loaded =
        judge::load(&args.judge.wanted(environment)?, NoSandbox::None, environment, screen)?;
    let (call, findings) = loaded.judge.explain(call);
    let explanation = Explanation::of(&loaded, &call, &findings);
    if args.json {
        screen.json(&serde_json::to_string(&explanation).unwrap_or_default())?;
    } else {
        let name = format!("{}.{}", call.server(), call.tool());
        print(&explanation, &name, &call, screen)?;
    }
    Ok(Exit::Success)
}

impl Explanation {
    fn of(loaded: &Loaded, call: &ResolvedCall, findings: &[Finding]) -> Self {
        let chosen = decisive(findings);
        let explained: Vec<ExplainedFinding> = findings
            .iter()
            .map(|finding| ExplainedFinding {
                decisive: chosen.is_some_and(|chosen| std::ptr::eq(chosen, finding)),
                ..ExplainedFinding::of(loaded, call, finding)
            })
            .collect();
        let decided = explained.iter().find(|finding| finding.decisive);
        Self {
            decision: decided.map_or("deny", |finding| finding.decision),
            rule: decided.map_or_else(String::new, |finding| finding.rule.clone()),
            reason: decided.map_or_else(String::new, |finding| finding.reason.clone()),
            policy: loaded.origin.clone(),
            policy_hash: loaded.judge.policy.hash().to_string(),
            resolved: raw(&call.resolved_json()),
            sent: raw(&Json::Object(call.sent().clone())),
            findings: explained,
        }
    }
}

impl ExplainedFinding {
    fn of(loaded: &Loaded, call: &ResolvedCall, finding: &Finding) -> Self {
        let rule = finding.authority.rule(&loaded.judge.policy);
        let principle =
            rule.map(|rule| rule.principle().to_owned()).filter(|text| !text.is_empty());
        let constitution_line = principle.as_deref().and_then(|principle| {
            let text = loaded.constitution.as_deref()?;
            text.lines().position(|line| line.contains(principle)).map(|at| at + 1)
        });
        let values = finding.role.map_or(&[][..], |role| call.values(role));
        let name = |authority: Authority| authority.name(&loaded.judge.policy).to_string();
        Self {
            decision: finding.effect.as_str(),
            rule: name(finding.authority),
            reason: finding.reason(&loaded.judge.policy).to_string(),
            role: finding.role.map(ic_types::Role::as_str),
            values: finding
                .settled
                .iter()
                .map(|(position, authority)| SettledValue {
                    value: values.get(*position).map_or_else(String::new, Value::to_string),
                    settled_by: name(*authority),
                })
                .collect(),
            notes: containment_notes(&loaded.judge.policy, &loaded.judge.bounds, call, finding),
            principle,
            constitution_line,
            decisive: false,
        }
    }
}

fn print(
    explanation: &Explanation,
    name: &str,
    call: &ResolvedCall,
    screen: &mut Screen,
) -> Result<(), Failure> {
    screen.folded(&format!("{name}: {}", explanation.decision))?;
    screen.folded(&format!("  policy: {}", visible(&explanation.policy)))?;
    for entry in call.roles().iter().filter(|entry| entry.role != ic_types::Role::None) {
        let values: Vec<String> =
            entry.values.iter().map(|value| visible(&value.to_string())).collect();
        let values = if values.is_empty() { "(no value)".to_owned() } else { values.join(", ") };
        screen.folded(&format!("  {}: {values}", entry.role))?;
    }
    for finding in &explanation.findings {
        print_finding(finding, screen)?;
    }
    Ok(())
}

fn print_finding(finding: &ExplainedFinding, screen: &mut Screen) -> Result<(), Failure> {
    let about = finding.role.map_or_else(String::new, |role| format!(" ({role})"));
    let mark = if finding.decisive { "=>" } else { " -" };
    screen.folded(&format!("{mark} {} by {}{about}", finding.decision, visible(&finding.rule)))?;
    screen.folded(&format!("     {}", visible(&finding.reason)))?;
    if finding.values.len() > 1 {
        for SettledValue { value, settled_by } in &finding.values {
            screen.folded(&format!("     {}: {}", visible(value), visible(settled_by)))?;
        }
    }
    for note in &finding.notes {
        screen.folded(&format!("     note: {}", visible(note)))?;
    }
    if let Some(principle) = &finding.principle {
        let line =
            finding.constitution_line.map_or_else(String::new, |line| format!(", line {line}"));
        screen.folded(&format!("     constitution{line}: \"{}\"", visible(principle)))?;
    }
    Ok(())
}

/// Our JSON as it stands, so that numbers are shown as they are sent.
fn raw(json: &Json) -> Box<RawValue> {
    // What we write is JSON; there is nothing in it that serde would refuse.
    RawValue::from_string(json.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
