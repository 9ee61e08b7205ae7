//! Resolving, through the crate's public door: on a disk in memory, and on the real one.

mod bounds;
mod calls;
mod paths;
mod real_disk;
mod remotes;
mod urls;
