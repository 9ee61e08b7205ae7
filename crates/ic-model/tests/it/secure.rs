//! Secure connections: a provider that the system does not know is trusted by `SSL_CERT_FILE` alone, and
//! under its own name alone.
//!
//! The certificates beside this file are made for these tests and are worth nothing elsewhere.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use ic_home::environment::Network;
use ic_model::{Client, ClientSpec, ModelError};
use ic_testkit::provider::Format;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::clients::spec;

const LISTING: &str = r#"{"data":[{"id":"claude-sonnet-4-6"}]}"#;

fn certificates(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

/// Serves a listing of models over TLS, to whoever comes.
fn server() -> SocketAddr {
    let chain = CertificateDer::from_pem_file(certificates("leaf.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates("leaf.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let mut head = [0; 4096];
            // Whoever does not trust us hangs up.
            if stream.read(&mut head).is_ok_and(|n| 0 < n) {
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{LISTING}",
                    LISTING.len()
                );
                stream.write_all(answer.as_bytes()).ok();
                stream.flush().ok();
            }
        }
    });
    address
}

async fn models(url: &str, extra_roots: Option<PathBuf>) -> Result<Vec<String>, ModelError> {
    let network = Network { extra_roots, ..Network::default() };
    // A machine without any certificates trusts nobody either.
    let client = Client::new(ClientSpec { network, ..spec(Format::Anthropic, url) })
        .map_err(|error| ModelError::Tls(error.to_string()))?;
    client.models().await
}

#[tokio::test]
async fn only_a_certificate_that_is_trusted_under_its_name_will_do() {
    let address = server();
    let url = format!("https://{address}");
    let stranger = models(&url, None).await;
    assert!(matches!(stranger, Err(ModelError::Tls(_))), "{stranger:?}");
    let trusted = models(&url, Some(certificates("ca.pem"))).await;
    assert_eq!(trusted, Ok(vec!["claude-sonnet-4-6".to_owned()]));
    let elsewhere = format!("https://localhost:{}", address.port());
    let other_name = models(&elsewhere, Some(certificates("ca.pem"))).await;
    assert!(matches!(other_name, Err(ModelError::Tls(_))), "{other_name:?}");
}
