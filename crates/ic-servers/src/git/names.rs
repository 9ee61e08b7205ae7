//! What a call names in a repository: revisions, branches and files, as types that git cannot misread.
//!
//! A revision becomes the number of an object before anything is done with it, a branch keeps to git's
//! rules for names, and a file is a path from the top that stays below it. What the names stand for is
//! git's to say.

use std::path::{Component, Path};

use ic_types::CanonicalPath;

use super::fault::Fault;
use super::run::Run;

/// The longest text that can name a revision.
const REVISION_BYTES_MAX: usize = 1024;
/// The most files of one call.
const FILES_MAX: usize = 1000;

/// The number of an object.
///
/// Invariant: nothing but hexadecimal digits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ObjectId(String);

/// The name of a branch or tag, after `refs/heads/` or `refs/tags/`.
///
/// Invariant: git takes it for a name, and never for an option, a range or a pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RefName(String);

/// A path from the top of the repository.
///
/// Invariant: it is relative, neither empty nor with `..` in it, and not in `.git`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct File(String);

impl ObjectId {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Finds the commit that `text` names.
    pub(super) fn commit(run: &Run<'_>, text: &str) -> Result<Self, Fault> {
        Self::of(run, text, "^{commit}")
    }

    /// Finds the object that `text` names.
    pub(super) fn any(run: &Run<'_>, text: &str) -> Result<Self, Fault> {
        Self::of(run, text, "")
    }

    fn of(run: &Run<'_>, text: &str, wanted: &str) -> Result<Self, Fault> {
        let fault = |reason| Fault::Revision { text: text.to_owned(), reason };
        if text.is_empty() || REVISION_BYTES_MAX < text.len() || text.contains(char::is_control) {
            return Err(fault("cannot name a revision"));
        }
        let revision = format!("{text}{wanted}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let said = run.ask(&words, b"")?;
        let id = said.output.trim();
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        match said.code == Some(0) && is_id {
            true => Ok(Self(id.to_owned())),
            false => Err(fault("names no revision of this repository")),
        }
    }

    /// Finds the commits of `a`, `a..b` or `a...b`, as words for git.
    pub(super) fn range(run: &Run<'_>, text: &str) -> Result<String, Fault> {
        let split = ["...", ".."]
            .iter()
            .find_map(|dots| text.split_once(dots).map(|(from, to)| (from, *dots, to)));
        let side = |text: &str| Self::commit(run, if text.is_empty() { "HEAD" } else { text });
        match split {
            Some((from, dots, to)) => {
                Ok(format!("{}{dots}{}", side(from)?.as_str(), side(to)?.as_str()))
            }
            None => Self::commit(run, text).map(|id| id.0),
        }
    }
}

impl RefName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes `text` for the name of a branch or a tag.
    pub(super) fn new(text: &str) -> Result<Self, Fault> {
        let is_component = |part: &str| {
            !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
        };
        let is_odd =
            |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
        let is_name = text.split('/').all(is_component)
            && !text.starts_with('-')
            && !text.contains(is_odd)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.ends_with('.')
            && !matches!(text, "@" | "HEAD")
            && text.len() <= 255;
        match is_name {
            true => Ok(Self(text.to_owned())),
            false => Err(Fault::Revision {
                text: text.to_owned(),
                reason: "cannot be the name of a branch or tag",
            }),
        }
    }
}

impl File {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes `text` for a file of the repository at `top`.
    ///
    /// An absolute path is taken if it lies in there: whoever judged it sends it so.
    pub(super) fn new(top: &CanonicalPath, text: &str) -> Result<Self, Fault> {
        let fault = |reason| Fault::File { text: text.to_owned(), reason };
        if text.is_empty() || text.contains('\0') {
            return Err(fault("cannot be a file"));
        }
        let path = match Path::new(text) {
            path if path.is_absolute() => path
                .strip_prefix(top.as_path())
                .map_err(|_| fault("is outside of the repository"))?,
            path => path,
        };
        let mut parts: Vec<&str> = Vec::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(part) => parts.extend(part.to_str()),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(fault("leads out of the repository: `..` is not taken"));
                }
            }
        }
        if parts.first().is_some_and(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(fault("is part of git's own files"));
        }
        Ok(Self(if parts.is_empty() { ".".to_owned() } else { parts.join("/") }))
    }

    pub(super) fn all(top: &CanonicalPath, texts: &[&str]) -> Result<Vec<Self>, Fault> {
        if FILES_MAX < texts.len() {
            return Err(Fault::Not(format!("a call names at most {FILES_MAX} files")));
        }
        texts.iter().map(|text| Self::new(top, text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_in_the_repository() {
        let top = CanonicalPath::new("/r/top").unwrap();
        let file = |text: &str| File::new(&top, text).ok().map(|file| file.0);
        for (text, expected) in [
            ("a", "a"),
            ("./a//b/.", "a/b"),
            (".", "."),
            ("/r/top", "."),
            ("/r/top/a b", "a b"),
            (":(top)x", ":(top)x"),
            (":/", ":"),
            ("-x", "-x"),
            ("a\nb", "a\nb"),
            ("*", "*"),
            (".gitignore", ".gitignore"),
            ("a/.git", "a/.git"),
        ] {
            assert_eq!(file(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "..",
            "../x",
            "a/../b",
            "a/../../x",
            "/",
            "/r",
            "/r/topx",
            "/r/top/../x",
            "/etc/passwd",
            "a\0b",
            ".git",
            ".git/config",
            "./.GIT/hooks/x",
            "/r/top/.git/config",
        ] {
            assert_eq!(file(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_never_an_option_or_a_range() {
        for text in ["main", "a/b", "v1.0", "ä", "a-b", "a@b"] {
            assert!(RefName::new(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "-",
            "-d",
            "--output=x",
            "a..b",
            "a b",
            "a:b",
            "+a:b",
            "a^",
            "a~1",
            "*",
            "a[",
            "@{-1}",
            "a@{u}",
            ".a",
            "a/.b",
            "a.lock",
            "a/",
            "/a",
            "a//b",
            "a.",
            "HEAD",
            "@",
            "a\\",
            "a\nb",
            "a\u{7f}",
        ] {
            // `+a:b` has a colon, and a plus alone is a name.
            assert!(RefName::new(text).is_err(), "{text}");
        }
    }
}
