//! The rungs: the ways in which a cage can be made, strongest first.
//!
//! Whether a rung works on this machine is found out by doing it, in `probe`.

use std::fmt;

/// A way to make a cage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rung {
    /// Namespaces of our own making, with Landlock and seccomp inside.
    Namespaces,
    /// Namespaces that bubblewrap makes, with Landlock and seccomp inside.
    Bubblewrap,
    /// Landlock and seccomp alone, in the host's namespaces: nothing is hidden but by refusal, and
    /// there is no network at all.
    Landlock,
}

impl Rung {
    /// Every rung, strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Bubblewrap, Self::Landlock];

    /// Returns the name under which records and people know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }

    /// Returns whether a cage of this rung can reach other machines through the host.
    pub fn has_network(self) -> bool {
        match self {
            Self::Namespaces | Self::Bubblewrap => true,
            Self::Landlock => false,
        }
    }

    /// Returns whether a cage of this rung can hide something that lies in what it sees.
    pub fn can_hide(self) -> bool {
        match self {
            Self::Namespaces | Self::Bubblewrap => true,
            Self::Landlock => false,
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.as_str() == name)
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
