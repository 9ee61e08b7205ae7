//! The names of headers that an entry may give to a server on another machine.
//!
//! Their values are secrets, most of them, and are not seen here.

use http::HeaderName;

/// Says what is wrong with the name of a header, if anything is.
pub fn name_fault(name: &str) -> Option<String> {
    /// What the protocol and the connection need is not for an entry to say.
    const OURS: [&str; 13] = [
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
        "upgrade",
    ];
    let Ok(read) = name.parse::<HeaderName>() else {
        return Some(format!("`{}` is not a valid header name", name.escape_debug()));
    };
    let is_ours = OURS.contains(&read.as_str());
    is_ours.then(|| format!("`{name}` is set by us and cannot be given"))
}
