//! `ironcurtain policy allow|ask|never`: one sentence more in the user's policy.
//!
//! Works out what is meant and refuses what would open too much; the change itself is made in
//! `own_policy`, after it was shown and confirmed.

mod checks;

use std::path::PathBuf;

use ic_constitution::Tool;
use ic_home::{Environment, Home};
use ic_opening::policy::{Loaded, NoSandbox, Wanted};
use ic_policy::Effect;
use ic_policy::additions::{Addition, InvalidAddition, Place};
use ic_types::{Role, ServerName, ToolName};

use checks::{check, check_server, left_out, names_path, no_place, place};

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge;
use crate::own_policy::content::Content;
use crate::own_policy::difference::{Difference, unusable_lines};
use crate::own_policy::english;
use crate::own_policy::preview::Preview;
use crate::own_policy::words::{self, Verb};
use crate::own_policy::{Agreed, Change, Target};
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};

/// How the command is used.
const EXAMPLES: &str = "\
Examples (`allow`, `ask` and `never` take the same words):
  ironcurtain policy allow filesystem --to read --in ~/notes
  ironcurtain policy allow fetch --host docs.rs
  ironcurtain policy never --in ~/private              (with any server)";

/// What to add to the policy
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AddingArgs {
    /// Server, or server and tool: `filesystem`, `filesystem.read_file`
    ///
    /// `ask` and `never` without one are about every server, those that are added later included.
    #[arg(value_name = "SERVER[.TOOL]")]
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
    let mut before = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let additions = additions(effect, args, &before, environment)?;
    let target = Target::find(args.policy.clone(), &before, &home, environment)?;
    if target.copy_of.is_none() && args.policy.is_none() {
        // It may have come into force just now.
        before = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    }
    let (known, tools) = (target.content()?, english::tools(&before));
    let change = wanted_change(additions, (&known, &tools), &target, (args, &before), screen)?;
    let after = change.on(&known, "policy", &tools)?;
    if after == known {
        screen.line(&format!("The policy `{}` says so already.", target.name()))?;
        return Ok(Exit::Success);
    }
    let settings = target.settings_with(&after, &tools, environment)?;
    let difference = Difference::shown_of(&target.settings(environment)?, &settings);
    let mut loaded = target.load_with(&after, &tools, environment, screen)?;
    let preview = Preview::of(&mut before, &mut loaded, &change, &home)?;
    let mut lines = shown(&change, &known.new_sentences(&change, &tools), &target, &preview);
    lines.extend(if args.dry_run { difference.all_lines() } else { difference.lines() });
    lines.extend(unusable_lines(&before, &loaded, &difference));
    if !args.remove {
        lines.extend(left_out(change.entries(), &loaded));
    }
    let is_allow = effect == Effect::Allow && !args.remove;
    if is_allow && !preview.has_effect() {
        return no_effect(&change, &preview, &lines, (&before, &target), screen);
    }
    if args.dry_run {
        screen.lines(&lines)?;
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Success);
    }
    let agreed = if change.may_widen() && !only_restricts(&change, &preview, &difference) {
        let what = "whether to change the policy";
        let mut person = Person::find(what, args.yes, Scripts::of(&home, environment)?)?;
        person.show(&lines, screen)?;
        let lifts_denial = preview.lifts_denial() || difference.opens_denied();
        if !confirmed(&mut person, lifts_denial)? {
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
    let option = target.option();
    let named = option.as_deref().unwrap_or_default();
    screen.line(&format!("`ironcurtain policy show{named}` shows it."))?;
    if !args.remove {
        screen.line(&words::to_take_back(change.entries(), option.as_deref()))?;
    }
    Ok(Exit::Success)
}

/// Returns the change that is asked for, if it makes sense.
fn wanted_change(
    additions: Vec<Addition>,
    (known, tools): (&Content, &[Tool]),
    target: &Target,
    (args, before): (&AddingArgs, &Loaded),
    screen: &mut Screen,
) -> Result<Change, Failure> {
    if args.remove {
        if let Some(unknown) = additions.iter().find(|it| !known.says(it, tools)) {
            return Err(not_there(unknown, known, target));
        }
        return Ok(Change::Remove(additions));
    }
    for addition in &additions {
        check(addition, before, screen)?;
    }
    Ok(Change::Add(additions))
}

/// Returns whether a change can only turn what is free into a question, or deny it.
///
/// An *ask* may soften a *never*, so this is computed over all calls and not read from the words.
fn only_restricts(change: &Change, preview: &Preview, difference: &Difference) -> bool {
    let Change::Add(additions) = change else { return false };
    additions.iter().all(|it| it.effect() != Effect::Allow)
        && !preview.lifts_denial()
        && !difference.may_widen()
}

fn verb_of(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "policy allow",
        Effect::Escalate => "policy ask",
        Effect::Deny => "policy never",
    }
}

/// Asks the person, twice if something is opened, or asked about, that the policy denies.
fn confirmed(person: &mut Person, lifts_denial: bool) -> Result<bool, Failure> {
    if person.ask("Change the policy like this?")? == Answer::Denied {
        return Ok(false);
    }
    if !lifts_denial {
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

fn shown(change: &Change, sentences: &[String], target: &Target, preview: &Preview) -> Vec<String> {
    let word = match change {
        Change::Add(_) => "add",
        Change::Remove(_) => "remove",
    };
    let mut lines: Vec<String> =
        change.entries().iter().map(|it| format!("{word}: {}", visible(&it.to_string()))).collect();
    lines.extend(sentences.iter().map(|it| format!("sentence: {}", visible(it))));
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

/// Says why an `allow` would change nothing.
fn no_effect(
    change: &Change,
    preview: &Preview,
    lines: &[String],
    (before, target): (&Loaded, &Target),
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    if preview.is_allowed_already() {
        let rule = preview.allowed_by().unwrap_or("a rule");
        screen.line(&format!(
            "Already allowed by `{}`; the policy `{}` stays as it is.",
            visible(rule),
            target.name()
        ))?;
        return Ok(Exit::Success);
    }
    if let Some(failure) = change.entries().iter().find_map(|it| no_place(it, before)) {
        return Err(failure);
    }
    screen.lines(lines)?;
    let kept = preview.kept_by().unwrap_or("another rule").to_owned();
    let server = change.entries().iter().find_map(Addition::server);
    let server = server.map_or("", |it| it.as_str());
    Err(Failure::config(format!("this would change nothing: `{kept}` decides already"))
        .with_hint(no_effect_hint(&kept, server)))
}

fn no_effect_hint(rule: &str, server: &str) -> String {
    if rule.starts_with("structural-draft") {
        return format!(
            "its tools are not reviewed yet: run `ironcurtain servers review {server}`"
        );
    }
    if rule.starts_with("structural-") {
        return "no policy changes that".to_owned();
    }
    "it is as specific, or forbids this everywhere: change the sentence with `ironcurtain policy edit`, or \
     take it back with `--remove`"
        .to_owned()
}

fn not_there(unknown: &Addition, known: &Content, target: &Target) -> Failure {
    let failure =
        Failure::config(format!("`{unknown}` was not added to the policy `{}`", target.name()));
    let known = match known {
        Content::Additions(known) => known,
        Content::Constitution(_) => {
            return failure
                .with_details(known.sentences().iter().map(|it| visible(it)).collect())
                .with_hint(
                    "its sentences are those above; `ironcurtain policy edit` changes them",
                );
        }
    };
    if known.is_empty() {
        return failure.with_hint("nothing was added to it, so there is nothing to remove");
    }
    let command = |it: &Addition| match words::command(it) {
        Some(command) => format!("{command} --remove"),
        None => format!("{it} (in additions.json)"),
    };
    failure
        .with_details(known.iter().map(|it| visible(&command(it))).collect())
        .with_hint("the commands above remove what was added")
}

/// Works out what is to be added or taken back.
fn additions(
    effect: Effect,
    args: &AddingArgs,
    before: &Loaded,
    environment: &Environment,
) -> Result<Vec<Addition>, Failure> {
    let of_each = |place: Option<&Place>| -> Result<Vec<Addition>, Failure> {
        let one = |text: Option<&str>| addition(effect, text, place.cloned(), args);
        match args.what.is_empty() {
            true => Ok(vec![one(None)?]),
            false => args.what.iter().map(|text| one(Some(text))).collect(),
        }
    };
    // A mistyped server is named before a place that is not there.
    if effect == Effect::Allow && !args.remove {
        let servers = args.what.iter().map(|text| text.split('.').next().unwrap_or_default());
        for server in servers.filter_map(|it| it.parse::<ServerName>().ok()) {
            check_server(&server, before)?;
        }
    }
    of_each(place(effect, args, before, environment)?.as_ref())
}

/// Reads `SERVER[.TOOL]`.
fn addition(
    effect: Effect,
    text: Option<&str>,
    place: Option<Place>,
    args: &AddingArgs,
) -> Result<Addition, Failure> {
    let (server, tool) = match text.and_then(|text| text.split_once('.')) {
        Some((server, tool)) => (Some(server), Some(tool)),
        None => (text, None),
    };
    let invalid = |error: ic_types::InvalidName| {
        Failure::usage(error.to_string()).with_hint(
            "name a server first: `ironcurtain policy allow filesystem --to read --in ~/notes`",
        )
    };
    let server = server.map(str::parse::<ServerName>).transpose().map_err(invalid)?;
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
    Addition::new(effect, (server, tool), roles, place).map_err(|error| match error {
        InvalidAddition::NoServer => {
            Failure::usage("`policy allow` needs a server: an agent could use another one instead")
                .with_hint(
                    "for example `ironcurtain policy allow filesystem --to read --in ~/notes`",
                )
        }
        InvalidAddition::Everything => Failure::usage("this names nothing to apply to").with_hint(
            "name a server, a place (`--in DIR`, `--host H`) or what is done (`--to WHAT`)",
        ),
        InvalidAddition::NoRole
        | InvalidAddition::ToolWithoutServer
        | InvalidAddition::RoleOfOtherKind(..)
        | InvalidAddition::Repository => Failure::usage(error.to_string()),
    })
}
