//! Which settings of a git configuration name something to be run or obeyed, and how.
//!
//! Pure: a setting in, names out. Where the names lead is found out elsewhere.

use std::sync::Arc;

use ic_policy::Why;

use super::partners::Urls;
use super::programs::{self, Name, When};
use crate::git::config::Setting;

/// Sections of which every setting can name a program, or a file that can.
const SECTIONS: [&str; 19] = [
    "alias",
    "browser",
    "credential",
    "difftool",
    "filter",
    "gpg",
    "guitool",
    "hook",
    "include",
    "includeif",
    "instaweb",
    "lfs",
    "man",
    "mergetool",
    "pager",
    "sendemail",
    "sequence",
    "tar",
    "trailer",
];

/// Further settings that name a program or a file that git obeys.
const SETTINGS: [(&str, &str); 23] = [
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "attributesfile"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("core", "worktree"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("gc", "recentobjectshook"),
    ("imap", "tunnel"),
    ("init", "templatedir"),
    ("interactive", "difffilter"),
    ("merge", "driver"),
    ("remote", "proxy"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("submodule", "update"),
    ("uploadpack", "packobjectshook"),
];

/// The transport that runs a command, which is in the address.
const EXT: &str = "ext::";

/// What the settings of one file name.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    pub(super) given: Vec<Order>,
    /// Whether one defines a program that the attributes of a file can choose.
    pub(super) has_drivers: bool,
    /// Where working trees are, as it is written.
    pub(super) trees: Vec<String>,
    /// Where commits come from and go to.
    pub(super) urls: Arc<Urls>,
}

/// What one setting names.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The setting, as `section.key`.
    pub(super) key: String,
    pub(super) names: Vec<Name>,
    pub(super) origin: Origin,
    pub(super) takes: Takes,
}

/// What is taken from what an order names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Takes {
    /// Commands: what words name, and nothing of the directories that hold it.
    Words,
    /// A directory of hooks.
    Hooks,
    /// Further configuration.
    Configuration,
    /// A directory of which everything counts.
    Directory,
    /// Files or a directory that a program obeys.
    Orders,
}

/// Where an order stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// A configuration of git's.
    Setting,
    /// The environment.
    Variable,
}

impl Order {
    /// Says why what it names counts.
    pub(super) fn why(&self) -> Why {
        match self.origin {
            Origin::Setting => Why::Configured(self.key.clone()),
            Origin::Variable => Why::Variable(self.key.clone()),
        }
    }
}

/// Returns what settings name.
pub(super) fn orders(settings: &[Setting]) -> Orders {
    let (mut orders, mut urls) = (Orders::default(), Urls::default());
    for setting in settings {
        urls.note(setting);
        if (setting.section.as_str(), setting.key.as_str()) == ("core", "worktree") {
            orders.trees.push(setting.value.clone());
        }
        orders.has_drivers |= is_driver(setting);
        let mut names = names(setting);
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let key = format!("{}.{}", setting.section, setting.key);
        let takes = match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", _) => Takes::Configuration,
            ("core", "hookspath") => Takes::Hooks,
            ("init", "templatedir") => Takes::Directory,
            _ => Takes::Words,
        };
        orders.given.push(Order { key, names, origin: Origin::Setting, takes });
    }
    Orders { urls: Arc::new(urls), ..orders }
}

/// Returns what a setting of the environment names, whose key is written with dots.
pub(super) fn given(settings: &[(String, String)]) -> Orders {
    let setting = |(name, value): &(String, String)| {
        let (section, rest) = name.split_once('.')?;
        let (subsection, key) = match rest.rsplit_once('.') {
            Some((subsection, key)) => (Some(subsection.into()), key),
            None => (None, rest),
        };
        let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
        Some(Setting { section, subsection, key, value: value.clone() })
    };
    let settings: Vec<Setting> = settings.iter().filter_map(setting).collect();
    orders(&settings)
}

/// Returns what a setting would name whose key is written with dots.
pub(super) fn named(name: &str, value: &str) -> Vec<Name> {
    let orders = given(&[(name.to_owned(), value.to_owned())]);
    orders.given.into_iter().flat_map(|it| it.names).collect()
}

fn is_driver(setting: &Setting) -> bool {
    let is_program = match (setting.section.as_str(), setting.key.as_str()) {
        ("filter", "clean" | "smudge" | "process")
        | ("diff", "textconv" | "command")
        | ("merge", "driver") => setting.subsection.is_some(),
        _ => false,
    };
    is_program && !setting.value.is_empty()
}

fn names(setting: &Setting) -> Vec<Name> {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    let value = setting.value.as_str();
    let mut names = match (section, key) {
        ("include" | "includeif", "path")
        | ("core", "hookspath" | "attributesfile" | "worktree")
        | ("init", "templatedir") => path(value),
        ("alias", _) => match value.trim_start().strip_prefix('!') {
            Some(command) => programs::names(command, When::OnPurpose),
            None => programs::names(&format!("git {value}"), When::OnPurpose),
        },
        (section, _) if SECTIONS.contains(&section) => command(value),
        it if SETTINGS.contains(&it) => command(value),
        _ => Vec::new(),
    };
    // An address, wherever one can stand: remotes, rewriting, branches, submodules.
    for text in [Some(value), setting.subsection.as_deref()].into_iter().flatten() {
        if let Some((_, text)) = text.split_once(EXT) {
            names.extend(command(&text.replace("% ", "\\ ").replace('%', " ")));
        }
    }
    names
}

/// Returns what a command names; some are run without a shell, whatever is in them.
fn command(value: &str) -> Vec<Name> {
    let value = value.trim_start().trim_start_matches('!');
    let mut names = programs::names(value, When::ByItself);
    if value.contains('/') {
        names.extend(path(value));
    }
    names
}

/// Returns what a path names, in which git knows the homes of users and where it was installed itself.
fn path(value: &str) -> Vec<Name> {
    let is_expanded = ["%(", "~", "/proc/"].iter().any(|it| value.starts_with(it));
    let expanded = if is_expanded { programs::path(value) } else { Vec::new() };
    std::iter::once(Name::Path(value.to_owned())).chain(expanded).collect()
}
