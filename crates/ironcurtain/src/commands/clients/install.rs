//! `ironcurtain clients install`: the proxy, written into a client's configuration.

use clap::Parser as _;
use ic_home::Environment;
use ic_opening::policy::Origin;
use ic_resolve::{Disk as _, RealDisk};

use super::edit::{NotEditable, Want, neighbours, own_words, with};
use super::known::{Client, ConfigFile, Proxy};
use super::target::Target;
use super::{Change, client, told_about_own_tools};
use crate::commands::Exit;
use crate::commands::proxy::ProxyArgs;
use crate::error::Failure;
use crate::person::Answer;
use crate::screen::{Screen, visible, visible_line};

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
    /// Turn the client's own tools off in the same file, as far as it has settings for that
    #[arg(long)]
    own_tools_off: bool,
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
    let options = match args.options.is_empty() && !args.print {
        true => options_there(client, environment, screen)?,
        false => args.options.clone(),
    };
    let proxy = proxy(&options, environment)?;
    let off = off(client, args.own_tools_off)?;
    if args.print {
        return print(client, (&proxy, &off), environment, screen);
    }
    let mut changes = Vec::new();
    for (at, config) in client.files.iter().enumerate() {
        let target = Target::find(config, environment)?;
        let mut wants = (config.wants)(&proxy);
        look_around(client, (&target, config), &wants, screen)?;
        if at == 0 {
            wants.extend(off.iter().cloned());
        }
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
        tell(client, &proxy, args.own_tools_off, screen);
        return Ok(Exit::Success);
    }
    if super::make(client, &changes, args.yes, screen)? == Answer::Denied {
        return Ok(Exit::Failed);
    }
    tell(client, &proxy, args.own_tools_off, screen);
    Ok(Exit::Success)
}

/// Returns the options of an entry that is there already: who installs it again means to keep them.
fn options_there(
    client: &Client,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Vec<String>, Failure> {
    let proxy = Proxy { program: String::new(), arguments: Vec::new(), home: None };
    for config in client.files {
        let target = Target::find(config, environment)?;
        let text = target.text.as_deref().unwrap_or_default();
        let words = own_words(text, config.format, &(config.wants)(&proxy)).unwrap_or_default();
        let options = words.get(2..).unwrap_or_default();
        if is_proxy(&words) && !options.is_empty() {
            screen.notice(&format!(
                "The entry keeps its options `{}`; give others after `--`, or run \
                 `ironcurtain clients remove {}` first.",
                visible(&options.join(" ")),
                client.name
            ));
            return Ok(options.to_vec());
        }
    }
    Ok(Vec::new())
}

/// Returns what turns the client's own tools off, if that `is_wanted`.
fn off(client: &Client, is_wanted: bool) -> Result<Vec<Want>, Failure> {
    match (is_wanted, client.own_tools.off) {
        (false, _) => Ok(Vec::new()),
        (true, Some(off)) => Ok(off()),
        (true, None) => {
            let block = client.own_tools.block.unwrap_or_default();
            Err(Failure::usage(format!(
                "{} has no setting in its file that turns its own tools off",
                client.title
            ))
            .with_details(block.lines().map(str::to_owned).collect())
            .with_hint(client.own_tools.how))
        }
    }
}

/// Refuses to overwrite an entry of the user's, and names the servers that the client starts by itself.
fn look_around(
    client: &Client,
    (target, config): (&Target, &ConfigFile),
    wants: &[Want],
    screen: &mut Screen,
) -> Result<(), Failure> {
    let text = target.text.as_deref().unwrap_or_default();
    let (others, foreign) = neighbours(text, config.format, wants, is_proxy);
    if let Some(command) = foreign {
        return Err(Failure::config(format!(
            "{} has an entry `ironcurtain` already that starts something else: `{}`",
            target.shown(),
            visible(&command)
        ))
        .with_hint("nothing was changed; give that entry another name, or take it out"));
    }
    if !others.is_empty() {
        screen.warning(&format!(
            "{} starts these servers itself, so IronCurtain does not judge them: {}. To put them behind \
             IronCurtain, run `ironcurtain servers import`, then take them out of {}.",
            client.title,
            visible(&others.join(", ")),
            target.shown()
        ));
    }
    Ok(())
}

/// Returns whether a command line starts our proxy.
pub(super) fn is_proxy(words: &[String]) -> bool {
    let [program, rest @ ..] = words else { return false };
    let name = std::path::Path::new(program).file_name();
    name.is_some_and(|it| it == "ironcurtain") && rest.first().is_some_and(|it| it == "proxy")
}

/// Prints what would be written to new files.
fn print(
    client: &Client,
    (proxy, off): (&Proxy, &[Want]),
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    for (at, config) in client.files.iter().enumerate() {
        let target = Target::find(config, environment)?;
        screen.notice(&format!("for {}:", target.expected.display()));
        let mut wants = (config.wants)(proxy);
        if at == 0 {
            wants.extend(off.iter().cloned());
        }
        let text = with("", config.format, &wants).map_err(|error| {
            Failure::config(format!("cannot write the configuration of {}", client.title))
                .with_source(error)
        })?;
        for line in text.trim_end().lines() {
            screen.line(&visible_line(line))?;
        }
    }
    tell(client, proxy, !off.is_empty(), screen);
    Ok(Exit::Success)
}

/// Says which settings of the user's stay although we would have set them otherwise.
fn keep_told(before: &str, config: &ConfigFile, wants: &[Want], screen: &mut Screen) {
    for (path, now, value) in super::edit::kept(before, config.format, wants) {
        screen.warning(&format!("`{path}` is {now} already and stays so; {value} is recommended"));
    }
}

/// Says what else people have to do.
fn tell(client: &Client, proxy: &Proxy, are_own_tools_off: bool, screen: &mut Screen) {
    if !proxy.has_place() {
        screen.notice(&format!(
            "IronCurtain's tools begin in an empty directory of the session. To let them work in one of yours: \
             `ironcurtain clients install {} -- --workspace DIRECTORY`.",
            client.name
        ));
    }
    if !are_own_tools_off {
        told_about_own_tools(client, screen);
    }
    screen.notice(
        "To answer approval requests, keep `ironcurtain listen` open in another \
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
    if let Some(policy) = &parsed.proxy.policy {
        Origin::named(policy, environment)?;
    }
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
