//! Reads a command line as interpreters and package runners do, as far as it says what they run.
//!
//! Only words are looked at; what is on the disk is told by the caller.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_resolve::Kind;
use url::Url;

use super::inline::is_before_text;

/// What a server does with what a word names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Use {
    /// It runs it, or what is in it.
    Code,
    /// Who knows.
    Any,
    /// It is named in code, which may do anything with it.
    Mention,
}

/// Programs that run the first thing that they are handed.
const INTERPRETERS: [&str; 22] = [
    "bash", "bun", "bunx", "dash", "deno", "fish", "java", "ksh", "lua", "node", "nodejs", "npx",
    "perl", "php", "pnpx", "python", "ruby", "sh", "ts-node", "tsx", "uvx", "zsh",
];
/// Programs that run what a project says.
const RUNNERS: [&str; 16] = [
    "bun", "cargo", "deno", "docker", "go", "just", "make", "npm", "npx", "pdm", "pipx", "pnpm",
    "poetry", "uv", "uvx", "yarn",
];
/// Options of runners after which the project stands.
const PROJECT_OPTIONS: [&str; 15] = [
    "-C",
    "--config",
    "--config-file",
    "--cwd",
    "--dir",
    "--directory",
    "--env-file",
    "--file",
    "--from",
    "--manifest-path",
    "--package",
    "--prefix",
    "--project",
    "--with",
    "--with-editable",
];
/// Words of runners that say what to do, before what to do it with.
const VERBS: [&str; 9] = ["compose", "dlx", "exec", "run", "start", "task", "test", "tool", "x"];
/// Programs that start another one, with the rest of their words.
const WRAPPERS: [&str; 9] =
    ["chrt", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout"];
/// Options of interpreters that take the next word.
const TAKING: [&str; 16] = [
    "-C",
    "-I",
    "-W",
    "-X",
    "-cp",
    "-r",
    "--classpath",
    "--conditions",
    "--env-file",
    "--experimental-loader",
    "--import",
    "--loader",
    "--require",
    "--title",
    "--tsconfig",
    "--preload",
];
/// Options of interpreters after which no script comes: the next word is the code, or its name.
const INLINE: [&str; 7] = ["-c", "-e", "-m", "-p", "--eval", "--module", "--print"];
/// The most words and parts of words that are looked at.
const PARTS_MAX: usize = 64;

/// Says for each word of a command line what it is used as.
pub(super) fn used_as<'a>(
    program: &Path,
    words: &'a [OsString],
    kind: &dyn Fn(&OsStr) -> Option<Kind>,
) -> Vec<(&'a OsStr, Use)> {
    let mut reading = Reading::of(program);
    let mut used = Vec::new();
    let mut before: &[u8] = b"";
    for word in words {
        let bytes = word.as_bytes();
        used.push((word.as_os_str(), reading.next(before, word, kind)));
        before = bytes;
    }
    used
}

/// Returns whether a program starts another one, with the rest of its words.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

/// What was read so far.
struct Reading {
    /// The program whose words these are.
    name: String,
    /// Whether its script has come, so that the rest is the script's own.
    is_over: bool,
}

impl Reading {
    fn of(program: &Path) -> Self {
        let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // `python3.11`, `ruby3.2`, `bun.exe`.
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Self { name: name.to_owned(), is_over: false }
    }

    fn is(&self, known: &[&str]) -> bool {
        known.contains(&self.name.as_str())
    }

    fn next(&mut self, before: &[u8], word: &OsStr, kind: &dyn Fn(&OsStr) -> Option<Kind>) -> Use {
        let bytes = word.as_bytes();
        let is_one_of = |known: &[&str], it: &[u8]| known.iter().any(|name| name.as_bytes() == it);
        let option = bytes.split(|byte| *byte == b'=').next().unwrap_or_default();
        if self.is(&RUNNERS) {
            let names_project = is_one_of(&PROJECT_OPTIONS, before)
                || (option.len() < bytes.len() && is_one_of(&PROJECT_OPTIONS, option));
            if names_project && !self.is_over {
                return Use::Code;
            }
        }
        if self.is_over || !(self.is(&INTERPRETERS) || self.is(&RUNNERS) || self.is(&WRAPPERS)) {
            return Use::Any;
        }
        let is_inline = || is_one_of(&INLINE, bytes) || is_before_text(&self.name, word);
        if self.is(&INTERPRETERS) && is_inline() {
            self.is_over = true;
            return Use::Any;
        }
        if bytes.starts_with(b"-") {
            return Use::Any;
        }
        if self.is(&WRAPPERS) {
            // `NAME=VALUE`, a number, or the program.
            let is_setting = bytes.contains(&b'=') || bytes.first().is_some_and(u8::is_ascii_digit);
            if !is_setting {
                *self = Self::of(Path::new(word));
                return Use::Code;
            }
            return Use::Any;
        }
        if self.is(&RUNNERS) && is_one_of(&VERBS, bytes) {
            return Use::Any;
        }
        // The value of an option, or the script; of the former a directory is a module.
        let is_value = is_one_of(&TAKING, before);
        // A name that is on no disk (a package) is what is run, and what follows is its own.
        self.is_over =
            !is_value && (kind(word).is_some() || self.is(&RUNNERS) || bytes.contains(&b'/'));
        Use::Code
    }
}

/// Returns every path that `word` may name.
pub(super) fn paths_in(word: &OsStr) -> Vec<OsString> {
    let bytes = word.as_bytes();
    let mut found: Vec<OsString> = vec![word.to_owned()];
    let parts = bytes.split(|byte| b"=:,; \t\n\"'".contains(byte));
    for part in parts.filter(|part| part.len() < bytes.len()).take(PARTS_MAX) {
        found.push(OsStr::from_bytes(part).to_owned());
    }
    // `--option=a=b` and names with such characters in them.
    if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
        found.push(OsStr::from_bytes(bytes.get(at + 1..).unwrap_or_default()).to_owned());
    }
    // `-I/dir`, `@/file`.
    if let (Some(b'-' | b'@'), Some(at)) = (bytes.first(), bytes.iter().position(|it| *it == b'/'))
    {
        found.push(OsStr::from_bytes(bytes.get(at..).unwrap_or_default()).to_owned());
    }
    let text = word.to_string_lossy();
    if let Some(at) = text.find("file:") {
        let url = text.get(at..).and_then(|url| Url::parse(url).ok());
        found.extend(url.and_then(|url| url.to_file_path().ok()).map(Into::into));
    }
    found.retain(|path| !path.is_empty());
    found.dedup();
    found
}
