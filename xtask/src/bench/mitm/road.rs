//! The two ways to the provider: TLS straight to it, and through the gate of a session.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use ic_testkit::Place;
use ic_testkit::proxy::Process;
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::provider::Provider;

/// The host that agents know the provider by.
pub(super) const HOST: &str = "api.anthropic.com";
/// The key that the provider would be paid with.
pub(super) const KEY: &str = "sk-ant-real-0123456789abcdefghij";

/// A way to the provider.
#[derive(Clone, Debug)]
pub(super) struct Road {
    tls: Arc<ClientConfig>,
    address: SocketAddr,
    host: &'static str,
    key: String,
    /// Whether a tunnel is asked for first.
    is_gate: bool,
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    road: Road,
}

/// A gate of its own, as a process.
#[derive(Debug)]
pub(super) struct Gate {
    child: Child,
    process: Process,
    /// The way through it.
    pub(super) road: Road,
}

impl Road {
    /// Straight to the provider.
    pub(super) fn direct(provider: &Provider) -> anyhow::Result<Self> {
        Ok(Self {
            tls: trusting(&provider.authority)?,
            address: provider.address,
            host: "localhost",
            key: KEY.to_owned(),
            is_gate: false,
        })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> anyhow::Result<Connection> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        if self.is_gate {
            let head = format!("CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") {
                answer.push(stream.read_u8().await?);
            }
            ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        }
        let name = ServerName::try_from(self.host)?;
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, road: self.clone() })
    }
}

impl Connection {
    /// Sends a request with this message, and returns the answer once its head is there.
    pub(super) async fn send(
        &mut self,
        message: &str,
        is_stream: bool,
    ) -> anyhow::Result<Incoming> {
        let body = format!(
            r#"{{"model":"claude-sonnet-4-6","max_tokens":64,"stream":{is_stream},"messages":[{{"role":"user","content":"{message}"}}]}}"#
        );
        let request = Request::post("/v1/messages")
            .header("host", self.road.host)
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", &self.road.key)
            .body(Full::new(Bytes::from(body)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        if !status.is_success() {
            let said = response.into_body().collect().await?.to_bytes();
            bail!("{status}: {}", String::from_utf8_lossy(&said));
        }
        Ok(response.into_body())
    }

    /// Sends a request and reads the whole answer; returns how long that took.
    pub(super) async fn ask(&mut self, message: &str) -> anyhow::Result<Duration> {
        let start = Instant::now();
        let answer = self.send(message, false).await?.collect().await?.to_bytes();
        let elapsed = start.elapsed();
        ensure!(answer.ends_with(b"}"), "the answer is cut: {answer:?}");
        Ok(elapsed)
    }
}

impl Gate {
    /// Starts a gate in a home that is configured for `provider`.
    pub(super) fn start(place: &Place) -> anyhow::Result<Self> {
        let words = ["mitm", "--provider", "anthropic", "--listen", "127.0.0.1:0"];
        let mut child = place.command(words).stderr(Stdio::null()).spawn()?;
        let process = Process::hold(child.id());
        let stdout = child.stdout.take().context("standard output is piped")?;
        let mut found: HashMap<String, String> = HashMap::new();
        let mut lines = BufReader::new(stdout).lines();
        let names = ["HTTPS_PROXY", "ANTHROPIC_API_KEY", "SSL_CERT_FILE"];
        while !names.iter().all(|name| found.contains_key(*name)) {
            let line = lines.next().context("the gate did not start")??;
            let line = line.strip_prefix("export ").unwrap_or(&line);
            let (name, value) = line.split_once('=').context("a variable")?;
            found.insert(name.to_owned(), value.trim_matches('\'').to_owned());
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let of = |name: &str| found.get(name).cloned().unwrap_or_default();
        let certificate = std::fs::read_to_string(of("SSL_CERT_FILE"))?;
        let road = Road {
            tls: trusting(&certificate)?,
            address: of("HTTPS_PROXY").trim_start_matches("http://").parse()?,
            host: HOST,
            key: of("ANTHROPIC_API_KEY"),
            is_gate: true,
        };
        Ok(Self { child, process, road })
    }

    /// Returns the memory that it takes, its share of what it has in common with others included.
    pub(super) fn memory_kib(&self) -> anyhow::Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).context("`Pss`")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// Ends it.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.process.send(Signal::TERM);
        let status = self.child.wait()?;
        ensure!(status.success(), "the gate ended with {status}");
        Ok(())
    }
}

/// Makes a home whose provider is `provider`.
pub(super) fn home(binary: &std::path::Path, provider: &Provider) -> anyhow::Result<Place> {
    let place = Place::new(binary).with_variable("ANTHROPIC_API_KEY", KEY);
    let authority = place.write("provider.pem", &provider.authority);
    let upstream = serde_json::json!({
        "url": format!("https://localhost:{}", provider.address.port()),
        "caFile": authority,
    });
    let words = ["config", "set", &format!("mitm.upstreams.{HOST}"), &upstream.to_string()];
    let set = place.run(words);
    ensure!(set.code == 0, "{}", set.stderr);
    Ok(place)
}

fn trusting(authority: &str) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Every new connection is a whole handshake, as that of a program that was just started.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
