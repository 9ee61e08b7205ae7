//! Conversations on a real disk: saved, cut, damaged, listed, removed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "tests damage files on purpose, and kill processes"
)]

mod cuts;
mod damage;
mod killed;
mod lists;
mod names;
mod removals;
mod rig;
mod saves;
