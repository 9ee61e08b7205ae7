//! The git server: the real git program in real repositories.

mod attacks;
mod bench;
mod bounds;
mod catalog;
mod race;
mod tools;
mod trees;
