//! A server without a process, for tests: it lists what it is told, and answers as its script says.
//!
//! Never part of the product: it is compiled for tests alone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::Recorded;
use ic_confine::{Confinement, Rung};
use ic_inventory::pins::Pins;
use ic_inventory::servers_file::BuiltinServer;
use ic_inventory::tool::Tool;
use ic_judge::Weight;
use ic_judge::method::CallMethod;
use ic_mcp::Outcome;
use ic_policy::{Annotation, ResolvedCall};
use ic_types::{CanonicalPath, Digest, Json, JsonLimits, Object, ServerName, ToolName};
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, Forwarded, Next, NoPlan, Pending, Plan, Sending, Wanted};
use crate::listing::{ListKind, Listed, Unlisted};
use crate::locked;
use crate::planted::{Keepable, PutBack};
use crate::server::{Offer, ToolTable, Turn, Unanswered, Unavailable};

/// What a fake does with a call.
pub enum Reaction {
    /// It answers.
    Answers(Outcome),
    /// It answers after a while.
    AnswersAfter(Duration, Outcome),
    /// It does not answer, until the call is taken back.
    IsSilent,
    /// It dies with the call.
    Dies(&'static str),
    /// It leads to another call.
    LeadsTo(Next),
    /// Nobody serves it.
    HasNoPlan(fn() -> NoPlan),
}

/// A server that follows a script.
pub struct FakeBackend {
    name: ServerName,
    tools: Mutex<Arc<ToolTable>>,
    script: Mutex<VecDeque<Reaction>>,
    made: Mutex<Vec<Made>>,
    given_up: Mutex<usize>,
    identity: Mutex<Digest>,
    /// Why it cannot be met, if it cannot.
    unavailable: Mutex<Option<&'static str>>,
    confinement: Confinement,
}

/// A call as it reached a fake.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Made {
    /// The tool.
    pub tool: String,
    /// The arguments as they were sent.
    pub sent: String,
    /// What went along with it.
    pub meta: String,
    /// The id under which it was recorded.
    pub request_id: String,
}

impl FakeBackend {
    /// Makes a server with these tools, each as it would list it.
    pub fn new(name: &str, tools: &[&str]) -> Result<Arc<Self>, String> {
        let name: ServerName = name.parse().map_err(|error| format!("{error}"))?;
        let fake = Self {
            identity: Mutex::new(Digest::of(name.as_str().as_bytes())),
            name,
            tools: Mutex::new(Arc::new(table(tools)?)),
            script: Mutex::default(),
            made: Mutex::default(),
            given_up: Mutex::default(),
            unavailable: Mutex::default(),
            confinement: Confinement::Cage(Rung::Namespaces),
        };
        Ok(Arc::new(fake))
    }

    /// Says what it does with the next call.
    pub fn then(&self, reaction: Reaction) -> &Self {
        locked(&self.script).push_back(reaction);
        self
    }

    /// Lists other tools from now on.
    pub fn list(&self, tools: &[&str]) -> Result<(), String> {
        *locked(&self.tools) = Arc::new(table(tools)?);
        Ok(())
    }

    /// Is another server of the same name from now on.
    pub fn become_another(&self) {
        *locked(&self.identity) = Digest::of(b"another");
    }

    /// Cannot be used from now on.
    pub fn fail(&self, why: &'static str) {
        *locked(&self.unavailable) = Some(why);
    }

    /// Returns the calls that reached it.
    pub fn made(&self) -> Vec<Made> {
        locked(&self.made).clone()
    }

    /// Returns how many plans were given up.
    pub fn n_given_up(&self) -> usize {
        *locked(&self.given_up)
    }

    fn available(&self) -> Result<(), Unavailable> {
        match *locked(&self.unavailable) {
            Some(why) => Err(Unavailable::new(&self.name, why)),
            None => Ok(()),
        }
    }
}

fn table(tools: &[&str]) -> Result<ToolTable, String> {
    let read = |text: &&str| {
        let listed = Json::parse(text.as_bytes(), JsonLimits::CALL).map_err(|it| it.to_string())?;
        Tool::read(listed).map_err(|it| it.to_string())
    };
    let tools: Result<Vec<Tool>, String> = tools.iter().map(read).collect();
    Ok(ToolTable::new(tools?, Vec::new()))
}

impl fmt::Debug for FakeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeBackend").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reaction")
    }
}

impl Backend for FakeBackend {
    fn name(&self) -> &ServerName {
        &self.name
    }

    fn identity(&self) -> Digest {
        *locked(&self.identity)
    }

    fn builtin(&self) -> Option<BuiltinServer> {
        None
    }

    fn tools(&self) -> Option<Arc<ToolTable>> {
        Some(Arc::clone(&locked(&self.tools)))
    }

    fn turn(&self) -> Option<Turn> {
        None
    }

    fn confinement(&self) -> Option<Confinement> {
        Some(self.confinement)
    }

    fn process(&self) -> Option<u64> {
        Some(1)
    }

    fn weight(&self, arguments: &Object) -> Weight {
        Weight::of(arguments)
    }

    fn changes_alone(&self, _: &ToolName, _: Option<&Annotation>) -> bool {
        false
    }

    fn trusted(&self) -> Option<Arc<Pins>> {
        None
    }

    fn compare_again(&self, _: Option<&Pins>) {}

    fn has_to_be_asked(&self, _: Option<Arc<Pins>>) -> bool {
        false
    }

    fn start(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async move { self.available() })
    }

    fn meet(self: Arc<Self>) -> Pending<'static, Result<(), Unavailable>> {
        Box::pin(async move { self.available() })
    }

    fn method(
        self: Arc<Self>,
        method: CallMethod,
    ) -> Pending<'static, Result<Option<Offer>, Unavailable>> {
        Box::pin(async move {
            self.available()?;
            Ok(method.tool().map(|tool| Offer { tool, withheld: None }))
        })
    }

    fn list(
        self: Arc<Self>,
        _: ListKind,
        _: CancellationToken,
    ) -> Pending<'static, Result<(u64, Listed), Unlisted>> {
        Box::pin(async move { Ok((1, Listed::default())) })
    }

    fn plan(self: Arc<Self>, _: Wanted<'_>) -> Pending<'_, Result<Box<dyn Plan>, NoPlan>> {
        Box::pin(async move {
            let next = locked(&self.script).pop_front();
            match next {
                Some(Reaction::HasNoPlan(why)) => Err(why()),
                Some(reaction) => Ok(Box::new(FakePlan { fake: self, reaction }) as Box<dyn Plan>),
                None => Err(NoPlan::Unavailable("the script has ended".to_owned())),
            }
        })
    }

    fn preview<'a>(
        self: Arc<Self>,
        _: &'a ResolvedCall,
        _: &'a CancellationToken,
    ) -> Pending<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }

    fn install(
        self: Arc<Self>,
        _: Recorded,
        _: Keepable,
    ) -> Pending<'static, (Vec<CanonicalPath>, Vec<String>)> {
        Box::pin(async { (Vec::new(), Vec::new()) })
    }

    fn tell_planted(&self, _: PutBack) {}
}

/// One call of a fake.
struct FakePlan {
    fake: Arc<FakeBackend>,
    reaction: Reaction,
}

impl Plan for FakePlan {
    fn confinement(&self) -> Confinement {
        self.fake.confinement
    }

    fn forward(
        self: Box<Self>,
        recorded: Recorded,
        sending: Sending<'_>,
    ) -> Pending<'_, Forwarded> {
        let call = recorded.permit().call();
        locked(&self.fake.made).push(Made {
            tool: call.tool().to_string(),
            sent: Json::Object(call.sent().clone()).to_string(),
            meta: Json::Object(sending.meta).to_string(),
            request_id: recorded.request_id().to_owned(),
        });
        let cancel = sending.cancel;
        Box::pin(async move {
            let mut next = None;
            let outcome = match self.reaction {
                Reaction::Answers(outcome) => Ok(outcome),
                Reaction::AnswersAfter(pause, outcome) => {
                    let paused = cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
                    paused.map_or(Err(Unanswered::Cancelled), |()| Ok(outcome))
                }
                Reaction::Dies(why) => Err(Unanswered::Over(Arc::from(why))),
                Reaction::LeadsTo(to) => {
                    next = Some(to);
                    Ok(Ok(Json::Object(Object::new())))
                }
                Reaction::IsSilent | Reaction::HasNoPlan(_) => {
                    cancel.cancelled().await;
                    Err(Unanswered::Cancelled)
                }
            };
            Forwarded { outcome, following: None, planted: None, next, is_caged: false }
        })
    }

    fn give_up(self: Box<Self>) {
        *locked(&self.fake.given_up) += 1;
    }
}
