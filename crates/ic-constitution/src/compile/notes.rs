//! What is odd about sentences, though they can be compiled.

use std::collections::BTreeSet;

use ic_policy::Effect;

use super::atom::{Atom, Order};
use super::region::{Area, Region};
use super::shape::{Piece, Rule};
use super::{Compiler, Note};
use crate::grammar::Verb;
use crate::list::ListDefinition;
use crate::parse::Kept;
use crate::sentence::{Deed, Directory, Place, Sentence, joined};

/// Says that rules stand in the text that are not sentences.
pub(super) fn of_blocks(kept: &[Kept]) -> Vec<Note> {
    let lines: BTreeSet<usize> = kept.iter().map(|it| it.line).collect();
    let note = |line: usize| {
        let names: Vec<String> =
            kept.iter().filter(|it| it.line == line).map(|it| format!("`{}`", it.name)).collect();
        let text = format!(
            "the block of rules is taken as it is ({}); it can open what sentences close",
            joined(&names)
        );
        Note { line, text }
    };
    lines.into_iter().map(note).collect()
}

impl Compiler<'_> {
    pub(super) fn notes(&self, pieces: &[Piece], atoms: &[Atom]) -> Vec<Note> {
        let mut notes = self.without_effect(pieces, atoms);
        let others = [
            self.undone_by_servers(atoms),
            self.left_out(atoms),
            self.of_whole_home(),
            self.of_small_words(),
        ];
        for note in others.into_iter().flatten() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Names sentences that no rule comes from.
    fn without_effect(&self, pieces: &[Piece], atoms: &[Atom]) -> Vec<Note> {
        let mut notes = Vec::new();
        let used: BTreeSet<usize> = pieces.iter().filter_map(|piece| piece.shape.by).collect();
        for (position, sentence) in self.sentences.iter().enumerate() {
            if used.contains(&position) || sentence.deed == Deed::EverythingElse {
                continue;
            }
            let own: Vec<&Atom> = atoms.iter().filter(|atom| atom.sentence == position).collect();
            let is_over = |other: &&Atom| {
                other.is_absolute()
                    && own.iter().any(|it| {
                        it.judged == other.judged && Region::of(other).contains(&Region::of(it))
                    })
            };
            let absolute = atoms.iter().filter(|it| it.sentence != position).find(is_over);
            let text = match absolute.and_then(|it| self.sentences.get(it.sentence)) {
                Some(other) => format!(
                    "`{}` has no effect: line {} forbids it everywhere, and nothing makes an exception to that; \
                     write `anywhere else` there",
                    sentence.text, other.line
                ),
                None if own.is_empty() => {
                    format!("`{}` has no effect: no tool is known that it is about", sentence.text)
                }
                None => format!(
                    "`{}` has no effect: other sentences count wherever it applies",
                    sentence.text
                ),
            };
            notes.push(Note { line: sentence.line, text });
        }
        notes
    }

    /// Names sentences that restrict a place, and do not hold for servers that another names for the same place.
    fn undone_by_servers(&self, atoms: &[Atom]) -> Vec<Note> {
        let is_general = |it: &&Atom| it.effect != Effect::Allow && it.named == 0;
        let mut notes = Vec::new();
        for atom in atoms.iter().filter(is_general) {
            let own = Region::of(atom);
            if own.area == Area::General {
                continue;
            }
            let is_stronger = |it: &&Atom| {
                let there = Region::of(it);
                it.effect == Effect::Allow
                    && 0 < it.named
                    && it.judged == atom.judged
                    && it.place_order(atom) == Order::Same
                    && own.contains(&there)
            };
            for other in atoms.iter().filter(is_stronger) {
                let pair = (self.sentences.get(atom.sentence), self.sentences.get(other.sentence));
                if let (Some(sentence), Some(other)) = pair {
                    notes.push(Note { line: sentence.line, text: undone(sentence, other) });
                }
            }
        }
        notes
    }

    /// Names sentences that allow something anywhere else, and places that others restrict for some servers.
    fn left_out(&self, atoms: &[Atom]) -> Vec<Note> {
        let mut notes = Vec::new();
        for may in atoms.iter().filter(|it| !it.leaves.is_empty()) {
            let leaves_for_others = |it: &&Atom| {
                let is_for_all =
                    it.reach.covers(&may.reach) && (it.tool.is_none() || it.tool == may.tool);
                may.is_left_to(it) && !is_for_all
            };
            for other in atoms.iter().filter(leaves_for_others) {
                let pair = (self.sentences.get(may.sentence), self.sentences.get(other.sentence));
                if let (Some(sentence), Some(other)) = pair {
                    let text = format!(
                        "`{}` leaves out every place which line {} names, with any server: `{}`; where it is to \
                         be allowed, name the place in a *may* of its own",
                        sentence.text, other.line, other.text
                    );
                    notes.push(Note { line: sentence.line, text });
                }
            }
        }
        notes
    }

    /// Names sentences that allow more than their words sound like: a verb is a role, and there is none for less.
    fn of_small_words(&self) -> Vec<Note> {
        let note = |it: &Sentence| {
            let more = more_than_said(it)?;
            Some(Note { line: it.line, text: format!("`{}` {more}", it.text) })
        };
        self.sentences.iter().filter(|it| it.effect == Effect::Allow).filter_map(note).collect()
    }

    /// Names sentences that open the whole home.
    fn of_whole_home(&self) -> Vec<Note> {
        let opens_home = |it: &&Sentence| {
            it.effect == Effect::Allow
                && matches!(&it.place, Place::Directories(all) if all.iter().any(Directory::is_home))
        };
        let note = |it: &Sentence| {
            let text = format!(
                "`{}` opens your whole home, with all that other programs keep there; name the directories \
                 that are needed",
                it.text
            );
            Note { line: it.line, text }
        };
        self.sentences.iter().filter(opens_home).map(note).collect()
    }
}

/// Says what a sentence allows beside what its verbs sound like.
fn more_than_said(sentence: &Sentence) -> Option<&'static str> {
    const SMALL: [(Verb, &[&str], &str); 3] = [
        (
            Verb::Read,
            &["read", "view", "look", "inspect", "reading", "viewing", "looking", "inspecting"],
            "lets the files be read, too: to list and to search them is one thing with reading them",
        ),
        (
            Verb::Write,
            &[
                "write",
                "change",
                "edit",
                "modify",
                "update",
                "save",
                "overwrite",
                "writing",
                "changing",
                "editing",
                "modifying",
                "updating",
                "saving",
                "overwriting",
            ],
            "lets files that are there be changed, too: to create files is one thing with writing them",
        ),
        (
            Verb::Rewrite,
            &["history", "commits"],
            "lets history be rewritten, too: to delete branches and tags is one thing with that",
        ),
    ];
    let Deed::Verbs(verbs) = &sentence.deed else { return None };
    let text = sentence.text.to_ascii_lowercase();
    let words: Vec<&str> =
        text.split(|it: char| !it.is_alphanumeric()).take_while(|it| *it != "because").collect();
    let is_small = |(verb, others, _): &&(Verb, &[&str], _)| {
        verbs.contains(verb) && !others.iter().any(|it| words.contains(it))
    };
    SMALL.iter().find(is_small).map(|(.., more)| *more)
}

fn undone(sentence: &Sentence, other: &Sentence) -> String {
    let with: Vec<String> = other.with.iter().map(crate::sentence::With::as_means).collect();
    let with = joined(&with);
    format!(
        "`{}` does not hold with {with}: line {} names that for the same place, and so counts there; add `with \
         {with}` in a second sentence, or take line {} out",
        sentence.text, other.line, other.line
    )
}

/// Names lists that are defined and that no sentence is about.
pub(super) fn of_lists(lists: &[ListDefinition], rules: &[Rule]) -> Vec<Note> {
    let named = crate::artifact::named_lists(rules);
    let is_idle = |it: &&ListDefinition| !named.iter().any(|(name, ..)| *name == it.name);
    let note = |it: &ListDefinition| Note {
        line: it.line,
        text: format!("no sentence is about the list `@{}`", it.name),
    };
    lists.iter().filter(is_idle).map(note).collect()
}
