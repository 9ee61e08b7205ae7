//! What a call would change in a text that is there, so that a person sees the difference.
//!
//! Only for shows, and only for our own filesystem server, whose tools we know: what is judged and
//! approved is the call itself. The file is read as it is now, and nothing is written.

use std::path::Path;

use ic_escalation::Request;
use ic_escalation::display;
use ic_home::{FileError, file};
use ic_servers::filesystem::{
    Filesystem, Hands, Links, Rights, View, ViewDirectory, ViewPath, diff,
};
use ic_servers::tools::{Caller, Cancel, Content, Tools as _};
use ic_types::{CanonicalPath, Json, Object, Role};

/// The largest file of which a difference is shown; nobody reads that of a larger one.
const BYTES_MAX: u64 = 256 << 10;
/// The most passages that are looked for in a file.
const EDITS_MAX: usize = 100;
/// The server whose tools are known here.
const SERVER: &str = "filesystem";

const READ: Rights = Rights { read: true, write: false, delete: false };

/// The change that a call would make.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// A difference of lines.
    Difference(String),
    /// Something would be changed, and it is not shown for this reason.
    NotShown(String),
}

/// What is known to change the text of one file.
enum Changing<'a> {
    /// The text takes the place of all that is there.
    Whole(&'a str),
    /// Passages are replaced.
    Passages(&'a [Json]),
}

impl Change {
    /// Returns the change as it is to be displayed.
    pub(super) fn to_shown(&self) -> display::Change<'_> {
        match self {
            Self::Difference(diff) => display::Change::Difference(diff),
            Self::NotShown(why) => display::Change::NotShown(why),
        }
    }
}

/// Returns the change that the call would make to a text that is there; `None` if it would make none.
pub(super) fn of(request: &Request) -> Option<Change> {
    // A server of somebody else's may have a tool of the same name, which does something else.
    if request.builtin.as_deref() != Some(SERVER) {
        return None;
    }
    let argument = |name: &str| request.arguments.get(name);
    let changing = match request.tool.as_str() {
        "write_file" => Changing::Whole(argument("content").and_then(Json::as_str)?),
        "edit_file" => match argument("edits")? {
            Json::Array(edits) => Changing::Passages(edits),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                return None;
            }
        },
        _ => return None,
    };
    let Some(Json::Array(targets)) = request.resolved.get(Role::WritePath.as_str()) else {
        return None;
    };
    let [Json::Object(target)] = targets.as_slice() else { return None };
    let path = target.get("path").and_then(Json::as_str)?;
    match (target.get("kind").and_then(Json::as_str), &changing) {
        // Nothing is there, so all of it is new.
        (None, Changing::Whole(_)) => None,
        _ => Some(match difference(path, &changing) {
            Ok(difference) if difference.is_empty() => {
                Change::NotShown("nothing would change".to_owned())
            }
            Ok(difference) => Change::Difference(difference),
            Err(why) => Change::NotShown(why),
        }),
    }
}

fn difference(path: &str, changing: &Changing<'_>) -> Result<String, String> {
    let before = match file::read(path, BYTES_MAX) {
        Ok(Some(before)) => before,
        Ok(None) => return Err("the file is not there".to_owned()),
        Err(FileError::TooLong { .. }) => return Err("the file is too large".to_owned()),
        Err(_) => return Err("the file cannot be read".to_owned()),
    };
    let before = String::from_utf8(before).map_err(|_| "the file is not text".to_owned())?;
    match changing {
        Changing::Whole(after) if BYTES_MAX < after.len() as u64 => {
            Err("what would be written is too large".to_owned())
        }
        // SECURITY: a name with line ends in it would forge lines of the difference.
        Changing::Whole(after) => Ok(diff::unified(&ic_types::visible(path), &before, after)),
        Changing::Passages(edits) => edited(path, edits),
    }
}

/// Lets the server itself say what it would do; it is given that one file, to read.
fn edited(path: &str, edits: &[Json]) -> Result<String, String> {
    let cannot = || "it cannot be worked out".to_owned();
    let length = edits.iter().map(|edit| edit.to_string().len() as u64).sum::<u64>();
    if EDITS_MAX < edits.len() || BYTES_MAX < length {
        return Err("there are too many edits".to_owned());
    }
    let target = CanonicalPath::new(path).map_err(|_| cannot())?;
    let parent = Path::new(path).parent().and_then(Path::to_str).ok_or_else(cannot)?;
    let parent = CanonicalPath::new(parent).map_err(|_| cannot())?;
    let view = View {
        directories: vec![ViewDirectory { path: parent, rights: READ }],
        leave_out: Vec::new(),
        only: Some(vec![ViewPath { path: target, rights: READ }]),
        links: Links::Refuse,
    };
    let mut arguments = Object::new();
    arguments.insert("path", path);
    arguments.insert("edits", edits.to_vec());
    arguments.insert("dryRun", true);
    // Nobody carries out what it asks for, and a dry run asks for nothing.
    let server = Filesystem::open(&view, Hands::Asking).map_err(|_| cannot())?;
    let cancel = Cancel::new();
    let called = server.call("edit_file", &arguments, Caller::silent(&cancel));
    let result = called.map_err(|_| cannot())?;
    let text = match result.content() {
        [Content::Text(text)] => text.clone(),
        _ => return Err(cannot()),
    };
    match result.is_error() {
        true => Err(format!("the call would fail: {text}")),
        false if text.starts_with("--- ") => Ok(text),
        // It says that nothing changes.
        false => Ok(String::new()),
    }
}
