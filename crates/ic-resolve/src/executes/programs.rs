//! Which files a command of a setting would run or obey, as far as its words tell.
//!
//! The principle: one step, and rather too much than too little. Every word of a command may be a path, and
//! so may what follows an option's letter or a `=` in it; unless the command is known to run nothing, every
//! word may be a program too, which is so run with the words after it. A program that takes its orders from
//! a file when it is told nothing else (`make`, `npm run`) names that file. What a named program names in
//! turn does not count. A part that only the shell knows leaves its neighbours: what is before it, with all
//! beneath, or what is after it, in any directory. If a program itself is only known to the shell, it is
//! any file of the tree that may be a program, or those that a pattern in the same text lists.

mod git;
mod interpreters;
mod listed;
mod tables;
pub(super) mod words;

use self::tables::{CARRIERS, NODE, PASSIVE, RUNNERS, is_interpreter};
use self::words::values;
use super::names::classes;
use super::shell::{self, ASSIGNED, Command, EXPANDED, GLOB, OPEN, TOP, TYPED, VARIABLE};

/// How many names one setting may have; with more it names everything.
const NAMES_MAX: usize = 1024;

/// A name, relative to the directory in which the command runs unless it is absolute.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Name {
    /// A path, with all beneath it.
    Path(String),
    /// A path in which `*` stands for any characters of one name.
    Glob(String),
    /// The same, in any directory of the tree.
    Anywhere(String),
    /// The program that the package in a directory names as its own.
    Package(String),
    /// What is of a kind in a directory that holds the tree, or is it; `**/` before it if only the end of
    /// the directory's path is known.
    Inside(String, String),
    /// A path of which only the beginning, a directory, and the end are known; either may be empty.
    Open { before: String, after: String },
    /// Any file of the tree.
    Everything,
}

impl Name {
    /// Returns what a name may be in which U+FFFD stands for bytes that are not valid Unicode; `None` if
    /// there are none in it.
    pub(super) fn loosened(&self) -> Option<Self> {
        let loose = |text: &String| text.replace(char::REPLACEMENT_CHARACTER, "*");
        let text = match self {
            Self::Path(text)
            | Self::Glob(text)
            | Self::Anywhere(text)
            | Self::Package(text)
            | Self::Inside(text, _) => text.clone(),
            Self::Open { before, after } => format!("{before}\0{after}"),
            Self::Everything => return None,
        };
        text.contains(char::REPLACEMENT_CHARACTER).then(|| match self {
            Self::Anywhere(_) => Self::Anywhere(loose(&text)),
            Self::Inside(_, kind) => Self::Glob(format!("{}/{kind}", loose(&text))),
            // Before the end anything may stand.
            Self::Open { after, .. } => Self::Anywhere(loose(after)),
            Self::Path(_) | Self::Glob(_) | Self::Package(_) | Self::Everything => {
                Self::Glob(loose(&text))
            }
        })
    }
}

/// When a command is run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum When {
    /// By itself: when git, or another program, does something else.
    ByItself,
    /// When the user types its own name, and so means it.
    OnPurpose,
}

/// Returns what the commands of a text name.
pub(super) fn names(text: &str, when: When) -> Vec<Name> {
    // What is not read may name anything.
    let Some(commands) = shell::commands(text) else { return vec![Name::Everything] };
    let mut reader = Reader::new(when);
    reader.is_fed = commands.iter().any(is_feeder);
    // Where a command goes, those before it may go too: a function, a loop.
    for words in &commands {
        reader.note_directories(words);
    }
    for words in &commands {
        reader.command(words);
    }
    if reader.runs.input && 1 < commands.len() {
        reader.input(&commands);
    }
    if reader.runs.any {
        reader.any(&commands);
    }
    if NAMES_MAX < reader.names.len() {
        return vec![Name::Everything];
    }
    reader.names
}

/// Returns what options of a program name that are given to it elsewhere than in a command.
pub(super) fn options(program: &str, text: &str) -> Vec<Name> {
    names(&format!("{program} {text}"), When::ByItself)
}

/// Returns what a text in another language than the shell's may name.
pub(super) fn code(text: &str) -> Vec<Name> {
    let mut reader = Reader::new(When::ByItself);
    reader.code(text);
    reader.words(&text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>());
    reader.names
}

/// Returns what Python loads that runs these modules.
pub(super) fn python_modules(modules: &[&str]) -> Vec<Name> {
    let mut reader = Reader::new(When::ByItself);
    reader.python_modules(modules);
    reader.names
}

/// Returns what a path names that git, or a program that reads a variable, expands.
pub(super) fn path(text: &str) -> Vec<Name> {
    let mut reader = Reader::new(When::ByItself);
    // Where git was installed.
    let text = match text.strip_prefix("%(prefix)") {
        Some(rest) => format!("{VARIABLE}{rest}"),
        None => text.to_owned(),
    };
    reader.candidate(&shell::expanded(&text).replace(TOP, &VARIABLE.to_string()));
    reader.names
}

struct Reader {
    when: When,
    names: Vec<Name>,
    /// Where the commands go.
    directories: Vec<String>,
    /// Whether they go somewhere that only the shell knows.
    is_anywhere: bool,
    /// Whether a command hands words that it reads or finds to others, so that arguments are not typed.
    is_fed: bool,
    /// Whether the command that is read runs nothing which its words name.
    is_passive: bool,
    runs: Runs,
}

/// What is run besides what words name.
#[derive(Default)]
struct Runs {
    /// Something that only the shell knows.
    any: bool,
    /// What a program reads.
    input: bool,
}

impl Reader {
    fn new(when: When) -> Self {
        let (names, directories) = (Vec::new(), Vec::new());
        let (is_anywhere, is_fed, is_passive, runs) = (false, false, false, Runs::default());
        Self { when, names, directories, is_anywhere, is_fed, is_passive, runs }
    }

    fn note_directories(&mut self, words: &Command) {
        let goes =
            ["cd", "pushd", "-C", "--directory", "--prefix", "--cwd", "--dir", "--chdir", "-D"];
        for (nth, word) in words.iter().enumerate() {
            let target = match word.split_once('=') {
                Some((option, target)) if goes.contains(&option) => Some(target),
                _ if goes.contains(&word.as_str()) => words.get(nth + 1).map(String::as_str),
                _ => word.strip_prefix("-C"),
            };
            match target.map(|it| it.strip_prefix(TOP).unwrap_or(it).trim_matches('/')) {
                Some(at) if at.contains(OPEN) => self.is_anywhere = true,
                Some("" | ".") | None => {}
                Some(_) => self.directories.extend(target.map(ToOwned::to_owned)),
            }
        }
    }

    fn command(&mut self, words: &[String]) {
        let Some((program, rest)) = words.split_first() else { return };
        if NAMES_MAX < self.names.len() {
            return;
        }
        // `NAME=value program`
        if let Some((name, value)) = assignment(program) {
            self.assignment(name, value);
            self.words(std::slice::from_ref(program));
            self.carried(words);
            return self.command(rest);
        }
        if self.is_unknown(program) {
            self.runs.any = true;
            self.python(rest);
        }
        if program.contains('/') || program.contains(EXPANDED) {
            self.candidate(program);
        }
        let name = base_name(program);
        if name == "git" {
            return self.git(rest);
        }
        self.is_passive = PASSIVE.contains(&name);
        self.words(rest);
        // Where a link leads is meant from the directory of the link.
        if name == "ln" {
            for it in rest {
                self.ending(it);
            }
        }
        if std::mem::take(&mut self.is_passive) {
            return;
        }
        if CARRIERS.contains(&name) && self.carries_unknown(rest) {
            self.runs.any = true;
        }
        self.program(name, rest);
        self.carried(rest);
    }

    /// Notes what each of the words would name if it were a program.
    fn carried(&mut self, words: &[String]) {
        for (nth, word) in words.iter().enumerate() {
            let rest = words.get(nth + 1..).unwrap_or_default();
            for part in word.split(['=', ':', ',', '@']) {
                match base_name(part.trim_start_matches('-')) {
                    // A directory here; where it is a command, it was read before.
                    "." => {}
                    "git" => self.git(rest),
                    name => self.program(name, rest),
                }
            }
        }
    }

    /// Notes what a program that is run with these words takes its orders from.
    fn program(&mut self, program: &str, rest: &[String]) {
        match program {
            "find" | "fd" | "fdfind" => self.find(rest),
            "xargs" | "parallel" => self.runs.any |= self.runs_what_it_reads(rest),
            "vim" | "nvim" | "vi" | "gvim" | "view" | "ex" => {
                if rest.iter().any(|it| it == "-S") {
                    self.candidate("Session.vim");
                }
                self.codes(rest);
            }
            _ => {}
        }
        if is_interpreter(program) {
            self.interpreter(program, rest);
        }
        // Such a file is what people run on purpose, and the name of the alias says no more than that.
        if self.when == When::OnPurpose {
            return;
        }
        for (_, files) in RUNNERS.iter().filter(|(programs, _)| programs.contains(&program)) {
            files.iter().for_each(|file| self.candidate(&file.replace('*', &GLOB.to_string())));
            if files.first() == NODE.first() {
                let bins = rest.iter().filter(|it| !it.contains(['-', '/', ' ']));
                bins.for_each(|it| self.candidate(&format!("node_modules/.bin/{it}")));
            }
        }
    }

    /// Returns whether the first word that a carrier may run is only known to the shell.
    fn carries_unknown(&self, rest: &[String]) -> bool {
        let is_count = |it: &str| {
            it.trim_end_matches(['s', 'm', 'h', 'd'])
                .chars()
                .all(|c| c.is_ascii_digit() || c == '.')
        };
        let mut words = rest.iter().enumerate().filter(|(nth, word)| {
            let before = nth.checked_sub(1).and_then(|it| rest.get(it));
            // What `xargs -I {}` puts its words in place of.
            let is_mark = before.is_some_and(|it| it.starts_with('-')) && word.chars().count() <= 2;
            !word.starts_with('-') && !is_count(word) && !is_mark && assignment(word).is_none()
        });
        words.next().is_some_and(|(_, word)| self.is_unknown(word))
    }

    /// Returns whether a word is wholly something that only the shell knows.
    fn is_unknown(&self, word: &str) -> bool {
        let open = || word.chars().filter(|c| OPEN.contains(c));
        let is_given = |c: char| c == ASSIGNED || (c == TYPED && !self.is_fed);
        let is_whole = !word.contains(|c| !OPEN.contains(&c) && !"./{}%+\"'".contains(c));
        is_whole && 0 < open().count() && (1 < open().count() || !open().all(is_given))
    }

    /// Notes what git was told to look at where its output, or that of another, is run.
    fn input(&mut self, commands: &[Command]) {
        for words in commands {
            self.words(words);
            let is_given = |word: &String| !self.is_unknown(word);
            let is_listing = words.first().is_some_and(|it| it == "xargs" || it == "find");
            self.runs.any |= is_listing || !words.iter().all(is_given);
        }
    }

    /// `PATH=.:$PATH`, and others like it: what is looked for is looked for where the command runs.
    fn assignment(&mut self, name: &str, value: &str) {
        let is_list = ["PATH", "LIB", "DIR", "DIRS"].iter().any(|end| name.ends_with(end));
        let is_here =
            |it: &str| matches!(it.trim_end_matches('/'), "" | ".") || it == TOP.to_string();
        if is_list && value.split(':').any(is_here) {
            self.beside(classes::PROGRAM);
        }
        let kind = if name == "PATH" { classes::PROGRAM } else { classes::ORDERS };
        value.split(':').filter(|_| is_list).for_each(|it| self.inside(it, kind));
    }

    fn push(&mut self, name: Name) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

/// Returns the name and the value of a word that gives a variable its value.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    word.split_once('=').filter(|(name, _)| is_name(name))
}

/// Returns whether a command hands what it reads or finds to others.
fn is_feeder(words: &Command) -> bool {
    let is_one = |it: &String| matches!(base_name(it), "xargs" | "parallel" | "find" | "fd");
    words.iter().any(is_one)
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
