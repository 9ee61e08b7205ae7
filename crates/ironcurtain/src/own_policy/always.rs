//! *Always* at a question: what was asked becomes a sentence of the user's policy.
//!
//! [`Always::offer`] says what would be added, or why nothing can be; [`Always::apply`] adds it. The
//! dialog itself approves the call that is asked about, once. The question names the policy that its
//! session was started with, so this works in any process: at the session's own terminal, at the desk
//! and for a script that answers.

use std::path::PathBuf;
use std::sync::Arc;

use ic_escalation::{GrantRecord, Offer, Request, ScopeKind};
use ic_home::{Environment, Home};
use ic_opening::policy::{Loaded, NoSandbox, Wanted};
use ic_policy::additions::{Addition, Place};
use ic_policy::{DomainPattern, Effect};
use ic_types::{CanonicalPath, Role, ServerName, ToolName, letter_by_letter};

use super::difference::Difference;
use super::preview::Preview;
use super::{Agreed, Change, Target, english, words};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// What the names of invariants begin with.
const STRUCTURAL_PREFIX: &str = "structural-";

/// How many changes of each kind a question shows.
const SHOWN_MAX: usize = 6;

/// What is needed to add to the policy of a session.
#[derive(Clone, Debug)]
pub(crate) struct Always {
    environment: Arc<Environment>,
    by: &'static str,
}

/// What would be added.
#[derive(Clone, Debug)]
pub(crate) struct AlwaysOffer {
    change: Change,
    /// What is written into the constitution, if there is one.
    sentences: Vec<String>,
    target: Target,
    preview: Preview,
    difference: Difference,
}

impl Always {
    /// For questions that are answered at a place of the kind `by`.
    pub(crate) fn new(environment: &Environment, by: &'static str) -> Self {
        Self { environment: Arc::new(environment.without_keys()), by }
    }

    /// Returns whether anything can be added for `request`, before it is known to which policy.
    pub(crate) fn is_possible(request: &Request) -> bool {
        additions_of(request, |path| Ok(path.to_string())).is_ok()
    }

    /// Works out what *always* would add for `request`.
    pub(crate) fn offer(&self, request: &Request) -> Result<AlwaysOffer, String> {
        let spelled = |path: &CanonicalPath| {
            super::spelled(path, &self.environment).map_err(|failure| failure.to_string())
        };
        let additions = additions_of(request, spelled)?;
        let policy = request.policy.as_ref().map(PathBuf::from);
        self.work_out(Change::Add(additions), policy).map_err(|failure| failure.to_string())
    }

    fn work_out(&self, change: Change, policy: Option<PathBuf>) -> Result<AlwaysOffer, Failure> {
        let wanted =
            Wanted { policy: policy.clone(), sandbox: None, protected: Vec::new(), servers: None };
        let environment = &*self.environment;
        let before = Loaded::load(&wanted, NoSandbox::None, environment)?;
        let home = Home::new(environment.ironcurtain_home()?);
        let target = Target::find(policy, &before, &home, environment)?;
        let (known, tools) = (target.content()?, english::tools(&before));
        let after = change.on(&known, self.by, &tools)?;
        let sentences = known.new_sentences(&change, &tools);
        if after == known {
            let name = target.name();
            return Err(Failure::config(format!("the policy `{name}` has it for new sessions")));
        }
        let settings = target.settings_with(&after, &tools, environment)?;
        let difference = Difference::shown_of(&target.settings(environment)?, &settings);
        let after = target.load_with(&after, &tools, environment, &mut Screen::silent())?;
        let preview = Preview::of_examples(&before, &after, &change);
        // SECURITY: an exception to the user's own "never" needs a second yes, which is asked elsewhere.
        if preview.lifts_denial() || difference.opens_denied() {
            return Err(Failure::config(
                "calls that the policy denies now would be allowed or asked about; use `ironcurtain policy allow`",
            ));
        }
        Ok(AlwaysOffer { change, sentences, target, preview, difference })
    }

    /// Adds what was offered and confirmed in the way `how`.
    pub(crate) fn apply(&self, offer: &AlwaysOffer, how: &'static str) -> Result<String, Failure> {
        let agreed = Agreed { by: self.by, how };
        offer.target.apply(&offer.change, agreed, &self.environment, &mut Screen::silent())?;
        Ok(format!("Added to the policy `{}`, for new sessions.", offer.target.name()))
    }
}

impl AlwaysOffer {
    /// Names the command that shows every change and makes none.
    fn shows_all(&self) -> String {
        match self.change.entries() {
            [addition] => words::command(addition).map_or_else(
                || "`ironcurtain policy diff`".to_owned(),
                |it| format!("`{it} --dry-run`"),
            ),
            _ => "`ironcurtain policy diff`, once it is added,".to_owned(),
        }
    }

    /// Says in full what would be added, for the person who is about to confirm it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let additions = match self.sentences.is_empty() {
            true => self.change.entries().iter().map(ToString::to_string).collect(),
            false => self.sentences.clone(),
        };
        let details = additions.into_iter().chain(self.target.describe());
        let mut lines = vec![
            "With `y` this call is approved, and this is added to the policy for new sessions:"
                .to_owned(),
        ];
        for line in details {
            lines.push(format!("  {}", visible(&line)));
            let letters = letter_by_letter(&line);
            lines.extend(letters.map(|it| format!("    letter by letter: {it}")));
        }
        lines.extend(self.preview.lines().into_iter().map(|line| format!("  {line}")));
        let changes = self.difference.lines_at_most(SHOWN_MAX, &self.shows_all());
        lines.extend(changes.into_iter().map(|line| format!("  {line}")));
        lines.push(words::to_take_back(self.change.entries(), self.target.option().as_deref()));
        lines.push("Running sessions keep asking.".to_owned());
        lines
    }
}

/// Returns the additions that allow what `request` asks about, with its directories and hosts.
fn additions_of(
    request: &Request,
    spelled: impl Fn(&CanonicalPath) -> Result<String, String>,
) -> Result<Vec<Addition>, String> {
    let mut rules = request.causes.iter().map(|cause| &cause.rule).chain([&request.rule]);
    // SECURITY: what asks whatever the policy says cannot be settled by the policy.
    if let Some(rule) = rules.find(|rule| rule.starts_with(STRUCTURAL_PREFIX)) {
        return Err(format!("`{rule}` asks every time, whatever the policy says"));
    }
    let tool = (&request.server, &request.tool);
    if request.escalated_roles.is_empty() {
        return Ok(vec![allowing(tool, None, None)?]);
    }
    let offer = Offer::of_request(request).map_err(|none| none.to_string())?;
    let choice = offer.choices().pop().ok_or("there is no directory or host to name")?;
    let scopes = choice.scopes().map(|(role, scope)| (role, scope.kind(), scope.values()));
    additions_within(tool, scopes, spelled)
}

/// Returns the additions that allow for good what a grant allows for a while.
///
/// A sentence cannot say that a number or a text stays as it was, and settles nothing that asks whatever the
/// policy says.
pub(crate) fn additions_of_grant(
    grant: &GrantRecord,
    environment: &Environment,
) -> Result<Vec<Addition>, String> {
    if !grant.only.is_empty() {
        return Err("it holds for certain arguments only".to_owned());
    }
    if let Some(rule) = grant.structural.first() {
        return Err(format!("`{rule}` asks every time, whatever the policy says"));
    }
    let spelled = |path: &CanonicalPath| {
        super::spelled(path, environment).map_err(|failure| failure.to_string())
    };
    let scopes = grant.scopes.iter().map(|(role, kind, values)| (*role, *kind, values.clone()));
    additions_within((&grant.server, &grant.tool), scopes, spelled)
}

/// Returns the additions that allow a tool what lies in `scopes`.
fn additions_within(
    tool: (&ServerName, &ToolName),
    scopes: impl Iterator<Item = (Role, ScopeKind, Vec<String>)>,
    spelled: impl Fn(&CanonicalPath) -> Result<String, String>,
) -> Result<Vec<Addition>, String> {
    let mut found: Vec<(Place, Vec<Role>)> = Vec::new();
    for (role, kind, values) in scopes {
        for value in values {
            let place = place_of(kind, role, &value, &spelled)?;
            match found.iter_mut().find(|(known, _)| *known == place) {
                Some((_, roles)) => roles.push(role),
                None => found.push((place, vec![role])),
            }
        }
    }
    found.into_iter().map(|(place, roles)| allowing(tool, Some(roles), Some(place))).collect()
}

fn allowing(
    (server, tool): (&ServerName, &ToolName),
    roles: Option<Vec<Role>>,
    place: Option<Place>,
) -> Result<Addition, String> {
    let names = (Some(server.clone()), Some(tool.clone()));
    Addition::new(Effect::Allow, names, roles, place).map_err(|error| error.to_string())
}

fn place_of(
    kind: ScopeKind,
    role: Role,
    value: &str,
    spelled: impl Fn(&CanonicalPath) -> Result<String, String>,
) -> Result<Place, String> {
    match kind {
        ScopeKind::Directory => {
            let directory = value.strip_suffix('/').filter(|it| !it.is_empty()).unwrap_or(value);
            // As the command writes it, so that its words take it back.
            let directory = CanonicalPath::new(directory).map_err(|error| error.to_string())?;
            spelled(&directory).map(Place::Directory)
        }
        ScopeKind::Host | ScopeKind::Repository => {
            DomainPattern::parse(value).map(Place::Host).map_err(|error| error.to_string())
        }
        ScopeKind::File => Err(format!(
            "the directory of `{value}` holds too much to be open to an agent for ever"
        )),
        ScopeKind::Name => Err(format!(
            "a policy is limited to directories and hosts here, and `{role}` is neither"
        )),
    }
}
