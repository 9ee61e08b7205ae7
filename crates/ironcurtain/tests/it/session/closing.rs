//! The end of a session: whenever it comes, nothing of it is left, and its record is whole.

use ic_escalation::{Receipt, Reply};
use ic_home::{Clock as _, SystemClock};
use ic_policy::DecidedBy;
use ic_sandbox::Script;
use ic_session::workbench::WORKER;
use ic_session::{Conversation as _, SessionHandle as _, Status};

use super::model::{Scripted, Step, run};
use super::world::{USUAL, World, never};

#[tokio::test]
async fn an_idle_session_leaves_nothing() {
    let world = World::new().await;
    let model = Scripted::new([run("filesystem.list_directory({path: '.'})")]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    session.send_message("look", never()).await.unwrap();
    assert!(2 <= super::processes().len(), "a server and its guard at least");
    session.close().await.unwrap();
    world.check_nothing_left();
    assert_eq!(world.records(&session).last().unwrap(), "session closed");
    let n_records = world.records(&session).len();
    session.close().await.unwrap();
    assert_eq!(world.records(&session).len(), n_records, "it ended once");
    let closed = ears.rest().into_iter().filter(|it| it == "status closed").count();
    assert_eq!(closed, 1);
}

/// Servers are still being started when it ends.
#[tokio::test]
async fn a_session_that_is_closed_at_once_leaves_nothing() {
    let world = World::new().await;
    let (session, _ears) = world.open(&Scripted::new([]), USUAL).await;
    session.close().await.unwrap();
    world.check_nothing_left();
    assert_eq!(world.records(&session).last().unwrap(), "session closed");
}

#[tokio::test]
async fn closing_twice_at_the_same_time_is_closing_once() {
    let world = World::new().await;
    let (session, mut ears) = world.open(&Scripted::new([run("1")]), USUAL).await;
    session.send_message("count", never()).await.unwrap();
    let (one, two, three) = tokio::join!(session.close(), session.close(), session.close());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    world.check_nothing_left();
    let closed = ears.rest().into_iter().filter(|it| it == "status closed").count();
    assert_eq!(closed, 1);
    let records = world.records(&session);
    assert_eq!(records.iter().filter(|it| *it == "session closed").count(), 1, "{records:?}");
}

/// Whoever gives up on closing can close again, and then it is closed.
#[tokio::test]
async fn closing_that_was_given_up_can_be_done_again() {
    for n_polls in 1..12 {
        let world = World::new().await;
        let (session, _ears) = world.open(&Scripted::new([run("1")]), USUAL).await;
        session.send_message("count", never()).await.unwrap();
        let mut closing = session.close();
        let mut n_left = n_polls;
        let given_up = std::future::poll_fn(|context| {
            if n_left == 0 {
                return std::task::Poll::Ready(None);
            }
            n_left -= 1;
            closing.as_mut().poll(context).map(Some)
        });
        let ended = given_up.await;
        drop(closing);
        session.close().await.unwrap();
        world.check_nothing_left();
        assert_eq!(world.records(&session).last().unwrap(), "session closed", "{n_polls}");
        if ended.is_some() {
            return;
        }
    }
}

#[tokio::test]
async fn a_turn_ends_with_its_session() {
    let world = World::new().await;
    let endless = "filesystem.list_directory({path: '.'}); while (true) {}";
    for (step, at) in [(Step::Hang, "text"), (run(endless), "filesystem.list_directory done")] {
        let model = Scripted::new([step]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        let (ended, closed) = tokio::join!(session.send_message("work", never()), async {
            ears.until(|word| word.starts_with(at)).await;
            session.close().await
        });
        closed.unwrap();
        assert_eq!(ended.unwrap_err().code(), "MESSAGE_FAILED");
        assert_eq!(session.info().status, Status::Closed);
        world.check_nothing_left();
        assert_eq!(world.records(&session).last().unwrap(), "session closed");
        let heard = ears.rest();
        let stood: Vec<_> = heard.iter().filter(|it| it.starts_with("status")).collect();
        assert_eq!(stood, ["status closed"], "it is not ready again");
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_with_its_session() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    let (ended, elsewhere) = tokio::join!(session.send_message("write", never()), async {
        ears.until(|word| word == "escalation_raised").await;
        let elsewhere = world.pending_elsewhere().remove(0);
        session.close().await.unwrap();
        elsewhere
    });
    assert_eq!(ended.unwrap_err().code(), "MESSAGE_FAILED");
    let approve = Reply::Approve(None);
    let told = elsewhere.answer(&approve, DecidedBy::Cli, SystemClock.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Expired, "nobody asks any more");
    assert!(!world.document("a.txt").exists());
    assert!(ears.rest().contains(&"escalation_resolved withdrawn".to_owned()));
    world.check_nothing_left();
    let records = world.records(&session);
    assert!(records.contains(&"escalation withdrawn".to_owned()), "{records:?}");
    assert_eq!(records.last().unwrap(), "session closed");
}

/// The first script finds a worker ready, and the only one leaves none behind.
#[tokio::test]
async fn a_worker_is_ready_before_the_first_script_and_none_is_started_after_the_last() {
    let world = World::new().await;
    let workbench = world.workbench(USUAL);
    soon(|| workbench.spare().is_some()).await;
    let script = Script { source: "1 + 1".to_owned(), arguments: Vec::new() };
    let run = workbench.run(&script, &never()).await;
    assert_eq!(run.value.as_deref(), Some("2"));
    soon(|| !super::processes().iter().any(|it| it.contains(WORKER))).await;
    assert_eq!(workbench.spare(), None);
    workbench.close().await.unwrap();
    world.check_nothing_left();
}

/// Waits until `condition` holds, which is soon.
async fn soon(condition: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", super::processes());
        tokio::task::yield_now().await;
    }
}

/// Whoever forgets to close has lost the record's end, and nothing else.
#[tokio::test]
async fn a_session_that_is_dropped_leaves_no_process() {
    let world = World::new().await;
    let model = Scripted::new([run("filesystem.list_directory({path: '.'})")]);
    let (session, ears) = world.open(&model, USUAL).await;
    session.send_message("look", never()).await.unwrap();
    assert!(!super::processes().is_empty());
    drop((session, ears));
    soon(|| super::processes().is_empty()).await;
}

#[tokio::test]
async fn what_cannot_be_opened_leaves_nothing_that_runs() {
    let world = World::new().await;
    let is_empty = |path: std::path::PathBuf| std::fs::read_dir(path).unwrap().next().is_none();
    // The key of the log is no key, so there is no log.
    std::fs::write(world.home.audit_key(), "short").unwrap();
    let error = world.ground(USUAL).unwrap_err();
    assert!(matches!(error, ic_session::OpenError::Key(_)), "{error:?}");
    assert_eq!(super::processes(), Vec::<String>::new());
    std::fs::remove_file(world.home.audit_key()).unwrap();
    // There is no room in the list of sessions that run.
    std::fs::remove_dir_all(world.home.registry()).unwrap();
    std::fs::write(world.home.registry(), "").unwrap();
    let error = world.ground(USUAL).unwrap_err();
    assert!(matches!(error, ic_session::OpenError::File(_)), "{error:?}");
    assert_eq!(super::processes(), Vec::<String>::new());
    std::fs::remove_file(world.home.registry()).unwrap();
    world.home.prepare().unwrap();
    assert!(is_empty(world.home.registry()));
    // And then it works.
    let (session, _ears) = world.open(&Scripted::new([]), USUAL).await;
    session.close().await.unwrap();
    world.check_nothing_left();
}
