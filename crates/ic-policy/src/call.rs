//! A call whose values are canonical: what the decision looks at, and what is sent.
//!
//! Holds facts about one moment of one machine; says nothing about whether they please anyone.

use ic_types::{CanonicalPath, Json, Object, Role, ServerName, ToolCall, ToolName};

use crate::domain::Destination;
use crate::pointer::Pointer;
use crate::push::Push;

/// A call with its roles and canonical values.
///
/// What was judged is what is sent: [`sent`](Self::sent) holds the arguments with each path and URL
/// replaced by its judged form.
///
/// It cannot be put together from parts outside the resolver without saying so:
///
/// ```compile_fail,E0451
/// # fn parts() -> ic_policy::ResolvedParts { unimplemented!() }
/// let forged = ic_policy::ResolvedCall { parts: parts() };
/// ```
#[derive(Clone, Debug)]
pub struct ResolvedCall {
    parts: ResolvedParts,
}

/// The parts of a resolved call.
#[derive(Clone, Debug)]
pub struct ResolvedParts {
    /// The call as the agent wrote it.
    pub asked: ToolCall,
    /// The arguments as they will be sent.
    pub sent: Object,
    /// Whether the tool is annotated, and confirmed.
    pub standing: Standing,
    /// The roles of the call and their values, in annotation order, each role once.
    pub roles: Vec<RoleValues>,
    /// Values that cannot be used, and why.
    pub invalid: Vec<InvalidValue>,
    /// Arguments that the annotation does not name.
    pub unknown_arguments: Vec<String>,
    /// Paths that strings without a role would be, were they taken as paths.
    pub unannotated_paths: Vec<UnannotatedPath>,
    /// What the host would run later, or be led by, if the call were made, as the disk shows it.
    pub executed: Vec<Executed>,
    /// Which places of the arguments bear which roles in this call.
    pub places: Vec<RolePlace>,
    /// What the call would send to another repository, if it is a push.
    pub push: Option<Push>,
}

/// A place in the arguments, and the roles that its values have in this call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RolePlace {
    /// The place.
    pub place: Pointer,
    /// The roles.
    pub roles: Vec<Role>,
}

/// What the policy knows of the tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Nothing.
    Unknown,
    /// A draft that nobody has confirmed.
    Draft,
    /// A confirmed annotation.
    Annotated,
    /// It is no tool: the server itself asks, of a client's model or of a person.
    OfServer,
    /// It is no tool of a server: several calls are to be approved before they are made.
    Plan,
}

/// The values of one role, over all arguments that have it.
#[derive(Clone, Debug)]
pub struct RoleValues {
    /// The role.
    pub role: Role,
    /// Its values; a role without values is judged too.
    pub values: Vec<Value>,
}

/// One canonical value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A path.
    Path(PathValue),
    /// A URL, or a remote on another host.
    Url(UrlValue),
    /// A remote that is a directory of this machine.
    LocalRemote(CanonicalPath),
    /// Any other text, in the form in which its role is compared.
    Text(String),
}

/// A path, the other names that lead to it, and what is there.
#[derive(Clone, Debug)]
pub struct PathValue {
    /// The path that is judged.
    pub path: CanonicalPath,
    /// Links that were followed on the way, and links with a meaning of their own that lead here.
    pub also: Vec<CanonicalPath>,
    /// What is there now, if anything is.
    pub state: Option<FileState>,
}

impl PathValue {
    /// Returns whether a call with this value for `role` makes, moves or removes the entry itself, and
    /// not only what is in it.
    pub fn is_about_entry(&self, role: Role) -> bool {
        role.is_entry() || (role == Role::WritePath && self.state.is_none())
    }
}

/// What was found at a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileState {
    /// What it is.
    pub kind: FileKind,
    /// The device that the file is on.
    pub device: u64,
    /// Its number on that device.
    pub inode: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last changed, in seconds since 1970.
    pub modified_s: i64,
    /// The nanoseconds of that second.
    pub modified_ns: i64,
}

/// What is at a path; nobody may take a directory for a file in it, nor the other way round.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a link that is judged as itself, a socket, a device, a pipe.
    Other,
}

/// A URL in canonical form and where it leads.
#[derive(Clone, Debug)]
pub struct UrlValue {
    /// The URL.
    pub text: String,
    /// Where it leads.
    pub destination: Destination,
}

/// A value that cannot be used.
#[derive(Clone, Debug)]
pub struct InvalidValue {
    /// The argument, or the place in it.
    pub place: String,
    /// The role that the value has.
    pub role: Role,
    /// What is wrong with it.
    pub reason: String,
}

/// Something that the host would run later, or be led by, if the call were made.
///
/// What counts by its name alone is not among these: the decision knows those names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Executed {
    /// The role in which the call changes it.
    pub role: Role,
    /// What is changed.
    pub path: CanonicalPath,
    /// Why the host would run or obey it.
    pub why: Why,
}

/// Why the host would run something later, or be led by it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Why {
    /// It lies in a directory that git takes for a repository, or would once the call is made.
    Repository(CanonicalPath),
    /// A git configuration names it, in this setting.
    Configured(String),
    /// A variable of the environment names it, for programs that obey it.
    Variable(String),
    /// A link among git's own files leads to it.
    Linked(CanonicalPath),
    /// A link leads to it that is in a tree, or that git has in a commit, in the index or put aside.
    Committed(CanonicalPath),
    /// A git configuration that might name it, or a repository that might lead to it, cannot be read.
    Unreadable(CanonicalPath),
    /// It is at the top of a repository, and servers that build what is pushed take it for orders.
    Pipeline,
    /// Tools look for a file of this name.
    Listed,
    /// It is new, and programs take its name for an option.
    Option,
    /// It is new at the top of a tree, and Python takes it for a module of its own.
    Module,
    /// Git would change it, and it counts for one of the other reasons.
    Brought,
    /// A server left it behind, it counts for one of the other reasons, and it was put back.
    Planted,
}

/// A path that a string without a role would be.
#[derive(Clone, Debug)]
pub struct UnannotatedPath {
    /// The argument that holds the string.
    pub argument: String,
    /// The path.
    pub path: PathValue,
}

// === impl ResolvedCall ===

impl ResolvedCall {
    /// Takes the caller's word that `parts` were resolved on this machine.
    ///
    /// Only `ic-resolve` and tests may call this; the tidy check looks for other callers.
    pub fn assert_resolved(parts: ResolvedParts) -> Self {
        Self { parts }
    }

    /// Returns the server that the call is for.
    pub fn server(&self) -> &ServerName {
        &self.parts.asked.server
    }

    /// Returns the tool on that server.
    pub fn tool(&self) -> &ToolName {
        &self.parts.asked.tool
    }

    /// Returns the call as the agent wrote it.
    pub fn asked(&self) -> &ToolCall {
        &self.parts.asked
    }

    /// Gives the call back as it was asked for; what was found out about it is gone.
    pub fn into_asked(self) -> ToolCall {
        self.parts.asked
    }

    /// Returns the arguments as they will be sent.
    pub fn sent(&self) -> &Object {
        &self.parts.sent
    }

    /// Returns the roles and their values.
    pub fn roles(&self) -> &[RoleValues] {
        &self.parts.roles
    }

    /// Returns the values of `role`.
    pub fn values(&self, role: Role) -> &[Value] {
        let found = self.parts.roles.iter().find(|values| values.role == role);
        found.map_or(&[], |values| &values.values)
    }

    /// Returns the paths among the values of `role`.
    pub fn paths(&self, role: Role) -> impl Iterator<Item = &CanonicalPath> {
        self.values(role).iter().filter_map(Value::path).map(|value| &value.path)
    }

    /// Returns which places of the arguments bear which roles.
    pub fn places(&self) -> &[RolePlace] {
        &self.parts.places
    }

    /// Returns what the call would send to another repository, if it is a push.
    pub fn push(&self) -> Option<&Push> {
        self.parts.push.as_ref()
    }

    pub(crate) fn parts(&self) -> &ResolvedParts {
        &self.parts
    }

    /// Returns what stands behind the values without being one of them, as JSON: further names of
    /// files, and paths in arguments that have no role.
    pub(crate) fn behind_json(&self) -> Json {
        let values = self.parts.roles.iter().flat_map(|values| &values.values);
        let also = values.filter_map(Value::path).flat_map(|path| &path.also);
        let mut behind = Object::new();
        behind.insert("also", also.map(|path| Json::from(path.to_string())).collect::<Vec<_>>());
        let unannotated = self.parts.unannotated_paths.iter();
        let unannotated = unannotated.map(|UnannotatedPath { argument, path }| {
            let names = std::iter::once(&path.path).chain(&path.also);
            let mut object = Object::new();
            object.insert("argument", argument.as_str());
            object.insert("paths", names.map(|it| Json::from(it.to_string())).collect::<Vec<_>>());
            Json::Object(object)
        });
        behind.insert("unannotated", unannotated.collect::<Vec<_>>());
        let executed = self.parts.executed.iter();
        let executed =
            executed.map(|it| Json::from(format!("{} {}: {}", it.role, it.path, it.why)));
        behind.insert("executed", executed.collect::<Vec<_>>());
        Json::Object(behind)
    }

    /// Returns the resolved values as JSON: role by role, files with what was found there, and what
    /// a push would send.
    pub fn resolved_json(&self) -> Json {
        let mut roles = Object::new();
        for RoleValues { role, values } in &self.parts.roles {
            if *role != Role::None {
                let values: Vec<Json> = values.iter().map(Value::to_json).collect();
                roles.insert(role.as_str(), values);
            }
        }
        // SECURITY: a part of what is answered, recorded and compared, so that a ref that moves asks again.
        if let Some(push) = &self.parts.push {
            roles.insert(Push::KEY, push.to_json());
        }
        Json::Object(roles)
    }
}

// === impl FileKind ===

impl FileKind {
    /// Returns the word for it in resolved values.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Other => "other",
        }
    }
}

// === impl Why ===

/// Prints the reason so that it can follow the path and a colon.
impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Repository(at) => write!(f, "git takes `{at}` for a repository"),
            Self::Configured(key) => write!(f, "the git setting `{}` names it", key.escape_debug()),
            Self::Variable(name) => write!(f, "the variable `{}` names it", name.escape_debug()),
            Self::Committed(link) => {
                write!(f, "the link `{link}` leads to it, here or in a commit, the index or the stash")
            }
            Self::Linked(link) => write!(f, "git's own `{link}` leads to it"),
            Self::Unreadable(at) => {
                write!(f, "the git configuration or repository `{at}` cannot be read, and may name it")
            }
            Self::Pipeline => f.write_str("CI runs it once it is pushed"),
            Self::Listed => f.write_str("your tools run it or read it as settings"),
            Self::Option => f.write_str("programs that get `*` take its name for an option"),
            Self::Module => {
                f.write_str("`python3 -m`, run in this directory, loads it in place of its own module")
            }
            Self::Brought => f.write_str("git would change it here"),
            Self::Planted => f.write_str(
                "programs of this machine run it or take orders from it; the server changed it without \
                 asking, and it was put back",
            ),
        }
    }
}

// === impl Value ===

impl Value {
    /// Returns where the value leads, if it leads anywhere.
    pub fn destination(&self) -> Option<&Destination> {
        match self {
            Self::Url(url) => Some(&url.destination),
            Self::Path(_) | Self::LocalRemote(_) | Self::Text(_) => None,
        }
    }

    /// Returns the path of a path value.
    pub fn path(&self) -> Option<&PathValue> {
        match self {
            Self::Path(path) => Some(path),
            Self::Url(_) | Self::LocalRemote(_) | Self::Text(_) => None,
        }
    }

    fn to_json(&self) -> Json {
        let mut object = Object::new();
        match self {
            Self::Path(value) => {
                object.insert("path", value.path.to_string());
                if let Some(state) = value.state {
                    object.insert("kind", state.kind.as_str());
                    object.insert("device", state.device);
                    object.insert("inode", state.inode);
                    object.insert("bytes", state.bytes);
                    let FileState { modified_s, modified_ns, .. } = state;
                    object.insert("modified", format!("{modified_s}.{modified_ns:09}"));
                }
            }
            Self::Url(value) => {
                object.insert("url", value.text.as_str());
                object.insert("destination", value.destination.to_string());
            }
            Self::LocalRemote(path) => object.insert("path", path.to_string()),
            Self::Text(text) => return Json::from(text.as_str()),
        }
        Json::Object(object)
    }
}

/// Prints the value as a person would name it.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(value) => value.path.fmt(f),
            Self::Url(value) => f.write_str(&value.text),
            Self::LocalRemote(path) => path.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
