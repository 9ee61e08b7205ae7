//! The git server: the real git program in real repositories.

mod attacks;
mod bench;
mod bounds;
mod catalog;
mod links;
mod race;
mod rules;
mod takeovers;
mod tools;
mod trees;
