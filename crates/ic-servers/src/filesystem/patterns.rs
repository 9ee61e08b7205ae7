//! Glob patterns over names and paths beneath a directory.
//!
//! A pattern without a slash is about a name at any depth, one with a slash about the path from the
//! directory on. `*` and `?` do not match a slash, `**` does. Patterns come from the agent, so their
//! number and length are bounded; matching takes time in proportion to the name, whatever they are.

use std::ffi::OsStr;
use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::fault::Fault;

/// Patterns, of which one has to match.
#[derive(Debug)]
pub(super) struct Patterns {
    names: GlobSet,
    paths: GlobSet,
}

/// The most patterns of one argument.
const PATTERNS_MAX: usize = 100;
/// The longest pattern in bytes.
const PATTERN_BYTES_MAX: usize = 1024;

impl Patterns {
    /// Reads the patterns of the argument `name`.
    pub(super) fn new(name: &'static str, patterns: &[&str]) -> Result<Self, Fault> {
        if PATTERNS_MAX < patterns.len() {
            return Err(Fault::argument(name, format!("has more than {PATTERNS_MAX} patterns")));
        }
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let pattern = match pattern.strip_suffix('/') {
                Some(directory) => directory,
                None => pattern,
            };
            // A leading slash only says that the path is meant.
            let from_root = pattern.strip_prefix('/');
            let set =
                if from_root.is_some() || pattern.contains('/') { &mut paths } else { &mut names };
            let pattern = from_root.unwrap_or(pattern);
            set.add(glob(name, pattern)?);
            // All that is in a directory is most easily left out by not entering it.
            if let Some(directory) = pattern.strip_suffix("/**") {
                set.add(glob(name, directory)?);
            }
        }
        let build = |set: GlobSetBuilder| {
            set.build()
                .map_err(|error| Fault::argument(name, format!("is too complicated: {error}")))
        };
        Ok(Self { names: build(names)?, paths: build(paths)? })
    }

    /// Returns whether one of them matches.
    pub(super) fn matches(&self, name: &OsStr, relative: &Path) -> bool {
        self.names.is_match(name) || self.paths.is_match(relative)
    }
}

fn glob(name: &'static str, pattern: &str) -> Result<Glob, Fault> {
    match pattern.len() {
        0 => return Err(Fault::argument(name, "holds an empty pattern")),
        length if PATTERN_BYTES_MAX < length => {
            let reason = format!("holds a pattern of more than {PATTERN_BYTES_MAX} bytes");
            return Err(Fault::argument(name, reason));
        }
        _ => {}
    }
    let built = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    built
        .map_err(|error| Fault::argument(name, format!("is not a valid pattern: {}", error.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_about_names_or_about_paths() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", true),
            ("*.rs", "a.rs.txt", false),
            ("a.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("/a.rs", "a.rs", true),
            ("/a.rs", "src/a.rs", false),
            ("node_modules/", "x/node_modules", true),
            ("**/node_modules/**", "x/node_modules", true),
            ("**/node_modules/**", "node_modules/y", true),
            (".*", ".env", true),
            ("*", ".env", true),
            ("{a,b}.txt", "b.txt", true),
            ("[ab].txt", "c.txt", false),
        ] {
            let path = Path::new(path);
            let patterns = Patterns::new("pattern", &[pattern]).unwrap();
            assert_eq!(
                patterns.matches(path.file_name().unwrap(), path),
                expected,
                "{pattern} {path:?}"
            );
        }
    }

    #[test]
    fn too_many_too_long_and_broken_patterns_are_refused() {
        let long = "a".repeat(1025);
        for bad in [vec!["["], vec![""], vec!["/"], vec!["{a"], vec![long.as_str()], vec!["a"; 101]]
        {
            assert!(Patterns::new("pattern", &bad).is_err(), "accepted {bad:?}");
        }
        assert!(Patterns::new("pattern", &vec!["a"; 100]).is_ok());
        assert!(Patterns::new("pattern", &["a".repeat(1024).as_str()]).is_ok());
    }
}
