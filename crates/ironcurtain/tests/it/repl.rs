//! `ironcurtain start` without a task: a conversation, at a terminal and in a pipe.

mod asking;
mod ends;
mod in_tmux;
mod moments;
mod pipes;
mod typing;
mod world;
