//! Commands of git's own within a command: their arguments are no programs, but some options are.

use super::super::{settings, shell};
use super::tables::{BRINGING, OBEYING, PLAIN, RUNNING, RUNNING_OF};
use super::{Name, Reader};

impl Reader {
    /// Of a command of git's, what options or settings of it name.
    pub(super) fn git(&mut self, rest: &[String]) {
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
            (command, _) if OBEYING.contains(&command) => return self.obeys(command, rest),
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
            match program_of(command, word) {
                None => {}
                Some("") => rest.get(nth + 1).into_iter().for_each(|it| self.all(it)),
                Some(value) => self.all(value),
            }
        }
        if BRINGING.contains(&command) {
            rest.iter().filter(|it| it.contains('/')).for_each(|it| self.word(it));
        }
        rest.iter().filter_map(|it| it.split_once("ext::")).for_each(|(_, it)| self.all(it));
    }

    /// Notes the files of a command that does what they say, and what it makes the configuration name.
    fn obeys(&mut self, command: &str, rest: &[String]) {
        self.words(rest);
        if command != "config" {
            return;
        }
        for pair in rest.windows(2) {
            let [name, value] = pair else { continue };
            if !name.contains('.') || name.starts_with('-') {
                continue;
            }
            for named in settings::named(name, value) {
                // It is meant from where the configuration is, which is beside the tree or elsewhere.
                if let Name::Path(path) = &named {
                    self.ending(path);
                }
                self.push(named);
            }
        }
    }

    /// Notes a path that climbs from a directory which is not known here: in any directory, as it ends.
    pub(super) fn ending(&mut self, path: &str) {
        let end = path.trim_start_matches("./");
        let rest = end.trim_start_matches("../");
        if rest != end && !rest.is_empty() {
            self.push(Name::Anywhere(rest.to_owned()));
        }
    }

    /// Reads a command within a command.
    fn all(&mut self, text: &str) {
        match shell::commands(text) {
            Some(commands) => commands.iter().for_each(|words| self.command(words)),
            None => self.push(Name::Everything),
        }
        self.candidate(text);
    }
}

/// Returns the program in an option of a command, or nothing of it if the next word is the program.
///
/// Git takes any beginning of a long option for the whole, and short ones in one word.
fn program_of<'w>(command: &str, word: &'w str) -> Option<&'w str> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        return (!name.is_empty() && RUNNING.iter().any(|it| it.starts_with(name)))
            .then_some(value);
    }
    let letters = word.strip_prefix('-')?;
    let letter = RUNNING_OF.iter().find(|(of, _)| *of == command)?.1;
    letters.split_once(letter).map(|(_, value)| value)
}
