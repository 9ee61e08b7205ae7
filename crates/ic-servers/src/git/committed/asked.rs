//! One question to git about a repository of the user's, by which nothing is written and nothing else run.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use ic_confine::{Excess, InnerError, InnerLimits, InnerSpec, run_inner};
use ic_types::CanonicalPath;
use rustix::fd::AsFd as _;
use rustix::fs::{Mode, OFlags};

use super::super::run::{PATH, Program, SETTINGS};
use super::id::Id;
use super::objects::Is;

/// How long all answers about one repository may take together.
const TIME_MAX: Duration = Duration::from_mins(1);
/// How long one may be.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
const COMPLAINT_BYTES_MAX: usize = 16 << 10;

/// Who is asked about what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) program: &'a Program,
    /// Where the repository is kept.
    pub(super) git: &'a CanonicalPath,
    /// When it has to have answered.
    until: Option<Instant>,
}

/// What an index has: what it is, its number, and its path.
pub(super) type Staged = (Is, Id, Vec<u8>);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    /// Git does not take it for a repository, or cannot read it.
    Refused,
    /// It takes too long, or is too much.
    TooMuch,
}

impl<'a> Asked<'a> {
    pub(super) fn new(program: &'a Program, git: &'a CanonicalPath) -> Self {
        Self { program, git, until: now().checked_add(TIME_MAX) }
    }

    pub(super) fn ask(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>, Trouble> {
        self.ask_at((self.git.as_path(), None), words, input)
    }

    /// Returns whether git does not take it for a repository at all.
    pub(super) fn is_refused(&self) -> bool {
        self.ask(&["rev-parse", "--git-dir"], b"") == Err(Trouble::Refused)
    }

    /// Returns the entries of the index that is kept in a directory of git's, all or those at a path.
    ///
    /// One that git cannot read has none: nothing comes out of it.
    pub(super) fn staged(
        &self,
        at: &CanonicalPath,
        path: Option<&[u8]>,
    ) -> Result<Vec<Staged>, Trouble> {
        let path = path.and_then(|it| str::from_utf8(it).ok());
        let path = path.map(|it| format!(":(top,literal){it}"));
        let words = ["ls-files", "--stage", "-z", "--"].into_iter().chain(path.as_deref());
        let words: Vec<&str> = words.collect();
        let file = at.as_path().join("index");
        // A linked tree may be broken, and its index still be there.
        let said = match self.ask_at((at.as_path(), None), &words, b"") {
            Err(Trouble::Refused) => self.ask_at((self.git.as_path(), Some(&file)), &words, b""),
            said => said,
        };
        match said {
            Ok(said) => Ok(said.split(|byte| *byte == 0).filter_map(entry).collect()),
            Err(Trouble::Refused) => Ok(Vec::new()),
            Err(trouble) => Err(trouble),
        }
    }

    fn ask_at(
        &self,
        (git, index): (&Path, Option<&Path>),
        words: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, Trouble> {
        let left = self.until.and_then(|until| until.checked_duration_since(now()));
        let time_max = left.ok_or(Trouble::TooMuch)?;
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
        environment.extend(index.map(|it| ("GIT_INDEX_FILE".into(), it.into())));
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
                time_max,
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

/// Reads `mode number stage`, a tabulator, and a path.
fn entry(line: &[u8]) -> Option<Staged> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut about = line.get(..tab)?.split(|byte| *byte == b' ');
    let mode = if about.next()? == b"120000" { Is::Link } else { Is::File };
    Some((mode, Id::from_hex(about.next()?)?, line.get(tab + 1..)?.to_vec()))
}

#[expect(clippy::disallowed_methods, reason = "a limit of time is measured where it is held")]
fn now() -> Instant {
    Instant::now()
}
