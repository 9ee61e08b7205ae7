//! Goes on with a session: which one, where it worked, and what the person is told about it.
//!
//! What the model is told is what it was told before; nothing of this reaches it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_home::{Environment, Home, SystemClock};
use ic_opening::Opened;
use ic_session::SessionKind;
use ic_store::{Conversation, Doing, Found, Metadata, Saving, Sessions, StoreError, summary};

use crate::error::{Failure, chain};
use crate::screen::Screen;

/// Which session is to go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// The one in which something was said last.
    Last,
    /// The one that this means.
    Named(&'a str),
}

impl Wanted<'_> {
    /// Finds it, if there is something in it to go on with.
    pub(super) fn find(self, environment: &Environment) -> Result<Metadata, Failure> {
        let home = Home::new(environment.ironcurtain_home()?);
        let sessions = Sessions::of(&home);
        let found = match self {
            Self::Last => sessions.last()?,
            Self::Named(name) => sessions.find(name)?,
        };
        if !SessionKind::of(&found.kind).is_some_and(SessionKind::is_conversation) {
            let (name, kind) = (&found.name, &found.kind);
            return Err(Failure::config(format!(
                "the session `{name}` is not a conversation with an agent (it is of the kind `{kind}`)"
            ))
            .with_hint("`ironcurtain sessions list` shows what can be resumed"));
        }
        if found.purged {
            return Err(StoreError::Purged(found.name).into());
        }
        Ok(found)
    }
}

/// Returns whether the session that goes on works in its own sandbox, which `--repo` filled.
pub(super) fn is_filled(
    resumed: Option<&Metadata>,
    environment: &Environment,
) -> Result<bool, Failure> {
    let Some(resumed) = resumed else { return Ok(false) };
    let home = Home::new(environment.ironcurtain_home()?);
    let own = home.session(&resumed.id).join("sandbox");
    Ok(resumed.workspace.as_deref().is_some_and(|kept| Path::new(kept) == own))
}

/// Returns the directory to work in: a session that goes on stays where it is.
pub(super) fn workspace(
    given: Option<&Path>,
    resumed: Option<&Metadata>,
    environment: &Environment,
) -> Result<Option<PathBuf>, Failure> {
    let Some(resumed) = resumed else { return Ok(given.map(Path::to_owned)) };
    let given = given.map(|given| environment.absolute(given)).transpose()?;
    match (given, &resumed.workspace) {
        (None, kept) => Ok(kept.as_ref().map(PathBuf::from)),
        (Some(given), Some(kept)) if given.as_path() == Path::new(kept) => {
            Ok(Some(PathBuf::from(kept)))
        }
        (Some(_), kept) => {
            let place = kept.as_deref().unwrap_or("a directory of its own");
            let name = &resumed.name;
            Err(Failure::usage(format!("the session `{name}` works in `{place}`"))
                .with_hint("leave `--workspace` out, or start a new session there"))
        }
    }
}

/// Finds what was said before, and tells the person about it.
pub(super) fn find(
    opened: &Opened,
    is_resumed: bool,
    screen: &mut Screen,
) -> Result<Found, Failure> {
    let saving = match opened.config.session.auto_save {
        true => Saving::Always,
        false => Saving::OnDemand,
    };
    let id = &opened.ground.directory.id;
    let found = Conversation::find(&opened.home, id, saving, Arc::new(SystemClock))?;
    if !is_resumed {
        return Ok(found);
    }
    let lines = summary::lines(&found.stored);
    for line in &lines {
        screen.notice(line);
    }
    Ok(found.summarised(&lines.join("\n")))
}

/// Purges the conversations that were active least recently, if there are more than there may be.
pub(super) fn make_room(home: &Home, sessions_max: u64, screen: &mut Screen) {
    let keep = usize::try_from(sessions_max).unwrap_or(usize::MAX);
    match Sessions::of(home).purge(keep, Doing::ForGood) {
        Ok(purged) => {
            for session in &purged.removed {
                screen.notice(&format!(
                    "the conversation of the session `{}` was purged, to keep no more than {keep}",
                    session.name
                ));
            }
            for (session, error) in &purged.failed {
                let reason = chain(error);
                screen.warning(&format!("cannot purge the session `{}`: {reason}", session.name));
            }
        }
        Err(error) => screen.warning(&format!("cannot look for old sessions: {}", chain(&error))),
    }
}
