//! The tool that a call means, and the server that has it.
//!
//! A server is started if only it can say what it has; else the call is judged by what was recorded of the
//! tool, and what the server says once it runs is held against that. Whether the tool may be called is not
//! decided here.

use std::sync::Arc;

use ic_backend::backend::Backend;
use ic_backend::server::{Offer, Unavailable};
use ic_judge::method::CallMethod;
use ic_types::{ServerName, ToolName};

use super::Broker;
use crate::refusal::{Refusal, RefusalKind};

/// A tool that was found, with the server that has it.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) server: Arc<dyn Backend>,
    pub(super) offer: Offer,
}

impl Found {
    pub(super) fn names(&self) -> (&ServerName, &ToolName) {
        (self.server.name(), &self.offer.tool.name)
    }
}

/// Refuses a call of a tool that is not what was trusted.
pub(super) fn withheld(server: &ServerName, tool: &ToolName, why: &str) -> Refusal {
    let reason = format!(
        "the tool `{tool}` of the server `{server}` is withheld: {why}; the user can look at it \
         with `ironcurtain servers trust {server}`"
    );
    Refusal::structural(RefusalKind::Denied, "structural-identity-changed", reason)
}

impl Broker {
    /// Finds the tool that was offered under `name`, and starts a server that has to be asked for it.
    pub(super) async fn find(&self, name: &str) -> Result<Found, Refusal> {
        let unknown = |reason: String| {
            Refusal::structural(RefusalKind::Denied, "structural-unknown-tool", reason)
        };
        let shown = || name.chars().take(128).collect::<String>();
        let Some(server) = self.server_of(name) else {
            return Err(unknown(format!("there is no tool `{}`", shown())));
        };
        let unavailable = |unavailable: Unavailable| {
            let rule = "server-unavailable";
            Refusal::structural(RefusalKind::Denied, rule, unavailable.to_string())
        };
        if let Some((_, method)) = CallMethod::of_name(name) {
            let offer = Arc::clone(&server).method(method).await.map_err(unavailable)?;
            let none =
                || unknown(format!("the server `{}` has no `{}`", server.name(), method.as_str()));
            return offer
                .map(|offer| Found { server: Arc::clone(&server), offer })
                .ok_or_else(none);
        }
        Arc::clone(&server).meet().await.map_err(unavailable)?;
        let Some((owner, tool)) = self.tool_of(name).await else {
            return Err(unknown(format!("there is no tool `{}`", shown())));
        };
        // Two servers can fit one name, and then the catalog knows whose it is.
        if owner.name() != server.name() {
            Arc::clone(&owner).meet().await.map_err(unavailable)?;
        }
        let server = owner;
        let offered = || server.tools().and_then(|table| table.get(&tool).cloned());
        let mut offer = offered();
        if let Some(Offer { withheld: Some(_), .. }) = &offer {
            // Somebody may have trusted it since we looked.
            server.compare_again(server.trusted().as_deref());
            offer = offered();
        }
        match offer {
            Some(offer) => Ok(Found { server, offer }),
            None => Err(unknown(format!("the server `{}` has no tool `{tool}`", server.name()))),
        }
    }
}
