//! How a container lives and ends: streams, limits, cancelling, and what is left of it.

use std::sync::Arc;
use std::time::Duration;

use ic_container::{Engine, Facts, Owner, Running, StartFault, sweep};
use ic_home::Process;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::engine::{container, engine, name, run};

#[tokio::test]
async fn the_engine_is_fit_and_says_which_it_is() {
    let Some(engine) = engine() else { return };
    let facts: Facts = engine.facts().await.unwrap();
    assert_eq!(facts.unfit(), None, "{facts:?}");
    assert_eq!(facts.system, "linux");
}

#[tokio::test]
async fn what_goes_in_comes_out_and_its_end_is_heard() {
    let Some(engine) = engine() else { return };
    let script = "cat; echo complaint >&2; exit 7";
    let (mut running, mut streams) =
        Running::start(&engine, &container(script, Vec::new()), &name("cat")).await.unwrap();
    let text = "line\n".repeat(100_000);
    let feeding = async {
        streams.stdin.write_all(text.as_bytes()).await.unwrap();
        streams.stdin.shutdown().await.unwrap();
    };
    let (mut out, mut complaint) = (String::new(), String::new());
    let reading = streams.stdout.read_to_string(&mut out);
    let ((), read, complained) =
        tokio::join!(feeding, reading, streams.stderr.read_to_string(&mut complaint));
    read.unwrap();
    complained.unwrap();
    assert_eq!((out.len(), out == text, complaint.as_str()), (text.len(), true, "complaint\n"));
    assert_eq!(running.wait().await.unwrap().code, 7);
    assert_eq!(engine.inspect(running.id()).await.unwrap(), None);
}

#[tokio::test]
async fn stopping_ends_all_that_was_started_and_removes_it() {
    let Some(engine) = engine() else { return };
    let script = "trap '' TERM INT; (trap '' TERM; setsid sleep 1000) & (sleep 1000 &) ; echo up; sleep 1000";
    let (mut running, mut streams) =
        Running::start(&engine, &container(script, Vec::new()), &name("stop")).await.unwrap();
    let mut up = [0; 3];
    streams.stdout.read_exact(&mut up).await.unwrap();
    // Whatever stands still is ended, too.
    running.hand().hold().await.unwrap();
    let ended = running.stop().await.unwrap();
    assert_eq!(ended.code, 137);
    assert_eq!(engine.inspect(running.id()).await.unwrap(), None);
    let mut rest = Vec::new();
    streams.stdout.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn too_much_memory_is_told_and_too_many_processes_are_refused() {
    let Some(engine) = engine() else { return };
    let hungry = container("exec tail /dev/zero", Vec::new());
    let (mut running, _streams) = Running::start(&engine, &hungry, &name("hungry")).await.unwrap();
    let ended = running.wait().await.unwrap();
    assert_eq!((ended.code, ended.is_out_of_memory), (137, true), "{ended:?}");
    let many = "for i in $(seq 200); do sleep 30 & done 2>/tmp/no; ls /proc | grep -c '^[0-9]'; cat /tmp/no >&2";
    let (_, out, complaint) = run(&engine, &container(many, Vec::new()), "many").await;
    let n_processes: u32 = out.trim().parse().unwrap_or(0);
    assert!(n_processes <= 64, "{n_processes}");
    assert!(complaint.contains("fork") || out.is_empty(), "{complaint}");
}

#[tokio::test]
async fn a_container_that_nobody_holds_is_removed_at_once_or_by_the_next_sweep() {
    let Some(engine) = engine() else { return };
    let (running, streams) =
        Running::start(&engine, &container("sleep 1000", Vec::new()), &name("dropped"))
            .await
            .unwrap();
    let id = running.id().to_owned();
    drop((running, streams));
    gone(&engine, &id).await;
    // One whose process is gone: its start is another one.
    let this = Process::this().unwrap();
    let home = format!("/home/of-test-{}", std::process::id());
    let mut left = container("sleep 1000", Vec::new());
    let process = Process { start_time: this.start_time + 1, ..this };
    left.owner = Owner { home: home.clone(), process, ..left.owner };
    let request = left.request(engine.socket()).unwrap();
    let id = engine.create(&name("left"), &request).await.unwrap();
    engine.start(&id).await.unwrap();
    let mut alive = left.clone();
    alive.owner.process = this;
    let request = alive.request(engine.socket()).unwrap();
    let other = engine.create(&name("alive"), &request).await.unwrap();
    let swept = sweep(&*engine, home.as_ref()).await.unwrap();
    assert_eq!(swept.removed, ["s-1"]);
    assert_eq!(engine.inspect(&id).await.unwrap(), None);
    assert!(engine.inspect(&other).await.unwrap().is_some());
    engine.remove(&other).await.unwrap();
}

/// Waits until a container is gone.
async fn gone(engine: &Arc<dyn Engine>, id: &str) {
    let going = async {
        while engine.inspect(id).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), going).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_leaves_nothing() {
    let Some(engine) = engine() else { return };
    let mut odd = container("true", Vec::new());
    odd.command = vec!["/no/such/program".to_owned()];
    let name = name("nothing");
    let started = Running::start(&engine, &odd, &name).await;
    match started {
        // The engine's init may be what finds out.
        Ok((mut running, _streams)) => assert_ne!(running.wait().await.unwrap().code, 0),
        Err(StartFault::Engine(error)) => assert!(error.to_string().contains("no such"), "{error}"),
        Err(other) => panic!("{other}"),
    }
    assert_eq!(engine.inspect(&name).await.unwrap(), None);
    odd.image = "ironcurtain-no-such-image".to_owned();
    let error = Running::start(&engine, &odd, &name).await.err().unwrap();
    assert!(error.to_string().to_lowercase().contains("no such image"), "{error}");
}
