//! The tools of our own servers, which are known before any of them runs.
//!
//! They come with this program, so nobody has to be started to be asked for them; a test compares them
//! with what the servers themselves list. Tools of strangers are never known in this way.

use std::sync::{Arc, LazyLock};

use ic_inventory::servers_file::{BuiltinServer, Start};
use ic_inventory::tool::Tool;

use super::table::ToolTable;

/// Compiled once, and shared by all sessions of this process.
static FILESYSTEM: LazyLock<Arc<ToolTable>> =
    LazyLock::new(|| table(ic_servers::filesystem::tools()));
static GIT: LazyLock<Arc<ToolTable>> = LazyLock::new(|| table(ic_servers::git::tools()));
static FETCH: LazyLock<Arc<ToolTable>> = LazyLock::new(|| table(ic_servers::fetch::tools()));
static SHELL: LazyLock<Arc<ToolTable>> = LazyLock::new(|| table(ic_servers::shell::tools()));

/// Returns the tools of a server that is started like this, if they are known.
pub(super) fn tools(start: &Start) -> Option<Arc<ToolTable>> {
    match start {
        Start::Builtin(BuiltinServer::Filesystem) => Some(Arc::clone(&FILESYSTEM)),
        Start::Builtin(BuiltinServer::Git) => Some(Arc::clone(&GIT)),
        Start::Builtin(BuiltinServer::Fetch) => Some(Arc::clone(&FETCH)),
        Start::Builtin(BuiltinServer::Shell) => Some(Arc::clone(&SHELL)),
        Start::Command(_) | Start::Url(_) => None,
    }
}

fn table(tools: Vec<ic_servers::Tool>) -> Arc<ToolTable> {
    let (mut usable, mut unusable) = (Vec::new(), Vec::new());
    for tool in tools {
        match Tool::read(tool.into_json()) {
            Ok(tool) => usable.push(tool),
            Err(fault) => unusable.push(fault),
        }
    }
    Arc::new(ToolTable::new(usable, unusable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_ours_can_be_used() {
        for (table, n_tools) in [
            (&FILESYSTEM, ic_servers::filesystem::tools().len()),
            (&GIT, ic_servers::git::tools().len()),
            (&FETCH, ic_servers::fetch::tools().len()),
            (&SHELL, ic_servers::shell::tools().len()),
        ] {
            assert_eq!(table.unusable, []);
            assert_eq!(table.iter().count(), n_tools);
            assert!(0 < n_tools);
        }
    }
}
