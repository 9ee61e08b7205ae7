//! The policies that come with the program: `default`, `coding` and `readonly`.
//!
//! They are files like any other policy's, written by us and embedded; nothing here treats them
//! differently.

use crate::artifact::Source;
use crate::policy::PolicySources;

/// A policy that comes with the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Builtin {
    /// Least privilege, no destruction, human oversight.
    Default,
    /// Work in a workspace: everything local is free, remotes ask.
    Coding,
    /// Reading only.
    Readonly,
}

/// The texts of one built-in policy.
struct Texts {
    constitution: &'static str,
    compiled: &'static str,
    scenarios: &'static str,
}

/// The annotations of the built-in servers, which all three policies share.
const ANNOTATIONS: &str = include_str!("../policies/tool-annotations.json");

impl Builtin {
    /// Every built-in policy.
    pub const ALL: [Self; 3] = [Self::Default, Self::Coding, Self::Readonly];

    /// Finds a built-in policy by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// Returns the policy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Coding => "coding",
            Self::Readonly => "readonly",
        }
    }

    /// Returns the plain-English text that the policy says it follows.
    pub fn constitution(self) -> &'static str {
        self.texts().constitution
    }

    /// Returns the files to load.
    pub fn sources(self) -> PolicySources<'static> {
        let compiled = match self {
            Self::Default => "built-in default/compiled-policy.json",
            Self::Coding => "built-in coding/compiled-policy.json",
            Self::Readonly => "built-in readonly/compiled-policy.json",
        };
        PolicySources {
            compiled: Source { file: compiled, bytes: self.texts().compiled.as_bytes() },
            annotations: Source {
                file: "built-in tool-annotations.json",
                bytes: ANNOTATIONS.as_bytes(),
            },
            lists: None,
        }
    }

    /// Returns the scenarios that the policy must pass.
    pub fn scenarios(self) -> Source<'static> {
        let file = match self {
            Self::Default => "built-in default/test-scenarios.json",
            Self::Coding => "built-in coding/test-scenarios.json",
            Self::Readonly => "built-in readonly/test-scenarios.json",
        };
        Source { file, bytes: self.texts().scenarios.as_bytes() }
    }

    fn texts(self) -> Texts {
        macro_rules! texts {
            ($name:literal) => {
                Texts {
                    constitution: include_str!(concat!("../policies/", $name, "/constitution.md")),
                    compiled: include_str!(concat!("../policies/", $name, "/compiled-policy.json")),
                    scenarios: include_str!(concat!("../policies/", $name, "/test-scenarios.json")),
                }
            };
        }
        match self {
            Self::Default => texts!("default"),
            Self::Coding => texts!("coding"),
            Self::Readonly => texts!("readonly"),
        }
    }
}
