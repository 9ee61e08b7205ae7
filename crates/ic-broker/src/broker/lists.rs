//! What one server lists besides tools, and for how long anybody waits for it.
//!
//! Each list is asked for in a task of its own, so servers are asked side by side. A server that let
//! somebody wait in vain is asked again and not waited for, until it has answered; then clients hear that
//! the list changed. Whose a URI is, is not decided here.

use std::sync::{Arc, Mutex};

use ic_backend::backend::Backend;
use ic_backend::listing::{BYTES_MAX, ENTRIES_MAX, ListKind, PAGES_MAX, Unlisted};
use ic_types::Object;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Announcement, Witness};
use crate::locked;

/// What a server listed.
pub(super) type Entries = Arc<[Object]>;

/// The lists of one server.
pub(super) struct Lists {
    server: Arc<dyn Backend>,
    house: House,
    resources: Mutex<State>,
    templates: Mutex<State>,
    prompts: Mutex<State>,
}

/// What the lists of all servers share.
#[derive(Clone)]
pub(super) struct House {
    announcements: broadcast::Sender<Announcement>,
    witness: Arc<dyn Witness>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl House {
    pub(super) fn new(
        announcements: &broadcast::Sender<Announcement>,
        witness: &Arc<dyn Witness>,
        (tasks, stop): (&TaskTracker, &CancellationToken),
    ) -> Self {
        let (announcements, witness) = (announcements.clone(), Arc::clone(witness));
        Self { announcements, witness, tasks: tasks.clone(), stop: stop.clone() }
    }
}

/// What is known of one list.
#[derive(Default)]
struct State {
    /// What was listed last, and by which process, unless it has changed since.
    last: Option<(u64, Entries)>,
    /// How often the server said that it changed.
    n_changes: u64,
    /// Whether somebody waited for it in vain, and nobody does any more.
    is_silent: bool,
    /// The answer that was waited for in vain; it may still come.
    overdue: Option<Answer>,
    /// Whether a person knows that some of it is left out.
    is_told: bool,
}

type Answer = watch::Receiver<Option<Listed>>;

/// A list that was asked for.
#[derive(Clone)]
pub(super) struct Asked {
    answer: Answer,
    is_waited_for: bool,
}

/// What came of asking.
#[derive(Clone)]
enum Listed {
    /// The server answered.
    Entries(Entries),
    /// The server has no say, or is not there.
    Nothing,
    /// The server did not answer in time.
    TooLate,
}

impl Lists {
    pub(super) fn new(server: Arc<dyn Backend>, house: House) -> Arc<Self> {
        let (resources, templates, prompts) = Default::default();
        Arc::new(Self { server, house, resources, templates, prompts })
    }

    fn state(&self, kind: ListKind) -> &Mutex<State> {
        match kind {
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
            ListKind::Prompts => &self.prompts,
        }
    }

    /// Asks the server for a list, which is then to be [waited for](Self::wait).
    pub(super) fn ask(self: &Arc<Self>, kind: ListKind) -> Asked {
        let mut state = locked(self.state(kind));
        // Clients hear of it when others take their place, and each read may need them.
        if kind == ListKind::Templates
            && let Some(entries) = state.last(&*self.server)
        {
            let (_, answer) = watch::channel(Some(Listed::Entries(entries)));
            return Asked { answer, is_waited_for: true };
        }
        if let (true, Some(overdue)) = (state.is_silent, &state.overdue)
            && overdue.borrow().is_none()
            && overdue.has_changed().is_ok()
        {
            return Asked { answer: overdue.clone(), is_waited_for: false };
        }
        let (tell, answer) = watch::channel(None);
        let is_waited_for = !state.is_silent;
        if !is_waited_for {
            state.overdue = Some(answer.clone());
        }
        let listing = Arc::clone(self).list(kind, state.n_changes, tell);
        drop(state);
        self.house.tasks.spawn(listing);
        Asked { answer, is_waited_for }
    }

    /// Waits for a list; a server that does not answer has nothing in it.
    pub(super) async fn wait(&self, kind: ListKind, asked: Asked, until: Instant) -> Entries {
        let mut answer = asked.answer.clone();
        if asked.is_waited_for {
            // Whether it came in time is told by what it is.
            tokio::time::timeout_at(until, answer.wait_for(Option::is_some)).await.ok();
            self.wait_no_more(kind, asked);
        }
        let listed = answer.borrow().clone();
        match listed {
            Some(Listed::Entries(entries)) => entries,
            Some(Listed::Nothing | Listed::TooLate) | None => Arc::default(),
        }
    }

    /// Notes that a list was waited for in vain; if it still comes, clients hear of it.
    pub(super) fn wait_no_more(&self, kind: ListKind, asked: Asked) {
        if asked.answer.borrow().is_some() {
            return;
        }
        let mut state = locked(self.state(kind));
        state.overdue = Some(asked.answer);
        let was_silent = std::mem::replace(&mut state.is_silent, true);
        drop(state);
        if !was_silent {
            self.tell_of_silence(kind);
        }
    }

    /// Returns what was listed last over the connection that there is, unless it changed since.
    pub(super) fn last(&self, kind: ListKind) -> Option<Entries> {
        locked(self.state(kind)).last(&*self.server)
    }

    /// Returns whether nobody waits for this list any more.
    pub(super) fn is_silent(&self, kind: ListKind) -> bool {
        locked(self.state(kind)).is_silent
    }

    /// Forgets a list that is not what it was.
    pub(super) fn forget(&self, kind: ListKind) {
        let mut state = locked(self.state(kind));
        state.n_changes += 1;
        state.last = None;
    }

    /// Lists, for as long as anybody wants to know.
    async fn list(
        self: Arc<Self>,
        kind: ListKind,
        n_changes: u64,
        tell: watch::Sender<Option<Listed>>,
    ) {
        let House { stop, announcements, .. } = &self.house;
        let listed = tokio::select! {
            listed = stop.run_until_cancelled(self.listed(kind, n_changes)) => listed,
            () = tell.closed() => return,
        };
        let listed = listed.unwrap_or(Listed::Nothing);
        let is_late = matches!(listed, Listed::TooLate);
        let mut state = locked(self.state(kind));
        let was_silent = std::mem::replace(&mut state.is_silent, is_late);
        drop(state);
        match listed {
            Listed::TooLate if !was_silent => self.tell_of_silence(kind),
            Listed::Entries(_) if was_silent => {
                // Nobody may be listening.
                announcements.send(Announcement::ListChanged(kind.changed())).ok();
            }
            Listed::TooLate | Listed::Entries(_) | Listed::Nothing => {}
        }
        tell.send(Some(listed)).ok();
    }

    async fn listed(&self, kind: ListKind, n_changes: u64) -> Listed {
        let listed = Arc::clone(&self.server).list(kind, self.house.stop.clone()).await;
        let (process, read) = match listed {
            Ok(listed) => listed,
            Err(Unlisted::TooLate) => return Listed::TooLate,
            Err(Unlisted::Nothing) => return Listed::Nothing,
        };
        let entries: Entries = read.entries.into();
        let mut state = locked(self.state(kind));
        if state.n_changes == n_changes {
            // Whose the resources are is kept elsewhere; here it counts that they were listed.
            let kept = if kind == ListKind::Templates { &entries } else { &Entries::default() };
            state.last = Some((process, Arc::clone(kept)));
        }
        let is_news = !read.is_whole && !std::mem::replace(&mut state.is_told, !read.is_whole);
        drop(state);
        if is_news {
            self.house.witness.notice(&format!(
                "server `{}` lists more {} than are passed on ({ENTRIES_MAX}, in {PAGES_MAX} pages, \
                 in {BYTES_MAX} bytes): the first {} are offered",
                self.server.name(),
                kind.things(),
                entries.len(),
            ));
        }
        Listed::Entries(entries)
    }

    fn tell_of_silence(&self, kind: ListKind) {
        self.house.witness.notice(&format!(
            "server `{}` takes too long to list its {}: its list is left out until it has answered",
            self.server.name(),
            kind.things(),
        ));
    }
}

impl State {
    fn last(&self, server: &dyn Backend) -> Option<Entries> {
        let (process, entries) = self.last.as_ref()?;
        (server.process() == Some(*process)).then(|| Arc::clone(entries))
    }
}
