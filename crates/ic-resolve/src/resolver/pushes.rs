//! What a push would send: the refs of the repository, read now, so that what is judged is objects.
//!
//! By the arguments of our own git server's tool. Anything that cannot be told leaves the push unknown,
//! which denies nothing here; the server pushes what was judged, and nothing where nothing was.

use ic_policy::{Push, PushManner, PushedRef};
use ic_types::{Json, Object, ToolName};

use super::Resolving;
use super::remotes::repository_directory;
use crate::git::{DefaultRemote, Repository};
use crate::remote::{self, Remote};

/// The tool that pushes.
const TOOL: &str = "git_push";

impl Resolving<'_> {
    /// Works out what a call would push; `None` if it is no push, or names no repository.
    pub(super) fn push(&self, tool: &ToolName, arguments: &Object) -> Option<Push> {
        if tool.as_str() != TOOL {
            return None;
        }
        let directory = repository_directory(self, arguments)?;
        let found = Repository::find(self.disk, &directory).map_err(|fault| fault.to_string());
        let refs = found.and_then(|repository| {
            let repository =
                repository.ok_or_else(|| format!("there is no git repository at `{directory}`"))?;
            self.pushed(&repository, arguments)
        });
        Some(refs.map_or_else(Push::Unknown, Push::Refs))
    }

    fn pushed(
        &self,
        repository: &Repository,
        arguments: &Object,
    ) -> Result<Vec<PushedRef>, String> {
        let is_set = |name: &str| arguments.get(name) == Some(&Json::Bool(true));
        let text = |name: &str| match arguments.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("`{name}` is not text")),
        };
        let branch = text("branch")?.or(repository.branch());
        let branch = branch.ok_or("no branch is checked out, and none is named")?;
        let there = text("remoteBranch")?.unwrap_or(branch);
        let tracking = tracking(repository, text("remote")?, there);
        let old = match &tracking {
            Some(name) => repository.object(self.disk, name)?,
            None => None,
        };
        let name = format!("refs/heads/{there}");
        if is_set("delete") {
            return Ok(vec![PushedRef { name, old, new: None, manner: PushManner::Force }]);
        }
        let local = format!("refs/heads/{branch}");
        let new = repository.object(self.disk, &local)?;
        let new =
            Some(new.ok_or_else(|| format!("there is no branch `{}`", branch.escape_debug()))?);
        let manner = match (is_set("force"), is_set("forceWithLease")) {
            (true, _) => PushManner::Force,
            (false, true) => PushManner::Lease,
            (false, false) => PushManner::Advance,
        };
        let mut refs = vec![PushedRef { name, old, new, manner }];
        if is_set("tags") {
            let tags = repository.tags(self.disk)?.into_iter();
            refs.extend(tags.map(|(name, id)| PushedRef {
                name,
                old: None,
                new: Some(id),
                manner: PushManner::Advance,
            }));
        }
        Ok(refs)
    }
}

/// Returns the ref that says what the branch `there` of the remote was when it was last fetched.
fn tracking(repository: &Repository, remote: Option<&str>, there: &str) -> Option<String> {
    let remote = match remote {
        Some(text) => match remote::parse(text).ok()? {
            Remote::Name(name) => name,
            Remote::Network(_) | Remote::Local(_) => return None,
        },
        None => match repository.default_remotes().pop()? {
            DefaultRemote::Configured(name) | DefaultRemote::Implied(name) => name,
        },
    };
    // A remote that the config names by its URL has no refs here.
    let is_name = matches!(remote::parse(&remote), Ok(Remote::Name(_)));
    is_name.then(|| format!("refs/remotes/{remote}/{there}"))
}
