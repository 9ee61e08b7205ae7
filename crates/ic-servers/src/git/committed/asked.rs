//! One question to git about a repository of the user's, by which nothing is written and nothing else run.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ic_confine::{Excess, InnerError, InnerLimits, InnerSpec, run_inner};
use ic_types::CanonicalPath;
use rustix::fd::AsFd as _;
use rustix::fs::{Mode, OFlags};

use super::super::run::{PATH, Program, SETTINGS};

/// How long an answer may take.
const TIME_MAX: Duration = Duration::from_mins(1);
/// How long it may be.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
const COMPLAINT_BYTES_MAX: usize = 16 << 10;

/// Who is asked about what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) program: &'a Program,
    /// Where the repository is kept.
    pub(super) git: &'a CanonicalPath,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    /// Git does not take it for a repository, or cannot read it.
    Refused,
    /// It takes too long, or is too much.
    TooMuch,
}

impl Asked<'_> {
    /// Returns an answer that is a text.
    pub(super) fn text(&self, words: &[&str], input: &[u8]) -> Result<String, Trouble> {
        Ok(String::from_utf8_lossy(&self.ask(words, input)?).into_owned())
    }

    pub(super) fn ask(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>, Trouble> {
        self.ask_at(self.git.as_path(), words, input)
    }

    /// Returns the entries of the index that is kept in a directory of git's.
    pub(super) fn index(&self, at: &CanonicalPath) -> Result<Vec<u8>, Trouble> {
        self.ask_at(at.as_path(), &["ls-files", "--stage", "-z"], b"")
    }

    fn ask_at(&self, git: &Path, words: &[&str], input: &[u8]) -> Result<Vec<u8>, Trouble> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let arguments = std::iter::once("--no-pager").chain(settings).chain(words.iter().copied());
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        let environment = [
            ("PATH", PATH),
            ("LC_ALL", "C.UTF-8"),
            ("HOME", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", ""),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_WORK_TREE", "."),
        ];
        let mut environment: Vec<(OsString, OsString)> =
            environment.map(|(name, value)| (name.into(), value.into())).to_vec();
        environment.push(("GIT_DIR".into(), git.into()));
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let at = rustix::fs::open(git, flags, Mode::empty()).map_err(|_| Trouble::Refused)?;
        let spec = InnerSpec {
            program: self.program.file(),
            arguments: &arguments,
            environment: &environment,
            directory: at.as_fd(),
            input,
            runs: self.program.runs(),
            writes: &[],
            limits: InnerLimits {
                time_max: TIME_MAX,
                output_bytes_max: OUTPUT_BYTES_MAX,
                complaint_bytes_max: COMPLAINT_BYTES_MAX,
                memory_bytes_max: None,
                excess: Excess::End,
            },
        };
        match run_inner(&spec, &|| false) {
            Ok(said) if said.is_cut => Err(Trouble::TooMuch),
            Ok(said) if said.status.success() => Ok(said.output),
            // SECURITY: one that was killed did not refuse anything.
            Ok(said) if said.status.code().is_none() => Err(Trouble::TooMuch),
            Ok(_) | Err(InnerError::Start { .. }) => Err(Trouble::Refused),
            Err(_) => Err(Trouble::TooMuch),
        }
    }
}
