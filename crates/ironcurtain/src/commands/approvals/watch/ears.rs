//! Waits for whatever may have happened: a file that was written, a line that was typed, or time.
//!
//! Only says that something happened; the caller looks. Where the system gives no watch, time does.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use ic_home::watch::DirectoryWatch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long is waited before everything is looked at again.
const POLL: Duration = Duration::from_millis(500);
/// The shortest wait, so that nothing makes us run in circles.
const POLL_MIN: Duration = Duration::from_millis(5);

/// What is listened to.
#[derive(Debug)]
pub(crate) struct Ears {
    registry: PathBuf,
    watches: HashMap<PathBuf, DirectoryWatch>,
    /// How many there should be.
    n_wanted: usize,
    terminal: Option<OwnedFd>,
}

/// What was heard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Heard {
    /// Something was written somewhere.
    pub(crate) is_changed: bool,
    /// Something was typed, or the terminal has gone.
    pub(crate) is_typed: bool,
}

impl Ears {
    /// Listens to the registry, and to the terminal if there is one.
    pub(crate) fn on(registry: PathBuf, terminal: Option<OwnedFd>) -> Self {
        let mut ears = Self { registry, watches: HashMap::new(), n_wanted: 0, terminal };
        ears.follow([]);
        ears
    }

    /// Listens to the registry and to `directories`, and to no other ones.
    pub(crate) fn follow<'a>(&mut self, directories: impl IntoIterator<Item = &'a PathBuf>) {
        let wanted: HashSet<PathBuf> =
            directories.into_iter().cloned().chain([self.registry.clone()]).collect();
        self.watches.retain(|directory, _| wanted.contains(directory));
        self.n_wanted = wanted.len();
        for directory in wanted {
            if self.watches.contains_key(&directory) {
                continue;
            }
            // Without a watch it is looked at when the time has come.
            if let Ok(watch) = DirectoryWatch::on(&directory) {
                self.watches.insert(directory, watch);
            }
        }
    }

    /// Returns whether the system announces all that is written where we listen.
    pub(crate) fn hear_all(&self) -> bool {
        self.n_wanted == self.watches.len()
    }

    /// Waits until something happens, or for a while, which may be shorter than usual.
    pub(crate) fn listen(mut self, wait: Option<Duration>) -> (Self, Heard) {
        let wait = wait.unwrap_or(POLL).clamp(POLL_MIN, POLL);
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        let is_typed = {
            let mut sources: Vec<PollFd<'_>> =
                self.terminal.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            sources.extend(self.watches.values().map(|it| PollFd::new(it, PollFlags::IN)));
            // What interrupts us is time that has passed.
            poll(&mut sources, Some(&wait)).ok();
            let terminal = self.terminal.as_ref().and(sources.first());
            terminal.is_some_and(|it| !it.revents().is_empty())
        };
        let mut is_changed = false;
        self.watches.retain(|_, watch| match watch.changes() {
            Ok(changes) => {
                is_changed |= changes.lost || !changes.names.is_empty();
                !changes.lost
            }
            // Made anew by whoever looks next.
            Err(_) => false,
        });
        (self, Heard { is_changed, is_typed })
    }
}
