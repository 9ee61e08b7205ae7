//! Regions in English: where the values are that something is said of.

use std::collections::{BTreeSet, HashSet};

use ic_policy::{Bounds, Effect, SandboxKind};
use ic_types::{CanonicalPath, Role};

use crate::space::{
    Class, DestinationClass, HostClass, Part, PortClass, Reach, RepositoryClass, Space, Spot,
};

/// How places are called.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The directory that `~` stands for.
    pub home: Option<&'a CanonicalPath>,
    /// What surrounds the decisions.
    pub bounds: &'a Bounds,
}

/// How much of a description is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Length {
    /// Every place, host and name.
    Full,
    /// A few of them, and how many more there are.
    Short,
}

/// How many places a short description names before it counts the rest.
const NAMED_MAX: usize = 3;

/// Returns how much harm a call can do by a role, the worst first: what is gone, what is changed, what is
/// sent away, what is read.
pub fn danger(role: Role) -> usize {
    const WORST: [Role; 12] = [
        Role::DeletePath,
        Role::DeleteHistory,
        Role::WritePath,
        Role::GitRemoteUrl,
        Role::EmailAddress,
        Role::SharePermission,
        Role::GithubRepo,
        Role::GithubOwner,
        Role::FetchUrl,
        Role::ProxyDomain,
        Role::WriteHistory,
        Role::ReadPath,
    ];
    WORST.iter().position(|it| *it == role).unwrap_or(WORST.len())
}

/// Returns what a call does to values of `role`.
pub fn verb(role: Role) -> &'static str {
    match role {
        Role::ReadPath => "read",
        Role::WritePath => "create or change",
        Role::DeletePath => "delete or move away",
        Role::WriteHistory => "commit, branch or tag",
        Role::DeleteHistory => "remove commits, branches or tags",
        Role::FetchUrl => "fetch from",
        Role::GitRemoteUrl => "use git remotes at",
        Role::GithubOwner => "act on GitHub for",
        Role::GithubRepo => "act on the GitHub repository",
        Role::ProxyDomain => "connect to",
        Role::BranchName => "use the branch",
        Role::CommitMessage => "commit with the message",
        Role::EmailAddress => "write to",
        Role::EmailBody => "send the text",
        Role::SharePermission => "share with",
        Role::None => "use",
    }
}

/// Returns what becomes of a call, as a person would say it.
pub fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allowed",
        Effect::Escalate => "needs approval",
        Effect::Deny => "denied",
    }
}

/// Describes all values of `classes` in one phrase.
pub fn values(classes: &[&Class], space: &Space<'_>, names: Names<'_>) -> String {
    listed(&phrases(classes, space, names, Length::Full), Length::Full)
}

/// Describes the values of `classes`, each place, host or name by itself.
pub fn phrases(
    classes: &[&Class],
    space: &Space<'_>,
    names: Names<'_>,
    length: Length,
) -> Vec<String> {
    let mut phrases = Vec::new();
    let spots = |wanted: fn(&Class) -> Option<&Spot>| {
        classes.iter().filter_map(|it| wanted(it)).collect::<BTreeSet<&Spot>>()
    };
    let paths = spots(|it| if let Class::Path(spot) = it { Some(spot) } else { None });
    phrases.extend(places(&paths, space, names, length));
    let local = spots(|it| if let Class::LocalRemote(spot) = it { Some(spot) } else { None });
    if !local.is_empty() {
        let at = listed(&places(&local, space, names, length), length);
        phrases.push(format!("repositories of this machine {at}"));
    }
    let (mut hosts, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for class in classes {
        match class {
            Class::Url { named: Some(url), .. } => _ = texts.insert(format!("`{url}`")),
            Class::Url { destination, named: None } => {
                _ = hosts.insert(destination_text(destination));
            }
            Class::Text(text) => {
                _ = texts.insert(match (&text.named, &text.destination) {
                    (Some(named), _) => format!("`{named}`"),
                    (None, Some(there)) => destination_text(there),
                    (None, None) => "any other text".to_owned(),
                });
            }
            Class::Path(_) | Class::LocalRemote(_) => {}
        }
    }
    phrases.extend(without_narrower(&hosts));
    phrases.extend(without_narrower(&texts));
    phrases
}

/// Lists phrases as a sentence does.
pub fn listed(phrases: &[String], length: Length) -> String {
    let n_shown = match length {
        Length::Full => phrases.len(),
        Length::Short => NAMED_MAX.min(phrases.len()),
    };
    let mut shown: Vec<String> = phrases.iter().take(n_shown).cloned().collect();
    if n_shown < phrases.len() {
        shown.push(format!("{} more", phrases.len() - n_shown));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// Returns phrases as they can follow the verb of `role`.
pub fn behind_verb(role: Role, phrases: Vec<String>) -> Vec<String> {
    let is_history = matches!(role, Role::WriteHistory | Role::DeleteHistory);
    let is_fit = |it: &str| it.starts_with("in ") || it.starts_with("anywhere");
    let fitted = |it: String| if is_fit(&it) { it } else { format!("at {it}") };
    if is_history { phrases.into_iter().map(fitted).collect() } else { phrases }
}

/// Returns how far down the tree, or how narrow, the widest of `classes` is.
pub(crate) fn depth(classes: &[&Class]) -> usize {
    let of_host = |host: &HostClass| match host {
        HostClass::Name { under: None, .. } | HostClass::V4(None, _) | HostClass::V6(None, _) => 0,
        HostClass::Name { is_it: false, .. } => 1,
        HostClass::Name { .. } | HostClass::V4(..) | HostClass::V6(..) => 2,
    };
    let of = |class: &&Class| match class {
        Class::Path(Spot { place, part }) | Class::LocalRemote(Spot { place, part }) => {
            let depth = 2 * place.components().count();
            depth + usize::from(*part != Part::Inside { executed: 0 })
        }
        Class::Url { named: Some(_), .. } => 3,
        Class::Url { destination, .. } => of_host(&destination.host),
        Class::Text(text) => usize::from(text.named.is_some() || text.destination.is_some()),
    };
    classes.iter().map(of).min().unwrap_or(usize::MAX)
}

/// Describes a set of spots by the directories that hold them, and what is left out there.
fn places(
    spots: &BTreeSet<&Spot>,
    space: &Space<'_>,
    names: Names<'_>,
    length: Length,
) -> Vec<String> {
    let of = |wanted: fn(&Part) -> bool| {
        let found = spots.iter().filter(|it| wanted(&it.part)).map(|it| &it.place);
        found.collect::<HashSet<&CanonicalPath>>()
    };
    let plain = of(|it| matches!(it, Part::Inside { executed: 0 }));
    let run = of(|it| matches!(it, Part::Inside { executed: 1.. }));
    let there = of(|it| matches!(it, Part::Itself { exists: true }));
    let missing = of(|it| matches!(it, Part::Itself { exists: false }));
    let above = |place: &CanonicalPath| place.parent();
    let is_plain = |place: &CanonicalPath| plain.contains(place);
    let is_top = |place: &CanonicalPath| !above(place).is_some_and(|it| is_plain(&it));
    let mut phrases = Vec::new();
    for place in space.places() {
        if is_plain(place) && is_top(place) {
            let except = exceptions(place, &is_plain, (space, names), length);
            phrases.push(format!("{}{except}", in_place(place, names)));
        }
    }
    for place in space.places() {
        let state = match (there.contains(place), missing.contains(place)) {
            (true, true) => Some(""),
            (true, false) => Some(" (if it exists)"),
            (false, true) => Some(" (if it does not exist)"),
            (false, false) => None,
        };
        if let Some(state) = state.filter(|_| !is_plain(place) && is_top(place)) {
            phrases.push(format!("{} itself{state}", shown(place, names)));
        }
        if run.contains(place)
            && !is_plain(place)
            && !above(place).is_some_and(|it| run.contains(&it))
        {
            phrases.push(format!(
                "files that programs of this machine run {}",
                in_place(place, names)
            ));
        }
    }
    phrases
}

/// Says which places in `place` are left out, apart from those that no rule can open.
fn exceptions(
    place: &CanonicalPath,
    is_in: &dyn Fn(&CanonicalPath) -> bool,
    (space, names): (&Space<'_>, Names<'_>),
    length: Length,
) -> String {
    let is_structural =
        |it: &CanonicalPath| names.bounds.protects(it).is_some() || names.bounds.host_executes(it);
    let mut left_out: Vec<&CanonicalPath> = Vec::new();
    for inner in space.places().filter(|it| it.is_within(place) && *it != place) {
        // What is in a place comes right behind it.
        let is_known = left_out.last().is_some_and(|known| inner.is_within(known));
        if !is_in(inner) && !is_known && !is_structural(inner) {
            left_out.push(inner);
        }
    }
    if left_out.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = left_out.iter().map(|it| shown(it, names)).collect();
    format!(" (except {})", listed(&texts, length))
}

fn in_place(place: &CanonicalPath, names: Names<'_>) -> String {
    match place.parent() {
        Some(_) => format!("in {}", shown(place, names)),
        None => "anywhere".to_owned(),
    }
}

/// Returns a path as a person would write it.
pub fn shown(path: &CanonicalPath, names: Names<'_>) -> String {
    if let Some(sandbox) = names.bounds.sandbox.as_ref().filter(|it| it.path == *path) {
        let what = match sandbox.kind {
            SandboxKind::Workspace | SandboxKind::Filled => "the workspace",
            SandboxKind::Session => "the sandbox",
        };
        return what.to_owned();
    }
    match names.home.and_then(|home| path.as_path().strip_prefix(home.as_path()).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.to_string(),
    }
}

fn destination_text(there: &DestinationClass) -> String {
    let host = match &there.host {
        HostClass::Name { under: Some(name), is_it: true, .. } => name.clone(),
        HostClass::Name { under: Some(name), .. } => format!("hosts under {name}"),
        HostClass::Name { under: None, is_public: true, .. } => "any other public host".to_owned(),
        HostClass::Name { under: None, .. } => "names of the local network".to_owned(),
        HostClass::V4(Some(address), _) => address.to_string(),
        HostClass::V6(Some(address), _) => format!("[{address}]"),
        HostClass::V4(None, Reach::Outside) | HostClass::V6(None, Reach::Outside) => {
            "bare addresses".to_owned()
        }
        HostClass::V4(None, Reach::Local) | HostClass::V6(None, Reach::Local) => {
            "bare addresses of the local network".to_owned()
        }
    };
    let port = match there.port {
        PortClass::Usual => String::new(),
        PortClass::Named(port) => format!(" at port {port}"),
        PortClass::Other => " at unusual ports".to_owned(),
    };
    match &there.repository {
        RepositoryClass::Named(repository) => format!("{host}/{repository}{port}"),
        RepositoryClass::Alike(repository) => {
            format!("{host}/{repository}{port} with other letters large or small")
        }
        RepositoryClass::None | RepositoryClass::Other => format!("{host}{port}"),
    }
}

/// Leaves out what another phrase says already: a host, at some port.
fn without_narrower(phrases: &BTreeSet<String>) -> Vec<String> {
    let says = |narrow: &String| {
        phrases
            .iter()
            .any(|wide| narrow.strip_prefix(wide.as_str()).is_some_and(|it| it.starts_with(" at ")))
    };
    phrases.iter().filter(|it| !says(it)).cloned().collect()
}
