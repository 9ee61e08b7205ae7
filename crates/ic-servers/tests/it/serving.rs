//! The loop over real pipes: many calls at once, cancelled ones, streams that end.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use ic_servers::tools::{Caller, Effect, Tool, ToolResult, Tools, UnknownTool, World};
use ic_servers::{Ended, serve};
use ic_types::{Json, Object};
use serde_json::{Value, json};

/// A server whose calls wait until they are told to go on.
pub(crate) struct Fake {
    n_calls: AtomicUsize,
    /// How many calls of `wait` are there, and whether they may go on.
    waiting: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let waiting = Mutex::new((0, false));
        Self { n_calls: AtomicUsize::new(0), waiting, changed: Condvar::new() }
    }

    pub(crate) fn n_calls(&self) -> usize {
        self.n_calls.load(Ordering::Relaxed)
    }

    /// Waits until `n` calls of `wait` are there.
    fn until_waiting(&self, n: usize) {
        let waiting = self.waiting.lock().unwrap();
        drop(self.changed.wait_while(waiting, |(n_waiting, _)| *n_waiting < n).unwrap());
    }

    /// Lets those that wait, and those that will, go on.
    fn go(&self) {
        self.waiting.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

impl Tools for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn list(&self) -> Vec<Tool> {
        vec![Tool {
            name: "echo",
            description: "Says what it is told.",
            input_schema: Object::new(),
            effect: Effect::Reads,
            world: World::Open,
        }]
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool> {
        self.n_calls.fetch_add(1, Ordering::Relaxed);
        match tool {
            "echo" => {}
            "wait" => {
                let mut waiting = self.waiting.lock().unwrap();
                waiting.0 += 1;
                self.changed.notify_all();
                drop(self.changed.wait_while(waiting, |(_, may_go)| !*may_go).unwrap());
            }
            "until_cancelled" => {
                self.waiting.lock().unwrap().0 += 1;
                self.changed.notify_all();
                while !caller.cancel().is_cancelled() {
                    thread::yield_now();
                }
            }
            "ask" => {
                let text = match caller.ask("fake/question", arguments) {
                    Ok(outcome) => format!("{outcome:?}"),
                    Err(error) => error.to_string(),
                };
                return Ok(ToolResult::text(text));
            }
            "panic" => panic!("on purpose"),
            _ => return Err(UnknownTool),
        }
        Ok(ToolResult::text(arguments.get("text").and_then(Json::as_str).unwrap_or("done")))
    }
}

/// The other end of the pipes.
pub(crate) struct Client {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
}

impl Client {
    /// Serves `fake` while `talk` talks to it; returns how it ended.
    fn talk(fake: &Fake, talk: impl FnOnce(&mut Self)) -> Ended {
        let (server_in, input) = std::io::pipe().unwrap();
        let (output, server_out) = std::io::pipe().unwrap();
        thread::scope(|scope| {
            // Both ends belong to the server's thread, as to a process of its own.
            let server = scope.spawn(move || serve(fake, server_in.as_fd(), server_out.as_fd()));
            let mut client = Self { input: Some(input), output: BufReader::new(output) };
            talk(&mut client);
            drop(client);
            server.join().unwrap().unwrap()
        })
    }

    /// Sends `lines`, then nothing more, and returns all answers.
    pub(crate) fn all(fake: &Fake, lines: &str) -> Vec<Value> {
        let mut answers = Vec::new();
        let ended = Self::talk(fake, |client| {
            let mut input = client.input.take().unwrap();
            thread::scope(|scope| {
                scope.spawn(move || input.write_all(lines.as_bytes()).unwrap());
                answers = client.rest();
            });
        });
        assert_eq!(ended, Ended::InputClosed);
        answers
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, text: &str) {
        let params = json!({"name": tool, "arguments": {"text": text}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id, "reason": "no longer wanted"});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }

    /// Returns the next answer.
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Returns the answers until the end.
    fn rest(&mut self) -> Vec<Value> {
        let lines = self.output.by_ref().lines();
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    }

    fn end_input(&mut self) {
        self.input = None;
    }
}

fn ids(answers: &[Value]) -> Vec<u64> {
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_slow_call_does_not_keep_the_others_back() {
    let fake = Fake::new();
    let ended = Client::talk(&fake, |client| {
        for id in 0..7 {
            client.call(id, "wait", "slow");
        }
        fake.until_waiting(7);
        client.call(7, "echo", "fast");
        let fast = client.answer();
        assert_eq!(
            (&fast["id"], &fast["result"]["content"][0]["text"]),
            (&json!(7), &json!("fast"))
        );
        client.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}));
        assert_eq!(client.answer()["id"], 8);
        fake.go();
        client.end_input();
        assert_eq!(ids(&client.rest()), [0, 1, 2, 3, 4, 5, 6]);
    });
    assert_eq!(ended, Ended::InputClosed);
}

#[test]
fn more_calls_than_workers_wait_and_are_all_made() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        for id in 0..100 {
            client.call(id, "wait", "x");
        }
        fake.until_waiting(8);
        // What needs no worker is answered all the same.
        client.send(&json!({"jsonrpc": "2.0", "id": 1000, "method": "ping"}));
        assert_eq!(client.answer()["id"], 1000);
        assert_eq!(fake.waiting.lock().unwrap().0, 8, "no more workers than that");
        fake.go();
        client.end_input();
        assert_eq!(ids(&client.rest()), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn a_cancelled_call_is_told_and_not_answered() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        client.call(1, "until_cancelled", "x");
        fake.until_waiting(1);
        client.cancel(1);
        client.call(2, "echo", "x");
        assert_eq!(client.answer()["id"], 2);
        client.end_input();
        assert_eq!(client.rest(), [json!(null); 0]);
    });
}

#[test]
fn a_call_that_is_cancelled_before_its_turn_is_never_made() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        for id in 0..8 {
            client.call(id, "wait", "x");
        }
        fake.until_waiting(8);
        client.call(8, "echo", "never");
        client.call(9, "echo", "made");
        client.cancel(8);
        // The answer shows that the cancellation was read.
        client.send(&json!({"jsonrpc": "2.0", "id": 1000, "method": "ping"}));
        assert_eq!(client.answer()["id"], 1000);
        fake.go();
        client.end_input();
        assert_eq!(ids(&client.rest()), [0, 1, 2, 3, 4, 5, 6, 7, 9]);
    });
    assert_eq!(fake.n_calls(), 9);
}

#[test]
fn the_id_of_a_cancelled_call_can_be_used_again() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        client.call(1, "wait", "old");
        fake.until_waiting(1);
        client.cancel(1);
        client.call(1, "echo", "new");
        let answer = client.answer();
        assert_eq!(answer["result"]["content"][0]["text"], "new");
        fake.go();
        client.end_input();
        assert_eq!(client.rest(), [json!(null); 0], "the old call is not answered");
    });
}

#[test]
fn an_id_in_use_is_refused() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        client.call(1, "wait", "first");
        fake.until_waiting(1);
        client.call(1, "echo", "second");
        assert_eq!(client.answer()["error"]["code"], -32600);
        fake.go();
        assert_eq!(client.answer()["result"]["content"][0]["text"], "first");
    });
    assert_eq!(fake.n_calls(), 1);
}

#[test]
fn calls_under_way_are_answered_after_the_input_ends() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        for id in 0..20 {
            client.call(id, "wait", "x");
        }
        fake.until_waiting(8);
        client.end_input();
        fake.go();
        assert_eq!(ids(&client.rest()), (0..20).collect::<Vec<_>>());
    });
}

#[test]
fn serving_ends_when_nobody_reads_the_answers() {
    let fake = Fake::new();
    let (server_in, mut input) = std::io::pipe().unwrap();
    let (output, server_out) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&fake, server_in.as_fd(), server_out.as_fd()));
        let params = json!({"name": "until_cancelled"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        writeln!(input, "{call}").unwrap();
        fake.until_waiting(1);
        // The input stays open, and the call would never end by itself.
        drop(output);
        assert_eq!(server.join().unwrap().unwrap(), Ended::OutputClosed);
    });
    drop(input);
}

#[test]
fn answers_are_never_torn() {
    let fake = Fake::new();
    let texts: Vec<String> = (0..64_usize).map(|n| format!("{n}").repeat(20_000)).collect();
    let ended = Client::talk(&fake, |client| {
        let mut input = client.input.take().unwrap();
        let texts = &texts;
        thread::scope(|scope| {
            scope.spawn(move || {
                for (id, text) in texts.iter().enumerate() {
                    let params = json!({"name": "echo", "arguments": {"text": text}});
                    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                    writeln!(input, "{call}").unwrap();
                }
            });
            let answers = client.rest();
            assert_eq!(answers.len(), texts.len());
            for answer in answers {
                let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
                assert_eq!(
                    answer["result"]["content"][0]["text"].as_str(),
                    Some(texts[id].as_str())
                );
            }
        });
    });
    assert_eq!(ended, Ended::InputClosed);
}

#[test]
fn a_tool_that_fails_badly_takes_nobody_along() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        for id in 0..20 {
            client.call(id, if id % 2 == 0 { "panic" } else { "echo" }, "x");
        }
        client.end_input();
        let answers = client.rest();
        assert_eq!(ids(&answers), (0..20).collect::<Vec<_>>());
        assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32603).count(), 10);
    });
}

#[test]
fn a_tool_asks_its_client_and_waits_for_the_answer() {
    let fake = Fake::new();
    Client::talk(&fake, |client| {
        client.call(1, "ask", "one");
        let asked = client.answer();
        assert_eq!(asked["method"], "fake/question");
        assert_eq!(asked["params"], json!({"text": "one"}));
        // Neither what answers nothing, nor another call, is taken for the answer.
        client.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {"no": 1}}));
        client.call(2, "echo", "between");
        assert_eq!(client.answer()["id"], 2);
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"yes": 1}}));
        let answer = client.answer();
        assert_eq!(answer["id"], 1);
        assert!(answer.to_string().contains("yes"), "{answer}");
    });
}

#[test]
fn a_question_that_nobody_answers_ends_with_the_input() {
    let fake = Fake::new();
    let ended = Client::talk(&fake, |client| {
        for id in 0..20 {
            client.call(id, "ask", "x");
        }
        client.end_input();
        let rest = client.rest();
        let (asked, answers): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|it| it.get("method").is_some());
        assert!(asked.len() <= 8, "no more questions than workers");
        assert_eq!(ids(&answers), (0..20).collect::<Vec<_>>());
        for answer in answers {
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(text, "the caller cannot be asked");
        }
    });
    assert_eq!(ended, Ended::InputClosed);
}
