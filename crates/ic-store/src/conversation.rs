//! A conversation that goes on: every step is saved before anybody is told of it.
//!
//! A save appends what is new to the journal. The whole is written when a turn ends, as long as that
//! is little work, and when the conversation ends. Whoever saves holds the session; a second one
//! would write over the first.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ic_home::{Clock, FileError, Home, file};
use ic_model::Message;
use ic_types::{SessionId, Timestamp, locked};

use crate::error::StoreError;
use crate::journal::{self, Entry, Journal};
use crate::metadata::Metadata;
use crate::places::{Places, set_aside};
use crate::stored::{Covers, Stored, Writing};
use crate::turn::Turn;

/// How much the whole may be to be written after each turn; above, the journal has to do.
const WHOLE_BYTES_MAX: usize = 256 << 10;

/// When a conversation is saved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Saving {
    /// With every step.
    Always,
    /// When somebody wants it, and at the end.
    OnDemand,
}

/// What is known of a step at the moment at which it is saved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// Something was said in the middle of a turn.
    Within,
    /// The turn begins.
    TurnBegins,
    /// The turn has ended.
    TurnEnds,
}

/// A conversation that was read, and goes on once what was said before is settled.
#[derive(Debug)]
#[must_use = "nothing is saved before it is restored"]
pub struct Found {
    /// What is on the disk.
    pub stored: Stored,
    conversation: Conversation,
}

/// A conversation that goes on.
pub struct Conversation {
    places: Places,
    last_session: PathBuf,
    saving: Saving,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    metadata: Metadata,
    turns: Vec<Turn>,
    context_summary: Option<String>,
    journal: Option<Journal>,
    /// How many lines were made, whether they are in the journal yet or not.
    n_lines: usize,
    /// Lines that wait to be written.
    waiting: Vec<u8>,
    /// What the lines so far come to.
    said: Said,
    /// About how much the whole is.
    bytes: usize,
}

/// How far a conversation has come; only its last message may still grow, or go.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Said {
    n_messages: usize,
    n_blocks: usize,
}

impl Conversation {
    /// Finds the conversation of a session; one that has not begun is empty.
    ///
    /// The session must be held by the caller.
    pub fn find(
        home: &Home,
        id: &SessionId,
        saving: Saving,
        clock: Arc<dyn Clock>,
    ) -> Result<Found, StoreError> {
        let places = Places::of(home, id);
        let stored = Stored::read(&places)?;
        let state = State {
            metadata: stored.metadata.clone(),
            turns: stored.turns.clone(),
            context_summary: stored.context_summary.clone(),
            journal: None,
            n_lines: 0,
            waiting: Vec::new(),
            said: Said::of(&stored.messages),
            bytes: stored.bytes,
        };
        let last_session = home.last_session();
        let conversation = Self { places, last_session, saving, clock, state: Mutex::new(state) };
        Ok(Found { stored, conversation })
    }

    /// Writes down who thinks from now on.
    pub fn thinks(&self, provider: &str, model: &str) {
        let mut state = locked(&self.state);
        provider.clone_into(&mut state.metadata.provider);
        model.clone_into(&mut state.metadata.model);
    }

    /// Saves the conversation as it is now.
    ///
    /// When this fails nothing that was saved before is lost, and the next save tries again.
    pub fn save(&self, messages: &[Message], moment: Moment) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut state = locked(&self.state);
        state.take_in(messages, now);
        match self.saving {
            Saving::OnDemand => Ok(()),
            Saving::Always => self.write(&mut state, messages, moment),
        }
    }

    /// Saves that the tools which `message` wants are about to be used.
    pub fn begin_tools(&self, message: Message) -> Result<(), StoreError> {
        let mut state = locked(&self.state);
        state.add(&Entry::Pending(message));
        match self.saving {
            Saving::OnDemand => Ok(()),
            Saving::Always => self.flush(&mut state),
        }
    }

    /// Saves a turn that was answered.
    pub fn answered(&self, turn: Turn, messages: &[Message]) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut state = locked(&self.state);
        state.take_in(messages, now);
        state.add(&Entry::Turn(turn.clone()));
        state.turns.push(turn);
        match self.saving {
            Saving::OnDemand => Ok(()),
            Saving::Always => self.write(&mut state, messages, Moment::TurnEnds),
        }
    }

    /// Saves what waits, whenever conversations are saved.
    pub fn save_now(&self) -> Result<(), StoreError> {
        let mut state = locked(&self.state);
        self.flush(&mut state)?;
        self.describe(&state)?;
        Ok(())
    }

    /// Returns what is known of the session by now.
    pub fn metadata(&self) -> Metadata {
        locked(&self.state).metadata.clone()
    }

    /// Returns the turns that were answered.
    pub fn turns(&self) -> Vec<Turn> {
        locked(&self.state).turns.clone()
    }

    /// Writes the whole, and waits for the disk; nothing is said after this.
    ///
    /// Without `messages`, because nobody knows them any more, the journal has to do.
    pub fn close(&self, messages: Option<&[Message]>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut state = locked(&self.state);
        if let Some(messages) = messages {
            state.take_in(messages, now);
        }
        if state.n_lines == 0 {
            return Ok(());
        }
        let flushed = self.flush(&mut state);
        let Some(messages) = messages else { return flushed };
        // If the journal found no room, the whole may.
        let text = state.whole(messages).to_text();
        match (file::replace(self.places.conversation(), text.as_bytes()), &flushed) {
            (Ok(()), _) => {}
            // It is all in the journal, and is made whole when there is room again.
            (Err(_), Ok(())) => return Ok(()),
            (Err(error), Err(_)) => return Err(error.into()),
        }
        self.describe(&state)?;
        state.journal = None;
        state.n_lines = 0;
        file::remove(self.places.journal())?;
        Ok(())
    }

    fn write(
        &self,
        state: &mut State,
        messages: &[Message],
        moment: Moment,
    ) -> Result<(), StoreError> {
        self.flush(state)?;
        match moment {
            Moment::Within => return Ok(()),
            Moment::TurnBegins => {
                let id = format!("{}\n", state.metadata.id);
                file::replace_unsynced(&self.last_session, id.as_bytes())?;
            }
            Moment::TurnEnds => {
                if let Some(journal) = &state.journal {
                    journal.sync_behind();
                }
            }
        }
        self.describe(state)?;
        if state.bytes <= WHOLE_BYTES_MAX {
            let text = state.whole(messages).to_text();
            file::replace_unsynced(self.places.conversation(), text.as_bytes())?;
        }
        Ok(())
    }

    /// Appends the lines that wait.
    fn flush(&self, state: &mut State) -> Result<(), StoreError> {
        if state.waiting.is_empty() {
            return Ok(());
        }
        let path = self.places.journal();
        let journal = match &mut state.journal {
            Some(journal) => journal,
            none => none.insert(Journal::create(&path)?),
        };
        let failed =
            |source| FileError::System { doing: file::Doing::Write, path: path.clone(), source };
        journal.append(&state.waiting).map_err(failed)?;
        state.waiting.clear();
        Ok(())
    }

    fn describe(&self, state: &State) -> Result<(), FileError> {
        state.metadata.write(&self.places)
    }
}

impl Found {
    /// Keeps what the person is told about it.
    pub fn summarised(self, summary: &str) -> Self {
        locked(&self.conversation.state).context_summary = Some(summary.to_owned());
        self
    }

    /// Goes on with `messages`, which are what was said before, and what is to be said about how it
    /// ended.
    ///
    /// What a process that was killed has left is made one whole; what is damaged is set aside.
    pub fn restore(self, messages: &[Message]) -> Result<Conversation, StoreError> {
        let Self { stored, conversation } = self;
        if !stored.has_journal {
            return Ok(conversation);
        }
        let mut state = locked(&conversation.state);
        state.said = Said::of(messages);
        state.metadata.message_count = messages.len() as u64;
        let (whole, journal) = (conversation.places.conversation(), conversation.places.journal());
        file::replace(whole, state.whole(messages).to_text().as_bytes())?;
        match stored.damage {
            Some(_) => set_aside(&journal)?,
            None => file::remove(&journal)?,
        }
        conversation.describe(&state)?;
        drop(state);
        Ok(conversation)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("places", &self.places).finish_non_exhaustive()
    }
}

impl State {
    /// Makes a line of what is new in `messages`.
    fn take_in(&mut self, messages: &[Message], now: Timestamp) {
        let said = Said::of(messages);
        let from = said.first_change(self.said, messages);
        if let Some(from) = from {
            let messages = messages.get(from..).unwrap_or_default().to_vec();
            self.add(&Entry::Messages { from, messages });
        }
        self.said = said;
        self.metadata.message_count = messages.len() as u64;
        self.metadata.touch(now);
        if let Some(text) = messages.first().and_then(|first| first.texts().next()) {
            self.metadata.begins_with(text);
        }
    }

    fn add(&mut self, entry: &Entry) {
        self.n_lines += 1;
        let line = journal::line(self.n_lines, entry);
        self.bytes += line.len();
        self.waiting.extend_from_slice(line.as_bytes());
    }

    fn whole<'a>(&'a self, messages: &'a [Message]) -> Writing<'a> {
        let covers = self
            .journal
            .as_ref()
            .map(|it| Covers { journal: it.id.clone(), n_lines: self.n_lines });
        Writing {
            metadata: &self.metadata,
            messages,
            turns: &self.turns,
            context_summary: self.context_summary.as_deref(),
            covers,
        }
    }
}

impl Said {
    fn of(messages: &[Message]) -> Self {
        let n_blocks = messages.last().map_or(0, n_blocks);
        Self { n_messages: messages.len(), n_blocks }
    }

    /// Returns from where on `messages` are others than those that were saved; `None` if none is.
    ///
    /// What was said stays, but for the last message, which may have grown or gone.
    fn first_change(self, saved: Self, messages: &[Message]) -> Option<usize> {
        if self == saved {
            return None;
        }
        let is_last_kept = saved.n_messages.checked_sub(1).is_some_and(|last| {
            messages.get(last).is_some_and(|message| n_blocks(message) == saved.n_blocks)
        });
        let common = saved.n_messages.min(self.n_messages);
        Some(if is_last_kept { saved.n_messages } else { common.saturating_sub(1) })
    }
}

fn n_blocks(message: &Message) -> usize {
    match message {
        Message::User(blocks) => blocks.len(),
        Message::Assistant(blocks) => blocks.len(),
    }
}
