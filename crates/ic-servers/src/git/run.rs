//! One run of git in a repository: never with the agent's rules, bounded, and ended with its call.
//!
//! What git is asked is built elsewhere; here is what it is asked *with*.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_confine::{Excess, FindError, InnerLimits, InnerOutput, InnerSpec, find_program, run_inner};

use super::deed::{self, Deed};
use super::fault::Fault;
use super::past::Past;
use super::private::{Private, Scratch, ensure_logs};
use super::repository::Repository;
use super::ruled;
use super::takeover::{self, Terms};
use crate::filesystem::show;
use crate::tools::Cancel;

/// Where git is looked for.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Where the programs are that belong to git, from the directory above its own.
const PARTS: [&str; 2] = ["libexec/git-core", "lib/git-core"];
/// What starts a program that is linked to libraries; where these are depends on the machine.
const LOADERS: [&str; 5] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-linux-riscv64-lp64d.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// How long git may take.
pub(super) const TIME_MAX: Duration = Duration::from_mins(2);
/// How much of its output is kept.
pub(super) const OUTPUT_BYTES_MAX: usize = 512 << 10;
pub(super) const COMPLAINT_BYTES_MAX: usize = 16 << 10;

/// What git is told on each run, before what it is asked.
const ALWAYS: [&str; 1] = ["--no-pager"];

/// What it is told about itself, before any config.
pub(super) const SETTINGS: [&str; 37] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.editor=:",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.logAllRefUpdates=true",
    "core.quotePath=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "tag.forceSignAnnotated=false",
    "gpg.program=/dev/null",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "status.submoduleSummary=false",
    "init.templateDir=",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "rebase.autoStash=false",
    "merge.autoStash=false",
    "sequence.editor=:",
    "color.ui=false",
    "column.ui=never",
    "advice.statusHints=false",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
    "fetch.recurseSubmodules=false",
    "user.useConfigOnly=true",
];

/// The git program, and what it needs.
#[derive(Debug)]
pub(super) struct Program {
    file: PathBuf,
    /// What alone is run while git runs.
    runs: Vec<PathBuf>,
}

/// A run of git that is being prepared.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) scratch: &'a Scratch,
    /// What is known of the past of repositories.
    pub(super) past: &'a Past,
    pub(super) repository: &'a Repository,
    pub(super) cancel: &'a Cancel,
    /// Whether it changes the repository.
    pub(super) does: Does,
    /// What is said about trees that are taken over, if anybody says something.
    pub(super) terms: Option<&'a Terms>,
}

/// What a run of git does to the repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Does {
    /// It reads.
    Read,
    /// It changes.
    Change,
}

/// What git said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) output: String,
    pub(super) complaint: String,
    pub(super) is_cut: bool,
    /// The code with which it ended, if it ended by itself.
    pub(super) code: Option<i32>,
}

impl Program {
    /// Finds git.
    pub(super) fn find() -> Result<Self, FindError> {
        let environment = [(OsString::from("PATH"), OsString::from(PATH))];
        Ok(Self::at(find_program(Path::new("git"), Path::new("/"), &environment)?))
    }

    /// Takes the git that is there.
    pub(super) fn at(file: PathBuf) -> Self {
        let above = file.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        let parts = PARTS.iter().map(|part| above.join(part));
        let loaders = LOADERS.iter().map(PathBuf::from);
        let runs = std::iter::once(file.clone()).chain(parts).chain(loaders).collect();
        Self { file, runs }
    }
}

impl Program {
    /// Returns where it is.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns what alone is run while it runs.
    pub(super) fn runs(&self) -> &[PathBuf] {
        &self.runs
    }

    /// Returns where it is.
    pub(super) fn into_file(self) -> PathBuf {
        self.file
    }
}

impl Run<'_> {
    /// Runs git, and takes anything but success for a failure.
    pub(super) fn git(&self, words: &[&str]) -> Result<Said, Fault> {
        self.git_with(words, b"")
    }

    /// Runs git with something to read, and takes anything but success for a failure.
    pub(super) fn git_with(&self, words: &[&str], input: &[u8]) -> Result<Said, Fault> {
        self.succeeded(words, self.ask(words, input)?)
    }

    /// Runs git for a deed, and takes anything but success for a failure.
    pub(super) fn git_for(&self, deed: &Deed<'_>, words: &[&str]) -> Result<Said, Fault> {
        self.git_for_with(deed, words, b"")
    }

    /// The same, with something to read.
    pub(super) fn git_for_with(
        &self,
        deed: &Deed<'_>,
        words: &[&str],
        input: &[u8],
    ) -> Result<Said, Fault> {
        self.succeeded(words, self.ask_for(deed, words, input)?)
    }

    fn succeeded(&self, words: &[&str], said: Said) -> Result<Said, Fault> {
        if said.code == Some(0) || (said.is_cut && self.does == Does::Read) {
            return Ok(said);
        }
        Err(failure(words, &said))
    }

    /// Runs git, whatever comes of it.
    pub(super) fn ask(&self, words: &[&str], input: &[u8]) -> Result<Said, Fault> {
        // SECURITY: so that no tool can forget to say what for.
        match deed::is_plain(words) {
            true => self.ask_for(&Deed::Leaves, words, input),
            false => Err(Fault::Not(format!("nobody said what `git {}` is for", first(words)))),
        }
    }

    fn ask_for(&self, deed: &Deed<'_>, words: &[&str], input: &[u8]) -> Result<Said, Fault> {
        if self.does == Does::Change {
            ensure_logs(self.repository)?;
            takeover::check(self, deed, words)?;
        }
        ruled::check(self, deed)?;
        let private = self.scratch.private(self.repository)?;
        self.ask_in(&private, &[], words, input)
    }

    /// Runs git with a private directory that is there already, and variables besides.
    pub(super) fn ask_in(
        &self,
        private: &Private<'_>,
        variables: &[(&str, OsString)],
        words: &[&str],
        input: &[u8],
    ) -> Result<Said, Fault> {
        self.ask_in_with(private, variables, (words, input), OUTPUT_BYTES_MAX)
    }

    /// Runs git, and keeps so much of what it says.
    pub(super) fn ask_in_with(
        &self,
        private: &Private<'_>,
        variables: &[(&str, OsString)],
        (words, input): (&[&str], &[u8]),
        output_bytes_max: usize,
    ) -> Result<Said, Fault> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let arguments = ALWAYS.into_iter().chain(settings).chain(words.iter().copied());
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        let mut environment = self.environment(private);
        // What is put aside is never named by a path, and git itself names all of it by `:/`.
        let is_literal = words.first() != Some(&"stash");
        environment
            .push(("GIT_LITERAL_PATHSPECS".into(), if is_literal { "1" } else { "0" }.into()));
        environment.extend(variables.iter().map(|(name, value)| ((*name).into(), value.clone())));
        let (repository, scratch) = (self.repository, self.scratch.handle());
        // SECURITY: beneath these alone, whatever a link leads to that was put there meanwhile.
        let writes = [scratch, repository.handle(), repository.common()];
        let (writes, orders) = match self.does {
            Does::Read => (&writes[..1], None),
            Does::Change => (&writes[..], Some(repository.orders()?)),
        };
        let spec = InnerSpec {
            program: &self.program.file,
            arguments: &arguments,
            environment: &environment,
            directory: self.repository.handle(),
            input,
            runs: &self.program.runs,
            writes,
            limits: InnerLimits {
                time_max: TIME_MAX,
                output_bytes_max,
                complaint_bytes_max: COMPLAINT_BYTES_MAX,
                memory_bytes_max: None,
                excess: match self.does {
                    Does::Read => Excess::End,
                    Does::Change => Excess::PassOver,
                },
            },
        };
        let ran = run_inner(&spec, &|| self.cancel.is_cancelled());
        // However it ended: what it wrote is there.
        orders.map_or(Ok(()), |orders| repository.check_orders(&orders))?;
        let InnerOutput { status, output, complaint, is_cut } =
            ran.map_err(|source| Fault::Run { words: first(words), source })?;
        self.repository.check_again()?;
        let ours = private.path.to_string_lossy().into_owned();
        let theirs = self.repository.common_path().to_string_lossy().into_owned();
        let text = |bytes: Vec<u8>| match String::from_utf8_lossy(&bytes) {
            text if text.contains(&ours) => text.replace(&ours, &theirs),
            text => text.into_owned(),
        };
        let (output, complaint) = (text(output), text(complaint));
        Ok(Said { output, complaint, is_cut, code: status.code() })
    }

    pub(super) fn environment(&self, private: &Private<'_>) -> Vec<(OsString, OsString)> {
        let top = self.repository.top.as_path();
        let above = top.parent().unwrap_or(Path::new("/"));
        let locks = if self.does == Does::Read { "0" } else { "1" };
        let texts = [
            ("PATH", PATH),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "false"),
            ("GIT_SSH_COMMAND", "false"),
            ("GIT_PAGER", "cat"),
            ("GIT_EDITOR", ":"),
            ("GIT_SEQUENCE_EDITOR", ":"),
            ("GIT_MERGE_AUTOEDIT", "no"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", ""),
            ("GIT_OPTIONAL_LOCKS", locks),
            ("GIT_WORK_TREE", "."),
        ];
        let (git, objects) = match self.repository.link() {
            None => (PathBuf::from(".git"), PathBuf::from(".git/objects")),
            Some(link) => (
                private.path.join("worktrees").join(&link.pointer.name),
                self.repository.common_path().join("objects"),
            ),
        };
        let paths = [
            ("HOME", self.scratch.path()),
            ("TMPDIR", self.scratch.path()),
            ("GIT_COMMON_DIR", &private.path),
            ("GIT_CEILING_DIRECTORIES", above),
            ("GIT_DIR", &git),
            ("GIT_OBJECT_DIRECTORY", &objects),
        ];
        let texts = texts.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let paths = paths.map(|(name, value)| (OsString::from(name), value.into()));
        texts.into_iter().chain(paths).collect()
    }
}

/// Says that git did not do what it was asked.
pub(super) fn failure(words: &[&str], said: &Said) -> Fault {
    // Some of what goes wrong is told as output, such as conflicts.
    let texts = [said.complaint.trim_end(), said.output.trim_end()];
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    let said = match texts.as_slice() {
        [] => "it failed without a word".to_owned(),
        texts => texts.join("\n"),
    };
    Fault::Git { words: first(words), said: cut_short(&said) }
}

fn cut_short(text: &str) -> String {
    let mut cut: String = text.chars().take(COMPLAINT_BYTES_MAX).collect();
    if cut.len() < text.len() {
        cut.push_str("\n… (cut)");
    }
    cut
}

fn first(words: &[&str]) -> String {
    show::text(words.first().copied().unwrap_or_default())
}

impl Said {
    /// Returns the output, with a note if it was cut, or `otherwise` if there is none.
    pub(super) fn or(self, otherwise: &str) -> String {
        let mut text = self.output;
        if text.trim().is_empty() {
            otherwise.clone_into(&mut text);
        }
        if self.is_cut {
            let _ = std::fmt::Write::write_fmt(
                &mut text,
                format_args!(
                    "\n… (cut after {} KiB: ask for less, by `maxCount`, `paths`, `nameOnly` or `stat`)",
                    OUTPUT_BYTES_MAX >> 10
                ),
            );
        }
        text
    }

    /// Returns output and complaints of something that was done.
    pub(super) fn all(self, otherwise: &str) -> String {
        let complaint = self.complaint.trim_end().to_owned();
        let output = self.or(if complaint.is_empty() { otherwise } else { "" });
        [output.trim_end(), &complaint]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }
}
