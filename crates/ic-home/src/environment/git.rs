//! The variables by which the user's own git is configured: read, and never obeyed here.
//!
//! The user's git will run in an environment like the one that we were started in. What it is told there
//! to run or to read counts like a setting of its configuration.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The most settings that are read from variables.
const SETTINGS_MAX: usize = 256;

/// The variables that name a program, a directory of programs or templates, and the setting for it.
pub const NAMING: [(&str, &str); 14] = [
    ("GIT_EDITOR", "core.editor"),
    ("VISUAL", "core.editor"),
    ("EDITOR", "core.editor"),
    ("GIT_SEQUENCE_EDITOR", "sequence.editor"),
    ("GIT_PAGER", "core.pager"),
    ("PAGER", "core.pager"),
    ("GIT_SSH", "core.sshCommand"),
    ("GIT_SSH_COMMAND", "core.sshCommand"),
    ("GIT_ASKPASS", "core.askPass"),
    ("SSH_ASKPASS", "core.askPass"),
    ("GIT_EXTERNAL_DIFF", "diff.external"),
    ("GIT_PROXY_COMMAND", "core.gitProxy"),
    ("GIT_TEMPLATE_DIR", "init.templateDir"),
    ("GIT_EXEC_PATH", "init.templateDir"),
];

/// How the environment configures git.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GitVariables {
    /// Configuration files, as they are written.
    pub files: Vec<PathBuf>,
    /// The directory in which programs keep their configuration, if it is not the usual one.
    pub config_home: Option<PathBuf>,
    /// Settings, as `section.key` and value.
    pub settings: Vec<(String, String)>,
}

impl GitVariables {
    /// Reads `variables`; in settings, bytes that are not valid Unicode become U+FFFD, as in other variables.
    pub(super) fn of(variables: &[(OsString, OsString)]) -> Self {
        let value = |name: &str| -> Option<&OsStr> {
            let found = variables.iter().find(|(it, value)| it == name && !value.is_empty());
            found.map(|(_, value)| value.as_os_str())
        };
        let text = |name: &str| Some(value(name)?.to_string_lossy().into_owned());
        let files = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"];
        let mut files: Vec<PathBuf> =
            files.iter().filter_map(|name| value(name).map(PathBuf::from)).collect();
        let config_home = value("XDG_CONFIG_HOME").map(PathBuf::from);
        files.extend(config_home.as_ref().map(|home| home.join("git/config")));
        let n_settings =
            text("GIT_CONFIG_COUNT").and_then(|it| it.trim().parse().ok()).unwrap_or(0);
        let numbered = (0..SETTINGS_MAX.min(n_settings)).filter_map(|nth| {
            Some((
                text(&format!("GIT_CONFIG_KEY_{nth}"))?,
                text(&format!("GIT_CONFIG_VALUE_{nth}"))?,
            ))
        });
        let passed = text("GIT_CONFIG_PARAMETERS");
        let passed: Vec<_> = passed.iter().flat_map(|it| parameters(it)).collect();
        // More than is read may be anything: as if a file were included that nobody can find.
        let is_cut = SETTINGS_MAX < n_settings || SETTINGS_MAX < passed.len();
        let unread = char::REPLACEMENT_CHARACTER.to_string();
        let unread = is_cut.then(|| ("include.path".to_owned(), unread));
        let passed = passed.into_iter().take(SETTINGS_MAX).chain(unread);
        let naming = NAMING.iter().filter_map(|(name, key)| Some(((*key).to_owned(), text(name)?)));
        let settings = numbered.chain(passed).chain(naming).collect();
        Self { files, config_home, settings }
    }

    /// Returns the directory of git's own configuration, if it is not the usual one.
    pub fn directory(&self) -> Option<PathBuf> {
        self.config_home.as_deref().map(|home: &Path| home.join("git"))
    }
}

/// Reads settings as git passes them to its own programs: `'key'='value'`, or `'key=value'` of old.
fn parameters(text: &str) -> impl Iterator<Item = (String, String)> {
    let mut settings = Vec::new();
    for word in text.replace("'='", "=").replace("'\\''", "\u{0}").split('\'') {
        if let Some((key, value)) = word.split_once('=') {
            settings.push((key.to_owned(), value.replace('\u{0}', "'")));
        }
    }
    settings.into_iter()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> GitVariables {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        GitVariables::of(&pairs)
    }

    #[test]
    fn what_is_not_unicode_is_read_too() {
        let value = OsString::from_vec(b"/w/\xff/hooks".to_vec());
        let pairs = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath")];
        let mut pairs: Vec<(OsString, OsString)> =
            pairs.map(|(name, value)| (name.into(), value.into())).to_vec();
        pairs.push(("GIT_CONFIG_VALUE_0".into(), value.clone()));
        pairs.push(("GIT_CONFIG_GLOBAL".into(), value.clone()));
        let found = GitVariables::of(&pairs);
        let setting = ("core.hooksPath".to_owned(), "/w/\u{fffd}/hooks".to_owned());
        assert_eq!(found.settings, [setting]);
        assert_eq!(found.files, [PathBuf::from(value)], "a file keeps its name");
    }

    #[test]
    fn more_settings_than_are_read_may_be_anything() {
        let unread = ("include.path".to_owned(), "\u{fffd}".to_owned());
        assert_eq!(of(&[("GIT_CONFIG_COUNT", "257")]).settings.last(), Some(&unread));
        let many = "'a.b'='c' ".repeat(257);
        assert_eq!(of(&[("GIT_CONFIG_PARAMETERS", &many)]).settings.last(), Some(&unread));
        assert!(of(&[("GIT_CONFIG_COUNT", "256")]).settings.is_empty());
    }

    #[test]
    fn files_and_settings_of_the_environment_are_found() {
        assert_eq!(of(&[("HOME", "/h"), ("GIT_DIR", "/x")]), GitVariables::default());
        let found = of(&[
            ("GIT_CONFIG_GLOBAL", "/g"),
            ("GIT_CONFIG_SYSTEM", ""),
            ("XDG_CONFIG_HOME", "/c"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", "my hooks"),
            ("GIT_CONFIG_KEY_1", "alias.x"),
            ("GIT_CONFIG_PARAMETERS", "'core.pager'='tools/p' 'alias.y=!it'\\''s'"),
            ("EDITOR", "tools/e"),
        ]);
        assert_eq!(found.files, ["/g", "/c/git/config"].map(PathBuf::from));
        assert_eq!(found.directory(), Some(PathBuf::from("/c/git")));
        let settings: Vec<(&str, &str)> =
            found.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [
            ("core.hooksPath", "my hooks"),
            ("core.pager", "tools/p"),
            ("alias.y", "!it's"),
            ("core.editor", "tools/e"),
        ];
        assert_eq!(settings, expected);
    }
}
