//! What variables of the environment name that shells, interpreters, pagers and editors obey.
//!
//! Which variables there are, and how each is read, is in `ic_home`, which alone reads them. Here a value
//! becomes names, as the value of a setting does. Pure.

use ic_types::variable::{Obeyed, Reading};

use super::names::classes::{PROGRAM, PYTHON_FILE, PYTHON_PACKAGE};
use super::programs::{self, Name, When};
use super::settings::{Order, Orders, Origin, Takes};

/// Directories of the system: nobody's agent writes there, and much is in them.
const SYSTEM: [&str; 9] =
    ["/bin/", "/lib/", "/lib64/", "/nix/", "/opt/", "/sbin/", "/snap/", "/usr/", "/proc/"];

/// Returns what variables name.
pub(super) fn orders(variables: &[Obeyed]) -> Orders {
    let mut orders = Orders::default();
    for variable in variables {
        let mut names = names(&variable.value, variable.reading);
        names.retain(|name| !is_of_system(name));
        if !names.is_empty() {
            let (key, origin) = (variable.name.to_owned(), Origin::Variable);
            let takes = match variable.reading {
                Reading::Path | Reading::Paths | Reading::Parts(_) => Takes::Orders,
                _ => Takes::Words,
            };
            orders.all.push(Order { key, names, origin, takes });
        }
    }
    orders
}

fn names(value: &str, reading: Reading) -> Vec<Name> {
    match reading {
        Reading::Programs => directories(value, &[PROGRAM]),
        Reading::Modules(kinds) => directories(value, kinds),
        Reading::Python => python(value),
        Reading::Paths => value.split([':', ' ']).flat_map(one).collect(),
        Reading::Path => one(value),
        Reading::Command => {
            // `|-program %s` is how `less` is told, and a browser's are several.
            let value = value.trim_start_matches(['|', '-', '@']);
            let mut names = programs::names(value, When::ByItself);
            names.extend(one(value));
            value.split(':').for_each(|it| names.extend(programs::names(it, When::ByItself)));
            names
        }
        Reading::Options(program) => programs::options(program, value),
        Reading::Any => {
            programs::names(value, When::ByItself).into_iter().chain(one(value)).collect()
        }
        Reading::Code => programs::code(value),
        Reading::Prompt => {
            let printed = value.split("$(").skip(1).chain(value.split('`').skip(1).step_by(2));
            printed.flat_map(|it| programs::names(it, When::ByItself)).collect()
        }
        Reading::Parts(parts) => {
            let of = |directory: &str| {
                let within = |part: &&str| match *part {
                    "" => one(directory),
                    part => one(&format!("{directory}/{part}")),
                };
                parts.iter().flat_map(within).collect::<Vec<_>>()
            };
            value.split(':').filter(|it| !it.is_empty()).flat_map(of).collect()
        }
    }
}

/// Returns the names of directories; of one that is the current one, or the whole tree, what is of a kind.
fn directories(value: &str, kinds: &[&'static str]) -> Vec<Name> {
    let mut names = Vec::new();
    for directory in value.split(':') {
        match (relative(directory), directory.starts_with(['/', '~'])) {
            (_, true) => {
                names.extend(one(directory));
                names.extend(kinds.iter().map(|kind| Name::Inside(directory.to_owned(), kind)));
            }
            ("", false) => {
                names.extend(kinds.iter().map(|kind| Name::Anywhere((*kind).to_owned())));
            }
            (relative, false) => names.push(Name::Anywhere(relative.to_owned())),
        }
    }
    names
}

/// Modules of the user's own are imported on purpose; what comes before Python's own is not.
fn python(value: &str) -> Vec<Name> {
    let mut names = Vec::new();
    for directory in value.split(':') {
        for kind in [PYTHON_FILE.to_owned(), format!("{PYTHON_PACKAGE}/__init__.*")] {
            names.push(match (relative(directory), directory.starts_with(['/', '~'])) {
                (_, true) => Name::Glob(format!("{}/{kind}", directory.trim_end_matches('/'))),
                ("", false) => Name::Anywhere(kind),
                (relative, false) => Name::Anywhere(format!("{relative}/{kind}")),
            });
        }
    }
    names
}

/// Some programs expand what they are told, as a shell does.
fn one(value: &str) -> Vec<Name> {
    let is_begun = ["~", "/proc/"].iter().any(|it| value.starts_with(it));
    if is_begun || value.contains(['$', '`', '{']) {
        let literal = value.starts_with('/').then(|| Name::Path(value.to_owned()));
        return literal.into_iter().chain(programs::path(value)).collect();
    }
    match (value, value.starts_with('/')) {
        ("", _) => Vec::new(),
        (value, true) => vec![Name::Path(value.to_owned())],
        (value, false) => match relative(value) {
            "" => Vec::new(),
            value => vec![Name::Anywhere(value.to_owned())],
        },
    }
}

/// Returns a relative path without what means the current directory.
fn relative(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    if path == "." { "" } else { path }
}

fn is_of_system(name: &Name) -> bool {
    let (Name::Path(path) | Name::Glob(path) | Name::Inside(path, _)) = name else {
        return false;
    };
    // What goes up again may lead anywhere.
    let is_plain = !path.split('/').any(|it| it == "..");
    is_plain && SYSTEM.iter().any(|it| path.starts_with(it) || *path == it.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reading: Reading, value: &str, expected: &[&str]) {
        let variable = Obeyed { name: "V", value: value.to_owned(), reading };
        let orders = orders(&[variable]);
        let shown = |name: &Name| match name {
            Name::Path(it) | Name::Glob(it) => it.clone(),
            Name::Anywhere(it) => format!("**/{it}"),
            Name::Package(it) => format!("package {it}"),
            Name::Inside(it, kind) => format!("{it}/{kind}"),
            Name::Open { before, after } => format!("{before}…{after}"),
            Name::Everything => "everything".to_owned(),
        };
        let found: Vec<String> =
            orders.all.iter().flat_map(|it| it.names.iter().map(shown)).collect();
        for name in expected {
            assert!(found.iter().any(|it| it == name), "{value}: {name} is not in {found:?}");
        }
        assert!(!expected.is_empty() || found.is_empty(), "{value}: {found:?}");
    }

    #[test]
    fn every_directory_of_programs_counts() {
        check(Reading::Programs, "/w/bin:/usr/bin", &["/w/bin", "/w/bin/***program"]);
        check(Reading::Programs, "/usr/bin:/bin:/usr/local/bin", &[]);
        check(Reading::Programs, "./bin:node_modules/.bin", &["**/bin", "**/node_modules/.bin"]);
        for value in ["/usr/bin:", ":/usr/bin", "/usr/bin::/bin", ".:/bin", "./:/bin"] {
            check(Reading::Programs, value, &["**/***program"]);
        }
    }

    #[test]
    fn modules_files_and_commands_count() {
        check(Reading::Modules(&["*.pm"]), "/w/lib:", &["/w/lib", "**/*.pm"]);
        check(Reading::Python, "/w/src", &["/w/src/***python", "/w/src/***package/__init__.*"]);
        check(Reading::Python, "src:", &["**/src/***python", "**/***python"]);
        check(Reading::Path, "/w/rc.sh", &["/w/rc.sh"]);
        check(Reading::Path, "./rc.sh", &["**/rc.sh"]);
        check(Reading::Path, "", &[]);
        check(Reading::Paths, "a.mk /w/b.mk", &["**/a.mk", "/w/b.mk"]);
        check(Reading::Command, "|-/w/lo.sh %s", &["/w/lo.sh"]);
        check(Reading::Command, "firefox:/w/browse %s", &["/w/browse"]);
        check(Reading::Command, ". /w/pc.sh", &["/w/pc.sh"]);
        check(Reading::Command, "less -FRX", &["RX"]);
        check(Reading::Command, "/usr/bin/vim", &[]);
        check(Reading::Options("node"), "-r /w/pre --import=./x", &["/w/pre.*", "./x.*"]);
        check(Reading::Options("perl"), "-I/w/lib -MEd", &["/w/lib", "Ed.pm"]);
        check(Reading::Prompt, r"\u@\h:\w\$ ", &[]);
        check(Reading::Prompt, r"\w $(/w/ps.sh) \$ ", &["/w/ps.sh"]);
        check(Reading::Prompt, r"`/w/ps.sh`>", &["/w/ps.sh"]);
        check(Reading::Parts(&["git", "fish"]), "/w/c:/usr/share", &["/w/c/git", "/w/c/fish"]);
        check(Reading::Code, "source /w/v.vim | set rtp+=/w/rt", &["/w/v.vim", "/w/rt"]);
    }
}
