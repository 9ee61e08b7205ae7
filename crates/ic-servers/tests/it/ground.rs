//! A place for tests: a directory that is given to the server, and one beside it that is not.

use std::fs;
use std::path::{Path, PathBuf};

use ic_servers::filesystem::{Filesystem, Hands, Links, Rights, View, ViewDirectory, ViewPath};
use ic_servers::tools::{Caller, Cancel, Content, Tools};
use ic_types::{CanonicalPath, Json, JsonLimits, Object};
use serde_json::Value;

/// What no call may ever return.
pub(crate) const SECRET: &str = "the-secret-of-the-outside";

/// A temporary directory with `in/`, which servers see, and `out/`, which holds the secret.
pub(crate) struct Ground {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

/// What a call returned, as text: its result, or its failure.
pub(crate) type Told = Result<String, String>;

impl Ground {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// Makes one in memory if possible, for tests that are about names and would wait for a disk.
    pub(crate) fn in_memory() -> Self {
        Self::at(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn at(directory: tempfile::TempDir) -> Self {
        let root = directory.path().canonicalize().unwrap();
        let ground = Self { _directory: directory, root };
        ground.dir("in");
        ground.write("out/secret.txt", SECRET);
        ground
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns a path as an agent writes it.
    pub(crate) fn text(&self, relative: &str) -> String {
        self.path(relative).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        self.text(relative)
    }

    pub(crate) fn dir(&self, relative: &str) -> String {
        fs::create_dir_all(self.path(relative)).unwrap();
        self.text(relative)
    }

    pub(crate) fn link(&self, relative: &str, target: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self.text(relative)
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub(crate) fn exists(&self, relative: &str) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok()
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn names(&self, relative: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(relative)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Checks that all is outside as it was.
    #[track_caller]
    pub(crate) fn check_outside(&self) {
        assert_eq!(self.names("out"), ["secret.txt"]);
        assert_eq!(self.read("out/secret.txt"), SECRET);
    }

    /// Returns a server that sees `in/`, with all rights.
    pub(crate) fn server(&self, links: Links) -> Filesystem {
        self.server_of(&[("in", Rights::ALL)], &[], links)
    }

    /// Returns a server that sees `directories` without `leave_out`.
    pub(crate) fn server_of(
        &self,
        directories: &[(&str, Rights)],
        leave_out: &[&str],
        links: Links,
    ) -> Filesystem {
        Filesystem::open(&self.view(directories, leave_out, links), Hands::Own).unwrap()
    }

    /// Returns a server that sees `directories`, and of them only what lies in `only`.
    pub(crate) fn server_of_only(
        &self,
        directories: &[(&str, Rights)],
        only: &[(&str, Rights)],
        links: Links,
    ) -> Filesystem {
        let view = View { links, ..self.view_of_only(directories, only) };
        Filesystem::open(&view, Hands::Own).unwrap()
    }

    /// Returns a view of `directories`, and of them only what lies in `only`; links are refused.
    pub(crate) fn view_of_only(
        &self,
        directories: &[(&str, Rights)],
        only: &[(&str, Rights)],
    ) -> View {
        let only = only
            .iter()
            .map(|(path, rights)| ViewPath { path: self.canonical(path), rights: *rights })
            .collect();
        View { only: Some(only), ..self.view(directories, &[], Links::Refuse) }
    }

    fn view(&self, directories: &[(&str, Rights)], leave_out: &[&str], links: Links) -> View {
        let directories = directories
            .iter()
            .map(|(path, rights)| ViewDirectory { path: self.canonical(path), rights: *rights })
            .collect();
        let leave_out = leave_out.iter().map(|path| self.canonical(path)).collect();
        View { directories, leave_out, only: None, links }
    }

    fn canonical(&self, relative: &str) -> CanonicalPath {
        CanonicalPath::new(self.path(relative)).unwrap()
    }
}

/// Both ways to treat links; most of what a server does is the same in either.
pub(crate) const BOTH: [Links; 2] = [Links::Follow, Links::Refuse];

/// Makes a call.
#[track_caller]
pub(crate) fn call(server: &Filesystem, tool: &str, arguments: Value) -> Told {
    call_with(server, tool, &object(arguments))
}

/// Makes a call with arguments that are ready.
#[track_caller]
pub(crate) fn call_with(server: &Filesystem, tool: &str, arguments: &Object) -> Told {
    call_of(server, tool, arguments, Caller::silent(&Cancel::new()))
}

/// Makes a call of a caller that may be asked something.
#[track_caller]
pub(crate) fn call_of(
    server: &Filesystem,
    tool: &str,
    arguments: &Object,
    caller: Caller<'_>,
) -> Told {
    let result = server.call(tool, arguments, caller).unwrap();
    let text: Vec<&str> = result
        .content()
        .iter()
        .map(|content| match content {
            Content::Text(text) => text.as_str(),
            other => panic!("no text: {other:?}"),
        })
        .collect();
    let text = text.join("\n||\n");
    assert!(!text.contains(SECRET), "{tool} returned the secret");
    if result.is_error() { Err(text) } else { Ok(text) }
}

/// Checks that a call fails, with a text that says all of `parts`.
#[track_caller]
pub(crate) fn refused(server: &Filesystem, tool: &str, arguments: Value, parts: &[&str]) {
    let shown = arguments.to_string();
    match call(server, tool, arguments) {
        Ok(text) => panic!("{tool} {shown} was done: {text}"),
        Err(text) => {
            for part in parts {
                assert!(text.contains(part), "{tool} {shown}: `{part}` is not in `{text}`");
            }
        }
    }
}

/// Checks that a call is done, and returns its text.
#[track_caller]
pub(crate) fn done(server: &Filesystem, tool: &str, arguments: Value) -> String {
    let shown = arguments.to_string();
    call(server, tool, arguments).unwrap_or_else(|text| panic!("{tool} {shown}: {text}"))
}

/// Turns a JSON object of the tests into one of ours.
#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
pub(crate) fn object(value: Value) -> Object {
    match Json::parse(value.to_string().as_bytes(), JsonLimits::CALL).unwrap() {
        Json::Object(object) => object,
        other => panic!("no object: {other}"),
    }
}
