//! `ironcurtain start` at a terminal, and the desk: a conversation, a task, and the one dialog of all.

mod asking;
mod demo;
mod desk;
mod ends;
mod greeting;
mod here;
pub(crate) mod in_tmux;
mod moments;
mod one_shot;
mod pipes;
mod typing;
pub(crate) mod world;
