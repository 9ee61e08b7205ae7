//! The hardened container on a real engine.
//!
//! The engine is the one that `DOCKER_HOST` names, or the one that `scripts/container-engine start` brought up. Where
//! there is none these tests say so and do nothing, except in CI.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests: a failure is a failed test"
)]

mod engine;
mod held;
mod life;
