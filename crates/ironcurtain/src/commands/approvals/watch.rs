//! `ironcurtain approvals watch`: questions as they come, and how they ended, line by line.
//!
//! ```text
//! Ears: registry, escalations of each session, terminal ─▶ Watcher: look, print ─▶ screen
//!       (woken by the system, and every 500 ms)             Desk: what was typed ─▶ Pending::answer
//! ```
//!
//! Where the system announces everything that is written, the passing of time leaves little to look at: which
//! sessions run, and now and then everything all the same.
//!
//! With `--desk` the user counts as present until it ends, however it ends.

pub(crate) mod desk;
pub(crate) mod ears;
mod keys;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::{Board, Ending, Live, Pending, Presence, Registry, SessionEntry};
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_policy::{DecidedBy, Decision};
use ic_types::{EscalationId, Json, Object, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::desk::{Desk, Next};
use self::ears::{Ears, Heard};
use super::{At, lines, unusable};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::{Failure, chain};
use crate::own_policy::always::Always;
use crate::person::{Scripts, is_shown_at_terminal};
use crate::screen::{Screen, visible};
use crate::signals::stop_on_signals;
use crate::terminal::{Console, Paint, Tty};

/// How long nothing need be looked at if the system announces whatever is written. Nobody announces a request
/// that goes without an answer, as when somebody tidies up.
const SURE_FOR: Duration = Duration::from_secs(5);
/// How long after an approval its session may refuse it; a session does so at once.
const REFUSED_WITHIN: Duration = Duration::from_secs(2);
/// How many complaints are remembered, so that each is made once.
const COMPLAINTS_MAX: usize = 1000;

/// Show approval requests as they come, and how they end, until interrupted
///
/// Pending requests are shown first. With `--desk` you are an approver: sessions ask you instead of
/// denying at once, and you answer with the same keys as in a session: `y` approve, `n` deny, `g`
/// approve and grant, `a` always, `d` details, `s` next, `q` quit.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Be an approver until this ends; needs a terminal, unless `approvals.scripted` is true
    #[arg(long)]
    desk: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// How events are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    Lines,
    Json,
}

/// Looks at what waits, and knows what was shown so far.
pub(crate) struct Watcher {
    registry: Registry,
    board: Board,
    format: Format,
    at: At,
    pub(crate) shown: BTreeMap<EscalationId, Pending>,
    /// How often something came or went, so that whoever looks knows whether anything did.
    pub(crate) n_changes: u64,
    /// The sessions that run, in the order in which they began.
    pub(crate) sessions: Vec<SessionEntry>,
    /// The same, with what is there besides; and when everything was looked at.
    live: Option<(Live, Instant)>,
    /// Whether sessions that come and go are told, too.
    tells_sessions: bool,
    /// The names in each directory when it was last looked at.
    names: Vec<(PathBuf, Vec<OsString>)>,
    complaints: HashSet<String>,
    /// What was approved, until its session can have refused the response.
    approved: Vec<(Pending, Instant)>,
    /// What is to be said at the desk.
    pub(crate) said: Vec<Said>,
}

/// Something that is said at the desk, when there is nothing more important.
#[derive(Debug)]
pub(crate) enum Said {
    /// How a question has ended.
    Ended(Box<Pending>, Ending),
    /// A session has begun or ended.
    Session(String),
    /// What is wrong.
    Complaint(String),
}

impl Said {
    fn print(&self, screen: &mut Screen) -> Result<(), Failure> {
        match self {
            Self::Ended(pending, ending) => screen.folded(&how_ended(pending, *ending)),
            Self::Session(what) => screen.folded(what),
            Self::Complaint(what) => {
                screen.warning(what);
                Ok(())
            }
        }
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &WatchArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    home.prepare()?;
    let format = if args.json { Format::Json } else { Format::Lines };
    // SECURITY: what is typed is an answer to what was shown, so both have to be at one terminal.
    let is_typed_at = io::stdin().is_terminal() && is_shown_at_terminal();
    let is_at_desk = args.desk && format == Format::Lines && is_typed_at;
    // SECURITY: sessions would wait for an answer that nobody can give here.
    if args.desk && !is_at_desk && Scripts::of(&home, environment)? == Scripts::MayNotAnswer {
        return Err(Failure::environment(
            "`--desk` makes you an approver, and there is no terminal to answer at",
        )
        .with_hint(
            "run it at a terminal without `--json`, or leave `--desk` out; where \
             `approvals.scripted` is true, scripts can be approvers",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    let ended = runtime.block_on(async {
        // Before anybody counts on us, so that being asked to end never leaves a seat behind.
        let stop = stop_on_signals()?;
        let seat = args.desk.then(|| Presence::take(&home)).transpose();
        let seat = seat.map_err(|error| unusable(&error))?;
        let keys = Tty::find().filter(|it| is_at_desk && it.takes_keys(environment));
        let always = Always::new(environment, "desk");
        let watched = match (keys, is_at_desk) {
            (Some(terminal), _) => {
                let paint = Paint::of_stderr(environment);
                let mut console = Console::take(terminal, paint, screen)?;
                console.offer_always(Some(always));
                keys::sit(&home, console, &stop).await
            }
            (None, true) => watch(&home, format, Some(Desk::open(&home, always, DecidedBy::Cli)?), &stop, screen).await,
            (None, false) => {
                if !args.desk && format == Format::Lines {
                    screen.notice(
                        "watching until you press Ctrl-C; answer with `ironcurtain approvals approve N` or \
                         `deny N`, or right here with `--desk`",
                    );
                }
                watch(&home, format, None, &stop, screen).await
            }
        };
        drop(seat);
        watched
    });
    // A thread that still listens must not keep us.
    runtime.shutdown_background();
    ended.map(|()| Exit::Success)
}

async fn watch(
    home: &Home,
    format: Format,
    desk: Option<Desk>,
    stop: &CancellationToken,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let at = if desk.is_some() { At::Dialog } else { At::Prompt };
    follow(home, Watcher::new(home, format, at), desk, stop, screen).await
}

/// Tells line by line what `watcher` sees, and answers what is typed at the desk, until it is stopped.
pub(crate) async fn follow(
    home: &Home,
    mut watcher: Watcher,
    mut desk: Option<Desk>,
    stop: &CancellationToken,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut ears = Ears::on(home.registry(), desk.as_ref().map(Desk::terminal).transpose()?);
    if desk.is_some() {
        Desk::greet(screen)?;
    }
    let mut heard = Heard { is_changed: true, is_typed: false };
    loop {
        if let (Some(desk), true) = (&mut desk, heard.is_typed) {
            // What is typed is for what there is now.
            watcher.look(true, &mut ears, screen)?;
            desk.tell(&mut watcher, screen)?;
            match desk.on_typed(&mut watcher, screen)? {
                Next::GoOn => {}
                Next::Look => heard.is_changed = true,
                Next::End => return Ok(()),
            }
        }
        watcher.look(heard.is_changed, &mut ears, screen)?;
        if let Some(desk) = &mut desk {
            desk.tell(&mut watcher, screen)?;
            desk.show(&mut watcher, screen)?;
        }
        screen.out().flush().map_err(Failure::output)?;
        let wakes_at = desk.as_ref().and_then(Desk::wakes_at);
        let wait = wakes_at.map(|at| at.saturating_duration_since(Instant::now()));
        let listening = tokio::task::spawn_blocking(move || ears.listen(wait));
        (ears, heard) = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            listened = listening => listened.map_err(|error| unusable(&error))?,
        };
    }
}

// === impl Watcher ===

impl Watcher {
    pub(crate) fn new(home: &Home, format: Format, at: At) -> Self {
        Self {
            registry: Registry::of(home),
            board: Board::default(),
            format,
            at,
            shown: BTreeMap::new(),
            n_changes: 0,
            sessions: Vec::new(),
            live: None,
            tells_sessions: false,
            names: Vec::new(),
            complaints: HashSet::new(),
            approved: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Tells of sessions that come and go, too.
    pub(crate) fn telling_sessions(mut self) -> Self {
        self.tells_sessions = true;
        self
    }

    /// Shows what is new and what has ended.
    pub(crate) fn look(
        &mut self,
        is_changed: bool,
        ears: &mut Ears,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let now = SystemClock.now();
        self.look_back(now, screen)?;
        let has_expired = self.shown.values().any(|it| it.request().expires_at < now);
        if !is_changed && !has_expired && ears.hear_all() && self.is_sure()? {
            return Ok(());
        }
        let live = self.registry.live()?;
        // Before anything is read, so that nothing is written unseen in between.
        ears.follow(live.sessions.iter().map(|session| &session.escalation_dir));
        for error in &live.unreadable {
            self.complain(chain(error), screen);
        }
        self.tell_sessions(&live.sessions, screen)?;
        self.sessions.clone_from(&live.sessions);
        self.live = Some((live, Instant::now()));
        // Reading every question twice a second would be work for nothing.
        if !self.has_new_names() && !is_changed && !has_expired {
            return Ok(());
        }
        let waiters = self.board.look(&self.sessions, now);
        for error in &waiters.unreadable {
            self.complain(chain(error), screen);
        }
        let waiting: HashSet<&EscalationId> =
            waiters.pending.iter().map(|it| &it.request().escalation).collect();
        let ended: Vec<EscalationId> =
            self.shown.keys().filter(|id| !waiting.contains(id)).cloned().collect();
        for id in ended {
            if let Some(shown) = self.shown.remove(&id) {
                self.n_changes += 1;
                let ending = shown.ending(now);
                if let Ending::Answered(how, _) = ending {
                    self.settled(&shown, how);
                }
                self.print_end(&shown, ending, screen)?;
            }
        }
        for pending in waiters.pending {
            self.on_pending(pending, screen)?;
        }
        Ok(())
    }

    /// Takes in how a question was answered: an approval may come to nothing yet.
    pub(crate) fn settled(&mut self, pending: &Pending, how: Decision) {
        if how == Decision::Approved {
            self.approved.push((pending.clone(), Instant::now()));
        }
    }

    /// Tells which approvals their sessions did not accept, such as of a request that was changed on its way.
    fn look_back(&mut self, now: Timestamp, screen: &mut Screen) -> Result<(), Failure> {
        let (mut refused, mut open) = (Vec::new(), Vec::new());
        for (pending, at) in std::mem::take(&mut self.approved) {
            match pending.ending(now) {
                Ending::Malformed => refused.push(pending),
                Ending::Answered(..) if at.elapsed() < REFUSED_WITHIN => open.push((pending, at)),
                Ending::Answered(..) | Ending::Expired | Ending::Withdrawn | Ending::Gone => {}
            }
        }
        self.approved = open;
        refused.iter().try_for_each(|it| self.print_end(it, Ending::Malformed, screen))
    }

    /// Shows a question that was not shown yet, or not as it is now; at the desk each has its turn.
    fn on_pending(&mut self, pending: Pending, screen: &mut Screen) -> Result<(), Failure> {
        let id = &pending.request().escalation;
        let before = self.shown.get(id);
        if before.is_some_and(|it| it.asks_the_same_as(&pending)) {
            return Ok(());
        }
        match self.format {
            Format::Lines if self.at == At::Dialog => {}
            Format::Lines => {
                if before.is_some() {
                    screen.line(&format!("#{}: the request has changed:", pending.number()))?;
                }
                screen.lines(&lines(&pending, View::Short, self.at, SystemClock.now()))?;
            }
            Format::Json => {
                let mut event = event("asked", &pending);
                if let Json::Object(question) = pending.to_json() {
                    for (key, value) in question.into_entries() {
                        event.insert(key, value);
                    }
                }
                screen.json(&Json::Object(event).to_string())?;
            }
        }
        self.n_changes += 1;
        self.shown.insert(id.clone(), pending);
        Ok(())
    }

    fn print_end(
        &mut self,
        pending: &Pending,
        ending: Ending,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Lines => match self.at {
                At::Dialog => {
                    self.said.push(Said::Ended(Box::new(pending.clone()), ending));
                    Ok(())
                }
                At::Prompt => screen.line(&how_ended(pending, ending)),
            },
            Format::Json => {
                let (word, by) = ending.word();
                let mut event = event("ended", pending);
                event.insert("escalationId", pending.request().escalation.as_str());
                event.insert("session", pending.session().as_str());
                event.insert("ending", word);
                event.insert("decidedBy", by.map_or(Json::Null, |by| Json::from(by.to_string())));
                screen.json(&Json::Object(event).to_string())
            }
        }
    }

    /// Tells which sessions have come and gone since this was asked last.
    fn tell_sessions(
        &mut self,
        sessions: &[SessionEntry],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if !self.tells_sessions {
            return Ok(());
        }
        let gone = self.sessions.iter().filter(|it| !sessions.contains(it));
        let come = sessions.iter().filter(|it| !self.sessions.contains(it));
        let news = gone.map(|it| ("ended", it)).chain(come.map(|it| ("started", it)));
        for (what, session) in news {
            let SessionEntry { name, kind, label, .. } = session;
            match (self.format, self.at) {
                (Format::Json, _) => {
                    let mut event = Object::new();
                    event.insert("event", format!("session-{what}"));
                    event.insert("sessionId", session.session.as_str());
                    event.insert("session", name.as_str());
                    event.insert("kind", kind.as_str());
                    event.insert("label", label.as_str());
                    event.insert("startedAt", session.started_at.to_string());
                    screen.json(&Json::Object(event).to_string())?;
                }
                (Format::Lines, at) => {
                    let line = format!("session {name} {what}: {}", visible(label));
                    match at {
                        At::Dialog => self.said.push(Said::Session(line)),
                        At::Prompt => screen.line(&line)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether what was seen last is all there is, if nothing was announced since.
    fn is_sure(&self) -> Result<bool, Failure> {
        match &self.live {
            Some((live, at)) if at.elapsed() < SURE_FOR => Ok(self.registry.is_still(live)?),
            Some(_) | None => Ok(false),
        }
    }

    /// Returns whether other files are there than when this was last asked.
    fn has_new_names(&mut self) -> bool {
        let names = |session: &SessionEntry| {
            let directory = session.escalation_dir.clone();
            // What cannot be listed is complained about when it is read.
            let names = file::names(&directory).ok().flatten().unwrap_or_default();
            (directory, names)
        };
        let names: Vec<_> = self.sessions.iter().map(names).collect();
        let is_new = names != self.names;
        self.names = names;
        is_new
    }

    /// Says what is wrong, once.
    fn complain(&mut self, complaint: String, screen: &mut Screen) {
        if self.complaints.len() < COMPLAINTS_MAX && !self.complaints.contains(&complaint) {
            match self.at {
                At::Dialog => self.said.push(Said::Complaint(complaint.clone())),
                At::Prompt => screen.warning(&complaint),
            }
            self.complaints.insert(complaint);
        }
    }
}

/// Says how a question has ended.
pub(crate) fn how_ended(pending: &Pending, ending: Ending) -> String {
    format!("#{} {}: {ending}", pending.number(), pending.session())
}

fn event(what: &str, pending: &Pending) -> Object {
    let mut event = Object::new();
    event.insert("event", what);
    event.insert("number", pending.number());
    event
}
