//! What a run says, and where a failing input is kept.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "test support: it reports on stderr, and a failure is a failed test"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::{Counts, hash};

/// How much of an input is shown.
const SHOWN_MAX: usize = 400;

/// Reads the clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

pub(crate) fn summary(name: &str, seed: u64, counts: &Counts) {
    let Counts { n_inputs, n_accepted, n_kinds, slowest } = counts;
    say(&format!(
        "{name}: {n_inputs} inputs (seed {seed}), {n_accepted} accepted, {n_kinds} kinds of outcome, \
         the slowest {slowest:?}"
    ));
}

/// Saves a failing input, and fails the test with all that it takes to see it again.
pub(crate) fn fail(name: &str, seed: u64, input: &[u8], message: &str) -> ! {
    let path = save(&format!("{name}-{:016x}", hash(input)), input);
    let shown = input.get(..SHOWN_MAX).unwrap_or(input).escape_ascii();
    let (n_bytes, path) = (input.len(), path.display());
    panic!(
        "{message}\n  target: {name}, seed {seed}\n  input of {n_bytes} bytes: {shown}\n  \
         try it again: cargo xtask fuzz {name} --input {path}"
    );
}

/// Saves an input in the target directory, and returns where.
pub(crate) fn save(file: &str, input: &[u8]) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz-inputs");
    std::fs::create_dir_all(&directory).expect("a directory for inputs");
    let directory = directory.canonicalize().expect("it was made");
    let path = directory.join(file);
    std::fs::write(&path, input).expect("room for an input");
    path
}
