//! A bench for the git server: a repository in a directory that it sees, and a trap for what runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use ic_servers::Git;
use ic_servers::filesystem::{Links, Rights, View, ViewDirectory, ViewPath};
use ic_servers::tools::{Caller, Cancel, Content, Tools as _};
use ic_types::CanonicalPath;
use serde_json::{Value, json};

use crate::ground::{Ground, SECRET, Told, object};

/// `in/r` is a repository with two commits; `out` holds the secret, and what a trap leaves.
pub(crate) struct Bench {
    pub(crate) ground: Ground,
    pub(crate) server: Git,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self::empty();
        bench.git("in", &["init", "-q", "-b", "main", "r"]);
        bench.ground.write("in/r/a.txt", "one\n");
        bench.git("in/r", &["add", "-A"]);
        bench.git("in/r", &["commit", "-q", "-m", "first"]);
        bench.ground.write("in/r/a.txt", "one\ntwo\n");
        bench.ground.write("in/r/dir/b.txt", "b\n");
        bench.git("in/r", &["add", "-A"]);
        bench.git("in/r", &["commit", "-q", "-m", "second"]);
        bench
    }

    /// Makes one with no repository in it.
    pub(crate) fn empty() -> Self {
        let ground = Ground::new();
        ground.dir("tmp");
        let server = Self::open(&ground, &[("in", Rights::ALL)], &[]);
        Self { ground, server }
    }

    /// Opens a server that sees `directories` without `leave_out`.
    pub(crate) fn open(ground: &Ground, directories: &[(&str, Rights)], leave_out: &[&str]) -> Git {
        Git::open(&Self::view(ground, directories, leave_out), &ground.path("tmp")).unwrap()
    }

    /// Opens a server for one call that was judged about `directories`.
    pub(crate) fn open_once(ground: &Ground, directories: &[(&str, Rights)]) -> Git {
        let view = Self::view(ground, directories, &[]);
        let only = view.directories.iter();
        let only = only.map(|it| ViewPath { path: it.path.clone(), rights: it.rights }).collect();
        Git::open(&View { only: Some(only), ..view }, &ground.path("tmp")).unwrap()
    }

    fn view(ground: &Ground, directories: &[(&str, Rights)], leave_out: &[&str]) -> View {
        let path = |name: &str| CanonicalPath::new(ground.path(name)).unwrap();
        View {
            directories: directories
                .iter()
                .map(|(name, rights)| ViewDirectory { path: path(name), rights: *rights })
                .collect(),
            leave_out: leave_out.iter().map(|name| path(name)).collect(),
            only: None,
            links: Links::Refuse,
        }
    }

    /// Runs git as a person would who has no configuration, and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, directory: &str, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(words)
            .current_dir(self.ground.path(directory))
            .env_clear()
            .envs([
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_AUTHOR_NAME", "Ada"),
                ("GIT_AUTHOR_EMAIL", "ada@example.org"),
                ("GIT_COMMITTER_NAME", "Ada"),
                ("GIT_COMMITTER_EMAIL", "ada@example.org"),
                ("GIT_EDITOR", "true"),
                ("HOME", "/nonexistent"),
                ("GIT_ALLOW_PROTOCOL", "file"),
            ])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "git {words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Calls a tool about `in/r`.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, mut arguments: Value) -> Told {
        let has_path = !matches!(tool, "git_clear_working_dir" | "git_wrapup_instructions");
        if has_path && arguments.get("path").is_none() {
            arguments["path"] = json!(self.ground.text("in/r"));
        }
        told(&self.server, tool, arguments, &Cancel::new())
    }

    /// Calls a tool that does what is asked, and returns what it says.
    #[track_caller]
    pub(crate) fn done(&self, tool: &str, arguments: Value) -> String {
        let shown = arguments.to_string();
        self.call(tool, arguments).unwrap_or_else(|text| panic!("{tool} {shown}: {text}"))
    }

    /// Calls a tool that fails with a text that says all of `parts`.
    #[track_caller]
    pub(crate) fn refused(&self, tool: &str, arguments: Value, parts: &[&str]) {
        let shown = arguments.to_string();
        match self.call(tool, arguments) {
            Ok(text) => panic!("{tool} {shown} was done: {text}"),
            Err(text) => {
                for part in parts {
                    assert!(text.contains(part), "{tool} {shown}: `{part}` is not in `{text}`");
                }
            }
        }
    }

    /// Returns a program that leaves something in `out` when it runs; it passes on what it reads.
    pub(crate) fn trap(&self, name: &str) -> String {
        let path = self.ground.write(
            &format!("in/{name}"),
            format!("#!/bin/sh\ntouch {}/caught\nexec cat\n", self.ground.text("out")),
        );
        arm(&path);
        path
    }

    /// Checks that nothing ran and nothing outside was touched.
    #[track_caller]
    pub(crate) fn check_untouched(&self, what: &str) {
        assert!(!self.ground.exists("out/caught"), "{what}: something ran");
        self.ground.check_outside();
    }

    pub(crate) fn head(&self) -> String {
        self.git("in/r", &["rev-parse", "HEAD"]).trim().to_owned()
    }
}

/// Makes a file executable.
pub(crate) fn arm(path: &str) {
    fs::set_permissions(PathBuf::from(path), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Calls a tool.
#[track_caller]
pub(crate) fn told(server: &Git, tool: &str, arguments: Value, cancel: &Cancel) -> Told {
    let result = server.call(tool, &object(arguments), Caller::silent(cancel)).unwrap();
    let text = match result.content() {
        [Content::Text(text)] => text.clone(),
        other => panic!("no text: {other:?}"),
    };
    assert!(!text.contains(SECRET), "{tool} returned the secret");
    assert!(!text.contains("ironcurtain-git-"), "{tool} told of our own directory: {text}");
    if result.is_error() { Err(text) } else { Ok(text) }
}
