//! The remotes of a call: what a URL, a name or nothing at all stands for in the repository it names.
//!
//! Reads that repository's config and HEAD through [`crate::git`]; runs no git.

use ic_policy::{Pointer, Scheme, Value};
use ic_types::{CanonicalPath, Object, Role};

use super::{Outcome, ResolvedText, Resolver};
use crate::git::{GitFault, Repository};
use crate::path::{self, Last};
use crate::remote::{self, Remote};

/// The argument by which tools name the repository that they work in.
const REPOSITORY_ARGUMENT: &str = "path";

impl Resolver<'_> {
    pub(super) fn resolve_remote(
        &self,
        text: &str,
        arguments: &Object,
        resolved: &mut ResolvedText,
    ) -> Result<(), String> {
        let role = Role::GitRemoteUrl;
        let directory = repository_directory(self, arguments);
        match remote::parse(text).map_err(|fault| fault.to_string())? {
            Remote::Network(url) => {
                for rewritten in self.rewrites(text, directory.as_ref())? {
                    resolved.values.push((role, self.remote_url(&rewritten, directory.as_ref())?));
                }
                if url.destination.scheme == Some(Scheme::Https) {
                    resolved.sent = Some(url.text.clone());
                }
                resolved.values.push((role, Value::Url(url)));
            }
            Remote::Local(path) => {
                let path = self.local_remote(&path, directory.as_ref())?;
                resolved.sent = path.to_str().map(ToOwned::to_owned);
                resolved.values.push((role, Value::LocalRemote(path)));
            }
            Remote::Name(name) => {
                let directory = directory.ok_or_else(|| {
                    format!(
                        "`{}` names a remote, but the call names no one repository",
                        name.escape_debug()
                    )
                })?;
                let repository =
                    Repository::open(self.disk, &directory).map_err(|fault| fault.to_string())?;
                for value in self.named_remote(&repository, &name, &directory)? {
                    resolved.values.push((role, value));
                }
            }
        }
        Ok(())
    }

    /// Resolves what git would take where the call names no remote; finding none leaves no value.
    pub(super) fn resolve_default_remotes(
        &self,
        place: &Pointer,
        arguments: &Object,
        outcome: &mut Outcome,
    ) {
        let Some(directory) = repository_directory(self, arguments) else { return };
        let repository = match Repository::open(self.disk, &directory) {
            Ok(repository) => repository,
            Err(GitFault::Absent(_)) => return,
            Err(fault @ (GitFault::Elsewhere(_) | GitFault::Config { .. })) => {
                return outcome.note_invalid(place, &[Role::GitRemoteUrl], &fault.to_string());
            }
        };
        for name in repository.default_remotes() {
            if repository.remote_urls(&name).is_none() && name == "origin" {
                continue;
            }
            match self.named_remote(&repository, &name, &directory) {
                Ok(values) => {
                    for value in values {
                        outcome.note_value(Role::GitRemoteUrl, value);
                    }
                }
                Err(reason) => outcome.note_invalid(place, &[Role::GitRemoteUrl], &reason),
            }
        }
    }

    /// Returns the URLs behind a remote's name, or behind a URL that stands in its place.
    fn named_remote(
        &self,
        repository: &Repository,
        name: &str,
        directory: &CanonicalPath,
    ) -> Result<Vec<Value>, String> {
        let urls = match repository.remote_urls(name) {
            Some(urls) => urls,
            // `branch.<name>.remote` may be a URL, or `.` for the repository itself.
            None => match remote::parse(name).map_err(|fault| fault.to_string())? {
                Remote::Network(_) | Remote::Local(_) => {
                    std::iter::once(name.to_owned()).chain(repository.rewrites(name)).collect()
                }
                Remote::Name(name) => {
                    return Err(format!("`{directory}` has no remote `{}`", name.escape_debug()));
                }
            },
        };
        urls.iter().map(|url| self.remote_url(url, Some(directory))).collect()
    }

    /// Reads a URL as it stands in a repository's config, where a bare word is a directory.
    fn remote_url(&self, url: &str, directory: Option<&CanonicalPath>) -> Result<Value, String> {
        match remote::parse(url).map_err(|fault| fault.to_string())? {
            Remote::Network(url) => Ok(Value::Url(url)),
            Remote::Local(path) | Remote::Name(path) => {
                self.local_remote(&path, directory).map(Value::LocalRemote)
            }
        }
    }

    /// Returns what git would make of a literal URL, by the config of the repository around it.
    fn rewrites(
        &self,
        url: &str,
        directory: Option<&CanonicalPath>,
    ) -> Result<Vec<String>, String> {
        let Some(directory) = directory else { return Ok(Vec::new()) };
        for directory in directory.ancestors() {
            match Repository::open(self.disk, &directory) {
                Ok(repository) => return Ok(repository.rewrites(url)),
                Err(GitFault::Absent(_)) => {}
                Err(fault @ (GitFault::Elsewhere(_) | GitFault::Config { .. })) => {
                    return Err(fault.to_string());
                }
            }
        }
        Ok(Vec::new())
    }

    /// A directory of this machine is a remote only inside the sandbox.
    fn local_remote(
        &self,
        text: &str,
        directory: Option<&CanonicalPath>,
    ) -> Result<CanonicalPath, String> {
        let sandbox = self.sandbox.map(|sandbox| &sandbox.path);
        let path = path::absolute(text, self.home, directory.or(sandbox))
            .and_then(|path| path::follow(self.disk, &path, Last::Follow))
            .map_err(|fault| fault.to_string())?
            .path;
        if sandbox.is_some_and(|sandbox| path.is_within(sandbox)) && path.to_str().is_some() {
            Ok(path)
        } else {
            Err(format!("the local remote `{path}` is not in the sandbox"))
        }
    }
}

fn repository_directory(resolver: &Resolver<'_>, arguments: &Object) -> Option<CanonicalPath> {
    resolver.one_path_at(&Pointer::parse(REPOSITORY_ARGUMENT).ok()?, arguments)
}
