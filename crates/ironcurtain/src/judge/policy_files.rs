//! The files of a policy: read from where they are, and completed with what was added for servers.
//!
//! What they say is not understood here; that is the policy's own to read.

use std::path::PathBuf;

use ic_broker::method;
use ic_broker::servers_file::{ServersFile, Start};
use ic_home::Home;
use ic_policy::artifact::Source;
use ic_policy::{Bounds, Builtin, PolicySources};
use ic_types::{AbsolutePath, Json, JsonLimits, ServerName};

use super::refuse_in_sandbox;
use crate::error::Failure;
use crate::files;

/// What stands in annotations of resources.
const URIS: &[u8] = b"resources/";
/// The largest file of annotations of one server.
const ADDED_BYTES_MAX: u64 = 16 << 20;
/// What it may cost, or a policy's annotations to which it is added.
const ADDED_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };
/// The file without which a directory is no policy.
pub(super) const COMPILED: &str = "compiled-policy.json";

/// A file of a policy directory.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    name: String,
    bytes: Vec<u8>,
}

/// Where a policy is.
pub(super) enum Origin {
    Builtin(Builtin),
    Directory(AbsolutePath),
}

/// The files of a policy, read.
pub(super) struct PolicyFiles {
    /// Where they are, as a person would say it.
    pub(super) origin: String,
    compiled: PolicyFile,
    annotations: PolicyFile,
    lists: Option<PolicyFile>,
    pub(super) scenarios: Option<PolicyFile>,
    constitution: Option<PolicyFile>,
}

impl PolicyFiles {
    pub(super) fn read(origin: &Origin, bounds: &Bounds) -> Result<Self, Failure> {
        match origin {
            Origin::Builtin(builtin) => Ok(Self::of_builtin(*builtin)),
            Origin::Directory(directory) => Self::of_directory(directory, bounds),
        }
    }

    fn of_builtin(builtin: Builtin) -> Self {
        let sources = builtin.sources();
        let constitution =
            Source { file: "constitution.md", bytes: builtin.constitution().as_bytes() };
        Self {
            origin: format!("built-in `{}`", builtin.name()),
            compiled: sources.compiled.into(),
            annotations: sources.annotations.into(),
            lists: sources.lists.map(Into::into),
            scenarios: Some(builtin.scenarios().into()),
            constitution: Some(constitution.into()),
        }
    }

    fn of_directory(directory: &AbsolutePath, bounds: &Bounds) -> Result<Self, Failure> {
        refuse_in_sandbox(bounds, "policy", directory)?;
        let read_if_present = |name: &str| -> Result<Option<PolicyFile>, Failure> {
            let path = directory.as_path().join(name);
            let Some(bytes) = files::read_if_present(&path)? else { return Ok(None) };
            // SECURITY: a link from the policy directory into the sandbox is the agent's to write.
            let absolute = AbsolutePath::new(&path)
                .map_err(|reason| Failure::config(format!("{}: {reason}", path.display())))?;
            refuse_in_sandbox(bounds, "policy file", &absolute)?;
            Ok(Some(PolicyFile { name: path.display().to_string(), bytes }))
        };
        let read = |name: &str| {
            read_if_present(name)?.ok_or_else(|| {
                let path = directory.as_path().join(name);
                Failure::config(format!("`{}` does not exist", path.display())).with_hint(
                    "a policy directory holds compiled-policy.json and tool-annotations.json",
                )
            })
        };
        Ok(Self {
            origin: directory.as_path().display().to_string(),
            compiled: read(COMPILED)?,
            annotations: read("tool-annotations.json")?,
            lists: read_if_present("dynamic-lists.json")?,
            scenarios: read_if_present("test-scenarios.json")?,
            constitution: match read_if_present("constitution.md")? {
                Some(file) => Some(file),
                // The user's own stands beside `generated/`.
                None => read_if_present("../constitution.md")?,
            },
        })
    }

    /// Adds what `servers add` wrote of the servers of which the policy says nothing.
    pub(super) fn add_drafts(&mut self, servers: &ServersFile, home: &Home) -> Result<(), Failure> {
        let mut added = Vec::new();
        for (name, config) in servers.iter() {
            // What the tools of ours mean comes with the policy.
            if let Start::Builtin(_) = config.start {
                continue;
            }
            let path = added_annotations(home, name);
            if let Some(bytes) = ic_home::file::read_own(&path, ADDED_BYTES_MAX)? {
                added.push((name, path, bytes));
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        let broken = |file: &str, why: String| Failure::config(format!("`{file}`: {why}"));
        let parse = |file: &str, bytes: &[u8]| match Json::parse(bytes, ADDED_LIMITS) {
            Ok(Json::Object(object)) => Ok(object),
            Ok(_) => Err(broken(file, "it is no object".to_owned())),
            Err(error) => Err(broken(file, error.to_string())),
        };
        let PolicyFile { name: file, bytes } = &self.annotations;
        let mut annotations = parse(file, bytes)?;
        let Some(Json::Object(sections)) = annotations.get_mut("servers") else {
            return Err(broken(file, "`servers` is missing".to_owned()));
        };
        for (name, path, bytes) in added {
            // What was compiled, or annotated with care, counts before a draft.
            if sections.get(name.as_str()).is_none() {
                sections.insert(name.as_str(), parse(&path.display().to_string(), &bytes)?);
            }
        }
        self.annotations.bytes = Json::Object(annotations).to_string().into_bytes();
        Ok(())
    }

    /// Lets resources be judged by what their URIs name.
    pub(super) fn annotate_uris(&mut self) {
        let bytes = &self.annotations.bytes;
        if !bytes.windows(URIS.len()).any(|it| it == URIS) {
            return;
        }
        // What cannot be read is an error when it is loaded, with its place.
        if let Ok(Json::Object(mut annotations)) = Json::parse(bytes, ADDED_LIMITS) {
            method::annotate_uris(&mut annotations);
            self.annotations.bytes = Json::Object(annotations).to_string().into_bytes();
        }
    }

    /// Returns the text that the policy was compiled from, if it is there.
    pub(super) fn constitution(&self) -> Option<String> {
        let file = self.constitution.as_ref();
        file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
    }

    pub(super) fn sources(&self) -> PolicySources<'_> {
        PolicySources {
            compiled: self.compiled.source(),
            annotations: self.annotations.source(),
            lists: self.lists.as_ref().map(PolicyFile::source),
        }
    }
}

impl PolicyFile {
    /// Returns the file's name and bytes, to be read.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { file: &self.name, bytes: &self.bytes }
    }
}

impl From<Source<'_>> for PolicyFile {
    fn from(source: Source<'_>) -> Self {
        Self { name: source.file.to_owned(), bytes: source.bytes.to_vec() }
    }
}

/// Returns where the annotations of a server are that `servers add` added.
pub(crate) fn added_annotations(home: &Home, server: &ServerName) -> PathBuf {
    home.installed_servers().join(server.as_str()).join("annotations.json")
}
