//! A command line that asks for a package: `npx`, `uvx` and their like, read and never run.
//!
//! Only names and versions are taken: no path, no repository, no address, no option of an installer.

/// Where a package comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Ecosystem {
    /// npm.
    Npm,
    /// The Python Package Index.
    PyPi,
}

/// A package that is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in super::super) struct Asked {
    /// Where it comes from.
    pub(in super::super) ecosystem: Ecosystem,
    /// Its name.
    pub(in super::super) package: String,
    /// Its version, if that is said.
    pub(super) version: Option<String>,
    /// Which of its programs is meant, if that is said.
    pub(super) program: Option<String>,
    /// The arguments of the server itself.
    pub(in super::super) arguments: Vec<String>,
}

/// A command line that asks for a package in a way that we do not take.
pub(in super::super) type Refused = String;

impl Ecosystem {
    /// Returns its name.
    pub(in super::super) fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::PyPi => "PyPI",
        }
    }
}

/// Reads what package a command line asks for; `None` if it is an ordinary program.
pub(in super::super) fn asked(words: &[String]) -> Result<Option<Asked>, Refused> {
    let mut rest = words.iter().map(String::as_str);
    let first = rest.next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let (ecosystem, options): (_, &[&str]) = match name {
        "npx" | "pnpx" | "bunx" => (Ecosystem::Npm, &["-p", "--package"]),
        "uvx" => (Ecosystem::PyPi, &["--from"]),
        "uv" | "pipx" | "npm" | "pnpm" => {
            let taken: &[&str] = match name {
                "uv" => &["tool", "run"],
                "pipx" => &["run"],
                "npm" => &["exec"],
                _ => &["dlx"],
            };
            if !taken.iter().all(|word| rest.next() == Some(word)) {
                return Err(format!(
                    "`{name}` is not a server; write `{name} {} PACKAGE`",
                    taken.join(" ")
                ));
            }
            match name {
                "uv" => (Ecosystem::PyPi, &["--from"]),
                "pipx" => (Ecosystem::PyPi, &["--spec"]),
                _ => (Ecosystem::Npm, &["-p", "--package"]),
            }
        }
        _ => return Ok(None),
    };
    let mut from = None;
    let mut arguments: Vec<String> = Vec::new();
    let named = loop {
        let Some(word) = rest.next() else { return Err("no package is named".to_owned()) };
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value)),
            _ => (word, None),
        };
        match option {
            "-y" | "--yes" | "-q" | "--quiet" | "--" => {}
            option if options.contains(&option) => {
                from = value.or_else(|| rest.next()).map(str::to_owned);
            }
            option if option.starts_with('-') => {
                return Err(format!("`{option}` is not a supported option"));
            }
            _ => break word,
        }
    };
    arguments.extend(rest.map(str::to_owned));
    let (spec, program) = match &from {
        Some(spec) => (spec.as_str(), Some(named.to_owned())),
        None => (named, None),
    };
    let (package, version) = split(ecosystem, spec);
    check(ecosystem, package, version)?;
    if let Some(program) = &program {
        check(Ecosystem::Npm, program, None)?;
    }
    let (package, version) = (package.to_owned(), version.map(str::to_owned));
    Ok(Some(Asked { ecosystem, package, version, program, arguments }))
}

/// Splits the version off; the latest one is the one that is pinned.
fn split(ecosystem: Ecosystem, spec: &str) -> (&str, Option<&str>) {
    let at = match ecosystem {
        // The first sign belongs to the scope.
        Ecosystem::Npm => spec.get(1..).and_then(|rest| rest.find('@')).map(|at| (at + 1, 1)),
        Ecosystem::PyPi => {
            let equals = spec.find("==").map(|at| (at, 2));
            equals.or_else(|| spec.find('@').map(|at| (at, 1)))
        }
    };
    match at.and_then(|(at, length)| Some((spec.get(..at)?, spec.get(at + length..)?))) {
        Some((package, "latest")) => (package, None),
        Some((package, version)) => (package, Some(version)),
        None => (spec, None),
    }
}

fn check(ecosystem: Ecosystem, package: &str, version: Option<&str>) -> Result<(), Refused> {
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && name.len() <= 128
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let is_package = match (ecosystem, package.strip_prefix('@')) {
        (Ecosystem::Npm, Some(scoped)) => {
            scoped.split_once('/').is_some_and(|(scope, name)| is_name(scope) && is_name(name))
        }
        _ => is_name(package),
    };
    if !is_package {
        return Err(format!(
            "`{}` is not a valid package name for {}",
            package.escape_debug(),
            ecosystem.as_str()
        ));
    }
    let is_version = |version: &str| {
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.len() <= 64
            && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+!-".contains(&byte))
    };
    match version {
        Some(version) if !is_version(version) => Err(format!(
            "`{}` is not a version; write one such as 1.2.3, or none",
            version.escape_debug()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<String>, Refused> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        asked(&words).map(|asked| {
            asked.map(|it| {
                let version = it.version.unwrap_or_else(|| "-".to_owned());
                let program = it.program.unwrap_or_else(|| "-".to_owned());
                let arguments = it.arguments.join(",");
                format!(
                    "{} {} {version} {program} [{arguments}]",
                    it.ecosystem.as_str(),
                    it.package
                )
            })
        })
    }

    #[test]
    fn package_runners_are_read() {
        for (line, expected) in [
            ("npx -y @a/server-x /dir --flag", "npm @a/server-x - - [/dir,--flag]"),
            ("npx @a/server-x@1.2.3", "npm @a/server-x 1.2.3 - []"),
            ("npx x@latest", "npm x - - []"),
            ("/usr/bin/npx -p x@1.0 other a", "npm x 1.0 other [a]"),
            ("npx --package=x other", "npm x - other []"),
            ("npm exec -- x a", "npm x - - [a]"),
            ("pnpm dlx x", "npm x - - []"),
            ("uvx mcp-server-git --repository .", "PyPI mcp-server-git - - [--repository,.]"),
            ("uvx mcp-server-git@2.0 a", "PyPI mcp-server-git 2.0 - [a]"),
            ("uvx --from a==1.0 b", "PyPI a 1.0 b []"),
            ("uv tool run a", "PyPI a - - []"),
            ("pipx run --spec a==2 b c", "PyPI a 2 b [c]"),
        ] {
            assert_eq!(read(line).unwrap().as_deref(), Some(expected), "{line}");
        }
        for line in ["node server.js", "/opt/npx-like/run", "python3 -m x", "docker run x"] {
            assert_eq!(read(line), Ok(None), "{line}");
        }
    }

    /// An installer would take these for something else than a package of its registry.
    #[test]
    fn whatever_is_no_name_is_refused() {
        for line in [
            "npx",
            "npx -y",
            "npx ./here",
            "npx ../there",
            "npx /abs/olute",
            "npx git+https://a.example/x",
            "npx https://a.example/x.tgz",
            "npx user/repo",
            "npx @a",
            "npx @a/b/c",
            "npx x@file:../y",
            "npx x@git+ssh://y",
            "npx x@npm:y",
            "npx x@--registry=z",
            "npx --registry=http://evil.example x",
            "npx -c x",
            "npx --node-options=--require=/x y",
            "uvx --index-url http://evil.example x",
            "uvx x@git+https://a.example/x",
            "uvx x==",
            "uvx ./x",
            "uv run x",
            "npm start",
            "npx -p x --flag",
        ] {
            assert!(read(line).is_err(), "{line}: {:?}", read(line));
        }
    }
}
