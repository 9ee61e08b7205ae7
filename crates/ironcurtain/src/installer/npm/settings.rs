//! The user's settings of npm, as far as they say where packages come from: read by us, and written anew.
//!
//! Of what is secret only credentials for the registries themselves go on, and of the rest what is listed here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::index::Index;
use super::super::{Installer, NOWHERE};
use crate::error::Failure;
use crate::files;

/// Settings that go on as they are; what is not listed stays behind.
const KEPT: [&str; 6] = [
    "before",
    "fetch-timeout",
    "maxsockets",
    "min-release-age",
    "min-release-age-exclude[]",
    "strict-ssl",
];
/// The ends of keys that hold credentials for one registry.
const CREDENTIALS: [&str; 5] = [":_authToken", ":_auth", ":username", ":_password", ":email"];

/// The settings of npm.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The last one of a name counts; a list has several.
    values: BTreeMap<String, Vec<String>>,
    /// A file of certificates besides those that npm brings.
    extra: Option<PathBuf>,
}

impl Settings {
    /// Reads what the user has set: for the machine, in the home directory, in the environment.
    pub(super) fn read(installer: &Installer<'_>, node: &Path) -> Result<Self, Failure> {
        let mut settings = Self::default();
        let of_env = |name: &str| {
            let upper = installer.variable(&format!("NPM_CONFIG_{}", name.to_ascii_uppercase()));
            installer.variable(&format!("npm_config_{name}")).or(upper)
        };
        let prefix = node.ancestors().nth(2).unwrap_or(Path::new("/")).to_owned();
        let mut files = match of_env("globalconfig") {
            Some(file) => vec![PathBuf::from(file)],
            None if prefix == Path::new("/usr") => {
                vec!["/etc/npmrc".into(), prefix.join("etc/npmrc")]
            }
            None => vec![prefix.join("etc/npmrc")],
        };
        files.push(
            of_env("userconfig").map_or_else(|| installer.home().join(".npmrc"), PathBuf::from),
        );
        for file in files.iter().filter(|file| file.is_absolute()) {
            let bytes = files::read_if_present(file)?.unwrap_or_default();
            settings.add(&String::from_utf8_lossy(&bytes), &|name| installer.variable(name));
        }
        for name in ["registry", "cafile", "strict-ssl", "before", "min-release-age"] {
            if let Some(value) = of_env(&name.replace('-', "_")) {
                settings.values.insert(name.to_owned(), vec![value]);
            }
        }
        // Files lie where no cage looks, so what is in them goes on.
        if let Some(file) = settings.values.remove("cafile").and_then(|mut it| it.pop()) {
            let copy = installer.write_setting("cafile.pem", &files::read(Path::new(&file))?)?;
            settings.values.insert("cafile".to_owned(), vec![copy.display().to_string()]);
        }
        let extra =
            ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"].iter().find_map(|it| installer.variable(it));
        if let Some(file) = extra {
            let copy = installer.write_setting("extra.pem", &files::read(Path::new(&file))?)?;
            settings.extra = Some(copy);
        }
        Ok(settings)
    }

    /// Takes in the lines of a file; those that come later count.
    fn add(&mut self, text: &str, variable: &dyn Fn(&str) -> Option<String>) {
        let mut lists: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with([';', '#', '[']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let (key, value) =
                (filled(key.trim(), variable), filled(unquoted(value.trim()), variable));
            // A line that would become two would say something else.
            if key.contains(['\n', '\r', '=']) || value.contains(['\n', '\r']) {
                continue;
            }
            let is_next = key.ends_with("[]") && lists.contains(&key);
            let values = self.values.entry(key.clone()).or_default();
            if !is_next {
                values.clear();
                lists.push(key);
            }
            values.push(value);
        }
    }

    /// Returns the registry, if one is set.
    pub(super) fn registry(&self) -> Option<&str> {
        self.values.get("registry").and_then(|it| it.last()).map(String::as_str)
    }

    /// Sets the registry.
    pub(super) fn set_registry(&mut self, url: &str) {
        self.values.insert("registry".to_owned(), vec![url.to_owned()]);
    }

    /// Returns every registry: the one for all packages, and those of scopes.
    pub(super) fn registries(&self) -> impl Iterator<Item = &str> {
        let is_one =
            |key: &str| key == "registry" || (key.starts_with('@') && key.ends_with(":registry"));
        let named = self.values.iter().filter(move |(key, _)| is_one(key));
        named.filter_map(|(_, values)| values.last()).map(String::as_str)
    }

    /// Returns a file with certificates that are believed besides.
    pub(super) fn extra_certificates(&self) -> Option<&Path> {
        self.extra.as_deref()
    }

    /// Writes the settings for an installer, with credentials for `index` alone.
    pub(super) fn written(&self, index: &Index) -> String {
        let mut lines = format!("prefix={NOWHERE}\n");
        for (key, values) in &self.values {
            let is_kept = KEPT.contains(&key.as_str())
                || ["registry", "cafile", "ca", "ca[]"].contains(&key.as_str())
                || (key.starts_with('@') && key.ends_with(":registry"))
                || is_credential_for(key, index);
            for value in values.iter().filter(|_| is_kept) {
                // In quotes it is one text, whatever is in it.
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                lines.extend([key, "=\"", &value, "\"\n"]);
            }
        }
        lines
    }
}

/// Returns whether a key is `//HOST/…:_authToken` or the like, for a host of the index.
fn is_credential_for(key: &str, index: &Index) -> bool {
    let Some(rest) = key.strip_prefix("//") else { return false };
    let authority = rest.split(['/', ':']).next().unwrap_or_default();
    let port = rest.strip_prefix(authority).and_then(|rest| rest.strip_prefix(':'));
    let port = port.and_then(|it| it.split('/').next()).filter(|it| it.parse::<u16>().is_ok());
    let authority = match port {
        Some(port) => format!("{authority}:{port}"),
        None => authority.to_owned(),
    };
    CREDENTIALS.iter().any(|end| rest.ends_with(end)) && index.is_host(&authority)
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|it: &str| it.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Fills in each `${NAME}`, as npm does; one that is not set stays as it is.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        match variable(name.trim_end_matches('?')) {
            Some(value) => filled.push_str(&value),
            None if name.ends_with('?') => {}
            None => filled.extend(["${", name, "}"]),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
; a comment
registry = https://packages.example/npm/
@scope:registry=\"http://127.0.0.1:4873/\"
//packages.example/npm/:_authToken=${TOKEN}
//127.0.0.1:4873/:_authToken=two
//127.0.0.1:4874/:_authToken=three
//evil.example/:_authToken=four
//packages.example.evil.example/:_authToken=five
_authToken=six
git=./program
script-shell=./program
//packages.example/:certfile=/home/ada/key
strict-ssl=false
ca[]=one
ca[]=two
";

    #[test]
    fn credentials_go_to_their_own_registry_and_programs_to_nobody() {
        let mut settings = Settings::default();
        settings.add(FILE, &|name| (name == "TOKEN").then(|| "one\"two".to_owned()));
        let mut index = Index::default();
        for url in settings.registries() {
            index.add(url).unwrap();
        }
        assert_eq!(settings.registries().count(), 2);
        assert_eq!(
            settings.written(&index),
            "prefix=/nowhere\n\
             //127.0.0.1:4873/:_authToken=\"two\"\n\
             //packages.example/npm/:_authToken=\"one\\\"two\"\n\
             @scope:registry=\"http://127.0.0.1:4873/\"\n\
             ca[]=\"one\"\nca[]=\"two\"\n\
             registry=\"https://packages.example/npm/\"\n\
             strict-ssl=\"false\"\n"
        );
        settings.add("registry=https://other.example/", &|_| None);
        assert_eq!(settings.registry(), Some("https://other.example/"));
        assert_eq!(
            filled("${A}-${B?}-${C}", &|name| (name == "A").then(|| "x".to_owned())),
            "x--${C}"
        );
    }
}
