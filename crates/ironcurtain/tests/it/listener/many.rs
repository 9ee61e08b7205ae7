//! A thousand requests of fifty sessions: how long it takes until one is seen, and until an answer is there.

use std::time::{Duration, Instant};

use serde_json::json;

use super::sized;
use crate::approvals::world::{Asked, Rig, Session};

const SESSIONS: usize = 50;
const EACH: usize = 20;
/// For how long the listener is watched while nothing happens.
const SECONDS: usize = 12;
/// The most of a processor that an optimised program may use then; others are not held to a share.
const IDLE_MAX: f64 = 0.005;
/// How many are timed.
const TIMED: usize = 20;

/// The goals are those of a program that was optimised, on a machine that does nothing else.
fn goal(release_ms: u64) -> Duration {
    Duration::from_millis(if cfg!(debug_assertions) { 20 * release_ms } else { release_ms })
}

#[test]
fn a_thousand_requests_keep_nobody_waiting() {
    let rig = Rig::new();
    let sessions: Vec<Session> = (0..SESSIONS).map(|at| rig.session(&format!("s{at}"))).collect();
    let ask = |session: &Session, at: usize| {
        // Another server in each, so that each is asked about alone.
        let (path, server) = (format!("/d/{at}"), format!("files{at}"));
        session.ask_server(&server, "create_directory", &json!({"path": path}))
    };
    let waiting: Vec<Asked> =
        (0..SESSIONS * EACH).map(|at| ask(&sessions[at % SESSIONS], at)).collect();
    let stage = sized(&rig, (100, 30));
    stage.expect("1000 requests wait · 50 sessions run");
    let mut seen = Vec::new();
    let mut timed = Vec::new();
    for (at, session) in sessions.iter().enumerate().take(TIMED) {
        let began = Instant::now();
        timed.push(ask(session, 5_000 + at));
        let title = format!("\x1b]2;({}) ironcurtain", SESSIONS * EACH + at + 1);
        while !stage.has_sent(&title) {
            assert!(began.elapsed() < Duration::from_mins(1), "it is never seen");
            std::thread::sleep(Duration::from_millis(1));
        }
        seen.push(began.elapsed());
    }
    let (mut answered, mut waiting) = (Vec::new(), waiting.into_iter());
    for number in 1..=TIMED as u64 {
        stage.asked_alone(number);
        let next = waiting.next().unwrap();
        let began = Instant::now();
        stage.type_in("y");
        assert_eq!(rig.summary(next), "Approved by listener");
        answered.push(began.elapsed());
    }
    for (what, times, goal) in
        [("seen", &mut seen, goal(100)), ("answered", &mut answered, goal(50))]
    {
        times.sort_unstable();
        let p95 = times[times.len() * 95 / 100];
        eprintln!("{what}: p50 {:?}, p95 {p95:?}, most {:?}", times[times.len() / 2], times.last());
        assert!(p95 <= goal, "{what}: {times:?}");
    }
    // Nothing happens but time: until a request has a few seconds less.
    let last = |rows: &[String]| rows.iter().find(|row| row.starts_with("▸ #")).cloned();
    let wait = |seconds: usize| {
        for _ in 0..seconds {
            let now = last(&stage.rows());
            stage.until("a countdown", |rows| last(rows) != now);
        }
    };
    // What the last answer brought about is over then.
    wait(2);
    let (began, before) = (Instant::now(), stage.busy());
    wait(SECONDS);
    let share = stage.busy().saturating_sub(before).as_secs_f64() / began.elapsed().as_secs_f64();
    eprintln!("idle with {} waiting: {:.2} % of a processor", SESSIONS * EACH, 100.0 * share);
    assert!(cfg!(debug_assertions) || share < IDLE_MAX, "{share}");
}
