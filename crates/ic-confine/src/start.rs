//! Starts servers: checks what is asked for, and hands it to a guard.
//!
//! It does not wait for the server, and does not decide whether there should be one.

mod caged;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, FileType};
use tokio::runtime::TryCurrentError;
use tokio::signal::unix::SignalKind;

use crate::cage::CageSpec;
use crate::child::{AtTerminal, Child, ChildHandle, Confinement};
use crate::covers::Renewals;
use crate::doors::DoorsToCome;
use crate::orders::{GRACE_MAX, GuardOrder, HoldOrder, Invocation, marked};
use crate::program::{FindError, find_program};
use crate::rung::Rung;
use crate::sys;
use crate::terminal::{HostTerminal, TerminalSize};

/// This program, whatever became of the file that it was started from.
///
/// As the program of a child it means the same.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// Starts children by way of a program that calls [`run_launcher`](crate::run_launcher).
#[derive(Clone, Debug)]
pub struct Launcher {
    executable: PathBuf,
    settle: Option<PathBuf>,
    renews: bool,
}

/// A child to be started.
///
/// There is no `Default`: nothing reaches a child that was not written out for it.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// The program; [`find_program`] says how it is found.
    pub program: PathBuf,
    /// Its arguments, each as it is to arrive.
    pub arguments: Vec<OsString>,
    /// All of its environment; if a name comes twice, the last one counts.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory, an absolute path; of a caged child, as the child sees it.
    ///
    /// Without one a caged child starts in its home, and another one in `/`.
    pub directory: Option<PathBuf>,
    /// How long it may take to end when it is asked to, at most a minute.
    pub grace: Duration,
    /// What keeps it from doing harm.
    pub hold: Hold,
}

/// What keeps a child from doing harm.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few of them, and none for long")]
pub enum Hold {
    /// Nothing: it may do whatever the user may do.
    Free,
    /// A cage, which also says where the child's home is: `HOME` and `TMPDIR` are the cage's, unless
    /// they are written out.
    Caged(Rung, CageSpec),
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error(transparent)]
    Program(#[from] FindError),
    /// The working directory is a relative path.
    #[error("the working directory `{}` is not an absolute path", directory.display())]
    RelativeDirectory {
        /// The directory.
        directory: PathBuf,
    },
    /// The working directory cannot be entered.
    #[error("cannot use the working directory `{}`", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No program can be given such an argument.
    #[error("argument {number} contains a NUL byte")]
    Argument {
        /// Which one, counted from 1.
        number: usize,
    },
    /// No program can be given such a variable.
    #[error("`{}` cannot be an environment variable", name.display())]
    Variable {
        /// Its name; the value may be a secret.
        name: OsString,
    },
    /// No cage shows that.
    #[error("`{}` cannot be in a cage", path.display())]
    Seen {
        /// The path.
        path: PathBuf,
    },
    /// The rung cannot make such a cage.
    #[error("a cage of the rung `{rung}` cannot {what}")]
    Rung {
        /// The rung.
        rung: Rung,
        /// What it cannot do.
        what: String,
    },
    /// The caller is not in an asynchronous context.
    #[error("cannot start `{}` without an asynchronous runtime", program.display())]
    NoRuntime {
        /// The program.
        program: PathBuf,
        /// What the runtime says.
        source: TryCurrentError,
    },
    /// The system does not let us.
    #[error("cannot start `{}`", program.display())]
    System {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl StartError {
    /// Returns what a person can do about it, if anything.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Program(error) => Some(error.remedy()),
            Self::RelativeDirectory { .. } => {
                Some("write the whole path of the directory".to_owned())
            }
            Self::Directory { .. } => {
                Some("make the directory, or name one that you may enter".to_owned())
            }
            Self::Argument { .. } => Some("take the NUL byte out".to_owned()),
            Self::Variable { .. } => Some(
                "a name is not empty and has no `=`, and neither name nor value has a NUL byte"
                    .to_owned(),
            ),
            Self::Seen { .. } => Some(
                "name the files and directories that the server needs, and nothing above them"
                    .to_owned(),
            ),
            Self::Rung { .. } => Some(
                "let this machine use user namespaces, or bubblewrap; `ironcurtain doctor` says how"
                    .to_owned(),
            ),
            Self::NoRuntime { .. } | Self::System { .. } => None,
        }
    }
}

impl Launcher {
    /// A launcher that runs this very program again, even if its file has been replaced.
    ///
    /// The program must call [`run_launcher`](crate::run_launcher) first of all if its first
    /// argument is [`LAUNCH`](crate::LAUNCH).
    pub fn this_program() -> io::Result<Self> {
        rustix::fs::access(OURSELVES, Access::EXEC_OK)?;
        Ok(Self::at(OURSELVES))
    }

    /// A launcher that runs the program at `executable`.
    pub fn at(executable: impl Into<PathBuf>) -> Self {
        Self { executable: executable.into(), settle: None, renews: false }
    }

    /// Returns the same launcher for a child after which something is to be settled: if we are gone when
    /// nothing of it is left, its guard runs this program with [`SETTLE`](crate::SETTLE) and `file`.
    ///
    /// As long as somebody sees to that, there is a lock on the file beside it that ends with
    /// [`GUARD_SUFFIX`](crate::GUARD_SUFFIX), whose time says when the child was last seen.
    #[must_use]
    pub fn settling(&self, file: impl Into<PathBuf>) -> Self {
        Self { settle: Some(file.into()), ..self.clone() }
    }

    /// Returns the same launcher for a caged child that goes on when somebody outside replaces a file or directory
    /// that its cage keeps from being written: its guard covers what is there by then, and [`Child::renewals`] says
    /// so. Where a rung cannot do that, the child is ended as any other.
    #[must_use]
    pub fn renewing(&self) -> Self {
        Self { renews: true, ..self.clone() }
    }

    /// Starts a child; its ends of the pipes and the hold on it come back at once.
    ///
    /// If the program turns out not to run (a script without interpreter), its standard error says
    /// so, and it ends with [`EXIT_CANNOT_RUN`](crate::EXIT_CANNOT_RUN) or
    /// [`EXIT_NO_PROGRAM`](crate::EXIT_NO_PROGRAM).
    pub fn start(&self, spec: &ChildSpec) -> Result<Child, StartError> {
        let ready = Ready::new(spec)?;
        let started = self.start_ready(&ready, [Stdio::piped(), Stdio::piped(), Stdio::piped()])?;
        let Started { mut guard, doors, renewals } = started;
        let streams = (guard.stdin.take(), guard.stdout.take(), guard.stderr.take());
        let failed =
            |source| StartError::System { program: ready.invocation.program.clone(), source };
        let process = ChildHandle::hold(guard, ready.grace, ready.confinement()).map_err(failed)?;
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok(Child { stdin, stdout, stderr, process, doors, renewals })
            }
            _ => Err(failed(io::Error::other("a pipe is missing"))),
        }
    }

    /// Starts a child at a terminal of its own, which has that size before the child runs.
    ///
    /// What the child's guard complains about is written there as well. A child in no cage does not
    /// get the terminal as the one that controls it.
    pub fn start_at_terminal(
        &self,
        spec: &ChildSpec,
        size: TerminalSize,
    ) -> Result<AtTerminal, StartError> {
        let ready = Ready::new(spec)?;
        check_runtime(&ready)?;
        let failed =
            |source| StartError::System { program: ready.invocation.program.clone(), source };
        // One that is dropped before the child runs would be a terminal that was hung up.
        let (terminal, theirs) = HostTerminal::open(size).map_err(failed)?;
        let copy = || theirs.try_clone().map(Stdio::from).map_err(failed);
        let streams = [copy()?, copy()?, copy()?];
        let Started { guard, doors, renewals } = self.start_ready(&ready, streams)?;
        let process = ChildHandle::hold(guard, ready.grace, ready.confinement()).map_err(failed)?;
        Ok(AtTerminal { terminal, process, doors, renewals })
    }

    fn start_ready(&self, ready: &Ready, streams: [Stdio; 3]) -> Result<Started, StartError> {
        let program = &ready.invocation.program;
        check_runtime(ready)?;
        let failed = |source| StartError::System { program: program.clone(), source };
        // Whoever started us may have ignored this signal, and then nobody learns how a child ended.
        // Once somebody listens to it, the system no longer ignores it.
        drop(tokio::signal::unix::signal(SignalKind::child()).map_err(failed)?);
        self.start_guard(ready, streams).map_err(failed)
    }

    fn start_guard(&self, ready: &Ready, streams: [Stdio; 3]) -> io::Result<Started> {
        let [stdin, stdout, stderr] = streams;
        let mut order = GuardOrder {
            host: rustix::process::getpid(),
            grace: ready.grace,
            settle: self.settle.clone(),
            renewals: None,
            hold: ready.hold.clone(),
            invocation: ready.invocation.clone(),
        };
        let channel = match &mut order.hold {
            HoldOrder::Caged(cage) if cage.spec.network.has_doors() => {
                let (ours, theirs) = UnixStream::pair()?;
                cage.doors = Some(theirs.as_raw_fd());
                Some((ours, theirs))
            }
            HoldOrder::Caged(_) | HoldOrder::Free => None,
        };
        let renewals = match &order.hold {
            HoldOrder::Caged(cage) if self.renews && cage.rung == Rung::Namespaces => {
                Some(UnixDatagram::pair()?)
            }
            HoldOrder::Caged(_) | HoldOrder::Free => None,
        };
        order.renewals = renewals.as_ref().map(|(_, theirs)| theirs.as_raw_fd());
        #[expect(clippy::disallowed_methods, reason = "this is where servers come from")]
        let mut guard = std::process::Command::new(&self.executable);
        if let Some((_, theirs)) = &channel {
            sys::let_child_inherit(&mut guard, theirs);
        }
        if let Some((_, theirs)) = &renewals {
            sys::let_child_inherit(&mut guard, theirs);
        }
        let mut guard = tokio::process::Command::from(guard);
        guard
            .arg0("ironcurtain")
            .args(order.words())
            .env_clear()
            .envs(ready.environment.iter().map(|(name, value)| (marked(name), value)))
            .current_dir(&ready.directory)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        let guard = guard.spawn()?;
        let doors = channel.map(|(ours, _)| DoorsToCome::new(ours)).transpose()?;
        let renewals = renewals.map(|(ours, _)| Renewals::new(ours)).transpose()?;
        Ok(Started { guard, doors, renewals })
    }
}

/// A guard that was started, with what it was given.
struct Started {
    guard: tokio::process::Child,
    doors: Option<DoorsToCome>,
    renewals: Option<Renewals>,
}

/// A child that can be started as far as we can tell.
struct Ready {
    invocation: Invocation,
    environment: Vec<(OsString, OsString)>,
    /// Where the guard runs.
    directory: PathBuf,
    grace: Duration,
    hold: HoldOrder,
}

impl Ready {
    fn new(spec: &ChildSpec) -> Result<Self, StartError> {
        check_arguments(&spec.arguments)?;
        check_variables(&spec.environment)?;
        let mut environment = spec.environment.clone();
        let (program, directory, hold) = match &spec.hold {
            Hold::Free => {
                let directory = spec.directory.clone().unwrap_or_else(|| PathBuf::from("/"));
                check_directory(&directory)?;
                let program = find_program(&spec.program, &directory, &environment)?;
                (program, directory, HoldOrder::Free)
            }
            Hold::Caged(rung, cage) => {
                let caged = caged::Caged::new(*rung, cage, spec)?;
                for (name, value) in caged.variables {
                    if environment.iter().all(|(known, _)| known != name) {
                        environment.push((name.into(), value));
                    }
                }
                (caged.program, PathBuf::from("/"), HoldOrder::Caged(Box::new(caged.order)))
            }
        };
        let invocation = Invocation {
            name: spec.program.clone().into_os_string(),
            program,
            arguments: spec.arguments.clone(),
        };
        Ok(Self { invocation, environment, directory, grace: spec.grace.min(GRACE_MAX), hold })
    }

    fn confinement(&self) -> Confinement {
        match &self.hold {
            HoldOrder::Free => Confinement::None,
            HoldOrder::Caged(order) => Confinement::Cage(order.rung),
        }
    }
}

fn check_runtime(ready: &Ready) -> Result<(), StartError> {
    let program = &ready.invocation.program;
    let found = tokio::runtime::Handle::try_current();
    found.map(drop).map_err(|source| StartError::NoRuntime { program: program.clone(), source })
}

fn check_directory(directory: &Path) -> Result<(), StartError> {
    let owned = || directory.to_owned();
    if !directory.is_absolute() {
        return Err(StartError::RelativeDirectory { directory: owned() });
    }
    let failed = |source: io::Error| StartError::Directory { directory: owned(), source };
    let stat = rustix::fs::stat(directory).map_err(|errno| failed(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    rustix::fs::accessat(CWD, directory, Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|errno| failed(errno.into()))
}

fn check_arguments(arguments: &[OsString]) -> Result<(), StartError> {
    match arguments.iter().position(|argument| has_nul(argument)) {
        Some(at) => Err(StartError::Argument { number: at + 1 }),
        None => Ok(()),
    }
}

fn check_variables(variables: &[(OsString, OsString)]) -> Result<(), StartError> {
    let is_wrong = |name: &OsStr, value: &OsStr| {
        name.is_empty() || name.as_bytes().contains(&b'=') || has_nul(name) || has_nul(value)
    };
    match variables.iter().find(|(name, value)| is_wrong(name, value)) {
        Some((name, _)) => Err(StartError::Variable { name: name.clone() }),
        None => Ok(()),
    }
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}
