//! One DNS question in, one answer out.
//!
//! Pure, and reads no further than the question: no answers, no compression, no extensions. What
//! is answered for which name is the caller's to say.

use std::net::Ipv4Addr;

use ic_types::Host;
use ic_types::host::DnsName;

use crate::cursor::Cursor;

/// A question that can be answered.
#[derive(Debug)]
pub(crate) struct Question {
    /// The name that is asked about, if it is one that a host can have.
    pub(crate) name: Option<DnsName>,
    is_address: bool,
    /// What the answer repeats: the number, whether recursion was wanted, the question.
    id: u16,
    recursion: u16,
    asked: Vec<u8>,
}

/// What a packet turned out to be.
#[derive(Debug)]
pub(crate) enum Packet {
    Question(Question),
    /// No question that we answer, with the answer that says so.
    Fault(Vec<u8>),
    /// Nothing that may be answered, lest two answering machines talk for ever.
    Silence,
}

/// What is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// The name exists, and this is its address, if an IPv4 address was asked for.
    Address(Ipv4Addr),
    /// The name does not exist. Other refusals make resolvers ask again.
    NoSuchName,
    /// We cannot help.
    Failed,
}

const FORMAT_ERROR: u16 = 1;
const FAILED: u16 = 2;
const NO_SUCH_NAME: u16 = 3;
const NOT_IMPLEMENTED: u16 = 4;
const REFUSED: u16 = 5;

const RESPONSE: u16 = 1 << 15;
const AUTHORITATIVE: u16 = 1 << 10;
const TRUNCATED: u16 = 1 << 9;
const RECURSION_DESIRED: u16 = 1 << 8;
const RECURSION_AVAILABLE: u16 = 1 << 7;
const OPCODE: u16 = 0xf << 11;

const TYPE_A: u16 = 1;
const CLASS_INTERNET: u16 = 1;
/// How long an answer is good for, in seconds; it does not change as long as the cage lives.
const TTL_S: u32 = 300;
/// The longest name on the wire.
const NAME_MAX: usize = 255;
/// The longest label.
const LABEL_MAX: u8 = 63;

/// Reads `packet`.
pub(crate) fn read(packet: &[u8]) -> Packet {
    let mut cursor = Cursor::new(packet);
    let (Some(id), Some(flags)) = (cursor.u16(), cursor.u16()) else { return Packet::Silence };
    if flags & RESPONSE != 0 {
        return Packet::Silence;
    }
    let recursion = flags & RECURSION_DESIRED;
    let fault = |code| Packet::Fault(head(id, recursion | code, 0, 0).to_vec());
    if flags & OPCODE != 0 {
        return fault(NOT_IMPLEMENTED);
    }
    // One question, and nothing that answers it; what may follow (EDNS) is not looked at.
    let counts = [cursor.u16(), cursor.u16(), cursor.u16(), cursor.u16()];
    if !matches!(counts, [Some(1), Some(0), Some(0), Some(_)]) || flags & TRUNCATED != 0 {
        return fault(FORMAT_ERROR);
    }
    let before = cursor;
    let asked = (|| Some((read_name(&mut cursor)?, cursor.u16()?, cursor.u16()?)))();
    let Some((name, kind, class)) = asked else { return fault(FORMAT_ERROR) };
    if class != CLASS_INTERNET {
        return fault(REFUSED);
    }
    let n_asked = before.len() - cursor.len();
    let asked = before.rest().get(..n_asked).unwrap_or_default().to_vec();
    Packet::Question(Question {
        name: name.host(),
        is_address: kind == TYPE_A,
        id,
        recursion,
        asked,
    })
}

/// A name as it stands on the wire, with dots between its labels.
struct WireName(Vec<u8>);

fn read_name(cursor: &mut Cursor<'_>) -> Option<WireName> {
    let mut text = Vec::new();
    loop {
        // Nobody compresses the one name of a question, so no pointer is followed.
        match cursor.u8()? {
            0 => return Some(WireName(text)),
            n @ 1..=LABEL_MAX => {
                let label = cursor.take(n.into())?;
                if !text.is_empty() {
                    text.push(b'.');
                }
                // A dot inside a label is not a dot between labels; NUL makes the name invalid.
                text.extend(label.iter().map(|byte| if *byte == b'.' { 0 } else { *byte }));
            }
            _ => return None,
        }
        if NAME_MAX < text.len() + 2 {
            return None;
        }
    }
}

impl WireName {
    fn host(&self) -> Option<DnsName> {
        let text = str::from_utf8(&self.0).ok().filter(|text| text.is_ascii())?;
        match text.parse().ok()? {
            Host::Name(name) => Some(name),
            Host::V4(_) | Host::V6(_) => None,
        }
    }
}

impl Question {
    /// Writes the answer.
    pub(crate) fn answer(&self, answer: Answer) -> Vec<u8> {
        let (code, address) = match answer {
            // Other kinds of records of a name that exists: there are none.
            Answer::Address(address) => (0, self.is_address.then_some(address)),
            Answer::NoSuchName => (NO_SUCH_NAME, None),
            Answer::Failed => (FAILED, None),
        };
        let flags = self.recursion | AUTHORITATIVE | code;
        let mut out = head(self.id, flags, 1, address.iter().len()).to_vec();
        out.extend(&self.asked);
        if let Some(address) = address {
            // The name is the one that was asked about, which stands after the head.
            out.extend([0xc0, 0x0c]);
            out.extend(TYPE_A.to_be_bytes());
            out.extend(CLASS_INTERNET.to_be_bytes());
            out.extend(TTL_S.to_be_bytes());
            out.extend([0, 4]);
            out.extend(address.octets());
        }
        out
    }
}

/// Writes the head of an answer that holds `n_questions` and `n_answers`, each at most one.
fn head(id: u16, flags: u16, n_questions: u8, n_answers: usize) -> [u8; 12] {
    let [id_a, id_b] = id.to_be_bytes();
    let [flags_a, flags_b] = (flags | RESPONSE | RECURSION_AVAILABLE).to_be_bytes();
    let n_answers = u8::from(n_answers != 0);
    [id_a, id_b, flags_a, flags_b, 0, n_questions, 0, n_answers, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests;
