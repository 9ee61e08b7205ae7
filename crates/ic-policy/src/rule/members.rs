//! The members of a list, and whether a value is one of them.
//!
//! Knows neither roles nor rules, but for the effect that says how much a member can mean.

use std::collections::HashSet;
use std::fmt;

use ic_types::{Category, Role};

use crate::call::Value;
use crate::domain::{Destination, DomainSet};
use crate::effect::Effect;

/// The members of a list, by the way they are compared.
#[derive(Clone, Debug)]
pub(crate) enum Members {
    Domains(DomainSet),
    Emails(Emails),
    Identifiers(Identifiers),
}

/// Addresses without regard to case, as far as the rule's effect can afford it.
#[derive(Clone, Debug)]
pub(crate) struct Emails {
    pub(super) lower: HashSet<String>,
    letters: Letters,
}

/// The letters whose case does not matter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Letters {
    Ascii,
    All,
}

/// Identifiers in the forms in which roles compare them.
#[derive(Clone, Debug)]
pub(crate) struct Identifiers {
    /// As written, for roles that compare text as it is.
    pub(super) exact: HashSet<String>,
    /// In lower case, for roles of the identifier category.
    lower: HashSet<String>,
    /// The short names of branches; none where a rule allows.
    branches: HashSet<String>,
}

impl Members {
    pub(super) fn holds(&self, role: Role, value: &Value) -> bool {
        match self {
            Self::Domains(set) => Self::with_destination(value, |there| set.contains(there)),
            Self::Emails(emails) => match value {
                Value::Text(text) => emails.contain(text),
                Value::Path(_) | Value::Url(_) | Value::LocalRemote(_) => false,
            },
            Self::Identifiers(all) => all.contain(role, &comparable(value)),
        }
    }

    /// Returns the texts that values are compared with, in the forms in which that is done.
    pub(super) fn texts(&self) -> (Option<&HashSet<String>>, Option<&HashSet<String>>) {
        match self {
            Self::Domains(_) => (None, None),
            Self::Emails(emails) => (Some(&emails.lower), None),
            Self::Identifiers(all) => (Some(&all.exact), Some(&all.lower)),
        }
    }

    /// Asks `holds` about where `value` leads; text is read as `host` or `host:port`.
    pub(super) fn with_destination(value: &Value, holds: impl Fn(&Destination) -> bool) -> bool {
        match value {
            Value::Url(url) => holds(&url.destination),
            Value::Text(text) => {
                Destination::parse_authority(text).is_some_and(|there| holds(&there))
            }
            Value::Path(_) | Value::LocalRemote(_) => false,
        }
    }
}

impl Emails {
    /// Makes the set for a rule with this `effect`.
    ///
    /// A server may take `ÜNAL@` and `ünal@` for one address or for two. So a rule that restricts
    /// holds for both, and a rule that allows holds for the one that was written.
    pub(crate) fn new(effect: Effect, texts: impl Iterator<Item = String>) -> Self {
        let letters = match effect {
            Effect::Allow => Letters::Ascii,
            Effect::Escalate | Effect::Deny => Letters::All,
        };
        Self { lower: texts.map(|text| letters.lower(&text)).collect(), letters }
    }

    /// Returns whether a value is one of the addresses.
    ///
    /// SECURITY: `Bob <bob@x>` and `a@x, bob@x` reach bob as well, so what restricts an address holds wherever
    /// it stands in a value; what allows it holds for the address alone.
    fn contain(&self, value: &str) -> bool {
        let is_one = |text: &str| self.lower.contains(&self.letters.lower(text));
        match self.letters {
            Letters::Ascii => is_one(value),
            Letters::All => is_one(value) || addresses(value).iter().any(|it| is_one(it)),
        }
    }
}

/// Returns the addresses that a program of mail may read in a value, in their plain form.
///
/// They stand between signs that no plain address has. Blanks, quotes and comments in one mean nothing to such
/// programs (`"bob" @x (home)`), nor do a dot at its end and letters of full width.
pub fn addresses(value: &str) -> Vec<String> {
    let ends = |letter: char| letter.is_whitespace() || "<>,;:()[]\"'`|?&=".contains(letter);
    let narrow: String = value.chars().map(narrow).collect();
    let mut bare = String::new();
    let mut depth = 0_usize;
    for letter in narrow.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if 0 < depth || letter.is_whitespace() || "\"'`".contains(letter) => {}
            letter => bare.push(letter),
        }
    }
    let found = narrow.split(ends).chain(bare.split(ends)).map(|it| it.trim_end_matches('.'));
    found.filter(|part| part.contains('@')).map(str::to_owned).collect()
}

/// Returns the usual form of a letter of full width.
fn narrow(letter: char) -> char {
    const WIDE: std::ops::RangeInclusive<char> = '\u{ff01}'..='\u{ff5e}';
    let usual = u32::from(letter).checked_sub(0xfee0).and_then(char::from_u32);
    usual.filter(|_| WIDE.contains(&letter)).unwrap_or(letter)
}

impl Letters {
    fn lower(self, text: &str) -> String {
        match self {
            Self::Ascii => text.to_ascii_lowercase(),
            Self::All => text.to_lowercase(),
        }
    }
}

impl Identifiers {
    /// Makes the set of `exact` texts, and of the texts that count `without_case`, for a rule with this
    /// `effect`.
    pub(crate) fn new(
        effect: Effect,
        exact: impl Iterator<Item = String>,
        without_case: impl Iterator<Item = String>,
    ) -> Self {
        let lower = without_case.map(|text| text.to_ascii_lowercase()).collect();
        let exact: HashSet<String> = exact.collect();
        let branches = match effect {
            Effect::Allow => HashSet::new(),
            Effect::Escalate | Effect::Deny => {
                exact.iter().map(|it| short_branch(it).to_owned()).collect()
            }
        };
        Self { exact, lower, branches }
    }

    /// Returns whether a value of `role` is one of them.
    ///
    /// SECURITY: git takes `main` and `refs/heads/main` for one branch, so what restricts it holds for both;
    /// what allows it holds for what was written, since another server may take them for two.
    fn contain(&self, role: Role, text: &str) -> bool {
        let is_branch = role == Role::BranchName && self.branches.contains(short_branch(text));
        is_branch || self.of(role).contains(text)
    }

    /// Returns the members in the form in which `role` compares them.
    pub(crate) fn of(&self, role: Role) -> &HashSet<String> {
        match role.category() {
            Category::Identifier => &self.lower,
            Category::Path | Category::Url | Category::Opaque => &self.exact,
        }
    }
}

/// Returns the short name of a branch.
fn short_branch(name: &str) -> &str {
    let name = name.strip_prefix("refs/").unwrap_or(name);
    name.strip_prefix("heads/").unwrap_or(name)
}

/// Returns the text by which a value is compared with identifiers.
pub(crate) fn comparable(value: &Value) -> String {
    match value {
        Value::Url(url) if url.destination.repository.is_some() => url.destination.to_string(),
        Value::Url(_) | Value::Path(_) | Value::LocalRemote(_) | Value::Text(_) => {
            value.to_string()
        }
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domains(set) => set.fmt(f),
            Self::Emails(emails) => write!(f, "{} addresses", emails.lower.len()),
            Self::Identifiers(all) => write!(f, "{} names", all.exact.len()),
        }
    }
}
