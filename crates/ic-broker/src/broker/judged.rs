//! A call on its way to its verdict: checked, waited for if it changes files, resolved and judged.
//!
//! Everything of a call that asks the disk before its verdict is here. What the system remembers of the disk
//! is looked at in place; whatever has to ask the disk itself is done aside, and a disk that does not answer
//! holds up this call alone, which is refused.

use std::sync::{Arc, Mutex};

use ic_backend::backend::Brought;
use ic_judge::{Bringing, Unanswered, Weight};
use ic_policy::Verdict;
use ic_types::{Digest, Object, ToolCall};

use super::{Asked, Broker, Flight, Found, found, repetition};
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// The rule that is named where the disk does not say what a call is about.
const UNANSWERED: &str = "structural-disk-unanswered";

/// A call that does not come to be judged, with the arguments that it came with.
struct NotJudged {
    arguments: Object,
    refusal: Refusal,
}

impl Broker {
    /// Waits until no other call changes files, here or in another session, if this one may.
    ///
    /// SECURITY: what a change makes of a tree is judged by how the tree is. Two calls that are judged
    /// side by side could each be harmless, and together make what the host executes.
    pub(super) async fn begin_to_change(
        &self,
        asked: &Asked,
        found: &Found,
        flight: &mut Flight,
    ) -> Result<(), Refusal> {
        let (server, tool) = found.names();
        let annotation = self.judge.policy.annotation(server, tool);
        let is_changing = found.server.changes_alone(tool, annotation);
        if is_changing && flight.changing.is_none() {
            Box::pin(self.reach(asked, found)).await?;
            flight.changing = Some(Box::pin(self.changing.begin(&flight.cancel)).await?);
        }
        Ok(())
    }

    /// Finds out whether the disk answers for the paths of a call, while nobody waits for it.
    ///
    /// A call with very many values is not looked at twice: others wait for it until the deadline.
    async fn reach(&self, asked: &Asked, found: &Found) -> Result<(), Refusal> {
        let weight = found.server.weight(&asked.arguments);
        if weight == Weight::Heavy || found.offer.withheld.is_some() {
            return Ok(());
        }
        let (server, tool) = found.names();
        let arguments = asked.arguments.clone();
        let call = ToolCall { server: server.clone(), tool: tool.clone(), arguments };
        if self.judge.is_in_memory(&call) {
            return Ok(());
        }
        let judge = Arc::clone(&self.judge);
        self.aside.look(weight, move || judge.reach(&call)).await.map_err(unanswered)
    }

    /// Checks and judges a call; of one that is judged the arguments are taken.
    ///
    /// Of one that its server would take over, what it would change is judged with it.
    pub(super) async fn judged(
        &self,
        asked: &mut Asked,
        found: &Found,
        brought: Option<&Brought>,
    ) -> Result<(Verdict, Digest), Refusal> {
        let Found { server, offer, .. } = found;
        if let Some(why) = &offer.withheld {
            return Err(found::withheld(server.name(), &offer.tool.name, why));
        }
        let arguments = std::mem::take(&mut asked.arguments);
        let judged = match server.weight(&arguments) {
            Weight::Light => self.judged_light(arguments, found, brought).await,
            weight => Box::pin(self.judged_aside(weight, arguments, found, brought)).await,
        };
        judged.map_err(|NotJudged { arguments, refusal }| {
            asked.arguments = arguments;
            refusal
        })
    }

    /// Judges an ordinary call: in place, if the system remembers enough of the disk.
    async fn judged_light(
        &self,
        arguments: Object,
        found: &Found,
        brought: Option<&Brought>,
    ) -> Result<(Verdict, Digest), NotJudged> {
        let call = checked(arguments, found)?;
        let repetition = repetition(&call);
        let call = match self.judge.judge_from_memory(call, bringing(brought)) {
            Ok(verdict) => return Ok((verdict, repetition)),
            Err(call) => call,
        };
        let (judge, brought) = (Arc::clone(&self.judge), brought.cloned());
        let arguments = call.arguments.clone();
        let judged = self
            .aside
            .look(Weight::Light, move || judge.judge_bringing(call, bringing(brought.as_ref())));
        match Box::pin(judged).await {
            Ok(verdict) => Ok((verdict, repetition)),
            Err(why) => Err(NotJudged { arguments, refusal: unanswered(why) }),
        }
    }

    /// Judges a call that takes long, or may.
    async fn judged_aside(
        &self,
        weight: Weight,
        arguments: Object,
        found: &Found,
        brought: Option<&Brought>,
    ) -> Result<(Verdict, Digest), NotJudged> {
        let (judge, found, brought) = (Arc::clone(&self.judge), found.clone(), brought.cloned());
        // For the record, should the disk not answer; copying them takes long as well.
        let kept: Arc<Mutex<Object>> = Arc::default();
        let keep = Arc::clone(&kept);
        let judged = self.aside.look(weight, move || -> Result<(Verdict, Digest), NotJudged> {
            *locked(&keep) = arguments.clone();
            let call = checked(arguments, &found)?;
            let repetition = repetition(&call);
            Ok((judge.judge_bringing(call, bringing(brought.as_ref())), repetition))
        });
        judged.await.unwrap_or_else(|why| {
            let arguments = std::mem::take(&mut *locked(&kept));
            Err(NotJudged { arguments, refusal: unanswered(why) })
        })
    }
}

/// Holds the arguments of a call to the schema of its tool: its limits hold before anything is resolved.
fn checked(arguments: Object, found: &Found) -> Result<ToolCall, NotJudged> {
    let tool = &found.offer.tool;
    match tool.schema.check(&arguments) {
        Ok(()) => {
            let server = found.server.name().clone();
            Ok(ToolCall { server, tool: tool.name.clone(), arguments })
        }
        Err(violation) => {
            let (kind, rule) = (RefusalKind::InvalidArguments, "structural-invalid-arguments");
            let refusal = Refusal::structural(kind, rule, violation.to_string());
            Err(NotJudged { arguments, refusal })
        }
    }
}

fn bringing(brought: Option<&Brought>) -> Bringing<'_> {
    brought.map_or_else(Bringing::default, |it| Bringing { brought: &it.paths, named: &it.ruled })
}

fn unanswered(why: Unanswered) -> Refusal {
    Refusal::structural(RefusalKind::Denied, UNANSWERED, why.to_string())
}
