//! Files of a repository that rules of the caller's policy are about: named before git touches them.
//!
//! A call is judged by the directory of its repository. What git would change beneath it, or tell the
//! contents of, may lie in a place that a rule denies or asks about; then nothing is done and the names
//! are said, as for trees that are taken over (`takeover.rs`). What rules say is not known here.

use ic_types::{CanonicalPath, Json, Object, Role};

use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::{Run, Said};
use super::takeover::{Takeover, Terms, path_of};

/// The member of the terms that names places, and of the answer that names files.
pub(super) const RULED: &str = "ruled";

/// The places that rules are about, each with the role.
#[derive(Debug, Default)]
pub(super) struct Ruled(Vec<Named>);

/// Something that is read, changed or removed.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Named {
    pub(super) role: Role,
    pub(super) path: CanonicalPath,
}

impl Ruled {
    /// Reads the places from what the caller says.
    pub(super) fn of(terms: &Object) -> Self {
        let Some(Json::Array(all)) = terms.get(RULED) else { return Self::default() };
        let named = all.iter().filter_map(|it| {
            let Json::Object(it) = it else { return None };
            let text = |name: &str| it.get(name).and_then(Json::as_str);
            Some(Named {
                role: text("role")?.parse().ok()?,
                path: CanonicalPath::new(text("path")?).ok()?,
            })
        });
        Self(named.collect())
    }

    fn has(&self, role: Role, path: &CanonicalPath) -> bool {
        self.0.iter().any(|it| it.role == role && path.is_within(&it.path))
    }

    /// Returns those of the entries that git would change, and that rules are about.
    pub(super) fn changed(&self, run: &Run<'_>, words: &[&str], entries: &[Entry]) -> Vec<Named> {
        if self.0.is_empty() || leaves_files(words) {
            return Vec::new();
        }
        let mut named = Vec::new();
        for entry in entries {
            let role = if entry.is_removed() { Role::DeletePath } else { Role::WritePath };
            let path = path_of(&run.repository.top, &entry.path);
            named.extend(path.filter(|it| self.has(role, it)).map(|path| Named { role, path }));
            // A linked working tree gets a copy of what is in the repository under this name.
            if run.repository.link().is_some() && role == Role::WritePath {
                named.extend(self.unread(run, &entry.path));
            }
        }
        sorted(named)
    }

    /// Returns what a file of the repository is called where rules are about reading it.
    fn unread(&self, run: &Run<'_>, name: &str) -> Vec<Named> {
        let role = Role::ReadPath;
        let tops = [&run.repository.top, run.repository.main()];
        let paths = tops.into_iter().filter_map(|top| path_of(top, name));
        paths.filter(|it| self.has(role, it)).map(|path| Named { role, path }).collect()
    }
}

/// Lets git tell contents only if no rule is about reading them, or just these were agreed to.
pub(super) fn check(run: &Run<'_>, words: &[&str]) -> Result<(), Fault> {
    let is_read = |terms: &&Terms| terms.ruled.0.iter().any(|it| it.role == Role::ReadPath);
    let Some(terms) = run.terms.filter(is_read) else { return Ok(()) };
    match question(run, words)? {
        Question::Nothing => Ok(()),
        Question::Names(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let names = Rehearsal::look(run, &words)?;
            agree(run, terms, &names)
        }
        // Which file a bare object belongs to, git does not say.
        Question::Anything => {
            let unread = terms.ruled.0.iter().filter(|it| it.role == Role::ReadPath);
            terms.agree(sorted(unread.cloned().collect()))
        }
    }
}

/// Does the same for differences to an index of ours, which `ask` is asked about.
pub(super) fn check_with(
    run: &Run<'_>,
    words: &[&str],
    ask: &dyn Fn(&[&str]) -> Result<Said, Fault>,
) -> Result<(), Fault> {
    let (Some(terms), Question::Names(words)) = (run.terms, question(run, words)?) else {
        return Ok(());
    };
    if terms.ruled.0.is_empty() {
        return Ok(());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = ask(&words)?;
    match said.code == Some(0) && !said.is_cut {
        true => agree(run, terms, &said.output),
        false => Err(super::run::failure(&words, &said)),
    }
}

fn agree(run: &Run<'_>, terms: &Terms, names: &str) -> Result<(), Fault> {
    let names = names.split(['\0', '\n']).filter(|name| !name.is_empty());
    terms.agree(sorted(names.flat_map(|name| terms.ruled.unread(run, name)).collect()))
}

/// What has to be found out before git tells something.
enum Question {
    /// It tells no contents.
    Nothing,
    /// These words make it tell the names alone.
    Names(Vec<String>),
    /// It may be any file.
    Anything,
}

fn question(run: &Run<'_>, words: &[&str]) -> Result<Question, Fault> {
    let names = |first: &str, besides: &[&str]| {
        const TOLD: [&str; 4] = ["--patch", "--oneline", "--stat", "--format=raw"];
        let mut asked: Vec<String> = vec![first.to_owned()];
        asked.extend(["--name-only", "-z", "--no-renames"].map(ToOwned::to_owned));
        asked.extend(besides.iter().map(|it| (*it).to_owned()));
        let rest = words.iter().skip(1).filter(|word| !TOLD.contains(word));
        asked.extend(rest.map(|word| (*word).to_owned()));
        Question::Names(asked)
    };
    let is_told = |word: &&str| matches!(*word, "--stat" | "--name-only");
    Ok(match words {
        ["diff", rest @ ..] if !rest.iter().any(is_told) => names("diff", &[]),
        ["log", rest @ ..] if rest.contains(&"--patch") => names("log", &["--format="]),
        ["show", .., object, "--"] => {
            let peeled = format!("{object}^{{}}");
            let kind = Rehearsal::look(run, &["cat-file", "-t", &peeled])?;
            match (kind.trim(), words.contains(&"--stat")) {
                ("commit", true) | ("tree", _) => Question::Nothing,
                ("commit", false) => names("show", &["--format="]),
                _ => Question::Anything,
            }
        }
        _ => Question::Nothing,
    })
}

/// Returns whether a command changes the index alone.
fn leaves_files(words: &[&str]) -> bool {
    match words {
        ["add", ..] => true,
        ["reset", rest @ ..] => !rest.contains(&"--hard"),
        _ => false,
    }
}

impl Terms {
    /// Lets git go on if nothing is named, or just that was agreed to.
    fn agree(&self, ruled: Vec<Named>) -> Result<(), Fault> {
        let takeover = Takeover::new(&[], Vec::new(), ruled)?;
        match takeover.is_nothing() || self.is_agreed(&takeover) {
            true => Ok(()),
            false => Err(Fault::Takeover(takeover)),
        }
    }
}

fn sorted(mut named: Vec<Named>) -> Vec<Named> {
    named.sort();
    named.dedup();
    named
}
