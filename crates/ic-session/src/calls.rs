//! The calls of a session's scripts: each goes through the broker, and what came of it is told.
//!
//! Nothing is judged here. What a script gets back is the result as the broker gives it, or why there
//! is none.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_agent::TurnClock;
use ic_broker::Broker;
use ic_broker::broker::{Asked, OfferedTool, Reply};
use ic_home::SystemClock;
use ic_inventory::tool::offered_name;
use ic_sandbox::{BoxFuture, Called, Calls, Catalogue, Denial, Pause, ServerEntry, ToolEntry};
use ic_types::{Json, JsonLimits, Object, ServerName, ToolCall, locked};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::news::{CallFate, CallNews, Event, News};

/// How many denials of one script are remembered, to be explained.
const DENIALS_MAX: usize = 20;
/// How many prints of scripts wait to be heard; one run makes at most half as many.
const PRINTS_MAX: usize = 32_768;
/// How much of the arguments people are told.
const ARGUMENTS_CHARS_MAX: usize = 120;
/// How much of one argument people are told.
const ARGUMENT_CHARS_MAX: usize = 60;

/// Whose call it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Caller {
    /// An agent's, or a script's.
    Script,
    /// A person's, word for word.
    Person,
}

/// Makes the calls of scripts.
#[derive(Debug)]
pub(crate) struct BrokerCalls {
    /// Gone once the session is closed.
    broker: Mutex<Option<Arc<Broker>>>,
    news: Arc<News>,
    /// Stands still while a person is asked.
    clock: TurnClock,
    /// Calls that run; each comes to its end, so that its record does.
    tasks: TaskTracker,
    denials: Mutex<Vec<String>>,
    /// The listener that wants what scripts print as it comes.
    ear: Mutex<Option<mpsc::Sender<String>>>,
}

/// Whether a person was asked about a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asking {
    /// Nobody was.
    Nobody,
    /// Somebody was, and the question is over.
    Over,
    /// Somebody was, and the call was cancelled before they answered.
    TakenBack,
}

impl BrokerCalls {
    pub(crate) fn new(broker: Arc<Broker>, news: Arc<News>) -> Self {
        let (broker, denials) = (Mutex::new(Some(broker)), Mutex::new(Vec::new()));
        let (clock, tasks) = (TurnClock::new(Arc::new(SystemClock)), TaskTracker::new());
        Self { broker, news, clock, tasks, denials, ear: Mutex::new(None) }
    }

    /// Returns the clock that stands still while a person is asked.
    pub(crate) fn clock(&self) -> TurnClock {
        self.clock.clone()
    }

    /// Starts the servers, so that the first script need not wait for them.
    pub(crate) fn warm_up(&self, stop: CancellationToken) {
        if let Some(broker) = self.broker() {
            self.tasks.spawn(async move {
                stop.run_until_cancelled(broker.list_by_server()).await;
            });
        }
    }

    /// Returns the names of the servers, and what the rules of the policy say.
    pub(crate) fn surroundings(&self) -> (Vec<String>, Vec<String>) {
        let Some(broker) = self.broker() else { return Default::default() };
        let servers = broker.server_names().map(ToString::to_string).collect();
        (servers, broker.rules().map(ToOwned::to_owned).collect())
    }

    /// Returns whether the policy lets a call through by itself.
    pub(crate) fn would_allow(&self, call: ToolCall) -> bool {
        self.broker().is_some_and(|broker| broker.would_allow(call))
    }

    /// Records a request to a model.
    ///
    /// A log that cannot be written to lets no further call through, so there is nothing to do here.
    pub(crate) fn record_completion(&self, told: Object, duration: Duration) {
        if let Some(broker) = self.broker() {
            broker.record_completion(told, duration).ok();
        }
    }

    /// Returns the reasons of the calls that were denied since this was asked last.
    pub(crate) fn take_denials(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.denials))
    }

    /// Lets go of the broker: no further call is made.
    pub(crate) fn let_go(&self) {
        drop(locked(&self.broker).take());
    }

    /// Returns the calls that run.
    pub(crate) fn tasks(&self) -> TaskTracker {
        self.tasks.clone()
    }

    /// Returns what scripts print from now on; a run prints a few megabytes at most.
    pub(crate) fn prints(&self) -> mpsc::Receiver<String> {
        let (ear, prints) = mpsc::channel(PRINTS_MAX);
        *locked(&self.ear) = Some(ear);
        prints
    }

    fn broker(&self) -> Option<Arc<Broker>> {
        locked(&self.broker).clone()
    }

    /// Returns the name of our own server for repositories, if the session has it.
    pub(crate) fn git_server(&self) -> Option<ServerName> {
        self.broker()?.git_server().cloned()
    }

    /// Makes a call that a person typed, and tells what came of it.
    pub(crate) async fn call_typed(&self, call: ToolCall, cancel: &CancellationToken) -> Called {
        self.make_and_tell(call, Caller::Person, &Pause::new(), cancel).await
    }

    async fn make_and_tell(
        &self,
        call: ToolCall,
        caller: Caller,
        pause: &Pause,
        cancel: &CancellationToken,
    ) -> Called {
        let arguments = summary(&call.arguments);
        let names = ToolCall { arguments: Object::new(), ..call.clone() };
        self.news.tell(Event::Calling(format!("{}.{}", names.server, names.tool)));
        let (reply, asking) = self.make(call, caller, pause, cancel).await;
        let called = called(reply);
        let fate = match &called {
            Called::Done { .. } if asking == Asking::Over => CallFate::Approved,
            Called::Done { .. } => CallFate::Done,
            Called::Failed { .. } if asking == Asking::TakenBack => CallFate::Cancelled,
            Called::Failed { message } => CallFate::Failed(message.clone()),
            Called::Denied(denial) => {
                let mut denials = locked(&self.denials);
                // What a person typed is explained to them, and not to the model.
                if denials.len() < DENIALS_MAX && caller == Caller::Script {
                    denials.push(denial.reason.clone());
                }
                CallFate::Refused(denial.message.clone())
            }
        };
        self.tell(&names, arguments, fate);
        called
    }

    /// Makes a call, and says whether a person was asked about it, and to what end.
    async fn make(
        &self,
        call: ToolCall,
        caller: Caller,
        pause: &Pause,
        cancel: &CancellationToken,
    ) -> (Reply, Asking) {
        let Some(broker) = self.broker() else { return (Reply::Nothing, Asking::Nobody) };
        let name = offered_name(&call.server, &call.tool);
        // A command has a limit of time of its own.
        let _running = is_command(&call).then(|| pause.hold());
        let (asks, mut is_asked) = watch::channel(false);
        let flight = broker.flight(&name, cancel.clone(), asks);
        let flight = match caller {
            Caller::Script => flight,
            Caller::Person => flight.dangerously_typed(&call),
        };
        let asked = Asked { name, arguments: call.arguments, meta: Object::new() };
        // Dropped half-way, a call would leave no outcome in the record.
        let calling = self.tasks.spawn(async move { broker.call(asked, flight).await });
        let mut asking = Asking::Nobody;
        let waiting = async {
            // The sender is gone when the call is over.
            while is_asked.wait_for(|it| *it).await.is_ok() {
                asking = Asking::Over;
                let _held = (pause.hold(), self.clock.hold());
                let is_over = tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        asking = Asking::TakenBack;
                        true
                    }
                    answered = is_asked.wait_for(|it| !*it) => answered.is_err(),
                };
                if is_over {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let reply = tokio::select! {
            called = calling => called.unwrap_or(Reply::Nothing),
            () = waiting => Reply::Nothing,
        };
        (reply, asking)
    }

    fn tell(&self, call: &ToolCall, arguments: String, fate: CallFate) {
        let call = format!("{}.{}", call.server, call.tool);
        self.news.called(CallNews { call, arguments, fate });
    }
}

/// Returns whether a call runs a command, for which a script may wait as long as it takes.
fn is_command(call: &ToolCall) -> bool {
    call.server.as_str() == "shell" && call.tool.as_str() == "run_command"
}

impl Calls for BrokerCalls {
    fn catalogue(&self) -> BoxFuture<'_, Arc<Catalogue>> {
        Box::pin(async {
            let Some(broker) = self.broker() else { return Arc::new(Catalogue::default()) };
            Arc::new(catalogue(broker.list_by_server().await))
        })
    }

    fn call<'a>(
        &'a self,
        call: ToolCall,
        pause: &'a Pause,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Called> {
        Box::pin(self.make_and_tell(call, Caller::Script, pause, cancel))
    }

    fn printed(&self, text: &str) {
        if let Some(ear) = &*locked(&self.ear) {
            // A listener that has gone does not want it any more.
            ear.try_send(text.to_owned()).ok();
        }
    }
}

/// Puts tools together by server.
fn catalogue(tools: Vec<OfferedTool>) -> Catalogue {
    let mut servers: Vec<ServerEntry> = Vec::new();
    for OfferedTool { server, tool, mut listed, .. } in tools {
        let entry = ToolEntry {
            name: tool,
            description: listed.get("description").and_then(Json::as_str).map(str::to_owned),
            input_schema: object(listed.remove("inputSchema")).unwrap_or_default(),
            output_schema: object(listed.remove("outputSchema")),
        };
        match servers.iter_mut().find(|it| it.name == server) {
            Some(found) => found.tools.push(entry),
            None => {
                servers.push(ServerEntry { name: server, description: None, tools: vec![entry] });
            }
        }
    }
    Catalogue { servers }
}

fn object(json: Option<Json>) -> Option<Object> {
    match json? {
        Json::Object(object) => Some(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

/// Says what became of a call that somebody else made, about which a person was asked or not.
pub(crate) fn call_fate(reply: &Reply, was_question: bool) -> CallFate {
    if matches!(reply, Reply::Nothing) {
        return CallFate::Cancelled;
    }
    match called(reply.clone()) {
        Called::Done { .. } if was_question => CallFate::Approved,
        Called::Done { .. } => CallFate::Done,
        Called::Failed { message } => CallFate::Failed(message),
        Called::Denied(denial) => CallFate::Refused(denial.message),
    }
}

/// Returns the text of what the broker says.
pub(crate) fn reply_text(reply: Reply) -> String {
    match called(reply) {
        Called::Done { text, .. } => text,
        Called::Failed { message } => message,
        Called::Denied(denial) => denial.message,
    }
}

/// Reads what the broker says.
fn called(reply: Reply) -> Called {
    let (is_refused, text) = match reply {
        Reply::Result(text) => (false, text),
        Reply::Refused(_, text) => (true, text),
        Reply::Error(error) => return Called::Failed { message: error.to_string() },
        Reply::Nothing => return Called::Failed { message: "the call was cancelled".to_owned() },
    };
    let parsed = Json::parse(text.as_bytes(), JsonLimits::CALL);
    let Ok(Json::Object(mut result)) = parsed else {
        return Called::Failed { message: "the result cannot be read".to_owned() };
    };
    let text = content(result.get("content"));
    let structured = result.remove("structuredContent");
    match (is_refused, result.get("isError")) {
        (true, _) => Called::Denied(denial(text, structured)),
        (false, Some(Json::Bool(true))) => Called::Failed { message: text },
        (false, _) => Called::Done { text, structured },
    }
}

/// Reads a refusal of ours.
fn denial(message: String, structured: Option<Json>) -> Denial {
    let details = object(structured).and_then(|mut it| object(it.remove("ironcurtain")));
    let details = details.unwrap_or_default();
    let text = |key: &str| details.get(key).and_then(Json::as_str).map(str::to_owned);
    Denial {
        message,
        decision: text("decision").unwrap_or_else(|| "deny".to_owned()),
        rule: text("rule").unwrap_or_default(),
        reason: text("reason").unwrap_or_default(),
        next_step: text("nextStep"),
    }
}

/// Joins the texts of a result; what is no text is named.
fn content(content: Option<&Json>) -> String {
    let Some(Json::Array(blocks)) = content else { return String::new() };
    let mut texts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let Json::Object(block) = block else { continue };
        let field = |key: &str| block.get(key).and_then(Json::as_str).unwrap_or_default();
        texts.push(match field("type") {
            "text" => field("text").to_owned(),
            "resource_link" => format!("[link to {}]", field("uri")),
            "resource" => resource(block.get("resource")),
            kind => format!("[{kind} {}, which a script cannot use]", field("mimeType")),
        });
    }
    texts.join("\n")
}

fn resource(resource: Option<&Json>) -> String {
    let Some(Json::Object(resource)) = resource else { return String::new() };
    let field = |key: &str| resource.get(key).and_then(Json::as_str);
    match (field("text"), field("uri")) {
        (Some(text), _) => text.to_owned(),
        (None, uri) => format!("[resource {}]", uri.unwrap_or_default()),
    }
}

/// Tells people what a call is about, shortly: `path=notes.txt content="…" (1200 characters)`.
pub(crate) fn summary(arguments: &Object) -> String {
    let mut summary = String::new();
    for (key, value) in arguments.iter() {
        if !summary.is_empty() {
            summary.push(' ');
        }
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                value.to_string()
            }
        };
        let n_chars = text.chars().count();
        let start: String = text.chars().take(ARGUMENT_CHARS_MAX).collect();
        let start = start.replace('\n', "\\n");
        // Writing to a string cannot fail.
        match n_chars <= ARGUMENT_CHARS_MAX {
            true => write!(summary, "{key}={start}").ok(),
            false => write!(summary, "{key}={start}… ({n_chars} characters)").ok(),
        };
        if ARGUMENTS_CHARS_MAX < summary.chars().count() {
            summary = summary.chars().take(ARGUMENTS_CHARS_MAX).collect();
            summary.push('…');
            break;
        }
    }
    summary
}
