//! Very many steps: memory does not grow with them beyond what is said in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, Reply, Said};

use super::World;

const STEPS: usize = 200;

/// Returns how much of the memory of a process is its own, in kB.
pub(super) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|it| it.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn two_hundred_steps_take_no_more_memory_than_what_is_said() {
    let pid = Arc::new(AtomicU32::new(0));
    let seen: Arc<[AtomicU64; 2]> = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let hook = {
        let (pid, seen) = (Arc::clone(&pid), Arc::clone(&seen));
        Arc::new(move |n: usize| {
            let at = match n {
                60 => 0,
                STEPS => 1,
                _ => return,
            };
            seen[at].store(resident(pid.load(Ordering::SeqCst)), Ordering::SeqCst);
        })
    };
    // Tools that are not there are used quickly, and each is another one, or it would be a loop.
    let step = |n: usize| {
        let mut said = Said::code(&["1"]).saying("Next.");
        for used in &mut said.uses {
            used.name = format!("nothing_{n}");
        }
        Reply::Says(said)
    };
    let codes = (1..STEPS).map(step);
    let script: Vec<Reply> = codes.chain([Reply::Says(Said::text("counted"))]).collect();
    let provider = ScriptedProvider::start_with(script, Some(hook));
    let world = World::at(Format::Anthropic, provider);
    world.set("budget.maxSteps", "null");
    let started = world.begin(&[], "count to two hundred");
    pid.store(started.pid(), Ordering::SeqCst);
    // However slow the machine is, it goes on.
    for n in (10..=STEPS).step_by(10) {
        world.provider.until_asked(n);
    }
    let output = started.end();
    assert_eq!((output.code, output.stdout.as_str()), (0, "counted\n"), "{output:?}");
    assert_eq!(world.provider.n_requests(), STEPS);
    world.provider.check();
    let [early, late] = [0, 1].map(|at| seen[at].load(Ordering::SeqCst));
    assert!(0 < early, "nothing was measured");
    // What is said in 140 steps takes some 100 kB; a copy of the conversation for each would take 10 MB.
    assert!(late <= early + 4096, "{early} kB after 60 steps, {late} kB after {STEPS}");
}
