//! Kinds of names that no `*` describes, as one part of a pattern: what may be a program, and what Python
//! would take for a module of its own.
//!
//! A part that begins with three `*` is one of these. It stands for the last name of a path alone, so that
//! what is beneath a directory called like a program does not count with it.

mod inner;

/// Any file that a shell or another interpreter might be told to run.
///
/// All but what is plainly a text, data, or the source of something that is compiled first: a new ending is
/// taken for a program's.
pub(in crate::executes) const PROGRAM: &str = "***program";
/// A file by which Python would replace a module of its own, or which it loads whenever it starts.
pub(in crate::executes) const PYTHON_FILE: &str = "***python";
/// Any file that a program may be told to obey: what may be a program, or is in a language of settings.
pub(in crate::executes) const ORDERS: &str = "***orders";
/// Nothing: a pattern that ends in it is about the entry of its directory alone, and what is above it.
pub(in crate::executes) const ENTRY: &str = "***entry";
/// A directory called like a module of Python's own.
pub(in crate::executes) const PYTHON_PACKAGE: &str = "***package";

/// Endings of files that nobody runs with an interpreter.
const PLAIN: [&str; 80] = [
    "adoc", "asc", "avif", "bib", "bin", "bmp", "c", "cc", "cpp", "crt", "cs", "css", "csv", "cxx",
    "dart", "diff", "doc", "docx", "eot", "fs", "gif", "go", "graphql", "gz", "h", "hh", "hpp",
    "hs", "htm", "html", "hxx", "ico", "ini", "ipynb", "java", "jpeg", "jpg", "json", "json5",
    "jsonc", "kt", "less", "lock", "log", "m", "map", "markdown", "md", "mdx", "mm", "mp3", "mp4",
    "odt", "ogg", "pdf", "pem", "png", "po", "proto", "rs", "rst", "sass", "scala", "scss", "snap",
    "sql", "svg", "swift", "tex", "tiff", "toml", "tsv", "ttf", "txt", "wav", "webp", "woff",
    "woff2", "xlsx", "xml",
];

/// Modules of Python's own, and those that it loads by itself if there are any.
const PYTHON: [&str; 217] = [
    "abc",
    "aifc",
    "annotationlib",
    "argparse",
    "array",
    "ast",
    "asynchat",
    "asyncio",
    "asyncore",
    "atexit",
    "audioop",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "cProfile",
    "calendar",
    "cgi",
    "cgitb",
    "chunk",
    "cmath",
    "cmd",
    "code",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "compression",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "crypt",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "dbm",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "doctest",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "errno",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "imaplib",
    "imghdr",
    "imp",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "lib2to3",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "mailbox",
    "mailcap",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "modulefinder",
    "msilib",
    "msvcrt",
    "multiprocessing",
    "netrc",
    "nis",
    "nntplib",
    "nt",
    "ntpath",
    "nturl2path",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "ossaudiodev",
    "pathlib",
    "pdb",
    "pickle",
    "pickletools",
    "pipes",
    "pkgutil",
    "platform",
    "plistlib",
    "poplib",
    "posix",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "pty",
    "pwd",
    "py_compile",
    "pyclbr",
    "pydoc",
    "pydoc_data",
    "pyexpat",
    "queue",
    "quopri",
    "random",
    "re",
    "readline",
    "reprlib",
    "resource",
    "rlcompleter",
    "runpy",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "sitecustomize",
    "smtpd",
    "smtplib",
    "sndhdr",
    "socket",
    "socketserver",
    "spwd",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sunau",
    "symtable",
    "sys",
    "sysconfig",
    "syslog",
    "tabnanny",
    "tarfile",
    "telnetlib",
    "tempfile",
    "termios",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "tkinter",
    "token",
    "tokenize",
    "tomllib",
    "trace",
    "traceback",
    "tracemalloc",
    "tty",
    "turtle",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "usercustomize",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "wave",
    "weakref",
    "webbrowser",
    "winreg",
    "winsound",
    "wsgiref",
    "xdrlib",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
];

/// What comes with Python, or with most of its installations, to be run by `python3 -m`.
const PYTHON_TOOLS: [&str; 6] =
    ["_distutils_hack", "idlelib", "pip", "pkg_resources", "setuptools", "wheel"];

/// Returns whether a name is of the kind that a part of a pattern stands for; `None` if it is a plain part.
pub(super) fn is_of(name: &[u8], part: &str) -> Option<bool> {
    match part {
        PROGRAM => Some(may_be_program(name)),
        ORDERS => Some(may_be_program(name) || is_setting(name)),
        ENTRY => Some(false),
        PYTHON_FILE => Some(is_python_file(name)),
        PYTHON_PACKAGE => Some(is_python_s_own(name)),
        _ => None,
    }
}

/// Returns whether a part of a pattern stands for the last name of a path alone.
pub(super) fn is_last_alone(part: &str) -> bool {
    matches!(part, PROGRAM | ORDERS | PYTHON_FILE)
}

fn may_be_program(name: &[u8]) -> bool {
    let at = name.iter().rposition(|byte| *byte == b'.').filter(|at| 0 < *at);
    let ending = at.and_then(|at| name.get(at + 1..));
    !ending.is_some_and(|ending| {
        PLAIN.iter().any(|plain| ending.eq_ignore_ascii_case(plain.as_bytes()))
            || ending.eq_ignore_ascii_case(b"yml")
            || ending.eq_ignore_ascii_case(b"yaml")
    })
}

/// Returns whether a file is in one of the languages in which programs are told what to do.
fn is_setting(name: &[u8]) -> bool {
    const SETTINGS: [&str; 8] = ["ini", "json", "json5", "jsonc", "toml", "xml", "yaml", "yml"];
    let ending = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    SETTINGS.iter().any(|it| ending.eq_ignore_ascii_case(it.as_bytes()))
}

fn is_python_file(name: &[u8]) -> bool {
    let Some(at) = name.iter().position(|byte| *byte == b'.') else { return false };
    let (stem, ending) = name.split_at(at);
    let is_code = ending.starts_with(b".py") || ending.ends_with(b".so");
    is_code && is_python_s_own(stem)
}

/// Returns whether Python has a module of this name by itself, or looks for one whenever it starts.
pub(in crate::executes) fn is_python_s_own(name: &[u8]) -> bool {
    let is_inner = name.starts_with(b"_") && !name.starts_with(b"__");
    let is_inner = is_inner || name.eq_ignore_ascii_case(inner::FUTURE);
    is_inner || PYTHON.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

/// Returns whether Python has a module of this name by itself, or brings one along, spelled so.
pub(in crate::executes) fn is_python_module(name: &[u8]) -> bool {
    let is_one = |own: &&str| name == own.as_bytes();
    PYTHON.iter().any(&is_one)
        || inner::PYTHON_INNER.iter().any(&is_one)
        || name.starts_with(inner::BUILD)
        || PYTHON_TOOLS.iter().any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(part: &str, of: &[&str], not: &[&str]) {
        for name in of {
            assert_eq!(is_of(name.as_bytes(), part), Some(true), "{part}: {name}");
        }
        for name in not {
            assert_eq!(is_of(name.as_bytes(), part), Some(false), "{part}: {name}");
        }
    }

    #[test]
    fn what_is_not_plainly_something_else_may_be_a_program() {
        check(
            PROGRAM,
            &["run", "x.sh", "x.py", "x.js", "x.new", "Makefile", ".profile", "a.txt.sh", "x."],
            &["a.txt", "README.md", "lib.rs", "x.C", "a.sh.txt", "package.json", "ci.yml"],
        );
    }

    #[test]
    fn what_is_obeyed_is_a_program_or_in_a_language_of_settings() {
        check(ORDERS, &["run", "x.sh", "c.toml", "p.json", ".rc", "x.YML"], &["a.txt", "x.md"]);
        check(ENTRY, &[], &["x", "***entry"]);
    }

    #[test]
    fn names_of_python_s_own_modules_are_known() {
        check(
            PYTHON_FILE,
            &["json.py", "sitecustomize.py", "os.cpython-312-x86_64-linux-gnu.so", "_x.py"],
            &["json", "x.py", "json.txt", "conftest.py", "__init__.py"],
        );
        check(PYTHON_PACKAGE, &["json", "email"], &["src", "json.py"]);
    }

    #[test]
    fn modules_that_python_brings_along_are_known_by_their_exact_names() {
        for name in ["json", "cmd", "argparse", "pip", "cProfile", "_weakrefset", "__future__"]
            .into_iter()
            .chain(["_json", "_ssl", "_posixsubprocess", "_sysconfigdata__linux_x86_64-linux-gnu"])
        {
            assert!(is_python_module(name.as_bytes()), "{name}");
        }
        for name in ["JSON", "main", "app", "_helpers", "__init__", "conftest", "setup", "test", ""]
        {
            assert!(!is_python_module(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn other_parts_are_none_of_these() {
        assert_eq!(is_of(b"x", "*"), None);
        assert_eq!(is_of(b"x", "***"), None);
    }
}
