//! Which of the servers that were found are meant.
//!
//! Two of one name that are the same are one; two that differ are never chosen between in silence.

use super::entry::Found;
use super::places::Reach;
use crate::error::Failure;
use crate::screen::visible;

/// What was chosen, and why others could not be.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) servers: Vec<Found>,
    pub(super) refused: Vec<Failure>,
}

/// Returns the servers that are called `names`.
pub(super) fn by_name(names: &[String], mut found: Vec<Found>) -> Result<Vec<Found>, Failure> {
    let mut chosen = Vec::new();
    for name in names {
        let of_name: Vec<Found> = found.extract_if(.., |it| it.name == *name).collect();
        match of_name.is_empty() {
            false => chosen.push(one(name, of_name)?),
            true if chosen.iter().any(|it: &Found| it.name == *name) => {}
            true => {
                return Err(Failure::usage(format!("no client has a server `{}`", visible(name)))
                    .with_hint(
                        "`ironcurtain servers import` lists the servers that can be imported",
                    ));
            }
        }
    }
    Ok(chosen)
}

/// Returns all that can be added and are in use.
///
/// What a project brings along is not, unless its file was named: nobody but its author has chosen it.
pub(super) fn all(found: Vec<Found>, is_named: bool, is_known: impl Fn(&str) -> bool) -> Chosen {
    let is_meant = |it: &Found| {
        let is_chosen = is_named || it.origin.reach == Reach::Own;
        it.line.is_ok() && !it.is_off && is_chosen && !is_known(&it.name)
    };
    let mut rest: Vec<Found> = found.into_iter().filter(is_meant).collect();
    let mut chosen = Chosen::default();
    while let Some(name) = rest.first().map(|it| it.name.clone()) {
        match one(&name, rest.extract_if(.., |it| it.name == name).collect()) {
            Ok(server) => chosen.servers.push(server),
            Err(failure) => chosen.refused.push(failure),
        }
    }
    chosen
}

/// Returns the one that is meant by a name.
fn one(name: &str, mut of_name: Vec<Found>) -> Result<Found, Failure> {
    // In one file, what a client keeps for every directory comes before what it keeps for one.
    let general: Vec<_> = of_name.iter().filter(|it| it.origin.project.is_none()).collect();
    let files: Vec<_> = general.iter().map(|it| it.origin.file.clone()).collect();
    let (special, mut rest): (Vec<_>, Vec<_>) = of_name
        .drain(..)
        .partition(|it| it.origin.project.is_some() && files.contains(&it.origin.file));
    // The user's own before those of a project, and those in use before those that are switched off.
    rest.sort_by_key(|it| (it.origin.reach == Reach::Project, it.is_off));
    let mut rest = rest.into_iter();
    let Some(mut first) = rest.next() else {
        return Err(Failure::usage(format!("no client has a server `{}`", visible(name))));
    };
    let others: Vec<Found> = rest.filter(|it| it.line != first.line).collect();
    if !others.is_empty() {
        let n_servers = others.len() + 1;
        let ways: Vec<String> = std::iter::once(&first).chain(&others).map(way).collect();
        return Err(Failure::usage(format!(
            "{n_servers} servers are called `{}`, and they differ; say which: {}",
            visible(name),
            ways.join(", or ")
        )));
    }
    for other in special.iter().filter(|it| it.line != first.line) {
        first.notes.push(format!("there is another one: {}", way(other)));
    }
    Ok(first)
}

/// Returns the words that choose a server among others of its name.
fn way(found: &Found) -> String {
    let origin = &found.origin;
    let file = quoted(&origin.file.display().to_string());
    let project = origin.project.as_deref().map(|it| format!(" --project {}", quoted(it)));
    format!("`--client {} --file {file}{}`", origin.client, project.unwrap_or_default())
}

/// Writes a word so that a shell takes it as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", visible(word).replace('\'', "'\\''"))
}
