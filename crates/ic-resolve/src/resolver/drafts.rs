//! What is sent where a path is only a guess: the path that was judged, or the text as it came.
//!
//! A draft takes an argument for a path because of its name, and the value may be an identifier. It is judged
//! as a path in any case, and no call over a draft is made unless a person approves it; but `13` that reaches
//! the server as `/sandbox/13` is not what anybody asked for. So a text goes on as it came unless it plainly
//! is a path. What a path is judged as is not decided here.

use ic_policy::{Annotation, Pointer};
use ic_types::{AbsolutePath, Object};

use super::{Resolving, texts_at};
use crate::path::{self, Last};

/// The words that say that an argument holds a path; its name ends with one of them, or has one in it.
pub const PATH_WORDS: [&str; 15] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
];

impl Resolving<'_> {
    /// Takes back what would be sent in the place of texts that a draft only guesses to be paths.
    pub(super) fn keep_guesses(
        &self,
        annotation: &Annotation,
        place: &Pointer,
        arguments: &Object,
        sent: &mut [Option<String>],
    ) {
        if !annotation.is_draft() || is_path_by_name(place) {
            return;
        }
        let texts = texts_at(place, arguments).unwrap_or_default();
        for (text, sent) in texts.into_iter().zip(sent) {
            if !is_path_by_look(text) && !sent.as_deref().is_some_and(|path| self.is_there(path)) {
                *sent = None;
            }
        }
    }

    fn is_there(&self, path: &str) -> bool {
        let found = AbsolutePath::new(std::path::Path::new(path)).ok();
        let found = found.map(|path| path::follow(self.disk, &path, Last::Keep));
        // What cannot be looked at may be there, and then the path that was judged is sent.
        found.is_some_and(|found| found.map_or(true, |found| found.entry.is_some()))
    }
}

/// Returns whether an argument holds a path, whatever its value looks like.
fn is_path_by_name(place: &Pointer) -> bool {
    let name = place.as_str().trim_end_matches("/*").to_ascii_lowercase();
    PATH_WORDS.iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a text is written as paths are: in several parts, from home, hidden, or with an ending.
fn is_path_by_look(text: &str) -> bool {
    text.contains(['/', '.']) || text.starts_with('~')
}
