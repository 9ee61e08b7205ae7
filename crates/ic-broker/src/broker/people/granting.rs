//! Grants as calls meet them: put in force with an approval, and used by later calls.
//!
//! What a grant covers is decided in `ic_escalation`; here its life is recorded.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_escalation::{Grant, GrantId, NoOffer};
use ic_policy::{DecidedBy, Effect};
use ic_types::{Json, Object};

use super::{Broker, Going, Reply};
use crate::chain;

impl Broker {
    /// Puts a grant in force; without one, says why if one was wanted.
    pub(super) fn put_in_force(
        &self,
        grant: Option<Grant>,
        no_grant: Option<&NoOffer>,
        going: &Going,
    ) -> Result<(), Reply> {
        let not_granted = |why: String| {
            self.witness.notice(&format!("the call is approved, and nothing is granted: {why}"));
            let mut event = Object::new();
            event.insert("event", "refused");
            let reason = Some(Arc::from(why));
            self.record_of(event, Entry { reason, ..Entry::new(Kind::Grant) }, going)
        };
        if let Some(no_grant) = no_grant {
            not_granted(no_grant.to_string())?;
        }
        let Some(grant) = grant else { return Ok(()) };
        // SECURITY: recorded before it can be used.
        self.record_of(added(&grant), Entry::new(Kind::Grant), going)?;
        match self.people.grants.add(grant, self.clock.now()) {
            Ok(()) => Ok(()),
            Err(error) => not_granted(chain(&error)),
        }
    }

    /// Records that a call was answered by a grant.
    pub(super) fn record_use(&self, grant: &GrantId, going: &Going) -> Result<(), Reply> {
        let mut event = Object::new();
        event.insert("event", "used");
        event.insert("grant", grant.as_str());
        let decided_by = Some(DecidedBy::Grant);
        let entry = Entry { verdict: Some(Effect::Allow), decided_by, ..Entry::new(Kind::Grant) };
        self.record_of(event, entry, going)
    }
}

/// Says what is granted.
fn added(grant: &Grant) -> Object {
    let mut roles = Object::new();
    for (role, scope) in grant.scopes() {
        let mut written = Object::new();
        written.insert("kind", scope.kind().as_str());
        let values = scope.values().into_iter().map(Json::from);
        written.insert("values", values.collect::<Vec<_>>());
        roles.insert(role.as_str(), written);
    }
    let mut event = Object::new();
    event.insert("event", "added");
    event.insert("grant", grant.id().as_str());
    event.insert("roles", roles);
    let only = grant.only().into_iter().map(Json::from);
    event.insert("only", only.collect::<Vec<_>>());
    event.insert("expiresAt", grant.expires_at().to_string());
    event
}
