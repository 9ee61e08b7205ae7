//! Calls the user: runs the program of `notify.command` when a call waits for approval.
//!
//! The program is only told. What it prints and how it ends is no answer, and no call waits for it: one program
//! runs at a time, for a bounded time, and what it leaves running is ended. Who may answer, and how, is not
//! known here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::Redactor;
use ic_backend::Witness;
use ic_confine::{Child, ChildHandle, ChildSpec, Launcher};
use ic_escalation::{Request, display, request};
use ic_types::{EscalationId, Json, Object, SessionId, SessionName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long the program may take.
const TIME_MAX: Duration = Duration::from_secs(10);
/// How many requests wait for the program; further ones are not told.
const WAITING_MAX: usize = 64;
/// The longest document; a request that is larger is told without its arguments.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// How much of a complaint is kept.
const COMPLAINT_BYTES_MAX: usize = 300;

/// What calls the user.
pub(crate) struct Notifier {
    /// The program.
    pub(crate) program: ChildSpec,
    /// What starts it.
    pub(crate) launcher: Launcher,
    /// What hides keys and passwords: what the program is told may leave the machine.
    pub(crate) redactor: Arc<Redactor>,
    /// The observer that is told if the program fails.
    pub(crate) witness: Arc<dyn Witness>,
    /// Where the requests are.
    pub(crate) directory: PathBuf,
    /// The session.
    pub(crate) session: SessionId,
    /// What people call it.
    pub(crate) name: SessionName,
}

impl Notifier {
    /// Begins to listen; the ids of requests are to be sent to what is returned.
    pub(crate) fn spawn(self) -> (mpsc::Sender<EscalationId>, JoinHandle<()>) {
        let (told, raised) = mpsc::channel(WAITING_MAX);
        (told, tokio::spawn(self.run(raised)))
    }

    async fn run(self, mut raised: mpsc::Receiver<EscalationId>) {
        let mut has_complained = false;
        while let Some(id) = raised.recv().await {
            let Some(document) = self.document(id).await else { continue };
            let Err(complaint) = self.call(document.as_bytes()).await else { continue };
            tracing::warn!(complaint, "the program of `notify.command` failed");
            // Once: the request itself waits as before, and every further one would say the same.
            if !std::mem::replace(&mut has_complained, true) {
                self.witness.notice(&format!(
                    "the program of `notify.command` failed: {complaint}; requests wait for approval all the same"
                ));
            }
        }
    }

    /// Returns what the program is told about a request; `None` if it does not wait any more.
    async fn document(&self, id: EscalationId) -> Option<String> {
        let (directory, session) = (self.directory.clone(), self.session.clone());
        let find = move || request::read(&directory, &id, &session).ok().flatten();
        // A request may have many megabytes.
        let request = tokio::task::spawn_blocking(find).await.ok().flatten()?;
        let whole = |has_arguments| {
            let document = Json::Object(document(&request, &self.name, has_arguments));
            self.redactor.json(&document).0.to_string()
        };
        let document = whole(true);
        Some(if DOCUMENT_BYTES_MAX < document.len() { whole(false) } else { document })
    }

    /// Runs the program once; fails with what a person should know.
    async fn call(&self, document: &[u8]) -> Result<(), String> {
        let child = self.launcher.start(&self.program).map_err(|error| ic_types::chain(&error))?;
        let Child { stdin, stdout, stderr, mut process, .. } = child;
        let served = async {
            let ((), (), said) = tokio::join!(feed(stdin, document), drain(stdout), hear(stderr));
            said
        };
        let ended = tokio::time::timeout(TIME_MAX, async {
            // Its pipes may stay open in what it left behind, which ends with it.
            tokio::join!(served, status(&mut process))
        });
        let Ok((said, status)) = ended.await else {
            process.stop().await.ok();
            return Err(format!("it took longer than {} seconds", TIME_MAX.as_secs()));
        };
        match (status?, said.lines().next().map(str::trim)) {
            (0, _) => Ok(()),
            (code, None | Some("")) => Err(format!("it ended with code {code}")),
            (code, Some(line)) => Err(format!("it ended with code {code} and said: {line}")),
        }
    }
}

async fn status(process: &mut ChildHandle) -> Result<i32, String> {
    let status = process.wait().await.map_err(|error| error.to_string())?;
    // A guard that was killed itself took the program with it.
    Ok(status.code().unwrap_or(-1))
}

async fn feed(mut stdin: ChildStdin, document: &[u8]) {
    // A program that does not read it has seen enough.
    if stdin.write_all(document).await.is_ok() {
        stdin.write_all(b"\n").await.ok();
    }
}

/// Reads what the program prints, and forgets it: it is no answer.
async fn drain(mut stdout: ChildStdout) {
    tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await.ok();
}

/// Returns the beginning of what the program complains about.
async fn hear(mut stderr: ChildStderr) -> String {
    let mut heard = Vec::new();
    (&mut stderr).take(COMPLAINT_BYTES_MAX as u64).read_to_end(&mut heard).await.ok();
    tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await.ok();
    String::from_utf8_lossy(&heard).into_owned()
}

/// Writes down a request for the program; never what an approval has to carry.
fn document(request: &Request, name: &SessionName, has_arguments: bool) -> Object {
    let mut object = Object::new();
    object.insert("event", "approval-requested");
    object.insert("summary", display::summary(request));
    object.insert("sessionName", name.as_str());
    object.insert("sessionId", request.session.as_str());
    object.insert("escalationId", request.escalation.as_str());
    if let Some(number) = request.number {
        object.insert("number", number);
    }
    object.insert("serverName", request.server.as_str());
    object.insert("toolName", request.tool.as_str());
    object.insert("reason", request.reason.as_str());
    object.insert("rule", request.rule.as_str());
    let roles = request.escalated_roles.iter().map(|it| Json::from(it.as_str()));
    object.insert("escalatedRoles", Json::Array(roles.collect()));
    if has_arguments {
        object.insert("resolved", request.resolved.clone());
        object.insert("arguments", request.arguments.clone());
    } else {
        object.insert("shortened", Json::Bool(true));
    }
    object.insert("createdAt", request.created_at.to_string());
    object.insert("expiresAt", request.expires_at.to_string());
    object
}
