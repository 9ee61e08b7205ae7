//! A second process of these tests, which holds a server and can be killed.
//!
//! It is the test program itself, told by a variable to play a part in the one test of this file;
//! without the variable that test does nothing.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{ChildStdout, Command, Stdio};

use ic_confine::Child;

use super::{Process, launcher, script, soon};

/// Which part to play, and with which server.
const PART: &str = "CHILDREN_PART";
const SCRIPT: &str = "CHILDREN_SCRIPT";
/// Begins the lines that are not the test harness's.
const MARK: &str = "@";

/// A host that was started.
pub(super) struct Host {
    child: std::process::Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    /// Starts a host that plays `part` with a server that runs `script`; `wrapper` comes before it
    /// on the command line.
    pub(super) fn start(wrapper: &[&str], part: &str, script: &str) -> Self {
        let own = std::env::current_exe().expect("we know ourselves");
        let own = own.to_str().expect("UTF-8");
        let filter = concat!(module_path!(), "::plays_a_part");
        let (_, filter) = filter.split_once("::").expect("the name of the crate comes first");
        let words = [wrapper, &[own, "--exact", filter, "--nocapture"]].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .env(PART, part)
            .env(SCRIPT, script)
            .env("ANTHROPIC_API_KEY", "sk-ours")
            .env("IRONCURTAIN_SECRET", "ours")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// The next line that the host meant for us.
    pub(super) fn line(&mut self) -> String {
        let mut lines = self.lines.by_ref().map(|line| line.expect("text"));
        // What the harness says may stand before it on the same line.
        lines
            .find_map(|line| line.split_once(MARK).map(|(_, rest)| rest.to_owned()))
            .expect("the host says something")
    }

    pub(super) fn process(&mut self) -> Process {
        Process::hold(&self.line())
    }

    /// Ends the host like `kill -9`.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("ours");
        self.child.wait().expect("ours");
    }

    /// Waits for the host to end, which must be as a passed test does.
    #[track_caller]
    pub(super) fn passes(mut self) {
        assert!(self.child.wait().expect("ours").success(), "see above");
    }
}

fn say(text: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{MARK}{text}").expect("somebody listens");
}

#[test]
fn plays_a_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let text = std::env::var(SCRIPT).expect("a script");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    runtime.block_on(async {
        match part.as_str() {
            "hold" => hold(&text).await,
            "code" => code(&text).await,
            "many" => many(&text).await,
            part => panic!("no such part: {part}"),
        }
    });
}

/// Says the number of the guard, then all that the server says, for as long as it says something.
async fn hold(text: &str) {
    let Child { stdin, stdout, mut process, .. } =
        launcher().start(&script(text)).expect("it starts");
    say(process.id());
    let mut lines = super::Lines::of(stdout);
    while let Ok(Some(line)) = lines.0.next_line().await {
        say(line);
    }
    process.wait().await.expect("ours");
    drop(stdin);
}

/// Says how the server ended.
async fn code(text: &str) {
    let Child { mut process, .. } = launcher().start(&script(text)).expect("it starts");
    let status = soon(process.wait()).await;
    say(status.expect("its end is known").code().expect("a code"));
}

/// Starts and ends a hundred servers in several ways, and compares what is open before and after.
async fn many(text: &str) {
    round(text).await;
    no_children().await;
    let n_before = n_open();
    for _ in 0..25 {
        round(text).await;
    }
    no_children().await;
    assert_eq!(n_open(), n_before, "descriptors before and after");
}

/// Four servers: two are stopped, one ends, one is dropped.
async fn round(text: &str) {
    let started = [(); 4].map(|()| launcher().start(&script(text)).expect("it starts"));
    let [mut first, mut second, mut third, fourth] = started;
    let (one, two) = tokio::join!(first.process.stop(), second.process.stop());
    one.and(two).expect("ours");
    drop(third.stdin);
    soon(third.process.wait()).await.expect("ours");
    drop(fourth);
}

/// Waits for those that were dropped, which may still be ending.
async fn no_children() {
    soon(async {
        while n_children() != 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

fn n_open() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a list").count()
}

fn n_children() -> usize {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").expect("a list");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|name| {
            let text = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
            let words = text.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace());
            words.and_then(|mut words| words.nth(1).map(|parent| parent == own)) == Some(true)
        })
        .count()
}
