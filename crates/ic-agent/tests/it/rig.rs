//! What every test here has: tools of a table, a clock that follows paused time, and an observer.

use std::sync::{Arc, Mutex};

use ic_agent::{
    Agent, Answer, Diagnostic, History, Interrupted, Limits, Observer, Parts, Running, SavePoint,
    ToolOutcome, Toolbox, TurnClock, TurnError,
};
use ic_home::Clock;
use ic_model::{Message, Prices, ToolSpec, UserBlock};
use ic_testkit::{Line, ScriptedModel};
use ic_types::{Json, JsonLimits, Timestamp};
use tokio::sync::Notify;
use tokio::time::{self, Duration};
use tokio_util::sync::CancellationToken;

/// An agent and all that surrounds it.
pub(crate) struct Rig {
    pub(crate) agent: Agent,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tools: Arc<Table>,
    pub(crate) seen: Seen,
    pub(crate) cancel: CancellationToken,
}

/// A toolbox: each tool does one thing.
///
/// `echo` returns its text; `fail` fails; `deny` was denied; `violate` was stopped by a cage; `quiet`
/// returns nothing; `slow` takes a minute; `hang` waits until it is cancelled; `late` finishes when it
/// is cancelled; `stubborn` never ends; `stop` cancels the turn and finishes; `ask` works for half a
/// minute, asks a person who thinks for an hour, and works for half a minute.
#[derive(Default)]
pub(crate) struct Table {
    ran: Mutex<Vec<String>>,
    waiting: Notify,
    stop: Mutex<Option<CancellationToken>>,
    clock: Mutex<Option<TurnClock>>,
}

/// Remembers what it was told.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) text: Mutex<String>,
    pub(crate) diagnostics: Mutex<Vec<Diagnostic>>,
    pub(crate) saved: Mutex<Vec<(SavePoint, Vec<Message>)>>,
}

/// A clock that goes with the time of the test, which is paused.
pub(crate) struct PausedClock(time::Instant);

impl Rig {
    pub(crate) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self::with(Limits::OFF, Prices::FREE, ScriptedModel::new(lines))
    }

    pub(crate) fn with(limits: Limits, prices: Prices, model: ScriptedModel) -> Self {
        let (model, tools) = (Arc::new(model), Arc::new(Table::default()));
        let cancel = CancellationToken::new();
        tools.stops(&cancel);
        let clock = TurnClock::new(Arc::new(PausedClock::new()));
        *tools.clock.lock().unwrap() = Some(clock.clone());
        let parts = Parts {
            model: Arc::clone(&model) as _,
            toolbox: Arc::clone(&tools) as _,
            clock,
            system: "system".to_owned(),
            limits,
            prices,
        };
        let agent = Agent::new(parts, History::new()).unwrap();
        Self { agent, model, tools, seen: Seen::default(), cancel }
    }

    /// Takes one turn, and checks what has to hold after any turn.
    pub(crate) async fn turn(&mut self, message: &str) -> Result<Answer, TurnError> {
        let ended = self.agent.turn(message, &self.seen, &self.cancel).await;
        self.check();
        ended
    }

    /// Takes one turn that is cancelled when something hangs.
    pub(crate) async fn cancelled_turn(&mut self, message: &str) -> Result<Answer, TurnError> {
        let Self { agent, model, tools, seen, cancel } = self;
        let cancelling = async {
            tokio::select! {
                () = model.is_hanging() => {}
                () = tools.waiting.notified() => {}
            }
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(agent.turn(message, seen, cancel), cancelling);
        self.check();
        ended
    }

    /// Whatever was sent, saved or kept is a conversation that a provider takes.
    fn check(&self) {
        for messages in self.model.asked() {
            assert!(matches!(messages.last(), Some(Message::User(_))));
            assert_eq!(History::from_messages(messages).err(), None);
        }
        for (_, messages) in self.seen.saved.lock().unwrap().iter() {
            assert_eq!(History::from_messages(messages.clone()).err(), None);
        }
        let kept = self.agent.history().messages().to_vec();
        assert_eq!(History::from_messages(kept.clone()).err(), None);
        let saved = self.seen.saved.lock().unwrap();
        assert_eq!(saved.last().map_or(&Vec::new(), |(_, messages)| messages), &kept);
    }

    /// Returns the history in a short form.
    pub(crate) fn history(&self) -> Vec<String> {
        self.agent.history().messages().iter().map(short).collect()
    }

    /// Returns the names of what was observed, in order.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let diagnostics = self.seen.diagnostics.lock().unwrap();
        let name = |diagnostic: &Diagnostic| {
            let json = serde_json::to_value(diagnostic).unwrap();
            json["kind"].as_str().unwrap().to_owned()
        };
        diagnostics.iter().map(name).collect()
    }

    /// Returns the moments at which the conversation was saved.
    pub(crate) fn saves(&self) -> Vec<SavePoint> {
        self.seen.saved.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    /// Returns the tools that ran.
    pub(crate) fn ran(&self) -> Vec<String> {
        self.tools.ran.lock().unwrap().clone()
    }
}

/// Writes a message on one line; of a note, that there is one.
pub(crate) fn short(message: &Message) -> String {
    let block = |json: &Json| {
        let Json::Object(block) = json else { panic!() };
        let text = |key: &str| block.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
        match text("type").as_str() {
            "text" => text("text"),
            "note" => "(note)".to_owned(),
            "tool_use" => format!("use {}", text("id")),
            "tool_result" => format!("{}={}", text("toolUseId"), text("content")),
            other => other.to_owned(),
        }
    };
    let json = message.to_json();
    let Json::Object(object) = &json else { panic!() };
    let Some(Json::Array(blocks)) = object.get("content") else { panic!() };
    let role = match message {
        Message::User(_) => "U",
        Message::Assistant(_) => "A",
    };
    format!("{role}: {}", blocks.iter().map(block).collect::<Vec<_>>().join(" | "))
}

/// Returns the notes of a message.
pub(crate) fn notes(message: &Message) -> Vec<&str> {
    let Message::User(blocks) = message else { return Vec::new() };
    let mut notes = Vec::new();
    for block in blocks {
        if let UserBlock::Note(note) = block {
            notes.push(note.as_str());
        }
    }
    notes
}

impl Table {
    /// Lets `stop` cancel this.
    pub(crate) fn stops(&self, cancel: &CancellationToken) {
        *self.stop.lock().unwrap() = Some(cancel.clone());
    }
}

impl PausedClock {
    pub(crate) fn new() -> Self {
        Self(time::Instant::now())
    }
}

impl Toolbox for Table {
    fn tools(&self) -> Vec<ToolSpec> {
        let schema = br#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
        let Ok(Json::Object(schema)) = Json::parse(schema, JsonLimits::CALL) else { panic!() };
        let names = [
            "echo", "fail", "deny", "violate", "quiet", "slow", "hang", "late", "stubborn", "stop",
            "ask",
        ];
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: schema.clone(),
        };
        names.into_iter().map(spec).collect()
    }

    fn run<'a>(
        &'a self,
        name: &'a str,
        input: &'a Json,
        cancel: &'a CancellationToken,
    ) -> Running<'a> {
        Box::pin(async move {
            self.ran.lock().unwrap().push(name.to_owned());
            let Json::Object(input) = input else { panic!("no object reached a tool") };
            let text = input.get("text").and_then(Json::as_str).unwrap_or("").to_owned();
            match name {
                "echo" => Ok(ToolOutcome::done(text)),
                "fail" => Ok(ToolOutcome::failed("it failed")),
                "deny" => {
                    let denials = vec!["reading `x` is not allowed".to_owned()];
                    Ok(ToolOutcome { denials, ..ToolOutcome::failed("thrown") })
                }
                "violate" => {
                    let violations = vec!["no network here".to_owned()];
                    Ok(ToolOutcome { violations, ..ToolOutcome::failed("refused") })
                }
                "quiet" => Ok(ToolOutcome::done("")),
                "slow" => {
                    time::sleep(Duration::from_mins(1)).await;
                    Ok(ToolOutcome::done("slow"))
                }
                "hang" => {
                    self.waiting.notify_one();
                    cancel.cancelled().await;
                    Err(Interrupted)
                }
                "late" => {
                    self.waiting.notify_one();
                    cancel.cancelled().await;
                    Ok(ToolOutcome::done("late"))
                }
                "stubborn" => {
                    self.waiting.notify_one();
                    std::future::pending().await
                }
                "stop" => {
                    if let Some(turn) = self.stop.lock().unwrap().as_ref() {
                        turn.cancel();
                    }
                    Ok(ToolOutcome::done("stopped"))
                }
                "ask" => {
                    let clock = self.clock.lock().unwrap().clone().unwrap();
                    time::sleep(Duration::from_secs(30)).await;
                    let held = clock.hold();
                    time::sleep(Duration::from_hours(1)).await;
                    drop(held);
                    time::sleep(Duration::from_secs(30)).await;
                    Ok(ToolOutcome::done("allowed"))
                }
                other => panic!("`{other}` is not on offer"),
            }
        })
    }
}

impl Observer for Seen {
    fn text(&self, delta: &str) {
        self.text.lock().unwrap().push_str(delta);
    }

    fn diagnostic(&self, diagnostic: Diagnostic) {
        self.diagnostics.lock().unwrap().push(diagnostic);
    }

    fn save_point(&self, at: SavePoint, messages: &[Message]) {
        self.saved.lock().unwrap().push((at, messages.to_vec()));
    }
}

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.0.elapsed().as_millis();
        Timestamp::from_unix_ms(1_700_000_000_000 + u64::try_from(elapsed).unwrap())
    }
}
