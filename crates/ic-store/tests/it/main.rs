//! Conversations on a real disk: saved, cut, damaged, listed, removed.

#![expect(clippy::disallowed_methods, reason = "tests damage files on purpose")]

mod cuts;
mod damage;
mod lists;
mod names;
mod removals;
mod rig;
mod saves;
