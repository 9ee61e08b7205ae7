//! The cage in which an agent and its shell run: what it shows, what it may do there, and how it is started.
//!
//! ```text
//! policy, sandbox, settings ─▶ AgentView ─┐
//! disk: what is there, what the host runs ─┼─▶ AgentCage ─start─▶ Caged: pipes, hold, listeners of its doors
//! state, program, doors, limits ───────────┘        └─settle─▶ what was planted, put back
//! ```
//!
//! What the user's files look like inside is the view's to say (`ic_analysis::view`); here it is laid over
//! this disk. A program inside reaches no network: each door is a port of the cage's own loopback, on which
//! the host listens. Nothing here knows what an agent is asked, nor what is said at its doors.

mod git;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_analysis::{AgentView, Inhabitant, NoView, Shown};
use ic_confine::{
    Access, AtTerminal, CageSpec, Child, ChildSpec, DNS_PORT, DoorsToCome, Hold, Launcher, Limits,
    Network, PROXY_PORT, Relaxation, Renewals, Rung, Seen, StartError, TerminalSize,
};
use ic_judge::Judge;
use ic_resolve::path::{Last, follow};
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::agent_backend::{AgentProcess, DoorListener};
use crate::agent_terminal::AgentTerminal;
use crate::agent_user::cage_user;
use crate::cage::{StrangersCage, check_whole, is_showable, kind, protecting, shown};
use crate::launch::LaunchFault;
use crate::planted::{Ground, Kept, Own, PutBack, Rules, Settled, Survey, SurveyFault, put_back};

/// Settings of the machine that every other cage shows with `/usr`.
const MACHINE_SETTINGS: &str = "/usr/local/etc";
/// Where programs are looked for, after those of the settings.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long the doors of a cage may take to come.
const DOORS_MAX: Duration = Duration::from_secs(10);

/// What the cage of an agent is made of.
#[derive(Debug)]
pub struct AgentCageParts<'a> {
    /// Who will live in it.
    pub inhabitant: Inhabitant,
    /// The policy and its surroundings.
    pub judge: &'a Judge,
    /// What the settings show besides, read-only (`agent.show`).
    pub shown: &'a [AbsolutePath],
    /// The files and directories of the agent's program, read-only.
    pub programs: &'a [AbsolutePath],
    /// Where its home is kept; without it the home is empty, and goes with the cage.
    pub state: Option<&'a AbsolutePath>,
    /// A directory of this cage alone.
    pub private: &'a Path,
    /// The ports of the cage's loopback on which the host listens.
    pub doors: &'a [u16],
    /// Whether it may make and connect to Unix sockets (`agent.unixSockets`).
    pub unix_sockets: bool,
    /// How much all of it may use together.
    pub limits: Limits,
}

/// The cage of an agent, worked out and not made yet.
#[derive(Clone, Debug)]
pub struct AgentCage {
    /// What holds it on this machine; a container is held by its engine.
    rung: Option<Rung>,
    spec: CageSpec,
    view: AgentView,
    /// What of it the host executes, if the agent may write where the host looks.
    kept: Option<Kept>,
    doors: Vec<u16>,
    /// Directories of programs that the settings show.
    programs: Vec<PathBuf>,
    /// Repositories that are hidden because of something that the policy hides.
    closed: Vec<(CanonicalPath, CanonicalPath)>,
}

/// A program that is to run in an agent's cage.
#[derive(Debug)]
pub struct CagedProgram {
    /// The file, or a name that is looked for in `PATH`.
    pub program: PathBuf,
    /// Its arguments, which no shell sees.
    pub arguments: Vec<OsString>,
    /// Its environment, besides `PATH`, `HOME`, `TMPDIR`, `LANG` and `TZ`, which it replaces if it names them.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// How long it may take to end when it is asked to.
    pub grace: Duration,
}

/// A program that runs in an agent's cage at a terminal; everything in the cage ends when `process` is dropped.
#[derive(Debug)]
pub struct CagedAtTerminal {
    /// The host's side of its terminal.
    pub terminal: AgentTerminal,
    /// The hold on it and all that it starts.
    pub process: AgentProcess,
    /// Its doors: the port inside, and the listener that only the host has.
    pub doors: Vec<(u16, DoorListener)>,
    /// What its guard tells of what it covers again.
    pub renewals: Option<Renewals>,
}

/// A program that runs in an agent's cage; everything in the cage ends when `process` is dropped.
#[expect(missing_debug_implementations, reason = "streams have nothing to show")]
pub struct Caged {
    /// What it reads; shutting it down is the end of that.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// What it complains about.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// The hold on it and all that it starts.
    pub process: AgentProcess,
    /// Its doors: the port inside, and the listener that only the host has.
    pub doors: Vec<(u16, DoorListener)>,
    /// What its guard tells of what it covers again.
    pub renewals: Option<Renewals>,
}

/// An agent's cage that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AgentCageFault {
    /// The policy cannot be turned into a view.
    #[error(transparent)]
    View(#[from] NoView),
    /// The machine cannot hold an agent.
    #[error(
        "an agent's cage needs namespaces, and this machine only has {rung}; \
         `ironcurtain doctor` says how to allow them"
    )]
    Rung {
        /// What it has.
        rung: Rung,
    },
    /// The policy closes something that the agent could make.
    #[error(
        "the policy closes `{path}`, which does not exist, so the agent could create it: create it yourself, \
         or change the policy"
    )]
    Absent {
        /// The place.
        path: CanonicalPath,
    },
    /// Something cannot be shown.
    #[error("`{}` cannot be shown to the agent: {reason}", path.display())]
    Unshowable {
        /// The path.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// What the host executes cannot be kept from the agent.
    #[error(transparent)]
    Planted(SurveyFault),
    /// Parts of the cage exclude each other.
    #[error(transparent)]
    Launch(LaunchFault),
    /// Two doors share a port, or one has a port that every cage uses.
    #[error("the port {port} cannot be a door of the cage")]
    Door {
        /// The port.
        port: u16,
    },
    /// It cannot be started.
    #[error("cannot start the cage")]
    Start(#[from] StartError),
    /// No container holds it.
    #[error("cannot start the container")]
    Container(#[from] ic_container::StartFault),
    /// It ended before its doors were there.
    #[error("the cage could not be made: {0}")]
    Doors(String),
}

impl AgentCage {
    /// Returns whether a rung can hold an agent.
    pub fn works_on(rung: Rung) -> bool {
        // SECURITY: Landlock alone can neither hide something in the workspace nor keep it read-only. Root in
        // a cage of bubblewrap may change no mode, because its devices are the host's, and so can build nothing.
        let is_able = rung != Rung::Bubblewrap || !rustix::process::geteuid().is_root();
        rung.can_hide() && rung.has_network() && is_able
    }

    /// Works out the cage on this disk.
    pub fn plan(
        parts: &AgentCageParts<'_>,
        rung: Rung,
        disk: &dyn Disk,
    ) -> Result<Self, AgentCageFault> {
        if !Self::works_on(rung) {
            return Err(AgentCageFault::Rung { rung });
        }
        Self::plan_on(parts, Some(rung), disk)
    }

    /// Works out what the container of an agent shows, which is what its cage would show of the sandbox.
    pub fn plan_for_container(
        parts: &AgentCageParts<'_>,
        disk: &dyn Disk,
    ) -> Result<Self, AgentCageFault> {
        Self::plan_on(parts, None, disk)
    }

    fn plan_on(
        parts: &AgentCageParts<'_>,
        rung: Option<Rung>,
        disk: &dyn Disk,
    ) -> Result<Self, AgentCageFault> {
        check_doors(parts.doors)?;
        let settings = parts.shown.iter().map(|path| found(path, disk));
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = settings.iter().find(|it| protecting(it, &parts.judge.bounds).is_some())
        {
            return Err(unshowable(path.as_path(), "it is protected"));
        }
        let Judge { policy, bounds, .. } = parts.judge;
        let view = AgentView::of(parts.inhabitant, policy, bounds, &settings)?;
        let mut spec = empty(parts);
        lay_out(&view, &mut spec, disk)?;
        hide_machine_settings(&mut spec, disk);
        for program in parts.programs {
            let path = found(program, disk)?;
            // What is shown anyway keeps the right that it has.
            if !spec.seen.iter().any(|seen| path.as_path().starts_with(&seen.path)) {
                spec.seen.push(shown(&path, Access::Read));
            }
        }
        let state = parts.state.map(|state| found(state, disk)).transpose()?;
        if let Some(state) = &state {
            state.as_path().clone_into(&mut spec.home);
            spec.seen.push(shown(state, Access::Write));
        }
        let kept = keep(&spec.seen, state, parts, disk)?;
        spec.seen.extend(kept.iter().flat_map(Kept::seen));
        let closed = git::close_history(&view, &mut spec, disk);
        spec.user = cage_user(&spec, parts);
        check_whole(&spec).map_err(AgentCageFault::Launch)?;
        Ok(Self {
            rung,
            spec,
            view,
            kept,
            doors: parts.doors.to_vec(),
            programs: settings.iter().map(|it| it.as_path().join("bin")).collect(),
            closed,
        })
    }

    /// Returns what it shows of the user's files, as the policy has it.
    pub fn view(&self) -> &AgentView {
        &self.view
    }

    /// Returns all that it shows besides the system's own files.
    pub fn spec(&self) -> &CageSpec {
        &self.spec
    }

    /// Returns what is read-only in a directory that the agent may write.
    pub fn read_only_in(&self, top: &CanonicalPath) -> Vec<PathBuf> {
        let seen = self.spec.seen.iter().filter(|seen| seen.access == Access::Read);
        let paths = seen.map(|seen| &seen.path).filter(|path| path.starts_with(top.as_path()));
        paths.cloned().collect()
    }

    /// Returns what is kept from the agent, if it may write where the host looks.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// Returns the ports at which it finds the host.
    pub fn doors(&self) -> &[u16] {
        &self.doors
    }

    /// Returns the read-only place at or above `path` that programs of this machine run, or take orders from.
    pub fn covering(&self, path: &CanonicalPath) -> Option<CanonicalPath> {
        self.kept.as_ref()?.covering(path)
    }

    /// Starts a program in the cage, and waits for the cage's doors.
    ///
    /// Each program has a cage of its own: what it leaves is in its home, and nothing of it runs on.
    pub async fn start(
        &self,
        launcher: &Launcher,
        program: CagedProgram,
    ) -> Result<Caged, AgentCageFault> {
        let child = launcher.renewing().start(&self.child(program)?)?;
        let Child { stdin, stdout, stderr, process, doors, renewals } = child;
        let doors = self.doors_of(doors).await?;
        let (stdin, stdout, stderr) = (Box::new(stdin), Box::new(stdout), Box::new(stderr));
        let process = AgentProcess::Caged(process);
        Ok(Caged { stdin, stdout, stderr, process, doors, renewals })
    }

    /// Likewise at a terminal of its own, which has that size before the program runs.
    pub async fn start_at_terminal(
        &self,
        launcher: &Launcher,
        program: CagedProgram,
        size: TerminalSize,
    ) -> Result<CagedAtTerminal, AgentCageFault> {
        let child = launcher.renewing().start_at_terminal(&self.child(program)?, size)?;
        let AtTerminal { terminal, process, doors, renewals } = child;
        let doors = self.doors_of(doors).await?;
        let terminal = AgentTerminal::Caged(terminal);
        Ok(CagedAtTerminal { terminal, process: AgentProcess::Caged(process), doors, renewals })
    }

    fn child(&self, program: CagedProgram) -> Result<ChildSpec, AgentCageFault> {
        let Some(rung) = self.rung else {
            return Err(AgentCageFault::Doors("it was worked out for a container".to_owned()));
        };
        Ok(ChildSpec {
            program: program.program,
            arguments: program.arguments,
            environment: self.environment(program.environment),
            directory: Some(program.directory),
            grace: program.grace,
            hold: Hold::Caged(rung, self.spec_now()),
        })
    }

    /// Waits for the doors of a cage.
    async fn doors_of(
        &self,
        doors: Option<DoorsToCome>,
    ) -> Result<Vec<(u16, DoorListener)>, AgentCageFault> {
        let Some(doors) = doors else {
            return Err(AgentCageFault::Doors("it has no doors".to_owned()));
        };
        let late = |_| AgentCageFault::Doors("its doors did not come in time".to_owned());
        let come = tokio::time::timeout(DOORS_MAX, doors.come()).await.map_err(late)?;
        let come = come.map_err(|error| AgentCageFault::Doors(error.to_string()))?;
        // SECURITY: names and other hosts are nobody's to look up here; what nobody listens on is closed.
        let ic_confine::Doors { dns_udp, dns_tcp, proxy, ports } = come;
        drop((dns_udp, dns_tcp, proxy));
        if ports.len() != self.doors.len() {
            return Err(AgentCageFault::Doors("some of its doors are missing".to_owned()));
        }
        Ok(self.doors.iter().copied().zip(ports.into_iter().map(DoorListener::Tcp)).collect())
    }

    /// Returns what it shows, without what was read-only and is not there any more: the user's git removes such files.
    pub(crate) fn spec_now(&self) -> CageSpec {
        let mut spec = self.spec.clone();
        let is_there = |path: &Path| {
            let kind = RealDisk.look(path).ok().flatten().map(|it| it.kind);
            matches!(kind, Some(Kind::File | Kind::Directory))
        };
        // What the agent makes there is found as anything else that appears.
        let is_kept = |path: &Path| {
            let path = CanonicalPath::new(path).ok();
            path.is_some_and(|it| self.kept.as_ref().is_some_and(|kept| kept.is_covered(&it)))
        };
        spec.seen.retain(|seen| is_there(&seen.path) || !is_kept(&seen.path));
        spec
    }

    /// Returns whether something was planted for the host to execute since the cage was worked out; what cannot
    /// be looked at may have been.
    ///
    /// The session looks while its agent runs, and ends the agent before it settles what was found.
    pub fn has_planted(&self, judge: &Judge) -> bool {
        let Some(kept) = &self.kept else { return false };
        let after = Survey::of(&kept.ground, judge, &RealDisk, Some(&kept.at_start));
        after.map_or(true, |after| kept.at_start.differs(&after, &Settled::default()))
    }

    /// Puts back what was planted for the host to execute since the cage was worked out; what appeared is
    /// moved to `quarantine`. Nothing of the cage may run any more.
    pub fn settle(&self, judge: &Judge, quarantine: &Path) -> Option<PutBack> {
        let kept = Arc::new(self.kept.clone()?);
        let how = (Rules::of(judge), quarantine);
        let done = put_back(&kept, &kept.at_start, how, &mut Settled::default());
        (!done.is_empty()).then_some(done)
    }

    /// Returns it as the cage of a server that is looked after like others.
    pub(crate) fn into_strangers(self) -> StrangersCage {
        let absent = self.spec.absent.iter().filter_map(|path| CanonicalPath::new(path).ok());
        let absent = absent.collect();
        StrangersCage { spec: self.spec, absent, kept: self.kept }
    }

    /// Returns the environment of a program: a few fixed variables, and what is written for it.
    pub fn environment(&self, own: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let mut path = OsString::new();
        for directory in &self.programs {
            path.push(directory);
            path.push(":");
        }
        path.push(PATH);
        let fixed = [("PATH", path), ("LANG", "C.UTF-8".into()), ("TZ", "UTC".into())];
        let is_fixed = |name: &str| own.iter().all(|(known, _)| known != name);
        let fixed = fixed.into_iter().filter(|(name, _)| is_fixed(name));
        let fixed: Vec<_> = fixed.map(|(name, value)| (OsString::from(name), value)).collect();
        fixed.into_iter().chain(own).collect()
    }
}

/// Returns a cage that shows nothing yet.
fn empty(parts: &AgentCageParts<'_>) -> CageSpec {
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        // Tool chains are full of links, and so are projects; they lead as far as the cage shows.
        follows_links: true,
        home: parts.judge.home.as_path().to_owned(),
        scratch: Some(parts.private.to_owned()),
        // Without doors it has a loopback of its own all the same, which tests of servers need.
        network: Network::Doors { ports: parts.doors.to_vec(), addresses: Vec::new() },
        unix_sockets: parts.unix_sockets,
        opens_beneath: false,
        relaxed: Relaxation::AGENT.to_vec(),
        limits: parts.limits,
        user: None,
    }
}

/// Lays the view over the disk.
fn lay_out(view: &AgentView, spec: &mut CageSpec, disk: &dyn Disk) -> Result<(), AgentCageFault> {
    for (path, how) in view.places() {
        if !is_showable(path) || !CageSpec::can_show(path.as_path()) {
            return Err(unshowable(path.as_path(), "it holds more than an agent may see"));
        }
        let is_there = kind(path, disk).is_some();
        let above = path.parent().and_then(|above| view.at(&above));
        match (how, is_there, above) {
            (Shown::Writable, true, _) => spec.seen.push(shown(path, Access::Write)),
            (Shown::ReadOnly, true, _) => spec.seen.push(shown(path, Access::Read)),
            (Shown::Empty, true, _) => spec.hidden.push(path.as_path().to_owned()),
            (_, false, None) => return Err(unshowable(path.as_path(), "it does not exist")),
            // SECURITY: a cage can cover what is there, and nothing else.
            (Shown::ReadOnly | Shown::Empty, false, Some(Shown::Writable)) => {
                return Err(AgentCageFault::Absent { path: path.clone() });
            }
            // Only somebody outside can make it, and then the cage ends.
            (Shown::Empty, false, Some(_)) => spec.absent.push(path.as_path().to_owned()),
            (Shown::Writable | Shown::ReadOnly, false, Some(_)) => {}
        }
    }
    Ok(())
}

/// Hides settings of the machine that lie among its programs, unless the settings show them.
fn hide_machine_settings(spec: &mut CageSpec, disk: &dyn Disk) {
    let path = Path::new(MACHINE_SETTINGS);
    let is_shown =
        spec.seen.iter().any(|seen| path.starts_with(&seen.path) || seen.path.starts_with(path));
    let is_directory = disk.look(path).ok().flatten().is_some_and(|it| it.kind == Kind::Directory);
    if is_directory && !is_shown {
        spec.hidden.push(path.to_owned());
    }
}

/// Finds what the host executes of what the agent may write.
fn keep(
    seen: &[Seen],
    state: Option<CanonicalPath>,
    parts: &AgentCageParts<'_>,
    disk: &dyn Disk,
) -> Result<Option<Kept>, AgentCageFault> {
    let private = AbsolutePath::new(parts.private).ok().and_then(|path| found(&path, disk).ok());
    let own = Own { data: state, private };
    let Some(ground) = Ground::of(seen, &own, parts.judge) else { return Ok(None) };
    ground.cover(parts.judge, disk).map(Some).map_err(AgentCageFault::Planted)
}

fn check_doors(doors: &[u16]) -> Result<(), AgentCageFault> {
    for (position, port) in doors.iter().enumerate() {
        let is_taken = [0, DNS_PORT, PROXY_PORT].contains(port);
        if is_taken || doors.iter().take(position).any(|other| other == port) {
            return Err(AgentCageFault::Door { port: *port });
        }
    }
    Ok(())
}

/// Finds what a path of the settings leads to.
fn found(path: &AbsolutePath, disk: &dyn Disk) -> Result<CanonicalPath, AgentCageFault> {
    let found = follow(disk, path, Last::Follow);
    match found {
        Ok(found) if found.entry.is_some() => Ok(found.path),
        Ok(_) => Err(unshowable(path.as_path(), "it does not exist")),
        Err(error) => Err(unshowable(path.as_path(), &error.to_string())),
    }
}

fn unshowable(path: &Path, reason: &str) -> AgentCageFault {
    AgentCageFault::Unshowable { path: path.to_owned(), reason: reason.to_owned() }
}
