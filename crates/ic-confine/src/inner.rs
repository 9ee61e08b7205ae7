//! A program that a server of ours runs to its end, in the cage that the server is in itself.
//!
//! It gets an array of arguments, a written-out environment, a directory that is held, and the three
//! standard streams; it has a limit of time and of output, and ends when nobody wants it any more. No
//! cage is made here, and where a cage is the server's, it holds this program too. What is taken away
//! besides is the running of other programs and writing elsewhere, as far as the system can do that.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, pidfd_open,
};

/// How often we look whether somebody still wants the result.
const TICK: Duration = Duration::from_millis(20);
/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// How a program is run within a cage.
#[derive(Debug)]
pub struct InnerSpec<'a> {
    /// The file, as an absolute path.
    pub program: &'a Path,
    /// Its arguments, without its own name.
    pub arguments: &'a [OsString],
    /// All of its environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where it runs.
    pub directory: BorrowedFd<'a>,
    /// What it reads.
    pub input: &'a [u8],
    /// What alone can be run, by it and by what it starts: files, and directories with all in them.
    ///
    /// SECURITY: Landlock holds this from a kernel of 5.19 on; before that it is not held.
    pub runs: &'a [PathBuf],
    /// Beneath which directories alone it, and what it starts, can write, make and remove; and `/dev/null`.
    ///
    /// SECURITY: held as `runs` is, and by the directory, whatever has its name by then.
    pub writes: &'a [BorrowedFd<'a>],
    /// How much it may take.
    pub limits: InnerLimits,
}

/// How much a program may take.
#[derive(Clone, Copy, Debug)]
pub struct InnerLimits {
    /// Time.
    pub time_max: Duration,
    /// Bytes of its output that are kept.
    pub output_bytes_max: usize,
    /// Bytes of its complaints that are kept.
    pub complaint_bytes_max: usize,
    /// Bytes of memory of its own, and of each process that it starts, if that is limited further.
    pub memory_bytes_max: Option<u64>,
    /// What is done about more output.
    pub excess: Excess,
}

/// What is done about a program that writes more than is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Excess {
    /// It is ended, since it only tells something.
    End,
    /// It goes on unheard, since it changes something.
    PassOver,
}

/// What came of a program.
#[derive(Debug)]
pub struct InnerOutput {
    /// How it ended; a program that wrote too much may have been killed.
    pub status: ExitStatus,
    /// What it wrote.
    pub output: Vec<u8>,
    /// What it complained about.
    pub complaint: Vec<u8>,
    /// Whether there was more output than is kept.
    pub is_cut: bool,
}

/// A program that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum InnerError {
    /// It cannot be started.
    #[error("cannot start `{}`", program.display())]
    Start {
        /// The file.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What it may run and write cannot be limited, although the system knows how.
    #[error("cannot limit what is run and written")]
    Limit(#[source] landlock::RulesetError),
    /// It took too long, and was killed.
    #[error("it took longer than {} s, and was ended", .0.as_secs())]
    TooSlow(Duration),
    /// Nobody wants the result; it was killed.
    #[error("it was cancelled, and ended")]
    Cancelled,
    /// The system does not let us talk to it.
    #[error("cannot talk to it")]
    Talk(#[source] io::Error),
}

/// Runs a program to its end, or ends it.
///
/// When this returns, neither the program nor what is in its process group is left.
pub fn run_inner(
    spec: &InnerSpec<'_>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<InnerOutput, InnerError> {
    let (child, group) = start(spec)?;
    let mut running = Running { child, group, is_over: false };
    if let Some(bytes_max) = spec.limits.memory_bytes_max {
        running.limit_memory(bytes_max).map_err(InnerError::Talk)?;
    }
    let talked = talk(&mut running, spec, is_cancelled);
    let ended = running.end();
    let Talked { output, complaint, is_cut } = talked?;
    let status = ended.map_err(InnerError::Talk)?;
    Ok(InnerOutput { status, output, complaint, is_cut })
}

/// Whether a program leads a process group of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    Own,
    /// Where Landlock stands alone nobody may change groups; the guard of the server ends the rest.
    Servers,
}

fn start(spec: &InnerSpec<'_>) -> Result<(Child, Group), InnerError> {
    // What is taken away is taken from a thread, which then starts the program and ends.
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            limit(spec.runs, spec.writes).map_err(InnerError::Limit)?;
            let own = command(spec).process_group(0).spawn();
            let started = match own {
                Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                    command(spec).spawn().map(|child| (child, Group::Servers))
                }
                own => own.map(|child| (child, Group::Own)),
            };
            let program = || spec.program.to_owned();
            started.map_err(|source| InnerError::Start { program: program(), source })
        });
        starting.join().unwrap_or_else(|_| {
            let source = io::Error::other("the starting thread failed");
            Err(InnerError::Start { program: spec.program.to_owned(), source })
        })
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the crate that starts programs")]
fn command(spec: &InnerSpec<'_>) -> Command {
    let mut command = Command::new(spec.program);
    command
        .args(spec.arguments)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        // The descriptor is closed when the program begins, and not before the directory is taken.
        .current_dir(format!("/proc/self/fd/{}", spec.directory.as_raw_fd()))
        .stdin(if spec.input.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns whether this system holds a program to what it may run and write.
pub fn holds_inner() -> bool {
    // With this version come files that are cut short; before, what is run is held, or nothing.
    3 <= crate::sys::landlock_version()
}

/// Leaves this thread, and what it starts, nothing to run but `runs`, and nothing to write but beneath
/// `writes`.
fn limit(runs: &[PathBuf], writes: &[BorrowedFd<'_>]) -> Result<(), landlock::RulesetError> {
    // Moving from one directory to another, and cutting short, are among these.
    let changes = AccessFs::from_write(ABI::V3);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(changes | AccessFs::Execute)?
        .create()?;
    for directory in writes {
        ruleset = ruleset.add_rule(PathBeneath::new(directory, changes))?;
    }
    let nothing = (Path::new("/dev/null"), AccessFs::WriteFile | AccessFs::Truncate);
    let runs = runs.iter().map(|path| (path.as_path(), BitFlags::from(AccessFs::Execute)));
    for (path, access) in std::iter::once(nothing).chain(runs) {
        if let Ok(file) = PathFd::new(path) {
            ruleset = ruleset.add_rule(PathBeneath::new(file, access))?;
        }
    }
    ruleset.restrict_self().map(drop)
}

/// A program that runs; ended if it is dropped.
struct Running {
    child: Child,
    group: Group,
    is_over: bool,
}

impl Running {
    /// Returns whether the program itself has ended; it is not waited for.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match self.pid() {
            Some(pid) => !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None)),
            None => true,
        }
    }

    /// Limits the memory of the program, before it has started another one.
    fn limit_memory(&self, bytes_max: u64) -> io::Result<()> {
        let limit = Rlimit { current: Some(bytes_max), maximum: Some(bytes_max) };
        match rustix::process::prlimit(self.pid(), Resource::Data, limit) {
            // It has ended already.
            Ok(_) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Kills what is left, and waits for it.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.is_over {
            self.is_over = true;
            match (self.group, self.pid()) {
                // The number is the group's until the program was waited for.
                (Group::Own, Some(pid)) => {
                    rustix::process::kill_process_group(pid, Signal::KILL).ok();
                }
                (Group::Servers, _) | (Group::Own, None) => {
                    self.child.kill().ok();
                }
            }
        }
        self.child.wait()
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// What was heard.
struct Talked {
    output: Vec<u8>,
    complaint: Vec<u8>,
    is_cut: bool,
}

fn talk(
    running: &mut Running,
    spec: &InnerSpec<'_>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Talked, InnerError> {
    let limits = spec.limits;
    let deadline = now() + limits.time_max;
    let mut input = Some((running.child.stdin.take(), spec.input));
    let (Some(output), Some(complaint)) =
        (running.child.stdout.take(), running.child.stderr.take())
    else {
        return Err(InnerError::Talk(io::Error::other("it has no streams")));
    };
    let mut output = Heard::new(output, limits.output_bytes_max)?;
    let mut complaint = Heard::new(complaint, limits.complaint_bytes_max)?;
    if let Some((Some(stdin), _)) = &input {
        without_waiting(stdin.as_fd())?;
    }
    // Where there is none, the end is noticed with the next tick.
    let end = running.pid().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    loop {
        if is_cancelled() {
            return Err(InnerError::Cancelled);
        }
        if deadline <= now() {
            return Err(InnerError::TooSlow(limits.time_max));
        }
        // Looked at first: what it wrote before its end is then there to be read.
        let has_ended = running.has_ended();
        feed(&mut input)?;
        output.read()?;
        complaint.read()?;
        let is_full = output.is_cut && limits.excess == Excess::End;
        if is_full || has_ended || (output.is_over && complaint.is_over && running.has_ended()) {
            return Ok(Talked {
                output: output.bytes,
                complaint: complaint.bytes,
                is_cut: output.is_cut,
            });
        }
        let stdin = input.as_ref().and_then(|(stdin, _)| stdin.as_ref());
        wait(&output, &complaint, stdin, end.as_ref())?;
    }
}

/// Waits until something can be read or written or the program has ended, and no longer than a tick.
fn wait(
    output: &Heard<impl AsFd>,
    complaint: &Heard<impl AsFd>,
    input: Option<&ChildStdin>,
    end: Option<&OwnedFd>,
) -> Result<(), InnerError> {
    let mut fds = Vec::with_capacity(4);
    fds.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
    if !output.is_over {
        fds.push(PollFd::new(&output.stream, PollFlags::IN));
    }
    if !complaint.is_over {
        fds.push(PollFd::new(&complaint.stream, PollFlags::IN));
    }
    if let Some(input) = input {
        fds.push(PollFd::new(input, PollFlags::OUT));
    }
    let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
    match rustix::event::poll(&mut fds, Some(&tick)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(InnerError::Talk(errno.into())),
    }
}

/// Writes as much of the input as is taken, and closes it at the end.
fn feed(input: &mut Option<(Option<ChildStdin>, &[u8])>) -> Result<(), InnerError> {
    let Some((Some(stdin), rest)) = input else {
        *input = None;
        return Ok(());
    };
    match stdin.write(rest) {
        Ok(n_bytes) => *rest = rest.get(n_bytes..).unwrap_or_default(),
        // It does not want to hear the rest.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *rest = &[],
        Err(error) if is_passing(&error) => {}
        Err(error) => return Err(InnerError::Talk(error)),
    }
    if rest.is_empty() {
        *input = None;
    }
    Ok(())
}

/// What is read from one stream.
struct Heard<S> {
    stream: S,
    bytes: Vec<u8>,
    bytes_max: usize,
    is_over: bool,
    is_cut: bool,
}

impl<S: AsFd + io::Read> Heard<S> {
    fn new(stream: S, bytes_max: usize) -> Result<Self, InnerError> {
        without_waiting(stream.as_fd())?;
        Ok(Self { stream, bytes: Vec::new(), bytes_max, is_over: false, is_cut: false })
    }

    /// Reads all that is there.
    fn read(&mut self) -> Result<(), InnerError> {
        let mut chunk = vec![0; CHUNK_BYTES];
        // As much as is kept, and a little more; others are to be heard, too.
        let mut rounds = 64;
        while !self.is_over && 0 < rounds {
            rounds -= 1;
            let n_bytes = match self.stream.by_ref().read(&mut chunk) {
                Ok(0) => {
                    self.is_over = true;
                    0
                }
                Ok(n_bytes) => n_bytes,
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(InnerError::Talk(error)),
            };
            let room = self.bytes_max.saturating_sub(self.bytes.len());
            self.is_cut |= room < n_bytes;
            self.bytes.extend(chunk.iter().take(n_bytes.min(room)));
        }
        Ok(())
    }
}

fn without_waiting(stream: BorrowedFd<'_>) -> Result<(), InnerError> {
    rustix::io::ioctl_fionbio(stream, true).map_err(|errno| InnerError::Talk(errno.into()))
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[expect(clippy::disallowed_methods, reason = "a limit of time is measured where it is held")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
