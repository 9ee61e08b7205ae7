//! What became of a call that was forwarded: recorded, held to limits, and made a reply.
//!
//! What a server says is text of a stranger: our keys are masked in it, and whatever is ours in a reply
//! is told from it.

use std::sync::Arc;

use ic_audit::{Entry, REPORTED_ERROR};
use ic_backend::server::Unanswered;
use ic_backend::violation::Violation;
use ic_mcp::{Outcome, RpcError, code};
use ic_types::{Digest, Json, JsonLimits, Object, ServerName};

use super::{Broker, Reply};
use crate::breaker::Came;
use crate::{locked, result};

/// The longest message of a server's error that is passed on.
const ERROR_CHARS_MAX: usize = 16 << 10;
/// The most that is passed on besides.
const ERROR_DATA_BYTES_MAX: usize = 1 << 20;

impl Broker {
    /// Records what became of a call, and makes the reply; a caged server that is not ours is named.
    pub(super) fn finish(
        &self,
        outcome: Result<Outcome, Unanswered>,
        mut entry: Entry,
        call: Digest,
        caged: Option<&ServerName>,
    ) -> Reply {
        let note = caged.and_then(|server| {
            let violation = violation(&outcome)?;
            let reason = violation.reason(server);
            self.witness.violation(&reason);
            entry.reason = Some(Arc::from(reason));
            Some(violation.note(server))
        });
        if has_failed(&outcome) {
            entry.reason.get_or_insert(Arc::from(REPORTED_ERROR));
        }
        let (reply, entry, came) = match outcome {
            Ok(Ok(result)) => match result::limited(result, note.as_deref()) {
                Ok(limited) => {
                    let text = self.redactor.mask_own_keys(limited.text);
                    let digest = Digest::of(text.as_bytes());
                    let (result_digest, bytes) = (Some(digest), text.len() as u64);
                    let entry = Entry { result_digest, result_bytes: Some(bytes), ..entry };
                    (Reply::Result(text), entry, Some(Came::Result(digest)))
                }
                Err(fault) => {
                    let reason = Some(Arc::from(fault.to_string()));
                    (self.failed(&fault.to_string()), Entry { reason, ..entry }, None)
                }
            },
            // SECURITY: it would make a client send the person to an address of the server's choice.
            Ok(Err(RpcError { code: code::URL_ELICITATION_REQUIRED, .. })) => {
                let fault = result::ResultFault::InputRequired.to_string();
                (self.failed(&fault), Entry { reason: Some(Arc::from(fault)), ..entry }, None)
            }
            Ok(Err(error)) => {
                let mut error = self.limited_error(error);
                let came = Came::Result(Digest::of(error.message.as_bytes()));
                let said = format!("the server answered with an error: {error}");
                let reason = match &entry.reason {
                    Some(violation) => format!("{violation}; {said}"),
                    None => said,
                };
                if let Some(note) = note {
                    error.message = format!("{}\n{note}", error.message);
                }
                let reason = Some(Arc::from(reason));
                (Reply::Error(error), Entry { reason, ..entry }, Some(came))
            }
            Err(Unanswered::Cancelled) => {
                let reason = Some(Arc::from("cancelled by the client"));
                (Reply::Nothing, Entry { reason, ..entry }, None)
            }
            Err(unanswered @ (Unanswered::Over(_) | Unanswered::TimedOut(_))) => {
                let why = format!(
                    "{unanswered}; whether the call was carried out is not known, and it was not \
                     sent again"
                );
                (self.failed(&why), Entry { reason: Some(Arc::from(why)), ..entry }, None)
            }
        };
        if let Some(came) = came {
            locked(&self.breaker).remember(call, came, self.clock.now());
        }
        match self.log.note(entry) {
            Ok(_) => reply,
            // What cannot be written down is not passed on either; but it was done.
            Err(error) => self.made_but_unrecorded(&error),
        }
    }

    /// Holds a server's error to limits and masks our keys in it.
    fn limited_error(&self, error: RpcError) -> RpcError {
        let message: String = error.message.chars().take(ERROR_CHARS_MAX).collect();
        let data = error.data.map(|data| data.to_string());
        let data = data.filter(|data| data.len() <= ERROR_DATA_BYTES_MAX);
        let data = data.and_then(|data| {
            let masked = self.redactor.mask_own_keys(data);
            Json::parse(masked.as_bytes(), JsonLimits::CALL).ok()
        });
        RpcError { code: error.code, message: self.redactor.mask_own_keys(message), data }
    }

    /// Records and answers a call whose result is not passed on, because of `why`.
    pub(super) fn failed_with(&self, why: &str, entry: Entry, call: Digest) -> Reply {
        let came = Came::Result(Digest::of(why.as_bytes()));
        locked(&self.breaker).remember(call, came, self.clock.now());
        match self.log.note(entry) {
            Ok(_) => self.failed(why),
            Err(error) => self.unrecorded(&error),
        }
    }

    fn failed(&self, why: &str) -> Reply {
        let mut content = Object::new();
        content.insert("type", "text");
        content.insert("text", format!("FAILED: {why}"));
        let mut result = Object::new();
        result.insert("content", vec![Json::Object(content)]);
        result.insert("isError", true);
        Reply::Result(self.redactor.mask_own_keys(Json::Object(result).to_string()))
    }
}

/// Looks for something that a cage refused in what became of a call.
/// Returns whether the tool says of itself that it did not do what it was asked for.
fn has_failed(outcome: &Result<Outcome, Unanswered>) -> bool {
    let Ok(Ok(Json::Object(result))) = outcome else { return false };
    result.get("isError") == Some(&Json::Bool(true))
}

fn violation(outcome: &Result<Outcome, Unanswered>) -> Option<Violation> {
    match outcome {
        Ok(Ok(result)) => Violation::of_result(result),
        Ok(Err(error)) => Violation::of_text(&error.message),
        Err(_) => None,
    }
}
