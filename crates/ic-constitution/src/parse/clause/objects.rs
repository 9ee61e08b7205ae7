//! Objects that mean less than a rule can say.
//!
//! Knows what was read, and nothing of how; what the objects of a verb are stands in the table.

use ic_policy::Effect;

use super::{Clauses, Stuck};
use crate::grammar::VERBS;
use crate::sentence::Place;
use crate::word::Word;

/// Words that mean what was named before, which only the same sentence can have done.
const PRONOUNS: [&str; 2] = ["them", "it"];
/// Words before an object that pick some of all.
const PICKING: [&str; 3] = ["its", "their", "some"];
/// Words before an object that pick none.
const EACH: [&str; 4] = ["any", "all", "every", "each"];
/// Objects of which there are fewer than files or pages; `my` picks those of the user.
const FEWER: [&str; 4] = ["documentation", "documents", "repositories", "my"];
/// Objects of which there is one, so that it matters which.
const ONE: [&str; 11] = [
    "file",
    "folder",
    "directory",
    "document",
    "repository",
    "page",
    "website",
    "url",
    "commit",
    "branch",
    "tag",
];

impl Clauses<'_> {
    /// Passes over a verb, which may have its object in it: "move them away".
    pub(super) fn skip_verb(&mut self, n: usize) {
        let words = self.words.iter().take(n);
        self.objects.extend(words.filter(|it| it.is_one_of(&PRONOUNS) || it.is("files")));
        self.skip(n);
    }

    /// Passes over an object, and the words before it.
    pub(super) fn skip_objects(&mut self, n: usize) {
        self.objects.extend(self.words.iter().take(n));
        self.skip(n);
    }

    /// Refuses objects that mean less than all values of the verb, of which a rule would be.
    ///
    /// SECURITY: "read files in ~/a. It may delete them." would delete everything.
    pub(crate) fn check_objects(&self, effect: Effect, place: &Place) -> Result<(), Stuck> {
        let is_noun = |it: &&Word| {
            !it.is_one_of(&PRONOUNS)
                && VERBS.iter().any(|row| row.objects.contains(&it.low.as_str()))
        };
        let is_wide = matches!(place, Place::Unsaid | Place::Anywhere | Place::Elsewhere);
        let mut before: Option<&Word> = None;
        for (at, word) in self.objects.iter().copied().enumerate() {
            let is_named = self.objects.iter().take(at).any(is_noun);
            if word.is_one_of(&PRONOUNS) && !is_named {
                let problem = "this means something in another sentence; say what, and where it is";
                return Err(Stuck::at(Some(word), problem));
            }
            let is_any = before.is_some_and(|it| it.is_one_of(&EACH));
            let is_less = word.is_one_of(&FEWER) || word.is_one_of(&ONE) && !is_any;
            if effect == Effect::Allow && (word.is_one_of(&PICKING) || is_wide && is_less) {
                let problem = "a program cannot tell what this word covers; name the place";
                return Err(Stuck::at(Some(word), problem));
            }
            before = Some(word);
        }
        Ok(())
    }
}
