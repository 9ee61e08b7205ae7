//! The text of the repository, read once.
//!
//! Build output and git's own files are left out; so is everything that is not UTF-8.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// The text files of the repository, in the order of their paths.
#[derive(Debug)]
pub(super) struct Tree {
    files: Vec<SourceFile>,
}

/// A text file.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// The path relative to the workspace, with `/` between its parts.
    pub(super) path: String,
    pub(super) text: String,
}

/// A line and its number, which starts at 1.
pub(super) type Line<'a> = (usize, &'a str);

/// Where in a file a line stands, as far as inline tests go.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Region {
    Code,
    TestAttribute,
    Tests,
}

impl Tree {
    /// Reads the files beneath `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        read_directory(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Returns all files.
    pub(super) fn files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter()
    }

    /// Returns the file at `path`.
    pub(super) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files().filter(|file| file.has_extension("rs"))
    }

    /// Returns the first line of `path` that begins with `start`, or 1.
    pub(super) fn line_of(&self, path: &str, start: &str) -> usize {
        self.file(path)
            .and_then(|file| file.lines().find(|(_, line)| line.trim_start().starts_with(start)))
            .map_or(1, |(number, _)| number)
    }
}

impl SourceFile {
    /// Returns whether the name ends in `.extension`.
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|it| it == extension)
    }

    /// Returns whether all of the file is test code.
    pub(super) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Returns the lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Returns the lines outside an inline `#[cfg(test)] mod`.
    ///
    /// The code is formatted, so such a block begins and ends in the first column.
    pub(super) fn lines_without_tests(&self) -> impl Iterator<Item = Line<'_>> {
        let mut region = Region::Code;
        self.lines().filter(move |(_, line)| {
            let before = region;
            region = before.after(line);
            before != Region::Tests && region != Region::Tests
        })
    }

    /// Returns the lines that are not comments.
    pub(super) fn code(&self) -> impl Iterator<Item = Line<'_>> {
        self.lines().filter(|(_, line)| !is_comment(line))
    }

    /// Returns the lines that are neither comments nor inline tests.
    pub(super) fn code_without_tests(&self) -> impl Iterator<Item = Line<'_>> {
        self.lines_without_tests().filter(|(_, line)| !is_comment(line))
    }
}

impl Region {
    fn after(self, line: &str) -> Self {
        let opens_module = line.starts_with("mod ") && line.ends_with('{');
        let goes_on = line.starts_with(['#', ' ', ')']);
        match self {
            Self::Tests if line == "}" => Self::Code,
            Self::Tests => Self::Tests,
            Self::TestAttribute if opens_module => Self::Tests,
            Self::TestAttribute if goes_on => Self::TestAttribute,
            Self::Code | Self::TestAttribute if line == "#[cfg(test)]" => Self::TestAttribute,
            Self::Code | Self::TestAttribute => Self::Code,
        }
    }
}

/// Returns whether the whole line is a comment; one behind code does not count.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn read_directory(
    directory: &Path,
    prefix: &str,
    files: &mut Vec<SourceFile>,
) -> anyhow::Result<()> {
    let cannot_list = || format!("cannot list `{}`", directory.display());
    for entry in fs::read_dir(directory).with_context(cannot_list)? {
        let entry = entry.with_context(cannot_list)?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().with_context(cannot_list)?;
        if kind.is_file() {
            files.extend(read_text(&entry.path())?.map(|text| SourceFile { path, text }));
        } else if kind.is_dir() && !is_skipped(&entry.path()) {
            read_directory(&entry.path(), &format!("{path}/"), files)?;
        }
    }
    Ok(())
}

/// Returns whether a directory is git's, or was marked by cargo as holding build output.
fn is_skipped(directory: &Path) -> bool {
    directory.ends_with(".git") || directory.join("CACHEDIR.TAG").is_file()
}

fn read_text(path: &Path) -> anyhow::Result<Option<String>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
impl Tree {
    /// Makes a tree of `files`, each a path and a text.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { files: files.iter().map(file).collect() }
    }
}

#[cfg(test)]
mod tests;
