//! A call that the person's own last message may answer, and the record of it.
//!
//! What a message asks for is decided in `ic_escalation` and `ic_intent`; what is approved here is judged again
//! and settled like the answer of a person.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_escalation::{Answered, Judged};
use ic_policy::{Effect, Escalation, Ticket};
use ic_types::visible;

use super::{Broker, Going, Reply, event};
use crate::broker::Origin;

impl Broker {
    /// Returns an approval if the last message asks for this; otherwise the person is to be asked.
    pub(super) async fn by_message(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        going: &mut Going,
    ) -> Result<Option<Answered>, Reply> {
        let Some(approver) =
            self.people.approver.as_ref().filter(|_| going.origin == Origin::Agent)
        else {
            return Ok(None);
        };
        // Calls behind it need not wait for a model.
        going.flight.turn = None;
        let cancel = going.flight.cancel.clone();
        let judged = approver.answer(escalation, ticket, &*self.clock, &cancel).await;
        match judged {
            Judged::NoMessage => Ok(None),
            Judged::Ask { why, words } => {
                let mut asked = event("notAutoApproved", ticket);
                if let Some(words) = &words {
                    asked.insert("words", words.as_str());
                }
                let reason = Some(Arc::from(why.as_str()));
                self.record_of(asked, Entry { reason, ..Entry::new(Kind::Escalation) }, going)?;
                Ok(None)
            }
            Judged::Approved { answer, words, by } => {
                let mut answered = event("answered", ticket);
                answered.insert("decision", "approved");
                answered.insert("words", words.as_str());
                answered.insert("judge", by.as_str());
                let (verdict, decided_by) = (Some(Effect::Allow), Some(answer.decided_by()));
                let entry = Entry { verdict, decided_by, ..Entry::new(Kind::Escalation) };
                // SECURITY: recorded before it is used.
                self.record_of(answered, entry, going)?;
                let (server, tool) = going.found.names();
                self.witness.notice(&format!(
                    "approved automatically ({by}): {server}.{tool}, because you wrote \"{}\"",
                    visible(&words)
                ));
                let at = self.clock.now();
                Ok(Some(Answered { answer, at, grant: None, no_grant: None }))
            }
        }
    }
}
