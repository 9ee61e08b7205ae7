//! What the sentences say about one value, asked directly; for scenarios, which do not go through rules.

use ic_policy::Effect;
use ic_types::{Role, ServerName, ToolName};

use super::atom::{Atom, Judged, Reach, Spot, verdict};
use super::region::{Area, Region};
use super::{Compiled, atom::HostCondition};
use crate::sentence::Directory;

/// A value of a role in a call of a tool.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The server of the call.
    pub server: &'a ServerName,
    /// The tool.
    pub tool: &'a ToolName,
    /// The role.
    pub role: Role,
    /// The directory or host pattern in which the value lies, and nothing narrower does.
    pub place: SubjectPlace,
}

/// Where the value of a subject lies.
#[derive(Clone, Debug)]
pub enum SubjectPlace {
    /// In this directory.
    Directory(Directory),
    /// At this host.
    Host(ic_policy::DomainPattern),
}

impl Compiled {
    /// Returns whether a sentence restricts what calls of a tool may say beside their resources.
    ///
    /// Whether it holds for a call depends on more than one value, so what is said of the value is not all.
    pub(crate) fn restricts_beside(&self, server: &ServerName, tool: &ToolName) -> bool {
        let reach = Reach::One(server.clone());
        self.atoms.iter().any(|atom| {
            atom.judged == Judged::Whole
                && atom.effect != Effect::Allow
                && (atom.has.is_some() || matches!(atom.spot, Spot::Names(..)))
                && atom.reach.covers(&reach)
                && atom.tool.as_ref().is_none_or(|it| it == tool)
        })
    }

    /// Returns what the sentences say about a value.
    pub fn says(&self, subject: &Subject<'_>) -> Effect {
        let area = match &subject.place {
            SubjectPlace::Directory(directory) => Area::Directory(directory.clone()),
            SubjectPlace::Host(pattern) => {
                Area::Hosts(vec![HostCondition::Pattern(pattern.clone())])
            }
        };
        let region = Region {
            reach: Reach::One(subject.server.clone()),
            tool: Some(subject.tool.clone()),
            has: None,
            area,
        };
        let here: Vec<&Atom> = self
            .atoms
            .iter()
            .zip(&self.regions)
            .filter(|(atom, own)| {
                atom.judged == Judged::Role(subject.role) && region.is_of(atom, own)
            })
            .map(|(atom, _)| atom)
            .collect();
        verdict(&here, &self.texts).map_or(self.default, |(effect, _)| effect)
    }
}
