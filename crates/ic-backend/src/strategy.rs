//! What is special about the servers that are part of this program, each in a file of its own.
//!
//! Another server has none of it: it sees what its cage shows, and runs for all of its calls.

mod fetch;
mod filesystem;
mod git;
mod shell;
mod stranger;

use ic_audit::Recorded;
use ic_inventory::servers_file::{BuiltinServer, ServerConfig, Start};
use ic_judge::{Judge, Judged, Weight};
use ic_mcp::Outcome;
use ic_policy::{Annotation, Permit, ResolvedCall};
use ic_types::Object;

use crate::backend::{Brought, Next, NoPlan};
use crate::one_shot::OneShot;
use crate::server::{Live, Server, Unanswered};

pub(crate) use git::push_preview;

/// How a server of one kind serves its calls.
pub(crate) trait Strategy: Send + Sync {
    /// Says how much work a call makes.
    fn weight(&self, arguments: &Object) -> Weight {
        Weight::of(arguments)
    }

    /// Returns whether a call of `tool`, if it changes paths, changes files of the user's.
    fn changes_files(&self, _tool: &str) -> bool {
        false
    }

    /// Returns whether every call has a server of its own, and there is none that runs anyway.
    fn is_always_started(&self) -> bool {
        false
    }

    /// Returns whether servers that may write where this call does have to stand still meanwhile.
    fn stills_others(&self, _tool: &str) -> bool {
        false
    }

    /// Leaves out of `judged` what the server that runs need not see.
    fn adjust(&self, _judge: &Judge, _call: &ResolvedCall, _judged: &mut Vec<Judged>) {}

    /// Works out what a server for this one call sees, if the one that runs will not do.
    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan>;

    /// Returns what goes along with a call, besides what came with it.
    fn terms(
        &self,
        _server: &Server,
        _call: &ResolvedCall,
        _agreed: Option<&Brought>,
    ) -> Option<(&'static str, Object)> {
        None
    }

    /// Returns the call that this one led to, if the server says that it led to one.
    fn next(&self, _made: &Made, _outcome: &Result<Outcome, Unanswered>) -> Option<Next> {
        None
    }
}

/// A call for which it has to be decided who serves it.
pub(crate) struct Case<'a> {
    pub(crate) permit: &'a Permit,
    pub(crate) judge: &'a Judge,
    pub(crate) config: &'a ServerConfig,
    /// What it is about.
    pub(crate) judged: &'a [Judged],
    /// The server that runs, if there is one.
    pub(crate) live: Option<&'a Live>,
    /// The first path that the server that runs does not hold, or not with these rights.
    pub(crate) lacking: Option<&'a Judged>,
    /// Whether it holds the paths in more than one directory.
    pub(crate) is_apart: bool,
}

/// A call that was made, as far as the next one is made of it.
pub(crate) struct Made {
    /// The arguments as they were asked for.
    pub(crate) asked: Object,
    /// The arguments as they were sent.
    pub(crate) sent: Object,
}

impl Made {
    pub(crate) fn of(recorded: &Recorded) -> Self {
        let call = recorded.permit().call();
        Self { asked: call.asked().arguments.clone(), sent: call.sent().clone() }
    }
}

/// Returns how a server that is started like this serves its calls.
pub(crate) fn of(start: &Start) -> &'static dyn Strategy {
    match start {
        Start::Builtin(BuiltinServer::Filesystem) => &filesystem::Files,
        Start::Builtin(BuiltinServer::Git) => &git::Repositories,
        Start::Builtin(BuiltinServer::Fetch) => &fetch::Pages,
        Start::Builtin(BuiltinServer::Shell) => &shell::Commands,
        Start::Command(_) | Start::Url(_) => &stranger::Stranger,
    }
}

/// Returns whether a call of a tool that is annotated so may change paths.
pub(crate) fn may_change(annotation: Option<&Annotation>) -> bool {
    annotation.is_some_and(Annotation::may_change_paths)
}

/// Says that no server can be shown what a call is about.
#[expect(clippy::needless_pass_by_value, reason = "it is what becomes of an error")]
fn unseen(why: impl ToString) -> NoPlan {
    NoPlan::Unseen(why.to_string())
}
