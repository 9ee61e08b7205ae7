//! The whole way, tried against ourselves: a provider on loopback, a gate before it, and a client behind it.
//!
//! For `doctor`. Nothing leaves this machine, and no key of the user's takes part.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_egress::{Closed, Connection, Egress, SystemResolver};
use ic_home::environment::Network;
use ic_home::{Clock, Home};
use ic_types::{Provider, Secret, locked};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::account::{Budget, Earlier};
use crate::authority::Authority;
use crate::gate::{Gate, GateSpec, Pay};
use crate::key::RealKey;
use crate::ledger::{Asked, Ended, Ledger, LedgerError, Refused};
use crate::limits::Limits;
use crate::tunnel::Listener;
use crate::upstream::Place;

/// The key of the provider that is made for the moment.
const KEY: &str = "sk-ironcurtain-doctor-0123456789abcdef";
const BODY: &str = r#"{"model":"doctor","max_tokens":1,"messages":[]}"#;
/// How long it may take.
const WAIT: Duration = Duration::from_secs(30);
/// The longest request or answer that is read.
const BYTES_MAX: u64 = 64 << 10;

/// Tries it in `home`, which nobody else uses; returns what went wrong.
pub async fn run(home: &Home, clock: Arc<dyn Clock>) -> Result<(), String> {
    let trying = tokio::time::timeout(WAIT, trial(home, clock));
    trying.await.unwrap_or_else(|_| Err("it took longer than 30 seconds".to_owned()))
}

async fn trial(home: &Home, clock: Arc<dyn Clock>) -> Result<(), String> {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = bind().await?;
    let provider = listener.local_addr().map_err(|error| told("cannot listen", &error))?;
    let _provider = AbortOnDropHandle::new(tokio::spawn(provide(listener, Arc::clone(&heard))));
    let gate = open(home, clock, provider)?;
    let listener = bind().await?;
    let address = listener.local_addr().map_err(|error| told("cannot listen", &error))?;
    let (serving, stop) = (Arc::clone(&gate), CancellationToken::new());
    let _serving = AbortOnDropHandle::new(tokio::spawn(async move {
        serving.serve(Listener::Tcp(listener), &stop).await
    }));

    let fake = gate.fake().as_str();
    let answer = ask(&gate, address, fake).await?;
    if !answer.starts_with("HTTP/1.1 200") {
        let line = answer.lines().next().unwrap_or("nothing");
        return Err(format!("a request through the gate was answered with `{line}`"));
    }
    if answer.contains(KEY) {
        return Err("the client saw the key".to_owned());
    }
    match locked(&heard).first() {
        Some(request) if request.contains(KEY) && !request.contains(fake) => {}
        Some(_) => return Err("the provider did not get the key".to_owned()),
        None => return Err("the provider was not asked".to_owned()),
    }
    let answer = ask(&gate, address, "sk-somebody-else").await?;
    match answer.starts_with("HTTP/1.1 403") && locked(&heard).len() == 1 {
        true => Ok(()),
        false => Err("a request with another key was not refused".to_owned()),
    }
}

pub(crate) fn open(
    home: &Home,
    clock: Arc<dyn Clock>,
    provider: SocketAddr,
) -> Result<Arc<Gate>, String> {
    let authority = Authority::open(home, clock.now())
        .map_err(|error| format!("no certificate authority: {}", ic_types::chain(&error)))?;
    let url = format!("http://{provider}").parse();
    let spec = GateSpec {
        provider: Provider::Anthropic,
        place: Place {
            url: url.map_err(|_| "no address".to_owned())?,
            has_version: false,
            ca_file: None,
            is_named: true,
        },
        pay: Pay::Key(RealKey::new(Arc::new(Secret::new(KEY.to_owned())))),
        allow_keys: Vec::new(),
        budget: Budget { cost_max: None, tokens_max: None, duration_max: None },
        earlier: Earlier::nothing(),
        limits: Limits::SESSION,
        authority,
        egress: Egress::new(Arc::new(SystemResolver::new()), Arc::new(Unkept), TaskTracker::new()),
        network: Network::default(),
        ledger: Arc::new(Unkept),
        clock,
        packages: None,
        before: None,
    };
    Gate::open(spec).map_err(|error| ic_types::chain(&error))
}

async fn bind() -> Result<TcpListener, String> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).await;
    bound.map_err(|error| told("cannot listen on 127.0.0.1", &error))
}

/// Answers each request with the key that it came with.
async fn provide(listener: TcpListener, heard: Arc<Mutex<Vec<String>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let request = read_until(&mut stream, BODY).await;
        locked(&heard).push(request);
        let body = format!(r#"{{"echo":"{KEY}","usage":{{"input_tokens":1,"output_tokens":1}}}}"#);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        );
        // A gate that has gone is seen by the client.
        stream.write_all(answer.as_bytes()).await.ok();
    }
}

/// Asks once through the gate, and returns the answer.
async fn ask(gate: &Gate, address: SocketAddr, key: &str) -> Result<String, String> {
    let host = gate.rules().host;
    let failed = |error: std::io::Error| told("no connection through the gate", &error);
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    let connect = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n");
    stream.write_all(connect.as_bytes()).await.map_err(failed)?;
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    if !answer.starts_with("HTTP/1.1 200") {
        return Err("the gate does not connect to the provider".to_owned());
    }
    let untrusted = |error: &dyn std::error::Error| told("TLS with the gate fails", error);
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(gate.certificate().as_bytes());
    roots.add(certificate.map_err(|it| untrusted(&it))?).map_err(|it| untrusted(&it))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|it| untrusted(&it))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host).map_err(|it| untrusted(&it))?;
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await.map_err(|it| untrusted(&it))?;
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: {host}\r\nx-api-key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    // What has come counts, however the connection ends.
    stream.take(BYTES_MAX).read_to_end(&mut answer).await.ok();
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut text = Vec::new();
    let mut limited = stream.take(BYTES_MAX);
    let mut byte = [0];
    while !text.ends_with(end.as_bytes()) {
        match limited.read(&mut byte).await {
            Ok(1) => text.extend(byte),
            Ok(_) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn told(what: &str, error: &dyn std::error::Error) -> String {
    format!("{what}: {error}")
}

/// What writes nothing down: nobody's request is sent.
#[derive(Debug)]
struct Unkept;

impl Ledger for Unkept {
    fn asked(&self, _: &Asked) -> Result<(), LedgerError> {
        Ok(())
    }
    fn ended(&self, _: &Asked, _: &Ended) {}
    fn refused(&self, _: &Refused<'_>) {}
    fn noticed(&self, _: &str) {}
}

impl ic_egress::Ledger for Unkept {
    fn opened(&self, _: &Connection) -> Result<(), ic_egress::LedgerError> {
        Ok(())
    }
    fn refused(&self, _: &ic_egress::Refused) {}
    fn closed(&self, _: &Connection, _: &Closed) {}
}

#[cfg(test)]
mod tests {
    use ic_home::SystemClock;
    use ic_types::AbsolutePath;

    use super::*;

    #[tokio::test]
    async fn the_whole_way_works_and_says_where_it_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(directory.path()).unwrap());
        assert_eq!(run(&home, Arc::new(SystemClock)).await, Ok(()));
        let nowhere = Home::new(AbsolutePath::new("/proc/nothing-here").unwrap());
        let why = run(&nowhere, Arc::new(SystemClock)).await.unwrap_err();
        assert!(why.contains("certificate authority"), "{why}");
    }
}
