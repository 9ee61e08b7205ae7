//! Our own certificate authority: known to the agents of this machine alone, and good for the hosts of
//! providers and package registries alone.
//!
//! Its key is a file that only the user can read, and never leaves the host. A certificate is made for
//! hosts of the list only, lives for three days, and has a key of its own.

use std::sync::Arc;
use std::time::Duration;

use ic_home::{FileError, Home, Lock, file};
use ic_types::{Digest, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, crypto::ring};
use zeroize::Zeroizing;

use crate::packages::REGISTRY_HOSTS;
use crate::provider::HOSTS;

/// How long a certificate of a host is valid: from a day before now, since clocks differ.
const LEAF_BEFORE: Duration = Duration::from_hours(24);
const LEAF_AFTER: Duration = Duration::from_hours(48);

/// The longest file.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    provider: Arc<CryptoProvider>,
}

/// An authority that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Its files cannot be used.
    #[error("cannot use the files of the certificate authority")]
    File(#[from] FileError),
    /// A certificate cannot be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A certificate cannot be used.
    #[error("cannot use a certificate")]
    Tls(#[from] rustls::Error),
    /// The host is not one of the list.
    #[error("`{0}` is not a host of a provider or of a package registry")]
    Host(String),
}

impl Authority {
    /// Takes up the authority of `home`, or makes one if there is none that serves.
    pub fn open(home: &Home, now: Timestamp) -> Result<Self, AuthorityError> {
        file::create_dir(home.ca())?;
        let _lock = Lock::acquire(home.ca_lock())?;
        match Self::read(home)? {
            Some(authority) if authority.serves(now) => Ok(authority),
            Some(_) | None => Self::make(home),
        }
    }

    /// Makes a new authority in place of the one of `home`.
    pub fn rotate(home: &Home) -> Result<Self, AuthorityError> {
        file::create_dir(home.ca())?;
        let _lock = Lock::acquire(home.ca_lock())?;
        Self::make(home)
    }

    /// Returns the certificate that agents have to trust, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Makes a certificate of `host`, with a key of its own.
    pub fn leaf(&self, host: &str, now: Timestamp) -> Result<CertifiedKey, AuthorityError> {
        if !hosts().any(|it| it == host) {
            return Err(AuthorityError::Host(host.to_owned()));
        }
        let mut params = CertificateParams::new([host.to_owned()])?;
        params.distinguished_name = named(host);
        let now = date_time_ymd(1970, 1, 1) + Duration::from_millis(now.unix_ms());
        (params.not_before, params.not_after) = (now - LEAF_BEFORE, now + LEAF_AFTER);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let leaf = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(CertifiedKey::from_der(vec![leaf.der().clone()], key, &self.provider)?)
    }

    fn make(home: &Home) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = params();
        let certificate = params.self_signed(&key)?.pem();
        // The key first: a certificate without its key would look like an authority that serves.
        file::replace(home.ca_key(), Zeroizing::new(key.serialize_pem()).as_bytes())?;
        file::replace(home.ca_certificate(), certificate.as_bytes())?;
        let provider = Arc::new(ring::default_provider());
        Ok(Self { issuer: Issuer::new(params, key), certificate, provider })
    }

    fn read(home: &Home) -> Result<Option<Self>, AuthorityError> {
        let key = file::read_own(home.ca_key(), FILE_BYTES_MAX)?.map(Zeroizing::new);
        let certificate = file::read_own(home.ca_certificate(), FILE_BYTES_MAX)?;
        let (Some(key), Some(certificate)) = (key, certificate) else { return Ok(None) };
        let key = std::str::from_utf8(&key).ok().and_then(|it| KeyPair::from_pem(it).ok());
        let (Some(key), Ok(certificate)) = (key, String::from_utf8(certificate)) else {
            return Ok(None);
        };
        let provider = Arc::new(ring::default_provider());
        Ok(Some(Self { issuer: Issuer::new(params(), key), certificate, provider }))
    }

    /// Tries whether a certificate of each host is believed by those who trust this authority.
    fn serves(&self, now: Timestamp) -> bool {
        hosts().all(|host| self.is_believed(host, now) == Some(true))
    }

    fn is_believed(&self, host: &str, now: Timestamp) -> Option<bool> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok()?).ok()?;
        let provider = Arc::clone(&self.provider);
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().ok()?;
        let leaf = self.leaf(host, now).ok()?;
        let name = ServerName::try_from(host).ok()?;
        let now = UnixTime::since_unix_epoch(Duration::from_millis(now.unix_ms()));
        let verified = verifier.verify_server_cert(leaf.cert.first()?, &[], &name, &[], now);
        Some(verified.is_ok())
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// Returns every host that it may vouch for.
fn hosts() -> impl Iterator<Item = &'static str> {
    HOSTS.into_iter().chain(REGISTRY_HOSTS.iter().map(|it| it.name))
}

/// What the authority is; it is called after the hosts of the list, so another list makes it another one.
fn params() -> CertificateParams {
    let digest = Digest::of(hosts().collect::<Vec<_>>().join(" ").as_bytes()).to_string();
    let digest: String = digest.chars().rev().take(12).collect();
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("IronCurtain model gate {digest}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2049, 1, 1));
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: hosts().map(|it| GeneralSubtree::DnsName(it.to_owned())).collect(),
        // Without this, addresses would not be constrained at all.
        excluded_subtrees: vec![
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([0; 4], 0)),
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix([0; 16], 0)),
        ],
    });
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at files, and change them")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ic_types::AbsolutePath;

    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_ms(1_795_000_000_000);

    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(directory.path()).unwrap());
        (directory, home)
    }

    /// Makes a certificate of any name, as somebody would who has stolen the key.
    fn forged(authority: &Authority, params: &CertificateParams) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        params.signed_by(&key, &authority.issuer).unwrap().der().clone()
    }

    fn verify(
        authority: &Authority,
        chain: &[CertificateDer<'static>],
        name: &str,
        now: Timestamp,
    ) -> bool {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().unwrap();
        let (leaf, above) = chain.split_first().unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_millis(now.unix_ms()));
        verifier.verify_server_cert(leaf, above, &name, &[], now).is_ok()
    }

    #[test]
    fn the_authority_stays_and_only_its_owner_reads_the_key() {
        let (_directory, home) = home();
        let first = Authority::open(&home, NOW).unwrap();
        let mode = std::fs::metadata(home.ca_key()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Authority::open(&home, NOW).unwrap();
        assert_eq!(first.certificate(), again.certificate());
        assert!(again.serves(NOW));
        let rotated = Authority::rotate(&home).unwrap();
        assert_ne!(first.certificate(), rotated.certificate());
        assert_eq!(Authority::open(&home, NOW).unwrap().certificate(), rotated.certificate());
    }

    #[test]
    fn files_that_do_not_serve_are_replaced() {
        let (_directory, home) = home();
        let first = Authority::open(&home, NOW).unwrap().certificate;
        let key = std::fs::read(home.ca_key()).unwrap();
        // The key of another authority, no key, and no certificate.
        Authority::rotate(&home).unwrap();
        let second = std::fs::read(home.ca_key()).unwrap();
        std::fs::write(home.ca_certificate(), &first).unwrap();
        let third = Authority::open(&home, NOW).unwrap();
        assert!(third.serves(NOW) && third.certificate() != first);
        assert_ne!(std::fs::read(home.ca_key()).unwrap(), second);
        std::fs::write(home.ca_key(), "no key").unwrap();
        assert!(Authority::open(&home, NOW).unwrap().serves(NOW));
        std::fs::write(home.ca_key(), &key).unwrap();
        std::fs::write(home.ca_certificate(), "no certificate").unwrap();
        assert!(Authority::open(&home, NOW).unwrap().serves(NOW));
    }

    #[test]
    fn it_vouches_for_hosts_of_providers_alone() {
        let (_directory, home) = home();
        let authority = Authority::open(&home, NOW).unwrap();
        for host in hosts() {
            let leaf = authority.leaf(host, NOW).unwrap();
            assert!(verify(&authority, &leaf.cert, host, NOW), "{host}");
            assert!(!verify(&authority, &leaf.cert, "other.example", NOW), "{host}");
        }
        for host in ["evil.example", "", "127.0.0.1", "api.anthropic.com.", "API.anthropic.com"] {
            assert!(matches!(authority.leaf(host, NOW), Err(AuthorityError::Host(_))), "{host}");
        }
        // Not even with its key.
        for name in ["evil.example", "www.google.com", "127.0.0.1", "::1"] {
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            assert!(!verify(&authority, &[forged(&authority, &params)], name, NOW), "{name}");
        }
    }

    #[test]
    fn it_makes_no_other_authority() {
        let (_directory, home) = home();
        let authority = Authority::open(&home, NOW).unwrap();
        let certificate =
            CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap();
        // `basicConstraints`, critical: an authority, and no other beneath it.
        let constraints = [
            0x30, 0x12, 0x06, 0x03, 0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x08, 0x30, 0x06,
            0x01, 0x01, 0xff, 0x02, 0x01, 0x00,
        ];
        assert!(certificate.windows(constraints.len()).any(|it| it == constraints));
    }

    #[test]
    fn a_certificate_is_valid_from_yesterday_and_for_two_days() {
        let (_directory, home) = home();
        let authority = Authority::open(&home, NOW).unwrap();
        let leaf = authority.leaf(HOSTS[0], NOW).unwrap();
        let hours =
            |n: i64| Timestamp::from_unix_ms(NOW.unix_ms().saturating_add_signed(n * 3_600_000));
        for (n, is_valid) in [(-25, false), (-23, true), (0, true), (47, true), (49, false)] {
            assert_eq!(verify(&authority, &leaf.cert, HOSTS[0], hours(n)), is_valid, "{n}");
        }
    }
}
