//! What interpreters load besides what their words name: modules beside a script, endings that are left
//! out, packages.

use super::super::names::classes::{PYTHON_FILE, PYTHON_PACKAGE, is_python_s_own};
use super::super::shell::{GLOB, OPEN};
use super::{Name, Reader, base_name, values};

/// Interpreters of one language, and the endings of all that they load: sources, compiled ones, libraries.
const MODULES: [(&[&str], &[&str]); 7] = [
    (&["perl"], &["pm", "pmc", "pl", "ph", "al", "ix", "so"]),
    (&["ruby", "irb"], &["rb", "so", "bundle"]),
    (&["lua", "luajit"], &["lua", "luac", "so"]),
    (&["tclsh", "wish", "expect"], &["tcl", "tm", "so"]),
    (&["php"], &["php", "phar", "inc", "so"]),
    (&["guile"], &["scm", "go", "so"]),
    (&NODES, &["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "node", "wasm"]),
];
/// The endings of all that Python loads.
const PYTHON: [&str; 6] = ["py", "pyc", "pyo", "pyw", "pyd", "so"];
/// What decides which files Node loads from a directory.
const NODE_DECIDES: [&str; 3] = ["package.json", "index.json", "tsconfig.json"];
/// Interpreters that look for packages as Node does.
const NODES: [&str; 6] = ["node", "nodejs", "bun", "deno", "tsx", "ts-node"];
/// Shells, whose code is read as commands are.
const SHELLS: [&str; 14] = [
    ".", "ash", "bash", "busybox", "dash", "eval", "fish", "ksh", "mksh", "nu", "rc", "sh",
    "source", "zsh",
];
/// By interpreters: the letters of options with which code follows in place of a script, and the options
/// that take a word which is neither.
type Grammar = (&'static [&'static str], &'static str, &'static [&'static str]);
const GRAMMARS: [Grammar; 8] = [
    (&SHELLS, "c", &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"]),
    (&["python", "pypy"], "cm", &["-X", "-W", "--check-hash-based-pycs"]),
    (
        &NODES,
        "ep",
        &["-r", "--require", "--import", "-C", "--conditions", "--loader", "--env-file"],
    ),
    (&["perl"], "eE", &["-I"]),
    (&["ruby", "irb"], "e", &["-I", "-r", "-C", "-E"]),
    (&["awk", "gawk", "mawk", "nawk"], "e", &["-v", "-F", "-i"]),
    (&["lua", "php", "guile", "groovy"], "er", &["-l", "-d", "-c", "-L"]),
    (&["sed"], "e", &["-l"]),
];

impl Reader {
    /// Notes what an interpreter that is run with these words loads.
    pub(super) fn interpreter(&mut self, program: &str, rest: &[String]) {
        match script(program, rest) {
            Script::Word(script) => self.runs.any |= self.is_unknown(script),
            Script::Input => self.runs.input = true,
            // Code that only the shell knows may run anything.
            Script::Code => {
                let code = rest.iter().find(|it| !it.starts_with(['-', '+']));
                self.runs.any |= code.is_some_and(|it| self.is_unknown(it));
            }
        }
        if !SHELLS.contains(&program) {
            self.codes(rest);
        }
        if program.starts_with("python") || program.starts_with("pypy") {
            self.python(rest);
        }
        if program.starts_with("perl") {
            self.perl(rest);
        }
        if NODES.contains(&program) {
            self.node(rest);
        }
        let of = || MODULES.iter().filter(|(of, _)| of.iter().any(|it| program.starts_with(it)));
        for ending in of().filter(|(of, _)| *of != NODES).flat_map(|(_, endings)| *endings) {
            let modules = format!("*.{ending}");
            rest.iter().flat_map(|it| values(it)).for_each(|it| self.inside(it, &modules));
        }
        let is_here = |it: &String| values(it).iter().any(|it| matches!(*it, "." | "./"));
        for (_, endings) in of() {
            // Node reads `.` as a package, which is looked up.
            if rest.iter().any(is_here) && !NODES.contains(&program) {
                for ending in *endings {
                    self.push(Name::Anywhere(format!("*.{ending}")));
                }
            }
            let is_beside = self.kin(program, rest, endings);
            if is_beside {
                endings.iter().for_each(|ending| self.beside(&format!("*.{ending}")));
            }
        }
    }

    /// Notes what an interpreter would load from the directories of its scripts; returns whether one of them
    /// is where the command runs.
    fn kin(&mut self, program: &str, rest: &[String], endings: &[&str]) -> bool {
        let has_ending = |it: &str| {
            it.rsplit_once('.')
                .is_some_and(|(_, ending)| endings.iter().any(|of| ending.starts_with(of)))
        };
        let is_named = |it: &&String| it.contains('/') || has_ending(it);
        let named = rest.iter().filter(|it| !it.starts_with('-')).filter(is_named);
        let first = match script(program, rest) {
            Script::Word(word) => Some(word),
            Script::Input | Script::Code => None,
        };
        let mut is_beside = false;
        for script in named.map(String::as_str).chain(first) {
            match script.rsplit_once('/') {
                Some((directory, _)) if !matches!(directory, "" | "." | "..") => {
                    self.beneath(directory, endings);
                    if NODES.contains(&program) {
                        self.deciding(directory);
                    }
                }
                _ => is_beside = true,
            }
        }
        is_beside
    }

    pub(super) fn codes(&mut self, words: &[String]) {
        for word in words {
            self.code(word);
        }
    }

    /// Notes the parts of a text in another language that may be paths or modules.
    pub(super) fn code(&mut self, text: &str) {
        let is_of_path = |c: char| c.is_alphanumeric() || "_./~-".contains(c) || OPEN.contains(&c);
        if !text.contains(|c: char| !is_of_path(c)) {
            return;
        }
        for piece in text.split(|c| !is_of_path(c)) {
            let is_number = piece.chars().all(|c| c.is_ascii_digit() || c == '.');
            if !is_number && (1 < piece.len() || piece.contains('/')) {
                self.candidate(piece);
            }
        }
    }

    /// Python takes modules from the directory of its script, or from where it runs.
    pub(super) fn python(&mut self, rest: &[String]) {
        let mut is_only_its_own = true;
        for (nth, word) in rest.iter().enumerate() {
            if let Some(module) = module_of(word, rest.get(nth + 1)) {
                is_only_its_own &= self.modules(module);
            }
            if is_code("python", word) {
                let code = rest.get(nth + 1).map_or("", String::as_str);
                is_only_its_own &= self.imports(word) & self.imports(code);
            }
        }
        is_only_its_own &= !self.kin("python", rest, &PYTHON);
        if is_only_its_own {
            self.beside(PYTHON_FILE);
            self.beside(&format!("{PYTHON_PACKAGE}/__init__.*"));
            return;
        }
        for ending in PYTHON {
            self.beside(&format!("*.{ending}"));
        }
        for pattern in ["*/__init__.*", "__pycache__/*", "*/__pycache__/__init__.*"] {
            self.beside(pattern);
        }
    }

    /// Notes the modules beneath the directory of a script, whether it is called a package or not.
    fn beneath(&mut self, directory: &str, endings: &[&str]) {
        for ending in endings {
            self.candidate(&format!("{directory}/{GLOB}{GLOB}/{GLOB}.{ending}"));
        }
    }

    /// Notes the files that decide what is loaded from a directory.
    fn deciding(&mut self, directory: &str) {
        for name in NODE_DECIDES {
            self.candidate(&format!("{directory}/{GLOB}{GLOB}/{name}"));
        }
    }

    /// Notes a pattern where the command runs, and where it goes.
    pub(super) fn beside(&mut self, pattern: &str) {
        self.push(match self.is_anywhere {
            true => Name::Anywhere(pattern.to_owned()),
            false => Name::Glob(pattern.to_owned()),
        });
        for directory in self.directories.clone() {
            let directory = directory.trim_matches(|c| c == super::TOP || c == '/');
            self.push(Name::Glob(format!("{directory}/{pattern}")));
        }
    }

    /// Notes the modules that code imports; returns whether all are Python's own.
    fn imports(&mut self, code: &str) -> bool {
        let is_of_module = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let mut words = code.split(|c| !is_of_module(c)).filter(|it| !it.is_empty()).peekable();
        let mut is_own = true;
        while let Some(word) = words.next() {
            if matches!(word, "import" | "from" | "import_module" | "__import__") {
                // `import a, b` as well.
                for module in words.clone().take_while(|it| *it != "import").take(8) {
                    is_own &= self.modules(module);
                }
            }
        }
        is_own && !code.contains(OPEN)
    }

    /// Notes what a module is loaded from; returns whether it is Python's own.
    fn modules(&mut self, module: &str) -> bool {
        let first = module.split('.').next().unwrap_or_default();
        if is_python_s_own(first.as_bytes()) {
            // Only what replaces it, wherever that is looked for.
            self.candidate(&format!("{first}.py"));
            self.candidate(&format!("{first}.py{GLOB}"));
            self.candidate(&format!("{first}{GLOB}.so"));
            self.candidate(&format!("{first}/__init__.{GLOB}"));
            return true;
        }
        let mut path = String::new();
        for part in module.split('.').filter(|it| !it.is_empty()) {
            path.push_str(part);
            self.candidate(&format!("{path}.{GLOB}"));
            path.push('/');
            self.candidate(&format!("{path}__init__.{GLOB}"));
        }
        self.candidate(path.trim_end_matches('/'));
        false
    }

    /// Perl's modules are named with colons.
    fn perl(&mut self, rest: &[String]) {
        for word in rest {
            let module = word.strip_prefix("-M").or_else(|| word.strip_prefix("-m"));
            let module = module.map(|it| it.split('=').next().unwrap_or_default());
            if let Some(module) = module.filter(|it| !it.is_empty()) {
                let module = module.replace("::", "/");
                self.candidate(&format!("{module}.pm"));
                self.candidate(&format!("{module}.pmc"));
            }
        }
    }

    /// Notes the modules that a hook runs by their names, and what would replace one of Python's own.
    ///
    /// Unlike a setting that does so, it makes no other file of the directory count: hooks are programs, and
    /// which modules of the user's they load is what a named program runs in turn.
    pub(super) fn python_modules(&mut self, modules: &[&str]) {
        for module in modules {
            self.modules(module);
        }
        self.beside(PYTHON_FILE);
        self.beside(&format!("{PYTHON_PACKAGE}/__init__.*"));
    }

    /// Node leaves endings out, and looks for packages.
    fn node(&mut self, rest: &[String]) {
        // What code requires stands in quotes.
        for quoted in rest.iter().flat_map(|it| it.split(['"', '\'', '`']).skip(1).step_by(2)) {
            let is_bare = !quoted.starts_with(['.', '/', '~']) && !quoted.is_empty();
            if is_bare && !quoted.contains(char::is_whitespace) {
                self.candidate(&format!("node_modules/{quoted}"));
                self.candidate(&format!("node_modules/{quoted}.{GLOB}"));
            }
        }
        for word in rest.iter().flat_map(|it| values(it)).filter(|it| !it.starts_with('-')) {
            let word = word.trim_end_matches('/');
            if matches!(word, "." | ".." | "") {
                self.candidate(&format!("index.{GLOB}"));
                self.candidate("package.json");
                self.push(Name::Package(".".to_owned()));
                continue;
            }
            if word.contains(char::is_whitespace) {
                continue;
            }
            self.candidate(&format!("{word}.{GLOB}"));
            self.push(Name::Package(word.to_owned()));
            if !word.starts_with(['.', '/', '~']) {
                self.candidate(&format!("node_modules/{word}"));
                self.candidate(&format!("node_modules/{word}.{GLOB}"));
            }
        }
    }
}

/// What an interpreter runs.
pub(super) enum Script<'a> {
    Word(&'a str),
    /// Code in its words.
    Code,
    /// What it reads.
    Input,
}

pub(super) fn script<'a>(program: &str, rest: &'a [String]) -> Script<'a> {
    let (_, with_word) = grammar(program);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-" | "-s" => return Script::Input,
            "--" => return words.next().map_or(Script::Input, |it| Script::Word(it)),
            it if is_code(program, it) => return Script::Code,
            it if with_word.contains(&it) => {
                words.next();
            }
            it if it.starts_with(['-', '+']) => {}
            it => return Script::Word(it),
        }
    }
    Script::Input
}

fn grammar(program: &str) -> (&'static str, &'static [&'static str]) {
    let is_of = |names: &[&str]| {
        let is_one = |it: &&str| program == *it || (2 < it.len() && program.starts_with(it));
        names.iter().any(is_one)
    };
    let found = GRAMMARS.iter().find(|(programs, _, _)| is_of(programs));
    found.map_or(("", &[]), |(_, letters, with_word)| (letters, with_word))
}

/// Returns whether an option says that code follows, or a module: `-c`, and others before it in one word.
fn is_code(program: &str, word: &str) -> bool {
    let (letters, _) = grammar(program);
    let given = word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
    // After these, the rest of the word is a value.
    let with_value = if letters == "cm" { "XW" } else { "CDFIKLMOVWXdilmorx" };
    let is_flag = |c: &char| letters.contains(*c) || !with_value.contains(*c);
    let mut given = given.chars().take_while(|c| c.is_ascii_alphabetic() && is_flag(c));
    given.any(|c| letters.contains(c)) || matches!(word, "--eval" | "--print" | "--command")
}

/// Returns the module that an option of Python's names, in the same word or the next.
fn module_of<'a>(word: &'a str, next: Option<&'a String>) -> Option<&'a str> {
    let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
    let (_, module) = letters.split_once('m')?;
    let module = if module.is_empty() { next?.as_str() } else { module };
    let module = base_name(module);
    (!module.is_empty()).then_some(module)
}
