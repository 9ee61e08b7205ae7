//! Makes the doors: sockets in the cage's network, handed to the host before anything runs there.
//!
//! The process that makes them forgets them; what comes in is for the host alone.

use std::ffi::CString;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV6, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use super::super::{LaunchError, cannot};
use crate::cage::Network;
use crate::doors::{DESCRIPTORS_MAX, DNS_PORT, PROXY_PORT};
use crate::sys;

/// How many connections wait to be taken.
const BACKLOG: i32 = 128;

/// Makes the doors and sends them over `channel`.
pub(super) fn open(network: &Network, channel: &OwnedFd) -> Result<(), LaunchError> {
    let Network::Doors { ports, addresses } = network else { return Ok(()) };
    prepare(addresses).map_err(cannot("make the cage's network"))?;
    let made = make(ports, addresses).map_err(cannot("make the doors of the cage"))?;
    send(&made, channel).map_err(cannot("hand the doors to the host"))
}

/// Gives the network its interface and its addresses.
fn prepare(addresses: &[IpAddr]) -> std::io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    sys::switch_on_loopback(socket.as_fd())?;
    for (number, address) in addresses.iter().enumerate() {
        match address {
            // The network has these already.
            IpAddr::V4(address) if address.is_loopback() => {}
            IpAddr::V6(address) if address.is_loopback() => {}
            IpAddr::V4(address) => {
                let alias = CString::new(format!("lo:{number}"))?;
                sys::add_ipv4(socket.as_fd(), &alias, *address)?;
            }
            IpAddr::V6(address) => {
                let socket = rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None)?;
                // `lo` is the first interface of every network.
                sys::add_ipv6(socket.as_fd(), 1, *address)?;
            }
        }
    }
    Ok(())
}

fn make(ports: &[u16], addresses: &[IpAddr]) -> std::io::Result<Vec<OwnedFd>> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut made: Vec<OwnedFd> = vec![
        UdpSocket::bind((here, DNS_PORT))?.into(),
        TcpListener::bind((here, DNS_PORT))?.into(),
        TcpListener::bind((here, PROXY_PORT))?.into(),
    ];
    for port in ports.iter().filter(|port| ![DNS_PORT, PROXY_PORT].contains(port)) {
        made.push(TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port))?.into());
        for address in addresses {
            if let IpAddr::V6(address) = address {
                made.push(listen(SocketAddrV6::new(*address, *port, 0, 0))?);
            }
        }
    }
    Ok(made)
}

fn listen(address: SocketAddrV6) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET6, SocketType::STREAM, flags, None)?;
    // An address that was given a moment ago may not be in use yet.
    rustix::net::sockopt::set_ipv6_freebind(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn send(made: &[OwnedFd], channel: &OwnedFd) -> std::io::Result<()> {
    let descriptors: Vec<BorrowedFd<'_>> = made.iter().map(|made| made.as_fd()).collect();
    if DESCRIPTORS_MAX < descriptors.len() {
        return Err(std::io::Error::other("there are too many doors"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(std::io::Error::other("there is no room for the doors"));
    }
    let byte = [IoSlice::new(&[1])];
    rustix::net::sendmsg(channel, &byte, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
