//! Literal mode: the whole message is one clause of the offline model's table, and nothing else.
//!
//! No model takes part. The table has those rows that name one resource; with two, a person is asked.

use ic_types::{Role, Timestamp};

use crate::asked::{is_comparable, is_same, is_written};
use crate::doubt::Doubt;
use crate::message::{Message, Source};
use crate::token::{Clause, Resource, Token, clauses};
use crate::verb::{DELETE_TOOLS, FETCH_TOOLS, READ_TOOLS, WRITE_TOOLS, is_called};
use crate::wanted::Wanted;

/// A part of a row.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// This word.
    Is(&'static str),
    /// A text in quotation marks, which has to be the call's own.
    Text,
    /// The resource.
    Resource,
}

use Part::{Is, Resource as Place, Text};

/// A wording, the roles that its verb stands for, of which the first is what it is about, and the words of which
/// one has to be in the name of the tool.
type Row = (&'static [Part], &'static [Role], &'static [&'static str]);

const READS: &[Role] = &[Role::ReadPath];
const WRITES: &[Role] = &[Role::WritePath];
const COMMITS: &[Role] = &[Role::WriteHistory, Role::ReadPath];

const ROWS: &[Row] = &[
    (&[Is("list"), Is("the"), Is("files"), Is("in"), Place], READS, READ_TOOLS),
    (&[Is("show"), Is("the"), Is("tree"), Is("of"), Place], READS, READ_TOOLS),
    (&[Is("read"), Place], READS, READ_TOOLS),
    (&[Is("show"), Place], READS, READ_TOOLS),
    (&[Is("write"), Text, Is("to"), Place], WRITES, WRITE_TOOLS),
    (&[Is("delete"), Place], &[Role::DeletePath], DELETE_TOOLS),
    (&[Is("create"), Is("the"), Is("directory"), Place], WRITES, WRITE_TOOLS),
    (&[Is("search"), Is("for"), Text, Is("in"), Place], READS, &["search"]),
    (&[Is("fetch"), Place], &[Role::FetchUrl], FETCH_TOOLS),
    (&[Is("git"), Is("status"), Is("in"), Place], READS, &["status"]),
    (&[Is("git"), Is("log"), Is("in"), Place], READS, &["log"]),
    (&[Is("git"), Is("diff"), Is("in"), Place], READS, &["diff"]),
    (&[Is("commit"), Text, Is("in"), Place], COMMITS, &["commit"]),
    (&[Is("push"), Is("to"), Place], &[Role::GitRemoteUrl], &["push"]),
    (&[Is("clone"), Place], &[Role::GitRemoteUrl], &["clone"]),
];

/// Returns the words that ask for the call, or what is in doubt.
pub fn check(
    message: &Message,
    wanted: &Wanted,
    (heard, home): (&str, Option<&str>),
    now: Timestamp,
) -> Result<String, Doubt> {
    message.check(heard, now)?;
    is_comparable(wanted)?;
    if message.source != Source::Typed {
        return Err(Doubt::OtherDeed);
    }
    let clauses = clauses(&message.text, home)?;
    let [Clause { tokens, is_question: false }] = clauses.as_slice() else {
        return Err(Doubt::Ambiguous);
    };
    let fits =
        ROWS.iter().find_map(|(parts, roles, tools)| Some((fit(parts, tokens)?, *roles, *tools)));
    let ((said, text), roles, tools) = fits.ok_or(Doubt::OtherDeed)?;
    if wanted.resources().len() != 1 {
        return Err(Doubt::NotNamed);
    }
    let is_said = |it: &crate::wanted::WantedRole| {
        let is_remote = matches!(said, Resource::Remote(_)) || it.role == Role::GitRemoteUrl;
        it.named.iter().all(|named| is_same(said, named))
            && !it.written.is_empty()
            && (is_remote || it.written.iter().all(|written| is_written(said, written)))
    };
    if !wanted.roles.iter().all(is_said) {
        return Err(Doubt::NotNamed);
    }
    let is_of_verb = |role: &Role| roles.contains(role);
    let has_main = roles.first().is_some_and(|it| wanted.escalated.contains(it));
    if !is_called(&wanted.tool, tools)
        || !has_main
        || !wanted.roles.iter().all(|it| is_of_verb(&it.role))
    {
        return Err(Doubt::OtherDeed);
    }
    // Whatever else is sent is what the person wrote, and all that they wrote is sent.
    let is_text = |it: &crate::wanted::Other| text.is_some() && it.text.as_deref() == text;
    match wanted.others.iter().all(is_text) && wanted.others.len() == usize::from(text.is_some()) {
        true => Ok(message.text.trim().to_owned()),
        false => Err(Doubt::Arguments),
    }
}

fn fit<'t>(parts: &[Part], tokens: &'t [Token]) -> Option<(&'t Resource, Option<&'t str>)> {
    if parts.len() != tokens.len() {
        return None;
    }
    let (mut resource, mut text) = (None, None);
    for (part, token) in parts.iter().zip(tokens) {
        match (part, token) {
            (Is(word), Token::Word(said)) if word == said => {}
            (Text, Token::Quoted(said)) => text = Some(said.as_str()),
            (Place, Token::Resource(said)) => resource = Some(said),
            (Is(_) | Text | Place, _) => return None,
        }
    }
    Some((resource?, text))
}
