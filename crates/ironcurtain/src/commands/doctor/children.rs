//! Can servers be started and ended, and are those that are configured to be found?

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_backend::launch::{LaunchFault, Recipe};
use ic_confine::{Child, ChildSpec, Hold, find_program};
use ic_home::{Clock as _, SystemClock};
use ic_inventory::pins::{Pins, PinsFile, Standing};
use ic_inventory::servers_file::{ServerConfig, ServersFile, Start};
use ic_inventory::tool::Tool;
use ic_judge::Judge;
use ic_opening::Holding;
use ic_types::ServerName;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Pid, test_kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::settings::Settings;
use super::{Check, Patient};
use crate::commands::servers::list;
use crate::error::{Failure, chain};
use crate::screen::Screen;
use crate::trial::Trial;

const LAUNCHER: &str = "launcher";
/// Our own servers, by their names.
const OWN: [&str; 4] = ["filesystem", "git", "fetch", "shell"];
/// Where the programs are that are tried here.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long something that ends at once may take.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How much of what a child says is read.
const WORDS_BYTES_MAX: u64 = 4 << 10;

pub(super) fn check(
    patient: &Patient<'_>,
    settings: &Settings,
    holding: Option<&Holding>,
    checks: &mut Vec<Check>,
    screen: &mut Screen,
) {
    let Some(trial) = &patient.trial else {
        let why = "there is no directory to try it in";
        checks.push(Check::not_tried(LAUNCHER, why));
        checks.extend(OWN.map(|name| Check::not_tried(own_label(name), why)));
        return;
    };
    checks.push(match launch(trial) {
        Ok(()) => Check::ok(
            LAUNCHER,
            "started a child and saw it end; started another and ended it with the child it had",
        ),
        Err(reason) => Check::failed(
            LAUNCHER,
            reason,
            "make sure that `/proc` is mounted and that this program may start others",
        ),
    });
    let (Some(judge), Some(holding)) = (&settings.judge, holding) else {
        let why = "there is no usable policy, or it is unknown which cage would work";
        checks.extend(OWN.map(|name| Check::not_tried(own_label(name), why)));
        return;
    };
    let ward = Ward { patient, trial, judge, holding };
    let is_off = |name: &str| settings.servers.as_ref().is_some_and(|it| it.get(name).is_none());
    checks.extend(OWN.map(|name| match is_off(name) {
        true => Check::info(
            own_label(name),
            format!("off; `ironcurtain servers restore {name}` switches it on again"),
        ),
        false => ward.own(name, screen),
    }));
    for (name, config) in settings.servers.iter().flat_map(ServersFile::iter) {
        match &config.start {
            // These were tried.
            Start::Builtin(_) => {}
            // Whoever asks how this machine is does not ask for a connection to another one.
            Start::Url(_) => {
                let how =
                    format!("on another machine; `ironcurtain servers test {name}` connects to it");
                checks.push(Check::info(label(name), how));
            }
            Start::Command(_) => {
                checks.push(ward.server((name, config), settings.pins.as_ref(), screen));
            }
        }
    }
}

/// Starts a child that ends, and one that does not and has a child of its own.
fn launch(trial: &Trial) -> Result<(), String> {
    let (code, said) = run(trial, "true", &[])?;
    if code != Some(0) {
        return Err(format!("`true` ended with {code:?}: {said}"));
    }
    // A fixed script: nothing from outside is in it.
    let child_of_child = spec(trial, "sh", &["-c", "sleep 600 & echo $!; wait"]);
    trial.block_on(async {
        let Child { stdin: _stdin, stdout, stderr: _stderr, mut process, .. } =
            trial.launcher().start(&child_of_child).map_err(|error| chain(&error))?;
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout.take(WORDS_BYTES_MAX));
        let read = tokio::time::timeout(WAIT_MAX, stdout.read_line(&mut line)).await;
        let pid: Option<Pid> = line.trim().parse().ok().and_then(Pid::from_raw);
        process.stop().await.map_err(|error| format!("a child cannot be ended: {error}"))?;
        match (read, pid) {
            (Ok(Ok(_)), Some(pid)) if test_kill_process(pid).is_err() => Ok(()),
            (Ok(Ok(_)), Some(_)) => {
                Err("the child of a child that was ended still runs".to_owned())
            }
            (Ok(_), _) => Err("a child that was started says nothing".to_owned()),
            (Err(_), _) => Err("a child that was started does not get anywhere".to_owned()),
        }
    })
}

/// Runs a program to its end; returns its exit code and what it said on standard error.
pub(super) fn run(
    trial: &Trial,
    program: &str,
    arguments: &[&str],
) -> Result<(Option<i32>, String), String> {
    let spec = spec(trial, program, arguments);
    trial.block_on(async {
        let Child { stdin: _, stdout: _stdout, stderr, mut process, .. } =
            trial.launcher().start(&spec).map_err(|error| chain(&error))?;
        let mut said = Vec::new();
        let ending = async {
            stderr.take(WORDS_BYTES_MAX).read_to_end(&mut said).await?;
            process.wait().await
        };
        let status = tokio::time::timeout(WAIT_MAX, ending)
            .await
            .map_err(|_| format!("`{program}` does not end"))?
            .map_err(|error| error.to_string())?;
        Ok((status.code(), String::from_utf8_lossy(&said).trim().to_owned()))
    })
}

fn spec(trial: &Trial, program: &str, arguments: &[&str]) -> ChildSpec {
    ChildSpec {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: vec![("PATH".into(), PATH.into())],
        directory: Some(trial.sandbox()),
        grace: Duration::from_secs(1),
        hold: Hold::Free,
    }
}

/// What is needed to try a server.
struct Ward<'a> {
    patient: &'a Patient<'a>,
    trial: &'a Trial,
    judge: &'a Arc<Judge>,
    holding: &'a Holding,
}

impl Ward<'_> {
    /// Starts one of our own servers as a session would.
    fn own(&self, name: &str, screen: &mut Screen) -> Check {
        let remedy = format!("try `ironcurtain mcp-server {name}` by hand");
        let label = own_label(name);
        if name == "git"
            && let Err(error) = ic_servers::git::find_git()
        {
            let remedy = "install git 2.38 or newer in `/usr/bin` or `/usr/local/bin`, or take the \
                          server out of the servers file";
            return Check::warning(label, chain(&error), remedy);
        }
        let servers = ServersFile::builtin();
        let Some(server) = servers.get(name) else {
            return Check::failed(label, "it is not part of this program", remedy);
        };
        let recipe = match self.recipe(server) {
            Ok(recipe) => recipe,
            Err(failure) => return Check::of_failure(label, &failure, &remedy),
        };
        match self.trial.probe(&recipe, screen) {
            Ok(probed) if !probed.tools.is_empty() => {
                let n_tools = probed.tools.len();
                let ms = probed.start_ms;
                Check::ok(label, format!("started in {ms} ms, and lists {}", list::tools(n_tools)))
            }
            Ok(_) => Check::failed(label, "it lists no tools", remedy),
            // Everything else works without commands.
            Err(error) if name == "shell" => {
                let remedy = "let `doctor` say above what keeps cages by namespaces from working, or \
                              switch it off with `ironcurtain servers remove shell`";
                Check::warning(label, error.to_string(), remedy)
            }
            Err(error) => Check::failed(label, error.to_string(), remedy),
        }
    }

    /// Looks for a server that is not ours, and starts it if somebody trusted it as it is.
    fn server(
        &self,
        server: (&ServerName, &ServerConfig),
        pins: Option<&Pins>,
        screen: &mut Screen,
    ) -> Check {
        let (name, config) = server;
        let program = match self.found(server) {
            Ok(program) => program,
            Err((detail, remedy)) => return Check::failed(label(name), detail, remedy),
        };
        let Some(pins) = pins else {
            return Check::not_tried(label(name), "it is unknown what was trusted");
        };
        let look = format!("look at it with `ironcurtain servers trust {name}`");
        let recipe = match self.recipe(server) {
            Ok(recipe) => recipe,
            Err(failure) => return Check::of_failure(label(name), &failure, &look),
        };
        let identity = PinsFile::of(&self.patient.home).identity(config, SystemClock.now());
        let identity = match identity {
            Ok((identity, _)) => identity,
            Err(error) => return Check::of_failure(label(name), &Failure::from(error), &look),
        };
        if let Some(why) = pins.why_not_started(name, &identity, recipe.is_held()) {
            return Check::warning(label(name), why, look);
        }
        if pins.of_start(name, &identity) == Standing::New {
            let detail = "is there; it was never started, and its first start is recorded";
            return Check::ok(label(name), format!("`{program}` {detail}"));
        }
        match self.trial.probe(&recipe, screen) {
            Ok(probed) => {
                let is_withheld = |tool: &&Tool| pins.why_withheld(name, tool).is_some();
                let (ms, n_tools) = (probed.start_ms, probed.tools.len());
                let started = format!("started in {ms} ms, and lists {}", list::tools(n_tools));
                match probed.tools.iter().filter(is_withheld).count() {
                    0 => Check::ok(label(name), format!("{started}, as trusted")),
                    n => {
                        let detail =
                            format!("{started}, of which {n} withheld: described otherwise");
                        Check::warning(label(name), detail, look)
                    }
                }
            }
            Err(error) => {
                let remedy = format!("`ironcurtain servers test {name}` tries it alone");
                Check::failed(label(name), error.to_string(), remedy)
            }
        }
    }

    /// Returns the program of a server; or what is wrong, and what to do about it.
    fn found(&self, server: (&ServerName, &ServerConfig)) -> Result<String, (String, String)> {
        let entry = format!("correct the entry `{}` of the servers file", server.0);
        let failed = |failure: Failure| (failure.to_string(), entry.clone());
        let spec = self.recipe(server).map_err(failed)?.child().map_err(|fault| {
            let remedy = match fault {
                LaunchFault::Template { .. } => format!("{entry}, or set the variable"),
                _ => entry.clone(),
            };
            (fault.to_string(), remedy)
        })?;
        // Without one it runs in a directory that its cage has made.
        let directory = spec.directory.unwrap_or_else(|| PathBuf::from("/"));
        is_directory(&directory).map_err(|error| {
            let detail = format!("`{}` cannot be its directory: {error}", directory.display());
            (detail, entry.clone())
        })?;
        find_program(&spec.program, &directory, &spec.environment)
            .map(|program| program.display().to_string())
            .map_err(|error| (error.to_string(), error.remedy()))
    }

    fn recipe(&self, server: (&ServerName, &ServerConfig)) -> Result<Recipe, Failure> {
        self.trial.recipe(server, self.judge, self.holding, self.patient.environment)
    }
}

fn is_directory(path: &Path) -> Result<(), rustix::io::Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).map(drop)
}

fn own_label(name: &str) -> String {
    format!("{name} server")
}

fn label(name: &ServerName) -> String {
    format!("server {name}")
}
