//! What holds an agent, behind one trait: our own cage, or a container.
//!
//! ```text
//! AgentBackend::plan ─▶ AgentCage: what the policy shows, what is kept from it      the same for both
//! AgentBackend::start ─▶ Caged: streams, process, doors                             namespaces, or an engine
//! AgentBackend::seen ─▶ what the agent calls a path of the host
//! ```
//!
//! Who asks does not know which one it is. How a container is made is in `agent_container`.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitStatus;

use ic_confine::{
    Asleep, ChildHandle, EXIT_EXCESS, Launcher, Limits, Rung, Sleep, StandingStill, TerminalSize,
};
use ic_container::running::Hand;
use ic_container::{Ended, EngineError, Running};
use ic_resolve::Disk;
use tokio::runtime::Handle;

use crate::agent_cage::{
    AgentCage, AgentCageFault, AgentCageParts, Caged, CagedAtTerminal, CagedProgram,
};

/// An agent that is being started.
pub type Starting<'a> = Pin<Box<dyn Future<Output = Result<Caged, AgentCageFault>> + Send + 'a>>;

/// An agent that is being started at a terminal.
pub type StartingAtTerminal<'a> =
    Pin<Box<dyn Future<Output = Result<CagedAtTerminal, AgentCageFault>> + Send + 'a>>;

/// What holds agents.
pub trait AgentBackend: fmt::Debug + Send + Sync {
    /// Returns what the agent calls a path of the host; a path that it does not see stays as it is.
    fn seen(&self, path: &Path) -> PathBuf;

    /// Returns who the files that we make for the agent have to belong to, if not to us.
    fn owner(&self) -> Option<(u32, u32)>;

    /// Returns how much memory all of an agent may use.
    fn memory_bytes_max(&self) -> u64;

    /// Works out what an agent sees, on this disk.
    fn plan(
        &self,
        parts: &AgentCageParts<'_>,
        disk: &dyn Disk,
    ) -> Result<AgentCage, AgentCageFault>;

    /// Starts a program, and waits for its doors. `look` is the file by which what it plants is put back should
    /// this process be killed.
    fn start<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        look: Option<PathBuf>,
    ) -> Starting<'a>;

    /// Likewise at a terminal of its own, which has that size before the program runs.
    fn start_at_terminal<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        look: Option<PathBuf>,
        size: TerminalSize,
    ) -> StartingAtTerminal<'a>;
}

/// The cage of this machine.
#[derive(Debug)]
pub struct CageBackend {
    /// What starts processes.
    pub launcher: Launcher,
    /// What holds them.
    pub rung: Rung,
    /// What an agent and all that it starts may use.
    pub limits: Limits,
}

impl AgentBackend for CageBackend {
    fn seen(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn owner(&self) -> Option<(u32, u32)> {
        // The cage shows root's files as the agent's own.
        None
    }

    fn memory_bytes_max(&self) -> u64 {
        self.limits.memory_bytes_max
    }

    fn plan(
        &self,
        parts: &AgentCageParts<'_>,
        disk: &dyn Disk,
    ) -> Result<AgentCage, AgentCageFault> {
        let parts = AgentCageParts { limits: self.limits, ..*parts };
        AgentCage::plan(&parts, self.rung, disk)
    }

    fn start<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        look: Option<PathBuf>,
    ) -> Starting<'a> {
        Box::pin(async move { cage.start(&self.launcher_for(look), program).await })
    }

    fn start_at_terminal<'a>(
        &'a self,
        cage: &'a AgentCage,
        program: CagedProgram,
        look: Option<PathBuf>,
        size: TerminalSize,
    ) -> StartingAtTerminal<'a> {
        Box::pin(
            async move { cage.start_at_terminal(&self.launcher_for(look), program, size).await },
        )
    }
}

impl CageBackend {
    fn launcher_for(&self, look: Option<PathBuf>) -> Launcher {
        match look {
            Some(look) => self.launcher.settling(look),
            None => self.launcher.clone(),
        }
    }
}

/// A door of an agent, whose listener only the host has.
#[derive(Debug)]
pub enum DoorListener {
    /// A port of the cage's own loopback.
    Tcp(TcpListener),
    /// A socket that the container sees.
    Unix(UnixListener),
}

/// The hold on an agent and all that it starts; what is dropped ends.
#[derive(Debug)]
#[must_use = "an agent whose process is dropped ends"]
pub enum AgentProcess {
    /// In a cage.
    Caged(ChildHandle),
    /// In a container.
    Contained(Contained),
}

/// An agent in a container, and the leash that it lives by.
#[derive(Debug)]
pub struct Contained {
    pub(crate) running: Running,
    /// Whoever holds the other end ends the container when this is gone.
    pub(crate) _leash: UnixListener,
}

impl AgentProcess {
    /// Waits until it has ended and nothing of it is left. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Caged(child) => child.wait().await,
            Self::Contained(contained) => {
                contained.running.wait().await.map(|it| status(&it)).map_err(other)
            }
        }
    }

    /// Asks it to end, kills it after its grace, and returns how it ended. May be dropped and called again.
    pub async fn stop(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Caged(child) => child.stop().await,
            Self::Contained(contained) => {
                contained.running.stop().await.map(|it| status(&it)).map_err(other)
            }
        }
    }

    /// Returns what stops it for a while.
    pub fn sleep(&self) -> io::Result<AgentSleep> {
        match self {
            Self::Caged(child) => child.sleep().map(AgentSleep::Caged),
            Self::Contained(contained) => {
                let handle = Handle::try_current().map_err(io::Error::other)?;
                Ok(AgentSleep::Contained(contained.running.hand(), handle))
            }
        }
    }
}

/// Says how a container ended as a process would.
fn status(ended: &Ended) -> ExitStatus {
    let code = match ended.is_out_of_memory && ended.code != 0 {
        true => i32::from(EXIT_EXCESS),
        false => ended.code,
    };
    ExitStatus::from_raw((code & 0xff) << 8)
}

fn other(error: EngineError) -> io::Error {
    io::Error::other(error)
}

/// What stops an agent for a while.
#[derive(Clone, Debug)]
pub enum AgentSleep {
    /// In a cage.
    Caged(Sleep),
    /// In a container. Not for a thread that answers others: it waits for the engine.
    Contained(Hand, Handle),
}

impl AgentSleep {
    /// Returns how it sleeps; `None` if something runs, or if that cannot be told.
    pub fn look(&self) -> Option<Asleep> {
        match self {
            Self::Caged(sleep) => sleep.look(),
            Self::Contained(..) => None,
        }
    }

    /// Stops everything of it until what is returned is dropped; `None` if it does not stand still.
    pub fn hold(&self) -> Option<AgentStill> {
        match self {
            Self::Caged(sleep) => sleep.hold().map(AgentStill::Caged),
            Self::Contained(hand, handle) => {
                handle.block_on(hand.hold()).ok()?;
                Some(AgentStill::Contained(Paused(hand.clone(), handle.clone())))
            }
        }
    }
}

/// An agent that is stopped; it goes on when this is dropped.
#[derive(Debug)]
#[must_use = "an agent goes on when this is dropped"]
pub enum AgentStill {
    /// In a cage.
    Caged(StandingStill),
    /// In a container.
    Contained(Paused),
}

/// A container that stands still.
#[derive(Debug)]
pub struct Paused(Hand, Handle);

impl Drop for Paused {
    fn drop(&mut self) {
        let hand = self.0.clone();
        // One that does not go on is ended with its turn.
        self.1.spawn(async move { hand.release().await.ok() });
    }
}

impl AgentStill {
    /// Returns whether anything of it holds what is at `path`; also if that cannot be told.
    pub fn holds(&self, path: &Path, identity: (u64, u64)) -> bool {
        match self {
            Self::Caged(still) => still.holds(path, identity),
            Self::Contained(_) => true,
        }
    }

    /// Ends everything of it, which does not run again.
    pub fn kill(self) {
        match self {
            Self::Caged(still) => still.kill(),
            Self::Contained(paused) => {
                paused.1.block_on(paused.0.kill()).ok();
            }
        }
    }
}
