//! How workers come and go: spares, ends, cancellations, many at once; and that none is left.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ic_confine::{Hold, Launcher, Rung};
use ic_sandbox::{Ended, Limits, Sandbox, SandboxSpec, Script};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::ground::{Ground, Tools, leftovers, soon, works};

/// Limits by which the processes of a test are known.
fn marked(marker: usize) -> (usize, Limits) {
    let heap_bytes_max = (128 << 20) + marker;
    (heap_bytes_max, Limits { heap_bytes_max, ..Limits::DEFAULT })
}

/// Waits until `condition` holds.
async fn until(condition: impl Fn() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

fn script(source: &str) -> Script {
    Script { source: source.to_owned(), arguments: Vec::new() }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("it is there");
}

#[tokio::test]
async fn a_spare_serves_the_next_run_and_is_replaced() {
    let (marker, limits) = marked(1);
    let ground = Ground::with(limits);
    assert_eq!(leftovers(marker), Vec::<u32>::new(), "nothing is started before it is needed");
    ground.sandbox.prepare();
    ground.sandbox.prepare();
    until(|| ground.sandbox.spare().is_some()).await;
    let mut guard = ground.sandbox.spare();
    for _ in 0..3 {
        ground.goes_on().await;
        until(|| ground.sandbox.spare().is_some()).await;
        assert_ne!(ground.sandbox.spare(), guard, "each run has a worker of its own");
        guard = ground.sandbox.spare();
    }
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn no_spare_is_started_for_a_run_that_will_not_come() {
    let (marker, limits) = marked(9);
    let ground = Ground::with(limits);
    ground.sandbox.prepare();
    // One that is coming is waited for, so that there is one worker and not two.
    let (script, cancel) = (script("tools.hangs({})"), CancellationToken::new());
    let last = ground.sandbox.run_last(&script, &ground.calls, &cancel);
    let looking = async {
        until(|| ground.calls.n_calls.load(Ordering::SeqCst) == 1).await;
        let n_processes = leftovers(marker).len();
        assert_eq!(ground.sandbox.spare(), None, "it has the script");
        cancel.cancel();
        n_processes
    };
    let (run, n_with_one) = soon(async { tokio::join!(last, looking) }).await;
    assert_eq!(run.ended, Ended::Cancelled);
    until(|| leftovers(marker).is_empty()).await;
    assert_eq!(ground.sandbox.spare(), None);
    ground.sandbox.prepare();
    until(|| ground.sandbox.spare().is_some()).await;
    assert_eq!(leftovers(marker).len(), n_with_one, "a worker alone");
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_spare_that_died_is_replaced() {
    let (marker, limits) = marked(2);
    let ground = Ground::with(limits);
    for victim in ["guard", "worker"] {
        ground.sandbox.prepare();
        until(|| ground.sandbox.spare().is_some()).await;
        let guard = ground.sandbox.spare().expect("a spare");
        let pid = match victim {
            "guard" => guard,
            // The last one that was started.
            _ => *leftovers(marker).iter().max().expect("a worker"),
        };
        kill(pid);
        // Dying takes a while, in which a worker may still begin a script.
        until(|| leftovers(marker).is_empty()).await;
        ground.goes_on().await;
        ground.goes_on().await;
    }
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_worker_that_somebody_kills_ends_its_run_only() {
    let (marker, limits) = marked(3);
    let ground = Ground::with(limits);
    let run = async { ground.run("console.log('begun'); tools.hangs({})").await };
    let killer = async {
        until(|| ground.calls.n_calls.load(Ordering::SeqCst) == 1).await;
        kill(*leftovers(marker).iter().max().expect("a worker"));
    };
    let (run, ()) = tokio::join!(run, killer);
    assert_eq!(run.ended, Ended::Killed { why: "the worker was ended by signal 9".to_owned() });
    assert_eq!(run.output, "begun\n");
    assert_eq!(ground.calls.cancelled.load(Ordering::SeqCst), 1);
    ground.goes_on().await;
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_cancelled_run_ends_at_once() {
    let (marker, limits) = marked(4);
    let ground = Ground::with(limits);
    for (source, n_cancelled) in [
        ("console.log('begun'); tools.hangs({})", 1),
        ("console.log('begun'); tools.echo({ text: '' }); for (;;) {}", 0),
    ] {
        let cancel = CancellationToken::new();
        let before = ground.calls.n_calls.load(Ordering::SeqCst);
        ground.calls.cancelled.store(0, Ordering::SeqCst);
        let canceller = async {
            until(|| ground.calls.n_calls.load(Ordering::SeqCst) == before + 1).await;
            cancel.cancel();
        };
        let script = script(source);
        let (run, ()) =
            tokio::join!(ground.sandbox.run(&script, &ground.calls, &cancel), canceller);
        assert_eq!((run.ended, run.output.as_str()), (Ended::Cancelled, "begun\n"), "{source}");
        assert_eq!(ground.calls.cancelled.load(Ordering::SeqCst), n_cancelled, "{source}");
        ground.goes_on().await;
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let run = ground.sandbox.run(&script("1"), &ground.calls, &cancel).await;
    assert_eq!(run.ended, Ended::Cancelled);
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn closing_ends_everything_and_may_be_repeated() {
    let (marker, limits) = marked(5);
    let ground = Ground::with(limits);
    ground.goes_on().await;
    let closer = async {
        until(|| ground.calls.n_calls.load(Ordering::SeqCst) == 3).await;
        tokio::join!(ground.sandbox.close(), ground.sandbox.close());
    };
    let (one, other, ()) = tokio::join!(
        ground.run("tools.hangs({})"),
        ground.run("tools.echo({ text: '' }); for (;;) {}"),
        closer
    );
    assert_eq!((one.ended, other.ended), (Ended::Cancelled, Ended::Cancelled));
    assert_eq!(leftovers(marker), Vec::<u32>::new());
    ground.sandbox.close().await;
    ground.sandbox.prepare();
    assert_eq!(ground.run("1").await.ended, Ended::Cancelled);
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_run_that_nobody_waits_for_leaves_nothing() {
    let (marker, limits) = marked(6);
    let ground = Ground::with(limits);
    tokio::select! {
        run = ground.run("tools.echo({ text: '' }); for (;;) {}") => panic!("{run:?}"),
        () = until(|| ground.calls.n_calls.load(Ordering::SeqCst) == 1) => {}
    }
    ground.sandbox.close().await;
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}

#[tokio::test]
async fn a_sandbox_that_is_dropped_leaves_nothing() {
    let (marker, limits) = marked(7);
    let ground = Ground::with(limits);
    ground.goes_on().await;
    until(|| ground.sandbox.spare().is_some()).await;
    drop(ground);
    until(|| leftovers(marker).is_empty()).await;
}

#[tokio::test]
async fn a_worker_that_cannot_start_is_told() {
    let place = tempfile::tempdir().expect("a directory");
    for (launcher, arguments, why) in [
        (Launcher::at("/nonexistent/ironcurtain"), vec!["code-worker".into()], "cannot start"),
        (Launcher::at(crate::ground::PROGRAM), vec!["something".into()], "it ended with code 1"),
        (
            Launcher::at(crate::ground::PROGRAM),
            vec!["code-worker".into(), "x".into()],
            "for IronCurtain's own use",
        ),
    ] {
        let sandbox = Sandbox::new(SandboxSpec {
            launcher,
            arguments,
            hold: Hold::Caged(Rung::Namespaces, ic_sandbox::cage(place.path().to_owned())),
            limits: Limits::DEFAULT,
        });
        let cancel = CancellationToken::new();
        let run = soon(sandbox.run(&script("1"), &Tools::default(), &cancel)).await;
        let Ended::NotStarted { why: told } = &run.ended else { panic!("{run:?}") };
        assert!(told.contains(why), "{told}");
        sandbox.close().await;
    }
}

#[tokio::test]
async fn scripts_run_on_every_rung() {
    for rung in Rung::ALL {
        let ground = Ground::of(rung, "code-worker", Limits::DEFAULT);
        if works(rung).await {
            ground.goes_on().await;
            let run = ground
                .run("for (const a: number[] = [];;) a.push(...new Array(1000).fill(1))")
                .await;
            assert_eq!(run.ended, Ended::OutOfMemory, "{rung}: {run:?}");
            ground.goes_on().await;
        }
        ground.sandbox.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sandboxes_at_once_do_not_mix() {
    const SANDBOXES: usize = 50;
    let (marker, limits) = marked(8);
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..SANDBOXES {
        runs.spawn(async move {
            let ground = Ground::with(limits);
            let source = format!(
                "(globalThis as any).mine ??= {number}; for (let n = 0; n < 20; n++) console.log(`{number}:` + tools.echo({{ text: `{number}-${{n}}` }})); (globalThis as any).mine"
            );
            for _ in 0..2 {
                let run = ground.run(&source).await;
                assert_eq!(run.ended, Ended::Done, "{run:?}");
                assert_eq!(run.value, Some(number.to_string()));
                let expected: Vec<_> = (0..20).map(|n| format!("{number}:{number}-{n}")).collect();
                assert_eq!(run.output.lines().collect::<Vec<_>>(), expected);
            }
            ground.sandbox.close().await;
        });
    }
    while let Some(run) = runs.join_next().await {
        run.expect("no panic");
    }
    assert_eq!(leftovers(marker), Vec::<u32>::new());
}
