//! The worker as its own program, for tests and measurements; and one that says what no worker says.

mod forger;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == ic_confine::LAUNCH => ic_confine::run_launcher(words),
        Some(word) if word == "code-worker" => ic_sandbox::worker::run(words),
        Some(word) if word == "forger" => forger::run(),
        Some(_) | None => ExitCode::FAILURE,
    }
}
