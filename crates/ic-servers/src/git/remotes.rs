//! The tool `git_remote`: lists the remotes of a repository, and changes them by our own hand.
//!
//! No remote is contacted. A URL is one that the policy can judge, or it is not written down.

use ic_resolve::git::config::Setting;
use ic_resolve::remote::{self, Remote};

use super::arguments::Arguments;
use super::config;
use super::fault::Fault;
use super::run::Run;
use crate::filesystem::show;

pub(super) fn remote(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let name = || arguments.needed("name").and_then(checked_name);
    match arguments.text("mode").unwrap_or("list") {
        "list" => Ok(list(&run.repository.settings)),
        "get-url" => {
            let name = name()?;
            let key = if arguments.flag("push") { "pushurl" } else { "url" };
            let urls = urls(&run.repository.settings, name, key);
            match urls.first() {
                Some(_) => Ok(urls.join("\n")),
                None => Err(unknown(name)),
            }
        }
        "add" => {
            let (name, url) = (name()?, checked_url(arguments.needed("url")?)?);
            if is_known(&run.repository.settings, name) {
                return Err(Fault::Not(format!("there is a remote `{name}` already")));
            }
            config::add(run, &format!("remote.{name}.url"), url)?;
            let fetch = format!("+refs/heads/*:refs/remotes/{name}/*");
            config::add(run, &format!("remote.{name}.fetch"), &fetch)?;
            Ok(format!("added `{name}`: {url}"))
        }
        "set-url" => {
            let (name, url) = (name()?, checked_url(arguments.needed("url")?)?);
            known(run, name)?;
            let key = if arguments.flag("push") { "pushurl" } else { "url" };
            config::set(run, &format!("remote.{name}.{key}"), url)?;
            Ok(format!("the {key} of `{name}` is now {url}"))
        }
        "remove" => {
            let name = name()?;
            known(run, name)?;
            config::remove_section(run, &format!("remote.{name}"))?;
            for branch in following(&run.repository.settings, name) {
                config::remove_section(run, &format!("branch.{branch}"))?;
            }
            forget_branches(run, name)?;
            Ok(format!("removed `{name}`"))
        }
        "rename" => {
            let (name, new) = (name()?, checked_name(arguments.needed("newName")?)?);
            known(run, name)?;
            if is_known(&run.repository.settings, new) {
                return Err(Fault::Not(format!("there is a remote `{new}` already")));
            }
            config::rename_section(run, &format!("remote.{name}"), &format!("remote.{new}"))?;
            let fetch = format!("+refs/heads/*:refs/remotes/{new}/*");
            config::set(run, &format!("remote.{new}.fetch"), &fetch)?;
            for branch in following(&run.repository.settings, name) {
                config::set(run, &format!("branch.{branch}.remote"), new)?;
            }
            forget_branches(run, name)?;
            Ok(format!("renamed `{name}` to `{new}`; its branches come back with the next fetch"))
        }
        other => Err(Fault::Not(format!("there is no mode `{other}`"))),
    }
}

fn checked_name(text: &str) -> Result<&str, Fault> {
    let is_part = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    let is_name = text.bytes().all(is_part)
        && text.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric())
        && !text.contains("..")
        && text.strip_suffix(".lock").is_none()
        && !text.ends_with('.')
        && text.len() <= 255;
    match is_name {
        true => Ok(text),
        false => {
            Err(Fault::Revision { text: text.to_owned(), reason: "cannot be the name of a remote" })
        }
    }
}

fn checked_url(text: &str) -> Result<&str, Fault> {
    match remote::parse(text) {
        Ok(Remote::Network(_)) => Ok(text),
        Ok(Remote::Local(_) | Remote::Name(_)) => Err(Fault::Revision {
            text: text.to_owned(),
            reason: "is not a URL of a repository: `https://`, `ssh://` or `user@host:path`",
        }),
        Err(fault) => Err(Fault::Not(format!("`{}` cannot be used: {fault}", show::text(text)))),
    }
}

fn list(settings: &[Setting]) -> String {
    let mut lines = Vec::new();
    for setting in settings.iter().filter(|it| it.section == "remote") {
        let Some(name) = &setting.subsection else { continue };
        let kind = match setting.key.as_str() {
            "url" => "fetch",
            "pushurl" => "push",
            _ => continue,
        };
        lines.push(format!("{}\t{} ({kind})", show::text(name), show::text(&setting.value)));
    }
    if lines.is_empty() { "no remotes".to_owned() } else { lines.join("\n") }
}

fn urls<'a>(settings: &'a [Setting], name: &str, key: &str) -> Vec<&'a str> {
    let is = |it: &&Setting| {
        it.section == "remote" && it.subsection.as_deref() == Some(name) && it.key == key
    };
    settings.iter().filter(is).map(|it| it.value.as_str()).collect()
}

fn is_known(settings: &[Setting], name: &str) -> bool {
    settings.iter().any(|it| it.section == "remote" && it.subsection.as_deref() == Some(name))
}

fn known(run: &Run<'_>, name: &str) -> Result<(), Fault> {
    match is_known(&run.repository.settings, name) {
        true => Ok(()),
        false => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Fault {
    Fault::Revision { text: name.to_owned(), reason: "is not a remote of this repository" }
}

/// Returns the branches that follow one of the remote.
fn following<'a>(settings: &'a [Setting], name: &str) -> Vec<&'a str> {
    let is = |it: &&Setting| it.section == "branch" && it.key == "remote" && it.value == name;
    settings.iter().filter(is).filter_map(|it| it.subsection.as_deref()).collect()
}

/// Removes what is known of the branches of a remote.
fn forget_branches(run: &Run<'_>, name: &str) -> Result<(), Fault> {
    let place = format!("refs/remotes/{name}/");
    let known = run.git(&["for-each-ref", "--format=delete %(refname)", &place])?;
    match known.output.is_empty() {
        true => Ok(()),
        false => run
            .git_with(&["update-ref", "--no-deref", "--stdin"], known.output.as_bytes())
            .map(drop),
    }
}
