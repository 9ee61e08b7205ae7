//! Which tools a verb about remotes means.
//!
//! Reads no words; they were read with the verbs.

use super::{Clauses, Stuck};
use crate::grammar::Verb;
use crate::sentence::{Deed, With};
use crate::word::Word;

/// The tools of git that do what a verb about remotes says.
const REMOTE_TOOLS: [(&[&str], &[&str]); 3] = [
    (&["pull", "pulling", "pulls"], &["git_pull", "git_fetch"]),
    (&["clone", "cloning", "clones"], &["git_clone"]),
    (&["push", "pushing", "pushes"], &["git_push"]),
];

impl<'a> Clauses<'a> {
    /// Limits what is allowed to the tools that do it: who may pull may not push.
    ///
    /// They have one role, so without this a *may* would say more than its words.
    pub(crate) fn limit_to_named_remotes(
        &self,
        deed: &Deed,
        with: &mut Vec<With>,
    ) -> Result<(), Stuck> {
        let tools_of = |word: &&'a Word| {
            REMOTE_TOOLS.iter().find(|(words, _)| word.is_one_of(words)).map(|(_, tools)| *tools)
        };
        let named: Option<Vec<&[&str]>> = self.remotes.iter().map(tools_of).collect();
        let Some(tools) = named.filter(|it| !it.is_empty()).map(|it| it.concat()) else {
            return Ok(());
        };
        let first = self.remotes.first().copied();
        if *deed != Deed::Verbs(vec![Verb::Remote]) {
            return Err(Stuck::at(first, "this is a sentence of its own: only some tools do it"));
        }
        let is_git = |it: &With| it.server.as_str() == "git";
        if with.iter().any(|it| !is_git(it)) {
            let problem = "which tools do this is known of git only; write `deal with remotes`";
            return Err(Stuck::at(first, problem));
        }
        if with.iter().all(|it| it.tool.is_none()) {
            let names = |tool: &&str| {
                Some(With { server: "git".parse().ok()?, tool: Some(tool.parse().ok()?) })
            };
            *with = tools.iter().filter_map(names).collect();
        }
        Ok(())
    }
}
