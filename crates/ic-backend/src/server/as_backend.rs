//! A server as the kernel knows it.
//!
//! Each step is done elsewhere; this says which.

use std::sync::Arc;

use ic_audit::Recorded;
use ic_confine::Confinement;
use ic_inventory::pins::Pins;
use ic_inventory::servers_file::{BuiltinServer, Start};
use ic_judge::Weight;
use ic_judge::method::CallMethod;
use ic_policy::{Annotation, ResolvedCall};
use ic_types::{CanonicalPath, Digest, Object, ServerName, ToolName};
use tokio_util::sync::CancellationToken;

use super::{Offer, Server, ToolTable, Turn, Unavailable};
use crate::backend::{Backend, NoPlan, Pending, Plan, Wanted};
use crate::listing::{ListKind, Listed, Unlisted};
use crate::planted::{Keepable, PutBack};
use crate::strategy::{may_change, push_preview};

impl Backend for Server {
    fn name(&self) -> &ServerName {
        &self.name
    }

    fn identity(&self) -> Digest {
        self.identity.hash()
    }

    fn builtin(&self) -> Option<BuiltinServer> {
        match &self.recipe.config.start {
            Start::Builtin(builtin) => Some(*builtin),
            Start::Command(_) | Start::Url(_) => None,
        }
    }

    fn tools(&self) -> Option<Arc<ToolTable>> {
        Self::tools(self)
    }

    fn turn(&self) -> Option<Turn> {
        self.recipe.config.is_serial.then(|| self.turns.take())
    }

    fn confinement(&self) -> Option<Confinement> {
        self.running().map(|live| live.confinement)
    }

    fn process(&self) -> Option<u64> {
        self.running().map(|live| live.number)
    }

    fn weight(&self, arguments: &Object) -> Weight {
        self.strategy().weight(arguments)
    }

    fn changes_alone(&self, tool: &ToolName, annotation: Option<&Annotation>) -> bool {
        self.strategy().changes_files(tool.as_str()) && may_change(annotation)
    }

    fn trusted(&self) -> Option<Arc<Pins>> {
        Self::trusted(self)
    }

    fn compare_again(&self, trusted: Option<&Pins>) {
        if let Some(live) = self.running() {
            Self::compare_again(self, &live, trusted);
        }
    }

    fn has_to_be_asked(&self, trusted: Option<Arc<Pins>>) -> bool {
        if self.running().is_some() {
            return false;
        }
        self.recall(trusted);
        Self::has_to_be_asked(self)
    }

    fn start(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async move { self.live().await.map(drop) })
    }

    fn meet(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async move { self.met().await.map(drop) })
    }

    fn method(
        self: Arc<Self>,
        method: CallMethod,
    ) -> Pending<'static, Result<Option<Offer>, Unavailable>> {
        Box::pin(async move {
            let live = self.live().await?;
            if live.introduction.capabilities.get(method.capability()).is_none() {
                return Ok(None);
            }
            // SECURITY: a server of which nothing is trusted has no other way to speak either.
            let tools = live.tools();
            let is_trusted = tools.has_trusted() || tools.iter().next().is_none();
            let withheld =
                (!is_trusted).then(|| "none of the server's tools is trusted".to_owned());
            Ok(method.tool().map(|tool| Offer { tool, withheld }))
        })
    }

    fn list(
        self: Arc<Self>,
        kind: ListKind,
        stop: CancellationToken,
    ) -> Pending<'static, Result<(u64, Listed), Unlisted>> {
        Box::pin(async move { self.listed(kind, &stop).await })
    }

    fn plan(self: Arc<Self>, wanted: Wanted<'_>) -> Pending<'_, Result<Box<dyn Plan>, NoPlan>> {
        Box::pin(async move { self.served(wanted).await })
    }

    fn preview<'a>(
        self: Arc<Self>,
        call: &'a ResolvedCall,
        cancel: &'a CancellationToken,
    ) -> Pending<'a, Vec<String>> {
        Box::pin(async move {
            match self.is_git() {
                true => push_preview(&self, call, cancel).await,
                false => Vec::new(),
            }
        })
    }

    fn install(
        self: Arc<Self>,
        _recorded: Recorded,
        keepable: Keepable,
    ) -> Pending<'static, (Vec<CanonicalPath>, Vec<String>)> {
        // SECURITY: the proof that a person wanted it is spent here.
        Box::pin(async move { self.yard.warden.install(keepable).await })
    }

    fn tell_planted(&self, done: PutBack) {
        Self::tell_planted(self, done);
    }
}
