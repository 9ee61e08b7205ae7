//! Whether the person asked for a call: the check by code that comes before any model.
//!
//! It looks for one clause that names all that the call is about, and nothing else. Whether the words mean
//! it is for the model to say after this; a model cannot make up for what is missing here.

use ic_types::{Role, Timestamp};

use crate::doubt::Doubt;
use crate::message::Message;
use crate::token::{Clause, Resource, Token, clauses};
use crate::verb::{
    ASKING, BEFORE, BEHIND, BETWEEN, FAMILIES, FILLERS, Family, is_called, is_doubtful, is_verb,
};
use crate::wanted::{Named, Wanted, WantedRole};

/// How many words a clause may have.
const WORDS_MAX: usize = 30;

/// Returns the words that ask for the call, or what is in doubt.
///
/// `heard` is what agents wrote lately, and `home` what `~` stands for.
pub fn check(
    message: &Message,
    wanted: &Wanted,
    (heard, home): (&str, Option<&str>),
    now: Timestamp,
) -> Result<String, Doubt> {
    message.check(heard, now)?;
    is_comparable(wanted)?;
    if wanted.others.iter().any(|other| !other.is_content) {
        return Err(Doubt::Arguments);
    }
    let clauses = clauses(&message.text, home)?;
    let mut bare = Vec::with_capacity(clauses.len());
    for clause in &clauses {
        bare.push(Bare::of(clause)?);
    }
    let resources = wanted.resources();
    let mut naming = bare.iter().filter(|clause| clause.names_any(&resources));
    let clause = naming.next().ok_or(Doubt::NotNamed)?;
    if naming.next().is_some() {
        return Err(Doubt::Ambiguous);
    }
    clause.asks_for(wanted, &resources)?;
    Ok(clause.to_string())
}

/// Returns whether the call is about things that a message can name.
pub(crate) fn is_comparable(wanted: &Wanted) -> Result<(), Doubt> {
    let is_known = |role: Role| {
        matches!(
            role,
            Role::ReadPath
                | Role::WritePath
                | Role::DeletePath
                | Role::WriteHistory
                | Role::FetchUrl
                | Role::GitRemoteUrl
        )
    };
    if wanted.escalated.is_empty() || wanted.roles.iter().all(|it| it.named.is_empty()) {
        return Err(Doubt::Nothing);
    }
    if !wanted.roles.iter().all(|it| is_known(it.role) && !it.named.is_empty()) {
        return Err(Doubt::Kind);
    }
    let has_role = |role: &Role| wanted.roles.iter().any(|it| it.role == *role);
    match wanted.escalated.iter().all(has_role) {
        true => Ok(()),
        false => Err(Doubt::Kind),
    }
}

/// Returns whether a resource of a message is the one of a call.
pub(crate) fn is_same(said: &Resource, named: &Named) -> bool {
    match (said, named) {
        (Resource::Path(said), Named::Path(named)) => said == named,
        (Resource::Url(said, _), Named::Url(named)) => is_url(said, named),
        (Resource::Url(_, Some(said)) | Resource::Remote(said), Named::Remote(named)) => {
            said == named
        }
        (Resource::Path(_) | Resource::Url(..) | Resource::Remote(_), _) => false,
    }
}

/// Returns whether what the agent wrote is what the person wrote.
pub(crate) fn is_written(said: &Resource, written: &str) -> bool {
    match said {
        Resource::Path(said) => said == written.strip_suffix('/').unwrap_or(written),
        Resource::Url(said, _) => is_url(said, written) || is_url(written, said),
        // Which remote a name stands for was looked up by us.
        Resource::Remote(_) => true,
    }
}

/// Returns whether a URL is the canonical one, but for the slash of a host without a path.
fn is_url(said: &str, canonical: &str) -> bool {
    let is_host_only =
        || said.split_once("://").is_some_and(|(_, rest)| !rest.contains(['/', '?', '#']));
    said == canonical || (canonical.strip_suffix('/') == Some(said) && is_host_only())
}

/// A clause without what is only polite.
struct Bare<'a> {
    tokens: &'a [Token],
}

impl<'a> Bare<'a> {
    /// Leaves out what is polite; a clause that reports, asks or takes back is a doubt.
    fn of(clause: &'a Clause) -> Result<Self, Doubt> {
        let mut tokens = clause.tokens.as_slice();
        let mut is_polite_question = false;
        loop {
            if let Some(rest) = without_head(tokens, BEFORE) {
                tokens = rest;
            } else if let Some(rest) = without_head(tokens, ASKING) {
                (tokens, is_polite_question) = (rest, true);
            } else if let Some(rest) = without_tail(tokens, BEHIND) {
                tokens = rest;
            } else {
                break;
            }
        }
        if clause.is_question && !is_polite_question {
            return Err(Doubt::Words);
        }
        if WORDS_MAX < tokens.len() {
            return Err(Doubt::Long);
        }
        for token in tokens {
            match token {
                Token::Word(word) if is_doubtful(word) => return Err(Doubt::Words),
                Token::Quoted(_) => return Err(Doubt::Quoted),
                Token::Word(_) | Token::Resource(_) | Token::Loose(_) => {}
            }
        }
        Ok(Self { tokens })
    }

    fn resources(&self) -> Vec<(usize, &'a Resource)> {
        let resources = self.tokens.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Resource(resource) => Some((at, resource)),
            Token::Word(_) | Token::Loose(_) | Token::Quoted(_) => None,
        });
        resources.collect()
    }

    fn names_any(&self, resources: &[&Named]) -> bool {
        self.resources().iter().any(|(_, said)| resources.iter().any(|it| is_same(said, it)))
    }

    /// Returns whether this asks for a call with just these roles and resources.
    fn asks_for(&self, wanted: &Wanted, resources: &[&Named]) -> Result<(), Doubt> {
        if self.tokens.iter().any(|token| matches!(token, Token::Loose(_))) {
            return Err(Doubt::Ambiguous);
        }
        let said = self.resources();
        let is_wanted =
            |(_, said): &(usize, &Resource)| resources.iter().any(|it| is_same(said, it));
        if !said.iter().all(is_wanted) || said.len() != resources.len() {
            return Err(match said.len() < resources.len() {
                true => Doubt::NotNamed,
                false => Doubt::Ambiguous,
            });
        }
        let Some((Token::Word(verb), behind)) = self.tokens.split_first() else {
            return Err(Doubt::OtherDeed);
        };
        let is_second_verb = |it: &Token| matches!(it, Token::Word(word) if is_verb(word));
        if behind.iter().any(is_second_verb) {
            return Err(Doubt::Ambiguous);
        }
        let families = FAMILIES.iter().filter(|it| it.verbs.contains(&verb.as_str()));
        match families.into_iter().any(|family| self.is_of(family, wanted, &said)) {
            true => Ok(()),
            false => Err(Doubt::OtherDeed),
        }
    }

    /// Returns whether the clause asks for a call of this family, and the call is one.
    fn is_of(&self, family: &Family, wanted: &Wanted, said: &[(usize, &Resource)]) -> bool {
        let places: Vec<&[Role]> = match said {
            [_] => vec![family.first],
            [_, _] if !family.second.is_empty() => vec![family.first, family.second],
            [] | [_, ..] => return false,
        };
        let has_role = |role: &Role| wanted.roles.iter().any(|it| it.role == *role);
        family.needs.iter().all(has_role)
            && is_called(&wanted.tool, family.tools)
            && (family.has_content || wanted.others.is_empty())
            && wanted.roles.iter().all(|it| is_placed(it, said, &places))
            && self.is_worded(family, said)
    }

    /// Returns whether the words around the resources are those of the family.
    fn is_worded(&self, family: &Family, said: &[(usize, &Resource)]) -> bool {
        let Some((first, _)) = said.first() else { return false };
        let before = self.tokens.get(1..*first).unwrap_or_default();
        let before: Vec<&str> = words(before);
        let n_fillers = before.iter().rev().take_while(|it| FILLERS.contains(it)).count();
        let before = before.get(..before.len() - n_fillers).unwrap_or_default();
        let is_led_to = match (before.last(), family.is_wordy) {
            // Right after the verb; what is written with such a verb is written *to* something.
            (None, _) => !family.before.contains(&"to"),
            (Some(last), true) => family.before.contains(last),
            (Some(_), false) => false,
        };
        let (Some((last, _)), true) = (said.last(), is_led_to) else { return false };
        let between = self.tokens.get(first + 1..*last).unwrap_or_default();
        let between = words(between);
        let is_between = said.len() == 1
            || between.first().is_some_and(|it| BETWEEN.contains(it))
                && between.iter().skip(1).all(|it| FILLERS.contains(it));
        // What follows the resource may say something else about it.
        is_between && last + 1 == self.tokens.len()
    }
}

impl std::fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, token) in self.tokens.iter().enumerate() {
            if at != 0 {
                f.write_str(" ")?;
            }
            match token {
                Token::Word(text)
                | Token::Loose(text)
                | Token::Quoted(text)
                | Token::Resource(
                    Resource::Path(text) | Resource::Url(text, _) | Resource::Remote(text),
                ) => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

/// Returns whether all that the call names in this role is at a place where the person named such a thing.
fn is_placed(wanted: &WantedRole, said: &[(usize, &Resource)], places: &[&[Role]]) -> bool {
    let at: Vec<&Resource> = said
        .iter()
        .zip(places)
        .filter(|(_, roles)| roles.contains(&wanted.role))
        .map(|((_, resource), _)| *resource)
        .collect();
    let is_said = |named: &Named| at.iter().any(|it| is_same(it, named));
    let is_as_written = |written: &String| at.iter().any(|it| is_written(it, written));
    let is_remote = wanted.named.iter().all(|it| matches!(it, Named::Remote(_)));
    !wanted.written.is_empty()
        && wanted.named.iter().all(is_said)
        && (is_remote || wanted.written.iter().all(is_as_written))
}

fn words(tokens: &[Token]) -> Vec<&str> {
    // What is no word here is no filler and no preposition either.
    tokens.iter().map(|it| if let Token::Word(word) = it { word.as_str() } else { "" }).collect()
}

fn without_head<'t>(tokens: &'t [Token], phrases: &[&[&str]]) -> Option<&'t [Token]> {
    phrases.iter().find_map(|phrase| {
        let (head, rest) = tokens.split_at_checked(phrase.len())?;
        (words(head) == *phrase).then_some(rest)
    })
}

fn without_tail<'t>(tokens: &'t [Token], phrases: &[&[&str]]) -> Option<&'t [Token]> {
    phrases.iter().find_map(|phrase| {
        let (rest, tail) = tokens.split_at_checked(tokens.len().checked_sub(phrase.len())?)?;
        (words(tail) == *phrase).then_some(rest)
    })
}
