//! Which files a command of a setting would run or obey, as far as its words tell.
//!
//! The principle: one step. What the words name counts, and the file from which a program takes its orders
//! when it is told nothing else (`make`, `npm run`). What a named program names in turn does not. A part
//! that only the shell knows leaves its neighbours: what is before it, with all beneath, or what is after
//! it, in any directory. If a program itself is only known to the shell, it is any file of the tree.

mod tables;

use self::tables::{CARRIERS, INTERPRETERS, NODE, PLAIN, RUNNERS, RUNNING, RUNNING_OF};
use super::shell::{self, Command, GLOB, OPEN, PRINTED, TOP, VARIABLE};

/// How many names one setting may have; with more it names everything.
const NAMES_MAX: usize = 512;

/// A name, relative to the directory in which the command runs unless it is absolute.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Name {
    /// A path, with all beneath it.
    Path(String),
    /// A path in which `*` stands for any characters of one name.
    Glob(String),
    /// The same, in any directory of the tree.
    Anywhere(String),
    /// Any file of the tree.
    Everything,
}

/// Returns what the commands of a text name.
pub(super) fn names(text: &str) -> Vec<Name> {
    let mut reader = Reader { names: Vec::new(), directories: Vec::new(), is_anywhere: false };
    let commands = shell::commands(text);
    // Where a command goes, those before it may go too: a function, a loop.
    for words in &commands {
        reader.note_directories(words);
    }
    for words in &commands {
        reader.command(words);
    }
    if NAMES_MAX < reader.names.len() {
        return vec![Name::Everything];
    }
    reader.names
}

struct Reader {
    names: Vec<Name>,
    /// Where the commands go.
    directories: Vec<String>,
    /// Whether they go somewhere that only the shell knows.
    is_anywhere: bool,
}

impl Reader {
    fn note_directories(&mut self, words: &Command) {
        let goes = ["cd", "pushd", "-C", "--directory", "--prefix", "--cwd", "--dir"];
        for (nth, word) in words.iter().enumerate() {
            let target = match word.split_once('=') {
                Some((option, target)) if goes.contains(&option) => Some(target),
                _ if goes.contains(&word.as_str()) => words.get(nth + 1).map(String::as_str),
                _ => None,
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
        // `NAME=value program`
        if program.split_once('=').is_some_and(|(name, _)| name.chars().all(is_of_name)) {
            self.word(program);
            return self.command(rest);
        }
        match program.as_str() {
            it if it.chars().all(|c| c == PRINTED) => return self.names.push(Name::Everything),
            it if it.contains('/') => self.candidate(it),
            _ => {}
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        if name == "git" {
            return self.git(rest);
        }
        if CARRIERS.contains(&name) {
            let is_option =
                |it: &&String| it.starts_with('-') || it.chars().all(|c| c.is_ascii_digit());
            let n_options = rest.iter().take_while(is_option).count();
            // What it reads tells the program what to run: `xargs sh`.
            let carried = rest.get(n_options..).unwrap_or_default();
            if let ("xargs", [only]) = (name, carried)
                && is_interpreter(only)
            {
                self.names.push(Name::Everything);
            }
            rest.iter().take(n_options).for_each(|it| self.word(it));
            return self.command(carried);
        }
        self.arguments(name, rest);
    }

    fn arguments(&mut self, program: &str, rest: &[String]) {
        let first = rest.iter().find(|it| !it.starts_with('-'));
        if is_interpreter(program) && first.is_some_and(|it| it.chars().all(|c| c == PRINTED)) {
            self.names.push(Name::Everything);
        }
        if program == "find" {
            self.find(rest);
        }
        if program.starts_with("python") || program.starts_with("pypy") {
            self.python(rest);
        }
        for (_, files) in RUNNERS.iter().filter(|(programs, _)| programs.contains(&program)) {
            files.iter().for_each(|file| self.candidate(&file.replace('*', &GLOB.to_string())));
            if files.first() == NODE.first() {
                let bins = rest.iter().filter(|it| !it.contains(['-', '/', ' ']));
                bins.for_each(|it| self.candidate(&format!("node_modules/.bin/{it}")));
            }
        }
        self.words(rest);
    }

    /// `find … -exec sh {}` runs whatever it finds.
    fn find(&mut self, rest: &[String]) {
        let run = rest.windows(2).filter_map(|it| match it {
            [option, program] if option.starts_with("-exec") || option.starts_with("-ok") => {
                Some(program)
            }
            _ => None,
        });
        for program in run {
            if is_interpreter(program) || program.contains(OPEN) {
                self.names.push(Name::Everything);
            }
        }
    }

    /// Python takes modules from the directory of its script, or from where it runs.
    fn python(&mut self, rest: &[String]) {
        let (mut beside, mut words) = ("", rest.iter());
        while let Some(word) = words.next() {
            let module = match word.as_str() {
                "-m" => words.next().map(String::as_str),
                it => it.strip_prefix("-m").filter(|it| !it.is_empty()),
            };
            if let Some(module) = module {
                self.module(module);
                break;
            }
            if !word.starts_with('-') {
                beside = word.rsplit_once('/').map_or("", |(directory, _)| directory);
                break;
            }
        }
        for name in ["*.py", "*/__init__.py"] {
            let name = name.replace('*', &GLOB.to_string());
            match beside {
                "" => self.candidate(&name),
                directory => self.candidate(&format!("{directory}/{name}")),
            }
        }
    }

    fn module(&mut self, module: &str) {
        let mut path = String::new();
        for part in module.split('.') {
            path.push_str(part);
            self.candidate(&format!("{path}.{GLOB}"));
            path.push('/');
            self.candidate(&format!("{path}__init__.{GLOB}"));
        }
        self.candidate(path.trim_end_matches('/'));
    }

    /// Of a command of git's, what options or settings of it name.
    fn git(&mut self, rest: &[String]) {
        let mut words = rest.iter();
        let command = loop {
            match words.next().map(String::as_str) {
                None => return,
                Some("-c" | "--config-env") => {
                    let setting = words.next().and_then(|it| it.split_once('='));
                    self.all(setting.map_or("", |(_, value)| value).trim_start_matches('!'));
                }
                Some("-C" | "--namespace") => {
                    words.next();
                }
                Some(it @ ("--git-dir" | "--work-tree" | "--exec-path")) => {
                    words.next().into_iter().for_each(|it| self.word(it));
                    self.word(it);
                }
                Some(it) if it.starts_with('-') => self.word(it),
                Some(it) => break it,
            }
        };
        let rest = words.as_slice();
        let runs = match (command, rest.first().map(String::as_str)) {
            ("bisect", Some("run")) | ("submodule", Some("foreach")) => rest.get(1..),
            ("submodule", _) => Some(&[][..]),
            (command, _) if PLAIN.contains(&command) => None,
            // One that runs programs, or an alias or program of the user's.
            _ => Some(rest),
        };
        if let Some(words) = runs {
            self.words(words);
            let options = words.iter().take_while(|it| it.starts_with('-')).count();
            return self.command(words.get(options..).unwrap_or_default());
        }
        for (nth, word) in rest.iter().enumerate() {
            let own = RUNNING_OF.iter().filter(|(of, _)| *of == command).map(|(_, option)| option);
            let Some(option) = RUNNING.iter().chain(own).find(|it| word.starts_with(**it)) else {
                continue;
            };
            match word.strip_prefix(*option).map(|it| it.trim_start_matches('=')) {
                Some("") | None => rest.get(nth + 1).into_iter().for_each(|it| self.all(it)),
                Some(value) => self.all(value),
            }
        }
        rest.iter().filter_map(|it| it.split_once("ext::")).for_each(|(_, it)| self.all(it));
    }

    /// Reads a command within a command.
    fn all(&mut self, text: &str) {
        for words in shell::commands(text) {
            self.command(&words);
        }
        self.candidate(text);
    }

    fn words(&mut self, words: &[String]) {
        for word in words {
            self.word(word);
        }
    }

    /// Notes an argument, and the parts of it that may be paths.
    fn word(&mut self, word: &str) {
        if NAMES_MAX < self.names.len() {
            return;
        }
        let word = match word.strip_prefix('-') {
            None => word,
            // `--file=path`, `-Ipath`
            Some(option) => match option.split_once('=') {
                Some((_, value)) => value,
                None if option.contains('/') && !option.starts_with('-') => {
                    option.get(1..).unwrap_or_default()
                }
                None => return,
            },
        };
        self.candidate(word);
        if word.contains(['=', ':', ',']) {
            word.split(['=', ':', ',']).for_each(|part| self.candidate(part));
        }
    }

    /// Notes a word from where the command runs, and from where it goes.
    fn candidate(&mut self, word: &str) {
        if !word.contains(|c| !OPEN.contains(&c) && !"/.{}%".contains(c)) {
            return;
        }
        if let Some(rest) = word.strip_prefix(TOP) {
            return self.note(rest.trim_start_matches('/'), false);
        }
        // What is before the first slash is not known: the rest lies in some directory.
        let (first, tail) = word.split_once('/').unwrap_or((word, ""));
        if first.contains([VARIABLE, PRINTED]) && !tail.is_empty() {
            return self.note(tail, true);
        }
        let is_fixed = word.starts_with(['/', '~']);
        self.note(word, self.is_anywhere && !is_fixed);
        if !is_fixed {
            for directory in self.directories.clone() {
                let directory =
                    directory.trim_start_matches(TOP).trim_start_matches('/').to_owned();
                self.note(&format!("{directory}/{word}"), false);
            }
        }
    }

    fn note(&mut self, word: &str, is_anywhere: bool) {
        let word = match word.find([VARIABLE, PRINTED]) {
            None => word,
            Some(at) => {
                let known = word.get(..at).unwrap_or_default();
                match known.rsplit_once('/') {
                    // Everything beneath what is known.
                    Some((known, _)) if !matches!(known, "" | "." | "..") && !is_anywhere => known,
                    _ => &word.replace([VARIABLE, PRINTED], &GLOB.to_string()),
                }
            }
        };
        let glob = || word.replace(GLOB, "*");
        let name = match (is_anywhere, word.contains(GLOB)) {
            (true, _) => Name::Anywhere(glob()),
            (false, true) => Name::Glob(glob()),
            (false, false) => Name::Path(word.to_owned()),
        };
        if is_anywhere && !word.contains(GLOB) {
            self.names.push(Name::Path(word.to_owned()));
        }
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    INTERPRETERS.contains(&name) || name.starts_with("python") || name.starts_with("pypy")
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
