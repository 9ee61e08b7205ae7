//! How much a caged process may use, as far as the system counts it for each process or user.
//!
//! What all processes of a cage use together is counted by the guard.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::super::{LaunchError, cannot};
use crate::cage::{CageSpec, Relaxation};

/// Sets the limits for this process and all that it will start.
pub(super) fn set(spec: &CageSpec) -> Result<(), LaunchError> {
    let limits = &spec.limits;
    let data = match spec.is_relaxed(Relaxation::MemoryTogether) {
        true => u64::MAX,
        false => limits.memory_bytes_max,
    };
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Data, data),
        (Resource::Fsize, limits.file_bytes_max),
        (Resource::Nofile, limits.descriptors_max.into()),
        (Resource::Nproc, limits.tasks_max.into()),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
        (Resource::Memlock, 64 << 20),
    ] {
        // Where less is allowed already, it stays at that.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let most = Some(most).filter(|most| *most != u64::MAX);
        let limit = Rlimit { current: most, maximum: most };
        setrlimit(resource, limit).map_err(cannot("limit what the server may use"))?;
    }
    Ok(())
}
