//! Where the engine is: named by the user, or in one of the usual places, and always on this machine.

use std::path::{Path, PathBuf};

use ic_home::file;
use ic_types::{Json, JsonLimits, Object};
use tokio::net::UnixStream;

use crate::images::hash;
use crate::words::text;

const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The socket of an engine, and who named it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Socket {
    /// Where it is.
    pub path: PathBuf,
    /// Who says so, for people.
    pub named_by: String,
}

/// There is no engine that could be used.
#[derive(Debug, thiserror::Error)]
pub enum NoEngine {
    /// It is on another machine.
    #[error("{named_by} names the engine `{host}`, which is not a socket of this machine")]
    Remote {
        /// What it names.
        host: String,
        /// Who names it.
        named_by: String,
    },
    /// There is none.
    #[error("no container engine answers; looked at {}", .0.join(", "))]
    None(Vec<String>),
    /// A context is named that is not there.
    #[error("{named_by} names the context `{name}`, which cannot be read")]
    Context {
        /// The context.
        name: String,
        /// Who names it.
        named_by: String,
    },
}

impl NoEngine {
    /// Returns what a person can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Remote { .. } => {
                "an agent works on files of this machine, so its engine has to be here: unset it, or name a \
                 socket with `DOCKER_HOST=unix:///…`; `--backend cage` needs no engine"
            }
            Self::None(_) => {
                "install Docker or Podman and start it (`systemctl start docker`, or `systemctl --user start \
                 podman.socket`), or use `--backend cage`, which needs no engine"
            }
            Self::Context { .. } => "`docker context ls` lists what there is",
        }
    }
}

/// Who asks, as far as it matters for the usual places.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// Reads a variable of the user's.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The user's home.
    pub home: &'a Path,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker").field("home", &self.home).finish_non_exhaustive()
    }
}

/// Finds the engine.
pub async fn find(asker: Asker<'_>) -> Result<Socket, NoEngine> {
    if let Some(named) = named(asker)? {
        return Ok(named);
    }
    let mut looked_at = Vec::new();
    for path in usual(asker) {
        match UnixStream::connect(&path).await {
            Ok(_) => return Ok(Socket { path, named_by: "the usual place".to_owned() }),
            // It is there, and why it cannot be used is said when it is.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(Socket { path, named_by: "the usual place".to_owned() });
            }
            Err(_) => looked_at.push(format!("`{}`", path.display())),
        }
    }
    Err(NoEngine::None(looked_at))
}

/// Returns the engine that the user names, if they do.
fn named(asker: Asker<'_>) -> Result<Option<Socket>, NoEngine> {
    if let Some(host) = (asker.variable)("DOCKER_HOST").filter(|it| !it.is_empty()) {
        return local(&host, "DOCKER_HOST").map(Some);
    }
    let docker =
        (asker.variable)("DOCKER_CONFIG").map_or_else(|| asker.home.join(".docker"), PathBuf::from);
    let (name, named_by) =
        if let Some(name) = (asker.variable)("DOCKER_CONTEXT").filter(|it| !it.is_empty()) {
            (name, "DOCKER_CONTEXT")
        } else {
            let config = read(&docker.join("config.json")).unwrap_or_default();
            let Some(name) = text(&config, &["currentContext"]) else { return Ok(None) };
            (name.to_owned(), "Docker's configuration")
        };
    if name == "default" || name.is_empty() {
        return Ok(None);
    }
    let digest = hash(&name);
    let meta = read(&docker.join("contexts/meta").join(digest).join("meta.json"));
    let unknown = || NoEngine::Context { name: name.clone(), named_by: named_by.to_owned() };
    let meta = meta.ok_or_else(unknown)?;
    let host = text(&meta, &["Endpoints", "docker", "Host"]).ok_or_else(unknown)?;
    local(host, &format!("the context `{name}`")).map(Some)
}

/// Returns the socket that `host` names on this machine.
fn local(host: &str, named_by: &str) -> Result<Socket, NoEngine> {
    let path = host.strip_prefix("unix://").filter(|path| path.starts_with('/'));
    let path = path
        .ok_or_else(|| NoEngine::Remote { host: host.to_owned(), named_by: named_by.to_owned() })?;
    Ok(Socket { path: path.into(), named_by: named_by.to_owned() })
}

fn usual(asker: Asker<'_>) -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/var/run/docker.sock")];
    let runtime = (asker.variable)("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|it| it.is_absolute());
    places.extend(runtime.iter().map(|it| it.join("docker.sock")));
    places.push(asker.home.join(".docker/run/docker.sock"));
    places.extend(runtime.iter().map(|it| it.join("podman/podman.sock")));
    places.push("/run/podman/podman.sock".into());
    places
}

fn read(path: &Path) -> Option<Object> {
    let bytes = file::read(path, CONFIG_BYTES_MAX).ok().flatten()?;
    match Json::parse(&bytes, JsonLimits::CALL) {
        Ok(Json::Object(object)) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_with(variables: &[(&str, &str)], home: &Path) -> Result<Option<String>, String> {
        let variable = |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        let found = named(Asker { variable: &variable, home });
        found
            .map(|it| it.map(|it| it.path.display().to_string()))
            .map_err(|error| format!("{error}: {}", error.remedy()))
    }

    #[test]
    fn what_the_user_names_counts_and_must_be_here() {
        let home = tempfile::tempdir().unwrap();
        let (home, some) = (home.path(), |it: &str| Ok(Some(it.to_owned())));
        assert_eq!(named_with(&[], home), Ok(None));
        assert_eq!(named_with(&[("DOCKER_HOST", "unix:///s/d.sock")], home), some("/s/d.sock"));
        for remote in
            ["tcp://127.0.0.1:2375", "ssh://u@h", "unix://relative", "npipe:////./pipe", "http://h"]
        {
            let said = named_with(&[("DOCKER_HOST", remote)], home).unwrap_err();
            assert!(said.contains("not a socket of this machine"), "{said}");
        }
        assert!(
            named_with(&[("DOCKER_CONTEXT", "far")], home).unwrap_err().contains("context `far`")
        );
        // As `docker context create` writes it.
        let digest = hash("far");
        let meta = home.join(".docker/contexts/meta").join(digest);
        let dirs = std::fs::DirBuilder::new().recursive(true).create(&meta);
        dirs.unwrap();
        let write = |host: &str| {
            let text = format!(r#"{{"Name":"far","Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
            file::replace(meta.join("meta.json"), text.as_bytes()).unwrap();
        };
        write("ssh://far");
        file::replace(home.join(".docker/config.json"), br#"{"currentContext":"far"}"#).unwrap();
        assert!(named_with(&[], home).unwrap_err().contains("the context `far` names"));
        write("unix:///run/user/1/docker.sock");
        assert_eq!(named_with(&[], home), some("/run/user/1/docker.sock"));
        assert_eq!(named_with(&[("DOCKER_CONTEXT", "default")], home), Ok(None));
    }
}
