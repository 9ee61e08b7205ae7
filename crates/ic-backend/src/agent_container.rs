//! The container of an agent: what its cage would show, as mounts of a container, and its doors as sockets.
//!
//! ```text
//! AgentCage (view, what the host executes, git directory) ─▶ /workspace and what lies over it
//! sockets/ (read-only) ◀─ 8701.sock, 8702.sock, leash.sock ─ the host listens
//! agent-room 8701 8702 -- PROGRAM                            the first process of ours inside
//! ```
//!
//! Which image, and what the engine is asked, is known in `ic-container`. A program has a container of its own, as
//! it has a cage of its own: what it started ends with it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_confine::{Access, LEASH, ROOM, TerminalSize, door_socket};
use ic_container::mount::{HOME, ORIENTATION, PROGRAMS, SOCKETS, WORKSPACE};
use ic_container::running::Hand;
use ic_container::{
    Container, ContainerLimits, Engine, Mount, Owner, Running, StartFault, Streams, User,
};
use ic_home::file;
use ic_policy::SandboxKind;
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::CanonicalPath;
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use tokio::sync::Mutex;

use crate::agent_backend::{
    AgentBackend, AgentProcess, Contained, DoorListener, Starting, StartingAtTerminal,
};
use crate::agent_cage::{
    AgentCage, AgentCageFault, AgentCageParts, Caged, CagedAtTerminal, CagedProgram,
};
use crate::agent_terminal::{AgentTerminal, ContainedTerminal};

/// What our program is called inside.
const BRIDGE: &str = "ironcurtain";
/// Where the agent's program lies inside.
const AGENT: &str = "agent";
/// The user for a sandbox that root made for a session: one that no machine has.
const NOBODY: u32 = 65_532;
const SOCKET_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// What the container of an agent is made of, besides what its policy shows.
#[derive(Debug)]
pub struct ContainerParts {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// The id of the image.
    pub image: String,
    /// Whose it is.
    pub owner: Owner,
    /// How much it may use.
    pub limits: ContainerLimits,
    /// The directory in which the agent is free, and whose it is.
    pub sandbox: (PathBuf, SandboxKind),
    /// Its home.
    pub state: PathBuf,
    /// What it is told.
    pub orientation: PathBuf,
    /// Where the sockets of its doors are.
    pub sockets: PathBuf,
    /// Its program.
    pub program: PathBuf,
    /// Our own program.
    pub bridge: PathBuf,
}

/// Containers of an engine, for the agent of one session.
#[derive(Debug)]
pub struct ContainerBackend {
    parts: ContainerParts,
    user: User,
    /// Whether this program runs as root, so that files have to be given to the agent.
    gives: bool,
    n_started: AtomicU64,
}

/// A sandbox in which no container can work.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` belongs to root, and an agent in a container never is root", sandbox.display())]
pub struct RootsWorkspace {
    /// The directory.
    pub sandbox: PathBuf,
}

impl ContainerBackend {
    /// Finds out who the agent is to be.
    pub fn new(parts: ContainerParts) -> Result<Self, RootsWorkspace> {
        let (us, our_group) = (rustix::process::geteuid(), rustix::process::getegid());
        let (sandbox, kind) = parts.sandbox.clone();
        let gives = us.is_root();
        let own = if gives {
            let stat = rustix::fs::stat(&sandbox).ok();
            stat.and_then(|it| User::new(it.st_uid, it.st_gid))
        } else {
            User::new(us.as_raw(), our_group.as_raw().max(1))
        };
        let nobody = || User::new(NOBODY, NOBODY).filter(|_| kind == SandboxKind::Session);
        let user = own.or_else(nobody);
        let user = user.ok_or(RootsWorkspace { sandbox })?;
        let backend = Self { user, gives, n_started: AtomicU64::new(0), parts };
        // One that was made for the session, with nothing in it that anybody else has.
        if gives && kind == SandboxKind::Session {
            backend.give(CWD, backend.parts.sandbox.0.as_os_str()).ok();
        }
        Ok(backend)
    }

    /// Gives one file or directory to the agent, if it is not its own anyway; follows no link.
    fn give(&self, directory: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<()> {
        if self.gives {
            let (uid, gid) = self.user.numbers();
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            rustix::fs::chownat(directory, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// Returns what is shown over the workspace, and the rest.
    fn mounts(&self, cage: &AgentCage, private: &Path) -> Result<Vec<Mount>, AgentCageFault> {
        let (spec, parts) = (cage.spec_now(), &self.parts);
        let sandbox = &parts.sandbox.0;
        if let Some(path) = spec.absent.iter().find(|path| path.starts_with(sandbox)) {
            // Nobody watches in a container whether it appears.
            let path = CanonicalPath::new(path);
            let absent = path.map(|path| AgentCageFault::Absent { path });
            return Err(absent.unwrap_or_else(|error| fault(&io::Error::other(error.to_string()))));
        }
        let mut mounts = Vec::new();
        for seen in spec.seen.iter().filter(|seen| seen.path.starts_with(sandbox)) {
            let is_writable = seen.access == Access::Write;
            let (source, target) = (seen.path.clone(), self.seen(&seen.path));
            mounts.push(Mount { source, target, is_writable });
        }
        for hidden in spec.hidden.iter().filter(|hidden| hidden.starts_with(sandbox)) {
            let nothing = nothing(private, hidden).map_err(|error| fault(&error))?;
            mounts.push(Mount::read_only(nothing, self.seen(hidden)));
        }
        for placed in &spec.placed {
            let is_writable = placed.access == Access::Write;
            let (source, target) = (placed.from.clone(), self.seen(&placed.at));
            mounts.push(Mount { source, target, is_writable });
        }
        let home = if spec.home.starts_with(&parts.state) { &spec.home } else { &parts.state };
        mounts.extend([
            Mount::writable(home, HOME),
            Mount::read_only(&parts.sockets, SOCKETS),
            Mount::read_only(&parts.orientation, ORIENTATION),
            Mount::read_only(&parts.bridge, self.seen(&parts.bridge)),
            Mount::read_only(&parts.program, self.seen(&parts.program)),
        ]);
        Ok(mounts)
    }

    /// Makes the sockets of the doors anew, and the leash.
    fn listen(&self, ports: &[u16]) -> io::Result<(Vec<(u16, DoorListener)>, UnixListener)> {
        file::create_dir(&self.parts.sockets).map_err(io::Error::other)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let directory = rustix::fs::open(&self.parts.sockets, flags, Mode::empty())?;
        if self.gives {
            // Its names stay ours; it lies in a directory that nobody else can look into.
            file::show_others(&self.parts.sockets).map_err(io::Error::other)?;
        }
        // By the handle: the path may be longer than the name of a socket, and the directory stays what it is.
        let top = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let listen = |name: &str| {
            match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => return Err(io::Error::from(errno)),
            }
            let listener = UnixListener::bind(top.join(name))?;
            rustix::fs::chmodat(&directory, name, SOCKET_MODE, AtFlags::empty())?;
            self.give(&directory, name.as_ref())?;
            Ok(listener)
        };
        let mut doors = Vec::new();
        for port in ports {
            doors.push((*port, DoorListener::Unix(listen(&door_socket(*port))?)));
        }
        Ok((doors, listen(LEASH)?))
    }

    fn container(
        &self,
        program: &CagedProgram,
        environment: Vec<(String, String)>,
        mounts: Vec<Mount>,
        doors: &[u16],
    ) -> Result<Container, AgentCageFault> {
        let text = |text: &OsStr| {
            let odd = || fault(&io::Error::other(format!("`{}` is not text", text.display())));
            text.to_str().map(str::to_owned).ok_or_else(odd)
        };
        let mut command = vec![
            text(self.seen(&self.parts.bridge).as_os_str())?,
            ROOM.to_owned(),
            SOCKETS.to_owned(),
        ];
        command.extend(doors.iter().map(ToString::to_string));
        command.push("--".to_owned());
        command.push(text(self.seen(&program.program).as_os_str())?);
        for argument in &program.arguments {
            command.push(text(argument)?);
        }
        Ok(Container {
            image: self.parts.image.clone(),
            owner: self.parts.owner.clone(),
            user: self.user,
            command,
            environment,
            directory: text(self.seen(&program.directory).as_os_str())?,
            mounts,
            limits: self.parts.limits,
            is_at_terminal: false,
        })
    }

    async fn run(
        &self,
        cage: &AgentCage,
        program: CagedProgram,
        size: Option<TerminalSize>,
    ) -> Result<(Caged, Hand), AgentCageFault> {
        let private = cage.spec().scratch.clone().unwrap_or_else(|| self.parts.state.clone());
        let mounts = self.mounts(cage, &private)?;
        let mut environment = Vec::new();
        let own = [("HOME".into(), HOME.into()), ("TMPDIR".into(), "/tmp".into())];
        for (name, value) in
            cage.environment(own.into_iter().chain(program.environment.clone()).collect())
        {
            let text = |it: std::ffi::OsString| {
                it.into_string().map_err(|_| fault(&io::Error::other("a variable is not text")))
            };
            environment.push((text(name)?, text(value)?));
        }
        let (doors, leash) = self.listen(cage.doors()).map_err(|error| fault(&error))?;
        let is_at_terminal = size.is_some();
        let container = self.container(&program, environment, mounts, cage.doors())?;
        let container = Container { is_at_terminal, ..container };
        let number = self.n_started.fetch_add(1, Ordering::Relaxed);
        let Owner { session, process, .. } = &self.parts.owner;
        let name = format!("ironcurtain-{session}-{}-{number}", process.pid);
        let (running, streams) = Running::start(&self.parts.engine, &container, &name).await?;
        let hand = running.hand();
        if let Some(TerminalSize { rows, columns }) = size {
            // What runs first inside waits for it.
            let resized = hand.resize((rows, columns)).await;
            resized.map_err(StartFault::Engine)?;
        }
        let Streams { stdin, stdout, stderr } = streams;
        let process = AgentProcess::Contained(Contained { running, _leash: leash });
        Ok((Caged { stdin, stdout, stderr, process, doors, renewals: None }, hand))
    }
}

impl AgentBackend for ContainerBackend {
    fn seen(&self, path: &Path) -> PathBuf {
        let parts = &self.parts;
        let file = |name: &str| Path::new(PROGRAMS).join(name);
        let places = [
            (&parts.program, file(AGENT)),
            (&parts.bridge, file(BRIDGE)),
            (&parts.state, HOME.into()),
            (&parts.orientation, ORIENTATION.into()),
            (&parts.sandbox.0, WORKSPACE.into()),
        ];
        let inside = |(from, to): &(&PathBuf, PathBuf)| {
            let rest = path.strip_prefix(from).ok()?;
            Some(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) })
        };
        places.iter().find_map(inside).unwrap_or_else(|| path.to_owned())
    }

    fn owner(&self) -> Option<(u32, u32)> {
        self.gives.then(|| self.user.numbers())
    }

    fn memory_bytes_max(&self) -> u64 {
        self.parts.limits.memory_bytes
    }

    fn plan(
        &self,
        parts: &AgentCageParts<'_>,
        disk: &dyn Disk,
    ) -> Result<AgentCage, AgentCageFault> {
        AgentCage::plan_for_container(parts, disk)
    }

    fn start<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        _look: Option<PathBuf>,
    ) -> Starting<'a> {
        // A host that is killed lets go of the leash; what was planted is put back by the next session.
        Box::pin(async move { Ok(self.run(cage, program, None).await?.0) })
    }

    fn start_at_terminal<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        _look: Option<PathBuf>,
        size: TerminalSize,
    ) -> StartingAtTerminal<'a> {
        Box::pin(async move {
            let (caged, hand) = self.run(cage, program, Some(size)).await?;
            let Caged { stdin, stdout, stderr: _, process, doors, renewals } = caged;
            let terminal = AgentTerminal::Contained(ContainedTerminal {
                reading: Mutex::new(stdout),
                writing: Mutex::new(stdin),
                hand,
            });
            Ok(CagedAtTerminal { terminal, process, doors, renewals })
        })
    }
}

/// Returns an empty file or directory of ours to lie over something.
fn nothing(private: &Path, over: &Path) -> io::Result<PathBuf> {
    let kind = RealDisk.look(over)?.map(|it| it.kind);
    // SECURITY: the agent is the same user, and a mode of its own would let it read what is empty; it may.
    if kind == Some(Kind::Directory) {
        let path = private.join("nothing");
        file::create_dir(&path).map_err(io::Error::other)?;
        return Ok(path);
    }
    let path = private.join("nothing.txt");
    file::replace(&path, b"").map_err(io::Error::other)?;
    Ok(path)
}

fn fault(error: &io::Error) -> AgentCageFault {
    AgentCageFault::Container(StartFault::Engine(ic_container::EngineError::Broken {
        doing: "hold the agent",
        source: error.to_string().into(),
    }))
}
