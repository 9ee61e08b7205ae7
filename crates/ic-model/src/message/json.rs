//! Messages as JSON, as a conversation's file holds them.
//!
//! Written and read through [`Json`], which keeps numbers and the order of keys as they came: a
//! signed block that came back altered would not be accepted. Reading is strict, since a file that
//! is half understood would be half a conversation.

use ic_types::{Json, Object, Provider};

use super::{AssistantBlock, Message, ToolUseId, UserBlock};

/// Why JSON is no message.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MessageFault {
    /// Something has another form than it must have.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A key that is needed is not there.
    #[error("the key `{0}` is missing")]
    Missing(&'static str),
    /// There is a key that nobody knows.
    #[error("unknown key `{}`", .0.escape_debug())]
    UnknownKey(String),
    /// A value is none of those that are known.
    #[error("unknown {what} `{}`", .value.escape_debug())]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The value.
        value: String,
    },
}

impl Message {
    /// Writes the message as JSON.
    pub fn to_json(&self) -> Json {
        let (role, content) = match self {
            Self::User(blocks) => ("user", blocks.iter().map(user_block).collect::<Vec<_>>()),
            Self::Assistant(blocks) => ("assistant", blocks.iter().map(assistant_block).collect()),
        };
        object([("role", Json::from(role)), ("content", Json::Array(content))])
    }

    /// Reads a message that was written as JSON.
    pub fn from_json(json: &Json) -> Result<Self, MessageFault> {
        let fields = Fields::of(json, &["role", "content"])?;
        let Json::Array(content) = fields.value("content")? else {
            return Err(MessageFault::Expected("an array of blocks"));
        };
        match fields.text("role")? {
            "user" => content.iter().map(read_user_block).collect::<Result<_, _>>().map(Self::User),
            "assistant" => content
                .iter()
                .map(read_assistant_block)
                .collect::<Result<_, _>>()
                .map(Self::Assistant),
            role => Err(MessageFault::Unknown { what: "role", value: role.to_owned() }),
        }
    }
}

fn user_block(block: &UserBlock) -> Json {
    match block {
        UserBlock::Text(text) => text_block("text", text),
        UserBlock::Note(text) => text_block("note", text),
        UserBlock::ToolResult { id, content, is_error } => object([
            ("type", Json::from("tool_result")),
            ("toolUseId", Json::from(id.as_str())),
            ("content", Json::from(content.as_str())),
            ("isError", Json::from(*is_error)),
        ]),
    }
}

fn assistant_block(block: &AssistantBlock) -> Json {
    match block {
        AssistantBlock::Text(text) => text_block("text", text),
        AssistantBlock::ToolUse { id, name, input } => object([
            ("type", Json::from("tool_use")),
            ("id", Json::from(id.as_str())),
            ("name", Json::from(name.as_str())),
            ("input", input.clone()),
        ]),
        AssistantBlock::Verbatim { provider, block } => object([
            ("type", Json::from("verbatim")),
            ("provider", Json::from(provider.as_str())),
            ("block", block.clone()),
        ]),
    }
}

fn text_block(kind: &str, text: &str) -> Json {
    object([("type", Json::from(kind)), ("text", Json::from(text))])
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object.into()
}

fn read_user_block(json: &Json) -> Result<UserBlock, MessageFault> {
    match kind(json)? {
        "text" => Ok(UserBlock::Text(read_text_block(json)?)),
        "note" => Ok(UserBlock::Note(read_text_block(json)?)),
        "tool_result" => {
            let fields = Fields::of(json, &["type", "toolUseId", "content", "isError"])?;
            let Json::Bool(is_error) = fields.value("isError")? else {
                return Err(MessageFault::Expected("`isError` to be true or false"));
            };
            let content = fields.text("content")?.to_owned();
            Ok(UserBlock::ToolResult { id: fields.id("toolUseId")?, content, is_error: *is_error })
        }
        kind => Err(unknown_block(kind)),
    }
}

fn read_assistant_block(json: &Json) -> Result<AssistantBlock, MessageFault> {
    match kind(json)? {
        "text" => Ok(AssistantBlock::Text(read_text_block(json)?)),
        "tool_use" => {
            let fields = Fields::of(json, &["type", "id", "name", "input"])?;
            let (id, name) = (fields.id("id")?, fields.text("name")?.to_owned());
            Ok(AssistantBlock::ToolUse { id, name, input: fields.value("input")?.clone() })
        }
        "verbatim" => {
            let fields = Fields::of(json, &["type", "provider", "block"])?;
            let name = fields.text("provider")?;
            let provider = name
                .parse::<Provider>()
                .map_err(|_| MessageFault::Unknown { what: "provider", value: name.to_owned() })?;
            Ok(AssistantBlock::Verbatim { provider, block: fields.value("block")?.clone() })
        }
        kind => Err(unknown_block(kind)),
    }
}

fn read_text_block(json: &Json) -> Result<String, MessageFault> {
    Ok(Fields::of(json, &["type", "text"])?.text("text")?.to_owned())
}

fn kind(json: &Json) -> Result<&str, MessageFault> {
    match json {
        Json::Object(object) => match object.get("type") {
            Some(Json::String(kind)) => Ok(kind),
            Some(_) => Err(MessageFault::Expected("`type` to be a string")),
            None => Err(MessageFault::Missing("type")),
        },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(MessageFault::Expected("a block"))
        }
    }
}

fn unknown_block(kind: &str) -> MessageFault {
    MessageFault::Unknown { what: "type of block", value: kind.to_owned() }
}

/// The fields of an object that has no others.
struct Fields<'a>(&'a Object);

impl<'a> Fields<'a> {
    fn of(json: &'a Json, known: &[&str]) -> Result<Self, MessageFault> {
        let Json::Object(object) = json else {
            return Err(MessageFault::Expected("an object"));
        };
        match object.keys().find(|key| !known.contains(key)) {
            Some(key) => Err(MessageFault::UnknownKey(key.to_owned())),
            None => Ok(Self(object)),
        }
    }

    fn value(&self, key: &'static str) -> Result<&'a Json, MessageFault> {
        self.0.get(key).ok_or(MessageFault::Missing(key))
    }

    fn text(&self, key: &'static str) -> Result<&'a str, MessageFault> {
        self.value(key)?.as_str().ok_or(MessageFault::Expected("a string"))
    }

    fn id(&self, key: &'static str) -> Result<ToolUseId, MessageFault> {
        let raw = self.text(key)?.to_owned();
        ToolUseId::try_from(raw).map_err(|_| MessageFault::Expected("an id of a tool use"))
    }
}
