//! The names in a directory that a person is typing, to complete one.
//!
//! Nothing is opened but the directory that they named, and no name is offered that is not what it looks
//! like: whoever made a file may not be a friend.

use std::path::{Path, PathBuf};

use ic_terminal::line::harmless;
use rustix::fs::{Dir, FileType, Mode, OFlags};

/// How many names are looked at.
const NAMES_MAX: usize = 5000;

/// Returns the names in `directory`, as it was typed, with a `/` after those of directories.
pub(super) fn names(directory: &str, sandbox: &Path, home: Option<&Path>) -> Vec<String> {
    let path: PathBuf = match directory.strip_prefix("~/").zip(home) {
        Some((rest, home)) => home.join(rest),
        None => sandbox.join(directory),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(&path, flags, Mode::empty()) else { return Vec::new() };
    let Ok(entries) = Dir::new(opened) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.take(NAMES_MAX).filter_map(Result::ok) {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." || harmless(name) != name {
            continue;
        }
        let slash = if entry.file_type() == FileType::Directory { "/" } else { "" };
        names.push(format!("{name}{slash}"));
    }
    names
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests: names are those of files")]

    use super::*;

    #[test]
    fn names_are_what_they_look_like() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("src")).unwrap();
        for name in ["notes.txt", "a\u{202e}txt.exe", "b\x1b[2J", "two words", ".hidden"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        let mut found = names("", root.path(), None);
        found.sort();
        assert_eq!(found, [".hidden", "notes.txt", "src/", "two words"]);
        assert_eq!(names("src/", root.path(), None), [""; 0]);
        assert_eq!(names("nowhere/", root.path(), None), [""; 0]);
        assert_eq!(names("notes.txt/", root.path(), None), [""; 0]);
        assert!(names("~/", Path::new("/nowhere"), Some(root.path())).contains(&"src/".to_owned()));
    }
}
