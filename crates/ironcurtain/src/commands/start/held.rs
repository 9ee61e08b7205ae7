//! What holds the agent of a session: the cage of this machine, or a container.
//!
//! What an engine needs is found before anything of the session is made; the backend never changes by itself.

use std::path::PathBuf;
use std::sync::Arc;

use ic_backend::{AgentBackend, CageBackend, ContainerBackend, ContainerParts};
use ic_confine::{Confinement, Limits};
use ic_container::images::Image;
use ic_container::mount::WORKSPACE;
use ic_container::{ContainerLimits, Owner};
use ic_home::config::{AgentConfig, BackendChoice, Config};
use ic_home::{Environment, Home, Process};
use ic_opening::Opened;
use ic_policy::SandboxKind;
use ic_types::AbsolutePath;

use super::agent::rung;
use crate::containers::{Found, home_label};
use crate::error::Failure;
use crate::screen::Screen;

/// What will hold the agent, found before the session is opened.
#[derive(Debug)]
pub(super) enum Held {
    Cage,
    Container(Box<Found>, Image),
}

/// The programs of the session's agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Programs<'a> {
    pub(super) name: &'a str,
    pub(super) agent: &'a AbsolutePath,
    pub(super) bridge: &'a AbsolutePath,
}

impl Held {
    /// Finds what is wanted.
    pub(super) async fn find(
        choice: BackendChoice,
        config: &Config,
        (home, environment): (&Home, &Environment),
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        if choice == BackendChoice::Cage {
            return Ok(Self::Cage);
        }
        let found = Found::fit(environment).await?;
        let swept = found.sweep(home).await?;
        for session in &swept.removed {
            screen
                .notice(&format!("removed the container of the session {session}, which had died"));
        }
        for (session, why) in &swept.failed {
            screen.warning(&format!("the container of the session {session} is left: {why}"));
        }
        let image = found.image(&config.docker, screen).await?;
        Ok(Self::Container(Box::new(found), image))
    }

    /// Returns what it is called in the row below an interface.
    pub(super) fn place(&self) -> &'static str {
        match self {
            Self::Container(..) => "a container",
            Self::Cage => "a cage",
        }
    }

    /// Returns what the agent calls the sandbox, if it has another name for it.
    pub(super) fn seen_as(&self) -> Option<&'static str> {
        match self {
            Self::Cage => None,
            Self::Container(..) => Some(WORKSPACE),
        }
    }

    /// Makes what holds the agent, for a session that is open; says what limits it has.
    pub(super) fn make(
        self,
        opened: &Opened,
        config: &Config,
        programs: Programs<'_>,
    ) -> Result<(Arc<dyn AgentBackend>, Vec<String>), Failure> {
        match self {
            Self::Cage => {
                let limits = Limits {
                    memory_bytes_max: config.agent.memory_mib << 20,
                    tasks_max: u32::try_from(config.agent.pids_max).unwrap_or(u32::MAX),
                    ..Limits::AGENT
                };
                let (launcher, rung) = (opened.launcher.clone(), rung(opened)?);
                Ok((Arc::new(CageBackend { launcher, rung, limits }), vec![cage_limits(limits)]))
            }
            Self::Container(found, image) => {
                let limits = limits(&config.agent);
                let told = vec![
                    format!("a container of {}, image {}", found.name(), image.name),
                    container_limits(limits),
                ];
                let backend = container(*found, image, limits, opened, programs)?;
                Ok((Arc::new(backend), told))
            }
        }
    }

    /// Returns what holds the scripts of code mode, which run on this machine whatever holds the agent.
    pub(super) fn workers(
        &self,
        opened: &Opened,
        is_code_mode: bool,
    ) -> Result<Confinement, Failure> {
        match (self, rung(opened)) {
            (_, Ok(rung)) => Ok(Confinement::Cage(rung)),
            // Nothing asks for a worker.
            (Self::Container(..), Err(_)) if !is_code_mode => Ok(opened.holding.confinement),
            (_, Err(failure)) => Err(failure),
        }
    }
}

fn container(
    found: Found,
    image: Image,
    limits: ContainerLimits,
    opened: &Opened,
    programs: Programs<'_>,
) -> Result<ContainerBackend, Failure> {
    let directory = &opened.ground.directory;
    let kind = opened.ground.broker.judge().bounds.sandbox.as_ref();
    let kind = kind.map_or(SandboxKind::Workspace, |it| it.kind);
    let parts = ContainerParts {
        engine: found.engine,
        image: image.id,
        owner: Owner {
            session: directory.id.to_string(),
            process: Process::this()?,
            home: home_label(&opened.home.root()),
            agent: programs.name.to_owned(),
        },
        limits,
        sandbox: (PathBuf::from(&opened.sandbox), kind),
        state: directory.agent_state(),
        orientation: directory.orientation(),
        sockets: directory.sockets(),
        program: programs.agent.as_path().to_owned(),
        bridge: programs.bridge.as_path().to_owned(),
    };
    ContainerBackend::new(parts).map_err(|error| {
        Failure::environment(error.to_string())
            .with_hint("run IronCurtain as the user whose directory it is, or use `--backend cage`")
    })
}

fn limits(config: &AgentConfig) -> ContainerLimits {
    ContainerLimits {
        memory_bytes: config.memory_mib << 20,
        tasks: config.pids_max,
        cpus: config.cpus,
        scratch_bytes: Limits::AGENT.scratch_bytes_max.min(config.memory_mib << 19),
        descriptors: Limits::AGENT.descriptors_max.into(),
    }
}

fn container_limits(limits: ContainerLimits) -> String {
    format!(
        "limits: {} MiB of memory, {} processes and threads, and {} processors, kept by the engine; {} open files for \
         each process; {} MiB in /tmp, which count as memory",
        limits.memory_bytes >> 20,
        limits.tasks,
        limits.cpus,
        limits.descriptors,
        limits.scratch_bytes >> 20
    )
}

fn cage_limits(limits: Limits) -> String {
    // No control group is made for a cage, so the notice says who keeps the limit instead.
    format!(
        "limits: {} MiB of memory, {} processes and threads, and {} MiB left on disks, kept by IronCurtain's guard, \
         which counts twice a second; {} open files for each process; {} MiB in /tmp",
        limits.memory_bytes_max >> 20,
        limits.tasks_max,
        limits.disk_bytes_left_min >> 20,
        limits.descriptors_max,
        limits.scratch_bytes_max >> 20
    )
}
