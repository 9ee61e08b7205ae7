//! `ironcurtain demo`: a tour in which the user approves, denies, grants and reads the log.
//!
//! Each step runs a command of this program as it could be typed, with the real policy, servers, cages and
//! log, in a home of its own that is removed at the end. The tour decides nothing and answers nothing.

mod ground;
mod words;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use ic_home::Environment;

use self::ground::Ground;
use self::words::{Line, Step};
use crate::cli::Cli;
use crate::commands::start::runtime;
use crate::commands::{self, Exit};
use crate::error::Failure;
use crate::screen::Screen;
use crate::terminal::{Choice, Paint, Tone, Tty, choose_one};

/// Take a two-minute tour: approve, deny and grant calls, then read the log
///
/// Runs real commands with the offline model, the built-in `default` policy and the real log, in a
/// temporary home that is removed at the end. Needs a terminal, no key and no network; none of your
/// files is changed.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {}

/// Runs the command.
pub(crate) fn run(
    _args: &DemoArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    if !is_at_terminal()? {
        return Err(Failure::environment("the tour needs a terminal").with_hint(
            "run `ironcurtain demo` at a terminal, with nothing redirected; in a pipe, \
             `ironcurtain start 'list the files'` works",
        ));
    }
    let ground = Ground::make(environment)?;
    let toured = Tour { ground: &ground, environment, screen }.run();
    let removed = ground.remove();
    let exit = toured?;
    removed?;
    screen.notice("the tour's directory is removed");
    Ok(exit)
}

struct Tour<'a> {
    ground: &'a Ground,
    environment: &'a Environment,
    screen: &'a mut Screen,
}

/// Whether the user wants to see more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    More,
    NoMore,
}

impl Tour<'_> {
    fn run(&mut self) -> Result<Exit, Failure> {
        let place = self.ground.root().display().to_string();
        self.say(&words::welcome(&place));
        let steps = words::steps(&self.ground.notes().display().to_string());
        let n_steps = steps.len();
        for (at, step) in steps.into_iter().enumerate() {
            if self.take(&step, (at + 1, n_steps))? == Wanted::NoMore {
                return Ok(Exit::Cancelled);
            }
        }
        self.say(&words::FAREWELL.map(str::to_owned));
        Ok(Exit::Success)
    }

    /// Explains a step, waits until the user has read it, and does it.
    fn take(&mut self, step: &Step, (at, of): (usize, usize)) -> Result<Wanted, Failure> {
        self.say(&[String::new(), format!("── {at} of {of}: {} ──", step.title)]);
        self.say(&step.lines);
        if self.pause()? == Wanted::NoMore {
            return Ok(Wanted::NoMore);
        }
        for line in &step.script {
            match line {
                Line::Command(words) => {
                    if self.type_command(words)? == Exit::Cancelled {
                        return Ok(Wanted::NoMore);
                    }
                }
                Line::Tamper => {
                    self.ground.tamper()?;
                    self.say(&words::TAMPERED.map(str::to_owned));
                }
            }
        }
        Ok(Wanted::More)
    }

    /// Shows a command as it would be typed, and runs it.
    fn type_command(&mut self, words: &[String]) -> Result<Exit, Failure> {
        let shown = words::typed(words);
        let paint = Paint::of_stderr(self.environment);
        self.screen.progress("", str::to_owned);
        self.screen.progress(&shown, |row| paint.text(Tone::Quiet, row));
        let words: Vec<OsString> = ["ironcurtain".to_owned()]
            .into_iter()
            .chain(words.iter().cloned())
            .map(OsString::from)
            .collect();
        let cli = Cli::read(&words)
            .map_err(|error| Failure::environment(format!("the tour is out of date: {error:?}")))?;
        let ended = commands::run(cli.command, self.ground.environment(), self.screen);
        self.screen.out().flush().map_err(Failure::output)?;
        ended
    }

    fn pause(&mut self) -> Result<Wanted, Failure> {
        let runtime = runtime()?;
        // What waits for keys is made within the runtime.
        let Some(terminal) = runtime.block_on(async { Tty::find() }) else {
            return Ok(Wanted::NoMore);
        };
        let takes_keys = terminal.takes_keys(self.environment);
        let paint = Paint::of_stderr(self.environment);
        let choice = Choice { lines: Vec::new(), keys: vec![('c', "continue")] };
        let chosen =
            runtime.block_on(choose_one(choice, terminal, takes_keys, paint, self.screen))?;
        Ok(chosen.map_or(Wanted::NoMore, |_| Wanted::More))
    }

    fn say(&mut self, lines: &[String]) {
        for line in lines {
            self.screen.progress(line, str::to_owned);
        }
    }
}

/// Returns whether the user can read and type here: all three streams are the terminal.
fn is_at_terminal() -> Result<bool, Failure> {
    let has_terminal = runtime()?.block_on(async { Tty::find() }).is_some();
    Ok(has_terminal && io::stdout().is_terminal())
}
