//! Finds the addresses of names.
//!
//! Judges none of them. Nothing here remembers an answer: each connection is made to the addresses
//! that were found, and checked, for it.

use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use ic_types::host::DnsName;
use tokio::sync::Semaphore;

/// Finds the addresses of names.
pub trait Resolve: Send + Sync {
    /// Returns every address of `name`; the port is for resolvers that answer by service.
    fn resolve(&self, name: DnsName, port: u16) -> Resolving<'_>;
}

/// The addresses of a name, once they are found.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The resolver of this machine.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    /// The system's resolver blocks a thread for as long as it likes, even if nobody waits for it
    /// any more; others must find threads too.
    threads: Arc<Semaphore>,
}

/// How many threads may wait for the system's resolver.
const THREADS_MAX: usize = 16;

impl SystemResolver {
    /// Makes a resolver; all cages of a session share it.
    pub fn new() -> Self {
        Self { threads: Arc::new(Semaphore::new(THREADS_MAX)) }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: DnsName, port: u16) -> Resolving<'_> {
        let threads = Arc::clone(&self.threads);
        Box::pin(async move {
            let thread = threads.acquire_owned().await;
            let lookup = tokio::task::spawn_blocking(move || {
                let _thread = thread;
                (name.as_str(), port)
                    .to_socket_addrs()
                    .map(|found| found.map(|it| it.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use ic_types::Host;

    use super::*;

    #[tokio::test]
    async fn the_system_knows_itself() {
        let Host::Name(localhost) = "localhost".parse().unwrap() else { panic!("an address") };
        let found = SystemResolver::new().resolve(localhost, 80).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }
}
