//! A failing input made smaller, as long as it fails.

use std::panic;
use std::time::Duration;

use crate::{Outcome, guarded, report};

/// How long is spent on it.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Takes parts out of `input` while `check` still panics.
pub(crate) fn shrink(check: &dyn Fn(&[u8]) -> Outcome, input: &[u8]) -> Vec<u8> {
    let hook = panic::take_hook();
    // Hundreds of panics are about to be provoked, of which the last one is reported.
    panic::set_hook(Box::new(|_| {}));
    let smallest = smaller(check, input);
    panic::set_hook(hook);
    smallest
}

fn smaller(check: &dyn Fn(&[u8]) -> Outcome, input: &[u8]) -> Vec<u8> {
    let start = report::now();
    let mut input = input.to_vec();
    let mut n = input.len().div_ceil(2);
    while 0 < n {
        let mut at = 0;
        while at < input.len() && start.elapsed() < TIME_MAX {
            let mut shorter = input.clone();
            shorter.drain(at..input.len().min(at + n));
            if guarded(check, &shorter).0.is_err() {
                input = shorter;
            } else {
                at += n;
            }
        }
        n /= 2;
    }
    input
}
