//! Packages of npm and `PyPI`, installed once for one server, pinned, and run from where they are.
//!
//! ```text
//! npx PACKAGE …  ─▶ npm install, no scripts ─▶ package-lock.json: each package with its integrity ─┐
//! uvx PACKAGE …  ─▶ pip resolves, wheels only ─▶ a list with hashes ─▶ pip installs that list ─────┤
//!                                    servers/NAME/pkg-DIGEST/, and a line that runs from there ◀───┘
//! ```
//!
//! The digest of all that was pinned is part of the path, and so of the server's identity: another
//! version is another way to be started, and withheld until somebody trusts it. The installer has the
//! user's network and settings, like any installer; nothing of a package is run before it is in its
//! cage. Neither the entry nor the tools are known here.

mod npm;
mod package;
mod pypi;
mod runner;

use std::path::{Path, PathBuf};

use ic_home::{Home, Scratch, file};
use ic_types::{Digest, Json, Object, ServerName};

use ic_broker::launch::DATA;

use crate::error::Failure;

pub(super) use package::{Asked, Ecosystem, asked};
pub(super) use runner::Runner;

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

/// Installs what was asked for, as the server `name`.
pub(super) fn install(
    asked: &Asked,
    name: &ServerName,
    home: &Home,
    runner: &Runner<'_>,
) -> Result<Installed, Failure> {
    let parent = home.installed_servers();
    file::create_dir(&parent)?;
    let own = parent.join(name.as_str());
    file::create_dir(&own)?;
    let scratch = Scratch::new_in(&own)?;
    let placed = match asked.ecosystem {
        Ecosystem::Npm => npm::install(asked, scratch.path(), runner)?,
        Ecosystem::PyPi => pypi::install(asked, scratch.path(), runner)?,
    };
    let digest = Digest::of(&placed.pinned).to_string();
    let place = own.join(format!("pkg-{}", digest.get(..DIGEST_LEN).unwrap_or(&digest)));
    scratch.keep_as(&place)?;
    let Placed { version, integrity, script, program, search, .. } = placed;
    let what = format!("{} {version} of {}", asked.package, asked.ecosystem.as_str());
    let mut record = Object::new();
    record.insert("ecosystem", asked.ecosystem.as_str());
    record.insert("package", asked.package.as_str());
    record.insert("version", version);
    record.insert("integrity", integrity);
    record.insert("pinned", digest);
    file::replace(own.join(RECORD), Json::Object(record).to_string().as_bytes())?;
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::environment(format!("`{}` is a path that is no text", path.display()))
        })
    };
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
    Ok(Installed {
        command: text(&program)?,
        args,
        env,
        allow_read: beyond_the_cage(&program).into_iter().collect(),
        what,
    })
}

/// Returns the installation of a program that no cage shows by itself.
fn beyond_the_cage(program: &Path) -> Option<String> {
    let is_shown = ["/usr", "/bin", "/lib", "/lib64"].iter().any(|it| program.starts_with(it));
    match is_shown {
        true => None,
        // `PREFIX/bin/node`.
        false => Some(program.parent()?.parent()?.display().to_string()),
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
