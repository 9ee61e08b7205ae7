//! The real binary, killed at random moments of conversations of many turns, and its sessions resumed.
//!
//! Messages come through a pipe, so that one process has many turns. The model is the offline one behind
//! a provider that remembers what it was told. Each test kills fifty times, and all of them together
//! three hundred; `crates/ic-store/tests/it/killed.rs` does the same to a process that only saves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ic_home::{Home, Lock};
use ic_store::{Metadata, Places, Sessions, Stored, export};
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::KEY;
use ic_types::{AbsolutePath, SessionId, SessionName};
use serde_json::Value;

use super::Shelf;
use crate::place;
use crate::start::started::DEADLINE;

const N_SESSIONS: usize = 5;
const N_KILLS_EACH: u64 = 10;
/// How many messages a process is given; it is killed before it has answered them all.
const N_MESSAGES: u64 = 8;
const N_ANSWERS_MAX: u64 = 4;
/// A start takes about that long on a machine with little to do, and a turn.
const START_US: u64 = 400_000;
const TURN_US: u64 = 80_000;
/// What each answer has once, if the message was understood and if it was not.
const ANSWERED: &str = "(Answered by the offline model.)";
const NOT_UNDERSTOOD: &str = "I am the offline model";

#[test]
fn fifty_kills_of_the_program_lose_nothing() {
    kill_fifty(88_172_645_463_325_252);
}

#[test]
fn fifty_more_kills_of_the_program_lose_nothing() {
    kill_fifty(6_364_136_223_846_793_005);
}

#[test]
fn the_third_fifty_kills_of_the_program_lose_nothing() {
    kill_fifty(1_442_695_040_888_963_407);
}

#[test]
fn the_fourth_fifty_kills_of_the_program_lose_nothing() {
    kill_fifty(2_862_933_555_777_941_757);
}

#[test]
fn the_fifth_fifty_kills_of_the_program_lose_nothing() {
    kill_fifty(3_037_000_493_123_456_789);
}

#[test]
fn the_last_fifty_kills_of_the_program_lose_nothing() {
    kill_fifty(4_768_777_513_237_032_717);
}

fn kill_fifty(seed: u64) {
    let mut random = Random(seed);
    let mut n_answered = 0;
    for _ in 0..N_SESSIONS {
        let mut talk = Talk::new(seed);
        for _ in 0..N_KILLS_EACH {
            talk.kill(&mut random);
        }
        n_answered += talk.end();
    }
    assert!(25 < n_answered, "seed {seed}: they talked, {n_answered} times");
}

/// A pseudo-random sequence, so that a failing run can be repeated as far as a machine lets it.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A conversation that is killed and goes on.
struct Talk {
    shelf: Shelf,
    home: Home,
    provider: ScriptedProvider,
    /// The messages that were sent are numbered from 1.
    n_sent: u64,
    /// The numbers of those whose answer was told.
    answered: Vec<u64>,
    /// The numbers of those that are done for certain.
    done: Vec<u64>,
    /// The messages as they were kept last.
    kept: Vec<String>,
    /// What the model was told that stays as it is.
    told: Vec<Value>,
    n_requests: usize,
    /// What is going on, for whoever reads of a failure.
    moment: String,
    seed: u64,
}

impl Talk {
    fn new(seed: u64) -> Self {
        let provider =
            ScriptedProvider::start_for_people(TcpListener::bind("127.0.0.1:0").unwrap());
        let place = place()
            .with_variable("OPENAI_COMPATIBLE_BASE_URL", &provider.url())
            .with_variable("OPENAI_COMPATIBLE_API_KEY", KEY);
        let home = Home::new(AbsolutePath::new(place.path("home/.ironcurtain")).unwrap());
        let shelf = Shelf { place };
        shelf.ok(&["config", "set", "agentModelId", "openai-compatible:local-model"]);
        // The other servers have nothing to do here.
        let servers = r#"{"filesystem": {"builtin": "filesystem"}}"#;
        shelf.place.write("home/.ironcurtain/mcp-servers.json", servers);
        let (answered, done, kept, told, moment) = Default::default();
        Self {
            shelf,
            home,
            provider,
            n_sent: 0,
            answered,
            done,
            kept,
            told,
            n_requests: 0,
            moment,
            seed,
        }
    }

    /// Lets a process talk, kills it, and looks at what is left.
    fn kill(&mut self, random: &mut Random) {
        let n_awaited = random.below(N_ANSWERS_MAX);
        let within = if n_awaited == 0 { START_US } else { TURN_US };
        let delay = Duration::from_micros(random.below(within));
        let first = self.n_sent + 1;
        self.moment = format!(
            "seed {}: from message {first}, killed {delay:?} after {n_awaited} answers",
            self.seed
        );
        let (n_answers, stderr) = self.talk(n_awaited, delay);
        self.moment = format!("{} ({n_answers} told)\n{stderr}", self.moment);
        self.answered.extend(first..first + n_answers);
        // The first may stand behind the note that the turn before it was cut, and the model that plays
        // here makes of that what it likes; the others have nothing before them but answers.
        self.done.extend(first + 1..first + n_answers.max(1));
        self.harm_index(random);
        self.look();
    }

    /// Runs a process, kills it, and returns how many answers it told, and what else it said.
    fn talk(&mut self, n_awaited: u64, delay: Duration) -> (u64, String) {
        let is_there = self.found().is_some();
        let words = ["start", if is_there { "--resume" } else { "--name" }, "talk"];
        let mut child = self.shelf.place.command(words).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for _ in 0..N_MESSAGES {
            self.n_sent += 1;
            // Few enough for the pipe, whoever reads it.
            writeln!(stdin, "append \"<{}>\" to log.txt", self.n_sent).unwrap();
        }
        let (sender, answers) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let reading = std::thread::spawn(move || {
            let is_answer = |it: &String| it.contains(ANSWERED) || it.contains(NOT_UNDERSTOOD);
            lines.filter(is_answer).for_each(|_| sender.send(()).unwrap());
        });
        let mut stderr = child.stderr.take().unwrap();
        let saying = std::thread::spawn(move || {
            let mut said = Vec::new();
            stderr.read_to_end(&mut said).ok();
            String::from_utf8_lossy(&said).into_owned()
        });
        for _ in 0..n_awaited {
            answers.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("no answer: {}", self.moment));
        }
        // At any moment is what is wanted; nothing is waited for.
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        reading.join().unwrap();
        // What was told before it died counts too.
        (n_awaited + answers.iter().count() as u64, saying.join().unwrap())
    }

    /// Returns the session, if it was made by now.
    fn found(&self) -> Option<Metadata> {
        Sessions::of(&self.home).named(&SessionName::of("talk").unwrap()).unwrap()
    }

    /// Does to the index what a crash, or somebody else, could do.
    fn harm_index(&self, random: &mut Random) {
        let (index, harm) = (self.home.index(), random.below(8));
        let Ok(whole) = std::fs::read(&index) else { return };
        match harm {
            0 => std::fs::remove_file(&index).unwrap(),
            1 => {
                let n_bytes = usize::try_from(random.below(whole.len() as u64)).unwrap();
                std::fs::write(&index, &whole[..n_bytes]).unwrap();
            }
            2 => std::fs::write(&index, "{\"version\":\"1.0\",\"sessions\":{},\"stamps\":{}}")
                .unwrap(),
            _ => {}
        }
    }

    /// Checks what is left of the process that was killed last.
    fn look(&mut self) {
        let why = &self.moment;
        self.until_free(&self.home.index_lock());
        let Some(metadata) = self.found() else {
            // It died before there was a session, and so before anything was told.
            assert!(self.answered.is_empty() && self.kept.is_empty(), "it is gone: {why}");
            return;
        };
        let id = metadata.id;
        self.until_free(&self.home.session_lock(&id));
        let places = Places::of(&self.home, &id);
        // The index says what the session says of itself.
        let listed = Sessions::of(&self.home).all().unwrap();
        let listed = listed.iter().find(|it| it.id == id);
        assert_eq!(listed, Metadata::read(&places).unwrap().as_ref(), "{why}");
        let stored = Stored::read(&places).unwrap();
        assert_eq!(stored.damage, None, "{why}");
        let now = messages(&stored);
        // Only the last message may have grown: by the note that the turn before it was cut.
        let n_settled = self.kept.len() - usize::from(is_open(&self.kept));
        assert_eq!(now[..n_settled.min(now.len())], self.kept[..n_settled], "it is lost: {why}");
        for n in &self.answered {
            let is_it = |text: &str| text.contains(&format!("\"<{n}>\""));
            let is_kept = stored.turns.iter().any(|turn| is_it(&turn.user_message));
            assert!(is_kept, "the answer to {n} was told, and is lost: {why}");
        }
        self.check_deeds(&id);
        self.check_told();
        self.kept = now;
    }

    /// Waits until nobody holds a lock: a child that was being started when the process died holds what
    /// its parent held, until it has become its own program.
    fn until_free(&self, lock: &Path) {
        let start = Instant::now();
        while Lock::is_held(lock).unwrap() {
            assert!(start.elapsed() < DEADLINE, "a lock stays: {}", self.moment);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Checks that everything that was answered was done, and nothing twice.
    fn check_deeds(&self, id: &SessionId) {
        let log = self.home.session(id).join("sandbox/log.txt");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        for n in 1..=self.n_sent {
            let n_times = log.matches(&format!("<{n}>")).count();
            let is_told = self.done.contains(&n);
            assert!(n_times <= 1, "{n} was done {n_times} times: {}", self.moment);
            assert!(n_times == 1 || !is_told, "{n} was not done: {}", self.moment);
        }
    }

    /// Checks that the model was told what it was told before, and then more.
    fn check_told(&mut self) {
        let requests = self.provider.requests();
        for request in requests.iter().skip(self.n_requests) {
            let said = request.body["messages"].as_array().unwrap();
            assert!(said.starts_with(&self.told), "{}\n{:#?}\n{said:#?}", self.moment, self.told);
            // A message of the person's that came to nothing may be taken back, or go with the next one.
            let is_open = said.last().is_some_and(|it| it["role"] == "user");
            self.told = said[..said.len() - usize::from(is_open)].to_vec();
        }
        self.n_requests = requests.len();
    }

    /// Goes on once more to the end, and returns how many answers were told.
    fn end(mut self) -> u64 {
        // The first one may stand behind a note.
        let words = ["start", "--resume", "talk"];
        let output = self.shelf.place.run_with_input(words, b"list the files\nread log.txt\n");
        assert_eq!(output.code, 0, "{output:?}\n{}", self.moment);
        let answer = output.stdout;
        for n in &self.done {
            assert!(answer.contains(&format!("<{n}>")), "{n}: {answer}\n{}", self.moment);
        }
        self.check_told();
        self.provider.check();
        assert!(self.shelf.names().contains(&"talk".to_owned()), "{}", self.moment);
        assert_eq!(self.shelf.run(&["audit", "verify"]).code, 0, "{}", self.moment);
        // Whoever looks for sessions that run removes what was left of those that do not.
        self.shelf.ok(&["approvals", "list"]);
        let registry = std::fs::read_dir(self.home.root().join("registry")).unwrap();
        let names = registry.map(|it| it.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = names.filter(|it| it.starts_with("session-")).collect();
        assert!(left.is_empty(), "{left:?}: {}", self.moment);
        self.answered.len() as u64
    }
}

fn messages(stored: &Stored) -> Vec<String> {
    let export: Value = serde_json::from_str(&export::json(stored)).unwrap();
    export["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
}

/// Returns whether the last message is the person's.
fn is_open(messages: &[String]) -> bool {
    messages.last().is_some_and(|it| it.contains("\"role\":\"user\""))
}
