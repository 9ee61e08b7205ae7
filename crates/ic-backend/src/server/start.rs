//! How a server comes to run: started or connected to as it is trusted to be, met, and asked for its tools.
//!
//! When it is started, and what happens if that fails, is not decided here.

use std::sync::Arc;

use ic_confine::DoorsToCome;
use ic_egress::Allowed;
use ic_inventory::pins::{Identity, Pins, Standing};
use ic_inventory::servers_file::Start;
use ic_inventory::tool::{Tool, UnusableTool};
use ic_resolve::RealDisk;
use ic_types::visible;
use tokio_util::sync::CancellationToken;

use super::running::Running;
use super::side::Side;
use super::warden::Starting;
use super::{
    Connection, Guarded, Introduction, Live, START_MAX, Server, ServerNews, ToolTable, Trouble,
    Yard, handshake, process, remote,
};
use crate::launch::Launch;
use crate::locked;
use crate::planted::{PutBack, Settled, Survey, last_look};
use crate::sight::Sight;

/// Why a start is given up while something is put back.
const HURRIED: &str = "files that programs on this machine run are put back, and it has to wait";

impl Server {
    /// Starts the server, meets it and lists its tools; says why if that cannot be.
    pub(super) async fn start(self: &Arc<Self>) -> Result<(Arc<Live>, Running), Trouble> {
        if self.yard.stop.is_cancelled() {
            return Err(Trouble::ours("the session ends".to_owned()));
        }
        tracing::info!(server = %self.name, "starting");
        self.look_at_package().await.map_err(Trouble::ours)?;
        self.refuse_if_withheld().map_err(Trouble::ours)?;
        // What it may write is looked at, and nothing is put back until it runs.
        let starting = match self.is_ours {
            true => None,
            false => Some(self.yard.warden.begin_start().await),
        };
        let begun = match &self.recipe.config.start {
            Start::Url(_) => self.connect(),
            Start::Builtin(_) | Start::Command(_) => self.launch(),
        };
        let (running, connection, sight) = begun.map_err(Trouble::ours)?;
        let starting = starting.filter(|_| sight.kept().is_some());
        let hurry = starting.as_ref().map(|it| it.hurry.clone()).unwrap_or_default();
        let met = match hurry.run_until_cancelled(self.meet(&connection)).await {
            Some(met) => met,
            None => Err(Trouble::ours(HURRIED.to_owned())),
        };
        let met = match self.has_planted(&sight).await {
            true => Err(Trouble::ours("it changed what programs on this machine run".to_owned())),
            false => met,
        };
        let (introduction, table) = match met {
            Ok(met) => met,
            Err(Trouble { why, in_full }) => {
                tracing::warn!(server = %self.name, why = %visible(&why), "not started");
                connection.end(&why);
                let ending = running.stop().await;
                let _begun = starting.map(Starting::failed);
                if let Some(done) = self.put_back(&sight).await {
                    let told = done.told(self.name.as_str());
                    self.tell_planted(done);
                    return Err(Trouble::ours(told));
                }
                return Err(Trouble::ended(&why, &in_full, &ending));
            }
        };
        if introduction.capabilities.get("logging").is_some() {
            self.yard.levels.meet(&connection);
        }
        let confinement = running.confinement();
        tracing::info!(server = %self.name, %confinement, "started");
        let kept = sight.kept().map(Arc::clone);
        let guarded = kept.map(|kept| Guarded::new(kept, running.sleep()));
        let live = Live::new(connection, introduction, confinement, (sight, guarded), table);
        let live = Arc::new(live);
        self.yard.warden.register(&live);
        Ok((live, running))
    }

    /// Meets the server and lists its tools.
    async fn meet(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
    ) -> Result<(Introduction, ToolTable), Trouble> {
        match handshake::meet_and_list(connection, &self.yard.stop, START_MAX).await {
            Ok((introduction, tools, unusable)) => {
                let table = self.table(tools, unusable).map_err(Trouble::ours);
                table.map(|table| (introduction, table))
            }
            Err(error) => Err(Trouble { why: error.in_our_words(), in_full: error.to_string() }),
        }
    }

    /// Returns whether something that the host executes was changed since before the server was started.
    async fn has_planted(&self, sight: &Sight) -> bool {
        let Some(kept) = sight.kept().map(Arc::clone) else { return false };
        let judge = Arc::clone(&self.recipe.judge);
        let looking = tokio::task::spawn_blocking(move || {
            let after = Survey::of(&kept.ground, &judge, &RealDisk, Some(&kept.at_start));
            after.map(|after| kept.at_start.differs(&after, &Settled::default()))
        });
        // What cannot be looked at may have been changed.
        !matches!(looking.await, Ok(Ok(false)))
    }

    /// Puts back what the server changed while it was started; it must have ended.
    async fn put_back(&self, sight: &Sight) -> Option<PutBack> {
        if !self.has_planted(sight).await {
            sight.kept().inspect(|kept| last_look::forget(kept));
            return None;
        }
        let done = self.yard.warden.mend_unborn(&self.name, sight.kept()?).await;
        (!done.is_empty()).then_some(done)
    }

    /// Starts the process of a server that runs here.
    fn launch(self: &Arc<Self>) -> Result<(Running, Arc<Connection>, Sight), String> {
        let written = self.recipe.write_out().map_err(|fault| fault.to_string())?;
        let Launch { spec, sight, allowed } = written;
        let look = sight.kept().map(|kept| self.yard.warden.announce(&self.name, kept));
        let look = look.transpose().map_err(|error| crate::chain(&error))?;
        let server = Arc::clone(self);
        let settling = look.map(|look| self.yard.launcher.settling(look));
        let launcher = settling.as_ref().unwrap_or(&self.yard.launcher);
        let host = process::Host { launcher, ..self.host() };
        let started = process::start(&host, &spec, move |news| server.hear(news));
        if let (Err(_), Some(kept)) = (&started, sight.kept()) {
            last_look::forget(kept);
        }
        let process::Started { running, connection, doors } = started?;
        match (doors, allowed) {
            (Some(doors), Some(allowed)) => {
                self.serve_doors(doors, allowed, connection.over().clone());
            }
            (Some(doors), None) => self.serve_packages(doors, connection.over().clone()),
            (None, _) => {}
        }
        Ok((Running::Process(Box::new(running)), connection, sight))
    }

    /// Makes the way to a server that runs elsewhere.
    fn connect(self: &Arc<Self>) -> Result<(Running, Arc<Connection>, Sight), String> {
        let spec = self.recipe.remote().map_err(|fault| fault.to_string())?;
        let (server, egress) = (Arc::clone(self), &self.yard.egress);
        let tell = move |news| server.hear(news);
        let (remote, connection) = remote::start(&self.side(), egress, spec, tell)?;
        // It sees nothing of this machine; what a call names, it knows better than we do.
        Ok((Running::Remote(remote), connection, Sight::Everything))
    }

    /// Serves the doors of the server's cage, once they are there, until the server is over.
    pub(super) fn serve_doors(
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

    /// Takes the doors of a cage that has a loopback of its own, and closes them; the one to package registries
    /// is served, if there is one.
    fn serve_packages(&self, doors: DoorsToCome, over: CancellationToken) {
        let packages = self.recipe.lent.packages.clone().filter(|_| self.is_ours);
        self.yard.tasks.spawn(async move {
            let Some(Ok(doors)) = over.run_until_cancelled(doors.come()).await else { return };
            // SECURITY: names and other hosts are nobody's to look up here; what nobody listens on is closed.
            let ic_confine::Doors { ports, .. } = doors;
            if let (Some(packages), Some(listener)) = (packages, ports.into_iter().next()) {
                packages.serve(listener, over).await;
            }
        });
    }

    pub(super) fn host(&self) -> process::Host<'_> {
        process::Host { side: self.side(), launcher: &self.yard.launcher, deeds: None, aids: None }
    }

    fn side(&self) -> Side<'_> {
        let Yard { roots, tasks, .. } = &*self.yard;
        let (asks, petitions) = (self.recipe.config.asks, Some(self.petitions.clone()));
        Side { name: &self.name, roots, asks, petitions, tasks }
    }

    /// SECURITY: a server that is started in another way than it was trusted to is not started, and
    /// neither is one that nobody knows and nothing would hold.
    fn refuse_if_withheld(&self) -> Result<(), String> {
        if self.is_ours {
            return Ok(());
        }
        let pins = self.yard.pins.read().map_err(|error| crate::chain(&error))?;
        self.why_withheld(&pins).map_or(Ok(()), Err)
    }

    pub(super) fn why_withheld(&self, pins: &Pins) -> Option<String> {
        pins.why_not_started(&self.name, &self.identity_now(), self.recipe.is_held())
    }

    fn identity_now(&self) -> Identity {
        locked(&self.looked_at).clone().unwrap_or_else(|| self.identity.clone())
    }

    /// Looks at the files that the server is installed from, so that they are compared with what was trusted.
    async fn look_at_package(self: &Arc<Self>) -> Result<(), String> {
        if self.is_ours {
            return Ok(());
        }
        let server = Arc::clone(self);
        let looking = tokio::task::spawn_blocking(move || {
            let (pins, config) = (server.yard.pins.file(), &server.recipe.config);
            let package = pins.package(config, server.yard.clock.now());
            let package = package.map_err(|error| crate::chain(&error))?;
            let identity = server.identity.clone().with_package(package.as_ref());
            // A list that cannot be written costs time at the next start, and nothing else.
            let trusted = pins.read().map_err(|error| crate::chain(&error))?;
            if let (Some(package), Standing::Trusted) =
                (package, trusted.of_start(&server.name, &identity))
            {
                package.keep().ok();
            }
            *locked(&server.looked_at) = Some(identity);
            Ok(())
        });
        looking.await.unwrap_or_else(|error| Err(format!("cannot look at its package: {error}")))
    }

    /// Compares what the server lists with what is trusted; the first list is recorded.
    pub(super) fn table(
        &self,
        tools: Vec<Tool>,
        unusable: Vec<UnusableTool>,
    ) -> Result<ToolTable, String> {
        let mut pins = Pins::default();
        if !self.is_ours {
            // A tool with text that nobody sees is not trusted by itself.
            let plain = tools.iter().filter(|tool| tool.hidden_text().is_none());
            let now = self.yard.clock.now();
            let identity = self.identity_now();
            let trusted = self.yard.pins.file().trust_first(&self.name, &identity, plain, now);
            let (known, is_first) = trusted.map_err(|error| crate::chain(&error))?;
            pins = known;
            // Another session may have recorded another one first.
            if let Some(why) = self.why_withheld(&pins) {
                return Err(why);
            }
            if is_first {
                self.news(ServerNews::Recorded(tools.len()));
            }
        }
        Ok(ToolTable::new(tools, unusable).compared(&self.name, &pins, self.is_ours))
    }
}
