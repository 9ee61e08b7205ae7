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
                return Ok(ToolOutcome::failed("the input is not an object"));
            };
            let source = input.get(CODE).and_then(Json::as_str).unwrap_or_default().to_owned();
            let script = Script { source, arguments: Vec::new() };
            let run = self.0.run_one_of_many(&script, cancel).await;
            let denials = self.0.take_denials();
            let violations = self.0.news.take_violations();
            // A script can put together what no call of its could have told it.
            let told = |content| self.0.redactor().mask_own_keys(content);
            outcome(&run).map(|it| ToolOutcome {
                content: told(it.content),
                denials,
                violations,
                ..it
            })
        })
    }
}

/// Tells the model what a script came to.
fn outcome(run: &Run) -> Result<ToolOutcome, Interrupted> {
    let report = run.report();
    match &run.ended {
        Ended::Cancelled => Err(Interrupted),
        Ended::Done if report.is_empty() => {
            Ok(ToolOutcome::done("(the script printed and returned nothing)"))
        }
        Ended::Done => Ok(ToolOutcome::done(report)),
        Ended::Threw { .. }
        | Ended::TimedOut
        | Ended::OutOfMemory
        | Ended::Killed { .. }
        | Ended::Broke { .. }
        | Ended::NotStarted { .. } => Ok(ToolOutcome::failed(report)),
    }
}
