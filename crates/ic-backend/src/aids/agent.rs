//! What ssh in a cage may ask the user's agent: which keys there are, and to sign in as the judged user.
//!
//! Pure: a message in, a decision out. An agent signs whatever it is given, and a signature can be more
//! than a login: of a commit, of a file, of a login as somebody else. So a request to sign is taken
//! apart, and has to be a login as the user that the URL names, with the key that is to sign.
//! It does not tell to which host the login is; the cage reaches no other one.

/// What is asked of the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    /// Which keys there are.
    Identities,
    /// To note to which host a connection goes, so that keys that are bound to hosts can be used.
    Bind,
    /// To sign in.
    Sign {
        /// As whom.
        user: String,
    },
}

/// Why the agent is not asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum AgentFault {
    #[error("the agent is asked for calls that go over ssh, and for no others")]
    NoSsh,
    #[error("the agent is asked for its keys and for signatures, and for nothing else")]
    Other,
    #[error("the agent signs logins, and nothing else")]
    NoLogin,
    #[error("the agent signs logins as the user that was judged, and as no other user")]
    OtherUser,
}

const REQUEST_IDENTITIES: u8 = 11;
const SIGN_REQUEST: u8 = 13;
const EXTENSION: u8 = 27;
const USERAUTH_REQUEST: u8 = 50;
const BIND: &[u8] = b"session-bind@openssh.com";

/// Takes a message apart; `users` are those that were judged.
pub(super) fn check(message: &[u8], users: &[&str]) -> Result<Asked, AgentFault> {
    // SECURITY: which keys the user has is the user's, and no other call needs to know.
    if users.is_empty() {
        return Err(AgentFault::NoSsh);
    }
    let mut words = Words(message);
    match words.byte() {
        Some(REQUEST_IDENTITIES) if words.is_empty() => Ok(Asked::Identities),
        Some(EXTENSION) => {
            let asked = bound(&mut words).ok_or(AgentFault::Other)?;
            // SECURITY: a connection that is bound for forwarding is not the one to the judged host.
            (asked == Forwards::No).then_some(Asked::Bind).ok_or(AgentFault::Other)
        }
        Some(SIGN_REQUEST) => {
            let (key, data) = signed(&mut words).ok_or(AgentFault::NoLogin)?;
            let user = login(data, key).ok_or(AgentFault::NoLogin)?;
            match users.iter().find(|known| known.as_bytes() == user) {
                Some(user) => Ok(Asked::Sign { user: (*user).to_owned() }),
                None => Err(AgentFault::OtherUser),
            }
        }
        _ => Err(AgentFault::Other),
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Forwards {
    No,
    Yes,
}

/// Reads a binding: the host's key, the number of the session, a signature, and whether it forwards.
fn bound(words: &mut Words<'_>) -> Option<Forwards> {
    if words.text()? != BIND {
        return None;
    }
    words.text()?;
    words.text()?;
    words.text()?;
    let forwards = match words.byte()? {
        0 => Forwards::No,
        _ => Forwards::Yes,
    };
    words.is_empty().then_some(forwards)
}

/// Reads a request to sign: the key, and what is to be signed.
fn signed<'a>(words: &mut Words<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let (key, data) = (words.text()?, words.text()?);
    words.take(4)?;
    words.is_empty().then_some((key, data))
}

/// Reads what is to be signed as a login with `key`, and returns as whom.
fn login<'a>(data: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut words = Words(data);
    let session = words.text()?;
    // The hash of the exchange: SHA-1 at the least, SHA-512 at the most.
    if !(20..=64).contains(&session.len()) || words.byte()? != USERAUTH_REQUEST {
        return None;
    }
    let user = words.text()?;
    if words.text()? != b"ssh-connection" {
        return None;
    }
    let is_bound_to_host = match words.text()? {
        b"publickey" => false,
        b"publickey-hostbound-v00@openssh.com" => true,
        _ => return None,
    };
    if words.byte()? != 1 {
        return None;
    }
    words.text()?;
    if words.text()? != key {
        return None;
    }
    if is_bound_to_host {
        words.text()?;
    }
    words.is_empty().then_some(user)
}

/// The parts of a message that are left.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn take(&mut self, n_bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Takes a text with its length before it.
    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.take(4)?.try_into().ok().map(u32::from_be_bytes)?;
        self.take(usize::try_from(length).ok()?)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Vec<u8> {
        [u32::try_from(bytes.len()).unwrap().to_be_bytes().as_slice(), bytes].concat()
    }

    struct Login {
        session: Vec<u8>,
        kind: u8,
        user: &'static [u8],
        service: &'static [u8],
        method: &'static [u8],
        signs: u8,
        key: &'static [u8],
        rest: Vec<u8>,
    }

    fn usual() -> Login {
        Login {
            session: vec![7; 32],
            kind: USERAUTH_REQUEST,
            user: b"git",
            service: b"ssh-connection",
            method: b"publickey",
            signs: 1,
            key: b"the key",
            rest: Vec::new(),
        }
    }

    fn sign(login: &Login) -> Vec<u8> {
        let data = [
            text(&login.session),
            vec![login.kind],
            text(login.user),
            text(login.service),
            text(login.method),
            vec![login.signs],
            text(b"ssh-ed25519"),
            text(login.key),
            login.rest.clone(),
        ]
        .concat();
        [vec![SIGN_REQUEST], text(b"the key"), text(&data), vec![0; 4]].concat()
    }

    #[test]
    fn a_login_as_the_judged_user_is_signed_and_nothing_else() {
        let login = sign(&usual());
        let asked = Asked::Sign { user: "git".to_owned() };
        assert_eq!(check(&login, &["other", "git"]), Ok(asked.clone()));
        assert_eq!(check(&login, &["ada"]), Err(AgentFault::OtherUser));
        let bound = Login {
            method: b"publickey-hostbound-v00@openssh.com",
            rest: text(b"host key"),
            ..usual()
        };
        assert_eq!(check(&sign(&bound), &["git"]), Ok(asked));
        for login in [
            Login { kind: 51, ..usual() },
            Login { session: Vec::new(), ..usual() },
            Login { session: vec![7; 200], ..usual() },
            Login { service: b"ssh-userauth", ..usual() },
            Login { method: b"hostbased", ..usual() },
            Login { signs: 0, ..usual() },
            Login { key: b"another key", ..usual() },
            Login { rest: b"more".to_vec(), ..usual() },
        ] {
            assert_eq!(check(&sign(&login), &["git"]), Err(AgentFault::NoLogin));
        }
        // What is signed of commits and files begins with this.
        let data = [b"SSHSIG".to_vec(), text(b"git"), text(b""), text(b"sha512")].concat();
        let message = [vec![SIGN_REQUEST], text(b"the key"), text(&data), vec![0; 4]].concat();
        assert_eq!(check(&message, &["git"]), Err(AgentFault::NoLogin));
    }

    #[test]
    fn the_agent_is_asked_for_its_keys_and_nothing_is_changed_in_it() {
        assert_eq!(check(&[REQUEST_IDENTITIES], &["git"]), Ok(Asked::Identities));
        for message in [&[][..], &[REQUEST_IDENTITIES, 0], &[17, 0], &[18], &[19], &[22], &[25]] {
            assert_eq!(check(message, &["git"]), Err(AgentFault::Other), "{message:?}");
        }
        let bind = |forwards: u8| {
            let parts = [BIND, b"host key", b"session", b"signature"].map(text).concat();
            [vec![EXTENSION], parts, vec![forwards]].concat()
        };
        assert_eq!(check(&bind(0), &["git"]), Ok(Asked::Bind));
        assert_eq!(check(&bind(1), &["git"]), Err(AgentFault::Other));
        let other = [vec![EXTENSION], text(b"query")].concat();
        assert_eq!(check(&other, &["git"]), Err(AgentFault::Other));
    }

    #[test]
    fn the_agent_is_not_asked_for_a_call_that_does_not_go_over_ssh() {
        for message in [vec![REQUEST_IDENTITIES], sign(&usual()), Vec::new()] {
            assert_eq!(check(&message, &[]), Err(AgentFault::NoSsh), "{message:?}");
        }
    }

    #[test]
    fn a_message_that_is_cut_anywhere_is_none() {
        let whole = sign(&usual());
        for n_bytes in 0..whole.len() {
            assert!(check(&whole[..n_bytes], &["git"]).is_err(), "{n_bytes}");
        }
    }

    /// What is signed is, byte for byte, a login as the judged user with the key that signs.
    #[test]
    fn fuzz_ssh_agent() {
        let bound = Login {
            method: b"publickey-hostbound-v00@openssh.com",
            rest: text(b"host key"),
            ..usual()
        };
        let bind = [BIND, b"host key", b"session", b"signature"].map(text).concat();
        ic_fuzz::Target::new("ssh-agent")
            .seeds([
                sign(&usual()),
                sign(&bound),
                vec![REQUEST_IDENTITIES],
                [vec![EXTENSION], bind, vec![0]].concat(),
            ])
            .words([text(b"git"), text(b"ssh-connection"), text(b"publickey")])
            .bytes_max(600)
            .run(|message| match check(message, &["git"]) {
                Ok(Asked::Identities) => {
                    assert_eq!(message, [REQUEST_IDENTITIES]);
                    ic_fuzz::Outcome::accepted("identities")
                }
                Ok(Asked::Bind) => {
                    assert!(message.starts_with(&[vec![EXTENSION], text(BIND)].concat()));
                    assert_eq!(message.last(), Some(&0), "it forwards");
                    ic_fuzz::Outcome::accepted("bind")
                }
                Ok(Asked::Sign { user }) => {
                    assert_eq!(user, "git");
                    assert!(is_login(message), "something else would be signed");
                    ic_fuzz::Outcome::accepted("sign")
                }
                Err(fault) => ic_fuzz::Outcome::refused(fault.to_string()),
            });
    }

    /// Puts a login together from the parts of `message`, and compares.
    fn is_login(message: &[u8]) -> bool {
        let mut words = Words(message);
        words.byte();
        let (key, data) = (words.text().unwrap(), words.text().unwrap());
        let mut words = Words(data);
        let session = words.text().unwrap();
        words.byte();
        let parts: Vec<&[u8]> = std::iter::from_fn(|| words.text()).take(3).collect();
        let mut rest = Words(words.0);
        rest.byte();
        let algorithm = rest.text().unwrap();
        let is_bound = parts[2] != b"publickey";
        let mut host = Words(words.0);
        host.byte();
        let host_key = std::iter::from_fn(|| host.text()).nth(2).map(text).filter(|_| is_bound);
        let again = [
            text(session),
            vec![USERAUTH_REQUEST],
            text(b"git"),
            text(b"ssh-connection"),
            text(if is_bound { b"publickey-hostbound-v00@openssh.com" } else { b"publickey" }),
            vec![1],
            text(algorithm),
            text(key),
            host_key.unwrap_or_default(),
        ]
        .concat();
        again == data
    }
}
