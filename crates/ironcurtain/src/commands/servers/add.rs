//! `ironcurtain servers add`: a server, from its command line to drafts of what its tools mean.
//!
//! ```text
//! npx, uvx ─▶ installed and pinned ─┐
//! a program, or a URL ──────────────┴▶ an entry ─▶ started in its cage, listed ─▶ drafts ─▶ written
//! ```
//!
//! Nothing is written to the servers file before the server has been seen in its cage. No tool is
//! called, and whatever is called later needs a person, until the drafts are confirmed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_broker::method::CallMethod;
use ic_broker::pins::{Identity, PinsFile};
use ic_broker::probe::Probed;
use ic_broker::servers_file::{ServerConfig, ServersFile};
use ic_confine::find_program;
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_policy::SandboxKind;
use ic_types::{Json, Object, ServerName};

use super::drafts::Drafts;
use super::entries::Entries;
use super::install::{self, Installed, Site};
use super::review::table;
use super::{list, load};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::installer::is_of_the_system;
use crate::judge::{Loaded, NoSandbox, Wanted};
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// Add an MCP server, in a cage of its own
///
/// `npx PACKAGE …` and `uvx PACKAGE …` are installed once, in a cage that reaches the package index alone,
/// with exact versions and their integrity, and run from there; no script of a package is run by that. Any
/// other command is taken as it is; with `--from DIR` that directory is copied and the command runs from the
/// copy, which no agent can change. The
/// server is then started in its cage and its tools are listed; what their arguments mean is guessed,
/// and every call needs a person until `servers review` confirms it. `${SANDBOX}`, `${WORKSPACE}`,
/// `${HOME}` and `${ENV:NAME}` in the command and in `--env` are filled in by each session, and so is
/// `${DATA}`, a directory in which the server keeps what is to outlive a session. A server whose command
/// names `${SANDBOX}` may write there. With `--url` it is a server on another machine, which is connected
/// to instead.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// What to call it: its tools are offered as `NAME__tool`
    name: String,
    /// Variable in its environment; without a value, the one that `ironcurtain` is started with
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Host that it may connect to (can be repeated)
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// File or directory that its cage shows (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<String>,
    /// File or directory that it may write, too (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<String>,
    /// It works in the sandbox: it may write there, and what it does there needs nobody once its tools are
    /// reviewed
    #[arg(long)]
    contained: bool,
    /// Address of a server on another machine, in the place of a command
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["env", "allow_read", "allow_write", "contained"]
    )]
    url: Option<String>,
    /// Header for each request to it, with `${ENV:NAME}` for what is secret (can be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// Directory that is copied, and that the server is run from; for one that lies where an agent works
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    from: Option<PathBuf>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its calls run one after another
    #[arg(long)]
    serial: bool,
    /// The command that starts it
    #[arg(
        last = true,
        required_unless_present = "url",
        conflicts_with = "url",
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// A server on another machine.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Far {
    /// Where it is.
    pub(super) url: String,
    /// What it is sent with each request.
    pub(super) headers: Vec<(String, String)>,
}

/// A server that is to be added.
#[derive(Debug)]
pub(super) struct Plan {
    /// What to call it.
    pub(super) name: ServerName,
    /// The command that starts it; empty if it is far.
    pub(super) command: Vec<String>,
    /// The directory that it is copied from.
    pub(super) from: Option<PathBuf>,
    /// Where it runs, if not in a directory of its own.
    pub(super) directory: Option<String>,
    /// Where it is, if it is on another machine.
    pub(super) far: Option<Far>,
    /// What is written for it in its environment.
    pub(super) env: Vec<(String, String)>,
    /// Hosts that it may connect to.
    pub(super) allow_domain: Vec<String>,
    /// What its cage shows.
    pub(super) allow_read: Vec<String>,
    /// What it may write.
    pub(super) allow_write: Vec<String>,
    /// Whether the sandbox is where it works.
    pub(super) is_contained: bool,
    /// What it is for.
    pub(super) description: Option<String>,
    /// Whether its calls run one after another.
    pub(super) is_serial: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: AddArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name: ServerName = args.name.parse().map_err(|error| {
        Failure::usage(format!("`{}` is no name for a server", visible(&args.name)))
            .with_source(error)
    })?;
    let env = args.env.iter().map(|text| variable(text)).collect::<Result<_, _>>()?;
    let headers = args.header.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    let plan = Plan {
        name,
        command: args.command,
        from: args.from,
        directory: None,
        far: args.url.map(|url| Far { url, headers }),
        env,
        allow_domain: args.allow_domain,
        allow_read: args.allow_read,
        allow_write: args.allow_write,
        is_contained: args.contained,
        description: args.description,
        is_serial: args.serial,
    };
    plan.add(&home(environment)?, environment, screen)?;
    Ok(Exit::Success)
}

/// Reads `NAME=VALUE`, or `NAME`, which stands for the variable of that name.
fn variable(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, format!("${{ENV:{text}}}")),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(is_name) {
        true => Ok((name.to_owned(), value)),
        false => Err(Failure::usage(format!("`{}` is no name of a variable", visible(name)))),
    }
}

/// Reads `NAME: VALUE`; a mistake is told of without the value.
fn header(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Failure::usage("a header is written as `NAME: VALUE`")
            .with_hint("`--header 'Authorization: Bearer ${ENV:TOKEN}'`")
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Plan {
    /// Adds the server; if that fails, nothing of it stays.
    pub(super) fn add(
        self,
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        home.prepare()?;
        let name = self.name.clone();
        let taken = || {
            Failure::usage(format!("there is a server `{name}` already")).with_hint(format!(
                "`ironcurtain servers remove {name}` first, or take another name"
            ))
        };
        if load(None, environment)?.get(name.as_str()).is_some() {
            return Err(taken());
        }
        let trial = Trial::new_in(&home.root())?;
        // What an attempt that was cut off left behind is in nobody's way.
        if install::uninstall(name.as_str(), home)?.is_some() {
            screen.notice(&format!("{name}: what a server of this name kept is there for it"));
        }
        let added = self.try_add(&trial, home, environment, screen);
        match added {
            Ok(true) => Ok(()),
            Ok(false) => Err(taken()),
            Err(failure) => {
                install::uninstall(name.as_str(), home)?;
                Err(failure)
            }
        }
    }

    /// Adds the server; `false` if somebody else added one of that name meanwhile.
    fn try_add(
        self,
        trial: &Trial,
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<bool, Failure> {
        let name = self.name.clone();
        let site = Site { trial, home, environment };
        if let Some(far) = &self.far {
            let entry = self.far_entry(far);
            return self.settle((entry, None), trial, home, environment, screen);
        }
        let package = install::asked(&self.command).map_err(|why| {
            Failure::usage(format!("this cannot be installed: {why}"))
                .with_hint("name a package and, if you like, its version: `npx PACKAGE@1.2.3`")
        })?;
        if self.names("${DATA}") {
            install::make_data(&name, home)?;
        }
        let mut what = None;
        let entry = match (&package, &self.from) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "a package is installed, and not copied from a directory",
                )
                .with_hint("leave `--from` out, or name the program in the directory"));
            }
            (Some(asked), None) => {
                screen.notice(&format!("installing {} …", asked.package));
                let mut installed = install::install(asked, &name, site, screen)?;
                installed.args.extend(asked.arguments.iter().cloned());
                what = Some(installed.what.clone());
                self.entry(installed)
            }
            (None, Some(from)) => {
                let line = (&self.command[..], &self.env[..]);
                let copied = install::copy(from, &name, line, site, screen)?;
                what = Some(copied.what.clone());
                self.entry(found(copied, environment)?)
            }
            (None, None) => self.entry(self.as_it_is(environment)?),
        };
        self.settle((entry, what.as_deref()), trial, home, environment, screen)
    }

    /// Looks at the server that an entry means, drafts what its tools mean, and writes all of it down.
    fn settle(
        &self,
        (entry, what): (Object, Option<&str>),
        trial: &Trial,
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<bool, Failure> {
        let name = self.name.clone();
        let mut entries = Entries::open(home)?;
        entries.add(&name, entry.clone());
        let servers = entries.servers()?;
        drop(entries);
        let probed = look(&name, &servers, trial, home, environment, screen)?;
        let (_, config) = super::find(name.as_str(), &servers)?;
        let mut annotations = Drafts::read(&name, home)?;
        let listed = probed.tools.iter().map(|tool| (tool.name.as_str(), &tool.listed));
        annotations.draft(&name, listed);
        // What it has besides tools is judged as tools, too.
        let has = |method: &CallMethod| {
            probed.introduction.capabilities.get(method.capability()).is_some()
        };
        for method in CallMethod::ALL.into_iter().filter(has) {
            let mut listed = method.listed();
            if let Some(Json::Object(schema)) = listed.get_mut("inputSchema")
                && let Some(Json::Object(properties)) = schema.get_mut("properties")
            {
                // Found out anew for each call, and said by nobody.
                properties.remove("scheme");
            }
            annotations.draft(&name, [(method.as_str(), &listed)]);
            // A path or an address is judged as such in any case; other schemes are the server's own.
            annotations.set(method.as_str(), "uri", vec![Json::from("none")]).ok();
        }
        file::create_dir(home.installed_servers())?;
        file::create_dir(home.installed_servers().join(name.as_str()))?;
        annotations.write()?;
        let mut entries = Entries::open(home)?;
        if entries.has(&name) {
            return Ok(false);
        }
        entries.add(&name, entry);
        entries.write()?;
        trust(&name, config, &probed, home)?;
        let held = match super::runs_here(&config.start) {
            true => format!("runs confined: {}", probed.confinement),
            false => "runs on another machine".to_owned(),
        };
        tell(&name, (what, &held), &probed, &annotations, screen)?;
        Ok(true)
    }

    /// A program that is there already.
    fn as_it_is(&self, environment: &Environment) -> Result<Installed, Failure> {
        let (program, rest) = self.command.split_first().ok_or_else(|| {
            Failure::usage("no command is given").with_hint("write it after `--`")
        })?;
        let command = program.clone();
        let (args, env, what) = (rest.to_vec(), Vec::new(), String::new());
        let as_written =
            Installed { command, args, env, directory: None, allow_read: Vec::new(), what };
        found(as_written, environment)
    }

    /// Writes the entry of a server on another machine.
    fn far_entry(&self, far: &Far) -> Object {
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
    fn names(&self, template: &str) -> bool {
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
    fn entry(&self, installed: Installed) -> Object {
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
fn found(installed: Installed, environment: &Environment) -> Result<Installed, Failure> {
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

/// Starts the server in its cage, and lists its tools.
fn look(
    name: &ServerName,
    servers: &ServersFile,
    trial: &Trial,
    home: &Home,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Probed, Failure> {
    let (name, config) = super::find(name.as_str(), servers)?;
    let wanted = Wanted {
        policy: None,
        sandbox: Some((environment.absolute(&trial.sandbox())?, SandboxKind::Session)),
        protected: Vec::new(),
        servers: None,
    };
    let holding = trial.holding(home, environment)?.or_refuse()?;
    let loaded = Loaded::load(&wanted, NoSandbox::None, environment, screen)?;
    let recipe = trial.recipe((name, config), &Arc::new(loaded.judge), &holding, environment)?;
    trial.probe(&recipe, screen).map_err(|error| {
        Failure::environment(format!("the server `{name}` does not work in its cage: {error}")).with_hint(
            "nothing of it was kept; `--allow-read`, `--allow-write`, `--allow-domain` and `--env` give \
             it what it needs",
        )
    })
}

/// Records the server as it was just seen; what changes later is withheld.
fn trust(
    name: &ServerName,
    config: &ServerConfig,
    probed: &Probed,
    home: &Home,
) -> Result<(), Failure> {
    // What a person cannot see is not trusted by itself.
    let plain = probed.tools.iter().filter(|tool| tool.hidden_text().is_none());
    Ok(PinsFile::of(home).trust(name, &Identity::of(config), plain, SystemClock.now())?)
}

fn tell(
    name: &ServerName,
    (what, held): (Option<&str>, &str),
    probed: &Probed,
    annotations: &Drafts,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let introduction = &probed.introduction;
    let mut lines = vec![format!(
        "{name}: added{}; it calls itself `{}` {}, has {}, and {held}",
        what.map(|what| format!(", {}", visible(what))).unwrap_or_default(),
        visible(&introduction.name),
        visible(&introduction.version),
        list::tools(probed.tools.len()),
    )];
    lines.extend(table::rows(annotations.tools().iter(), false));
    lines.extend(probed.unusable.iter().map(|it| format!("  {}", visible(&it.to_string()))));
    lines.push(format!(
        "{name}: these are guesses, so every call needs approval; `ironcurtain servers review {name}` \
         confirms them"
    ));
    screen.lines(&lines)
}
