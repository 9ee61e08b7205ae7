//! The files of a policy: read from where they are, and completed with what was added for servers.
//!
//! What they say is not understood here; that is the policy's own to read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ic_home::Home;
use ic_home::file::{self, FileError};
use ic_inventory::servers_file::{BuiltinServer, ServerConfig, ServersFile, Start};
use ic_judge::method;
use ic_policy::artifact::Source;
use ic_policy::{Bounds, Builtin, PolicySources};
use ic_types::{AbsolutePath, Json, JsonLimits, Object, ServerName};

use super::{Origin, origin, refuse_in_sandbox};
use crate::fault::Fault;
use crate::files;

/// What stands in annotations of resources.
const URIS: &[u8] = b"resources/";
/// The annotations of a policy that brings none.
const NO_ANNOTATIONS: &[u8] = br#"{"servers":{}}"#;
/// The largest file of annotations of one server.
const ADDED_BYTES_MAX: u64 = 16 << 20;
/// What it may cost, or a policy's annotations to which it is added.
const ADDED_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };
/// The file with what the user has added to a policy.
pub const ADDITIONS: &str = "additions.json";
/// The file with the meaning of arguments.
pub(super) const ANNOTATIONS: &str = "tool-annotations.json";
/// The file with the lists that rules name.
pub(super) const LISTS: &str = "dynamic-lists.json";
/// The file without which a directory is not a policy.
pub const COMPILED: &str = "compiled-policy.json";

/// A file of a policy directory.
#[derive(Debug)]
pub struct PolicyFile {
    name: String,
    bytes: Vec<u8>,
}

/// The files of a policy, read.
#[derive(Debug)]
pub(super) struct PolicyFiles {
    /// Where they are, as a person would say it.
    pub(super) origin: String,
    is_builtin: bool,
    compiled: PolicyFile,
    annotations: PolicyFile,
    lists: Option<PolicyFile>,
    additions: Option<PolicyFile>,
    pub(super) scenarios: Option<PolicyFile>,
    constitution: Option<PolicyFile>,
}

impl PolicyFiles {
    pub(super) fn read(origin: &Origin, bounds: &Bounds) -> Result<Self, Fault> {
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
            is_builtin: true,
            compiled: sources.compiled.into(),
            annotations: sources.annotations.into(),
            lists: sources.lists.map(Into::into),
            additions: None,
            scenarios: Some(builtin.scenarios().into()),
            constitution: Some(constitution.into()),
        }
    }

    fn of_directory(directory: &AbsolutePath, bounds: &Bounds) -> Result<Self, Fault> {
        refuse_policy(bounds, ["policy", "policy file"], directory)?;
        let read_if_present = |name: &str| -> Result<Option<PolicyFile>, Fault> {
            let path = directory.as_path().join(name);
            let Some(bytes) = files::read_if_present(&path)? else { return Ok(None) };
            // SECURITY: a link from the policy directory into the sandbox is the agent's to write.
            let absolute = AbsolutePath::new(&path)
                .map_err(|reason| Fault::config(format!("{}: {reason}", path.display())))?;
            refuse_in_sandbox(bounds, "policy file", &absolute)?;
            Ok(Some(PolicyFile { name: path.display().to_string(), bytes }))
        };
        let read = |name: &str| {
            read_if_present(name)?.ok_or_else(|| {
                let path = directory.as_path().join(name);
                Fault::config(format!("`{}` does not exist", path.display())).with_hint(
                    "a policy directory holds compiled-policy.json; `ironcurtain policy new NAME` \
                     makes one",
                )
            })
        };
        Ok(Self {
            origin: directory.as_path().display().to_string(),
            is_builtin: false,
            compiled: read(COMPILED)?,
            annotations: match read_if_present(ANNOTATIONS)? {
                Some(file) => file,
                None => Source { file: ANNOTATIONS, bytes: NO_ANNOTATIONS }.into(),
            },
            lists: read_if_present(LISTS)?,
            additions: read_if_present(ADDITIONS)?,
            scenarios: read_if_present("test-scenarios.json")?,
            constitution: match read_if_present("constitution.md")? {
                Some(file) => Some(file),
                // The user's own stands beside `generated/`.
                None => read_if_present("../constitution.md")?,
            },
        })
    }

    /// Adds the annotations that need not be in a policy: those of the built-in servers and, from the
    /// home, those of servers that were added. A tool that the policy annotates itself is left alone.
    pub(super) fn imply_annotations(
        &mut self,
        servers: &ServersFile,
        home: Option<&Home>,
        given: Option<(&ServerName, &Object)>,
    ) -> Result<(), Fault> {
        let mut implied = implied(servers, home, self.is_builtin)?;
        for (name, section) in &mut implied {
            if let Some((_, given)) = given.filter(|(of, _)| *of == name) {
                *section = given.clone();
            }
        }
        if implied.is_empty() {
            return Ok(());
        }
        let file = &self.annotations.name;
        let mut annotations = object(file, &self.annotations.bytes)?;
        let Some(Json::Object(sections)) = annotations.get_mut("servers") else {
            return Err(broken(file, "`servers` is missing"));
        };
        for (name, section) in implied {
            match sections.get_mut(name.as_str()) {
                None => {
                    sections.insert(name.as_str(), section);
                }
                // A section that a compiler made speaks for all tools of its server: what it leaves
                // out was left out, and stays unknown.
                Some(Json::Object(own)) if own.get("inputHash").is_some() => {}
                Some(Json::Object(own)) => add_tools(own, section),
                // What is wrong with it is said when it is loaded, with its place.
                Some(_) => {}
            }
        }
        self.annotations.bytes = Json::Object(annotations).to_string().into_bytes();
        Ok(())
    }

    /// Takes other rules and lists for those of the policy, where there are some.
    pub(super) fn with(mut self, compiled: Option<&[u8]>, lists: Option<&[u8]>) -> Self {
        if let Some(bytes) = compiled {
            self.compiled.bytes = bytes.to_vec();
        }
        if let Some(bytes) = lists {
            self.lists = Some(Source { file: LISTS, bytes }.into());
        }
        self
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

    /// Writes all that decides into `directory`, unless it is there.
    pub(super) fn keep(&self, directory: &Path) -> Result<(), FileError> {
        // What says that all of it is there comes last.
        let compiled = directory.join(COMPILED);
        let known = file::names(directory)?.unwrap_or_default();
        if known.iter().any(|name| name == COMPILED) {
            return Ok(());
        }
        let mut above: Vec<&Path> = directory.ancestors().take(3).collect();
        above.reverse();
        above.into_iter().try_for_each(file::create_dir)?;
        let optional = [(LISTS, &self.lists), (ADDITIONS, &self.additions)];
        for (name, known) in optional {
            if let Some(known) = known {
                file::replace(directory.join(name), &known.bytes)?;
            }
        }
        file::replace(directory.join(ANNOTATIONS), &self.annotations.bytes)?;
        file::replace(compiled, &self.compiled.bytes)
    }

    /// Returns the text that the policy was compiled from, if it is there.
    pub(super) fn constitution(&self) -> Option<String> {
        let file = self.constitution.as_ref();
        file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
    }

    /// Returns what the user has added to the policy.
    pub(super) fn additions(&self) -> Option<Source<'_>> {
        self.additions.as_ref().map(PolicyFile::source)
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
    pub fn source(&self) -> Source<'_> {
        Source { file: &self.name, bytes: &self.bytes }
    }
}

impl From<Source<'_>> for PolicyFile {
    fn from(source: Source<'_>) -> Self {
        Self { name: source.file.to_owned(), bytes: source.bytes.to_vec() }
    }
}

/// Refuses a policy that the agent could change, by its directory or by a link to a file of it.
pub(super) fn refuse_policy(
    bounds: &Bounds,
    [what, file]: [&str; 2],
    directory: &AbsolutePath,
) -> Result<(), Fault> {
    if bounds.sandbox.is_none() {
        return Ok(());
    }
    for (index, part) in origin::parts(directory)?.iter().enumerate() {
        refuse_in_sandbox(bounds, if index == 0 { what } else { file }, part)?;
    }
    Ok(())
}

/// Returns where the annotations of a server are that `servers add` added.
pub fn added_annotations(home: &Home, server: &ServerName) -> PathBuf {
    home.installed_servers().join(server.as_str()).join("annotations.json")
}

/// Returns the annotations of servers that a policy need not bring, by the names of the servers.
fn implied(
    servers: &ServersFile,
    home: Option<&Home>,
    has_builtin: bool,
) -> Result<Vec<(ServerName, Object)>, Fault> {
    let Source { file, bytes } = Builtin::Default.sources().annotations;
    // A built-in policy has them, under the names that they usually have.
    let is_there = |name: &ServerName, config: &ServerConfig| match &config.start {
        Start::Builtin(server) => has_builtin && server.as_str() == name.as_str(),
        Start::Command(_) | Start::Url(_) => true,
    };
    let builtin = match has_builtin && servers.iter().all(|(name, it)| is_there(name, it)) {
        true => Object::new(),
        false => object(file, bytes)?,
    };
    let section = |server: BuiltinServer| match builtin.get("servers") {
        Some(Json::Object(sections)) => match sections.get(server.as_str()) {
            Some(Json::Object(section)) => Some(section.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut implied = Vec::new();
    for (name, config) in servers.iter() {
        match &config.start {
            Start::Builtin(_) if is_there(name, config) => {}
            Start::Builtin(server) => {
                implied.extend(section(*server).map(|it| (name.clone(), renamed(it, name))));
            }
            Start::Command(_) | Start::Url(_) => {
                let Some(home) = home else { continue };
                let path = added_annotations(home, name);
                if let Some(bytes) = file::read_own(&path, ADDED_BYTES_MAX)? {
                    implied.push((name.clone(), object(&path.display().to_string(), &bytes)?));
                }
            }
        }
    }
    Ok(implied)
}

/// Lets annotations of a built-in server be those of the name that it has here.
fn renamed(mut section: Object, server: &ServerName) -> Object {
    if let Some(Json::Array(tools)) = section.get_mut("tools") {
        for tool in tools {
            if let Json::Object(tool) = tool
                && tool.get("serverName").is_some()
            {
                tool.insert("serverName", server.as_str());
            }
        }
    }
    section
}

/// Adds those tools to `own` that it does not have.
fn add_tools(own: &mut Object, mut implied: Object) {
    let Some(Json::Array(implied)) = implied.remove("tools") else { return };
    let Some(Json::Array(tools)) = own.get_mut("tools") else { return };
    let name = |tool: &Json| match tool {
        Json::Object(tool) => tool.get("toolName").and_then(Json::as_str).map(str::to_owned),
        _ => None,
    };
    let known: HashSet<Option<String>> = tools.iter().map(name).collect();
    tools.extend(implied.into_iter().filter(|tool| !known.contains(&name(tool))));
}

fn object(file: &str, bytes: &[u8]) -> Result<Object, Fault> {
    match Json::parse(bytes, ADDED_LIMITS) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(broken(file, "it is not an object")),
        Err(error) => Err(broken(file, &error.to_string())),
    }
}

fn broken(file: &str, why: &str) -> Fault {
    Fault::config(format!("`{file}`: {why}"))
}
