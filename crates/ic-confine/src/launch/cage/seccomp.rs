//! seccomp: which system calls there are for a caged process.
//!
//! Calls that are not on the list do not exist (`ENOSYS`, so programs fall back to others); calls that
//! are doors out of a cage are not permitted (`EPERM`, so that a person can see what happened); sockets
//! of families that the cage does not have are not supported (`EAFNOSUPPORT`). Nothing is killed: a
//! server that tries lives on, and tells.

mod calls;
mod filter;

use std::os::raw::c_int;

use libc::c_long;

use self::filter::{Filter, Is, Unbuildable, Verdict};
use super::super::LaunchError;
use crate::cage::{CageSpec, Relaxation};
use crate::orders::CageOrder;
use crate::rung::Rung;

/// Restricts this process and all that it will start.
pub(super) fn restrict(order: &CageOrder) -> Result<(), LaunchError> {
    let is_root = rustix::process::geteuid().is_root();
    let filter = filter(order.rung, &order.spec, is_root).and_then(|filter| filter.build());
    let filter = filter.map_err(|Unbuildable| LaunchError::Unbuildable)?;
    seccompiler::apply_filter(&filter).map_err(LaunchError::Filter)
}

/// Restricts this process in a container, which has namespaces of its own.
pub(super) fn restrict_alone(spec: &CageSpec) -> Result<(), LaunchError> {
    let filter = filter(Rung::Namespaces, spec, false).and_then(|filter| filter.build());
    let filter = filter.map_err(|Unbuildable| LaunchError::Unbuildable)?;
    seccompiler::apply_filter(&filter).map_err(LaunchError::Filter)
}

fn filter(rung: Rung, spec: &CageSpec, is_root: bool) -> Result<Filter, Unbuildable> {
    let mut filter = Filter::new(Verdict::Refuse(libc::ENOSYS));
    for call in calls::KNOWN.iter().chain(calls::KNOWN_HERE) {
        filter.set(*call, Verdict::Allow)?;
    }
    shut(&mut filter, rung, is_root)?;
    if !spec.opens_beneath {
        // SECURITY: the mode of a file that it makes stands where no filter can look. Programs fall back
        // to `openat`, whose mode can be seen.
        filter.set(libc::SYS_openat2, Verdict::Refuse(libc::ENOSYS))?;
    }
    if spec.is_relaxed(Relaxation::MemoryFiles) {
        filter.set(libc::SYS_memfd_create, Verdict::Allow)?;
    }
    sockets(&mut filter, spec)?;
    Ok(filter)
}

/// Refuses what leads out, some of it only with certain arguments.
fn shut(filter: &mut Filter, rung: Rung, is_root: bool) -> Result<(), Unbuildable> {
    let mut refuse =
        |call: c_long, conditions: &[(u8, Is)]| filter.refuse(call, conditions, libc::EPERM);
    for flag in calls::NAMESPACE_FLAGS {
        refuse(libc::SYS_clone, &[(0, has(flag))])?;
    }
    refuse(libc::SYS_fcntl, &[(1, Is::Equal(calls::SET_LEASE))])?;
    for (call, argument) in calls::MODES {
        for bit in calls::SET_ID_BITS {
            refuse(*call, &[(*argument, has(bit))])?;
        }
    }
    for (call, how, mode) in calls::OPENINGS {
        for (making, bit) in
            calls::MAKING.into_iter().flat_map(|it| calls::SET_ID_BITS.map(|bit| (it, bit)))
        {
            refuse(*call, &[(*how, has(making)), (*mode, has(bit))])?;
        }
    }
    let listens = [(0, Is::Equal(calls::SECCOMP_FILTER)), (1, has(calls::SECCOMP_NEW_LISTENER))];
    refuse(libc::SYS_seccomp, &listens)?;
    for request in calls::TERMINAL_REQUESTS {
        refuse(libc::SYS_ioctl, &[(1, Is::Equal(request))])?;
    }
    if rung == Rung::Landlock {
        for call in calls::SHUT_FOR_OTHERS {
            refuse(*call, &[(0, Is::Unequal(0))])?;
        }
        refuse(libc::SYS_prctl, &[(0, Is::Equal(calls::SET_DEATH_SIGNAL))])?;
        for request in calls::FILE_REQUESTS {
            refuse(libc::SYS_ioctl, &[(1, Is::Equal(request))])?;
        }
    }
    // Last, because this is said of all calls of these names.
    let mut shut = vec![calls::SHUT];
    if rung == Rung::Landlock || rung == Rung::Bubblewrap && is_root {
        shut.push(calls::SHUT_FOR_FILES);
    }
    if rung == Rung::Landlock {
        shut.push(calls::SHUT_ALONE);
    }
    for call in shut.into_iter().flatten() {
        filter.set(*call, Verdict::Refuse(libc::EPERM))?;
    }
    Ok(())
}

/// Refuses sockets of other families and kinds than the cage has.
fn sockets(filter: &mut Filter, spec: &CageSpec) -> Result<(), Unbuildable> {
    let mut families = Vec::new();
    if spec.unix_sockets {
        families.push(libc::AF_UNIX);
    }
    if spec.network.has_doors() {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let mut refuse =
        |call: c_long, conditions: &[(u8, Is)]| filter.refuse(call, conditions, libc::EAFNOSUPPORT);
    let none_of_them: Vec<_> = families.into_iter().map(|it| (0, Is::Unequal(word(it)))).collect();
    refuse(libc::SYS_socket, &none_of_them)?;
    // Of the internet streams (1) and datagrams (2), and nothing raw.
    for kind in [kind(0b1000, 0b1000), kind(0b0100, 0b0100), kind(0b1111, 0), kind(0b1111, 3)] {
        refuse(libc::SYS_socket, &[(0, Is::Unequal(word(libc::AF_UNIX))), (1, kind)])?;
    }
    if !spec.unix_sockets {
        // SECURITY: one of a pair of datagrams can be turned to any socket that has a name. What is left
        // are streams (1) and sequences of packets (5).
        for kind in [kind(0b1000, 0b1000), kind(0b0010, 0b0010), kind(0b0001, 0)] {
            refuse(libc::SYS_socketpair, &[(1, kind)])?;
        }
    }
    Ok(())
}

/// The kind of a socket, which stands in the lowest four bits.
fn kind(mask: u32, value: u32) -> Is {
    Is::Masked { mask, value }
}

fn has(flag: u32) -> Is {
    Is::Masked { mask: flag, value: flag }
}

fn word(number: c_int) -> u32 {
    number.cast_unsigned()
}

#[cfg(test)]
mod tests;
