//! A repository of ours in which git does something before it is done: the same commits, no files.
//!
//! ```text
//! rehearsal/   config              ours, with a sparse checkout of nothing: git keeps the index, and
//!              info/sparse-checkout  writes no files but those in conflict
//!              HEAD, index         copies; the index says of each file that it is not in the tree
//!              packed-refs         all refs, by number
//!              objects             what git makes; the repository's own are borrowed
//!              tree/               the working tree
//! ```
//!
//! Nothing of it stays. What the outcome means is not known here.

use std::collections::BTreeSet;
use std::ffi::OsString;

use ic_confine::{Excess, InnerLimits, InnerOutput, InnerSpec, run_inner};
use rustix::fd::OwnedFd;

use super::closed::RAW;
use super::fault::Fault;
use super::private::Private;
use super::run::{COMPLAINT_BYTES_MAX, Does, Run, SETTINGS, Said, TIME_MAX, failure};
use super::settings;
use crate::filesystem::beneath;

/// The most that git may say about the files of a repository.
const LIST_BYTES_MAX: usize = 64 << 20;
/// The longest index that is rehearsed with.
pub(super) const INDEX_BYTES_MAX: usize = 256 << 20;

const SPARSE: &str = "[core]\n\tbare = false\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n\
                      [index]\n\tsparse = false\n[core]\n\tsplitIndex = false\n";
const DIRECTORIES: [&str; 8] =
    ["objects", "objects/info", "objects/pack", "refs", "info", "logs", "logs/refs", "tree"];

/// Files in which git keeps what is under way, besides two directories.
const UNDER_WAY: [&str; 7] = [
    "CHERRY_PICK_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
];

/// A rehearsal; removed when it is dropped.
pub(super) struct Rehearsal<'a> {
    run: &'a Run<'a>,
    private: Private<'a>,
    tree: OwnedFd,
    has_index: bool,
    /// What the index had at first.
    at_first: BTreeSet<Entry>,
}

/// A file as a tree has it; the mode is all zeros if it has none.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) mode: String,
    pub(super) id: String,
}

const NO_MODE: &str = "000000";
const UNTRACKED: &str = "untracked";
const UNMERGED: &str = "unmerged";

impl Entry {
    /// Makes the entry of a file that no tree has, and that goes.
    pub(super) fn untracked(path: &str) -> Self {
        Self { path: path.to_owned(), mode: UNTRACKED.to_owned(), id: String::new() }
    }

    /// Makes the entry of a file that a tree has no more.
    fn removed(path: &str) -> Self {
        Self { path: path.to_owned(), mode: NO_MODE.to_owned(), id: String::new() }
    }

    fn is_untracked(&self) -> bool {
        self.mode == UNTRACKED
    }

    /// Returns whether it is in conflict.
    pub(super) fn is_unmerged(&self) -> bool {
        self.mode == UNMERGED
    }

    pub(super) fn is_removed(&self) -> bool {
        self.mode == NO_MODE || self.is_untracked()
    }

    /// Forgets which object it is, and how it may be used.
    pub(super) fn forget(&mut self) {
        *self = Self::file(&self.path, "");
    }

    /// Makes the entry of a plain file.
    pub(super) fn file(path: &str, id: &str) -> Self {
        Self { path: path.to_owned(), mode: "100644".to_owned(), id: id.to_owned() }
    }

    /// Reads what is in an index as git writes it with `--stage -z`; of a file in conflict each side.
    pub(super) fn parse_index(text: &str) -> impl Iterator<Item = Self> {
        let lines = text.split('\0').filter_map(|line| {
            let (about, path) = line.split_once('\t')?;
            let (mode, id) = about.split_once(' ')?;
            Some((path, mode, id))
        });
        // A number after the object's tells the sides of a conflict apart; 0 is no conflict.
        lines.map(|(path, mode, id)| Self {
            path: path.to_owned(),
            mode: mode.to_owned(),
            id: id.trim_end_matches(" 0").to_owned(),
        })
    }

    /// Reads differences as git writes them with `--raw -z`: each file as it was, and as it is.
    ///
    /// A merge is told with what each of its parents had, with a colon for each.
    pub(super) fn parse(text: &str) -> Result<Vec<(Vec<Self>, Self)>, Fault> {
        let odd = || Fault::Not("git described a change in an unknown way".to_owned());
        // Between two commits there may be nothing but a mark.
        let mut parts = text.split('\0').filter(|it| !it.is_empty());
        let mut entries = Vec::new();
        while let Some(about) = parts.next() {
            let path = parts.next().ok_or_else(odd)?;
            let about_all = about.trim_start_matches(':');
            let n_old = about.len() - about_all.len();
            let about: Vec<&str> = about_all.split(' ').collect();
            let ([modes @ .., _], [_, _, ..]) = (about.as_slice(), about.as_slice()) else {
                return Err(odd());
            };
            if n_old == 0 || modes.len() != 2 * (n_old + 1) {
                return Err(odd());
            }
            let (modes, ids) = modes.split_at(n_old + 1);
            let is_unmerged = about.last().is_some_and(|it| it.starts_with('U'));
            let mut sides: Vec<Self> = modes
                .iter()
                .zip(ids)
                .map(|(mode, id)| Self {
                    path: path.to_owned(),
                    mode: (*mode).to_owned(),
                    id: if *mode == NO_MODE { String::new() } else { (*id).to_owned() },
                })
                .collect();
            let mut new = sides.pop().ok_or_else(odd)?;
            if is_unmerged {
                // Whatever git makes of it, it is a change.
                UNMERGED.clone_into(&mut new.mode);
            }
            entries.push((sides, new));
        }
        Ok(entries)
    }
}

impl<'a> Rehearsal<'a> {
    /// Makes a repository with the commits, refs and index of the one that `run` is about.
    pub(super) fn make(run: &'a Run<'a>) -> Result<Self, Fault> {
        let (repository, private) = (run.repository, run.scratch.directory()?);
        for name in DIRECTORIES {
            private.make(name)?;
        }
        let borrowed = repository.common_path().join("objects");
        let borrowed = format!("{}\n", borrowed.to_str().unwrap_or_default());
        private.write("objects/info/alternates", borrowed.as_bytes())?;
        let config = settings::private(&repository.settings);
        private.write("config", format!("{config}\n{SPARSE}").as_bytes())?;
        private.write("info/sparse-checkout", b"!/*\n")?;
        for name in ["info/attributes", "shallow"] {
            if let Some(bytes) = repository.read_common(name)? {
                private.write(name, &bytes)?;
            }
        }
        if let Some(bytes) = repository.read_common("logs/refs/stash")? {
            private.write("logs/refs/stash", &bytes)?;
        }
        let head = repository.read("HEAD")?.unwrap_or_default();
        private.write("HEAD", &head)?;
        let refs = Self::look(run, &["for-each-ref", "--format=%(objectname) %(refname)"])?;
        private.write("packed-refs", refs.as_bytes())?;
        let index = repository.read_index(INDEX_BYTES_MAX)?;
        if let Some(index) = &index {
            private.write("index", index)?;
        }
        let tree = beneath::hold_directory(private.handle(), std::path::Path::new("tree"))
            .map_err(Fault::system("make a directory for git"))?;
        let (has_index, at_first) = (index.is_some(), BTreeSet::new());
        let mut rehearsal = Self { run, private, tree, has_index, at_first };
        rehearsal.at_first = rehearsal.index()?;
        let mut files = String::new();
        // Git marks nothing after a file in conflict.
        for entry in rehearsal.at_first.iter().filter(|it| !it.id.contains(' ')) {
            files.push_str(&entry.path);
            files.push('\0');
        }
        let words = ["update-index", "-z", "--skip-worktree", "--stdin"];
        rehearsal.ask(&words, files.as_bytes())?;
        Ok(rehearsal)
    }

    /// Returns what is in the index; of a file in conflict each side.
    pub(super) fn index(&self) -> Result<BTreeSet<Entry>, Fault> {
        let said = self.done(&["ls-files", "--stage", "-z"], b"")?;
        Ok(Entry::parse_index(&said).collect())
    }

    /// Returns what the index has otherwise than at first, whatever HEAD says.
    ///
    /// What is in it no more, and not in the commit that was checked out, goes as if it were not tracked.
    pub(super) fn index_changes(&self, checked_out: &str) -> Result<Vec<Entry>, Fault> {
        let now = self.index()?;
        let paths: BTreeSet<&str> = now.iter().map(|it| it.path.as_str()).collect();
        let mut gone: Vec<&str> = self.at_first.iter().map(|it| it.path.as_str()).collect();
        gone.retain(|path| !paths.contains(path));
        let tree = if gone.is_empty() { Vec::new() } else { self.tree(checked_out)? };
        let tree: BTreeSet<&str> = tree.iter().map(|it| it.path.as_str()).collect();
        let gone = gone.into_iter().map(|path| match tree.contains(path) {
            true => Entry::removed(path),
            false => Entry::untracked(path),
        });
        Ok(gone.chain(now.difference(&self.at_first).cloned()).collect())
    }

    /// Runs git in the repository itself, to read, with room for a long answer.
    pub(super) fn look(run: &Run<'_>, words: &[&str]) -> Result<String, Fault> {
        Self::look_with(run, words, b"")
    }

    /// The same, with something to read.
    pub(super) fn look_with(run: &Run<'_>, words: &[&str], input: &[u8]) -> Result<String, Fault> {
        let reading = Run { does: Does::Read, terms: None, ..*run };
        let private = run.scratch.private(run.repository)?;
        let said = reading.ask_in_with(&private, &[], (words, input), LIST_BYTES_MAX)?;
        whole(words, said)
    }

    /// Returns the commit that is checked out, or the empty tree where nothing is yet.
    pub(super) fn head(&self) -> Result<String, Fault> {
        match self.commit("HEAD")? {
            Some(id) => Ok(id),
            None => self.nothing(),
        }
    }

    /// Returns whether nothing was ever checked out in the working tree.
    pub(super) fn is_new(&self) -> bool {
        !self.has_index
    }

    /// Returns the tree without files.
    pub(super) fn nothing(&self) -> Result<String, Fault> {
        self.done(&["hash-object", "-t", "tree", "--stdin"], b"").map(|text| trimmed(&text))
    }

    /// Returns the number of a commit, if there is one of this name.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>, Fault> {
        let name = format!("{name}^{{commit}}");
        let said =
            self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], b"")?;
        Ok((said.code == Some(0)).then(|| trimmed(&said.output)))
    }

    /// Returns whether git left a conflict behind.
    pub(super) fn has_conflict(&self) -> Result<bool, Fault> {
        Ok(!self.done(&["ls-files", "--unmerged", "-z"], b"")?.is_empty())
    }

    /// Returns the run for which it is rehearsed.
    pub(super) fn run(&self) -> &Run<'a> {
        self.run
    }

    /// Returns a common ancestor of two commits, if there is one.
    pub(super) fn ancestor(&self, one: &str, other: &str) -> Result<Option<String>, Fault> {
        let said = self.ask(&["merge-base", one, other], b"")?;
        Ok((said.code == Some(0)).then(|| trimmed(&said.output)))
    }

    /// Copies what is under way, so that git goes on with it here.
    pub(super) fn copy_under_way(&self) -> Result<(), Fault> {
        let repository = self.run.repository;
        let mut all: Vec<String> = UNDER_WAY.iter().map(|it| (*it).to_owned()).collect();
        for directory in ["rebase-merge", "sequencer"] {
            if repository.look(directory)?.is_some() {
                self.private.make(directory)?;
                let names = super::repository::names(repository, directory)?;
                all.extend(names.iter().map(|name| format!("{directory}/{name}")));
            }
        }
        for name in all {
            if let Some(bytes) = repository.read(&name)? {
                self.private.write(&name, &bytes)?;
            }
        }
        Ok(())
    }

    /// Returns what a commit changed of each of its parents: each file as it was, and as it is.
    pub(super) fn changes_of(&self, commit: &str) -> Result<Vec<(Vec<Entry>, Entry)>, Fault> {
        let options = ["diff-tree", "-r", "-m", "--root", "--no-commit-id"];
        Entry::parse(&self.done(&[&options[..], &RAW, &[commit, "--"]].concat(), b"")?)
    }

    /// Returns what was changed by each of the commits that were made here: each file as it was, and as it
    /// is.
    pub(super) fn made_since(
        &self,
        before: &str,
        known: &[String],
    ) -> Result<Vec<(Vec<Entry>, Entry)>, Fault> {
        let mut words = vec!["log", "--format=", "-m"];
        words.extend(RAW);
        let before = self.commit(before)?;
        words.extend(["HEAD", "--not"]);
        words.extend(before.iter().chain(known).map(String::as_str));
        words.push("--");
        match self.commit("HEAD")? {
            Some(_) => Entry::parse(&self.done(&words, b"")?),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the commits of the steps that were not taken yet.
    pub(super) fn steps_left(&self) -> Result<Vec<String>, Fault> {
        let mut steps = Vec::new();
        for name in ["rebase-merge/git-rebase-todo", "sequencer/todo"] {
            let text = super::repository::read(self.private.handle(), name, LIST_BYTES_MAX)
                .map_err(Fault::Not)?;
            steps.extend(super::underway::ids(&String::from_utf8_lossy(&text.unwrap_or_default())));
        }
        Ok(steps)
    }

    /// Returns what the index has otherwise than a commit.
    pub(super) fn index_against(&self, commit: &str) -> Result<Vec<Entry>, Fault> {
        let options = ["--raw", "-z", "--no-renames", "--abbrev=64"];
        let words = [&["diff-index", "--cached"], &options[..], &[commit, "--"]].concat();
        Ok(Entry::parse(&self.done(&words, b"")?)?.into_iter().map(|(_, new)| new).collect())
    }

    /// Returns what one commit has otherwise than another.
    pub(super) fn between(&self, from: &str, to: &str) -> Result<Vec<Entry>, Fault> {
        let options = ["-r", "--raw", "-z", "--no-renames", "--abbrev=64"];
        let words = [&["diff-tree"], &options[..], &[from, to, "--"]].concat();
        Ok(Entry::parse(&self.done(&words, b"")?)?.into_iter().map(|(_, new)| new).collect())
    }

    /// Returns all files of a commit.
    pub(super) fn tree(&self, commit: &str) -> Result<Vec<Entry>, Fault> {
        let said = self.done(&["ls-tree", "-r", "-z", "--full-tree", commit], b"")?;
        let lines = said.split('\0').filter_map(super::takeover::listed);
        Ok(lines
            .map(|(path, (mode, id))| Entry {
                path: path.to_owned(),
                mode: mode.to_owned(),
                id: id.to_owned(),
            })
            .collect())
    }

    pub(super) fn done(&self, words: &[&str], input: &[u8]) -> Result<String, Fault> {
        whole(words, self.ask(words, input)?)
    }

    /// Runs git here, whatever comes of it.
    pub(super) fn ask(&self, words: &[&str], input: &[u8]) -> Result<Said, Fault> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let arguments = ["--no-pager"].into_iter().chain(settings).chain(words.iter().copied());
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        let environment = self.environment(words);
        let spec = InnerSpec {
            program: self.run.program.file(),
            arguments: &arguments,
            environment: &environment,
            directory: rustix::fd::AsFd::as_fd(&self.tree),
            input,
            runs: self.run.program.runs(),
            // SECURITY: nothing of the repository, whatever the words are.
            writes: &[self.run.scratch.handle()],
            limits: InnerLimits {
                time_max: TIME_MAX,
                output_bytes_max: LIST_BYTES_MAX,
                complaint_bytes_max: COMPLAINT_BYTES_MAX,
                excess: Excess::PassOver,
                memory_bytes_max: None,
            },
        };
        let ran = run_inner(&spec, &|| self.run.cancel.is_cancelled());
        let InnerOutput { status, output, complaint, is_cut } = ran.map_err(|source| {
            let words = words.first().copied().unwrap_or_default().to_owned();
            Fault::Run { words, source }
        })?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (output, complaint) = (text(output), text(complaint));
        Ok(Said { output, complaint, is_cut, code: status.code() })
    }

    fn environment(&self, words: &[&str]) -> Vec<(OsString, OsString)> {
        const OWN: [&str; 4] =
            ["GIT_COMMON_DIR", "GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"];
        let mut environment = self.run.environment(&self.private);
        environment.retain(|(name, _)| !OWN.iter().any(|own| name == *own));
        let at = |name: &str| -> OsString { self.private.path.join(name).into() };
        // As when it is done: what is put aside is named by git itself.
        let is_literal = if words.first() == Some(&"stash") { "0" } else { "1" };
        environment.extend([
            ("GIT_DIR".into(), self.private.path.clone().into()),
            ("GIT_WORK_TREE".into(), at("tree")),
            ("GIT_OBJECT_DIRECTORY".into(), at("objects")),
            ("GIT_LITERAL_PATHSPECS".into(), is_literal.into()),
            ("GIT_OPTIONAL_LOCKS".into(), "1".into()),
        ]);
        environment
    }
}

/// Returns all that git said, or says that it failed or said too much.
fn whole(words: &[&str], said: Said) -> Result<String, Fault> {
    match (said.code, said.is_cut) {
        (Some(0), false) => Ok(said.output),
        (Some(0), true) => {
            Err(Fault::Not("there are too many files to find out what would change".to_owned()))
        }
        (_, _) => Err(failure(words, &said)),
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end().to_owned()
}
