//! Finds and loads a policy with its surroundings, so that a command can ask about calls.
//!
//! Forwards nothing and records nothing.

mod example;
mod origin;
mod outline;
mod policy_files;
mod roots;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_confine::{Confinement, Rung};
use ic_home::config::{Config, ConfigError, ConfigFile, Layers};
use ic_home::{Environment, Home, PolicyChoice};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_judge::method::CallMethod;
use ic_policy::artifact::Source;
use ic_policy::{ArtifactError, Bounds, Policy, PolicySources, SandboxKind};
use ic_resolve::bounds;
use ic_resolve::path::{Found, Last};
use ic_resolve::{Orders, Places, RealDisk, UserGit};
use ic_servers::git::{Committed, system_configs};
use ic_types::variable::Obeyed;
use ic_types::{AbsolutePath, CanonicalPath, Object, ServerName};

use crate::fault::Fault;
use crate::files;

pub use example::{arguments, possible_roles};
pub use origin::{Origin, own_names};
use policy_files::PolicyFiles;
pub use policy_files::{ADDITIONS, COMPILED, PolicyFile, added_annotations};
pub use roots::Moved;
use roots::Roots;

/// What to do where no sandbox is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoSandbox {
    /// There is none.
    None,
    /// Judge as in a new session, whose sandbox is empty.
    Fresh,
}

/// Which policy is wanted, and in which surroundings.
#[derive(Debug)]
pub struct Wanted {
    /// A built-in policy or a directory; that of the home if it is not said.
    pub policy: Option<PathBuf>,
    /// The directory in which the agent is free, and whose it is.
    pub sandbox: Option<(AbsolutePath, SandboxKind)>,
    /// Further paths that no rule can open.
    pub protected: Vec<AbsolutePath>,
    /// The servers file; that of the home if it is not said.
    pub servers: Option<PathBuf>,
}

/// A policy in its surroundings, and where it comes from.
#[derive(Debug)]
pub struct Loaded {
    /// Who judges calls.
    pub judge: Judge,
    /// The configured servers.
    pub servers: ServersFile,
    /// Where the policy comes from, as a person would say it.
    pub origin: String,
    /// Where the policy is.
    pub found: Origin,
    /// The text that the policy was compiled from, if it is there.
    pub constitution: Option<String>,
    /// The policy's scenarios, if there are any.
    pub scenarios: Option<PolicyFile>,
    /// Where the directories of its rules lead.
    pub roots: Roots,
    /// What `${SANDBOX}` means in its rules.
    pub sandbox: CanonicalPath,
    /// What is merely odd about it, for a person.
    pub warnings: Vec<String>,
    files: PolicyFiles,
}

/// How a policy is loaded: as it is, or as it would be.
#[derive(Clone, Copy, Debug)]
pub struct As<'a> {
    /// When the user confirmed where its directories lead.
    pub confirmed: Confirmed,
    /// What would stand in its additions.json.
    pub additions: Option<&'a [u8]>,
    /// What would stand in its compiled-policy.json.
    pub compiled: Option<&'a [u8]>,
    /// What would stand in its dynamic-lists.json.
    pub lists: Option<&'a [u8]>,
    /// What would stand in the annotations of an added server.
    pub annotations: Option<(&'a ServerName, &'a Object)>,
    /// What holds servers.
    pub held: Confinement,
}

impl As<'_> {
    /// As it is where servers are held, with directories that were confirmed before.
    pub const IS: Self = Self {
        confirmed: Confirmed::Before,
        additions: None,
        compiled: None,
        lists: None,
        annotations: None,
        held: Confinement::Cage(Rung::Namespaces),
    };

    /// As it is, with directories that the user confirms now.
    pub const CONFIRMED: Self = Self { confirmed: Confirmed::Now, ..Self::IS };
}

/// When the user confirmed where the directories of a policy lead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confirmed {
    /// Earlier: they have to lead there still.
    Before,
    /// With this command.
    Now,
}

// === impl Loaded ===

impl Loaded {
    /// Loads everything that is wanted.
    pub fn load(
        wanted: &Wanted,
        no_sandbox: NoSandbox,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        Self::load_as(wanted, no_sandbox, As::IS, environment)
    }

    /// Loads everything that is wanted, with roots that the user confirms now.
    pub fn load_confirming(
        wanted: &Wanted,
        no_sandbox: NoSandbox,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        Self::load_as(wanted, no_sandbox, As::CONFIRMED, environment)
    }

    /// Loads everything that is wanted, as it is or as it would be.
    pub fn load_as(
        wanted: &Wanted,
        no_sandbox: NoSandbox,
        how: As<'_>,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        let (home, ironcurtain_home) = (environment.home()?, environment.ironcurtain_home()?);
        let mut warnings = Vec::new();
        let configured = Configured::read(environment, &ironcurtain_home, &mut warnings)?;
        let origin =
            Origin::find(wanted.policy.as_deref(), configured.policy.as_ref(), environment)?;
        // Never made: a sandbox that does not exist is as empty as one that is new.
        let fresh = ironcurtain_home.as_path().join("sessions/policy-test/sandbox");
        let fresh = environment.absolute(&fresh)?;
        let sandbox = match (&wanted.sandbox, no_sandbox) {
            (Some(sandbox), _) => Some(sandbox.clone()),
            (None, NoSandbox::None) => None,
            (None, NoSandbox::Fresh) => Some((fresh.clone(), SandboxKind::Session)),
        };
        let (servers, servers_file) = servers_file(wanted.servers.as_deref(), environment)?;

        let mut protected = vec![ironcurtain_home.clone()];
        let in_force = configured.directory(environment)?;
        protected.extend(origin.protected(in_force.as_ref(), environment)?);
        protected.extend(servers_file.clone());
        protected.extend(wanted.protected.iter().cloned());
        protected.extend(configured.protected_paths);
        let places = Places { home: home.clone(), sandbox, protected };
        let mut bounds = bounds::gather(&RealDisk, &places, servers.traits(how.held))?;
        let ours = [Some(&ironcurtain_home), servers_file.as_ref(), in_force.as_ref()];
        let ours = ours.into_iter().flatten().chain(origin.directory());
        bounds.protected.extend(ours.flat_map(|path| origin::links_to(path, &home)));

        let ours = (&ironcurtain_home, servers_file.as_ref(), in_force.as_ref());
        refuse_orders_in_sandbox(&bounds, ours)?;
        let mut files = PolicyFiles::read(&origin, &bounds)?.with(how.compiled, how.lists);
        let added = match wanted.servers {
            None => Some(Home::new(ironcurtain_home.clone())),
            Some(_) => None,
        };
        files.imply_annotations(&servers, added.as_ref(), how.annotations)?;
        files.annotate_uris();
        let roots = Roots::default();
        // Without a sandbox no call is about it: it is one in our home, which is protected.
        let sandbox = match &bounds.sandbox {
            Some(sandbox) => sandbox.path.clone(),
            None => follow(&fresh)?.path,
        };
        let locate =
            |text: &str| roots.locate(text, &home, &sandbox).map_err(|fault| fault.to_string());
        let given = how.additions.map(|bytes| Source { file: "additions.json", bytes });
        let additions = given.or_else(|| files.additions());
        let policy =
            Policy::load_with(&files.sources(), additions, &locate)?.with_names(&roots.names());
        if how.confirmed == Confirmed::Before {
            roots.check(&files.origin, &Home::new(ironcurtain_home))?;
        }
        warnings.extend(policy.warnings().iter().map(ToString::to_string));
        warnings.extend(stand_ins(&servers, &policy));
        let host_used = bounds.sandbox.as_ref().filter(|it| it.kind.is_used_by_host());
        let user_git = user_git(environment, &home, &sandbox);
        let orders = Orders::of(&home, &user_git, host_used.map(|it| &it.path))
            .with_history(Arc::new(committed(environment, &home, &sandbox)));
        Ok(Self {
            judge: Judge::new((policy, bounds), orders, home),
            servers,
            constitution: files.constitution(),
            origin: files.origin.clone(),
            found: origin,
            scenarios: files.scenarios.take(),
            roots,
            sandbox,
            warnings,
            files,
        })
    }

    /// Returns what the user has added to the policy.
    pub fn additions(&self) -> Option<Source<'_>> {
        self.files.additions()
    }

    /// Returns the files that hold the policy's rules and lists.
    pub fn rules_and_lists(&self) -> (Source<'_>, Option<Source<'_>>) {
        let PolicySources { compiled, lists, .. } = self.files.sources();
        (compiled, lists)
    }

    /// Keeps the policy's files under its hash, so that it can be asked again when it has changed.
    pub fn keep(&self, home: &Home) -> Result<(), Fault> {
        let hash = self.judge.policy.hash().to_string();
        Ok(self.files.keep(&home.recorded_policies().join(hash))?)
    }

    /// Loads the policy as it would be with other rules, lists and additions.
    pub fn policy_with(
        &self,
        compiled: &str,
        lists: Option<&str>,
        additions: Option<&str>,
    ) -> Result<Policy, ArtifactError> {
        let known = self.files.sources();
        let additions = self.files.additions().zip(additions);
        let additions = additions.map(|(known, text)| Source { bytes: text.as_bytes(), ..known });
        let lists = known.lists.zip(lists);
        let sources = PolicySources {
            compiled: Source { bytes: compiled.as_bytes(), ..known.compiled },
            annotations: known.annotations,
            lists: lists.map(|(known, text)| Source { bytes: text.as_bytes(), ..known }),
        };
        let locate = |text: &str| {
            let found = self.roots.locate(text, &self.judge.home, &self.sandbox);
            found.map_err(|fault| fault.to_string())
        };
        let policy = Policy::load_with(&sources, additions, &locate)?;
        Ok(policy.with_names(&self.roots.names()))
    }

    /// Returns the directory in which the agent is free, as a person would read it.
    pub fn sandbox(&self) -> String {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        sandbox.map_or_else(String::new, |sandbox| sandbox.path.to_string())
    }
}

/// Returns how the environment configures the user's own git, and leads other programs of the user's.
fn user_git(environment: &Environment, home: &AbsolutePath, sandbox: &CanonicalPath) -> UserGit {
    let variables = environment.git();
    let absolute = |path: PathBuf| environment.absolute(&path).ok();
    let obeyed = environment.obeyed();
    let system = environment.system_git(|| {
        // SECURITY: no program is run that an agent may have put there.
        system_configs(searched(obeyed), &[home.as_path(), sandbox.as_path()])
    });
    UserGit {
        files: variables.files.iter().chain(system).cloned().filter_map(absolute).collect(),
        directories: variables.directory().into_iter().filter_map(absolute).collect(),
        settings: variables.settings.clone(),
        variables: obeyed.to_vec(),
    }
}

/// Returns who knows the links that repositories have besides those on the disk.
fn committed(environment: &Environment, home: &AbsolutePath, sandbox: &CanonicalPath) -> Committed {
    // SECURITY: no program is run that an agent may have put there.
    Committed::new(searched(environment.obeyed()), &[home.as_path(), sandbox.as_path()])
}

/// Returns the directories in which the user's programs are looked for.
fn searched(obeyed: &[Obeyed]) -> &str {
    obeyed.iter().find(|it| it.name == "PATH").map_or("", |it| it.value.as_str())
}

// === impl Wanted ===

impl Wanted {
    /// Finds out whether there is a mistake in the policy or the servers file, before anything is made.
    ///
    /// Returns the methods besides calls of tools for which a server may be asked.
    pub fn check(&self, environment: &Environment) -> Result<Vec<CallMethod>, Fault> {
        // What is merely odd is told when it is loaded to be used.
        let Loaded { judge, servers, .. } = Loaded::load(self, NoSandbox::Fresh, environment)?;
        let is_offered =
            |method: &CallMethod| servers.iter().any(|(server, _)| method.is_known(&judge, server));
        Ok(CallMethod::ALL.into_iter().filter(is_offered).collect())
    }
}

/// Reads the servers file that is `named`, or that of the home; the built-in servers if there is none.
pub fn servers_file(
    named: Option<&Path>,
    environment: &Environment,
) -> Result<(ServersFile, Option<AbsolutePath>), Fault> {
    let (path, bytes) = if let Some(path) = named {
        let path = environment.absolute(path)?;
        let bytes = files::read(path.as_path())?;
        (path, bytes)
    } else {
        let path = Home::new(environment.ironcurtain_home()?).servers();
        match files::read_if_present(&path)? {
            Some(bytes) => (environment.absolute(&path)?, bytes),
            None => return Ok((ServersFile::builtin(), None)),
        }
    };
    let file = path.as_path().display().to_string();
    Ok((ServersFile::read(Source { file: &file, bytes: &bytes })?, Some(path)))
}

/// What the configuration says about judging.
#[derive(Debug, Default)]
struct Configured {
    policy: Option<PolicyChoice>,
    protected_paths: Vec<AbsolutePath>,
}

impl Configured {
    /// Returns the directory of the policy that is in force where a session names none.
    fn directory(&self, environment: &Environment) -> Result<Option<AbsolutePath>, Fault> {
        match &self.policy {
            Some(choice) => Origin::configured_directory(choice, environment),
            None => Ok(None),
        }
    }

    fn read(
        environment: &Environment,
        ironcurtain_home: &AbsolutePath,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Fault> {
        match ConfigFile::read(&Home::new(ironcurtain_home.clone())) {
            Ok(file) => {
                let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
                Ok(Self { policy: config.policy, protected_paths: config.protected_paths })
            }
            // Neither can hold settings of ours, and a policy beside it can be asked all the
            // same: the other program's policies have the same format.
            Err(error @ (ConfigError::Foreign { .. } | ConfigError::NoConfig { .. })) => {
                warnings.push(format!("{error}; no setting is taken from it"));
                Ok(Self::default())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Says which servers of the user's own the policy takes for built-in ones.
fn stand_ins(servers: &ServersFile, policy: &Policy) -> Vec<String> {
    // Without annotations each of their calls is refused.
    let is_judged = |name: &&ServerName| policy.annotations().any(|(server, ..)| server == *name);
    let warning = |name: &ServerName| {
        format!(
            "the server `{name}` is not IronCurtain's own, but what the policy says of built-in servers holds \
             for it, as for every server of that name; give it another name in mcp-servers.json if it should not"
        )
    };
    servers.stand_ins().filter(is_judged).map(warning).collect()
}

fn is_directory(path: &AbsolutePath) -> Result<bool, Fault> {
    Ok(follow(path)?.entry.is_some_and(|entry| entry.kind == ic_resolve::Kind::Directory))
}

/// Refuses all that we obey, if the agent can write it: our home, the servers file, the policy in force.
fn refuse_orders_in_sandbox(
    bounds: &Bounds,
    (home, servers_file, in_force): (&AbsolutePath, Option<&AbsolutePath>, Option<&AbsolutePath>),
) -> Result<(), Fault> {
    refuse_in_sandbox(bounds, "IronCurtain home", home)?;
    if let Some(file) = servers_file {
        refuse_in_sandbox(bounds, "servers file", file)?;
    }
    match in_force {
        Some(directory) => {
            let what = ["policy in force", "policy file"];
            policy_files::refuse_policy(bounds, what, directory)
        }
        None => Ok(()),
    }
}

/// Refuses to read our own orders from a place that the agent can write.
fn refuse_in_sandbox(bounds: &Bounds, what: &str, path: &AbsolutePath) -> Result<(), Fault> {
    match &bounds.sandbox {
        Some(sandbox) => refuse_within(what, path, &sandbox.path),
        None => Ok(()),
    }
}

/// Refuses what we make for ourselves in a place that the agent can write.
pub fn refuse_path_in_sandbox(
    what: &str,
    path: &AbsolutePath,
    sandbox: &AbsolutePath,
) -> Result<(), Fault> {
    refuse_within(what, path, &follow(sandbox)?.path)
}

fn refuse_within(what: &str, path: &AbsolutePath, sandbox: &CanonicalPath) -> Result<(), Fault> {
    let found = follow(path)?;
    let kept = follow_to(path, Last::Keep)?;
    // SECURITY: a link in the sandbox, anywhere on the way, is the agent's to turn.
    let names = [&found.path, &kept.path].into_iter().chain(&found.links);
    if names.into_iter().any(|name| name.is_within(sandbox)) {
        return Err(Fault::config(format!(
            "the {what} `{}` lies in the sandbox `{}`, where the agent can change it",
            path.as_path().display(),
            sandbox
        ))
        .with_hint("keep it outside the sandbox"));
    }
    Ok(())
}

fn follow(path: &AbsolutePath) -> Result<Found, Fault> {
    follow_to(path, Last::Follow)
}

fn follow_to(path: &AbsolutePath, last: Last) -> Result<Found, Fault> {
    ic_resolve::path::follow(&RealDisk, path, last).map_err(|fault| {
        Fault::machine(format!("cannot resolve `{}`", path.as_path().display())).with_source(fault)
    })
}
