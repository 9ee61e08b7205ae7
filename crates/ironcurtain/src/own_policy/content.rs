//! What a change of a policy is made in: the sentences of its constitution, or its list of additions.
//!
//! Nothing is read or written here.

use ic_constitution::english::of_addition;
use ic_constitution::{Constitution, Place, Sentence, Tool, With, parse};
use ic_home::{Clock as _, SystemClock};
use ic_policy::Effect;
use ic_policy::additions::{ADDITIONS_MAX, Addition};

use super::Change;
use crate::error::Failure;
use crate::screen::visible;

/// The heading above sentences that were added by a command or at a question.
const ADDED: &str = "## Added by you";

/// What is changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    /// Additions to rules that have no constitution.
    Additions(Vec<Addition>),
    /// The text of a constitution.
    Constitution(String),
}

impl Content {
    /// Returns whether this says `addition` itself.
    pub(crate) fn says(&self, addition: &Addition, tools: &[Tool]) -> bool {
        match self {
            Self::Additions(all) => all.iter().any(|it| it.says_the_same(addition)),
            Self::Constitution(text) => {
                let (Some(wanted), Ok(known)) = (of_addition(addition, tools), parse(text)) else {
                    return false;
                };
                wanted.iter().all(|it| known.sentences.iter().any(|known| is_same(known, it)))
            }
        }
    }

    /// Returns the sentences that a change is about, if it is made in sentences.
    pub(crate) fn new_sentences(&self, change: &Change, tools: &[Tool]) -> Vec<String> {
        match self {
            Self::Additions(_) => Vec::new(),
            Self::Constitution(_) => {
                let known = self.parsed();
                let all = change.entries().iter().filter_map(|it| of_addition(it, tools)).flatten();
                all.flat_map(|it| with_named_servers(it, &known)).map(|it| it.to_string()).collect()
            }
        }
    }

    /// Returns the sentences that it consists of, if it consists of sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        match self {
            Self::Additions(_) => Vec::new(),
            Self::Constitution(_) => self.parsed().iter().map(ToString::to_string).collect(),
        }
    }

    fn parsed(&self) -> Vec<Sentence> {
        match self {
            Self::Additions(_) => Vec::new(),
            Self::Constitution(text) => parse(text).map(|it| it.sentences).unwrap_or_default(),
        }
    }
}

impl Change {
    /// Returns what is there after the change.
    pub(crate) fn on(
        &self,
        before: &Content,
        by: &str,
        tools: &[Tool],
    ) -> Result<Content, Failure> {
        match before {
            Content::Additions(all) => self.on_additions(all, by).map(Content::Additions),
            Content::Constitution(text) => {
                self.on_constitution(text, tools).map(Content::Constitution)
            }
        }
    }

    fn on_additions(&self, before: &[Addition], by: &str) -> Result<Vec<Addition>, Failure> {
        let mut after = before.to_vec();
        match self {
            Self::Add(entries) => {
                let now = SystemClock.now().to_string();
                for entry in entries {
                    if !after.iter().any(|it| it.says_the_same(entry)) {
                        after.push(entry.clone().added(now.as_str(), by));
                    }
                }
            }
            Self::Remove(entries) => {
                after.retain(|it| !entries.iter().any(|entry| entry.says_the_same(it)));
            }
        }
        if ADDITIONS_MAX < after.len() {
            return Err(Failure::config(format!(
                "a policy can have at most {ADDITIONS_MAX} additions"
            ))
            .with_hint("write rules into its compiled-policy.json instead"));
        }
        Ok(after)
    }

    fn on_constitution(&self, before: &str, tools: &[Tool]) -> Result<String, Failure> {
        let mut text = before.to_owned();
        for addition in self.entries() {
            let sentences = sentences_of(addition, tools)?;
            let named = parsed(&text)?.sentences;
            for sentence in sentences.into_iter().flat_map(|it| with_named_servers(it, &named)) {
                let (sentence, known) = (&sentence, parsed(&text)?);
                let place = known.sentences.iter().find(|it| is_same(it, sentence));
                text = match (self, place) {
                    (Self::Add(_), Some(_)) | (Self::Remove(_), None) => continue,
                    (Self::Add(_), None) => appended(&text, sentence),
                    (Self::Remove(_), Some(place)) => without_line(&text, place)?,
                };
                check(&known, &parsed(&text)?, sentence)?;
            }
        }
        Ok(text)
    }
}

/// Returns the sentences that say an addition.
pub(crate) fn sentences_of(addition: &Addition, tools: &[Tool]) -> Result<Vec<Sentence>, Failure> {
    of_addition(addition, tools).ok_or_else(|| {
        Failure::config(format!(
            "`{}` cannot be said in a sentence",
            visible(&addition.to_string())
        ))
        .with_hint("write it with `ironcurtain policy edit`")
    })
}

/// Says a restriction also of the servers and tools that are allowed the same in the same place by name.
///
/// A sentence that names a server is more specific than one that does not, so the user's own *never* would not
/// count where it matters most.
fn with_named_servers(sentence: Sentence, known: &[Sentence]) -> Vec<Sentence> {
    if sentence.effect == Effect::Allow || !sentence.with.is_empty() {
        return vec![sentence];
    }
    let mut with: Vec<With> = Vec::new();
    let is_same = |it: &&Sentence| it.effect == Effect::Allow && meet(&it.place, &sentence.place);
    for other in known.iter().filter(is_same).flat_map(|it| &it.with) {
        if !with.contains(other) {
            with.push(other.clone());
        }
    }
    match with.is_empty() {
        true => vec![sentence],
        false => vec![sentence.clone(), Sentence { with, ..sentence }],
    }
}

/// Returns whether two sentences name the same place among theirs.
fn meet(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Directories(one), Place::Directories(other)) => {
            one.iter().any(|it| other.contains(it))
        }
        (Place::Hosts(one), Place::Hosts(other)) => one.iter().any(|it| other.contains(it)),
        (Place::Names(one), Place::Names(other)) => one.iter().any(|it| other.contains(it)),
        _ => false,
    }
}

fn parsed(text: &str) -> Result<Constitution, Failure> {
    parse(text).map_err(|faults| super::constitution::failed("constitution.md", &faults))
}

fn is_same(one: &Sentence, other: &Sentence) -> bool {
    let plain =
        |it: &Sentence| Sentence { line: 0, text: String::new(), reason: None, ..it.clone() };
    plain(one) == plain(other)
}

/// Writes a sentence behind all others.
fn appended(text: &str, sentence: &Sentence) -> String {
    let heading = match text.lines().any(|line| line.trim_end() == ADDED) {
        true => String::new(),
        false => format!("\n{ADDED}\n\n"),
    };
    format!("{}\n{heading}{sentence}\n", text.trim_end_matches('\n'))
}

/// Takes the line of a sentence away.
fn without_line(text: &str, sentence: &Sentence) -> Result<String, Failure> {
    let at = sentence.line.saturating_sub(1);
    let alone = text.lines().nth(at).and_then(|line| parse(line).ok());
    let is_alone = alone.is_some_and(|it| match it.sentences.as_slice() {
        [one] => is_same(one, sentence),
        _ => false,
    });
    if !is_alone {
        let said = visible(&sentence.text);
        return Err(Failure::config(format!("`{said}` shares its line with something else"))
            .with_hint("take it out with `ironcurtain policy edit`"));
    }
    let kept = text.lines().enumerate().filter(|(line, _)| *line != at);
    Ok(kept.flat_map(|(_, line)| [line, "\n"]).collect())
}

/// Makes sure that one sentence came or went, and nothing else.
fn check(before: &Constitution, after: &Constitution, sentence: &Sentence) -> Result<(), Failure> {
    let others = |all: &Constitution| {
        let others = all.sentences.iter().filter(|it| !is_same(it, sentence));
        others.map(ToString::to_string).collect::<Vec<_>>()
    };
    match others(before) == others(after) && before.kept.len() == after.kept.len() {
        true => Ok(()),
        false => Err(Failure::config("the constitution cannot be changed line by line")
            .with_hint("change it with `ironcurtain policy edit`")),
    }
}
