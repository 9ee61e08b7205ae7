//! The host's hold on a worker: its pipes, its process, and what it complains about.
//!
//! What a worker says is read in `run`; here it only says that it is ready.

use std::ffi::OsString;
use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use ic_confine::{CageSpec, Child, ChildHandle, ChildSpec, Hold, Launcher, Network};
use ic_types::{chain, visible};
use tokio::io::{AsyncBufRead as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::frame;
use crate::limits::{FRAME_BYTES_MAX, Limits};
use crate::wire::Said;

/// This very program, even if its file was replaced meanwhile.
const OURSELVES: &str = "/proc/self/exe";
/// How long a worker may take until it is ready.
const READY_MAX: Duration = Duration::from_secs(10);
/// How much is kept of what a worker complains about.
const COMPLAINT_BYTES_MAX: usize = 2048;
/// How long its end and its last words may take after its pipe has ended.
const END_MAX: Duration = Duration::from_secs(5);

/// Returns the cage of a worker: it sees nothing but the system's libraries, writes nothing, and
/// reaches nobody. `scratch` is an empty directory of ours, as for every cage.
pub fn cage(scratch: PathBuf) -> CageSpec {
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: false,
        home: PathBuf::from("/home"),
        scratch: Some(scratch),
        network: Network::None,
        unix_sockets: false,
        opens_beneath: false,
        relaxed: Vec::new(),
        limits: ic_confine::Limits {
            // The fewest that the system counts; a worker makes none at all.
            tasks_max: 512,
            // The script's memory has a limit of its own; this one is for all the rest.
            memory_bytes_max: 512 << 20,
            scratch_bytes_max: 1 << 20,
            file_bytes_max: 0,
            descriptors_max: 64,
            disk_bytes_left_min: 0,
        },
        user: None,
    }
}

/// How workers are started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    launcher: Launcher,
    spec: ChildSpec,
}

/// A worker that is ready for a script.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) process: Process,
}

/// The process of a worker; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    handle: Option<ChildHandle>,
    /// What it complains about; comes to an end with it.
    complaint: Option<JoinHandle<Vec<u8>>>,
    /// Whoever waits for this knows that the process is gone.
    tasks: TaskTracker,
}

impl Start {
    pub(crate) fn new(
        launcher: Launcher,
        mut arguments: Vec<OsString>,
        hold: Hold,
        limits: &Limits,
    ) -> Self {
        arguments.push(limits.heap_bytes_max.to_string().into());
        arguments.push(limits.cpu_seconds().to_string().into());
        let spec = ChildSpec {
            program: PathBuf::from(OURSELVES),
            arguments,
            // Without a file of time zones, since none is opened.
            environment: vec![("TZ".into(), "UTC0".into()), ("LANG".into(), "C.UTF-8".into())],
            directory: None,
            // A worker is killed, not asked.
            grace: Duration::ZERO,
            hold,
        };
        Self { launcher, spec }
    }

    /// Starts a worker and waits until it is ready, or says why it is not.
    pub(crate) async fn worker(&self, tasks: &TaskTracker) -> Result<Worker, String> {
        let child = self.launcher.start(&self.spec).map_err(|error| chain(&error))?;
        let Child { stdin, stdout, stderr, process, .. } = child;
        let mut worker = Worker {
            stdin,
            stdout: BufReader::new(stdout),
            process: Process::hold(process, stderr, tasks.clone()),
        };
        let first = frame::receive(&mut worker.stdout, FRAME_BYTES_MAX);
        match tokio::time::timeout(READY_MAX, first).await {
            Ok(Ok(frame)) if matches!(Said::read(&frame), Ok(Said::Ready)) => Ok(worker),
            Ok(Ok(_)) => Err("it did not say that it is ready".to_owned()),
            Ok(Err(_)) => Err(worker.process.last_words().await),
            Err(_) => Err("it was not ready in time".to_owned()),
        }
    }
}

impl Worker {
    /// Returns whether the worker still waits: it has neither ended nor spoken.
    pub(crate) async fn is_waiting(&mut self) -> bool {
        let stdout = &mut self.stdout;
        poll_fn(|context| {
            let polled = std::pin::Pin::new(&mut *stdout).poll_fill_buf(context);
            Poll::Ready(polled.is_pending())
        })
        .await
    }
}

impl Process {
    fn hold(handle: ChildHandle, stderr: ChildStderr, tasks: TaskTracker) -> Self {
        let complaint = tasks.spawn(drain(stderr));
        Self { handle: Some(handle), complaint: Some(complaint), tasks }
    }

    /// Returns the number of the process that guards the worker.
    pub(crate) fn id(&self) -> Option<u32> {
        self.handle.as_ref().map(ChildHandle::id)
    }

    /// Waits for the end, and returns the code of it.
    pub(crate) async fn end(&mut self) -> Option<i32> {
        let handle = self.handle.as_mut()?;
        let status = tokio::time::timeout(END_MAX, handle.wait()).await.ok()?.ok()?;
        status.code()
    }

    /// Waits for the end, and says what the worker complained about.
    async fn last_words(&mut self) -> String {
        let code = self.end().await;
        let complaint = match self.complaint.take() {
            Some(complaint) => tokio::time::timeout(END_MAX, complaint).await,
            None => Ok(Ok(Vec::new())),
        };
        let complaint = complaint.ok().and_then(Result::ok).unwrap_or_default();
        // SECURITY: it is untrusted, and goes to a person's terminal and to the agent.
        let complaint = visible(String::from_utf8_lossy(&complaint).trim());
        match (complaint.strip_prefix("ironcurtain: ").unwrap_or(&complaint), code) {
            ("", Some(code)) => format!("it ended with code {code}"),
            ("", None) => "it ended".to_owned(),
            (complaint, _) => complaint.to_owned(),
        }
    }

    /// Kills the worker, without waiting for it.
    pub(crate) fn kill(&mut self) {
        let Some(mut handle) = self.handle.take() else { return };
        // Without a runtime the handle itself asks the guard to end everything.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.tasks.spawn(async move { handle.stop().await.map(drop) });
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads all that comes, so that the worker never waits for it, and returns the beginning.
async fn drain(mut stderr: ChildStderr) -> Vec<u8> {
    let (mut kept, mut bytes) = (Vec::new(), [0; 1024]);
    while let Ok(n_bytes @ 1..) = stderr.read(&mut bytes).await {
        let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len());
        kept.extend(bytes.iter().take(n_bytes.min(room)));
    }
    kept
}
