//! A terminal without the terminal: keys are read, lines edited and screens drawn as values.
//!
//! Nothing here reads or writes anything, or knows the time. Whoever has the terminal feeds bytes into
//! a [`Decoder`], keys into an [`Editor`], and writes what a [`Canvas`] returns.
//!
//! ```text
//! bytes ─Decoder─▶ Key ─Editor─▶ text, cursor ─layout─▶ Frame ─┐
//!                       text of strangers ─Markdown─▶ Line ─────┴─Canvas─▶ bytes
//! ```
//!
//! Reading order: [`mod@line`] (what may stand on a screen), [`key`], [`editor`] and [`history`],
//! [`layout`], [`markdown`], [`canvas`], [`gate`] (what answers a question); [`command`] and
//! [`completion`] know what can be typed.
//!
//! # Invariants
//!
//! - What stands in a [`Line`] drives no terminal and hides nothing: every character passed
//!   [`harmless`](line::harmless) on its way in, and there is no other way.
//! - No row that a [`Canvas`] draws is left to the terminal to break.
//! - What was pasted is never taken for keys.
//! - What answers a question is handed out by a [`Gate`], as the question that stood there.

pub mod canvas;
pub mod command;
pub mod completion;
pub mod editor;
pub mod gate;
pub mod history;
pub mod key;
pub mod layout;
pub mod line;
pub mod markdown;

pub use canvas::{Canvas, Size};
pub use command::{COMMANDS, Command, Named};
pub use completion::{Completed, Place, complete};
pub use editor::Editor;
pub use gate::Gate;
pub use history::History;
pub use key::{Decoder, Key, Mouse, Piece};
pub use layout::Frame;
pub use line::{Ink, Line, Span};
pub use markdown::Markdown;
