//! The host's side of a cage's network: sockets that were made in the cage, and are ours.
//!
//! The launcher makes them while it still may, and sends their descriptors. Whoever connects in the
//! cage is answered by the host; no process in the cage has a hand in it. What is answered is not
//! known here.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;

use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::Interest;
use tokio::net::UnixStream as AsyncUnixStream;

use crate::cage::Network;

/// Where a cage looks names up.
pub const DNS_PORT: u16 = 53;
/// Where a cage has an HTTP proxy, on `127.0.0.1`.
pub const PROXY_PORT: u16 = 3128;

/// The sockets of one cage on which the host listens.
#[derive(Debug)]
pub struct Doors {
    /// Where names are looked up.
    pub dns_udp: UdpSocket,
    /// Where names with long answers are looked up.
    pub dns_tcp: TcpListener,
    /// The HTTP proxy.
    pub proxy: TcpListener,
    /// The ports on which any connection is taken.
    pub ports: Vec<TcpListener>,
}

/// Doors of a cage that is being made.
#[derive(Debug)]
pub struct DoorsToCome {
    channel: AsyncUnixStream,
}

/// The most descriptors that are taken: `dns_udp`, `dns_tcp`, `proxy`, and the ports, each once for
/// IPv4 and once for every IPv6 address.
pub(crate) const DESCRIPTORS_MAX: usize = 253;

impl DoorsToCome {
    pub(crate) fn new(channel: UnixStream) -> io::Result<Self> {
        channel.set_nonblocking(true)?;
        Ok(Self { channel: AsyncUnixStream::from_std(channel)? })
    }

    /// Waits until the cage has made its doors; an error means that there is no cage.
    pub async fn come(self) -> io::Result<Doors> {
        let receive = || receive(&self.channel);
        let descriptors = self.channel.async_io(Interest::READABLE, receive).await?;
        let mut descriptors = descriptors.into_iter();
        let missing = || io::Error::new(io::ErrorKind::UnexpectedEof, "the cage has no doors");
        let mut next = || descriptors.next().ok_or_else(missing);
        let dns_udp = UdpSocket::from(next()?);
        let (dns_tcp, proxy) = (TcpListener::from(next()?), TcpListener::from(next()?));
        let ports = descriptors.map(TcpListener::from).collect();
        Ok(Doors { dns_udp, dns_tcp, proxy, ports })
    }
}

fn receive(channel: &AsyncUnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0_u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(channel, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(descriptors)
}

impl Network {
    /// Returns whether the host has to listen.
    pub(crate) fn has_doors(&self) -> bool {
        match self {
            Self::None => false,
            Self::Doors { .. } => true,
        }
    }
}
