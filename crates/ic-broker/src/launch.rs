//! What is written out for a server before it is started: program, arguments, environment, place.
//!
//! A server gets what its entry says and a few fixed variables, and nothing of our own environment.
//! Words stay words: no shell sees them. Nothing is started here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ic_confine::ChildSpec;
pub use ic_servers::filesystem::View;
use ic_servers::filesystem::{Links, Rights, ViewDirectory};
use ic_types::{AbsolutePath, CanonicalPath, Role};

use crate::servers_file::{BuiltinServer, CommandLine, ServerConfig, Start};

/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long a server that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// What a session lends to its servers.
#[derive(Clone, Debug)]
pub struct Lent {
    /// The directory in which the agent is free.
    pub sandbox: AbsolutePath,
    /// The same, if it is the user's own.
    pub workspace: Option<AbsolutePath>,
    /// The user's home directory.
    pub home: AbsolutePath,
    /// A directory of this server alone, for what it would put in a home or in `/tmp`.
    pub private: PathBuf,
    /// What the `${ENV:NAME}` of the servers file stand for.
    pub variables: Vec<(String, String)>,
}

/// A server that cannot be written out.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaunchFault {
    /// A `${...}` cannot be filled in.
    #[error("`{place}`: `${{{}}}` {reason}", .name.escape_debug())]
    Template {
        /// The key of the entry.
        place: &'static str,
        /// What stands between the braces.
        name: String,
        /// Why it cannot be filled in.
        reason: &'static str,
    },
    /// The server is not part of this version.
    #[error("the built-in `{0}` server is not part of this version yet")]
    NotYet(&'static str),
    /// What a built-in server should see cannot be written down.
    #[error("what the server should see cannot be written down: {0}")]
    View(String),
    /// Servers on other machines are not part of this version.
    #[error("servers by `url` are not part of this version yet")]
    Remote,
}

/// Returns what a built-in server sees: directories with the rights of their roles.
pub fn view(directories: &[(CanonicalPath, Vec<Role>)], leave_out: &[CanonicalPath]) -> View {
    // What cannot be written in JSON cannot be named in a call either.
    let is_text = |path: &&CanonicalPath| path.to_str().is_some();
    let directories = directories.iter().filter_map(|(path, roles)| {
        let has = |role| roles.contains(&role);
        let rights = Rights {
            read: has(Role::ReadPath),
            write: has(Role::WritePath),
            delete: has(Role::DeletePath),
        };
        let is_seen = rights != Rights::NONE && is_text(&path);
        is_seen.then(|| ViewDirectory { path: path.clone(), rights })
    });
    View {
        directories: directories.collect(),
        leave_out: leave_out.iter().filter(is_text).cloned().collect(),
        // SECURITY: what was judged had no links in it; one that is there now was put there since.
        links: Links::Refuse,
    }
}

/// Writes out how `config` is started.
pub fn spec(config: &ServerConfig, lent: &Lent, view: &View) -> Result<ChildSpec, LaunchFault> {
    match &config.start {
        Start::Builtin(BuiltinServer::Filesystem) => Ok(ChildSpec {
            // This very program, even if the file was replaced meanwhile.
            program: PathBuf::from("/proc/self/exe"),
            arguments: ["mcp-server", "filesystem", "--view", &written(view)?]
                .map(OsString::from)
                .to_vec(),
            environment: fixed(lent),
            directory: lent.private.clone(),
            grace: GRACE,
        }),
        Start::Builtin(builtin @ (BuiltinServer::Git | BuiltinServer::Fetch)) => {
            Err(LaunchFault::NotYet(builtin.as_str()))
        }
        Start::Command(line) => command(line, lent),
        Start::Url(_) => Err(LaunchFault::Remote),
    }
}

fn written(view: &View) -> Result<String, LaunchFault> {
    match view.to_json() {
        Ok(json) => Ok(json.to_string()),
        Err(error) => Err(LaunchFault::View(error.to_string())),
    }
}

fn command(line: &CommandLine, lent: &Lent) -> Result<ChildSpec, LaunchFault> {
    let fill = |place, text: &str| lent.fill(place, text).map(OsString::from);
    let mut environment = fixed(lent);
    for (name, value) in &line.environment {
        let value = fill("env", value)?;
        environment.retain(|(known, _)| *known != **name);
        environment.push((OsString::from(name), value));
    }
    let arguments: Result<_, _> = line.arguments.iter().map(|word| fill("args", word)).collect();
    Ok(ChildSpec {
        program: PathBuf::from(&line.program),
        arguments: arguments?,
        environment,
        directory: match &line.directory {
            Some(directory) => PathBuf::from(fill("cwd", directory)?),
            // SECURITY: many programs load code from where they run, and the sandbox is the agent's.
            None => lent.private.clone(),
        },
        grace: GRACE,
    })
}

/// Returns the variables that every server gets.
fn fixed(lent: &Lent) -> Vec<(OsString, OsString)> {
    let private = lent.private.clone().into_os_string();
    [("PATH", PATH.into()), ("HOME", private.clone()), ("TMPDIR", private)]
        .into_iter()
        .chain([("LANG", "C.UTF-8".into()), ("TZ", "UTC".into())])
        .map(|(name, value)| (OsString::from(name), value))
        .collect()
}

// === impl Lent ===

impl Lent {
    /// Fills in each `${...}` of `text`.
    fn fill(&self, place: &'static str, text: &str) -> Result<String, LaunchFault> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let fault = |name: &str, reason| {
                let name = name.chars().take(64).collect();
                LaunchFault::Template { place, name, reason }
            };
            let (name, after) = after.split_once('}').ok_or_else(|| fault(after, "has no end"))?;
            filled.push_str(before);
            filled.push_str(&self.meaning(name).map_err(|reason| fault(name, reason))?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn meaning(&self, name: &str) -> Result<String, &'static str> {
        let path = |path: &AbsolutePath| {
            path.as_path().to_str().map(str::to_owned).ok_or("is a path that is no text")
        };
        match name {
            "SANDBOX" => path(&self.sandbox),
            "WORKSPACE" => match &self.workspace {
                Some(workspace) => path(workspace),
                None => Err("means the workspace, and this session has none"),
            },
            "HOME" => path(&self.home),
            _ => match name.strip_prefix("ENV:") {
                Some(variable) => self
                    .variables
                    .iter()
                    .find(|(known, _)| known == variable)
                    .map(|(_, value)| value.clone())
                    .ok_or("is not set in our environment, or is a key that we took out of it"),
                None => Err("is not known; there are SANDBOX, WORKSPACE, HOME and ENV:NAME"),
            },
        }
    }
}

/// Returns the names of the variables that the texts of a server's entry ask for.
pub fn variables_asked_for(config: &ServerConfig) -> Vec<String> {
    let Start::Command(line) = &config.start else { return Vec::new() };
    let texts = line.arguments.iter().chain(line.environment.values()).chain(&line.directory);
    texts
        .flat_map(|text| text.split("${ENV:").skip(1))
        .filter_map(|after| after.split_once('}').map(|(name, _)| name.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent() -> Lent {
        let path = |text: &str| AbsolutePath::new(text).unwrap();
        Lent {
            sandbox: path("/s a"),
            workspace: None,
            home: path("/home/ada"),
            private: PathBuf::from("/private"),
            variables: vec![("TOKEN".to_owned(), "t ${HOME} $(x)".to_owned())],
        }
    }

    #[test]
    fn placeholders_are_filled_in_once_and_unknown_ones_are_mistakes() {
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("$HOME $$ {HOME}", Ok("$HOME $$ {HOME}")),
            ("--dir=${SANDBOX}/x", Ok("--dir=/s a/x")),
            ("${HOME}${HOME}", Ok("/home/ada/home/ada")),
            // What is filled in is a word of its own: nothing in it is filled in again.
            ("${ENV:TOKEN}", Ok("t ${HOME} $(x)")),
            (
                "${ENV:OTHER}",
                Err("`args`: `${ENV:OTHER}` is not set in our environment, or is a key that we \
                     took out of it"),
            ),
            (
                "${sandbox}",
                Err("`args`: `${sandbox}` is not known; there are SANDBOX, WORKSPACE, HOME and \
                     ENV:NAME"),
            ),
            ("${HOME", Err("`args`: `${HOME}` has no end")),
            (
                "${WORKSPACE}",
                Err("`args`: `${WORKSPACE}` means the workspace, and this session has none"),
            ),
        ] {
            let filled = lent().fill("args", text).map_err(|fault| fault.to_string());
            assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn a_server_gets_what_is_written_for_it_and_what_is_fixed() {
        let line = CommandLine {
            program: "server".to_owned(),
            arguments: vec!["a b".to_owned(), "; rm -rf /".to_owned()],
            environment: [("LANG", "de"), ("X", "${SANDBOX}")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            directory: None,
        };
        let spec = command(&line, &lent()).unwrap();
        assert_eq!(spec.arguments, ["a b", "; rm -rf /"]);
        assert_eq!(spec.directory, PathBuf::from("/private"), "not where the agent writes");
        let environment: Vec<String> = spec
            .environment
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        let path = format!("PATH={PATH}");
        assert_eq!(
            environment,
            [path.as_str(), "HOME=/private", "TMPDIR=/private", "TZ=UTC", "LANG=de", "X=/s a"]
        );
    }
}
