//! A server that is to be added, from its command line to drafts of what its tools mean.
//!
//! ```text
//! npx, uvx ─▶ installed and pinned ─┐
//! a program, or a URL ──────────────┴▶ an entry ─▶ started in its cage, listed ─▶ drafts ─▶ written
//! ```
//!
//! Nothing is written to the servers file before the server has been seen in its cage. No tool is
//! called, and whatever is called later needs a person, until the drafts are confirmed.

mod entry;

use std::path::PathBuf;
use std::sync::Arc;

use ic_backend::probe::Probed;
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_inventory::guess;
use ic_inventory::pins::PinsFile;
use ic_inventory::servers_file::{ServerConfig, ServersFile};
use ic_judge::method::CallMethod;
use ic_opening::policy::{NoSandbox, Wanted};
use ic_policy::SandboxKind;
use ic_types::{Json, Object, ServerName};

use super::drafts::{self, Drafts};
use super::entries::Entries;
use super::install::{self, Installed, Site};
use super::review::table;
use super::{list, load};
use crate::error::Failure;
use crate::judge;
use crate::screen::{Screen, visible};
use crate::trial::Trial;
use entry::found;

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
            screen.notice(&format!(
                "{name}: data that an earlier server of this name kept is available to it"
            ));
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
    let loaded = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let recipe = trial.recipe((name, config), &Arc::new(loaded.judge), &holding, environment)?;
    trial.probe(&recipe, screen).map_err(|error| {
        Failure::environment(format!("the server `{name}` does not work in its cage: {error}")).with_hint(
            "nothing of it was kept; `--from DIR` copies the directory of a program of your own, and \
             `--allow-read`, `--allow-write`, `--allow-domain` and `--env` give it what else it needs",
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
    let file = PinsFile::of(home);
    let (identity, package) = file.identity(config, SystemClock.now())?;
    file.trust(name, &identity, plain, SystemClock.now())?;
    Ok(package.map_or(Ok(()), |package| package.keep())?)
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
    // What a review offers is shown, so that both say the same.
    let offered = annotations.tools().iter().map(|tool| {
        let listed = probed.tools.iter().find(|it| it.name.as_str() == drafts::name_of(tool));
        guess::offered(tool, listed.map(|it| &it.listed)).unwrap_or_else(|| tool.clone())
    });
    lines.extend(table::rows(offered.collect::<Vec<_>>().iter(), false));
    lines.extend(probed.tools.iter().filter_map(|tool| {
        let hidden = visible(&tool.hidden_text()?);
        Some(format!(
            "  {} is withheld: {hidden}; `ironcurtain servers trust {name}` shows it, and asks",
            tool.name
        ))
    }));
    lines.extend(probed.unusable.iter().map(|it| format!("  {}", visible(&it.to_string()))));
    lines.push(format!(
        "{name}: these are guesses, so every call needs approval; `ironcurtain servers review {name}` \
         confirms them"
    ));
    screen.lines(&lines)
}
