//! A server of the user's own, copied to where no agent writes: `servers add NAME --from DIR -- COMMAND…`.
//!
//! The copy is pinned by the digest of all that is in it, and the command is rewritten to run from there. What
//! changes in the directory afterwards changes nothing in the server; adding it again takes it over.

use std::path::{Path, PathBuf};

use ic_home::remove_tree;
use ic_home::tree::{TreeLinks, copy_tree};
use ic_inventory::pins::PACKAGE_LIMITS;
use ic_types::ServerName;

use super::{Installed, Site, place, text, write_record};
use crate::error::Failure;
use crate::installer::{is_of_the_system, real_path};
use crate::screen::{Screen, visible};

/// What is not part of a server.
const LEFT_OUT: [&str; 3] = [".git", ".hg", ".svn"];
/// The name of the copy while it is made.
const COPY: &str = "copy";

/// A command line and variables in which every path in the directory means the copy.
#[derive(Debug)]
struct Moved<'a> {
    /// Where the user is.
    current: &'a Path,
    /// The directory as it was named, and as it really is.
    named: &'a Path,
    real: &'a Path,
    place: &'a Path,
}

/// Copies the directory `from` for the server `name`, and rewrites `command` and `env` to run from the copy.
pub(in super::super) fn copy(
    from: &Path,
    name: &ServerName,
    (command, env): (&[String], &[(String, String)]),
    site: Site<'_>,
    screen: &mut Screen,
) -> Result<Installed, Failure> {
    let current = site.environment.absolute(Path::new("."))?.as_path().to_owned();
    let named = site.environment.absolute(from)?.as_path().to_owned();
    let real = real_path(&named)?;
    let ours = real_path(&site.home.root())?;
    let user = real_path(site.environment.home()?.as_path())?;
    if ours.starts_with(&real)
        || real.starts_with(&ours)
        || user.starts_with(&real)
        || is_of_the_system(&real)
    {
        return Err(Failure::usage(format!(
            "`{}` is not the directory of a server",
            real.display()
        ))
        .with_hint("name the directory in which the server itself lies"));
    }
    screen.notice(&format!("copying {} …", visible(&real.display().to_string())));
    let (own, kept) = site.prepare(name)?;
    let made = kept.path().join(COPY);
    let is_left_out = |name: &std::ffi::OsStr| LEFT_OUT.iter().any(|it| name == *it);
    let copied = copy_tree(&real, &made, (PACKAGE_LIMITS, TreeLinks::KeepInside), &is_left_out);
    let copied = copied.map_err(|error| {
        Failure::environment(format!("cannot copy `{}`", real.display())).with_source(error).with_hint(
            "a server that is copied has files, directories and links inside of its directory, and nothing else",
        )
    })?;
    let digest = copied.digest.to_string();
    let place = place(&own, &digest);
    remove_tree(&place)?;
    // Only the copy stays; what it was made in goes.
    rename(&made, &place)?;
    drop(kept);
    let shown = text(&real)?;
    write_record(&own, [("ecosystem", "directory"), ("package", &shown), ("pinned", &digest)])?;
    let moved = Moved { current: &current, named: &named, real: &real, place: &place };
    let mut words =
        command.iter().map(|word| moved.word(word)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let program = words.next().ok_or_else(|| Failure::usage("no command is given"))?;
    let env = env.iter().map(|(name, value)| Ok((name.clone(), moved.word(value)?)));
    Ok(Installed {
        command: program,
        args: words.collect(),
        env: env.collect::<Result<_, Failure>>()?,
        directory: Some(text(&place)?),
        allow_read: Vec::new(),
        what: format!(
            "a copy of {shown} with {}",
            ic_types::counted(copied.n_entries, "file or directory", "files and directories")
        ),
    })
}

/// Gives the copy its place, in a directory of ours.
fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    rustix::fs::rename(from, to).map_err(|error| {
        Failure::environment(format!("cannot keep `{}`", to.display())).with_source(error)
    })
}

impl Moved<'_> {
    /// Returns a word in which a path in the directory is one in the copy.
    fn word(&self, word: &str) -> Result<String, Failure> {
        if let Some(path) = self.path(word) {
            return text(&path);
        }
        // `--config=PATH`
        match word.split_once('=') {
            Some((option, value)) => match self.path(value) {
                Some(path) => Ok(format!("{option}={}", text(&path)?)),
                None => Ok(word.to_owned()),
            },
            None => Ok(word.to_owned()),
        }
    }

    /// Returns where in the copy the path is that `text` names.
    fn path(&self, text: &str) -> Option<PathBuf> {
        if text.is_empty() || text.starts_with('-') || text.contains("${") {
            return None;
        }
        // `node server.js` in the directory itself, or from above it.
        let inside = self.place.join(text);
        if Path::new(text).is_relative()
            && (text.contains('/') || text.contains('.'))
            && is_there(&inside)
        {
            return (!text.split('/').any(|part| part == "..")).then_some(inside);
        }
        let whole = self.current.join(text);
        let is_path = text.contains('/') || is_there(&whole);
        let below = |root: &Path| Some(self.place.join(whole.strip_prefix(root).ok()?));
        is_path
            .then(|| below(self.named).or_else(|| below(self.real)))?
            .filter(|path| is_there(path))
    }
}

fn is_there(path: &Path) -> bool {
    real_path(path).is_ok()
}
