//! What a session lends to a server, and the `${...}` of the servers file that stand for it.
//!
//! Nothing is read here: directories, variables and certificates are handed in by whoever opens the session.

use std::path::PathBuf;
use std::sync::Arc;

use ic_inventory::servers_file::{ServerConfig, Start};
use ic_types::AbsolutePath;

use super::LaunchFault;
use crate::package_door::PackageDoor;

/// What a server keeps lies in this directory, beside its installation.
pub const DATA: &str = "data";

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
    /// Where it is installed, if it was installed by us.
    pub installed: PathBuf,
    /// What the `${ENV:NAME}` of the servers file stand for.
    pub variables: Vec<(String, String)>,
    /// The file with the certificates that are trusted besides the system's.
    pub certificates: Option<AbsolutePath>,
    /// What the settings show to agents and their commands, read-only.
    pub shown: Vec<AbsolutePath>,
    /// The door to package registries, if the settings open one for commands.
    pub packages: Option<Arc<dyn PackageDoor>>,
}

impl Lent {
    /// Returns the directory in which the server keeps what is to outlive a session.
    pub(crate) fn data(&self) -> PathBuf {
        self.installed.join(DATA)
    }

    /// Fills in each `${...}` of `text`.
    pub(crate) fn fill(&self, place: &'static str, text: &str) -> Result<String, LaunchFault> {
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
            path.as_path().to_str().map(str::to_owned).ok_or("is a path that is not text")
        };
        match name {
            "SANDBOX" => path(&self.sandbox),
            "WORKSPACE" => match &self.workspace {
                Some(workspace) => path(workspace),
                None => Err("means the workspace, and this session has none"),
            },
            "HOME" => path(&self.home),
            "DATA" => {
                let data = self.data();
                data.to_str().map(str::to_owned).ok_or("is a path that is not text")
            }
            _ => match name.strip_prefix("ENV:") {
                Some(variable) => self
                    .variables
                    .iter()
                    .find(|(known, _)| known == variable)
                    .map(|(_, value)| value.clone())
                    .ok_or("is not set in IronCurtain's environment, or is a key that was removed from it"),
                None => Err("is not known; there are SANDBOX, WORKSPACE, HOME, DATA and ENV:NAME"),
            },
        }
    }
}

/// Returns the texts of an entry in which `${...}` stand for something.
fn templates(config: &ServerConfig) -> Vec<&String> {
    let mut texts: Vec<&String> = match &config.start {
        Start::Builtin(_) => return Vec::new(),
        Start::Command(line) => {
            let texts = line.arguments.iter().chain(line.environment.values());
            texts.chain(&line.directory).collect()
        }
        Start::Url(remote) => remote.headers.values().collect(),
    };
    texts.extend(config.cage.paths.iter().map(|path| &path.text));
    texts
}

/// Returns whether an entry names the directory in which its server keeps what is to outlive a session.
pub fn keeps_data(config: &ServerConfig) -> bool {
    templates(config).iter().any(|text| text.contains("${DATA}"))
}

/// Returns the names of the variables that the texts of a server's entry ask for.
pub fn variables_asked_for(config: &ServerConfig) -> Vec<String> {
    templates(config)
        .into_iter()
        .flat_map(|text| text.split("${ENV:").skip(1))
        .filter_map(|after| after.split_once('}').map(|(name, _)| name.to_owned()))
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::launch) fn lent() -> Lent {
        let path = |text: &str| AbsolutePath::new(text).unwrap();
        Lent {
            sandbox: path("/s a"),
            workspace: None,
            home: path("/home/ada"),
            private: PathBuf::from("/private"),
            installed: PathBuf::from("/installed"),
            variables: vec![("TOKEN".to_owned(), "t ${HOME} $(x)".to_owned())],
            certificates: None,
            shown: Vec::new(),
            packages: None,
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
                Err("`args`: `${ENV:OTHER}` is not set in IronCurtain's environment, or is a key \
                     that was removed from it"),
            ),
            (
                "${sandbox}",
                Err(
                    "`args`: `${sandbox}` is not known; there are SANDBOX, WORKSPACE, HOME, DATA and \
                     ENV:NAME",
                ),
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
}
