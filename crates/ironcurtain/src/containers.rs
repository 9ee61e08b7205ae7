//! Containers, as commands need them: which engine, whether it can hold an agent, which image, and what is swept.
//!
//! What the engine is asked is known in `ic_container`.

use std::path::Path;
use std::sync::Arc;

use ic_container::images::{self, Image, ImageFault};
use ic_container::socket::{self, Asker};
use ic_container::{Api, Engine, EngineError, Facts, NoEngine, Swept, sweep};
use ic_home::config::DockerConfig;
use ic_home::{Environment, Home};

use tokio::sync::mpsc;

use crate::error::Failure;
use crate::screen::Screen;

/// An engine that can hold agents.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) facts: Facts,
}

impl Found {
    /// Finds the engine and makes sure that it can hold an agent.
    pub(crate) async fn fit(environment: &Environment) -> Result<Self, Failure> {
        let found = Self::any(environment).await?;
        match found.facts.unfit() {
            Some(unfit) => {
                let remedy = unfit.remedy();
                Err(Failure::environment(unfit.to_string()).with_hint(remedy))
            }
            None => Ok(found),
        }
    }

    /// Finds the engine, whatever it can do.
    pub(crate) async fn any(environment: &Environment) -> Result<Self, Failure> {
        let variables = environment.user_variables();
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| it == name)?;
            found.1.to_str().map(str::to_owned)
        };
        let home = environment.home()?;
        let asker = Asker { variable: &variable, home: home.as_path() };
        let socket = socket::find(asker).await.map_err(|it| no_engine(&it))?.path;
        let engine: Arc<dyn Engine> = Arc::new(Api::new(&socket));
        let facts = engine.facts().await.map_err(|it| refused(&it))?;
        Ok(Self { engine, facts })
    }

    /// Returns what people call it.
    pub(crate) fn name(&self) -> String {
        let name = if self.facts.is_podman { "Podman" } else { "Docker" };
        format!("{name} {}", ic_types::visible(&self.facts.version))
    }

    /// Returns the image of agents, which is built if it is not there; what comes of each step is told.
    pub(crate) async fn image(
        &self,
        config: &DockerConfig,
        screen: &mut Screen,
    ) -> Result<Image, Failure> {
        let wanted = (config.base_image.as_str(), &config.packages[..]);
        let (said, mut heard) = mpsc::unbounded_channel();
        let tell = move |line: &str| {
            said.send(line.to_owned()).ok();
        };
        let making = images::ready(&*self.engine, wanted, &tell);
        tokio::pin!(making);
        let made = loop {
            tokio::select! {
                biased;
                Some(line) = heard.recv() => screen.notice(&line),
                made = &mut making => break made,
            }
        };
        while let Ok(line) = heard.try_recv() {
            screen.notice(&line);
        }
        made.map_err(|it| no_image(&it))
    }

    /// Returns the image that is there for these settings already.
    pub(crate) async fn current(&self, config: &DockerConfig) -> Result<Option<Image>, Failure> {
        let wanted = (config.base_image.as_str(), &config.packages[..]);
        images::current(&*self.engine, wanted).await.map_err(|it| refused(&it))
    }

    /// Removes the containers of sessions in this home that died.
    pub(crate) async fn sweep(&self, home: &Home) -> Result<Swept, Failure> {
        sweep(&*self.engine, &home.root()).await.map_err(|it| refused(&it))
    }
}

/// Returns the label by which the containers of a home are known.
pub(crate) fn home_label(home: &Path) -> String {
    home.display().to_string()
}

fn no_engine(error: &NoEngine) -> Failure {
    let remedy = error.remedy();
    Failure::environment(error.to_string()).with_hint(remedy)
}

pub(crate) fn refused(error: &EngineError) -> Failure {
    let remedy = error.remedy();
    let failure = Failure::environment(ic_types::chain(error));
    match remedy {
        Some(remedy) => failure.with_hint(remedy),
        None => failure,
    }
}

fn no_image(fault: &ImageFault) -> Failure {
    let remedy = fault.remedy();
    let failure = Failure::environment(ic_types::chain(fault));
    match remedy {
        Some(remedy) => failure.with_hint(remedy),
        None => failure,
    }
}
