//! The `ironcurtain` program: reads the command line, runs one command, says how it ended.
//!
//! No logic lives here; each command is a file in `commands/`.

mod agents;
mod attached;
mod books;
mod cli;
mod commands;
mod compiling;
mod containers;
mod error;
mod files;
mod installer;
mod judge;
mod ledger;
mod opening;
mod own_policy;
mod person;
mod screen;
mod signals;
mod spent;
mod terminal;
mod trial;
mod waiting;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use ic_home::Environment;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::error::Failure;
use crate::screen::Screen;

/// A call makes some hundred small allocations, and this one is quicker at them. It is built without
/// huge pages: to fill the first of them with zeros would be a third of the start of a launcher.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a shell reports of a program that wrote to a pipe without reader.
const SIGPIPE_EXIT: u8 = 141;

/// Lets no other process of the user look into our memory, and leaves none of it in a file.
fn keep_to_ourselves() -> Result<(), Failure> {
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| setrlimit(Resource::Core, nothing))
        .map_err(|errno| {
            Failure::environment("cannot protect the memory of this process").with_source(errno)
        })
}

fn main() -> ExitCode {
    // First of all, and with nothing read: this is what starts and guards each server.
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first.as_ref().is_some_and(|first| first == ic_confine::LAUNCH) {
        return ic_confine::run_launcher(arguments);
    }
    // Likewise: what sees to a server's doings whose session was killed.
    if first.as_ref().is_some_and(|first| first == ic_confine::SETTLE) {
        return ic_backend::run_settling(arguments);
    }
    // Likewise: what speaks MCP for an agent of others, in that agent's cage.
    if first.as_ref().is_some_and(|first| first == ic_session::BRIDGE) {
        return ic_client::bridge::run(arguments);
    }
    // Likewise: what opens the doors of a container, and becomes the agent in it.
    if first.as_ref().is_some_and(|first| first == ic_confine::ROOM) {
        return ic_confine::run_room(arguments);
    }
    // Likewise: code of the agent's runs behind this, in a cage.
    if first.is_some_and(|first| first == ic_session::WORKER) {
        return ic_sandbox::worker::run(arguments);
    }
    let stdout = io::BufWriter::new(io::stdout().lock());
    let mut screen = Screen::new(Box::new(stdout), Box::new(io::stderr()));
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let held = attached::Held::take(&mut words);
    let cli = match cli::Cli::read(&words) {
        Ok(cli) => cli.held(held),
        Err(error) => return screen.usage(&error),
    };
    // If there are keys in the environment, this starts the program again without them.
    let ended = Environment::take()
        .map_err(Failure::from)
        .and_then(|environment| keep_to_ourselves().map(|()| environment))
        .and_then(|environment| cli.trace.begin(&environment).map(|()| environment))
        .and_then(|environment| commands::run(cli.command, &environment, &mut screen))
        .and_then(|exit| screen.out().flush().map(|()| exit).map_err(Failure::output));
    match ended {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough; but a verdict that nobody read is no permission.
        Err(failure) if failure.is_broken_pipe() => ExitCode::from(SIGPIPE_EXIT),
        Err(failure) => {
            screen.failure(&failure);
            failure.exit_code()
        }
    }
}
