//! How we introduce ourselves to a server, and how its tools are listed.
//!
//! Most servers begin with `initialize`; those that only speak the newest revision are told what they
//! need in each request. What is listed is read, not judged.

use std::collections::BTreeMap;
use std::time::Duration;

use ic_inventory::PetitionKind;
use ic_inventory::tool::{Tool, UnusableTool};
use ic_mcp::{ProtocolVersion, RpcError, meta};
use ic_types::{Json, Object, ToolName};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Asking, Connection, Inquiry, Unanswered};

/// How many tools one server may have.
const TOOLS_MAX: usize = 1000;
/// In how many pages it may list them.
const PAGES_MAX: usize = 100;
/// How much it may say of them: all of it is kept, and goes to clients in one line with the others'.
const LIST_BYTES_MAX: usize = 1 << 20;
/// How long reading all of them may take; nobody else is served meanwhile.
const READ_MAX: Duration = Duration::from_secs(1);

/// What is known of a server after we have met.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// What the server calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of the protocol that it speaks.
    pub protocol: ProtocolVersion,
    /// What it says it can do.
    pub capabilities: Object,
}

/// A server that cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The server did not answer.
    #[error("{0}")]
    Unanswered(String),
    /// The server refused.
    #[error("it answered `{method}` with an error: {}", shortened(&.error.message))]
    Refused {
        /// What we asked.
        method: &'static str,
        /// What it said.
        error: RpcError,
    },
    /// The answer is not what the protocol says.
    #[error("its answer to `{0}` is not what the protocol says")]
    Shape(&'static str),
    /// The server speaks a revision that we do not know.
    #[error("it speaks the protocol revision `{}`, which IronCurtain does not support", .0.escape_debug())]
    Version(String),
    /// The schemas of its tools are meant to keep us busy.
    #[error("reading the schemas of its tools takes too long")]
    TooMuch,
    /// The server has too many tools.
    #[error(
        "it lists more than {TOOLS_MAX} tools, in more than {PAGES_MAX} pages, or says more than \
         {LIST_BYTES_MAX} bytes of them"
    )]
    TooMany,
}

impl HandshakeError {
    /// Says what went wrong without a word of the server's.
    pub(crate) fn in_our_words(&self) -> String {
        match self {
            Self::Refused { method, .. } => format!("it answered `{method}` with an error"),
            Self::Version(_) => {
                "it speaks a protocol revision that IronCurtain does not support".to_owned()
            }
            Self::Unanswered(_) | Self::Shape(_) | Self::TooMuch | Self::TooMany => {
                self.to_string()
            }
        }
    }
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 300;
    text.chars().take(CHARS_MAX).collect()
}

impl From<Unanswered> for HandshakeError {
    fn from(unanswered: Unanswered) -> Self {
        Self::Unanswered(unanswered.to_string())
    }
}

/// What we call ourselves.
pub(super) fn client_info() -> Object {
    let mut info = Object::new();
    info.insert("name", "ironcurtain");
    info.insert("version", env!("CARGO_PKG_VERSION"));
    info
}

/// What a server says of itself and of its tools.
pub(crate) type Met = (Introduction, Vec<Tool>, Vec<UnusableTool>);

/// Meets the server and lists its tools, both within `limit`.
pub(crate) async fn meet_and_list(
    connection: &Connection,
    cancel: &CancellationToken,
    limit: Duration,
) -> Result<Met, HandshakeError> {
    let deadline = Instant::now() + limit;
    let introduction = meet(connection, cancel, limit).await?;
    let left = deadline.saturating_duration_since(Instant::now());
    let (tools, unusable) = list_tools(connection, cancel, left).await?;
    Ok((introduction, tools, unusable))
}

/// Meets the server: agrees on a revision of the protocol and learns what it can do.
pub(super) async fn meet(
    connection: &Connection,
    cancel: &CancellationToken,
    limit: Duration,
) -> Result<Introduction, HandshakeError> {
    let offered = ProtocolVersion::NEWEST_INITIALIZED;
    let mut roots = Object::new();
    roots.insert("listChanged", false);
    let mut capabilities = Object::new();
    capabilities.insert("roots", roots);
    // Whoever is told so may ask, and some servers have tools only for those who can be asked.
    for kind in PetitionKind::ALL.into_iter().filter(|kind| connection.asks().allow(*kind)) {
        capabilities.insert(kind.capability(), Object::new());
    }
    let mut params = Object::new();
    params.insert("protocolVersion", offered.as_str());
    params.insert("capabilities", capabilities);
    params.insert("clientInfo", client_info());
    let asking = Asking { progress: None, caller: None, cancel, limit };
    let written = |out: &mut String, _: Object| Json::write_object(out, &params);
    match connection.inquire(Inquiry::Initialize, written, asking).await? {
        Ok(result) => {
            let introduction = introduced(result)?;
            connection.speak(introduction.protocol);
            connection.tell("notifications/initialized", &Object::new()).await?;
            Ok(introduction)
        }
        // A server of the newest revision alone knows no `initialize`.
        Err(_) => discover(connection, cancel, limit).await,
    }
}

fn introduced(result: Json) -> Result<Introduction, HandshakeError> {
    let shape = || HandshakeError::Shape("initialize");
    let Json::Object(mut result) = result else { return Err(shape()) };
    let spoken = result.get("protocolVersion").and_then(Json::as_str).ok_or_else(shape)?;
    let protocol: ProtocolVersion = match spoken.parse() {
        Ok(version) if version <= ProtocolVersion::NEWEST_INITIALIZED => version,
        _ => return Err(HandshakeError::Version(spoken.chars().take(32).collect())),
    };
    let info = result.remove("serverInfo");
    let capabilities = object(result.remove("capabilities"));
    let (name, version) = named(&object(info));
    Ok(Introduction { name, version, protocol, capabilities })
}

async fn discover(
    connection: &Connection,
    cancel: &CancellationToken,
    limit: Duration,
) -> Result<Introduction, HandshakeError> {
    const METHOD: &str = Inquiry::Discover.as_str();
    let protocol = ProtocolVersion::V2026_07_28;
    connection.speak(protocol);
    let asking = Asking { progress: None, caller: None, cancel, limit };
    let result = match connection.inquire(Inquiry::Discover, with_meta, asking).await? {
        Ok(result) => result,
        Err(error) => return Err(HandshakeError::Refused { method: "initialize", error }),
    };
    let Json::Object(mut result) = result else { return Err(HandshakeError::Shape(METHOD)) };
    let is_spoken = match result.get("supportedVersions") {
        Some(Json::Array(versions)) => {
            versions.iter().any(|version| version.as_str() == Some(protocol.as_str()))
        }
        _ => return Err(HandshakeError::Shape(METHOD)),
    };
    if !is_spoken {
        return Err(HandshakeError::Version("another one".to_owned()));
    }
    let capabilities = object(result.remove("capabilities"));
    let info = meta::meta(&result).and_then(|meta| meta.get(meta::SERVER_INFO).cloned());
    let (name, version) = named(&object(info));
    Ok(Introduction { name, version, protocol, capabilities })
}

/// A list of tools that is being read, within the limits that hold for every such list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    tools: BTreeMap<ToolName, Tool>,
    unusable: Vec<UnusableTool>,
    n_bytes: usize,
    spent: Duration,
}

impl Listing {
    /// Reads further entries of the list.
    pub(super) fn take(&mut self, listed: Vec<Json>) -> Result<(), HandshakeError> {
        if TOOLS_MAX < self.tools.len() + self.unusable.len() + listed.len() {
            return Err(HandshakeError::TooMany);
        }
        for entry in listed {
            self.n_bytes += entry.to_string().len();
            if LIST_BYTES_MAX < self.n_bytes {
                return Err(HandshakeError::TooMany);
            }
            let began = Instant::now();
            let read = Tool::read(entry);
            self.spent += began.elapsed();
            if READ_MAX < self.spent {
                return Err(HandshakeError::TooMuch);
            }
            match read {
                // Of two tools with one name the first counts.
                Ok(tool) => {
                    self.tools.entry(tool.name.clone()).or_insert(tool);
                }
                Err(error) => self.unusable.push(error),
            }
        }
        Ok(())
    }

    /// Returns the tools, sorted by name, and what cannot be used.
    pub(super) fn into_parts(self) -> (Vec<Tool>, Vec<UnusableTool>) {
        (self.tools.into_values().collect(), self.unusable)
    }
}

/// Lists all tools; the second part is what cannot be used.
pub(super) async fn list_tools(
    connection: &Connection,
    cancel: &CancellationToken,
    limit: Duration,
) -> Result<(Vec<Tool>, Vec<UnusableTool>), HandshakeError> {
    const METHOD: &str = Inquiry::ListTools.as_str();
    let (mut listing, mut cursor): (Listing, Option<Json>) = (Listing::default(), None);
    let deadline = Instant::now() + limit;
    for _ in 0..PAGES_MAX {
        let limit = deadline.saturating_duration_since(Instant::now());
        let asking = Asking { progress: None, caller: None, cancel, limit };
        let page = cursor.take();
        let written = |out: &mut String, meta: Object| {
            let mut params = Object::new();
            if let Some(page) = page {
                params.insert("cursor", page);
            }
            write_with_meta(out, params, meta);
        };
        let result = match connection.inquire(Inquiry::ListTools, written, asking).await? {
            Ok(Json::Object(result)) => result,
            Ok(_) => return Err(HandshakeError::Shape(METHOD)),
            Err(error) => return Err(HandshakeError::Refused { method: METHOD, error }),
        };
        for (key, value) in result.into_entries() {
            match (key.as_str(), value) {
                ("tools", Json::Array(listed)) => listing.take(listed)?,
                ("nextCursor", next @ Json::String(_)) => cursor = Some(next),
                _ => {}
            }
        }
        if cursor.is_none() {
            return Ok(listing.into_parts());
        }
    }
    Err(HandshakeError::TooMany)
}

fn with_meta(out: &mut String, meta: Object) {
    write_with_meta(out, Object::new(), meta);
}

fn write_with_meta(out: &mut String, mut params: Object, meta: Object) {
    if !meta.is_empty() {
        params.insert(meta::META, meta);
    }
    Json::write_object(out, &params);
}

fn named(info: &Object) -> (String, String) {
    let text = |key| {
        let text = info.get(key).and_then(Json::as_str).unwrap_or("unnamed");
        text.chars().take(128).collect()
    };
    (text("name"), text("version"))
}

fn object(json: Option<Json>) -> Object {
    match json {
        Some(Json::Object(object)) => object,
        _ => Object::new(),
    }
}
