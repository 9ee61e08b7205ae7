//! What changes if another policy takes the place of the one in force, completely and in English.
//!
//! Computed over all calls that policies can tell apart, as in a new session and as in a workspace.

use std::collections::{BTreeSet, HashSet};

use ic_analysis::describe::{self, Names};
use ic_analysis::report::{self, Summary};
use ic_analysis::{Comparison, Subject, TooComplex};
use ic_home::Environment;
use ic_opening::policy::{As, Loaded, NoSandbox, Wanted};
use ic_policy::{Bounds, Effect, Rule, Sandbox, SandboxKind};
use ic_types::{CanonicalPath, Json, Object};

use crate::error::Failure;
use crate::judge;
use crate::screen::{Screen, visible};

/// How many changes that let less through are shown where a person is asked.
const SHOWN_MAX: usize = 12;
/// A workspace for examples, in the user's home.
const WORKSPACE: &str = "workspace";
/// The most places that are taken for a workspace, or a part of it.
const PLACES_MAX: usize = 32;

/// How one policy differs from another.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The changes, widening before narrowing, the most dangerous first.
    pub(crate) changes: Vec<Summary>,
    /// Why it may not be complete.
    too_complex: Option<TooComplex>,
}

/// A policy as it is loaded in the surroundings that are compared.
#[derive(Debug)]
pub(crate) struct Settings {
    /// As in a new session with a sandbox of its own.
    pub(crate) session: Loaded,
    /// As in a session that works in a directory of the user's.
    pub(crate) workspace: Loaded,
}

impl Settings {
    /// Returns the policy in the surroundings of a change.
    pub(crate) fn of_change(&self, change: &Summary) -> &Loaded {
        match change.sandbox.as_ref().map(|it| it.kind) {
            Some(SandboxKind::Workspace | SandboxKind::Filled) => &self.workspace,
            Some(SandboxKind::Session) | None => &self.session,
        }
    }

    /// Loads `wanted` in both surroundings.
    pub(crate) fn load(
        wanted: &Wanted,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        Self::load_as(wanted, As::CONFIRMED, environment, screen)
    }

    /// Loads `wanted` in both surroundings, as it is or as it would be.
    pub(crate) fn load_as(
        wanted: &Wanted,
        how: As<'_>,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let session = judge::load_as(wanted, NoSandbox::Fresh, how, environment, screen)?;
        let workspace = environment.home()?.as_path().join(WORKSPACE);
        let wanted = Wanted {
            sandbox: Some((environment.absolute(&workspace)?, SandboxKind::Workspace)),
            policy: wanted.policy.clone(),
            protected: wanted.protected.clone(),
            servers: wanted.servers.clone(),
        };
        let workspace = Loaded::load_as(&wanted, NoSandbox::None, how, environment)?;
        Ok(Self { session, workspace })
    }
}

impl Difference {
    /// Compares two policies in all surroundings.
    pub(crate) fn of(before: &Settings, after: &Settings) -> Result<Self, TooComplex> {
        let mut changes = compared(&before.session, &after.session, Part::Everything)?;
        changes.extend(compared(&before.workspace, &after.workspace, Part::Sandbox)?);
        for place in restricted(&before.workspace, &after.workspace)? {
            changes.extend(compared_in(&place, &before.workspace, &after.workspace)?);
        }
        report::sort(&mut changes);
        Ok(Self { changes, too_complex: None })
    }

    /// Compares two policies as [`Self::of`] does; what cannot be compared completely is said so.
    pub(crate) fn shown_of(before: &Settings, after: &Settings) -> Self {
        Self::of(before, after)
            .unwrap_or_else(|error| Self { changes: Vec::new(), too_complex: Some(error) })
    }

    /// Returns the changes that let more through, or those that let less through.
    pub(crate) fn of_kind(&self, is_widening: bool) -> Vec<&Summary> {
        self.changes.iter().filter(|it| it.is_widening() == is_widening).collect()
    }

    /// Returns whether more is let through, or may be.
    pub(crate) fn may_widen(&self) -> bool {
        self.too_complex.is_some() || self.changes.iter().any(Summary::is_widening)
    }

    /// Returns whether a call would be allowed that is denied now.
    pub(crate) fn opens_denied(&self) -> bool {
        self.changes.iter().any(|it| it.before == Effect::Deny && it.after == Effect::Allow)
    }

    /// Returns what a person is shown before they agree.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_at_most(SHOWN_MAX, "`ironcurtain policy diff`")
    }

    /// Returns every change, however many there are.
    pub(crate) fn all_lines(&self) -> Vec<String> {
        self.lines_at_most(usize::MAX, "")
    }

    /// Returns every change that lets more through, and at most `shown_max` of those that let less through;
    /// `all` shows the others.
    pub(crate) fn lines_at_most(&self, shown_max: usize, all: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for (heading, is_widening) in HEADINGS {
            let changes = self.of_kind(is_widening);
            if changes.is_empty() {
                continue;
            }
            lines.push(heading.to_owned());
            // SECURITY: a person agrees to what is opened, so each piece of it is shown.
            let (texts, n_shown): (Vec<String>, usize) = if is_widening {
                (changes.iter().map(|it| it.line()).collect(), usize::MAX)
            } else {
                let groups = report::groups(&changes);
                (groups.iter().map(report::Group::line).collect(), shown_max)
            };
            let shown = texts.iter().take(n_shown);
            lines.extend(shown.map(|text| format!("  {}", visible(text))));
            if n_shown < texts.len() {
                let n_more = texts.len() - n_shown;
                lines.push(format!("  and {n_more} more that let less through; {all} shows all"));
            }
        }
        match &self.too_complex {
            Some(error) => {
                lines.push(format!(
                    "The difference could not be computed: {}",
                    visible(&error.to_string())
                ));
            }
            None if lines.is_empty() => lines.push("No call is judged differently.".to_owned()),
            None => {}
        }
        lines
    }

    /// Notes it in a line of the home's log of policy changes.
    pub(crate) fn note(&self, line: &mut Object) {
        for (key, is_widening) in [("widenings", true), ("narrowings", false)] {
            let changes = self.of_kind(is_widening);
            let changes: Vec<Json> = changes.iter().map(|it| Json::from(it.line())).collect();
            line.insert(key, changes);
        }
        if let Some(error) = &self.too_complex {
            line.insert("incomplete", error.to_string());
        }
    }
}

/// Says which tools can no longer be used, where the policies differ like this.
pub(crate) fn unusable_lines(
    before: &Loaded,
    after: &Loaded,
    difference: &Difference,
) -> Vec<String> {
    let denies = |it: &Summary| it.after == Effect::Deny;
    if difference.too_complex.is_none() && !difference.changes.iter().any(denies) {
        return Vec::new();
    }
    let known = unusable(before);
    let fresh: Vec<String> = unusable(after).into_iter().filter(|it| !known.contains(it)).collect();
    if fresh.is_empty() {
        return Vec::new();
    }
    // Where no sandbox was looked at, containment may leave one free.
    let rest = match after.judge.bounds.sandbox {
        Some(_) => "at all",
        None => "outside of a session's own sandbox",
    };
    vec![format!("Can no longer be used {rest}: {}", visible(&fresh.join(", ")))]
}

/// Returns the tools of which every call is denied.
fn unusable(loaded: &Loaded) -> Vec<String> {
    let (policy, bounds) = (&loaded.judge.policy, &loaded.judge.bounds);
    // What cannot be looked through completely is said with the difference.
    let found = ic_analysis::unusable(Subject { policy, bounds }).unwrap_or_default();
    found.iter().map(|(server, tool)| format!("{server}.{tool}")).collect()
}

/// What stands above changes that let more or less through.
pub(crate) const HEADINGS: [(&str, bool); 2] =
    [("Lets more through:", true), ("Lets less through:", false)];

/// Of which calls the changes are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    Everything,
    Sandbox,
}

/// Returns the places that one policy restricts by a rule that the other does not have.
///
/// In a workspace around such a place only that rule holds against containment, so that what it closes there
/// cannot be seen anywhere else.
fn restricted(before: &Loaded, after: &Loaded) -> Result<BTreeSet<CanonicalPath>, TooComplex> {
    let written = |it: &Loaded| -> HashSet<String> {
        it.judge.policy.rules().iter().map(|rule| format!("{rule:?}")).collect()
    };
    let known = [written(before), written(after)];
    let is_shared = |rule: &Rule| known.iter().all(|it| it.contains(&format!("{rule:?}")));
    let rules = before.judge.policy.rules().iter().chain(after.judge.policy.rules());
    let sandbox = after.judge.bounds.sandbox.as_ref().map(|it| &it.path);
    let places: BTreeSet<CanonicalPath> = rules
        .filter(|rule| rule.effect() != Effect::Allow && !is_shared(rule))
        .filter_map(|rule| rule.place())
        // The workspace itself is compared anyway, and the root of all is nobody's.
        .filter(|place| Some(*place) != sandbox && place.parent().is_some())
        .cloned()
        .collect();
    if PLACES_MAX < places.len() {
        return Err(TooComplex::places());
    }
    Ok(places)
}

/// Compares two policies for what lies in `place`, in a workspace that holds it.
fn compared_in(
    place: &CanonicalPath,
    before: &Loaded,
    after: &Loaded,
) -> Result<Vec<Summary>, TooComplex> {
    let sandbox = Sandbox { path: place.clone(), kind: SandboxKind::Workspace };
    let bounds = Bounds { sandbox: Some(sandbox), ..after.judge.bounds.clone() };
    let home = home_of(after);
    let outside = Bounds { sandbox: None, ..bounds.clone() };
    let called = describe::shown(place, Names { home: home.as_ref(), bounds: &outside });
    let mut summaries = compared_within(before, after, (bounds, Part::Sandbox))?;
    let called = format!("{called} (in a workspace)");
    for phrase in summaries.iter_mut().flat_map(|it| &mut it.places) {
        *phrase = phrase.replace("the workspace", &called);
    }
    Ok(summaries)
}

fn compared(before: &Loaded, after: &Loaded, part: Part) -> Result<Vec<Summary>, TooComplex> {
    compared_within(before, after, (after.judge.bounds.clone(), part))
}

fn compared_within(
    before: &Loaded,
    after: &Loaded,
    (mut bounds, part): (Bounds, Part),
) -> Result<Vec<Summary>, TooComplex> {
    // Each policy protects its own directory, which is no difference between what they say.
    bounds.protected.extend(before.judge.bounds.protected.iter().cloned());
    let policies = (&before.judge.policy, &after.judge.policy);
    let bounds = &bounds;
    let comparison = Comparison::new(
        Subject { policy: policies.0, bounds },
        Subject { policy: policies.1, bounds },
    );
    let changes = match (part, &bounds.sandbox) {
        (Part::Sandbox, Some(sandbox)) => comparison.changes_in(&sandbox.path)?,
        (Part::Sandbox | Part::Everything, _) => comparison.changes()?,
    };
    let home = home_of(after);
    let names = Names { home: home.as_ref(), bounds };
    Ok(report::summaries(&changes, comparison.space(), names, policies))
}

/// Returns the user's home directory, by which places are called.
pub(crate) fn home_of(loaded: &Loaded) -> Option<CanonicalPath> {
    CanonicalPath::new(loaded.judge.home.as_path()).ok()
}
