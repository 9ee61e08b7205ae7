//! A program at a pseudo-terminal, and what an emulator shows of it.
//!
//! What the program is, and what its screen means, is not known here.

#![expect(clippy::disallowed_types, reason = "a pseudo-terminal is read and written as a file")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A program that runs at a terminal of its own; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<Shown>,
}

/// What stands on the screen, and news of it.
struct Shown {
    emulator: Mutex<vt100::Parser>,
    changed: Condvar,
}

impl Terminal {
    /// Returns the command that runs `program` at a terminal of its own, for [`Self::open`].
    pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program);
        command
    }

    /// Starts a command at a terminal of so many rows and columns.
    pub(crate) fn open(mut command: Command, rows: u16, columns: u16) -> anyhow::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(
            &terminal,
            Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 },
        )?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(ptsname(&terminal, Vec::new())?, flags, Mode::empty())?;
        let stream = || anyhow::Ok(Stdio::from(slave.try_clone()?));
        let child = command.stdin(stream()?).stdout(stream()?).stderr(stream()?).spawn()?;
        let keys = File::from(terminal);
        let emulator = Mutex::new(vt100::Parser::new(rows, columns, 0));
        let shown = Arc::new(Shown { emulator, changed: Condvar::new() });
        let (mut reading, into) = (keys.try_clone()?, Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n_bytes @ 1..) = reading.read(&mut buffer) {
                into.lock().process(buffer.get(..n_bytes).unwrap_or_default());
                into.changed.notify_all();
            }
        });
        Ok(Self { child, keys, shown })
    }

    /// Types something.
    pub(crate) fn type_in(&mut self, text: &str) -> std::io::Result<()> {
        self.keys.write_all(text.as_bytes())
    }

    /// Waits until something is drawn, and no longer than `limit`.
    pub(crate) fn wait_for_change(&self, limit: Duration) {
        let guard = self.shown.lock();
        drop(self.shown.changed.wait_timeout(guard, limit));
    }

    /// Returns the rows of the screen as text, without empty ones at the end.
    pub(crate) fn rows(&self) -> Vec<String> {
        let emulator = self.shown.lock();
        let (_, columns) = emulator.screen().size();
        let mut rows: Vec<String> =
            emulator.screen().rows(0, columns).map(|it| it.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Looks at the screen with its colours.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shown.lock().screen())
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, vt100::Parser> {
        self.emulator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
