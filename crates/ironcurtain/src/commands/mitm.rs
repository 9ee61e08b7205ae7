//! `ironcurtain mitm`: a program behind the model gate, or the gate alone.
//!
//! ```text
//! configuration ─▶ way (where the provider is, its key) ─▶ record (session, log) ─▶ Gate
//!     ─▶ caged (the program in a cage whose one door is the gate), or a port or socket and its environment
//! ```

mod caged;
mod record;
pub(crate) mod way;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ic_client::socket::Socket;
use ic_egress::Egress;
use ic_home::config::{Config, ConfigFile, Layers};
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_mitm::{
    Accept, AuditLedger, Authority, Budget, Earlier, Gate, GateSpec, Ledger, Limits, Listener,
    Stream, Surroundings,
};
use ic_model::Cost;
use ic_types::Provider;
use tokio::net::TcpListener;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use crate::commands::Exit;
use crate::commands::ca::unusable;
use crate::commands::proxy::no_socket;
use crate::error::{Failure, chain};
use crate::screen::Screen;
use crate::signals::stop_on_signals;

use record::Session;

/// Run a program behind the model gate: it reaches its model provider and nothing else, without your key
///
/// The program gets a fake key that works only here. The gate checks each request, swaps in the real key,
/// removes tools that would reach the network from the provider's side, and records tokens and cost in the
/// audit log. The program runs in a cage without network, in the sandbox of a new session.
/// Without a command, the gate runs alone and prints the environment that a program needs to find it.
#[derive(Debug, clap::Args)]
pub(crate) struct MitmArgs {
    /// Provider behind the gate: `anthropic`, `openai`, `google` or `openai-compatible`
    #[arg(long, value_name = "P")]
    provider: String,
    /// Use the login of this agent (`agent.login.<agent>`) instead of an API key
    #[arg(long, value_name = "AGENT")]
    login: Option<String>,
    /// Listen on this Unix socket; only your own user can connect
    #[arg(long, value_name = "PATH", conflicts_with_all = ["listen", "command"])]
    socket: Option<PathBuf>,
    /// Listen on this loopback address, such as `127.0.0.1:0`
    #[arg(long, value_name = "ADDRESS", conflicts_with = "command")]
    listen: Option<SocketAddr>,
    /// Directory or file that the program may read besides the system's own (can be repeated)
    #[arg(long, value_name = "PATH", requires = "command")]
    read: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(
    args: &MitmArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let provider: Provider =
        args.provider.parse().map_err(|error: ic_types::provider::InvalidModel| {
            Failure::usage(format!("`--provider`: {error}"))
        })?;
    if args.listen.is_some_and(|it| !it.ip().is_loopback()) {
        return Err(Failure::usage("`--listen` takes a loopback address only")
            .with_hint("use `--listen 127.0.0.1:0`"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    let ended = runtime.block_on(execute(args, provider, environment, screen));
    // A thread that waits for standard input must not keep us.
    runtime.shutdown_background();
    ended
}

async fn execute(
    args: &MitmArgs,
    provider: Provider,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let file = ConfigFile::read(&home)?;
    let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
    let stop = stop_on_signals()?;
    let session = Session::open(&home, &config, provider, &args.command)?;
    screen.notice(&format!("session {} ({})", session.directory.id, session.directory.name));
    let wanted = way::Wanted {
        provider,
        agent: None,
        login: args.login.as_deref(),
        earlier: Earlier::nothing(),
        packages: None,
        before: None,
        config: &config,
        environment,
    };
    let ended = match open(&session, &home, &wanted) {
        Ok(gate) if args.command.is_empty() => alone(args, &gate, &session, &stop, screen).await,
        Ok(gate) => {
            let job = caged::Job { command: &args.command, read: &args.read, session: &session };
            job.run(&gate, &config, &home, (environment, &stop), screen).await
        }
        Err(failure) => Err(failure),
    };
    session.close().await?;
    ended
}

/// Opens the gate.
fn open(session: &Session, home: &Home, wanted: &way::Wanted<'_>) -> Result<Arc<Gate>, Failure> {
    let ledger = Arc::new(AuditLedger::new(Arc::clone(&session.log)));
    let gate = open_gate(wanted, home, &session.egress(), ledger)?;
    session.write_certificate(gate.certificate())?;
    Ok(gate)
}

/// Opens the gate to the provider that is wanted, with the budget of a session.
pub(crate) fn open_gate(
    wanted: &way::Wanted<'_>,
    home: &Home,
    egress: &Egress,
    ledger: Arc<dyn Ledger>,
) -> Result<Arc<Gate>, Failure> {
    let way::Wanted { provider, config, environment, .. } = *wanted;
    let (place, pay) = wanted.find(egress.clone())?;
    let budget = &config.agent.budget;
    let spec = GateSpec {
        provider,
        place,
        pay,
        allow_keys: config.mitm.allow_keys.get(&provider).cloned().unwrap_or_default(),
        budget: Budget {
            cost_max: budget.cost_usd_max.map(Cost::from_dollars),
            tokens_max: budget.tokens_max,
            duration_max: budget.duration_max,
        },
        earlier: wanted.earlier,
        limits: Limits::SESSION,
        authority: Authority::open(home, SystemClock.now()).map_err(|it| unusable(&it))?,
        egress: egress.clone(),
        network: environment.network(),
        ledger,
        clock: Arc::new(SystemClock),
        packages: wanted.packages.clone(),
        before: wanted.before.clone(),
    };
    Gate::open(spec).map_err(|error| Failure::environment(chain(&error)))
}

/// Runs the gate without a program, until somebody ends it.
async fn alone(
    args: &MitmArgs,
    gate: &Arc<Gate>,
    session: &Session,
    stop: &CancellationToken,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let certificate = session.certificate().display().to_string();
    let served = if let Some(path) = &args.socket {
        let socket = Socket::bind(path).await.map_err(no_socket)?;
        print_environment(gate, None, &certificate, screen)?;
        screen.notice(&format!("the model gate listens on {}; Ctrl-C ends it", path.display()));
        Arc::clone(gate).serve(OwnSocket(socket), stop).await
    } else {
        let address = args.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let failed = |source| {
            Failure::environment(format!("cannot listen on {address}")).with_source(source)
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let proxy = format!("http://{}", listener.local_addr().map_err(failed)?);
        print_environment(gate, Some(&proxy), &certificate, screen)?;
        screen.notice(&format!("the model gate listens on {proxy}; Ctrl-C ends it"));
        Arc::clone(gate).serve(Listener::Tcp(listener), stop).await
    };
    served.map_err(|source| Failure::environment("the model gate failed").with_source(source))?;
    screen.notice(&told(gate));
    Ok(Exit::Success)
}

/// Prints what a program needs to find the gate, for a shell.
fn print_environment(
    gate: &Gate,
    proxy: Option<&str>,
    certificate: &str,
    screen: &mut Screen,
) -> Result<(), Failure> {
    for (name, value) in gate.environment(&Surroundings { proxy, certificate }) {
        let value = value.replace('\'', "'\\''");
        screen.line(&format!("export {name}='{value}'"))?;
    }
    screen.out().flush().map_err(Failure::output)
}

/// Says what a session has used.
pub(crate) fn told(gate: &Gate) -> String {
    let spent = gate.account().spent();
    let plural = if spent.n_requests == 1 { "request" } else { "requests" };
    format!("{} model {plural}, {} tokens, {}", spent.n_requests, spent.usage.total(), spent.cost)
}

/// A socket that only our own user connects to.
struct OwnSocket(Socket);

impl Accept for OwnSocket {
    async fn accept(&mut self) -> std::io::Result<Stream> {
        let (stream, _seat) = self.0.accept().await;
        Ok(Either::Right(stream))
    }
}
