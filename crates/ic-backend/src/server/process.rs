//! The process of a server and the three streams to it.
//!
//! What is read from it is handed to the [`Inbox`] line by line; what it writes to its standard error
//! is text of a stranger, of which the last lines are kept to explain its end. What the lines mean is
//! not known here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_confine::{
    Child, ChildHandle, ChildSpec, Confinement, DoorsToCome, EXIT_EXCESS, EXIT_SHIFTED,
    EXIT_SHIFTED_ASLEEP, EXIT_TOO_MANY, Launcher, Sleep,
};
use ic_mcp::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::ServerNews;
use super::connection::Connection;
use super::deeds::Deeds;
use super::inbox::{Inbox, LINE_BYTES_MAX, Misbehaved};
use super::side::{Ends, Side};
use crate::aids::Aids;
use crate::locked;

/// How many of a server's last words are kept.
const WORDS_MAX: usize = 5;
/// The longest line of its standard error that is kept.
const WORD_BYTES_MAX: usize = 512;
/// How many messages are put together into one write.
const TOGETHER_MAX: usize = 64;
/// How long a server that does not listen any more may still answer.
const DEAF_MAX: Duration = Duration::from_secs(1);
/// What a process is started with, besides what is written out for it.
#[derive(Debug)]
pub(crate) struct Host<'a> {
    /// Our side of the talk with it.
    pub(crate) side: Side<'a>,
    /// What starts it.
    pub(crate) launcher: &'a Launcher,
    /// What it may have carried out, if it runs for one call.
    pub(crate) deeds: Option<Arc<Deeds>>,
    /// What is lent to it, if it reaches another machine for one call.
    pub(crate) aids: Option<Arc<Aids>>,
}

/// A process that was started, and what leads to it.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) running: Running,
    pub(crate) connection: Arc<Connection>,
    /// The doors of its cage; if nobody waits for them, they are closed.
    pub(crate) doors: Option<DoorsToCome>,
}

/// A process that runs.
#[derive(Debug)]
pub(crate) struct Running {
    process: ChildHandle,
    words: Arc<Mutex<VecDeque<String>>>,
    hearing: tokio::task::JoinHandle<()>,
}

/// How a process ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Its status, in our words.
    pub(crate) status: String,
    /// Whether it slept since before somebody replaced what its cage covers.
    pub(crate) has_slept: bool,
    /// What it wrote last: words of a stranger, for a person and for the log, never for a model.
    words: String,
}

impl Ending {
    /// Returns both, for a person.
    pub(crate) fn in_full(&self) -> String {
        match self.words.as_str() {
            "" => self.status.clone(),
            words => format!("{}; it wrote: {words}", self.status),
        }
    }
}

/// Starts the process and everything that carries messages from and to it.
///
/// What the server says of its own accord, on either stream, is told to `tell`.
pub(crate) fn start(
    host: &Host<'_>,
    spec: &ChildSpec,
    tell: impl Fn(ServerNews) + Clone + Send + 'static,
) -> Result<Started, String> {
    let child = host.launcher.start(spec).map_err(|error| match error.remedy() {
        Some(remedy) => format!("{}; {remedy}", crate::chain(&error)),
        None => crate::chain(&error),
    })?;
    let Child { stdin, stdout, stderr, process, doors, .. } = child;
    let Ends { connection, outgoing, inbox } = host.side.open(tell.clone());
    let inbox = inbox.with_deeds(host.deeds.clone()).with_aids(host.aids.clone());
    let words = Arc::new(Mutex::new(VecDeque::new()));
    let tasks = host.side.tasks;
    tasks.spawn(send(stdin, outgoing, Arc::clone(&connection)));
    tasks.spawn(receive(stdout, inbox, Arc::clone(&connection)));
    let hearing = tasks.spawn(hear(stderr, Arc::clone(&words), tell));
    Ok(Started { running: Running { process, words, hearing }, connection, doors })
}

/// Writes messages to the server until the connection is over.
async fn send(
    mut stdin: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<String>,
    connection: Arc<Connection>,
) {
    let sending = async {
        let mut lines = Vec::with_capacity(TOGETHER_MAX);
        while outgoing.recv_many(&mut lines, TOGETHER_MAX).await != 0 {
            let together = match lines.as_mut_slice() {
                [line] => std::mem::take(line),
                lines => lines.concat(),
            };
            lines.clear();
            if stdin.write_all(together.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = connection.over().cancelled() => {}
        () = sending => {
            // Reading finds out why the server is gone. One that has only closed its ears is of no
            // use either, and whoever waits for it would wait in vain.
            let over = connection.over().cancelled();
            if tokio::time::timeout(DEAF_MAX, over).await.is_err() {
                connection.end("the server closed its standard input");
            }
        }
    }
}

/// Reads messages of the server until it ends, misbehaves, or the connection is over.
async fn receive(
    mut stdout: impl AsyncRead + Unpin,
    mut inbox: Inbox,
    connection: Arc<Connection>,
) {
    let receiving = async {
        let mut lines = Lines::new(LINE_BYTES_MAX);
        loop {
            while let Some(line) = lines.next() {
                let taken = match line {
                    Line::Whole(line) => inbox.take(line),
                    Line::TooLong => Err(Misbehaved("the server sent a line that is too long")),
                };
                if let Err(misbehaved) = taken {
                    return misbehaved.to_string();
                }
            }
            if lines.is_overlong() {
                return "the server sent a line that is too long".to_owned();
            }
            match stdout.read_buf(lines.room()).await {
                Ok(0) => return "the server ended".to_owned(),
                Ok(_) => {}
                Err(error) => return format!("the server cannot be read from: {error}"),
            }
        }
    };
    let why = tokio::select! {
        () = connection.over().cancelled() => return,
        why = receiving => why,
    };
    connection.end(&why);
}

/// Reads what the server writes to its standard error, to the end.
async fn hear(
    mut stderr: impl AsyncRead + Unpin,
    words: Arc<Mutex<VecDeque<String>>>,
    tell: impl Fn(ServerNews),
) {
    let mut lines = Lines::new(1 << 16);
    loop {
        match stderr.read_buf(lines.room()).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while let Some(line) = lines.next() {
            let Line::Whole(line) = line else { continue };
            let line = String::from_utf8_lossy(line.get(..WORD_BYTES_MAX).unwrap_or(line));
            let mut words = locked(&words);
            if WORDS_MAX <= words.len() {
                words.pop_front();
            }
            words.push_back(line.clone().into_owned());
            drop(words);
            tell(ServerNews::Wrote(line.into_owned()));
        }
    }
}

/// Returns why the guard ended a server, if a code says that it did.
fn by_the_guard(code: i32) -> Option<&'static str> {
    match u8::try_from(code).ok()? {
        EXIT_EXCESS => Some("it used too much memory"),
        EXIT_TOO_MANY => Some("it had too many processes or threads"),
        EXIT_SHIFTED | EXIT_SHIFTED_ASLEEP => Some(
            "a file that its cage hides or protects was replaced; it is started again when it is \
             needed",
        ),
        _ => None,
    }
}

impl Running {
    pub(crate) fn confinement(&self) -> Confinement {
        self.process.confinement()
    }

    /// Returns a look at whether anything of it runs.
    pub(crate) fn sleep(&self) -> Option<Sleep> {
        self.process.sleep().ok()
    }

    /// Ends the process and returns how it ended.
    pub(crate) async fn stop(mut self) -> Ending {
        let stopped = self.process.stop().await;
        let code = stopped.as_ref().ok().and_then(std::process::ExitStatus::code);
        let has_slept = code == Some(EXIT_SHIFTED_ASLEEP.into());
        let status = match stopped {
            Ok(status) => match status.code().and_then(by_the_guard) {
                Some(reason) => format!(" ({reason})"),
                None => format!(" ({status})"),
            },
            Err(error) => format!(" (and cannot be ended: {error})"),
        };
        // The process is gone, and with it the other end of its standard error.
        let patience = Duration::from_millis(200);
        if tokio::time::timeout(patience, &mut self.hearing).await.is_err() {
            // Somebody else holds it, and may do so for ever.
            self.hearing.abort();
        }
        let words = locked(&self.words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ending { status, has_slept, words: words.join(" / ") }
    }
}
