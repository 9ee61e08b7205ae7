//! Scopes: how far an approval may reach, made of nothing but what a call named.
//!
//! A scope is computed, never written by hand, and compares canonical values: paths by components,
//! hosts and repositories as wholes. It does not know whom it is for, nor until when.

use std::fmt;
use std::str::FromStr;

use ic_policy::{FileKind, Value};
use ic_types::{CanonicalPath, Category, Json, Object, Role, ToolName, visible};

use crate::closed::Closed;
use crate::document::list;

/// What kind of scope it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ScopeKind {
    /// The very path: this file, or this directory as such.
    File,
    /// Everything beneath a directory.
    Directory,
    /// A host, with the way to speak to it and the port.
    Host,
    /// A repository.
    Repository,
    /// A name.
    Name,
}

/// How far an approval reaches for one role.
///
/// Invariant: not empty; made of what one call named for that role.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scope {
    kind: ScopeKind,
    areas: Vec<Area>,
}

/// A part of a scope.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Area {
    /// The path itself; it had these other names when it was shown.
    Exactly { path: CanonicalPath, also: Vec<CanonicalPath> },
    /// A directory that is there, and everything beneath it; not making, moving or removing it.
    Tree(CanonicalPath),
    /// Everything beneath a directory, but not the directory.
    Inside(CanonicalPath),
    /// A host, repository or name.
    Whole(String),
}

/// What a call names for a role, in the form in which scopes are compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Resource {
    Path { path: CanonicalPath, shape: Shape, touch: Touch, also: Vec<CanonicalPath> },
    Host(String),
    Repository(String),
    Name(String),
}

/// Whether a path stands for itself or for what is beneath it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    File,
    Directory,
}

/// Whether a call is about an entry itself, which it makes, moves or removes, or about what is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Touch {
    Entry,
    Content,
}

/// Whether the other names of a file have to be those that were shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Names {
    Any,
    AsShown,
}

// === impl Scope ===

impl Scope {
    /// Makes the scope of that kind for `resources`; `None` if there is none.
    pub(crate) fn of(kind: ScopeKind, resources: &[Resource]) -> Option<Self> {
        let areas: Option<Vec<Area>> = resources.iter().map(|it| it.area(kind)).collect();
        let mut areas = areas.filter(|areas| !areas.is_empty())?;
        areas.sort_unstable();
        areas.dedup();
        Some(Self { kind, areas })
    }

    /// Returns what kind of scope it is.
    pub fn kind(&self) -> ScopeKind {
        self.kind
    }

    /// Returns whether it holds nothing but what the call itself named.
    pub fn is_exact(&self) -> bool {
        match self.kind {
            ScopeKind::File | ScopeKind::Host | ScopeKind::Repository | ScopeKind::Name => true,
            ScopeKind::Directory => false,
        }
    }

    /// Returns whether it holds a directory that is too much for one grant.
    pub(crate) fn is_too_much(&self, closed: &Closed) -> bool {
        self.areas.iter().any(|area| match area {
            Area::Tree(root) | Area::Inside(root) => closed.is_too_much(root),
            Area::Exactly { .. } | Area::Whole(_) => false,
        })
    }

    /// Returns whether `resource` lies in the scope.
    pub(crate) fn covers(&self, resource: &Resource, names: Names) -> bool {
        self.areas.iter().any(|area| area.covers(self.kind, resource, names))
    }

    /// Returns the values as they are written down.
    pub fn values(&self) -> Vec<String> {
        self.areas.iter().map(Area::to_text).collect()
    }

    /// Returns the scope as it is written down.
    pub(crate) fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("kind", self.kind.as_str());
        object.insert("values", list(self.values()));
        Json::Object(object)
    }

    /// Says in words, one line for each part, how far the scope reaches for `role`; nothing is shortened.
    pub fn describe(&self, role: Role) -> Vec<String> {
        self.areas.iter().map(|area| area.describe(self.kind, role)).collect()
    }
}

// === impl Area ===

impl Area {
    fn covers(&self, kind: ScopeKind, resource: &Resource, names: Names) -> bool {
        match (self, resource) {
            (Self::Exactly { path, also }, Resource::Path { path: named, also: names_now, .. }) => {
                // SECURITY: a file that has got another name since may be something else by it.
                let is_as_shown = || names_now.iter().all(|name| also.contains(name));
                path == named && (names == Names::Any || is_as_shown())
            }
            // SECURITY: whoever may put something at the name of a root chooses what the grant opens.
            (Self::Tree(root), Resource::Path { path, touch, .. }) => {
                path.is_within(root) && (path != root || *touch == Touch::Content)
            }
            // SECURITY: a file was shown, so the directory that it lies in is not part of it.
            (Self::Inside(root), Resource::Path { path, .. }) => {
                path != root && path.is_within(root)
            }
            (Self::Whole(whole), resource) => {
                resource.whole().is_some_and(|(its_kind, text)| its_kind == kind && text == whole)
            }
            (
                Self::Exactly { .. } | Self::Tree(_) | Self::Inside(_),
                Resource::Host(_) | Resource::Repository(_) | Resource::Name(_),
            ) => false,
        }
    }

    /// Returns the area as it is written down: what lies in a directory ends with a slash.
    fn to_text(&self) -> String {
        match self {
            Self::Exactly { path, .. } | Self::Tree(path) => path.to_string(),
            Self::Inside(path) => format!("{path}/"),
            Self::Whole(text) => text.clone(),
        }
    }

    fn describe(&self, kind: ScopeKind, role: Role) -> String {
        let text = visible(&self.to_text());
        match self {
            Self::Exactly { .. } => format!("exactly `{text}`"),
            Self::Tree(_) => match role {
                Role::WritePath => format!("`{text}`, once it exists, and everything beneath it"),
                Role::DeletePath => format!("everything beneath `{text}`, but not `{text}` itself"),
                _ => format!("`{text}` and everything beneath it"),
            },
            Self::Inside(_) => format!("everything in `{text}`, at any depth"),
            Self::Whole(_) => match kind {
                ScopeKind::Host => format!("every address at `{text}`"),
                ScopeKind::Repository => format!("the repository `{text}`"),
                ScopeKind::Name | ScopeKind::File | ScopeKind::Directory => {
                    format!("exactly `{text}`")
                }
            },
        }
    }
}

// === impl Resource ===

impl Resource {
    /// Returns what `value` is for `role`; `None` if no scope can be made of it.
    pub(crate) fn of(role: Role, tool: &ToolName, value: &Value) -> Option<Self> {
        match (value, role.category()) {
            (Value::Path(value), Category::Path) => {
                let kind = value.state.map(|state| state.kind);
                let touch = touch(value.is_about_entry(role));
                Self::path(value.path.to_str()?, shape(role, tool, kind), touch, value.also.clone())
            }
            (Value::Url(url), Category::Url) => {
                Self::url(role, &url.text, &url.destination.to_string())
            }
            (Value::LocalRemote(path), Category::Url) => Self::local(role, path.to_str()?),
            (Value::Text(text), Category::Identifier) => Some(Self::text(role, text)),
            (Value::Path(_) | Value::Url(_) | Value::LocalRemote(_) | Value::Text(_), _) => None,
        }
    }

    /// Returns what a value in a request is for `role`: the same as [`Self::of`] of the value itself.
    pub(crate) fn of_json(role: Role, tool: &ToolName, json: &Json) -> Option<Self> {
        let get = |key: &str| match json {
            Json::Object(object) => object.get(key)?.as_str(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
        };
        match role.category() {
            Category::Path => {
                let kind = match get("kind") {
                    None => None,
                    Some("file") => Some(FileKind::File),
                    Some("directory") => Some(FileKind::Directory),
                    Some(_) => Some(FileKind::Other),
                };
                let is_made = role == Role::WritePath && kind.is_none();
                let touch = touch(role.is_entry() || is_made);
                Self::path(get("path")?, shape(role, tool, kind), touch, Vec::new())
            }
            Category::Url => match (get("url"), get("destination"), get("path")) {
                (Some(url), Some(destination), None) => Self::url(role, url, destination),
                (None, None, Some(path)) => Self::local(role, path),
                _ => None,
            },
            Category::Identifier => Some(Self::text(role, json.as_str()?)),
            Category::Opaque => None,
        }
    }

    fn path(text: &str, shape: Shape, touch: Touch, also: Vec<CanonicalPath>) -> Option<Self> {
        // What is no text is shown with this in it, and would be mistaken for something else.
        let is_itself = !text.contains(char::REPLACEMENT_CHARACTER);
        let path = CanonicalPath::new(text).ok().filter(|_| is_itself)?;
        Some(Self::Path { path, shape, touch, also })
    }

    fn url(role: Role, text: &str, destination: &str) -> Option<Self> {
        // A remote without a scheme is `user@host:path`, which is ssh.
        let scheme = text.split_once("://").map_or("ssh", |(scheme, _)| scheme);
        let there = format!("{}://{destination}", scheme.to_ascii_lowercase());
        match role {
            Role::FetchUrl => Some(Self::Host(there)),
            // A remote whose repository nobody could tell apart is taken as it is written.
            Role::GitRemoteUrl if destination.contains('/') => Some(Self::Repository(there)),
            Role::GitRemoteUrl => Some(Self::Repository(text.to_owned())),
            Role::ReadPath
            | Role::WritePath
            | Role::DeletePath
            | Role::WriteHistory
            | Role::DeleteHistory
            | Role::GithubOwner
            | Role::GithubRepo
            | Role::ProxyDomain
            | Role::BranchName
            | Role::CommitMessage
            | Role::EmailAddress
            | Role::EmailBody
            | Role::SharePermission
            | Role::None => None,
        }
    }

    fn local(role: Role, path: &str) -> Option<Self> {
        let is_itself = role == Role::GitRemoteUrl && !path.contains(char::REPLACEMENT_CHARACTER);
        is_itself.then(|| Self::Repository(path.to_owned()))
    }

    fn text(role: Role, text: &str) -> Self {
        match role == Role::ProxyDomain {
            true => Self::Host(text.to_owned()),
            false => Self::Name(text.to_owned()),
        }
    }

    /// Returns the smallest area of that kind that holds this; `None` if there is none.
    fn area(&self, kind: ScopeKind) -> Option<Area> {
        match (self, kind) {
            (Self::Path { path, also, .. }, ScopeKind::File) => {
                Some(Area::Exactly { path: path.clone(), also: also.clone() })
            }
            (Self::Path { path, shape, .. }, ScopeKind::Directory) => {
                // SECURITY: of a directory never its parent, and never the whole disk.
                let root = match shape {
                    Shape::Directory => path.clone(),
                    Shape::File => path.parent()?,
                };
                let area = match shape {
                    Shape::Directory => Area::Tree(root.clone()),
                    Shape::File => Area::Inside(root.clone()),
                };
                (root != CanonicalPath::root()).then_some(area)
            }
            (resource, kind) => {
                let (its_kind, text) = resource.whole()?;
                (its_kind == kind).then(|| Area::Whole(text.to_owned()))
            }
        }
    }

    fn whole(&self) -> Option<(ScopeKind, &str)> {
        match self {
            Self::Path { .. } => None,
            Self::Host(text) => Some((ScopeKind::Host, text)),
            Self::Repository(text) => Some((ScopeKind::Repository, text)),
            Self::Name(text) => Some((ScopeKind::Name, text)),
        }
    }
}

/// Says what a call is about.
fn touch(is_about_entry: bool) -> Touch {
    if is_about_entry { Touch::Entry } else { Touch::Content }
}

/// Returns whether a path is, or is about to become, a directory.
///
/// A tool that sounds as if it made directories does: then the tree that is offered begins at the
/// path, and not above it.
fn shape(role: Role, tool: &ToolName, kind: Option<FileKind>) -> Shape {
    const MAKES_DIRECTORIES: [&str; 5] = ["dir", "folder", "clone", "init", "repo"];
    let tool = tool.as_str().to_ascii_lowercase();
    let is_repository = matches!(role, Role::WriteHistory | Role::DeleteHistory);
    match kind {
        Some(FileKind::Directory) => Shape::Directory,
        None if is_repository => Shape::Directory,
        None if MAKES_DIRECTORIES.iter().any(|word| tool.contains(word)) => Shape::Directory,
        Some(FileKind::File | FileKind::Other) | None => Shape::File,
    }
}

// === impl ScopeKind ===

impl ScopeKind {
    /// Every kind, the narrow ones first.
    pub(crate) const ALL: [Self; 5] =
        [Self::File, Self::Host, Self::Repository, Self::Name, Self::Directory];

    /// Returns the word for it in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Host => "host",
            Self::Repository => "repository",
            Self::Name => "name",
        }
    }
}

impl FromStr for ScopeKind {
    type Err = UnknownScopeKind;

    fn from_str(text: &str) -> Result<Self, UnknownScopeKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(UnknownScopeKind)
    }
}

/// Text that names no kind of scope.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a scope is a `file`, `directory`, `host`, `repository` or `name`")]
pub struct UnknownScopeKind;

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
