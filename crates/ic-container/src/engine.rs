//! What we ask of an engine.
//!
//! The words of its API are in [`api`](crate::api); here is what they mean, so that tests can stand in for it.

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;

use hyper::body::Bytes;
use ic_types::Object;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::preflight::Facts;

/// What an engine was asked, and will answer.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// A container engine of this machine.
pub trait Engine: Debug + Send + Sync {
    /// Returns where it is.
    fn socket(&self) -> &std::path::Path;

    /// Asks which engine it is, and what it can do.
    fn facts(&self) -> Asked<'_, Facts>;

    /// Makes a container, which does not run yet; returns its id.
    fn create<'a>(&'a self, name: &'a str, request: &'a Object) -> Asked<'a, String>;

    /// Returns what it says of a container; `None` if there is no such container.
    fn inspect<'a>(&'a self, id: &'a str) -> Asked<'a, Option<Object>>;

    /// Connects to what the program of a container will read and write; at a terminal that is one stream.
    fn attach<'a>(&'a self, id: &'a str, is_at_terminal: bool) -> Asked<'a, Streams>;

    /// Makes the terminal of a container that runs another size: rows and columns.
    fn resize<'a>(&'a self, id: &'a str, size: (u16, u16)) -> Asked<'a, ()>;

    /// Starts a container.
    fn start<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;

    /// Waits until a container has ended; returns the code of its program.
    fn wait<'a>(&'a self, id: &'a str) -> Asked<'a, i64>;

    /// Kills everything in a container; one that does not run is left alone.
    fn kill<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;

    /// Stops everything in a container, so that it can go on.
    fn pause<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;

    /// Lets a container go on; one that does not stand still is left alone.
    fn resume<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;

    /// Removes a container and what was made for it, killing what runs in it; one that is gone is left alone.
    fn remove<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;

    /// Returns the containers that have a label, as the engine lists them.
    fn containers<'a>(&'a self, label: &'a str) -> Asked<'a, Vec<Object>>;

    /// Returns the images that have a label, as the engine lists them.
    fn images<'a>(&'a self, label: &'a str) -> Asked<'a, Vec<Object>>;

    /// Returns what it says of an image; `None` if it does not have it.
    fn image<'a>(&'a self, name: &'a str) -> Asked<'a, Option<Object>>;

    /// Returns the names of its networks.
    fn networks(&self) -> Asked<'_, Vec<String>>;

    /// Fetches an image that it does not have.
    fn pull<'a>(&'a self, name: &'a str, tell: &'a (dyn Fn(&str) + Send + Sync)) -> Asked<'a, ()>;

    /// Removes an image.
    fn remove_image<'a>(&'a self, name: &'a str) -> Asked<'a, ()>;

    /// Builds an image from an archive that holds a `Dockerfile`, and tells what comes of each step.
    fn build<'a>(
        &'a self,
        build: Build<'a>,
        tell: &'a (dyn Fn(&str) + Send + Sync),
    ) -> Asked<'a, ()>;
}

/// An image to be built.
#[derive(Clone, Debug)]
pub struct Build<'a> {
    /// What it is to be called.
    pub tag: &'a str,
    /// Its labels.
    pub labels: &'a Object,
    /// The network of its steps; without one the engine's own.
    pub network: Option<&'a str>,
    /// The archive.
    pub archive: Bytes,
}

/// What a container's program reads and writes.
#[expect(missing_debug_implementations, reason = "streams have nothing to show")]
pub struct Streams {
    /// What it reads; shutting it down is the end of that.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// What it complains about.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
}

/// An engine that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nobody listens.
    #[error("the container engine cannot be reached at `{}`", socket.display())]
    Unreachable {
        /// Where.
        socket: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It does not speak as expected.
    #[error("the container engine broke off while it was asked to {doing}")]
    Broken {
        /// What it was asked.
        doing: &'static str,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It refuses.
    #[error("the container engine refuses to {doing}: {message}")]
    Refused {
        /// What it was asked.
        doing: &'static str,
        /// The status of its answer.
        status: u16,
        /// What it says.
        message: String,
    },
    /// It does not answer.
    #[error("the container engine did not {doing} within {seconds} s")]
    Late {
        /// What it was asked.
        doing: &'static str,
        /// How long we waited.
        seconds: u64,
    },
    /// A build went wrong.
    #[error("the image cannot be built: {message}")]
    Build {
        /// What the engine says.
        message: String,
    },
}

impl EngineError {
    /// Returns what a person can do about it, if anything is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Unreachable { source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Some(
                    "your user may not talk to the engine: add it to the group `docker` (which is as good as \
                     root), or use a rootless engine; `--backend cage` needs none"
                        .to_owned(),
                )
            }
            Self::Unreachable { .. } => Some(
                "start the engine (`systemctl start docker`), or name it with DOCKER_HOST; \
                 `--backend cage` needs none"
                    .to_owned(),
            ),
            Self::Refused { message, .. } | Self::Build { message }
                if message.contains("no space left") =>
            {
                Some("the engine's disk is full: `ironcurtain images prune` and `docker system prune` make room"
                    .to_owned())
            }
            Self::Late { .. } => Some("see whether the engine is well: `docker info`".to_owned()),
            Self::Broken { .. } | Self::Refused { .. } | Self::Build { .. } => None,
        }
    }

    /// Returns whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}
