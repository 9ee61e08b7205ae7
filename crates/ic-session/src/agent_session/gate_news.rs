//! What the model gate tells a session: what was spent, and that the budget is used up.
//!
//! All of it is recorded first; nothing is decided here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ic_agent::Diagnostic;
use ic_backend::Witness as _;
use ic_mitm::{Asked, Ended, Ledger, LedgerError, Refusal, Refused};

use crate::news::{Event, News};

/// A ledger of the model gate that also tells the session.
#[derive(Debug)]
pub struct GateNews {
    ledger: Arc<dyn Ledger>,
    news: Arc<News>,
    /// Whether a request was refused because the budget is used up.
    is_exhausted: AtomicBool,
}

impl GateNews {
    /// Writes to `ledger`, and tells `news`.
    pub fn new(ledger: Arc<dyn Ledger>, news: Arc<News>) -> Self {
        Self { ledger, news, is_exhausted: AtomicBool::new(false) }
    }

    /// Returns whether the gate has refused a request because the budget is used up.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }
}

impl Ledger for GateNews {
    fn asked(&self, asked: &Asked) -> Result<(), LedgerError> {
        self.ledger.asked(asked)
    }

    fn ended(&self, asked: &Asked, ended: &Ended) {
        self.ledger.ended(asked, ended);
        if let Some(usage) = ended.usage {
            let (prompt, completion) = (usage.prompt, usage.completion);
            self.news.log(&format!("model: {prompt} tokens in, {completion} out"));
            self.news.tell(Event::Diagnostic(Diagnostic::StepFinish {
                step: asked.id,
                prompt,
                completion,
            }));
        }
    }

    fn refused(&self, refused: &Refused<'_>) {
        self.ledger.refused(refused);
        match refused.why {
            Refusal::Budget(_) => self.is_exhausted.store(true, Ordering::Relaxed),
            // Agents send such requests by themselves: nobody needs to hear of them.
            Refusal::Host { .. } | Refusal::Housekeeping | Refusal::Upgrade => {}
            why => self.news.log(&format!("model gate: refused: {why}")),
        }
    }

    fn noticed(&self, notice: &str) {
        self.ledger.noticed(notice);
        self.news.notice(&format!("model gate: {notice}"));
    }
}
