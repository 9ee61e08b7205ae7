//! The second rung: bubblewrap makes the namespaces and the root, and runs this program inside.

use rustix::process::Pid;

use super::super::LaunchError;
use crate::orders::{CageOrder, Invocation};

/// Starts the server in a cage of bubblewrap; returns the process outside.
pub(in super::super) fn start(_: &CageOrder, _: &Invocation) -> Result<Pid, LaunchError> {
    Err(LaunchError::NoBubblewrap)
}
