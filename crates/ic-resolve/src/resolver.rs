//! Turns a call into what is judged: finds the values of each role and makes them canonical.
//!
//! Decides nothing. A value that cannot be resolved becomes an [`InvalidValue`], which the policy
//! denies; so a mistake here makes a call impossible, not possible.

mod aliases;
mod arriving;
mod carried;
mod drafts;
mod executed;
mod named;
mod pushes;
mod remotes;
mod texts;
mod trees;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use ic_policy::host_executes::is_packages;
use ic_policy::{
    Annotation, ArgumentAnnotation, InvalidValue, PathValue, Pointer, Policy, ResolvedCall,
    ResolvedParts, RolePlace, RoleValues, Sandbox, Standing, Value,
};
use ic_types::{AbsolutePath, CanonicalPath, Category, Json, Object, Role, ToolCall};

use crate::disk::{Disk, Kind, Metered};
use crate::executes::Orders;
use crate::path::{self, Found, Last, PathFault};
use crate::url::parse_fetch_url;
use aliases::Aliases;
pub use drafts::PATH_WORDS;
use remotes::{KnownRepository, REMOTES_MAX};
use texts::Texts;

/// How often one call may make us look at the disk.
pub const LOOKS_MAX: usize = 100_000;
/// How many texts of one call are looked at.
pub const TEXTS_MAX: usize = 10_000;

/// Resolves calls on one machine, for one session.
#[derive(Clone, Copy)]
pub struct Resolver<'a> {
    /// Where to look.
    pub disk: &'a dyn Disk,
    /// What `~` stands for.
    pub home: &'a AbsolutePath,
    /// The directory against which relative paths are resolved.
    pub sandbox: Option<&'a Sandbox>,
    /// The user's git configuration, and what was read of others; without it both are left out.
    pub orders: Option<&'a Orders>,
    /// What an agent in a container calls the sandbox, if it is in one.
    pub seen_as: Option<&'a str>,
}

/// What is known of a call besides its arguments.
#[derive(Debug)]
pub struct Besides<'a> {
    /// A fault that was found before; the call is denied for it.
    pub fault: Option<InvalidValue>,
    /// What its server says that it would change as well, of files that the host executes.
    pub brought: &'a [CanonicalPath],
    /// What its server says that it would read, change or remove besides.
    pub named: &'a [(Role, CanonicalPath)],
}

impl std::fmt::Debug for Resolver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver")
            .field("home", self.home)
            .field("sandbox", &self.sandbox)
            .finish_non_exhaustive()
    }
}

impl Resolver<'_> {
    /// Resolves `call` by what `policy` says of its arguments.
    ///
    /// Looks at the disk at most [`LOOKS_MAX`] times and at most [`TEXTS_MAX`] texts; a call that needs
    /// more is invalid.
    pub fn resolve(&self, policy: &Policy, call: ToolCall) -> ResolvedCall {
        self.resolve_with(policy, call, Besides { fault: None, brought: &[], named: &[] })
    }

    /// Resolves `call`, of which something is known besides its arguments.
    pub fn resolve_with(
        &self,
        policy: &Policy,
        call: ToolCall,
        Besides { fault, brought, named }: Besides<'_>,
    ) -> ResolvedCall {
        let disk = Metered::new(self.disk, LOOKS_MAX);
        let resolving = Resolving::new(&disk, self);
        let mut parts = resolving.resolve_parts(policy, call);
        resolving.note_brought(brought, &mut parts);
        named::note(named, &mut parts);
        parts.invalid.extend(fault);
        if disk.is_exhausted() {
            let reason = "it asks too much of the disk".to_owned();
            parts.invalid.push(InvalidValue {
                place: "the call".to_owned(),
                role: Role::None,
                reason,
            });
        }
        ResolvedCall::assert_resolved(parts)
    }

    /// Looks at every path of `call`, for nothing but to find out whether the disk answers.
    pub fn reach(&self, policy: &Policy, call: &ToolCall) {
        let disk = Metered::new(self.disk, LOOKS_MAX);
        let resolving = Resolving::new(&disk, self);
        let Some(annotation) = policy.annotation(&call.server, &call.tool) else { return };
        for argument in annotation.arguments() {
            let is_path = |role: &Role| role.category() == Category::Path;
            if !argument.roles(&call.arguments).iter().any(is_path) {
                continue;
            }
            let base = resolving.base_of(argument, &call.arguments);
            for text in texts_at(argument.place(), &call.arguments).unwrap_or_default() {
                let path = path::absolute(&resolving.here(text), self.home, base.as_ref());
                // What is wrong with a path is said once the call is judged.
                path.and_then(|path| path::follow(&disk, &path, Last::Follow)).ok();
            }
        }
    }

    /// Makes a path of a rule, a flag or a configuration file canonical.
    pub fn locate(&self, text: &str) -> Result<CanonicalPath, PathFault> {
        let path = path::absolute(text, self.home, None)?;
        Ok(path::follow(self.disk, &path, Last::Follow)?.path)
    }
}

/// One call as it is resolved: the disk within its limit, and what was found out for this call.
///
/// Whatever several values of a call need is found out once, so that the work grows with the number of
/// values and no faster.
struct Resolving<'a> {
    disk: &'a dyn Disk,
    home: &'a AbsolutePath,
    sandbox: Option<&'a Sandbox>,
    orders: Option<&'a Orders>,
    seen_as: Option<&'a str>,
    /// The listed names that are links, by directory.
    aliases: Aliases,
    /// The repository that remotes are looked up in.
    repository: RefCell<KnownRepository>,
    /// How many remotes the call named so far.
    n_remotes: Cell<usize>,
}

impl<'a> Resolving<'a> {
    fn new(disk: &'a dyn Disk, resolver: &Resolver<'a>) -> Self {
        let Resolver { home, sandbox, orders, seen_as, .. } = *resolver;
        let (aliases, repository, n_remotes) = Default::default();
        Self { disk, home, sandbox, orders, seen_as, aliases, repository, n_remotes }
    }
}

impl Resolving<'_> {
    /// Returns a path as it is called here, if the agent has another name for the sandbox.
    ///
    /// First of all: what the agent calls so is never what this machine may have at that path.
    fn here<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let beneath = self.seen_as.and_then(|seen_as| text.strip_prefix(seen_as));
        match (beneath, self.sandbox) {
            (Some(rest), Some(sandbox)) if rest.is_empty() || rest.starts_with('/') => {
                Cow::Owned(format!("{}{rest}", sandbox.path))
            }
            _ => Cow::Borrowed(text),
        }
    }

    fn resolve_parts(&self, policy: &Policy, call: ToolCall) -> ResolvedParts {
        let mut parts = ResolvedParts {
            sent: call.arguments.clone(),
            standing: Standing::Unknown,
            roles: Vec::new(),
            invalid: Vec::new(),
            unknown_arguments: Vec::new(),
            unannotated_paths: Vec::new(),
            executed: Vec::new(),
            places: Vec::new(),
            push: None,
            asked: call,
        };
        if let Some(annotation) = policy.annotation(&parts.asked.server, &parts.asked.tool) {
            parts.standing =
                if annotation.is_draft() { Standing::Draft } else { Standing::Annotated };
            self.resolve_annotated(annotation, &mut parts);
            if !is_command(&parts.asked) {
                self.note_arriving(policy, &mut parts);
            }
        }
        parts
    }

    fn resolve_annotated(&self, annotation: &Annotation, parts: &mut ResolvedParts) {
        let arguments = &parts.asked.arguments;
        let unknown = arguments.keys().filter(|key| !annotation.names(key));
        parts.unknown_arguments = unknown.map(ToOwned::to_owned).collect();
        let mut outcome = Outcome { roles: Vec::new(), invalid: Vec::new() };
        for argument in annotation.arguments() {
            let roles = argument.roles(arguments);
            for role in roles {
                outcome.note_role(*role);
            }
            let bearing: Vec<Role> =
                roles.iter().copied().filter(|role| *role != Role::None).collect();
            if bearing.is_empty() {
                continue;
            }
            let place = RolePlace { place: argument.place().clone(), roles: bearing.clone() };
            parts.places.push(place);
            let mut sent = self.resolve_argument(argument, &bearing, arguments, &mut outcome);
            self.keep_guesses(annotation, argument.place(), arguments, &mut sent);
            if trees::names_repository(&parts.asked.tool, argument.place()) {
                self.note_repository(argument.place(), &bearing, arguments, &mut outcome);
            }
            replace(argument.place(), sent, &mut parts.sent);
        }
        // A command moves nothing by itself: whether rules about places in its directory hold for it is for
        // the decision to say, which knows whose command it is.
        let carried = match is_command(&parts.asked) {
            true => Vec::new(),
            false => self.note_carried(&parts.asked.tool, &mut outcome.roles),
        };
        self.note_planted(&parts.asked.tool, arguments, &mut outcome.roles);
        parts.executed = self.executed(&parts.asked, &outcome.roles);
        parts.executed.extend(carried);
        parts.push = self.push(&parts.asked.tool, arguments);
        parts.roles = outcome.roles;
        parts.invalid = outcome.invalid;
        let mut texts = Texts::new();
        for (name, value) in arguments.iter() {
            if !is_bearing_as_a_whole(annotation, name, arguments) {
                self.find_paths(name, value, &mut texts);
            }
        }
        if texts.is_full() || TEXTS_MAX < count_values(&parts.roles) {
            parts.invalid.push(InvalidValue {
                place: "the call".to_owned(),
                role: Role::None,
                reason: too_many_texts(),
            });
        }
        parts.unannotated_paths = texts.found;
    }

    /// Resolves the values of one argument; returns, value by value, what is sent instead.
    fn resolve_argument(
        &self,
        argument: &ArgumentAnnotation,
        roles: &[Role],
        arguments: &Object,
        outcome: &mut Outcome,
    ) -> Vec<Option<String>> {
        let place = argument.place();
        let texts = match texts_at(place, arguments) {
            Ok(texts) => texts,
            Err(reason) => {
                outcome.note_invalid(place, roles, &reason);
                return Vec::new();
            }
        };
        // What is too much is refused before anything of it is looked at.
        if TEXTS_MAX < texts.len() + count_values(&outcome.roles) {
            outcome.note_invalid(place, roles, &too_many_texts());
            return Vec::new();
        }
        let is_remote = roles.contains(&Role::GitRemoteUrl);
        if is_remote && REMOTES_MAX < self.n_remotes.get() + texts.len() {
            let reason = format!("a call names at most {REMOTES_MAX} remotes");
            outcome.note_invalid(place, roles, &reason);
            return Vec::new();
        }
        self.n_remotes.set(self.n_remotes.get() + if is_remote { texts.len() } else { 0 });
        if texts.is_empty() && is_remote {
            self.resolve_default_remotes(place, arguments, outcome);
        }
        let base = self.base_of(argument, arguments);
        let mut sent = Vec::new();
        for text in texts {
            match self.resolve_text(text, roles, base.as_ref(), arguments) {
                Ok(resolved) => {
                    for (role, value) in resolved.values {
                        outcome.note_value(role, value);
                    }
                    sent.push(resolved.sent);
                }
                Err(reason) => {
                    outcome.note_invalid(place, roles, &reason);
                    sent.push(None);
                    if is_remote {
                        // The call is denied, and the others may cost a whole config each.
                        break;
                    }
                }
            }
            if is_remote && TEXTS_MAX < count_values(&outcome.roles) {
                outcome.note_invalid(place, roles, &too_many_texts());
                break;
            }
        }
        sent
    }

    fn resolve_text(
        &self,
        text: &str,
        roles: &[Role],
        base: Option<&CanonicalPath>,
        arguments: &Object,
    ) -> Result<ResolvedText, String> {
        let mut resolved = ResolvedText { values: Vec::new(), sent: None };
        let paths: Vec<Role> =
            roles.iter().copied().filter(|role| role.category() == Category::Path).collect();
        if !paths.is_empty() {
            self.resolve_path(text, &paths, base, &mut resolved)
                .map_err(|fault| fault.to_string())?;
        }
        for role in roles {
            match (role, role.category()) {
                (_, Category::Path) => {}
                (Role::GitRemoteUrl, _) => self.resolve_remote(text, arguments, &mut resolved)?,
                (role, Category::Url) => {
                    let url = parse_fetch_url(text).map_err(|fault| fault.to_string())?;
                    resolved.sent = Some(url.text.clone());
                    resolved.values.push((*role, Value::Url(url)));
                }
                (role, Category::Identifier | Category::Opaque) => {
                    check_opaque(*role, text)?;
                    resolved.values.push((*role, Value::Text(role.canonical_text(text))));
                }
            }
        }
        Ok(resolved)
    }

    /// Resolves a path in the forms that its roles need.
    ///
    /// A path that is removed is meant as the entry; if that is a link to a directory, what is
    /// behind it is judged too, because a recursive tool would go there.
    fn resolve_path(
        &self,
        text: &str,
        roles: &[Role],
        base: Option<&CanonicalPath>,
        resolved: &mut ResolvedText,
    ) -> Result<(), PathFault> {
        let text = &*self.here(text);
        let path = path::absolute(text, self.home, base)?;
        let only_entries =
            roles.iter().all(|role| role.is_entry()) && !path::ends_in_directory(text);
        let followed = match path::follow(self.disk, &path, Last::Follow) {
            // What a link leads to does not matter to removing it, if it leads nowhere.
            Err(PathFault::TooManyLinks) if only_entries => {
                path::follow(self.disk, &path, Last::Keep)?
            }
            followed => followed?,
        };
        let kept = match roles.iter().any(|role| role.is_entry()) && !path::ends_in_directory(text)
        {
            true => Some(path::follow(self.disk, &path, Last::Keep)?),
            false => None,
        };
        let to_send = kept.as_ref().map_or(&followed.path, |kept| &kept.path);
        resolved.sent = Some(to_send.to_str().ok_or(PathFault::NotUtf8)?.to_owned());
        for role in roles {
            let forms = match &kept {
                Some(kept) if role.is_entry() => {
                    let is_link_to_directory =
                        kept.path != followed.path && is_directory(&followed);
                    std::iter::once(kept).chain(is_link_to_directory.then_some(&followed)).collect()
                }
                Some(_) | None => vec![&followed],
            };
            for form in forms {
                let value = self.path_value(*role, form.clone());
                resolved.values.push((*role, Value::Path(value)));
            }
        }
        Ok(())
    }

    fn path_value(&self, role: Role, found: Found) -> PathValue {
        let (n_missing, spelled) = (found.n_missing, found.spelled.clone());
        let mut value = found.into_value();
        if role.changes_path() && !self.is_exempt(&value.path) {
            // Where a link leads into packages names are free there, and not where the user finds them.
            if value.path.components().any(is_packages) {
                value.also.extend(spelled);
            }
            self.find_aliases(&mut value);
            // Directories that would be made on the way are made by the call too.
            let above = value.path.ancestors().take(n_missing).skip(1);
            value.also.extend(above.collect::<Vec<_>>());
        }
        value
    }

    /// Returns the directory in which nothing is run by the host: the session's own sandbox.
    fn exempt(&self) -> Option<&CanonicalPath> {
        self.sandbox.filter(|it| !it.kind.is_used_by_host()).map(|it| &it.path)
    }

    fn is_exempt(&self, path: &CanonicalPath) -> bool {
        self.exempt().is_some_and(|exempt| path.is_within(exempt))
    }

    /// Returns the directory against which the argument's relative paths are resolved.
    fn base_of(&self, argument: &ArgumentAnnotation, arguments: &Object) -> Option<CanonicalPath> {
        match argument.relative_to() {
            Some(base) => self.one_path_at(base, arguments),
            None => self.sandbox.map(|sandbox| sandbox.path.clone()),
        }
    }

    /// Resolves the one path at `place`; none if there are none or several.
    fn one_path_at(&self, place: &Pointer, arguments: &Object) -> Option<CanonicalPath> {
        match texts_at(place, arguments).ok()?.as_slice() {
            [text] => {
                let base = self.sandbox.map(|sandbox| &sandbox.path);
                let path = path::absolute(&self.here(text), self.home, base).ok()?;
                Some(path::follow(self.disk, &path, Last::Follow).ok()?.path)
            }
            _ => None,
        }
    }
}

fn too_many_texts() -> String {
    format!("it holds more than {TEXTS_MAX} texts to look at")
}

fn count_values(roles: &[RoleValues]) -> usize {
    roles.iter().map(|entry| entry.values.len()).sum()
}

/// One text, resolved: its values by role, and what is sent in its place.
struct ResolvedText {
    values: Vec<(Role, Value)>,
    sent: Option<String>,
}

/// What resolving the annotated arguments gives, as it comes together.
struct Outcome {
    roles: Vec<RoleValues>,
    invalid: Vec<InvalidValue>,
}

impl Outcome {
    fn note_role(&mut self, role: Role) -> Option<&mut RoleValues> {
        if !self.roles.iter().any(|entry| entry.role == role) {
            self.roles.push(RoleValues { role, values: Vec::new() });
        }
        self.roles.iter_mut().find(|entry| entry.role == role)
    }

    fn note_value(&mut self, role: Role, value: Value) {
        if let Some(entry) = self.note_role(role) {
            entry.values.push(value);
        }
    }

    fn note_invalid(&mut self, place: &Pointer, roles: &[Role], reason: &str) {
        let role = roles.first().copied().unwrap_or(Role::None);
        let (place, reason) = (place.as_str().to_owned(), reason.to_owned());
        self.invalid.push(InvalidValue { place, role, reason });
    }
}

/// Returns the texts at `place`: a string is one, an array of strings several, `null` none.
fn texts_at<'a>(place: &Pointer, arguments: &'a Object) -> Result<Vec<&'a str>, String> {
    let expected = || "expected a string or an array of strings".to_owned();
    let mut texts = Vec::new();
    for value in place.find(arguments).map_err(|_| expected())? {
        match value {
            Json::Null => {}
            Json::String(text) => texts.push(text.as_str()),
            Json::Array(items) => {
                for item in items {
                    texts.push(item.as_str().ok_or_else(expected)?);
                }
            }
            Json::Bool(_) | Json::Number(_) | Json::Object(_) => return Err(expected()),
        }
    }
    Ok(texts)
}

/// Puts the judged forms in the place of the texts, in the order in which they were found.
fn replace(place: &Pointer, sent: Vec<Option<String>>, arguments: &mut Object) {
    let mut sent = sent.into_iter();
    let mut put = |slot: &mut Json| {
        if let Some(Some(text)) = sent.next() {
            *slot = Json::String(text);
        }
    };
    for value in place.find_mut(arguments).unwrap_or_default() {
        match value {
            Json::String(_) => put(value),
            Json::Array(items) => items.iter_mut().for_each(&mut put),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {}
        }
    }
}

/// Returns whether the whole of the argument bears a role in this call, not just a place in it.
fn is_bearing_as_a_whole(annotation: &Annotation, name: &str, arguments: &Object) -> bool {
    annotation.arguments().iter().any(|argument| {
        argument.place().as_str() == name
            && argument.roles(arguments).iter().any(|role| *role != Role::None)
    })
}

fn check_opaque(role: Role, text: &str) -> Result<(), String> {
    if role == Role::BranchName && (text.starts_with(['-', '+']) || text.contains(':')) {
        return Err("a branch neither begins with `-` or `+` nor contains `:`".to_owned());
    }
    Ok(())
}

/// Returns whether a call is named like that of the built-in shell server.
fn is_command(call: &ToolCall) -> bool {
    call.server.as_str() == "shell" && call.tool.as_str() == "run_command"
}

fn is_directory(found: &Found) -> bool {
    found.entry.is_some_and(|entry| entry.kind == Kind::Directory)
}
