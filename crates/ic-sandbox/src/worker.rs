//! The other side: the process in which a script runs.
//!
//! It makes the engine, gives up everything but its pipes, says that it is ready, and only then reads
//! a script. It has one thread, so that there is nothing else in it to take over. It judges nothing:
//! what a script may do is decided by the host, which believes nothing that is said here.

mod bridge;
mod engine;
mod help;
mod trace;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::frame;
use crate::limits::RUN_BYTES_MAX;
use crate::wire::{RunOrder, Said};
use engine::Engine;

/// The stack of the process, most of it for the parser; the engine has a limit of its own.
const STACK_BYTES: u64 = 64 << 20;
/// Something to do before the first script comes, so that this is not what the script waits for.
const WARM_UP: &str = "interface A { b?: number }\nconst a: A = { b: 1 };\na.b";

/// Runs one script that comes by standard input, as the words say: how many bytes of memory it may
/// have, and how many seconds of a processor.
///
/// For a process that does nothing else, and has one thread.
pub fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    match serve(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There may be nobody left who reads this.
            writeln!(io::stderr(), "ironcurtain: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("this command is for IronCurtain's own use")]
    Words,
    #[error("cannot limit what the worker may use: {0}")]
    Limit(io::Error),
    #[error("cannot make the JavaScript engine: {0}")]
    Engine(rquickjs::Error),
    #[error("cannot tighten the worker: {}", cause(.0))]
    Tighten(ic_confine::TightenError),
    #[error("the host does not listen: {0}")]
    Host(io::Error),
    #[error("the host sent no order")]
    Order,
}

fn serve(mut words: impl Iterator<Item = OsString>) -> Result<(), WorkerError> {
    let mut number = || words.next().and_then(|word| word.to_str()?.parse::<u64>().ok());
    let (Some(heap_bytes), Some(cpu_seconds)) = (number(), number()) else {
        return Err(WorkerError::Words);
    };
    limit(Resource::Cpu, cpu_seconds, cpu_seconds)?;
    let stack_bytes = getrlimit(Resource::Stack).maximum.unwrap_or(u64::MAX).min(STACK_BYTES);
    limit(Resource::Stack, stack_bytes, stack_bytes)?;
    drop(ic_typescript::strip(WARM_UP));
    // The process ends with it; taking everything apart would cost time, and can fail.
    let engine = Engine::new(heap_bytes, stack_bytes).map_err(WorkerError::Engine)?;
    let engine = ManuallyDrop::new(engine);
    // SECURITY: before the first byte of a script is read.
    ic_confine::tighten().map_err(WorkerError::Tighten)?;
    say(&Said::Ready)?;
    let Ok(order) = frame::read(&mut io::stdin().lock(), RUN_BYTES_MAX) else {
        // The host has no script for us.
        return Ok(());
    };
    let order = RunOrder::read(&order).map_err(|_| WorkerError::Order)?;
    say(&Said::Started)?;
    let said = engine.run(order);
    say(&said)
}

fn say(said: &Said) -> Result<(), WorkerError> {
    frame::write(&mut io::stdout().lock(), said.write().as_bytes()).map_err(WorkerError::Host)
}

fn limit(resource: Resource, soft: u64, hard: u64) -> Result<(), WorkerError> {
    // Where less is allowed already, it stays at that.
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit).map_err(|errno| WorkerError::Limit(errno.into()))
}

fn cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
