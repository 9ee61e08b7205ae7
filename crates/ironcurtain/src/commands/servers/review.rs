//! `ironcurtain servers review`: a person confirms what was guessed about the tools of a server.
//!
//! What was seen of the tools when the server was trusted is shown; no server is started.

use ic_broker::method::CallMethod;
use ic_broker::pins::{Pin, PinsFile};
use ic_home::{Environment, file};
use ic_types::{Json, Role, ServerName};

use super::drafts::{self, Drafts};
use super::{find, load};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};

/// How much of what a server says of a tool is shown.
const DESCRIPTION_CHARS_MAX: usize = 600;

/// Confirm what was guessed about the tools of a server
///
/// Shows for each tool what its server says of it and what its arguments are taken for, and asks. What
/// is confirmed is judged by the policy alone from then on; what is not stays a draft, and every call of
/// it needs a person. Exits with 0 if nothing is left to confirm, and with 1 if something is.
#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// Server to look at
    name: String,
    /// Give an argument other roles before it is shown, for example `read_file.path=read-path`
    #[arg(long = "set", value_name = "TOOL.ARG=ROLE[,ROLE…]")]
    set: Vec<String>,
    /// Confirm everything without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ReviewArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let servers = load(None, environment)?;
    let (name, _) = find(&args.name, &servers)?;
    let pins = PinsFile::of(&home).read()?;
    let Some(pin) = pins.get(name) else {
        return Err(Failure::config(format!("nothing is known of the tools of `{name}` yet"))
            .with_hint(format!("`ironcurtain servers trust {name}` looks at them")));
    };
    home.prepare()?;
    let mut annotations = Drafts::read(name, &home)?;
    annotations.draft(name, pin.tools.iter().map(|(name, listed)| (name.as_str(), listed)));
    for text in &args.set {
        set(text, &mut annotations)?;
    }
    let drafts: Vec<String> = annotations
        .tools()
        .iter()
        .filter(|tool| {
            let name = drafts::name_of(tool);
            let is_known = pin.tools.contains_key(name) || CallMethod::of(name).is_some();
            drafts::is_draft(tool) && is_known
        })
        .map(|tool| drafts::name_of(tool).to_owned())
        .collect();
    if drafts.is_empty() {
        screen.line(&format!("{name}: nothing is left to confirm"))?;
        return Ok(Exit::Success);
    }
    let what = format!("what the tools of `{name}` mean");
    let mut person = Person::find(&what, args.yes, Scripts::of(&home, environment)?)?;
    let mut n_left = 0;
    for tool in &drafts {
        person.show(&shown(name, tool, pin, &annotations), screen)?;
        match person.ask("Is this what the arguments mean?")? {
            Answer::Approved => annotations.confirm(tool),
            Answer::Denied => n_left += 1,
        }
    }
    file::create_dir(home.installed_servers())?;
    file::create_dir(home.installed_servers().join(name.as_str()))?;
    annotations.write()?;
    screen.line(&format!(
        "{name}: {} confirmed; {n_left} still drafts, of which every call needs a person",
        drafts.len() - n_left
    ))?;
    Ok(if n_left == 0 { Exit::Success } else { Exit::Failed })
}

/// Reads `TOOL.ARG=ROLE,ROLE` and does it.
fn set(text: &str, annotations: &mut Drafts) -> Result<(), Failure> {
    let usage = |why: String| {
        Failure::usage(format!("`--set {}`: {why}", visible(text)))
            .with_hint("write it as TOOL.ARG=ROLE, for example `read_file.path=read-path`")
    };
    let parts =
        text.split_once('=').and_then(|(place, roles)| Some((place.split_once('.')?, roles)));
    let Some(((tool, argument), roles)) = parts else {
        return Err(usage("it is incomplete".to_owned()));
    };
    let mut named = Vec::new();
    for role in roles.split(',') {
        let role: Role = role.parse().map_err(|error| usage(format!("{error}")))?;
        named.push(Json::from(role.as_str()));
    }
    annotations.set(tool, argument, named).map_err(usage)
}

fn shown(name: &ServerName, tool: &str, pin: &Pin, annotations: &Drafts) -> Vec<String> {
    let listed = pin.tools.get(tool);
    let description = listed.and_then(|it| it.get("description")).and_then(Json::as_str);
    let description: String =
        description.unwrap_or("(nothing)").chars().take(DESCRIPTION_CHARS_MAX).collect();
    let mut lines = vec![
        format!("{name}.{}", visible(tool)),
        format!("  the server says: {}", visible(&description)),
        "  its arguments are taken for".to_owned(),
    ];
    let annotation = annotations.tools().iter().find(|it| drafts::name_of(it) == tool);
    let arguments = annotation.map(drafts::lines).unwrap_or_default();
    match arguments.is_empty() {
        true => lines.push("    (it has none)".to_owned()),
        false => lines.extend(arguments),
    }
    lines
}
