//! The last look at what a server may write, kept beneath the home as long as the server runs.
//!
//! ```text
//! locks/    writers-1234-0-5.look          what counted, and what was in it; first its digest
//!           writers-1234-0-5.look.guard    locked by the server's guard, and while things are put back
//! ```
//!
//! A session that is killed cannot look any more. The guard of the server outlives it, ends the server and
//! runs [`settle`]; if that was killed too, the next session that is opened does the same before anything is
//! served. What is found to be damaged is not guessed at: no session is opened until a person has looked.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use ic_confine::GUARD_SUFFIX;
use ic_home::{FileError, Lock, file};
use ic_policy::{Bounds, HomeExecutes, Reach, Sandbox, SandboxKind};
use ic_resolve::{Disk as _, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath, Digest, ServerName};
use serde::{Deserialize, Serialize};

use super::put_back::{PutBack, Settled, put_back};
use super::survey::written::{path_of, paths_of, text_of};
use super::survey::{Rules, Survey, WrittenSurvey};
use super::{Ground, Kept};

/// How the files end.
pub(crate) const LOOK_SUFFIX: &str = ".look";
/// The lock that is held while things are put back.
const SETTLING: &str = "settling.lock";
/// The longest one: what is remembered of all files, one and a half times.
const BYTES_MAX: u64 = 32 << 20;
/// How much later than its guard last saw it a server may have written something, in seconds.
const GRACE_S: i64 = 60;
const VERSION: u32 = 1;

/// Whose look it is, and by which rules.
pub(crate) struct Of<'a> {
    pub(crate) server: &'a ServerName,
    pub(crate) bounds: &'a Bounds,
    pub(crate) home: &'a AbsolutePath,
    pub(crate) quarantine: &'a Path,
}

/// What is in the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    server: String,
    quarantine: String,
    home: String,
    roots: Vec<String>,
    borders: Vec<String>,
    elsewhere: Vec<String>,
    /// The directory of the session whose files the host uses, if there is one.
    workspace: Option<String>,
    /// What the home runs, and whether all beneath it counts.
    home_executes: Vec<(String, bool)>,
    survey: WrittenSurvey,
    /// What was put back already, and nobody told a person yet.
    told: Option<String>,
}

/// What came of a session that was killed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) server: ServerName,
    /// What was put back, in words.
    pub(crate) told: String,
}

/// Why the servers of a session cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// Nobody can say what a server of a killed session left.
    #[error(
        "`{}` is damaged: it says what a third-party server could have changed when its session was killed. \
         Look over the directories that it may write for new hooks, start-up files and links, then remove the \
         file", .0.display()
    )]
    Damaged(PathBuf),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes what was seen; `kept` remembers where.
pub(crate) fn keep(kept: &Kept, survey: &Survey, of: &Of<'_>) -> Result<(), FileError> {
    let Some(path) = kept.look.get() else { return Ok(()) };
    let texts = |paths: &[CanonicalPath]| paths.iter().map(|it| text_of(it.as_path())).collect();
    let Ground { roots, borders, elsewhere } = &kept.ground;
    let workspace = of.bounds.sandbox.as_ref().filter(|it| it.kind.is_used_by_host());
    let home_executes = of.bounds.home_executes.iter();
    let written = Written {
        version: VERSION,
        server: of.server.to_string(),
        quarantine: text_of(of.quarantine),
        home: text_of(of.home.as_path()),
        roots: texts(roots),
        borders: texts(borders),
        elsewhere: texts(elsewhere),
        workspace: workspace.map(|it| text_of(it.path.as_path())),
        home_executes: home_executes
            .map(|it| (text_of(it.path.as_path()), it.reach == Reach::Beneath))
            .collect(),
        survey: survey.written(),
        told: None,
    };
    write(path, &written)
}

/// Removes what was written, once nothing of the server is left and all is as it was.
pub(crate) fn forget(kept: &Kept) {
    if let Some(path) = kept.look.get() {
        remove(path);
    }
}

fn remove(path: &Path) {
    // The lock first: without the file it guards it means nothing, and the other way round it does.
    file::remove(guard_of(path)).ok();
    file::remove(path).ok();
}

/// Returns where the lock beside a look is.
pub(crate) fn guard_of(look: &Path) -> PathBuf {
    let mut path = OsString::from(look);
    path.push(GUARD_SUFFIX);
    path.into()
}

fn write(path: &Path, written: &Written) -> Result<(), FileError> {
    let text = serde_json::to_string(written).unwrap_or_default();
    let digest = Digest::of(text.as_bytes());
    file::replace(path, format!("{digest}\n{text}").as_bytes())
}

fn read(path: &Path) -> Result<Option<Written>, NotOpened> {
    let Some(bytes) = file::read_own(path, BYTES_MAX)? else { return Ok(None) };
    let damaged = || NotOpened::Damaged(path.to_owned());
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let (digest, text) = text.split_once('\n').ok_or_else(damaged)?;
    if Digest::of(text.as_bytes()).to_string() != digest {
        return Err(damaged());
    }
    let written: Written = serde_json::from_str(text).map_err(|_| damaged())?;
    if written.version == VERSION { Ok(Some(written)) } else { Err(damaged()) }
}

/// Puts back what a server left whose session was killed, and notes it for the next session; whoever calls
/// holds the lock, and nothing of the server is left.
pub(crate) fn settle(path: &Path) -> Result<(), NotOpened> {
    let Some(mut written) = read(path)? else { return Ok(()) };
    if written.told.is_some() {
        return Ok(());
    }
    let damaged = || NotOpened::Damaged(path.to_owned());
    // Two servers may have written in the same place.
    let _alone = Lock::acquire(path.with_file_name(SETTLING))?;
    let done = written.put_back(path).ok_or_else(damaged)?;
    if done.is_empty() {
        remove(path);
        return Ok(());
    }
    written.told = Some(done.told_in_full(&written.server));
    Ok(write(path, &written)?)
}

/// Settles what a server left whose session was killed, for the guard that was told to; the words are those
/// behind [`SETTLE`](ic_confine::SETTLE).
///
/// Nobody reads what it says: what goes wrong is found again when the next session is opened.
pub fn run_settling(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    match words.next().map(|file| settle(Path::new(&file))) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(_)) | None => ExitCode::FAILURE,
    }
}

/// Returns whether the server was started: its guard makes the lock before.
pub(crate) fn was_started(look: &Path) -> Result<bool, NotOpened> {
    match RealDisk.look(&guard_of(look)) {
        Ok(found) => Ok(found.is_some()),
        Err(_) => Err(NotOpened::Damaged(look.to_owned())),
    }
}

/// Forgets what was seen for a server that was never started.
pub(crate) fn drop_unused(look: &Path) {
    remove(look);
}

/// Takes what was found of a session that was killed; the same conditions hold as for [`settle`].
pub(crate) fn take(path: &Path) -> Result<Option<Found>, NotOpened> {
    settle(path)?;
    let Some(written) = read(path)? else { return Ok(None) };
    let (Some(told), Ok(server)) = (written.told, written.server.parse()) else {
        return Err(NotOpened::Damaged(path.to_owned()));
    };
    remove(path);
    Ok(Some(Found { server, told }))
}

impl Written {
    /// Compares with what is there now, and puts it back; nothing if it is not what we write.
    fn put_back(&self, path: &Path) -> Option<PutBack> {
        let ground = Ground {
            roots: paths_of(&self.roots)?,
            borders: paths_of(&self.borders)?,
            elsewhere: paths_of(&self.elsewhere)?,
        };
        let survey = Arc::new(Survey::read(&self.survey, &RealDisk)?);
        let home = AbsolutePath::new(path_of(&self.home)?.as_path()).ok()?;
        let workspace = match &self.workspace {
            Some(path) => Some(Sandbox { path: path_of(path)?, kind: SandboxKind::Workspace }),
            None => None,
        };
        let executes = |(path, is_beneath): &(String, bool)| {
            let reach = if *is_beneath { Reach::Beneath } else { Reach::Itself };
            Some(HomeExecutes { path: path_of(path)?, reach })
        };
        let bounds = Bounds {
            sandbox: workspace,
            protected: Vec::new(),
            home_executes: self.home_executes.iter().map(executes).collect::<Option<_>>()?,
            servers: HashMap::new(),
        };
        let rules = Rules { bounds: &bounds, home: &home, orders: None };
        let kept = Kept {
            ground,
            covers: HashMap::new(),
            foreign: BTreeSet::new(),
            at_start: Arc::clone(&survey),
            look: OnceLock::new(),
        };
        let quarantine = path_of(&self.quarantine)?;
        let mut settled = Settled::since(last_seen(path).map(|last| last + GRACE_S));
        Some(put_back(&Arc::new(kept), &survey, (rules, quarantine.as_path()), &mut settled))
    }
}

/// Returns when the guard of a server last saw it.
fn last_seen(look: &Path) -> Option<i64> {
    let entry = RealDisk.look(&guard_of(look)).ok().flatten()?;
    Some(entry.state.modified_s)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make files")]

    use std::time::{Duration, SystemTime};

    use super::*;

    /// Writes the look of a server that saw nothing in `ws`, and returns where it is.
    fn looked(place: &Path) -> PathBuf {
        let path = |name: &str| CanonicalPath::new(place.join(name)).unwrap();
        std::fs::create_dir_all(place.join("ws")).unwrap();
        let ground = Ground { roots: vec![path("ws")], borders: Vec::new(), elsewhere: Vec::new() };
        let look = OnceLock::from(place.join("a.look"));
        let (covers, foreign, at_start) = Default::default();
        let kept = Kept { ground, covers, foreign, at_start, look };
        let workspace = Sandbox { path: path("ws"), kind: SandboxKind::Workspace };
        let bounds = Bounds {
            sandbox: Some(workspace),
            protected: Vec::new(),
            home_executes: Vec::new(),
            servers: HashMap::new(),
        };
        let server = "tp".parse().unwrap();
        let home = AbsolutePath::new(place).unwrap();
        let quarantine = place.join("quarantine");
        let of = Of { server: &server, bounds: &bounds, home: &home, quarantine: &quarantine };
        keep(&kept, &kept.at_start, &of).unwrap();
        place.join("a.look")
    }

    /// What a server could have made is put back and told once; what came long after it was last seen is the
    /// user's.
    #[test]
    fn what_came_after_the_server_was_over_stays() {
        for (hours_ago, is_left) in [(None, false), (Some(0), false), (Some(1), true)] {
            let place = tempfile::tempdir().unwrap();
            let place = place.path().canonicalize().unwrap();
            let look = looked(&place);
            if let Some(hours) = hours_ago {
                let guard = std::fs::File::create(guard_of(&look)).unwrap();
                let then = SystemTime::now() - Duration::from_secs(3600 * hours);
                guard.set_modified(then).unwrap();
            }
            std::fs::write(place.join("ws/.envrc"), "new").unwrap();
            std::fs::write(place.join("ws/notes"), "new").unwrap();
            let found = take(&look).unwrap();
            assert_eq!(place.join("ws/.envrc").exists(), is_left, "{hours_ago:?}");
            assert!(place.join("ws/notes").exists(), "{hours_ago:?}");
            assert_eq!(found.is_none(), is_left, "{hours_ago:?}: {found:?}");
            assert!(!look.exists() && !guard_of(&look).exists(), "{hours_ago:?}");
            assert!(take(&look).unwrap().is_none(), "it is told once");
        }
    }

    #[test]
    fn a_server_without_a_guard_was_never_started() {
        let place = tempfile::tempdir().unwrap();
        let look = looked(&place.path().canonicalize().unwrap());
        assert!(!was_started(&look).unwrap());
        std::fs::write(guard_of(&look), "").unwrap();
        assert!(was_started(&look).unwrap());
        drop_unused(&look);
        assert!(!look.exists() && !guard_of(&look).exists());
    }

    /// A guard that settled it leaves what it did for the next session to tell.
    #[test]
    fn what_was_settled_is_told_by_the_next_session() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let look = looked(&place);
        std::fs::write(place.join("ws/.envrc"), "planted").unwrap();
        settle(&look).unwrap();
        assert!(!place.join("ws/.envrc").exists());
        // The user's own, by now.
        std::fs::write(place.join("ws/.envrc"), "mine").unwrap();
        settle(&look).unwrap();
        let found = take(&look).unwrap().unwrap();
        assert!(found.told.contains("moved to the quarantine") && found.server.as_str() == "tp");
        assert!(place.join("ws/.envrc").exists());
    }

    #[test]
    fn what_is_not_what_we_wrote_is_damaged() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let look = looked(&place);
        let text = std::fs::read_to_string(&look).unwrap();
        let (_, body) = text.split_once('\n').unwrap();
        let other = body.replacen("\"version\":1", "\"version\":2", 1);
        let newer = format!("{}\n{other}", Digest::of(other.as_bytes()));
        let cut = text.strip_suffix('}').unwrap();
        for damaged in ["", "\n", body, cut, &text.replacen("/ws", "/wx", 1), &newer] {
            std::fs::write(&look, damaged).unwrap();
            assert!(matches!(take(&look), Err(NotOpened::Damaged(_))), "{damaged}");
            assert!(look.exists(), "a person has to look");
        }
    }
}
