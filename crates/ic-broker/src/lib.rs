//! The trusted kernel: a call comes in, is judged, recorded, forwarded or refused, and answered.
//!
//! ```text
//! Asked ──▶ Broker ──Recorded──▶ backend
//!       ◀──Reply──        ◀──Outcome──
//! ```
//!
//! It knows no transport: clients are in `ic-client`, servers in `ic-backend`.
//!
//! Reading order: [`broker`] (one call), then `breaker`, `questions`, `result` and [`refusal`] (what stands between).
//!
//! # Invariants
//!
//! - Only a `Recorded` call is forwarded, and it is forwarded once.
//! - A result is held to limits before anybody reads it, and our own keys are masked in it.

mod breaker;
pub mod broker;
mod questions;
pub mod refusal;
mod result;

pub use broker::{Attendance, Broker, FORWARD_GRACE, Patience, People, Setup};

use ic_types::{chain, locked};
