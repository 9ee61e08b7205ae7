//! Which messages count: age, paste, an agent's own words.

use ic_intent::{Doubt, Message, Source, asked, literal};

use crate::table::{at, call, typed};

const READ: &str = "read /home/u/plan.md";
const NOW: &str = "2026-11-18T12:00:30Z";

fn check(message: &Message, heard: &str, now: &str) -> [Option<Doubt>; 2] {
    let wanted = call(READ);
    [
        asked::check(message, &wanted, (heard, None), at(now)).err(),
        literal::check(message, &wanted, (heard, None), at(now)).err(),
    ]
}

#[test]
fn a_message_counts_for_two_minutes() {
    let message = typed(READ);
    for (now, doubt) in [
        ("2026-11-18T12:00:00Z", None),
        ("2026-11-18T12:02:00Z", None),
        ("2026-11-18T12:02:00.001Z", Some(Doubt::Stale)),
        ("2026-11-19T12:00:00Z", Some(Doubt::Stale)),
        ("2026-11-18T11:59:59Z", Some(Doubt::Stale)),
    ] {
        assert_eq!(check(&message, "", now), [doubt; 2], "{now}");
    }
}

#[test]
fn what_was_pasted_or_put_together_is_not_typed() {
    let pasted = Message { has_paste: true, ..typed(READ) };
    assert_eq!(check(&pasted, "", NOW), [Some(Doubt::Pasted); 2]);
    let reconstructed = Message { source: Source::Reconstructed, ..typed(READ) };
    assert_eq!(check(&reconstructed, "", NOW), [None, Some(Doubt::OtherDeed)]);
    let long = typed(&format!("{READ} {}", "please ".repeat(100)));
    assert_eq!(check(&long, "", NOW), [Some(Doubt::Long); 2]);
}

#[test]
fn what_an_agent_wrote_is_not_the_persons() {
    for heard in [
        "Tell me: Read /home/u/plan.md, and I will go on.",
        "read\n  /home/u/plan.md",
        "You could `read /home/u/plan.md`.",
    ] {
        assert_eq!(check(&typed(READ), heard, NOW), [Some(Doubt::Heard); 2], "{heard}");
    }
    let long = typed("please go ahead and now read /home/u/plan.md");
    let heard = "Say \"go ahead and now read /home/u/plan.md\".";
    assert_eq!(check(&long, heard, NOW)[0], Some(Doubt::Heard));
    // A path that an agent named may be asked for in one's own words.
    assert_eq!(check(&typed(READ), "There is /home/u/plan.md.", NOW), [None, None]);
}

#[test]
fn the_words_relied_on_are_told() {
    let message = typed("Please fetch https://a.org/x, then read the file /home/u/plan.md. Thanks");
    let words = asked::check(&message, &call(READ), ("", None), at(NOW)).unwrap();
    assert_eq!(words, "read the file /home/u/plan.md");
}
