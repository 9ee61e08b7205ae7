//! `ironcurtain servers remove`: a server with all that was installed and remembered for it.

use ic_constitution::sentence::{Deed, Sentence, With};
use ic_home::Environment;
use ic_inventory::pins::PinsFile;
use ic_inventory::servers_file::BuiltinServer;
use ic_opening::policy::{ADDITIONS, Loaded, NoSandbox, Origin, Wanted};
use ic_policy::artifact::Source;
use ic_types::ServerName;

use super::entries::{Entries, Removed};
use super::install;
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::files;
use crate::own_policy::words;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};

/// Remove a server: its entry, what was installed for it, its drafts and its trusted identity
///
/// Asks first, and in a pipe needs `--yes`. A built-in server is switched off; `servers restore` switches it on again.
/// Records of its calls stay, and so does what it kept in its `${DATA}`. A session that runs keeps the server until it ends.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// Server to remove
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &RemoveArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let name = args.name.parse::<ServerName>();
    let name = name.map_err(|error| Failure::usage(visible(&error.to_string())))?;
    home.prepare()?;
    let entries = Entries::open(&home)?;
    let would = entries.would_remove(&name);
    if would == Removed::Nothing {
        if BuiltinServer::named(name.as_str()).is_some() {
            return Err(Failure::config(format!("`{name}` is off already"))
                .with_hint(format!("`ironcurtain servers restore {name}` switches it on again")));
        }
        return Err(Failure::config(format!("there is no server `{name}`"))
            .with_hint("`ironcurtain servers list` shows all servers"));
    }
    drop(entries);
    if !args.yes && !is_agreed(&name, would, screen)? {
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Failed);
    }
    let mut entries = Entries::open(&home)?;
    let removed = entries.remove(&name);
    entries.write()?;
    drop(entries);
    if removed == Removed::Builtin {
        screen.line(&format!(
            "{name} is off for new sessions; `ironcurtain servers restore {name}` switches it on again"
        ))?;
        return Ok(Exit::Success);
    }
    screen.notice(&format!("removing what was installed for `{name}` …"));
    PinsFile::of(&home).forget(&name)?;
    let kept = install::uninstall(name.as_str(), &home)?;
    screen.line(&match removed {
        Removed::ForBuiltin => {
            format!("{name} is removed; the built-in server `{name}` is used again")
        }
        Removed::Nothing | Removed::Server | Removed::Builtin => format!("{name} is removed"),
    })?;
    if let Some(kept) = kept {
        screen.line(&format!(
            "{name}: what it kept stays in `{}`",
            visible(&kept.display().to_string())
        ))?;
    }
    for said in dangling(&name, environment) {
        screen.notice(&format!("the policy still says something about `{name}`; {said}"));
    }
    Ok(Exit::Success)
}

/// Asks whether the server is to go.
fn is_agreed(name: &ServerName, would: Removed, screen: &mut Screen) -> Result<bool, Failure> {
    let question = match would {
        Removed::Builtin => {
            format!("Switch the built-in server `{name}` off? No agent can use its tools then.")
        }
        Removed::ForBuiltin => {
            format!("Remove `{name}`? The built-in server of this name is used again then.")
        }
        Removed::Nothing | Removed::Server => {
            format!("Remove the server `{name}` with all that was installed for it?")
        }
    };
    let mut person = Person::find("whether to remove the server", false, Scripts::MayNotAnswer)
        .map_err(|failure| failure.with_hint("`--yes` removes without asking"))?;
    screen.out().flush().map_err(Failure::output)?;
    Ok(person.ask(&question)? == Answer::Approved)
}

/// Returns what the policy in force says about a server, and how each of it is taken back.
fn dangling(name: &ServerName, environment: &Environment) -> Vec<String> {
    let wanted = Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };
    let Ok(loaded) = Loaded::load(&wanted, NoSandbox::None, environment) else {
        return Vec::new();
    };
    let Origin::Directory(directory) = &loaded.found else { return Vec::new() };
    let text = loaded.constitution.as_deref().unwrap_or_default();
    let sentences = ic_constitution::parse(text).map(|it| it.sentences).unwrap_or_default();
    let is_about = |it: &&Sentence| {
        let used: &[With] = if let Deed::Use(used) = &it.deed { used } else { &[] };
        it.with.iter().chain(used).any(|with| with.server == *name)
    };
    let said = sentences.iter().filter(is_about).map(|it| {
        let (line, text) = (it.line, visible(&it.text));
        format!("line {line}: {text}; take it out with `ironcurtain policy edit`")
    });
    let said = said.collect::<Vec<_>>();
    let path = directory.as_path().join(ADDITIONS);
    let Ok(Some(bytes)) = files::read_if_present(&path) else { return said };
    let source = Source { file: ADDITIONS, bytes: &bytes };
    let all = ic_policy::additions::read(source).unwrap_or_default();
    let added = all.iter().filter(|it| it.server() == Some(name)).filter_map(words::command);
    said.into_iter().chain(added.map(|it| format!("to take it back: {it} --remove"))).collect()
}
