//! What a caged agent did with its own git, taken over: judged, asked about and recorded like a commit that it
//! makes with our git server, which checks all of it and does it.
//!
//! What came is not a part of the call: what counts of it the server names, and that is judged as any change that
//! git brings along (`next.rs`).

use std::sync::Arc;

use ic_inventory::servers_file::BuiltinServer;
use ic_servers::git::INCOMING;
use ic_types::Object;

use super::found::Found;
use super::{Asked, Broker, Flight, Reply};

/// The tool as which it is judged.
const TOOL: &str = "git_commit";

impl Broker {
    /// Takes over what an agent did with its own git; `None` if the session has no git server of ours.
    pub async fn take_over(
        &self,
        arguments: Object,
        incoming: Object,
        flight: Flight,
    ) -> Option<Reply> {
        let server = Arc::clone(self.servers.values().find(|server| is_ours(server))?);
        Arc::clone(&server).meet().await.ok()?;
        let tool = TOOL.parse().ok()?;
        let offer = server.tools()?.get(&tool)?.clone();
        let mut meta = Object::new();
        meta.insert(INCOMING, incoming);
        let asked = Asked { name: format!("{}__{TOOL}", server.name()), arguments, meta };
        let id = self.request_id();
        Some(self.serve(asked, Found { server, offer }, flight, &id, 0).await)
    }
}

fn is_ours(server: &Arc<dyn ic_backend::backend::Backend>) -> bool {
    server.builtin() == Some(BuiltinServer::Git)
}
