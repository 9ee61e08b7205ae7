//! A web server on loopback that follows a script: what it says, how it says it, and what it was asked.
//!
//! Each path has its answer; what is not in the script is not found. It keeps every request, so that a
//! test can see what reached it and what did not. One request for each connection, in the clear or in TLS
//! with a certificate that was made for the test and that nobody else believes.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "test support: a failure is a failed test"
)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A web server that runs until the test ends.
#[derive(Debug)]
pub struct Web {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    /// The certificate that has to be believed, in PEM, if TLS is spoken.
    authority: Option<String>,
}

/// What is said to whoever asks for a path.
#[derive(Clone, Debug)]
pub enum Says {
    /// These bytes, and then the connection ends.
    Bytes(Vec<u8>),
    /// A page that says how many requests came, this one included.
    Count,
    /// These bytes, and then these others without end.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes one by one, a while apart, and then nothing more; the connection stays open.
    Drip(Vec<u8>),
}

impl Says {
    /// A page of this type.
    pub fn page(content_type: &str, body: impl AsRef<[u8]>) -> Self {
        Self::with(&format!("Content-Type: {content_type}\r\n"), body)
    }

    /// An answer with these header lines.
    pub fn with(headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// A redirect to `location`.
    pub fn redirect(location: &str) -> Self {
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        Self::Bytes(head.into_bytes())
    }
}

impl Web {
    /// Starts a server; the script is made from the port that it got.
    pub fn start(script: impl FnOnce(u16) -> Vec<(&'static str, Says)>) -> Self {
        Self::start_with(None, script)
    }

    /// Starts a server that speaks TLS and is called `localhost`.
    pub fn start_tls(script: impl FnOnce(u16) -> Vec<(&'static str, Says)>) -> Self {
        Self::start_with(Some(identity()), script)
    }

    fn start_with(
        tls: Option<(Arc<ServerConfig>, String)>,
        script: impl FnOnce(u16) -> Vec<(&'static str, Says)>,
    ) -> Self {
        let (tls, authority) = tls.unzip();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let script: HashMap<&str, Says> = script(port).into_iter().collect();
        let (script, kept) = (Arc::new(script), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (script, kept, tls) = (Arc::clone(&script), Arc::clone(&kept), tls.clone());
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_mins(1))).ok();
                    match tls {
                        None => serve(stream, &script, &kept),
                        Some(tls) => {
                            let connection = ServerConnection::new(tls).expect("a connection");
                            serve(StreamOwned::new(connection, stream), &script, &kept);
                        }
                    }
                });
            }
        });
        Self { port, asked, authority }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of `path`.
    pub fn url(&self, path: &str) -> String {
        match self.authority {
            None => format!("http://127.0.0.1:{}{path}", self.port),
            Some(_) => format!("https://localhost:{}{path}", self.port),
        }
    }

    /// Returns the certificate that has to be believed, in PEM.
    pub fn authority(&self) -> &str {
        self.authority.as_deref().unwrap_or_default()
    }

    /// Returns the requests that came, heads only, oldest first.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the paths that were asked for, oldest first.
    pub fn paths(&self) -> Vec<String> {
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.asked().iter().map(path).collect()
    }
}

/// A certificate of `localhost`, with its key, and the authority that signed it, in PEM.
#[derive(Debug)]
pub struct Identity {
    /// What has to be believed.
    pub authority: String,
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    tls: Arc<ServerConfig>,
}

impl Identity {
    /// Makes an identity that nobody has had before.
    pub fn new() -> Self {
        make_identity()
    }

    /// Returns what a server speaks TLS with.
    pub(crate) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls)
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

fn identity() -> (Arc<ServerConfig>, String) {
    let Identity { tls, authority, .. } = Identity::new();
    (tls, authority)
}

/// Makes an authority, and a certificate of `localhost` that it signed.
fn make_identity() -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
    let (certificate, key_text) = (leaf.pem(), key.serialize_pem());
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .expect("a certificate with its key");
    Identity { authority, certificate, key: key_text, tls: Arc::new(config) }
}

/// Whoever goes away is not told anything more.
fn serve(mut stream: impl Read + Write, script: &HashMap<&str, Says>, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    // What is sent along is read, or whoever sends it would be cut off.
    let length = head.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").and_then(|it| it.trim().parse::<usize>().ok())
    });
    if stream.read_exact(&mut vec![0; length.unwrap_or(0)]).is_err() {
        return;
    }
    let n_asked = {
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(head);
        asked.len()
    };
    let not_found =
        Says::Bytes(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone".to_vec());
    // Tests vary what comes after a question mark.
    let known = path.split('?').next().unwrap_or_default();
    match script.get(known).unwrap_or(&not_found) {
        Says::Count => say(&mut stream, &Says::page("text/plain", n_asked.to_string())),
        says => say(&mut stream, says),
    }
}

fn say(stream: &mut (impl Read + Write), says: &Says) {
    match says {
        Says::Bytes(bytes) => drop(stream.write_all(bytes)),
        // It is made a page of before.
        Says::Count => {}
        Says::Endless(first, then) => {
            let mut said = stream.write_all(first);
            while said.is_ok() {
                said = stream.write_all(then);
            }
        }
        Says::Drip(bytes) => {
            for byte in bytes {
                if stream.write_all(&[*byte]).and_then(|()| stream.flush()).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // Until the other side has had enough.
            stream.read_exact(&mut [0]).ok();
        }
    }
    stream.flush().ok();
}
