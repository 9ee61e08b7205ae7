//! A small world to judge calls in: a handful of paths, hosts and names, and short ways to say them.

use std::collections::HashMap;

use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Containment, Destination, DomainSet, HomeExecutes, PathValue, Policy, PolicySources,
    Reach, ResolvedCall, ResolvedParts, RoleValues, Sandbox, SandboxKind, Scheme, ServerTraits,
    Standing, UrlValue, Value, Verdict, evaluate,
};
use ic_types::{CanonicalPath, Object, Role, ToolCall};

pub(crate) const SANDBOX: &str = "/s";

/// Returns a canonical path.
#[track_caller]
pub(crate) fn path(text: &str) -> CanonicalPath {
    CanonicalPath::new(text).unwrap()
}

/// Returns the value that `text` stands for in `role`; URLs and remotes are written plainly.
#[track_caller]
pub(crate) fn value(role: Role, text: &str) -> Value {
    match role {
        Role::FetchUrl | Role::GitRemoteUrl => url(text),
        role if role.category() == ic_types::Category::Path => {
            Value::Path(PathValue { path: path(text), also: Vec::new(), state: None })
        }
        role => Value::Text(role.canonical_text(text)),
    }
}

/// Reads `scheme://host[:port][/repository]`.
#[track_caller]
fn url(text: &str) -> Value {
    let (scheme, rest) = text.split_once("://").unwrap();
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        "ssh" => Scheme::Ssh,
        other => panic!("{other}"),
    };
    let (authority, repository) = match rest.split_once('/') {
        Some((authority, repository)) => (authority, Some(repository.to_owned())),
        None => (rest, None),
    };
    let there = Destination::parse_authority(authority).unwrap();
    let destination = Destination { scheme: Some(scheme), repository, ..there };
    Value::Url(UrlValue { text: text.to_owned(), destination })
}

/// Makes a resolved call of `server.tool` with these roles and values.
#[track_caller]
pub(crate) fn call(server: &str, tool: &str, roles: &[(Role, &[&str])]) -> ResolvedCall {
    ResolvedCall::assert_resolved(parts(server, tool, roles))
}

/// Makes the parts of such a call, to be changed before they are put together.
#[track_caller]
pub(crate) fn parts(server: &str, tool: &str, roles: &[(Role, &[&str])]) -> ResolvedParts {
    let roles = roles.iter().map(|(role, texts)| RoleValues {
        role: *role,
        values: texts.iter().map(|text| value(*role, text)).collect(),
    });
    ResolvedParts {
        asked: ToolCall {
            server: server.parse().unwrap(),
            tool: tool.parse().unwrap(),
            arguments: Object::new(),
        },
        sent: Object::new(),
        standing: Standing::Annotated,
        roles: roles.collect(),
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
    }
}

/// The surroundings: a sandbox at `/s`, `/p` protected, `fs` the filesystem server, `git` contained,
/// `gated` with one allowed domain.
pub(crate) fn bounds(kind: SandboxKind) -> Bounds {
    let server = |containment, domains: Option<&str>| ServerTraits {
        containment,
        names_files: containment == Containment::Contained,
        allowed_domains: domains.map(|d| DomainSet::parse([d]).unwrap()).into_iter().collect(),
    };
    let servers = [
        ("fs", server(Containment::ContainedFilesystem, None)),
        ("git", server(Containment::Contained, None)),
        ("gated", server(Containment::Loose, Some("*.good.example"))),
        (
            "closed",
            ServerTraits {
                containment: Containment::Loose,
                names_files: false,
                allowed_domains: vec![DomainSet::new(Vec::new())],
            },
        ),
    ];
    Bounds {
        sandbox: Some(Sandbox { path: path(SANDBOX), kind }),
        protected: vec![path("/p"), path("/s/inner-secret")],
        home_executes: vec![
            HomeExecutes { path: path("/h/.bashrc"), reach: Reach::Itself },
            HomeExecutes { path: path("/h/.config"), reach: Reach::Itself },
            HomeExecutes { path: path("/h/.config/autostart"), reach: Reach::Beneath },
        ],
        servers: servers
            .into_iter()
            .map(|(name, traits)| (name.parse().unwrap(), traits))
            .collect::<HashMap<_, _>>(),
    }
}

/// Loads a policy from the text of its rules and lists.
#[track_caller]
pub(crate) fn policy(rules: &str, lists: &str) -> Policy {
    let compiled = format!(r#"{{"rules": {rules}}}"#);
    let lists = format!(r#"{{"lists": {lists}}}"#);
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
        lists: Some(Source { file: "dynamic-lists.json", bytes: lists.as_bytes() }),
    };
    Policy::load(&sources, &|text| CanonicalPath::new(text).map_err(|error| error.to_string()))
        .unwrap()
}

/// Prints a verdict as `effect by rule (roles)`.
pub(crate) fn summary(verdict: &Verdict) -> String {
    let roles: Vec<_> = verdict.escalated_roles().iter().map(|role| role.as_str()).collect();
    let roles = if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(" ")) };
    format!("{} by {}{roles}", verdict.effect(), verdict.rule())
}

/// Judges a call in a session's sandbox.
pub(crate) fn judge(policy: &Policy, call: ResolvedCall) -> String {
    summary(&evaluate(policy, &bounds(SandboxKind::Session), call))
}
