//! Several processes at once: this very test program, started again with orders in its directory.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ic_escalation::{
    Board, Outcome, Presence, Receipt, Registry, Reply, SessionEntry, is_anybody_there,
};
use ic_home::{Clock as _, Home, Process, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_types::AbsolutePath;

use crate::world::{Ask, Place, soon};

/// What a child is to do; only a child finds such a file where it is started.
const ORDERS: &str = "desk-test-orders";

/// Starts this program again in `directory`, to do what `orders` say.
fn start(directory: &Path, orders: &str) -> Child {
    fs::write(directory.join(ORDERS), orders).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Waits until somebody has made the file `path`.
fn await_file(path: &Path) {
    let mut n_looks = 0_u64;
    while !path.exists() {
        std::thread::yield_now();
        n_looks += 1;
        assert!(n_looks < 500_000_000, "nobody made {}", path.display());
    }
}

/// Waits until whoever started us ends us, or itself.
fn await_end() {
    std::io::Read::read(&mut std::io::stdin(), &mut [0]).unwrap();
}

/// Does nothing, unless it was started by one of the tests below.
#[test]
fn child() {
    let Ok(orders) = fs::read_to_string(ORDERS) else { return };
    let (order, rest) = orders.split_once(' ').unwrap();
    let root = std::env::current_dir().unwrap();
    match order {
        "answer" => {
            let (at, directory) = rest.split_once(' ').unwrap();
            let entry = entry(Path::new(directory));
            let shown = Board::default().look(&[entry], SystemClock.now()).pending.remove(0);
            fs::write(format!("ready-{at}"), "").unwrap();
            await_file(Path::new("go"));
            let deny = at.parse::<u32>().unwrap() % 2 == 0;
            let reply = if deny { Reply::Deny } else { Reply::Approve(None) };
            let told = shown.answer(&reply, DecidedBy::Cli, SystemClock.now()).unwrap();
            let told = match told.receipt {
                Receipt::Accepted(Decision::Approved) => "approved",
                Receipt::Accepted(Decision::Denied) => "denied",
                Receipt::AnsweredAlready => "already",
                Receipt::Expired | Receipt::Changed | Receipt::Refused | Receipt::Ended => "other",
            };
            fs::write(format!("told-{at}"), told).unwrap();
        }
        "sit" => {
            let _presence = Presence::take(&home(&root)).unwrap();
            fs::write("ready", "").unwrap();
            await_end();
        }
        "run" => {
            let entry = entry(Path::new("/nowhere"));
            let _registered = Registry::of(&home(&root)).register(&entry).unwrap();
            fs::write("ready", "").unwrap();
            await_end();
        }
        other => panic!("{other}"),
    }
}

fn home(root: &Path) -> Home {
    Home::new(AbsolutePath::new(root.join("home")).unwrap())
}

fn entry(directory: &Path) -> SessionEntry {
    SessionEntry {
        session: crate::world::SESSION.parse().unwrap(),
        name: "work".parse().unwrap(),
        kind: "proxy".to_owned(),
        label: "a test".to_owned(),
        escalation_dir: directory.to_owned(),
        started_at: SystemClock.now(),
        process: Process::this().unwrap(),
    }
}

#[tokio::test]
async fn of_many_processes_that_answer_at_once_the_first_is_obeyed() {
    const N: usize = 4;
    let place = Place::open_live();
    let (_, waiting) = place.raise(&Ask::write("/d/a"), Duration::from_mins(10));
    let roots: Vec<_> = (0..N).map(|_| tempfile::tempdir().unwrap()).collect();
    let children: Vec<Child> = roots
        .iter()
        .enumerate()
        .map(|(at, root)| {
            let orders = format!("answer {at} {}", place.directory().display());
            start(root.path(), &orders)
        })
        .collect();
    for (at, root) in roots.iter().enumerate() {
        await_file(&root.path().join(format!("ready-{at}")));
    }
    for root in &roots {
        fs::write(root.path().join("go"), "").unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let told: Vec<String> = (0..N)
        .map(|at| fs::read_to_string(roots[at].path().join(format!("told-{at}"))).unwrap())
        .collect();
    let accepted: Vec<&String> = told.iter().filter(|it| *it != "already").collect();
    let Outcome::Answered(answered) = soon(waiting.outcome()).await else { panic!() };
    let expected = match answered.answer.decision() {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
    };
    assert_eq!(accepted, [expected], "{told:?}");
}

#[test]
fn somebody_who_is_killed_is_not_there_any_more() {
    let root = tempfile::tempdir().unwrap();
    let home = home(root.path());
    home.prepare().unwrap();
    assert!(!is_anybody_there(&home).unwrap());
    let mut child = start(root.path(), "sit .");
    await_file(&root.path().join("ready"));
    assert!(is_anybody_there(&home).unwrap());
    assert!(home.desk_lock(child.id()).exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!is_anybody_there(&home).unwrap());
    assert!(!home.desk_lock(child.id()).exists(), "what was left behind is removed");
}

#[test]
fn a_session_that_is_killed_runs_no_more() {
    let root = tempfile::tempdir().unwrap();
    let home = home(root.path());
    home.prepare().unwrap();
    let mut child = start(root.path(), "run .");
    await_file(&root.path().join("ready"));
    let registry = Registry::of(&home);
    let live = registry.live().unwrap();
    assert_eq!(live.sessions.len(), 1);
    assert_eq!(live.sessions[0].process.pid, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(registry.live().unwrap().sessions.is_empty());
    assert!(!home.session_entry(&crate::world::SESSION.parse().unwrap()).exists());
}
