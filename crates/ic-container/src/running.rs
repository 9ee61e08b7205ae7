//! A container that runs: made, compared with what was asked for, started, and removed when it has ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::container::Container;
use crate::engine::{Engine, EngineError, Streams};
use crate::mount::MountFault;
use crate::words::{flag, number, text};

/// How long a container may take to be gone after it was killed.
const GONE_MAX: Duration = Duration::from_secs(30);

/// A container that was started; it is killed and removed when this is dropped.
#[derive(Debug)]
#[must_use = "a container that is dropped is killed"]
pub struct Running {
    engine: Arc<dyn Engine>,
    id: String,
    ended: Option<Ended>,
}

/// How a container ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ended {
    /// The code of its program; 128 and more for a signal.
    pub code: i32,
    /// Whether the system ended something in it because it used too much memory.
    pub is_out_of_memory: bool,
    /// What the engine says went wrong.
    pub fault: Option<String>,
}

/// A container that was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// Something cannot be shown to it.
    #[error(transparent)]
    Mount(#[from] MountFault),
    /// The engine does not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine does not keep what was asked for.
    #[error("the container is not what was asked for: {}", .0.join("; "))]
    Deviates(Vec<String>),
}

impl Running {
    /// Makes a container, makes sure that it is held as was asked for, and starts it.
    pub async fn start(
        engine: &Arc<dyn Engine>,
        container: &Container,
        name: &str,
    ) -> Result<(Self, Streams), StartFault> {
        let request = container.request(engine.socket())?;
        let id = engine.create(name, &request).await?;
        // From here on it is removed, whatever happens.
        let running = Self { engine: Arc::clone(engine), id, ended: None };
        let reported = engine.inspect(&running.id).await?.unwrap_or_default();
        let deviations = container.deviations(&reported);
        if !deviations.is_empty() {
            running.remove().await.ok();
            return Err(StartFault::Deviates(deviations));
        }
        let streams = engine.attach(&running.id, container.is_at_terminal).await?;
        if let Err(error) = engine.start(&running.id).await {
            running.remove().await.ok();
            return Err(error.into());
        }
        Ok((running, streams))
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits until it has ended, and removes it. May be dropped and called again.
    pub async fn wait(&mut self) -> Result<Ended, EngineError> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        let code = self.engine.wait(&self.id).await?;
        let reported = self.engine.inspect(&self.id).await?.unwrap_or_default();
        let fault = text(&reported, &["State", "Error"]).filter(|it| !it.is_empty());
        let code = number(&reported, &["State", "ExitCode"]).unwrap_or(code);
        let ended = Ended {
            code: i32::try_from(code).unwrap_or(-1),
            is_out_of_memory: flag(&reported, &["State", "OOMKilled"]) == Some(true),
            fault: fault.map(str::to_owned),
        };
        self.remove().await?;
        self.ended = Some(ended.clone());
        Ok(ended)
    }

    /// Kills everything in it, and waits until it is gone.
    pub async fn stop(&mut self) -> Result<Ended, EngineError> {
        if self.ended.is_none() {
            // One that stands still could not be killed by older engines.
            self.engine.resume(&self.id).await.ok();
            self.engine.kill(&self.id).await?;
        }
        let late =
            |_| EngineError::Late { doing: "end the container", seconds: GONE_MAX.as_secs() };
        tokio::time::timeout(GONE_MAX, self.wait()).await.map_err(late)?
    }

    /// Returns a hand on it that can stop it for a while.
    pub fn hand(&self) -> Hand {
        Hand { engine: Arc::clone(&self.engine), id: self.id.clone() }
    }

    async fn remove(&self) -> Result<(), EngineError> {
        self.engine.remove(&self.id).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // Without a runtime the program is about to end, and the next start removes it.
        if let Ok(handle) = Handle::try_current() {
            let (engine, id) = (Arc::clone(&self.engine), std::mem::take(&mut self.id));
            handle.spawn(async move { engine.remove(&id).await.ok() });
        }
    }
}

/// What stops a container for a while, and lets it go on.
#[derive(Clone, Debug)]
pub struct Hand {
    engine: Arc<dyn Engine>,
    id: String,
}

impl Hand {
    /// Stops everything in it.
    pub async fn hold(&self) -> Result<(), EngineError> {
        self.engine.pause(&self.id).await
    }

    /// Lets it go on.
    pub async fn release(&self) -> Result<(), EngineError> {
        self.engine.resume(&self.id).await
    }

    /// Makes its terminal another size: rows and columns.
    pub async fn resize(&self, size: (u16, u16)) -> Result<(), EngineError> {
        self.engine.resize(&self.id, size).await
    }

    /// Kills everything in it, whether or not it stands still.
    pub async fn kill(&self) -> Result<(), EngineError> {
        // Killed first: nothing of it runs again. What stands still dies when it goes on.
        let killed = self.engine.kill(&self.id).await;
        self.engine.resume(&self.id).await.ok();
        killed
    }
}
