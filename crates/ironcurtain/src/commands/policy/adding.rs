//! `ironcurtain policy allow|ask|never`: one sentence more in the user's policy.
//!
//! Works out what is meant and refuses what would open too much; the change itself is made in
//! [`own_policy`], after it was shown and confirmed.

use std::path::{Path, PathBuf};

use ic_home::{Environment, Home};
use ic_policy::additions::{self, Addition, Place};
use ic_policy::{ArgumentAnnotation, DomainPattern, Effect};
use ic_resolve::path::{self, Last};
use ic_resolve::{Kind, RealDisk};
use ic_types::{Role, ServerName, ToolName};

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge::{Loaded, NoSandbox, Wanted};
use crate::own_policy::preview::Preview;
use crate::own_policy::words::{self, Verb};
use crate::own_policy::{self, Agreed, Change, Target};
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};

/// How the command is used.
const EXAMPLES: &str = "\
Examples (`allow`, `ask` and `never` take the same words):
  ironcurtain policy allow filesystem --to read --in ~/notes
  ironcurtain policy allow fetch --host docs.rs
  ironcurtain policy never filesystem --in ~/private";

/// What to add to the policy
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AddingArgs {
    /// Server, or server and tool: `filesystem`, `filesystem.read_file`
    #[arg(required = true, value_name = "SERVER[.TOOL]")]
    what: Vec<String>,
    /// Only in this directory, at any depth
    #[arg(long = "in", value_name = "DIR", conflicts_with = "host")]
    directory: Option<PathBuf>,
    /// Only at this host: `docs.rs`, `*.example.com`, `host:8080`, `https://host`
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// Only for this (can be repeated, or separated by commas)
    #[arg(long = "to", value_name = "WHAT", value_delimiter = ',')]
    verbs: Vec<Verb>,
    /// Policy to change, by name or directory; without it the one in force
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Take back what was added with the same words
    #[arg(long)]
    remove: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// Runs the command with this effect.
pub(crate) fn run(
    effect: Effect,
    args: &AddingArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let wanted =
        Wanted { policy: args.policy.clone(), sandbox: None, protected: Vec::new(), servers: None };
    let mut before = Loaded::load(&wanted, NoSandbox::None, environment, screen)?;
    let place = place(effect, args, &before, environment)?;
    let additions = args
        .what
        .iter()
        .map(|text| addition(effect, text, place.clone(), args))
        .collect::<Result<Vec<_>, _>>()?;
    let target = Target::find(args.policy.clone(), &before, &home)?;
    let known = if target.copy_of.is_some() { Vec::new() } else { target.additions()? };
    let change = wanted_change(additions, &known, &target, (args, &before), screen)?;
    let after = change.on(&known, "policy")?;
    if after == known {
        screen.line(&format!("The policy `{}` says so already.", target.name()))?;
        return Ok(Exit::Success);
    }
    let mut loaded = target.load_with(&after, environment, screen)?;
    let preview = Preview::of(&mut before, &mut loaded, &change, &home)?;
    let lines = shown(&change, &target, &preview);
    let is_allow = effect == Effect::Allow && !args.remove;
    if is_allow && !preview.has_effect() {
        screen.lines(&lines)?;
        let kept = preview.kept_by().unwrap_or("another rule").to_owned();
        return Err(Failure::config(format!(
            "this would change nothing: `{kept}` decides already"
        ))
        .with_hint(no_effect_hint(&kept)));
    }
    if args.dry_run {
        screen.lines(&lines)?;
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Success);
    }
    let agreed = if change.may_widen() {
        let what = "whether to change the policy";
        let mut person = Person::find(what, args.yes, Scripts::of(&home, environment)?)?;
        person.show(&lines, screen)?;
        if !confirmed(&mut person, &preview)? {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
        person.how_agreed()
    } else {
        screen.lines(&lines)?;
        "not needed: it only restricts"
    };
    target.apply(&change, Agreed { by: verb_of(effect), how: agreed }, environment, screen)?;
    screen.line(&format!("The policy `{}` is changed, for new sessions.", target.name()))?;
    screen.line("`ironcurtain policy show` shows it.")?;
    if !args.remove {
        screen.line(&words::to_take_back(change.entries()))?;
    }
    Ok(Exit::Success)
}

/// Returns the change that is asked for, if it makes sense.
fn wanted_change(
    additions: Vec<Addition>,
    known: &[Addition],
    target: &Target,
    (args, before): (&AddingArgs, &Loaded),
    screen: &mut Screen,
) -> Result<Change, Failure> {
    if args.remove {
        let is_known = |it: &&Addition| known.iter().any(|known| known.says_the_same(it));
        if let Some(unknown) = additions.iter().find(|it| !is_known(it)) {
            return Err(not_there(unknown, known, target));
        }
        return Ok(Change::Remove(additions));
    }
    for addition in &additions {
        check(addition, before, screen)?;
    }
    Ok(Change::Add(additions))
}

fn verb_of(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "policy allow",
        Effect::Escalate => "policy ask",
        Effect::Deny => "policy never",
    }
}

/// Asks the person, twice if something is opened, or asked about, that the policy denies.
fn confirmed(person: &mut Person, preview: &Preview) -> Result<bool, Failure> {
    if person.ask("Change the policy like this?")? == Answer::Denied {
        return Ok(false);
    }
    if !preview.lifts_denial() {
        return Ok(true);
    }
    // SECURITY: an exception to the user's own "never" is for the user to make, not for a script.
    if let Person::Scripted = person {
        return Err(Failure::config(
            "calls that the policy denies now would be allowed or asked about, which a script cannot confirm",
        )
        .with_hint("run it at a terminal without `--yes`, or remove what denies them"));
    }
    Ok(person.ask("Calls that are DENIED now would be allowed or asked about. Are you sure?")?
        == Answer::Approved)
}

fn shown(change: &Change, target: &Target, preview: &Preview) -> Vec<String> {
    let word = match change {
        Change::Add(_) => "add",
        Change::Remove(_) => "remove",
    };
    let mut lines: Vec<String> =
        change.entries().iter().map(|it| format!("{word}: {}", visible(&it.to_string()))).collect();
    lines.extend(change.entries().iter().filter_map(note_of));
    lines.extend(target.describe().iter().map(|line| visible(line)));
    lines.extend(preview.lines());
    lines
}

/// Says what a host pattern means that is easily taken for less.
fn note_of(addition: &Addition) -> Option<String> {
    let Some(Place::Host(pattern)) = addition.place() else { return None };
    let text = pattern.to_string();
    let host = text.split("://").last().unwrap_or_default();
    if host.starts_with("*.") || host.starts_with('*') {
        return Some(format!(
            "note: `{text}` is every host that fits it, also ones that others own"
        ));
    }
    let name = host.split(['/', ':']).next().unwrap_or_default();
    let is_public = name.parse::<ic_types::Host>().is_ok_and(|host| host.is_public_name());
    (!is_public).then(|| {
        format!("note: `{text}` is not a public host; it is this machine or one of its network, and is reached only with its port")
    })
}

fn no_effect_hint(rule: &str) -> String {
    if rule.starts_with("structural-draft") {
        return "its tools are not reviewed yet: run `ironcurtain servers review`".to_owned();
    }
    if rule.starts_with("structural-") {
        return "no policy changes that".to_owned();
    }
    "it is as specific, or forbids this everywhere: edit the rule in compiled-policy.json, or remove \
     the addition with `--remove`"
        .to_owned()
}

fn not_there(unknown: &Addition, known: &[Addition], target: &Target) -> Failure {
    let known = known.iter().map(|it| visible(&it.to_string())).collect();
    Failure::config(format!("`{unknown}` was not added to the policy `{}`", target.name()))
        .with_details(known)
        .with_hint("the lines above are what was added; use the same words with `--remove`")
}

/// Reads `SERVER[.TOOL]`.
fn addition(
    effect: Effect,
    text: &str,
    place: Option<Place>,
    args: &AddingArgs,
) -> Result<Addition, Failure> {
    let (server, tool) = match text.split_once('.') {
        Some((server, tool)) => (server, Some(tool)),
        None => (text, None),
    };
    let invalid = |error: ic_types::InvalidName| {
        Failure::usage(error.to_string()).with_hint(
            "name a server first: `ironcurtain policy allow filesystem --to read --in ~/notes`",
        )
    };
    let server: ServerName = server.parse().map_err(invalid)?;
    let tool = tool.map(str::parse::<ToolName>).transpose().map_err(invalid)?;
    let mut roles: Vec<Role> = args.verbs.iter().map(|verb| verb.role()).collect();
    roles.dedup();
    let is_repository = match &place {
        Some(Place::Host(pattern)) => names_path(pattern),
        Some(Place::Directory(_)) | None => false,
    };
    let roles = match roles.is_empty() {
        true if is_repository => Some(vec![Role::GitRemoteUrl]),
        true => None,
        false => Some(roles),
    };
    Addition::new(effect, (server, tool), roles, place)
        .map_err(|error| Failure::usage(error.to_string()))
}

/// Works out where the addition is to hold.
fn place(
    effect: Effect,
    args: &AddingArgs,
    loaded: &Loaded,
    environment: &Environment,
) -> Result<Option<Place>, Failure> {
    if let Some(host) = &args.host {
        let pattern = DomainPattern::parse(host).map_err(|error| {
            Failure::usage(error.to_string()).with_hint(
                "write the host alone, such as `docs.rs`, `*.example.com` or `host:8080`",
            )
        })?;
        return Ok(Some(Place::Host(pattern)));
    }
    let Some(directory) = &args.directory else { return Ok(None) };
    let found = directory_at(directory, environment)?;
    let shown = visible(&found.path.to_string());
    if effect == Effect::Allow && !args.remove {
        if found.entry.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Err(Failure::config(format!("there is no directory `{shown}`"))
                .with_hint(format!("make it first: mkdir -p '{shown}'")));
        }
        let protected = &loaded.judge.bounds.protected;
        if protected.iter().any(|it| found.path.is_within(it)) {
            return Err(Failure::config(format!("`{shown}` is protected: no policy opens it")));
        }
        // SECURITY: the same directories that no grant may be or contain.
        if loaded.judge.closed().is_too_much(&found.path) {
            return Err(Failure::config(format!(
                "`{shown}` is too much to be open to an agent: it is or holds a home directory, a system directory or protected files"
            ))
            .with_hint("name a directory beneath it"));
        }
    }
    Ok(Some(Place::Directory(own_policy::spelled(&found.path, environment)?)))
}

fn directory_at(directory: &Path, environment: &Environment) -> Result<path::Found, Failure> {
    let absolute = environment.absolute(directory)?;
    path::follow(&RealDisk, &absolute, Last::Follow).map_err(|fault| {
        Failure::config(format!("cannot find `{}`", directory.display())).with_source(fault)
    })
}

/// Refuses what would have no effect, or not the one that is meant.
fn check(addition: &Addition, loaded: &Loaded, screen: &mut Screen) -> Result<(), Failure> {
    let server = addition.server();
    let policy = &loaded.judge.policy;
    let is_allow = addition.effect() == Effect::Allow;
    let mut say = |message: String, hint: String| {
        if is_allow {
            return Err(Failure::usage(message).with_hint(hint));
        }
        screen.warning(&format!("{message}; {hint}"));
        Ok(())
    };
    if loaded.servers.get(server.as_str()).is_none() {
        let names: Vec<&str> = loaded.servers.iter().map(|(name, _)| name.as_str()).collect();
        return say(
            format!("there is no server `{server}`"),
            format!("the servers are {}", names.join(", ")),
        );
    }
    let of_server: Vec<_> = policy.annotations().filter(|(of, _, _)| *of == server).collect();
    let meant: Vec<_> = of_server
        .iter()
        .filter(|(_, tool, _)| addition.tool().is_none_or(|it| it == *tool))
        .collect();
    if meant.is_empty() {
        let names: Vec<&str> = of_server.iter().map(|(_, tool, _)| tool.as_str()).collect();
        let known = match names.is_empty() {
            true => format!("`ironcurtain servers review {server}` annotates its tools"),
            false => format!("its tools are {}", names.join(", ")),
        };
        let tool = addition.tool().map_or_else(String::new, |tool| format!(" `{tool}`"));
        return say(format!("the server `{server}` has no known tool{tool}"), known);
    }
    let roles: Vec<Role> = meant
        .iter()
        .flat_map(|(_, _, annotation)| annotation.arguments())
        .flat_map(ArgumentAnnotation::possible_roles)
        .collect();
    let is_anywhere = addition.place().is_none();
    let names_places = roles.iter().any(|role| additions::names_a_place(*role));
    let is_about_any = roles.iter().any(|role| addition.is_about(*role));
    if is_allow && is_anywhere && names_places && (addition.tool().is_some() || meant.len() == 1) {
        let message = format!("`{addition}` names no place, and the tool acts on places");
        return say(message, "say where: `--in DIR` or `--host H`".to_owned());
    }
    let every_names = meant.iter().all(|(_, _, annotation)| {
        let mut roles = annotation.arguments().iter().flat_map(ArgumentAnnotation::possible_roles);
        roles.any(additions::names_a_place)
    });
    if is_allow && is_anywhere && every_names {
        let message = format!("every tool of `{server}` acts on places");
        return say(message, "say where: `--in DIR` or `--host H`".to_owned());
    }
    if !is_anywhere && !is_about_any {
        let message = format!("no tool of `{server}` that is meant acts on such a place");
        let hint = match addition.place() {
            Some(Place::Host(pattern)) if names_path(pattern) => {
                "write the host alone, without a path"
            }
            Some(Place::Host(_) | Place::Directory(_)) | None => {
                "`ironcurtain policy show --tools` shows what its arguments are"
            }
        };
        return say(message, hint.to_owned());
    }
    Ok(())
}

/// Returns whether a pattern names more than a host: a repository on it.
fn names_path(pattern: &DomainPattern) -> bool {
    let text = pattern.to_string();
    text.split_once("://").map_or(text.as_str(), |(_, rest)| rest).contains('/')
}
