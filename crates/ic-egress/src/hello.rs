//! The first message of a TLS client, as far as it says whom it is for.
//!
//! Pure, and strict: what two TLS servers could read differently is refused. It terminates no TLS
//! and sees nothing that comes after this message.

use ic_types::Host;

use crate::cursor::Cursor;
use crate::refusal::Refusal;
use crate::target::{Authority, Target};

/// What a client's hello says about its server.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Hello {
    /// The one name in the SNI extension.
    server_name: Option<Vec<u8>>,
    /// Whether another hello, which nobody but the server can read, is inside.
    is_hidden: bool,
}

/// A complete hello, or the beginning of one.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Read {
    More,
    Whole(Hello),
}

const RECORD_HANDSHAKE: u8 = 22;
const RECORD_MAJOR: u8 = 3;
/// The longest plaintext of a record (RFC 8446, 5.1).
const RECORD_MAX: usize = 1 << 14;
const MESSAGE_CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
const EXTENSION_ENCRYPTED_HELLO: u16 = 0xfe0d;
const NAME_TYPE_HOST: u8 = 0;
/// The longest hello that is read; they are usually below 2 KiB.
const HELLO_MAX: usize = 1 << 14;

/// Returns whether `bytes` begin like a TLS record with a handshake; `None` if they are too few.
pub(crate) fn is_tls(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] | [RECORD_HANDSHAKE] => None,
        [RECORD_HANDSHAKE, RECORD_MAJOR, ..] => Some(true),
        _ => Some(false),
    }
}

/// Reads the hello that `bytes` begin with.
pub(crate) fn read(bytes: &[u8]) -> Result<Read, Refusal> {
    let Some(message) = message(bytes).map_err(Refusal::Hello)? else { return Ok(Read::More) };
    let hello = hello(Cursor::new(&message)).ok_or(Refusal::Hello("its fields do not add up"))?;
    hello.map(Read::Whole).map_err(Refusal::Hello)
}

/// Puts the message together from its records; `None` if some are still missing.
fn message(bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut records = Cursor::new(bytes);
    let mut message = Vec::new();
    loop {
        let mut head = Cursor::new(&message);
        if let (Some(kind), Some(n)) = (head.u8(), head.u24()) {
            if kind != MESSAGE_CLIENT_HELLO {
                return Err("it does not begin with a client hello");
            }
            if HELLO_MAX < n {
                return Err("it is too long");
            }
            if let Some(body) = head.take(n) {
                // A server may read what follows in the same record before it reads this.
                return if head.is_empty() {
                    Ok(Some(body.to_vec()))
                } else {
                    Err("another message follows in the same record")
                };
            }
        }
        let (Some(kind), Some(major), Some(_), Some(n)) =
            (records.u8(), records.u8(), records.u8(), records.u16())
        else {
            return Ok(None);
        };
        if kind != RECORD_HANDSHAKE || major != RECORD_MAJOR {
            return Err("it has another record inside");
        }
        if n == 0 || RECORD_MAX < n.into() {
            return Err("a record has an impossible length");
        }
        match records.take(n.into()) {
            Some(fragment) => message.extend(fragment),
            None => return Ok(None),
        }
    }
}

/// Reads the body of the message; `None` if it does not add up.
fn hello(mut body: Cursor<'_>) -> Option<Result<Hello, &'static str>> {
    const RANDOM_LEN: usize = 32;
    const SESSION_ID_MAX: usize = 32;
    let _legacy_version = body.u16()?;
    let _random = body.take(RANDOM_LEN)?;
    let session_id = body.counted_u8()?;
    let cipher_suites = body.counted_u16()?;
    let compressions = body.counted_u8()?;
    if SESSION_ID_MAX < session_id.len()
        || cipher_suites.is_empty()
        || cipher_suites.len() % 2 != 0
        || compressions.is_empty()
    {
        return None;
    }
    let mut hello = Hello { server_name: None, is_hidden: false };
    if body.is_empty() {
        return Some(Ok(hello));
    }
    let mut extensions = body.counted_u16()?;
    if !body.is_empty() {
        return None;
    }
    let mut seen = Vec::new();
    while !extensions.is_empty() {
        let (kind, data) = (extensions.u16()?, extensions.counted_u16()?);
        if seen.contains(&kind) {
            return Some(Err("it has an extension twice"));
        }
        seen.push(kind);
        match kind {
            EXTENSION_SERVER_NAME => match server_name(data)? {
                Ok(name) => hello.server_name = Some(name),
                Err(fault) => return Some(Err(fault)),
            },
            EXTENSION_ENCRYPTED_HELLO => hello.is_hidden = true,
            _ => {}
        }
    }
    Some(Ok(hello))
}

fn server_name(mut data: Cursor<'_>) -> Option<Result<Vec<u8>, &'static str>> {
    let mut names = data.counted_u16()?;
    if !data.is_empty() {
        return None;
    }
    let (kind, name) = (names.u8()?, names.counted_u16()?);
    if kind != NAME_TYPE_HOST {
        return Some(Err("it names something other than a host"));
    }
    if !names.is_empty() {
        return Some(Err("it names more than one server"));
    }
    (!name.is_empty()).then(|| Ok(name.rest().to_vec()))
}

impl Hello {
    /// Requires that the hello is for `target`, and for nobody else.
    pub(crate) fn require(&self, target: &Target) -> Result<(), Refusal> {
        // SECURITY: behind the server that it names in the clear, a provider may serve anybody's
        // site under the name that it names in secret.
        if self.is_hidden {
            return Err(Refusal::HiddenServerName);
        }
        let Some(name) = &self.server_name else {
            // Addresses are not written into this extension.
            return match target.host() {
                Host::Name(_) => Err(Refusal::NoServerName),
                Host::V4(_) | Host::V6(_) => Ok(()),
            };
        };
        let authority = str::from_utf8(name).ok().and_then(Authority::parse);
        match authority {
            Some(it) if it.port.is_none() && target.is_named_by(&it.host) => Ok(()),
            _ => Err(Refusal::other_server_name(name)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
