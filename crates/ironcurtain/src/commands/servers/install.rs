//! Packages of npm and `PyPI`, installed once for one server, pinned, and run from where they are.
//!
//! ```text
//! npx PACKAGE …  ─▶ npm, in a cage: locked, checked, installed ──────────────┐
//! uvx PACKAGE …  ─▶ pip, in a cage: wheels with their hashes ────────────────┤
//! --from DIR     ─▶ copied, through no link ─────────────────────────────────┤
//!              servers/NAME/pkg-DIGEST/, and a line that runs from there ◀───┘
//! ```
//!
//! The digest of all that was pinned is part of the path, and so of the server's identity: another
//! version is another way to be started, and withheld until somebody trusts it. How packages are fetched
//! is in `installer`. Neither the entry nor the tools are known here.

mod from;
mod package;

use std::path::{Path, PathBuf};

use ic_backend::launch::DATA;
use ic_home::{Environment, Home, Scratch, file};
use ic_types::{Digest, Json, Object, ServerName};

use crate::error::Failure;
use crate::installer::{Installer, is_of_the_system, npm, pypi, real_path};
use crate::screen::Screen;
use crate::trial::Trial;

pub(super) use from::copy;
pub(super) use package::{Asked, Ecosystem, asked};

/// What is written down beside the package.
const RECORD: &str = "installed.json";
/// How many digits of the digest stand in the path.
const DIGEST_LEN: usize = 16;

/// A package that is installed, and how it is run.
#[derive(Debug)]
pub(super) struct Installed {
    /// The program, a whole path.
    pub(super) command: String,
    /// Its first arguments.
    pub(super) args: Vec<String>,
    /// What it needs in its environment.
    pub(super) env: Vec<(String, String)>,
    /// Where it runs, if not in a directory of its own.
    pub(super) directory: Option<String>,
    /// What its cage has to show besides, because the program does not lie where every cage looks.
    pub(super) allow_read: Vec<String>,
    /// What was installed, in words.
    pub(super) what: String,
}

/// A package in the directory that was made for it, before it has its place.
#[derive(Debug)]
struct Placed {
    version: String,
    integrity: String,
    /// All that was pinned.
    pinned: Vec<u8>,
    /// The file to run, below the directory.
    script: PathBuf,
    /// What runs it.
    program: PathBuf,
    /// Directories below the directory that the program looks for code in.
    search: Option<(&'static str, PathBuf)>,
}

/// What is needed to install something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    /// A place for the moment, and what starts children.
    pub(super) trial: &'a Trial,
    /// Our home.
    pub(super) home: &'a Home,
    /// The user's settings.
    pub(super) environment: &'a Environment,
}

impl Site<'_> {
    /// Makes the directory of a server, and one in it for what is going to stay.
    fn prepare(&self, name: &ServerName) -> Result<(PathBuf, Scratch), Failure> {
        let parent = self.home.installed_servers();
        file::create_dir(&parent)?;
        let own = parent.join(name.as_str());
        file::create_dir(&own)?;
        // Our home may be behind a link, and the cage of a server shows what that leads to.
        let own = real_path(&own)?;
        let kept = Scratch::new_in(&own)?;
        Ok((own, kept))
    }
}

/// Installs what was asked for, as the server `name`.
pub(super) fn install(
    asked: &Asked,
    name: &ServerName,
    site: Site<'_>,
    screen: &mut Screen,
) -> Result<Installed, Failure> {
    let (own, kept) = site.prepare(name)?;
    let cage = site.trial.path().join("installer");
    file::create_dir(&cage)?;
    let installer = Installer::new(site.trial, site.home, site.environment, &cage, screen)?;
    let placed = match asked.ecosystem {
        Ecosystem::Npm => of_npm(asked, &installer, kept.path(), screen)?,
        Ecosystem::PyPi => of_pypi(asked, &installer, kept.path(), screen)?,
    };
    let digest = Digest::of(&placed.pinned).to_string();
    let place = place(&own, &digest);
    kept.keep_as(&place)?;
    let Placed { version, integrity, script, program, search, .. } = placed;
    let what = format!("{} {version} from {}", asked.package, asked.ecosystem.as_str());
    let record = [
        ("ecosystem", asked.ecosystem.as_str()),
        ("package", asked.package.as_str()),
        ("version", &version),
        ("integrity", &integrity),
        ("pinned", &digest),
    ];
    write_record(&own, record)?;
    let mut args: Vec<String> = Vec::new();
    if asked.ecosystem == Ecosystem::PyPi {
        // Nothing is written beside the code, which the cage shows to be read alone.
        args.push("-B".to_owned());
    }
    args.push(text(&place.join(script))?);
    let env = match search {
        Some((variable, directory)) => {
            vec![(variable.to_owned(), text(&place.join(directory))?)]
        }
        None => Vec::new(),
    };
    let allow_read = beyond_the_cage(&program).into_iter().collect();
    Ok(Installed { command: text(&program)?, args, env, directory: None, allow_read, what })
}

/// Returns the place of what has this digest.
fn place(own: &Path, digest: &str) -> PathBuf {
    own.join(format!("pkg-{}", digest.get(..DIGEST_LEN).unwrap_or(digest)))
}

fn write_record<const N: usize>(own: &Path, entries: [(&str, &str); N]) -> Result<(), Failure> {
    let mut record = Object::new();
    for (key, value) in entries {
        record.insert(key, value);
    }
    Ok(file::replace(own.join(RECORD), Json::Object(record).to_string().as_bytes())?)
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::environment(format!("the path `{}` is not valid text", path.display()))
    })
}

fn of_npm(
    asked: &Asked,
    installer: &Installer<'_>,
    target: &Path,
    screen: &mut Screen,
) -> Result<Placed, Failure> {
    let wanted = npm::Wanted { package: &asked.package, version: asked.version.as_deref() };
    let npm::Installed { version, integrity, pinned, entry, node } =
        npm::install(installer, wanted, target, screen)?;
    let script = script(&entry, asked).map_err(|why| {
        Failure::environment(format!("`{}` was fetched, but {why}", asked.package))
    })?;
    Ok(Placed {
        version,
        integrity,
        pinned: pinned.into_bytes(),
        script: Path::new(npm::MODULES).join(&asked.package).join(script),
        program: node,
        search: None,
    })
}

fn of_pypi(
    asked: &Asked,
    installer: &Installer<'_>,
    target: &Path,
    screen: &mut Screen,
) -> Result<Placed, Failure> {
    let wanted = (asked.package.as_str(), asked.version.as_deref());
    let pypi::Installed { version, integrity, pinned, python } =
        pypi::install(installer, wanted, target, screen)?;
    let script = asked.program.as_deref().unwrap_or(&asked.package);
    let programs = Path::new(pypi::PACKAGES).join("bin");
    let relative = programs.join(script);
    if file::read(target.join(&relative), 1 << 20)?.is_none() {
        let names = file::names(target.join(programs))?.unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        return Err(Failure::environment(format!(
            "`{0}` was fetched, but it has no program `{script}`; there are: {1}; name one with \
             `uvx --from {0} PROGRAM`",
            asked.package,
            names.join(", "),
        )));
    }
    Ok(Placed {
        version,
        integrity,
        pinned: pinned.into_bytes(),
        script: relative,
        program: python,
        search: Some(("PYTHONPATH", PathBuf::from(pypi::PACKAGES))),
    })
}

/// Returns the installation of a program that no cage shows by itself.
fn beyond_the_cage(program: &Path) -> Option<String> {
    match is_of_the_system(program) {
        true => None,
        // `PREFIX/bin/node`.
        false => Some(program.parent()?.parent()?.display().to_string()),
    }
}

/// Finds the file that is run.
fn script(package: &Object, asked: &Asked) -> Result<PathBuf, String> {
    let Some(Json::Object(programs)) = package.get("bin") else {
        return Err("it has no program".to_owned());
    };
    let short = asked.package.rsplit('/').next().unwrap_or_default();
    let wanted = asked.program.as_deref().unwrap_or(short);
    let only = match (programs.len(), &asked.program) {
        (1, None) => programs.iter().next().map(|(_, path)| path),
        _ => None,
    };
    let Some(path) = programs.get(wanted).or(only).and_then(Json::as_str) else {
        let names: Vec<String> = programs.keys().map(|it| it.escape_debug().to_string()).collect();
        return Err(format!(
            "it has no program `{wanted}`, but {}; name one with `npx -p {} PROGRAM`",
            names.join(", "),
            asked.package
        ));
    };
    let path = Path::new(path.trim_start_matches("./"));
    match path.components().all(|part| matches!(part, std::path::Component::Normal(_))) {
        true => Ok(path.to_owned()),
        false => Err("its program lies outside of it".to_owned()),
    }
}

/// Makes the directory in which a server keeps what is to outlive a session.
pub(super) fn make_data(name: &ServerName, home: &Home) -> Result<(), Failure> {
    let mut path = home.installed_servers();
    for part in [name.as_str(), DATA] {
        file::create_dir(&path)?;
        path.push(part);
    }
    Ok(file::create_dir(&path)?)
}

/// Removes whatever was installed for a server, and returns where it keeps what is not ours to remove.
pub(super) fn uninstall(name: &str, home: &Home) -> Result<Option<PathBuf>, Failure> {
    let own = home.installed_servers().join(name);
    Ok(ic_home::remove_tree_but(&own, DATA)?.then(|| own.join(DATA)))
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;

    use super::*;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            _ => panic!("{text}"),
        }
    }

    fn asked(package: &str, program: Option<&str>) -> Asked {
        Asked {
            ecosystem: Ecosystem::Npm,
            package: package.to_owned(),
            version: None,
            program: program.map(str::to_owned),
            arguments: Vec::new(),
        }
    }

    #[test]
    fn the_program_lies_in_the_package() {
        let found =
            |bin: &str, asked: &Asked| script(&object(&format!(r#"{{"bin":{bin}}}"#)), asked);
        let plain = asked("@a/x", None);
        assert_eq!(found(r#"{"x":"./dist/i.js"}"#, &plain).unwrap(), Path::new("dist/i.js"));
        assert_eq!(found(r#"{"other":"i.js"}"#, &plain).unwrap(), Path::new("i.js"));
        assert_eq!(found(r#"{"y":"y.js","x":"x.js"}"#, &plain).unwrap(), Path::new("x.js"));
        assert!(found(r#"{"y":"y.js","z":"z.js"}"#, &plain).is_err());
        let named = asked("@a/x", Some("y"));
        assert_eq!(found(r#"{"y":"y.js","x":"x.js"}"#, &named).unwrap(), Path::new("y.js"));
        assert!(found(r#"{"x":"x.js"}"#, &named).is_err());
        for outside in ["../x.js", "/etc/x.js", "a/../../x.js"] {
            assert!(found(&format!(r#"{{"x":"{outside}"}}"#), &plain).is_err(), "{outside}");
        }
    }
}
