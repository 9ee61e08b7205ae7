//! The listener's dashboard as values: what is known, which keys do what, and how it looks.
//!
//! Nothing here reads, writes or knows the time. The caller tells the [`Dashboard`] which sessions run and
//! which requests wait, hands it keys, and sends what a [`Drawing`] comes to.
//!
//! ```text
//! sessions, requests, endings ─▶ Dashboard ─┐
//! keys ─────────────────────────▶   │  Act  ├─▶ draw ─▶ Drawing ─▶ sent: bytes for a terminal
//! the question that stands, its keys, time ─┘
//! ```
//!
//! The question itself is not kept here: which rows of it stand there, and which key answers it, is the
//! business of the one dialog that a conversation, a task and the desk have too. The dashboard gives it
//! [room](draw::Places) and draws its rows.
//!
//! Reading order: [`rows`] (what is known), [`command`] (what can be typed), [`dashboard`] (the state),
//! [`mod@draw`] (the screen), [`mod@sent`] (what goes to a terminal).
//!
//! # Invariants
//!
//! - Every text reaches the screen through [`Line`](ic_terminal::Line), so nothing drives the terminal or hides.
//! - How much room a question has depends on the size of the window and on its keys, never on how much else
//!   there is to show: what comes and goes does not make anybody read a question anew.
//! - "All" means the requests that stood on the screen when the command was begun.

pub mod command;
pub mod dashboard;
pub mod draw;
pub mod rows;
pub mod sent;

pub use command::{Command, Which};
pub use dashboard::{Act, Dashboard, Panel};
pub use draw::{Drawing, Places, Scene, Spot, Standing, draw};
pub use rows::{GrantRow, HistoryRow, RequestRow, SessionRow};
