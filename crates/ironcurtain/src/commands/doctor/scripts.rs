//! Can scripts be run, where they have nothing but what they are given?

use std::sync::Arc;

use ic_confine::{Confinement, Hold};
use ic_home::file;
use ic_opening::Holding;
use ic_sandbox::{
    BoxFuture, Called, Calls, Catalogue, Ended, Limits, Pause, Sandbox, SandboxSpec, Script, cage,
};
use ic_types::ToolCall;
use tokio_util::sync::CancellationToken;

use super::{Check, Patient};
use crate::trial::Trial;

const NAME: &str = "code sandbox";
/// Looks around as TypeScript, and throws if there is a way out.
const SCRIPT: &str = "
const ways: string[] = ['fetch', 'process', 'require', 'Deno', 'Bun', 'std', 'os', 'WebAssembly', 'setTimeout'];
const open = ways.filter((way) => way in globalThis);
if (open.length > 0) throw new Error(`a script has ${open.join()}`);
";
/// Where its worker may leave what it makes, in the place where things are tried.
const WORKER: &str = "worker";

pub(super) fn check(patient: &Patient<'_>, holding: Option<&Holding>, checks: &mut Vec<Check>) {
    checks.push(match (&patient.trial, holding) {
        (Some(trial), Some(holding)) => tried(trial, holding),
        (None, _) => Check::not_tried(NAME, "there is no directory to try it in"),
        (Some(_), None) => Check::not_tried(NAME, "it is unknown which cage would work"),
    });
}

fn tried(trial: &Trial, holding: &Holding) -> Check {
    let remedy = "try `ironcurtain run` with a script by hand; what its worker says stands there";
    let scratch = trial.path().join(WORKER);
    if let Err(error) = file::create_dir(&scratch) {
        return Check::failed(NAME, error.to_string(), remedy);
    }
    let hold = match holding.confinement {
        Confinement::Cage(rung) => Hold::Caged(rung, cage(scratch)),
        Confinement::None => Hold::Free,
    };
    let (launcher, limits) = (trial.launcher().clone(), Limits::DEFAULT);
    let arguments = vec![ic_session::WORKER.into()];
    let script = Script { source: SCRIPT.to_owned(), arguments: Vec::new() };
    let run = trial.block_on(async {
        let sandbox = Sandbox::new(SandboxSpec { launcher, arguments, hold, limits });
        let run = sandbox.run_last(&script, &NoTools, &CancellationToken::new()).await;
        sandbox.close().await;
        run
    });
    match run.ended {
        Ended::Done => Check::ok(NAME, "ran a script, which found no way out"),
        Ended::Threw { message, .. } => Check::failed(NAME, message, remedy),
        ended => Check::failed(NAME, format!("a script was not run to its end: {ended:?}"), remedy),
    }
}

/// What a script is given that is to have nothing.
struct NoTools;

impl Calls for NoTools {
    fn catalogue(&self) -> BoxFuture<'_, Arc<Catalogue>> {
        Box::pin(async { Arc::default() })
    }

    fn call<'a>(
        &'a self,
        _: ToolCall,
        _: &'a Pause,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Called> {
        Box::pin(async { Called::Failed { message: "there are no tools".to_owned() } })
    }
}
