//! Who serves a call that may be made: the server that runs, one that is started for it, or nobody.
//!
//! The view follows the judgement: what the long-lived server does not hold is served by one that holds
//! exactly what was judged. What is special about a built-in server is in its strategy. Nothing is
//! judged here.

use std::sync::Arc;
use std::time::Duration;

use ic_audit::{Recorded, Redactor};
use ic_confine::Confinement;
use ic_judge::Judged;
use ic_judge::method::CallMethod;
use ic_mcp::{Outcome, RpcError};
use ic_policy::ResolvedCall;
use ic_resolve::RealDisk;
use ic_types::{CanonicalPath, Json, JsonLimits, Role};
use tokio_util::sync::CancellationToken;

use crate::backend::{Forwarded, NoPlan, Pending, Plan, Sending, Wanted};
use crate::one_shot::OneShot;
use crate::server::{
    Asking, Connection, Errand, Following, Live, NoErrand, Offer, Server, Stillness, Unanswered,
    Watched,
};
use crate::sight::Sight;
use crate::strategy::{Case, Made, Strategy, may_change};

/// The longest that a call may take.
const CALL_MAX: Duration = Duration::from_mins(15);

/// Who serves a call.
enum Service {
    /// The server that runs anyway.
    Standing(Arc<Live>, Option<Watched>),
    /// One that was started for this call.
    Errand(Box<Errand>),
}

/// A call with who serves it.
struct Served {
    server: Arc<Server>,
    service: Service,
    /// Keeps servers that could write where the call does from writing.
    still: Option<Stillness>,
}

/// What the server that runs lacks for a call.
struct Lacking {
    judged: Vec<Judged>,
    /// The first path that it does not hold, or not with these rights.
    path: Option<Judged>,
    /// Whether it holds the paths in more than one directory.
    is_apart: bool,
}

impl Lacking {
    fn of(judged: Vec<Judged>, sight: &Sight) -> Self {
        let path = sight.lacks(&judged, &RealDisk).cloned();
        let is_apart = !sight.holds_together(&judged);
        Self { judged, path, is_apart }
    }

    /// Where no server runs, there is nothing that it could lack.
    fn nothing(judged: Vec<Judged>) -> Self {
        Self { judged, path: None, is_apart: false }
    }
}

impl Server {
    /// Finds out who serves a call, and starts a server for it if need be.
    pub(crate) async fn served(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
    ) -> Result<Box<dyn Plan>, NoPlan> {
        let call = wanted.permit.call();
        let service = self.service(wanted).await?;
        let served = |still| Served { server: Arc::clone(self), service, still };
        match self.still_for(call).await {
            Ok(still) => Ok(Box::new(served(still))),
            Err(no_plan) => {
                Box::new(served(None)).give_up();
                Err(no_plan)
            }
        }
    }

    async fn service(self: &Arc<Self>, wanted: Wanted<'_>) -> Result<Service, NoPlan> {
        let Wanted { permit, mut judged, offer, weight, aside, cancel } = wanted;
        let (strategy, judge) = (self.strategy(), self.judge());
        let live = match strategy.is_always_started() {
            true => None,
            false => Some(self.standing(offer, cancel).await?),
        };
        strategy.adjust(judge, permit.call(), &mut judged);
        let lacking = match live.clone() {
            None => Lacking::nothing(judged),
            Some(sees) => aside.run(weight, move || Lacking::of(judged, &sees.sight)).await,
        };
        let one_shot = strategy.one_shot(&Case {
            permit,
            judge,
            config: self.config(),
            judged: &lacking.judged,
            live: live.as_deref(),
            lacking: lacking.path.as_ref(),
            is_apart: lacking.is_apart,
        })?;
        match (one_shot, live) {
            (Some(one_shot), _) => self.errand(&one_shot, cancel).await,
            (None, Some(live)) => {
                let watched = Watched::begin(self, &live).await?;
                Ok(Service::Standing(live, watched))
            }
            (None, None) => Err(NoPlan::Unavailable(format!("nothing serves `{}`", self.name))),
        }
    }

    /// Returns the server that stands ready to be asked for `offer`; it may have waited for this call.
    async fn standing(
        self: &Arc<Self>,
        offer: &Offer,
        cancel: &CancellationToken,
    ) -> Result<Arc<Live>, NoPlan> {
        let live = match cancel.run_until_cancelled(self.live()).await {
            Some(Ok(live)) => live,
            Some(Err(unavailable)) => return Err(NoPlan::Unavailable(unavailable.to_string())),
            None => return Err(NoPlan::Cancelled),
        };
        if let Some(why) = self.why_not_sent(offer, &live) {
            return Err(NoPlan::Withheld(why));
        }
        if let Some(path) = live.sight.appeared(&RealDisk) {
            // SECURITY: nothing covers it in the cage that runs; in the next one something will.
            let why = format!("`{path}` appeared, which this server must not see");
            live.connection.end(&why);
            let reason = format!("the server `{}` is started anew: {why}; try again", self.name);
            return Err(NoPlan::Unavailable(reason));
        }
        Ok(live)
    }

    /// Says why the server that runs now is not to be sent a call of `offer`, if it is not.
    ///
    /// SECURITY: what was judged, and what a person may have approved, is the tool as it was offered. It was
    /// offered from the record, or a while ago, and the server may say something else by now.
    fn why_not_sent(&self, offer: &Offer, live: &Live) -> Option<String> {
        let tool = &offer.tool.name;
        if self.is_ours() || CallMethod::of(tool.as_str()).is_some() {
            return None;
        }
        match live.tools().get(tool) {
            Some(now) => match &now.withheld {
                Some(why) => Some(why.clone()),
                None if now.tool.hash() == offer.tool.hash() => None,
                None => Some("what the server says of it changed while the call waited".to_owned()),
            },
            None => Some("the server does not list it any more".to_owned()),
        }
    }

    /// Starts a server for one call.
    async fn errand(
        self: &Arc<Self>,
        one_shot: &OneShot,
        cancel: &CancellationToken,
    ) -> Result<Service, NoPlan> {
        match self.start_once(one_shot, cancel).await {
            Ok(errand) => Ok(Service::Errand(Box::new(errand))),
            Err(NoErrand::Cancelled) => Err(NoPlan::Cancelled),
            Err(NoErrand::Unshowable(why)) => Err(NoPlan::Unseen(why)),
            Err(NoErrand::Failed(why)) => Err(NoPlan::Unavailable(format!(
                "the server `{}` cannot be started for this call: {why}",
                self.name
            ))),
        }
    }

    /// Stops the servers that may write where a call does, if it needs that.
    async fn still_for(&self, call: &ResolvedCall) -> Result<Option<Stillness>, NoPlan> {
        let annotation = self.judge().policy.annotation(call.server(), call.tool());
        if !self.strategy().stills_others(call.tool().as_str()) || !may_change(annotation) {
            return Ok(None);
        }
        let stillness = self.still(&paths_of(call)).await;
        stillness.map(Some).ok_or_else(|| {
            let why = "a third-party server keeps changing files here that programs on this machine \
                       run; try again once it is done";
            NoPlan::Unavailable(why.to_owned())
        })
    }
}

impl Plan for Served {
    fn confinement(&self) -> Confinement {
        match &self.service {
            Service::Standing(live, _) => live.confinement,
            Service::Errand(errand) => errand.confinement(),
        }
    }

    fn forward(
        self: Box<Self>,
        recorded: Recorded,
        sending: Sending<'_>,
    ) -> Pending<'_, Forwarded> {
        Box::pin(self.sent(recorded, sending))
    }

    fn give_up(self: Box<Self>) {
        self.service.end();
    }
}

impl Served {
    /// Sends the call, waits for its answer, and lets go of the server.
    async fn sent(self: Box<Self>, recorded: Recorded, sending: Sending<'_>) -> Forwarded {
        let Self { server, mut service, still } = *self;
        let Sending { mut meta, progress, caller, cancel, agreed } = sending;
        let is_caged = match &service {
            Service::Standing(live, _) => matches!(live.confinement, Confinement::Cage(_)),
            Service::Errand(_) => false,
        };
        service.warrant(&recorded);
        let strategy: &dyn Strategy = server.strategy();
        if let Some((key, terms)) = strategy.terms(&server, recorded.permit().call(), agreed) {
            meta.insert(key, terms);
        }
        let (made, connection) = (Made::of(&recorded), Arc::clone(service.connection()));
        let following = following(&connection, &recorded);
        let asking = Asking { progress, caller, cancel, limit: CALL_MAX };
        let outcome = connection.call(recorded, meta, asking).await;
        drop(still);
        // SECURITY: a remote can say what it was sent, and so can a server that was taken over.
        let outcome = match service.mask() {
            Some(mask) => masked(outcome, &mask),
            None => outcome,
        };
        let planted = match service.watched() {
            Some(watched) => watched.end().await,
            None => None,
        };
        service.end();
        let next = strategy.next(&made, &outcome);
        let is_caged = is_caged && !server.is_ours();
        Forwarded { outcome, following, planted, next, is_caged }
    }
}

impl Service {
    /// Returns the connection over which it is asked.
    fn connection(&self) -> &Arc<Connection> {
        match self {
            Self::Standing(live, _) => &live.connection,
            Self::Errand(errand) => &errand.connection,
        }
    }

    /// Lets a server that was started for this call ask for what the call changes.
    ///
    /// SECURITY: nothing is carried out before this, and there is no proof before the record.
    fn warrant(&self, recorded: &Recorded) {
        match self {
            Self::Standing(..) => {}
            Self::Errand(errand) => errand.warrant(recorded),
        }
    }

    /// Returns what hides the secrets that were lent to it, if any were.
    fn mask(&self) -> Option<Redactor> {
        match self {
            Self::Standing(..) => None,
            Self::Errand(errand) => errand.mask(),
        }
    }

    /// Takes what has to be looked at once the call is over.
    fn watched(&mut self) -> Option<Watched> {
        match self {
            Self::Standing(_, watched) => watched.take(),
            Self::Errand(_) => None,
        }
    }

    /// Lets go of the server; one that was started for this call ends.
    fn end(self) {
        match self {
            Self::Standing(..) => {}
            Self::Errand(errand) => errand.end("the call is done"),
        }
    }
}

/// Returns all paths that a call is about.
pub(crate) fn paths_of(call: &ResolvedCall) -> Vec<CanonicalPath> {
    Role::all().flat_map(|role| call.paths(role)).cloned().collect()
}

/// Notes that the client follows a resource, if that is what the call is for.
///
/// Before the call is sent, so that the end of another client's subscription is not sent after it.
fn following(connection: &Arc<Connection>, recorded: &Recorded) -> Option<Following> {
    let call = recorded.permit().call();
    let method = CallMethod::of(call.tool().as_str()).filter(|it| *it == CallMethod::Subscribe)?;
    let params = method.params(call.sent());
    params.get("uri").and_then(Json::as_str).map(|uri| connection.follow(uri.to_owned()))
}

/// Hides what was lent to a call in what came of it.
fn masked(outcome: Result<Outcome, Unanswered>, mask: &Redactor) -> Result<Outcome, Unanswered> {
    let json = |json: Json| {
        let text = json.to_string();
        match mask.mask_split_keys(text.clone()) {
            same if same == text => json,
            hidden => Json::parse(hidden.as_bytes(), JsonLimits::CALL).unwrap_or(Json::Null),
        }
    };
    match outcome {
        Ok(Ok(result)) => Ok(Ok(json(result))),
        Ok(Err(RpcError { code, message, data })) => {
            let message = mask.mask_split_keys(message);
            Ok(Err(RpcError { code, message, data: data.map(json) }))
        }
        Err(unanswered) => Err(unanswered),
    }
}
