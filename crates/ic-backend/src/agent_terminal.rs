//! The host's side of an agent's terminal, whatever holds the agent.
//!
//! What is written and read there is not looked at.

use std::fmt;
use std::io;

use ic_confine::{HostTerminal, TerminalSize};
use ic_container::running::Hand;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

/// The host's side of an agent's terminal.
#[derive(Debug)]
pub enum AgentTerminal {
    /// We made it ourselves.
    Caged(HostTerminal),
    /// The engine made it.
    Contained(ContainedTerminal),
}

/// A terminal that an engine has made, and its stream.
pub struct ContainedTerminal {
    pub(crate) reading: Mutex<Box<dyn AsyncRead + Send + Unpin>>,
    pub(crate) writing: Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    pub(crate) hand: Hand,
}

impl fmt::Debug for ContainedTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainedTerminal").field("hand", &self.hand).finish_non_exhaustive()
    }
}

impl AgentTerminal {
    /// Reads what the agent wrote; 0 once nobody has the terminal any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Caged(terminal) => terminal.read(buffer).await,
            Self::Contained(terminal) => terminal.reading.lock().await.read(buffer).await,
        }
    }

    /// Writes some of what is typed to the agent; waits while the agent reads nothing.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Caged(terminal) => terminal.write(bytes).await,
            Self::Contained(terminal) => {
                let mut writing = terminal.writing.lock().await;
                let n_bytes = writing.write(bytes).await?;
                writing.flush().await?;
                Ok(n_bytes)
            }
        }
    }

    /// Makes it another size, of which the agent is told.
    pub async fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match self {
            Self::Caged(terminal) => terminal.resize(size),
            Self::Contained(terminal) => {
                let resized = terminal.hand.resize((size.rows, size.columns)).await;
                resized.map_err(io::Error::other)
            }
        }
    }
}
