//! `AGENTS.md` and `CLAUDE.md` of a workspace: what a project says about itself.
//!
//! Whoever wrote the repository wrote them, so they are notes for the model and nothing else: nothing in
//! them changes a rule, a setting or what this program does. What the policy does not let an agent read
//! is not read for it.

use ic_agent::Note;
use ic_broker::Judge;
use ic_home::file::{self, Head};
use ic_policy::{SandboxKind, Verdict};
use ic_types::{AbsolutePath, Object, ToolCall};

use crate::error::chain;
use crate::judge::Wanted;

/// The files, in the order in which they are told.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of one is told; it is sent with every message.
const BYTES_MAX: u64 = 16 << 10;
/// The call by which an agent would read it.
const SERVER: &str = "filesystem";
const TOOL: &str = "read_text_file";

/// A note that is there.
#[derive(Debug)]
pub(crate) enum FoundNote {
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

/// Finds the notes of the workspace, if there is one.
pub(super) fn find(wanted: &Wanted, judge: &Judge) -> Vec<FoundNote> {
    let Some((workspace, SandboxKind::Workspace | SandboxKind::Filled)) = &wanted.sandbox else {
        return Vec::new();
    };
    NAMES.into_iter().filter_map(|name| look(name, workspace, judge)).collect()
}

fn look(name: &'static str, workspace: &AbsolutePath, judge: &Judge) -> Option<FoundNote> {
    let not_told = |why: String| Some(FoundNote::NotTold { name, why });
    let head = match file::read_head(workspace.as_path(), name, BYTES_MAX) {
        Ok(head) => head?,
        Err(error) => return not_told(chain(&error)),
    };
    // SECURITY: what an agent may not read is not read to it.
    if !may_read(workspace.as_path().join(name).to_str()?, judge) {
        return not_told("the policy does not let the agent read it".to_owned());
    }
    let Head { bytes, is_whole } = head;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.trim().is_empty() {
        return None;
    }
    Some(FoundNote::Told(Note { name: name.to_owned(), text, is_whole }))
}

fn may_read(path: &str, judge: &Judge) -> bool {
    let (Ok(server), Ok(tool)) = (SERVER.parse(), TOOL.parse()) else { return false };
    let mut arguments = Object::new();
    arguments.insert("path", path);
    match judge.judge(ToolCall { server, tool, arguments }) {
        Verdict::Allow(_) => true,
        Verdict::Deny(_) | Verdict::Escalate(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests: the notes are made")]

    use ic_broker::heads::Heads;
    use ic_broker::servers_file::ServersFile;
    use ic_policy::{Builtin, Policy};
    use ic_resolve::{Orders, Places, RealDisk, Resolver, bounds};

    use super::*;

    /// Judges by the built-in policy in a workspace, with a path that no rule opens.
    fn judge(workspace: &AbsolutePath, protected: Vec<AbsolutePath>) -> Judge {
        let home = AbsolutePath::new("/nowhere").unwrap();
        let sandbox = Some((workspace.clone(), SandboxKind::Workspace));
        let places = Places { home: home.clone(), sandbox, protected };
        let bounds = bounds::gather(&RealDisk, &places, ServersFile::builtin().traits()).unwrap();
        let resolver = Resolver { disk: &RealDisk, home: &home, sandbox: None, orders: None };
        let locate = |text: &str| resolver.locate(text).map_err(|fault| fault.to_string());
        let policy = Policy::load(&Builtin::Default.sources(), &locate).unwrap();
        let (orders, heads) = (Orders::of_user(&home), Heads::default());
        Judge { policy, bounds, orders, heads, home }
    }

    #[test]
    fn what_the_agent_may_not_read_is_not_read_to_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("AGENTS.md"), "notes").unwrap();
        let workspace = AbsolutePath::new(root.path()).unwrap();
        let wanted = |kind| Wanted {
            policy: None,
            sandbox: Some((workspace.clone(), kind)),
            protected: Vec::new(),
            servers: None,
        };
        let found = find(&wanted(SandboxKind::Workspace), &judge(&workspace, Vec::new()));
        assert!(
            matches!(found.as_slice(), [FoundNote::Told(note)] if note.text == "notes"),
            "{found:?}"
        );
        let protected = AbsolutePath::new(root.path().join("AGENTS.md")).unwrap();
        let found = find(&wanted(SandboxKind::Workspace), &judge(&workspace, vec![protected]));
        assert!(matches!(found.as_slice(), [FoundNote::NotTold { .. }]), "{found:?}");
        // A new sandbox has none of a project's.
        let found = find(&wanted(SandboxKind::Session), &judge(&workspace, Vec::new()));
        assert!(found.is_empty(), "{found:?}");
    }
}
