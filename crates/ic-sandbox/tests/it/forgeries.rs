//! Workers that were taken over: whatever they say, they are killed, and the next run is served.

use std::time::Duration;

use ic_confine::Rung;
use ic_sandbox::{Ended, Limits};

use crate::ground::{Ground, leftovers};

/// How a run with a forging worker ends.
enum Expected {
    Broke(&'static str),
    Killed,
    Done,
}

#[tokio::test]
async fn a_worker_that_falls_silent_is_killed_in_time() {
    let marker = (128 << 20) + 1_002;
    let time = Duration::from_millis(1500);
    let limits = Limits { time, heap_bytes_max: marker, ..Limits::DEFAULT };
    let ground = Ground::of(Rung::Namespaces, "forger", limits);
    let run = ground.run("forge half a frame and silence.").await;
    assert!(matches!(run.ended, Ended::TimedOut), "{:?}", run.ended);
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_worker_that_breaks_the_rules_is_killed_and_the_next_one_serves() {
    use Expected::{Broke, Done, Killed};
    let marker = (128 << 20) + 1_001;
    let limits = Limits {
        // Longer than any flood takes on a busy machine.
        time: Duration::from_mins(1),
        calls_max: 50,
        heap_bytes_max: marker,
        ..Limits::DEFAULT
    };
    let ground = Ground::of(Rung::Namespaces, "forger", limits);
    for (forgery, expected) in [
        ("ready twice", Broke("out of turn")),
        ("done at once", Broke("out of turn")),
        ("call at once", Broke("out of turn")),
        ("end at once", Killed),
        ("started twice", Broke("out of turn")),
        ("no JSON", Broke("not a message")),
        ("no message", Broke("not a message")),
        ("two messages", Broke("not a message")),
        ("key twice", Broke("duplicate key")),
        ("key too many", Broke("not a message")),
        ("half a character", Broke("lone surrogate")),
        ("no text", Broke("not a message")),
        ("deep", Broke("nest deeper")),
        ("nothing", Broke("not a message")),
        ("long", Broke("a frame takes 4294967295 bytes")),
        ("somewhat long", Broke("a frame takes 17825792 bytes")),
        ("half a frame", Killed),
        ("end", Killed),
        ("wrong number", Broke("counted its calls wrong")),
        ("number again", Broke("counted its calls wrong")),
        ("no such tool", Broke("a tool that is not there")),
        ("no such server", Broke("a tool that is not there")),
        ("no name", Broke("not a message")),
        ("no arguments", Broke("not a message")),
        ("two calls", Broke("while it was to wait")),
        ("talk while it waits", Broke("while it was to wait")),
        ("end while it waits", Killed),
        ("flood of prints", Broke("spoke too often")),
        ("flood of bytes", Broke("printed too much")),
        ("flood of calls", Broke("more calls than it may")),
        ("flood of complaints", Done),
    ] {
        let run = ground.run(&format!("forge {forgery}.")).await;
        let is_expected = match (&run.ended, expected) {
            (Ended::Broke { why }, Broke(part)) => why.contains(part),
            (Ended::Killed { .. }, Killed) | (Ended::Done, Done) => true,
            _ => false,
        };
        assert!(is_expected, "{forgery}: {:?}", run.ended);
        assert!(run.report().len() < 100_000, "{forgery}: {}", run.report().len());
        ground.goes_on().await;
    }
    // Calls that were broken off were told so.
    let n_cancelled = ground.calls.cancelled.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(n_cancelled, 3, "two calls, talk while it waits, end while it waits");
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}
