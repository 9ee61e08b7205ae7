//! One server of a session: started on first use, watched while it runs, started again when it died.
//!
//! Its tools are known without it, from what was recorded when it was trusted; only one that never ran is
//! started to be asked for them.
//!
//! ```text
//! Idle ──first use──▶ Starting ──▶ Up ──it ends──▶ Down ──use, after a while──▶ Starting
//!                        └────────fails───────────▶ Down         (longer after each failure)
//! ```
//!
//! A call that was under way when a server died is not sent again: it may have acted. What a server
//! may be asked is not decided here. How it comes to run is in `server/start.rs`.

mod as_backend;
mod connection;
mod deeds;
mod errand;
pub(crate) mod handshake;
mod inbox;
mod known;
mod live;
mod petitions;
pub(crate) mod process;
mod recalled;
pub(crate) mod remote;
pub(crate) mod running;
pub(crate) mod side;
mod start;
mod table;
mod turn;
mod warden;
mod watched;
mod yard;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_inventory::pins::{Identity, Pins};
use ic_inventory::servers_file::{BuiltinServer, ServerConfig, Start};
use ic_judge::Judge;
use ic_types::{CanonicalPath, ServerName};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use connection::Connection;
pub(crate) use connection::{Asking, Inquiry};
pub use connection::{Following, Progress, Unanswered};
pub(crate) use errand::{Errand, NoErrand};
pub use handshake::{HandshakeError, Introduction};
pub use inbox::News;
pub(crate) use live::Live;
pub(crate) use petitions::Way;
pub use petitions::{REFUSED, Raised};
use recalled::Recalled;
use running::Running;
pub use table::{Offer, ToolTable};
pub use turn::Turn;
use turn::Turns;
use warden::PATROL_EVERY;
pub(crate) use warden::{Announced, Warden};
pub(crate) use warden::{Guarded, Looked, Moment, Stillness};
pub(crate) use watched::Watched;
pub(crate) use yard::Yard;
pub use yard::{ServerNews, Up};

use crate::launch::Recipe;
use crate::locked;
use crate::planted::PutBack;
use crate::strategy::{self, Strategy};

/// How long a server may take to start and to list its tools.
pub(crate) const START_MAX: Duration = Duration::from_mins(1);
/// How long we wait before a server that died is started again, at first and at most.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];
/// A patrol takes at most this part of the time.
const PATROL_SHARE: u32 = 20;
/// A server that ran for so long has recovered from earlier failures.
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// A server, whether it runs or not.
#[derive(Debug)]
pub(crate) struct Server {
    pub name: ServerName,
    pub identity: Identity,
    is_ours: bool,
    /// How it is started.
    recipe: Recipe,
    /// Its tools, if they come with this program.
    known: Option<Arc<ToolTable>>,
    /// Its tools while it does not run.
    recalled: Recalled,
    /// Its identity with the files that it is installed from, as they were when it was started last.
    looked_at: Mutex<Option<Identity>>,
    yard: Arc<Yard>,
    phase: Mutex<Phase>,
    /// The order of its calls, if it takes them one by one.
    turns: Turns,
    /// What it asks of clients, however often it is started.
    petitions: Way,
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

/// A server that cannot be used now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the server `{server}` is not available: {why}")]
pub struct Unavailable {
    server: ServerName,
    why: Arc<str>,
}

#[cfg(feature = "testing")]
impl Unavailable {
    pub(crate) fn new(server: &ServerName, why: &str) -> Self {
        Self { server: server.clone(), why: Arc::from(why) }
    }
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

impl Down {
    /// Says why the server is not started again yet, if it is not.
    fn rests(&self) -> Option<String> {
        let wait = self.retry_at.checked_duration_since(Instant::now())?;
        let is_over = wait.is_zero();
        (!is_over).then(|| format!("{}; next try in {} ms", self.why, wait.as_millis()))
    }
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
            recalled: Recalled::default(),
            looked_at: Mutex::default(),
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

    /// Returns whether the server is our own for repositories.
    pub(crate) fn is_git(&self) -> bool {
        self.recipe.config.start == Start::Builtin(BuiltinServer::Git)
    }

    /// Returns how it serves its calls.
    pub(crate) fn strategy(&self) -> &'static dyn Strategy {
        strategy::of(&self.recipe.config.start)
    }

    /// Returns who decides in the session.
    pub(crate) fn judge(&self) -> &Judge {
        &self.recipe.judge
    }

    /// Returns its tools as they are known now, if they are: as it lists them while it runs, else as they
    /// were [recalled](Self::recall) last.
    pub(crate) fn tools(&self) -> Option<Arc<ToolTable>> {
        let known = self.known.as_ref().map(Arc::clone);
        let listed = known.or_else(|| self.running().map(|live| live.tools()));
        listed.or_else(|| self.recalled.table())
    }

    /// Returns the entry of the server.
    pub(crate) fn config(&self) -> &ServerConfig {
        &self.recipe.config
    }

    /// Returns the running server, and starts it if need be.
    pub(crate) async fn live(self: &Arc<Self>) -> Started {
        let mut starting = loop {
            let ending = {
                let mut phase = locked(&self.phase);
                match &*phase {
                    Phase::Up(live) if live.connection.over().is_cancelled() => live.gone.clone(),
                    Phase::Up(live) => return Ok(Arc::clone(live)),
                    Phase::Down(down) => match down.rests() {
                        Some(why) => return Err(self.unavailable(&why)),
                        None => break self.begin(&mut phase),
                    },
                    Phase::Starting(starting) => break starting.clone(),
                    Phase::Idle => break self.begin(&mut phase),
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

    /// Returns the running server, or nothing if its tools are known and it need not run yet.
    pub(crate) async fn met(self: &Arc<Self>) -> Result<Option<Arc<Live>>, Unavailable> {
        if self.known.is_some() {
            return Ok(None);
        }
        let is_begun = matches!(&*locked(&self.phase), Phase::Up(_) | Phase::Starting(_));
        if !is_begun {
            self.recall(self.trusted());
        }
        if is_begun || self.has_to_be_asked() {
            return self.live().await.map(Some);
        }
        // Nobody is asked about a call that cannot be made now.
        self.resting().map_or(Ok(None), Err)
    }

    /// Returns the running server, if it runs.
    pub(crate) fn running(&self) -> Option<Arc<Live>> {
        match &*locked(&self.phase) {
            Phase::Up(live) => Some(Arc::clone(live)),
            Phase::Idle | Phase::Starting(_) | Phase::Down(_) => None,
        }
    }

    /// Lists the tools of the running server again, and once more if they change meanwhile.
    async fn relist(self: Arc<Self>) {
        let starting = match &*locked(&self.phase) {
            Phase::Starting(starting) => Some(starting.clone()),
            Phase::Idle | Phase::Up(_) | Phase::Down(_) => None,
        };
        if let Some(mut starting) = starting {
            // It said so before it was up; whether it comes up is told by what runs then.
            starting.wait_for(Option::is_some).await.ok();
        }
        let Some(live) = self.running() else { return };
        if !live.begin_listing() {
            return;
        }
        loop {
            if let Err(error) = self.list_again(&live).await {
                live.connection.end(&format!("its tools cannot be listed again: {error}"));
                return;
            }
            self.news(ServerNews::Listed);
            if !live.end_listing() {
                return;
            }
        }
    }

    async fn list_again(&self, live: &Live) -> Result<(), HandshakeError> {
        let (tools, unusable) =
            handshake::list_tools(&live.connection, &self.yard.stop, START_MAX).await?;
        let table = self.table(tools, unusable).map_err(HandshakeError::Unanswered)?;
        live.change_tools(|_| table);
        Ok(())
    }

    /// Compares the tools of a running server with what is trusted by now.
    pub(crate) fn compare_again(&self, live: &Live, trusted: Option<&Pins>) {
        let Some(pins) = trusted else { return };
        live.change_tools(|tools| tools.compared(&self.name, pins, self.is_ours));
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
                    server.news(ServerNews::Up(Box::new(Up::of(&live))));
                    // Not before, or it could be down before it is up, and stay so.
                    let watching = Arc::clone(&server).watch(Arc::clone(&live), running, failures);
                    server.yard.tasks.spawn(watching);
                    if live.guarded.is_some() {
                        server.yard.tasks.spawn(Arc::clone(&server).patrol(Arc::clone(&live)));
                    }
                    Ok(live)
                }
                Err(trouble) => Err(server.down(&trouble, failures)),
            };
            // Nobody may be waiting any more.
            tell.send(Some(started)).ok();
        });
        starting
    }

    /// Waits until the server is over, and says so.
    async fn watch(self: Arc<Self>, live: Arc<Live>, running: Running, failures: u32) {
        tokio::select! {
            () = live.connection.over().cancelled() => {}
            () = self.yard.stop.cancelled() => {}
        }
        live.connection.end("the session ends");
        self.recalled.keep(live.tools());
        let why = live.connection.why_over_text();
        let ending = running.stop().await;
        if let Some(done) = self.yard.warden.ended(&live, ending.has_slept).await {
            self.tell_planted(done);
        }
        let trouble = Trouble::ended(&why, &why, &ending);
        let has_recovered = HEALTHY_AFTER <= live.since.elapsed();
        self.down(&trouble, if has_recovered { 0 } else { failures });
        live.gone.cancel();
    }

    /// Looks now and then at what the server may write, until it is over.
    async fn patrol(self: Arc<Self>, live: Arc<Live>) {
        let mut pause = PATROL_EVERY;
        loop {
            tokio::select! {
                () = live.connection.over().cancelled() => return,
                () = self.yard.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            let began = Instant::now();
            if let Looked::PutBack(done) = self.yard.warden.look(&live, Moment::Meanwhile).await {
                return self.tell_planted(done);
            }
            // What takes long is done less often.
            pause = PATROL_EVERY.max(began.elapsed().saturating_mul(PATROL_SHARE));
        }
    }

    /// Looks at what the server may write, for a call.
    pub(crate) async fn look(&self, live: &Arc<Live>, moment: Moment) -> Looked {
        self.yard.warden.look(live, moment).await
    }

    /// Stops every server that may write at `paths`; nothing if they cannot be stopped.
    pub(crate) async fn still(&self, paths: &[CanonicalPath]) -> Option<Stillness> {
        let tell = |name: ServerName, done| {
            self.yard.news.try_send((name, ServerNews::Planted(done))).ok();
        };
        self.yard.warden.still(paths, tell).await
    }

    /// Returns whether servers of another session may write at `paths`.
    pub(crate) fn others_write_at(&self, paths: &[CanonicalPath]) -> bool {
        self.yard.warden.others_write_at(paths)
    }

    /// Says that something was put back of which no call can tell.
    pub(crate) fn tell_planted(&self, done: PutBack) {
        self.news(ServerNews::Planted(done));
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

    /// Takes in what the running server says of its own accord.
    fn hear(self: &Arc<Self>, news: ServerNews) {
        match news {
            // A server that takes its time must not hold up the news of others.
            ServerNews::Said(News::ToolsChanged) => {
                self.yard.tasks.spawn(Arc::clone(self).relist());
            }
            other => self.news(other),
        }
    }

    fn news(&self, news: ServerNews) {
        let queue = match &news {
            ServerNews::Wrote(_) => &self.yard.words,
            ServerNews::Up(_)
            | ServerNews::Down(_)
            | ServerNews::Recorded(_)
            | ServerNews::Listed
            | ServerNews::Planted(_)
            | ServerNews::Said(_) => &self.yard.news,
        };
        queue.try_send((self.name.clone(), news)).ok();
    }
}
