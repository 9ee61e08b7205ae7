//! Reads the text that an interpreter is handed to run (`sh -c TEXT`, `python3 -c TEXT`): what it runs, and where.
//!
//! ```text
//! a shell's text ─▶ commands ─▶ program, script, `cd DIR`: looked at as code      other words: as any file
//!                           └▶ a program that only the shell knows: cannot be told, so it is refused
//! another language ─▶ pieces that may be paths: each file and directory of the agent's counts
//! ```
//!
//! Variables are known: a child gets the environment that is written out for it, and no other. What code in another
//! language puts together (`"/wo" + "rk"`) is not found. Nothing is decided about places here.

mod options;
mod variables;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ic_resolve::executes::script::{Known, Script, Word};

use self::options::{Language, inline_option, language_of};
use super::suffix::is_of_code;
use super::words::{Use, is_wrapper, used_as};
use super::{Look, Offence, is_loading};

pub(super) use self::options::is_before_text;

/// How deep texts within texts are read, and how many of them; with more, what is run cannot be told.
const DEPTH_MAX: usize = 6;
const TEXTS_MAX: usize = 256;
/// How many pieces of a text are looked at; with more, what is run cannot be told.
const PIECES_MAX: usize = 4096;

/// Words of the shell that run the words after them.
const CARRIERS: [&str; 12] = [
    "builtin", "command", "do", "doas", "else", "eval", "exec", "if", "sudo", "then", "time",
    "xargs",
];
/// Words of the shell that run the file which they are handed.
const SOURCING: [&str; 2] = [".", "source"];
/// Where the commands of a text may run, at most.
const BASES_MAX: usize = 16;

/// Returns what the texts of a command line run that the agent can write, or that cannot be told.
pub(super) fn find(
    program: &Path,
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
    look: &Look<'_>,
) -> Option<Offence> {
    let words: Vec<Word> = arguments.iter().map(whole).collect();
    let text = words.iter().map(|it| it.text.as_str()).find(|it| is_text(it)).unwrap_or_default();
    let mut reading = Reading {
        look,
        environment,
        bases: vec![look.base.to_owned()],
        is_lost: false,
        runs_input: false,
        n_texts: 0,
        shown: shown(text),
    };
    reading.line(program, &words, DEPTH_MAX).err()
}

/// What was read so far.
struct Reading<'a> {
    look: &'a Look<'a>,
    environment: &'a [(OsString, OsString)],
    /// Where the commands may run.
    bases: Vec<PathBuf>,
    /// Whether they go somewhere that only the shell knows.
    is_lost: bool,
    /// Whether an interpreter runs what another command prints.
    runs_input: bool,
    n_texts: usize,
    /// The beginning of the whole text.
    shown: String,
}

impl Reading<'_> {
    /// Reads the texts of a command line.
    fn line(&mut self, program: &Path, words: &[Word], depth: usize) -> Result<(), Offence> {
        let mut language = language_of(program.as_os_str());
        let mut is_next = false;
        for (nth, word) in words.iter().enumerate() {
            let (text, rest) = (word.text.as_str(), words.get(nth + 1..).unwrap_or_default());
            if std::mem::take(&mut is_next) {
                self.inline(word, (language, rest), depth)?;
                continue;
            }
            let other = language_of(text.as_ref());
            if other != Language::Unknown {
                language = other;
            } else if text.starts_with('-') {
                let (is_before, attached) = inline_option(language, text);
                is_next = is_before;
                if let Some(attached) = attached {
                    self.text(attached, (language, &[]), depth)?;
                }
            } else if is_text(text) {
                // The program of `awk` stands after no option; what else is handed over is the script's own.
                let is_awk = program.file_name().is_some_and(|it| it.as_bytes().ends_with(b"awk"));
                let language = if is_awk { Language::Other } else { Language::Unknown };
                self.text(text, (language, &[]), depth)?;
            }
        }
        Ok(())
    }

    /// Reads a text that an interpreter certainly runs.
    fn inline(
        &mut self,
        word: &Word,
        (language, rest): (Language, &[Word]),
        depth: usize,
    ) -> Result<(), Offence> {
        match word.known {
            Known::Whole => self.text(&word.text, (language, rest), depth),
            Known::ButArguments | Known::Beginning => Err(self.untold()),
        }
    }

    fn text(
        &mut self,
        text: &str,
        (language, rest): (Language, &[Word]),
        depth: usize,
    ) -> Result<(), Offence> {
        self.n_texts += 1;
        if depth == 0 || TEXTS_MAX < self.n_texts {
            return Err(self.untold());
        }
        match language {
            Language::Other => self.code(text),
            Language::Shell => self.script(text, (true, rest), depth),
            Language::Unknown => self.script(text, (false, rest), depth),
        }
    }

    fn untold(&self) -> Offence {
        Offence::Untold(self.shown.clone())
    }

    /// Reads a text as a shell does; if it certainly is one, what cannot be told is refused.
    fn script(
        &mut self,
        text: &str,
        (is_certain, handed): (bool, &[Word]),
        depth: usize,
    ) -> Result<(), Offence> {
        let Script { commands, printed, others } =
            Script::read(&variables::expanded(text, self.environment));
        // Where a command goes, those before it may go too: a function, a loop.
        for words in &commands {
            self.go(words, is_certain)?;
        }
        for words in &commands {
            self.command(words, (is_certain, handed), depth)?;
        }
        // `cat x | sh` runs what it reads.
        if std::mem::take(&mut self.runs_input) && is_certain && 1 < commands.len() {
            for word in commands.iter().flatten().filter(|it| it.text.contains('/')) {
                self.run(word, is_certain)?;
            }
        }
        let language = if is_certain { Language::Shell } else { Language::Unknown };
        for inner in printed.iter().filter(|it| !it.is_empty()) {
            self.text(inner, (language, handed), depth - 1)?;
        }
        for inner in others.iter().filter(|it| !it.is_empty()) {
            self.text(inner, (Language::Unknown, handed), depth - 1)?;
        }
        Ok(())
    }

    /// Notes where a command goes.
    fn go(&mut self, words: &[Word], is_certain: bool) -> Result<(), Offence> {
        let goes = |it: &Word| matches!(it.text.as_str(), "cd" | "pushd" | "chdir");
        let Some(at) = words.iter().position(goes) else { return Ok(()) };
        let home = Word { text: "~".to_owned(), known: Known::Whole };
        let mut targets = words.iter().skip(at + 1).filter(|it| !it.text.starts_with('-'));
        let Word { text, known } = targets.next().unwrap_or(&home);
        if *known != Known::Whole {
            self.is_lost |= is_certain;
            return self.other(&Word { text: text.clone(), known: *known }, is_certain);
        }
        for base in self.bases.clone() {
            if let Some(path) = self.look.from(&base).offends(text.as_ref(), Use::Code) {
                return Err(Offence::Rewritable("runs in", path));
            }
            let at = self.look.from(&base).absolute(text.as_ref());
            self.bases.extend(at.map(|it| it.as_path().to_owned()));
        }
        self.bases.sort_unstable();
        self.bases.dedup();
        if BASES_MAX < self.bases.len() { Err(self.untold()) } else { Ok(()) }
    }

    fn command(
        &mut self,
        words: &[Word],
        (is_certain, handed): (bool, &[Word]),
        depth: usize,
    ) -> Result<(), Offence> {
        for word in words {
            self.assignment(word)?;
        }
        let is_before = |it: &&Word| {
            let name = base_name(&it.text);
            let is_carrier = CARRIERS.contains(&name) || is_wrapper(name);
            let is_plain = is_carrier || it.text.starts_with('-') || it.text.parse::<f64>().is_ok();
            is_assignment(&it.text) || it.known == Known::Whole && is_plain
        };
        let at = words.iter().take_while(is_before).count();
        let Some((program, rest)) = words.get(at..).and_then(<[Word]>::split_first) else {
            return Ok(());
        };
        match program.known {
            // `eval` makes a text of it; else it is a name with spaces in it.
            Known::Whole if is_text(&program.text) => {
                self.path(&program.text, Use::Code)?;
                self.text(&program.text, (Language::Shell, handed), depth - 1)?;
            }
            // A name without a directory is looked for in `PATH`, which was looked at.
            Known::Whole if !program.text.contains('/') => {}
            Known::ButArguments if program.text.is_empty() => self.handed(handed, depth)?,
            Known::Whole | Known::ButArguments | Known::Beginning => {
                self.run(program, is_certain)?;
            }
        }
        if let (true, Some(script)) = (SOURCING.contains(&program.text.as_str()), rest.first()) {
            self.run(script, is_certain)?;
        }
        let name = Path::new(&program.text);
        let arguments: Vec<OsString> = rest.iter().map(|it| OsString::from(&it.text)).collect();
        let kind = |word: &OsStr| self.bases.iter().find_map(|it| self.look.from(it).kind(word));
        let is_interpreter = language_of(name.as_os_str()) != Language::Unknown;
        self.runs_input |= is_interpreter && rest.iter().all(|it| it.text.starts_with('-'));
        for ((_, used), word) in used_as(name, &arguments, &kind).into_iter().zip(rest) {
            match used {
                Use::Code => self.run(word, is_certain)?,
                Use::Any | Use::Mention => self.other(word, is_certain)?,
            }
        }
        self.line(name, rest, depth - 1)
    }

    /// Looks at a word that is run.
    fn run(&self, word: &Word, is_certain: bool) -> Result<(), Offence> {
        let is_elsewhere = self.is_lost && !word.text.starts_with(['/', '~']);
        if is_certain && (word.known != Known::Whole || is_elsewhere) {
            return Err(self.untold());
        }
        self.path(&word.text, Use::Code)
    }

    /// Looks at a word of which nobody knows what it is for.
    fn other(&self, word: &Word, is_certain: bool) -> Result<(), Offence> {
        if word.known == Known::Whole {
            return self.path(&word.text, Use::Any);
        }
        let before = match word.text.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((before, _)) => before,
            None => "",
        };
        if !before.starts_with(['/', '~']) {
            return Ok(());
        }
        // Beneath a directory of the agent's any file may be meant; above one, the agent's may be.
        self.path(before, Use::Code)?;
        match is_certain && self.look.is_above(before.as_ref()) {
            true => Err(self.untold()),
            false => Ok(()),
        }
    }

    /// Looks at what a variable is given, if programs load code from there.
    fn assignment(&self, Word { text, known }: &Word) -> Result<(), Offence> {
        let Some((name, value)) = text.split_once('=').filter(|_| is_assignment(text)) else {
            return Ok(());
        };
        let used = if is_loading(name) { Use::Code } else { Use::Any };
        for part in value.split(':') {
            // An empty part of a list is the directory in which the command runs.
            self.path(if part.is_empty() && *known == Known::Whole { "." } else { part }, used)?;
        }
        Ok(())
    }

    /// Looks at what the shell was handed besides, which its text runs: by `$0` or by `$@`.
    fn handed(&mut self, words: &[Word], depth: usize) -> Result<(), Offence> {
        for (nth, word) in words.iter().enumerate().take(2) {
            let rest = words.get(nth + 1..).unwrap_or_default();
            let line: Vec<Word> = std::iter::once(word).chain(rest).cloned().collect();
            self.command(&line, (true, &[]), depth - 1)?;
        }
        Ok(())
    }

    /// Reads a text in another language: each piece may be a path, also of the home.
    fn code(&mut self, text: &str) -> Result<(), Offence> {
        let is_break = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|&=+$\\".contains(c);
        let pieces: Vec<&str> = text.split(is_break).filter(|it| is_piece(it)).collect();
        if PIECES_MAX < pieces.len() {
            return Err(self.untold());
        }
        let lower = text.to_lowercase();
        let is_of_home =
            lower.contains("home") || lower.contains("expanduser") || text.contains('~');
        for piece in pieces {
            if piece.contains('/') || is_of_code(piece.as_ref()) {
                self.path(piece, Use::Mention)?;
            }
            if is_of_home {
                self.path(&format!("~/{}", piece.trim_start_matches('/')), Use::Mention)?;
            }
        }
        Ok(())
    }

    fn path(&self, text: &str, used: Use) -> Result<(), Offence> {
        for base in &self.bases {
            if let Some(path) = self.look.from(base).offends_in(text.as_ref(), used) {
                let what = if used == Use::Code { "runs" } else { "is handed the file" };
                return Err(Offence::Rewritable(what, path));
            }
        }
        Ok(())
    }
}

/// Returns whether a word is more than one, or what only a shell understands.
fn is_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || ";|&()<>`$".contains(c))
}

fn is_piece(piece: &str) -> bool {
    let is_url = piece.contains("://") && !piece.starts_with("file:");
    !is_url && piece.contains(char::is_alphanumeric)
}

fn whole(word: &OsString) -> Word {
    Word { text: word.to_string_lossy().into_owned(), known: Known::Whole }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns the beginning of a text, to be shown.
fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
