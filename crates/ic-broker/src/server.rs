//! One server of a session: started on first use, watched while it runs, started again when it died.
//!
//! ```text
//! Idle ──first use──▶ Starting ──▶ Up ──it ends──▶ Down ──use, after a while──▶ Starting
//!                        └────────fails───────────▶ Down         (longer after each failure)
//! ```
//!
//! A call that was under way when a server died is not sent again: it may have acted. What a server
//! may be asked is not decided here.

mod connection;
mod deeds;
mod errand;
pub(crate) mod handshake;
mod inbox;
mod known;
mod petitions;
pub(crate) mod process;
pub(crate) mod remote;
pub(crate) mod running;
mod table;
mod turn;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::AuditLog;
use ic_confine::{Confinement, DoorsToCome, Launcher};
use ic_egress::{Allowed, Egress};
use ic_home::Clock;
use ic_types::{Json, ServerName};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use connection::{Asking, Connection, Progress, Unanswered};
pub(crate) use errand::{Errand, NoErrand};
pub use handshake::{HandshakeError, Introduction};
pub(crate) use inbox::{News, answered_id};
pub(crate) use petitions::{REFUSED, Raised, Way};
use running::Running;
pub(crate) use table::{Offer, ToolTable};
pub(crate) use turn::Turn;
use turn::Turns;

use crate::aids::Lender;
use crate::launch::{Launch, Recipe};
use crate::locked;
use crate::pins::{Identity, Pins, PinsFile};
use crate::servers_file::{BuiltinServer, ServerConfig, Start};
use crate::sight::Sight;
use crate::tool::{Tool, UnusableTool};

/// How long a server may take to start and to list its tools.
pub(crate) const START_MAX: Duration = Duration::from_mins(1);
/// How long we wait before a server that died is started again, at first and at most.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];
/// A server that ran for so long has recovered from earlier failures.
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// A server, whether it runs or not.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: ServerName,
    pub(crate) identity: Identity,
    is_ours: bool,
    /// How it is started.
    recipe: Recipe,
    /// Its tools, if they are known without it.
    known: Option<Arc<ToolTable>>,
    yard: Arc<Yard>,
    phase: Mutex<Phase>,
    /// The order of its calls, if it takes them one by one.
    turns: Turns,
    /// What it asks of clients, however often it is started.
    petitions: Way,
}

/// What the servers of a session share.
pub(crate) struct Yard {
    pub(crate) launcher: Launcher,
    pub(crate) pins: PinsFile,
    pub(crate) clock: Arc<dyn Clock>,
    /// What makes the connections that leave cages.
    pub(crate) egress: Egress,
    /// What is asked for what is lent to calls.
    pub(crate) lender: Arc<Lender>,
    /// The record of what was lent.
    pub(crate) log: Arc<AuditLog>,
    /// The answer to a server's `roots/list`.
    pub(crate) roots: Json,
    /// Where a server's news go.
    pub(crate) news: mpsc::Sender<(ServerName, ServerNews)>,
    /// Where its own words go: apart, so that one that talks too much drowns nobody's news.
    pub(crate) words: mpsc::Sender<(ServerName, ServerNews)>,
    /// Where what servers ask of clients goes.
    pub(crate) petitions: mpsc::Sender<Raised>,
    pub(crate) tasks: TaskTracker,
    /// The places of servers that are started for one call.
    pub(crate) errands: Arc<Semaphore>,
    /// Cancelled when the session ends.
    pub(crate) stop: CancellationToken,
}

/// What happens to a server, besides calls.
#[derive(Debug)]
pub(crate) enum ServerNews {
    /// It runs, and its tools are known.
    Up(Arc<Live>),
    /// It does not run any more, or could not be started.
    Down(String),
    /// Its identity was recorded for the first time, with so many tools.
    Recorded(usize),
    /// Its tools are not what they were.
    ToolsChanged,
    /// It said something.
    Said(News),
    /// It wrote to its standard error.
    Wrote(String),
}

#[derive(Debug)]
enum Phase {
    Idle,
    Starting(watch::Receiver<Option<Started>>),
    Up(Arc<Live>),
    Down(Down),
}

type Started = Result<Arc<Live>, Unavailable>;

#[derive(Debug)]
struct Down {
    why: Arc<str>,
    failures: u32,
    retry_at: Instant,
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    pub(crate) introduction: Introduction,
    pub(crate) confinement: Confinement,
    /// What it reaches.
    pub(crate) sight: Sight,
    tools: Mutex<Arc<ToolTable>>,
    listing: Mutex<Listing>,
    since: Instant,
    /// Cancelled when nothing is left of the process, and the server counts as down.
    gone: CancellationToken,
}

/// Whether the tools of a running server are being listed again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listing {
    Rests,
    Runs,
    /// They changed once more meanwhile.
    RunsTwice,
}

/// A server that cannot be used now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the server `{server}` is not available: {why}")]
pub(crate) struct Unavailable {
    server: ServerName,
    why: Arc<str>,
}

/// Why a server is down.
///
/// What a server says of its own end was never looked at by anybody, so a model hears it in our
/// words alone.
#[derive(Debug)]
struct Trouble {
    /// In our words.
    why: String,
    /// With the server's own, for a person and for the log.
    in_full: String,
}

impl Trouble {
    fn ours(why: String) -> Self {
        Self { in_full: why.clone(), why }
    }

    fn ended(why: &str, in_full: &str, ending: &process::Ending) -> Self {
        Self {
            why: format!("{why}{}", ending.status),
            in_full: format!("{in_full}{}", ending.in_full()),
        }
    }
}

impl Server {
    pub(crate) fn new(recipe: Recipe, yard: Arc<Yard>) -> Arc<Self> {
        Arc::new(Self {
            name: recipe.name.clone(),
            identity: Identity::of(&recipe.config),
            is_ours: matches!(recipe.config.start, Start::Builtin(_)),
            known: known::tools(&recipe.config.start),
            petitions: Way::new(yard.petitions.clone()),
            recipe,
            yard,
            phase: Mutex::new(Phase::Idle),
            turns: Turns::default(),
        })
    }

    /// Returns whether the server is part of this program.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Returns whether the server is our own for files.
    pub(crate) fn is_filesystem(&self) -> bool {
        self.recipe.config.start == Start::Builtin(BuiltinServer::Filesystem)
    }

    /// Returns whether the server is our own for repositories.
    pub(crate) fn is_git(&self) -> bool {
        self.recipe.config.start == Start::Builtin(BuiltinServer::Git)
    }

    /// Returns whether the server is our own for the web.
    pub(crate) fn is_fetch(&self) -> bool {
        self.recipe.config.start == Start::Builtin(BuiltinServer::Fetch)
    }

    /// Returns whether only the server itself can say what it offers.
    pub(crate) fn has_to_be_asked(&self) -> bool {
        self.known.is_none()
    }

    /// Returns its tools as they are known now, if they are.
    pub(crate) fn tools(&self) -> Option<Arc<ToolTable>> {
        let known = self.known.as_ref().map(Arc::clone);
        known.or_else(|| self.running().map(|live| live.tools()))
    }

    /// Returns the entry of the server.
    pub(crate) fn config(&self) -> &ServerConfig {
        &self.recipe.config
    }

    /// Takes a place in the order of calls, if the server wants them one by one.
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.recipe.config.is_serial.then(|| self.turns.take())
    }

    /// Returns the running server, and starts it if need be.
    pub(crate) async fn live(self: &Arc<Self>) -> Started {
        let mut starting = loop {
            let ending = {
                let mut phase = locked(&self.phase);
                match &*phase {
                    Phase::Up(live) if live.connection.over().is_cancelled() => live.gone.clone(),
                    Phase::Up(live) => return Ok(Arc::clone(live)),
                    Phase::Down(down) if Instant::now() < down.retry_at => {
                        let wait = down.retry_at - Instant::now();
                        let why = format!("{}; next try in {} ms", down.why, wait.as_millis());
                        return Err(self.unavailable(&why));
                    }
                    Phase::Starting(starting) => break starting.clone(),
                    Phase::Idle | Phase::Down(_) => break self.begin(&mut phase),
                }
            };
            // There is no second process before the first one is gone, and then there is a reason.
            ending.cancelled().await;
        };
        let started = starting.wait_for(Option::is_some).await;
        match started.ok().and_then(|started| started.clone()) {
            Some(started) => started,
            None => Err(self.unavailable("the session ends")),
        }
    }

    /// Returns the running server if only it can say what it offers, and starts it if need be.
    pub(crate) async fn met(self: &Arc<Self>) -> Result<Option<Arc<Live>>, Unavailable> {
        match self.has_to_be_asked() {
            true => self.live().await.map(Some),
            false => Ok(None),
        }
    }

    /// Returns the running server, if it runs.
    pub(crate) fn running(&self) -> Option<Arc<Live>> {
        match &*locked(&self.phase) {
            Phase::Up(live) => Some(Arc::clone(live)),
            Phase::Idle | Phase::Starting(_) | Phase::Down(_) => None,
        }
    }

    /// Lists the tools of a running server again.
    pub(crate) async fn list_again(&self, live: &Live) -> Result<(), HandshakeError> {
        let (tools, unusable) =
            handshake::list_tools(&live.connection, &self.yard.stop, START_MAX).await?;
        let table = self.table(tools, unusable).map_err(HandshakeError::Unanswered)?;
        *locked(&live.tools) = Arc::new(table);
        Ok(())
    }

    /// Compares the tools of a running server with what is trusted by now.
    pub(crate) fn compare_again(&self, live: &Live) {
        let Ok(pins) = self.yard.pins.read() else { return };
        let mut tools = locked(&live.tools);
        let compared = tools.compared(&self.name, &pins, self.is_ours);
        *tools = Arc::new(compared);
    }

    fn begin(self: &Arc<Self>, phase: &mut Phase) -> watch::Receiver<Option<Started>> {
        let failures = match phase {
            Phase::Down(down) => down.failures,
            Phase::Up(_) | Phase::Idle | Phase::Starting(_) => 0,
        };
        let (tell, starting) = watch::channel(None);
        *phase = Phase::Starting(starting.clone());
        let server = Arc::clone(self);
        self.yard.tasks.spawn(async move {
            let started = match server.start().await {
                Ok((live, running)) => {
                    *locked(&server.phase) = Phase::Up(Arc::clone(&live));
                    server.news(ServerNews::Up(Arc::clone(&live)));
                    // Not before, or it could be down before it is up, and stay so.
                    let watching = Arc::clone(&server).watch(Arc::clone(&live), running, failures);
                    server.yard.tasks.spawn(watching);
                    Ok(live)
                }
                Err(trouble) => Err(server.down(&trouble, failures)),
            };
            // Nobody may be waiting any more.
            tell.send(Some(started)).ok();
        });
        starting
    }

    /// Starts the server, meets it and lists its tools; says why if that cannot be.
    async fn start(self: &Arc<Self>) -> Result<(Arc<Live>, Running), Trouble> {
        if self.yard.stop.is_cancelled() {
            return Err(Trouble::ours("the session ends".to_owned()));
        }
        self.refuse_if_withheld().map_err(Trouble::ours)?;
        let begun = match &self.recipe.config.start {
            Start::Url(_) => self.connect(),
            Start::Builtin(_) | Start::Command(_) => self.launch(),
        };
        let (running, connection, sight) = begun.map_err(Trouble::ours)?;
        let met = match handshake::meet_and_list(&connection, &self.yard.stop, START_MAX).await {
            Ok((introduction, tools, unusable)) => {
                let table = self.table(tools, unusable).map_err(Trouble::ours);
                table.map(|table| (introduction, table))
            }
            Err(error) => Err(Trouble { why: error.in_our_words(), in_full: error.to_string() }),
        };
        let (introduction, table) = match met {
            Ok(met) => met,
            Err(Trouble { why, in_full }) => {
                connection.end(&why);
                return Err(Trouble::ended(&why, &in_full, &running.stop().await));
            }
        };
        let live = Arc::new(Live {
            connection,
            introduction,
            confinement: running.confinement(),
            sight,
            tools: Mutex::new(Arc::new(table)),
            listing: Mutex::new(Listing::Rests),
            since: Instant::now(),
            gone: CancellationToken::new(),
        });
        Ok((live, running))
    }

    /// Starts the process of a server that runs here.
    fn launch(self: &Arc<Self>) -> Result<(Running, Arc<Connection>, Sight), String> {
        let written = self.recipe.write_out().map_err(|fault| fault.to_string())?;
        let Launch { spec, sight, allowed } = written;
        let server = Arc::clone(self);
        let started = process::start(&self.host(), &spec, move |news| server.news(news));
        let process::Started { running, connection, doors } = started?;
        if let (Some(doors), Some(allowed)) = (doors, allowed) {
            self.serve_doors(doors, allowed, connection.over().clone());
        }
        Ok((Running::Process(Box::new(running)), connection, sight))
    }

    /// Makes the way to a server that runs elsewhere.
    fn connect(self: &Arc<Self>) -> Result<(Running, Arc<Connection>, Sight), String> {
        let spec = self.recipe.remote().map_err(|fault| fault.to_string())?;
        let Yard { egress, roots, tasks, .. } = &*self.yard;
        let (asks, petitions) = (self.recipe.config.asks, Some(self.petitions.clone()));
        let host = remote::Host { name: &self.name, egress, roots, asks, petitions, tasks };
        let server = Arc::clone(self);
        let (remote, connection) = remote::start(&host, spec, move |news| server.news(news))?;
        // It sees nothing of this machine; what a call names, it knows better than we do.
        Ok((Running::Remote(remote), connection, Sight::Everything))
    }

    /// Serves the doors of the server's cage, once they are there, until the server is over.
    fn serve_doors(
        self: &Arc<Self>,
        doors: DoorsToCome,
        allowed: Allowed,
        over: CancellationToken,
    ) {
        let server = Arc::clone(self);
        self.yard.tasks.spawn(async move {
            // An error is the end of the cage, and of the server with it.
            let Some(Ok(doors)) = over.run_until_cancelled(doors.come()).await else { return };
            let ic_confine::Doors { dns_udp, dns_tcp, proxy, ports } = doors;
            let doors = ic_egress::Doors { dns_udp, dns_tcp, proxy, ports };
            let served = server.yard.egress.serve(server.name.clone(), allowed, doors, over);
            if let Err(error) = served {
                let why = format!("nothing can leave its cage: {error}");
                server.news(ServerNews::Wrote(why));
            }
        });
    }

    fn host(&self) -> process::Host<'_> {
        let Yard { launcher, roots, tasks, .. } = &*self.yard;
        process::Host {
            name: &self.name,
            launcher,
            roots,
            asks: self.recipe.config.asks,
            petitions: Some(self.petitions.clone()),
            tasks,
            deeds: None,
            aids: None,
        }
    }

    /// SECURITY: a server that is started in another way than it was trusted to is not started, and
    /// neither is one that nobody knows and nothing would hold.
    fn refuse_if_withheld(&self) -> Result<(), String> {
        if self.is_ours {
            return Ok(());
        }
        let pins = self.yard.pins.read().map_err(|error| crate::chain(&error))?;
        pins.why_not_started(&self.name, &self.identity).map_or(Ok(()), Err)
    }

    /// Compares what the server lists with what is trusted; the first list is recorded.
    fn table(&self, tools: Vec<Tool>, unusable: Vec<UnusableTool>) -> Result<ToolTable, String> {
        let mut pins = Pins::default();
        if !self.is_ours {
            // A tool with text that nobody sees is not trusted by itself.
            let plain = tools.iter().filter(|tool| tool.hidden_text().is_none());
            let now = self.yard.clock.now();
            let trusted = self.yard.pins.trust_first(&self.name, &self.identity, plain, now);
            let (known, is_first) = trusted.map_err(|error| crate::chain(&error))?;
            pins = known;
            if is_first {
                self.news(ServerNews::Recorded(tools.len()));
            }
        }
        Ok(ToolTable::new(tools, unusable).compared(&self.name, &pins, self.is_ours))
    }

    /// Waits until the server is over, and says so.
    async fn watch(self: Arc<Self>, live: Arc<Live>, running: Running, failures: u32) {
        tokio::select! {
            () = live.connection.over().cancelled() => {}
            () = self.yard.stop.cancelled() => {}
        }
        live.connection.end("the session ends");
        let why = live.connection.why_over_text();
        let trouble = Trouble::ended(&why, &why, &running.stop().await);
        let has_recovered = HEALTHY_AFTER <= Instant::now() - live.since;
        self.down(&trouble, if has_recovered { 0 } else { failures });
        live.gone.cancel();
    }

    /// Notes that the server is down, and when it may be tried again.
    fn down(&self, trouble: &Trouble, failures: u32) -> Unavailable {
        let Trouble { why, in_full } = trouble;
        let [first, longest] = BACK_OFF;
        let wait = first.saturating_mul(2_u32.saturating_pow(failures)).min(longest);
        let retry_at = Instant::now() + wait;
        let down =
            Down { why: Arc::from(why.as_str()), failures: failures.saturating_add(1), retry_at };
        *locked(&self.phase) = Phase::Down(down);
        self.news(ServerNews::Down(in_full.clone()));
        self.unavailable(why)
    }

    fn unavailable(&self, why: &str) -> Unavailable {
        Unavailable { server: self.name.clone(), why: Arc::from(why) }
    }

    fn news(&self, news: ServerNews) {
        let queue = match &news {
            ServerNews::Wrote(_) => &self.yard.words,
            ServerNews::Up(_)
            | ServerNews::Down(_)
            | ServerNews::Recorded(_)
            | ServerNews::ToolsChanged
            | ServerNews::Said(_) => &self.yard.news,
        };
        queue.try_send((self.name.clone(), news)).ok();
    }
}

impl Live {
    /// Returns the tools as they are known now.
    pub(crate) fn tools(&self) -> Arc<ToolTable> {
        Arc::clone(&locked(&self.tools))
    }

    /// Returns whether the tools are to be listed again now; if that is under way, it is done twice.
    pub(crate) fn begin_listing(&self) -> bool {
        let mut listing = locked(&self.listing);
        let is_resting = *listing == Listing::Rests;
        *listing = if is_resting { Listing::Runs } else { Listing::RunsTwice };
        is_resting
    }

    /// Returns whether the tools are to be listed once more.
    pub(crate) fn end_listing(&self) -> bool {
        let mut listing = locked(&self.listing);
        let is_twice = *listing == Listing::RunsTwice;
        *listing = if is_twice { Listing::Runs } else { Listing::Rests };
        is_twice
    }
}

impl std::fmt::Debug for Yard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Yard").finish_non_exhaustive()
    }
}
