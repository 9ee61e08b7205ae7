//! The text of a setting as a shell reads it: commands and their words, expansions left open.
//!
//! Nothing is expanded but what is the same wherever the command runs. A part of a word that only the
//! shell knows stands there as one character of [`OPEN`]; so a word is still a text, and what is known
//! of it can be taken for a path. More words come out of it than a shell would make, and never fewer:
//! what is quoted is read as a command once more, since many programs take commands as arguments.

use std::collections::HashSet;

/// How deep commands within commands are read.
const DEPTH_MAX: usize = 8;
/// How many commands are read in all.
const COMMANDS_MAX: usize = 1024;

/// Stands for any characters of one name: `*`, `?`, `[…]`, `{…}`.
pub(super) const GLOB: char = '\u{f0000}';
/// Stands for the top of the tree.
pub(super) const TOP: char = '\u{f0001}';
/// Stands for a variable of which the text does not say what it holds.
pub(super) const VARIABLE: char = '\u{f0002}';
/// Stands for what a command prints.
pub(super) const PRINTED: char = '\u{f0003}';
/// Stands for something that the user types: the arguments of a command, of which each is meant.
pub(super) const TYPED: char = '\u{f0004}';
/// Stands for a variable to which the text itself gives words, or which is read elsewhere.
pub(super) const ASSIGNED: char = '\u{f0005}';
/// What stands for something unknown.
pub(super) const OPEN: [char; 5] = [GLOB, VARIABLE, PRINTED, TYPED, ASSIGNED];
/// The same without what stands for characters of one name.
pub(super) const EXPANDED: [char; 4] = [VARIABLE, PRINTED, TYPED, ASSIGNED];

/// What stands before the parenthesis of a pattern of names.
const PATTERNS: [char; 4] = ['@', '+', '!', GLOB];

/// Variables that hold what the user has chosen, or what git says: settings and the environment are read
/// for the former, and the latter are no programs.
const CHOSEN: [&str; 14] = [
    "BASE",
    "BROWSER",
    "EDITOR",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_PREFIX",
    "GIT_SEQUENCE_EDITOR",
    "LOCAL",
    "MERGED",
    "OLDPWD",
    "PAGER",
    "REMOTE",
    "USER",
    "VISUAL",
];

/// Variables that hold lists of directories, and are read in the environment themselves: who sets one anew
/// mostly keeps what was in it.
const LISTS: [&str; 14] = [
    "CLASSPATH",
    "CPATH",
    "DYLD_LIBRARY_PATH",
    "INFOPATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "MANPATH",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PKG_CONFIG_PATH",
    "PYTHONPATH",
    "RUBYLIB",
    "XDG_DATA_DIRS",
];

/// Words of the shell's own, after which a command follows, or which end one.
const RESERVED: [&str; 15] = [
    "", "!", "{", "}", "coproc", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until",
    "while",
];

/// The words of one command.
pub(super) type Command = Vec<String>;

/// Reads the commands of a text, those within others after them; `None` if they are too many or too deep
/// to be read, so that the text may name anything.
pub(super) fn commands(text: &str) -> Option<Vec<Command>> {
    let mut found = Vec::new();
    let text = without_ours(text);
    read(&text, &assigned(&text), DEPTH_MAX, &mut found).then_some(found)
}

/// Reads one level of a text: its own commands, what is run for what it prints, and what else is within words.
pub(super) fn level(text: &str) -> (Vec<Command>, Vec<String>, Vec<String>) {
    let text = without_ours(text);
    let assigned = assigned(&text);
    let mut lexer = Lexer::new(&text, &assigned);
    let commands = std::iter::from_fn(|| lexer.command()).filter(|it| !it.is_empty()).collect();
    let others = lexer.inner.into_iter().filter(|it| !lexer.printed.contains(it)).collect();
    (commands, lexer.printed, others)
}

/// Reads a text as one word, as a shell reads what stands in double quotes.
pub(super) fn expanded(text: &str) -> String {
    let text = without_ours(text);
    let assigned = HashSet::new();
    let mut lexer = Lexer::new(&text, &assigned);
    while let Some(c) = lexer.next() {
        match c {
            '$' => lexer.expansion(),
            '`' => lexer.back_quoted(),
            c => lexer.push(c),
        }
    }
    lexer.word.unwrap_or_default()
}

/// What could be taken for a part that is left open is left open.
fn without_ours(text: &str) -> String {
    let is_ours = |c: char| ('\u{f0000}'..='\u{f000f}').contains(&c);
    text.replace(is_ours, &VARIABLE.to_string())
}

/// Returns the variables to which a text gives words, and never what only the shell knows.
fn assigned(text: &str) -> HashSet<&str> {
    let (mut known, mut unknown) = (HashSet::new(), HashSet::new());
    let is_break = |c: char| c.is_whitespace() || ";&|(){}\"'".contains(c);
    let is_open = |it: &str| it.contains(['$', '`']);
    let is_any = |it: &str| !it.is_empty() && it.chars().all(|c| "*?[]./".contains(c));
    for (name, value) in text.split(is_break).filter_map(|it| it.split_once('=')) {
        // What is quoted, or printed by more than one word, is not in the value that is seen here.
        let is_open_somewhere = text.match_indices(name).any(|(at, _)| {
            let rest = text.get(at + name.len()..).and_then(|it| it.strip_prefix('='));
            let quoted = rest.and_then(|it| it.strip_prefix('"')).and_then(|it| it.split_once('"'));
            quoted.is_some_and(|(quoted, _)| is_open(quoted))
        });
        match is_open(value) || is_any(value) || is_open_somewhere {
            true => unknown.insert(name.trim_end_matches('+')),
            false => known.insert(name.trim_end_matches('+')),
        };
    }
    let words: Vec<&str> = text.split(is_break).filter(|it| !it.is_empty()).collect();
    for (nth, word) in words.iter().enumerate() {
        let after = words.get(nth + 1..).unwrap_or_default();
        match (*word, after) {
            ("for" | "select", [name, "in", list @ ..]) => {
                let mut list = list.iter().take_while(|it| **it != "do");
                let is_unknown = list.any(|it| is_open(it) || is_any(it));
                if is_unknown {
                    unknown.insert(name)
                } else {
                    known.insert(name)
                };
            }
            ("read" | "mapfile" | "readarray" | "getopts", after) => {
                let names = after.iter().take_while(|it| !matches!(**it, "do" | "then"));
                unknown.extend(names.copied());
            }
            _ => {}
        }
    }
    known.difference(&unknown).copied().collect()
}

/// Returns whether all was read.
fn read(text: &str, assigned: &HashSet<&str>, depth: usize, found: &mut Vec<Command>) -> bool {
    if depth == 0 || COMMANDS_MAX <= found.len() {
        return false;
    }
    let mut lexer = Lexer::new(text, assigned);
    let mut nested = Vec::new();
    while let Some(words) = lexer.command() {
        for word in &words {
            // A quoted command, as `sh -c` and `eval` take it.
            if word.contains(|c: char| c.is_whitespace() || ";|&<>()".contains(c)) && *word != text
            {
                nested.push(word.clone());
            }
        }
        if !words.is_empty() {
            found.push(words);
        }
    }
    nested.append(&mut lexer.inner);
    found.len() <= COMMANDS_MAX
        && nested.iter().all(|text| text.is_empty() || read(text, assigned, depth - 1, found))
}

struct Lexer<'a> {
    rest: &'a str,
    word: Option<String>,
    words: Command,
    /// Commands within the words, and other texts that may be read as commands.
    inner: Vec<String>,
    /// Those of them that are run for what they print.
    printed: Vec<String>,
    /// Variables to which the whole text gives words.
    assigned: &'a HashSet<&'a str>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, assigned: &'a HashSet<&'a str>) -> Self {
        let (words, inner, printed) = Default::default();
        Self { rest: text, word: None, words, inner, printed, assigned }
    }

    /// Reads on to the end of a command; `None` if nothing is left.
    fn command(&mut self) -> Option<Command> {
        if self.rest.is_empty() {
            return None;
        }
        while let Some(c) = self.next() {
            match c {
                '\'' => {
                    let quoted = self.until('\'');
                    self.push_str(&quoted);
                }
                '"' => self.double_quoted(),
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c) => self.push(c),
                },
                '$' => self.expansion(),
                '`' => self.back_quoted(),
                '*' | '?' => self.push(GLOB),
                '[' if self.rest.contains(']') && !self.rest.starts_with(char::is_whitespace) => {
                    self.until(']');
                    self.push(GLOB);
                }
                '{' if self.is_in_braces() => {
                    let inner = self.balanced('{', '}');
                    // With a slash, or with braces within, it is more than characters of one name.
                    self.push(if inner.contains(['/', '{']) { VARIABLE } else { GLOB });
                    self.inner.push(inner);
                }
                // `tools/@(a|b)` of a shell that knows such patterns; `f()` is a function.
                '(' if self.word.as_ref().is_some_and(|it| it.ends_with(PATTERNS)) => {
                    let inner = self.balanced('(', ')');
                    self.inner.push(inner);
                    self.push(VARIABLE);
                }
                ' ' | '\t' | '<' | '>' => self.end_word(),
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    self.end_word();
                    return Some(std::mem::take(&mut self.words));
                }
                c => self.push(c),
            }
        }
        self.end_word();
        Some(std::mem::take(&mut self.words))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn push_str(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        match self.word.take().as_deref() {
            None => {}
            Some(word) if RESERVED.contains(&word) => {}
            Some(word) => self.words.push(word.to_owned()),
        }
    }

    /// Takes all up to `end`, which goes too.
    fn until(&mut self, end: char) -> String {
        let (taken, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken.to_owned()
    }

    /// Returns whether a brace that was just read begins a list of names, and no group of commands.
    fn is_in_braces(&self) -> bool {
        let mut ahead = Lexer::new(self.rest, self.assigned);
        let inner = ahead.balanced('{', '}');
        inner.len() < self.rest.len() && !inner.contains(char::is_whitespace)
    }

    fn double_quoted(&mut self) {
        self.push_str("");
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some('\n') | None => {}
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.expansion(),
                '`' => self.back_quoted(),
                c => self.push(c),
            }
        }
    }

    fn back_quoted(&mut self) {
        let inner = self.until('`');
        self.printed(&inner);
    }

    /// Reads what follows a `$`.
    fn expansion(&mut self) {
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inner = self.balanced('(', ')');
            return self.printed(&inner);
        }
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            let inner = self.balanced('{', '}');
            let end = inner.find(|c: char| !is_of_name(c)).unwrap_or(inner.len());
            let (name, more) = inner.split_at(end);
            // Something that is taken if there is no such variable: `${X:-tools/x}`.
            self.inner.push(more.trim_start_matches([':', '-', '=', '+', '?']).to_owned());
            // Any other sign makes something else of it: `${HOME%/*}`, `${!X}`.
            let is_plain = more.is_empty() || more.trim_start_matches(':').starts_with(['-', '=']);
            return match is_plain && !name.is_empty() {
                true => self.variable(name),
                false if matches!(inner.as_str(), "@" | "*") => self.push(TYPED),
                false => self.push(VARIABLE),
            };
        }
        let end = self.rest.find(|c: char| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if !name.is_empty() {
            self.rest = rest;
            return self.variable(name);
        }
        match self.rest.chars().next() {
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.next();
                self.push(TYPED);
            }
            // Text that is translated.
            Some('"') => {}
            // Text with escapes.
            Some('\'') => {
                self.next();
                let quoted = self.until('\'');
                let known = quoted.split('\\').next().unwrap_or_default();
                self.push_str(known);
                if known.len() < quoted.len() {
                    self.push(VARIABLE);
                }
            }
            Some(_) | None => self.push('$'),
        }
    }

    fn variable(&mut self, name: &str) {
        match name {
            "PWD" | "GIT_WORK_TREE" => self.push(TOP),
            "HOME" if self.word.as_ref().is_none_or(String::is_empty) => self.push('~'),
            "GIT_DIR" => self.push_str(".git"),
            "SHELL" => self.push_str("sh"),
            name if name.chars().all(|c| c.is_ascii_digit()) => self.push(TYPED),
            name if CHOSEN.contains(&name) || LISTS.contains(&name) => self.push(ASSIGNED),
            name if self.assigned.contains(name) => self.push(ASSIGNED),
            _ => self.push(VARIABLE),
        }
    }

    /// Notes a command of which only what it prints is a part of the word.
    fn printed(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["pwd", ..] | ["git", "rev-parse", "--show-toplevel"] => self.push(TOP),
            ["git", "rev-parse", "--git-dir" | "--git-common-dir"] => self.push_str(".git"),
            _ => {
                self.inner.push(command.to_owned());
                self.printed.push(command.to_owned());
                self.push(PRINTED);
            }
        }
    }

    /// Takes all up to the sign that ends what began with one which was just read.
    fn balanced(&mut self, begin: char, end: char) -> String {
        let (mut taken, mut n_open) = (String::new(), 1);
        while let Some(c) = self.next() {
            n_open += i32::from(c == begin) - i32::from(c == end);
            if n_open == 0 {
                break;
            }
            taken.push(c);
        }
        taken
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of all commands, with the parts that are left open as `*`, `@` (the top), `$`, `` ` ``,
    /// `#` (typed) and `=` (assigned).
    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let shown = |word: &String| {
            let shown = word.replace(GLOB, "*").replace(TOP, "@");
            let shown = shown.replace(VARIABLE, "$").replace(PRINTED, "`");
            shown.replace(TYPED, "#").replace(ASSIGNED, "=")
        };
        let found: Vec<Vec<String>> =
            commands(text).unwrap().iter().map(|words| words.iter().map(shown).collect()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_what_a_shell_makes_of_them() {
        check("sh 'my dir/run.sh'", &[&["sh", "my dir/run.sh"], &["my", "dir/run.sh"]]);
        check(r#"sh "my dir"/run.sh"#, &[&["sh", "my dir/run.sh"], &["my", "dir/run.sh"]]);
        check(r"sh my\ dir/run.sh", &[&["sh", "my dir/run.sh"], &["my", "dir/run.sh"]]);
        check("sh to'ol's/x\"y\"", &[&["sh", "tools/xy"]]);
        check("f() { cd a && ./x; }; f", &[&["f"], &["cd", "a"], &["./x"], &["f"]]);
        check("sh -c 'a/b; c'", &[&["sh", "-c", "a/b; c"], &["a/b"], &["c"]]);
        check("a/b<c>d", &[&["a/b", "c", "d"]]);
    }

    #[test]
    fn what_only_the_shell_knows_is_left_open() {
        check("sh tools/*.sh", &[&["sh", "tools/*.sh"]]);
        check("sh tools/[ab].{sh,py}", &[&["sh", "tools/*.*"], &["sh,py"]]);
        check("$PWD/x ${PWD}/y $(pwd)/z", &[&["@/x", "@/y", "@/z"]]);
        check("\"$(git rev-parse --show-toplevel)\"/tools/x", &[&["@/tools/x"]]);
        check("cd ${GIT_PREFIX:-.} && ./x", &[&["cd", "="], &["./x"], &["."]]);
        check("$HOME/x $X/y $1 $@ ${2:-z}", &[&["~/x", "$/y", "#", "#", "#"], &["z"]]);
        check("sh $(cat tools/name)", &[&["sh", "`"], &["cat", "tools/name"]]);
        check("sh `cat tools/name`/x", &[&["sh", "`/x"], &["cat", "tools/name"]]);
        check("[ -f x ] && y", &[&["[", "-f", "x", "]"], &["y"]]);
    }

    #[test]
    fn a_variable_that_the_text_gives_words_is_told_apart() {
        check("N=a.sh; sh $N", &[&["N=a.sh"], &["sh", "="]]);
        check("N='a b'; sh \"$N\"", &[&["N=a b"], &["sh", "="], &["N=a", "b"]]);
        check("sh $N", &[&["sh", "$"]]);
        check("N=$(ls); sh $N", &[&["N=`"], &["sh", "$"], &["ls"]]);
        check("N=\"$(ls)\"; sh $N", &[&["N=`"], &["sh", "$"], &["ls"]]);
        check("N=`ls`; sh $N", &[&["N=`"], &["sh", "$"], &["ls"]]);
        check("for f in a b; do sh $f; done", &[&["for", "f", "in", "a", "b"], &["sh", "="]]);
        check("for f in $(ls); do sh $f; done", &[&["for", "f", "in", "`"], &["sh", "$"], &["ls"]]);
        check("ls | while read f; do sh $f; done", &[&["ls"], &["read", "f"], &["sh", "$"]]);
        check("f=a; read f; sh $f", &[&["f=a"], &["read", "f"], &["sh", "$"]]);
        check("$SHELL x $EDITOR y", &[&["sh", "x", "=", "y"]]);
    }
}
