//! What host and worker say to each other, each message a JSON object in a frame.
//!
//! ```text
//! worker                                   host
//! ready            (engine made, tightened)
//!                                          run {source, arguments, catalogue, limits}
//! started
//! print {text}     (any number)
//! call {id, …}     (one at a time)         reply {id, …}
//! done | threw | memory
//! ```
//!
//! The host parses strictly: what has another shape than here is no message. When a message may come
//! is the business of `run`.

use ic_types::{Json, JsonError, JsonLimits, Object, ToolCall};

use crate::calls::{Called, Denial};
use crate::catalogue::{Catalogue, array, optional};
use crate::limits::{FRAME, TO_WORKER};
use crate::run::Script;

/// What a worker says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// It is tightened and waits for a script.
    Ready,
    /// It has read the script, and begins.
    Started,
    /// The script printed.
    Print {
        text: String,
        /// Bytes that it printed before that, and that were not sent.
        n_missing: u64,
    },
    /// The script calls.
    Call { id: u64, call: ToolCall },
    /// The script came to its end.
    Done { value: Option<String> },
    /// The script threw, or is no script.
    Threw(Thrown),
    /// The script needs more memory than there is.
    Memory,
}

/// What a script threw.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Thrown {
    pub(crate) message: String,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) stack: String,
}

/// A run, as the worker is told of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunOrder {
    pub(crate) source: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) catalogue: Catalogue,
    pub(crate) calls_max: u64,
}

/// What came of a call, as the worker is told of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Value(Json),
    Denied(Denial),
    Failed(String),
}

/// Why a frame is no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// It is not valid JSON as we read it.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON of another shape.
    #[error("it is not a message")]
    Shape,
}

impl Said {
    pub(crate) fn write(&self) -> String {
        let mut object = Object::new();
        match self {
            Self::Ready => object.insert("say", "ready"),
            Self::Started => object.insert("say", "started"),
            Self::Memory => object.insert("say", "memory"),
            Self::Print { text, n_missing } => {
                object.insert("say", "print");
                object.insert("text", text.as_str());
                object.insert("missing", *n_missing);
            }
            Self::Call { id, call } => {
                object.insert("say", "call");
                object.insert("id", *id);
                object.insert("server", call.server.as_str());
                object.insert("tool", call.tool.as_str());
                object.insert("arguments", call.arguments.clone());
            }
            Self::Done { value } => {
                object.insert("say", "done");
                object.insert("value", optional(value.as_deref()));
            }
            Self::Threw(Thrown { message, line, column, stack }) => {
                object.insert("say", "threw");
                object.insert("message", message.as_str());
                object.insert("line", number(*line));
                object.insert("column", number(*column));
                object.insert("stack", stack.as_str());
            }
        }
        Json::Object(object).to_string()
    }

    pub(crate) fn read(frame: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields::parse(frame, FRAME)?;
        let say = fields.text("say")?;
        let said = match say.as_str() {
            "ready" => Self::Ready,
            "started" => Self::Started,
            "memory" => Self::Memory,
            "print" => {
                Self::Print { text: fields.text("text")?, n_missing: fields.count("missing")? }
            }
            "call" => Self::Call {
                id: fields.count("id")?,
                call: ToolCall {
                    server: fields.text("server")?.parse().map_err(|_| WireError::Shape)?,
                    tool: fields.text("tool")?.parse().map_err(|_| WireError::Shape)?,
                    arguments: fields.object("arguments")?,
                },
            },
            "done" => Self::Done { value: fields.optional_text("value")? },
            "threw" => Self::Threw(Thrown {
                message: fields.text("message")?,
                line: fields.place("line")?,
                column: fields.place("column")?,
                stack: fields.text("stack")?,
            }),
            _ => return Err(WireError::Shape),
        };
        fields.end(said)
    }
}

impl RunOrder {
    /// Writes an order.
    pub(crate) fn write(script: &Script, catalogue: &Catalogue, calls_max: u64) -> String {
        let mut object = Object::new();
        object.insert("source", script.source.as_str());
        let arguments: Vec<Json> = script.arguments.iter().map(|it| it.as_str().into()).collect();
        object.insert("arguments", arguments);
        object.insert("catalogue", catalogue.to_json());
        object.insert("callsMax", calls_max);
        Json::Object(object).to_string()
    }

    pub(crate) fn read(frame: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields::parse(frame, TO_WORKER)?;
        let arguments = array(fields.take("arguments")?).ok_or(WireError::Shape)?;
        let arguments = arguments.iter().map(|it| it.as_str().map(ToOwned::to_owned));
        let order = Self {
            arguments: arguments.collect::<Option<_>>().ok_or(WireError::Shape)?,
            source: fields.text("source")?,
            catalogue: Catalogue::from_json(fields.take("catalogue")?).ok_or(WireError::Shape)?,
            calls_max: fields.count("callsMax")?,
        };
        fields.end(order)
    }
}

impl Reply {
    /// Takes what a script gets: the structured content if the tool declares it, else the text.
    pub(crate) fn of(called: Called, is_structured: bool) -> Self {
        match called {
            Called::Done { structured: Some(value), .. } if is_structured => Self::Value(value),
            Called::Done { text, .. } => Self::Value(text.into()),
            Called::Failed { message } => Self::Failed(message),
            Called::Denied(denial) => Self::Denied(denial),
        }
    }

    pub(crate) fn write(&self, id: u64) -> String {
        let mut object = Object::new();
        object.insert("id", id);
        match self {
            Self::Value(value) => object.insert("value", value.clone()),
            Self::Failed(message) => object.insert("failed", message.as_str()),
            Self::Denied(denial) => object.insert("denied", denial_to_json(denial)),
        }
        Json::Object(object).to_string()
    }

    /// Reads the reply to the call `id`.
    pub(crate) fn read(frame: &[u8], id: u64) -> Result<Self, WireError> {
        let mut fields = Fields::parse(frame, TO_WORKER)?;
        if fields.count("id")? != id {
            return Err(WireError::Shape);
        }
        let word = fields.0.keys().next().map(ToOwned::to_owned);
        let reply = match word.as_deref() {
            Some("value") => Self::Value(fields.take("value")?),
            Some("failed") => Self::Failed(fields.text("failed")?),
            Some("denied") => {
                let mut denial = Fields(fields.object("denied")?);
                let read = Denial {
                    message: denial.text("message")?,
                    decision: denial.text("decision")?,
                    rule: denial.text("rule")?,
                    reason: denial.text("reason")?,
                    next_step: denial.optional_text("nextStep")?,
                };
                Self::Denied(denial.end(read)?)
            }
            Some(_) | None => return Err(WireError::Shape),
        };
        fields.end(reply)
    }
}

pub(crate) fn denial_to_json(denial: &Denial) -> Object {
    let Denial { message, decision, rule, reason, next_step } = denial;
    let mut object = Object::new();
    object.insert("message", message.as_str());
    object.insert("decision", decision.as_str());
    object.insert("rule", rule.as_str());
    object.insert("reason", reason.as_str());
    object.insert("nextStep", optional(next_step.as_deref()));
    object
}

fn number(it: Option<u32>) -> Json {
    it.map_or(Json::Null, |it| u64::from(it).into())
}

/// An object out of which every member is taken once.
struct Fields(Object);

impl Fields {
    fn parse(frame: &[u8], limits: JsonLimits) -> Result<Self, WireError> {
        match Json::parse(frame, limits)? {
            Json::Object(object) => Ok(Self(object)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(WireError::Shape)
            }
        }
    }

    fn take(&mut self, key: &str) -> Result<Json, WireError> {
        self.0.remove(key).ok_or(WireError::Shape)
    }

    fn text(&mut self, key: &str) -> Result<String, WireError> {
        self.optional_text(key)?.ok_or(WireError::Shape)
    }

    fn optional_text(&mut self, key: &str) -> Result<Option<String>, WireError> {
        match self.take(key)? {
            Json::String(text) => Ok(Some(text)),
            Json::Null => Ok(None),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(WireError::Shape)
            }
        }
    }

    fn object(&mut self, key: &str) -> Result<Object, WireError> {
        match self.take(key)? {
            Json::Object(object) => Ok(object),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(WireError::Shape)
            }
        }
    }

    fn count(&mut self, key: &str) -> Result<u64, WireError> {
        match self.take(key)? {
            Json::Number(number) => number.as_str().parse().map_err(|_| WireError::Shape),
            Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                Err(WireError::Shape)
            }
        }
    }

    fn place(&mut self, key: &str) -> Result<Option<u32>, WireError> {
        if self.0.get(key) == Some(&Json::Null) {
            return self.take(key).map(|_| None);
        }
        u32::try_from(self.count(key)?).map(Some).map_err(|_| WireError::Shape)
    }

    /// Returns `read` if nothing is left over.
    fn end<T>(self, read: T) -> Result<T, WireError> {
        if self.0.is_empty() { Ok(read) } else { Err(WireError::Shape) }
    }
}

#[cfg(test)]
mod tests;
