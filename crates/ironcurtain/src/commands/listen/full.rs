//! The listener on a full screen: one loop over everything that can happen.
//!
//! What is shown is the dashboard's business, and which key answers is the banner's.

use std::collections::{BTreeMap, HashSet};

use ic_escalation::display::{self, headline, named_values};
use ic_escalation::{Ending, Pending, Request};
use ic_home::{Clock as _, Home, SystemClock};
use ic_listener::{Act, Command, Dashboard, HistoryRow, Panel, RequestRow, SessionRow, Which};
use ic_policy::{DecidedBy, Decision};
use ic_terminal::gate::Reach;
use ic_terminal::{Ink, Key, Piece};
use ic_types::{EscalationId, counted};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::economy::Economy;
use crate::books::{Book, Books};
use crate::commands::approvals::stats::LastDay;
use crate::commands::approvals::watch::desk::{Everybodys, Groups};
use crate::commands::approvals::watch::ears::{Ears, Heard};
use crate::commands::approvals::watch::{Format, Said, Watcher, how_ended};
use crate::commands::approvals::{At, NOTHING, unusable};
use crate::commands::grants;
use crate::error::Failure;
use crate::terminal::{Banner, FullScreen, Place, Reason, Tone, moment, title};

/// How many records of one log are read at once, so that a long log keeps nobody waiting.
const RECORDS_MAX: usize = 500;

/// A person at the listener.
struct Listening<'a> {
    home: Home,
    watcher: Watcher,
    full: FullScreen<'a>,
    dashboard: Dashboard,
    books: Books,
    economy: Economy,
    /// Up to which change what waits was looked at.
    seen: Option<u64>,
    /// What waits, and its rows; each is worked out once.
    rows: BTreeMap<EscalationId, (Pending, RequestRow)>,
}

/// What is done next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    GoOn,
    End,
}

/// Listens until the person leaves or is asked to.
pub(super) async fn listen(
    home: &Home,
    full: FullScreen<'_>,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let mut listening = Listening {
        home: home.clone(),
        watcher: Watcher::new(home, Format::Lines, At::Dialog).telling_sessions(),
        full,
        dashboard: Dashboard::default(),
        books: Books::of(home),
        economy: Economy::of(home),
        seen: None,
        rows: BTreeMap::new(),
    };
    let listened = listening.run(stop).await;
    listening.full.leave();
    listened
}

impl Listening<'_> {
    async fn run(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        let listen = |kind| {
            signal(kind).map_err(|source| {
                Failure::environment("cannot wait for signals").with_source(source)
            })
        };
        let mut resized: Signal = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;
        let mut ears = Ears::on(self.home.registry(), None);
        self.look(true, &mut ears)?;
        self.economy.count();
        let mut listening = tokio::task::spawn_blocking(move || ears.listen(None));
        loop {
            self.draw();
            let (escape_at, wakes_at) = (self.full.escape_at(), self.full.wakes_at());
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => Next::End,
                listened = &mut listening => {
                    let (mut ears, Heard { is_changed, .. }) =
                        listened.map_err(|error| unusable(&error))?;
                    self.look(is_changed, &mut ears)?;
                    self.economy.count();
                    listening = tokio::task::spawn_blocking(move || ears.listen(None));
                    Next::GoOn
                }
                bytes = self.full.bytes() => self.on_bytes(&bytes),
                () = moment(escape_at) => match self.full.on_escape_alone() {
                    Some(key) => self.on_key(&key, false, 0),
                    None => Next::GoOn,
                },
                counted = self.economy.counted() => {
                    self.on_counted(counted);
                    Next::GoOn
                }
                _ = resized.recv() => {
                    // It may be as large as before, and have been smaller meanwhile.
                    self.full.clear();
                    Next::GoOn
                }
                _ = continued.recv() => {
                    self.full.on_continued();
                    Next::GoOn
                }
                () = moment(wakes_at) => {
                    let questions = Everybodys::standing(DecidedBy::Listener);
                    self.full.with(&questions, Banner::wake);
                    Next::GoOn
                }
            };
            if next == Next::End {
                return Ok(());
            }
        }
    }

    fn draw(&mut self) {
        self.bring_listed();
        let questions = Everybodys::standing(DecidedBy::Listener);
        self.full.draw(&mut self.dashboard, &questions, SystemClock.now());
    }

    /// Shows a question that the filter lets through, if there is one and another stands there.
    fn bring_listed(&mut self) {
        let standing = self.full.banner().numbers();
        let listed = self.dashboard.requests().next().map(|it| it.number);
        if let Some(number) = listed.filter(|_| self.dashboard.hides(&standing)) {
            self.with_banner(|banner, place| {
                banner.bring_anew(number, place);
            });
        }
    }

    fn questions(&self) -> Everybodys {
        let groups = match self.dashboard.filter() {
            "" => Groups::Alike,
            _ => Groups::Among(self.dashboard.requests().map(|it| it.number).collect()),
        };
        Everybodys::of(&self.watcher, groups, DecidedBy::Listener)
    }

    /// Lets the banner do something; what was answered goes to the history.
    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let questions = self.questions();
        let said = self.full.with(&questions, act);
        let answered = questions.settle_in(&mut self.watcher);
        for (pending, decision) in &answered {
            self.on_ended(pending, Ending::Answered(*decision, DecidedBy::Listener));
        }
        if said.iter().any(|(tone, _)| *tone == Tone::Bad) {
            // What could not be answered may still wait, and is shown again.
            self.seen = None;
        }
        self.say_all(&said);
        if !answered.is_empty() {
            self.list_requests();
        }
    }

    /// Says what was said at once: a few things side by side, and of many the worst or the last.
    fn say_all(&mut self, said: &[(Tone, String)]) {
        let worst = said.iter().find(|(tone, _)| *tone == Tone::Bad);
        if let (None, [(tone, first), (_, second)]) = (worst, said) {
            return self.dashboard.say(tone.ink(), &format!("{first} · {second}"));
        }
        let Some((tone, text)) = worst.or(said.last()) else { return };
        let more = match said.len() {
            1 => String::new(),
            n => format!(" ({} more)", n - 1),
        };
        self.dashboard.say(tone.ink(), &format!("{text}{more}"));
    }
}

/// What is seen.
impl Listening<'_> {
    /// Looks at what is new and what has ended.
    fn look(&mut self, is_changed: bool, ears: &mut Ears) -> Result<(), Failure> {
        self.watcher.look(is_changed, ears, self.full.screen())?;
        for said in std::mem::take(&mut self.watcher.said) {
            match said {
                Said::Ended(pending, ending) => {
                    let (id, how) = (&pending.request().escalation, how_ended(&pending, ending));
                    if self.full.banner().holds(id) {
                        self.with_banner(|banner, place| banner.ended(id, &how, place));
                    }
                    if ending == Ending::Malformed {
                        // Somebody may believe that it was approved.
                        self.dashboard.say(Ink::Bad, &how);
                    }
                    self.on_ended(&pending, ending);
                }
                Said::Session(what) => self.dashboard.mention(&what),
                Said::Complaint(what) => self.dashboard.complain(&what),
            }
        }
        // With many requests this is some work, and mostly nothing has happened.
        if self.seen != Some(self.watcher.n_changes) {
            self.list_requests();
            self.with_banner(Banner::recheck);
            self.seen = Some(self.watcher.n_changes);
        }
        self.books.read(&self.watcher.sessions, RECORDS_MAX);
        let sessions = self.watcher.sessions.iter().map(|it| {
            let book = self.books.get(&it.session);
            SessionRow {
                name: it.name.to_string(),
                kind: it.kind.clone(),
                label: it.label.clone(),
                policy: book.and_then(Book::policy).map(str::to_owned),
                started_at: it.started_at,
                spent: book.and_then(Book::spent),
            }
        });
        let sessions = sessions.collect();
        self.dashboard.set_sessions(sessions);
        if self.dashboard.panel().0 == Panel::Grants {
            self.list_grants();
        }
        Ok(())
    }

    /// Lists what waits, and calls the person if there is something new.
    fn list_requests(&mut self) {
        let shown = &self.watcher.shown;
        let n_before = self.rows.len();
        self.rows.retain(|id, (of, row)| {
            shown.get(id).is_some_and(|it| it.number() == row.number && it.asks_the_same_as(of))
        });
        let new: HashSet<&EscalationId> =
            shown.keys().filter(|id| !self.rows.contains_key(*id)).collect();
        if new.is_empty() && n_before == self.rows.len() {
            return;
        }
        let newest = shown.values().filter(|it| new.contains(&it.request().escalation));
        let newest = newest.map(Pending::number).max();
        for (id, pending) in shown {
            let row = || (pending.clone(), request_row(pending));
            self.rows.entry(id.clone()).or_insert_with(row);
        }
        let mut groups: BTreeMap<Reason<'_>, u64> = BTreeMap::new();
        let mut pending: Vec<&Pending> = shown.values().collect();
        pending.sort_by_key(|it| it.number());
        let rows = pending.into_iter().filter_map(|it| {
            let (_, row) = self.rows.get(&it.request().escalation)?.clone();
            let first =
                Reason::of(it.request()).map(|reason| *groups.entry(reason).or_insert(row.number));
            Some(RequestRow { group: first.unwrap_or(row.number), ..row })
        });
        let rows = rows.collect();
        self.dashboard.set_requests(rows);
        title(self.rows.len());
        if let Some(number) = newest {
            self.full.call(number);
        }
    }

    fn on_counted(&mut self, counted: Result<LastDay, Failure>) {
        match counted {
            Ok(LastDay { line, complaints }) => {
                self.dashboard.set_economy(&line);
                // Said once: the same log is counted again and again.
                for why in complaints {
                    if self.economy.is_new(&why) {
                        self.dashboard.complain(&why);
                    }
                }
            }
            Err(failure) => self.dashboard.say(Ink::Bad, &failure.to_string()),
        }
    }

    fn list_grants(&mut self) {
        self.dashboard.set_grants(grants::in_force(&self.home).unwrap_or_default());
    }

    fn on_ended(&mut self, pending: &Pending, ending: Ending) {
        let ink = match ending {
            Ending::Answered(Decision::Approved, _) => Ink::Good,
            Ending::Answered(Decision::Denied, _) | Ending::Malformed => Ink::Bad,
            Ending::Expired | Ending::Withdrawn | Ending::Gone => Ink::Quiet,
        };
        self.economy.is_old();
        let (number, session) = (pending.number(), pending.session().to_string());
        let summary = summary(pending.request());
        let (at, ending) = (SystemClock.now(), ending.to_string());
        self.dashboard.ended(HistoryRow { at, number, session, summary, ending, ink });
    }
}

/// What is typed.
impl Listening<'_> {
    fn on_bytes(&mut self, bytes: &[u8]) -> Next {
        // The terminal has gone, and with it the person.
        let Some(Piece { keys, is_alone }) = self.full.read(bytes) else { return Next::End };
        for (n_before, key) in keys.iter().enumerate() {
            if self.on_key(key, is_alone, n_before) == Next::End {
                return Next::End;
            }
        }
        Next::GoOn
    }

    /// Takes in a key, before which `n_before` others were read at once.
    fn on_key(&mut self, key: &Key, is_alone: bool, n_before: usize) -> Next {
        if self.dashboard.typed().is_none()
            && let Some(word) = self.full.word_of(key, is_alone)
        {
            // What was said before is about something else.
            self.dashboard.forget_said();
            self.with_banner(|banner, place| banner.typed(&word, place));
            return Next::GoOn;
        }
        if *key == Key::Escape && self.dashboard.typed().is_none() && self.full.is_choosing() {
            self.with_banner(Banner::go_back);
            return Next::GoOn;
        }
        let standing = self.full.banner().numbers();
        match self.dashboard.press(key, is_alone, &standing) {
            Act::Draw => {
                if self.dashboard.panel().0 == Panel::Grants {
                    self.list_grants();
                }
            }
            Act::Bring(number) => {
                self.with_banner(|banner, place| {
                    banner.bring(number, place);
                });
            }
            Act::Begin => self.full.banner().line_begins(n_before),
            Act::Do(command, listed) => return self.on_command(command, &listed),
            Act::Suspend => self.full.suspend(),
            Act::Clear => self.full.clear(),
            Act::Quit => return Next::End,
        }
        Next::GoOn
    }

    /// Does a command; `listed` stood on the screen when it was begun.
    fn on_command(&mut self, command: Command, listed: &[u64]) -> Next {
        match command {
            Command::Approve(Which::All) => self.approve_all(listed),
            Command::Deny(Which::All) => self.deny_all(listed),
            Command::Approve(which) => self.answer(which, "y"),
            Command::Grant(which) => self.answer(which, "g"),
            Command::Deny(Which::Shown) => self.answer(Which::Shown, "n"),
            Command::Deny(Which::Number(number)) => {
                let mut is_there = false;
                self.with_banner(|banner, place| is_there = banner.deny(number, place));
                if !is_there {
                    self.not_there(number);
                }
            }
            Command::Undo(id) => self.undo(id.as_deref()),
            Command::Filter(text) => self.dashboard.set_filter(&text),
            Command::Sessions => self.dashboard.open(Panel::Sessions),
            Command::History => self.dashboard.open(Panel::History),
            Command::Grants => {
                self.list_grants();
                self.dashboard.open(Panel::Grants);
            }
            Command::Help => self.dashboard.open(Panel::Help),
            Command::Quit => return Next::End,
        }
        Next::GoOn
    }

    /// Answers what is shown; a request that is not shown yet is shown first.
    fn answer(&mut self, which: Which, word: &str) {
        let reach = if word == "n" { Reach::Page } else { Reach::Whole };
        let answered = self.full.banner().line_ends(reach);
        if let Which::Number(number) = which
            && (!self.full.banner().shows(number) || self.dashboard.hides(&[number]))
        {
            // SECURITY: nobody says yes to what did not stand there.
            self.dashboard.open(Panel::Question);
            if self.dashboard.hides(&[number]) {
                self.dashboard.set_filter("");
            }
            let mut is_there = false;
            self.with_banner(|banner, place| is_there = banner.bring(number, place));
            return match is_there {
                true => self.dashboard.say(Ink::Quiet, "Read it first; then the keys answer."),
                false => self.not_there(number),
            };
        }
        if !self.full.banner().is_asking() {
            return self.dashboard.say(Ink::Quiet, NOTHING);
        }
        if self.dashboard.hides(&self.full.banner().numbers()) {
            return self.dashboard.say(Ink::Quiet, "The filter hides what waits; Esc shows it.");
        }
        match answered {
            Ok(group) => self.with_banner(|banner, place| banner.act(word, &group, place)),
            Err(why) => {
                let hint = why.to_hint("the command");
                self.dashboard.say(Ink::Quiet, &format!("Nothing was answered: {hint}."));
            }
        }
    }

    /// Shows what stood on the screen as one question: nothing is approved that was not shown in full.
    fn approve_all(&mut self, listed: &[u64]) {
        self.dashboard.open(Panel::Question);
        let mut n_calls = 0;
        self.with_banner(|banner, place| n_calls = banner.bring_all(listed, place));
        match n_calls {
            0 => self.dashboard.say(Ink::Quiet, NOTHING),
            1 => self.dashboard.say(Ink::Quiet, "Read it first; then y approves it."),
            n => {
                let said = format!("Read them first; then y approves these {n}, and no other.");
                self.dashboard.say(Ink::Quiet, &said);
            }
        }
    }

    fn deny_all(&mut self, listed: &[u64]) {
        let waiting: Vec<u64> = self.watcher.shown.values().map(Pending::number).collect();
        let meant: Vec<u64> = listed.iter().copied().filter(|it| waiting.contains(it)).collect();
        if meant.is_empty() {
            return self.dashboard.say(Ink::Quiet, NOTHING);
        }
        self.with_banner(|banner, place| {
            for number in &meant {
                banner.deny(*number, place);
            }
        });
        let left: Vec<u64> = self.watcher.shown.values().map(Pending::number).collect();
        if meant.iter().any(|it| left.contains(it)) {
            // Why is said already.
            return;
        }
        let denied = counted(meant.len() as u64, "request was denied", "requests were denied");
        let left = match left.len() as u64 {
            0 => String::new(),
            n => format!("; {}", counted(n, "other waits", "others wait")),
        };
        self.dashboard.say(Ink::Quiet, &format!("{denied}{left}"));
    }

    /// Takes a grant back; that lets less happen, so nobody is asked.
    fn undo(&mut self, id: Option<&str>) {
        let (ink, said) = match grants::undo(&self.home, id) {
            Ok(said) => (Ink::Quiet, said),
            Err(failure) => (Ink::Bad, failure.to_string()),
        };
        self.dashboard.say(ink, &said);
        self.list_grants();
    }

    fn not_there(&mut self, number: u64) {
        self.dashboard.say(Ink::Bad, &format!("No pending escalation with ID: {number}"));
    }
}

/// Works out the row of a request.
fn request_row(pending: &Pending) -> RequestRow {
    let request = pending.request();
    let (summary, server) = deed(request);
    RequestRow {
        number: pending.number(),
        session: pending.session().to_string(),
        summary,
        server: server.map(str::to_owned),
        expires_at: request.expires_at,
        group: pending.number(),
    }
}

/// Says in one line what will happen: the tool and what it is about come first, since the end may be cut.
pub(crate) fn summary(request: &Request) -> String {
    match deed(request) {
        (summary, Some(server)) => format!("{summary} ({server})"),
        (summary, None) => summary,
    }
}

/// Says in one line what will happen, and who would do it, unless that is said with it.
fn deed(request: &Request) -> (String, Option<&str>) {
    if display::is_petition(request) {
        return (headline(request), None);
    }
    let asks = |role: &str| request.escalated_roles.iter().any(|it| it.as_str() == role);
    let asking = request.resolved.iter().filter(|(role, _)| asks(role));
    let about = asking.map(|(_, values)| named_values(values));
    let about: Vec<String> = about.filter(|it| !it.is_empty()).collect();
    (format!("{} {}", request.tool, about.join("; ")), Some(request.server.as_str()))
}
