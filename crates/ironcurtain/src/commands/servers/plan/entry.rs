//! The entry of the servers file that a plan comes to.
//!
//! Nothing is started and nothing is written here; a program is looked for, and that is all.

use std::ffi::OsString;
use std::path::Path;

use ic_confine::find_program;
use ic_home::Environment;
use ic_types::{Json, Object};

use super::super::install::Installed;
use super::{Far, Plan};
use crate::error::Failure;
use crate::installer::is_of_the_system;
use crate::screen::visible;

impl Plan {
    /// Writes the entry of a server on another machine.
    pub(super) fn far_entry(&self, far: &Far) -> Object {
        let mut entry = Object::new();
        entry.insert("url", far.url.as_str());
        let mut headers = Object::new();
        for (name, value) in &far.headers {
            headers.insert(name.as_str(), value.as_str());
        }
        if !headers.is_empty() {
            entry.insert("headers", headers);
        }
        self.write_rest(&mut entry);
        entry
    }

    /// Returns whether the command or a variable of the server names something.
    pub(super) fn names(&self, template: &str) -> bool {
        let values = self.env.iter().map(|(_, value)| value);
        self.command.iter().chain(values).any(|text| text.contains(template))
    }

    /// Writes what every kind of server has.
    fn write_rest(&self, entry: &mut Object) {
        let texts = |texts: &[String]| -> Vec<Json> {
            texts.iter().map(|it| Json::from(it.as_str())).collect()
        };
        if let Some(description) = &self.description {
            entry.insert("description", description.as_str());
        }
        if !self.allow_domain.is_empty() {
            entry.insert("allowedDomains", texts(&self.allow_domain));
        }
        if self.is_serial {
            entry.insert("serial", true);
        }
    }

    /// Writes the entry of the servers file.
    pub(super) fn entry(&self, installed: Installed) -> Object {
        let texts =
            |texts: Vec<String>| -> Vec<Json> { texts.into_iter().map(Json::from).collect() };
        let mut entry = Object::new();
        entry.insert("command", installed.command);
        entry.insert("args", texts(installed.args));
        let mut env = Object::new();
        // What was written for it counts, unless it means a copy.
        let own =
            self.env.iter().filter(|(name, _)| self.from.is_none() || !is_in(name, &installed.env));
        for (name, value) in installed.env.iter().chain(own) {
            env.insert(name.as_str(), value.as_str());
        }
        if !env.is_empty() {
            entry.insert("env", env);
        }
        if let Some(directory) = self.directory.as_ref().or(installed.directory.as_ref()) {
            entry.insert("cwd", directory.as_str());
        }
        let allow_read: Vec<String> =
            installed.allow_read.into_iter().chain(self.allow_read.iter().cloned()).collect();
        let mut filesystem = Object::new();
        let mut allow_write = self.allow_write.clone();
        if self.names("${SANDBOX}") && !self.is_contained {
            allow_write.push("${SANDBOX}".to_owned());
        }
        for (key, paths) in [("allowRead", allow_read), ("allowWrite", allow_write)] {
            if !paths.is_empty() {
                filesystem.insert(key, texts(paths));
            }
        }
        if !filesystem.is_empty() {
            let mut sandbox = Object::new();
            sandbox.insert("filesystem", filesystem);
            entry.insert("sandbox", sandbox);
        }
        if self.is_contained {
            entry.insert("contained", true);
        }
        self.write_rest(&mut entry);
        entry
    }
}

fn is_in(name: &str, env: &[(String, String)]) -> bool {
    env.iter().any(|(known, _)| known == name)
}

/// Finds the program of a command line, and shows it to its cage if that does not by itself.
pub(super) fn found(installed: Installed, environment: &Environment) -> Result<Installed, Failure> {
    let Installed { command, mut allow_read, .. } = installed;
    if command.contains("${") {
        return Ok(Installed { command, allow_read, ..installed });
    }
    let path = environment.server_variables(["PATH".to_owned()]);
    let path: Vec<(OsString, OsString)> =
        path.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let file = find_program(Path::new(&command), Path::new("/"), &path).map_err(|error| {
        let hint = error.remedy();
        Failure::environment(format!("the program `{}` cannot be run", visible(&command)))
            .with_source(error)
            .with_hint(hint)
    })?;
    let command = file.display().to_string();
    let is_copied = installed.directory.as_ref().is_some_and(|it| file.starts_with(it));
    if !is_copied && !is_of_the_system(&file) {
        allow_read.push(command.clone());
    }
    Ok(Installed { command, allow_read, ..installed })
}
