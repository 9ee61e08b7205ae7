//! One line about a policy: what is free, what asks, what is refused, what is out of reach.
//!
//! Found out by asking the policy in force about example calls, so it is true of any policy. Nothing is
//! forwarded, and no rule is read here.

use ic_policy::{Effect, SandboxKind};
use ic_types::{CanonicalPath, Json, Object, Role, ToolCall};

use super::Loaded;

/// How many directories of rules are named besides the sandbox, and how many hosts.
const DIRECTORIES_MAX: usize = 6;
const HOSTS_MAX: usize = 4;
/// A file that is nowhere, to ask about.
const EXAMPLE: &str = "ironcurtain-example.txt";

/// What can be done with a file, and the tool that does it.
const VERBS: [(&str, &str); 3] =
    [("read", "read_text_file"), ("write", "write_file"), ("delete", "delete_file")];

/// What the policy says about each of [`VERBS`] in one place.
type Effects = [Effect; 3];

impl Loaded {
    /// Says in one line what the agent may do.
    pub(crate) fn outline(&self) -> String {
        let elsewhere = self.effects(&format!("{}/{EXAMPLE}", self.home()));
        let web = self.effect_of_url("https://example.com/");
        let others = [("the web", web), ("git remotes", self.effect_of_remotes())];
        let hosts = self.hosts(web);
        let places: Vec<(String, Effects)> =
            self.places().into_iter().map(|(name, path)| (name, self.effects(&path))).collect();
        let is_same = places.iter().all(|(_, effects)| *effects == elsewhere);
        let anywhere = if is_same { "anywhere" } else { "anywhere else" };
        let mut parts = Vec::new();
        for (title, effect) in
            [("free", Effect::Allow), ("asks", Effect::Escalate), ("refused", Effect::Deny)]
        {
            let named: Vec<String> = places
                .iter()
                .filter_map(|(name, effects)| differing(name, *effects, elsewhere, effect))
                .chain(hosts.iter().filter(|(_, it)| *it == effect).map(|(name, _)| name.clone()))
                .chain(not_named((&elsewhere, anywhere), &others, effect))
                .collect();
            if !named.is_empty() {
                parts.push(format!("{title}: {}", named.join(", ")));
            }
        }
        parts.push("out of reach: keys, credentials and IronCurtain's own files".to_owned());
        parts.join("; ")
    }

    fn home(&self) -> String {
        self.judge.home.as_path().display().to_string()
    }

    /// Returns the places that are asked about, each with its name and a file in it.
    fn places(&self) -> Vec<(String, String)> {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        let mut places: Vec<(String, String)> = sandbox
            .iter()
            .map(|sandbox| {
                let name = match sandbox.kind {
                    SandboxKind::Workspace => "the workspace",
                    SandboxKind::Session | SandboxKind::Filled => "the sandbox",
                };
                (name.to_owned(), sandbox.path.join_example())
            })
            .collect();
        let mut named: Vec<&CanonicalPath> = Vec::new();
        for place in self.judge.policy.rules().iter().filter_map(ic_policy::Rule::place) {
            let is_sandbox = sandbox.is_some_and(|sandbox| sandbox.path == *place);
            if place.parent().is_some() && !is_sandbox && !named.contains(&place) {
                named.push(place);
            }
        }
        let shown = named.into_iter().take(DIRECTORIES_MAX);
        places.extend(shown.map(|place| (self.shortened(place), place.join_example())));
        places
    }

    /// Returns the hosts of rules that are treated differently from the rest of the `web`.
    fn hosts(&self, web: Effect) -> Vec<(String, Effect)> {
        let mut hosts: Vec<(String, Effect)> = Vec::new();
        for pattern in self.judge.policy.rules().iter().flat_map(ic_policy::Rule::hosts) {
            let text = pattern.to_string();
            let name = text.rsplit("//").next().unwrap_or_default();
            // Every host is the web, and a repository is no page.
            let is_one = name != "*" && !pattern.names_repository();
            let named = format!("pages of {text}");
            if !is_one || hosts.iter().any(|(known, _)| *known == named) {
                continue;
            }
            let example = name.replacen("*.", "www.", 1);
            let effect = self.effect_of_url(&format!("https://{example}/"));
            if effect != web {
                hosts.push((named, effect));
            }
        }
        hosts.truncate(HOSTS_MAX);
        hosts
    }

    /// Returns a path as people write it.
    fn shortened(&self, path: &CanonicalPath) -> String {
        match path.as_path().strip_prefix(self.judge.home.as_path()) {
            Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
            Ok(_) | Err(_) => path.to_string(),
        }
    }

    fn effects(&self, path: &str) -> Effects {
        VERBS.map(|(verb, tool)| {
            let arguments: &[(&str, &str)] = match verb {
                "write" => &[("path", path), ("content", "")],
                _ => &[("path", path)],
            };
            self.judge_example("filesystem", tool, arguments).0
        })
    }

    fn effect_of_url(&self, url: &str) -> Effect {
        self.effect("fetch", "http_fetch", &[("url", url)], Role::FetchUrl)
    }

    fn effect_of_remotes(&self) -> Effect {
        let url = "https://git.example.com/example/example.git";
        self.effect("git", "git_clone", &[("url", url), ("localPath", EXAMPLE)], Role::GitRemoteUrl)
    }

    /// Returns what is said about one role of an example.
    fn effect(&self, server: &str, tool: &str, arguments: &[(&str, &str)], role: Role) -> Effect {
        let (whole, findings) = self.judge_example(server, tool, arguments);
        let of_role = findings.iter().filter(|(it, _)| *it == Some(role));
        of_role.map(|(_, effect)| *effect).max().unwrap_or(whole)
    }

    /// Returns what the policy says about an example, as a whole and finding by finding.
    fn judge_example(
        &self,
        server: &str,
        tool: &str,
        arguments: &[(&str, &str)],
    ) -> (Effect, Vec<(Option<Role>, Effect)>) {
        let (Ok(server), Ok(tool)) = (server.parse(), tool.parse()) else {
            return (Effect::Deny, Vec::new());
        };
        let mut object = Object::new();
        for (name, value) in arguments {
            object.insert(*name, Json::from(*value));
        }
        let (_, findings) = self.judge.explain(ToolCall { server, tool, arguments: object });
        let effects = findings.iter().map(|finding| (finding.role, finding.effect)).collect();
        (ic_policy::decisive(&findings).map_or(Effect::Deny, |it| it.effect), effects)
    }
}

/// A file in a directory, to ask about.
trait Example {
    fn join_example(&self) -> String;
}

impl Example for CanonicalPath {
    fn join_example(&self) -> String {
        self.as_path().join(EXAMPLE).display().to_string()
    }
}

/// Says what `effect` a place has on verbs that are treated differently elsewhere.
fn differing(name: &str, effects: Effects, elsewhere: Effects, effect: Effect) -> Option<String> {
    let verbs: Vec<&str> = (VERBS.iter().zip(effects.iter().zip(elsewhere)))
        .filter(|(_, (here, there))| **here == effect && **here != *there)
        .map(|((verb, _), _)| *verb)
        .collect();
    (!verbs.is_empty()).then(|| match verbs.len() {
        n if n == VERBS.len() => format!("everything in {name}"),
        _ => format!("{} in {name}", verbs.join(" and ")),
    })
}

/// Says what has `effect` wherever no place was named.
fn not_named(
    (elsewhere, anywhere): (&Effects, &str),
    others: &[(&str, Effect)],
    effect: Effect,
) -> Vec<String> {
    let verbs: Vec<&str> = (VERBS.iter().zip(elsewhere))
        .filter(|(_, there)| **there == effect)
        .map(|((verb, _), _)| *verb)
        .collect();
    let others: Vec<&str> =
        others.iter().filter(|(_, it)| *it == effect).map(|(name, _)| *name).collect();
    let is_all = verbs.len() == VERBS.len();
    if is_all && others.len() == 2 {
        return vec!["everything else".to_owned()];
    }
    let files = match (verbs.is_empty(), is_all) {
        (true, _) => None,
        (false, true) => Some(format!("files {anywhere}")),
        (false, false) => Some(format!("{} {anywhere}", verbs.join(" and "))),
    };
    files.into_iter().chain(others.into_iter().map(ToOwned::to_owned)).collect()
}
