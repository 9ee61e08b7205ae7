//! Which tool was offered under which name.
//!
//! A name belongs to the first tool that has it, in the order of servers; another tool whose name
//! comes out the same is not offered, because a call could mean either.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use ic_backend::backend::Backend;
use ic_backend::server::ToolTable;
use ic_inventory::tool::offered_name;
use ic_types::{Digest, Json, Object, ServerName, ToolName};
use tokio::task::JoinSet;

use super::{Broker, planning};
use crate::locked;

/// How long a list of tools waits for servers that start.
const LIST_WAIT: Duration = Duration::from_secs(20);
/// How long any later list waits.
const LIST_WAIT_AGAIN: Duration = Duration::from_secs(2);

/// The tools that are known, by the names under which they are offered.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    tools: BTreeMap<String, (ServerName, ToolName)>,
}

/// A tool that is offered, and whose it is.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The server that has it.
    pub server: ServerName,
    /// What the server calls it.
    pub tool: ToolName,
    /// The name under which it is offered.
    pub name: String,
    /// What is said of it, as in a list of tools: text of a stranger.
    pub listed: Object,
}

impl Catalog {
    fn of<'a>(servers: impl Iterator<Item = (&'a ServerName, Arc<ToolTable>)>) -> Self {
        let mut tools = BTreeMap::new();
        for (server, table) in servers {
            for offer in table.iter() {
                let name = &offer.tool.name;
                if let Entry::Vacant(place) = tools.entry(offered_name(server, name)) {
                    place.insert((server.clone(), name.clone()));
                }
            }
        }
        Self { tools }
    }
}

/// The list of tools as clients are given it; it holds until a server's tools are others.
#[derive(Debug)]
pub struct ToolList {
    /// What it was made of, server by server.
    tables: Vec<(ServerName, Arc<ToolTable>)>,
    text: String,
    digest: Digest,
}

impl ToolList {
    /// Returns the list as JSON, without our keys.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it was made of just these tools; a table never changes, another takes its place.
    fn is_of(&self, tables: &[(ServerName, Arc<ToolTable>)]) -> bool {
        let same = |((name, table), (known, kept)): (&(_, Arc<_>), &(_, Arc<_>))| {
            name == known && Arc::ptr_eq(table, kept)
        };
        tables.len() == self.tables.len() && tables.iter().zip(&self.tables).all(same)
    }
}

impl Broker {
    /// Lists the tools that are offered; servers of which nothing is recorded are started to be asked.
    ///
    /// Servers that take too long are left out; clients hear of it when they are there.
    pub async fn list_tools(&self) -> Arc<ToolList> {
        self.wait_for_servers().await;
        let list = self.tool_list().await;
        *locked(&self.last_list) = Some(list.digest);
        list
    }

    /// Puts together what is offered, as far as nothing has to be started for it.
    ///
    /// Done ahead, while a client still says hello; the list that it asks for then is there already.
    pub(super) async fn prepare_list(&self) {
        self.unknown_servers();
        self.tool_list().await;
    }

    /// Returns the list as it is now; while no server's tools change it is the same one.
    async fn tool_list(&self) -> Arc<ToolList> {
        // Held to the end: who comes second waits for the list instead of making another.
        let mut kept = self.tool_list.lock().await;
        let tables = self.servers.iter().filter_map(|(name, it)| Some((name.clone(), it.tools()?)));
        let tables: Vec<_> = tables.collect();
        if let Some(list) = &*kept
            && list.is_of(&tables)
        {
            return Arc::clone(list);
        }
        let tools = self.offered().await;
        let mut text = String::from("[");
        for OfferedTool { listed, .. } in &tools {
            text.push_str(if text.len() == 1 { "" } else { "," });
            Json::write_object(&mut text, listed);
        }
        text.push(']');
        let digest = Digest::of(text.as_bytes());
        // What servers say of what they have is text of strangers, like any result.
        let text = self.redactor.mask_own_keys(text);
        let list = Arc::new(ToolList { tables, text, digest });
        *kept = Some(Arc::clone(&list));
        list
    }

    /// Lists the tools that are offered, server by server; servers that have to be asked are started.
    pub async fn list_by_server(&self) -> Vec<OfferedTool> {
        self.wait_for_servers().await;
        *locked(&self.last_list) = Some(self.tool_list().await.digest);
        self.offered().await
    }

    /// Starts servers that have to be asked for their tools, and waits a while for them.
    async fn wait_for_servers(&self) {
        let mut starting = JoinSet::new();
        for server in self.unknown_servers() {
            starting.spawn(server.start());
        }
        let all = async { while starting.join_next().await.is_some() {} };
        let wait = match locked(&self.last_list).is_some() {
            // Whoever was given a list hears of it when another server is there.
            true => LIST_WAIT_AGAIN,
            false => LIST_WAIT,
        };
        tokio::time::timeout(wait, all).await.ok();
        // Starting goes on in tasks of its own; only our waiting ends here.
    }

    /// Compares what is known of servers with what is trusted now, and returns those of which only they
    /// themselves can say what they offer.
    fn unknown_servers(&self) -> Vec<Arc<dyn Backend>> {
        let mut others = self.servers.values().filter(|it| it.builtin().is_none()).peekable();
        // They share one file, which is read once for all of them.
        let trusted = others.peek().and_then(|server| server.trusted());
        let unknown = others.filter(|server| {
            server.compare_again(trusted.as_deref());
            server.has_to_be_asked(trusted.clone())
        });
        unknown.cloned().collect()
    }

    /// Returns whether clients were given another list than they would be given now.
    pub(super) async fn is_list_outdated(&self) -> bool {
        let now = self.tool_list().await.digest;
        locked(&self.last_list).is_some_and(|last| last != now)
    }

    async fn offered(&self) -> Vec<OfferedTool> {
        self.renew_catalog().await;
        let catalog = Arc::clone(&*self.catalog.read().await);
        let tools = catalog.tools.iter();
        let tools = tools.filter_map(|(name, (server, tool))| self.entry(name, server, tool));
        tools.chain(planning::offered_tool()).collect()
    }

    fn entry(&self, name: &str, server: &ServerName, tool: &ToolName) -> Option<OfferedTool> {
        let table = self.servers.get(server)?.tools()?;
        let offer = table.get(tool)?;
        match offer.withheld {
            Some(_) => None,
            None => Some(OfferedTool {
                server: server.clone(),
                tool: tool.clone(),
                name: name.to_owned(),
                listed: offer.tool.offered(name),
            }),
        }
    }

    /// Returns the configured server whose tools have names like `name`.
    pub(super) fn server_of(&self, name: &str) -> Option<Arc<dyn Backend>> {
        let is_of = |server: &ServerName| {
            name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
        };
        // `a` and `a_` can both fit `a___b`; the catalog knows, if it has the name.
        if let Ok(catalog) = self.catalog.try_read()
            && let Some((server, _)) = catalog.tools.get(name)
        {
            return self.servers.get(server).cloned();
        }
        self.servers.iter().find(|(server, _)| is_of(server)).map(|(_, server)| Arc::clone(server))
    }

    /// Returns the tool that is offered under `name`, and its server.
    pub(super) async fn tool_of(&self, name: &str) -> Option<(Arc<dyn Backend>, ToolName)> {
        let known = self.catalog.read().await.tools.get(name).cloned();
        let (server, tool) = if let Some(known) = known {
            known
        } else {
            // Its server may have come up since.
            self.renew_catalog().await;
            self.catalog.read().await.tools.get(name).cloned()?
        };
        Some((Arc::clone(self.servers.get(&server)?), tool))
    }

    pub(super) async fn renew_catalog(&self) {
        let known = self.servers.iter().filter_map(|(name, it)| Some((name, it.tools()?)));
        let catalog = Catalog::of(known);
        *self.catalog.write().await = Arc::new(catalog);
    }
}
