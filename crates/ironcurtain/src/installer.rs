//! Installers of packages, npm and pip, in a cage of ours: what they fetch is checked, then copied out.
//!
//! ```text
//! the user's settings ─▶ index, its credentials ─┐
//!                                  cage: resolve ─┴▶ a lock ─▶ checked ─▶ cage: install it ─▶ checked ─▶ copied out
//!                                        │                                    │
//!                                        └── the hosts of the index, through the host of the cage ──┘
//! ```
//!
//! A package is text of a stranger, and an installer is a large program that reads it. The cage shows the
//! system's programs, a directory for the moment, and settings that were written for it: no home, no agent,
//! no socket. Nothing of a package is run, and whatever would be could reach the index and nothing else.
//! What a package is for is not known here ([decision 26](../../../docs/decisions/0026-installers-in-a-cage.md)).

pub(crate) mod index;
pub(crate) mod npm;
pub(crate) mod pypi;
mod traffic;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_confine::{
    Access, CageSpec, Child, ChildSpec, Confinement, Hold, Limits, Network, Rung, Seen,
    find_program,
};
use ic_egress::{Allowed, Egress, SystemResolver};
use ic_home::{Environment, Home, config, file};
use ic_opening::Holding;
use ic_resolve::path::{Last, follow};
use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_types::{AbsolutePath, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::traffic::Traffic;
use crate::error::Failure;
use crate::screen::{Screen, visible};
use crate::trial::Trial;
use crate::waiting::told;

/// How long an installer may take.
const INSTALL_MAX: Duration = Duration::from_mins(10);
/// How much of what it prints is kept.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// How much of its complaints is shown.
const SHOWN_LINES_MAX: usize = 8;
/// A directory that is on no machine: nothing is found there.
pub(crate) const NOWHERE: &str = "/nowhere";
/// What every cage shows of the system.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// Where git is, if it is there.
const GIT: [&str; 5] = [
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/usr/local/libexec/git-core",
];

/// What runs installers.
#[derive(Debug)]
pub(crate) struct Installer<'a> {
    trial: &'a Trial,
    environment: &'a Environment,
    /// What holds an installer.
    confinement: Confinement,
    home: AbsolutePath,
    /// Our own home.
    own: Home,
    /// What the cage may write, and what it may only read.
    work: PathBuf,
    settings: PathBuf,
}

/// One run of an installer.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// What is being done, in words: `resolving x`.
    pub(crate) doing: String,
    /// The program, a whole path.
    pub(crate) program: &'a Path,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Its environment, besides what is fixed.
    pub(crate) variables: Vec<(String, String)>,
    /// Where it runs: in the directory that it may write.
    pub(crate) directory: PathBuf,
    /// What is shown to be read besides.
    pub(crate) shown: Vec<PathBuf>,
    /// Whom it may reach.
    pub(crate) reach: Option<Allowed>,
}

impl<'a> Installer<'a> {
    /// Makes a place for an installer in `scratch`, which is removed by whoever made it.
    ///
    /// Refuses where an installer has to be held and cannot be.
    pub(crate) fn new(
        trial: &'a Trial,
        home: &Home,
        environment: &'a Environment,
        scratch: &Path,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let holding = trial.holding(home, environment)?.or_refuse()?;
        let confinement = confinement(&holding, screen)?;
        // Our home may be behind a link, and what a cage shows may not.
        let scratch = real_path(scratch)?;
        let (work, settings) = (scratch.join("work"), scratch.join("settings"));
        for path in [&work, &settings] {
            file::create_dir(path)?;
        }
        let own = home.clone();
        let home = environment.home()?;
        Ok(Self { trial, environment, confinement, home, own, work, settings })
    }

    /// Returns the directory in which it may write.
    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// Returns a variable of the user's.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.server_variables([name.to_owned()]).into_iter().next();
        found.map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// Returns the user's own home directory.
    pub(crate) fn home(&self) -> &Path {
        self.home.as_path()
    }

    /// Returns our own home, of which an installer sees nothing.
    pub(crate) fn own_home(&self) -> &Home {
        &self.own
    }

    /// Makes a directory that installers may read, and returns where it is.
    pub(crate) fn make_shown(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.settings.join(name);
        file::create_dir(&path)?;
        Ok(path)
    }

    /// Writes a file that installers may read, and returns where it is.
    pub(crate) fn write_setting(&self, name: &str, content: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.settings.join(name);
        file::replace(&path, content)?;
        Ok(path)
    }

    /// Finds a program of the user's, as the file that it really is.
    pub(crate) fn find(&self, program: &str) -> Result<PathBuf, Failure> {
        let variables = [("PATH".into(), self.variable("PATH").unwrap_or_default().into())];
        let found =
            find_program(Path::new(program), Path::new("/"), &variables).map_err(|error| {
                Failure::environment(format!(
                    "`{program}` is needed to install this, and was not found"
                ))
                .with_source(error)
                .with_hint(format!("install `{program}`, then run this again"))
            })?;
        real_path(&found)
    }

    /// Runs an installer to its end, and returns what it printed.
    pub(crate) fn run(&self, job: &Job<'_>, screen: &mut Screen) -> Result<Vec<u8>, Failure> {
        let spec = self.spec(job);
        let failed = |why: String| Failure::environment(format!("{} failed: {why}", job.doing));
        self.trial.block_on(async {
            let started = self.trial.launcher().start(&spec);
            let child = started.map_err(|error| failed(ic_types::chain(&error)))?;
            let Child { stdin, stdout, stderr, mut process, doors, .. } = child;
            drop(stdin);
            let (tasks, over) = (TaskTracker::new(), CancellationToken::new());
            let traffic = Arc::new(Traffic::default());
            if let (Some(doors), Some(allowed)) = (doors, job.reach.clone()) {
                let egress =
                    Egress::new(Arc::new(SystemResolver::new()), traffic.clone(), tasks.clone());
                let over = over.clone();
                tasks.spawn(async move {
                    let Some(Ok(doors)) = over.run_until_cancelled(doors.come()).await else {
                        return;
                    };
                    let ic_confine::Doors { dns_udp, dns_tcp, proxy, ports } = doors;
                    let doors = ic_egress::Doors { dns_udp, dns_tcp, proxy, ports };
                    if let Some(name) = installer_name() {
                        // Without doors it reaches nobody, and says so.
                        egress.serve(name, allowed, doors, over).ok();
                    }
                });
            }
            let running = async { tokio::join!(read(stdout), read(stderr), process.wait()) };
            let far = || format!("{} … {}", job.doing, traffic.told());
            let running = told(running, far, screen);
            let ended = tokio::time::timeout(INSTALL_MAX, running).await;
            over.cancel();
            let (out, err, status) = ended
                .map_err(|_| failed(format!("it took longer than {} s", INSTALL_MAX.as_secs())))?;
            let details = || {
                let mut lines = traffic.refused();
                lines.extend(last_lines(&err, &out));
                lines
            };
            match status {
                Ok(status) if status.success() => Ok(out),
                Ok(status) => Err(failed(status.to_string()).with_details(details())),
                Err(error) => Err(failed(error.to_string())),
            }
        })
    }

    fn spec(&self, job: &Job<'_>) -> ChildSpec {
        // SECURITY: without a `PATH` an installer finds no program: no git, no compiler, no shell.
        let mut environment: Vec<(OsString, OsString)> =
            [("PATH", NOWHERE), ("LANG", "C.UTF-8"), ("TZ", "UTC")]
                .map(|(a, b)| (a.into(), b.into()))
                .into();
        environment.extend(job.variables.iter().map(|(name, value)| (name.into(), value.into())));
        let hold = match self.confinement {
            Confinement::Cage(rung) => Hold::Caged(rung, self.cage(job)),
            Confinement::None => {
                let own = self.work.clone().into_os_string();
                environment.extend([("HOME".into(), own.clone()), ("TMPDIR".into(), own)]);
                Hold::Free
            }
        };
        ChildSpec {
            program: job.program.to_owned(),
            arguments: job.arguments.clone(),
            environment,
            directory: Some(job.directory.clone()),
            grace: Duration::from_secs(2),
            hold,
        }
    }

    fn cage(&self, job: &Job<'_>) -> CageSpec {
        let read = |path: &PathBuf| Seen { path: path.clone(), access: Access::Read };
        let mut seen =
            vec![Seen { path: self.work.clone(), access: Access::Write }, read(&self.settings)];
        // SECURITY: a program in the home directory itself does not show the home directory.
        let is_shown =
            |path: &&PathBuf| !is_of_the_system(path) && !self.home.as_path().starts_with(path);
        seen.extend(job.shown.iter().filter(is_shown).map(read));
        CageSpec {
            opens_beneath: false,
            relaxed: Vec::new(),
            hidden: hidden(&seen),
            absent: Vec::new(),
            placed: Vec::new(),
            seen,
            links: Vec::new(),
            follows_links: true,
            home: self.home.as_path().to_owned(),
            scratch: None,
            network: match &job.reach {
                None => Network::None,
                Some(allowed) => Network::Doors {
                    ports: allowed.ports().to_vec(),
                    addresses: allowed.addresses().to_vec(),
                },
            },
            unix_sockets: false,
            limits: Limits::SERVER,
            user: None,
        }
    }
}

/// Returns what holds installers; they need a network, which not every cage can have.
fn confinement(holding: &Holding, screen: &mut Screen) -> Result<Confinement, Failure> {
    let is_enough = |rung: Rung| rung.has_network();
    match (holding.mode, holding.confinement) {
        (_, Confinement::Cage(rung)) if is_enough(rung) => Ok(holding.confinement),
        (config::Confinement::Enforce, _) => Err(Failure::environment(
            "packages are installed in a cage with a network of its own, and this machine can make none",
        )
        .with_hint(
            "let this machine use user namespaces, or install bubblewrap; `ironcurtain doctor` says how. \
             `ironcurtain config set confinement warn` runs installers with all of your rights instead",
        )),
        (config::Confinement::Warn | config::Confinement::Off, _) => {
            screen.warning("the installer is not confined: it runs with all of your rights");
            Ok(Confinement::None)
        }
    }
}

fn installer_name() -> Option<ServerName> {
    "installer".parse().ok()
}

/// Returns what of git would be seen: a cage hides it, so that no package can have it run.
fn hidden(seen: &[Seen]) -> Vec<PathBuf> {
    let beside = seen.iter().map(|seen| seen.path.join("bin/git"));
    let all = GIT.into_iter().map(PathBuf::from).chain(beside);
    let mut hidden: Vec<PathBuf> = Vec::new();
    for path in all.filter_map(|path| real_path(&path).ok()) {
        let is_seen = is_of_the_system(&path) || seen.iter().any(|it| path.starts_with(&it.path));
        if is_seen && !hidden.contains(&path) && RealDisk.look(&path).is_ok_and(|it| it.is_some()) {
            hidden.push(path);
        }
    }
    hidden
}

/// Returns whether every cage shows a path.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    SYSTEM.iter().any(|it| path.starts_with(it))
}

/// Returns the file or directory that `path` leads to.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, Failure> {
    let failed =
        |why: String| Failure::environment(format!("cannot use `{}`: {why}", path.display()));
    let absolute = AbsolutePath::new(path).map_err(|error| failed(error.to_string()))?;
    let found =
        follow(&RealDisk, &absolute, Last::Follow).map_err(|error| failed(error.to_string()))?;
    match found.entry.map(|entry| entry.kind) {
        Some(Kind::File | Kind::Directory) => Ok(found.path.as_path().to_owned()),
        Some(Kind::Link | Kind::Other) | None => Err(failed("it is not there".to_owned())),
    }
}

async fn read(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(n_bytes @ 1..) = stream.read(&mut chunk).await {
        let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len()).min(n_bytes);
        kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
    }
    kept
}

fn last_lines(err: &[u8], out: &[u8]) -> Vec<String> {
    let words = if err.trim_ascii().is_empty() { out } else { err };
    let text = String::from_utf8_lossy(words);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(SHOWN_LINES_MAX);
    lines.iter().skip(from).map(|line| visible(line)).collect()
}
