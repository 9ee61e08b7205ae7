//! seccomp: which system calls there are for a caged process.
//!
//! Three filters, each of which can only refuse: calls that are not on the list do not exist
//! (`ENOSYS`, so programs fall back to others); calls that are doors out of a cage are not permitted
//! (`EPERM`, so that a person can see what happened); sockets of families that the cage does not have
//! are not supported (`EAFNOSUPPORT`). Nothing is killed: a server that tries lives on, and tells.

mod calls;

use std::collections::BTreeMap;
use std::os::raw::c_int;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::super::LaunchError;
use crate::cage::CageSpec;
use crate::orders::CageOrder;
use crate::rung::Rung;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Fallible<T> = Result<T, seccompiler::BackendError>;

/// Restricts this process and all that it will start.
pub(super) fn restrict(order: &CageOrder) -> Result<(), LaunchError> {
    // Where two filters refuse a call, the one that was installed last has the word.
    for filter in filters(order).map_err(|error| LaunchError::Filter(error.into()))? {
        seccompiler::apply_filter(&filter).map_err(LaunchError::Filter)?;
    }
    Ok(())
}

fn filters(order: &CageOrder) -> Fallible<[BpfProgram; 3]> {
    Ok([
        program(known(), SeccompAction::Allow, refuse(libc::ENOSYS))?,
        program(shut(order.rung)?, refuse(libc::EPERM), SeccompAction::Allow)?,
        program(sockets(&order.spec)?, refuse(libc::EAFNOSUPPORT), SeccompAction::Allow)?,
    ])
}

fn program(
    rules: Rules,
    for_matching: SeccompAction,
    for_others: SeccompAction,
) -> Fallible<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, for_others, for_matching, architecture)?.try_into()
}

fn refuse(error: c_int) -> SeccompAction {
    SeccompAction::Errno(error.cast_unsigned())
}

/// Calls that exist.
fn known() -> Rules {
    calls::KNOWN.iter().chain(calls::KNOWN_HERE).map(|call| (*call, Vec::new())).collect()
}

/// Calls that are refused, some of them only with certain arguments.
fn shut(rung: Rung) -> Fallible<Rules> {
    let mut rules: Rules = calls::SHUT.iter().map(|call| (*call, Vec::new())).collect();
    let flags = calls::NAMESPACE_FLAGS.into_iter().map(|flag| {
        let is_set = SeccompCmpOp::MaskedEq(flag);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, is_set, flag)?])
    });
    rules.insert(libc::SYS_clone, flags.collect::<Fallible<_>>()?);
    let mut requests = calls::TERMINAL_REQUESTS.to_vec();
    rules.insert(libc::SYS_fcntl, vec![rule([is(1, calls::SET_LEASE)])?]);
    for (call, argument) in calls::MODES {
        let bits = calls::SET_ID_BITS.into_iter().map(|bit| rule([has(*argument, bit)]));
        rules.insert(*call, bits.collect::<Fallible<_>>()?);
    }
    let traced = rule([is(0, calls::SECCOMP_FILTER), has(1, calls::SECCOMP_NEW_LISTENER)])?;
    rules.insert(libc::SYS_seccomp, vec![traced]);
    let is_root = rustix::process::geteuid().is_root();
    if rung == Rung::Landlock || rung == Rung::Bubblewrap && is_root {
        rules.extend(calls::SHUT_FOR_FILES.iter().map(|call| (*call, Vec::new())));
    }
    if rung == Rung::Landlock {
        rules.extend(calls::SHUT_ALONE.iter().map(|call| (*call, Vec::new())));
        for call in calls::SHUT_FOR_OTHERS {
            rules.insert(*call, vec![rule([condition(0, SeccompCmpOp::Ne, 0)])?]);
        }
        rules.insert(libc::SYS_prctl, vec![rule([is(0, calls::SET_DEATH_SIGNAL)])?]);
        requests.extend(calls::FILE_REQUESTS);
    }
    let requests = requests.into_iter().map(|request| rule([is(1, request)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Fallible<_>>()?);
    Ok(rules)
}

/// Sockets that cannot be made.
fn sockets(spec: &CageSpec) -> Fallible<Rules> {
    /// More than there are families today; what comes above is refused by a rule of its own.
    const FAMILIES: u64 = 64;
    const TYPE_MASK: u64 = 0xf;
    let mut families = Vec::new();
    if spec.unix_sockets {
        families.push(family(libc::AF_UNIX));
    }
    let internet = [family(libc::AF_INET), family(libc::AF_INET6)];
    if spec.network.has_doors() {
        families.extend(internet);
    }
    let mut rules = Vec::new();
    for number in (0..FAMILIES).filter(|number| !families.contains(number)) {
        rules.push(rule([is(0, number)])?);
    }
    rules.push(rule([condition(0, SeccompCmpOp::Ge, FAMILIES)])?);
    // Streams and datagrams, and nothing raw.
    let kinds = [family(libc::SOCK_STREAM), family(libc::SOCK_DGRAM)];
    for kind in (0..=TYPE_MASK).filter(|kind| !kinds.contains(kind)) {
        for number in internet {
            let is_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind);
            rules.push(rule([is(0, number), is_kind])?);
        }
    }
    let mut calls = BTreeMap::from([(libc::SYS_socket, rules)]);
    if !spec.unix_sockets {
        // SECURITY: one of a pair of datagrams can be turned to any socket that has a name.
        let pairs = [family(libc::SOCK_STREAM), family(libc::SOCK_SEQPACKET)];
        let others = (0..=TYPE_MASK).filter(|kind| !pairs.contains(kind));
        let others =
            others.map(|kind| rule([condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)]));
        calls.insert(libc::SYS_socketpair, others.collect::<Fallible<_>>()?);
    }
    Ok(calls)
}

fn family(number: c_int) -> u64 {
    number.cast_unsigned().into()
}

fn is(argument: u8, value: u64) -> Fallible<SeccompCondition> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn has(argument: u8, flag: u64) -> Fallible<SeccompCondition> {
    condition(argument, SeccompCmpOp::MaskedEq(flag), flag)
}

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> Fallible<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
}

fn rule<const N: usize>(conditions: [Fallible<SeccompCondition>; N]) -> Fallible<SeccompRule> {
    SeccompRule::new(conditions.into_iter().collect::<Fallible<_>>()?)
}
