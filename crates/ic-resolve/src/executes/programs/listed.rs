//! Programs that only the shell knows: which files a text lists for another program to run.

use super::super::names::classes;
use super::super::shell::{Command, GLOB, OPEN, TYPED, VARIABLE};
use super::interpreters::{Script, script};
use super::tables::{LISTING, QUIET, is_interpreter};
use super::{Name, Reader, base_name};

impl Reader {
    /// Notes any file that may be a program, or those that the commands of the text list.
    pub(super) fn any(&mut self, commands: &[Command]) {
        let mut patterns = Vec::new();
        for words in commands {
            match listed(words) {
                Listed::Patterns(listed) => patterns.extend(listed),
                Listed::Nothing => {}
                Listed::Unknown => return self.push(Name::Anywhere(classes::PROGRAM.to_owned())),
            }
        }
        if patterns.is_empty() {
            patterns.push(classes::PROGRAM.to_owned());
        }
        for pattern in patterns {
            self.push(Name::Anywhere(pattern));
        }
    }

    /// `find … -exec sh {}` runs whatever it finds.
    pub(super) fn find(&mut self, rest: &[String]) {
        let runs = rest.iter().position(|it| {
            ["-exec", "-ok", "-x", "-X", "--exec"].iter().any(|option| it.starts_with(option))
        });
        let run = runs.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
        let is_open = run.first().is_some_and(|it| it.contains(OPEN));
        self.runs.any |= is_open || self.runs_what_it_reads(run);
    }

    /// Returns whether words that are handed to a command are run by it.
    pub(super) fn runs_what_it_reads(&self, words: &[String]) -> bool {
        let at = words.iter().position(|it| is_interpreter(base_name(it)));
        let Some((program, rest)) = at.and_then(|at| words.get(at..)?.split_first()) else {
            return false;
        };
        let marks = words.windows(2).filter_map(|it| match it {
            [option, mark] if option == "-I" => Some(mark.as_str()),
            [option, _] => option.strip_prefix("-I").filter(|it| !it.is_empty()),
            _ => None,
        });
        let mut marks = marks.chain(["{}", "%"]);
        match script(base_name(program), rest) {
            Script::Word(word) => self.is_unknown(word) || marks.any(|mark| word.contains(mark)),
            Script::Input => true,
            // What code does with the words is read as a command of its own.
            Script::Code => false,
        }
    }
}

/// Which files a command lists for others.
enum Listed {
    Patterns(Vec<String>),
    Nothing,
    Unknown,
}

/// Returns which files a command lists for others, if it is of a kind that is understood.
fn listed(words: &Command) -> Listed {
    let begins = |with: &&[&str]| {
        with.len() <= words.len() && words.iter().zip(*with).all(|(word, it)| word == it)
    };
    let first = words.first().map_or("", String::as_str);
    let rest = words.get(1..).unwrap_or_default();
    if let Some(begin) = LISTING.iter().find(|it| begins(it)) {
        let rest = words.get(begin.len()..).unwrap_or_default();
        let mut sought: Vec<&String> = match first {
            "find" => {
                let after = rest.windows(2).filter_map(|it| match it {
                    [option, value] if option.ends_with("name") => Some(value),
                    _ => None,
                });
                after.collect()
            }
            _ => rest.iter().filter(|it| !it.starts_with('-')).collect(),
        };
        sought.dedup();
        let patterns: Option<Vec<String>> = sought.into_iter().map(|it| pattern(it)).collect();
        return match patterns {
            Some(patterns) if !patterns.is_empty() => Listed::Patterns(patterns),
            Some(_) | None => Listed::Unknown,
        };
    }
    let is_variable = |it: &String| it.contains([VARIABLE, TYPED]) || *it == GLOB.to_string();
    let is_quiet = match first {
        "for" => !rest.iter().any(is_variable),
        it if QUIET.contains(&it) => true,
        it if is_interpreter(it) => !matches!(it, "sed" | "awk" | "gawk" | "mawk" | "perl"),
        it => words.len() == 1 && !it.contains(['/', '=']) && !it.contains(OPEN),
    };
    if is_quiet { Listed::Nothing } else { Listed::Unknown }
}

/// Returns the pattern of names that a word stands for, if it ends in letters that are known.
fn pattern(word: &str) -> Option<String> {
    let shown = word.replace(GLOB, "*");
    let name = base_name(&shown);
    let (_, end) = name.rsplit_once('*')?;
    let is_known = !end.is_empty() && !name.contains(OPEN) && !name.starts_with(['!', ':']);
    is_known.then(|| name.to_owned())
}
