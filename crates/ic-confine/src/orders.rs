//! What the host tells the guard, and the guard the server-to-be: words on the command line, and
//! the environment in disguise.
//!
//! ```text
//! host ─▶ guard             __launch guard  <pid of the host>  <grace ms> <file or -> <descriptor or -> <hold> <name> <program> <argument>…
//! guard ─▶ who settles      __settle <file>
//! guard ─▶ server-to-be     __launch become <pid of the guard>            <hold> <name> <program> <argument>…
//! hold:    free  |  <rung> <descriptor for the doors, or -> <descriptor of the guard, or ->
//!                   <directory> <identities> <cage>
//! ```
//!
//! The environment of the server passes through two processes that are this program. So that none
//! of it means anything to them (`LD_PRELOAD` is obeyed before `main` begins), each name carries a
//! mark until the last moment. Nothing here starts, reads or waits.

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;

use crate::cage::CageSpec;
use crate::rung::Rung;

/// The first argument of a launcher; a program that meets it calls [`run_launcher`].
///
/// [`run_launcher`]: crate::run_launcher
pub const LAUNCH: &str = "__launch";

/// The first argument of a program that is to see to what a server left when its host was gone; the file that
/// [`Launcher::settling`] was given follows.
///
/// [`Launcher::settling`]: crate::Launcher::settling
pub const SETTLE: &str = "__settle";

/// The longest grace that anybody is given.
pub(crate) const GRACE_MAX: Duration = Duration::from_mins(1);

const GUARD: &str = "guard";
const BECOME: &str = "become";
const FREE: &str = "free";
/// Stands for a number that there is none of.
const NOTHING: &str = "-";

/// No name that any library looks for begins with it.
const MARK: u8 = b'+';

/// What a launcher is to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Order {
    /// Start the server, and end it with the host.
    Guard(GuardOrder),
    /// Take the server's place.
    Become(BecomeOrder),
}

/// The order for a guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GuardOrder {
    /// The process that the server must not outlive.
    pub(crate) host: Pid,
    /// How long the server may take to end when it is asked to, at most [`GRACE_MAX`].
    pub(crate) grace: Duration,
    /// What says how to settle what the server left, if the host is gone when it ends.
    pub(crate) settle: Option<PathBuf>,
    /// The descriptor on which the host is told of covers that were renewed; without it a cage ends when something
    /// is put in the place of what lies in it.
    pub(crate) renewals: Option<RawFd>,
    pub(crate) hold: HoldOrder,
    pub(crate) invocation: Invocation,
}

/// The order for the process that becomes the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BecomeOrder {
    /// The process that the server must not outlive; `None` where it has another number than the
    /// guard knows itself by, and somebody else sees to it.
    pub(crate) guard: Option<Pid>,
    pub(crate) hold: HoldOrder,
    pub(crate) invocation: Invocation,
}

/// How the server is held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum HoldOrder {
    /// Not at all.
    Free,
    /// In a cage.
    Caged(Box<CageOrder>),
}

/// The order for a cage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CageOrder {
    pub(crate) rung: Rung,
    /// The descriptor over which doors are sent, if there are to be any.
    pub(crate) doors: Option<RawFd>,
    /// Where the server runs, as it will see it.
    pub(crate) directory: PathBuf,
    pub(crate) spec: CageSpec,
    /// What is to be at each path that is seen, for a rung that cannot be sure of it.
    pub(crate) identities: Vec<Identity>,
    /// The descriptor by which the guard is held, for a rung that does not know it as its parent.
    pub(crate) guard: Option<RawFd>,
}

/// What tells a file from all others of the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) file: u64,
}

/// A program and its arguments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Invocation {
    /// What the program is told that it is called.
    pub(crate) name: OsString,
    /// The file.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

impl GuardOrder {
    /// Returns the command line that says this, without the name of our program.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let grace_ms = self.grace.as_millis().to_string();
        let settle = self.settle.clone().map_or_else(|| NOTHING.into(), PathBuf::into_os_string);
        let renewals = self.renewals.map_or_else(|| NOTHING.to_owned(), |fd| fd.to_string());
        let host = number(self.host);
        let head = [LAUNCH.into(), GUARD.into(), host, grace_ms.into(), settle, renewals.into()];
        head.into_iter().chain(self.hold.words()).chain(self.invocation.words()).collect()
    }
}

impl BecomeOrder {
    /// Returns the command line that says this, without the name of our program.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let guard = self.guard.map_or_else(|| NOTHING.into(), number);
        let head = [LAUNCH.into(), BECOME.into(), guard];
        head.into_iter().chain(self.hold.words()).chain(self.invocation.words()).collect()
    }
}

impl HoldOrder {
    fn words(&self) -> Vec<OsString> {
        match self {
            Self::Free => vec![FREE.into()],
            Self::Caged(order) => {
                let doors = order.doors.map_or_else(|| NOTHING.to_owned(), |fd| fd.to_string());
                let directory = order.directory.clone().into_os_string();
                let guard = order.guard.map_or_else(|| NOTHING.to_owned(), |fd| fd.to_string());
                let n_identities = order.identities.len().to_string();
                let rung = order.rung.as_str().into();
                let head = [rung, doors.into(), guard.into(), directory, n_identities.into()];
                let identities = order.identities.iter().flat_map(|it| [it.device, it.file]);
                let identities = identities.map(|number| OsString::from(number.to_string()));
                head.into_iter().chain(identities).chain(order.spec.words()).collect()
            }
        }
    }

    fn read(words: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        let kind = words.next()?;
        if kind == FREE {
            return Some(Self::Free);
        }
        let rung = Rung::by_name(kind.to_str()?)?;
        let mut descriptor = || match words.next()? {
            word if word == NOTHING => Some(None),
            word => Some(Some(read_number(&word)?)),
        };
        let (doors, guard) = (descriptor()?, descriptor()?);
        let directory = words.next()?.into();
        let mut identities = Vec::new();
        for _ in 0..read_number::<usize>(&words.next()?)? {
            let (device, file) = (read_number(&words.next()?)?, read_number(&words.next()?)?);
            identities.push(Identity { device, file });
        }
        let spec = CageSpec::read(words)?;
        Some(Self::Caged(Box::new(CageOrder { rung, doors, directory, spec, identities, guard })))
    }
}

impl Invocation {
    fn words(&self) -> impl Iterator<Item = OsString> {
        let head = [self.name.clone(), self.program.clone().into_os_string()];
        head.into_iter().chain(self.arguments.iter().cloned())
    }

    fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let name = words.next()?;
        let program = words.next()?.into();
        Some(Self { name, program, arguments: words.collect() })
    }
}

impl Order {
    /// Reads the words behind [`LAUNCH`]; `None` if they are nothing that we say.
    pub(crate) fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let kind = words.next()?;
        let parent = match words.next()? {
            word if word == NOTHING => None,
            word => Some(Pid::from_raw(read_number(&word)?)?),
        };
        if kind == GUARD {
            let grace = Duration::from_millis(read_number(&words.next()?)?).min(GRACE_MAX);
            let settle = Some(words.next()?).filter(|it| it != NOTHING).map(PathBuf::from);
            let renewals = match words.next()? {
                word if word == NOTHING => None,
                word => Some(read_number(&word)?),
            };
            let hold = HoldOrder::read(&mut words)?;
            let invocation = Invocation::read(words)?;
            let host = parent?;
            Some(Self::Guard(GuardOrder { host, grace, settle, renewals, hold, invocation }))
        } else if kind == BECOME {
            let hold = HoldOrder::read(&mut words)?;
            let invocation = Invocation::read(words)?;
            Some(Self::Become(BecomeOrder { guard: parent, hold, invocation }))
        } else {
            None
        }
    }
}

fn number(pid: Pid) -> OsString {
    pid.as_raw_nonzero().to_string().into()
}

fn read_number<N: std::str::FromStr>(word: &OsStr) -> Option<N> {
    word.to_str()?.parse().ok()
}

/// Returns `name` as it is called on the way to the server.
pub(crate) fn marked(name: &OsStr) -> OsString {
    let mut marked = vec![MARK];
    marked.extend_from_slice(name.as_bytes());
    OsString::from_vec(marked)
}

/// Returns the variables that were meant for the server; `block` is what `/proc` shows of ours.
///
/// SECURITY: what carries no mark was not written out for the server, and does not reach it.
pub(crate) fn unmarked(block: &[u8]) -> Vec<(OsString, OsString)> {
    let entries = block.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(&[MARK]));
    entries
        .filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = entry.split_at_checked(at)?;
            let value = value.strip_prefix(b"=")?;
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cage::{Limits, Network};

    fn invocation() -> Invocation {
        let arguments = ["", "a b", "--", "__launch", "\n\"'$(x)"].map(OsString::from);
        let odd = OsString::from_vec(vec![0xff, b'=']);
        Invocation {
            name: "tool".into(),
            program: "/usr/bin/tool".into(),
            arguments: arguments.into_iter().chain([odd]).collect(),
        }
    }

    fn caged(doors: Option<RawFd>) -> HoldOrder {
        let spec = CageSpec {
            seen: Vec::new(),
            hidden: Vec::new(),
            absent: Vec::new(),
            placed: Vec::new(),
            links: Vec::new(),
            follows_links: false,
            home: "/home".into(),
            scratch: Some("/scratch".into()),
            network: Network::None,
            unix_sockets: false,
            opens_beneath: false,
            relaxed: Vec::new(),
            limits: Limits::SERVER,
            user: None,
        };
        let directory = "/home/x".into();
        let identities = vec![Identity { device: 1, file: u64::MAX }];
        let rung = Rung::Bubblewrap;
        let guard = doors.map(|doors| doors + 1);
        HoldOrder::Caged(Box::new(CageOrder { rung, doors, directory, spec, identities, guard }))
    }

    #[track_caller]
    fn check(words: Vec<OsString>, expected: Order) {
        let mut words = words.into_iter();
        assert_eq!(words.next().as_deref(), Some(OsStr::new(LAUNCH)));
        assert_eq!(Order::read(words), Some(expected));
    }

    #[test]
    fn orders_are_read_as_they_were_given() {
        let pid = Pid::from_raw(4711).expect("not zero");
        let grace = Duration::from_millis(1500);
        for hold in [HoldOrder::Free, caged(None), caged(Some(7))] {
            for settle in [None, Some(PathBuf::from("/h/a b"))] {
                let (hold, invocation) = (hold.clone(), invocation());
                let renewals = settle.is_some().then_some(9);
                let guard = GuardOrder { host: pid, grace, settle, renewals, hold, invocation };
                check(guard.words(), Order::Guard(guard));
            }
            for guard in [Some(pid), None] {
                let hold = hold.clone();
                let become_server = BecomeOrder { guard, hold, invocation: invocation() };
                check(become_server.words(), Order::Become(become_server));
            }
        }
    }

    #[test]
    fn other_words_are_no_orders() {
        for words in [
            "",
            "guard",
            "guard 1",
            "guard 1 10 - - free name",
            "guard 0 10 - - free name /bin/true",
            "guard - 10 - - free name /bin/true",
            "guard -1x 10 - - free name /bin/true",
            "guard 1 -10 - - free name /bin/true",
            "guard 1 1.5 - - free name /bin/true",
            "guard 1 10 - - loose name /bin/true",
            "guard 1 10 - - namespaces - - / 0 name /bin/true",
            "guard 1 10 - x free name /bin/true",
            "become",
            "become x free name /bin/true",
            "become 1 free name",
            "become 1 name /bin/true",
            "Guard 1 10 - - free name /bin/true",
            "__launch guard 1 10 - - free name /bin/true",
        ] {
            let order = Order::read(words.split(' ').map(OsString::from));
            assert_eq!(order, None, "{words}");
        }
    }

    #[test]
    fn the_environment_comes_out_as_it_went_in() {
        let variables = [("A", ""), ("B", "x=y"), ("LD_PRELOAD", "a b\n"), ("+", "+")];
        let block: Vec<u8> = variables
            .iter()
            .flat_map(|(name, value)| {
                let name = marked(OsStr::new(name)).into_vec();
                [name, b"=".to_vec(), value.as_bytes().to_vec(), vec![0]].concat()
            })
            .collect();
        assert!(!block.starts_with(b"A"), "a name without its mark");
        let expected = variables.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(unmarked(&block), expected);
    }

    #[test]
    fn what_was_not_marked_does_not_reach_the_server() {
        assert_eq!(unmarked(b"HOME=/root\0ANTHROPIC_API_KEY=x\0+nothing\0\0"), []);
    }
}
