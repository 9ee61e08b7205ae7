//! Words of a command as names: what a word is if all of it is known, and what it may be if not.
//!
//! A word is not resolved. Of one in which only the shell knows a part the beginning is kept, with all that
//! lies beneath it, and the end, which any path may have: whatever the part stands for, the file has one of
//! these names.

use super::super::shell::{EXPANDED, GLOB, OPEN, PRINTED, TOP, TYPED, VARIABLE};
use super::{NAMES_MAX, Name, Reader, assignment};

/// How many letters of options may stand in one word before a value.
const LETTERS_MAX: usize = 12;

impl Reader {
    pub(super) fn words(&mut self, words: &[String]) {
        for word in words {
            self.word(word);
        }
    }

    /// Notes an argument, and the parts of it that may be paths.
    pub(super) fn word(&mut self, word: &str) {
        if let Some((name, value)) = assignment(word) {
            self.assignment(name, value);
        }
        for value in values(word) {
            self.candidate(value);
            if value.contains(['=', ':', ',', '@']) {
                value.split(['=', ':', ',', '@']).for_each(|part| self.candidate(part));
            }
        }
    }

    /// Notes a word from where the command runs, and from where it goes.
    pub(super) fn candidate(&mut self, word: &str) {
        if NAMES_MAX < self.names.len() {
            return;
        }
        if !word.contains(|c| !OPEN.contains(&c) && !"/.{}%-+".contains(c)) {
            return;
        }
        if let Some(rest) = word.strip_prefix(TOP) {
            let rest = &opened(rest.trim_start_matches('/'));
            return match rest.contains(EXPANDED) {
                true => self.open(rest),
                false => self.note(rest, false),
            };
        }
        let word = &opened(word);
        if word.contains(EXPANDED) {
            return self.open(word);
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

    /// Notes a word of which only the shell knows a part: what is beneath its beginning, and what ends
    /// like it.
    fn open(&mut self, word: &str) {
        let is_typed = !self.is_fed && !word.contains(|c| EXPANDED.contains(&c) && c != TYPED);
        let (first, last) = (word.find(EXPANDED), word.rfind(EXPANDED));
        let (Some(first), Some(last)) = (first, last) else { return };
        // Of a pattern in it only what stands before is known.
        let first = word.find(GLOB).map_or(first, |at| first.min(at));
        let begin = word.get(..first).unwrap_or_default();
        let before = match begin.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((before, _)) => before,
            None if begin.starts_with('~') => "~",
            None => "",
        };
        let after = word.get(last..).unwrap_or_default().trim_start_matches(EXPANDED);
        let after = match after.starts_with('/') || after.is_empty() {
            true => after.to_owned(),
            false => format!("*{after}"),
        };
        let (before, after) = (before.to_owned(), after.replace(GLOB, "*"));
        // A name that begins so, with all beneath it, should the part hold a slash.
        if !word.contains('/') && !begin.is_empty() {
            return self.note(&format!("{begin}{GLOB}"), self.is_anywhere);
        }
        // Where nothing is run, a name without a directory is one of where the command runs.
        if self.is_passive && !word.contains('/') {
            return self.push(Name::Glob(after));
        }
        match (is_typed, before.trim_matches(['.', '/']).is_empty()) {
            // Whoever types it means what is there.
            (true, false) => self.push(Name::Path(before)),
            (true, true) if plain_parts(&after).next().is_none() => {}
            (true, true) => self.push(Name::Open { before: String::new(), after }),
            (false, _) => {
                // What runs nothing names no program by its beginning alone.
                let is_known = !self.is_passive || plain_parts(&after).next().is_some();
                let before = if is_known { before } else { String::new() };
                self.push(Name::Open { before, after });
            }
        }
    }

    fn note(&mut self, word: &str, is_anywhere: bool) {
        let word = &word.replace(EXPANDED, &GLOB.to_string());
        let shown = || word.replace(GLOB, "*");
        // Behind a pattern `..` may be any directory.
        let is_behind = word.find(GLOB).is_some_and(|at| word.get(at..).is_some_and(goes_up));
        if is_behind {
            self.push(Name::Open { before: String::new(), after: shown() });
        }
        match (is_anywhere, word.contains(GLOB)) {
            (true, _) => self.push(Name::Anywhere(shown())),
            (false, true) => self.push(Name::Glob(shown())),
            (false, false) => {}
        }
        if !word.contains(GLOB) {
            self.push(Name::Path(word.to_owned()));
        }
    }

    /// Notes what is of a kind in a directory, should that be the tree or hold it.
    pub(super) fn inside(&mut self, directory: &str, kind: &str) {
        let known = directory.rsplit(EXPANDED).next().unwrap_or_default();
        let known = known.replace(GLOB, "*");
        match directory.contains(EXPANDED) {
            // Any directory, unless it is what was there before.
            true if known.trim_matches('/').is_empty() => {
                if directory.contains([VARIABLE, PRINTED]) {
                    self.push(Name::Anywhere(kind.to_owned()));
                }
            }
            true => {
                let end = format!("**/{}", known.trim_matches('/'));
                self.push(Name::Inside(end, kind.to_owned()));
            }
            false if known.starts_with(['/', '~']) => {
                self.push(Name::Inside(known, kind.to_owned()));
            }
            false => {}
        }
    }
}

/// Returns a word with what is expanded in it, wherever that stands, left open: the home of another user, a
/// list in braces, the top of the tree, what the system knows of a process.
fn opened(word: &str) -> String {
    let variable = VARIABLE.to_string();
    let mut word = word.replace(TOP, &variable);
    if let (Some(begin), Some(end)) = (word.find('{'), word.rfind('}'))
        && begin + 1 < end
        && word.get(begin..end).is_some_and(|it| it.contains(',') || it.contains(".."))
    {
        word.replace_range(begin..=end, &variable);
    }
    // What a process has open, or where it is: `/proc/self/cwd/x`.
    if let Some(rest) = word.strip_prefix("/proc/") {
        let rest = rest.splitn(3, '/').nth(2).unwrap_or_default();
        return format!("{VARIABLE}/{rest}");
    }
    if let Some(rest) = word.strip_prefix('~') {
        let name = rest.split('/').next().unwrap_or_default().len();
        if 0 < name {
            word.replace_range(..=name, &variable);
        }
    }
    word
}

/// Returns the names of which a path consists, but for those that mean where one is.
pub(in crate::executes) fn plain_parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('/').filter(|it| !matches!(*it, "" | "."))
}

fn goes_up(path: &str) -> bool {
    path.split('/').any(|it| it == "..")
}

/// Returns a word and what of it may be the value of an option: `--file=path`, `-Ipath`, `-Bmmodule`.
pub(super) fn values(word: &str) -> Vec<&str> {
    let Some(option) = word.strip_prefix('-') else { return vec![word] };
    let value = option.split_once('=').map(|(_, value)| value);
    if option.starts_with('-') {
        return value.into_iter().collect();
    }
    let letters = option.chars().take_while(char::is_ascii_alphanumeric).count();
    let ends = 1..=letters.min(LETTERS_MAX);
    let attached = ends.filter_map(|at| option.get(at..)).filter(|it| !it.is_empty());
    attached.chain(value).collect()
}
