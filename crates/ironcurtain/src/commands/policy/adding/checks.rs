//! What is refused before a policy is changed, and what is pointed out.

use std::path::Path;

use ic_home::Environment;
use ic_opening::policy::{Loaded, possible_roles};
use ic_policy::additions::{self, Addition, Place};
use ic_policy::{ArgumentAnnotation, DomainPattern, Effect};
use ic_resolve::path::{self, Last};
use ic_resolve::{Kind, RealDisk};
use ic_types::{Category, Role, ServerName, nearest};

use super::AddingArgs;
use crate::error::Failure;
use crate::own_policy::{self, words};
use crate::screen::{Screen, visible};

/// Works out where the addition is to hold.
pub(super) fn place(
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
        if found.entry.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Err(Failure::config(format!("there is no directory `{shown}`"))
                .with_hint(format!("make it first: mkdir -p '{shown}'")));
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

/// Refuses a server that does not exist, before anything is said about places.
pub(super) fn check_server(server: &ServerName, loaded: &Loaded) -> Result<(), Failure> {
    if loaded.servers.get(server.as_str()).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = loaded.servers.iter().map(|(name, _)| name.as_str()).collect();
    let hint = match nearest(server.as_str(), names.iter().copied()) {
        Some(name) => format!("is `{name}` meant? The servers are {}", names.join(", ")),
        None => format!("the servers are {}", names.join(", ")),
    };
    Err(Failure::usage(format!("there is no server `{server}`")).with_hint(hint))
}

/// Refuses what would have no effect, or not the one that is meant.
pub(super) fn check(
    addition: &Addition,
    loaded: &Loaded,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let Some(server) = addition.server() else { return Ok(()) };
    let policy = &loaded.judge.policy;
    let is_allow = addition.effect() == Effect::Allow;
    let mut say = |message: String, hint: String| {
        if is_allow {
            return Err(Failure::usage(message).with_hint(hint));
        }
        screen.warning(&format!("{message}; {hint}"));
        Ok(())
    };
    if let Err(failure) = check_server(server, loaded) {
        return say(failure.to_string(), failure.hint().unwrap_or_default().to_owned());
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
    let is_about_any = roles.iter().any(|role| addition.is_about(*role));
    let names_role = addition.roles().into_iter().flatten().any(|it| additions::names_a_place(*it));
    let is_one = addition.tool().is_some() || meant.len() == 1;
    if let Some(failure) = no_place(addition, loaded)
        && (is_one || names_role)
    {
        return Err(failure);
    }
    if addition.place().is_some() && !is_about_any {
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
pub(super) fn names_path(pattern: &DomainPattern) -> bool {
    let text = pattern.to_string();
    text.split_once("://").map_or(text.as_str(), |(_, rest)| rest).contains('/')
}

/// Says that an `allow` names no place, if what it is about acts on places.
pub(super) fn no_place(addition: &Addition, loaded: &Loaded) -> Option<Failure> {
    if addition.effect() != Effect::Allow || addition.place().is_some() {
        return None;
    }
    let tools = loaded.judge.policy.annotations().filter(|(server, tool, _)| {
        addition.is_about_server(server) && addition.tool().is_none_or(|it| it == *tool)
    });
    let roles: Vec<Role> = tools
        .flat_map(|(_, _, annotation)| possible_roles(annotation))
        .filter(|role| addition.is_about(*role) && additions::names_a_place(*role))
        .collect();
    if roles.is_empty() {
        return None;
    }
    let is_path = |role: &Role| role.category() == Category::Path;
    let hint = match (roles.iter().any(is_path), roles.iter().all(is_path)) {
        (true, true) => "say where: `--in DIR`",
        (true, false) => "say where: `--in DIR` or `--host H`",
        (false, _) => "say where: `--host H`",
    };
    let message = format!("`{addition}` names no place, and its tools act on places");
    Some(Failure::usage(message).with_hint(hint))
}

/// Says which servers a *never* leaves out, though they have tools for the same place.
pub(super) fn left_out(additions: &[Addition], after: &Loaded) -> Option<String> {
    let never = |it: &&Addition| it.effect() == Effect::Deny && it.tool().is_none();
    let addition = additions.iter().find(never)?;
    let (Some(_), Some(Place::Directory(within))) = (addition.server(), addition.place()) else {
        return None;
    };
    let example = format!("{}/example.txt", within.trim_end_matches('/'));
    let may = |server: &&ServerName| {
        let roles = Role::all().filter(|role| addition.is_about(*role));
        let mut effects = roles.filter_map(|role| after.most_lenient(server, role, &example));
        effects.any(|effect| effect != Effect::Deny)
    };
    let others: Vec<&str> =
        after.path_servers().into_iter().filter(may).map(ServerName::as_str).collect();
    if others.is_empty() {
        return None;
    }
    let every = Addition::new(
        Effect::Deny,
        (None, None),
        addition.roles().map(<[Role]>::to_vec),
        addition.place().cloned(),
    );
    let command = every.ok().and_then(|it| words::command(&it))?;
    Some(format!("note: this does not cover {}; for every server: {command}", others.join(", ")))
}
