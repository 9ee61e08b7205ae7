//! Scripts that want too much: each is stopped, and the next one does not notice.

use std::time::{Duration, Instant};

use ic_sandbox::{Ended, Limits, Run};

use crate::ground::Ground;

/// Little time, so that what is endless ends soon.
fn brief() -> Limits {
    Limits { time: Duration::from_millis(400), ..Limits::DEFAULT }
}

#[tokio::test]
async fn what_is_endless_is_killed() {
    let ground = Ground::with(brief());
    for source in [
        "for (;;) {}",
        "while (true) await null",
        "(async function f() { await null; return f() })()",
        "/(a+)+$/.test('a'.repeat(64) + 'b')",
        // These two do not hear the engine's own interrupts.
        "/(?=(a+))*b/.test('a'.repeat(100000))",
        "new Array(1e9) + ''",
        "const a: any = { get message() { for (;;) {} } }; Object.setPrototypeOf(a, Error.prototype); throw a",
        "throw new (class extends Error { get name() { for (;;) {} } })()",
        "({ toJSON() { for (;;) {} } })",
        "try { for (;;) {} } finally { for (;;) {} }",
        "'x'.repeat(1e8).split('').sort()",
        "const p = new Proxy({}, { get() { for (;;) {} } }); (p as any).x",
        "queueMicrotask(function f() { queueMicrotask(f) })",
    ] {
        let begun = Instant::now();
        let run = ground.run(&format!("console.log('begun');\n{source}")).await;
        let is_stopped = matches!(run.ended, Ended::TimedOut | Ended::OutOfMemory);
        assert!(is_stopped, "{source}: {run:?}");
        assert_eq!(run.output, "begun\n", "{source}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}: {:?}", begun.elapsed());
        ground.goes_on().await;
    }
    ground.sandbox.close().await;
}

#[tokio::test]
async fn nothing_thrown_is_told_from_nothing_left() {
    let ground = Ground::new();
    for source in [
        "throw null",
        "const it: any = null; function f() { throw it } f()",
        "Promise.reject(null); 1",
        "await Promise.reject(null)",
        "(globalThis as any).kept = Array.from({ length: 100000 }, (_, n) => ({ n })); throw null",
        "const used = new Uint8Array(40 << 20); throw null",
        "for (let n = 0; n < 200; n++) new Uint8Array(4 << 20).fill(1); throw null",
        "(globalThis as any).WeakRef = null; ArrayBuffer.prototype.constructor = null as any; throw null",
    ] {
        let run = ground.run(source).await;
        let Ended::Threw { message, .. } = &run.ended else { panic!("{source}: {run:?}") };
        assert_eq!(message, "Uncaught null", "{source}");
    }
    for source in [
        // The memory is free again when the end is told.
        "let chain: any; for (;;) chain = { chain }",
        "function f() { const a: any[] = []; for (let n = 0;; n++) a.push({ n }) } f()",
        "function f() { let chain: any; for (;;) chain = { chain } } f()",
        "async function f() { let chain: any; for (;;) chain = { chain } } await f()",
        "function f() { let chain: any; for (;;) { chain = { chain }; chain.me = chain } } f()",
        "function f() { let chain: any; for (let n = 0;; n++) chain = [chain, 'text ' + n] } f()",
        "const ballast = new Uint8Array(127 << 20); function f() { let chain: any; for (;;) chain = { chain } } f()",
    ] {
        let run = ground.run(source).await;
        assert_eq!(run.ended, Ended::OutOfMemory, "{source}: {run:?}");
    }
    ground.goes_on().await;
    ground.sandbox.close().await;
}

#[tokio::test]
async fn what_needs_too_much_memory_is_stopped() {
    let ground = Ground::new();
    for source in [
        "const a: any[] = []; for (;;) a.push(new Array(10000).fill('x'))",
        "let s = 'x'; for (;;) s += s",
        "new Uint8Array(1 << 30)",
        // Less than the process may have, and more than a script.
        "new Uint8Array(200 << 20)",
        "const a: any[] = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
        "const m = new Map(); for (let n = 0;; n++) m.set(n, { n })",
        "const a: any[] = []; try { for (;;) a.push(new Array(1000).fill(1)) } catch { for (;;) a.push({}) }",
    ] {
        let run = ground.run(source).await;
        let is_stopped = match &run.ended {
            Ended::OutOfMemory => true,
            // Some of it is refused by the language before memory is asked for.
            Ended::Threw { message, .. } => {
                message.contains("invalid array")
                    || message.contains("too long")
                    || message.contains("out of memory")
            }
            _ => false,
        };
        assert!(is_stopped, "{source}: {run:?}");
        ground.goes_on().await;
    }
    let run = ground.run("new Uint8Array(64 << 20).length").await;
    assert_eq!(run.value.as_deref(), Some("67108864"), "{run:?}");
    ground.sandbox.close().await;
}

#[tokio::test]
async fn what_nests_too_deep_is_stopped() {
    let ground = Ground::with(Limits { time: Duration::from_secs(20), ..Limits::DEFAULT });
    let deep =
        |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    let sources = [
        "function f(): any { return f() + 1 } f()".to_owned(),
        "let a: any = []; for (let n = 0; n < 1e5; n++) a = [a]; JSON.stringify(a)".to_owned(),
        "JSON.parse('['.repeat(1e5))".to_owned(),
        "new RegExp('('.repeat(1e5))".to_owned(),
        "eval('('.repeat(1e5))".to_owned(),
        "const p: any = new Proxy({}, { get: (t, k, r) => r[k] }); p.x".to_owned(),
        deep("(", ")", 100_000),
        deep("[", "]", 600),
        deep("!", "", 900_000),
        deep("a=>", "", 200_000),
        deep("1+", "", 300_000),
        deep("a?b:", "", 150_000),
        deep("- -", "", 300_000),
        format!("type A = {}1{};", "A<".repeat(200_000), ">".repeat(200_000)),
        format!("x{}", ".x".repeat(300_000)),
        format!("x{}", "``".repeat(300_000)),
        "if(1)".repeat(4_000) + ";",
    ];
    // What people write is far from that.
    let run = ground.run(&deep("(", ")", 500)).await;
    assert_eq!(run.value.as_deref(), Some("1"), "{run:?}");
    let run = ground.run(&deep("!", "", 4000)).await;
    assert_eq!(run.value.as_deref(), Some("true"), "{run:?}");
    for source in sources {
        let head: String = source.chars().take(60).collect();
        let run = ground.run(&source).await;
        let is_stopped = matches!(
            run.ended,
            Ended::Threw { .. } | Ended::Killed { .. } | Ended::OutOfMemory | Ended::TimedOut
        );
        assert!(is_stopped || run.ended == Ended::Done, "{head}: {:?}", run.ended);
        ground.goes_on().await;
    }
    ground.sandbox.close().await;
}

#[tokio::test]
async fn much_output_keeps_its_beginning_and_its_end() {
    let ground = Ground::new();
    let check = |run: &Run, what: &str| {
        assert_eq!(run.ended, Ended::Done, "{what}: {:?}", run.ended);
        assert!(run.output.len() < 70 << 10, "{what}: {}", run.output.len());
        assert!(run.output.starts_with("0 "), "{what}");
        assert!(
            run.output.ends_with(" end\n"),
            "{what}: {:?}",
            run.output.chars().rev().take(40).collect::<String>()
        );
        assert!(run.output.contains("bytes are left out here"), "{what}");
    };
    for (source, what) in [
        (
            "for (let n = 0; n < 20000; n++) console.log(n + ' line'); console.log('the end')",
            "many lines",
        ),
        (
            "for (let n = 0; n < 200000; n++) console.log(n + ' ' + 'x'.repeat(100)); console.log('the end')",
            "20 MB",
        ),
        ("console.log('0 ' + 'ä'.repeat(1e7) + ' end')", "one line of 20 MB"),
    ] {
        check(&ground.run(source).await, what);
        ground.goes_on().await;
    }
    let run = ground.run("'0 ' + 'x'.repeat(1e7) + ' end'").await;
    let value = run.value.expect("a value");
    assert!(value.len() < 70 << 10 && value.starts_with("0 ") && value.ends_with(" end"));
    let run = ground.run("throw new Error('y'.repeat(1e7))").await;
    assert!(run.report().len() < 70 << 10, "{}", run.report().len());
    ground.goes_on().await;
    ground.sandbox.close().await;
}

#[tokio::test]
async fn many_calls_with_prints_between_them_are_no_flood() {
    let ground = Ground::new();
    let source =
        "for (let n = 0; n < 6000; n++) { console.log(n); tools.echo({ text: '' }) } 'done'";
    let run = ground.run(source).await;
    assert_eq!((run.value.as_deref(), run.n_calls), (Some("done"), 6000), "{:?}", run.ended);
    assert!(run.output.ends_with("5998\n5999\n"));
    ground.sandbox.close().await;
}

#[tokio::test]
async fn a_flood_of_calls_is_refused_in_the_script() {
    let ground = Ground::with(Limits { calls_max: 20, ..Limits::DEFAULT });
    let source = "let n = 0; try { for (;;) { tools.echo({ text: 'x' }); n++ } } catch (e) { return n + e.message }";
    let run = ground.run(source).await;
    assert_eq!(run.value.as_deref(), Some("20a script makes at most 20 calls"), "{run:?}");
    assert_eq!(run.n_calls, 20);
    ground.goes_on().await;
    ground.sandbox.close().await;
}

#[tokio::test]
async fn large_arguments_and_results_pass_and_larger_ones_do_not() {
    let ground = Ground::new();
    let run = ground.run("tools.echo({ text: 'x'.repeat(5e6) }).length").await;
    assert_eq!(run.value.as_deref(), Some("5000000"), "{:?}", run.ended);
    let run = ground.run("tools.echo({ text: 'x'.repeat(2e7) }).length").await;
    assert!(run.report().contains("longer than 16777216 bytes"), "{}", run.report());
    ground.goes_on().await;
    ground.sandbox.close().await;
}

#[tokio::test]
async fn the_time_in_which_a_person_is_asked_does_not_count() {
    let limits = Limits { time: Duration::from_millis(1500), ..Limits::DEFAULT };
    let ground = Ground::with(limits);
    let begun = Instant::now();
    let run = ground.run("tools.asks({}) + tools.asks({}) + tools.asks({})").await;
    assert_eq!(run.ended, Ended::Done, "{run:?}");
    assert!(limits.time < begun.elapsed(), "the test asks for longer than a run may take");
    assert!(run.time < limits.time, "{:?}", run.time);
    let run = ground.run("tools.hangs({})").await;
    assert_eq!(run.ended, Ended::TimedOut, "{run:?}");
    assert_eq!(ground.calls.cancelled.load(std::sync::atomic::Ordering::SeqCst), 1);
    ground.goes_on().await;
    ground.sandbox.close().await;
}

#[tokio::test]
async fn a_script_that_is_too_long_is_not_sent() {
    let ground = Ground::new();
    let run = ground.run(&" ".repeat((1 << 20) + 1)).await;
    assert!(run.report().contains("at most 1048576 are read"), "{}", run.report());
    let run = ground.run_with("1", &[&"x".repeat((1 << 20) + 1)]).await;
    assert!(run.report().contains("at most 1048576 are passed on"), "{}", run.report());
    ground.sandbox.close().await;
}
