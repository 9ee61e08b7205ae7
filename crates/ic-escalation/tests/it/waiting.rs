//! Waiting for an answer: it comes, it does not come, nobody wants it any more.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ic_escalation::{DeskError, Ended, Receipt, Reply};
use ic_policy::{DecidedBy, Decision, Settled};
use tokio::time::Instant;

use crate::world::{Ask, Place, approval, names, response, settle_down, soon, summary};

const MINUTE: Duration = Duration::from_mins(1);

/// Keeps time from going on while nothing happens, so that only an event can wake anybody.
struct StoppedTime(std::sync::mpsc::Sender<()>);

impl StoppedTime {
    fn begin() -> Self {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // Time that is paused does not go on while a blocking task runs; a test that waits for
        // nothing is to fail one day.
        tokio::task::spawn_blocking(move || ended.recv_timeout(Duration::from_secs(20)).ok());
        Self(end)
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_becomes_a_permit() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    place.respond(&ask, &approval(&ask));
    let ic_escalation::Outcome::Answered(answered) = waiting.outcome().await else { panic!() };
    let settled = ask.escalation().settle(&ask.ticket, &answered.answer, answered.at);
    let Settled::Permit(permit) = settled else { panic!("{settled:?}") };
    assert_eq!(permit.grounds().decided_by, DecidedBy::Cli);
}

#[tokio::test(start_paused = true)]
async fn an_answer_wakes_without_anybody_looking() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let (start, stopped) = (Instant::now(), StoppedTime::begin());
    place.respond(&ask, &approval(&ask));
    assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(stopped.0);
}

/// A hard link is an answer of which the watch says nothing.
#[tokio::test(start_paused = true)]
async fn an_answer_that_wakes_nobody_is_found_by_looking() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let start = Instant::now();
    fs::write(place.root.path().join("answer"), approval(&ask)).unwrap();
    fs::hard_link(place.root.path().join("answer"), place.response_path(&ask)).unwrap();
    assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    assert!(start.elapsed() <= Duration::from_millis(500), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_there_before_the_clerk_is_found() {
    let clock = Arc::new(crate::world::RuntimeClock::new());
    let (place, clerk) = Place::open_without_clerk(clock);
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    place.respond(&ask, &response("denied", &ask).to_string().into_bytes());
    let stopped = StoppedTime::begin();
    let clerk = tokio::spawn(clerk.run());
    assert_eq!(summary(&waiting.outcome().await), "Denied by cli");
    drop((stopped.0, clerk));
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_and_time_is_over() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let start = Instant::now();
    assert_eq!(summary(&waiting.outcome().await), "expired");
    assert_eq!(start.elapsed(), MINUTE, "neither earlier nor later");
    assert!(!place.request_path(&ask).exists());
    let seal = fs::read_to_string(place.response_path(&ask)).unwrap();
    assert_eq!(seal, r#"{"decision":"expired"}"#, "nobody's answer is the first any more");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(names(&place.directory()), [""; 0], "nothing is left behind");
}

/// Written between two looks, and of no event; only the last look can find it.
#[tokio::test(start_paused = true)]
async fn the_last_look_is_at_the_deadline() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), Duration::from_millis(700));
    tokio::time::sleep(Duration::from_millis(600)).await;
    fs::write(place.root.path().join("answer"), approval(&ask)).unwrap();
    fs::hard_link(place.root.path().join("answer"), place.response_path(&ask)).unwrap();
    let ic_escalation::Outcome::Answered(answered) = waiting.outcome().await else { panic!() };
    assert_eq!(answered.at, ask.ticket.deadline);
    let settled = ask.escalation().settle(&ask.ticket, &answered.answer, answered.at);
    assert!(matches!(settled, Settled::Permit(_)), "{settled:?}");
}

#[tokio::test(start_paused = true)]
async fn each_question_has_its_own_deadline() {
    let place = Place::open();
    let start = Instant::now();
    let waits = [300, 100, 200].map(|s| {
        let (_, waiting) = place.raise(&Ask::write("/d/a"), Duration::from_secs(s));
        tokio::spawn(async move {
            waiting.outcome().await;
            start.elapsed().as_secs()
        })
    });
    let mut ends = Vec::new();
    for wait in waits {
        ends.push(wait.await.unwrap());
    }
    assert_eq!(ends, [300, 100, 200]);
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_withdraws_the_question() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    assert!(place.request_path(&ask).exists());
    {
        let mut outcome = Box::pin(waiting.outcome());
        let waited = tokio::time::timeout(Duration::from_secs(1), &mut outcome).await;
        assert!(waited.is_err());
    }
    settle_down().await;
    assert!(!place.request_path(&ask).exists());
    assert!(place.pending().is_empty());
    let told = shown.answer(&Reply::Approve(None), DecidedBy::Cli, place.now()).unwrap();
    assert_eq!(told.to_string(), "Escalation #1 expired (response was too late)");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(names(&place.directory()), [""; 0], "nothing is left behind");
}

#[tokio::test(start_paused = true)]
async fn what_was_withdrawn_makes_room() {
    let place = Place::open();
    for _ in 0..2 * ic_escalation::rendezvous::PENDING_MAX {
        let (_, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
        drop(waiting);
        settle_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_desk_answers_nothing() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    place.desk.close();
    assert_eq!(summary(&waiting.outcome().await), "closed");
    assert!(!place.request_path(&ask).exists());
    let again = place.try_raise(&Ask::write("/d/a"), MINUTE);
    assert!(matches!(again, Err(DeskError::Closed)), "{again:?}");
    assert_eq!(names(&place.directory()), [""; 0]);
    assert_eq!(place.clerk.await.unwrap(), Ended::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_clerk_that_is_ended_leaves_no_question_behind() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let (other, unheard) = place.raise(&Ask::write("/d/b"), MINUTE);
    place.clerk.abort();
    assert_eq!(summary(&waiting.outcome().await), "closed");
    assert_eq!(summary(&unheard.outcome().await), "closed");
    assert!(!place.request_path(&ask).exists() && !place.request_path(&other).exists());
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_removed_ends_the_waiting() {
    let place = Place::open();
    let (_, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let stopped = StoppedTime::begin();
    fs::remove_dir_all(place.directory()).unwrap();
    assert_eq!(summary(&waiting.outcome().await), "closed");
    drop(stopped.0);
    assert_eq!(place.clerk.await.unwrap(), Ended::DirectoryGone);
    let (desk, directory) = (place.desk, place.root.path().join("escalations"));
    let question = Ask::write("/d/a").question(place.clock.now());
    assert!(ic_escalation::Desk::raise(&desk, question).is_err());
    assert!(!directory.exists());
}

/// The watch goes with the old directory, and a new one is made on what stands there now.
#[tokio::test(start_paused = true)]
async fn a_directory_that_is_replaced_is_watched_again() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let old = place.root.path().join("old");
    fs::rename(place.directory(), &old).unwrap();
    fs::create_dir(place.directory()).unwrap();
    fs::copy(old.join(place.request_path(&ask).file_name().unwrap()), place.request_path(&ask))
        .unwrap();
    settle_down().await;
    let (start, stopped) = (Instant::now(), StoppedTime::begin());
    place.respond(&ask, &approval(&ask));
    assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(stopped.0);
}

/// A clock that goes on only when it is told to, as one does while a machine sleeps.
#[derive(Debug)]
struct SetClock(AtomicU64);

impl SetClock {
    /// Opens a desk with such a clock.
    fn open() -> (Place, Arc<Self>) {
        let clock = Arc::new(Self(1_000_000.into()));
        let ticks: Arc<dyn ic_escalation::Ticks> = clock.clone();
        let (mut place, clerk) = Place::open_without_clerk(ticks);
        place.clerk = tokio::spawn(clerk.run());
        (place, clock)
    }

    fn go_on(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl ic_home::Clock for SetClock {
    fn now(&self) -> ic_types::Timestamp {
        ic_types::Timestamp::from_unix_ms(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_a_long_sleep_is_too_late() {
    let (place, clock) = SetClock::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    clock.go_on(2 * MINUTE);
    place.respond(&ask, &approval(&ask));
    assert_eq!(summary(&waiting.outcome().await), "expired");
}

#[tokio::test(start_paused = true)]
async fn after_a_long_sleep_nobody_waits_for_the_timer() {
    let (place, clock) = SetClock::open();
    let (_, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let start = Instant::now();
    clock.go_on(2 * MINUTE);
    assert_eq!(summary(&waiting.outcome().await), "expired");
    assert!(start.elapsed() <= Duration::from_millis(500), "{:?}", start.elapsed());
}

/// It stood there in time, and is noticed a moment later.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_noticed_late_counts_as_of_the_deadline() {
    let (place, clock) = SetClock::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    clock.go_on(MINUTE + Duration::from_millis(300));
    place.respond(&ask, &approval(&ask));
    let ic_escalation::Outcome::Answered(answered) = waiting.outcome().await else { panic!() };
    assert_eq!(answered.at, ask.ticket.deadline);
    let settled = ask.escalation().settle(&ask.ticket, &answered.answer, answered.at);
    assert!(matches!(settled, Settled::Permit(_)), "{settled:?}");
}

/// No event tells of it, and nobody looks everywhere: the clerk looks when it hears of a question.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_quicker_than_the_question_is_found() {
    let place = Place::open();
    let (_, first) = place.raise(&Ask::write("/d/a"), MINUTE);
    settle_down().await;
    let stopped = StoppedTime::begin();
    let (ask, waiting) = place.raise(&Ask::write("/d/b"), MINUTE);
    fs::write(place.root.path().join("answer"), approval(&ask)).unwrap();
    fs::hard_link(place.root.path().join("answer"), place.response_path(&ask)).unwrap();
    let start = Instant::now();
    assert_eq!(summary(&waiting.outcome().await), "Approved by cli");
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop((stopped.0, first));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_left_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("escalations");
    fs::create_dir(&directory).unwrap();
    for name in ["request-a.json", "response-a.json", "notes.txt"] {
        fs::write(directory.join(name), "{}").unwrap();
    }
    let clock = Arc::new(ic_home::SystemClock);
    let (_desk, _clerk) = ic_escalation::FileDesk::open(&directory, clock).unwrap();
    assert_eq!(names(&directory), ["notes.txt"]);
}

#[tokio::test]
async fn it_also_works_in_real_time() {
    let place = Place::open_live();
    let (_, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let pending = place.pending().remove(0);
    let answerer = tokio::task::spawn_blocking(move || {
        let now = ic_home::Clock::now(&ic_home::SystemClock);
        pending.answer(&Reply::Approve(None), DecidedBy::Listener, now).unwrap()
    });
    assert_eq!(summary(&soon(waiting.outcome()).await), "Approved by listener");
    assert_eq!(answerer.await.unwrap().receipt, Receipt::Accepted(Decision::Approved));
}
