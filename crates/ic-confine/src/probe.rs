//! Finds out which rungs work here, by caging a child and letting it try to get out.
//!
//! The child is this program (`__launch check`). It says that it is held only if everything that it
//! tried was refused, so a rung that does nothing does not count as one that works. A rung that works
//! now is not promised to work later: each cage is made, or the child is not started.

mod remedy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::cage::{CageSpec, Limits, Network};
use crate::launch::check::{HELD, check_words};
use crate::rung::Rung;
use crate::start::{ChildSpec, Hold, Launcher, OURSELVES};

/// A rung that does not work on this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RungFault {
    /// The rung.
    pub rung: Rung,
    /// What went wrong.
    pub reason: String,
    /// What a person can do about it.
    pub remedy: String,
}

/// How long a child may take to find out that it is held.
const CHECK_MAX: Duration = Duration::from_secs(10);
/// More than a child has to say.
const WORDS_MAX: u64 = 4096;

impl Launcher {
    /// Returns the strongest rung that works, or why none does.
    ///
    /// `place` is an existing directory of ours alone, whose contents no cage may see.
    pub async fn strongest(&self, place: &Path) -> Result<Rung, Vec<RungFault>> {
        let mut faults = Vec::new();
        for rung in Rung::ALL {
            match self.try_rung(rung, place).await {
                Ok(()) => return Ok(rung),
                Err(fault) => faults.push(fault),
            }
        }
        Err(faults)
    }

    /// Cages a child, and returns why that did not hold it.
    pub async fn try_rung(&self, rung: Rung, place: &Path) -> Result<(), RungFault> {
        match tokio::time::timeout(CHECK_MAX, self.check(rung, place)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => Err(fault(rung, reason)),
            Err(_) => Err(fault(rung, "a caged child did not answer in time".to_owned())),
        }
    }

    async fn check(&self, rung: Rung, place: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let scratch = tempdir(place).map_err(failed)?;
        let spec = ChildSpec {
            program: PathBuf::from(OURSELVES),
            arguments: check_words(place, rung),
            environment: Vec::new(),
            directory: None,
            grace: Duration::ZERO,
            hold: Hold::Caged(rung, empty(&scratch)),
        };
        let mut child = self.start(&spec).map_err(|error| ic_types::chain(&error))?;
        drop(child.stdin);
        let (said, complained) = tokio::join!(words(child.stdout), words(child.stderr));
        child.process.stop().await.map_err(failed)?;
        match said.trim_end() {
            HELD => Ok(()),
            "" => {
                let complained = complained.trim_end();
                Err(complained.strip_prefix("ironcurtain: ").unwrap_or(complained).to_owned())
            }
            said => Err(format!("a caged child could {said}")),
        }
    }
}

/// A cage with nothing in it.
fn empty(scratch: &Path) -> CageSpec {
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: false,
        home: PathBuf::from("/home"),
        scratch: Some(scratch.to_owned()),
        network: Network::None,
        unix_sockets: false,
        opens_beneath: false,
        relaxed: Vec::new(),
        limits: Limits::SERVER,
        user: None,
    }
}

async fn words(stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // What was read until an error is all there is.
    stream.take(WORDS_MAX).read_to_end(&mut bytes).await.ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes the place that a cage without places of its own writes to.
fn tempdir(place: &Path) -> std::io::Result<PathBuf> {
    let scratch = place.join("probe");
    match rustix::fs::mkdir(&scratch, rustix::fs::Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(scratch),
        Err(errno) => Err(errno.into()),
    }
}

fn fault(rung: Rung, reason: String) -> RungFault {
    RungFault { rung, reason, remedy: remedy::of(rung, remedy::read_setting) }
}
