//! TLS as a client: whom to believe, and the handshake.
//!
//! The certificates are those of this system, and of a file that its owner names. There is no switch to
//! believe anybody else.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use url::{Host, Url};

use super::deadline::Wire;
use super::fault::Fault;

/// Where systems keep the certificates that they believe.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whose certificates are believed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Trust {
    /// Those that this system believes.
    System,
    /// Those in this file too.
    File(PathBuf),
}

/// Makes what every handshake starts from; or says why nobody can be believed.
pub fn config(trust: &Trust) -> Result<Arc<ClientConfig>, String> {
    let found = BUNDLES.iter().find_map(|path| roots(Path::new(path)).ok());
    let roots = match trust {
        Trust::File(path) => {
            let mut all = found.unwrap_or_else(RootCertStore::empty);
            all.extend(roots(path)?.roots);
            all
        }
        Trust::System => found.ok_or_else(|| {
            "this system has no certificates; install `ca-certificates`, or name a file in \
             SSL_CERT_FILE"
                .to_owned()
        })?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let read = CertificateDer::pem_file_iter(path)
        .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    let mut roots = RootCertStore::empty();
    // One that cannot be read or used is not believed, and the others are.
    roots.add_parsable_certificates(read.flatten());
    match roots.is_empty() {
        true => Err(format!("`{}` contains no certificate that can be used", path.display())),
        false => Ok(roots),
    }
}

/// Begins TLS with the host of `url`.
pub(super) fn wrap<'a>(
    config: Arc<ClientConfig>,
    url: &Url,
    wire: Wire<'a>,
) -> Result<StreamOwned<ClientConnection, Wire<'a>>, Fault> {
    let name = match url.host() {
        Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).ok(),
        Some(Host::Ipv4(address)) => Some(ServerName::from(std::net::IpAddr::from(address))),
        Some(Host::Ipv6(address)) => Some(ServerName::from(std::net::IpAddr::from(address))),
        None => None,
    };
    let name = name.ok_or_else(|| Fault::Tls("the host's name fits no certificate".to_owned()))?;
    let mut connection =
        ClientConnection::new(config, name).map_err(|error| Fault::Tls(error.to_string()))?;
    let mut wire = wire;
    while connection.is_handshaking() {
        connection.complete_io(&mut wire).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Fault::Tls(error.to_string()),
            io::ErrorKind::UnexpectedEof => {
                Fault::Tls("the host ended the connection during the handshake".to_owned())
            }
            _ => Fault::of_io(error),
        })?;
    }
    Ok(StreamOwned::new(connection, wire))
}
