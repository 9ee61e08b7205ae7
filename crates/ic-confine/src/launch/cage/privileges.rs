//! Gives up every capability, and the ways to get one.
//!
//! A process of root that has none is still the owner of root's files, so that of an agent becomes another user
//! before; what a server sees of root's files is another matter, and not decided here.

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::super::{LaunchError, cannot};
use crate::cage::{CageSpec, CageUser};

/// Becomes the user of the cage, if there is to be one; from here on this process is not root.
pub(super) fn become_user(spec: &CageSpec) -> Result<(), LaunchError> {
    let Some(CageUser { user, group, .. }) = &spec.user else { return Ok(()) };
    let failed = || cannot::<Errno>("become the user of the cage");
    let (user, group) = (Uid::from_raw(*user), Gid::from_raw(*group));
    if user.is_root() || group.is_root() {
        return Err(LaunchError::Privileged);
    }
    // While we still may: the capabilities go with the user.
    bound()?;
    // SECURITY: what root's groups may read is not for the cage.
    set_thread_groups(&[]).map_err(failed())?;
    set_thread_res_gid(group, group, group).map_err(failed())?;
    set_thread_res_uid(user, user, user).map_err(failed())?;
    let is_user = rustix::process::getuid() == user && rustix::process::geteuid() == user;
    if is_user { Ok(()) } else { Err(LaunchError::Privileged) }
}

/// Lets no program that is run have a capability, as far as we may say so.
fn bound() -> Result<(), LaunchError> {
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
    Ok(())
}

/// Gives up all capabilities, and lets no program that is run have any.
pub(super) fn drop_all() -> Result<(), LaunchError> {
    rustix::thread::set_no_new_privs(true).map_err(cannot("give up new privileges"))?;
    let failed = cannot::<Errno>;
    bound()?;
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
