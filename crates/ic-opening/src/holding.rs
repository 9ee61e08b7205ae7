//! What holds the MCP servers of this run: the strongest rung that works, or nothing, and why.
//!
//! Found out by trying. What each server is shown in its cage is not known here.

use ic_confine::{Confinement, Launcher, RungFault};
use ic_home::config::{self, Config, ConfigFile, Layers};
use ic_home::{Environment, Home, Scratch};
use ic_inventory::servers_file::{ServerConfig, ServersFile, Start};

use crate::fault::Fault;

/// What holds servers, and what was wanted.
#[derive(Clone, Debug)]
pub struct Holding {
    /// What the configuration wants.
    pub mode: config::Confinement,
    /// What is in force.
    pub confinement: Confinement,
    /// Why stronger rungs, or all of them, do not work; empty if nobody tried.
    pub faults: Vec<RungFault>,
}

impl Holding {
    /// Tries the rungs, as the configuration of `home` wants it; the home must exist.
    pub async fn find(
        launcher: &Launcher,
        home: &Home,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        let file = ConfigFile::read(home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
        Self::try_rungs(config.confinement, launcher, home).await
    }

    /// Tries the rungs if `mode` wants that; what was found may be nothing.
    pub async fn try_rungs(
        mode: config::Confinement,
        launcher: &Launcher,
        home: &Home,
    ) -> Result<Self, Fault> {
        if mode == config::Confinement::Off {
            return Ok(Self { mode, confinement: Confinement::None, faults: Vec::new() });
        }
        let place = Scratch::new_in(home.root())?;
        Ok(match launcher.strongest(place.path()).await {
            Ok(rung) => Self { mode, confinement: Confinement::Cage(rung), faults: Vec::new() },
            Err(faults) => Self { mode, confinement: Confinement::None, faults },
        })
    }

    /// Returns what is in force of what could be.
    #[must_use]
    pub fn in_mode(self) -> Self {
        match self.mode {
            config::Confinement::Off => Self { confinement: Confinement::None, ..self },
            config::Confinement::Enforce | config::Confinement::Warn => self,
        }
    }

    /// Refuses to go on where servers have to be held and cannot be.
    pub fn or_refuse(self) -> Result<Self, Fault> {
        match (self.mode, self.confinement) {
            (config::Confinement::Enforce, Confinement::None) => Err(self.refusal()),
            (_, Confinement::Cage(_))
            | (config::Confinement::Warn | config::Confinement::Off, Confinement::None) => Ok(self),
        }
    }

    fn refusal(&self) -> Fault {
        let lines = self.faults.iter().flat_map(|RungFault { rung, reason, remedy }| {
            [format!("{rung}: {reason}"), format!("  remedy: {remedy}")]
        });
        Fault::machine("MCP servers cannot be confined on this machine, so none is started")
            .with_details(lines.collect())
            .with_hint(
                "one remedy is enough; `ironcurtain config set confinement warn` runs servers with \
                 all of your rights instead, and says so each time",
            )
    }

    /// Returns whether no server starts outside of a cage, whatever this machine can do.
    pub fn is_enforced(&self) -> bool {
        self.mode == config::Confinement::Enforce
    }

    /// Says what is in force, for the header of a session.
    pub fn header(&self) -> String {
        match (self.mode, self.confinement) {
            (config::Confinement::Enforce, held) => format!("confinement {held}"),
            (config::Confinement::Warn, Confinement::Cage(rung)) => format!(
                "confinement {rung} (mode warn: if no cage can be made, servers run with all of \
                 your rights)"
            ),
            (config::Confinement::Warn, Confinement::None) => {
                let why: Vec<String> =
                    self.faults.iter().map(|it| format!("{}: {}", it.rung, it.reason)).collect();
                format!(
                    "confinement none (mode warn): MCP servers run with all of your rights, because \
                     no cage can be made; {}",
                    why.join("; ")
                )
            }
            (config::Confinement::Off, _) => {
                "confinement none (mode off): MCP servers run with all of your rights".to_owned()
            }
        }
    }

    /// Returns the name of what is wanted, as it is configured.
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            config::Confinement::Enforce => "enforce",
            config::Confinement::Warn => "warn",
            config::Confinement::Off => "off",
        }
    }

    /// Returns what holds one server.
    pub fn of(&self, config: &ServerConfig) -> Confinement {
        match config.is_to_be_confined {
            true => self.confinement,
            false => Confinement::None,
        }
    }

    /// Returns the servers that are not held because their entries say so.
    pub fn exceptions<'a>(&self, servers: &'a ServersFile) -> Vec<&'a str> {
        let is_one = |config: &ServerConfig| match (self.confinement, &config.start) {
            (Confinement::Cage(_), Start::Builtin(_) | Start::Command(_)) => {
                !config.is_to_be_confined
            }
            (Confinement::Cage(_), Start::Url(_)) | (Confinement::None, _) => false,
        };
        let exceptions = servers.iter().filter(|(_, config)| is_one(config));
        exceptions.map(|(name, _)| name.as_str()).collect()
    }
}
