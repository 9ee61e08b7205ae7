//! The shell server: runs one command line at a time in the cage that it is in itself.
//!
//! ```text
//! run_command ─▶ the shell, with what it starts ─▶ ended: all of it is killed and collected ─▶ output, exit code
//! ```
//!
//! Nothing holds a command but the cage of this process, so it must not be served outside of one: the
//! backend starts it in one. What a command may read and write there is not known here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use ic_confine::{
    Excess, InnerError, InnerLimits, InnerOutput, InnerSpec, adopt_orphans, end_children, run_inner,
};
use ic_schema::Schema;
use ic_types::{Json, JsonLimits, Object};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};

use crate::tools::{Caller, Cancel, Effect, Tool, ToolResult, Tools, UnknownTool, World};

/// The one tool.
const TOOL: &str = "run_command";
const SCHEMA: &str = include_str!("shell/schema.json");
const JSON_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 1 << 16, depth_max: 16, values_max: 1 << 10 };
const DESCRIPTION: &str = "Runs a command line in the sandbox or workspace and returns its output and exit \
    code. There is no network. Some files are read-only or empty here: use the other tools for them, which \
    ask for approval where that is needed. Everything that the command started ends with it.";

/// The shells, the first that is there is used.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];
/// How long a command may take if nothing is said.
const TIME_DEFAULT: Duration = Duration::from_mins(2);
/// How much of its output is kept; the caller cuts further.
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// How much of its complaints is kept.
const COMPLAINT_BYTES_MAX: usize = 2 << 20;
/// How often a command that waits for another one looks whether it is still wanted.
const TURN: Duration = Duration::from_millis(20);

/// The shell server.
#[derive(Debug)]
pub struct Shell {
    environment: Vec<(OsString, OsString)>,
    schema: Schema,
    /// Held by the command that runs: what it leaves behind can be told from others only if there are none.
    turn: Mutex<()>,
}

/// The server cannot work.
#[derive(Debug, thiserror::Error)]
pub enum OpenShellError {
    /// Its schema is not one.
    #[error("the schema of `run_command` cannot be used")]
    Schema,
    /// It does not get what its commands leave behind.
    #[error("cannot hold what commands leave behind")]
    Orphans(#[source] std::io::Error),
}

impl Shell {
    /// Makes the server for this process; its commands get `environment` and nothing else.
    ///
    /// SECURITY: this process has to be in a cage already.
    pub fn in_this_cage(environment: Vec<(OsString, OsString)>) -> Result<Self, OpenShellError> {
        adopt_orphans().map_err(OpenShellError::Orphans)?;
        let schema = Json::Object(tool().input_schema);
        let schema = Schema::compile(&schema).map_err(|_| OpenShellError::Schema)?;
        Ok(Self { environment, schema, turn: Mutex::new(()) })
    }

    fn run(&self, arguments: &Object, cancel: &Cancel) -> Result<ToolResult, String> {
        self.schema.check(arguments).map_err(|violation| violation.to_string())?;
        let text = |name: &str| arguments.get(name).and_then(Json::as_str).unwrap_or_default();
        let seconds = arguments.get("timeoutSeconds").and_then(|json| match json {
            Json::Number(number) => number.as_str().parse().ok(),
            Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
        });
        let time_max = seconds.map_or(TIME_DEFAULT, Duration::from_secs);
        let directory = open(Path::new(text("cwd")))
            .map_err(|errno| format!("cannot run anything in `{}`: {errno}", text("cwd")))?;
        let root = open(Path::new("/")).map_err(|errno| format!("cannot open `/`: {errno}"))?;
        let shell = SHELLS.into_iter().map(Path::new).find(|path| rustix::fs::stat(*path).is_ok());
        let shell = shell.ok_or("there is no shell")?;
        let _turn = self.turn(cancel).ok_or("it was cancelled")?;
        let spec = InnerSpec {
            program: shell,
            arguments: &["-c".into(), text("command").into()],
            environment: &self.environment,
            directory: directory.as_fd(),
            input: b"",
            // What is run and written is the cage's to say.
            runs: &[PathBuf::from("/")],
            writes: &[root.as_fd()],
            limits: InnerLimits {
                time_max,
                output_bytes_max: OUTPUT_BYTES_MAX,
                complaint_bytes_max: COMPLAINT_BYTES_MAX,
                memory_bytes_max: None,
                excess: Excess::PassOver,
            },
        };
        let ran = run_inner(&spec, &|| cancel.is_cancelled());
        let is_over = end_children();
        let result = told(ran);
        match is_over {
            true => result,
            false => Err("some of what the command started could not be ended".to_owned()),
        }
    }

    /// Waits until no other command runs; `None` if nobody wants this one any more.
    fn turn(&self, cancel: &Cancel) -> Option<MutexGuard<'_, ()>> {
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if cancel.is_cancelled() => return None,
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(TURN),
            }
        }
    }
}

/// Says what came of a command: a program that fails has answered, and one that was ended has not.
fn told(ran: Result<InnerOutput, InnerError>) -> Result<ToolResult, String> {
    let ran = match ran {
        Ok(ran) => ran,
        Err(InnerError::TooSlow(time)) => {
            let seconds = time.as_secs();
            return Err(format!("the command took longer than {seconds} s and was ended"));
        }
        Err(error) => return Err(ic_types::chain(&error)),
    };
    let mut text = match (ran.status.code(), signal(&ran)) {
        (Some(code), _) => format!("exit code {code}\n"),
        (None, Some(signal)) => format!("ended by signal {signal}\n"),
        (None, None) => "ended\n".to_owned(),
    };
    for (name, bytes) in [("output", &ran.output), ("standard error", &ran.complaint)] {
        if !bytes.is_empty() {
            text = format!("{text}--- {name} ---\n{}", String::from_utf8_lossy(bytes));
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    if ran.is_cut {
        text.push_str("--- more output was left out ---\n");
    }
    Ok(ToolResult::text(text))
}

fn signal(ran: &InnerOutput) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&ran.status)
}

fn open(path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

/// Returns the tools of the server.
pub fn tools() -> Vec<Tool> {
    vec![tool()]
}

fn tool() -> Tool {
    let input_schema = match Json::parse(SCHEMA.as_bytes(), JSON_LIMITS) {
        Ok(Json::Object(schema)) => schema,
        // A test reads it.
        Ok(_) | Err(_) => Object::new(),
    };
    let (effect, world) = (Effect::Changes, World::Closed);
    Tool { name: TOOL, description: DESCRIPTION, input_schema, effect, world }
}

impl Tools for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn list(&self) -> Vec<Tool> {
        tools()
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool> {
        if tool != TOOL {
            return Err(UnknownTool);
        }
        Ok(self.run(arguments, caller.cancel()).unwrap_or_else(ToolResult::failed))
    }
}
