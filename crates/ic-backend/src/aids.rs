//! What the host lends to one permitted call that reaches another machine.
//!
//! ```text
//! call recorded ─▶ lend ─▶ the server asks ─▶ for what was judged? ─┬─▶ lent, and recorded
//!                                                                   └─▶ refused, and recorded
//! ```
//!
//! A server that runs for one call holds no credential. It asks for what it needs while its call runs,
//! for the URLs that the call was judged about, and for nothing else: a password for the judged host,
//! a signature as the judged user, whom the user trusts to be that host. What is lent is the user's:
//! their own credential helper, their own ssh agent. Whether the call may be made was decided before.

mod agent;
mod anchors;
mod credential;
mod keyring;
mod known_hosts;
mod remote;

use std::sync::{Arc, Mutex};

use ic_audit::{AuditLog, Entry, Kind, Recorded, Redactor};
use ic_mcp::{Request, Response, RpcError, code};
use ic_policy::{Effect, Push, PushManner, PushedRef, Value};
use ic_servers::git::{Aid, JudgedRef, Lent};
use ic_types::{Object, Role, Secret, ServerName};
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use crate::locked;
use crate::server::Connection;
use agent::AgentFault;
use credential::Credential;
pub use keyring::Keyring;
pub(crate) use keyring::Lender;
use remote::JudgedRemote;

/// The most that one call asks for; ssh asks its agent once for each key.
const ASKED_MAX: u32 = 200;
/// The longest request.
pub(crate) const AID_BYTES_MAX: usize = 512 << 10;

/// What is lent to one call.
pub(crate) struct Aids {
    server: ServerName,
    lender: Arc<Lender>,
    log: Arc<AuditLog>,
    tasks: TaskTracker,
    state: Mutex<State>,
    /// The connection to the user's agent, once there is one.
    agent: tokio::sync::Mutex<Option<UnixStream>>,
}

/// What has been lent so far.
#[derive(Default)]
struct State {
    /// There is none before the call was recorded, nor after it is done.
    call: Option<Arc<Call>>,
    n_asked: u32,
    credential: Option<Arc<Credential>>,
    /// What must not be seen in what comes of the call.
    secrets: Vec<Arc<Secret<String>>>,
}

/// The call, as far as it counts here.
struct Call {
    request_id: String,
    remotes: Vec<JudgedRemote>,
    /// What it was judged to send, if it is a push.
    push: Option<Push>,
}

/// Why something is not lent.
#[derive(Debug, thiserror::Error)]
enum NotLent {
    #[error("only a call that is running can ask for credentials")]
    NoCall,
    #[error("one call asks for at most {ASKED_MAX} things")]
    TooMuch,
    #[error("a call cannot ask for this")]
    Unknown,
    #[error("`{0}` is not what the call was judged about")]
    Other(String),
    #[error(transparent)]
    Agent(#[from] AgentFault),
    #[error("{0}")]
    Failed(String),
}

impl Aids {
    pub(crate) fn new(
        server: ServerName,
        lender: Arc<Lender>,
        log: Arc<AuditLog>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            server,
            lender,
            log,
            tasks,
            state: Mutex::default(),
            agent: tokio::sync::Mutex::default(),
        }
    }

    /// Lends to the call from now on.
    ///
    /// SECURITY: takes the proof that the call was recorded; nobody is asked for a credential before.
    pub(crate) fn lend(&self, recorded: &Recorded) {
        let call = recorded.permit().call();
        let urls = call.values(Role::GitRemoteUrl).iter().filter_map(|value| match value {
            Value::Url(url) => JudgedRemote::of(url),
            Value::Path(_) | Value::LocalRemote(_) | Value::Text(_) => None,
        });
        let (request_id, remotes) = (recorded.request_id().to_owned(), urls.collect());
        let push = call.push().cloned();
        locked(&self.state).call = Some(Arc::new(Call { request_id, remotes, push }));
    }

    /// Lends nothing any more.
    pub(crate) fn close(&self) {
        let mut state = locked(&self.state);
        state.call = None;
        state.credential = None;
    }

    /// Returns what hides what was lent, if a secret was.
    pub(crate) fn mask(&self) -> Option<Redactor> {
        let state = locked(&self.state);
        let secrets = state.secrets.iter().map(Arc::clone);
        (!state.secrets.is_empty()).then(|| Redactor::new(secrets))
    }

    /// Hides what was lent in what the server says while the call runs.
    pub(crate) fn hide(&self, text: String) -> String {
        match self.mask() {
            Some(mask) => mask.mask_split_keys(text),
            None => text,
        }
    }

    /// Takes a request for an aid, and answers it when it can.
    pub(crate) fn begin(
        self: &Arc<Self>,
        request: Request,
        n_bytes: usize,
        connection: &Arc<Connection>,
    ) {
        let (aids, connection) = (Arc::clone(self), Arc::clone(connection));
        self.tasks.spawn(async move {
            let answering = aids.answer(&request.params, n_bytes);
            let over = connection.over();
            let Some(answer) = over.run_until_cancelled(answering).await else { return };
            let outcome = match answer {
                Ok(lent) => Ok(lent.to_json()),
                Err(why) => Err(RpcError::new(code::INVALID_REQUEST, why.to_string())),
            };
            connection.reply(Response { id: Some(request.id), outcome }).await;
        });
    }

    async fn answer(&self, params: &Object, n_bytes: usize) -> Result<Lent, NotLent> {
        let call = {
            let mut state = locked(&self.state);
            state.n_asked += 1;
            match &state.call {
                None => Err(NotLent::NoCall),
                Some(_) if ASKED_MAX < state.n_asked => Err(NotLent::TooMuch),
                Some(call) => Ok(Arc::clone(call)),
            }
        };
        let call = match call {
            Ok(call) => call,
            Err(why) => return Err(self.refused(None, "nothing", None, why)),
        };
        let aid = match Aid::parse(params) {
            Some(aid) if n_bytes <= AID_BYTES_MAX => aid,
            Some(_) | None => {
                return Err(self.refused(Some(&call), "unknown", None, NotLent::Unknown));
            }
        };
        match self.serve(&call, &aid).await {
            Ok(lent) => Ok(lent),
            Err(why) => {
                let host = match &aid {
                    Aid::Credential { host, .. } => Some(host.as_str()),
                    Aid::Trust { url } => Some(url.as_str()),
                    Aid::Judged | Aid::Tried { .. } | Aid::Agent { .. } => None,
                };
                Err(self.refused(Some(&call), aid.as_str(), host, why))
            }
        }
    }

    async fn serve(&self, call: &Call, aid: &Aid) -> Result<Lent, NotLent> {
        match aid {
            Aid::Judged => {
                let urls = call.remotes.iter().map(|remote| remote.url.clone()).collect();
                let (refs, no_refs) = match &call.push {
                    Some(Push::Refs(refs)) => (refs.iter().map(judged_ref).collect(), None),
                    Some(Push::Unknown(why)) => (Vec::new(), Some(why.clone())),
                    None => (Vec::new(), None),
                };
                Ok(Lent { urls, refs, no_refs, ..Lent::default() })
            }
            Aid::Trust { url } => {
                let remote = call.remotes.iter().find(|remote| remote.url == *url);
                let remote = remote.ok_or_else(|| NotLent::Other(url.clone()))?;
                let trusted = if remote.is_ssh() {
                    Some(known_hosts::of(&self.lender, remote).await.map_err(NotLent::Failed)?)
                } else {
                    anchors::of(&self.lender, remote).await.map_err(NotLent::Failed)?
                };
                Ok(Lent { trusted, ..Lent::default() })
            }
            Aid::Credential { protocol, host, path } => {
                self.credential(call, protocol, host, path).await
            }
            Aid::Tried { is_good } => {
                let credential = locked(&self.state).credential.take();
                let credential = credential.ok_or(NotLent::Unknown)?;
                credential.tried(&self.lender, *is_good).await;
                self.lent(call, "tried", &credential.host, *is_good)?;
                Ok(Lent::default())
            }
            Aid::Agent { message } => self.agent(call, message).await,
        }
    }

    async fn credential(
        &self,
        call: &Call,
        protocol: &str,
        host: &str,
        path: &str,
    ) -> Result<Lent, NotLent> {
        // SECURITY: only the host that was judged, at its port and for its repository.
        let remote = call.remotes.iter().find(|it| it.is_asked_for(protocol, host, path));
        let remote = remote.ok_or_else(|| NotLent::Other(format!("{protocol}://{host}")))?;
        // Before the helper is asked, which may ask the person.
        self.lent(call, "credential", host, true)?;
        let filled = Credential::fill(&self.lender, remote).await.map_err(NotLent::Failed)?;
        let Some(credential) = filled else { return Ok(Lent::default()) };
        let credential = Arc::new(credential);
        let lent = credential.lend();
        let mut state = locked(&self.state);
        state.secrets.push(Arc::clone(&credential.password));
        state.credential = Some(credential);
        Ok(Lent { credential: Some(lent), ..Lent::default() })
    }

    async fn agent(&self, call: &Call, message: &[u8]) -> Result<Lent, NotLent> {
        let users = call.remotes.iter().filter_map(JudgedRemote::ssh_user);
        let users: Vec<&str> = users.collect();
        let asked = agent::check(message, &users)?;
        if let agent::Asked::Sign { user } = &asked {
            self.lent(call, "signature", user, true)?;
        }
        let mut connection = self.agent.lock().await;
        if asked == agent::Asked::Bind {
            // Another connection of ssh, which the agent takes for another one too.
            *connection = None;
        }
        let answer = self.lender.ask_agent(&mut connection, message).await;
        let message = answer.map_err(NotLent::Failed)?;
        Ok(Lent { message, ..Lent::default() })
    }

    /// Records what is lent; what cannot be recorded is not lent.
    fn lent(&self, call: &Call, what: &str, host: &str, is_good: bool) -> Result<(), NotLent> {
        let mut event = Object::new();
        event.insert("event", "lent");
        event.insert("aid", what);
        event.insert("host", host);
        if !is_good {
            event.insert("good", false);
        }
        let entry = Entry { verdict: Some(Effect::Allow), ..self.entry(Some(call), event) };
        self.log.note(entry).map(drop).map_err(|error| NotLent::Failed(error.to_string()))
    }

    /// Records what is not lent.
    fn refused(
        &self,
        call: Option<&Arc<Call>>,
        what: &str,
        host: Option<&str>,
        why: NotLent,
    ) -> NotLent {
        let mut event = Object::new();
        event.insert("event", "not-lent");
        event.insert("aid", what);
        if let Some(host) = host {
            event.insert("host", host.chars().take(256).collect::<String>());
        }
        let entry = Entry {
            verdict: Some(Effect::Deny),
            reason: Some(Arc::from(why.to_string())),
            ..self.entry(call.map(AsRef::as_ref), event)
        };
        // A log that cannot be written to stops every call anyway.
        self.log.note(entry).ok();
        why
    }

    fn entry(&self, call: Option<&Call>, event: Object) -> Entry {
        Entry {
            request_id: call.map(|call| call.request_id.clone()),
            server: Some(self.server.clone()),
            arguments: Some(event.into()),
            ..Entry::new(Kind::Session)
        }
    }
}

/// Says what was judged about one ref of a push.
fn judged_ref(it: &PushedRef) -> JudgedRef {
    let (is_forced, is_leased) = match it.manner {
        PushManner::Advance => (false, false),
        PushManner::Lease => (true, true),
        PushManner::Force => (true, false),
    };
    let (name, old, new) = (it.name.clone(), it.old.clone(), it.new.clone());
    JudgedRef { name, old, new, is_forced, is_leased }
}

impl std::fmt::Debug for Aids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aids").field("server", &self.server).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
