//! `ironcurtain servers trust`: a person looks at what changed about a server, and trusts it or not.
//!
//! ```text
//! how it is started ─differs?─▶ shown, asked ─yes─▶ started, listed, ended ─differs?─▶ shown, asked
//!        └──as trusted────────────────────────────▶      └──as trusted──▶ nothing to do     └─yes─▶ recorded
//! ```
//!
//! Nothing is started that a person has not seen, and nothing is recorded that was not shown.

mod difference;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_backend::probe::Probed;
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_inventory::pins::{Identity, Pin, PinsFile, Standing};
use ic_inventory::servers_file::{ServerConfig, Start};
use ic_opening::policy::{NoSandbox, Wanted};
use ic_policy::SandboxKind;
use ic_types::ServerName;

use self::difference::Changes;
use super::{find, list, load};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::judge;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// Look at what has changed about a server since it was trusted, and trust it as it is now
///
/// First shows how it is started, and starts it only if you agree; then shows which tools are new,
/// gone or changed, and asks again. The questions come at the terminal. Exits with 0 if the server is
/// trusted as it is, and with 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// Server to look at
    name: String,
    /// Servers file; without it that of the IronCurtain home
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Agree to everything without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &TrustArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let servers = load(args.servers.as_deref(), environment)?;
    let (name, config) = find(&args.name, &servers)?;
    refuse_what_nobody_trusts(name, config)?;
    let file = PinsFile::of(&home);
    let pins = file.read()?;
    let what = format!("whether to trust `{name}`");
    let mut person = Person::find(&what, args.yes, Scripts::of(&home, environment)?)?;

    let pin = pins.get(name);
    let (identity, package) = file.identity(config, SystemClock.now())?;
    let standing = pins.of_start(name, &identity);
    if standing != Standing::Trusted {
        let mut lines = Vec::new();
        if pin.is_none_or(|pin| !pin.is_of_entry(&identity)) {
            lines.extend(start_lines(name, pin, &identity));
        }
        let is_other =
            pin.is_some_and(|pin| pin.package != identity.package().map(|it| it.to_string()));
        if let (Some(package), true) = (&package, is_other) {
            lines.extend(difference::of_package(name, package));
        }
        person.show(&lines, screen)?;
        if person.ask("Start it in this way, to look at its tools?")? == Answer::Denied {
            return denied(name, screen);
        }
    }

    let probed = look((name, config), args.servers.as_deref(), &home, environment, screen)?;
    let changes = Changes::of(name, &pins, &probed.tools);
    if let (Standing::Trusted, Some(pin), true) = (standing, pin, changes.is_none()) {
        screen.line(&format!(
            "{name}: nothing has changed since {}: it is started in the same way, and {} as trusted",
            visible(&pin.at),
            match probed.tools.len() {
                1 => "its 1 tool is".to_owned(),
                n => format!("its {} are", list::tools(n)),
            }
        ))?;
        return Ok(Exit::Success);
    }
    person.show(&tool_lines(name, &probed, &changes), screen)?;
    if person.ask("Trust this?")? == Answer::Denied {
        return denied(name, screen);
    }
    file.trust(name, &identity, &probed.tools, SystemClock.now())?;
    package.map_or(Ok(()), |package| package.keep())?;
    screen.line(&format!(
        "{name} is trusted as it is now, with {}",
        list::tools(probed.tools.len())
    ))?;
    Ok(Exit::Success)
}

/// What is part of this program is trusted with it.
fn refuse_what_nobody_trusts(name: &ServerName, config: &ServerConfig) -> Result<(), Failure> {
    match &config.start {
        Start::Builtin(_) => Err(Failure::usage(format!(
            "`{name}` is part of this program, and trusted as far as the program is"
        ))),
        Start::Command(_) | Start::Url(_) => Ok(()),
    }
}

/// Starts the server in a place for the moment, which is gone before anybody is asked anything.
fn look(
    server: (&ServerName, &ServerConfig),
    servers: Option<&Path>,
    home: &Home,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Probed, Failure> {
    home.prepare()?;
    let trial = Trial::new_in(&home.root())?;
    let wanted = Wanted {
        policy: None,
        sandbox: Some((environment.absolute(&trial.sandbox())?, SandboxKind::Session)),
        protected: Vec::new(),
        servers: servers.map(Path::to_owned),
    };
    // Held as a session would hold it: nobody trusts it yet.
    let holding = trial.holding(home, environment)?.or_refuse()?;
    let loaded = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let recipe = trial.recipe(server, &Arc::new(loaded.judge), &holding, environment)?;
    trial.probe(&recipe, screen).map_err(|error| {
        let name = server.0;
        Failure::environment(format!("the server `{name}` cannot be looked at: {error}"))
            .with_hint("nothing was recorded")
    })
}

fn denied(name: &ServerName, screen: &mut Screen) -> Result<Exit, Failure> {
    screen.line(&format!("{name} is not trusted; nothing was recorded"))?;
    Ok(Exit::Failed)
}

fn start_lines(name: &ServerName, pin: Option<&Pin>, identity: &Identity) -> Vec<String> {
    let heading = match pin {
        Some(pin) => format!(
            "{name}: how it is started has changed since it was trusted ({}):",
            visible(&pin.at)
        ),
        None => format!("{name}: nothing is known of it yet; it is started in this way:"),
    };
    let mut lines = vec![heading];
    lines.extend(difference::of_start(pin, identity));
    lines
}

fn tool_lines(name: &ServerName, probed: &Probed, changes: &Changes) -> Vec<String> {
    let introduction = &probed.introduction;
    let mut lines = vec![format!(
        "{name}: it calls itself `{}` {}, and lists {}",
        visible(&introduction.name),
        visible(&introduction.version),
        list::tools(probed.tools.len())
    )];
    lines.extend(changes.lines());
    let unusable = probed.unusable.iter();
    lines.extend(unusable.map(|it| format!("  {}", visible(&it.to_string()))));
    lines.push(format!("{name}: {}", changes.summary()));
    lines
}
