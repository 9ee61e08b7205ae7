//! Answering: what is listed, what is written, and what whoever answers is told.

use std::fs;
use std::sync::Barrier;
use std::time::Duration;

use ic_escalation::{AnswerError, Board, DeskError, Outcome, Receipt, Reply, Told};
use ic_home::{Clock as _, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_types::{Json, Timestamp};

use crate::world::{Ask, Place, names, settle_down, soon, summary};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn questions_are_listed_in_order_and_numbers_are_never_given_twice() {
    let place = Place::open();
    let mut board = Board::default();
    let mut look = |place: &Place| -> Vec<(u64, String)> {
        let found = board.look(&[place.entry()], place.now());
        let path = |it: &ic_escalation::Pending| {
            it.request().arguments.get("path").unwrap().as_str().unwrap().to_owned()
        };
        found.pending.iter().map(|it| (it.number(), path(it))).collect()
    };
    let named = |list: &[(u64, &str)]| -> Vec<(u64, String)> {
        list.iter().map(|(number, path)| (*number, (*path).to_owned())).collect()
    };
    let mut waits = Vec::new();
    for path in ["/d/a", "/d/b", "/d/c"] {
        waits.push(place.raise(&Ask::write(path), MINUTE));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(look(&place), named(&[(1, "/d/a"), (2, "/d/b"), (3, "/d/c")]));
    let (_, first) = waits.remove(0);
    drop(first);
    settle_down().await;
    assert_eq!(look(&place), named(&[(2, "/d/b"), (3, "/d/c")]));
    waits.push(place.raise(&Ask::write("/d/d"), MINUTE));
    assert_eq!(look(&place), named(&[(2, "/d/b"), (3, "/d/c"), (4, "/d/d")]));
    drop(waits);
    settle_down().await;
    let (_, _waiting) = place.raise(&Ask::write("/d/e"), MINUTE);
    assert_eq!(look(&place), named(&[(5, "/d/e")]));
}

/// The time of its content put back, a file that was rewritten in its place is another question all the same.
#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_types, reason = "whoever tampers with a file opens it like this")]
async fn a_question_that_was_rewritten_behind_our_back_is_read_anew() {
    let place = Place::open();
    let (ask, _waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let mut board = Board::default();
    let mut path = || {
        let found = board.look(&[place.entry()], place.now());
        found.pending[0].request().arguments.get("path").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(path(), "/d/a");
    let file = place.request_path(&ask);
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    let text = fs::read_to_string(&file).unwrap().replace("/d/a", "/d/b");
    fs::write(&file, text).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), modified);
    assert_eq!(path(), "/d/b");
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_for_scripts_has_these_keys() {
    let place = Place::open();
    let (_, _waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let Json::Object(listed) = place.pending()[0].to_json() else { panic!() };
    let keys: Vec<&str> = listed.keys().collect();
    assert_eq!(
        keys,
        [
            "escalationId",
            "number",
            "session",
            "server",
            "tool",
            "arguments",
            "resolved",
            "reason",
            "rule",
            "causes",
            "createdAt",
            "expiresAt"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_said_and_hides_nothing() {
    let place = Place::open();
    let (ask, _waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let good = fs::read_to_string(place.request_path(&ask)).unwrap();
    let copy = place.directory().join("request-copy.json");
    fs::write(&copy, good).unwrap();
    fs::write(place.directory().join("request-bad.json"), "{").unwrap();
    std::os::unix::fs::symlink(&copy, place.directory().join("request-link.json")).unwrap();
    fs::create_dir(place.directory().join("request-dir.json")).unwrap();
    fs::write(place.directory().join("request-x"), "{").unwrap();
    let found = Board::default().look(&[place.entry()], place.now());
    assert_eq!(found.pending.len(), 1);
    let said: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
    let root = place.directory().display().to_string();
    let said: Vec<String> = said.iter().map(|it| it.replace(&root, "")).collect();
    assert_eq!(
        said,
        [
            "`/request-bad.json` is not a valid approval request: it is not valid JSON: unexpected end at line 1, column 2",
            "`/request-copy.json` is not a valid approval request: `escalationId` is not that of its file",
            "`/request-dir.json` is not a regular file",
            "`/request-link.json` is a link, and is not followed",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_answers_is_told_what_became_of_it() {
    let place = Place::open();
    let (_, approved) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    let answer = |shown: &ic_escalation::Pending, reply: Reply| {
        shown.answer(&reply, DecidedBy::Repl, place.now()).unwrap()
    };
    let told = answer(&shown, Reply::Approve(None));
    assert_eq!(told, Told { number: 1, receipt: Receipt::Accepted(Decision::Approved) });
    assert_eq!(told.to_string(), "Escalation approved.");
    assert_eq!(summary(&approved.outcome().await), "Approved by repl");
    assert_eq!(
        answer(&shown, Reply::Deny).to_string(),
        "Escalation #1 was answered already",
        "the first answer counts"
    );

    let (_, denied) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    assert_eq!(answer(&shown, Reply::Deny).to_string(), "Escalation denied.");
    assert_eq!(summary(&denied.outcome().await), "Denied by repl");

    let (_, expired) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    assert_eq!(summary(&expired.outcome().await), "expired");
    for reply in [Reply::Approve(None), Reply::Deny] {
        let told = answer(&shown, reply);
        assert_eq!(told.to_string(), "Escalation #1 expired (response was too late)");
    }
    tokio::time::sleep(MINUTE).await;
    let told = answer(&shown, Reply::Approve(None));
    assert_eq!(told.receipt, Receipt::Expired, "also when nothing is left of it");
    assert_eq!(names(&place.directory()), [""; 0], "and no answer is left lying there");
    let policy = shown.answer(&Reply::Deny, DecidedBy::Policy, place.now());
    assert!(matches!(policy, Err(AnswerError::NotAPerson(_))), "{policy:?}");
}

/// The session was ended in a way that removed nothing; its time is over all the same.
#[tokio::test(start_paused = true)]
async fn a_question_whose_time_is_over_is_not_answered() {
    let clock = std::sync::Arc::new(crate::world::RuntimeClock::new());
    let (place, _clerk) = Place::open_without_clerk(clock);
    let (ask, _waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    tokio::time::sleep(MINUTE + Duration::from_millis(1)).await;
    assert!(place.pending().is_empty());
    let told = shown.answer(&Reply::Approve(None), DecidedBy::Cli, place.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Expired);
    assert!(!place.response_path(&ask).exists());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_replaced_after_it_was_shown_is_not_approved() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    // A whole other question under the same name, with a digest of its own.
    let other = Ask::write("/h/evil").with(|other| other.ticket = ask.ticket.clone());
    let json = other.question(place.now()).request().to_json().to_string();
    fs::write(place.request_path(&ask), json).unwrap();
    let told = shown.answer(&Reply::Approve(None), DecidedBy::Cli, place.now()).unwrap();
    assert_eq!(
        told.to_string(),
        "Escalation #1 is not what was shown any more; nothing was answered"
    );
    assert!(!place.response_path(&ask).exists());
    let denied = shown.answer(&Reply::Deny, DecidedBy::Cli, place.now()).unwrap();
    assert_eq!(denied.receipt, Receipt::Accepted(Decision::Denied), "a denial is always obeyed");
    assert_eq!(summary(&waiting.outcome().await), "Denied by cli");
}

/// The one who waits believes neither what is on disk nor what was shown, but what it asked.
#[tokio::test(start_paused = true)]
async fn an_answer_carries_the_digest_of_what_was_shown() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let genuine = fs::read(place.request_path(&ask)).unwrap();
    let other = Ask::write("/d/harmless").with(|other| other.ticket = ask.ticket.clone());
    let json = other.question(place.now()).request().to_json().to_string();
    // Replaced before it was shown, and put back once it was answered.
    fs::write(place.request_path(&ask), json).unwrap();
    let shown = place.pending().remove(0);
    assert_eq!(shown.request().arguments.get("path").unwrap().as_str(), Some("/d/harmless"));
    let told = shown.answer(&Reply::Approve(None), DecidedBy::Cli, place.now()).unwrap();
    fs::write(place.request_path(&ask), genuine).unwrap();
    assert_eq!(told.receipt, Receipt::Accepted(Decision::Approved));
    let outcome = summary(&waiting.outcome().await);
    assert_eq!(outcome, "malformed: the response approves another request");
}

#[tokio::test]
async fn of_many_who_answer_at_once_the_first_is_obeyed() {
    for _ in 0..20 {
        let place = Place::open_live();
        let (_, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
        let shown = place.pending().remove(0);
        let barrier = Barrier::new(8);
        let answer = |at: usize| {
            let reply = if at.is_multiple_of(2) { Reply::Approve(None) } else { Reply::Deny };
            barrier.wait();
            shown.answer(&reply, DecidedBy::Cli, SystemClock.now()).unwrap()
        };
        let answer = &answer;
        let told: Vec<Told> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || answer(at))).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let accepted: Vec<_> = told
            .iter()
            .filter_map(|it| match it.receipt {
                Receipt::Accepted(decision) => Some(decision),
                Receipt::AnsweredAlready => None,
                Receipt::Expired | Receipt::Changed | Receipt::Refused | Receipt::Ended => {
                    panic!("{it:?}")
                }
            })
            .collect();
        assert_eq!(accepted.len(), 1, "{told:?}");
        match soon(waiting.outcome()).await {
            Outcome::Answered(it) => assert_eq!(it.answer.decision(), accepted[0]),
            other => panic!("{other:?}"),
        }
    }
}

/// At the deadline, an answer is taken or it is too late; nobody is told the opposite of what happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_deadline_both_sides_agree() {
    let (mut n_answered, mut n_expired) = (0, 0);
    for round in 0..60_u64 {
        let place = Place::open_live();
        // On a busy machine the time may be over before it is asked, or shown.
        let (ask, waiting) = match place.try_raise(&Ask::write("/d/a"), Duration::from_millis(20)) {
            Ok(raised) => raised,
            Err(DeskError::TooLate) => continue,
            Err(other) => panic!("{other}"),
        };
        let Some(shown) = place.pending().pop() else { continue };
        let answerer = tokio::task::spawn_blocking(move || {
            // From a little before the deadline to a little after it, in steps of a tenth of a
            // millisecond.
            let deadline_us = ask.ticket.deadline.unix_ms() * 1_000 + round * 100;
            let at_us = deadline_us.saturating_sub(3_000);
            let now_us = || {
                let now = std::time::SystemTime::now();
                let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
                u64::try_from(since.as_micros()).unwrap()
            };
            while now_us() < at_us {
                std::hint::spin_loop();
            }
            // It does not notice itself that time is over.
            let early = Timestamp::from_unix_ms(0);
            shown.answer(&Reply::Approve(None), DecidedBy::Cli, early).unwrap()
        });
        let outcome = soon(waiting.outcome()).await;
        let told = answerer.await.unwrap();
        match (&outcome, told.receipt) {
            (Outcome::Answered(it), Receipt::Accepted(Decision::Approved)) => {
                assert_eq!(it.answer.decision(), Decision::Approved);
                n_answered += 1;
            }
            (Outcome::Expired, Receipt::Expired) => n_expired += 1,
            other => panic!("{other:?}"),
        }
    }
    eprintln!("{n_answered} were in time and {n_expired} were not");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_somebody_who_waited_for_nobody_is_removed() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let shown = place.pending().remove(0);
    drop(waiting);
    settle_down().await;
    // The seal has gone too, as after a long while.
    fs::remove_file(place.response_path(&ask)).unwrap();
    let told = shown.answer(&Reply::Approve(None), DecidedBy::Cli, place.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Expired);
    assert!(!place.response_path(&ask).exists());
}
