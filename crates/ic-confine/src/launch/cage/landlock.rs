//! Landlock: which files the server may open, and whom it may reach, as rules of the kernel.
//!
//! In namespaces this is the second barrier, behind the assembled root; without them it is the only
//! one. It does not know which files are there: a rule for what is not there is left out.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    Scope,
};
use rustix::fd::OwnedFd;
use rustix::fs::FileType;

use super::super::LaunchError;
use super::{has_own_places, hold_seen, system};
use crate::cage::{Access, Relaxation, Seen};
use crate::orders::CageOrder;
use crate::rung::Rung;
use crate::sys;

/// The first version that keeps signals and abstract sockets apart, without which it is not enough
/// alone.
const ALONE_MIN: i32 = 6;

/// Restricts this process and all that it will start.
pub(super) fn restrict(order: &CageOrder, program: Option<&OwnedFd>) -> Result<(), LaunchError> {
    let version = sys::landlock_version();
    let needed = if order.rung == Rung::Landlock { ALONE_MIN } else { 1 };
    if version < needed {
        return Err(LaunchError::Landlock { version, needed });
    }
    let seen = order.spec.seen.iter().map(Held::new).collect::<Result<Vec<_>, _>>()?;
    let rules = Rules::of(order, ABI::from(version), &seen, program);
    let status = rules.and_then(Rules::apply).map_err(LaunchError::Ruleset)?;
    // SECURITY: the library does what it can, and says whether that was all.
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(LaunchError::Landlock { version, needed })
        }
    }
}

/// Something that is seen, held.
struct Held {
    file: OwnedFd,
    kind: FileType,
    access: Access,
}

impl Held {
    fn new(seen: &Seen) -> Result<Self, LaunchError> {
        let (file, kind) = hold_seen(&seen.path)?;
        Ok(Self { file, kind, access: seen.access })
    }
}

type Fallible<T> = Result<T, landlock::RulesetError>;

struct Rules {
    abi: ABI,
    ruleset: RulesetCreated,
}

impl Rules {
    fn of(order: &CageOrder, abi: ABI, seen: &[Held], program: Option<&OwnedFd>) -> Fallible<Self> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))?;
        // Where there are doors, the cage has a network of its own, and the doors are all there is.
        if !order.spec.network.has_doors() && !AccessNet::from_all(abi).is_empty() {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
        }
        if !Scope::from_all(abi).is_empty() {
            ruleset = ruleset.scope(Scope::from_all(abi))?;
        }
        let rules = Self { abi, ruleset: ruleset.create()? };
        let rules = rules.system(order)?.spec(seen, order)?;
        match program {
            Some(program) => rules.allow_file(program),
            None => Ok(rules),
        }
    }

    fn apply(self) -> Fallible<landlock::RestrictionStatus> {
        self.ruleset.restrict_self()
    }

    fn system(mut self, order: &CageOrder) -> Fallible<Self> {
        let abi = self.abi;
        for path in system::DIRECTORIES.into_iter().chain(system::OPTIONAL_DIRECTORIES) {
            self = self.allow(Path::new(path), reading(abi))?;
        }
        for name in system::ETC {
            self = self.allow(&Path::new("/etc").join(name), reading(abi))?;
        }
        for name in system::DEVICES {
            let access = AccessFs::ReadFile | AccessFs::WriteFile;
            self = self.allow(&Path::new("/dev").join(name), access)?;
        }
        for name in system::PROC {
            self = self.allow(&Path::new("/proc").join(name), AccessFs::ReadFile.into())?;
        }
        for name in system::MADE_ETC {
            self = self.allow(&Path::new("/etc").join(name), AccessFs::ReadFile.into())?;
        }
        if has_own_places(order.rung) {
            // Of the assembled root nothing is a secret but what is in it.
            self = self.allow(Path::new("/"), AccessFs::ReadDir.into())?;
            // SECURITY: what bubblewrap shows there also tells of the host.
            let proc = if order.rung == Rung::Bubblewrap { "/proc/self" } else { "/proc" };
            self = self.allow(Path::new(proc), AccessFs::ReadDir | AccessFs::ReadFile)?;
            for path in [Path::new("/tmp"), Path::new("/dev/shm"), &order.spec.home] {
                self = self.allow(path, writing(abi, order))?;
            }
            Ok(self)
        } else {
            // What the server is told of itself; what it starts is told nothing.
            let listing = AccessFs::ReadDir | AccessFs::ReadFile;
            self = self.allow(Path::new("/proc/self"), listing)?;
            match &order.spec.scratch {
                Some(scratch) => self.allow(scratch, writing(abi, order)),
                None => Ok(self),
            }
        }
    }

    fn spec(mut self, seen: &[Held], order: &CageOrder) -> Fallible<Self> {
        for Held { file, kind, access } in seen {
            let access = match access {
                Access::Read => reading(self.abi),
                Access::Write => writing(self.abi, order),
            };
            self = self.allow_opened(file, *kind == FileType::Directory, access)?;
        }
        Ok(self)
    }

    fn allow(self, path: &Path, access: BitFlags<AccessFs>) -> Fallible<Self> {
        match PathFd::new(path) {
            Ok(opened) => self.allow_opened(&opened, is_directory(path), access),
            // What is not there needs no rule; what cannot be opened gets none.
            Err(_) => Ok(self),
        }
    }

    fn allow_file(self, program: &OwnedFd) -> Fallible<Self> {
        self.allow_opened(program, false, AccessFs::Execute | AccessFs::ReadFile)
    }

    fn allow_opened(
        self,
        opened: impl std::os::fd::AsFd,
        is_directory: bool,
        access: BitFlags<AccessFs>,
    ) -> Fallible<Self> {
        // The kernel refuses a rule for a file that speaks of what only directories have.
        let access = match is_directory {
            true => access,
            false => access & AccessFs::from_file(self.abi),
        };
        let ruleset = self.ruleset.add_rule(PathBeneath::new(opened, access))?;
        Ok(Self { ruleset, ..self })
    }
}

fn reading(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_read(abi)
}

/// SECURITY: what can be written holds no devices, and is not run unless the cage lets it.
fn writing(abi: ABI, order: &CageOrder) -> BitFlags<AccessFs> {
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    // Where Landlock stands alone nobody has sockets.
    let has_sockets = order.spec.unix_sockets && order.rung != Rung::Landlock;
    let sockets = match has_sockets {
        true => BitFlags::EMPTY,
        false => AccessFs::MakeSock | AccessFs::ResolveUnix,
    };
    let runs = match order.spec.is_relaxed(Relaxation::RunsWritten) {
        true => BitFlags::EMPTY,
        false => BitFlags::from(AccessFs::Execute),
    };
    AccessFs::from_all(abi) & !(never | sockets | runs)
}

fn is_directory(path: &Path) -> bool {
    rustix::fs::stat(path)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
