//! The environment variables that we read: all of them, here and nowhere else.
//!
//! Read once at start and passed down as values, so that tests can run side by side. Keys of
//! providers do not stay in the environment: see `hand_over.rs`.

mod git;
mod obeyed;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ic_types::variable::Obeyed;
use ic_types::{AbsolutePath, InvalidPath, Secret};

use crate::hand_over;
pub use crate::hand_over::HandedOver;
pub use git::{GitVariables, NAMING};

/// A provider's key, shared and never copied.
pub type ApiKey = Arc<Secret<String>>;

/// The longest key that is taken.
pub const KEY_BYTES_MAX: usize = 4096;

/// A variable that we read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether it stays in the environment.
    pub stay: Stay,
}

/// Whether a variable stays in our environment after we have read it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stay {
    /// It does.
    Stays,
    /// It is a key: it is read once and removed.
    Removed,
}

pub(crate) const HOME: &str = "HOME";
pub(crate) const IRONCURTAIN_HOME: &str = "IRONCURTAIN_HOME";
pub(crate) const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
pub(crate) const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
pub(crate) const GOOGLE_KEY: &str = "GOOGLE_GENERATIVE_AI_API_KEY";
/// Other names under which people keep the same key; the first one that is set counts.
pub(crate) const GOOGLE_KEYS_TOO: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
pub(crate) const OPENAI_COMPATIBLE_API_KEY: &str = "OPENAI_COMPATIBLE_API_KEY";
pub(crate) const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
pub(crate) const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
pub(crate) const GOOGLE_BASE_URL: &str = "GOOGLE_BASE_URL";
pub(crate) const OPENAI_COMPATIBLE_BASE_URL: &str = "OPENAI_COMPATIBLE_BASE_URL";
pub(crate) const KEYS_FD: &str = "IRONCURTAIN_KEYS_FD";
const HTTPS_PROXY: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
const IRONCURTAIN_LOG: &str = "IRONCURTAIN_LOG";
const NO_COLOR: &str = "NO_COLOR";
const TERM: &str = "TERM";
const TMPDIR: &str = "TMPDIR";
const PWD: &str = "PWD";
const SSH_AUTH_SOCK: &str = "SSH_AUTH_SOCK";

/// The variables of git's that say where the user's own configuration is.
const GIT_KEPT: [&str; 3] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// The variables of other clients that say where their configuration is.
const CLIENTS: [&str; 4] =
    ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG"];

/// Every variable that we read.
pub const VARIABLES: [Variable; 31] = [
    stays(HOME, "your home directory: `~` and the protected paths; must be set and absolute"),
    stays(IRONCURTAIN_HOME, "IronCurtain's own files; default `~/.ironcurtain`"),
    stays(IRONCURTAIN_LOG, "what to write about its own work: `info`, or `warn,ic_broker=debug`"),
    removed(ANTHROPIC_API_KEY, "key for Anthropic; overrides `apiKey`"),
    removed(OPENAI_API_KEY, "key for OpenAI; overrides `openaiApiKey`"),
    removed(GOOGLE_KEY, "key for Google; overrides `googleApiKey`"),
    removed(GOOGLE_KEYS_TOO[0], "key for Google, if `GOOGLE_GENERATIVE_AI_API_KEY` is not set"),
    removed(GOOGLE_KEYS_TOO[1], "key for Google, if neither of the other two is set"),
    removed(
        OPENAI_COMPATIBLE_API_KEY,
        "key for an OpenAI-compatible server; overrides `openaiCompatibleApiKey`",
    ),
    stays(ANTHROPIC_BASE_URL, "address of Anthropic or a gateway; overrides `baseUrls.anthropic`"),
    stays(OPENAI_BASE_URL, "address of OpenAI or a gateway; overrides `baseUrls.openai`"),
    stays(GOOGLE_BASE_URL, "address of Google or a gateway; overrides `baseUrls.google`"),
    stays(
        OPENAI_COMPATIBLE_BASE_URL,
        "address of an OpenAI-compatible server; overrides `baseUrls.openaiCompatible`",
    ),
    stays(HTTPS_PROXY[0], "proxy for connections to providers"),
    stays(HTTPS_PROXY[1], "the same as `HTTPS_PROXY`, which comes first"),
    stays(NO_PROXY[0], "hosts to reach without the proxy"),
    stays(NO_PROXY[1], "the same as `NO_PROXY`, which comes first"),
    stays(
        SSL_CERT_FILE,
        "file with certificates to trust besides the system's, for providers and web pages",
    ),
    stays(NO_COLOR, "if set and not empty, nothing is printed in colour"),
    stays(TERM, "if it is `dumb`, you answer approval requests with a letter and Enter"),
    stays(TMPDIR, "temporary files of the git server and of `demo`; default `/tmp`"),
    stays(PWD, "how your shell came to the current directory: through which links"),
    stays(SSH_AUTH_SOCK, "your ssh agent, used for git over ssh once a call was allowed"),
    stays(GIT_KEPT[0], "your git configuration, for your credential helper"),
    stays(GIT_KEPT[1], "the system's git configuration, for your credential helper"),
    stays(GIT_KEPT[2], "if set, your credential helper runs without the system's configuration"),
    stays(CLIENTS[0], "configuration of Claude Desktop, VS Code, Goose and OpenCode"),
    stays(CLIENTS[1], "configuration of Claude Code"),
    stays(CLIENTS[2], "configuration of Codex"),
    stays(CLIENTS[3], "a further configuration file of OpenCode"),
    stays(KEYS_FD, "set by IronCurtain itself when it removes keys from its environment"),
];

const fn stays(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about, stay: Stay::Stays }
}

const fn removed(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about, stay: Stay::Removed }
}

/// What the environment said when we started.
#[derive(Debug)]
pub struct Environment {
    texts: BTreeMap<&'static str, OsString>,
    keys: BTreeMap<&'static str, ApiKey>,
    current_dir: Option<PathBuf>,
    git: GitVariables,
    obeyed: Vec<Obeyed>,
    /// Where the user's git looks for the configuration of the system, once that was asked.
    system_git: Arc<OnceLock<Vec<PathBuf>>>,
}

/// How the network is reached.
#[derive(Clone, Default)]
pub struct Network {
    /// The proxy for secure connections, as it was written; it may hold a password.
    pub https_proxy: Option<String>,
    /// The hosts that are reached without it.
    pub no_proxy: Option<String>,
    /// A file with certificates that are trusted besides the system's.
    pub extra_roots: Option<PathBuf>,
}

/// Shows no address of a proxy, which may hold a password.
impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_proxy = self.https_proxy.is_some();
        f.debug_struct("Network").field("has_proxy", &has_proxy).finish_non_exhaustive()
    }
}

/// An environment that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The user's home directory is not known.
    #[error("the variable HOME is not set")]
    NoHome,
    /// A variable that should hold a path does not.
    #[error("{name} is `{}`: {reason}", .value.escape_debug())]
    Path {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// Why that is no path.
        reason: InvalidPath,
    },
    /// A path of the command line cannot be used.
    #[error("cannot use the path `{}`: {reason}", .path.display())]
    Argument {
        /// The path.
        path: PathBuf,
        /// Why it cannot be used.
        reason: InvalidPath,
    },
    /// A variable holds something that is no key.
    #[error("{name} does not hold a key: {reason}")]
    Key {
        /// The variable.
        name: &'static str,
        /// Why; never the text itself.
        reason: &'static str,
    },
    /// The keys could not be taken out of the environment.
    #[error("cannot take the keys out of the environment")]
    HandOver(#[source] io::Error),
}

impl Environment {
    /// Reads the environment, and takes the keys out of it.
    ///
    /// If there are keys in it, the program starts itself again without them and this call does
    /// not return; see `hand_over.rs`.
    pub fn take() -> Result<Self, EnvironmentError> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        #[expect(clippy::disallowed_methods, reason = "read once, here, at the edge")]
        let current_dir = std::env::current_dir().ok();
        let received = hand_over::take_keys(&variables)?;
        let mut environment = Self::of(&variables, current_dir)?;
        environment.keys.extend(received);
        Ok(environment)
    }

    /// Makes an environment of variables.
    ///
    /// A variable that is empty counts as one that is not set; as with getenv, the first of two of
    /// the same name counts.
    pub fn of(
        variables: &[(OsString, OsString)],
        current_dir: Option<PathBuf>,
    ) -> Result<Self, EnvironmentError> {
        let mut texts = BTreeMap::new();
        for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
            let known = VARIABLES.iter().find(|it| name == it.name && it.stay == Stay::Stays);
            if let Some(known) = known {
                texts.entry(known.name).or_insert_with(|| value.clone());
            }
        }
        let mut keys = BTreeMap::new();
        for (name, key) in find_keys(variables)? {
            keys.insert(name, Arc::new(Secret::new(key.to_owned())));
        }
        let (git, obeyed) = (GitVariables::of(variables), obeyed::of(variables));
        Ok(Self { texts, keys, current_dir, git, obeyed, system_git: Arc::default() })
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> Result<AbsolutePath, EnvironmentError> {
        let home = self.text(HOME).ok_or(EnvironmentError::NoHome)?;
        AbsolutePath::new(home).map_err(|reason| {
            let value = home.to_string_lossy().into_owned();
            EnvironmentError::Path { name: HOME, value, reason }
        })
    }

    /// Returns the same without any key, for code that needs to know only where things are.
    #[must_use]
    pub fn without_keys(&self) -> Self {
        Self {
            texts: self.texts.clone(),
            keys: BTreeMap::new(),
            current_dir: self.current_dir.clone(),
            git: self.git.clone(),
            obeyed: self.obeyed.clone(),
            system_git: Arc::clone(&self.system_git),
        }
    }

    /// Returns the same for a home of its own, without any key, started in `directory`.
    #[must_use]
    pub fn at_home(&self, ironcurtain_home: &Path, directory: &Path) -> Self {
        let mut environment = self.without_keys();
        environment.texts.insert(IRONCURTAIN_HOME, ironcurtain_home.into());
        environment.current_dir = Some(directory.to_owned());
        environment
    }

    /// Returns where files of a moment go.
    pub fn temporary(&self) -> Result<AbsolutePath, EnvironmentError> {
        self.absolute(Path::new(self.text(TMPDIR).unwrap_or(OsStr::new("/tmp"))))
    }

    /// Returns the file with the certificates that are trusted besides the system's.
    pub fn certificates(&self) -> Option<AbsolutePath> {
        self.absolute(Path::new(self.text(SSL_CERT_FILE)?)).ok()
    }

    /// Returns the directory of our own files.
    pub fn ironcurtain_home(&self) -> Result<AbsolutePath, EnvironmentError> {
        match self.text(IRONCURTAIN_HOME) {
            Some(path) => self.absolute(Path::new(path)),
            None => self.absolute(&self.home()?.as_path().join(".ironcurtain")),
        }
    }

    /// Makes a path of the command line absolute.
    ///
    /// The shell has expanded `~` already; a `~/` that is left over is meant all the same.
    pub fn absolute(&self, path: &Path) -> Result<AbsolutePath, EnvironmentError> {
        let path = match path.strip_prefix("~") {
            Ok(rest) => self.home()?.as_path().join(rest),
            Err(_) => match &self.current_dir {
                Some(current) => current.join(path),
                None => path.to_owned(),
            },
        };
        AbsolutePath::new(&path).map_err(|reason| EnvironmentError::Argument { path, reason })
    }

    /// Makes a path of the command line absolute as the user would: from the current directory by the way
    /// that the shell went, links included.
    pub fn absolute_as_typed(&self, path: &Path) -> Result<AbsolutePath, EnvironmentError> {
        match self.text(PWD).map(Path::new) {
            Some(way) if path.is_relative() && !path.starts_with("~") && self.is_current(way) => {
                self.absolute(&way.join(path))
            }
            Some(_) | None => self.absolute(path),
        }
    }

    /// Returns whether `way` is an absolute path to the current directory.
    fn is_current(&self, way: &Path) -> bool {
        let place = |path: &Path| rustix::fs::stat(path).map(|it| (it.st_dev, it.st_ino)).ok();
        let here = self.current_dir.as_deref().and_then(place);
        way.is_absolute() && here.is_some() && place(way) == here
    }

    /// Returns the path in the variable `name`, which says where a client keeps its configuration.
    pub fn client_path(&self, name: &str) -> Option<PathBuf> {
        let name = CLIENTS.iter().find(|it| **it == name)?;
        self.absolute(Path::new(self.text(name)?)).ok().map(|path| path.as_path().to_owned())
    }

    /// Returns those of the variables `names` that are set and are text: what a servers file asks for.
    ///
    /// A provider's key is not among them, since it was taken out.
    pub fn server_variables(
        &self,
        names: impl IntoIterator<Item = String>,
    ) -> Vec<(String, String)> {
        let value = |name: &str| {
            #[expect(clippy::disallowed_methods, reason = "this is the place that reads variables")]
            std::env::var(name).ok()
        };
        let names = names.into_iter().filter(|name| key_variable(OsStr::new(name)).is_none());
        names.filter_map(|name| value(&name).map(|value| (name, value))).collect()
    }

    /// Returns how the user's own git is configured by variables.
    pub fn git(&self) -> &GitVariables {
        &self.git
    }

    /// Returns the variables by which other programs of the user's are led.
    pub fn obeyed(&self) -> &[Obeyed] {
        &self.obeyed
    }

    /// Returns where the user's git looks for the configuration of the system; `ask` is called once.
    pub fn system_git(&self, ask: impl FnOnce() -> Vec<PathBuf>) -> &[PathBuf] {
        self.system_git.get_or_init(ask)
    }

    /// Returns how the network is reached.
    pub fn network(&self) -> Network {
        let first = |names: [&str; 2]| names.iter().find_map(|name| self.text(name)?.to_str());
        Network {
            https_proxy: first(HTTPS_PROXY).map(ToOwned::to_owned),
            no_proxy: first(NO_PROXY).map(ToOwned::to_owned),
            extra_roots: self.text(SSL_CERT_FILE).map(PathBuf::from),
        }
    }

    /// Returns the environment in which programs of the user's own run: the one that we were started
    /// in, without what would make git work elsewhere.
    ///
    /// A provider's key is not among them, since it was taken out.
    pub fn user_variables(&self) -> Vec<(OsString, OsString)> {
        #[expect(clippy::disallowed_methods, reason = "this is the place that reads variables")]
        let variables = std::env::vars_os();
        let is_kept = |name: &OsStr| {
            let of_git = name.as_encoded_bytes().starts_with(b"GIT_");
            key_variable(name).is_none()
                && name != KEYS_FD
                && (!of_git || GIT_KEPT.iter().any(|it| name == *it))
        };
        variables.filter(|(name, _)| is_kept(name)).collect()
    }

    /// Returns the socket of the user's ssh agent.
    pub fn ssh_agent(&self) -> Option<PathBuf> {
        self.text(SSH_AUTH_SOCK).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns which lines about the program's own work are wanted, if any are.
    pub fn trace_filter(&self) -> Option<&OsStr> {
        self.text(IRONCURTAIN_LOG)
    }

    /// Returns whether the terminal can draw rows anew, as far as `TERM` says.
    pub fn terminal_draws(&self) -> bool {
        self.text(TERM).is_none_or(|term| term != "dumb")
    }

    /// Lets another process of this program, which `command` starts, have the keys as we have them: never in
    /// its environment.
    ///
    /// What is returned is dropped once it was started.
    pub fn hand_over_to(&self, command: &mut std::process::Command) -> io::Result<HandedOver> {
        hand_over::hand_to(command, &self.keys)
    }

    /// Returns whether the variable `name` is one of ours, and is set.
    pub fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some() || self.key(name).is_some()
    }

    /// Returns what the variable `name` holds, if it is set and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&OsStr> {
        self.texts.get(name).map(OsString::as_os_str)
    }

    /// Returns the key that the variable `name` held.
    pub(crate) fn key(&self, name: &str) -> Option<&ApiKey> {
        self.keys.get(name)
    }
}

/// Finds the keys among `variables`, and checks them.
pub(crate) fn find_keys(
    variables: &[(OsString, OsString)],
) -> Result<Vec<(&'static str, &str)>, EnvironmentError> {
    let mut found: Vec<(&'static str, &str)> = Vec::new();
    for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
        let Some(name) = key_variable(name) else { continue };
        let key =
            check_key(value.as_bytes()).map_err(|reason| EnvironmentError::Key { name, reason })?;
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, key));
        }
    }
    Ok(found)
}

/// Returns the name of a variable that holds a key.
pub(crate) fn key_variable(name: &OsStr) -> Option<&'static str> {
    VARIABLES.iter().find(|it| it.stay == Stay::Removed && name == it.name).map(|it| it.name)
}

/// Checks that `text` can be a provider's key.
///
/// A key travels in a header, so nothing may be in it that could end one. The reason never repeats
/// the text.
pub(crate) fn check_key(text: &[u8]) -> Result<&str, &'static str> {
    match text {
        [] => Err("it is empty"),
        _ if KEY_BYTES_MAX < text.len() => Err("it is longer than 4096 bytes"),
        _ if text.iter().all(u8::is_ascii_graphic) => {
            std::str::from_utf8(text).map_err(|_| "it is not text")
        }
        _ => Err("only printable ASCII characters without spaces may appear"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::of(&variables(pairs), Some(PathBuf::from("/w"))).unwrap()
    }

    #[test]
    fn another_home_has_no_keys_and_its_own_place() {
        let key = ("ANTHROPIC_API_KEY", "sk-0123456789");
        let here = environment(&[("HOME", "/h"), ("IRONCURTAIN_HOME", "/i"), key]);
        let other = here.at_home(Path::new("/d/home"), Path::new("/d"));
        assert_eq!(other.ironcurtain_home().unwrap().as_path(), Path::new("/d/home"));
        assert_eq!(other.absolute(Path::new("a")).unwrap().as_path(), Path::new("/d/a"));
        assert_eq!(other.home().unwrap().as_path(), Path::new("/h"));
        assert!(here.is_set("ANTHROPIC_API_KEY") && !other.is_set("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn the_home_is_the_variable_or_lies_in_the_users() {
        for (pairs, expected) in [
            (&[("HOME", "/h")][..], Ok("/h/.ironcurtain")),
            (&[("HOME", "/h"), ("IRONCURTAIN_HOME", "")], Ok("/h/.ironcurtain")),
            (&[("HOME", "/h"), ("IRONCURTAIN_HOME", "/i c")], Ok("/i c")),
            (&[("IRONCURTAIN_HOME", "/i")], Ok("/i")),
            (&[("IRONCURTAIN_HOME", "i")], Ok("/w/i")),
            (&[("HOME", "/h"), ("IRONCURTAIN_HOME", "~/i")], Ok("/h/i")),
            (&[("HOME", "/h"), ("HOME", "/other")], Ok("/h/.ironcurtain")),
            (&[], Err("the variable HOME is not set")),
            (&[("HOME", "h")], Err("HOME is `h`: it is not absolute")),
        ] {
            let home = environment(pairs).ironcurtain_home();
            let home = home.map(|it| it.as_path().to_owned()).map_err(|error| error.to_string());
            assert_eq!(home, expected.map(PathBuf::from).map_err(str::to_owned), "{pairs:?}");
        }
        let bytes = OsString::from_vec(b"/h\xff".to_vec());
        let odd = Environment::of(&[("HOME".into(), bytes.clone())], None).unwrap();
        assert_eq!(odd.home().unwrap().as_path().as_os_str(), bytes, "a name need not be UTF-8");
    }

    #[test]
    fn keys_are_checked_and_never_shown() {
        let with = |value: &str| Environment::of(&variables(&[(OPENAI_API_KEY, value)]), None);
        assert!(with("sk-1").unwrap().key(OPENAI_API_KEY).is_some());
        assert!(with("").unwrap().key(OPENAI_API_KEY).is_none());
        for bad in ["sk 1", "sk-1\n", "sk-\u{e9}", "a\r\nx-evil: 1", &"k".repeat(4097)] {
            let error = with(bad).unwrap_err().to_string();
            assert!(error.starts_with("OPENAI_API_KEY does not hold a key: "), "{error}");
            assert!(!error.contains("evil") && !error.contains("kk"), "{error}");
        }
        assert!(!format!("{:?}", with("sk-secret").unwrap()).contains("sk-secret"));
    }

    #[test]
    fn every_variable_is_documented_and_named_once() {
        for (at, variable) in VARIABLES.iter().enumerate() {
            assert!(!variable.about.is_empty(), "{}", variable.name);
            assert!(!VARIABLES.iter().skip(at + 1).any(|it| it.name == variable.name));
        }
    }
}
