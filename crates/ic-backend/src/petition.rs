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

use ic_inventory::PetitionKind;
use ic_types::{Json, Object, ServerName};

use elicitation::Form;

/// The longest petition: a person has to look at it.
pub(crate) const PETITION_BYTES_MAX: usize = 1 << 20;
/// The longest answer that is passed on to a server.
pub(crate) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A petition as it is judged and sent.
#[derive(Debug)]
pub struct Petition {
    /// What is asked for.
    pub kind: PetitionKind,
    /// What is asked, as it is judged and sent.
    pub arguments: Object,
    /// What the answer of a person has to fit.
    form: Option<Form>,
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
    pub fn answer(&self, result: Json) -> Result<Json, String> {
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
