//! Many questions at once: none waits for another, and there is an end to how many may wait.

use std::time::Duration;

use ic_escalation::rendezvous::PENDING_MAX;
use ic_escalation::{DeskError, Receipt, Reply};
use ic_policy::DecidedBy;
use tokio::time::Instant;

use crate::world::{Ask, Place, approval, names, settle_down, summary};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn twenty_at_once_are_answered_each_for_itself() {
    let place = Place::open();
    let raised: Vec<_> =
        (0..20).map(|at| place.raise(&Ask::write(&format!("/d/{at}")), HOUR)).collect();
    let pending = place.pending();
    let numbers: Vec<u64> = pending.iter().map(ic_escalation::Pending::number).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    // The last first, and every third not at all.
    for (at, shown) in pending.iter().enumerate().rev().filter(|(at, _)| at % 3 != 2) {
        let reply = if at % 3 == 0 { Reply::Approve(None) } else { Reply::Deny };
        let told = shown.answer(&reply, DecidedBy::Repl, place.now()).unwrap();
        assert!(matches!(told.receipt, Receipt::Accepted(_)), "{told:?}");
    }
    for (ask, waiting) in raised {
        let at = pending.iter().position(|it| it.request().escalation == ask.ticket.escalation);
        let expected = ["Approved by repl", "Denied by repl", "expired"][at.unwrap() % 3];
        assert_eq!(summary(&waiting.outcome().await), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_wait_and_one_more_does_not() {
    let place = Place::open();
    let mut raised: Vec<_> =
        (0..PENDING_MAX).map(|_| place.raise(&Ask::write("/d/a"), HOUR)).collect();
    settle_down().await;
    match place.try_raise(&Ask::write("/d/a"), HOUR) {
        Err(DeskError::Full { max }) => assert_eq!(max, PENDING_MAX),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(&place.directory()).len(), PENDING_MAX, "what was refused left nothing");
    assert_eq!(place.pending().len(), PENDING_MAX);

    // One answer among so many comes at once: no timer fires.
    let (start, (end, ended)) = (Instant::now(), std::sync::mpsc::channel::<()>());
    tokio::task::spawn_blocking(move || ended.recv_timeout(Duration::from_secs(20)).ok());
    let (ask, waiting) = raised.remove(PENDING_MAX / 2);
    place.respond(&ask, &approval(&ask));
    assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(end);
    raised.push(place.raise(&Ask::write("/d/a"), HOUR));

    for (ask, _) in &raised {
        place.respond(ask, &approval(ask));
    }
    for (_, waiting) in raised {
        assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    }
    tokio::time::sleep(HOUR).await;
    assert_eq!(names(&place.directory()), [""; 0]);
}

/// However many end at the same moment, each ends then.
#[tokio::test(start_paused = true)]
async fn all_expire_together() {
    let place = Place::open();
    let raised: Vec<_> =
        (0..PENDING_MAX).map(|_| place.raise(&Ask::write("/d/a"), MINUTE)).collect();
    let start = Instant::now();
    for (_, waiting) in raised {
        assert_eq!(summary(&waiting.outcome().await), "expired");
    }
    assert_eq!(start.elapsed(), MINUTE);
    assert!(place.pending().is_empty());
}
