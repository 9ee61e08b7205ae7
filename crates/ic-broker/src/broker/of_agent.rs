//! What a caged agent planted, asked about like what a server planted; and what stands in a server's place where
//! an agent asks about a plan.
//!
//! An agent is not a server: nobody calls it. It only has a name here, and what a person wants to keep is
//! installed by whoever installs it for servers.

use std::sync::Arc;

use ic_audit::Recorded;
use ic_backend::backend::{Backend, NoPlan, Pending, Plan, Wanted};
use ic_backend::listing::{ListKind, Listed, Unlisted};
use ic_backend::planted::{Keepable, PutBack};
use ic_backend::server::{Offer, ToolTable, Turn, Unavailable};
use ic_confine::Confinement;
use ic_inventory::pins::Pins;
use ic_inventory::servers_file::BuiltinServer;
use ic_judge::Weight;
use ic_judge::method::CallMethod;
use ic_policy::{Annotation, ResolvedCall};
use ic_types::{CanonicalPath, Digest, Object, ServerName, ToolName};
use tokio_util::sync::CancellationToken;

use super::{Broker, Flight};

impl Broker {
    /// Asks a person whether to keep what an agent planted and was put back; says what came of it.
    pub async fn ask_to_keep_of_agent(
        &self,
        name: &ServerName,
        done: &PutBack,
        cancel: CancellationToken,
    ) -> String {
        let Some(agent) = self.inhabitant(name) else {
            return "It stays put back: there is no server that could install it.".to_owned();
        };
        let flight = Flight::new(cancel, CancellationToken::new(), None, None);
        self.ask_to_keep(&agent, done, flight).await
    }
}

impl Broker {
    /// Returns whoever is called so in this session: a server, or else an agent in its cage.
    pub(super) fn inhabitant(&self, name: &ServerName) -> Option<Arc<dyn Backend>> {
        if let Some(server) = self.servers.get(name) {
            return Some(Arc::clone(server));
        }
        let server = Arc::clone(self.servers.values().next()?);
        Some(Arc::new(OfAgent { name: name.clone(), server }))
    }
}

/// An agent, as the one who planted something.
#[derive(Debug)]
struct OfAgent {
    name: ServerName,
    /// Any server of the session: all of them install in the same way.
    server: Arc<dyn Backend>,
}

impl Backend for OfAgent {
    fn name(&self) -> &ServerName {
        &self.name
    }

    fn identity(&self) -> Digest {
        Digest::of(self.name.as_str().as_bytes())
    }

    fn builtin(&self) -> Option<BuiltinServer> {
        None
    }

    fn tools(&self) -> Option<Arc<ToolTable>> {
        None
    }

    fn turn(&self) -> Option<Turn> {
        None
    }

    fn confinement(&self) -> Option<Confinement> {
        None
    }

    fn process(&self) -> Option<u64> {
        None
    }

    fn weight(&self, arguments: &Object) -> Weight {
        Weight::of(arguments)
    }

    fn changes_alone(&self, _tool: &ToolName, _annotation: Option<&Annotation>) -> bool {
        false
    }

    fn trusted(&self) -> Option<Arc<Pins>> {
        None
    }

    fn compare_again(&self, _trusted: Option<&Pins>) {}

    fn has_to_be_asked(&self, _trusted: Option<Arc<Pins>>) -> bool {
        false
    }

    fn start(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async { Ok(()) })
    }

    fn meet(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async { Ok(()) })
    }

    fn method(
        self: Arc<Self>,
        _method: CallMethod,
    ) -> Pending<'static, Result<Option<Offer>, Unavailable>> {
        Box::pin(async { Ok(None) })
    }

    fn list(
        self: Arc<Self>,
        kind: ListKind,
        stop: CancellationToken,
    ) -> Pending<'static, Result<(u64, Listed), Unlisted>> {
        Arc::clone(&self.server).list(kind, stop)
    }

    fn plan(self: Arc<Self>, _wanted: Wanted<'_>) -> Pending<'_, Result<Box<dyn Plan>, NoPlan>> {
        Box::pin(async { Err(NoPlan::Unavailable("an agent serves no calls".to_owned())) })
    }

    fn preview<'a>(
        self: Arc<Self>,
        _call: &'a ResolvedCall,
        _cancel: &'a CancellationToken,
    ) -> Pending<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }

    fn install(
        self: Arc<Self>,
        recorded: Recorded,
        keepable: Keepable,
    ) -> Pending<'static, (Vec<CanonicalPath>, Vec<String>)> {
        Arc::clone(&self.server).install(recorded, keepable)
    }

    fn tell_planted(&self, done: PutBack) {
        self.server.tell_planted(done);
    }
}
