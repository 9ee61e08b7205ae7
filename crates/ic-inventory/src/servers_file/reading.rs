//! A servers file, read: what it adds to the built-in servers, as we write it or as clients do.
//!
//! What one entry means is not known here.

use std::collections::BTreeMap;

use ic_policy::artifact::{self, ArtifactError, Source};
use ic_types::{Json, ServerName};
use serde::Deserialize;

use super::{BuiltinServer, ServerEntry, ServersFile, Written};

/// The key under which clients write their servers.
pub const WRAPPER: &str = "mcpServers";

/// A file as clients write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<T> {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, T>,
}

impl ServersFile {
    /// Reads the servers out of a file, which adds to the built-in ones.
    ///
    /// A built-in server is there unless its name is given with another entry, or with `null`. What clients
    /// write, `{"mcpServers": {…}}`, is read as well.
    pub fn read(source: Source<'_>) -> Result<Self, ArtifactError> {
        // Once as it stands there, and once as what it means.
        let whole: BTreeMap<String, Json> = artifact::read(source)?;
        let (prefix, mut written, entries) = match whole.get(WRAPPER) {
            Some(_) => {
                let written: Wrapped<Json> = artifact::read(source)?;
                let entries: Wrapped<Option<ServerEntry>> = artifact::read(source)?;
                (WRAPPER, written.servers, entries.servers)
            }
            None => ("", whole, artifact::read(source)?),
        };
        let mut servers = Self::builtin();
        for (name, entry) in entries {
            let place = match prefix {
                "" => name.clone(),
                prefix => format!("{prefix}.{name}"),
            };
            let written = written.remove(&name);
            let name: ServerName =
                name.parse().map_err(|error| ArtifactError::new(source.file, prefix, error))?;
            match (entry, written) {
                (Some(entry), Some(Json::Object(written))) => {
                    let config =
                        entry.into_config(&name, Written(written)).map_err(|(key, reason)| {
                            ArtifactError::new(source.file, format!("{place}{key}"), reason)
                        })?;
                    servers.0.insert(name, config);
                }
                (None, _) if BuiltinServer::named(name.as_str()).is_some() => {
                    servers.0.remove(&name);
                }
                (None, _) => {
                    let reason = "only a built-in server is switched off with `null`";
                    return Err(ArtifactError::new(source.file, place, reason));
                }
                (Some(_), _) => {
                    return Err(ArtifactError::new(
                        source.file,
                        place,
                        "this is not a valid entry",
                    ));
                }
            }
        }
        servers.with_own_names(source.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<String, String> {
        let source = Source { file: "servers.json", bytes: text.as_bytes() };
        let servers = ServersFile::read(source).map_err(|error| error.to_string())?;
        let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
        Ok(names.join(" "))
    }

    #[test]
    fn a_file_adds_to_the_built_in_servers() {
        for (text, expected) in [
            ("{}", "fetch filesystem git shell"),
            (r#"{"a":{"command":"x"}}"#, "a fetch filesystem git shell"),
            (r#"{"git":null,"fetch":null}"#, "filesystem shell"),
            (r#"{"shell":null}"#, "fetch filesystem git"),
            (r#"{"git":{"command":"x"}}"#, "fetch filesystem git shell"),
            (r#"{"files":{"builtin":"filesystem"},"filesystem":null}"#, "fetch files git shell"),
            (r#"{"mcpServers":{}}"#, "fetch filesystem git shell"),
            (
                r#"{"mcpServers":{"a":{"type":"stdio","command":"x"},"git":null}}"#,
                "a fetch filesystem shell",
            ),
            (r#"{"a":{"type":"http","url":"https://a.example"}}"#, "a fetch filesystem git shell"),
        ] {
            assert_eq!(names(text).as_deref(), Ok(expected), "{text}");
        }
        let text = r#"{"git":{"command":"x"}}"#;
        let source = Source { file: "servers.json", bytes: text.as_bytes() };
        let servers = ServersFile::read(source).unwrap();
        let (_, git) = servers.get("git").unwrap();
        assert!(matches!(git.start, super::super::Start::Command(_)), "the file's own counts");
    }

    #[test]
    fn what_stands_in_for_a_built_in_server_is_told_from_it() {
        for (text, expected) in [
            (r#"{"git":{"command":"x"}}"#, "git"),
            (r#"{"fetch":{"url":"https://a.example"},"shell":{"builtin":"git"}}"#, "fetch shell"),
            (r#"{"git":{"builtin":"git"},"files":{"builtin":"filesystem"}}"#, ""),
            (r#"{"git":null,"Git":{"command":"x"}}"#, ""),
        ] {
            let source = Source { file: "servers.json", bytes: text.as_bytes() };
            let servers = ServersFile::read(source).unwrap();
            let names: Vec<&str> = servers.stand_ins().map(ServerName::as_str).collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, expected) in [
            (r#"{"a":null}"#, "servers.json: a: only a built-in server"),
            (r#"{"mcpServers":{"a":null}}"#, "servers.json: mcpServers.a: only a built-in server"),
            (r#"{"mcpServers":{"a":{"command":""}}}"#, "servers.json: mcpServers.a.command: "),
            (r#"{"mcpServers":{"a":{"comand":"x"}}}"#, "servers.json: mcpServers.a.comand: "),
            (r#"{"mcpServers":{},"a":{"command":"x"}}"#, "unknown field `a`"),
            (r#"{"mcpServers":[]}"#, "servers.json: mcpServers: "),
            (r#"{"a":{"type":"http","command":"x"}}"#, "servers.json: a.type: "),
            (r#"{"a":{"type":"sse","url":"https://a.example"}}"#, "servers.json: a.type: "),
            (r#"{"git_":{"command":"x"}}"#, "another server has this name without"),
        ] {
            let said = names(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
