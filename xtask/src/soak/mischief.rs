//! The kinds of mischief, and on which shifts of a day each is done. Nothing is done here.

use super::calls::Server;
use super::house;

/// What a day has in store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mischief {
    /// Nothing but clients who come and go: the longest day, in one process.
    None,
    /// The servers are killed in the middle of their calls, now one and now the other.
    ServersCrash,
    /// The proxy is killed likewise, and started again in the same session.
    ProxyKilled,
    /// The policy is replaced by another one; it counts from the next start on.
    PolicyReplaced,
    /// The clock jumps forwards and backwards by days.
    ClockJumps,
    /// The log fills its disk; then there is room again.
    DiskFills,
}

/// What is done on a day that is not the longest.
pub(super) const MISCHIEFS: [Mischief; 5] = [
    Mischief::ServersCrash,
    Mischief::ProxyKilled,
    Mischief::PolicyReplaced,
    Mischief::ClockJumps,
    Mischief::DiskFills,
];

impl Mischief {
    /// Says why it cannot be done here.
    pub(super) fn is_impossible(self, has_own_mounts: bool) -> Option<&'static str> {
        match self {
            Self::DiskFills if !has_own_mounts => Some("no small disk can be mounted; root can"),
            Self::ClockJumps if house::clock_library().is_none() => {
                Some("there is no libfaketime; the package faketime has it")
            }
            _ => None,
        }
    }

    /// Returns at which rest of its life a proxy has settled: the sooner the shorter it lives. By then
    /// each kind of client was there, since each shift has all of them.
    pub(super) fn settles_at(self, n_shifts: u64) -> u64 {
        match self {
            Self::None | Self::ServersCrash | Self::ClockJumps => n_shifts / 4,
            Self::ProxyKilled | Self::PolicyReplaced | Self::DiskFills => 1,
        }
    }

    /// Returns the server that is killed amid a shift; the next one is a quiet one.
    pub(super) fn victim(self, shift: u64) -> Option<Server> {
        match (self, shift % 4) {
            (Self::ServersCrash, 0) => Some(Server::Stranger),
            (Self::ServersCrash, 2) => Some(Server::Builtin),
            _ => None,
        }
    }

    /// Returns whether the proxy is killed amid a shift: a life begins so that it has two rests.
    pub(super) fn kills_proxy(self, shift: u64) -> bool {
        self == Self::ProxyKilled && 0 < shift && shift.is_multiple_of(2)
    }

    /// Returns whether the policy is replaced amid a shift, after which the proxy is started again.
    pub(super) fn replaces_policy(self, shift: u64, n_shifts: u64) -> bool {
        self == Self::PolicyReplaced && shift % 2 == 1 && shift + 1 < n_shifts
    }

    /// Returns whether the clock jumps amid a shift.
    pub(super) fn sets_clock(self, shift: u64, n_shifts: u64) -> bool {
        // A session may put only so many questions to a person within a minute.
        self == Self::ClockJumps && shift.is_multiple_of((n_shifts / 4).max(1))
    }
}
