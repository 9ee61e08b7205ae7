//! What the kernel knows of a server: its tools, and the one way by which a call is made.
//!
//! ```text
//! Permit ──Backend::plan──▶ Plan        Recorded ──Plan::forward──▶ Forwarded
//! ```
//!
//! Where the server runs, what holds it, and what it is told besides is not the kernel's business. A test puts
//! another backend in its place. Nothing is judged here, and nobody is asked.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ic_audit::Recorded;
use ic_confine::Confinement;
use ic_inventory::pins::Pins;
use ic_inventory::servers_file::BuiltinServer;
use ic_judge::method::CallMethod;
use ic_judge::{Aside, Judged, Weight};
use ic_mcp::Outcome;
use ic_policy::{Annotation, Permit, ResolvedCall};
use ic_types::{CanonicalPath, Digest, Object, Role, ServerName, ToolName};
use tokio_util::sync::CancellationToken;

use crate::caller::Ear;
use crate::listing::{ListKind, Listed, Unlisted};
use crate::planted::{Keepable, PutBack};
use crate::server::{Following, Offer, Progress, ToolTable, Turn, Unanswered, Unavailable};

/// What a backend takes its time for.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A server as the kernel knows it.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns its name.
    fn name(&self) -> &ServerName;

    /// Returns what tells it from a server of the same name that is something else.
    fn identity(&self) -> Digest;

    /// Returns which part of this program it is, if it is one.
    fn builtin(&self) -> Option<BuiltinServer>;

    /// Returns its tools as they are known now, if they are.
    fn tools(&self) -> Option<Arc<ToolTable>>;

    /// Takes a place in the order of calls, if it wants them one by one.
    fn turn(&self) -> Option<Turn>;

    /// Returns what holds it, if it runs.
    fn confinement(&self) -> Option<Confinement>;

    /// Returns the number of the process that runs, if one does; no two have the same.
    fn process(&self) -> Option<u64>;

    /// Says how much work a call of it makes.
    fn weight(&self, arguments: &Object) -> Weight;

    /// Returns whether a call of a tool that is annotated so changes files that the user's own programs use,
    /// so that no other such call may run beside it.
    fn changes_alone(&self, tool: &ToolName, annotation: Option<&Annotation>) -> bool;

    /// Returns what is trusted by now; the servers of a session share it.
    fn trusted(&self) -> Option<Arc<Pins>>;

    /// Compares its tools with what is trusted, if it runs.
    fn compare_again(&self, trusted: Option<&Pins>);

    /// Looks at what is known of its tools without starting it; returns whether it has to be started for them.
    fn has_to_be_asked(&self, trusted: Option<Arc<Pins>>) -> bool;

    /// Starts it, if it does not run.
    fn start(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>>;

    /// Sees to it that its tools are known, and starts it if only it can say.
    fn meet(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>>;

    /// Returns a method besides `tools/call` as the tool as which it is judged, if the server has it.
    fn method(
        self: Arc<Self>,
        method: CallMethod,
    ) -> Pending<'static, Result<Option<Offer>, Unavailable>>;

    /// Lists what it has besides tools, with the number of the process that said so.
    fn list(
        self: Arc<Self>,
        kind: ListKind,
        stop: CancellationToken,
    ) -> Pending<'static, Result<(u64, Listed), Unlisted>>;

    /// Works out how a call that may be made is served, and starts what it needs.
    fn plan(self: Arc<Self>, wanted: Wanted<'_>) -> Pending<'_, Result<Box<dyn Plan>, NoPlan>>;

    /// Lists for a person what a call would send, if that can be known beforehand.
    fn preview<'a>(
        self: Arc<Self>,
        call: &'a ResolvedCall,
        cancel: &'a CancellationToken,
    ) -> Pending<'a, Vec<String>>;

    /// Installs what a person wants to keep; returns what was, and what was not and why.
    fn install(
        self: Arc<Self>,
        recorded: Recorded,
        keepable: Keepable,
    ) -> Pending<'static, (Vec<CanonicalPath>, Vec<String>)>;

    /// Says that something was put back of which no call can tell.
    fn tell_planted(&self, done: PutBack);
}

/// A call that is to be served.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The proof that it may be made.
    pub permit: &'a Permit,
    /// What it is about.
    pub judged: Vec<Judged>,
    /// The tool as it was judged.
    pub offer: &'a Offer,
    /// How much work it makes.
    pub weight: Weight,
    /// Where long steps are done.
    pub aside: &'a Aside,
    /// Cancelled when nobody wants it any more.
    pub cancel: &'a CancellationToken,
}

/// How one call is served: once, or not at all.
///
/// One record is one call:
///
/// ```compile_fail,E0382
/// use ic_backend::backend::{Plan, Sending};
///
/// fn twice(a: Box<dyn Plan>, b: Box<dyn Plan>, proof: ic_audit::Recorded, s: [Sending<'_>; 2]) {
///     let [first, second] = s;
///     drop(a.forward(proof, first));
///     drop(b.forward(proof, second));
/// }
/// ```
///
/// and what carries it to a server cannot be reached in another way:
///
/// ```compile_fail,E0603
/// use ic_backend::server::Connection;
/// ```
pub trait Plan: Send {
    /// Returns what holds the server.
    fn confinement(&self) -> Confinement;

    /// Makes the call.
    ///
    /// SECURITY: consumes the proof that it is recorded, and the plan; a second try is a second call.
    fn forward(self: Box<Self>, recorded: Recorded, sending: Sending<'_>)
    -> Pending<'_, Forwarded>;

    /// Lets go of what was started for the call, which is not made.
    fn give_up(self: Box<Self>);
}

/// What goes along with a call.
#[derive(Debug)]
pub struct Sending<'a> {
    /// What the protocol lets travel with it.
    pub meta: Object,
    /// Where progress goes, if anybody wants it.
    pub progress: Option<Progress>,
    /// The client whose call it is, if it can be asked anything.
    pub caller: Option<Arc<Ear>>,
    /// Ends the waiting; the server is told.
    pub cancel: &'a CancellationToken,
    /// What it was said to change besides, and may.
    pub agreed: Option<&'a Brought>,
}

/// What became of a call.
#[derive(Debug)]
pub struct Forwarded {
    /// What the server said.
    pub outcome: Result<Outcome, Unanswered>,
    /// What it tells of from now on, if that is what the call was for.
    pub following: Option<Following>,
    /// What had to be put back after it.
    pub planted: Option<PutBack>,
    /// The call that has to be made next, if the server did nothing for that.
    pub next: Option<Next>,
    /// Whether a cage held a server that is not ours.
    pub is_caged: bool,
}

/// A call that another one led to; it is judged as any other, and recorded as one.
#[derive(Debug)]
pub struct Next {
    /// Its arguments.
    pub arguments: Object,
    /// What it would change besides what it names.
    pub brought: Option<Brought>,
    /// What led to it, for the record.
    pub because: String,
    /// The rule that is named where it is refused whatever the policy says.
    pub rule: &'static str,
    /// Why it is refused whatever the policy says, if it is.
    pub refusal: Option<String>,
    /// Says why it is refused if so many led to it.
    pub too_many: fn(usize) -> String,
}

/// A change that a call would make besides what it names, and that has to be agreed to.
#[derive(Clone, Debug)]
pub struct Brought {
    /// What would change of files that the host executes.
    pub paths: Vec<CanonicalPath>,
    /// What would be read, changed or removed at places that rules are about.
    pub ruled: Vec<(Role, CanonicalPath)>,
    /// By what the server knows it again.
    pub(crate) digest: String,
}

/// A call that nobody serves.
#[derive(Debug)]
pub enum NoPlan {
    /// The server does not see what it is about.
    Unseen(String),
    /// The server is not there.
    Unavailable(String),
    /// The tool is not what was judged.
    Withheld(String),
    /// Nobody wants an answer any more.
    Cancelled,
    /// Something had to be put back first, and the server was ended.
    PutBack(PutBack),
}
