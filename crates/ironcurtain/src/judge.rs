//! Puts a policy, its surroundings and the resolver together, so that a command can ask about calls.
//!
//! Forwards nothing and records nothing.

use std::path::PathBuf;

use ic_home::config::{Config, ConfigError, ConfigFile, Layers};
use ic_home::{Environment, Home};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Builtin, Finding, Policy, PolicySources, ResolvedCall, SandboxKind, Verdict, evaluate,
    explain,
};
use ic_resolve::bounds::{self, Servers};
use ic_resolve::path::{Found, Last};
use ic_resolve::{Places, RealDisk, Resolver};
use ic_types::{AbsolutePath, ToolCall};

use crate::error::Failure;
use crate::files;
use crate::screen::Screen;
use crate::servers;

/// Which policy to ask, and in which surroundings
#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Policy to ask: `default`, `coding`, `readonly`, or a directory
    ///
    /// Without it, the policy of the `IronCurtain` home, or the built-in `default` if there is none.
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Directory in which the agent is free
    #[arg(long, value_name = "DIR")]
    sandbox: Option<PathBuf>,
    /// The sandbox is the user's own directory
    #[arg(long, requires = "sandbox")]
    workspace: bool,
    /// Further path that no rule can open (can be repeated)
    #[arg(long, value_name = "PATH")]
    protected: Vec<PathBuf>,
    /// Servers file; without it that of the `IronCurtain` home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
}

/// What to do where no sandbox is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoSandbox {
    /// There is none.
    None,
    /// Judge as in a new session, whose sandbox is empty.
    Fresh,
}

/// Everything that is needed to judge a call.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The policy.
    pub(crate) policy: Policy,
    /// Where the policy comes from, as a person would say it.
    pub(crate) origin: String,
    /// The text that the policy was compiled from, if it is there.
    pub(crate) constitution: Option<String>,
    /// The policy's scenarios, if there are any.
    pub(crate) scenarios: Option<PolicyFile>,
    bounds: Bounds,
    home: AbsolutePath,
}

/// A file of a policy directory.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    name: String,
    bytes: Vec<u8>,
}

/// Where a policy is.
enum Origin {
    Builtin(Builtin),
    Directory(AbsolutePath),
}

/// The files of a policy, read.
struct PolicyFiles {
    origin: String,
    compiled: PolicyFile,
    annotations: PolicyFile,
    lists: Option<PolicyFile>,
    scenarios: Option<PolicyFile>,
    constitution: Option<PolicyFile>,
}

// === impl Judge ===

impl Judge {
    /// Loads everything that `args` name.
    pub(crate) fn load(
        args: &JudgeArgs,
        no_sandbox: NoSandbox,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let (home, ironcurtain_home) = (environment.home()?, environment.ironcurtain_home()?);
        let origin = args.origin(environment, &ironcurtain_home)?;
        let sandbox = args.sandbox(no_sandbox, environment, &ironcurtain_home)?;
        let (servers, servers_file) = args.servers(environment, &ironcurtain_home)?;

        let mut protected = vec![ironcurtain_home.clone()];
        if let Origin::Directory(directory) = &origin {
            protected.push(directory.clone());
        }
        protected.extend(servers_file.clone());
        for path in &args.protected {
            protected.push(environment.absolute(path)?);
        }
        protected.extend(configured(environment, &ironcurtain_home, screen)?);
        let places = Places { home: home.clone(), sandbox, protected };
        let bounds = bounds::gather(&RealDisk, &places, servers)?;

        refuse_in_sandbox(&bounds, "IronCurtain home", &ironcurtain_home)?;
        if let Some(file) = &servers_file {
            refuse_in_sandbox(&bounds, "servers file", file)?;
        }
        let files = PolicyFiles::read(&origin, &bounds)?;
        let resolver = Resolver { disk: &RealDisk, home: &home, sandbox: None };
        let locate = |text: &str| resolver.locate(text).map_err(|fault| fault.to_string());
        let policy = Policy::load(&files.sources(), &locate)?;
        for warning in policy.warnings() {
            screen.warning(warning);
        }
        let constitution =
            files.constitution.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
        Ok(Self {
            policy,
            origin: files.origin,
            constitution,
            scenarios: files.scenarios,
            bounds,
            home,
        })
    }

    /// Resolves and judges one call.
    pub(crate) fn judge(&self, call: ToolCall) -> Verdict {
        evaluate(&self.policy, &self.bounds, self.resolve(call))
    }

    /// Resolves one call and returns all that speaks for or against it.
    pub(crate) fn explain(&self, call: ToolCall) -> (ResolvedCall, Vec<Finding>) {
        let call = self.resolve(call);
        let findings = explain(&self.policy, &self.bounds, &call);
        (call, findings)
    }

    fn resolve(&self, call: ToolCall) -> ResolvedCall {
        let sandbox = self.bounds.sandbox.as_ref();
        Resolver { disk: &RealDisk, home: &self.home, sandbox }.resolve(&self.policy, call)
    }
}

// === impl JudgeArgs ===

impl JudgeArgs {
    fn origin(
        &self,
        environment: &Environment,
        ironcurtain_home: &AbsolutePath,
    ) -> Result<Origin, Failure> {
        let Some(policy) = &self.policy else {
            let generated = ironcurtain_home.as_path().join("generated");
            return Ok(match files::read_if_present(&generated.join(COMPILED))? {
                Some(_) => Origin::Directory(environment.absolute(&generated)?),
                None => Origin::Builtin(Builtin::Default),
            });
        };
        if let Some(builtin) = policy.to_str().and_then(Builtin::by_name) {
            return Ok(Origin::Builtin(builtin));
        }
        let directory = environment.absolute(policy)?;
        match is_directory(&directory)? {
            true => Ok(Origin::Directory(directory)),
            false => Err(Failure::config(format!("there is no policy `{}`", policy.display()))
                .with_hint("name `default`, `coding` or `readonly`, or a directory with compiled-policy.json and tool-annotations.json")),
        }
    }

    fn sandbox(
        &self,
        no_sandbox: NoSandbox,
        environment: &Environment,
        ironcurtain_home: &AbsolutePath,
    ) -> Result<Option<(AbsolutePath, SandboxKind)>, Failure> {
        let kind = match self.workspace {
            true => SandboxKind::Workspace,
            false => SandboxKind::Session,
        };
        match (&self.sandbox, no_sandbox) {
            (Some(path), _) => Ok(Some((environment.absolute(path)?, kind))),
            (None, NoSandbox::None) => Ok(None),
            (None, NoSandbox::Fresh) => {
                // Never made: a sandbox that does not exist is as empty as one that is new.
                let path = ironcurtain_home.as_path().join("sessions/policy-test/sandbox");
                Ok(Some((environment.absolute(&path)?, kind)))
            }
        }
    }

    fn servers(
        &self,
        environment: &Environment,
        ironcurtain_home: &AbsolutePath,
    ) -> Result<(Servers, Option<AbsolutePath>), Failure> {
        let (path, bytes) = if let Some(path) = &self.servers {
            let path = environment.absolute(path)?;
            let bytes = files::read(path.as_path())?;
            (path, bytes)
        } else {
            let path =
                environment.absolute(&ironcurtain_home.as_path().join("mcp-servers.json"))?;
            match files::read_if_present(path.as_path())? {
                Some(bytes) => (path, bytes),
                None => return Ok((servers::builtin(), None)),
            }
        };
        let file = path.as_path().display().to_string();
        Ok((servers::read(Source { file: &file, bytes: &bytes })?, Some(path)))
    }
}

// === impl PolicyFiles ===

const COMPILED: &str = "compiled-policy.json";

impl PolicyFiles {
    fn read(origin: &Origin, bounds: &Bounds) -> Result<Self, Failure> {
        match origin {
            Origin::Builtin(builtin) => Ok(Self::of_builtin(*builtin)),
            Origin::Directory(directory) => Self::of_directory(directory, bounds),
        }
    }

    fn of_builtin(builtin: Builtin) -> Self {
        let sources = builtin.sources();
        let constitution =
            Source { file: "constitution.md", bytes: builtin.constitution().as_bytes() };
        Self {
            origin: format!("built-in `{}`", builtin.name()),
            compiled: sources.compiled.into(),
            annotations: sources.annotations.into(),
            lists: sources.lists.map(Into::into),
            scenarios: Some(builtin.scenarios().into()),
            constitution: Some(constitution.into()),
        }
    }

    fn of_directory(directory: &AbsolutePath, bounds: &Bounds) -> Result<Self, Failure> {
        refuse_in_sandbox(bounds, "policy", directory)?;
        let read_if_present = |name: &str| -> Result<Option<PolicyFile>, Failure> {
            let path = directory.as_path().join(name);
            let Some(bytes) = files::read_if_present(&path)? else { return Ok(None) };
            // SECURITY: a link from the policy directory into the sandbox is the agent's to write.
            let absolute = AbsolutePath::new(&path)
                .map_err(|reason| Failure::config(format!("{}: {reason}", path.display())))?;
            refuse_in_sandbox(bounds, "policy file", &absolute)?;
            Ok(Some(PolicyFile { name: path.display().to_string(), bytes }))
        };
        let read = |name: &str| {
            read_if_present(name)?.ok_or_else(|| {
                let path = directory.as_path().join(name);
                Failure::config(format!("`{}` does not exist", path.display())).with_hint(
                    "a policy directory holds compiled-policy.json and tool-annotations.json",
                )
            })
        };
        Ok(Self {
            origin: directory.as_path().display().to_string(),
            compiled: read(COMPILED)?,
            annotations: read("tool-annotations.json")?,
            lists: read_if_present("dynamic-lists.json")?,
            scenarios: read_if_present("test-scenarios.json")?,
            constitution: match read_if_present("constitution.md")? {
                Some(file) => Some(file),
                // The user's own stands beside `generated/`.
                None => read_if_present("../constitution.md")?,
            },
        })
    }

    fn sources(&self) -> PolicySources<'_> {
        PolicySources {
            compiled: self.compiled.source(),
            annotations: self.annotations.source(),
            lists: self.lists.as_ref().map(PolicyFile::source),
        }
    }
}

impl PolicyFile {
    /// Returns the file's name and bytes, to be read.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { file: &self.name, bytes: &self.bytes }
    }
}

impl From<Source<'_>> for PolicyFile {
    fn from(source: Source<'_>) -> Self {
        Self { name: source.file.to_owned(), bytes: source.bytes.to_vec() }
    }
}

/// Returns the protected paths of the configuration.
fn configured(
    environment: &Environment,
    ironcurtain_home: &AbsolutePath,
    screen: &mut Screen,
) -> Result<Vec<AbsolutePath>, Failure> {
    match ConfigFile::read(&Home::new(ironcurtain_home.clone())) {
        Ok(file) => {
            let layers = Layers { flags: &[], environment, file: &file };
            Ok(Config::load(&layers)?.protected_paths)
        }
        // Neither can hold protected paths of ours, and a policy beside it can be asked all the
        // same: the other program's policies have the same format.
        Err(error @ (ConfigError::Foreign { .. } | ConfigError::NoConfig { .. })) => {
            screen.warning(&format!("{error}; no setting is taken from it"));
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

fn is_directory(path: &AbsolutePath) -> Result<bool, Failure> {
    Ok(follow(path)?.entry.is_some_and(|entry| entry.kind == ic_resolve::Kind::Directory))
}

/// Refuses to read our own orders from a place that the agent can write.
fn refuse_in_sandbox(bounds: &Bounds, what: &str, path: &AbsolutePath) -> Result<(), Failure> {
    let Some(sandbox) = &bounds.sandbox else { return Ok(()) };
    let found = follow(path)?;
    let kept = follow_to(path, Last::Keep)?;
    // SECURITY: a link in the sandbox, anywhere on the way, is the agent's to turn.
    let names = [&found.path, &kept.path].into_iter().chain(&found.links);
    if names.into_iter().any(|name| name.is_within(&sandbox.path)) {
        return Err(Failure::config(format!(
            "the {what} `{}` lies in the sandbox `{}`, where the agent can change it",
            path.as_path().display(),
            sandbox.path
        ))
        .with_hint("keep it outside the sandbox"));
    }
    Ok(())
}

fn follow(path: &AbsolutePath) -> Result<Found, Failure> {
    follow_to(path, Last::Follow)
}

fn follow_to(path: &AbsolutePath, last: Last) -> Result<Found, Failure> {
    ic_resolve::path::follow(&RealDisk, path, last).map_err(|fault| {
        Failure::environment(format!("cannot resolve `{}`", path.as_path().display()))
            .with_source(fault)
    })
}
