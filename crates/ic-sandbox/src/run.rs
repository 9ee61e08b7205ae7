//! One run, seen from the host: a script goes to a worker, its calls are served, its end is awaited.
//!
//! ```text
//! order ─▶ started ─▶ (print | call ─▶ reply)* ─▶ done | threw | memory
//! ```
//!
//! Anything else that a worker says ends it. Which worker it is, and what becomes of it, is the
//! business of `sandbox`.

use std::sync::Arc;
use std::time::Duration;

use ic_confine::EXIT_EXCESS;
use ic_types::ToolCall;
use tokio::io::AsyncBufReadExt as _;
use tokio_util::sync::CancellationToken;

use crate::calls::Calls;
use crate::catalogue::Catalogue;
use crate::frame::{self, FrameError};
use crate::limits::{FRAME_BYTES_MAX, Limits, OTHER_FRAMES_MAX, PRINT_BYTES_MAX, TOTAL_BYTES_MAX};
use crate::output::{Output, as_u64, clip, left_out};
use crate::pause::Pause;
use crate::process::Worker;
use crate::wire::{Reply, Said, Thrown};

/// How long a call may take to end when its run is over.
const CALL_END_MAX: Duration = Duration::from_secs(3);

/// A script that is to be run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Script {
    /// TypeScript or JavaScript.
    pub source: String,
    /// What it finds in `args`.
    pub arguments: Vec<String>,
}

/// A run that is over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// What it printed; if that was too much, its beginning and its end.
    pub output: String,
    /// What it returned, or its last expression was worth, as text; nothing if that is `undefined`.
    pub value: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// How many calls it made.
    pub n_calls: u64,
    /// How long it took, without the time in which a person was asked.
    pub time: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The script came to its end.
    Done,
    /// The script threw something, or is no script.
    Threw {
        /// What it threw.
        message: String,
        /// The line of the source, counted from 1, if it is known.
        line: Option<u32>,
        /// The column, counted from 1.
        column: Option<u32>,
        /// The calls that led there, with lines of the source.
        stack: String,
    },
    /// It took too long, and was killed.
    TimedOut,
    /// It needed too much memory.
    OutOfMemory,
    /// Its worker crashed, or was killed by somebody else.
    Killed {
        /// What is known of it.
        why: String,
    },
    /// Its worker said something that no worker of ours says, and was killed.
    Broke {
        /// What it did.
        why: String,
    },
    /// Whoever asked for it no longer wants it, or the sandbox was closed.
    Cancelled,
    /// No worker could be started; nothing was run.
    NotStarted {
        /// Why.
        why: String,
    },
}

/// What a run takes besides a worker.
pub(crate) struct Given<'a> {
    /// The order as it is sent.
    pub(crate) order: &'a [u8],
    pub(crate) catalogue: &'a Arc<Catalogue>,
    pub(crate) calls: &'a dyn Calls,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) closed: &'a CancellationToken,
    pub(crate) limits: &'a Limits,
}

/// What came of a worker.
pub(crate) enum Outcome {
    Over(Run),
    /// It had ended before it read the script.
    NeverStarted,
}

/// Lets `worker` run what is given.
pub(crate) async fn run(worker: &mut Worker, given: &Given<'_>) -> Outcome {
    let Worker { stdin, stdout, process } = worker;
    let pause = Pause::new();
    let call_cancel = CancellationToken::new();
    let mut talk = Talk {
        stdin,
        stdout,
        given,
        pause: &pause,
        call_cancel: &call_cancel,
        state: State::Ordered,
        output: Output::new(given.limits.output_bytes_max),
        value: None,
        n_calls: 0,
        n_others: 0,
        n_printed: 0,
        n_bytes: 0,
    };
    let ended = {
        let talking = talk.talk();
        tokio::pin!(talking);
        let stopped = tokio::select! {
            biased;
            () = given.cancel.cancelled() => Err(Ended::Cancelled),
            () = given.closed.cancelled() => Err(Ended::Cancelled),
            ended = &mut talking => Ok(ended),
            () = pause.reach(given.limits.time) => Err(Ended::TimedOut),
        };
        match stopped {
            Ok(ended) => ended,
            Err(ended) => {
                call_cancel.cancel();
                process.kill();
                // A call in flight learns of it, and may want to write down how it ended.
                tokio::time::timeout(CALL_END_MAX, talking).await.ok();
                Ok(ended)
            }
        }
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(Fault::Broke(why)) => Ended::Broke { why },
        Err(Fault::Gone) if talk.state == State::Ordered => return Outcome::NeverStarted,
        Err(Fault::Gone) => of_code(process.end().await),
    };
    process.kill();
    let Talk { output, value, n_calls, .. } = talk;
    let output = output.finish();
    Outcome::Over(Run { output, value, ended, n_calls, time: pause.counted() })
}

/// Says how a worker ended that did not say so itself.
pub(crate) fn of_code(code: Option<i32>) -> Ended {
    const SIGNALLED: i32 = 128;
    const SEGMENT: i32 = SIGNALLED + 11;
    const BUS: i32 = SIGNALLED + 7;
    const PROCESSOR: i32 = SIGNALLED + 24;
    match code {
        Some(code) if code == i32::from(EXIT_EXCESS) => Ended::OutOfMemory,
        Some(PROCESSOR) => Ended::TimedOut,
        Some(SEGMENT | BUS) => Ended::Killed {
            why: "the worker crashed, as it does on a script that nests very deeply".to_owned(),
        },
        Some(code) if SIGNALLED < code => {
            Ended::Killed { why: format!("the worker was ended by signal {}", code - SIGNALLED) }
        }
        Some(code) => Ended::Killed { why: format!("the worker ended with code {code}") },
        None => Ended::Killed { why: "the worker was killed".to_owned() },
    }
}

/// Why there is nothing more to talk about.
enum Fault {
    /// The worker has ended, or closed its pipes.
    Gone,
    /// It broke the rules.
    Broke(String),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Ordered,
    Started,
}

struct Talk<'a, 'g> {
    stdin: &'a mut tokio::process::ChildStdin,
    stdout: &'a mut tokio::io::BufReader<tokio::process::ChildStdout>,
    given: &'a Given<'g>,
    pause: &'a Pause,
    call_cancel: &'a CancellationToken,
    state: State,
    output: Output,
    value: Option<String>,
    n_calls: u64,
    /// Frames that were no calls.
    n_others: u64,
    n_printed: usize,
    n_bytes: u64,
}

impl Talk<'_, '_> {
    /// Talks until the script has ended.
    async fn talk(&mut self) -> Result<Ended, Fault> {
        frame::send(self.stdin, self.given.order).await.map_err(|_| Fault::Gone)?;
        loop {
            let said = self.listen().await?;
            match (self.state, said) {
                (State::Ordered, Said::Started) => self.state = State::Started,
                (State::Ordered, _) | (State::Started, Said::Ready | Said::Started) => {
                    return broke("the worker spoke out of turn");
                }
                (State::Started, Said::Print { text, n_missing }) => {
                    self.n_printed = self.n_printed.saturating_add(text.len());
                    if PRINT_BYTES_MAX * 2 < self.n_printed {
                        return broke("the worker printed too much");
                    }
                    self.output.miss(n_missing);
                    self.output.push(&text);
                    if n_missing != 0 {
                        self.given.calls.printed(&left_out(n_missing));
                    }
                    self.given.calls.printed(&text);
                }
                (State::Started, Said::Call { id, call }) => self.serve(id, call).await?,
                (State::Started, Said::Done { value }) => {
                    let bytes_max = self.given.limits.output_bytes_max;
                    self.value = value.map(|value| clip(&value, bytes_max));
                    return Ok(Ended::Done);
                }
                (State::Started, Said::Memory) => return Ok(Ended::OutOfMemory),
                (State::Started, Said::Threw(thrown)) => return Ok(self.thrown(&thrown)),
            }
        }
    }

    /// Reads one message, within the limits.
    async fn listen(&mut self) -> Result<Said, Fault> {
        let frame = match frame::receive(self.stdout, FRAME_BYTES_MAX).await {
            Ok(frame) => frame,
            Err(FrameError::End | FrameError::Cut | FrameError::System(_)) => {
                return Err(Fault::Gone);
            }
            Err(error @ FrameError::TooLong(_)) => return broke(&error.to_string()),
        };
        self.n_bytes = self.n_bytes.saturating_add(as_u64(frame.len()));
        if TOTAL_BYTES_MAX < self.n_bytes {
            return broke("the worker said too much");
        }
        let said = match Said::read(&frame) {
            Ok(said) => said,
            Err(error) => {
                return broke(&format!("the worker sent something that is not a message: {error}"));
            }
        };
        if !matches!(said, Said::Call { .. }) {
            self.n_others += 1;
            // What was printed goes out before each call.
            if OTHER_FRAMES_MAX.saturating_add(self.n_calls) < self.n_others {
                return broke("the worker spoke too often");
            }
        }
        Ok(said)
    }

    async fn serve(&mut self, id: u64, call: ToolCall) -> Result<(), Fault> {
        self.n_calls += 1;
        if id != self.n_calls {
            return broke("the worker counted its calls wrong");
        }
        if self.given.limits.calls_max < self.n_calls {
            return broke("the worker made more calls than it may");
        }
        // SECURITY: a worker that was taken over must not reach for what the script was not offered.
        let catalogue = Arc::clone(self.given.catalogue);
        let Some((_, tool)) = catalogue.tool(call.server.as_str(), call.tool.as_str()) else {
            return broke("the worker called a tool that is not there");
        };
        let mut called = self.given.calls.call(call, self.pause, self.call_cancel);
        let answer = tokio::select! {
            biased;
            called = &mut called => Ok(called),
            // A worker waits for its reply: it can only have died, or be one that was taken over.
            heard = self.stdout.fill_buf() => Err(heard.is_ok_and(|bytes| !bytes.is_empty())),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(has_spoken) => {
                self.call_cancel.cancel();
                tokio::time::timeout(CALL_END_MAX, called).await.ok();
                return if has_spoken { spoke() } else { Err(Fault::Gone) };
            }
        };
        if !self.stdout.buffer().is_empty() {
            return spoke();
        }
        let reply = Reply::of(answer, tool.output_schema.is_some());
        let mut reply = reply.write(id);
        if FRAME_BYTES_MAX < reply.len() {
            let message = format!("the result takes {} bytes, too many for a script", reply.len());
            reply = Reply::Failed(message).write(id);
        }
        frame::send(self.stdin, reply.as_bytes()).await.map_err(|_| Fault::Gone)
    }

    fn thrown(&self, thrown: &Thrown) -> Ended {
        let bytes_max = self.given.limits.output_bytes_max;
        Ended::Threw {
            message: clip(&thrown.message, bytes_max),
            line: thrown.line,
            column: thrown.column,
            stack: clip(&thrown.stack, bytes_max),
        }
    }
}

fn broke<T>(why: &str) -> Result<T, Fault> {
    Err(Fault::Broke(why.to_owned()))
}

fn spoke<T>() -> Result<T, Fault> {
    broke("the worker spoke while it was to wait for a reply")
}

impl Run {
    /// A run that did not take place.
    pub(crate) fn none(ended: Ended) -> Self {
        Self { output: String::new(), value: None, ended, n_calls: 0, time: Duration::ZERO }
    }

    /// Returns all of it as text for whoever wrote the script.
    pub fn report(&self) -> String {
        let mut text = self.output.clone();
        let mut say = |line: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        };
        if let Some(value) = &self.value {
            say(value);
        }
        match &self.ended {
            Ended::Done => {}
            Ended::Threw { message, line, column, stack } => {
                say(message);
                match (line, column) {
                    (Some(line), Some(column)) if stack.is_empty() => {
                        say(&format!("    at line {line}, column {column}"));
                    }
                    _ if stack.is_empty() => {}
                    _ => say(stack),
                }
            }
            Ended::TimedOut => say("The script took too long and was stopped."),
            Ended::OutOfMemory => say("The script needed too much memory and was stopped."),
            Ended::Killed { why } | Ended::Broke { why } => {
                say(&format!("The script was stopped: {why}."));
            }
            Ended::Cancelled => say("The script was cancelled."),
            Ended::NotStarted { why } => say(&format!("The script could not be run: {why}.")),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: Option<i32>, expected: &str) {
        assert_eq!(Run::none(of_code(code)).report(), expected, "{code:?}");
    }

    #[test]
    fn the_end_of_a_worker_is_told() {
        check(Some(124), "The script needed too much memory and was stopped.");
        check(Some(128 + 24), "The script took too long and was stopped.");
        check(Some(128 + 9), "The script was stopped: the worker was ended by signal 9.");
        check(Some(3), "The script was stopped: the worker ended with code 3.");
        check(None, "The script was stopped: the worker was killed.");
        let crashed = "The script was stopped: the worker crashed, as it does on a script that nests very deeply.";
        check(Some(128 + 11), crashed);
    }
}
