//! Random worlds and random agents: nothing of an agent's runs, whatever it does.
//!
//! `IRONCURTAIN_SEQUENCES=N` plays N sequences instead of a few, and `IRONCURTAIN_SEED=N` begins with
//! another one. `cargo xtask attack` plays thousands with the optimised binary.

use std::path::Path;

use ic_testkit::attack::{Executor, Replay, attack_many, play};

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");
/// How many sequences are played.
const SEQUENCES: u64 = 40;
/// How many are played where nobody looks.
const CONTROLS: u64 = 30;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

#[test]
fn nothing_of_an_agents_runs_whatever_it_does() {
    let first = number("IRONCURTAIN_SEED", 1);
    let n_sequences = number("IRONCURTAIN_SEQUENCES", SEQUENCES);
    let seeds = first..first + n_sequences;
    let (tally, broken) = attack_many(Path::new(BINARY), seeds, Executor::Proxy, (2, 3));
    let shown: String = broken.iter().map(|it| format!("{it}\n")).collect();
    assert!(broken.is_empty(), "{shown}{tally}");
    // Calls that are all refused prove nothing.
    let (n_served, n_calls) = tally.n_calls();
    assert!(n_calls < 2 * n_served, "{tally}{}", tally.reasons());
}

/// What the user does alone is not taken for an agent's.
#[test]
fn a_world_without_an_agent_is_quiet() {
    for seed in 1..=CONTROLS {
        let played = play(Path::new(BINARY), seed, Executor::Careless, Some(&Replay::default()));
        assert!(played.findings.is_empty(), "{played}");
    }
}

/// The control: without anybody who looks, the same sequences do run things.
#[test]
fn the_same_sequences_win_where_nobody_looks() {
    let mut n_heard = 0;
    for seed in 1..=CONTROLS {
        let played = play(Path::new(BINARY), seed, Executor::Careless, None);
        n_heard += u64::from(played.findings.iter().any(|it| it.contains("canary")));
    }
    assert!(0 < n_heard, "the canary was heard in {n_heard} of {CONTROLS}");
}
