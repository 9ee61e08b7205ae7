//! What the host tells the guard, and the guard the server-to-be: words on the command line, and
//! the environment in disguise.
//!
//! ```text
//! host ─▶ guard             __launch guard  <pid of the host>  <grace ms> <name> <program> <argument>…
//! guard ─▶ server-to-be     __launch become <pid of the guard>            <name> <program> <argument>…
//! ```
//!
//! The environment of the server passes through two processes that are this program. So that none
//! of it means anything to them (`LD_PRELOAD` is obeyed before `main` begins), each name carries a
//! mark until the last moment. Nothing here starts, reads or waits.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;

/// The first argument of a launcher; a program that meets it calls [`run_launcher`].
///
/// [`run_launcher`]: crate::run_launcher
pub const LAUNCH: &str = "__launch";

/// The longest grace that anybody is given.
pub(crate) const GRACE_MAX: Duration = Duration::from_mins(1);

const GUARD: &str = "guard";
const BECOME: &str = "become";

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
    pub(crate) invocation: Invocation,
}

/// The order for the process that becomes the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BecomeOrder {
    /// The process that the server must not outlive.
    pub(crate) guard: Pid,
    pub(crate) invocation: Invocation,
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
        let head = [LAUNCH.into(), GUARD.into(), number(self.host), grace_ms.into()];
        head.into_iter().chain(self.invocation.words()).collect()
    }
}

impl BecomeOrder {
    /// Returns the command line that says this, without the name of our program.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let head = [LAUNCH.into(), BECOME.into(), number(self.guard)];
        head.into_iter().chain(self.invocation.words()).collect()
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
        let parent = Pid::from_raw(read_number(&words.next()?)?)?;
        if kind == GUARD {
            let grace = Duration::from_millis(read_number(&words.next()?)?).min(GRACE_MAX);
            let invocation = Invocation::read(words)?;
            Some(Self::Guard(GuardOrder { host: parent, grace, invocation }))
        } else if kind == BECOME {
            let invocation = Invocation::read(words)?;
            Some(Self::Become(BecomeOrder { guard: parent, invocation }))
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

    fn invocation() -> Invocation {
        let arguments = ["", "a b", "--", "__launch", "\n\"'$(x)"].map(OsString::from);
        let odd = OsString::from_vec(vec![0xff, b'=']);
        Invocation {
            name: "tool".into(),
            program: "/usr/bin/tool".into(),
            arguments: arguments.into_iter().chain([odd]).collect(),
        }
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
        let guard = GuardOrder { host: pid, grace, invocation: invocation() };
        check(guard.words(), Order::Guard(guard));
        let become_server = BecomeOrder { guard: pid, invocation: invocation() };
        check(become_server.words(), Order::Become(become_server));
    }

    #[test]
    fn other_words_are_no_orders() {
        for words in [
            "",
            "guard",
            "guard 1",
            "guard 1 10 name",
            "guard 0 10 name /bin/true",
            "guard -1x 10 name /bin/true",
            "guard 1 -10 name /bin/true",
            "guard 1 1.5 name /bin/true",
            "become",
            "become x name /bin/true",
            "become 1 name",
            "Guard 1 10 name /bin/true",
            "__launch guard 1 10 name /bin/true",
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
