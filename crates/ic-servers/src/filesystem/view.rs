//! What the filesystem server can see: directories with rights, what is left out of them, links.
//!
//! A view is plain data, given on the command line; nothing is opened here. It is the shape of what
//! was judged, and holds no judgement of its own.

use std::fmt;

use ic_resolve::path::{Last, follow};
use ic_resolve::{Kind, PathFault, RealDisk};
use ic_types::json::ShapeError;
use ic_types::{AbsolutePath, CanonicalPath, InvalidPath, Json, JsonError, JsonLimits, Object};
use serde::Deserialize as _;

/// What the server can see.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct View {
    /// The directories; of those that contain a path, the deepest decides.
    pub directories: Vec<ViewDirectory>,
    /// What is neither read nor changed, nor anything beneath it.
    ///
    /// A directory of the view that lies beneath one of these was named all the same, and is
    /// reached; what contains both still leaves it out.
    pub leave_out: Vec<CanonicalPath>,
    /// If there is such a list, all that is reached: these paths and what is beneath them.
    ///
    /// A directory has to be held to change an entry of it; this keeps its other entries out of it.
    /// Both the directory and a path of the list must give a right.
    pub only: Option<Vec<ViewPath>>,
    /// What is done about symbolic links.
    pub links: Links,
}

/// A directory of the view.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ViewDirectory {
    /// Where it is.
    pub path: CanonicalPath,
    /// What may be done in it.
    pub rights: Rights,
}

/// A path of the view, with all that is beneath it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ViewPath {
    /// Where it is.
    pub path: CanonicalPath,
    /// What may be done with it.
    pub rights: Rights,
}

/// What may be done in a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rights {
    /// Files are read and directories listed.
    pub read: bool,
    /// Files and directories are made, and files replaced.
    pub write: bool,
    /// Files are removed, or moved away.
    pub delete: bool,
}

/// What is done about symbolic links on the way to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Links {
    /// They are followed, as long as they lead into the view.
    Follow,
    /// They are refused: paths come resolved, and a link means that something changed since.
    Refuse,
}

/// A view that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The text is not valid JSON.
    #[error("the view is not valid JSON")]
    Json(#[source] JsonError),
    /// The JSON is no view.
    #[error("the view does not have its shape")]
    Shape(#[source] ShapeError),
    /// A path is not in normal form.
    #[error("the view names the path `{}`", path.escape_debug())]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        source: InvalidPath,
    },
    /// There are more entries than are taken.
    #[error("the view has more than {0} entries")]
    TooMany(usize),
    /// A path cannot be written in JSON.
    #[error("the path `{}` is not UTF-8", .0.as_path().display())]
    NotUtf8(CanonicalPath),
    /// A directory that somebody named cannot be looked at.
    #[error("cannot look at the directory `{}`", .path.as_path().display())]
    Look {
        /// The directory.
        path: AbsolutePath,
        /// Why not.
        source: PathFault,
    },
    /// What somebody named is no directory.
    #[error("`{}` is not a directory", .0.as_path().display())]
    NoDirectory(AbsolutePath),
}

/// The most directories, each of which costs a descriptor.
const DIRECTORIES_MAX: usize = 512;
/// The most paths that are left out.
const LEAVE_OUT_MAX: usize = 4096;
/// The most paths that alone are reached.
const ONLY_MAX: usize = 4096;
const JSON_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 1 << 20, depth_max: 8, values_max: 1 << 16 };

impl View {
    /// Reads a view, such as
    /// `{"directories":[{"path":"/a","rights":["read","write","delete"]}],"leaveOut":[],"only":null,"links":"refuse"}`.
    ///
    /// Nothing may be left away: what is not said must not mean that more is allowed.
    pub fn parse(text: &str) -> Result<Self, ViewError> {
        let json = Json::parse(text.as_bytes(), JSON_LIMITS).map_err(ViewError::Json)?;
        let wire = wire::View::deserialize(&json).map_err(ViewError::Shape)?;
        check_number(wire.directories.len(), DIRECTORIES_MAX)?;
        check_number(wire.leave_out.len(), LEAVE_OUT_MAX)?;
        let directories = merged(wire.directories)?;
        let directories =
            directories.into_iter().map(|(path, rights)| ViewDirectory { path, rights }).collect();
        let only = match wire.only {
            Some(paths) => {
                check_number(paths.len(), ONLY_MAX)?;
                let paths = merged(paths)?.into_iter();
                Some(paths.map(|(path, rights)| ViewPath { path, rights }).collect())
            }
            None => None,
        };
        let leave_out = wire.leave_out.into_iter().map(canonical).collect::<Result<_, _>>()?;
        let links = match wire.links {
            wire::Links::Follow => Links::Follow,
            wire::Links::Refuse => Links::Refuse,
        };
        Ok(Self { directories, leave_out, only, links })
    }

    /// Makes a view of directories that a person named: all rights, links followed within them.
    pub fn of_directories(paths: &[AbsolutePath]) -> Result<Self, ViewError> {
        let mut directories: Vec<ViewDirectory> = Vec::new();
        for path in paths {
            let found = follow(&RealDisk, path, Last::Follow)
                .map_err(|source| ViewError::Look { path: path.clone(), source })?;
            if found.entry.is_none_or(|entry| entry.kind != Kind::Directory) {
                return Err(ViewError::NoDirectory(path.clone()));
            }
            if directories.iter().all(|directory| directory.path != found.path) {
                directories.push(ViewDirectory { path: found.path, rights: Rights::ALL });
            }
        }
        check_number(directories.len(), DIRECTORIES_MAX)?;
        Ok(Self { directories, leave_out: Vec::new(), only: None, links: Links::Follow })
    }

    /// Writes the view as [`View::parse`] reads it.
    pub fn to_json(&self) -> Result<Json, ViewError> {
        let directories = self.directories.iter().map(|it| entry(&it.path, it.rights));
        let directories = directories.collect::<Result<Vec<_>, _>>()?;
        let only = match &self.only {
            Some(paths) => {
                let paths = paths.iter().map(|it| entry(&it.path, it.rights));
                Json::Array(paths.collect::<Result<_, _>>()?)
            }
            None => Json::Null,
        };
        let leave_out = self.leave_out.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let links = match self.links {
            Links::Follow => "follow",
            Links::Refuse => "refuse",
        };
        let mut view = Object::new();
        view.insert("directories", directories);
        view.insert("leaveOut", leave_out);
        view.insert("only", only);
        view.insert("links", links);
        Ok(Json::Object(view))
    }
}

impl Rights {
    /// All of them.
    pub const ALL: Self = Self { read: true, write: true, delete: true };
    /// None of them.
    pub const NONE: Self = Self { read: false, write: false, delete: false };
    /// Reading alone.
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Writing alone.
    pub const WRITE: Self = Self { write: true, ..Self::NONE };
    /// Deleting alone.
    pub const DELETE: Self = Self { delete: true, ..Self::NONE };

    /// Returns these rights and those.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            read: self.read || other.read,
            write: self.write || other.write,
            delete: self.delete || other.delete,
        }
    }

    /// Returns what of `needed` is not among these.
    #[must_use]
    pub(super) const fn lacks(self, needed: Self) -> Self {
        Self {
            read: needed.read && !self.read,
            write: needed.write && !self.write,
            delete: needed.delete && !self.delete,
        }
    }

    fn of(rights: &[wire::Right]) -> Self {
        rights.iter().fold(Self::NONE, |all, right| {
            all.and(match right {
                wire::Right::Read => Self::READ,
                wire::Right::Write => Self::WRITE,
                wire::Right::Delete => Self::DELETE,
            })
        })
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        [(self.read, "read"), (self.write, "write"), (self.delete, "delete")]
            .into_iter()
            .filter_map(|(has, name)| has.then_some(name))
    }
}

/// Prints the rights, joined by commas.
impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names().collect::<Vec<_>>().join(", ") {
            names if names.is_empty() => f.write_str("nothing"),
            names => f.write_str(&names),
        }
    }
}

fn check_number(n_entries: usize, n_max: usize) -> Result<(), ViewError> {
    if n_max < n_entries { Err(ViewError::TooMany(n_max)) } else { Ok(()) }
}

/// Reads entries; each says what may be done, so two of them with one path say that both may.
fn merged(entries: Vec<wire::Entry>) -> Result<Vec<(CanonicalPath, Rights)>, ViewError> {
    let mut merged: Vec<(CanonicalPath, Rights)> = Vec::new();
    for wire::Entry { path, rights } in entries {
        let (path, rights) = (canonical(path)?, Rights::of(&rights));
        match merged.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) => *known = known.and(rights),
            None => merged.push((path, rights)),
        }
    }
    Ok(merged)
}

fn entry(path: &CanonicalPath, rights: Rights) -> Result<Json, ViewError> {
    let mut entry = Object::new();
    entry.insert("path", text(path)?);
    entry.insert("rights", rights.names().map(Json::from).collect::<Vec<_>>());
    Ok(Json::Object(entry))
}

fn text(path: &CanonicalPath) -> Result<Json, ViewError> {
    match path.to_str() {
        Some(path) => Ok(Json::from(path)),
        None => Err(ViewError::NotUtf8(path.clone())),
    }
}

fn canonical(path: String) -> Result<CanonicalPath, ViewError> {
    CanonicalPath::new(&path).map_err(|source| ViewError::Path { path, source })
}

/// The view as it is written.
mod wire {
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    pub(super) struct View {
        pub(super) directories: Vec<Entry>,
        pub(super) leave_out: Vec<String>,
        #[serde(deserialize_with = "said")]
        pub(super) only: Option<Vec<Entry>>,
        pub(super) links: Links,
    }

    /// Reads `null` as nothing; a key that is not there stays a mistake.
    fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Entry>>, D::Error> {
        Option::deserialize(deserializer)
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Entry {
        pub(super) path: String,
        pub(super) rights: Vec<Right>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Right {
        Read,
        Write,
        Delete,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Links {
        Follow,
        Refuse,
    }
}
