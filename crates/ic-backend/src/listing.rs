//! What a server lists besides tools: resources, templates of them, and prompts.
//!
//! What is listed is text of strangers, held to limits and read no further. Whose a URI is, is not decided here.

use std::sync::Arc;
use std::time::Duration;

use ic_judge::method::CallMethod;
use ic_mcp::meta;
use ic_types::{Json, Object};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::server::{Asking, Inquiry, Live, Server, Unanswered};

/// How long one server may take to list what it has.
pub const LIST_MAX: Duration = Duration::from_secs(10);
/// How many entries of one server are listed.
pub const ENTRIES_MAX: usize = 1000;
/// In how many pages.
pub const PAGES_MAX: usize = 100;
/// In how many bytes.
pub const BYTES_MAX: usize = 1 << 20;

/// A list of something that servers have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListKind {
    /// Of resources.
    Resources,
    /// Of templates of resources.
    Templates,
    /// Of prompts.
    Prompts,
}

/// What a server listed, and whether that is all of it.
#[derive(Debug, Default)]
pub struct Listed {
    /// The entries: text of strangers.
    pub entries: Vec<Object>,
    /// Whether the server lists no more than these.
    pub is_whole: bool,
}

/// A list that was not had.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unlisted {
    /// The server has no say, or is not there.
    Nothing,
    /// The server did not answer in time.
    TooLate,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Resources, Self::Templates, Self::Prompts];

    /// Returns the method that asks for it.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// Returns the member of the result that holds the list.
    pub fn member(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Returns the method that such entries are for.
    pub fn serves(self) -> CallMethod {
        match self {
            Self::Resources | Self::Templates => CallMethod::ReadResource,
            Self::Prompts => CallMethod::GetPrompt,
        }
    }

    /// Returns the member of an entry that says which it is.
    pub fn key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
            Self::Prompts => "name",
        }
    }

    /// Returns the notification that says that such a list changed.
    pub fn changed(self) -> &'static str {
        match self {
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }

    /// Returns what a person calls the entries.
    pub fn things(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "templates of resources",
            Self::Prompts => "prompts",
        }
    }
}

impl Server {
    /// Lists what the server has of a kind; with the process that said so.
    pub(crate) async fn listed(
        self: &Arc<Self>,
        kind: ListKind,
        stop: &CancellationToken,
    ) -> Result<(u64, Listed), Unlisted> {
        let live = self.live().await.map_err(|_| Unlisted::Nothing)?;
        // SECURITY: a server of which nothing is trusted has no other way to speak either.
        let tools = live.tools();
        let is_withheld = tools.iter().all(|offer| offer.withheld.is_some());
        if is_withheld && tools.iter().next().is_some() {
            return Err(Unlisted::Nothing);
        }
        if live.introduction.capabilities.get(kind.serves().capability()).is_none() {
            return Ok((live.number, Listed { entries: Vec::new(), is_whole: true }));
        }
        match pages(&live, kind, stop).await {
            Ok(listed) => Ok((live.number, listed)),
            Err(Unanswered::TimedOut(_)) => Err(Unlisted::TooLate),
            Err(Unanswered::Over(_) | Unanswered::Cancelled) => Err(Unlisted::Nothing),
        }
    }
}

/// Reads the pages of a list, as many of them as there may be.
async fn pages(
    live: &Live,
    kind: ListKind,
    stop: &CancellationToken,
) -> Result<Listed, Unanswered> {
    let deadline = Instant::now() + LIST_MAX;
    let mut entries = Vec::new();
    let (mut cursor, mut n_bytes): (Option<Json>, usize) = (None, 0);
    for _ in 0..PAGES_MAX {
        let Some(page) = page(live, kind, cursor.take(), (stop, deadline)).await? else {
            // Some servers have resources and know no templates.
            return Ok(Listed { entries, is_whole: true });
        };
        for (key, value) in page.into_entries() {
            match (key.as_str(), value) {
                (key, Json::Array(listed)) if key == kind.member() => {
                    for entry in listed {
                        n_bytes += entry.to_string().len();
                        if ENTRIES_MAX <= entries.len() || BYTES_MAX < n_bytes {
                            return Ok(Listed { entries, is_whole: false });
                        }
                        match entry {
                            Json::Object(entry) if entry.get(kind.key()).is_some() => {
                                entries.push(entry);
                            }
                            _ => {}
                        }
                    }
                }
                ("nextCursor", next @ Json::String(_)) => cursor = Some(next),
                _ => {}
            }
        }
        if cursor.is_none() {
            return Ok(Listed { entries, is_whole: true });
        }
    }
    Ok(Listed { entries, is_whole: false })
}

/// Asks for one page; `None` if the server answers with an error.
async fn page(
    live: &Live,
    kind: ListKind,
    cursor: Option<Json>,
    (stop, deadline): (&CancellationToken, Instant),
) -> Result<Option<Object>, Unanswered> {
    let limit = deadline.saturating_duration_since(Instant::now());
    let asking = Asking { progress: None, caller: None, cancel: stop, limit };
    let written = |out: &mut String, envelope: Object| {
        let mut params = Object::new();
        if let Some(cursor) = cursor {
            params.insert("cursor", cursor);
        }
        if !envelope.is_empty() {
            params.insert(meta::META, envelope);
        }
        Json::write_object(out, &params);
    };
    match live.connection.inquire(Inquiry::List(kind), written, asking).await? {
        Ok(Json::Object(page)) => Ok(Some(page)),
        Ok(_) | Err(_) => Ok(None),
    }
}
