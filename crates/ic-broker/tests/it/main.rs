//! The kernel against fakes: no process is started, nothing is asked of a person, and time is handed in.

mod calls;
mod next;
mod people;
mod typed;
mod world;
