//! What a client is told when it gets no connection, in the manner that it understands.
//!
//! Pure. Agents read these texts and act on them: they say what was refused, why, and what a person
//! would have to change.

use std::error::Error;

use ic_types::ServerName;

use crate::gate::Manner;
use crate::refusal::{Failure, Refusal, Unmade};
use crate::target::Target;

/// What stands between a successful CONNECT and the first byte of the server.
pub(crate) const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// A fatal alert of TLS: `access_denied`.
const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 49];

/// Returns what to say to a client of `server`, which may be nothing.
pub(crate) fn answer(
    manner: Manner,
    server: &ServerName,
    target: Option<&Target>,
    unmade: &Unmade,
) -> Vec<u8> {
    match manner {
        Manner::Tls => ALERT.to_vec(),
        Manner::Unknown => Vec::new(),
        Manner::Http => http(server, target, unmade),
    }
}

/// Returns the status of an answer, and what it says.
pub(crate) fn words(
    server: &ServerName,
    target: Option<&Target>,
    unmade: &Unmade,
) -> (&'static str, String) {
    let wanted = target.map_or_else(|| "the request".to_owned(), |target| format!("`{target}`"));
    match unmade {
        Unmade::Refused(why) => {
            let remedy = target.and_then(|target| why.remedy(target));
            let remedy = remedy.map(|entry| {
                format!(
                    "To allow it, the user can add \"{entry}\" to `allowedDomains` of the server \
                     `{server}`.\n"
                )
            });
            let remedy = remedy.unwrap_or_default();
            (refused(why), format!("IronCurtain refused {wanted}: {why}.\n{remedy}"))
        }
        Unmade::Failed(why) => {
            let cause = why.source().map(|source| format!(": {source}")).unwrap_or_default();
            (failed(why), format!("IronCurtain could not reach {wanted}: {why}{cause}.\n"))
        }
    }
}

fn http(server: &ServerName, target: Option<&Target>, unmade: &Unmade) -> Vec<u8> {
    let (status, text) = words(server, target, unmade);
    let n = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {n}\r\n\
         Connection: close\r\n\r\n{text}"
    )
    .into_bytes()
}

fn refused(why: &Refusal) -> &'static str {
    match why {
        Refusal::Malformed(_) => "400 Bad Request",
        Refusal::Undecided => "408 Request Timeout",
        Refusal::NotAllowed
        | Refusal::Denied
        | Refusal::Special(..)
        | Refusal::DeniedAddress(_)
        | Refusal::Unresolved
        | Refusal::Nobody
        | Refusal::TooManyNames
        | Refusal::NotTls
        | Refusal::NotWeb
        | Refusal::Speech
        | Refusal::NoServerName
        | Refusal::OtherServerName(_)
        | Refusal::HiddenServerName
        | Refusal::Hello(_)
        | Refusal::OtherHost(_)
        | Refusal::Http2
        | Refusal::Flood => "403 Forbidden",
    }
}

fn failed(why: &Failure) -> &'static str {
    match why {
        Failure::Resolve(_) | Failure::NoAddress | Failure::Connect(_) => "502 Bad Gateway",
        Failure::ResolveTimeout | Failure::ConnectTimeout => "504 Gateway Timeout",
        Failure::Ledger(_) | Failure::Over => "503 Service Unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unmade: &Unmade, status: &str, text: &str) {
        let target = Target::new("a.example".parse().unwrap(), 22).unwrap();
        let server = "fetch".parse().unwrap();
        let answer = answer(Manner::Http, &server, Some(&target), unmade);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().next(), Some(format!("HTTP/1.1 {status}").as_str()));
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        assert_eq!(body, text);
    }

    #[test]
    fn an_answer_says_what_and_why_and_what_would_help() {
        check(
            &Refusal::NotAllowed.into(),
            "403 Forbidden",
            "IronCurtain refused `a.example:22`: it is not among the allowed domains.\n\
             To allow it, the user can add \"a.example:22\" to `allowedDomains` of the server `fetch`.\n",
        );
        check(
            &Refusal::Denied.into(),
            "403 Forbidden",
            "IronCurtain refused `a.example:22`: it is among the denied domains.\n",
        );
        check(
            &Refusal::Malformed("there is no Host").into(),
            "400 Bad Request",
            "IronCurtain refused `a.example:22`: the request cannot be read: there is no Host.\n",
        );
        check(
            &Failure::Connect(std::io::Error::other("nobody there")).into(),
            "502 Bad Gateway",
            "IronCurtain could not reach `a.example:22`: cannot connect: nobody there.\n",
        );
        check(
            &Failure::ResolveTimeout.into(),
            "504 Gateway Timeout",
            "IronCurtain could not reach `a.example:22`: the address of the host was not found in time.\n",
        );
    }

    #[test]
    fn other_protocols_get_what_they_understand() {
        let server = "fetch".parse().unwrap();
        let unmade = Refusal::NotAllowed.into();
        assert_eq!(answer(Manner::Tls, &server, None, &unmade), [21, 3, 3, 0, 2, 2, 49]);
        assert!(answer(Manner::Unknown, &server, None, &unmade).is_empty());
    }
}
