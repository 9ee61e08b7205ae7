//! A limit on the memory of this process and of all that it starts from now on.
//!
//! For a server that runs for one call and starts a program that holds whatever a stranger sends. What
//! processes use together is counted by the guard.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process, and each that it starts, have at most `bytes_max` of memory of its own; where less
/// is allowed already, it stays at that.
pub fn limit_memory(bytes_max: u64) -> io::Result<()> {
    let most = getrlimit(Resource::Data).maximum.map_or(bytes_max, |now| now.min(bytes_max));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    Ok(setrlimit(Resource::Data, limit)?)
}
