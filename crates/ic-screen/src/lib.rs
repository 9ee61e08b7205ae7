//! The screen of a program that is not trusted, between that program and a person's terminal.
//!
//! ```text
//! bytes of the program ─Screen─▶ cells, cursor, modes ─Frame─▶ Painter ─▶ bytes for the terminal
//! bytes of the keyboard ─Input─▶ what goes to the program, what is for us, what was typed ─▶ Ring
//! ```
//!
//! Nothing here reads or writes anything, or knows the time. What the program may do is in the table of
//! decision 50; whatever is not in it is dropped and [counted](Dropped).
//!
//! Reading order: [`cell`], [`parser`], [`screen`], [`frame`], [`host`], [`paint`]; then [`input`] and [`ring`].
//!
//! # Invariants
//!
//! - No byte of the program reaches the terminal: a [`Painter`] sends sequences of its own making, numbers,
//!   and characters that a [`Cell`](cell::Cell) can hold, and no cell holds a control, or a character that
//!   changes the direction of text.
//! - Whatever the program sends, the model needs an amount of memory that only its size decides.
//! - What the program sends changes no row that is not its own: rows that we keep are put into the
//!   [`Frame`] after it.
//! - A key that is for us is none that was pasted, and the program never gets it.

pub mod cell;
pub mod dropped;
pub mod frame;
mod grid;
pub mod host;
pub mod input;
pub mod paint;
pub mod parser;
pub mod ring;
pub mod screen;

pub use dropped::Dropped;
pub use frame::{Frame, Span};
pub use host::{Bar, Question};
pub use input::{Input, Piece};
pub use paint::Painter;
pub use ring::Ring;
pub use screen::{Screen, Size};
