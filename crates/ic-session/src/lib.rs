//! A session: one conversation with one agent, owning all that it needs.
//!
//! It wires; it decides nothing. Calls are judged in `ic_broker` and `ic_policy`, code runs in
//! `ic_sandbox`, models are asked in `ic_agent`. No terminal is known here: every session is run through
//! [`SessionHandle`], and one that talks through [`Conversation`] as well.
//!
//! ```text
//! Opening ─▶ Ground (directory, log, desk, broker) ─▶ Workbench (+ sandbox) ─▶ BuiltIn (+ agent)
//!                     ├─▶ ProxySession (+ a client)          └─▶ a script
//!                     └─▶ AgentSession (+ an agent of others in its cage, the model gate)
//! ```
//!
//! Reading order: [`session`] (the traits), [`directory`] (where a session is kept), [`desk`] and
//! [`ground`] (what every session stands on), `end` (how every session ends), [`proxy`] (a client's),
//! [`workbench`] and `calls` (how code runs under policy), `script_tool` (the same for clients in code mode),
//! `discretion`, `code` and [`built_in`] (the agent), [`agent_session`] (an agent of others), [`repository`] (what a person lets it begin
//! with), [`news`] and [`questions`] (what is told and asked),
//! [`packages`] (the door to package registries), `notify` (how the user is called), [`journal`].
//!
//! # Invariants
//!
//! - Nothing is global: sessions of one process share no state but the home.
//! - A call of a script reaches a server through the broker alone, and its record comes to its end
//!   even if nobody waits for it.
//! - No key of ours is in what a model says, once it has passed `discretion`.
//! - What a session owns ends with it: closing leaves no process, and a second time does nothing.

pub mod agent_session;
pub mod built_in;
mod calls;
mod code;
pub mod desk;
pub mod directory;
mod discretion;
mod end;
pub mod fast_judge;
pub mod ground;
pub mod journal;
pub mod news;
mod notify;
pub mod packages;
pub mod proxy;
pub mod questions;
pub mod repository;
mod script_tool;
pub mod session;
pub mod workbench;

pub use agent_session::{
    AgentEnd, AgentParts, AgentSession, BRIDGE, GateNews, Link, LookFirst, Showing, Shown,
    TERMINAL_EVENT, ToAgent, link,
};
pub use built_in::{BuiltIn, Mind};
pub use desk::{AtTerminal, OpenDesk, Seat, Wait};
pub use directory::{Description, DirectoryError, SessionDirectory, SessionKind};
pub use fast_judge::FastJudge;
pub use ground::{Discretion, Ground, Held, Identity, OpenError, Opening};
pub use ic_confine::TerminalSize;
pub use journal::Journal;
pub use news::{CallFate, CallNews, Event, News, Tally};
pub use packages::{PackagesWanted, SessionPackages};
pub use proxy::ProxySession;
pub use questions::Questions;
pub use repository::NotCloned;
pub use session::{
    Answering, Attended, Closing, Conversation, Diagnostic, Dimension, Info, ResolveError,
    SessionError, SessionHandle, Snapshot, Spent, Status, Turn, TurnUsage, Unanswered,
};
pub use workbench::{WORKER, Workbench};
