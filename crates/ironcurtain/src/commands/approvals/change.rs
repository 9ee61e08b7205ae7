//! What a call would change in a text that is there, so that a person sees the difference.
//!
//! Only for shows: what is judged and approved is the call itself.

use ic_escalation::Request;
use ic_home::file;
use ic_servers::filesystem::diff;
use ic_types::{Json, Role};

/// The largest file of which a difference is shown; nobody reads that of a larger one.
const BYTES_MAX: u64 = 256 << 10;
/// The tool whose `content` takes the place of what is in the file.
const WRITES: &str = "write_file";

/// Returns the change as a difference of lines; `None` if there is none to be shown.
pub(super) fn of(request: &Request) -> Option<String> {
    if request.tool.as_str() != WRITES {
        return None;
    }
    let Some(Json::Array(targets)) = request.resolved.get(Role::WritePath.as_str()) else {
        return None;
    };
    let [Json::Object(target)] = targets.as_slice() else { return None };
    let is_file = target.get("kind").and_then(Json::as_str) == Some("file");
    let path = target.get("path").and_then(Json::as_str).filter(|_| is_file)?;
    let after = request.arguments.get("content").and_then(Json::as_str)?;
    if BYTES_MAX < after.len() as u64 {
        return None;
    }
    // What cannot be read has no difference that could be shown; the call is shown all the same.
    let before = String::from_utf8(file::read(path, BYTES_MAX).ok()??).ok()?;
    // SECURITY: a name with line ends in it would forge lines of the difference.
    Some(diff::unified(&ic_types::visible(path), &before, after))
}
