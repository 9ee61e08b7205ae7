//! Git talking to another machine: in a quarantine, with the judged URL, and with what is lent to it.
//!
//! ```text
//! judged URL ─▶ whom to trust (lent) ─▶ git ─┬─▶ done
//!                                            └─▶ it wants a password ─▶ lent ─▶ git once more ─▶ said what came of it
//! ```
//!
//! Nothing here chooses where to go, and nothing that git brings leaves the quarantine here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ic_confine::{Excess, InnerError, InnerLimits, InnerOutput, InnerSpec, run_inner};

use super::aid::{self, Aid};
use super::fault::Fault;
use super::judged::{JudgedRemote, Transport};
use super::quarantine::{PACKS_BYTES_MAX, Quarantine};
use super::run::{PATH, Program, SETTINGS, Said};
use super::ssh;
use super::trouble::{self, Trouble};
use super::understood;
use crate::tools::Caller;

/// How long git may talk to another machine.
const TIME_MAX: Duration = Duration::from_mins(10);
/// How much of its output is kept: a line for each ref.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
const COMPLAINT_BYTES_MAX: usize = 16 << 10;
/// How much memory each process of git may take, beside what it maps from files.
const MEMORY_BYTES_MAX: u64 = 768 << 20;

/// What git is told besides, where it talks to others.
const BESIDES: [&str; 22] = [
    // SECURITY: a host that was judged could lead to any other one.
    "http.followRedirects=false",
    "http.proxy=",
    "http.sslVerify=true",
    "http.saveCookies=false",
    "http.cookieFile=",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "transfer.unpackLimit=1",
    "fetch.unpackLimit=1",
    "transfer.bundleURI=false",
    "transfer.credentialsInUrl=die",
    "fetch.writeCommitGraph=false",
    "fetch.parallel=1",
    "fetch.prune=false",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.negotiate=false",
    "push.useForceIfIncludes=false",
    "pack.writeReverseIndex=true",
];

/// What git writes down about its own run.
const TRACE: &str = "trace";
/// What stands in there once it has heard a server that speaks git, and does not only serve files.
const NEGOTIATED: &[u8] = b"\"negotiated-version\"";
/// Where the certificates are that the user trusts besides.
const ANCHORS: &str = "anchors.pem";
const ANCHORED: &str = "http.sslCAInfo=anchors.pem";

/// What is needed to talk to a remote.
#[derive(Debug)]
pub(super) struct Transfer<'a> {
    pub(super) program: &'a Program,
    pub(super) caller: Caller<'a>,
    pub(super) quarantine: &'a Quarantine<'a>,
    pub(super) remote: &'a JudgedRemote,
    trust: Trust,
    /// What the last run needed.
    password: std::cell::RefCell<Option<String>>,
}

/// Whom git believes to be the host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Trust {
    /// Whoever the system believes.
    System,
    /// Whoever the user named.
    Anchors,
}

impl<'a> Transfer<'a> {
    /// Prepares to talk to `remote`.
    pub(super) fn prepare(
        program: &'a Program,
        caller: Caller<'a>,
        quarantine: &'a Quarantine<'a>,
        remote: &'a JudgedRemote,
    ) -> Result<Self, Fault> {
        let trusted = aid::ask(caller, &Aid::Trust { url: remote.url.clone() })?.trusted;
        let mut trust = Trust::System;
        match (remote.transport, trusted) {
            (Transport::Https, Some(anchors)) => {
                quarantine.write(ANCHORS, anchors.as_bytes())?;
                trust = Trust::Anchors;
            }
            (Transport::Https, None) => {}
            (Transport::Ssh, trusted) => ssh::prepare(quarantine, &trusted.unwrap_or_default())?,
        }
        let password = std::cell::RefCell::new(None);
        Ok(Self { program, caller, quarantine, remote, trust, password })
    }

    /// Talks to the remote; `words` are what comes before its URL, and `rest` what comes after.
    pub(super) fn git(&self, words: &[&str], rest: &[&str]) -> Result<Said, Fault> {
        let known = self.password.borrow().clone();
        let (said, trouble) = self.heard(words, rest, known.as_deref())?;
        let Some(trouble) = trouble else { return self.spoken(said) };
        let wants_password = self.remote.transport == Transport::Https
            && trouble == Trouble::Unauthorized
            && known.is_none();
        if !wants_password {
            return Err(self.fault(words, trouble, &said));
        }
        let Some(header) = self.credential()? else {
            return Err(self.fault(words, Trouble::NoCredential, &said));
        };
        let (said, trouble) = self.heard(words, rest, Some(&header))?;
        let was_taken = trouble != Some(Trouble::Unauthorized);
        aid::ask(self.caller, &Aid::Tried { is_good: was_taken })?;
        match trouble {
            None => {
                *self.password.borrow_mut() = Some(header);
                self.spoken(said)
            }
            Some(Trouble::Unauthorized) => Err(self.fault(words, Trouble::WrongCredential, &said)),
            Some(trouble) => Err(self.fault(words, trouble, &said)),
        }
    }

    /// Asks git about the quarantine itself; nobody is talked to.
    pub(super) fn alone(&self, words: &[&str]) -> Result<Said, Fault> {
        let said = self.start(words, None)?;
        match said.code {
            Some(0) => Ok(said),
            _ => Err(super::run::failure(words, &said)),
        }
    }

    fn trouble(&self, said: &Said) -> Option<Trouble> {
        match said.code {
            Some(0) => None,
            _ => Some(trouble::of(&said.complaint, self.remote.transport)),
        }
    }

    /// SECURITY: from a host that only serves files git takes objects that it has not checked, and may
    /// be told to take them from elsewhere.
    fn spoken(&self, said: Said) -> Result<Said, Fault> {
        if self.remote.transport == Transport::Ssh {
            // What is at the other end is git, or nothing that git understands.
            return Ok(said);
        }
        let trace = self.quarantine.read(TRACE)?.unwrap_or_default();
        match trace.windows(NEGOTIATED.len()).any(|part| part == NEGOTIATED) {
            true => Ok(said),
            false => Err(Fault::Not(
                "the host serves files, but does not speak git (the \"dumb\" protocol); nothing was \
                 taken from it"
                    .to_owned(),
            )),
        }
    }

    fn fault(&self, words: &[&str], trouble: Trouble, said: &Said) -> Fault {
        let words = words.first().copied().unwrap_or_default().to_owned();
        Fault::Git { words, said: trouble::tell(trouble, &self.remote.url, said) }
    }

    /// Asks for a password, and returns the header that carries it.
    fn credential(&self) -> Result<Option<String>, Fault> {
        let rest = self.remote.url.strip_prefix("https://").unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (protocol, host, path) = ("https".to_owned(), host.to_owned(), path.to_owned());
        let lent = aid::ask(self.caller, &Aid::Credential { protocol, host, path })?;
        Ok(lent.credential.map(|(name, password)| {
            format!("Authorization: Basic {}", BASE64.encode(format!("{name}:{password}")))
        }))
    }

    /// Runs git; returns what may be passed on of what it said, and what went wrong.
    fn heard(
        &self,
        words: &[&str],
        rest: &[&str],
        header: Option<&str>,
    ) -> Result<(Said, Option<Trouble>), Fault> {
        let said = self.run(words, rest, header)?;
        let trouble = self.trouble(&said);
        Ok(match header {
            None => (said, trouble),
            // SECURITY: the host knows a password now, and can say it in any way it likes.
            Some(_) => (understood::of(words, said), trouble),
        })
    }

    fn run(&self, words: &[&str], rest: &[&str], header: Option<&str>) -> Result<Said, Fault> {
        let mut all = words.to_vec();
        all.extend(["--", &self.remote.url]);
        all.extend(rest);
        self.start(&all, header)
    }

    fn start(&self, words: &[&str], header: Option<&str>) -> Result<Said, Fault> {
        let settings = SETTINGS.iter().chain(&BESIDES).flat_map(|setting| ["-c", setting]);
        let anchors = (self.trust == Trust::Anchors).then_some(["-c", ANCHORED]);
        let all = ["--no-pager"].into_iter().chain(settings).chain(anchors.into_iter().flatten());
        let all = all.chain(words.iter().copied());
        let arguments: Vec<OsString> = all.map(OsString::from).collect();
        let environment = self.environment(header);
        self.quarantine.forget(TRACE)?;
        let mut runs = self.program.runs().to_vec();
        if self.remote.transport == Transport::Ssh {
            runs.extend(ssh::PROGRAMS.map(PathBuf::from));
        }
        let spec = InnerSpec {
            program: self.program.file(),
            arguments: &arguments,
            environment: &environment,
            directory: self.quarantine.handle(),
            input: b"",
            runs: &runs,
            writes: &[self.quarantine.handle()],
            limits: InnerLimits {
                time_max: TIME_MAX,
                output_bytes_max: OUTPUT_BYTES_MAX,
                complaint_bytes_max: COMPLAINT_BYTES_MAX,
                // A host can list refs without end, and git holds all of them.
                memory_bytes_max: Some(MEMORY_BYTES_MAX),
                excess: Excess::PassOver,
            },
        };
        let is_too_much = std::cell::Cell::new(false);
        let is_over = || {
            is_too_much.set(PACKS_BYTES_MAX < self.quarantine.n_bytes());
            is_too_much.get() || self.caller.cancel().is_cancelled()
        };
        let run = || run_inner(&spec, &is_over);
        let ran = match self.remote.transport {
            Transport::Https => run(),
            Transport::Ssh => ssh::with_agent(self.caller, self.quarantine, run)?,
        };
        let first = || words.first().copied().unwrap_or_default().to_owned();
        let InnerOutput { status, output, complaint, is_cut } = match ran {
            Err(InnerError::Cancelled) if is_too_much.get() => {
                return Err(Fault::Not(format!(
                    "the remote sent more than {} MiB, and was cut off; ask for less, by `depth`",
                    PACKS_BYTES_MAX >> 20
                )));
            }
            ran => ran.map_err(|source| Fault::Run { words: first(), source })?,
        };
        let text = |bytes: Vec<u8>| {
            let ours = self.quarantine.path().to_string_lossy().into_owned();
            trouble::cleaned(&String::from_utf8_lossy(&bytes).replace(&ours, "."))
        };
        Ok(Said { output: text(output), complaint: text(complaint), is_cut, code: status.code() })
    }

    fn environment(&self, header: Option<&str>) -> Vec<(OsString, OsString)> {
        let protocol = match self.remote.transport {
            Transport::Https => "https",
            Transport::Ssh => "ssh",
        };
        let mut texts = vec![
            ("PATH", PATH.to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_CONFIG_SYSTEM", "/dev/null".to_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_ATTR_NOSYSTEM", "1".to_owned()),
            ("GIT_TERMINAL_PROMPT", "0".to_owned()),
            ("GIT_ASKPASS", "false".to_owned()),
            ("GIT_PAGER", "cat".to_owned()),
            ("GIT_EDITOR", ":".to_owned()),
            ("GIT_NO_LAZY_FETCH", "1".to_owned()),
            ("GIT_NO_REPLACE_OBJECTS", "1".to_owned()),
            ("GIT_SSH_COMMAND", ssh::COMMAND.to_owned()),
            ("GIT_SSH_VARIANT", "ssh".to_owned()),
            ("GIT_ALLOW_PROTOCOL", protocol.to_owned()),
            ("GIT_PROTOCOL_FROM_USER", "0".to_owned()),
            ("GIT_DIR", ".".to_owned()),
        ];
        if let Some(header) = header {
            // For this host alone, and seen by git and what it starts alone.
            let place = self.remote.url.find('/').and_then(|at| {
                let host = self.remote.url.get(at + 2..)?.split('/').next()?;
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                Some(format!("http.https://{host}/.extraHeader"))
            });
            texts.extend([
                ("GIT_CONFIG_COUNT", "1".to_owned()),
                ("GIT_CONFIG_KEY_0", place.unwrap_or_default()),
                ("GIT_CONFIG_VALUE_0", header.to_owned()),
            ]);
        }
        let trace = self.quarantine.path().join(TRACE);
        let paths = [("HOME", self.quarantine.path()), ("GIT_TRACE2_EVENT", trace.as_path())];
        let texts = texts.into_iter().map(|(name, value)| (name.into(), OsString::from(value)));
        texts.chain(paths.map(|(name, path)| (name.into(), path.into()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::private::Scratch;
    use crate::git::quarantine::Numbering;
    use crate::tools::Cancel;

    /// Returns what git is told about the way to `url`, and with which header.
    fn variables(url: &str, transport: Transport) -> Vec<(String, String)> {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(place.path()).unwrap();
        let (program, cancel) = (Program::find().unwrap(), Cancel::new());
        let transfer = Transfer {
            program: &program,
            caller: Caller::silent(&cancel),
            quarantine: &Quarantine::empty(&scratch, Numbering::Sha1).unwrap(),
            remote: &JudgedRemote { name: None, url: url.to_owned(), transport },
            trust: Trust::System,
            password: std::cell::RefCell::new(None),
        };
        let all = transfer.environment(Some("Authorization: Basic x")).into_iter();
        all.map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    /// A host that got git to go elsewhere would get neither another transport nor the password.
    #[test]
    fn one_transport_is_spoken_and_a_password_is_for_one_host() {
        let https = Transport::Https;
        for (url, transport, protocol, place) in [
            ("https://a.example/o/r", https, "https", "http.https://a.example/.extraHeader"),
            (
                "https://ada@a.example:8443/r",
                https,
                "https",
                "http.https://a.example:8443/.extraHeader",
            ),
            ("https://[::1]:8443/r", https, "https", "http.https://[::1]:8443/.extraHeader"),
            ("ssh://git@a.example/r", Transport::Ssh, "ssh", "http.https://a.example/.extraHeader"),
        ] {
            let variables = variables(url, transport);
            let of = |name: &str| {
                let mut values = variables.iter().filter(|(known, _)| known == name);
                let value = values.next().map(|(_, value)| value.as_str());
                assert!(values.next().is_none(), "{name} is there twice");
                value
            };
            assert_eq!(of("GIT_ALLOW_PROTOCOL"), Some(protocol), "{url}");
            assert_eq!(of("GIT_CONFIG_COUNT"), Some("1"), "{url}");
            assert_eq!(of("GIT_CONFIG_KEY_0"), Some(place), "{url}");
            assert_eq!(of("GIT_CONFIG_GLOBAL"), Some("/dev/null"), "{url}");
        }
    }
}
