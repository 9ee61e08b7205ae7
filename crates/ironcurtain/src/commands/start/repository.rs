//! `start --repo URL`: what the person types, and what they are told while it is cloned.
//!
//! How it is cloned, and whether it may be, is decided where calls are judged.

use std::future::Future;
use std::pin::Pin;

use ic_resolve::remote::{self, Remote};
use ic_session::{AgentSession, Attended as _, News, NotCloned, Questions, Workbench};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{Onlooker, Paint};

/// What a URL looks like.
const HINT: &str = "name it as `https://host/owner/repo`, `ssh://git@host/owner/repo` or \
                    `git@host:owner/repo`; a directory of your own is worked in with `--workspace`";

/// What became of the repository.
pub(super) enum Came {
    /// It is in the sandbox.
    Cloned,
    /// The person does not want it any more.
    Cancelled,
}

/// Checks what was typed, before anything is made for it.
pub(super) fn check(url: &str) -> Result<(), Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("`{url}` is not a repository that can be cloned: {why}"))
            .with_hint(HINT)
    };
    match remote::parse(url) {
        Ok(Remote::Network(_)) => match ic_servers::git::find_git() {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::environment(format!(
                "cannot clone `{url}`: git is not installed, or is not usable"
            ))
            .with_source(error)
            .with_hint("install git 2.38 or newer in `/usr/bin` or `/usr/local/bin`")),
        },
        Ok(Remote::Local(_)) => Err(wrong("it is a place on this machine")),
        Ok(Remote::Name(_)) => Err(wrong("it names no host")),
        Err(fault) => Err(wrong(&fault.to_string())),
    }
}

/// A session in which nothing was said yet.
pub(super) trait Cloning {
    /// What happens in it, and what waits for a person.
    fn scene(&self) -> (&News, &Questions);
    /// Clones into its sandbox.
    fn cloning<'a>(&'a self, url: &'a str, cancel: &'a CancellationToken) -> Coming<'a>;
}

/// What git says of a repository that is cloned.
type Coming<'a> = Pin<Box<dyn Future<Output = Result<String, NotCloned>> + 'a>>;

impl Cloning for Workbench {
    fn scene(&self) -> (&News, &Questions) {
        (&self.news, &self.questions)
    }

    fn cloning<'a>(&'a self, url: &'a str, cancel: &'a CancellationToken) -> Coming<'a> {
        Box::pin(self.clone_typed(url, cancel))
    }
}

impl Cloning for AgentSession {
    fn scene(&self) -> (&News, &Questions) {
        (self.news(), self.questions())
    }

    fn cloning<'a>(&'a self, url: &'a str, cancel: &'a CancellationToken) -> Coming<'a> {
        Box::pin(self.clone_typed(url, cancel))
    }
}

/// Clones it into the sandbox of a session in which nothing was said yet.
pub(super) async fn bring(
    url: &str,
    session: &dyn Cloning,
    paint: Paint,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<Came, Failure> {
    screen.notice(&format!("cloning {url} into the sandbox, as `--repo` asks"));
    let cancel = CancellationToken::new();
    let cloned = {
        let cloning = session.cloning(url, &cancel);
        // The person who typed the URL has answered; nothing is asked.
        let mut onlooker = Onlooker::nobody(session.scene(), paint, screen);
        onlooker.watch(cloning, signals, &cancel).await
    };
    let failed = |why: String| Failure::environment(format!("cannot clone `{url}`: {why}"));
    match cloned {
        Ok(told) => {
            for line in told.lines() {
                screen.notice(line);
            }
            Ok(Came::Cloned)
        }
        Err(NotCloned::Cancelled) => Ok(Came::Cancelled),
        Err(error @ NotCloned::NoServer) => Err(failed(error.to_string())
            .with_hint("add `\"git\": {\"builtin\": \"git\"}` to `mcp-servers.json`")),
        Err(NotCloned::Denied { rule, reason }) => {
            Err(failed(format!("the policy denies it ({rule}): {reason}")).with_hint(
                "`--repo` answers what the policy would ask you, and cannot overrule a denial; \
                 `--policy` names another policy",
            ))
        }
        Err(error @ NotCloned::Failed(_)) => Err(failed(error.to_string())),
    }
}
