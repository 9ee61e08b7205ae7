//! `execute_code`: the one tool of the built-in agent.
//!
//! It turns what a script came to into words for a model. What the script did was judged call by call.

use std::sync::Arc;

use ic_agent::{Interrupted, Running, ToolOutcome, Toolbox, execute_code};
use ic_model::ToolSpec;
use ic_model::offline::CODE;
use ic_sandbox::{Ended, Run, Script};
use ic_types::Json;
use tokio_util::sync::CancellationToken;

use crate::workbench::Workbench;

/// Runs the agent's code at a workbench.
#[derive(Debug)]
pub(crate) struct CodeTool(pub(crate) Arc<Workbench>);

impl Toolbox for CodeTool {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![execute_code()]
    }

    fn run<'a>(
        &'a self,
        _name: &'a str,
        input: &'a Json,
        cancel: &'a CancellationToken,
    ) -> Running<'a> {
        Box::pin(async move {
            let Json::Object(input) = input else {
                return Ok(ToolOutcome::failed("the input is no object"));
            };
            let source = input.get(CODE).and_then(Json::as_str).unwrap_or_default().to_owned();
            let script = Script { source, arguments: Vec::new() };
            let run = self.0.run(&script, cancel).await;
            let denials = self.0.take_denials();
            let violations = self.0.news.take_violations();
            outcome(run).map(|outcome| ToolOutcome { denials, violations, ..outcome })
        })
    }
}

/// Tells the model what a script came to.
fn outcome(run: Run) -> Result<ToolOutcome, Interrupted> {
    let Run { mut output, value, ended, .. } = run;
    match ended {
        Ended::Cancelled => Err(Interrupted),
        Ended::Done => {
            if let Some(value) = value {
                add(&mut output, &value);
            }
            if output.is_empty() {
                output.push_str("(the script printed and returned nothing)");
            }
            Ok(ToolOutcome::done(output))
        }
        ended => {
            add(&mut output, &how(&ended));
            Ok(ToolOutcome::failed(output))
        }
    }
}

/// Says how a script ended that did not come to its end.
pub fn how(ended: &Ended) -> String {
    match ended {
        Ended::Done => "the script came to its end".to_owned(),
        Ended::Threw { message, line, column, stack } => {
            let mut text = message.clone();
            match (line, column) {
                (Some(line), Some(column)) => {
                    add(&mut text, &format!("at line {line}, column {column}"))
                }
                (Some(line), None) => add(&mut text, &format!("at line {line}")),
                (None, _) => {}
            }
            add(&mut text, stack.trim_end());
            text
        }
        Ended::TimedOut => "the script took too long, and was ended".to_owned(),
        Ended::OutOfMemory => "the script needed too much memory, and was ended".to_owned(),
        Ended::Killed { why } => format!("the script was ended: {why}"),
        Ended::Broke { why } => {
            format!("the script was ended, because its process misbehaved: {why}")
        }
        Ended::Cancelled => "the script was cancelled".to_owned(),
        Ended::NotStarted { why } => format!("no script can be run: {why}"),
    }
}

/// Adds a line, if there is anything in it.
fn add(text: &mut String, line: &str) {
    if line.is_empty() {
        return;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}
