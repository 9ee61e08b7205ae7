//! What a caged child sees and may do: plain data, the same for every rung.
//!
//! A cage begins with the system's programs and libraries, a few harmless files of `/etc`, some
//! devices, an empty home and an empty `/tmp`; the spec says what is there besides. Nothing is opened
//! here, and how a rung keeps the promise is not known here.

mod words;

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

/// What a caged child sees and may do.
///
/// There is no `Default`: what is not written out is not there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CageSpec {
    /// What it sees of the host's files besides the system's own; of those that contain a path, the
    /// deepest decides.
    pub seen: Vec<Seen>,
    /// What it does not see although it lies in what is seen: neither read nor written.
    pub hidden: Vec<PathBuf>,
    /// What would be hidden if it were there; the child is ended when one of these appears.
    pub absent: Vec<PathBuf>,
    /// Directories of the host that stand where the child would otherwise see another one.
    pub placed: Vec<Placed>,
    /// Further names for what is seen, since a person may have written a path with links in it.
    pub links: Vec<Link>,
    /// Whether symbolic links that lie in what is seen are followed.
    ///
    /// If not, they can be read, made and removed, and lead nowhere. SECURITY: namespaces hold this on
    /// Linux 5.14 and later, but for what holds or lies in what every cage shows; elsewhere links are
    /// followed, as far as the cage shows where they lead.
    pub follows_links: bool,
    /// Where its home is: an empty directory, whatever the host has there.
    pub home: PathBuf,
    /// An empty directory of this child alone, on the host. It is the child's home and its place for
    /// temporary files where a rung cannot make such places; without it there are none then.
    pub scratch: Option<PathBuf>,
    /// How it reaches other machines.
    pub network: Network,
    /// Whether it may make and connect to Unix sockets in what it sees.
    pub unix_sockets: bool,
    /// Whether there is `openat2`, which our own servers open files with beneath a directory.
    ///
    /// SECURITY: with it files can be made that run with the rights of their owner, since nobody sees the
    /// mode that they are made with. So it is for programs of ours.
    pub opens_beneath: bool,
    /// What it may do that an MCP server may not.
    pub relaxed: Vec<Relaxation>,
    /// How much it may use.
    pub limits: Limits,
    /// Who its processes are, if we are root.
    pub user: Option<CageUser>,
}

/// The user that everything in a cage is, where root made it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CageUser {
    /// Its number, which is not root's.
    pub user: u32,
    /// The number of its only group.
    pub group: u32,
    /// What it has as its own, with all that is in it, though somebody else owns it on the disk.
    pub owns: Vec<PathBuf>,
}

/// What the programs of an agent may do that an MCP server may not, each for the reason that it has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relaxation {
    /// What can be written can be run: compilers, package managers and tests run what they have just made.
    /// It gains no rights by that (`nosuid`), and no devices (`nodev`).
    RunsWritten,
    /// Files in memory (`memfd_create`): JavaScript engines and loaders map code from them. The guard counts
    /// them as memory.
    MemoryFiles,
    /// Memory is limited for all processes together: runtimes reserve far more than they use, so a limit for
    /// each process ends programs that use little.
    MemoryTogether,
}

/// A file or directory of the host that is in a cage, at the same place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Seen {
    /// Where it is: absolute, without links. If a link is on the way after all, the child is not
    /// started.
    pub path: PathBuf,
    /// What may be done with it.
    pub access: Access,
}

/// A directory of the host that stands in the place of another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placed {
    /// Where it is on the host: absolute, without links.
    pub from: PathBuf,
    /// Where the child sees it: in something that is seen to be written, or in something placed before it.
    pub at: PathBuf,
    /// What may be done with it.
    pub access: Access,
}

/// What may be done with a file, or with a directory and all that is in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// It is read, and programs in it are run.
    Read,
    /// It is read and written, and no program in it is run.
    Write,
}

/// A symbolic link that is made for a cage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Where it is.
    pub at: PathBuf,
    /// Where it leads.
    pub to: PathBuf,
}

/// How a cage reaches other machines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Network {
    /// Not at all; not even sockets can be made.
    None,
    /// By the host, which listens on sockets in the cage's own network.
    Doors {
        /// The ports on which connections are taken; at most [`Network::PORTS_MAX`].
        ports: Vec<u16>,
        /// Addresses that the cage's network has as its own, so that connections to them arrive; at
        /// most [`Network::ADDRESSES_MAX`].
        addresses: Vec<IpAddr>,
    },
}

/// How much a child and all that it starts may use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Processes and threads at once.
    pub tasks_max: u32,
    /// Bytes of memory of each process; all of them together are held to twice as much. With
    /// [`Relaxation::MemoryTogether`], bytes of all of them together.
    pub memory_bytes_max: u64,
    /// Bytes in the home and in `/tmp` together, which are memory too.
    pub scratch_bytes_max: u64,
    /// Bytes of one file.
    pub file_bytes_max: u64,
    /// Open descriptors of each process.
    pub descriptors_max: u32,
    /// Bytes that are to be left on each disk that it may write, if more were when it was started.
    pub disk_bytes_left_min: u64,
}

/// What no cage shows, nor anything in it: the kernel, devices, other people's sockets.
const DOORS: [&str; 4] = ["/proc", "/sys", "/dev", "/run/user"];
/// What no cage shows as a whole, since there are doors in it, or others than those who are meant.
const WITH_DOORS: [&str; 5] = ["/run", "/var", "/var/run", "/etc", "/home"];

impl CageSpec {
    /// Returns whether a cage can show `path` at all; the root would be everything.
    ///
    /// To be asked before somebody relies on it: a child whose cage is to show anything else is not
    /// started.
    pub fn can_show(path: &Path) -> bool {
        let is_plain =
            path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_door = path.parent().is_none()
            || DOORS.iter().any(|door| path.starts_with(door))
            || WITH_DOORS.iter().any(|door| path == Path::new(door));
        path.is_absolute() && is_plain && !is_door
    }
}

impl Network {
    /// The most ports.
    pub const PORTS_MAX: usize = 64;
    /// The most addresses.
    pub const ADDRESSES_MAX: usize = 64;
}

impl Relaxation {
    /// What an agent gets, and its shell.
    pub const AGENT: [Self; 3] = [Self::RunsWritten, Self::MemoryFiles, Self::MemoryTogether];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::RunsWritten => "runs-written",
            Self::MemoryFiles => "memory-files",
            Self::MemoryTogether => "memory-together",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::AGENT.into_iter().find(|it| it.as_str() == name)
    }
}

impl CageSpec {
    pub(crate) fn is_relaxed(&self, relaxation: Relaxation) -> bool {
        self.relaxed.contains(&relaxation)
    }
}

impl Limits {
    /// What an MCP server gets: enough for the hungriest that we know, too little to hurt.
    pub const SERVER: Self = Self {
        tasks_max: 512,
        memory_bytes_max: 4 << 30,
        scratch_bytes_max: 512 << 20,
        file_bytes_max: 4 << 30,
        descriptors_max: 1024,
        disk_bytes_left_min: 0,
    };

    /// What an agent gets, with all that it starts; the settings may say otherwise.
    pub const AGENT: Self = Self {
        tasks_max: 512,
        memory_bytes_max: 4 << 30,
        scratch_bytes_max: 1 << 30,
        file_bytes_max: 16 << 30,
        descriptors_max: 4096,
        disk_bytes_left_min: 256 << 20,
    };
}
