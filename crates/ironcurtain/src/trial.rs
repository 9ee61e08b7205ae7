//! A place to try a server in: made for the moment, with what a session would have, and then removed.
//!
//! Nothing is recorded and nothing is trusted by trying. Whether the server may be started is for the
//! caller to know.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_backend::launch::{self, Lent, Recipe};
use ic_backend::probe::{ProbeError, Probed, probe};
use ic_confine::Launcher;
use ic_home::{Environment, Home, Scratch, file};
use ic_inventory::servers_file::ServerConfig;
use ic_judge::Judge;
use ic_opening::Holding;
use ic_types::{AbsolutePath, ServerName};

use crate::error::Failure;
use crate::opening::launcher;
use crate::screen::Screen;
use crate::waiting::told;

/// A directory like a session's, and what runs things in it.
#[derive(Debug)]
pub(crate) struct Trial {
    scratch: Scratch,
    launcher: Launcher,
    runtime: tokio::runtime::Runtime,
}

impl Trial {
    /// Makes the place in `parent`, which must exist.
    pub(crate) fn new_in(parent: &Path) -> Result<Self, Failure> {
        let scratch = Scratch::new_in(parent)?;
        for name in [SANDBOX, SERVERS] {
            file::create_dir(scratch.path().join(name))?;
        }
        let launcher = launcher()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| Failure::environment("cannot start").with_source(source))?;
        Ok(Self { scratch, launcher, runtime })
    }

    /// Returns the directory itself.
    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the directory in which an agent would be free.
    pub(crate) fn sandbox(&self) -> PathBuf {
        self.path().join(SANDBOX)
    }

    /// Returns what starts children.
    pub(crate) fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Runs `future` to its end.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Finds out what would hold servers in a session.
    pub(crate) fn holding(
        &self,
        home: &Home,
        environment: &Environment,
    ) -> Result<Holding, Failure> {
        Ok(self.block_on(Holding::find(&self.launcher, home, environment))?)
    }

    /// Returns how a session would start a server.
    ///
    /// The sandbox is the workspace too, so that a server that wants one can be tried.
    pub(crate) fn recipe(
        &self,
        (name, config): (&ServerName, &ServerConfig),
        judge: &Arc<Judge>,
        holding: &Holding,
        environment: &Environment,
    ) -> Result<Recipe, Failure> {
        let private = self.path().join(SERVERS).join(name.as_str());
        file::create_dir(&private)?;
        let sandbox: AbsolutePath = environment.absolute(&self.sandbox())?;
        let home = Home::new(environment.ironcurtain_home()?);
        let lent = Lent {
            workspace: Some(sandbox.clone()),
            sandbox,
            home: environment.home()?,
            private,
            installed: home.installed_servers().join(name.as_str()),
            variables: environment.server_variables(launch::variables_asked_for(config)),
            certificates: environment.certificates(),
            shown: Vec::new(),
            packages: None,
        };
        Ok(Recipe {
            name: name.clone(),
            config: config.clone(),
            lent,
            judge: Arc::clone(judge),
            confinement: holding.confinement,
        })
    }

    /// Starts a server, looks at it and ends it; says so if that takes a while.
    pub(crate) fn probe(&self, recipe: &Recipe, screen: &mut Screen) -> Result<Probed, ProbeError> {
        self.block_on(async {
            let starting = || format!("starting {} …", recipe.name);
            told(probe(recipe, &self.launcher), starting, screen).await
        })
    }
}

const SANDBOX: &str = "sandbox";
const SERVERS: &str = "servers";
