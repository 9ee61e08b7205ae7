//! The guard: starts a server, and sees to it that nothing of it outlives the host.
//!
//! ```text
//!              ┌─ the server ended ─────────────────────────────┐
//! start, watch ├─ the host is gone ─────────────────────────────┤─▶ sweep: SIGKILL for all that is
//!              ├─ the cage uses too much ───────────────────────┤   left, until nothing is
//!              └─ SIGTERM ─▶ SIGTERM for the server ─▶ grace ───┘
//! ```
//!
//! As a subreaper the guard becomes the parent of whatever loses its own, so it has no children
//! exactly when nothing of the server is left. If the host is gone by then, the guard sees to what the server
//! left (`afterwards.rs`). The guard holds none of the server's pipes, and does
//! not know what is said in them.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use rustix::thread::UnshareFlags;

use super::afterwards::{Afterwards, is_ending};
use super::cage::namespaces::Inmate;
use super::cage::renewal::{self, Inside};
use super::covers::{Covers, Watch};
use super::excess::Excess;
use super::signals::{self, Signals};
use super::{
    EXIT_LAUNCHER, EXIT_SHIFTED, EXIT_SHIFTED_ASLEEP, LaunchError, become_server, cage, cannot,
    check_parent, descriptors, is_alive, report,
};
use crate::covers::told;
use crate::orders::{BecomeOrder, CageOrder, GuardOrder, HoldOrder};
use crate::proc;
use crate::rung::Rung;
use crate::sys::{self, Awaited, Launching};
use crate::table::{self, Asleep, Kinship};

/// How long a sweep may take: a process that the system holds fast, or one that forks faster than
/// we can kill, must not keep us for ever.
pub(crate) const SWEEP_MAX: Duration = Duration::from_secs(2);
/// Where it stands whom the system takes first when there is no memory left.
const FIRST_VICTIM: &str = "/proc/self/oom_score_adj";
/// How often a guard looks at what a cage uses.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a sweep waits for the killed to die before it looks again.
const ROUND: Duration = Duration::from_millis(5);

/// Starts a server and returns how it ended, when nothing of it is left.
pub(super) fn run(launching: &Launching, order: &GuardOrder) -> Result<ExitCode, LaunchError> {
    // A name of its own, so that `killall ironcurtain` leaves the guards to do their work.
    rustix::thread::set_name(c"ironcurtain-run").ok();
    let signals = Signals::catch().map_err(cannot("listen to signals"))?;
    let host = hold_parent(order.host)?;
    rustix::process::setsid().map_err(cannot("begin a session"))?;
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(cannot("adopt orphans"))?;
    descriptors::keep_from_children()?;
    let nothing =
        rustix::fs::openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(cannot("open /dev/null"))?;

    let afterwards = order.settle.as_deref().map(Afterwards::hold).transpose()?;
    let mut covers = match &order.hold {
        HoldOrder::Caged(cage) => Some(Covers::of(cage)),
        HoldOrder::Free => None,
    };
    let channel = order.renewals.map(|number| launching.inherited(number)).transpose();
    let channel = channel.map_err(cannot("reach the host"))?;
    let (server, inside) = start(launching, order, own, &nothing)?;
    covers.iter_mut().for_each(Covers::hold);
    let renewal = inside.zip(channel).map(|(inside, channel)| {
        let watch = covers.as_ref().and_then(Watch::over);
        Renewal { launching, inside, channel, watch }
    });
    let cage = match &order.hold {
        HoldOrder::Caged(cage) => Some(&**cage),
        HoldOrder::Free => None,
    };
    let excess = cage.map(Excess::of).unwrap_or_default();
    let (status, asleep, end) = (None, None, None);
    let mut guard = Guard {
        server,
        status,
        signals,
        host,
        cage,
        covers,
        renewal,
        excess,
        asleep,
        end,
        afterwards,
    };
    let watched = let_go(&nothing).and_then(|()| guard.watch(order.grace, own));
    // Whatever happened, nothing stays.
    let swept = guard.sweep(own);
    watched.map_err(cannot("watch over the server"))?;
    swept?;
    let code = guard.exit_code();
    match guard.afterwards.filter(|_| !is_alive(&guard.host) || is_ending(order.host)) {
        Some(afterwards) => Err(afterwards.run()),
        None => Ok(code),
    }
}

/// Holds the host, so that its end can be waited for.
fn hold_parent(host: Pid) -> Result<OwnedFd, LaunchError> {
    // The signal of a dying parent will not do: it comes when the *thread* ends that forked us.
    let held = rustix::process::pidfd_open(host, PidfdFlags::empty())
        .map_err(cannot("watch the process that asked for a server"))?;
    // SECURITY: this comes second. The host was there after we held it, so it is what we hold.
    check_parent(host)?;
    Ok(held)
}

/// Starts the server, so that the system takes it first when there is no memory left.
fn start(
    launching: &Launching,
    order: &GuardOrder,
    own: Pid,
    nothing: &OwnedFd,
) -> Result<(Pid, Option<Inside>), LaunchError> {
    let HoldOrder::Caged(_) = order.hold else {
        return start_held(launching, order, own, nothing);
    };
    // Whatever we start from here on inherits it. We may take it back, as nobody made it less.
    let before = proc::read(Path::new(FIRST_VICTIM), 16).map_err(cannot("read our standing"))?;
    proc::write(Path::new(FIRST_VICTIM), b"1000").map_err(cannot("lower our standing"))?;
    let started = start_held(launching, order, own, nothing);
    proc::write(Path::new(FIRST_VICTIM), &before).map_err(cannot("take back our standing"))?;
    started
}

fn start_held(
    launching: &Launching,
    order: &GuardOrder,
    own: Pid,
    nothing: &OwnedFd,
) -> Result<(Pid, Option<Inside>), LaunchError> {
    let GuardOrder { hold, invocation, .. } = order;
    let outside = |server| (server, None);
    match hold {
        HoldOrder::Caged(cage) if cage.rung == Rung::Namespaces => {
            let environment = become_server::environment()?;
            let inmate = Inmate { order: cage, invocation, environment };
            cage::namespaces::start(launching, inmate, nothing)
        }
        HoldOrder::Caged(cage) if cage.rung == Rung::Bubblewrap => {
            cage::bubblewrap::start(cage, invocation).map(outside)
        }
        HoldOrder::Free | HoldOrder::Caged(_) => {
            let (hold, invocation) = (hold.clone(), invocation.clone());
            let order = BecomeOrder { guard: Some(own), hold, invocation };
            start_becoming(launching, &order).map(outside)
        }
    }
}

/// Starts a copy of us that becomes the server: to run this program once more would take longer than
/// all the rest.
fn start_becoming(launching: &Launching, order: &BecomeOrder) -> Result<Pid, LaunchError> {
    // Held back, so that none comes to a copy that still has our handlers.
    let awaited = Awaited::hold_back(&signals::HEARD).map_err(cannot("wait for signals"))?;
    let none = UnshareFlags::empty();
    let Some(server) = launching.fork_into(none).map_err(cannot("start the server"))? else {
        sys::leave(report(&become_server::of_copy(launching, order, awaited)));
    };
    awaited.release().map_err(cannot("wait for signals"))?;
    // The copy does so as well; once it has become the server, only it can have done so.
    rustix::process::setpgid(Some(server), Some(server)).ok();
    Ok(server)
}

/// Gives up the standard streams, so that they end when the server closes its own.
pub(super) fn let_go(nothing: &OwnedFd) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(nothing)?;
    rustix::stdio::dup2_stdout(nothing)?;
    rustix::stdio::dup2_stderr(nothing)
}

struct Guard<'a> {
    server: Pid,
    /// How the server ended, once it has.
    status: Option<WaitStatus>,
    signals: Signals,
    host: OwnedFd,
    /// The cage, if the server is in one.
    cage: Option<&'a CageOrder>,
    /// What lies over the host's files in it.
    covers: Option<Covers>,
    /// What renews them, if that is to be done.
    renewal: Option<Renewal<'a>>,
    /// What it may use.
    excess: Excess,
    /// How all of it slept when the covers were last seen where they belong.
    asleep: Option<Asleep>,
    /// The code to end with, if we ended the cage.
    end: Option<u8>,
    /// What is to be settled if the host is gone.
    afterwards: Option<Afterwards>,
}

/// What covers something again that was replaced outside.
struct Renewal<'a> {
    launching: &'a Launching,
    inside: Inside,
    /// Where the host is told.
    channel: OwnedFd,
    /// Tells when to look; without it that is done now and then.
    watch: Option<Watch>,
}

/// What is left of a guard's children.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Children {
    None,
    Some,
}

impl Guard<'_> {
    /// Waits until it is time to sweep.
    fn watch(&mut self, grace: Duration, own: Pid) -> Result<(), Errno> {
        let mut deadline = None;
        let mut look_at = now() + LOOK_EVERY;
        while self.status.is_none() {
            let mut left =
                deadline.map(|deadline: Instant| deadline.saturating_duration_since(now()));
            if left == Some(Duration::ZERO) {
                return Ok(());
            }
            if let Some(cage) = self.cage {
                let watch = self.renewal.as_ref().and_then(|it| it.watch.as_ref());
                if watch.is_some_and(Watch::take) {
                    self.end = self.shifted(own);
                }
                if self.end.is_none() && look_at <= now() {
                    self.afterwards.as_ref().inspect(|it| it.note());
                    self.end = self.excess.code(own, cage).or_else(|| self.shifted(own));
                    look_at = now() + LOOK_EVERY;
                }
                if self.end.is_some() {
                    return Ok(());
                }
                let wait = look_at.saturating_duration_since(now());
                left = Some(left.map_or(wait, |left| left.min(wait)));
            }
            let watch = self.renewal.as_ref().and_then(|it| it.watch.as_ref()).map(Watch::events);
            let mut events = [
                PollFd::from_borrowed_fd(self.host.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.end(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.child(), PollFlags::IN),
                // Where nothing is watched, this is waited for twice.
                PollFd::from_borrowed_fd(watch.unwrap_or(self.host.as_fd()), PollFlags::IN),
            ];
            wait_for(&mut events, left)?;
            let [is_host_gone, is_end_asked, ..] = events.map(|event| !event.revents().is_empty());
            if is_host_gone {
                return Ok(());
            }
            if is_end_asked {
                self.signals.take_end();
                if deadline.is_none() {
                    deadline = Some(now() + grace);
                    // We have not waited for the server, so the group is still its own. It may have
                    // left it, or have ended this moment; then the sweep has the word.
                    rustix::process::kill_process_group(self.server, Signal::TERM).ok();
                }
            }
            self.collect()?;
        }
        Ok(())
    }

    /// Returns the code to end with if something was put in the place of what lies in the cage.
    ///
    /// SECURITY: how everything slept is looked at before the covers that were in their place, and again
    /// after they were not; so whoever slept through both did not write in between.
    fn shifted(&mut self, own: Pid) -> Option<u8> {
        if self.renew() {
            return None;
        }
        let covers = self.covers.as_ref().filter(|covers| !covers.is_empty())?;
        let before = table::asleep_below(own);
        if !covers.have_shifted() {
            self.asleep = before;
            return None;
        }
        let has_slept = self.asleep.is_some() && table::asleep_below(own) == self.asleep;
        Some(if has_slept { EXIT_SHIFTED_ASLEEP } else { EXIT_SHIFTED })
    }

    /// Covers again what was replaced outside; returns whether everything is covered, as far as something is there.
    fn renew(&mut self) -> bool {
        /// How often it may be replaced meanwhile; what is replaced later is heard of again.
        const ROUNDS_MAX: usize = 8;
        let (Some(renewal), Some(covers), Some(cage)) =
            (&mut self.renewal, &mut self.covers, self.cage)
        else {
            return false;
        };
        for _ in 0..ROUNDS_MAX {
            let Some(places) = covers.take_shifted() else { return false };
            if places.is_empty() {
                break;
            }
            let inside = (&renewal.inside, &cage.spec);
            let Ok(covered) = renewal::renew(renewal.launching, inside, &places) else {
                return false;
            };
            for ((path, _), covered) in places.iter().zip(covered) {
                if let Some(identity) = covered {
                    // A host that does not hear it takes it that nothing is covered.
                    rustix::net::send(
                        &renewal.channel,
                        &told(path, identity),
                        SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
                    )
                    .ok();
                }
                // SECURITY: the host hears first; what was held until now may be another file from here on.
                covers.note(path, covered);
            }
            if let Some(watch) = &mut renewal.watch {
                watch.again(covers);
            }
        }
        true
    }

    /// Waits for every child that has ended, orphans included.
    fn collect(&mut self) -> Result<Children, Errno> {
        self.signals.take_child();
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.server => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(Children::Some),
                Err(Errno::CHILD) => return Ok(Children::None),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Kills whatever is below us until nothing is.
    fn sweep(&mut self, own: Pid) -> Result<(), LaunchError> {
        let deadline = now() + SWEEP_MAX;
        // Killed children are waited for after the round, so their numbers are theirs during it.
        while self.collect().map_err(cannot("wait for the server"))? == Children::Some {
            if deadline <= now() {
                return Err(LaunchError::Leftovers);
            }
            if self.cage.is_some_and(|cage| cage.rung == Rung::Landlock) {
                // There nobody leaves the group, and as long as we have children it is theirs: all
                // of them at once, however fast they fork.
                rustix::process::kill_process_group(self.server, Signal::KILL).ok();
            }
            table::kill_below(own, &Kinship::now());
            let mut events = [PollFd::from_borrowed_fd(self.signals.child(), PollFlags::IN)];
            wait_for(&mut events, Some(ROUND)).map_err(cannot("wait for the server"))?;
        }
        Ok(())
    }

    fn exit_code(&self) -> ExitCode {
        let ended = || self.status.map_or(EXIT_LAUNCHER, exit_code);
        ExitCode::from(self.end.unwrap_or_else(ended))
    }
}

/// Returns the code with which to end if a process of ours ended with `status`.
pub(super) fn exit_code(status: WaitStatus) -> u8 {
    /// What a shell adds to the number of the signal that killed a program.
    const SIGNALLED: i32 = 128;
    let signal = status.terminating_signal().map(|signal| SIGNALLED + signal);
    let code = status.exit_status().or(signal);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(EXIT_LAUNCHER)
}

/// Waits for one of `events`, at most for `limit`; an interruption is a reason to look.
fn wait_for(events: &mut [PollFd<'_>], limit: Option<Duration>) -> Result<(), Errno> {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    match poll(events, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a guard decides nothing, it only measures its waits"
)]
fn now() -> Instant {
    Instant::now()
}
