//! The directories that servers are told of when they ask.
//!
//! Which they are is for the policy to say.

use std::path::Path;

use ic_inventory::servers_file::ServersFile;
use ic_judge::{Judge, method};
use ic_types::{CanonicalPath, Json, Object};

/// Makes the answer to `roots/list`: the sandbox, then the directories that allow rules name.
pub(crate) fn of_session(judge: &Judge, servers: &ServersFile) -> Json {
    let mut seen: Vec<CanonicalPath> = Vec::new();
    for (server, _) in servers.iter() {
        for (path, _) in judge.directories(server) {
            if !seen.contains(&path) {
                seen.push(path);
            }
        }
    }
    result(seen.iter().map(CanonicalPath::as_path))
}

/// Writes directories as the answer to `roots/list`.
pub(crate) fn result<'a>(directories: impl Iterator<Item = &'a Path>) -> Json {
    let root = |uri: String| {
        let mut root = Object::new();
        root.insert("uri", uri);
        Json::Object(root)
    };
    let mut result = Object::new();
    result.insert("roots", directories.filter_map(method::file_uri).map(root).collect::<Vec<_>>());
    Json::Object(result)
}

#[cfg(test)]
mod tests {
    use ic_policy::artifact::Source;
    use ic_policy::{Bounds, Policy, PolicySources};
    use ic_types::AbsolutePath;

    use super::*;

    /// Directories that are denied, asked about or for no server of the session are no roots.
    #[test]
    fn the_roots_are_what_allow_rules_name_and_nothing_else() {
        let rule = |name: &str, server: &str, within: &str, then: &str| {
            format!(
                r#"{{"name":"{name}","if":{{"server":["{server}"],"paths":{{"roles":["read-path"],"within":"{within}"}}}},"then":"{then}","reason":"x"}}"#
            )
        };
        let rules = [
            rule("a", "filesystem", "/srv/a", "allow"),
            rule("b", "filesystem", "/srv/b", "deny"),
            rule("c", "filesystem", "/srv/c", "escalate"),
            rule("d", "absent", "/srv/d", "allow"),
            rule("e", "git", "/srv/a", "allow"),
            rule("f", "git", "/srv/f", "allow"),
        ];
        let compiled = format!(r#"{{"rules":[{}]}}"#, rules.join(","));
        let sources = PolicySources {
            compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
            annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
            lists: None,
        };
        let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
        let home = AbsolutePath::new("/home/u").unwrap();
        let judge = Judge {
            policy: Policy::load(&sources, &locate).unwrap(),
            bounds: Bounds {
                sandbox: None,
                protected: Vec::new(),
                home_executes: Vec::new(),
                servers: std::collections::HashMap::new(),
            },
            orders: ic_resolve::Orders::of_user(&home),
            heads: ic_judge::heads::Heads::default(),
            earlier: Vec::new(),
            seen_as: None,
            home,
        };
        let mut roots = of_session(&judge, &ServersFile::builtin()).to_string();
        roots = roots.replace(r#"{"uri":"file:///srv/"#, "").replace(r#""}"#, "");
        assert_eq!(roots, r#"{"roots":[a,f]}"#);
    }

    #[test]
    fn a_root_is_written_as_a_uri_that_reads_back_as_the_same_path() {
        let roots = result([Path::new("/a b"), Path::new("/a%20b"), Path::new("/é#?")].into_iter());
        assert_eq!(
            roots.to_string(),
            r#"{"roots":[{"uri":"file:///a%20b"},{"uri":"file:///a%2520b"},{"uri":"file:///%C3%A9%23%3F"}]}"#
        );
    }
}
