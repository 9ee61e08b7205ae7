//! Serves a server's tools over two streams, one JSON-RPC message per line.
//!
//! ```text
//! input ─▶ reader (the calling thread) ─▶ queue ─▶ up to 8 workers ─▶ output, a whole line at a time
//!              └─ all that is no call is answered at once ────────────▶
//! ```
//!
//! Ends when the input ends, after the calls under way were answered, or when nobody reads the
//! output any more. Does not know what any tool does; the client is asked only what a tool asks it.

mod protocol;
mod questions;
mod queue;
mod streams;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use ic_mcp::{
    Id, Line, Lines, Message, MessageFault, Outcome, Response, RpcError, code, request_line,
};
use ic_types::{Json, JsonLimits, Object};
use rustix::fd::BorrowedFd;

use crate::tools::{Ask, Caller, Cancel, NoAnswer, Tools};
use protocol::{Call, Plan};
use questions::Questions;
use queue::{Limits, Queue, Workers};
use streams::{Output, Ready};

/// The longest line that is taken; what a file is replaced with has to fit.
pub const LINE_BYTES_MAX: usize = 64 << 20;

const JSON_LIMITS: JsonLimits =
    JsonLimits { bytes_max: LINE_BYTES_MAX, depth_max: 64, values_max: 200_000 };
const QUEUE_LIMITS: Limits = Limits { workers: 8, jobs: 256, bytes: 128 << 20 };

/// Why serving ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The input ended, and all that it asked for was answered.
    InputClosed,
    /// Nobody reads the output any more.
    OutputClosed,
}

/// A stream that does not work.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The input cannot be read.
    #[error("cannot read requests")]
    Input(#[source] io::Error),
    /// The output cannot be written, for another reason than that nobody reads it.
    #[error("cannot write answers")]
    Output(#[source] io::Error),
}

/// Serves `tools` until one of the streams ends.
pub fn serve(
    tools: &dyn Tools,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> Result<Ended, ServeError> {
    let service = Service {
        tools,
        output: Output::new(output),
        queue: Queue::new(QUEUE_LIMITS),
        flights: Mutex::new(HashMap::new()),
        questions: Questions::new(),
        is_over: AtomicBool::new(false),
    };
    let read = thread::scope(|scope| {
        let read = service.read(input, scope);
        if !matches!(read, Ok(Ended::InputClosed)) {
            service.cancel_all();
        }
        // Nothing more is read, so nobody who asked is answered any more.
        service.questions.close();
        service.queue.close();
        read
    });
    match (service.output.into_failure(), read) {
        (Some(error), _) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ended::OutputClosed),
        (Some(error), _) => Err(ServeError::Output(error)),
        (None, read) => read,
    }
}

/// What reader and workers share.
struct Service<'a> {
    tools: &'a dyn Tools,
    output: Output<'a>,
    queue: Queue<Job>,
    /// The calls that were not answered yet.
    flights: Mutex<HashMap<Id, Cancel>>,
    /// What the client was asked.
    questions: Questions,
    /// Nobody would read what is still to come.
    is_over: AtomicBool,
}

/// A call under way.
struct Job {
    id: Id,
    call: Call,
    cancel: Cancel,
    n_bytes: usize,
}

impl Service<'_> {
    fn read<'scope>(
        &'scope self,
        input: BorrowedFd<'_>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Ended, ServeError> {
        let mut lines = Lines::new(LINE_BYTES_MAX);
        loop {
            match streams::wait(input, &self.output).map_err(ServeError::Input)? {
                Ready::Input => {}
                Ready::OutputClosed => return Ok(Ended::OutputClosed),
            }
            let is_end = streams::read(input, lines.room()).map_err(ServeError::Input)?;
            if is_end && lines.has_rest() {
                // The last line may lack its line break; half a message is not valid JSON.
                lines.feed(b"\n");
            }
            while let Some(line) = lines.next() {
                self.on_line(&line, scope);
                if self.is_over.load(Ordering::Relaxed) {
                    return Ok(Ended::OutputClosed);
                }
            }
            if is_end {
                return Ok(Ended::InputClosed);
            }
        }
    }

    fn on_line<'scope>(&'scope self, line: &Line<'_>, scope: &'scope Scope<'scope, '_>) {
        let line = match line {
            Line::Whole(line) => *line,
            Line::TooLong => {
                let message = format!("a message is no longer than {LINE_BYTES_MAX} bytes");
                return self.answer(None, Err(RpcError::new(code::INVALID_REQUEST, message)));
            }
        };
        if line.trim_ascii().is_empty() {
            return;
        }
        match Message::parse(line, JSON_LIMITS) {
            Ok(Message::Request(request)) => {
                let id = request.id.clone();
                match protocol::plan(self.tools, request) {
                    Plan::Answer(outcome) => self.answer(Some(id), outcome),
                    Plan::Call(call) => self.accept(id, call, line.len(), scope),
                }
            }
            Ok(Message::Notification(notification)) => {
                if let Some(id) = protocol::cancelled(notification) {
                    self.cancel(&id);
                }
            }
            Ok(Message::Response(response)) => self.questions.answer(response),
            Err(fault) => self.refuse(fault),
        }
    }

    fn refuse(&self, fault: MessageFault) {
        let message = fault.to_string();
        let (id, code) = match fault {
            MessageFault::Json(_) => (None, code::PARSE_ERROR),
            MessageFault::Batch => (None, code::INVALID_REQUEST),
            MessageFault::Shape { id, .. } => (id, code::INVALID_REQUEST),
        };
        self.answer(id, Err(RpcError::new(code, message)));
    }

    fn accept<'scope>(
        &'scope self,
        id: Id,
        call: Call,
        n_bytes: usize,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let cancel = Cancel::new();
        if self.flights().contains_key(&id) {
            let message = "another call with this id is under way";
            return self.answer(Some(id), Err(RpcError::new(code::INVALID_REQUEST, message)));
        }
        self.flights().insert(id.clone(), cancel.clone());
        match self.queue.push(Job { id, call, cancel, n_bytes }, n_bytes) {
            Workers::Enough => {}
            Workers::OneMore => {
                let worker = thread::Builder::new().name("call".to_owned());
                if worker.spawn_scoped(scope, || self.work()).is_err() {
                    // A machine without a thread to spare is served one call at a time.
                    if let Some(job) = self.queue.no_worker() {
                        // This thread is the one that would read the answer to a question.
                        self.make(job, None);
                    }
                }
            }
        }
    }

    fn work(&self) {
        while let Some(job) = self.queue.next() {
            self.make(job, Some(self));
        }
    }

    fn make(&self, job: Job, asking: Option<&dyn Ask>) {
        let Job { id, call, cancel, n_bytes } = job;
        let Call { tool, arguments, meta, era } = call;
        let caller = match asking {
            Some(asking) => Caller::new(&cancel, asking),
            None => Caller::silent(&cancel),
        };
        let caller = caller.with_meta(&meta);
        let outcome = if cancel.is_cancelled() {
            Ok(None)
        } else {
            // A mistake in one tool must not take the answers of the other calls with it.
            catch_unwind(AssertUnwindSafe(|| self.tools.call(&tool, &arguments, caller))).map(Some)
        };
        let outcome = match outcome {
            Ok(None) => None,
            Ok(Some(Ok(result))) => Some(Ok(protocol::called(self.tools, era, result))),
            Ok(Some(Err(unknown))) => {
                Some(Err(RpcError::new(code::INVALID_PARAMS, unknown.to_string())))
            }
            Err(_) => Some(Err(RpcError::new(code::INTERNAL_ERROR, "the tool failed"))),
        };
        if let (Some(outcome), true) = (outcome, self.land(&id, &cancel)) {
            self.answer(Some(id), outcome);
        }
        self.queue.done(n_bytes);
    }

    /// Takes a call from the flights; returns whether an answer is still wanted.
    fn land(&self, id: &Id, cancel: &Cancel) -> bool {
        let mut flights = self.flights();
        // The id of a cancelled call may be another call's by now.
        !cancel.is_cancelled() && flights.remove(id).is_some()
    }

    fn cancel(&self, id: &Id) {
        let mut flights = self.flights();
        if let Some(cancel) = flights.remove(id) {
            // Before the lock is given back, so that no call lands in between.
            cancel.cancel();
        }
    }

    fn answer(&self, id: Option<Id>, outcome: Outcome) {
        self.write(&Message::from(Response { id, outcome }).to_line());
    }

    fn write(&self, line: &str) {
        if self.output.write(line).is_err() {
            self.is_over.store(true, Ordering::Relaxed);
            self.cancel_all();
            self.questions.close();
        }
    }

    fn cancel_all(&self) {
        let mut flights = self.flights();
        for (_, cancel) in flights.drain() {
            cancel.cancel();
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Id, Cancel>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ask for Service<'_> {
    fn ask(&self, method: &str, params: &Object) -> Result<Outcome, NoAnswer> {
        let (number, answer) = self.questions.put()?;
        let line = request_line(&Id::number(number), method, |out| Json::write_object(out, params));
        self.write(&line);
        answer.recv().map_err(|_| NoAnswer)
    }
}
