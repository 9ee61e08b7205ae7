//! The `sandbox` of an entry: what a server's cage lets through besides what it always lets through.
//!
//! Paths stay as they were written until a session fills them in; what they mean on this machine, and
//! whether they may be shown at all, is not decided here.

use ic_policy::DomainSet;
use serde::Deserialize;

use super::Fault;

/// What an entry says about the cage of its server.
#[derive(Clone, Debug)]
pub struct CageConfig {
    /// The paths that it names, in the order of the keys.
    pub paths: Vec<WrittenPath>,
    /// The hosts that it may never reach, whatever else says that it may.
    pub denied_domains: Option<DomainSet>,
    /// Whether it may make and use Unix sockets.
    pub unix_sockets: bool,
}

/// A path of an entry, as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrittenPath {
    /// The key that it stands under.
    pub key: PathKey,
    /// The path: absolute, or in the home directory, or begun by a `${...}`.
    pub text: String,
}

/// What an entry says about a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathKey {
    /// It is seen.
    AllowRead,
    /// It is seen and written.
    AllowWrite,
    /// It is not seen, although it lies in what is seen.
    DenyRead,
    /// It is not written, although it lies in what is written.
    DenyWrite,
}

impl CageConfig {
    /// What stands for an entry that says nothing.
    pub(super) const NOTHING_SAID: Self =
        Self { paths: Vec::new(), denied_domains: None, unix_sockets: false };
}

impl PathKey {
    /// Returns the key's place in an entry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowRead => "sandbox.filesystem.allowRead",
            Self::AllowWrite => "sandbox.filesystem.allowWrite",
            Self::DenyRead => "sandbox.filesystem.denyRead",
            Self::DenyWrite => "sandbox.filesystem.denyWrite",
        }
    }

    fn place(self) -> &'static str {
        match self {
            Self::AllowRead => ".sandbox.filesystem.allowRead",
            Self::AllowWrite => ".sandbox.filesystem.allowWrite",
            Self::DenyRead => ".sandbox.filesystem.denyRead",
            Self::DenyWrite => ".sandbox.filesystem.denyWrite",
        }
    }
}

/// `false`, or what the cage lets through.
#[derive(Debug)]
pub(super) enum SandboxEntry {
    Off,
    Cage(CageEntry),
}

/// What the cage lets through.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CageEntry {
    filesystem: Option<FilesystemEntry>,
    network: Option<NetworkEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FilesystemEntry {
    allow_read: Option<Vec<String>>,
    allow_write: Option<Vec<String>>,
    deny_read: Option<Vec<String>>,
    deny_write: Option<Vec<String>>,
}

/// `false`, or the domains that the cage lets through.
#[derive(Debug)]
enum NetworkEntry {
    Off,
    Domains(DomainsEntry),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DomainsEntry {
    allowed_domains: Option<Vec<String>>,
    denied_domains: Option<Vec<String>>,
}

impl CageEntry {
    /// Returns the domains that the cage lets through; an empty list lets none.
    pub(super) fn allowed_domains(&self) -> Option<Vec<String>> {
        match &self.network {
            Some(NetworkEntry::Domains(domains)) => domains.allowed_domains.clone(),
            // No network at all: no host is among the allowed ones.
            Some(NetworkEntry::Off) => Some(Vec::new()),
            None => None,
        }
    }

    pub(super) fn into_config(self, unix_sockets: bool) -> Result<CageConfig, Fault> {
        let denied = match self.network {
            Some(NetworkEntry::Domains(domains)) => domains.denied_domains,
            Some(NetworkEntry::Off) | None => None,
        };
        let denied_domains = match denied {
            Some(texts) => Some(
                DomainSet::parse(texts.iter().map(String::as_str))
                    .map_err(|error| (".sandbox.network.deniedDomains", error.to_string()))?,
            ),
            None => None,
        };
        let paths = match self.filesystem {
            Some(filesystem) => filesystem.into_paths()?,
            None => Vec::new(),
        };
        Ok(CageConfig { paths, denied_domains, unix_sockets })
    }
}

impl FilesystemEntry {
    fn into_paths(self) -> Result<Vec<WrittenPath>, Fault> {
        let mut paths = Vec::new();
        for (key, texts) in [
            (PathKey::AllowRead, self.allow_read),
            (PathKey::AllowWrite, self.allow_write),
            (PathKey::DenyRead, self.deny_read),
            (PathKey::DenyWrite, self.deny_write),
        ] {
            for text in texts.into_iter().flatten() {
                check(&text).map_err(|reason| (key.place(), reason))?;
                paths.push(WrittenPath { key, text });
            }
        }
        Ok(paths)
    }
}

/// Refuses what cannot become an absolute path; what a `${...}` stands for is known later.
fn check(text: &str) -> Result<(), String> {
    let shown = text.escape_debug();
    match text {
        "" => Err("a path is empty".to_owned()),
        "~" => Ok(()),
        text if text.starts_with('/') || text.starts_with("~/") || text.starts_with("${") => Ok(()),
        // Relative to what? A server's own directory is empty, and ours is nobody's business.
        _ => {
            Err(format!("`{shown}` is a relative path: begin it with `/`, `~/` or `${{SANDBOX}}`"))
        }
    }
}

impl<'de> Deserialize<'de> for SandboxEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match OffOr::deserialize(deserializer)? {
            OffOr::Off => Self::Off,
            OffOr::On(cage) => Self::Cage(cage),
        })
    }
}

impl<'de> Deserialize<'de> for NetworkEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match OffOr::deserialize(deserializer)? {
            OffOr::Off => Self::Off,
            OffOr::On(domains) => Self::Domains(domains),
        })
    }
}

/// `false` or an object.
enum OffOr<T> {
    Off,
    On(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OffOr<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OffOrVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for OffOrVisitor<T> {
            type Value = OffOr<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`false` or an object")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
                match value {
                    false => Ok(OffOr::Off),
                    true => Err(E::custom("expected `false` or an object")),
                }
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(OffOr::On)
            }
        }

        deserializer.deserialize_any(OffOrVisitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ServerConfig, ServersFile};
    use ic_policy::artifact::Source;

    /// Reads the one server of a file.
    fn read(entry: &str) -> Result<ServerConfig, String> {
        let text = format!("{{\"a\":{entry}}}");
        let source = Source { file: "servers.json", bytes: text.as_bytes() };
        let servers = ServersFile::read(source).map_err(|error| error.to_string())?;
        Ok(servers.get("a").unwrap().1.clone())
    }

    #[test]
    fn what_an_entry_says_of_its_cage_is_kept() {
        let config = read(
            r#"{"command":"x","unixSockets":true,"sandbox":{
                "filesystem":{"denyWrite":["/a/b"],"allowRead":["~/x","${SANDBOX}"],
                    "allowWrite":["/a"],"denyRead":["/a/c"]},
                "network":{"allowedDomains":["a.example"],"deniedDomains":["b.example"]}}}"#,
        )
        .unwrap();
        assert!(config.is_to_be_confined && config.cage.unix_sockets);
        let paths = config.cage.paths.iter().map(|it| (it.key.as_str(), it.text.as_str()));
        assert_eq!(
            paths.collect::<Vec<_>>(),
            [
                ("sandbox.filesystem.allowRead", "~/x"),
                ("sandbox.filesystem.allowRead", "${SANDBOX}"),
                ("sandbox.filesystem.allowWrite", "/a"),
                ("sandbox.filesystem.denyRead", "/a/c"),
                ("sandbox.filesystem.denyWrite", "/a/b"),
            ]
        );
        assert_eq!(config.allowed_domains.len(), 1);
        assert!(config.cage.denied_domains.is_some());
    }

    #[test]
    fn an_entry_that_says_nothing_shows_nothing_and_reaches_nobody() {
        for entry in [r#"{"command":"x"}"#, r#"{"command":"x","sandbox":{}}"#] {
            let config = read(entry).unwrap();
            assert!(config.is_to_be_confined && !config.cage.unix_sockets, "{entry}");
            assert_eq!(config.cage.paths, [], "{entry}");
            assert!(config.allowed_domains.is_empty(), "{entry}");
        }
        let off = read(r#"{"command":"x","sandbox":{"network":false}}"#).unwrap();
        assert_eq!(off.allowed_domains.len(), 1, "a list without hosts");
        assert!(!read(r#"{"command":"x","sandbox":false}"#).unwrap().is_to_be_confined);
    }

    #[test]
    fn paths_that_mean_nothing_are_mistakes_that_name_their_key() {
        for (text, key, part) in [
            ("x", "allowRead", "relative path"),
            ("./x", "allowWrite", "relative path"),
            ("../x", "denyRead", "relative path"),
            ("~other/x", "denyWrite", "relative path"),
            ("$HOME/x", "allowRead", "relative path"),
            ("", "allowRead", "empty"),
        ] {
            let entry =
                format!(r#"{{"command":"x","sandbox":{{"filesystem":{{"{key}":["{text}"]}}}}}}"#);
            let error = read(&entry).expect_err(text);
            let place = format!("servers.json: a.sandbox.filesystem.{key}");
            assert!(error.contains(&place) && error.contains(part), "{text}: {error}");
        }
        let denied = r#"{"command":"x","sandbox":{"network":{"deniedDomains":["a b"]}}}"#;
        let error = read(denied).expect_err("not a valid domain pattern");
        assert!(error.contains("a.sandbox.network.deniedDomains"), "{error}");
    }
}
