//! The last thing that a process of ours gives up by itself, in whatever cage it is: nearly everything.
//!
//! For a program that does nothing but answer: it reads what it is asked, thinks, and writes. What it
//! has opened stays open, and only the standard streams can still be used. A cage is not made here;
//! this stands behind one, so that code which takes over the process finds nothing to call.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::sys;

/// Why a process could not be tightened.
#[derive(Debug, thiserror::Error)]
pub enum TightenError {
    /// No filter can be made for this kind of machine.
    #[error("cannot make the filter")]
    Filter(#[source] seccompiler::BackendError),
    /// The system does not take it.
    #[error("seccomp refuses the filter")]
    Seccomp(#[source] seccompiler::Error),
}

/// Calls that take nothing but time and memory of the process itself.
const FREE: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// Leaves this process, with all its threads, nothing but standard input and output, standard error,
/// its memory, clocks and its end; for good.
///
/// No file is opened from here on, nothing is run, no thread or process is made, no memory becomes
/// code, and no limit or signal is changed: all of that is refused with `EPERM`. What is wrong with
/// the process ends it, since signals do again what they do by themselves.
pub fn tighten() -> Result<(), TightenError> {
    let filter = filter().map_err(TightenError::Filter)?;
    // A handler that sets another one and returns would run for ever, now that it cannot.
    sys::forget_handlers();
    seccompiler::apply_filter_all_threads(&filter).map_err(TightenError::Seccomp)
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    /// `FUTEX_WAIT` and `FUTEX_WAKE`, without their flags.
    const FUTEX: (u64, [u64; 2]) = (0x7f, [0, 1]);
    const RUNS: u64 = number(libc::PROT_EXEC);
    const NOWHERE: u64 = number(libc::MAP_ANONYMOUS);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        FREE.iter().map(|call| (*call, Vec::new())).collect();
    let stream = |it: c_int| rule(&[(0, SeccompCmpOp::Eq, number(it))]);
    rules.insert(libc::SYS_read, vec![stream(libc::STDIN_FILENO)?]);
    let written = || Ok(vec![stream(libc::STDOUT_FILENO)?, stream(libc::STDERR_FILENO)?]);
    rules.insert(libc::SYS_write, written()?);
    rules.insert(libc::SYS_writev, written()?);
    let (mask, operations) = FUTEX;
    let operations = operations.map(|it| rule(&[(1, SeccompCmpOp::MaskedEq(mask), it)]));
    rules.insert(libc::SYS_futex, operations.into_iter().collect::<Result<_, _>>()?);
    // SECURITY: memory that is written never becomes code, and no file becomes memory.
    let no_code = (2, SeccompCmpOp::MaskedEq(RUNS), 0);
    let no_file = (3, SeccompCmpOp::MaskedEq(NOWHERE), NOWHERE);
    rules.insert(libc::SYS_mmap, vec![rule(&[no_code, no_file])?]);
    rules.insert(libc::SYS_mprotect, vec![rule(&[(2, SeccompCmpOp::MaskedEq(RUNS), 0)])?]);
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, architecture)?.try_into()
}

/// A number of the system, in the size in which it is compared.
const fn number(it: c_int) -> u64 {
    it.cast_unsigned() as u64
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, operation, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operation.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
