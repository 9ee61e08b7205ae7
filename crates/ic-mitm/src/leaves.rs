//! What the gate shows of each host: a certificate that is made once, and anew before it is too old.
//!
//! There are as many as the session has hosts, and no more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_home::Clock;
use ic_types::{Timestamp, locked};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::authority::{Authority, AuthorityError};

/// How old a certificate may become; it is valid for twice as long.
const AGE_MAX: Duration = Duration::from_hours(24);

/// The certificates of a session's hosts.
pub struct Leaves {
    authority: Authority,
    clock: Arc<dyn Clock>,
    hosts: Vec<String>,
    made: Mutex<HashMap<String, (Timestamp, Arc<ServerConfig>)>>,
}

impl Leaves {
    /// Makes certificates of `hosts`, and of no other.
    pub fn new(authority: Authority, hosts: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self { authority, clock, hosts, made: Mutex::default() }
    }

    /// Returns what TLS is spoken with in the name of `host`.
    pub fn of(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        let now = self.clock.now();
        let is_fresh = |made: &Timestamp| {
            u128::from(now.unix_ms().saturating_sub(made.unix_ms())) < AGE_MAX.as_millis()
        };
        let mut made = locked(&self.made);
        if let Some((_, config)) = made.get(host).filter(|(at, _)| is_fresh(at)) {
            return Ok(Arc::clone(config));
        }
        if !self.hosts.iter().any(|it| it == host) {
            return Err(AuthorityError::Host(host.to_owned()));
        }
        let config = Arc::new(config(self.authority.leaf(host, now)?)?);
        made.insert(host.to_owned(), (now, Arc::clone(&config)));
        Ok(config)
    }
}

impl std::fmt::Debug for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaves").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

fn config(leaf: CertifiedKey) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let resolver: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(leaf));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use ic_home::Home;
    use ic_types::AbsolutePath;

    use super::*;
    use crate::provider::HOSTS;

    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_ms(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_certificate_is_made_once_a_day_and_for_hosts_of_the_session_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(directory.path()).unwrap());
        let clock = Arc::new(Hand(AtomicU64::new(1_795_000_000_000)));
        let authority = Authority::open(&home, clock.now()).unwrap();
        let leaves = Leaves::new(authority, vec![HOSTS[0].to_owned()], Arc::clone(&clock) as _);
        let first = leaves.of(HOSTS[0]).unwrap();
        assert!(Arc::ptr_eq(&first, &leaves.of(HOSTS[0]).unwrap()));
        clock.0.fetch_add(25 * 3_600_000, Ordering::Relaxed);
        assert!(!Arc::ptr_eq(&first, &leaves.of(HOSTS[0]).unwrap()));
        // The authority would, the session does not.
        assert!(leaves.of(HOSTS[1]).is_err());
        assert!(leaves.of("evil.example").is_err());
        assert_eq!(leaves.made.lock().unwrap().len(), 1);
    }
}
