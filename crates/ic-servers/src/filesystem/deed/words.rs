//! A deed in words, as it is asked for over the connection, and the answer to it.
//!
//! What is written by `write_file` stands in the call itself and is not said again. Whether what is
//! asked for may be done is not decided here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ic_mcp::Outcome;
use ic_types::{CanonicalPath, Json, Object};

use super::super::arguments::Arguments;
use super::super::fault::Fault;
use super::super::show;
use super::{Deed, Known};

const WRITE: &str = "write";
const EDIT: &str = "edit";
const CREATE_DIRECTORY: &str = "createDirectory";
const MOVE: &str = "move";
const REMOVE: &str = "remove";
const DONE: &str = "done";
const FAILED: &str = "failed";

/// A deed as it was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    Write { path: CanonicalPath },
    Edit { path: CanonicalPath, content: String, known: Known },
    CreateDirectory { path: CanonicalPath },
    Move { from: CanonicalPath, to: CanonicalPath },
    Remove { path: CanonicalPath },
}

/// Returns the words that ask for a deed.
pub(super) fn ask(deed: &Deed<'_>) -> Result<Object, Fault> {
    let text = |path: &CanonicalPath| {
        path.to_str().map(str::to_owned).ok_or_else(|| Fault::Path {
            text: show::path(path.as_path()),
            reason: "it is not text".to_owned(),
        })
    };
    let mut words = Object::new();
    let (kind, path) = match deed {
        Deed::Write { path, content: _ } => (WRITE, path),
        Deed::Edit { path, content, known } => {
            // Not as text, of which each byte could need six.
            words.insert("content", STANDARD.encode(content.as_bytes()));
            words.insert("known", known.0.as_str());
            (EDIT, path)
        }
        Deed::CreateDirectory { path } => (CREATE_DIRECTORY, path),
        Deed::Move { from, to } => {
            words.insert("to", text(to)?);
            (MOVE, from)
        }
        Deed::Remove { path } => (REMOVE, path),
    };
    words.insert("do", kind);
    words.insert("path", text(path)?);
    Ok(words)
}

/// Reads such words; `None` if they are no deed.
pub(super) fn read(words: &Object) -> Option<Asked> {
    let kind = words.get("do").and_then(Json::as_str)?;
    let taking = |names: &[&str]| Arguments::new(words, names).ok();
    let path = |arguments: Arguments<'_>, name| {
        arguments.text(name).ok().and_then(|text| CanonicalPath::new(text).ok())
    };
    let alone = || path(taking(&["do", "path"])?, "path");
    match kind {
        WRITE => Some(Asked::Write { path: alone()? }),
        EDIT => {
            let arguments = taking(&["do", "path", "content", "known"])?;
            let content = STANDARD.decode(arguments.text("content").ok()?).ok()?;
            let content = String::from_utf8(content).ok()?;
            let known = Known(arguments.text("known").ok()?.to_owned());
            Some(Asked::Edit { path: path(arguments, "path")?, content, known })
        }
        CREATE_DIRECTORY => Some(Asked::CreateDirectory { path: alone()? }),
        MOVE => {
            let arguments = taking(&["do", "path", "to"])?;
            Some(Asked::Move { from: path(arguments, "path")?, to: path(arguments, "to")? })
        }
        REMOVE => Some(Asked::Remove { path: alone()? }),
        _ => None,
    }
}

/// Returns the answer about a deed that was carried out, or failed.
pub(super) fn answer(carried_out: Result<(), Fault>) -> Object {
    let mut answer = Object::new();
    match carried_out {
        Ok(()) => answer.insert(DONE, true),
        Err(fault) => answer.insert(FAILED, fault.to_string()),
    }
    answer
}

/// Reads such an answer.
pub(super) fn told(outcome: Outcome) -> Result<(), Fault> {
    let told = |text: &str| Fault::Told { text: text.to_owned() };
    match outcome {
        Ok(Json::Object(answer)) => match (answer.get(DONE), answer.get(FAILED)) {
            (Some(Json::Bool(true)), None) => Ok(()),
            (None, Some(Json::String(text))) => Err(told(text)),
            _ => Err(told("whether the change was made is not known")),
        },
        Ok(_) => Err(told("whether the change was made is not known")),
        Err(error) => Err(told(&format!("the change was refused: {}", error.message))),
    }
}
