//! `ironcurtain cleanup`: sessions that nobody used for a while go, with their sandboxes, and containers of sessions
//! that died.

use std::time::Duration;

use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_store::{Doing, Sessions};
use ic_types::Timestamp;

use crate::commands::Exit;
use crate::commands::config::home;
use crate::commands::sessions::told;
use crate::commands::start::runtime;
use crate::containers::Found;
use crate::error::Failure;
use crate::person::{self, Answer, Person, Scripts};
use crate::screen::Screen;

/// Remove the directories of sessions that were not used for a while
///
/// Containers of sessions that died are removed, too. Asks first at a terminal. Never one that is running. Audit logs are kept, in `audit/` of the IronCurtain home; workspaces of
/// your own are not touched.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanupArgs {
    /// How long they were not used: `7d`, `12h`, `30m` or `90s`
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Duration,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &CleanupArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let age_ms = u64::try_from(args.older_than.as_millis()).unwrap_or(u64::MAX);
    let before = SystemClock.now().unix_ms().saturating_sub(age_ms);
    let doing = if args.dry_run { Doing::OnPaper } else { Doing::ForGood };
    let sessions = Sessions::of(&home);
    // A script that cleans up every night has nobody to ask.
    if doing == Doing::ForGood && !args.yes && person::is_at_terminal() {
        let found = sessions.clean_up(Timestamp::from_unix_ms(before), Doing::OnPaper)?;
        told(&found, ("removed", "would remove"), Doing::OnPaper, screen)?;
        if found.removed.is_empty() {
            return Ok(Exit::Success);
        }
        screen.out().flush().map_err(Failure::output)?;
        let mut person =
            Person::find("whether sessions are to be removed", false, Scripts::MayNotAnswer)?;
        let question = match found.removed.len() {
            1 => "Remove this session with its sandbox?".to_owned(),
            n => format!("Remove these {n} sessions with their sandboxes?"),
        };
        if person.ask(&question)? == Answer::Denied {
            screen.line("Nothing was removed.")?;
            return Ok(Exit::Failed);
        }
    }
    let removed = sessions.clean_up(Timestamp::from_unix_ms(before), doing)?;
    told(&removed, ("removed", "would remove"), doing, screen)?;
    // So that the list is right for whoever reads the file.
    sessions.all()?;
    if doing == Doing::ForGood {
        remove_containers(&home, environment, screen);
    }
    Ok(if removed.failed.is_empty() { Exit::Success } else { Exit::Failed })
}

/// Removes the containers of sessions that died, where there is an engine.
fn remove_containers(home: &Home, environment: &Environment, screen: &mut Screen) {
    let swept = runtime().and_then(|runtime| {
        runtime.block_on(async { Found::any(environment).await?.sweep(home).await })
    });
    // Most people have no engine, and nothing of theirs is in one then.
    let Ok(swept) = swept else { return };
    for session in swept.removed {
        screen.notice(&format!("removed the container of the session {session}, which had died"));
    }
    for (session, why) in swept.failed {
        screen.warning(&format!("the container of the session {session} is left: {why}"));
    }
}

/// Reads an age: a whole number and a unit.
pub(in crate::commands) fn age(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{}` is not an age; write `7d`, `12h`, `30m` or `90s`", text.escape_debug());
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let number = text.strip_suffix(unit).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    let number: u64 = number.and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        for (text, seconds) in [("7d", 604_800), ("12h", 43_200), ("30m", 1_800), ("0s", 0)] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)));
        }
        for bad in ["", "d", "7", "-7d", "+7d", "7w", "7 d", "1.5h", "99999999999999999999d", "7日"]
        {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
