//! A request that nobody wants any more: the provider sees that the connection is closed.

use ic_testkit::provider::{Format, Reply, Said, frames};
use rustix::process::Signal;

use super::{World, for_all};

#[test]
fn a_request_that_is_cancelled_closes_its_connection() {
    for_all(|format| {
        let said = Said::text("this takes for ever");
        let n_frames = frames::of(format, &said, "m").len();
        // Before the first byte, and in the middle.
        for n in [0, n_frames - 1] {
            let world = World::new(format, [Reply::HangsAfter(n, said.clone())]);
            let started = world.begin(&[], "hello");
            world.provider.until_asked(1);
            started.send(Signal::INT);
            // It is closed because it is dropped: nobody waits for a time-out, which takes minutes.
            world.provider.until_closed();
            let output = started.end();
            assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{format}: {output:?}");
            world.desk.check_log();
            world.desk.check_nobody_listed();
        }
    });
}

/// The provider counted the prompt before the turn was cut, so it counts here as well.
#[test]
fn what_the_provider_counted_before_a_turn_was_cut_counts() {
    let said = Said::text("this takes for ever");
    let world = World::new(Format::Anthropic, [Reply::HangsAfter(2, said)]);
    world.set("budget.maxSessionSeconds", "1");
    let started = world.begin(&[], "hello");
    world.provider.until_closed();
    let output = started.end();
    assert_eq!(output.code, 5, "{output:?}");
    let records = world.completions();
    assert_eq!(records.len(), 1, "{records:?}");
    let told = &records[0]["arguments"];
    assert_eq!(told["promptTokens"], 100, "{told}");
    assert_ne!(told["costBillionths"].as_u64().unwrap_or_default(), 0, "{told}");
    assert!(told["error"].as_str().is_some(), "{told}");
}

#[test]
fn a_wait_for_the_next_attempt_is_cancelled_too() {
    let script = [Reply::Fails(ic_testkit::provider::Fault::Overloaded("50"))];
    let world = World::new(Format::Anthropic, script);
    let mut started = world.begin(&[], "hello");
    started.expect("the provider is overloaded; trying again in 5");
    started.send(Signal::INT);
    let output = started.end();
    assert_eq!(output.code, 130, "{output:?}");
    assert_eq!(world.provider.requests().len(), 1);
}

/// A provider may say until when in words: the date is held against its own clock, not ours.
#[test]
fn a_date_to_wait_for_is_waited_for() {
    let refusal = "HTTP/1.1 429 Too Many Requests\r\ndate: Wed, 21 Oct 2026 07:28:00 GMT\r\n\
                   retry-after: Wed, 21 Oct 2026 07:28:50 GMT\r\ncontent-length: 0\r\n\r\n";
    let world = World::new(Format::Anthropic, [Reply::Raw(refusal.as_bytes().to_vec())]);
    let mut started = world.begin(&[], "hello");
    started.expect("the provider limits the rate of requests; trying again in 5");
    started.send(Signal::INT);
    assert_eq!(started.end().code, 130);
    assert_eq!(world.provider.n_requests(), 1);
}

#[test]
fn a_turn_whose_time_is_over_closes_its_connection() {
    let world = World::new(Format::Gemini, [Reply::HangsAfter(1, Said::text("x y"))]);
    world.set("budget.maxSessionSeconds", "1");
    let started = world.begin(&[], "hello");
    world.provider.until_closed();
    let output = started.end();
    assert_eq!(output.code, 5, "{output:?}");
    assert!(output.stderr.contains("the budget of this turn is used up (time: "), "{output:?}");
}
