//! Scripts in real workers: what they can do, what they cannot, and that the next one does not notice.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: a failure is a failed test"
)]

mod attacks;
mod bounds;
mod forgeries;
mod ground;
mod life;
mod scripts;
mod tampering;
