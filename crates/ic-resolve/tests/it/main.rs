//! Resolving, through the crate's public door: on a disk in memory, and on the real one.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests: a failure is a failed test"
)]

mod bounds;
mod cached;
mod calls;
mod executes;
mod executes_elsewhere;
mod executes_meaning;
mod fuzz;
mod git_remotes;
mod paths;
mod real_disk;
mod remotes;
mod trees;
mod urls;
mod work;
