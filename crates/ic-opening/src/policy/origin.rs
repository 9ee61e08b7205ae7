//! Where a policy is: built in, one of the user's own in the home, or a directory anywhere.
//!
//! Reads no policy. A name is looked up in the home before it is taken for a directory, so nothing in
//! the working directory can pass for a policy of the user's.

use std::path::{Path, PathBuf};

use ic_home::{Environment, Home, PolicyChoice, PolicyName, file};
use ic_policy::Builtin;
use ic_types::{AbsolutePath, CanonicalPath, nearest};

use super::policy_files::{ADDITIONS, ANNOTATIONS, LISTS};
use super::{COMPILED, follow, is_directory};
use crate::fault::Fault;
use crate::files;

/// The files that say what a policy allows.
const DECISIVE: [&str; 4] = [COMPILED, ADDITIONS, ANNOTATIONS, LISTS];

/// The name of the compiled policy of the home.
const GENERATED: &str = "generated";

/// Where a policy is.
#[derive(Clone, Debug)]
pub enum Origin {
    /// In the program.
    Builtin(Builtin),
    /// In a directory.
    Directory(AbsolutePath),
}

impl Origin {
    /// Finds the policy that is `named`, else the `configured` one, else that of the home.
    pub fn find(
        named: Option<&Path>,
        configured: Option<&PolicyChoice>,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        match (named, configured) {
            (Some(named), _) => Self::named(named, environment),
            (None, Some(choice)) => Self::configured(choice, environment),
            (None, None) => {
                let generated = Home::new(environment.ironcurtain_home()?).generated();
                Ok(match files::read_if_present(&generated.join(COMPILED))? {
                    Some(_) => Self::Directory(environment.absolute(&generated)?),
                    None => Self::Builtin(Builtin::Default),
                })
            }
        }
    }

    /// Finds the policy that the command line names.
    pub fn named(named: &Path, environment: &Environment) -> Result<Self, Fault> {
        let name = named.to_str().and_then(|text| text.parse::<PolicyName>().ok());
        if let Some(found) =
            name.map(|name| Self::by_name(&name, environment)).transpose()?.flatten()
        {
            return Ok(found);
        }
        let directory = environment.absolute(named)?;
        match is_directory(&directory)? {
            true => Ok(Self::Directory(directory)),
            false => Err(unknown(named, environment)),
        }
    }

    /// Returns what names this policy wherever it is said: its name, or its directory.
    pub fn to_word(&self) -> String {
        match self {
            Self::Builtin(builtin) => builtin.name().to_owned(),
            Self::Directory(directory) => directory.as_path().display().to_string(),
        }
    }

    /// Returns where it is, unless it is built in.
    pub fn directory(&self) -> Option<&AbsolutePath> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Builtin(_) => None,
        }
    }

    fn configured(choice: &PolicyChoice, environment: &Environment) -> Result<Self, Fault> {
        let (found, text) = match choice {
            PolicyChoice::Named(name) => (Self::by_name(name, environment)?, name.to_string()),
            PolicyChoice::Directory(directory) => {
                let found = is_directory(directory)?.then(|| Self::Directory(directory.clone()));
                (found, directory.as_path().display().to_string())
            }
        };
        // SECURITY: another policy in its place could allow what this one does not.
        found.ok_or_else(|| {
            Fault::config(format!("there is no policy `{text}`, which config.json names"))
                .with_hint("choose one with `ironcurtain policy use default`, or put it back")
        })
    }

    /// Returns where the configured policy is, whether it is there or not; `None` if it is built in.
    pub(super) fn configured_directory(
        choice: &PolicyChoice,
        environment: &Environment,
    ) -> Result<Option<AbsolutePath>, Fault> {
        match choice {
            PolicyChoice::Directory(directory) => Ok(Some(directory.clone())),
            PolicyChoice::Named(name) => match Self::by_name(name, environment)? {
                Some(Self::Directory(directory)) => Ok(Some(directory)),
                Some(Self::Builtin(_)) | None => Ok(None),
            },
        }
    }

    /// Returns what no agent may change of this policy, of the one in force and of those in the home.
    ///
    /// SECURITY: also what this session does not use, since a later one trusts it.
    pub(super) fn protected(
        &self,
        in_force: Option<&AbsolutePath>,
        environment: &Environment,
    ) -> Result<Vec<AbsolutePath>, Fault> {
        let used = self.directory();
        let of_home = of_home(environment)?;
        let mut protected = Vec::new();
        for directory in used.into_iter().chain(in_force).chain(&of_home) {
            protected.extend(parts(directory)?);
        }
        Ok(protected)
    }

    fn by_name(name: &PolicyName, environment: &Environment) -> Result<Option<Self>, Fault> {
        if let Some(builtin) = Builtin::by_name(name.as_str()) {
            return Ok(Some(Self::Builtin(builtin)));
        }
        let home = Home::new(environment.ironcurtain_home()?);
        let directory: PathBuf = match name.as_str() {
            GENERATED => home.generated(),
            name => home.policies().join(name),
        };
        let directory = environment.absolute(&directory)?;
        Ok(is_directory(&directory)?.then_some(Self::Directory(directory)))
    }
}

/// Says that there is no such policy, and which there are.
fn unknown(named: &Path, environment: &Environment) -> Fault {
    let own = own_names(environment).unwrap_or_default();
    let builtin = Builtin::ALL.iter().map(|it| it.name());
    let names: Vec<&str> = builtin.chain(own.iter().map(String::as_str)).collect();
    let text = named.display().to_string();
    let meant = nearest(&text, names.iter().copied())
        .map_or_else(String::new, |name| format!("is `{name}` meant? "));
    Fault::config(format!("there is no policy `{text}`")).with_hint(format!(
        "{meant}The policies are {}; a directory with compiled-policy.json can be named too, and \
         `ironcurtain policy new NAME` makes a policy",
        names.join(", ")
    ))
}

/// Returns the names of the policies in the home, sorted.
pub fn own_names(environment: &Environment) -> Result<Vec<String>, Fault> {
    let home = Home::new(environment.ironcurtain_home()?);
    let mut names: Vec<String> = file::names(home.policies())?
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| name.to_str().map(str::to_owned))
        .filter(|name| name.parse::<PolicyName>().is_ok())
        .collect();
    names.sort();
    if file::names(home.generated())?.is_some() {
        names.push(GENERATED.to_owned());
    }
    Ok(names)
}

/// Returns the links that lead to `path`, and that whoever writes beside them could turn.
///
/// SECURITY: a link in the place of one of these would lead to another policy. What else such a link leads to
/// is not closed, but for its being reached by this name.
pub(super) fn links_to(path: &AbsolutePath, home: &AbsolutePath) -> Vec<CanonicalPath> {
    let links = |path: &AbsolutePath| follow(path).map(|found| found.links).unwrap_or_default();
    let of_home = links(home);
    let is_turnable = |link: &CanonicalPath| {
        let above = link.parent().filter(|it| *it != CanonicalPath::root());
        let is_writable = |above: CanonicalPath| {
            rustix::fs::access(above.as_path(), rustix::fs::Access::WRITE_OK).is_ok()
        };
        above.is_some_and(is_writable) && !of_home.contains(link)
    };
    links(path).into_iter().filter(is_turnable).collect()
}

/// Returns the directories of the home's own policies, which any later session may use.
///
/// They lie in the home, but each of them can be a link to somewhere else.
fn of_home(environment: &Environment) -> Result<Vec<AbsolutePath>, Fault> {
    let home = Home::new(environment.ironcurtain_home()?);
    let policies = home.policies();
    let names = file::names(&policies)?.unwrap_or_default();
    let named = names.iter().map(|name| policies.join(name));
    let all = [home.generated(), policies.clone()].into_iter().chain(named);
    all.map(|path| Ok(environment.absolute(&path)?)).collect()
}

/// Returns what must not change while a policy is not in use: its directory, and each of its files that
/// is a link, even to something that does not exist yet.
pub(super) fn parts(directory: &AbsolutePath) -> Result<Vec<AbsolutePath>, Fault> {
    let mut parts = vec![directory.clone()];
    for name in DECISIVE {
        let path = directory.as_path().join(name);
        let path = AbsolutePath::new(&path)
            .map_err(|reason| Fault::config(format!("{}: {reason}", path.display())))?;
        // What cannot be followed cannot be read either, but may be mended later.
        if follow(&path).map_or(true, |found| !found.links.is_empty()) {
            parts.push(path);
        }
    }
    Ok(parts)
}
