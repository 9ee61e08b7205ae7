//! How a server comes to run: started or connected to as it is trusted to be, met, and asked for its tools.
//!
//! When it is started, and what happens if that fails, is not decided here.

use std::sync::Arc;

use ic_confine::DoorsToCome;
use ic_egress::Allowed;
use tokio_util::sync::CancellationToken;

use super::running::Running;
use super::side::Side;
use super::{
    Connection, Live, START_MAX, Server, ServerNews, ToolTable, Trouble, Yard, handshake, process,
    remote,
};
use crate::launch::Launch;
use crate::pins::Pins;
use crate::servers_file::Start;
use crate::sight::Sight;
use crate::tool::{Tool, UnusableTool};

impl Server {
    /// Starts the server, meets it and lists its tools; says why if that cannot be.
    pub(super) async fn start(self: &Arc<Self>) -> Result<(Arc<Live>, Running), Trouble> {
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
        if introduction.capabilities.get("logging").is_some() {
            self.yard.levels.meet(&connection);
        }
        let confinement = running.confinement();
        let live = Live::new(connection, introduction, confinement, sight, table);
        Ok((Arc::new(live), running))
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
        let (server, egress) = (Arc::clone(self), &self.yard.egress);
        let tell = move |news| server.news(news);
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
        pins.why_not_started(&self.name, &self.identity, self.recipe.is_held())
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
            let trusted = self.yard.pins.file().trust_first(&self.name, &self.identity, plain, now);
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
