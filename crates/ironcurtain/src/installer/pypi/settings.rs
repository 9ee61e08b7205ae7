//! The user's settings of pip, as far as they say where packages come from: read by us, and handed on as
//! variables.
//!
//! Credentials stand in the addresses of the indexes themselves, so each goes to its own host alone. What else
//! a file says is not handed on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use url::Url;

use super::super::{Installer, real_path};
use crate::error::Failure;
use crate::files;

/// The settings that go on, as they are called in files.
const KEPT: [&str; 7] =
    ["index-url", "extra-index-url", "find-links", "trusted-host", "no-index", "cert", "timeout"];

/// The settings of pip.
#[derive(Debug, Default)]
pub(super) struct Settings {
    values: BTreeMap<String, String>,
    /// Directories with packages.
    directories: Vec<PathBuf>,
}

impl Settings {
    /// Reads what the user has set: for the machine, in the home directory, in the environment.
    pub(super) fn read(installer: &Installer<'_>) -> Result<Self, Failure> {
        let mut settings = Self::default();
        let config = installer.variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.unwrap_or_else(|| installer.home().join(".config"));
        let mut all = vec![
            PathBuf::from("/etc/xdg/pip/pip.conf"),
            PathBuf::from("/etc/pip.conf"),
            installer.home().join(".pip/pip.conf"),
            config.join("pip/pip.conf"),
        ];
        match installer.variable("PIP_CONFIG_FILE") {
            Some(file) if file == "/dev/null" => all.clear(),
            Some(file) => all.push(file.into()),
            None => {}
        }
        for file in all.iter().filter(|file| file.is_absolute()) {
            let bytes = files::read_if_present(file)?.unwrap_or_default();
            settings.add(&String::from_utf8_lossy(&bytes));
        }
        for name in KEPT {
            let variable = format!("PIP_{}", name.replace('-', "_").to_ascii_uppercase());
            let other =
                (name == "timeout").then(|| installer.variable("PIP_DEFAULT_TIMEOUT")).flatten();
            if let Some(value) = installer.variable(&variable).or(other) {
                settings.values.insert(name.to_owned(), value);
            }
        }
        let bundle = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"];
        let bundle = bundle.iter().find_map(|it| installer.variable(it));
        // Files lie where no cage looks, so what is in them goes on.
        if let Some(file) = settings.values.remove("cert").or(bundle) {
            let copy = installer.write_setting("cert.pem", &files::read(Path::new(&file))?)?;
            settings.values.insert("cert".to_owned(), copy.display().to_string());
        }
        settings.find_directories();
        Ok(settings)
    }

    /// Takes in the lines of a file; those that come later count, and what is said of `install` most.
    fn add(&mut self, text: &str) {
        let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let (mut section, mut key) = (String::new(), String::new());
        for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
            let trimmed = line.trim();
            if let Some(name) = trimmed.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                name.clone_into(&mut section);
                key.clear();
            } else if line.starts_with([' ', '\t']) && !key.is_empty() {
                // The value goes on.
                let value =
                    sections.entry(section.clone()).or_default().entry(key.clone()).or_default();
                value.push(' ');
                value.push_str(trimmed);
            } else if let Some((name, value)) = trimmed.split_once(['=', ':']) {
                key = name.trim().to_ascii_lowercase().replace('_', "-");
                let values = sections.entry(section.clone()).or_default();
                values.insert(key.clone(), value.trim().to_owned());
            }
        }
        for section in ["global", "install"] {
            let values = sections.remove(section).unwrap_or_default();
            self.values.extend(values.into_iter().filter(|(key, _)| KEPT.contains(&key.as_str())));
        }
    }

    /// Keeps of the places with packages the directories that are there.
    fn find_directories(&mut self) {
        let found = self.words("find-links").into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (urls, paths): (Vec<String>, Vec<String>) =
            found.into_iter().partition(|it| it.starts_with("http:") || it.starts_with("https:"));
        let local = |text: &String| {
            let path = Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
            real_path(&path.unwrap_or_else(|| PathBuf::from(text))).ok()
        };
        self.directories = paths.iter().filter_map(local).collect();
        let shown = self.directories.iter().map(|path| path.display().to_string());
        let all: Vec<String> = urls.into_iter().chain(shown).collect();
        match all.is_empty() {
            true => self.values.remove("find-links"),
            false => self.values.insert("find-links".to_owned(), all.join(" ")),
        };
    }

    fn words(&self, key: &str) -> Vec<&str> {
        self.values.get(key).map(|value| value.split_whitespace().collect()).unwrap_or_default()
    }

    fn has_no_index(&self) -> bool {
        let value = self.values.get("no-index").map(|it| it.to_ascii_lowercase());
        value.is_some_and(|it| ["1", "true", "yes", "on", "y", "t"].contains(&it.as_str()))
    }

    /// Returns whether pip takes an index of its own choice.
    pub(super) fn needs_default(&self) -> bool {
        !self.has_no_index() && self.words("index-url").is_empty()
    }

    /// Returns the addresses that packages come from.
    pub(super) fn urls(&self) -> Vec<&str> {
        let keys: &[&str] = match self.has_no_index() {
            true => &["find-links"],
            false => &["index-url", "extra-index-url", "find-links"],
        };
        let all = keys.iter().flat_map(|key| self.words(key));
        all.filter(|it| !it.starts_with('/')).collect()
    }

    /// Returns the hosts that are trusted without a certificate, of which packages may come too.
    pub(super) fn trusted_hosts(&self) -> Vec<&str> {
        self.words("trusted-host")
    }

    /// Returns the directories that packages come from.
    pub(super) fn directories(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().cloned()
    }

    /// Returns whether an address is that of a file in one of these directories.
    pub(super) fn is_found(&self, url: &str) -> bool {
        let path = Url::parse(url).ok().filter(|url| url.scheme() == "file");
        let path = path.and_then(|url| url.to_file_path().ok());
        path.is_some_and(|path| self.directories.iter().any(|it| path.starts_with(it)))
    }

    /// Returns the settings as pip reads them.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let own = [
            // No file is read but what is written here.
            ("PIP_CONFIG_FILE", "/dev/null"),
            ("PIP_NO_CACHE_DIR", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("PIP_ROOT_USER_ACTION", "ignore"),
            // Nothing is installed into the system: one run only resolves, and the other has a target.
            ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let users = self.values.iter().map(|(name, value)| {
            (format!("PIP_{}", name.replace('-', "_").to_ascii_uppercase()), value.clone())
        });
        own.chain(users).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_files_are_read_as_pip_reads_them() {
        let mut settings = Settings::default();
        settings.add(
            "# x\n[global]\nindex_url = https://a:b@one.example/simple\nextra-index-url =\n  https://two.example/\n\
             \thttp://three.example:8080/\nuser = true\n[install]\nindex-url: https://four.example/\n[other]\ncert=/x\n",
        );
        assert_eq!(
            settings.urls(),
            ["https://four.example/", "https://two.example/", "http://three.example:8080/"]
        );
        assert!(!settings.needs_default());
        let variables = settings.variables();
        let value = |name: &str| {
            variables.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("PIP_INDEX_URL"), Some("https://four.example/"));
        assert_eq!((value("PIP_USER"), value("PIP_CERT")), (None, None));
        settings.add("[global]\nno-index = yes\nfind-links = https://five.example/ /usr/share\n");
        settings.find_directories();
        assert_eq!(settings.urls(), ["https://five.example/"]);
        assert!(!settings.needs_default());
        assert!(settings.is_found("file:///usr/share/x.whl"));
        assert!(
            !settings.is_found("file:///usr/share/../lib/x.whl")
                && !settings.is_found("file:///etc/x.whl")
        );
    }
}
