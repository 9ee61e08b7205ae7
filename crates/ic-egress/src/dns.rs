//! The name server of a cage.
//!
//! It answers from the allowed names alone. No question is passed on, so none carries anything out
//! of the cage, not even one for a name that is allowed.

use std::sync::Arc;

use ic_types::{Host, locked};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

use crate::cage::Cage;
use crate::ledger::Door;
use crate::limits;
use crate::question::{self, Answer, Packet};
use crate::refusal::Refusal;

/// Answers the questions that come as datagrams.
pub(crate) async fn serve_datagrams(cage: Arc<Cage>, socket: UdpSocket) {
    let serving = async {
        let mut buffer = vec![0; limits::DNS_MESSAGE_MAX];
        loop {
            // A datagram that could not be sent comes back as an error of the next one.
            let Ok((n, from)) = socket.recv_from(&mut buffer).await else {
                sleep(limits::PAUSE).await;
                continue;
            };
            if let Some(reply) = buffer.get(..n).and_then(|packet| cage.reply(packet)) {
                socket.send_to(&reply, from).await.ok();
            }
        }
    };
    cage.over.run_until_cancelled(serving).await.unwrap_or(());
}

/// Answers the questions on one connection.
pub(crate) async fn serve_connection(cage: Arc<Cage>, mut stream: TcpStream) {
    let serving = async {
        for _ in 0..limits::DNS_QUESTIONS_MAX {
            let exchange = timeout(limits::DNS_MESSAGE, exchange(&cage, &mut stream));
            if !matches!(exchange.await, Ok(Some(()))) {
                return;
            }
        }
    };
    cage.over.run_until_cancelled(serving).await;
}

/// Reads one question and answers it; `None` ends the connection.
async fn exchange(cage: &Cage, stream: &mut TcpStream) -> Option<()> {
    let n = usize::from(stream.read_u16().await.ok()?);
    if limits::DNS_MESSAGE_MAX < n {
        return None;
    }
    let mut packet = vec![0; n];
    stream.read_exact(&mut packet).await.ok()?;
    let reply = cage.reply(&packet)?;
    let length = u16::try_from(reply.len()).ok()?;
    stream.write_all(&[&length.to_be_bytes()[..], &reply].concat()).await.ok()
}

impl Cage {
    /// Answers one packet, if it may be answered.
    fn reply(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let question = match question::read(packet) {
            Packet::Question(question) => question,
            Packet::Fault(reply) => return Some(reply),
            Packet::Silence => return None,
        };
        let refuse = |host, why| self.refuse(Door::Dns, host, None, why);
        let Some(name) = &question.name else {
            refuse(None, Refusal::Malformed("no host has such a name"));
            return Some(question.answer(Answer::NoSuchName));
        };
        let host = || Some(Host::Name(name.clone()));
        if let Err(why) = self.allowed.admit_name(name) {
            refuse(host(), why);
            return Some(question.answer(Answer::NoSuchName));
        }
        let Some(address) = locked(&self.names).address_of(name) else {
            refuse(host(), Refusal::TooManyNames);
            return Some(question.answer(Answer::Failed));
        };
        Some(question.answer(Answer::Address(address)))
    }
}
