//! What a person sees while models are asked, and the record of what was said to them.
//!
//! On a terminal one row changes in place; elsewhere each answer is a line. Secrets are taken out of the record
//! before it is written.

#![expect(
    clippy::disallowed_types,
    reason = "the record is opened by `ic_home::file`, and kept open here"
)]

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use ic_audit::Redactor;
use ic_compiler::journal::{Event, Journal};
use ic_home::{Clock as _, Home, SystemClock, file};
use ic_model::{Prices, Usage};
use ic_types::{Json, Object};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::error::Failure;
use crate::screen::{Screen, visible_line};

/// The file in which every exchange with a model is kept.
const LOG: &str = "compiler.jsonl";

/// The record of what was said to models and by them.
#[derive(Debug)]
pub(crate) struct Log {
    redactor: Redactor,
    file: Mutex<Option<File>>,
    lines: Mutex<String>,
    path: std::path::PathBuf,
}

impl Log {
    /// Prepares the record; the file is made when something is written.
    pub(super) fn open(home: &Home, redactor: Redactor) -> Result<Self, Failure> {
        file::create_dir(home.logs())?;
        let path = home.logs().join(LOG);
        let (file, lines) = (Mutex::new(None), Mutex::new(String::new()));
        Ok(Self { redactor, file, lines, path })
    }

    /// Returns the lines of this run.
    pub(super) fn lines(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, exchange: Object) -> Result<(), String> {
        let mut line = Object::new();
        line.insert("timestamp", SystemClock.now().to_string());
        for (key, value) in exchange.into_entries() {
            line.insert(key, value);
        }
        let (line, _) = self.redactor.json(&Json::Object(line));
        let line = format!("{line}\n");
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(file::open_append(&self.path).map_err(|error| error.to_string())?);
        }
        let Some(file) = file.as_mut() else { return Ok(()) };
        file.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }
}

/// What is told.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// For as long as nothing else happens.
    Now(String),
    /// To stay.
    Line(String),
}

/// Hears the stages, and passes on what a person should know.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    log: &'a Log,
    prices: Prices,
    to: UnboundedSender<News>,
    asked: Mutex<Asked>,
}

#[derive(Debug)]
struct Asked {
    since: Instant,
    what: String,
}

impl<'a> Telling<'a> {
    pub(super) fn new(log: &'a Log, prices: Prices) -> (Self, UnboundedReceiver<News>) {
        let (to, told) = unbounded_channel();
        let asked = Mutex::new(Asked { since: Instant::now(), what: String::new() });
        (Self { log, prices, to, asked }, told)
    }

    fn tell(&self, news: News) {
        // Whoever listens lives as long as the work.
        self.to.send(news).ok();
    }

    fn took(&self, usage: Usage) -> String {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        format!(
            "{}: {} tokens, ${:.4}, {:.1} s",
            asked.what,
            usage.total(),
            self.prices.cost(usage).dollars(),
            asked.since.elapsed().as_secs_f64()
        )
    }
}

impl Journal for Telling<'_> {
    fn heard(&self, event: &Event<'_>) {
        match event {
            Event::Asking { stage, unit, n_before } => {
                let again = if *n_before == 0 { "" } else { " (again: the answer was not usable)" };
                let what = format!("{stage}, {unit}{again}");
                self.tell(News::Now(what.clone()));
                let asked = Asked { since: Instant::now(), what };
                *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
            }
            Event::Counted(usage) => self.tell(News::Now(self.took(*usage))),
            Event::Answered { usage, .. } => self.tell(News::Line(self.took(*usage))),
            Event::Known { stage, unit } => {
                self.tell(News::Now(format!("{stage}, {unit}: already known")));
            }
            Event::Waiting(error, delay) => {
                let line = format!("{error}; trying again in {} s", delay.as_secs());
                self.tell(News::Line(line));
            }
            Event::NotKept(why) => {
                let line = format!("an answer cannot be kept, so it may be paid for again: {why}");
                self.tell(News::Line(line));
            }
            Event::Skipped(unit) => {
                self.tell(News::Line(format!("{unit}: no free statement is about it")));
            }
            Event::Failed { unit, round, n_failed } => {
                let scenarios = ic_types::counted(*n_failed, "scenario fails", "scenarios fail");
                self.tell(News::Line(format!("verify, {unit}: {scenarios} (round {round})")));
            }
        }
    }

    fn exchanged(&self, exchange: Object) {
        if let Err(why) = self.log.keep(exchange) {
            self.tell(News::Line(format!("the exchange cannot be logged: {why}")));
        }
    }
}

/// What is on the screen.
#[derive(Debug)]
pub(super) struct Shown {
    is_terminal: bool,
    has_row: bool,
}

impl Shown {
    pub(super) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), has_row: false }
    }

    pub(super) fn tell(&mut self, news: &News, screen: &mut Screen) {
        match news {
            News::Now(text) if self.is_terminal => {
                let text: String = visible_line(text).chars().take(70).collect();
                screen.send(&format!("\r\u{1b}[2K{text}"));
                self.has_row = true;
            }
            News::Now(_) => {}
            News::Line(text) => {
                self.end(screen);
                screen.notice(&visible_line(text));
            }
        }
    }

    /// Takes the row away that changes.
    pub(super) fn end(&mut self, screen: &mut Screen) {
        if self.has_row {
            screen.send("\r\u{1b}[2K");
            self.has_row = false;
        }
    }
}
