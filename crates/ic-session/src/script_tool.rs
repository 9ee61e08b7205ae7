//! `run_script`: the one tool of an agent in code mode. It runs TypeScript in the code sandbox, in which the
//! tools of all servers are functions.
//!
//! Each call of a script goes through the broker like any other.

use std::sync::Arc;

use ic_audit::Redactor;
use ic_broker::Broker;
use ic_broker::broker::Reply;
use ic_client::client::{RUN_SCRIPT, Running, ScriptTool};
use ic_confine::{Confinement, Launcher};
use ic_sandbox::{Ended, Limits, Run, Sandbox, SandboxSpec, Script};
use ic_types::{Json, Object};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::BrokerCalls;
use crate::directory::SessionDirectory;
use crate::news::News;
use crate::workbench::{WORKER, hold};

/// The argument that holds the script.
const SCRIPT: &str = "script";
/// What a model is told of it.
const DESCRIPTION: &str = "Runs TypeScript and returns what it printed and returned. The tools of \
    IronCurtain's servers are functions there: server.tool({...}), synchronous, throwing on failure. \
    help() lists the servers and help('server') the tools of one; look before you guess. There is no \
    network, no files and no require: tools are the only way out. Do several things in one script where \
    they belong together, and print only what you need. A denied call throws with the reason.";

/// Runs the scripts of an agent.
#[derive(Debug)]
pub(crate) struct RunScript {
    sandbox: Sandbox,
    calls: BrokerCalls,
    redactor: Arc<Redactor>,
}

impl RunScript {
    /// Makes it; a worker gets ready behind the caller's back.
    pub(crate) fn new(
        (broker, redactor): (&Arc<Broker>, &Arc<Redactor>),
        news: &Arc<News>,
        (launcher, confinement): (Launcher, Confinement),
        directory: &SessionDirectory,
    ) -> Arc<Self> {
        let sandbox = Sandbox::new(SandboxSpec {
            launcher,
            arguments: vec![WORKER.into()],
            hold: hold(confinement, directory.worker()),
            limits: Limits::DEFAULT,
        });
        sandbox.prepare();
        let calls = BrokerCalls::new(Arc::clone(broker), Arc::clone(news));
        Arc::new(Self { sandbox, calls, redactor: Arc::clone(redactor) })
    }

    /// Returns the calls that run.
    pub(crate) fn tasks(&self) -> TaskTracker {
        self.calls.tasks()
    }

    /// Ends all scripts, and lets go of the broker.
    pub(crate) async fn close(&self) {
        self.sandbox.close().await;
        self.calls.let_go();
    }
}

impl ScriptTool for RunScript {
    fn listed(&self) -> Json {
        let mut script = Object::new();
        script.insert("type", "string");
        script.insert("description", "TypeScript to run.");
        let mut properties = Object::new();
        properties.insert(SCRIPT, script);
        let mut schema = Object::new();
        schema.insert("type", "object");
        schema.insert("properties", properties);
        schema.insert("required", vec![Json::from(SCRIPT)]);
        schema.insert("additionalProperties", false);
        let mut tool = Object::new();
        tool.insert("name", RUN_SCRIPT);
        tool.insert("description", DESCRIPTION);
        tool.insert("inputSchema", schema);
        Json::Object(tool)
    }

    fn run(self: Arc<Self>, arguments: Object, cancel: CancellationToken) -> Running {
        Box::pin(async move {
            let Some(source) = arguments.get(SCRIPT).and_then(Json::as_str) else {
                return result(format!("`{SCRIPT}` is missing, or is not a text"), true);
            };
            let script = Script { source: source.to_owned(), arguments: Vec::new() };
            let run = self.sandbox.run(&script, &self.calls, &cancel).await;
            // A script can put together what no call of its could have told it.
            match told(&run) {
                Some((text, is_error)) => result(self.redactor.mask_own_keys(text), is_error),
                None => Reply::Nothing,
            }
        })
    }
}

/// Says what a script came to, and whether that is an error; nothing if it was taken back.
fn told(run: &Run) -> Option<(String, bool)> {
    let report = run.report();
    match &run.ended {
        Ended::Cancelled => None,
        Ended::Done if report.is_empty() => {
            Some(("(the script printed and returned nothing)".to_owned(), false))
        }
        Ended::Done => Some((report, false)),
        Ended::Threw { .. }
        | Ended::TimedOut
        | Ended::OutOfMemory
        | Ended::Killed { .. }
        | Ended::Broke { .. }
        | Ended::NotStarted { .. } => Some((report, true)),
    }
}

/// Makes the result of a tool.
fn result(text: String, is_error: bool) -> Reply {
    let mut block = Object::new();
    block.insert("type", "text");
    block.insert("text", text);
    let mut result = Object::new();
    result.insert("content", vec![Json::Object(block)]);
    result.insert("isError", is_error);
    Reply::Result(Json::Object(result).to_string())
}
