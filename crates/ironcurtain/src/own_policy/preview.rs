//! What a change of a policy would do: to calls that were recorded, and to example calls.
//!
//! Both policies judge each call now, with this machine as it is; nothing is forwarded or recorded.

use std::collections::HashSet;

use ic_audit::read::{Filter, Records};
use ic_home::Home;
use ic_opening::policy as judge;
use ic_opening::policy::Loaded;
use ic_policy::additions::{Addition, Place};
use ic_policy::{Effect, Finding, Sandbox, SandboxKind};
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::{AbsolutePath, Category, Json, Object, Role, ServerName, SessionId, ToolCall};

use super::Change;
use crate::commands::audit::find;
use crate::error::Failure;
use crate::screen::visible;

/// How many logs are looked at, the newest first.
const LOGS_MAX: usize = 20;
/// How many recorded calls are judged.
const CALLS_MAX: usize = 500;
/// How many tools examples are made for.
const EXAMPLES_MAX: usize = 4;
/// How many tools of each server, if all servers are meant.
const EXAMPLES_EACH_MAX: usize = 2;
/// How many changes are shown.
const SHOWN_MAX: usize = 12;
/// How much of a call is shown.
const CHARS_MAX: usize = 100;

/// What a change would do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preview {
    /// How many recorded calls were judged, if any were looked for.
    n_recorded: Option<usize>,
    recorded: Vec<Judged>,
    examples: Vec<Judged>,
    /// What becomes of examples that are not shown and are denied now.
    lifted_unseen: Option<Lifted>,
    /// Whether something is taken away from the policy.
    is_removal: bool,
}

/// What becomes of a call that is denied now.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Lifted {
    ToAsk,
    ToAllow,
}

/// A call, judged before and after.
#[derive(Clone, Debug)]
struct Judged {
    call: String,
    before: Effect,
    after: Effect,
    /// Who decides before the change, and after it.
    rule_before: String,
    rule: String,
    /// The roles that the additions are about and that are judged otherwise, each before and after.
    of_roles: Vec<(Role, Effect, Effect)>,
    /// For an example that the additions are about: whether what they are about is allowed without them.
    is_open: Option<bool>,
    count: usize,
}

/// Where an example is, beside the place that an addition is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Where {
    Inside,
    Outside,
}

/// A call of a tool that an addition is about.
struct Example {
    call: ToolCall,
    place: Where,
    /// Whether a person is shown it; what the others would lift counts all the same.
    is_shown: bool,
}

impl Preview {
    /// Judges recorded calls of the servers of `additions`, and examples of them.
    pub(crate) fn of(
        before: &mut Loaded,
        after: &mut Loaded,
        change: &Change,
        home: &Home,
    ) -> Result<Self, Failure> {
        let additions = change.entries();
        let mut preview = Self { n_recorded: Some(0), ..Self::of_examples(before, after, change) };
        let mut logs = find::all(home)?;
        for found in logs.drain(..).rev().take(LOGS_MAX) {
            let Some(session) = &found.session else { continue };
            let sandbox = sandbox_of(session, home);
            let kept = [before.judge.bounds.sandbox.clone(), after.judge.bounds.sandbox.clone()];
            before.judge.bounds.sandbox.clone_from(&sandbox);
            after.judge.bounds.sandbox = sandbox;
            preview.read(&found.files.log, before, after, additions);
            [before.judge.bounds.sandbox, after.judge.bounds.sandbox] = kept;
        }
        Ok(preview)
    }

    /// Judges examples of calls alone, which takes no longer however much was recorded.
    pub(crate) fn of_examples(before: &Loaded, after: &Loaded, change: &Change) -> Self {
        let additions = change.entries();
        let is_removal = matches!(change, Change::Remove(_));
        let mut preview = Self { is_removal, ..Self::default() };
        for addition in additions {
            for Example { call, place, is_shown } in examples(addition, after) {
                let mut judged = Judged::of(&call, before, after, additions);
                judged.is_open = match place {
                    Where::Inside => Some(is_open(&call, before, addition)),
                    Where::Outside => None,
                };
                if !is_shown {
                    preview.lifted_unseen = preview.lifted_unseen.max(judged.lifted());
                } else if !preview.examples.iter().any(|it| it.call == judged.call) {
                    preview.examples.push(judged);
                }
            }
        }
        preview
    }

    fn read(
        &mut self,
        log: &std::path::Path,
        before: &Loaded,
        after: &Loaded,
        additions: &[Addition],
    ) {
        // A log that cannot be read is `audit verify`'s to say; this is only a preview.
        let Ok(records) = Records::open(log) else { return };
        let filter = Filter { kind: Some("intent".to_owned()), ..Filter::default() };
        // Calls that someone was asked about: the record of the approved call is no further call.
        let mut asked: HashSet<String> = HashSet::new();
        for record in records.map_while(Result::ok).filter(|it| filter.wants(it)) {
            let text = |key: &str| record.fields.get(key).and_then(Json::as_str);
            let is_by_policy = text("decidedBy") == Some("policy");
            let request = text("requestId").unwrap_or_default();
            if !is_by_policy && asked.contains(request) {
                continue;
            }
            if is_by_policy && text("verdict") == Some("escalate") {
                asked.insert(request.to_owned());
            }
            if self.n_recorded.is_some_and(|n_recorded| CALLS_MAX <= n_recorded) {
                return;
            }
            let is_about =
                |server: &ServerName| additions.iter().any(|it| it.is_about_server(server));
            let Some(call) = call_of(&record.fields).filter(|call| is_about(&call.server)) else {
                continue;
            };
            self.n_recorded = self.n_recorded.map(|n_recorded| n_recorded + 1);
            let judged = Judged::of(&call, before, after, additions);
            match self.recorded.iter_mut().find(|it| it.is_like(&judged)) {
                Some(known) => known.count += 1,
                None => self.recorded.push(judged),
            }
        }
    }

    /// Returns whether any call would be judged otherwise, as a whole or in one of its roles: a call can
    /// need more than one addition.
    pub(crate) fn has_effect(&self) -> bool {
        self.all().any(|it| it.before != it.after || !it.of_roles.is_empty())
    }

    /// Returns whether a call would be allowed that is denied now, or, by something that is added, asked about.
    pub(crate) fn lifts_denial(&self) -> bool {
        let lifted = self.all().filter_map(Judged::lifted).chain(self.lifted_unseen);
        // Whoever takes a `never` back gets the rules beneath it, which may well ask.
        lifted.max() >= Some(if self.is_removal { Lifted::ToAllow } else { Lifted::ToAsk })
    }

    /// Returns whether everything that an `allow` is about is allowed without it.
    pub(crate) fn is_allowed_already(&self) -> bool {
        let mut meant = self.examples.iter().filter_map(|it| it.is_open).peekable();
        meant.peek().is_some() && meant.all(|is_open| is_open)
    }

    /// Returns the rule that allows the first example without the change.
    pub(crate) fn allowed_by(&self) -> Option<&str> {
        self.examples.first().map(|it| it.rule_before.as_str())
    }

    /// Returns the rule that keeps the first example from being what the change asks for.
    pub(crate) fn kept_by(&self) -> Option<&str> {
        self.examples.first().map(|it| it.rule.as_str())
    }

    fn all(&self) -> impl Iterator<Item = &Judged> {
        self.recorded.iter().chain(&self.examples)
    }

    /// Returns what a person reads.
    pub(crate) fn lines(&self) -> Vec<String> {
        let changed: Vec<&Judged> =
            self.recorded.iter().filter(|it| it.before != it.after).collect();
        let n_changed: usize = changed.iter().map(|it| it.count).sum();
        let n_recorded = self.n_recorded.map(|n_recorded| match n_recorded {
            0 => "recorded calls: none of this server yet".to_owned(),
            n => format!("recorded calls: {n_changed} of {n} would be judged differently"),
        });
        let mut lines: Vec<String> = n_recorded.into_iter().collect();
        lines.extend(changed.iter().take(SHOWN_MAX).map(|it| it.line()));
        if SHOWN_MAX < changed.len() {
            lines.push(format!("  and {} more", changed.len() - SHOWN_MAX));
        }
        if !self.examples.is_empty() {
            lines.push("example calls, with the arguments that are judged:".to_owned());
            lines.extend(self.examples.iter().map(Judged::line));
        }
        lines
    }
}

impl Judged {
    fn of(call: &ToolCall, before: &Loaded, after: &Loaded, additions: &[Addition]) -> Self {
        let shown =
            format!("{}.{} {}", call.server, call.tool, Json::Object(call.arguments.clone()));
        let [was, judged] = [before, after].map(|loaded| loaded.judge.judge(call.clone()));
        Self {
            call: shown,
            before: was.effect(),
            after: judged.effect(),
            rule_before: was.rule().to_owned(),
            rule: judged.rule().to_owned(),
            of_roles: of_roles(call, before, after, additions),
            is_open: None,
            count: 1,
        }
    }

    /// Returns what becomes of it, as a whole or in one of its roles, if it is denied now.
    fn lifted(&self) -> Option<Lifted> {
        let of = |before: Effect, after: Effect| match (before, after) {
            (Effect::Deny, Effect::Allow) => Some(Lifted::ToAllow),
            (Effect::Deny, Effect::Escalate) => Some(Lifted::ToAsk),
            (Effect::Deny, Effect::Deny) | (Effect::Escalate | Effect::Allow, _) => None,
        };
        let of_roles = self.of_roles.iter().map(|(_, was, is)| of(*was, *is));
        of_roles.chain([of(self.before, self.after)]).max().flatten()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.call == other.call && self.before == other.before && self.after == other.after
    }

    fn line(&self) -> String {
        let verdict = match self.before == self.after {
            true => format!("{} as before", word(self.after)),
            false => format!("{} -> {}", word(self.before), word(self.after)),
        };
        let mut call: String = self.call.chars().take(CHARS_MAX).collect();
        if call.len() < self.call.len() {
            call.push('…');
        }
        let times =
            if self.count == 1 { String::new() } else { format!(" ({} times)", self.count) };
        // What the whole call does says nothing of a change that is only part of what it needs.
        let parts: Vec<String> = match self.before == self.after {
            true => self
                .of_roles
                .iter()
                .map(|(role, was, is)| format!("{role}: {} -> {}", word(*was), word(*is)))
                .collect(),
            false => Vec::new(),
        };
        let parts = if parts.is_empty() {
            String::new()
        } else {
            // A rule that was just added does not decide *still*.
            let still = if self.rule == self.rule_before { "still " } else { "" };
            format!(" ({}; `{}` {still}decides)", parts.join(", "), self.rule)
        };
        format!("  {verdict:<18} {}{times}{}", visible(&call), visible(&parts))
    }
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allowed",
        Effect::Escalate => "asks",
        Effect::Deny => "denied",
    }
}

/// Returns the roles of `call` that `additions` are about and that are judged otherwise.
fn of_roles(
    call: &ToolCall,
    before: &Loaded,
    after: &Loaded,
    additions: &[Addition],
) -> Vec<(Role, Effect, Effect)> {
    let [was, is] = [before, after].map(|loaded| loaded.judge.explain(call.clone()).1);
    let of = |findings: &[Finding], role: Role| {
        findings.iter().filter(|it| it.role == Some(role)).map(|it| it.effect).max()
    };
    let is_meant = |role: &Role| additions.iter().any(|it| it.is_about(*role));
    Role::all()
        .filter(is_meant)
        .filter_map(|role| Some((role, of(&was, role)?, of(&is, role)?)))
        .filter(|(_, was, is)| was != is)
        .collect()
}

/// Returns whether what `addition` is about is allowed in `call`.
fn is_open(call: &ToolCall, loaded: &Loaded, addition: &Addition) -> bool {
    let (_, findings) = loaded.judge.explain(call.clone());
    let is_meant = |it: &&Finding| it.role.is_none_or(|role| addition.is_about(role));
    let worst = findings.iter().filter(is_meant).map(|it| it.effect).max();
    let whole = ic_policy::decisive(&findings).map(|it| it.effect);
    worst.or(whole) == Some(Effect::Allow)
}

/// Reads the call of an intent; `None` if it cannot be judged again.
fn call_of(record: &Object) -> Option<ToolCall> {
    if record.get("replayable").is_some_and(|it| *it == Json::Bool(false)) {
        return None;
    }
    let text = |key: &str| record.get(key).and_then(Json::as_str);
    let arguments = match record.get("arguments")? {
        Json::Object(arguments) => arguments.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            return None;
        }
    };
    let (server, tool) = (text("server")?.parse().ok()?, text("tool")?.parse().ok()?);
    Some(ToolCall { server, tool, arguments })
}

/// Returns the directory in which the agent of a session was free.
fn sandbox_of(session: &SessionId, home: &Home) -> Option<Sandbox> {
    let metadata = ic_store::Sessions::of(home).find(session.as_str()).ok();
    let workspace = metadata.and_then(|it| it.workspace);
    let (directory, kind) = match workspace {
        Some(workspace) => (workspace.into(), SandboxKind::Workspace),
        None => (home.session(session).join("sandbox"), SandboxKind::Session),
    };
    let directory = AbsolutePath::new(directory).ok()?;
    let found = path::follow(&RealDisk, &directory, Last::Follow).ok()?;
    Some(Sandbox { path: found.path, kind })
}

/// Makes calls of all tools that `addition` is about, inside its place and one outside of it.
fn examples(addition: &Addition, loaded: &Loaded) -> Vec<Example> {
    let outside = match addition.place() {
        Some(Place::Directory(within)) => {
            let parent = within.rsplit_once('/').map_or("", |(parent, _)| parent);
            Some(format!("{parent}/example.txt"))
        }
        Some(Place::Host(_)) | None => None,
    };
    let tools = loaded.judge.policy.annotations().filter(|(server, _, annotation)| {
        let is_about = |role: Role| addition.is_about(role);
        let is_bounded = addition.place().is_some() || addition.roles().is_some();
        addition.is_about_server(server)
            && loaded.servers.get(server.as_str()).is_some()
            && (!is_bounded || judge::possible_roles(annotation).any(is_about))
    });
    let n_most = if addition.server().is_some() { EXAMPLES_MAX } else { EXAMPLES_EACH_MAX };
    let mut examples: Vec<Example> = Vec::new();
    for (server, tool, annotation) in tools {
        if addition.tool().is_some_and(|it| it != tool) {
            continue;
        }
        let call = |value_of: &dyn Fn(Role) -> Option<String>| ToolCall {
            server: server.clone(),
            tool: tool.clone(),
            arguments: judge::arguments(annotation, value_of),
        };
        let is_first = examples.is_empty();
        let is_shown = examples.iter().filter(|it| it.call.server == *server).count() < n_most;
        let inside = call(&|role| example_of(role, addition));
        examples.push(Example { call: inside, place: Where::Inside, is_shown });
        if let Some(outside) = outside.as_ref().filter(|_| is_first) {
            let call = call(&|role| addition.is_about(role).then(|| outside.clone()));
            examples.push(Example { call, place: Where::Outside, is_shown });
        }
    }
    examples
}

/// Returns a value in the place that `addition` is about, for arguments that it is about.
fn example_of(role: Role, addition: &Addition) -> Option<String> {
    if !addition.is_about(role) {
        return None;
    }
    match addition.place() {
        Some(Place::Directory(within)) => {
            Some(format!("{}/example.txt", within.trim_end_matches('/')))
        }
        Some(Place::Host(pattern)) => {
            let host = pattern.to_string().replace("*.", "www.").replace('*', "www.example.com");
            let url = if host.contains("://") { host } else { format!("https://{host}") };
            match role {
                Role::GitRemoteUrl if !pattern.names_repository() => {
                    Some(format!("{url}/example/example.git"))
                }
                _ => Some(url),
            }
        }
        None => match role.category() {
            Category::Path => Some("~/example.txt".to_owned()),
            Category::Url if role == Role::GitRemoteUrl => {
                Some("https://git.example.com/example/example.git".to_owned())
            }
            Category::Url => Some("https://example.com/".to_owned()),
            Category::Identifier | Category::Opaque => None,
        },
    }
}
