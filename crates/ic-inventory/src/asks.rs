//! What servers can ask of clients, and what the entry of one lets it ask.
//!
//! What such a question says is not read here.

use std::sync::{Arc, LazyLock};

use ic_policy::petition::{ELICITATION, SAMPLING};
use ic_types::{Json, Object};

use crate::tool::Tool;

/// What servers can ask of clients.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PetitionKind {
    /// An answer of the client's model.
    Sampling,
    /// Answers of the client's person.
    Elicitation,
}

/// What the entry of a server lets it ask of clients.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Asks {
    /// Whether it may ask for an answer of the model.
    pub sampling: bool,
    /// Whether it may ask the person.
    pub elicitation: bool,
}

impl PetitionKind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Sampling, Self::Elicitation];

    /// Returns the method, which is also the name of the tool as which it is judged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sampling => SAMPLING,
            Self::Elicitation => ELICITATION,
        }
    }

    /// Returns what `method` asks for, if it is one of them.
    pub fn of(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == method)
    }

    /// Returns the capability of a client that can be asked.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
        }
    }

    /// Returns the tool as which it is judged.
    pub fn tool(self) -> Option<Arc<Tool>> {
        static TOOLS: LazyLock<Vec<(PetitionKind, Arc<Tool>)>> = LazyLock::new(|| {
            let tool = |kind: PetitionKind| {
                let mut schema = Object::new();
                schema.insert("type", "object");
                let mut listed = Object::new();
                listed.insert("name", kind.as_str());
                listed.insert("inputSchema", schema);
                Some((kind, Arc::new(Tool::read(Json::Object(listed)).ok()?)))
            };
            PetitionKind::ALL.into_iter().filter_map(tool).collect()
        });
        TOOLS.iter().find(|(kind, _)| *kind == self).map(|(_, tool)| Arc::clone(tool))
    }
}

impl Asks {
    /// Returns whether the server may ask for this.
    pub fn allow(self, kind: PetitionKind) -> bool {
        match kind {
            PetitionKind::Sampling => self.sampling,
            PetitionKind::Elicitation => self.elicitation,
        }
    }
}
