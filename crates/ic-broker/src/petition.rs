//! What a server asks of a client: an answer of its model (sampling), or of its person (elicitation).
//!
//! ```text
//! params ──Petition::read──▶ arguments: shown, judged, recorded, sent to one client
//! client's answer ──Petition::answer──▶ what the server is told
//! ```
//!
//! Both ways only what is on a closed list goes on, and to a client nothing but what a person is shown whole. Whether a server may ask at all is its entry's
//! business, and whether this very question is passed on is a person's.

mod elicitation;
mod sampling;
mod words;

use std::sync::{Arc, LazyLock};

use ic_policy::petition::{ELICITATION, SAMPLING};
use ic_types::{Json, Object, ServerName};

use crate::tool::Tool;
use elicitation::Form;

/// The longest petition: a person has to look at it.
pub(crate) const PETITION_BYTES_MAX: usize = 1 << 20;
/// The longest answer that is passed on to a server.
pub(crate) const ANSWER_BYTES_MAX: usize = 1 << 20;

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

/// A petition as it is judged and sent.
#[derive(Debug)]
pub(crate) struct Petition {
    pub(crate) kind: PetitionKind,
    pub(crate) arguments: Object,
    /// What the answer of a person has to fit.
    form: Option<Form>,
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
    pub(crate) fn of(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == method)
    }

    /// Returns the capability of a client that can be asked.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
        }
    }

    /// Returns the tool as which it is judged.
    pub(crate) fn tool(self) -> Option<Arc<Tool>> {
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

impl Petition {
    /// Reads what `server` asks for, or says why it cannot be asked.
    pub(crate) fn read(
        kind: PetitionKind,
        params: Object,
        server: &ServerName,
    ) -> Result<Self, String> {
        let (arguments, form) = match kind {
            PetitionKind::Sampling => (sampling::read(params, server)?, None),
            PetitionKind::Elicitation => {
                let (arguments, form) = elicitation::read(params, server)?;
                (arguments, Some(form))
            }
        };
        Ok(Self { kind, arguments, form })
    }

    /// Returns what the server is told, or why the client's answer is none.
    pub(crate) fn answer(&self, result: Json) -> Result<Json, String> {
        let Json::Object(result) = result else {
            return Err("it is not an object".to_owned());
        };
        let answer = match &self.form {
            None => sampling::answer(result)?,
            Some(form) => form.answer(result)?,
        };
        let answer = Json::Object(answer);
        match answer.to_string().len() {
            0..=ANSWER_BYTES_MAX => Ok(answer),
            n_bytes => {
                Err(format!("it takes {n_bytes} bytes, and {ANSWER_BYTES_MAX} are passed on"))
            }
        }
    }
}

/// Says whose words follow, to a client that would take them for ours.
fn label(server: &ServerName) -> String {
    format!("[from the server `{server}`]")
}

/// Says that something stands where it must not.
fn unexpected(key: &str) -> String {
    let key: String = key.chars().take(64).collect();
    format!("`{}` is not passed on", key.escape_debug())
}

fn wrong(key: &str) -> String {
    format!("`{key}` is missing, or is not what the protocol says")
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;

    use super::*;

    /// Reads what a server sends.
    pub(super) fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            other => panic!("no object: {other}"),
        }
    }
}
