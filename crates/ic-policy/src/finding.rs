//! What speaks for or against a call, and in whose name.
//!
//! Says nothing about when: who finds what is the work of [`decide`](crate::decide).

use std::sync::Arc;

use ic_types::Role;

use crate::effect::Effect;
use crate::index::RuleId;
use crate::policy::Policy;
use crate::rule::Rule;

/// One thing that speaks for or against a call.
#[derive(Debug)]
pub struct Finding {
    /// What it says.
    pub effect: Effect,
    /// Who says it.
    pub authority: Authority,
    /// The role that it is about, if it is about one.
    pub role: Option<Role>,
    /// What it is about; empty where the rule's own reason says it all.
    pub detail: String,
    /// For a role: which of its values each rule settled.
    pub settled: Vec<(usize, Authority)>,
}

/// Who decides: an invariant, a rule, or nobody.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Authority {
    /// Something that no policy can override.
    Structural(Structural),
    /// A rule of the policy.
    Rule(RuleRef),
    /// No rule spoke.
    Default,
}

/// A rule of the policy that was asked; two of them may have the same name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct RuleRef(pub(crate) RuleId);

impl RuleRef {
    /// Returns the position of the rule in its policy.
    pub fn position(self) -> usize {
        self.0.position()
    }
}

/// What no policy can override.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Structural {
    /// A value that cannot be used.
    InvalidValue,
    /// An argument that the annotation does not name.
    UnknownArgument,
    /// A path that is nobody's business.
    ProtectedPath,
    /// A file that the host runs later.
    HostExecutes,
    /// A protected path in an argument without a role.
    UnannotatedPath,
    /// An annotation that nobody has confirmed.
    Draft,
    /// The list of directories, which says nothing new.
    IntrospectionAllow,
    /// A host that the server is not meant to reach.
    DomainEscalate,
    /// A tool without annotation.
    UnknownTool,
    /// The entry of a directory that a rule opens, which the rule itself does not cover.
    Root,
    /// Everything lies in the sandbox.
    SandboxAllow,
    /// The server itself asks for it.
    ServerRequest,
    /// Several calls are to be approved before they are made.
    Plan,
}

/// The name of the decision that no rule made.
pub(crate) const DEFAULT_DENY: &str = "default-deny";

/// What the names of decisions begin with that no policy can override.
const STRUCTURAL_PREFIX: &str = "structural-";

/// Returns whether `name` is taken for decisions that no rule makes.
pub(crate) fn is_reserved(name: &str) -> bool {
    name == DEFAULT_DENY || name.starts_with(STRUCTURAL_PREFIX)
}

// === impl Finding ===

impl Finding {
    pub(crate) fn structural(structural: Structural, detail: impl Into<String>) -> Self {
        Self {
            effect: structural.effect(),
            authority: Authority::Structural(structural),
            role: None,
            detail: detail.into(),
            settled: Vec::new(),
        }
    }

    pub(crate) fn by_rule(effect: Effect, id: RuleId, role: Option<Role>) -> Self {
        let authority = Authority::Rule(RuleRef(id));
        Self { effect, authority, role, detail: String::new(), settled: Vec::new() }
    }

    pub(crate) fn default_deny(role: Option<Role>, detail: String) -> Self {
        let authority = Authority::Default;
        Self { effect: Effect::Deny, authority, role, detail, settled: Vec::new() }
    }

    /// Returns why, in the rule's words or in ours.
    pub fn reason(&self, policy: &Policy) -> Arc<str> {
        match self.authority {
            Authority::Rule(RuleRef(id)) => {
                policy.rule(id).map_or_else(|| Arc::from(""), |rule| Arc::clone(&rule.reason))
            }
            Authority::Structural(_) | Authority::Default => Arc::from(self.detail.as_str()),
        }
    }
}

// === impl Authority ===

impl Authority {
    /// Returns the name that people script against.
    pub fn name(self, policy: &Policy) -> Arc<str> {
        match self {
            Self::Structural(structural) => Arc::from(structural.as_str()),
            Self::Rule(RuleRef(id)) => policy
                .rule(id)
                .map_or_else(|| Arc::from(DEFAULT_DENY), |rule| Arc::clone(&rule.name)),
            Self::Default => Arc::from(DEFAULT_DENY),
        }
    }

    /// Returns the rule that decides, if one does.
    pub fn rule(self, policy: &Policy) -> Option<&Rule> {
        match self {
            Self::Rule(RuleRef(id)) => policy.rule(id),
            Self::Structural(_) | Self::Default => None,
        }
    }

    /// Returns whether this one is named where both say the same: the earlier rule, and a rule
    /// before anything else.
    pub(crate) fn precedes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rule(RuleRef(this)), Self::Rule(RuleRef(other))) => this < other,
            (Self::Rule(_), Self::Structural(_) | Self::Default) => true,
            (Self::Structural(_) | Self::Default, _) => false,
        }
    }
}

// === impl Structural ===

impl Structural {
    /// Returns the name that people script against.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidValue => "structural-invalid-value",
            Self::UnknownArgument => "structural-unknown-argument",
            Self::ProtectedPath => "structural-protected-path",
            Self::HostExecutes => "structural-host-executes",
            Self::UnannotatedPath => "structural-unannotated-path",
            Self::Draft => "structural-draft",
            Self::IntrospectionAllow => "structural-introspection-allow",
            Self::DomainEscalate => "structural-domain-escalate",
            Self::UnknownTool => "structural-unknown-tool",
            Self::Root => "structural-root",
            Self::SandboxAllow => "structural-sandbox-allow",
            Self::ServerRequest => "structural-server-request",
            Self::Plan => "structural-plan",
        }
    }

    /// Every one of them.
    pub const ALL: [Self; 13] = [
        Self::InvalidValue,
        Self::UnknownArgument,
        Self::ProtectedPath,
        Self::HostExecutes,
        Self::UnannotatedPath,
        Self::Draft,
        Self::IntrospectionAllow,
        Self::DomainEscalate,
        Self::UnknownTool,
        Self::SandboxAllow,
        Self::Root,
        Self::ServerRequest,
        Self::Plan,
    ];

    /// What is asked before any rule, in this order.
    pub const BEFORE_RULES: [Self; 10] = [
        Self::InvalidValue,
        Self::UnknownArgument,
        Self::ProtectedPath,
        Self::HostExecutes,
        Self::UnannotatedPath,
        Self::Draft,
        Self::IntrospectionAllow,
        Self::DomainEscalate,
        Self::UnknownTool,
        Self::SandboxAllow,
    ];

    /// Returns what it is about, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::InvalidValue => "a value that cannot be used",
            Self::UnknownArgument => "an argument that the tool's annotation does not name",
            Self::ProtectedPath => {
                "keys, credentials, IronCurtain's own files and other protected paths"
            }
            Self::HostExecutes => {
                "changes to files that programs of this machine run or take orders from"
            }
            Self::UnannotatedPath => "a protected path in an argument that is not a path",
            Self::Draft => "a tool whose annotation is not confirmed yet",
            Self::IntrospectionAllow => "the list of allowed directories",
            Self::DomainEscalate => "a host that the server is not meant to reach",
            Self::UnknownTool => "a tool without an annotation",
            Self::Root => "making, moving or removing the directory that a rule allows",
            Self::SandboxAllow => "paths in the sandbox, for servers that are contained",
            Self::ServerRequest => "a request of the server itself",
            Self::Plan => "calls that are to be approved together before they are made",
        }
    }

    /// Returns what it says.
    pub fn effect(self) -> Effect {
        match self {
            Self::InvalidValue
            | Self::UnknownArgument
            | Self::ProtectedPath
            | Self::UnknownTool => Effect::Deny,
            Self::HostExecutes
            | Self::UnannotatedPath
            | Self::Draft
            | Self::DomainEscalate
            | Self::Root
            | Self::ServerRequest
            | Self::Plan => Effect::Escalate,
            Self::IntrospectionAllow | Self::SandboxAllow => Effect::Allow,
        }
    }
}
