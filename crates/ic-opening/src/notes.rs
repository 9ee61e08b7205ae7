//! `AGENTS.md` and `CLAUDE.md` of a workspace: what a project says about itself.
//!
//! They come from the repository, so they are notes for the model and nothing else: nothing in them changes
//! a rule, a setting or what this program does. What the policy does not let an agent read is not read for
//! it. A repository that is cloned first is looked at after that.

use ic_agent::Note;
use ic_home::file::{self, Head};
use ic_types::{AbsolutePath, Object, ToolCall};

use ic_types::chain;

/// The files, in the order in which they are told.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of one is told; it is sent with every message.
const BYTES_MAX: u64 = 16 << 10;
/// The call by which an agent would read it.
const SERVER: &str = "filesystem";
const TOOL: &str = "read_text_file";

/// A note that is there.
#[derive(Debug)]
pub enum FoundNote {
    /// It is told.
    Told(Note),
    /// It is not, for this reason.
    NotTold {
        /// What the file is called.
        name: &'static str,
        /// Why.
        why: String,
    },
}

/// Finds the notes of the project in `directory`; `may_read` says what the policy lets an agent read.
pub fn find(directory: &AbsolutePath, may_read: impl Fn(ToolCall) -> bool) -> Vec<FoundNote> {
    NAMES.into_iter().filter_map(|name| look(name, directory, &may_read)).collect()
}

fn look(
    name: &'static str,
    directory: &AbsolutePath,
    may_read: impl Fn(ToolCall) -> bool,
) -> Option<FoundNote> {
    let not_told = |why: String| Some(FoundNote::NotTold { name, why });
    let head = match file::read_head(directory.as_path(), name, BYTES_MAX) {
        Ok(head) => head?,
        Err(error) => return not_told(chain(&error)),
    };
    // SECURITY: what an agent may not read is not read to it.
    if !may_read(reading(directory.as_path().join(name).to_str()?)?) {
        return not_told("the policy does not let the agent read it".to_owned());
    }
    let Head { bytes, is_whole } = head;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.trim().is_empty() {
        return None;
    }
    Some(FoundNote::Told(Note { name: name.to_owned(), text, is_whole }))
}

/// Returns the call by which an agent would read the file at `path`.
fn reading(path: &str) -> Option<ToolCall> {
    let (server, tool) = (SERVER.parse().ok()?, TOOL.parse().ok()?);
    let mut arguments = Object::new();
    arguments.insert("path", path);
    Some(ToolCall { server, tool, arguments })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests: the notes are made")]

    use super::*;

    #[test]
    fn what_the_agent_may_not_read_is_not_read_to_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("AGENTS.md"), "notes").unwrap();
        let directory = AbsolutePath::new(root.path()).unwrap();
        let found = find(&directory, |call| {
            let path = directory.as_path().join("AGENTS.md");
            assert_eq!((call.server.as_str(), call.tool.as_str()), (SERVER, TOOL));
            call.arguments.get("path").and_then(|it| it.as_str()) == path.to_str()
        });
        assert!(
            matches!(found.as_slice(), [FoundNote::Told(note)] if note.text == "notes"),
            "{found:?}"
        );
        let found = find(&directory, |_| false);
        assert!(matches!(found.as_slice(), [FoundNote::NotTold { .. }]), "{found:?}");
    }
}
