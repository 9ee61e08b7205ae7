//! Why talking to another machine failed, as far as git's words tell, and how that is said.
//!
//! What a remote says is text of a stranger: no control characters pass, and it is marked as theirs.

use super::judged::Transport;
use super::run::Said;
use crate::filesystem::show;

/// What went wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    /// The host wants to know who is there.
    Unauthorized,
    /// There is no password to give.
    NoCredential,
    /// The password was not taken.
    WrongCredential,
    /// The host wants us to go elsewhere.
    Redirected,
    /// The host is not who it should be, or nobody can tell.
    Stranger,
    /// Nobody knows the host.
    UnknownHost,
    /// No key was taken.
    NoKey,
    /// There is no connection.
    Unreachable,
    /// What came was not in order.
    BadObjects,
    /// There was no room for what came.
    NoRoom,
    /// Anything else.
    Other,
}

/// What git and ssh say, and what it means; the first that fits counts.
const SIGNS: [(&str, Trouble); 30] = [
    ("Out of memory", Trouble::NoRoom),
    ("non-properly terminated", Trouble::Unreachable),
    ("SSL_ERROR_SYSCALL", Trouble::Unreachable),
    ("unexpected eof while reading", Trouble::Unreachable),
    ("kex_exchange_identification", Trouble::Unreachable),
    ("unable to update url base from redirection", Trouble::Redirected),
    ("redirect", Trouble::Redirected),
    ("The requested URL returned error: 30", Trouble::Redirected),
    ("terminal prompts disabled", Trouble::Unauthorized),
    ("could not read Username", Trouble::Unauthorized),
    ("could not read Password", Trouble::Unauthorized),
    ("unable to read askpass response", Trouble::Unauthorized),
    ("Authentication failed", Trouble::Unauthorized),
    ("The requested URL returned error: 401", Trouble::Unauthorized),
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", Trouble::Stranger),
    ("Host key verification failed", Trouble::UnknownHost),
    ("host key is known for", Trouble::UnknownHost),
    ("certificate", Trouble::Stranger),
    ("SSL", Trouble::Stranger),
    ("Permission denied (", Trouble::NoKey),
    ("Too many authentication failures", Trouble::NoKey),
    ("Could not resolve host", Trouble::Unreachable),
    ("Could not connect", Trouble::Unreachable),
    ("Failed to connect", Trouble::Unreachable),
    ("Connection refused", Trouble::Unreachable),
    ("Connection closed by", Trouble::Unreachable),
    ("Connection reset", Trouble::Unreachable),
    ("fsck error", Trouble::BadObjects),
    ("No space left", Trouble::NoRoom),
    ("index-pack failed", Trouble::BadObjects),
];

/// Finds out what went wrong.
pub(super) fn of(complaint: &str, transport: Transport) -> Trouble {
    // What the other side says is no sign of anything.
    let ours = complaint.lines().filter(|line| !line.starts_with("remote: "));
    let ours: Vec<&str> = ours.collect();
    let found = SIGNS.iter().find(|(sign, _)| ours.iter().any(|line| line.contains(sign)));
    match (found, transport) {
        (Some((_, Trouble::Unauthorized)), Transport::Ssh) => Trouble::NoKey,
        (Some((_, trouble)), _) => *trouble,
        (None, _) => Trouble::Other,
    }
}

/// Says what went wrong, and what a person can do about it.
pub(super) fn tell(trouble: Trouble, url: &str, said: &Said) -> String {
    let url = show::text(url);
    let ours = match trouble {
        Trouble::Unauthorized | Trouble::NoCredential => format!(
            "`{url}` wants a password, and the user's git has none for it (`git credential fill` \
             was asked); the user can store one with their credential helper"
        ),
        Trouble::WrongCredential => {
            format!("`{url}` did not take the password that the user's git has for it")
        }
        Trouble::Redirected => format!(
            "the host leads from `{url}` to another address, which is not followed, since only this \
             one was judged; use the new address itself if it is the right one"
        ),
        Trouble::Stranger => format!(
            "the host of `{url}` could not show that it is this host; nothing was sent to it"
        ),
        Trouble::UnknownHost => format!(
            "the host of `{url}` is not in the user's `known_hosts`, or shows another key than there; \
             the user can connect once with ssh and check its key"
        ),
        Trouble::NoKey => {
            format!("`{url}` takes none of the keys in the user's ssh agent; `ssh-add` adds one")
        }
        Trouble::Unreachable => format!(
            "the host of `{url}` cannot be reached; if its address is not public, the user has \
             to name it with its port, in the policy or among the `allowedDomains` of the server"
        ),
        Trouble::BadObjects => {
            format!("what `{url}` sent is not in order, so nothing of it was brought over")
        }
        Trouble::NoRoom => format!(
            "`{url}` sent more than there is room for, and was cut off; nothing of it was taken"
        ),
        Trouble::Other => String::new(),
    };
    // A push says there which branches were not taken, and why.
    let theirs = [said.complaint.trim(), said.output.trim()];
    let theirs: Vec<&str> = theirs.into_iter().filter(|text| !text.is_empty()).collect();
    let theirs = theirs.join("\n");
    match (ours.as_str(), theirs.as_str()) {
        ("", "") => "it failed without a word".to_owned(),
        ("", theirs) => theirs.to_owned(),
        (ours, "") => ours.to_owned(),
        (ours, theirs) => format!("{ours}\n{theirs}"),
    }
}

/// Takes out of a text what would move a cursor, and what git said over and over.
pub(super) fn cleaned(text: &str) -> String {
    let lines = text.lines().map(|line| {
        // Progress is written over itself; what was there last counts.
        let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
        line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_understood() {
        for (complaint, expected) in [
            (
                "fatal: could not read Username for 'https://a': terminal prompts disabled",
                Trouble::Unauthorized,
            ),
            ("fatal: Authentication failed for 'https://a/'", Trouble::Unauthorized),
            (
                "fatal: unable to access 'https://a/': The requested URL returned error: 302",
                Trouble::Redirected,
            ),
            ("No ED25519 host key is known for a and", Trouble::UnknownHost),
            ("a@b: Permission denied (publickey).", Trouble::NoKey),
            ("error: object 12: fsck error in packed object", Trouble::BadObjects),
            ("remote: Authentication failed, says the other side", Trouble::Other),
            ("", Trouble::Other),
        ] {
            assert_eq!(of(complaint, Transport::Https), expected, "{complaint}");
        }
        assert_eq!(of("fatal: Authentication failed", Transport::Ssh), Trouble::NoKey);
    }

    #[test]
    fn nothing_moves_a_cursor() {
        assert_eq!(cleaned("a 1%\ra 2%\r\nremote: \u{1b}[2Jx\tb"), "a 2%\nremote: \u{fffd}[2Jx\tb");
    }
}
