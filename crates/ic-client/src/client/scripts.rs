//! One tool that runs scripts, instead of all the others: code mode.
//!
//! What a script calls is judged call by call, by whoever runs it; here is only how a client comes to it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ic_broker::broker::{Asked, Reply};
use ic_mcp::{Id, code};
use ic_types::{Json, Object};
use tokio_util::sync::CancellationToken;

use super::{Client, Open};

/// The tool that runs scripts, as clients call it; no server can have this name.
pub const RUN_SCRIPT: &str = "ironcurtain__run_script";

/// What comes of a script.
pub type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// The tool that runs scripts.
pub trait ScriptTool: Send + Sync {
    /// Returns the tool as it is listed.
    fn listed(&self) -> Json;

    /// Runs a script; `cancel` takes it back.
    fn run(self: Arc<Self>, arguments: Object, cancel: CancellationToken) -> Running;
}

impl<O: Open> Client<O> {
    /// Serves a call in code mode.
    pub(super) async fn call_script(
        &mut self,
        tool: Arc<dyn ScriptTool>,
        id: Id,
        asked: Asked,
    ) -> Result<(), O::Error> {
        if asked.name != RUN_SCRIPT {
            let reason = format!("in code mode `{RUN_SCRIPT}` is the only tool");
            return self.refuse(Some(&id), code::INVALID_PARAMS, "tools/call", &reason).await;
        }
        let Some(airborne) = self.take_off(&id) else {
            return self.too_many(&id, "tools/call").await;
        };
        let (cut, left) = (airborne.cancel.child_token(), self.left.clone());
        let mut running = tool.run(asked.arguments, cut.clone());
        self.calls.spawn(async move {
            let reply = tokio::select! {
                reply = &mut running => reply,
                // Nobody is asked on behalf of a client that has gone.
                () = left.cancelled() => {
                    cut.cancel();
                    running.await
                }
            };
            airborne.land(reply).await;
        });
        Ok(())
    }
}
