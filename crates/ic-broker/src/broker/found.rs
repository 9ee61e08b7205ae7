//! The tool that a call means, and the server that has it.
//!
//! A server is started if only it can say what it has; else the call is judged by what was recorded of the
//! tool, and what the server says once it runs is held against that. Whether the tool may be called is not
//! decided here.

use std::sync::Arc;

use ic_types::{ServerName, ToolName};

use super::Broker;
use crate::method::CallMethod;
use crate::refusal::{Refusal, RefusalKind};
use crate::server::{Live, Offer, Server, Unavailable};

/// A tool that was found, with the server that has it.
pub(super) struct Found {
    pub(super) server: Arc<Server>,
    /// The server that offered it, unless its tools were known before it runs.
    pub(super) live: Option<Arc<Live>>,
    pub(super) offer: Offer,
}

impl Found {
    pub(super) fn names(&self) -> (&ServerName, &ToolName) {
        (&self.server.name, &self.offer.tool.name)
    }

    /// Says why the server that runs now is not to be sent the call, if it is not.
    ///
    /// SECURITY: what was judged, and what a person may have approved, is the tool as it was offered. It was
    /// offered from the record, or a while ago, and the server may say something else by now.
    pub(super) fn why_not_sent(&self, live: &Live) -> Option<Refusal> {
        let (server, tool) = self.names();
        if self.server.is_ours() || CallMethod::of(tool.as_str()).is_some() {
            return None;
        }
        let tools = live.tools();
        let why = match tools.get(tool) {
            Some(offer) => match &offer.withheld {
                Some(why) => why.clone(),
                None if offer.tool.hash() == self.offer.tool.hash() => return None,
                None => "what the server says of it changed while the call waited".to_owned(),
            },
            None => "the server does not list it any more".to_owned(),
        };
        Some(withheld(server, tool, &why))
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
            let live = server.live().await.map_err(unavailable)?;
            return method_of(&server, live, method).ok_or_else(|| {
                unknown(format!("the server `{}` has no `{}`", server.name, method.as_str()))
            });
        }
        let mut live = server.met().await.map_err(unavailable)?;
        let Some((owner, tool)) = self.tool_of(name).await else {
            return Err(unknown(format!("there is no tool `{}`", shown())));
        };
        // Two servers can fit one name, and then the catalog knows whose it is.
        if owner.name != server.name {
            live = owner.met().await.map_err(unavailable)?;
        }
        let server = owner;
        let offered = || {
            let table = live.as_ref().map_or_else(|| server.tools(), |live| Some(live.tools()));
            table.and_then(|table| table.get(&tool).cloned())
        };
        let mut offer = offered();
        if let (Some(Offer { withheld: Some(_), .. }), Some(live)) = (&offer, &live) {
            // Somebody may have trusted it since we looked.
            server.compare_again(live, server.trusted().as_deref());
            offer = offered();
        }
        match offer {
            Some(offer) => Ok(Found { server, live, offer }),
            None => Err(unknown(format!("the server `{}` has no tool `{tool}`", server.name))),
        }
    }
}

/// Returns a method of a server's, to be judged as a tool of its name.
fn method_of(server: &Arc<Server>, live: Arc<Live>, method: CallMethod) -> Option<Found> {
    live.introduction.capabilities.get(method.capability())?;
    // SECURITY: a server of which nothing is trusted has no other way to speak either.
    let tools = live.tools();
    let trusted = tools.iter().any(|offer| offer.withheld.is_none());
    let withheld = match trusted || tools.iter().next().is_none() {
        true => None,
        false => Some("none of the server's tools is trusted".to_owned()),
    };
    let offer = Offer { tool: method.tool()?, withheld };
    Some(Found { server: Arc::clone(server), live: Some(live), offer })
}
