//! Conversations on a real disk: saved, cut, damaged, listed, removed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    reason = "tests damage files on purpose, and kill processes; a failure is a failed test"
)]

mod cuts;
mod damage;
mod killed;
mod lists;
mod names;
mod removals;
mod rig;
mod saves;
