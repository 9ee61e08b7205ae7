//! `ironcurtain clients install`: the proxy, written into a client's configuration.

use clap::Parser as _;
use ic_home::Environment;
use ic_resolve::{Disk as _, RealDisk};

use super::edit::{NotEditable, Want, with};
use super::known::{Client, ConfigFile, Proxy};
use super::target::Target;
use super::{Change, client, told_about_own_tools};
use crate::commands::Exit;
use crate::commands::proxy::ProxyArgs;
use crate::error::Failure;
use crate::person::Answer;
use crate::screen::{Screen, visible_line};

/// Write `ironcurtain proxy` into the configuration of a client
///
/// Shows the change and asks before it is made. Comments, other servers and settings of the file stay,
/// and the old file is kept beside it. The client's own tools, such as a shell, are not judged: the
/// command prints how to turn them off.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Client to connect
    #[arg(value_parser = super::names())]
    client: String,
    /// Only print what would be written
    #[arg(long)]
    print: bool,
    /// Do not ask before the file is changed
    #[arg(long)]
    yes: bool,
    /// Options of `ironcurtain proxy`, such as `--workspace DIR`; paths must be absolute
    #[arg(last = true, value_name = "PROXY OPTION")]
    options: Vec<String>,
}

/// Reads the options of the proxy as the proxy will.
#[derive(Debug, clap::Parser)]
#[command(name = "ironcurtain proxy", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    proxy: ProxyArgs,
}

/// Runs the command.
pub(crate) fn run(
    args: &InstallArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let client = client(&args.client)?;
    let proxy = proxy(&args.options, environment)?;
    if args.print {
        return print(client, &proxy, environment, screen);
    }
    let mut changes = Vec::new();
    for config in client.files {
        let target = Target::find(config, environment)?;
        let wants = (config.wants)(&proxy);
        let before = target.text.clone().unwrap_or_default();
        let after = with(&before, config.format, &wants)
            .map_err(|error| by_hand(client, &target, &error))?;
        keep_told(&before, config, &wants, screen);
        if after != before {
            changes.push(Change { target, before, after: Some(after) });
        }
    }
    if changes.is_empty() {
        screen.line(&format!("{} is connected already; nothing was changed.", client.title))?;
        tell(client, screen);
        return Ok(Exit::Success);
    }
    if super::make(client, &changes, args.yes, screen)? == Answer::Denied {
        return Ok(Exit::Failed);
    }
    tell(client, screen);
    Ok(Exit::Success)
}

/// Prints what would be written to new files.
fn print(
    client: &Client,
    proxy: &Proxy,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    for config in client.files {
        let target = Target::find(config, environment)?;
        screen.notice(&format!("for {}:", target.expected.display()));
        let text = with("", config.format, &(config.wants)(proxy)).map_err(|error| {
            Failure::config(format!("cannot write the configuration of {}", client.title))
                .with_source(error)
        })?;
        for line in text.trim_end().lines() {
            screen.line(&visible_line(line))?;
        }
    }
    tell(client, screen);
    Ok(Exit::Success)
}

/// Says which settings of the user's stay although we would have set them otherwise.
fn keep_told(before: &str, config: &ConfigFile, wants: &[Want], screen: &mut Screen) {
    for (path, now, value) in super::edit::kept(before, config.format, wants) {
        screen.warning(&format!("`{path}` is {now} already and stays so; {value} is recommended"));
    }
}

/// Says what else people have to do.
fn tell(client: &Client, screen: &mut Screen) {
    told_about_own_tools(client, screen);
    screen.notice(
        "To answer approval requests, keep `ironcurtain approvals watch --desk` open in another \
         terminal; without it calls that need approval are denied.",
    );
    screen.notice(&format!("Restart {} if it is running.", client.title));
}

fn by_hand(client: &Client, target: &Target, error: &NotEditable) -> Failure {
    Failure::config(format!("cannot change `{}`: {error}", target.real.display())).with_hint(format!(
        "nothing was changed; `ironcurtain clients install {} --print` prints what to add by hand",
        client.name
    ))
}

/// Says how a client starts the proxy.
fn proxy(options: &[String], environment: &Environment) -> Result<Proxy, Failure> {
    let parsed = Options::try_parse_from(options).map_err(|error| {
        let text = error.render().to_string();
        let first =
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::usage(format!("`ironcurtain proxy` would not take these options: {first}"))
    })?;
    parsed.proxy.check_for_client()?;
    let mut arguments = vec!["proxy".to_owned()];
    arguments.extend(options.iter().cloned());
    let home = match environment.is_set("IRONCURTAIN_HOME") {
        true => Some(text_of(environment.ironcurtain_home()?.as_path())?),
        false => None,
    };
    Ok(Proxy { program: program(environment)?, arguments, home })
}

/// Returns where this program is: by the name under which people start it, if that leads here.
///
/// A client that was not started from a shell may know no `PATH` of the user's, so it is a full path.
fn program(environment: &Environment) -> Result<String, Failure> {
    let own = RealDisk.read_link("/proc/self/exe".as_ref()).map_err(|source| {
        Failure::environment("cannot find out where this program is").with_source(source)
    })?;
    let state = |path: &std::path::Path| {
        let found = environment.absolute(path).ok().and_then(|path| {
            ic_resolve::path::follow(&RealDisk, &path, ic_resolve::path::Last::Follow).ok()
        });
        found.map(|it| it.path.as_path().to_owned())
    };
    let variables = environment.user_variables();
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_default();
    let mut named = std::env::split_paths(&path).map(|it| it.join("ironcurtain"));
    let named = named.find(|it| it.is_absolute() && state(it).is_some_and(|it| it == own));
    text_of(&named.unwrap_or(own))
}

fn text_of(path: &std::path::Path) -> Result<String, Failure> {
    path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
        Failure::environment(format!("the path `{}` is not UTF-8 text", path.display()))
    })
}
