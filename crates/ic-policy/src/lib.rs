//! The decision: a policy and a resolved call give a verdict.
//!
//! Pure: no I/O, no clock, no randomness. Calling [`evaluate`] twice with the same input gives
//! the same verdict, and no model takes part in it. This crate is the only mint of permits.
//!
//! ```text
//! policy files ──load──▶ Policy ─┐
//! machine ──ic-resolve──▶ Bounds ─┼─evaluate─▶ Verdict ┬ Deny(Denial)
//! ToolCall ─ic-resolve─▶ ResolvedCall                  ├ Escalate(Escalation) ─settle─▶ Permit | Refused | AskAgain
//!                                                      └ Allow(Permit)
//! ```
//!
//! Reading order: [`artifact`] (the files), [`annotation`] and [`mod@pointer`] (what arguments mean),
//! [`call`] and [`bounds`] (what is judged), [`domain`], [`rule`] and the index (when a rule holds),
//! [`finding`] (who may speak) and [`decide`] (the order of things), [`verdict`] (what comes out),
//! [`policy`] (how it is loaded), [`additions`] (what the user puts in front of it), [`builtin`] (the policies that come along),
//! [`lint`] (what is odd about one), [`mod@record`] (what a log keeps of a call).
//!
//! # Invariants
//!
//! - `ic-policy` does no I/O; paths reach it canonical.
//! - Every [`Permit`] is made in [`verdict`], by an allowing verdict or by settling an escalation.
//! - Deny beats escalate beats allow; what no rule covers is denied.

pub mod additions;
pub mod annotation;
pub mod artifact;
pub mod bounds;
pub mod builtin;
pub mod call;
pub mod decide;
pub mod domain;
pub mod effect;
pub mod finding;
pub mod host_executes;
mod index;
pub mod lint;
pub mod petition;
pub mod plan;
pub mod pointer;
pub mod policy;
pub mod push;
pub mod record;
pub mod rule;
pub mod verdict;

pub use additions::Addition;
pub use annotation::{Annotation, ArgumentAnnotation};
pub use artifact::{ArtifactError, ExpectedDecision, Scenario, Scenarios, Source};
pub use bounds::{Bounds, Containment, HomeExecutes, Reach, Sandbox, SandboxKind, ServerTraits};
pub use builtin::Builtin;
pub use call::{
    Executed, FileKind, FileState, InvalidValue, PathValue, ResolvedCall, ResolvedParts, RolePlace,
    RoleValues, Standing, UnannotatedPath, UrlValue, Value, Why,
};
pub use decide::{containment_notes, decisive, evaluate, explain};
pub use domain::{Destination, DomainPattern, DomainSet, HostPattern, Scheme};
pub use effect::Effect;
pub use finding::{Authority, Finding, RuleRef, Structural};
pub use pointer::Pointer;
pub use policy::{Locate, Policy, PolicySources, Restricted};
pub use push::{Push, PushManner, PushedRef};
pub use record::RecordedCall;
pub use rule::Rule;
pub use verdict::{
    Answer, Cause, DecidedBy, Decision, Denial, Escalation, Grounds, Permit, Refusal, RefusalCause,
    Settled, Shown, Ticket, Verdict,
};
