//! A caged child before it is started: what the cage must show so that the program runs at all.
//!
//! It looks at the program's file, and at what the rung can and cannot do; it makes nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{ChildSpec, OURSELVES, StartError};
use crate::cage::{Access, CageSpec, Link, Network, Placed, Seen};
use crate::launch::cage::system::is_shown;
use crate::orders::CageOrder;
use crate::program::{FindError, find_program};
use crate::rung::Rung;

/// A child that is to be caged.
pub(super) struct Caged {
    pub(super) program: PathBuf,
    /// What the cage adds to the environment.
    pub(super) variables: Vec<(&'static str, OsString)>,
    pub(super) order: CageOrder,
}

impl Caged {
    pub(super) fn new(rung: Rung, cage: &CageSpec, spec: &ChildSpec) -> Result<Self, StartError> {
        check_seen(cage)?;
        check_rung(rung, cage)?;
        let mut cage = cage.clone();
        if rung.can_hide() {
            pin_the_way(&mut cage);
        }
        let (home, temporary) = match rung {
            Rung::Namespaces | Rung::Bubblewrap => (cage.home.clone(), PathBuf::from("/tmp")),
            Rung::Landlock => {
                let place = cage.scratch.clone().unwrap_or_else(|| PathBuf::from("/"));
                (place.clone(), place)
            }
        };
        let directory = spec.directory.clone().unwrap_or_else(|| home.clone());
        if !directory.is_absolute() {
            return Err(StartError::RelativeDirectory { directory });
        }
        let program = find_program(&spec.program, &directory, &spec.environment)?;
        if program != Path::new(OURSELVES) {
            show_program(&mut cage, &program)?;
        }
        Ok(Self {
            program,
            variables: vec![("HOME", home.into()), ("TMPDIR", temporary.into())],
            order: CageOrder {
                rung,
                doors: None,
                guard: None,
                directory,
                spec: cage,
                identities: Vec::new(),
            },
        })
    }
}

/// Refuses to show what would be a door.
fn check_seen(cage: &CageSpec) -> Result<(), StartError> {
    for Seen { path, .. } in &cage.seen {
        if !CageSpec::can_show(path) {
            return Err(StartError::Seen { path: path.clone() });
        }
    }
    for (position, Placed { from, at, .. }) in cage.placed.iter().enumerate() {
        // SECURITY: a place of its own could be something that no cage shows.
        let is_written = |seen: &Seen| seen.access == Access::Write && at.starts_with(&seen.path);
        let mut before = cage.placed.iter().take(position);
        let is_within = |placed: &Placed| at.starts_with(&placed.at);
        let is_there = cage.seen.iter().any(is_written) || before.any(is_within);
        if !CageSpec::can_show(from) || !CageSpec::can_show(at) || !is_there {
            return Err(StartError::Seen { path: at.clone() });
        }
    }
    Ok(())
}

/// Makes every directory on the way from something written to what is kept or hidden in it a part of
/// its own.
///
/// SECURITY: the place of such a part cannot be renamed in the cage. Without this its parent could be
/// moved aside, with what is hidden in it, and another one be made in its stead.
fn pin_the_way(cage: &mut CageSpec) {
    let access = |path: &Path| {
        let above = cage.seen.iter().filter(|seen| path.starts_with(&seen.path));
        above.max_by_key(|seen| seen.path.components().count()).map(|seen| seen.access)
    };
    let kept = cage.seen.iter().filter(|seen| seen.access == Access::Read).map(|seen| &seen.path);
    let mut pins: Vec<PathBuf> = Vec::new();
    for path in cage.hidden.iter().chain(kept) {
        let on_the_way = path.ancestors().skip(1).take_while(|above| {
            cage.seen.iter().any(|seen| *above != seen.path && above.starts_with(&seen.path))
        });
        for above in on_the_way.filter(|above| access(above) == Some(Access::Write)) {
            if !pins.iter().any(|pin| pin == above) {
                pins.push(above.to_owned());
            }
        }
    }
    pins.retain(|pin| cage.seen.iter().all(|seen| seen.path != *pin));
    cage.seen.extend(pins.into_iter().map(|path| Seen { path, access: Access::Write }));
}

/// Refuses what the rung cannot do, so that nothing is believed to be held that is not.
fn check_rung(rung: Rung, cage: &CageSpec) -> Result<(), StartError> {
    let cannot = |what: String| Err(StartError::Rung { rung, what });
    let Network::Doors { ports, addresses } = &cage.network else {
        return check_hiding(rung, cage);
    };
    if !rung.has_network() {
        return cannot("reach other machines".to_owned());
    }
    if Network::PORTS_MAX < ports.len() || Network::ADDRESSES_MAX < addresses.len() {
        return cannot(format!(
            "have more than {} ports or {} addresses",
            Network::PORTS_MAX,
            Network::ADDRESSES_MAX
        ));
    }
    check_hiding(rung, cage)
}

fn check_hiding(rung: Rung, cage: &CageSpec) -> Result<(), StartError> {
    let cannot = |what: String| Err(StartError::Rung { rung, what });
    if rung.can_hide() {
        return Ok(());
    }
    if let Some(placed) = cage.placed.first() {
        return cannot(format!("show another directory at `{}`", placed.at.display()));
    }
    if cage.unix_sockets {
        // SECURITY: nothing but the missing sockets keeps it from those of the host.
        return cannot("have Unix sockets".to_owned());
    }
    let contains = |path: &Path| cage.seen.iter().find(|seen| path.starts_with(&seen.path));
    if let Some(hidden) = cage.hidden.iter().find(|path| contains(path).is_some()) {
        return cannot(format!("hide `{}`", hidden.display()));
    }
    // What may be written above may be written below.
    let is_within_written = |path: &Path| {
        let is_above = |it: &Seen| it.path != *path && path.starts_with(&it.path);
        cage.seen.iter().any(|it| it.access == Access::Write && is_above(it))
    };
    let read = cage.seen.iter().filter(|seen| seen.access == Access::Read);
    match read.map(|seen| &seen.path).find(|path| is_within_written(path)) {
        Some(path) => cannot(format!("keep `{}` from being written", path.display())),
        None => Ok(()),
    }
}

/// Puts the file of the program into the cage, with the name that it is known by.
fn show_program(cage: &mut CageSpec, program: &Path) -> Result<(), StartError> {
    #[expect(clippy::disallowed_methods, reason = "a file that the user has named as a program")]
    let file = std::fs::canonicalize(program)
        .map_err(|_| FindError::Absent { file: program.to_owned() })?;
    if file != program {
        cage.links.push(Link { at: program.to_owned(), to: file.clone() });
    }
    // Where the directory is seen, so is the file, with the rights that were written out for it.
    let is_seen = |seen: &Seen| file.starts_with(&seen.path);
    if !cage.seen.iter().any(is_seen) && !is_shown(&file) {
        cage.seen.push(Seen { path: file, access: Access::Read });
    }
    Ok(())
}
