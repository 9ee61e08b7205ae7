//! The certificates that a provider is recognised by: the system's, and those in a file of the user's.
//!
//! Nothing is built in, so that whoever keeps a machine decides whom it trusts.

use std::path::{Path, PathBuf};

use ic_home::{FileError, file};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The longest file with certificates.
const BYTES_MAX: u64 = 16 << 20;

/// Where systems keep the certificates that they trust; the first that is there counts.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// A file cannot be read.
    #[error("cannot read certificates")]
    File(#[from] FileError),
    /// The user's file is not there, or holds no certificate.
    #[error("`SSL_CERT_FILE` names `{}`, which {reason}", .path.display())]
    Extra {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system has none, and the user named none.
    #[error(
        "this system has no file with certificates; install `ca-certificates`, or name one with `SSL_CERT_FILE`"
    )]
    None,
}

/// Loads what is trusted; `extra` is added to what the system trusts.
pub fn load(extra: Option<&Path>) -> Result<RootCertStore, RootsError> {
    let mut store = RootCertStore::empty();
    for bundle in BUNDLES {
        if let Some(bytes) = file::read_following(bundle, BYTES_MAX)? {
            add(&mut store, &bytes);
            break;
        }
    }
    if let Some(path) = extra {
        let wrong = |reason| RootsError::Extra { path: path.to_owned(), reason };
        let bytes = file::read_following(path, BYTES_MAX)?;
        let bytes = bytes.ok_or_else(|| wrong("is not there"))?;
        if add(&mut store, &bytes) == 0 {
            return Err(wrong("contains no certificate"));
        }
    }
    if store.is_empty() { Err(RootsError::None) } else { Ok(store) }
}

/// Adds the certificates of a file; returns how many. One that is odd does not spoil the others.
fn add(store: &mut RootCertStore, pem: &[u8]) -> usize {
    let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
    store.add_parsable_certificates(certificates).0
}
