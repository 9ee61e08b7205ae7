//! A process that is killed at any moment: what it said was saved is there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ic_home::{Home, Lock};
use ic_model::Message;
use ic_store::{Places, Saving, Stored};
use ic_types::AbsolutePath;

use crate::rig::{Rig, answer, written};

/// Tells a run of this test program that it is the one to be killed, and in which home.
const HOME: &str = "IC_STORE_TEST_HOME";
const N_KILLS: usize = 300;
const N_KILLS_EACH: usize = 10;

/// A pseudo-random sequence, so that a failing run can be repeated.
fn numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(88_172_645_463_325_252_u64), |n| {
        let n = n ^ (n << 13);
        let n = n ^ (n >> 7);
        Some(n ^ (n << 17))
    })
}

/// Talks as fast as it can and says what was saved; does nothing unless told where.
#[test]
fn talks_until_killed() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let rig = Rig::at(Path::new(&home));
    let mut running = rig.run("a", Saving::Always);
    let mut out = std::io::stdout().lock();
    let mut acknowledge = |messages: &[Message]| writeln!(out, "ack {}", messages.len()).is_ok();
    if let Some(Message::User(_)) = running.messages.last() {
        running.messages.push(answer("cut"));
        running.conversation.save(&running.messages, ic_store::Moment::TurnEnds).unwrap();
    }
    for n in 0..1_000_000 {
        running.say(&format!("question {n}"));
        if !acknowledge(&running.messages) {
            return;
        }
        running.step(&format!("{n}-a"));
        acknowledge(&running.messages);
        running.answer("question", &format!("answer {n}"));
        acknowledge(&running.messages);
        if n % 7 == 6 {
            running.close();
            running = rig.run("a", Saving::Always);
        }
    }
}

fn start(home: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["killed::talks_until_killed", "--exact", "--nocapture"]).env(HOME, home);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

fn stored(home: &Home) -> Stored {
    Stored::read(&Places::of(home, &"a".parse().unwrap())).unwrap()
}

#[test]
fn three_hundred_kills_lose_nothing_that_was_acknowledged() {
    let mut rig = Rig::new();
    let (mut before, mut n_messages, mut n_pending) = (Vec::new(), 0, 0);
    for (at, n) in numbers().take(N_KILLS).enumerate() {
        if at % N_KILLS_EACH == 0 {
            // Long conversations take long to compare.
            rig = Rig::new();
            rig.make("a", "a");
            n_messages += before.len();
            before.clear();
        }
        let mut child = start(&rig.home.root());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut acks = lines.filter_map(|line| line.strip_prefix("ack ")?.parse::<usize>().ok());
        let mut last = 0;
        for ack in acks.by_ref().take(usize::try_from(n % 30).unwrap() + 1) {
            last = ack;
        }
        child.kill().unwrap();
        // What it had said before it died counts too.
        last = acks.last().unwrap_or(last);
        child.wait().unwrap();
        let stored = stored(&rig.home);
        let now = written(&stored.messages);
        assert!(last <= now.len(), "{last} messages were saved, and {} are there", now.len());
        assert!(now.starts_with(&before), "what was said before is as it was");
        assert_eq!(stored.damage, None);
        n_pending += usize::from(stored.pending.is_some());
        before = now;
        assert!(!Lock::is_held(rig.home.session_lock(&"a".parse().unwrap())).unwrap());
        // The list is right at once.
        assert_eq!(rig.names(), ["a"]);
    }
    assert!(N_KILLS < n_messages, "they talked: {n_messages}");
    eprintln!("{n_messages} messages, {n_pending} kills while tools were used");
}

impl Rig {
    /// A home that is there already.
    fn at(home: &Path) -> Self {
        Self::of(Home::new(AbsolutePath::new(PathBuf::from(home)).unwrap()), None)
    }
}
