//! The remotes of a call: what a URL, a name or nothing at all stands for in the repository it names.
//!
//! Reads that repository's config and HEAD through [`crate::git`]; runs no git.

use std::collections::HashSet;
use std::rc::Rc;

use ic_policy::{Pointer, Scheme, Value};
use ic_types::{CanonicalPath, Object, Role};

use super::{Outcome, ResolvedText, Resolving};
use crate::git::{DefaultRemote, Repository};
use crate::path::{self, Last};
use crate::remote::{self, Remote};
use crate::{Kind, PathFault};

/// The argument by which tools name the repository that they work in.
pub(super) const REPOSITORY_ARGUMENT: &str = "path";

/// What git puts after the path of a local remote, to see whether a repository is there.
const LOCAL_SUFFIXES: [&str; 4] = ["/.git", "", ".git/.git", ".git"];

/// How many remotes one call may name: each is looked up in all of a repository's config.
pub(super) const REMOTES_MAX: usize = 64;

/// What is around the directory that was asked about last.
pub(super) type KnownRepository = Option<(CanonicalPath, Result<Option<Rc<Around>>, String>)>;

/// The directory that a call works in, and the repository around it.
pub(super) struct Around {
    directory: CanonicalPath,
    repository: Repository,
}

impl Resolving<'_> {
    pub(super) fn resolve_remote(
        &self,
        text: &str,
        arguments: &Object,
        resolved: &mut ResolvedText,
    ) -> Result<(), String> {
        let remote = remote::parse(text).map_err(|fault| fault.to_string())?;
        let directory = repository_directory(self, arguments);
        let around = self.around(directory.as_ref())?;
        let literal = match remote {
            Remote::Name(name) => {
                let escaped = name.escape_debug();
                let around = around.ok_or_else(|| match &directory {
                    Some(directory) => format!("there is no git repository at `{directory}`"),
                    None => {
                        format!("`{escaped}` names a remote, but the call names no one repository")
                    }
                })?;
                let urls = self.named(&around, &name)?.ok_or_else(|| {
                    format!("`{}` has no remote `{escaped}`", around.repository.top())
                })?;
                for value in self.values(&around, urls)? {
                    resolved.values.push((Role::GitRemoteUrl, value));
                }
                return Ok(());
            }
            Remote::Network(url) => {
                if url.destination.scheme == Some(Scheme::Https) {
                    resolved.sent = Some(url.text.clone());
                }
                Value::Url(url)
            }
            Remote::Local(path) => {
                let path = self.local_remote(&path, directory.as_ref())?;
                resolved.sent = path.to_str().map(ToOwned::to_owned);
                Value::LocalRemote(path)
            }
        };
        if let Some(around) = around {
            // Git is handed what is sent, which need not be what was asked.
            let mut urls = self.redirected(&around, text)?;
            if let Some(sent) = resolved.sent.as_deref().filter(|sent| *sent != text) {
                urls.extend(self.redirected(&around, sent)?);
            }
            for value in self.values(&around, urls)? {
                resolved.values.push((Role::GitRemoteUrl, value));
            }
        }
        resolved.values.push((Role::GitRemoteUrl, literal));
        Ok(())
    }

    /// Resolves what git would take where the call names no remote; finding none leaves no value.
    pub(super) fn resolve_default_remotes(
        &self,
        place: &Pointer,
        arguments: &Object,
        outcome: &mut Outcome,
    ) {
        match self.default_remotes(repository_directory(self, arguments).as_ref()) {
            Ok(values) => {
                for value in values {
                    outcome.note_value(Role::GitRemoteUrl, value);
                }
            }
            Err(reason) => outcome.note_invalid(place, &[Role::GitRemoteUrl], &reason),
        }
    }

    fn default_remotes(&self, directory: Option<&CanonicalPath>) -> Result<Vec<Value>, String> {
        let Some(around) = self.around(directory)? else { return Ok(Vec::new()) };
        let mut urls = Vec::new();
        for remote in around.repository.default_remotes() {
            match remote {
                DefaultRemote::Implied(name) => {
                    urls.extend(self.named(&around, &name)?.unwrap_or_default());
                }
                DefaultRemote::Configured(name) => {
                    urls.extend(self.named_or_literal(&around, &name)?);
                }
            }
        }
        if urls.is_empty() { Ok(Vec::new()) } else { self.values(&around, urls) }
    }

    fn around(&self, directory: Option<&CanonicalPath>) -> Result<Option<Rc<Around>>, String> {
        let Some(directory) = directory else { return Ok(None) };
        if let Some((known, around)) = &*self.repository.borrow()
            && known == directory
        {
            return around.clone();
        }
        let found = Repository::find(self.disk, directory).map_err(|fault| fault.to_string());
        let around = |repository| Rc::new(Around { directory: directory.clone(), repository });
        let around = found.map(|repository| repository.map(around));
        *self.repository.borrow_mut() = Some((directory.clone(), around.clone()));
        around
    }

    /// Returns the URLs behind a remote's name; `None` if there is no such remote.
    fn named(&self, around: &Around, name: &str) -> Result<Option<Vec<String>>, String> {
        remote::parse(name).map_err(|fault| fault.to_string())?;
        let repository = &around.repository;
        repository
            .check_name(self.disk, name)
            .and_then(|()| repository.remote_urls(name))
            .map_err(|fault| fault.to_string())
    }

    /// Returns what git makes of a text that is a URL: it may be a remote's name, or be rewritten.
    fn redirected(&self, around: &Around, text: &str) -> Result<Vec<String>, String> {
        let mut urls = self.named(around, text)?.unwrap_or_default();
        urls.extend(around.repository.rewrites(text));
        Ok(urls)
    }

    /// Returns the URLs behind `branch.<name>.remote` and the like, which may be a URL, or `.` for
    /// the repository itself.
    fn named_or_literal(&self, around: &Around, name: &str) -> Result<Vec<String>, String> {
        match remote::parse(name).map_err(|fault| fault.to_string())? {
            Remote::Network(_) | Remote::Local(_) => {
                let mut urls = self.redirected(around, name)?;
                urls.push(name.to_owned());
                Ok(urls)
            }
            Remote::Name(name) => self.named(around, &name)?.ok_or_else(|| {
                let top = around.repository.top();
                format!("`{top}` has no remote `{}`", name.escape_debug())
            }),
        }
    }

    /// Reads URLs of a repository's config, and of the remotes that git asks beside any other.
    fn values(&self, around: &Around, mut urls: Vec<String>) -> Result<Vec<Value>, String> {
        for name in around.repository.promisors() {
            urls.extend(self.named_or_literal(around, &name)?);
        }
        let (mut values, mut seen) = (Vec::new(), HashSet::new());
        for url in &urls {
            if seen.insert(url) {
                values.extend(self.configured_url(url, around)?);
            }
        }
        Ok(values)
    }

    /// Reads a URL as it stands in a repository's config, where a bare word is a directory.
    fn configured_url(&self, url: &str, around: &Around) -> Result<Vec<Value>, String> {
        match remote::parse(url).map_err(|fault| fault.to_string())? {
            Remote::Network(url) => Ok(vec![Value::Url(url)]),
            // Git expands it by the home of whoever runs it.
            Remote::Local(path) if path.starts_with('~') => Err(PathFault::OtherHome.to_string()),
            Remote::Local(path) | Remote::Name(path) => {
                // Git takes it from the top, or from where it was started if `core.bare` is set.
                let from_top = self.local_remote(&path, Some(around.repository.top()))?;
                let from_here = self.local_remote(&path, Some(&around.directory))?;
                let from_here = (from_here != from_top).then_some(from_here);
                let paths = std::iter::once(from_top).chain(from_here);
                Ok(paths.map(Value::LocalRemote).collect())
            }
        }
    }

    /// A directory of this machine is a remote only inside the sandbox.
    fn local_remote(
        &self,
        text: &str,
        directory: Option<&CanonicalPath>,
    ) -> Result<CanonicalPath, String> {
        let sandbox = self.sandbox.map(|sandbox| &sandbox.path);
        let follow = |text: &str| {
            path::absolute(&self.here(text), self.home, directory.or(sandbox))
                .and_then(|path| path::follow(self.disk, &path, Last::Follow))
                .map_err(|fault| fault.to_string())
        };
        let path = follow(text)?.path;
        let outside = || format!("the local remote `{path}` is not in the sandbox");
        let is_inside =
            |path: &CanonicalPath| sandbox.is_some_and(|sandbox| path.is_within(sandbox));
        let plain = path.to_str().filter(|_| is_inside(&path)).ok_or_else(outside)?;
        if !matches!(remote::parse(plain), Ok(Remote::Local(_))) {
            return Err(format!("the local remote `{path}` is not read as a path by git"));
        }
        for suffix in LOCAL_SUFFIXES {
            let found = follow(&format!("{plain}{suffix}"))?;
            if !is_inside(&found.path) {
                return Err(outside());
            }
            if found.entry.is_some_and(|entry| entry.kind == Kind::File) {
                return Err(format!(
                    "the local remote `{path}` is a file, which can lead elsewhere"
                ));
            }
        }
        Ok(path)
    }
}

pub(super) fn repository_directory(
    resolving: &Resolving<'_>,
    arguments: &Object,
) -> Option<CanonicalPath> {
    resolving.one_path_at(&Pointer::parse(REPOSITORY_ARGUMENT).ok()?, arguments)
}
