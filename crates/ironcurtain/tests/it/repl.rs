//! `ironcurtain start` without a task: a conversation, at a terminal and in a pipe.

mod asking;
mod ends;
mod pipes;
mod typing;
mod world;
