//! Gives up every capability, and the ways to get one.
//!
//! A process of root that has none is still the owner of root's files; what it can see of them is
//! another matter, and not decided here.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::super::{LaunchError, cannot};

/// Gives up all capabilities, and lets no program that is run have any.
pub(super) fn drop_all() -> Result<(), LaunchError> {
    rustix::thread::set_no_new_privs(true).map_err(cannot("give up new privileges"))?;
    let failed = cannot::<Errno>;
    let now = rustix::thread::capabilities(None).map_err(failed("look at the capabilities"))?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all() {
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // The kernel does not know it yet.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(errno) => return Err(failed("bound the capabilities")(errno)),
            }
        }
    }
    match rustix::thread::clear_ambient_capability_set() {
        Ok(()) => {}
        Err(errno) => return Err(failed("clear the capabilities")(errno)),
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(failed("drop the capabilities"))?;
    // SECURITY: look, because everything else rests on it.
    let left = rustix::thread::capabilities(None).map_err(failed("look at the capabilities"))?;
    if left == sets { Ok(()) } else { Err(LaunchError::Privileged) }
}
