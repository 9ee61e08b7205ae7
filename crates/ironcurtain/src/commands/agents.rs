//! `ironcurtain agents`: the programs of agents of others, installed once and kept under the home.
//!
//! A program is fetched by exact version and checked by its integrity; no script of its package is run.

mod packed;

use std::path::{Path, PathBuf};

use ic_adapter::Adapter;
use ic_home::{Environment, Home, Scratch, file, remove_tree};
use ic_types::{Digest, Json, Object};
use rustix::fs::Mode;

use crate::agents::{self, InstalledAgent};
use crate::commands::Exit;
use crate::error::Failure;
use crate::installer::{Installer, npm, real_path};
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// How many characters of a digest name a directory.
const DIGEST_LEN: usize = 16;
/// The largest program that is copied.
const PROGRAM_BYTES_MAX: u64 = 2 << 30;

/// What to do with agents.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AgentsCommand {
    /// Fetch the program of an agent from the npm registry, or copy it from a file
    ///
    /// It is kept under the IronCurtain home. Its package is fetched by exact version and checked by its
    /// integrity, and none of its scripts are run.
    Install(InstallArgs),
    /// Show the agents, and which are installed
    List(ListArgs),
    /// Replace the program of an agent by the version that IronCurtain was tested with
    Update {
        /// Agent, such as `claude-code`
        agent: String,
    },
    /// Remove the program of an agent; its sessions stay
    Remove {
        /// Agent, such as `claude-code`
        agent: String,
    },
}

/// What to install.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Agent, such as `claude-code`
    agent: String,
    /// Version to install; without it, the one that IronCurtain was tested with
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Take the agent's program, or its package as `npm pack` makes it, from this file instead of fetching it
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// How to list.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    command: AgentsCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    match command {
        AgentsCommand::Install(args) => {
            let adapter = agents::adapter(&args.agent)?;
            let version = args.version.as_deref();
            let installed = match &args.from {
                Some(file) => copy(adapter, file, version, (&home, environment))?,
                None => fetch(adapter, version, (&home, environment), screen)?,
            };
            report(adapter, &installed, screen);
        }
        AgentsCommand::Update { agent } => {
            let adapter = agents::adapter(&agent)?;
            InstalledAgent::require(&home, adapter)?;
            let installed = fetch(adapter, None, (&home, environment), screen)?;
            report(adapter, &installed, screen);
        }
        AgentsCommand::List(args) => list(&home, args.json, screen)?,
        AgentsCommand::Remove { agent } => {
            let adapter = agents::adapter(&agent)?;
            let title = adapter.title();
            if InstalledAgent::find(&home, adapter)?.is_none() {
                return Err(Failure::config(format!("{title} is not installed")));
            }
            remove_tree(agents::directory(&home, adapter))?;
            screen.notice(&format!("{title} was removed"));
        }
    }
    Ok(Exit::Success)
}

/// Lists the agents.
pub(crate) fn list(home: &Home, is_json: bool, screen: &mut Screen) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for adapter in ic_adapter::ALL {
        let installed = InstalledAgent::find(home, adapter)?;
        if !is_json {
            let state = match &installed {
                None => format!(
                    "not installed; ironcurtain agents install {} fetches {}",
                    adapter.name(),
                    adapter.package().version
                ),
                Some(it) if !it.is_there() => "its program is gone; install it again".to_owned(),
                Some(it) => match it.caution(adapter) {
                    None => format!("{} installed", it.version),
                    Some(caution) => format!("{} installed ({caution})", it.version),
                },
            };
            screen.strangers_line(&format!("{:<12} {state}", adapter.name()))?;
            continue;
        }
        let mut row = Object::new();
        row.insert("agent", adapter.name());
        row.insert("title", adapter.title());
        row.insert("testedVersion", adapter.package().version);
        let is_usable = installed.as_ref().is_some_and(InstalledAgent::is_there);
        row.insert("installed", is_usable);
        if let Some(it) = installed {
            row.insert("version", it.version);
            row.insert("source", it.source);
            row.insert("integrity", it.integrity);
            row.insert("program", it.program.display().to_string());
        }
        rows.push(Json::Object(row));
    }
    if is_json {
        screen.json(&Json::Array(rows).to_string())?;
    }
    Ok(())
}

/// Fetches the version that IronCurtain was tested with, and says so.
pub(crate) fn fetch_and_report(
    adapter: &dyn Adapter,
    site: (&Home, &Environment),
    screen: &mut Screen,
) -> Result<InstalledAgent, Failure> {
    let installed = fetch(adapter, None, site, screen)?;
    let InstalledAgent { version, integrity, .. } = &installed;
    screen.notice(&format!("{} {version} is installed ({integrity})", adapter.title()));
    Ok(installed)
}

fn report(adapter: &dyn Adapter, installed: &InstalledAgent, screen: &mut Screen) {
    let (title, name) = (adapter.title(), adapter.name());
    screen.notice(&format!("{title} {} is installed ({})", installed.version, installed.integrity));
    if let Some(caution) = installed.caution(adapter) {
        screen.warning(&caution);
    }
    screen.notice(&format!("start it with: ironcurtain start --agent {name} \"…\""));
}

/// Fetches the package of an agent.
fn fetch(
    adapter: &dyn Adapter,
    version: Option<&str>,
    (home, environment): (&Home, &Environment),
    screen: &mut Screen,
) -> Result<InstalledAgent, Failure> {
    let package = adapter.package();
    let (own, kept) = prepare(home, adapter)?;
    let trial = Trial::new_in(&home.root())?;
    let cage = trial.path().join("installer");
    file::create_dir(&cage)?;
    let installer = Installer::new(&trial, home, environment, &cage, screen)?;
    let version = version.unwrap_or(package.version);
    let wanted = npm::Wanted { package: package.name, version: Some(version) };
    let npm::Installed { version, integrity, pinned, .. } =
        npm::install(&installer, wanted, kept.path(), screen)?;
    let place = place(&own, &Digest::of(pinned.as_bytes()).to_string());
    let has_program = agents::program_in(kept.path(), adapter);
    if rustix::fs::access(&has_program, rustix::fs::Access::EXEC_OK).is_err() {
        return Err(Failure::environment(format!(
            "`{}` was fetched, but it has no program `{}`",
            package.name, package.program
        )));
    }
    remove_tree(&place)?;
    kept.keep_as(&place)?;
    let source = format!("{} from npm", package.name);
    let program = agents::program_in(&place, adapter);
    keep(InstalledAgent { version, source, integrity, program }, home, adapter)
}

/// Copies the program of an agent.
fn copy(
    adapter: &dyn Adapter,
    from: &Path,
    version: Option<&str>,
    (home, environment): (&Home, &Environment),
) -> Result<InstalledAgent, Failure> {
    let from = real_path(environment.absolute(from)?.as_path())?;
    let bytes = file::read(&from, PROGRAM_BYTES_MAX)?;
    let bytes =
        bytes.ok_or_else(|| Failure::config(format!("`{}` does not exist", from.display())))?;
    if packed::is_packed(&bytes) {
        return unpack(adapter, (&from, &bytes), version, home);
    }
    if !bytes.starts_with(b"\x7fELF") {
        let what =
            format!("`{}` is neither a Linux program nor a packed npm package", from.display());
        return Err(Failure::usage(what).with_hint(
            "name the program itself, not a script that starts it; or a file that `npm pack` made",
        ));
    }
    let (own, kept) = prepare(home, adapter)?;
    let name = adapter.package().program.rsplit('/').next().unwrap_or_default();
    let made = kept.path().join(name);
    file::create_new(&made, &bytes)?;
    rustix::fs::chmod(&made, Mode::RWXU).map_err(|errno| {
        Failure::environment(format!("cannot copy `{}`", from.display())).with_source(errno)
    })?;
    let digest = Digest::of(&bytes).to_string();
    let place = place(&own, &digest);
    remove_tree(&place)?;
    kept.keep_as(&place)?;
    let installed = InstalledAgent {
        version: version.unwrap_or("of unknown version").to_owned(),
        source: from.display().to_string(),
        integrity: format!("sha256 {digest}"),
        program: place.join(name),
    };
    keep(installed, home, adapter)
}

/// Unpacks the package of an agent that somebody has fetched already.
fn unpack(
    adapter: &dyn Adapter,
    (from, bytes): (&Path, &[u8]),
    version: Option<&str>,
    home: &Home,
) -> Result<InstalledAgent, Failure> {
    let package = adapter.package();
    let (own, kept) = prepare(home, adapter)?;
    let mut into = kept.path().join(npm::MODULES);
    file::create_dir(&into)?;
    for part in package.name.split('/') {
        into.push(part);
        file::create_dir(&into)?;
    }
    let manifest = packed::unpack(bytes, &into)?;
    let wrong = |what: String| {
        let hint = format!("make it with: npm pack {}@{}", package.name, package.version);
        Err(Failure::usage(what).with_hint(hint))
    };
    if manifest.name != package.name {
        let (is, title) = (visible(&manifest.name), adapter.title());
        return wrong(format!("the package is `{is}`, and {title} is `{}`", package.name));
    }
    if version.is_some_and(|version| version != manifest.version) {
        return wrong(format!("the package is version `{}`", visible(&manifest.version)));
    }
    let program = agents::program_in(kept.path(), adapter);
    if rustix::fs::access(&program, rustix::fs::Access::EXEC_OK).is_err() {
        return wrong(format!("the package has no program `{}`", package.program));
    }
    let digest = Digest::of(bytes).to_string();
    let place = place(&own, &digest);
    remove_tree(&place)?;
    kept.keep_as(&place)?;
    let installed = InstalledAgent {
        version: manifest.version,
        source: from.display().to_string(),
        integrity: format!("sha256 {digest}"),
        program: agents::program_in(&place, adapter),
    };
    keep(installed, home, adapter)
}

/// Makes room for an agent; what is made there is removed unless it is kept.
fn prepare(home: &Home, adapter: &dyn Adapter) -> Result<(PathBuf, Scratch), Failure> {
    file::create_dir(home.installed_agents())?;
    let own = agents::directory(home, adapter);
    file::create_dir(&own)?;
    let own = real_path(&own)?;
    let kept = Scratch::new_in(&own)?;
    Ok((own, kept))
}

fn place(own: &Path, digest: &str) -> PathBuf {
    own.join(format!("pkg-{}", digest.get(..DIGEST_LEN).unwrap_or(digest)))
}

/// Writes down what is installed, and removes what was before.
fn keep(
    installed: InstalledAgent,
    home: &Home,
    adapter: &dyn Adapter,
) -> Result<InstalledAgent, Failure> {
    let before = InstalledAgent::find(home, adapter).ok().flatten();
    installed.write(home, adapter)?;
    let own = real_path(&agents::directory(home, adapter))?;
    let top = |program: &Path| {
        let inside = program.strip_prefix(&own).ok()?;
        inside.components().next().map(|first| own.join(first))
    };
    if let Some(old) = before.and_then(|it| top(&it.program))
        && Some(&old) != top(&installed.program).as_ref()
    {
        remove_tree(&old)?;
    }
    Ok(installed)
}
