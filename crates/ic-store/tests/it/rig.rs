//! A home with sessions in it, and a clock that is set by hand.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_home::{Clock, Home, Lock};
use ic_model::{AssistantBlock, Message, ToolUseId, UserBlock};
use ic_store::{
    Conversation, Found, Metadata, Moment, Places, Saving, Sessions, Stored, Turn, TurnUsage,
};
use ic_types::{AbsolutePath, Json, JsonLimits, Provider, SessionName, Timestamp};

/// A clock that is set by hand.
#[derive(Debug, Default)]
pub(crate) struct HandClock(AtomicU64);

impl HandClock {
    pub(crate) fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::Relaxed))
    }
}

/// A home.
pub(crate) struct Rig {
    _place: Option<tempfile::TempDir>,
    pub(crate) home: Home,
    pub(crate) clock: Arc<HandClock>,
}

/// A session that this process holds.
pub(crate) struct Running {
    pub(crate) conversation: Conversation,
    pub(crate) places: Places,
    pub(crate) messages: Vec<Message>,
    _held: Lock,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(place.path().join("home")).unwrap());
        home.prepare().unwrap();
        Self::of(home, Some(place))
    }

    pub(crate) fn of(home: Home, place: Option<tempfile::TempDir>) -> Self {
        let clock = Arc::new(HandClock::default());
        clock.set(1_800_000_000_000);
        Self { _place: place, home, clock }
    }

    pub(crate) fn sessions(&self) -> Sessions<'_> {
        Sessions::of(&self.home)
    }

    pub(crate) fn places(&self, id: &str) -> Places {
        Places::of(&self.home, &id.parse().unwrap())
    }

    /// Makes a session that has said nothing.
    pub(crate) fn make(&self, id: &str, name: &str) -> Metadata {
        let metadata = Metadata {
            kind: "built-in".to_owned(),
            agent: "built-in".to_owned(),
            ..Metadata::new(id.parse().unwrap(), SessionName::of(name).unwrap(), self.clock.now())
        };
        let places = Places::of(&self.home, &metadata.id);
        std::fs::create_dir(places.directory()).unwrap();
        metadata.write(&places).unwrap();
        metadata
    }

    /// Makes a session in which one turn was answered.
    pub(crate) fn make_with_turn(&self, id: &str, name: &str) -> Metadata {
        self.make(id, name);
        let mut running = self.run(id, Saving::Always);
        running.turn("hello");
        running.close();
        self.sessions().find(id).unwrap()
    }

    pub(crate) fn found(&self, id: &str, saving: Saving) -> Found {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Conversation::find(&self.home, &id.parse().unwrap(), saving, clock).unwrap()
    }

    /// Goes on with a session.
    pub(crate) fn run(&self, id: &str, saving: Saving) -> Running {
        let held = Lock::try_acquire(self.home.session_lock(&id.parse().unwrap())).unwrap();
        let found = self.found(id, saving);
        let messages = found.stored.messages.clone();
        let conversation = found.restore(&messages).unwrap();
        let places = self.places(id);
        Running { conversation, places, messages, _held: held.expect("nobody runs it") }
    }

    pub(crate) fn stored(&self, id: &str) -> Stored {
        Stored::read(&self.places(id)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.sessions().all().unwrap().iter().map(|it| it.name.to_string()).collect()
    }
}

impl Running {
    /// Says something as the person.
    pub(crate) fn say(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(Message::User(blocks)) => blocks.push(UserBlock::Text(text.to_owned())),
            _ => self.messages.push(user(text)),
        }
        self.conversation.save(&self.messages, Moment::TurnBegins).unwrap();
    }

    /// Uses a tool.
    pub(crate) fn step(&mut self, id: &str) {
        let said = uses(id);
        self.conversation.begin_tools(said.clone()).unwrap();
        self.messages.extend([said, result(id)]);
        self.conversation.save(&self.messages, Moment::Within).unwrap();
    }

    /// Answers, and so ends the turn.
    pub(crate) fn answer(&mut self, question: &str, text: &str) {
        self.messages.push(answer(text));
        self.conversation.save(&self.messages, Moment::Within).unwrap();
        let turn = turn(self.conversation.turns().len() as u64 + 1, question, text);
        self.conversation.answered(turn, &self.messages).unwrap();
    }

    /// Says something, uses two tools, and answers.
    pub(crate) fn turn(&mut self, text: &str) {
        self.say(text);
        let n = self.messages.len();
        self.step(&format!("{n}-a"));
        self.step(&format!("{n}-b"));
        self.answer(text, &format!("answer to {text}"));
    }

    pub(crate) fn close(self) {
        self.conversation.close(Some(&self.messages)).unwrap();
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.places.journal()
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(vec![UserBlock::Text(text.to_owned())])
}

pub(crate) fn answer(text: &str) -> Message {
    Message::Assistant(vec![AssistantBlock::Text(text.to_owned())])
}

/// A tool use after a signed thought, whose numbers and keys must come back as they were.
pub(crate) fn uses(id: &str) -> Message {
    let thought =
        br#"{"z":1.50,"a":1e2,"signature":"\u00e4\ud83d\ude00","n":12345678901234567890}"#;
    let block = Json::parse(thought, JsonLimits::CALL).unwrap();
    Message::Assistant(vec![
        AssistantBlock::Verbatim { provider: Provider::Anthropic, block },
        AssistantBlock::ToolUse {
            id: ToolUseId::try_from(id.to_owned()).unwrap(),
            name: "execute_code".to_owned(),
            input: Json::parse(br#"{"code":"a\nb","k":0.10}"#, JsonLimits::CALL).unwrap(),
        },
    ])
}

pub(crate) fn result(id: &str) -> Message {
    let id = ToolUseId::try_from(id.to_owned()).unwrap();
    Message::User(vec![UserBlock::ToolResult { id, content: "done\n".into(), is_error: false }])
}

pub(crate) fn turn(turn_number: u64, question: &str, text: &str) -> Turn {
    Turn {
        turn_number,
        user_message: question.to_owned(),
        assistant_response: text.to_owned(),
        usage: TurnUsage { prompt: 1, completion: 2, total: 3 },
        timestamp: Timestamp::from_unix_ms(1_800_000_000_000),
    }
}

/// Messages as they are written, so that the order of keys and the form of numbers count.
pub(crate) fn written(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.to_json().to_string()).collect()
}
