//! What a built-in server is: a list of tools, and a function that makes one call.
//!
//! Knows nothing of streams, nor of what any tool does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ic_mcp::Outcome;
use ic_types::{Json, Object};

/// A server's tools.
pub trait Tools: Sync {
    /// Returns what the server is called.
    fn name(&self) -> &'static str;

    /// Returns its tools.
    fn list(&self) -> Vec<Tool>;

    /// Makes one call.
    ///
    /// Several calls run at once. What goes wrong with a call is part of its result, since the model
    /// is to read it. A call that takes long looks whether it was cancelled, and may then return
    /// anything.
    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool>;
}

/// There is no such tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("there is no such tool")]
pub struct UnknownTool;

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What it does, for a model to read.
    pub description: &'static str,
    /// Which arguments it takes, as a JSON schema.
    pub input_schema: Object,
    /// What it does to the world.
    pub effect: Effect,
    /// Which world that is.
    pub world: World,
}

/// What a tool does to what is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It adds what is missing; once more adds nothing.
    Ensures,
    /// It replaces or removes; once more changes nothing further.
    Replaces,
    /// It replaces or removes, and once more would do so again.
    Changes,
}

/// What a tool deals with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum World {
    /// Things that are known to the server.
    Closed,
    /// Whatever is out there.
    Open,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    content: Vec<Content>,
    structured: Option<Object>,
    is_error: bool,
}

/// A part of a result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A picture, in base64.
    Image {
        /// The bytes in base64.
        data: String,
        /// What they are.
        mime_type: &'static str,
    },
    /// A sound, in base64.
    Audio {
        /// The bytes in base64.
        data: String,
        /// What they are.
        mime_type: &'static str,
    },
    /// Any other bytes, in base64.
    Blob {
        /// Where they are from.
        uri: String,
        /// The bytes in base64.
        data: String,
        /// What they are.
        mime_type: &'static str,
    },
}

/// Whether whoever asked has lost interest.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<AtomicBool>);

/// Whoever made a call: can lose interest, and can perhaps be asked something in turn.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    cancel: &'a Cancel,
    asking: Option<&'a dyn Ask>,
    meta: Option<&'a Object>,
}

/// A way to ask whoever calls.
pub trait Ask: Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, method: &str, params: &Object) -> Result<Outcome, NoAnswer>;
}

/// Nobody answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the caller cannot be asked")]
pub struct NoAnswer;

// === impl Tool ===

impl Tool {
    /// Returns the tool as MCP lists it.
    pub fn into_json(self) -> Json {
        let mut tool = Object::new();
        tool.insert("name", self.name);
        tool.insert("description", self.description);
        tool.insert("inputSchema", self.input_schema);
        let (reads, destroys, idempotent) = match self.effect {
            Effect::Reads => (true, false, true),
            Effect::Ensures => (false, false, true),
            Effect::Replaces => (false, true, true),
            Effect::Changes => (false, true, false),
        };
        let mut hints = Object::new();
        hints.insert("readOnlyHint", reads);
        hints.insert("destructiveHint", destroys);
        hints.insert("idempotentHint", idempotent);
        hints.insert("openWorldHint", self.world == World::Open);
        tool.insert("annotations", hints);
        Json::Object(tool)
    }
}

// === impl ToolResult ===

impl ToolResult {
    /// Makes the result of a call that did what was asked.
    pub fn done(content: Vec<Content>) -> Self {
        Self { content, structured: None, is_error: false }
    }

    /// Makes the result of a call that did what was asked, with a text to read.
    pub fn text(text: impl Into<String>) -> Self {
        Self::done(vec![Content::Text(text.into())])
    }

    /// Makes the result of a call that failed, with the reason and what to do.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: true }
    }

    /// Adds a part for programs.
    #[must_use]
    pub fn with_structured(self, structured: Object) -> Self {
        Self { structured: Some(structured), ..self }
    }

    /// Returns whether the call failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Returns the parts.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Returns the result as MCP sends it.
    pub fn into_object(self) -> Object {
        let content: Vec<Json> = self.content.into_iter().map(Content::into_json).collect();
        let mut result = Object::new();
        result.insert("content", content);
        if let Some(structured) = self.structured {
            result.insert("structuredContent", structured);
        }
        result.insert("isError", self.is_error);
        result
    }
}

impl Content {
    fn into_json(self) -> Json {
        let mut part = Object::new();
        match self {
            Self::Text(text) => {
                part.insert("type", "text");
                part.insert("text", text);
            }
            Self::Image { data, mime_type } => {
                part.insert("type", "image");
                part.insert("data", data);
                part.insert("mimeType", mime_type);
            }
            Self::Audio { data, mime_type } => {
                part.insert("type", "audio");
                part.insert("data", data);
                part.insert("mimeType", mime_type);
            }
            Self::Blob { uri, data, mime_type } => {
                let mut resource = Object::new();
                resource.insert("uri", uri);
                resource.insert("mimeType", mime_type);
                resource.insert("blob", data);
                part.insert("type", "resource");
                part.insert("resource", resource);
            }
        }
        Json::Object(part)
    }
}

// === impl Cancel ===

impl Cancel {
    /// Makes one that is not cancelled.
    #[expect(clippy::new_without_default, reason = "a default would hide that nobody can cancel")]
    pub fn new() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    /// Says that nobody waits for the result any more.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether somebody said so.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Caller ===

impl<'a> Caller<'a> {
    /// Makes a caller that can be asked.
    pub fn new(cancel: &'a Cancel, asking: &'a dyn Ask) -> Self {
        Self { cancel, asking: Some(asking), meta: None }
    }

    /// Makes a caller that answers nothing.
    pub fn silent(cancel: &'a Cancel) -> Self {
        Self { cancel, asking: None, meta: None }
    }

    /// Says what came with the call besides its arguments.
    #[must_use]
    pub fn with_meta(self, meta: &'a Object) -> Self {
        Self { meta: Some(meta), ..self }
    }

    /// Returns what came with the call besides its arguments.
    pub fn meta(&self) -> Option<&'a Object> {
        self.meta
    }

    /// Returns whether it has lost interest.
    pub fn cancel(&self) -> &'a Cancel {
        self.cancel
    }

    /// Asks it, and waits for the answer.
    pub fn ask(&self, method: &str, params: &Object) -> Result<Outcome, NoAnswer> {
        self.asking.ok_or(NoAnswer)?.ask(method, params)
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("cancel", self.cancel).finish_non_exhaustive()
    }
}
