//! A client as far as it can be asked something: what it said it can answer, and what it was asked.
//!
//! What is asked was judged, recorded and approved before, and each answer serves once. Clients of the
//! newest revision are asked nothing: in that revision a question is a result.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::Recorded;
use ic_inventory::PetitionKind;
use ic_mcp::{Id, Outcome, Response, RpcError, code, notification_line, request_line};
use ic_types::{Json, Object};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Outbox;
use crate::locked;

/// The way to ask one client.
#[derive(Debug)]
pub struct Ear {
    outbox: Outbox,
    /// Cancelled when the client has said all it had to say.
    left: CancellationToken,
    can: Mutex<Vec<PetitionKind>>,
    /// What the client calls itself.
    name: Mutex<String>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
    next_id: AtomicU64,
}

/// Why a client did not answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Silent {
    /// It has gone.
    #[error("the client went away before it answered")]
    Left,
    /// It took too long.
    #[error("the client did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Nobody wants an answer any more.
    #[error("the client's answer is no longer needed")]
    Cancelled,
}

impl Ear {
    /// Makes the ear of a client that `outbox` leads to, until it has `left`.
    pub fn new(outbox: Outbox, left: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            outbox,
            left,
            can: Mutex::default(),
            name: Mutex::default(),
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
        })
    }

    /// Makes the ear of a client that hears nothing.
    #[cfg(test)]
    pub(crate) fn of_nobody() -> Arc<Self> {
        let (outbox, _) = Outbox::new(super::Slow::IsWaitedFor, CancellationToken::new());
        Self::new(outbox, CancellationToken::new())
    }

    /// Notes what the client says it is called, and can answer.
    pub fn learn(&self, name: Option<&str>, capabilities: Option<&Json>) {
        name.unwrap_or_default().clone_into(&mut locked(&self.name));
        let Some(Json::Object(capabilities)) = capabilities else { return };
        let is_there = |kind: &PetitionKind| match capabilities.get(kind.capability()) {
            // Whoever names modes, and not that of forms, has no forms.
            Some(Json::Object(modes)) => {
                *kind != PetitionKind::Elicitation
                    || modes.get("form").is_some()
                    || modes.get("url").is_none()
            }
            _ => false,
        };
        *locked(&self.can) = PetitionKind::ALL.into_iter().filter(is_there).collect();
    }

    /// Returns what the client calls itself; nothing, if it has not said.
    pub fn name(&self) -> String {
        locked(&self.name).clone()
    }

    /// Returns whether the client said that it can answer this.
    pub fn can(&self, kind: PetitionKind) -> bool {
        locked(&self.can).contains(&kind)
    }

    /// Returns a token that is cancelled when the client has said all it had to say.
    pub fn left(&self) -> &CancellationToken {
        &self.left
    }

    /// Asks the client what was recorded, and waits for the answer.
    ///
    /// SECURITY: consumes the proof; one approval asks once.
    pub async fn ask(
        &self,
        recorded: Recorded,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Result<Outcome, Silent> {
        let call = recorded.permit().call();
        self.send(call.tool().as_str(), call.sent(), cancel, limit).await
    }

    async fn send(
        &self,
        method: &str,
        params: &Object,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Result<Outcome, Silent> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let line = request_line(&Id::number(number), method, |out| {
            Json::write_object(out, params);
        });
        let (reply, answer) = oneshot::channel();
        locked(&self.waiting).insert(number, reply);
        // Whichever way this ends, nobody is left in the table.
        let entry = Entry { ear: self, number };
        let answered = async {
            self.outbox.send(line).await;
            answer.await
        };
        let silent = tokio::select! {
            biased;
            // What was taken back goes no further, even if the answer is there.
            () = cancel.cancelled() => Silent::Cancelled,
            answered = answered => match answered {
                Ok(outcome) => return Ok(outcome),
                Err(_) => Silent::Left,
            },
            () = self.left.cancelled() => Silent::Left,
            () = tokio::time::sleep(limit) => Silent::TimedOut(limit),
        };
        entry.give_up(silent);
        Err(silent)
    }

    /// Takes an answer of the client's; `false` if nothing was asked that it answers.
    pub fn answer(&self, response: Response) -> bool {
        let number = response.id.as_ref().and_then(Id::as_number);
        let waiting = number.and_then(|number| locked(&self.waiting).remove(&number));
        // Whoever waited may be gone by now.
        waiting.map(|waiting| waiting.send(response.outcome).ok()).is_some()
    }

    /// Takes something that can only be an answer, and cannot be read as one.
    pub fn answer_badly(&self, id: Option<&Id>, reason: &str) {
        let outcome = Err(RpcError::new(code::INVALID_REQUEST, reason));
        self.answer(Response { id: id.cloned(), outcome });
    }

    /// Takes something that may be an answer to anything: whatever was asked has none.
    pub fn answer_nothing(&self, reason: &str) {
        let waiting = std::mem::take(&mut *locked(&self.waiting));
        for waiting in waiting.into_values() {
            waiting.send(Err(RpcError::new(code::INVALID_REQUEST, reason))).ok();
        }
    }
}

/// Something that waits for its answer.
struct Entry<'a> {
    ear: &'a Ear,
    number: u64,
}

impl Entry<'_> {
    /// Tells the client that nobody waits any more.
    fn give_up(&self, silent: Silent) {
        let mut params = Object::new();
        params.insert("requestId", self.number);
        params.insert("reason", silent.to_string());
        let line = notification_line("notifications/cancelled", &params);
        self.ear.outbox.send_if_there_is_room(line);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        locked(&self.ear.waiting).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outbox::{Outgoing, Slow};
    use super::*;

    const LIMIT: Duration = Duration::from_mins(10);

    fn ear() -> (Arc<Ear>, Outgoing) {
        let (outbox, outgoing) = Outbox::new(Slow::IsWaitedFor, CancellationToken::new());
        (Ear::new(outbox, CancellationToken::new()), outgoing)
    }

    fn answer(number: u64) -> Response {
        Response { id: Some(Id::number(number)), outcome: Ok(Json::Null) }
    }

    /// Returns all that was sent to the client.
    async fn sent(mut outgoing: Outgoing, n_lines: usize) -> Vec<String> {
        let mut lines = Vec::new();
        while lines.len() < n_lines {
            outgoing.take(&mut lines, n_lines).await;
        }
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_answer_is_told_that_nobody_waits() {
        for case in ["silent", "left", "cancelled"] {
            let ((ear, outgoing), cancel) = (ear(), CancellationToken::new());
            let params = Object::new();
            let asking = ear.send("elicitation/create", &params, &cancel, LIMIT);
            let ending = async {
                tokio::task::yield_now().await;
                match case {
                    "left" => ear.left().cancel(),
                    "cancelled" => cancel.cancel(),
                    _ => {}
                }
            };
            let (asked, ()) = tokio::join!(asking, ending);
            let expected = match case {
                "left" => Silent::Left,
                "cancelled" => Silent::Cancelled,
                _ => Silent::TimedOut(LIMIT),
            };
            assert_eq!(asked.unwrap_err(), expected);
            let lines = sent(outgoing, 2).await;
            assert!(lines[0].contains("\"id\":1,\"method\":\"elicitation/create\""), "{lines:?}");
            assert!(lines[1].contains("notifications/cancelled"), "{lines:?}");
            assert!(locked(&ear.waiting).is_empty() && !ear.answer(answer(1)), "{case}");
        }
    }

    #[tokio::test]
    async fn an_answer_serves_once() {
        let ((ear, outgoing), cancel) = (ear(), CancellationToken::new());
        assert!(!ear.answer(answer(1)), "nothing was asked yet");
        let params = Object::new();
        let answering = async {
            tokio::task::yield_now().await;
            assert!(!ear.answer(answer(2)) && ear.answer(answer(1)) && !ear.answer(answer(1)));
        };
        let asking = ear.send("sampling/createMessage", &params, &cancel, LIMIT);
        let (asked, ()) = tokio::join!(asking, answering);
        assert!(matches!(asked, Ok(Ok(Json::Null))));
        assert_eq!(sent(outgoing, 1).await.len(), 1);
    }
}
