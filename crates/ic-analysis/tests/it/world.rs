//! A small world in which all calls can be tried: a few tools, paths, hosts and names, and random policies.

use std::collections::HashMap;

use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Containment, Destination, DomainSet, FileKind, FileState, HomeExecutes, PathValue,
    Policy, PolicySources, Reach, ResolvedCall, ResolvedParts, RoleValues, Sandbox, SandboxKind,
    Scheme, ServerTraits, Standing, UrlValue, Value,
};
use ic_types::{CanonicalPath, Category, Json, JsonLimits, Object, Role, ServerName, ToolName};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The tools, in two versions that differ a little.
pub(crate) const ANNOTATIONS: [&str; 2] = [
    r#"{"servers":{
    "fs":{"tools":[
        {"toolName":"read","args":{"path":["read-path"]}},
        {"toolName":"move","args":{"source":["read-path","delete-path"],"to":["write-path"]}},
        {"toolName":"list_allowed_directories","args":{"path":["read-path"]}}]},
    "git":{"tools":[
        {"toolName":"add","args":{"path":["read-path","write-history"],"files":["read-path"]}},
        {"toolName":"git_clean","args":{"path":["read-path","delete-path"]}},
        {"toolName":"push","args":{"path":["read-path"],"remote":["git-remote-url"]}}]},
    "x":{"tools":[
        {"toolName":"fetch","args":{"url":["fetch-url"],"note":["none"]}},
        {"toolName":"mail","args":{"to":["email-address"],"file":["read-path"],"owner":["github-owner"]}},
        {"toolName":"say","args":{"to":["email-address"],"text":["email-body"]}},
        {"toolName":"run_command","args":{"cwd":["read-path","write-path"]}},
        {"toolName":"proxy","args":{"host":["proxy-domain"],"owner":["github-owner"]},"draft":true},
        {"toolName":"edit","args":{"mode":["none"],"path":{"default":["read-path","write-path"],
            "when":[{"condition":{"arg":"mode","equals":"look"},"roles":["read-path"]},
                    {"condition":{"arg":"mode","is":"falsy"},"roles":["delete-path"]}]}}}]}}}"#,
    r#"{"servers":{
    "fs":{"tools":[
        {"toolName":"read","args":{"path":["read-path"],"more":["read-path"]}},
        {"toolName":"move","args":{"source":["read-path","delete-path"],"to":["write-path"]}}]},
    "git":{"tools":[
        {"toolName":"add","args":{"path":["read-path"],"files":["read-path"]}},
        {"toolName":"git_clean","args":{"path":["delete-path"]}},
        {"toolName":"push","args":{"path":["read-path"],"remote":["git-remote-url"]},"draft":true}]},
    "x":{"tools":[
        {"toolName":"fetch","args":{"url":["fetch-url"]}},
        {"toolName":"mail","args":{"to":["email-address"],"file":["read-path"],"owner":["github-owner"]}},
        {"toolName":"say","args":{"to":["email-address"],"text":["email-body"]}},
        {"toolName":"run_command","args":{"cwd":["read-path","write-path"]}},
        {"toolName":"proxy","args":{"host":["proxy-domain"],"owner":["github-owner"]}},
        {"toolName":"edit","args":{"mode":["none"],"path":{"default":["write-path"],
            "when":[{"condition":{"arg":"mode","in":["look",true]},"roles":["read-path"]}]}}}]}}}"#,
];

const ROLES: [Role; 10] = [
    Role::ReadPath,
    Role::WritePath,
    Role::DeletePath,
    Role::WriteHistory,
    Role::FetchUrl,
    Role::GitRemoteUrl,
    Role::GithubOwner,
    Role::ProxyDomain,
    Role::EmailAddress,
    Role::EmailBody,
];
const DIRECTORIES: [&str; 8] = ["/", "/s", "/s/a", "/d", "/d/a", "/d/a/c", "/p/in", "/e/.git"];
const PATTERNS: [&str; 12] = [
    "*",
    "*.b.example",
    "a.b.example",
    "b.example",
    "https://c.example",
    "c.example:8080",
    "127.0.0.1",
    "localhost",
    "*.arpa",
    "*.example",
    "=b.example",
    "c.example:*",
];
const REPOSITORIES: [&str; 4] =
    ["b.example/o/r", "*.b.example/o/r", "b.example/O/r", "=b.example/o/R"];
const NAMES: [&str; 9] = [
    "acme",
    "Bob",
    "eve@x.example",
    "ünal@x.example",
    "ÜNAL@x.example",
    "/d/a",
    "b.example",
    "https://b.example/",
    "b.example/o/r",
];

/// What values of a role can be in this world.
pub(crate) fn values_of(role: Role) -> Vec<&'static str> {
    match role {
        Role::FetchUrl => vec![
            "https://a.b.example/",
            "https://b.example/",
            "http://c.example/",
            "https://c.example:8080/",
            "https://x.b.example:99/",
            "https://localhost/",
            "http://127.0.0.1/",
            "https://home.arpa/",
            "https://z.test/",
        ],
        Role::GitRemoteUrl => vec![
            "https://b.example/o/r",
            "https://b.example/O/r",
            "ssh://b.example:99/O/R",
            "ssh://a.b.example/o/r",
            "ssh://b.example/o/q",
            "https://c.example:8080/o/r",
            "https://z.test/o/r",
            "/s/repo",
            "/p/repo",
        ],
        role if role.category() == Category::Path => vec![
            "/",
            "/s",
            "/s/a",
            "/s/a/b",
            "/s/x",
            "/d",
            "/d/a",
            "/d/a/b",
            "/d-evil",
            "/p/in/k",
            "/f/.git/x",
            "/h/.bashrc",
        ],
        _ => vec![
            "acme",
            "bob",
            "Bob",
            "eve@x.example",
            "ÜNAL@x.example",
            "ünal@x.example",
            "Eve <EVE@x.example>",
            "b.example",
            "b.example.",
            "c.example:8080",
            "a.b.example:443",
            "localhost",
            "carol",
        ],
    }
}

/// Returns a canonical path.
pub(crate) fn path(text: &str) -> CanonicalPath {
    CanonicalPath::new(text).unwrap()
}

/// Returns the value that `text` stands for in `role`.
pub(crate) fn value(role: Role, text: &str, exists: bool) -> Value {
    match role {
        Role::GitRemoteUrl if text.starts_with('/') => Value::LocalRemote(path(text)),
        Role::FetchUrl | Role::GitRemoteUrl => url(text, role == Role::GitRemoteUrl),
        role if role.category() == Category::Path => {
            let state = exists.then_some(FileState {
                kind: FileKind::File,
                device: 1,
                inode: 2,
                bytes: 3,
                modified_s: 4,
                modified_ns: 5,
            });
            Value::Path(PathValue { path: path(text), also: Vec::new(), state })
        }
        role => Value::Text(role.canonical_text(text)),
    }
}

fn url(text: &str, is_remote: bool) -> Value {
    let (scheme, rest) = text.split_once("://").unwrap();
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        "ssh" => Scheme::Ssh,
        other => panic!("{other}"),
    };
    let (authority, rest) = rest.split_once('/').unwrap();
    let there = Destination::parse_authority(authority).unwrap();
    let repository = is_remote.then(|| rest.to_owned());
    let destination = Destination { scheme: Some(scheme), repository, ..there };
    Value::Url(UrlValue { text: text.to_owned(), destination })
}

/// The surroundings: a sandbox at `/s`, `/p` protected, `fs` the filesystem server, `git` contained, `x`
/// loose and meant for some hosts.
pub(crate) fn bounds(kind: SandboxKind) -> Bounds {
    let server = |containment, domains: &[&str]| ServerTraits {
        containment,
        names_files: containment == Containment::Contained,
        allowed_domains: match domains {
            [] => Vec::new(),
            domains => vec![DomainSet::parse(domains.iter().copied()).unwrap()],
        },
    };
    let servers = [
        ("fs", server(Containment::ContainedFilesystem, &[])),
        ("git", server(Containment::Contained, &[])),
        ("x", server(Containment::Loose, &["*.example", "*.arpa", "c.example:8080"])),
    ];
    Bounds {
        sandbox: Some(Sandbox { path: path("/s"), kind }),
        protected: vec![path("/p"), path("/s/secret")],
        home_executes: vec![
            HomeExecutes { path: path("/h/.bashrc"), reach: Reach::Itself },
            HomeExecutes { path: path("/h/.vim"), reach: Reach::Beneath },
        ],
        servers: servers
            .into_iter()
            .map(|(name, it)| (name.parse().unwrap(), it))
            .collect::<HashMap<_, _>>(),
    }
}

/// Loads a policy from the text of its rules.
#[track_caller]
pub(crate) fn policy(rules: &str, annotations: &str) -> Policy {
    policy_file(&format!(r#"{{"rules": {rules}}}"#), annotations)
}

/// Loads a policy from the text of its file; the sandbox of this world is at `/s`.
#[track_caller]
pub(crate) fn policy_file(compiled: &str, annotations: &str) -> Policy {
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: annotations.as_bytes() },
        lists: None,
    };
    let locate = |text: &str| {
        CanonicalPath::new(text.replace("${SANDBOX}", "/s")).map_err(|error| error.to_string())
    };
    Policy::load(&sources, &locate).unwrap_or_else(|error| panic!("{compiled}\n{error}"))
}

/// Makes the call that these arguments mean to `policy`, on a disk without links.
pub(crate) fn resolve(
    policy: &Policy,
    (server, tool): (&str, &str),
    arguments: &Object,
    exists: bool,
) -> ResolvedCall {
    let (server, tool): (ServerName, ToolName) = (server.parse().unwrap(), tool.parse().unwrap());
    let mut roles: Vec<RoleValues> = Vec::new();
    let annotation = policy.annotation(&server, &tool);
    for argument in annotation.iter().flat_map(|it| it.arguments()) {
        let found = argument.place().find(arguments).unwrap();
        let texts: Vec<&str> = found
            .iter()
            .flat_map(|json| match json {
                Json::Array(items) => items.iter().filter_map(Json::as_str).collect(),
                other => other.as_str().into_iter().collect::<Vec<_>>(),
            })
            .collect();
        for role in argument.roles(arguments) {
            if !roles.iter().any(|it| it.role == *role) {
                roles.push(RoleValues { role: *role, values: Vec::new() });
            }
            let entry = roles.iter_mut().find(|it| it.role == *role).unwrap();
            if *role != Role::None {
                entry.values.extend(texts.iter().map(|text| value(*role, text, exists)));
            }
        }
    }
    let unknown = arguments.keys().filter(|key| annotation.is_some_and(|it| !it.names(key)));
    let mut parts = parts(&server, &tool, roles);
    parts.unknown_arguments = unknown.map(str::to_owned).collect();
    parts.asked.arguments = arguments.clone();
    parts.places = annotation.map(|it| it.places(arguments)).unwrap_or_default();
    parts.standing = match annotation {
        None => Standing::Unknown,
        Some(it) if it.is_draft() => Standing::Draft,
        Some(_) => Standing::Annotated,
    };
    ResolvedCall::assert_resolved(parts)
}

pub(crate) fn parts(server: &ServerName, tool: &ToolName, roles: Vec<RoleValues>) -> ResolvedParts {
    ResolvedParts {
        asked: ic_types::ToolCall {
            server: server.clone(),
            tool: tool.clone(),
            arguments: Object::new(),
        },
        sent: Object::new(),
        standing: Standing::Annotated,
        roles,
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
    }
}

pub(crate) fn json(text: &str) -> Object {
    match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn roles() -> impl Strategy<Value = Vec<Role>> {
    subsequence(ROLES.to_vec(), 1..5)
}

fn names(roles: &[Role]) -> Vec<&'static str> {
    roles.iter().map(|role| role.as_str()).collect()
}

fn any_conditions() -> impl Strategy<Value = String> {
    let servers = prop::option::weighted(0.3, subsequence(vec!["fs", "git", "x"], 1..3));
    let tools =
        vec!["read", "move", "add", "git_clean", "push", "mail", "run_command", "edit", "say"];
    let tools = prop::option::weighted(0.25, subsequence(tools, 1..4));
    let leaves = prop::bool::weighted(0.3);
    let paths = prop::option::weighted(0.4, (roles(), select(DIRECTORIES.to_vec()), leaves));
    let domains = prop::option::weighted(0.2, (roles(), subsequence(PATTERNS.to_vec(), 1..3)));
    let list = prop_oneof![
        (roles(), subsequence(NAMES.to_vec(), 1..3), select(vec!["identifiers", "emails"])),
        (roles(), subsequence(PATTERNS.to_vec(), 1..3), Just("domains")),
        (Just(vec![Role::GitRemoteUrl]), subsequence(REPOSITORIES.to_vec(), 1..2), Just("domains")),
    ];
    let lists = prop_oneof![5 => Just(Vec::new()), 1 => prop::collection::vec(list, 1..3)];
    (servers, tools, prop::option::weighted(0.3, roles()), paths, domains, lists).prop_map(
        |(servers, tools, roles, paths, domains, lists)| {
            let mut parts = Vec::new();
            parts.extend(servers.map(|it| format!(r#""server":{it:?}"#)));
            parts.extend(tools.map(|it| format!(r#""tool":{it:?}"#)));
            parts.extend(roles.map(|it| format!(r#""roles":{:?}"#, names(&it))));
            parts.extend(paths.map(|(roles, within, leaves)| {
                let leaves = if leaves { r#","leavesSandbox":true"# } else { "" };
                format!(r#""paths":{{"roles":{:?},"within":{within:?}{leaves}}}"#, names(&roles))
            }));
            parts.extend(domains.map(|(roles, allowed)| {
                format!(r#""domains":{{"roles":{:?},"allowed":{allowed:?}}}"#, names(&roles))
            }));
            let lists: Vec<String> = lists
                .iter()
                .map(|(roles, allowed, kind)| {
                    let roles = names(roles);
                    format!(r#"{{"roles":{roles:?},"allowed":{allowed:?},"matchType":{kind:?}}}"#)
                })
                .collect();
            if !lists.is_empty() {
                parts.push(format!(r#""lists":[{}]"#, lists.join(",")));
            }
            parts.join(",")
        },
    )
}

/// Random rules, as the text of a list.
pub(crate) fn any_rules() -> impl Strategy<Value = Vec<String>> {
    let effect = select(vec!["allow", "escalate", "deny"]);
    let rule = (any_conditions(), effect);
    prop::collection::vec(rule, 0..8).prop_map(|rules| {
        let text = |(at, (conditions, then)): (usize, &(String, &str))| {
            format!(r#"{{"name":"r{at}","if":{{{conditions}}},"then":"{then}","reason":"r"}}"#)
        };
        rules.iter().enumerate().map(text).collect()
    })
}

pub(crate) fn any_kind() -> impl Strategy<Value = SandboxKind> {
    select(vec![SandboxKind::Session, SandboxKind::Workspace])
}

/// How many random policies are tried; `PROPTEST_CASES` asks for another number.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    // The environment is read by the default, which is 256 where nothing is asked for.
    ProptestConfig {
        cases: if default.cases == 256 { cases } else { default.cases },
        failure_persistence: None,
        max_shrink_iters: 4096,
        ..default
    }
}
