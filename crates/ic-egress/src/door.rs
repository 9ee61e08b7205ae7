//! The two doors through which connections leave: the proxy, and ports that pass for the host's own.
//!
//! They find out what is wanted, and leave everything else to the cage.

use std::net::IpAddr;
use std::sync::Arc;

use ic_types::{Host, locked};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::allowed::meant;
use crate::answer::CONNECTED;
use crate::cage::Cage;
use crate::gate::{Gate, Manner};
use crate::head::{self, HEAD_MAX, Read};
use crate::ledger::Door;
use crate::limits;
use crate::refusal::Refusal;
use crate::relay::Start;
use crate::request::Asked;
use crate::target::Target;

/// Serves a connection that a program made to what it took for the host itself.
pub(crate) async fn serve_port(cage: Arc<Cage>, client: TcpStream) {
    // Without an address there is nobody to connect to.
    let Ok(local) = client.local_addr() else { return };
    let manner = match local.port() {
        443 => Manner::Tls,
        80 => Manner::Http,
        _ => Manner::Unknown,
    };
    let Some(target) = cage.wanted(local.ip(), local.port()) else {
        cage.refuse(Door::Port, None, Some(local.port()), Refusal::Nobody);
        return cage.dismiss(client, manner, None, Refusal::Nobody.into()).await;
    };
    match cage.open(Door::Port, &target).await {
        Ok(upstream) => cage.carry(client, &[], upstream, Start::Held(Vec::new())).await,
        Err(unmade) => cage.dismiss(client, manner, Some(&target), unmade).await,
    }
}

impl Cage {
    /// Returns what a connection to `address` wants: the name that it stands for, or itself.
    fn wanted(&self, address: IpAddr, port: u16) -> Option<Target> {
        if let IpAddr::V4(address) = address.to_canonical()
            && let Some(name) = locked(&self.names).name_of(address)
        {
            return Target::new(Host::Name(name.clone()), port);
        }
        let meant = meant(address, port);
        let is_admitted = |target: &&Target| self.allowed.admit((*target).clone()).is_ok();
        meant.iter().find(is_admitted).or(meant.first()).cloned()
    }
}

/// Serves a connection to the proxy.
pub(crate) async fn serve_proxy(cage: Arc<Cage>, mut client: TcpStream) {
    let mut held = Vec::new();
    let reading = timeout(limits::HEAD, read_request(&mut client, &mut held));
    let asked = match cage.over.run_until_cancelled(reading).await {
        Some(Ok(Some(asked))) => asked,
        Some(Err(_)) => Err(Refusal::Undecided),
        // Nobody is there any more.
        Some(Ok(None)) | None => return,
    };
    match asked {
        Ok((Asked::Connect(target), rest)) => {
            cage.serve_asked(client, &target, CONNECTED, Start::Held(rest)).await;
        }
        Ok((Asked::Forward(target, request), rest)) => {
            let gate = Gate { allowed: &cage.allowed, target: &target };
            let admitted = cage.allowed.admit(target.clone()).and_then(|_| gate.admit_http());
            match admitted {
                Ok(()) => {
                    cage.serve_asked(client, &target, &[], Start::Http(request, rest)).await;
                }
                Err(why) => {
                    let (host, port) = (target.host().clone(), target.port());
                    cage.refuse(Door::Proxy, Some(host), Some(port), why.clone());
                    cage.dismiss(client, Manner::Http, Some(&target), why.into()).await;
                }
            }
        }
        Err(why) => {
            cage.refuse(Door::Proxy, None, None, why.clone());
            cage.dismiss(client, Manner::Http, None, why.into()).await;
        }
    }
}

impl Cage {
    async fn serve_asked(&self, client: TcpStream, target: &Target, greeting: &[u8], start: Start) {
        match self.open(Door::Proxy, target).await {
            Ok(upstream) => self.carry(client, greeting, upstream, start).await,
            Err(unmade) => self.dismiss(client, Manner::Http, Some(target), unmade).await,
        }
    }
}

/// Reads what is asked, and what came after it; `None` if the client left.
async fn read_request(
    client: &mut TcpStream,
    held: &mut Vec<u8>,
) -> Option<Result<(Asked, Vec<u8>), Refusal>> {
    loop {
        let (asked, n) = match head::read(held) {
            Ok(Read::More) => {
                let room = HEAD_MAX.saturating_sub(held.len()) as u64;
                match (&mut *client).take(room).read_buf(held).await {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => continue,
                }
            }
            Ok(Read::Whole(head, n)) => match Asked::read(&head) {
                Ok(asked) => (asked, n),
                Err(why) => return Some(Err(why)),
            },
            Err(why) => return Some(Err(Refusal::Malformed(why))),
        };
        let rest = held.split_off(n.min(held.len()));
        return Some(Ok((asked, rest)));
    }
}
