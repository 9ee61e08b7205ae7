//! The user's own properties, in a small TOML file.
//!
//! ```toml
//! [[never]]
//! roles = ["write-path", "delete-path"]
//! within = ["~/work/archive"]
//! because = "it is a record"
//!
//! [[always-ask]]
//! tools = ["git.git_push"]
//! roles = ["git-remote-url"]
//!
//! [[allowed]]
//! roles = ["read-path"]
//! within = ["~/work"]
//! servers = ["filesystem"]
//!
//! [[accept]]
//! property = "no-text-to-the-network"
//! rule = "web"
//! because = "all of them are ours"
//! ```

use ic_policy::{DomainSet, Locate};
use ic_types::Role;
use serde::Deserialize;

use super::{Acceptance, Demand, Finding, Level, Property, builtin};

/// A file of properties that cannot be used, and why.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}{reason}")]
pub struct InvalidProperties {
    pub(super) place: String,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    #[serde(default)]
    never: Vec<Entry>,
    #[serde(default)]
    always_ask: Vec<Entry>,
    #[serde(default)]
    allowed: Vec<Entry>,
    #[serde(default)]
    accept: Vec<AcceptEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct AcceptEntry {
    property: String,
    rule: String,
    because: Option<String>,
}

/// What a file of properties says.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    /// The user's own properties.
    pub own: Vec<Property>,
    /// What the user accepts of the built-in ones.
    pub accepted: Vec<Acceptance>,
}

impl Properties {
    /// Marks the findings that the user accepts, and returns the acceptances that none is about.
    pub fn accept(&self, findings: &mut [Finding]) -> Vec<&Acceptance> {
        let mut unused = Vec::new();
        for acceptance in &self.accepted {
            let is_meant = |it: &&mut Finding| {
                it.level == Level::Failed
                    && it.property == acceptance.property
                    && it.rule == acceptance.rule
            };
            let mut meant = findings.iter_mut().filter(is_meant).peekable();
            if meant.peek().is_none() {
                unused.push(acceptance);
            }
            for finding in meant {
                finding.level = Level::Accepted;
                let because = acceptance.because.as_deref();
                finding.problem.extend(because.map(|it| format!(" (accepted because {it})")));
            }
        }
        findings
            .sort_by(|one, other| (one.level, &one.property).cmp(&(other.level, &other.property)));
        unused
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    servers: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    roles: Option<Vec<Role>>,
    within: Option<Vec<String>>,
    outside: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    because: Option<String>,
}

/// Reads properties; `locate` makes their directories canonical.
pub fn read(text: &str, locate: Locate<'_>) -> Result<Properties, InvalidProperties> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let place = before.map(|it| format!("line {}: ", it.matches('\n').count() + 1));
        // The whole error draws the line over several, which fits no message of one.
        let reason = error.message().replace('\n', " ");
        InvalidProperties { place: place.unwrap_or_default(), reason }
    })?;
    let demands = [
        (Demand::Never, "never", file.never),
        (Demand::AlwaysAsk, "always-ask", file.always_ask),
        (Demand::Allowed, "allowed", file.allowed),
    ];
    let mut own = Vec::new();
    for (demand, key, entries) in demands {
        for (position, entry) in entries.into_iter().enumerate() {
            let at = format!("{key}[{position}]");
            own.push(property(demand, &at, entry, locate)?);
        }
    }
    let accepted = file.accept.into_iter().enumerate().map(acceptance);
    Ok(Properties { own, accepted: accepted.collect::<Result<_, _>>()? })
}

fn acceptance((position, entry): (usize, AcceptEntry)) -> Result<Acceptance, InvalidProperties> {
    let AcceptEntry { property, rule, because } = entry;
    if !builtin::is_built_in(&property) {
        return Err(InvalidProperties {
            place: format!("accept[{position}].property: "),
            reason: format!(
                "`{property}` is not a built-in property; those are {}",
                builtin::NAMES.join(", ")
            ),
        });
    }
    Ok(Acceptance { property, rule, because })
}

fn property(
    demand: Demand,
    at: &str,
    entry: Entry,
    locate: Locate<'_>,
) -> Result<Property, InvalidProperties> {
    let Entry { name, servers, tools, roles, within, outside, hosts, because } = entry;
    let fault =
        |key: &str, reason: String| InvalidProperties { place: format!("{at}.{key}: "), reason };
    let located = |key: &str, texts: Option<Vec<String>>| {
        let one = |text: String| {
            // A directory of that very name is rarely there, and a property of it would always hold.
            if text.contains(['*', '?', '{', '}']) && !text.starts_with("${SANDBOX}") {
                let reason =
                    format!("`{text}`: a directory is named as a whole; patterns are not possible");
                return Err(fault(key, reason));
            }
            locate(&text).map_err(|reason| fault(key, reason))
        };
        texts.map(|texts| texts.into_iter().map(one).collect::<Result<Vec<_>, _>>()).transpose()
    };
    let (within, outside) = (located("within", within)?, located("outside", outside)?);
    let hosts = hosts
        .map(|hosts| DomainSet::parse(hosts.iter().map(String::as_str)))
        .transpose()
        .map_err(|error| fault("hosts", error.to_string()))?;
    let is_about_places = within.is_some() || outside.is_some();
    if is_about_places && hosts.is_some() {
        return Err(fault(
            "hosts",
            "a property is about directories or about hosts, not both".to_owned(),
        ));
    }
    let empty = [
        ("roles", roles.as_ref().is_some_and(Vec::is_empty)),
        ("servers", servers.as_ref().is_some_and(Vec::is_empty)),
        ("tools", tools.as_ref().is_some_and(Vec::is_empty)),
        ("within", within.as_ref().is_some_and(Vec::is_empty)),
    ];
    // A property that is about nothing would always hold.
    if let Some((key, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
        return Err(fault(key, "it is empty, so the property would say nothing".to_owned()));
    }
    Ok(Property {
        name: name.unwrap_or_else(|| at.to_owned()),
        demand,
        servers,
        tools,
        roles,
        within,
        outside,
        hosts,
        because,
    })
}
