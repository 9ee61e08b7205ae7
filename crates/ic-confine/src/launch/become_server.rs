//! The last step: a process of ours takes on what the server is to have, and becomes it.
//!
//! Here, between the guard and the program, is where a server will be confined. Today it only makes
//! sure that the server dies with its guard, and gets the environment that was written out for it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use rustix::process::Signal;

use super::{LaunchError, cannot, check_parent};
use crate::orders::{BecomeOrder, Invocation, unmarked};
use crate::{proc, program};

/// More than the system lets a program be started with.
const ENVIRONMENT_BYTES_MAX: usize = 8 << 20;

/// Becomes the server; returns only if that failed.
pub(super) fn run(order: &BecomeOrder) -> LaunchError {
    match prepare(order) {
        Ok(environment) => exec(&order.invocation, environment),
        Err(error) => error,
    }
}

fn prepare(order: &BecomeOrder) -> Result<Vec<(OsString, OsString)>, LaunchError> {
    // SECURITY: without this a server would live on when somebody kills its guard with `kill -9`.
    // The signal comes when the thread that forked us ends, and the guard has only one.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(cannot("die with the guard"))?;
    check_parent(order.guard)?;
    program::check(&order.invocation.program)?;
    let block = proc::read(Path::new("/proc/self/environ"), ENVIRONMENT_BYTES_MAX)
        .map_err(cannot("read the environment of the server"))?;
    Ok(unmarked(&block))
}

fn exec(invocation: &Invocation, environment: Vec<(OsString, OsString)>) -> LaunchError {
    #[expect(clippy::disallowed_methods, reason = "this is where servers come from")]
    let mut server = std::process::Command::new(&invocation.program);
    server.arg0(&invocation.name).args(&invocation.arguments).env_clear().envs(environment);
    let source = server.exec();
    let program = invocation.program.clone();
    // The file itself was there a moment ago.
    match source.kind() {
        io::ErrorKind::NotFound => LaunchError::NoInterpreter { program },
        _ => LaunchError::Run { program, source },
    }
}
