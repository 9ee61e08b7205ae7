//! `ironcurtain mcp-server fetch`: pages of the web, and how the server gets to them.
//!
//! In a cage the host makes its connections. Elsewhere this process makes them itself, with the same
//! checks of names and addresses; nothing is judged by a policy, and nothing is recorded.

use std::net::TcpStream;
use std::sync::Arc;

use ic_egress::{
    Allowed, Closed, Connection, Egress, Ledger, LedgerError, Refused, SystemResolver, Target,
};
use ic_home::Environment;
use ic_policy::DomainSet;
use ic_servers::Fetch;
use ic_servers::fetch::tls::Trust;
use ic_servers::fetch::way::{self, Connect, Deadline, Nowhere, Proxy};
use ic_types::ServerName;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;

use crate::error::Failure;

/// Serve pages of the web
///
/// Returns readable text. Follows no redirect: it says where one leads. Without options every public
/// name is fetched, and no address that is not public.
#[derive(Debug, clap::Args)]
pub(crate) struct FetchArgs {
    /// Host that may be fetched, as in `allowedDomains`; can be given several times
    #[arg(long, value_name = "HOST", conflicts_with_all = ["proxy", "nowhere"])]
    allow: Vec<String>,
    /// Reach no address that is not public, even if `--allow` names it with its port
    #[arg(long, requires = "allow")]
    public_only: bool,
    /// Connect through an HTTP proxy at this port of the machine, and in no other way
    #[arg(long, value_name = "PORT", conflicts_with = "nowhere")]
    proxy: Option<u16>,
    /// Reach no host
    #[arg(long)]
    nowhere: bool,
}

/// Makes the server.
pub(crate) fn open(args: &FetchArgs, environment: &Environment) -> Result<Fetch, Failure> {
    let connect: Box<dyn Connect> = match args.proxy {
        _ if args.nowhere => Box::new(Nowhere),
        Some(port) => Box::new(Proxy { port }),
        None => Box::new(Direct::new(args)?),
    };
    let trust = match environment.certificates() {
        Some(file) => Trust::File(file.as_path().to_owned()),
        None => Trust::System,
    };
    Fetch::new(connect, trust).map_err(|error| Failure::config(error.to_string()))
}

/// Connections that this process makes itself.
struct Direct {
    runtime: Runtime,
    egress: Egress,
    allowed: Allowed,
    server: ServerName,
}

impl Direct {
    fn new(args: &FetchArgs) -> Result<Self, Failure> {
        let public = ["*".to_owned()];
        let patterns = if args.allow.is_empty() { &public[..] } else { &args.allow };
        let list = DomainSet::parse(patterns.iter().map(String::as_str))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let allowed = Allowed::new(vec![list], DomainSet::new(Vec::new()))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let allowed = if args.public_only { allowed.public_only() } else { allowed };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::config(error.to_string()))?;
        let server =
            "fetch".parse().map_err(|_| Failure::config("`fetch` is the name of no server"))?;
        let (resolver, ledger) = (Arc::new(SystemResolver::new()), Arc::new(NoLog));
        Ok(Self {
            runtime,
            egress: Egress::new(resolver, ledger, TaskTracker::new()),
            allowed,
            server,
        })
    }
}

impl Connect for Direct {
    fn connect(&self, target: &way::Target, deadline: &Deadline) -> Result<TcpStream, String> {
        let late = || format!("there was no connection to `{target}` in time");
        let (host, left) = (target.host.parse(), deadline.left().ok_or_else(late)?);
        let wanted = host.ok().and_then(|host| Target::new(host, target.port));
        let wanted = wanted.ok_or_else(|| format!("`{target}` is not a host with a port"))?;
        let connecting = self.egress.connect(self.server.clone(), self.allowed.clone(), &wanted);
        let made = self.runtime.block_on(async { tokio::time::timeout(left, connecting).await });
        let stream = made.map_err(|_| late())??;
        let stream = stream.into_std().and_then(|stream| {
            stream.set_nonblocking(false)?;
            Ok(stream)
        });
        stream.map_err(|error| format!("the connection to `{target}` cannot be used: {error}"))
    }
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direct").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// There is no session, and so no log.
struct NoLog;

impl Ledger for NoLog {
    fn opened(&self, _: &Connection) -> Result<(), LedgerError> {
        Ok(())
    }

    fn refused(&self, _: &Refused) {}

    fn closed(&self, _: &Connection, _: &Closed) {}
}
