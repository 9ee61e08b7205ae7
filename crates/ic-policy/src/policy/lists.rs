//! The lists behind `@name`: which values are in force, and where each of them is written.
//!
//! Does not read the values; a list can be used as domains by one rule and as names by another.

use std::collections::{BTreeMap, HashSet};

use crate::artifact::{ListFile, ListsFile};

/// The lists of a policy, by name.
pub(super) struct Lists<'a> {
    file: &'a str,
    lists: BTreeMap<String, List>,
}

/// A value, and where it is written.
pub(super) struct Written<'a> {
    pub(super) file: &'a str,
    pub(super) place: String,
    pub(super) text: String,
}

/// How the values of a list are compared where it is used, and so how removals find them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Compared {
    AsWritten,
    WithoutCase,
}

struct List {
    values: Vec<String>,
    additions: Vec<String>,
    removed: HashSet<String>,
    removed_lower: HashSet<String>,
}

impl<'a> Lists<'a> {
    /// Takes the lists out of their file.
    pub(super) fn new(file: &'a str, lists: ListsFile) -> Self {
        let lists = lists.lists.into_iter().map(|(name, list)| (name, List::new(list)));
        Self { file, lists: lists.collect() }
    }

    /// Returns no lists at all, for a policy without the file.
    pub(super) fn none() -> Self {
        Self { file: "", lists: BTreeMap::new() }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.lists.contains_key(name)
    }

    /// Returns the values in force: values plus additions, less removals. An absent list has none.
    pub(super) fn in_force(
        &self,
        name: &str,
        compared: Compared,
    ) -> impl Iterator<Item = Written<'a>> {
        self.lists.get(name).into_iter().flat_map(move |list| {
            let parts = [("values", &list.values), ("manualAdditions", &list.additions)];
            parts.into_iter().flat_map(move |(part, texts)| {
                let kept =
                    texts.iter().enumerate().filter(move |(_, t)| !list.removes(t, compared));
                kept.map(move |(index, text)| Written {
                    file: self.file,
                    place: format!("lists.{name}.{part}[{index}]"),
                    text: text.clone(),
                })
            })
        })
    }
}

impl List {
    fn new(file: ListFile) -> Self {
        let ListFile { values, manual_additions, manual_removals, .. } = file;
        let removed_lower = manual_removals.iter().map(|text| text.to_ascii_lowercase()).collect();
        let removed = manual_removals.into_iter().collect();
        Self { values, additions: manual_additions, removed, removed_lower }
    }

    fn removes(&self, text: &str, compared: Compared) -> bool {
        match compared {
            Compared::AsWritten => self.removed.contains(text),
            Compared::WithoutCase => self.removed_lower.contains(&text.to_ascii_lowercase()),
        }
    }
}
