//! The directories that servers are told of when they ask.
//!
//! Which they are is for the policy to say.

use std::path::Path;

use ic_inventory::servers_file::ServersFile;
use ic_judge::{Judge, method};
use ic_types::{CanonicalPath, Json, Object};

/// Makes the answer to `roots/list`: the sandbox, then the directories that allow rules name.
pub(crate) fn of_session(judge: &Judge, servers: &ServersFile) -> Json {
    let mut seen: Vec<CanonicalPath> = Vec::new();
    for (server, _) in servers.iter() {
        for (path, _) in judge.directories(server) {
            if !seen.contains(&path) {
                seen.push(path);
            }
        }
    }
    result(seen.iter().map(CanonicalPath::as_path))
}

/// Writes directories as the answer to `roots/list`.
pub(crate) fn result<'a>(directories: impl Iterator<Item = &'a Path>) -> Json {
    let root = |uri: String| {
        let mut root = Object::new();
        root.insert("uri", uri);
        Json::Object(root)
    };
    let mut result = Object::new();
    result.insert("roots", directories.filter_map(method::file_uri).map(root).collect::<Vec<_>>());
    Json::Object(result)
}
