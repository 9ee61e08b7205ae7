//! A survey as it is kept on disk, to be compared after the session was killed.
//!
//! Which file each was is not kept: what stood there and counted was mounted in the cage, so that no server
//! could put another in its place, and numbers of files need not outlive a restart of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ic_policy::{FileKind, FileState, Reach};
use ic_resolve::executes::Names;
use ic_resolve::{Disk, Kind};
use ic_types::CanonicalPath;
use serde::{Deserialize, Serialize};

use super::{Counted, Identity, Survey, Text};

/// What begins the text of a path that is not UTF-8; no path holds it.
const ODD: char = '\0';

/// A survey on disk.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::planted) struct WrittenSurvey {
    counted: Vec<WrittenCounted>,
    parts: Vec<String>,
    led: Vec<String>,
    texts: Vec<WrittenText>,
    links: Vec<(String, String)>,
    closed: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    names: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenCounted {
    path: String,
    kind: WrittenKind,
    is_beneath: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenText {
    path: String,
    base64: String,
    is_executable: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
enum WrittenKind {
    File,
    Directory,
    Link,
    Other,
}

/// Returns the text of a path.
pub(in crate::planted) fn text_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{ODD}{}", STANDARD.encode(path.as_os_str().as_bytes())),
    }
}

/// Reads the text of a path.
pub(in crate::planted) fn os_string(text: &str) -> Option<OsString> {
    match text.strip_prefix(ODD) {
        Some(odd) => STANDARD.decode(odd).ok().map(OsString::from_vec),
        None => Some(OsString::from(text)),
    }
}

/// Reads the text of a canonical path.
pub(in crate::planted) fn path_of(text: &str) -> Option<CanonicalPath> {
    CanonicalPath::new(Path::new(&os_string(text)?)).ok()
}

/// Reads many of them.
pub(in crate::planted) fn paths_of<C: FromIterator<CanonicalPath>>(texts: &[String]) -> Option<C> {
    texts.iter().map(|text| path_of(text)).collect()
}

impl Survey {
    /// Returns what is kept on disk.
    pub(in crate::planted) fn written(&self) -> WrittenSurvey {
        let texts = |paths: &BTreeSet<CanonicalPath>| {
            paths.iter().map(|it| text_of(it.as_path())).collect::<Vec<_>>()
        };
        WrittenSurvey {
            counted: self.counted.iter().map(|(path, it)| WrittenCounted::of(path, it)).collect(),
            parts: self.parts.keys().map(|it| text_of(it.as_path())).collect(),
            led: texts(&self.led),
            texts: self
                .texts
                .iter()
                .map(|(path, text)| WrittenText {
                    path: text_of(path.as_path()),
                    base64: STANDARD.encode(&text.bytes),
                    is_executable: text.is_executable,
                })
                .collect(),
            links: self
                .links
                .iter()
                .map(|(path, target)| (text_of(path.as_path()), text_of(Path::new(target))))
                .collect(),
            closed: texts(&self.closed),
            options: texts(&self.options),
            names: self.names.texts().collect(),
        }
    }

    /// Returns whether both would be kept as the same.
    pub(crate) fn is_written_alike(&self, other: &Self) -> bool {
        let counted = self.counted.iter().map(|(path, it)| (path, it.kind, it.reach));
        let others = other.counted.iter().map(|(path, it)| (path, it.kind, it.reach));
        self.parts.len() == other.parts.len()
            && self.parts.keys().all(|it| other.parts.contains_key(it))
            && self.led == other.led
            && self.links == other.links
            && self.closed == other.closed
            && self.options == other.options
            && self.texts.len() == other.texts.len()
            && self.texts.iter().all(|(path, text)| {
                other
                    .texts
                    .get(path)
                    .is_some_and(|it| Arc::ptr_eq(it, text) || it.bytes == text.bytes)
            })
            && counted.eq(others)
            && self.names.is_same(&other.names)
    }

    /// Reads what was kept on disk; nothing if it is not what we write.
    pub(in crate::planted) fn read(written: &WrittenSurvey, disk: &dyn Disk) -> Option<Self> {
        let mut survey = Self {
            led: paths_of(&written.led)?,
            closed: paths_of(&written.closed)?,
            options: paths_of(&written.options)?,
            names: Names::of_texts(written.names.iter().map(String::as_str)),
            ..Self::default()
        };
        for it in &written.counted {
            let path = path_of(&it.path)?;
            let counted = it.read(&path, disk);
            survey.counted.insert(path, counted);
        }
        for path in paths_of::<Vec<_>>(&written.parts)? {
            let entry = disk.look(path.as_path()).ok().flatten();
            let identity = entry.map_or(NOBODY, |entry| Identity::at(&path, &entry.state));
            survey.parts.insert(path, identity);
        }
        survey.links = written
            .links
            .iter()
            .map(|(path, target)| Some((path_of(path)?, Arc::<OsStr>::from(os_string(target)?))))
            .collect::<Option<BTreeMap<_, _>>>()?;
        for WrittenText { path, base64, is_executable } in &written.texts {
            let bytes = STANDARD.decode(base64).ok()?;
            let (state, changed, is_executable) = (NO_STATE, (0, 0), *is_executable);
            let text = Arc::new(Text { state, changed, bytes, is_executable });
            survey.texts.insert(path_of(path)?, text);
        }
        Some(survey)
    }
}

/// No file is this one.
const NOBODY: Identity = Identity { device: 0, inode: 0, born: None };
const NO_STATE: FileState = FileState {
    kind: FileKind::Other,
    device: 0,
    inode: 0,
    bytes: 0,
    modified_s: 0,
    modified_ns: 0,
};

impl WrittenCounted {
    fn of(path: &CanonicalPath, it: &Counted) -> Self {
        Self {
            path: text_of(path.as_path()),
            kind: match it.kind {
                Kind::File => WrittenKind::File,
                Kind::Directory => WrittenKind::Directory,
                Kind::Link => WrittenKind::Link,
                Kind::Other => WrittenKind::Other,
            },
            is_beneath: it.reach == Reach::Beneath,
        }
    }

    fn read(&self, path: &CanonicalPath, disk: &dyn Disk) -> Counted {
        let reach = if self.is_beneath { Reach::Beneath } else { Reach::Itself };
        let kind = match self.kind {
            WrittenKind::File => Kind::File,
            WrittenKind::Directory => Kind::Directory,
            WrittenKind::Link => Kind::Link,
            WrittenKind::Other => Kind::Other,
        };
        let entry = disk.look(path.as_path()).ok().flatten();
        match entry.filter(|entry| entry.kind == kind && kind != Kind::Link) {
            Some(entry) => Counted::at(path, (kind, &entry.state), reach),
            None => Counted { identity: NOBODY, kind, reach, n_names: 1, changed: (0, 0) },
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use ic_resolve::RealDisk;

    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let root = CanonicalPath::new(place.path().canonicalize().unwrap()).unwrap();
        let at = |name: &str| root.join(OsStr::new(name)).unwrap();
        std::fs::create_dir(at(".git").as_path()).unwrap();
        std::fs::write(at(".envrc").as_path(), "mine").unwrap();
        let odd = root.join(OsStr::from_bytes(b"odd-\xff\n")).unwrap();
        let mut survey = Survey::default();
        for (path, kind) in [
            (at(".git"), Kind::Directory),
            (at(".envrc"), Kind::File),
            (at("link"), Kind::Link),
            (odd.clone(), Kind::Other),
        ] {
            let changed = (1, 2);
            let counted =
                Counted { identity: NOBODY, kind, reach: Reach::Beneath, n_names: 1, changed };
            survey.counted.insert(path, counted);
        }
        survey.parts.insert(at("HEAD"), NOBODY);
        survey.led.insert(odd.clone());
        survey.closed.insert(at("shut"));
        survey.options.insert(at("-x"));
        survey.links.insert(at("link"), Arc::from(OsStr::from_bytes(b"a/\xfe")));
        let bytes = b"\0mine\xff".to_vec();
        let text = Text { state: NO_STATE, changed: (0, 0), bytes, is_executable: true };
        survey.texts.insert(at(".envrc"), Arc::new(text));
        survey.names = Names::of_texts(["/w/tools/x.sh", "/w/**/*.py"]);

        let json = serde_json::to_string(&survey.written()).unwrap();
        let written: WrittenSurvey = serde_json::from_str(&json).unwrap();
        let read = Survey::read(&written, &RealDisk).unwrap();
        assert!(read.is_written_alike(&survey) && survey.is_written_alike(&read));
        assert!(read.texts[&at(".envrc")].is_executable);
        // What stands there is what stood there, whatever number it has by now.
        let is_known = |path: &CanonicalPath| read.counted[path].identity != NOBODY;
        assert!(is_known(&at(".git")) && is_known(&at(".envrc")) && !is_known(&at("link")));

        for changed in [
            |it: &mut Survey| it.led.clear(),
            |it: &mut Survey| it.links.clear(),
            |it: &mut Survey| it.texts.clear(),
            |it: &mut Survey| it.closed.clear(),
            |it: &mut Survey| it.options.clear(),
            |it: &mut Survey| it.parts.clear(),
            |it: &mut Survey| drop(it.counted.pop_first()),
            |it: &mut Survey| it.names = Names::default(),
        ] {
            let mut other = survey.clone();
            changed(&mut other);
            assert!(!other.is_written_alike(&survey));
        }
    }
}
